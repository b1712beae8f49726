"""Concatenations -> `tk.kernel`: for targets where each piece would be a launch of its own."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.func import ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.dialects.index_expr import as_expr, product
from tilewright.dialects.scalars import number_of
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.aten import AtenOp
from tilewright.dialects.tw.linalg import LINALG_OPS
from tilewright.dialects.tw.view import ConcatOp
from tilewright.dialects.types import element_type_of, scalar_type, sizes_of

from ..fusion.written_out import axes_to_write_out
from ..kernels.body import combined_axes, merge_equal_inputs, store_to
from ..kernels.kernel_builder import KernelBuilder
from ..memory.library_calls import out_variant
from ..memory.views import behind, keeps_elements, readers
from ..rewrite import skip

_PIECES = 8
"""Every element asks which piece it is of: more pieces are better written where they are computed."""
_GIVEN = 32
"""The same where none of them is computed: each would be copied by a launch of its own."""
_RUN = 16
"""Elements of a piece side by side: what writes fewer at once wastes what memory moves together."""
_FAR = 64
"""Kernels behind a piece that are looked at."""


def concat_becomes_kernel(op: Operation) -> bool:
    """Whether `op` is a concatenation whose pieces would all be launches of their own."""
    if not isinstance(op, ConcatOp):
        return False
    most = _GIVEN if all(map(_is_given, op.inputs)) else _PIECES
    if len(op.inputs) > most:
        skip(op, f"joined piece by piece: it has more than {most}")
        return False
    stores = list(map(_stores, readers(op.result, keeps_elements)))
    landing = [value for value in op.inputs if _lands_in_place(value, stored=any(stores), only=all(stores))]
    if landing and (any(stores) or not _are_little(landing, op)):
        skip(op, "joined piece by piece: one is computed where it belongs")
        return False
    if all(stores) and _share_work(op):
        skip(op, "joined piece by piece: they are computed of the same")
        return False
    return True


def _are_little(pieces: Sequence[SSAValue], op: ConcatOp) -> bool:
    """Whether most of the result are other pieces, which what computes with it reads where they are."""
    sizes = [sizes_of(value)[op.dim.value.data].constant for value in pieces]
    whole = sizes_of(op.result)[op.dim.value.data].constant
    return whole is not None and 2 * sum(n for n in sizes if n is not None) < whole


def _is_given(value: SSAValue) -> bool:
    """Whether `value` is an argument, or a view of one."""
    return isinstance(behind(value, keeps_elements)[0], BlockArgument)


def _stores(reader: Operation) -> bool:
    """Whether it wants what it reads in memory: what computes that could be no part of it."""
    return isinstance(reader, (ReturnOp, AtenOp, *LINALG_OPS))


def _lands_in_place(value: SSAValue, *, stored: bool, only: bool) -> bool:
    """Whether what computes `value` writes it into the result, and could not be computed there instead.

    A kernel can write twice what others read, too: worth it, if the result is `stored` anyway, of what it
    reduces, and of what is read only to be joined with others. Where the result is stored `only`, so that no
    kernel computes with it while it joins the pieces, also of what is stored for others, and of what a norm
    or a product makes at last, which would be read again.
    """
    root, views = behind(value, keeps_elements)
    owner, alone = root.owner, all(v.has_one_use() for v in (root, *(view.results[0] for view in views)))
    if not isinstance(owner, KernelOp):
        return alone and isinstance(owner, Operation) and out_variant(owner) is not None
    if _reduces(owner):
        return alone or stored
    if alone:
        return only and _is_of_reductions(owner)
    others = readers(root, keeps_elements)
    joined = all(isinstance(reader, ConcatOp) for reader in others)
    return (stored and joined) or (only and any(map(_stores, others)))


def _reduces(kernel: KernelOp) -> bool:
    """Whether it reduces more than few elements, which `fuse` writes out."""
    return any(combined_axes(op) for op in kernel.body.block.ops) and axes_to_write_out(kernel) is None


def _is_of_reductions(kernel: KernelOp) -> bool:
    """Whether it reads what some kernel reduces, or what is computed of that."""
    todo, seen = list(kernel.inputs), set[Operation]()
    while todo and len(seen) < _FAR:
        owner = todo.pop().owner
        if not isinstance(owner, Operation) or owner in seen:
            continue
        seen.add(owner)
        if isinstance(owner, KernelOp):
            if _reduces(owner):
                return True
            todo += owner.inputs
        elif len(owner.operands) == 1:
            todo += owner.operands
    return False


def _share_work(op: ConcatOp) -> bool:
    """Whether one kernel can write all pieces, and computes what several of them need once.

    A kernel of the whole would compute that for each piece again, at every element, or read it; what reads
    the whole could be part of it. Pieces are alike, and none is there twice.
    """
    sizes, axis = sizes_of(op.inputs[0]), op.dim.value.data
    run = product(sizes[axis:]).constant
    alike = len({value.type for value in op.inputs}) == 1 and len(set(op.inputs)) == len(op.inputs)
    if not alike or (run is not None and run < _RUN):
        return False
    behind_pieces = [_pointwise(value) for value in op.inputs]
    return all(behind_pieces) and len(set[KernelOp]().union(*behind_pieces)) < sum(map(len, behind_pieces))


def _pointwise(value: SSAValue) -> set[KernelOp]:
    """The kernels without reductions that `value` is computed by."""
    todo, found = [value], set[KernelOp]()
    while todo and len(found) < _FAR:
        owner = behind(todo.pop(), keeps_elements)[0].owner
        if not isinstance(owner, KernelOp) or not owner.inputs or owner in found:
            continue
        if not _reduces(owner):
            found.add(owner)
            todo += owner.inputs
    return found


def lower_concat(op: Operation) -> KernelOp:
    """Each element reads the one piece that it lies in."""
    assert isinstance(op, ConcatOp)
    axis, element = op.dim.value.data, scalar_type(element_type_of(op.result))
    b = KernelBuilder(op.location, sizes_of(op.result), op.inputs, op.result_types)
    if (padded := _padded(op)) is not None:
        return _lower_pad(op, b, *padded)
    place, starts = b.axes[axis], op.starts
    position, value = b.index(place), None
    for number, start in reversed(list(enumerate(starts))):
        mask = None if number == 0 else b.compare_int("sge", position, b.index(start))
        inside = None if value is None else b.compare_int("slt", position, b.index(starts[number + 1]))
        if inside is not None:
            mask = inside if mask is None else b.op(arith.AndIOp, mask, inside)
        other = None if mask is None else b.constant(0, element)
        along = as_expr(0) if sizes_of(op.inputs[number])[axis].constant == 1 else place - start
        piece = b.load(number, [*b.axes[:axis], along, *b.axes[axis + 1 :]], mask=mask, other=other)
        value = piece if value is None or inside is None else b.select(inside, piece, value)
    assert value is not None, "verified: a concatenation has operands"
    b.store(value, b.axes)
    return b.kernel


def _padded(op: ConcatOp) -> tuple[int, float | int] | None:
    """The one piece that is not filled with a number, where all others are filled with the same."""
    filled = [_filled_with(value) for value in op.inputs]
    numbers = {repr(number): number for number in filled if number is not None}
    if len(numbers) != 1 or filled.count(None) != 1:
        return None
    return filled.index(None), next(iter(numbers.values()))


def _filled_with(value: SSAValue) -> float | int | None:
    """The number that a kernel fills all of `value` with."""
    kernel = value.owner
    if not isinstance(kernel, KernelOp) or kernel.inputs or len(kernel.results) != 1:
        return None
    if (store := store_to(kernel.destinations[0])) is None:
        return None
    if isinstance(store.value.owner, arith.TruncFOp):  # how other numbers round is not asked here
        number = number_of(store.value.owner.input)
        return number if number == 0 else None
    return number_of(store.value)


def _lower_pad(op: ConcatOp, b: KernelBuilder, piece: int, number: float | int) -> KernelOp:
    """The piece where it lies, the number elsewhere."""
    axis = op.dim.value.data
    place, start = b.axes[axis], op.starts[piece]
    position, limits = b.index(place), list[SSAValue]()
    if piece > 0:
        limits.append(b.compare_int("sge", position, b.index(start)))
    if piece < len(op.inputs) - 1:
        limits.append(b.compare_int("slt", position, b.index(op.starts[piece + 1])))
    other = b.constant(number, scalar_type(element_type_of(op.result)))
    subscripts = [*b.axes[:axis], place - start, *b.axes[axis + 1 :]]
    b.store(b.load(piece, subscripts, mask=b.all_true(limits), other=other), b.axes)
    merge_equal_inputs(b.kernel)
    return b.kernel
