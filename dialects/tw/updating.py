"""Calls of what others wrote, which write to tensors: the op gives these as they are afterwards."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    irdl_attr_definition,
    opt_prop_def,
    param_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ..attribute_facts import ints
from ..index_expr import Expr, parse_exprs
from ..op_definition import op_definition
from ..types import sizes_of
from .aten import AtenEffect, arg_indices, check_callee
from .base import INTS, TENSOR, TwOp, checked_exprs, expect_equal, exprs_attr, fail, int_array, text


@irdl_attr_definition
class PartAttr(ParametrizedAttribute):
    """A part of result number i, which lies so: `#tw.part<0, "64", "8, 8", "8, 1">` (offset, sizes, strides).

    The offset counts from the first element of the result, in elements.
    """

    name = "tw.part"

    result: IntAttr = param_def()
    offset: StringAttr = param_def()
    sizes: StringAttr = param_def()
    strides: StringAttr = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            found: list[Attribute] = [
                IntAttr(parser.parse_integer(allow_boolean=False, allow_negative=False))
            ]
            for _ in range(3):
                parser.parse_punctuation(",")
                found.append(StringAttr(parser.parse_str_literal()))
        return found

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.result.data))
            for given in (self.offset, self.sizes, self.strides):
                printer.print_string(", ")
                printer.print_string_literal(given.data)


class UpdatingOp(TwOp, ABC):
    """Results begin as operands, and are what the call makes of them.

    `#tw.arg<i>` among `args` is operand i or, from the number of operands on, a result. A result starts as
    the operand that `inits` names, with -1 as memory that nobody wrote. The call finds memory as it was
    traced: `strides` are those of the operands, `tw.strides` those of the results.
    """

    args = prop_def(ArrayAttr[Attribute])
    inits = prop_def(INTS)
    strides = prop_def(ArrayAttr[StringAttr])
    inputs = var_operand_def(TENSOR)
    outputs = var_result_def(TENSOR)

    irdl_options = (ParsePropInAttrDict(),)

    @property
    def written(self) -> Sequence[SSAValue]:
        """The results that begin as operands, or unwritten."""
        return self.outputs

    def _as_properties(
        self, args: ArrayAttr[Attribute], inits: Sequence[int], strides: Sequence[Sequence[Expr]]
    ) -> dict[str, Attribute]:
        return {
            "args": args,
            "inits": int_array(inits),
            "strides": ArrayAttr([exprs_attr(found) for found in strides]),
        }

    def strides_of(self, operand: int) -> tuple[Expr, ...]:
        """With which strides the call reads an operand."""
        return parse_exprs(self.strides.data[operand].data)

    def _check_results(self, parts: Sequence[int] = ()) -> None:
        """`parts`: of which results the arguments behind these are parts."""
        if not self.outputs:
            raise fail(self, "it has no result, so that nobody would see it run")
        inits, written = ints(self.inits), self.written
        expect_equal(self, "number of inits", len(inits), len(written))
        expect_equal(self, "number of lists of strides", len(self.strides), len(self.inputs))
        for value, given in zip(self.inputs, self.strides, strict=True):
            checked_exprs(self, "strides", given, len(sizes_of(value)))
        for result, init in zip(written, inits, strict=True):
            if not -1 <= init < len(self.inputs):
                raise fail(self, f"inits has {init}, expected -1 or an operand below {len(self.inputs)}")
            if init >= 0:
                expect_equal(self, "type of a result", result.type, self.inputs[init].type)
        behind = [len(self.inputs) + result for result in parts]
        used = sorted({*arg_indices(self.args), *(i for i in inits if i >= 0), *behind})
        count = len(self.inputs) + len(written) + len(parts)
        if used != list(range(count)):
            raise fail(self, f"args and inits refer to {used}, expected each of 0 to {count - 1}")


@op_definition
class UpdateOp(UpdatingOp):
    """Run an operator that writes to tensors it is given.

    Its arguments are described as those of `tw.aten`. The operator writes to results alone, or to `parts` of
    them, which have the numbers behind those of results. What it returns are results, too, behind those that
    `inits` has. A call that is `impure` is never merged, moved or removed.

    ```mlir
    %r = tw.update "my::add_rows_"(%y, %cache) {
      args = [#tw.arg<2>, #tw.arg<0>], inits = array<i64: 1>, strides = ["64, 1", "64, 1"]
    } : (tensor<8x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
    ```

    Source: `torch._higher_order_ops.auto_functionalize.auto_functionalized_v2`.
    """

    name = "tw.update"

    callee = prop_def(StringAttr)
    parts = opt_prop_def(ArrayAttr[PartAttr])
    impure = opt_prop_def(UnitAttr)

    traits = traits_def(AtenEffect())
    assembly_format = "$callee `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)"

    def __init__(
        self,
        callee: str,
        inputs: Sequence[SSAValue],
        args: Sequence[Attribute],
        results: Sequence[Attribute],
        inits: Sequence[int],
        strides: Sequence[Sequence[Expr]],
        *,
        parts: Sequence[PartAttr] = (),
        impure: bool = False,
    ) -> None:
        properties = self._as_properties(ArrayAttr(args), inits, strides)
        properties["callee"] = text(callee)
        if parts:
            properties["parts"] = ArrayAttr(parts)
        if impure:
            properties["impure"] = UnitAttr()
        self._build(inputs, results, properties)

    @property
    def written(self) -> Sequence[SSAValue]:
        return self.outputs[: len(ints(self.inits))]

    @property
    def returned(self) -> Sequence[SSAValue]:
        """The results that the operator makes."""
        return self.outputs[len(ints(self.inits)) :]

    def check(self) -> None:
        check_callee(self, self.callee)
        if not self.written:
            raise fail(self, "it writes to nothing: tw.aten runs such operators")
        parts = self.parts or ()
        for part in parts:
            checked_exprs(self, "offset of a part", part.offset, 1)
            rank = len(checked_exprs(self, "sizes of a part", part.sizes))
            checked_exprs(self, "strides of a part", part.strides, rank)
            if part.result.data >= len(self.written):
                raise fail(self, f"a part of result {part.result.data} of {len(self.written)}")
        self._check_results([part.result.data for part in parts])


UPDATE_OPS = (UpdateOp,)
