"""Sum, squared deviations and count of numbers: what a mean and a variance are made of."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.arith import ConstantOp, SelectOp
from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, f32, f64, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .attributes import axes_attr, parse_axes, parse_value, print_axes, print_tail, with_tail
from .scope import verify_axes


@irdl_op_definition
class MomentsOp(IRDLOperation):
    """Combine groups of numbers over `axes`, each given by sum, squared deviations and count.

    %s, %q, %n = tk.moments %x, %zero, %one over [1] : f32

    A number `x` by itself is the group (x, 0, 1); a group of none has count 0, and its other parts
    are 0 as well. `%q` sums the squares of the deviations from the mean of all, `%s / %n`; it is NaN
    where the sum is not finite. One pass over the data is enough, in any order: two groups join by
    Chan, Golub and LeVeque's formula, without the cancellation of a sum of squares.
    """

    name = "tk.moments"

    sum = operand_def(AnyAttr())
    squares = operand_def(AnyAttr())
    count = operand_def(AnyAttr())
    axes = prop_def(DenseArrayBase.constr(i64))
    total = result_def(AnyAttr())
    deviations = result_def(AnyAttr())
    number = result_def(AnyAttr())

    traits = traits_def(Pure())

    @classmethod
    def make(cls, group: Sequence[SSAValue], axes: Sequence[int]) -> MomentsOp:
        return cls.create(
            operands=group,
            result_types=[value.type for value in group],
            properties={"axes": axes_attr(*axes)},
        )

    @property
    def over(self) -> tuple[int, ...]:
        """The reduced axes."""
        return tuple(self.axes.get_values())

    @property
    def of_numbers(self) -> bool:
        """Whether every group is one number, or none (behind a mask)."""
        return _constants(self.squares) == (0.0,) and _constants(self.count) in ((1.0,), (1.0, 0.0))

    def verify_(self) -> None:
        verify_axes(self, self.over)
        if not self.over:
            raise VerifyException("tk.moments: combines over one axis at least")
        types: list[Attribute] = [*self.operand_types, *self.result_types]
        if any(type_ not in (f32, f64) or type_ != types[0] for type_ in types):
            shown = ", ".join(map(str, types))
            raise VerifyException(f"tk.moments: operands and results are all f32 or all f64, got {shown}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        printer.print_string(" over ")
        print_axes(printer, self.axes)
        print_tail(printer, self, self.sum)

    @classmethod
    def parse(cls, parser: Parser) -> MomentsOp:
        group = [parse_value(parser)]
        for _ in range(2):
            parser.parse_punctuation(",")
            group.append(parse_value(parser))
        parser.parse_keyword("over")
        axes = parse_axes(parser)
        return with_tail(parser, cls.make(group, axes.get_values()), group[0])


def _constants(value: SSAValue) -> tuple[float, ...]:
    """The constants that `value` is or chooses from, () of anything else."""
    op = value.owner
    if isinstance(op, ConstantOp) and isinstance(op.value, FloatAttr):
        return (op.value.value.data,)
    if isinstance(op, SelectOp):
        chosen = (_constants(op.lhs), _constants(op.rhs))
        return (*chosen[0], *chosen[1]) if all(len(c) == 1 for c in chosen) else ()
    return ()
