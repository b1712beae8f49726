"""Functions of linalg, tensor and arith ops -> functions of `tw`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import add, mul, sub

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tilewright.dialects.index_expr import ZERO, Expr, as_expr, maximum, minimum, product, sym
from tilewright.dialects.tw import view
from tilewright.dialects.types import element_type_of, sizes_of, tensor_type

from .builder import (
    Builder,
    Equal,
    elements,
    integers,
    known_element,
    required,
    same_size,
    scalar_constant,
    shape_of,
)
from .errors import cannot, name_of
from .generic import read_generic
from .scalars import read_scalar
from .stablehlo import STABLEHLO

Read = Callable[[Builder, Operation, Sequence[SSAValue]], SSAValue]
_DYNAMIC = -(2**63)


def read_module(module: ModuleOp) -> ModuleOp:
    """A module of `tw`; raises CannotImport at the first op that has no counterpart."""
    return ModuleOp([_function(op) for op in module.ops if not _is_declaration(op)])


def _is_declaration(op: Operation) -> bool:
    return isinstance(op, FuncOp) and op.is_declaration


def _function(op: Operation) -> FuncOp:
    """Read until no two sizes that must be equal have different names: each time, one symbol goes."""
    if not isinstance(op, FuncOp) or len(op.body.blocks) != 1:
        raise cannot(op, "only functions of one block can be imported")
    equal: dict[Expr, Expr] = {}
    while True:
        try:
            return _read(op, equal)
        except Equal as found:
            equal = {k: found.kept if v == found.dropped else v for k, v in equal.items()}
            equal[found.dropped] = found.kept


def _read(op: FuncOp, equal: Mapping[Expr, Expr]) -> FuncOp:
    """One symbol per unknown size of an argument, and one per index argument."""
    b = Builder(Block(), op.location)
    values: dict[SSAValue, SSAValue] = {}
    attrs: list[DictionaryAttr] = []
    count, used = 0, list[Expr]()

    def fresh() -> Expr:
        nonlocal count
        count += 1
        symbol = equal.get(sym(count - 1), sym(count - 1))
        used.append(symbol)
        return symbol

    for arg in op.body.block.args:
        type_: Attribute = arg.type
        if isinstance(type_, IndexType):
            symbol = fresh()
            b.numbers[arg] = symbol
            values[arg] = b.block.insert_arg(IndexType(), len(b.block.args))
            attrs.append(_symbol(symbol))
        elif type_.name == TensorType.name:
            sizes = [as_expr(n) if n >= 0 else fresh() for n in shape_of(type_)]
            element = known_element(op, type_)
            values[arg] = b.block.insert_arg(tensor_type(element, sizes), len(b.block.args))
            attrs.append(DictionaryAttr({}))
        else:
            raise cannot(op, f"an argument has type {type_}")
    for symbol in dict.fromkeys(used):
        if _symbol(symbol) not in attrs and str(symbol).isalnum():
            b.block.insert_arg(IndexType(), len(b.block.args))
            attrs.append(_symbol(symbol))
    for inner in op.body.block.ops:
        b.location = inner.location
        _op(b, inner, values)
    outputs = b.block.last_op.operand_types if b.block.last_op is not None else ()
    inputs = [arg.type for arg in b.block.args]
    new = FuncOp(op.sym_name.data, (inputs, list(outputs)), Region(b.block), arg_attrs=ArrayAttr(attrs))
    new.location = op.location
    return new


def _symbol(symbol: Expr) -> DictionaryAttr:
    return DictionaryAttr({"tw.symbol": StringAttr(str(symbol))})


def _op(b: Builder, op: Operation, values: dict[SSAValue, SSAValue]) -> None:
    name = name_of(op)
    if isinstance(op, ReturnOp):
        b.block.add_op(ReturnOp(*(_value(op, v, values) for v in op.operands)))
        return
    if _number(b, op, values) or (
        name == "arith.constant" and not isinstance(op.results[0].type, TensorType)
    ):
        return  # a size, or a scalar that is read where it is used
    args = [_value(op, v, values) for v in op.operands if v in values or isinstance(v.type, TensorType)]
    if name == "linalg.generic":
        found = read_generic(b, op, [*_operands(b, op, values)], values)
    elif (read := _TENSOR.get(name) or STABLEHLO.get(name)) is not None:
        found = [read(b, op, args)]
    elif len(args) == len(op.operands) and (result := read_scalar(b, op, args)) is not None:
        found = [result]
    else:
        raise cannot(op, "no op of tw has its meaning")
    values.update(zip(op.results, found, strict=True))


def _value(op: Operation, value: SSAValue, values: Mapping[SSAValue, SSAValue]) -> SSAValue:
    if value not in values:
        raise cannot(op, f"it uses a value of type {value.type} that is no tensor")
    return values[value]


def _operands(b: Builder, op: Operation, values: Mapping[SSAValue, SSAValue]) -> list[SSAValue]:
    """The operands of a generic; a scalar is a tensor of rank 0."""
    found: list[SSAValue] = []
    for value in op.operands:
        owner = value.owner
        if value not in values and isinstance(owner, Operation) and name_of(owner) == "arith.constant":
            number, element = scalar_constant(owner)
            found.append(b.full(number, element, ()))
        else:
            found.append(_value(op, value, values))
    return found


# Sizes


def _number(b: Builder, op: Operation, values: Mapping[SSAValue, SSAValue]) -> bool:
    """Whether `op` computes a size; its expression is noted then."""
    if len(op.results) != 1 or not isinstance(op.results[0].type, IndexType):
        return False
    name, known = name_of(op), [b.numbers.get(v) for v in op.operands]
    if name == "arith.constant":
        value: Expr | None = as_expr(int(scalar_constant(op)[0]))
    elif name == "tensor.dim" and known[1] is not None and known[1].constant is not None:
        value = sizes_of(_value(op, op.operands[0], values))[known[1].constant]
    elif name in _ARITHMETIC and None not in known:
        value = _ARITHMETIC[name](*known)
    else:
        raise cannot(op, "a size is computed from something else than sizes")
    assert value is not None
    b.numbers[op.results[0]] = value
    return True


def _quotient(a: Expr, b: Expr) -> Expr:
    return a // b


_ARITHMETIC: Mapping[str, Callable[..., Expr]] = {
    "arith.addi": add,
    "arith.subi": sub,
    "arith.muli": mul,
    "arith.floordivsi": _quotient,
    "arith.maxsi": maximum,
    "arith.minsi": minimum,
}


# Tensor ops


def _mixed(b: Builder, op: Operation, static: str, dynamic: Sequence[SSAValue]) -> list[Expr]:
    """A list that is partly in an attribute and partly in operands."""
    rest = iter(dynamic)
    static_values = integers(required(op, static))
    return [b.numbers[next(rest)] if n == _DYNAMIC else as_expr(n) for n in static_values]


def _segments(op: Operation) -> list[list[SSAValue]]:
    rest = list(op.operands)
    return [[rest.pop(0) for _ in range(n)] for n in integers(required(op, "operandSegmentSizes"))]


def _empty(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    type_: Attribute = op.results[0].type
    rest = iter(op.operands)
    sizes = [b.numbers[next(rest)] if n < 0 else as_expr(n) for n in shape_of(type_)]
    result = b.full(0, known_element(op, type_), sizes)
    b.unset.add(result)
    del b.splats[result]
    return result


def _constant(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    return b.constant(op, required(op, "value"))


def _same(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    return args[0]


def _extract_slice(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    _, offsets, sizes, strides = _segments(op)
    starts = _mixed(b, op, "static_offsets", offsets)
    extents = _mixed(b, op, "static_sizes", sizes)
    steps = _mixed(b, op, "static_strides", strides)
    result = b.add(view.SliceOp(args[0], starts, extents, steps))
    rank = len(shape_of(op.results[0].type))
    if rank == len(extents):
        return result
    return b.reshape(result, [n for n, kept in zip(extents, _kept(op, extents, rank), strict=True) if kept])


def _kept(op: Operation, extents: Sequence[Expr], rank: int) -> list[bool]:
    """Which dimensions a rank-reducing slice keeps: those of size 1 go, first ones first."""
    surplus, kept = len(extents) - rank, list[bool]()
    for n in extents:
        drop = surplus > 0 and n.constant == 1
        surplus -= drop
        kept.append(not drop)
    if surplus:
        raise cannot(op, "it drops a dimension that is not of size 1")
    return kept


def _insert_slice(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    """Cut the target along the one dimension that is filled in part, and join the pieces."""
    source, target = args[0], args[1]
    _, _, offsets, sizes, strides = _segments(op)
    starts = _mixed(b, op, "static_offsets", offsets)
    extents = _mixed(b, op, "static_sizes", sizes)
    steps = _mixed(b, op, "static_strides", strides)
    whole = list(sizes_of(target))
    if len(sizes_of(source)) == len(whole):
        for own, extent in zip(sizes_of(source), extents, strict=True):
            same_size(extent, own)
    part = [d for d, (s, n, w) in enumerate(zip(starts, extents, whole, strict=True)) if s != ZERO or n != w]
    if len(part) > 1 or any(e.constant != 1 for e in steps) or len(sizes_of(source)) != len(whole):
        raise cannot(op, "it fills a part along more than one dimension, or with steps")
    if not part:
        return source
    (d,) = part
    pieces = [(ZERO, starts[d]), (starts[d] + extents[d], whole[d] - starts[d] - extents[d])]
    sliced = [_piece(b, target, d, start, size) for start, size in pieces]
    joined = [v for v in (sliced[0], source, sliced[1]) if v is not None]
    return b.add(view.ConcatOp(joined, d)) if len(joined) > 1 else joined[0]


def _piece(b: Builder, value: SSAValue, dim: int, start: Expr, size: Expr) -> SSAValue | None:
    if size == ZERO:
        return None
    whole = list(sizes_of(value))
    if value in b.unset:
        return b.full(0, element_type_of(value), [*whole[:dim], size, *whole[dim + 1 :]])
    starts = [start if d == dim else ZERO for d in range(len(whole))]
    return b.add(view.SliceOp(value, starts, [*whole[:dim], size, *whole[dim + 1 :]]))


def _collapse(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    sizes = sizes_of(args[0])
    groups = elements(required(op, "reassociation"))
    dims = [[d.value.data for d in elements(g) if isinstance(d, IntegerAttr)] for g in groups]
    return b.reshape(args[0], [product(sizes[d] for d in group) for group in dims])


def _expand(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    return b.reshape(args[0], _mixed(b, op, "static_output_shape", op.operands[1:]))


def _pad(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    """With one constant on every side; the body may name it inside or outside."""
    last = op.regions[0].block.last_op
    owner = last.operands[0].owner if last is not None else None
    if not isinstance(owner, Operation) or name_of(owner) != "arith.constant":
        raise cannot(op, "it pads with a value that is no constant")
    _, low, high = _segments(op)
    lows, highs = _mixed(b, op, "static_low", low), _mixed(b, op, "static_high", high)
    if any(n.constant is not None and n.constant < 0 for n in (*lows, *highs)):
        raise cannot(op, "it takes elements away")
    if all(n == ZERO for n in (*lows, *highs)):
        return args[0]
    return b.add(view.PadOp(args[0], lows, highs, scalar_constant(owner)[0]))


_TENSOR: Mapping[str, Read] = {
    "tensor.pad": _pad,
    "tensor.empty": _empty,
    "arith.constant": _constant,
    "tensor.cast": _same,
    "tensor.extract_slice": _extract_slice,
    "tensor.insert_slice": _insert_slice,
    "tensor.collapse_shape": _collapse,
    "tensor.expand_shape": _expand,
}
