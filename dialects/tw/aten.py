"""ATen calls for what has no op of its own, and explicit mutation of arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr, TensorType, UnitAttr
from xdsl.ir import Attribute, BlockArgument, Operation, ParametrizedAttribute, SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    irdl_attr_definition,
    operand_def,
    opt_prop_def,
    param_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect
from xdsl.utils.exceptions import VerifyException

from ..attribute_facts import ints
from ..index_expr import Expr, IndexExprSyntaxError, parse_expr, parse_exprs
from ..op_definition import op_definition
from ..types import sizes_of
from .base import EFFECT, INTS, READ_WRITE, SAME, TwOp, checked_exprs, expr_attr, fail, int_array, text
from .view import ReshapeOp, SliceOp, TransposeOp


@irdl_attr_definition
class ArgAttr(ParametrizedAttribute):
    """Operand number `i` of the call: `#tw.arg<0>`."""

    name = "tw.arg"

    index: IntAttr = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [IntAttr(parser.parse_integer(allow_boolean=False, allow_negative=False))]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.index.data))


@irdl_attr_definition
class SizeAttr(ParametrizedAttribute):
    """An integer that is an index expression over symbols: `#tw.size<"s0*2">`."""

    name = "tw.size"

    text: StringAttr = param_def()

    def verify(self) -> None:
        try:
            self.expr()
        except (IndexExprSyntaxError, ValueError) as error:
            raise VerifyException(f"tw.size: {error}") from error

    def expr(self) -> Expr:
        return parse_expr(self.text.data)

    @staticmethod
    def of(value: Expr) -> SizeAttr:
        return SizeAttr(expr_attr(value))


class AtenEffect(MemoryEffect):
    """A call that mutates an operand or is marked impure stays where it is."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return READ_WRITE if "impure" in op.properties or "mutates" in op.properties else frozenset()


@op_definition
class AtenOp(TwOp):
    """Run ATen's kernel for one overload.

    `args` follows the overload's schema (trailing defaults may be left out): `#tw.arg<i>`
    is operand i, `#tw.size<"s0">` a symbolic integer, an i64 an int, an i1 a bool, an f64 a
    float, a string a string, a builtin element type a dtype, `unit` None, an array a list.
    `mutates` lists operands that the call writes; such a call, or one marked `impure` (it
    draws random numbers, say), is never merged, moved or removed. Results are tensors, or
    `index` for an int; `returns` says which returns of the schema they are, where some are None.
    `operand_strides` says how each operand lies in memory when the call reads it: others than
    ATen may look at strides, or take them for granted. Where it is "", they are any.

    ```mlir
    %v, %i = tw.aten "aten::topk"(%x) {args = [#tw.arg<0>, 5 : i64, -1 : i64, true, true]}
       : (tensor<8x128xf32>) -> (tensor<8x5xf32>, tensor<8x5xi64>)
    ```
    """

    name = "tw.aten"

    callee = prop_def(StringAttr)
    inputs = var_operand_def()
    args = prop_def(ArrayAttr)
    mutates = opt_prop_def(INTS)
    returns = opt_prop_def(INTS)
    operand_strides = opt_prop_def(ArrayAttr[StringAttr])
    impure = opt_prop_def(UnitAttr)
    outputs = var_result_def()

    traits = traits_def(AtenEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$callee `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)"

    def __init__(
        self,
        callee: str,
        inputs: Sequence[SSAValue],
        args: Sequence[Attribute],
        results: Sequence[Attribute],
        mutates: Sequence[int] = (),
        *,
        impure: bool = False,
        returns: Sequence[int] = (),
        operand_strides: Sequence[str] = (),
    ) -> None:
        properties: dict[str, Attribute] = {"callee": text(callee), "args": ArrayAttr(args)}
        if mutates:
            properties["mutates"] = int_array(mutates)
        if impure:
            properties["impure"] = UnitAttr()
        if returns:
            properties["returns"] = int_array(returns)
        if any(operand_strides):
            properties["operand_strides"] = ArrayAttr(map(text, operand_strides))
        self._build(inputs, results, properties)

    def operand_number(self, argument: int) -> int | None:
        """Which operand argument number `argument` of the schema is; None where it is no tensor.

        A value that is given twice may be one operand.
        """
        arg = self.args.data[argument] if argument < len(self.args.data) else None
        return arg.index.data if isinstance(arg, ArgAttr) else None

    def check(self) -> None:
        check_callee(self, self.callee)
        count, used = len(self.inputs), sorted(set(arg_indices(self.args)))
        if used != list(range(count)):
            raise fail(self, f"args refer to operands {used}, expected each of 0 to {count - 1}")
        if self.returns is not None and len(ints(self.returns)) != len(self.outputs):
            raise fail(self, f"returns is {list(ints(self.returns))}, expected {len(self.outputs)} entries")
        mutated = () if self.mutates is None else ints(self.mutates)
        for index in mutated:
            if not 0 <= index < count:
                raise fail(self, f"mutates has {index}, expected an operand number below {count}")
        self._check_operand_strides()

    def _check_operand_strides(self) -> None:
        if self.operand_strides is None:
            return
        if len(self.operand_strides) != len(self.inputs):
            count = len(self.operand_strides)
            raise fail(self, f"operand_strides has {count} entries, expected one for each operand")
        for operand, strides in zip(self.inputs, self.operand_strides, strict=True):
            if strides.data:
                rank = len(sizes_of(operand)) if isinstance(operand.type, TensorType) else 0
                checked_exprs(self, "operand_strides", strides, rank)

    def strides_of_operand(self, index: int) -> tuple[Expr, ...] | None:
        """With which strides the call reads an operand; None where it takes any."""
        written = "" if self.operand_strides is None else self.operand_strides.data[index].data
        return parse_exprs(written) if written else None


def check_callee(op: Operation, callee: StringAttr) -> None:
    """Raises VerifyException where `callee` does not name an overload as `namespace::name.overload`."""
    if "::" not in callee.data:
        raise fail(op, f'callee is "{callee.data}", expected "namespace::name.overload"')


def arg_indices(attr: Attribute) -> Iterator[int]:
    """The numbers of the operands in an argument, nested lists included."""
    if isinstance(attr, ArgAttr):
        yield attr.index.data
    elif isinstance(attr, ArrayAttr):
        for inner in attr.data:  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            yield from arg_indices(inner)  # pyright: ignore[reportUnknownArgumentType]


@op_definition
class WriteOp(TwOp):
    """Store `value` in the memory of the function argument `target`, or of a part, after all reads of it.

    The one way in which a graph changes its inputs; stands at the end of `@main`. Other
    ops always see the argument's value on entry. The part is what slices, reshapes and transposes of the
    argument show, which must be views where it lies; of two writes to one element the later one counts.

    ```mlir
    tw.write %v into %running_mean : tensor<64xf32>
    %new = tw.slice %cache starts "0, 7" steps "1, 1" : tensor<8x512xf32> -> tensor<8x1xf32>
    tw.write %k into %new : tensor<8x1xf32>
    ```
    """

    name = "tw.write"

    value = operand_def(SAME)
    target = operand_def(SAME)

    traits = traits_def(EFFECT)
    assembly_format = "$value `into` $target attr-dict `:` type($value)"

    def __init__(self, value: SSAValue, target: SSAValue) -> None:
        self._build((value, target), ())

    @property
    def views(self) -> list[Operation]:
        """What shows the part of the argument that is written to, the last view first."""
        found: list[Operation] = []
        target = self.target
        while isinstance(op := target.owner, SliceOp | ReshapeOp | TransposeOp):
            found.append(op)
            target = op.source
        return found

    @property
    def argument(self) -> SSAValue:
        """The argument that is changed."""
        views = self.views
        return views[-1].operands[0] if views else self.target

    def check(self) -> None:
        if not isinstance(self.argument, BlockArgument):
            raise fail(self, "target is neither a function argument nor a part of one")


ATEN_OPS = (AtenOp, WriteOp)
