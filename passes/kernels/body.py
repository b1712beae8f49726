"""Rewriting of kernel bodies: subscripts, axes, inputs. What absorbing and fusing share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.float8 import FORMATS
from tilewright.dialects.index_expr import (
    ONE,
    ZERO,
    Bounds,
    Call,
    Expr,
    Var,
    as_expr,
    dim,
    gathered,
    is_nonnegative,
)
from tilewright.dialects.ir_access import operands_of, ops_of, type_of
from tilewright.dialects.scalars import number_of
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.arith import ROUNDED
from tilewright.dialects.tk.attributes import MapAttr, axes_attr, map_attr, segments
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.compute import ArgReduceOp
from tilewright.dialects.tk.domain import (
    REDUCTIONS_AND_SCANS,
    Along,
    Reduction,
    exprs_of,
    is_along,
    is_reduction,
)
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import is_half, sizes_of

from .chains import find_chain
from .choices import choose_last, chosen_once, decided_by_numbers, loaded_anyway, places_loaded


def plain_axis(value: Expr) -> int | None:
    """The axis that `value` is, if it is nothing but one."""
    match value.terms:
        case (((Var(kind="d", index=index),), 1),):
            return index
        case _:
            return None


def subscripts_of_rows(load: LoadOp) -> tuple[Expr, ...]:
    """The subscripts of a load without those of dimensions of one element at the end: the last is of rows."""
    sizes, subscripts = sizes_of(load.buffer), load.subscripts
    left = len(subscripts)
    while left > 1 and sizes[left - 1] == ONE:
        left -= 1
    return tuple(subscripts[:left])


def set_exprs(op: Operation, exprs: Sequence[Expr]) -> None:
    """Let `op` be at `exprs`; a load loses the gather indices that these do not mention."""
    if type(op) is LoadOp and op.dynamic:
        dynamic, exprs = used_indices(op.dynamic, exprs)
        rest = op.operands[1 + len(op.dynamic) :]
        op.properties["operandSegmentSizes"] = segments(1, len(dynamic), *((1, 1) if rest else (0, 0)))
        op.operands = [op.buffer, *dynamic, *rest]
    op.properties["map"] = map_attr(exprs)


def used_indices(dynamic: Sequence[SSAValue], exprs: Sequence[Expr]) -> tuple[list[SSAValue], list[Expr]]:
    """Without gather indices that no subscript mentions: the load would vary with them for nothing."""
    kept = [k for k in range(len(dynamic)) if any(e.uses(Var("i", k)) for e in exprs)]
    renumbered = {Var("i", k): gathered(n) for n, k in enumerate(kept)}
    return [dynamic[k] for k in kept], [e.substitute(renumbered) for e in exprs]


def rewrite_exprs(ops: Iterable[Operation], rewrite: Callable[[Expr], Expr]) -> None:
    """Apply `rewrite`, which depends on nothing else, to every subscript of `ops`."""
    rewritten: dict[tuple[Expr, ...], MapAttr] = {}  # of a long kernel nearly all are the same few
    for op in ops:
        if exprs := exprs_of(op):
            if exprs not in rewritten:
                rewritten[exprs] = map_attr([rewrite(e) for e in exprs])
            op.properties["map"] = rewritten[exprs]


def combined_axes(op: Operation) -> tuple[int, ...]:
    """Axes whose elements `op` combines: it reduces, scans or sorts them."""
    if type(op) not in REDUCTIONS_AND_SCANS:  # nearly always; `isinstance` of an op costs ten times as much
        return ()
    if isinstance(op, Reduction):
        return op.over
    return (op.along,) if isinstance(op, Along) else ()


def named_axes(op: Operation) -> tuple[int, ...]:
    """Axes that a property of `op` names: it reduces, scans, sorts or stores over them."""
    return op.over if type(op) is StoreOp else combined_axes(op)


def rename_axes(ops: Iterable[Operation], names: Mapping[int, Sequence[int]]) -> None:
    """Replace axis `a` of reductions, scans, sorts and stores `over` it by the axes `names[a]`."""
    for op in ops:
        axes = [new for a in named_axes(op) for new in names[a]]
        if is_reduction(op) or (axes and type(op) is StoreOp):
            op.properties["axes"] = axes_attr(*sorted({*axes}))
        elif is_along(op):
            op.properties["axis"] = IntegerAttr(axes[0], i64)


def permute_axes(kernel: KernelOp, order: Sequence[int]) -> None:
    """Walk the axes of a kernel in another order: axis `i` becomes what `order[i]` was."""
    ops = ops_of(kernel.body.block)
    moved = {Var("d", axis): dim(i) for i, axis in enumerate(order)}
    rewrite_exprs(ops, lambda e: e.substitute(moved))
    rename_axes(ops, {axis: (i,) for i, axis in enumerate(order)})
    kernel.properties["sizes"] = map_attr([kernel.space[axis] for axis in order])


# Splitting an axis


def _calls(exprs: Iterable[Expr]) -> int:
    return sum(isinstance(atom, Call) for e in exprs for atom in e.atoms())


def split_axis(kernel: KernelOp, axis: int, inner: Expr, *, only_if_simpler: bool = False) -> bool:
    """Replace `axis` by two of sizes `size / inner` and `inner`; False where it cannot be.

    With `only_if_simpler` the split must remove a `floordiv` or `mod`.
    """
    space = kernel.space
    outer = space[axis].exact_div(inner)
    if outer is None or outer.constant == 1 or inner.constant == 1:
        return False
    ops = ops_of(kernel.body.block)
    if any(isinstance(op, Along) and op.along == axis for op in ops):
        return False
    sizes = (*space[:axis], outer, inner, *space[axis + 1 :])
    moved = {Var("d", i): dim(i + 1) for i in range(axis + 1, len(space))}
    moved[Var("d", axis)] = dim(axis) * inner + dim(axis + 1)
    bounds = Bounds(sizes)
    new: dict[Expr, Expr] = {}
    for op in ops:
        for expr in exprs_of(op):
            if expr not in new:
                new[expr] = bounds.simplify(expr.substitute(moved))
    rewritten = {op: [new[e] for e in exprs] for op in ops if (exprs := exprs_of(op))}
    if only_if_simpler:
        before = sum(_calls(exprs_of(op)) for op in rewritten)
        if sum(_calls(exprs) for exprs in rewritten.values()) >= before:
            return False
    for op, exprs in rewritten.items():
        set_exprs(op, exprs)
    names: dict[int, Sequence[int]] = {i: (i,) if i < axis else (i + 1,) for i in range(len(space))}
    names[axis] = (axis, axis + 1)
    rename_axes(ops, names)
    kernel.properties["sizes"] = map_attr(sizes)
    return True


def may_turn(kernel: KernelOp, axis: int) -> bool:
    """Whether nothing asks in which order `axis` is walked."""
    ops = kernel.body.block.ops
    return not any(isinstance(op, ArgReduceOp | Along) and axis in named_axes(op) for op in ops)


def turn_axis(kernel: KernelOp, axis: int) -> None:
    """Walk `axis` backwards, in whose order nothing goes (`may_turn`)."""
    bounds, back = Bounds(kernel.space), {Var("d", axis): kernel.space[axis] - 1 - dim(axis)}
    rewrite_exprs(kernel.body.block.ops, lambda e: bounds.simplify(e.substitute(back)))


def remember_axes(kernel: KernelOp) -> Callable[[], None]:
    """A function that undoes later splits and turns: they change nothing but properties."""
    saved = [(op, dict(op.properties)) for op in (kernel, *kernel.body.block.ops)]

    def restore() -> None:
        for op, properties in saved:
            op.properties = dict(properties)

    return restore


def remove_divisions(kernel: KernelOp) -> bool:
    """Split axes until no subscript divides an axis, where sizes allow it; whether that changed anything.

    Axes that chained products multiply stay whole: tiles hold them, at divided positions as well.
    """
    for turn in range(16):
        exprs = dict.fromkeys(e for op in kernel.body.block.ops for e in exprs_of(op))
        candidates = dict.fromkeys(c for e in exprs for c in _split_candidates(e, kernel.space))
        chain = find_chain(kernel.body.block) if candidates else None
        whole = {chain.row, chain.along, *chain.held} if chain is not None else ()
        splits = [(axis, inner) for axis, inner in candidates if axis not in whole]
        if not any(split_axis(kernel, axis, inner, only_if_simpler=True) for axis, inner in splits):
            return turn > 0
    return True


def _split_candidates(expr: Expr, space: Sequence[Expr]) -> Iterable[tuple[int, Expr]]:
    """(axis, inner size) for each axis under a division of `expr`."""
    for atom in expr.atoms():
        if not isinstance(atom, Call) or atom.name not in ("floordiv", "mod"):
            continue
        yield from _split_candidates(atom.lhs, space)
        for var in sorted(atom.lhs.variables(), key=lambda v: v.index):
            if var.kind != "d":
                continue
            factor = atom.lhs.coefficient(var)
            inner = atom.rhs.exact_div(factor) if factor else None
            if inner is None or not is_nonnegative(inner):
                continue  # an axis that is walked backwards: there are no negative sizes
            if space[var.index].exact_div(inner) is not None:
                yield var.index, inner


def solve_axes(
    stored: Sequence[Expr], read: Sequence[Expr], space: Sequence[Expr], *, part: bool = False
) -> dict[int, Expr] | None:
    """The axis values at which `stored` equals `read`; None where `stored` cannot be inverted.

    Each subscript of `stored` is a mixed-radix number of distinct axes: `d0*64 + d1`. An axis may count
    backwards: `63 - d1`. With `part` it may start elsewhere, as under a mask: `d0*64 + d1 - 2`.
    """
    values = _solved(tuple(stored), tuple(read), tuple(space), part)
    return None if values is None else dict(values)


@lru_cache(maxsize=16384)
def _solved(
    stored: tuple[Expr, ...], read: tuple[Expr, ...], space: tuple[Expr, ...], part: bool
) -> Mapping[int, Expr] | None:
    values: dict[int, Expr] = {}
    single = {Var("d", axis): ZERO for axis, size in enumerate(space) if size.constant == 1}
    for target, value in zip([e.substitute(single) for e in stored], read, strict=True):
        digits = sorted((v for v in target.variables() if v.kind == "d"), key=lambda v: v.index)
        if any(v.index in values for v in digits):
            return None
        back = [v for v in digits if (c := target.coefficient(v)) is not None and is_nonnegative(-c - 1)]
        target = target.substitute({v: space[v.index] - 1 - dim(v.index) for v in back})
        if part:
            start = target.substitute({v: ZERO for v in digits})
            target, value = target - start, value - start
        by_stride = {target.coefficient(v): v for v in digits if target.coefficient(v) is not None}
        stride, rest = as_expr(1), target
        while by_stride:
            if (var := by_stride.pop(stride, None)) is None:
                return None
            rest = rest - stride * dim(var.index)
            digit = value // stride
            values[var.index] = digit if not by_stride else digit % space[var.index]
            stride = stride * space[var.index]
        if rest:
            return None
        values.update((v.index, space[v.index] - 1 - values[v.index]) for v in back)
    return values | {var.index: ZERO for var in single}  # used or not: other subscripts may have them


# Inputs


def replace_input(kernel: KernelOp, number: int, value: SSAValue) -> BlockArgument:
    """Make operand `number` another value; its block argument takes that type."""
    old = kernel.body.block.args[number]
    kernel.operands[number] = value
    if old.type == value.type:
        return old
    new = kernel.body.block.insert_arg(value.type, number)
    old.replace_all_uses_with(new)
    kernel.body.block.erase_arg(old)
    return new


def merge_equal_inputs(kernel: KernelOp) -> None:
    """Drop inputs that are not read, and let equal operands share one block argument."""
    block = kernel.body.block
    kept: dict[SSAValue, BlockArgument] = {}
    operands: list[SSAValue] = []
    before = operands_of(kernel)
    for value, arg in list(zip(before, block.args, strict=False)):
        if arg.first_use is None:
            block.erase_arg(arg)
        elif value in kept:
            arg.replace_all_uses_with(kept[value])
            block.erase_arg(arg)
        else:
            kept[value] = arg
            operands.append(value)
    if len(operands) != len(before):
        kernel.operands = operands


def loads_of(arg: SSAValue) -> list[LoadOp]:
    return [use.operation for use in arg.uses if isinstance(use.operation, LoadOp)]


def loads_apart(arg: SSAValue) -> list[LoadOp]:
    """A load of a block argument for each place at which it is read."""
    return list({(load.map, *load.operands): load for load in loads_of(arg)}.values())


def store_to(destination: SSAValue) -> StoreOp | None:
    """The one plain store to a destination, None where there are several or it is masked."""
    store = one_store_to(destination)
    return store if store is not None and store.mask is None else None


def one_store_to(destination: SSAValue) -> StoreOp | None:
    """The one store that fills a destination, maybe under a mask, None where there are several."""
    stores = [use.operation for use in destination.uses]
    if len(stores) != 1 or not isinstance(stores[0], StoreOp):
        return None
    store = stores[0]
    return None if store.dynamic or store.combine is not None else store


# Cleaning up


_EFFECTS = frozenset[type[Operation]]((StoreOp, AssertOp))


def simplify_body(kernel: KernelOp) -> None:
    """Merge equal ops and checks, drop roundings and choices of no effect, drop dead ops and inputs."""
    merge_equal_inputs(kernel)
    simplify_ops(kernel.body.block)
    merge_equal_inputs(kernel)


def simplify_ops(block: Block) -> None:
    """The same, but for inputs, of the ops of a block."""
    seen: dict[tuple[object, ...], Operation] = {}
    ops = ops_of(block)
    loaded = places_loaded(ops)
    for op in ops:
        if type(op) in _EFFECTS and not isinstance(op, AssertOp):
            continue
        insert = partial(_insert, seen, op)
        value = _unchanged(op) or decided_by_numbers(op, insert)
        value = value or chosen_once(op, insert) or loaded_anyway(op, loaded, insert)
        if value is not None:
            op.results[0].replace_all_uses_with(value)
            continue
        if isinstance(op, AssertOp) and number_of(op.condition):
            Rewriter.erase_op(op)
            continue
        if (known := _first(seen, op)) is op:
            continue
        for old, new in zip(op.results, known.results, strict=True):
            old.replace_all_uses_with(new)
        if isinstance(op, AssertOp):
            Rewriter.erase_op(op)
    for op in reversed(ops):
        choose_last(op)
    erase_unread(block)


def erase_unread(block: Block) -> None:
    """Drop the ops of whose results nothing reads any; what has none, a store or a check, stays."""
    for op in reversed(ops_of(block)):
        if op.results and all(r.first_use is None for r in op.results):
            Rewriter.erase_op(op)


def _is_stored(value: SSAValue) -> bool:
    return any(isinstance(use.operation, StoreOp) for use in value.uses)


def _first(seen: dict[tuple[object, ...], Operation], op: Operation) -> Operation:
    """The first of the ops that compute what `op` does."""
    attributes = frozenset((*op.properties.items(), *op.attributes.items()))
    return seen.setdefault((type(op), operands_of(op), attributes, tuple(map(type_of, op.results))), op)


def _insert(seen: dict[tuple[object, ...], Operation], place: Operation, op: Operation) -> Operation:
    """`op` before `place`, unless one that is equal stands there."""
    if (known := _first(seen, op)) is not op:
        op.erase()  # or it would be a reader of its operands
        return known
    Rewriter.insert_op(op, InsertPoint.before(place))
    return op


def _unchanged(op: Operation) -> SSAValue | None:
    """`x` of `extf(truncf(x))`: inside one kernel half-precision values stay in f32, unless asked for.

    What is stored rounded stays so: others read it, and what each makes of it is to be the same (an element
    that equals the largest one). And of `truncf(extf(x))`, which rounds nothing, of bits that are read as
    what they were, and of `x * 1`.
    """
    if type(op) is arith.MulfOp:
        return next((a for a, b in ((op.lhs, op.rhs), (op.rhs, op.lhs)) if number_of(b) == 1), None)
    if (inverse := _INVERSES.get(type(op))) is None:
        return None
    (value,) = operands_of(op)
    inner = value.owner
    if not isinstance(inner, Operation) or type(inner) is not inverse:
        return None
    asked = ROUNDED in op.attributes or ROUNDED in inner.attributes
    if inverse is arith.TruncFOp and (asked or not is_half(value.type) or _is_stored(value)):
        return None
    source = inner.operands[0]
    if (format_ := FORMATS.get(source.type)) is not None and format_.infinite:
        return None  # of its NaNs, rounding gives one
    return source if source.type == op.results[0].type else None


_INVERSES: dict[type[Operation], type[Operation]] = {
    arith.ExtFOp: arith.TruncFOp,
    arith.TruncFOp: arith.ExtFOp,
    arith.BitcastOp: arith.BitcastOp,
}
