"""The largest number and the sum of exponentials below it: what a softmax is made of."""

from __future__ import annotations

from xdsl.irdl import AnyAttr, operand_def, result_def

from ..op_definition import op_definition
from .groups_of_numbers import JoinsGroups


@op_definition
class SumExpOp(JoinsGroups):
    """Combine sums of exponentials over `axes`, each given by the largest exponent and a sum relative to it.

    %m, %s = tk.sumexp %x, %one over [1] : f32

    A number `x` by itself is the group (x, 1); a group of none is (-inf, 0). `%m` is the largest exponent,
    NaN if any is; `%s` adds up `sum * exp(largest - %m)` of the groups, where one whose largest exponent
    is `%m` counts whole, infinite or not. One pass over the data is enough, in any order (Milakov and
    Gimelshein's online softmax).
    """

    name = "tk.sumexp"

    largest = operand_def(AnyAttr())
    sum = operand_def(AnyAttr())
    maximum = result_def(AnyAttr())
    total = result_def(AnyAttr())
