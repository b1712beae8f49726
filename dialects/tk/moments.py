"""Sum, squared deviations and count of numbers: what a mean and a variance are made of."""

from __future__ import annotations

from xdsl.dialects.arith import ConstantOp, SelectOp
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import SSAValue
from xdsl.irdl import AnyAttr, operand_def, result_def

from ..op_definition import op_definition
from .groups_of_numbers import JoinsGroups


@op_definition
class MomentsOp(JoinsGroups):
    """Combine groups of numbers over `axes`, each given by mean, squared deviations and count.

    %m, %q, %n = tk.moments %x, %zero, %one over [1] : f32

    A number `x` by itself is the group (x, 0, 1); a group of none has count 0, and its other parts
    are 0 as well. `%q` sums the squares of the deviations from the mean of all, `%m`; both are NaN where
    a number is not finite. One pass over the data is enough, in any order: two groups join by Chan, Golub and
    LeVeque's formula, without the cancellation of a sum of squares.
    """

    name = "tk.moments"

    mean = operand_def(AnyAttr())
    squares = operand_def(AnyAttr())
    count = operand_def(AnyAttr())
    overall = result_def(AnyAttr())
    deviations = result_def(AnyAttr())
    number = result_def(AnyAttr())

    @property
    def of_numbers(self) -> bool:
        """Whether every group is one number, or none (behind a mask)."""
        return _constants(self.squares) == (0.0,) and _constants(self.count) in ((1.0,), (1.0, 0.0))


def _constants(value: SSAValue) -> tuple[float, ...]:
    """The constants that `value` is or chooses from, () of anything else."""
    op = value.owner
    if isinstance(op, ConstantOp) and isinstance(op.value, FloatAttr):
        return (op.value.value.data,)
    if isinstance(op, SelectOp):
        chosen = (_constants(op.lhs), _constants(op.rhs))
        return (*chosen[0], *chosen[1]) if all(len(c) == 1 for c in chosen) else ()
    return ()
