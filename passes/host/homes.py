"""Decides, before anything is emitted, which values are computed straight into their destination."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import ZERO, Expr, product
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.aten import WriteOp
from tilewright.dialects.tw.creation import ConstantOp
from tilewright.dialects.tw.updating import UpdateOp, UpdatingOp
from tilewright.dialects.tw.view import ConcatOp, ReshapeOp
from tilewright.dialects.types import sizes_of

from ..memory.disjoint import Region, apart
from ..memory.layouts import Layout, overlaps_itself, same_strides
from ..memory.library_calls import is_call
from ..memory.stated import layout_of_result
from ..memory.views import is_view, keeps_elements, layout_behind, source_layout, view_layout
from .inplace import inplace_pairs

Strides = tuple[Expr, ...]


@dataclass(frozen=True)
class Slice:
    """A value that is computed into its part of a concatenation."""

    concat: ConcatOp
    operand: int
    views: tuple[Operation, ...]
    """The views between the value and the operand of the concatenation."""


@dataclass(frozen=True)
class Target:
    """An argument that a value is computed into, and the layout that it has there."""

    argument: SSAValue
    layout: Layout


@dataclass
class Homes:
    """What `find_homes` decided; a value in none of the tables gets a temporary."""

    results: dict[SSAValue, Strides] = field(default_factory=dict[SSAValue, Strides])
    """Values computed into a tensor that the caller will own, with its strides."""
    slices: dict[SSAValue, Slice] = field(default_factory=dict[SSAValue, Slice])
    targets: dict[SSAValue, Target] = field(default_factory=dict[SSAValue, "Target"])
    """Values computed into an argument (`tw.write`), if the argument is not read later."""
    last_read: dict[SSAValue, float] = field(default_factory=dict[SSAValue, float])
    """What is no view -> position of the last op that reads it, or infinity."""


@dataclass(frozen=True)
class Alias:
    """A value as views of what another op or the caller computed."""

    root: SSAValue
    views: tuple[Operation, ...]
    layout: Layout
    """If the root has the layout that its op asks for."""


def find_homes(
    block: Block, arguments: Mapping[SSAValue, Layout], strides: Sequence[tuple[Expr, ...]]
) -> Homes:
    """`strides`: what the function must return, one entry per result that is a tensor."""
    aliases = _aliases(block, arguments)
    homes = Homes()
    ret = block.last_op
    assert isinstance(ret, ReturnOp)
    tensors = [v for v in ret.arguments if v in aliases]
    for value, wanted in zip(tensors, strides, strict=True):
        _home_result(homes, aliases, value, wanted)
    uses, writes = _use_counts(block, aliases), list[WriteOp]()
    for position, op in enumerate(block.ops):
        match op:
            case ConcatOp():
                _home_slices(homes, aliases, op, uses)
                _note_reads(homes, aliases, op.operands, position)
            case WriteOp():
                _home_write(homes, aliases, op, writes)
                writes.append(op)
                _note_reads(homes, aliases, (op.value,), inf)
            case _ if not (is_view(op) and aliases[op.results[0]].views):
                _note_reads(homes, aliases, op.operands, inf if op is ret else position)
            case _:
                pass  # a view reads nothing by itself
    positions = {op: position for position, op in enumerate(block.ops)}
    for value, target in list(homes.targets.items()):
        _home_before_update(homes, aliases, value, target, positions)
    return homes


def _aliases(block: Block, arguments: Mapping[SSAValue, Layout]) -> dict[SSAValue, Alias]:
    aliases: dict[SSAValue, Alias] = {v: Alias(v, (), layout) for v, layout in arguments.items()}
    for op in block.ops:
        if is_view(op):
            source = aliases[op.operands[0]]
            layout = view_layout(op, source.layout)
            if layout is not None:
                aliases[op.results[0]] = Alias(source.root, (*source.views, op), layout)
                continue
        for i, result in enumerate(op.results):
            if isinstance(result.type, TensorType):
                aliases[result] = Alias(result, (), layout_of_result(op, i))
    return aliases


def _is_placeable(root: SSAValue) -> bool:
    """True where we choose the memory: not for arguments, what ATen allocates and data."""
    if isinstance(root, BlockArgument):
        return False
    op = root.owner
    assert isinstance(op, Operation)
    if isinstance(op, UpdateOp) and root in op.returned:
        return False
    return not isinstance(op, ConstantOp) and not is_call(op)


def _home_result(homes: Homes, aliases: dict[SSAValue, Alias], value: SSAValue, wanted: Strides) -> None:
    alias = aliases[value]
    root, layout = _traced(alias, Layout(ZERO, sizes_of(value), wanted))
    if not _is_placeable(root) or root in homes.results:
        return
    if layout is not None:
        homes.results[root] = layout.strides
        if (uncopied := _behind_copy(aliases, root, layout)) is not None:
            source, strides = uncopied
            homes.results.setdefault(source, strides)
    elif same_strides(alias.layout.sizes, alias.layout.strides, wanted) or not alias.views:
        homes.results[root] = aliases[root].layout.strides


def _traced(alias: Alias, layout: Layout) -> tuple[SSAValue, Layout | None]:
    """The root of an alias, and the layout that it must have for the alias to have `layout`."""
    found = layout_behind(alias.views[::-1], layout)
    if found is not None and overlaps_itself(found.sizes, found.strides):
        found = None
    return alias.root, found


def _behind_copy(
    aliases: dict[SSAValue, Alias], root: SSAValue, layout: Layout
) -> tuple[SSAValue, Strides] | None:
    """What a reshape would copy, and strides with which it need not: those of its place in the result.

    `(x * 2).mT.reshape(-1)` is no view of a row-major product, but one of a product in columns.
    """
    op = root.owner
    if not isinstance(op, Operation) or not is_view(op) or (before := source_layout(op, layout)) is None:
        return None
    source, found = _traced(aliases[op.operands[0]], before)
    if found is None or not isinstance(source.owner, KernelOp):
        return None
    return source, found.strides


def _use_counts(block: Block, aliases: dict[SSAValue, Alias]) -> dict[SSAValue, int]:
    counts: dict[SSAValue, int] = {}
    for op in block.ops:
        if is_view(op) and aliases[op.results[0]].views:
            continue
        for operand in op.operands:
            if operand in aliases:
                root = aliases[operand].root
                counts[root] = counts.get(root, 0) + 1
    return counts


def _home_slices(
    homes: Homes, aliases: dict[SSAValue, Alias], op: ConcatOp, uses: dict[SSAValue, int]
) -> None:
    contiguous = product(sizes_of(op.result)[: op.dim.value.data]).constant == 1
    for i, value in enumerate(op.inputs):
        alias = aliases[value]
        root = alias.root
        if not _is_placeable(root) or root in homes.results or root in homes.slices:
            continue
        if not all(map(keeps_elements, alias.views)):
            continue
        if uses[root] == 1 or contiguous:
            homes.slices[root] = Slice(op, i, alias.views)
            _home_before_copy(homes, aliases, homes.slices[root], root, uses)


def _home_before_copy(
    homes: Homes,
    aliases: dict[SSAValue, Alias],
    home: Slice,
    root: SSAValue,
    uses: dict[SSAValue, int],
) -> None:
    """What a reshape would copy goes to the slice, where it need not be copied if strides can say so.

    Heads of gradients, `[b, h, l, e]`, become `[b, l, h*e]` beside those of two other tensors.
    """
    op = root.owner
    if not isinstance(op, ReshapeOp):
        return
    alias = aliases[op.operands[0]]
    source = alias.root
    taken = source in homes.results or source in homes.slices or uses[source] != 1
    if taken or not isinstance(source.owner, KernelOp):
        return
    if all(map(keeps_elements, alias.views)):
        homes.slices[source] = Slice(home.concat, home.operand, (*alias.views, op, *home.views))


def _home_write(
    homes: Homes, aliases: dict[SSAValue, Alias], op: WriteOp, earlier: Sequence[WriteOp]
) -> None:
    target = aliases[op.target]
    value, layout = _traced(aliases[op.value], target.layout)
    taken = (homes.results, homes.slices, homes.targets)
    if layout is None or not _is_placeable(value) or any(value in table for table in taken):
        return
    if not all(_lies_apart(target, write, aliases) for write in earlier):
        return
    homes.targets[value] = Target(target.root, layout)


def _lies_apart(target: Alias, earlier: WriteOp, aliases: dict[SSAValue, Alias]) -> bool:
    """Whether a write to `target` may be done before an earlier one: they have no element in common."""
    other = aliases[earlier.target]
    return target.root is not other.root or apart(Region.of(target.layout), Region.of(other.layout))


def _home_before_update(
    homes: Homes,
    aliases: dict[SSAValue, Alias],
    value: SSAValue,
    target: Target,
    positions: Mapping[Operation, int],
) -> None:
    """What `value`, which goes to an argument, is an update of in place goes there, too, and so on.

    Of a cache to which two tokens are written one after the other nothing is copied.
    """
    while isinstance(op := value.owner, KernelOp | UpdatingOp):
        before = [_traced(aliases[operand], target.layout) for operand in _updated_in_place(op, value)]
        taken = {*homes.results, *homes.slices, *homes.targets}
        found = next(
            (
                (root, layout)
                for root, layout in before
                if layout is not None
                and isinstance(root.owner, KernelOp | UpdatingOp)
                and root not in taken
                and homes.last_read[root] <= positions[op]
            ),
            None,
        )
        if found is None:
            return
        value, target = found[0], Target(target.argument, found[1])
        homes.targets[value] = target


def _updated_in_place(op: KernelOp | UpdatingOp, result: SSAValue) -> list[SSAValue]:
    """Operands of which `result` may be an update in place."""
    number = op.results.index(result)
    if isinstance(op, UpdatingOp):
        return [op.inputs[i] for i in ints(op.inits)[number : number + 1] if i >= 0]
    pairs = inplace_pairs(tuple(op.body.block.ops), op.space, op.sources, op.destinations)
    return [op.inputs[i] for i, o in pairs if o == number]


def _note_reads(
    homes: Homes, aliases: dict[SSAValue, Alias], operands: Sequence[SSAValue], when: float
) -> None:
    for operand in operands:
        if operand in aliases:
            root = aliases[operand].root
            homes.last_read[root] = max(homes.last_read.get(root, 0), when)
