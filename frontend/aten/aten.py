"""Any other operator as `tw.aten`: described by its schema, run by ATen's own kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from torch.fx import Node
from xdsl.dialects.builtin import (
    ArrayAttr,
    FloatAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.index_expr import Expr, as_expr, format_exprs, row_major_strides
from tilewright.dialects.tw.aten import ArgAttr, AtenOp, SizeAttr, arg_indices
from tilewright.dialects.tw.base import STRIDES
from tilewright.dialects.types import sizes_of, tensor_type
from tilewright.targets.native.launch_collectives import is_collective

from ..errors import Unsupported
from ..fx.carried import NUMBER, carried_operator
from ..fx.dtypes import CARRIERS, ELEMENTS, dtype_name, encode
from ..fx.strides import kept_layout, operand_layout
from ..fx.symbols import Symbols
from ..operators.own_operators import NAMESPACE
from ..torch_internals import (
    NONDETERMINISTIC,
    Operator,
    find_operator,
    is_of_torch,
    is_view_operator,
    schema_of,
)
from .builder import Builder, FloatScalar

UNIT = UnitAttr()


def callee_of(op: Operator) -> str:
    """`aten::topk`, or `aten::sum.dim_IntList`."""
    overload = schema_of(op).overload_name
    return f"{schema_of(op).name}.{overload}" if overload else schema_of(op).name


class CallArguments:
    """The operands and the argument description of one call."""

    def __init__(self, *, text_dtypes: bool) -> None:
        self.text_dtypes = text_dtypes
        self.operands: dict[tuple[SSAValue, str], int] = {}
        """Their numbers, by the value and how it lies: a transposed copy is the same value."""

    def operand(self, value: SSAValue, lying: str = "") -> ArgAttr:
        return ArgAttr(IntAttr(self.operands.setdefault((value, lying), len(self.operands))))

    def describe(self, value: Any, lying: Any = "") -> Attribute:
        match value:
            case SSAValue():
                return self.operand(cast("SSAValue", value), lying)
            case FloatScalar(value=inner):
                return self.operand(inner)
            case list() | tuple():
                parts = lying if isinstance(lying, tuple) else [lying] * len(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
                return ArrayAttr(list(map(self.describe, value, parts)))  # pyright: ignore[reportUnknownArgumentType]
            case Expr() if value.constant is None:
                return SizeAttr.of(value)
            case Expr():
                return IntegerAttr(value.constant or 0, i64)
            case torch.dtype():
                named = None if self.text_dtypes else ELEMENTS.get(value)
                if named is None and not self.text_dtypes:
                    raise Unsupported(f"argument {value} has no element type in the IR", "TW1103")
                return named or StringAttr(dtype_name(value))
            case _:
                return _plain(value)


def _plain(value: Any) -> Attribute:
    match value:
        case None:
            return UNIT
        case bool():
            return IntegerAttr(int(value), i1)
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f64)
        case str() | torch.device():
            return StringAttr(str(value))
        case torch.layout() | torch.memory_format():
            return UNIT  # how results lie in memory is said by tw.strides
        case _:
            raise Unsupported(f"argument {value!r} of type {type(value).__name__}", "TW1104")


def complete(op: Operator, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """Arguments in the schema's order; trailing defaults are left out."""
    values: list[Any] = list(args)
    last = len(values)
    for i, argument in enumerate(schema_of(op).arguments[len(args) :], start=len(args)):
        if argument.name in kwargs:
            values.append(kwargs[argument.name])
            last = i + 1
        else:
            values.append(argument.default_value)
    return values[:last]


def result_type(fake: Any, symbols: Symbols) -> Attribute:
    """The type of one result; a dtype without an element type is that of its carrier."""
    if isinstance(fake, torch.Tensor):
        sizes = symbols.exprs(fake.shape)
        carrier = CARRIERS.get(fake.dtype)
        if carrier is not None:
            sizes = (*sizes, as_expr(2)) if carrier.pair else sizes
            return tensor_type(ELEMENTS[carrier.dtype], sizes)
        if fake.dtype not in ELEMENTS:
            raise Unsupported(f"{fake.dtype} cannot pass through the IR", "TW1103")
        return tensor_type(ELEMENTS[fake.dtype], sizes)
    if isinstance(fake, int | torch.SymInt):
        return IndexType()
    raise Unsupported(f"result {fake!r}", "TW1104")


def call_aten(
    b: Builder,
    op: Operator,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    effect: bool = False,
    lying: Sequence[Any] = (),
) -> Any:
    """Emit `tw.aten` for this call; the value is shaped like the operator's result.

    `effect`: the call does something besides, so that it stays, in its place, although nobody reads it.
    `lying`: what `how_they_lie` says of the arguments, if it matters.
    """
    values = complete(op, args, kwargs)
    op = _without_alias(op)
    flat = _flat(b.fake)
    returned = [i for i, fake in enumerate(flat) if fake is not None and not _is_known(fake, b.symbols)]
    kept = [flat[i] for i in returned]
    returns = returned if len(kept) < len(flat) else ()
    pattern = _pattern(op, values, b)
    carried = any(name not in ("", NUMBER) for name in _flat(pattern))
    carried = carried or any(_carried(fake) for fake in kept) or _names_carrier(values)
    call = CallArguments(text_dtypes=carried)
    attrs = list(map(call.describe, values, lying or [""] * len(values)))
    mutated = _mutated(op, attrs)
    impure = effect or has_effect(op)
    if carried:
        if mutated:
            raise Unsupported(f"writing into a tensor: {b.no_element_type().reason}", "TW1103")
        op = carried_operator(op, pattern)
    results = [result_type(fake, b.symbols) for fake in kept]
    operands, strides = zip(*call.operands, strict=True) if call.operands else ((), ())
    aten = AtenOp(
        callee_of(op),
        operands,
        attrs,
        results,
        mutated,
        impure=impure,
        returns=returns,
        operand_strides=strides,
    )
    _note_strides(aten, b, kept)
    b.add(aten)
    for value, fake in zip(aten.results, kept, strict=True):
        if _carried(fake):
            b.carried[value] = fake
    return _like(b.fake, iter(aten.results), b.symbols)


def has_effect(op: Operator) -> bool:
    """Whether equal calls are not the same one: it draws numbers, or processes call it together."""
    return NONDETERMINISTIC in op.tags or is_collective(op)


def looks_at_strides(op: Operator) -> bool:
    """Whether it may matter how operands lie: to ATen's public operators that does not, unless they say so.

    What an operator of torch calls for itself, `_pdist_forward`, may take for granted what that one saw to.
    """
    tags = op.tags
    if op in _TAKE_VIEWS or op in _TAKE_STRIDES:
        return True
    if torch.Tag.flexible_layout in tags:
        return False
    public = op.namespace == NAMESPACE or (is_of_torch(op) and not op.__name__.startswith("_"))
    return not public or not _NEEDS_STRIDES.isdisjoint(tags)


_TAKE_VIEWS: frozenset[Operator] = frozenset({torch.ops.aten.isin.Tensor_Tensor})
"""They view their operands as one row, which turned ones do not allow (`isin_default_kernel_cpu` of ATen)."""
_TAKE_STRIDES: frozenset[Operator] = frozenset({torch.ops.aten.median.dim, torch.ops.aten.nanmedian.dim})
"""Of repeated elements, with strides of 0, they read beyond the end (`median_with_indices_impl` of ATen)."""
_NEEDS_STRIDES = {
    torch.Tag.needs_exact_strides,
    torch.Tag.needs_fixed_stride_order,
    torch.Tag.needs_contiguous_strides,
}


def how_they_lie(b: Builder, op: Operator, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """The strides of the arguments, nodes of the graph; nothing where `op` does not look at them."""
    return [_lying(value, b) for value in complete(op, args, kwargs)] if looks_at_strides(op) else []


def _lying(value: Any, b: Builder) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_lying(item, b) for item in value)  # pyright: ignore[reportUnknownVariableType]
    return operand_layout(value.meta.get("val"), b.symbols) if isinstance(value, Node) else ""


def _is_known(fake: Any, symbols: Symbols) -> bool:
    """A result that is a number known before the call: a size, say, that attention passes to its backward."""
    return isinstance(fake, int) or (isinstance(fake, torch.SymInt) and symbols.knows(fake))


def _without_alias(op: Operator) -> Operator:
    """The copying variant of a view operator: a value never shares memory with another."""
    if not is_view_operator(op):
        return op
    schema = schema_of(op)
    overload = schema.overload_name or "default"
    copying = find_operator(f"{schema.name}_copy.{overload}")
    if copying is None:
        raise Unsupported("its result shares memory with an operand", "TW1104")
    return copying


def _carried(fake: Any) -> str:
    return dtype_name(fake.dtype) if isinstance(fake, torch.Tensor) and fake.dtype in CARRIERS else ""


def _pattern(op: Operator, values: Sequence[Any], b: Builder) -> tuple[Any, ...]:
    """What stands for something else among the arguments, as `carried_operator` takes it."""
    arguments = schema_of(op).arguments
    return tuple(
        NUMBER
        if isinstance(value, int | float) and str(argument.type) == "Tensor"
        else _carried_pattern(value, b)
        for argument, value in zip(arguments, values, strict=False)
    )


def _carried_pattern(value: Any, b: Builder) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_carried_pattern(item, b) for item in value)  # pyright: ignore[reportUnknownVariableType]
    return _carried(b.carried.get(cast("SSAValue", value))) if isinstance(value, SSAValue) else ""


def _names_carrier(values: Sequence[Any]) -> bool:
    return any(isinstance(value, torch.dtype) and value in CARRIERS for value in values)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in _flat(item)]  # pyright: ignore[reportUnknownVariableType]
    return [value]


def _like(fake: Any, results: Any, symbols: Symbols) -> Any:
    if isinstance(fake, list | tuple):
        return tuple(_like(item, results, symbols) for item in fake)  # pyright: ignore[reportUnknownVariableType]
    if fake is None or isinstance(fake, int):
        return fake
    return symbols.expr(fake) if _is_known(fake, symbols) else next(results)


def _mutated(op: Operator, attrs: Sequence[Attribute]) -> list[int]:
    """Numbers of the operands that the call writes."""
    if not schema_of(op).is_mutable:
        return []
    written = [
        attr
        for argument, attr in zip(schema_of(op).arguments, attrs, strict=False)
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    return sorted(set(arg_indices(ArrayAttr(written))))


def _note_strides(aten: AtenOp, b: Builder, fakes: Sequence[Any]) -> None:
    """Say which results ATen does not leave row-major."""
    layouts = [
        kept_layout(encode(fake), b.symbols) if isinstance(fake, torch.Tensor) else None for fake in fakes
    ]
    if any(layouts):
        aten.attributes[STRIDES] = ArrayAttr(
            [
                StringAttr(text or _plain_strides(value))
                for text, value in zip(layouts, aten.results, strict=True)
            ]
        )


def _plain_strides(value: SSAValue) -> str:
    return format_exprs(row_major_strides(sizes_of(value))) if isinstance(value.type, TensorType) else ""
