"""fold-rows: rows of which slices meet are made, and reduced, a slice at a time."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.index_expr import Expr, Var, dim
from tilewright.dialects.ir_access import defined_functions, ops_of
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.attributes import map_attr
from tilewright.dialects.tk.domain import exprs_of
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import element_type_of, sizes_of, tensor_type

from ..kernels.body import loads_of, merge_equal_inputs, replace_input, set_exprs
from ..kernels.unroll import fold
from ..rewrite import insert_arguments, may_rewrite, skip
from .rows_read import RowsRead, Slice, reduced_axis


@dataclass(frozen=True)
class FoldRowsPass(ModulePass):
    """Reduce a row by its slices at once, where slices of what is made with its sum are read together.

    Before (rotary embeddings of normalized heads; `y` is `x` times what `s` gives):
        %s = tk.kernel [512, 64] ins(%x : tensor<512x64xf32>) -> (tensor<512xf32>) {
          %0 = tk.load %a[d0, d1] ...
          %1 = tk.reduce add %0 over [1] : f32
          tk.store %1, %o[d0] ...
        }
        %y = tk.kernel [512, 64] ins(%x, %s : ...) -> (tensor<512x64xf32>) {...}
        %r = tk.kernel [512, 32] ins(%y, %c : ...) -> (tensor<512x32xf32>) {
          %0 = tk.load %a[d0, d1] ...
          %1 = tk.load %a[d0, d1 + 32] ...
          ...
        }
    After:
        %s = tk.kernel [512, 32] ins(%x : tensor<512x64xf32>) -> (tensor<512xf32>) {
          %0 = tk.load %a[d0, d1] ...
          %1 = tk.load %a[d0, d1 + 32] ...
          %2 = arith.addf %0, %1 : f32
          %3 = tk.reduce add %2 over [1] : f32
          tk.store %3, %o[d0] ...
        }
        %y = tk.kernel [512, 32] ins(%x, %s : ...) -> (tensor<512x32xf32>) {...}
        %z = tk.kernel [512, 32] ins(%x, %s : ...) -> (tensor<512x32xf32>) {...}
        %r = tk.kernel [512, 32] ins(%y, %z, %c : ...) -> (tensor<512x32xf32>) {
          %0 = tk.load %a[d0, d1] ...
          %1 = tk.load %b[d0, d1] ...
          ...
        }

    All walk one space then, and `fuse` makes one kernel of them; before, what reads slices walked another one
    than what is reduced, and the row was read twice. Slices are halves, thirds or quarters of a row, or every
    second, third or fourth element. Behind a reduction there may be up to `kernels` that make rows, as long
    as all are read by slices in the end, and reductions of what those make, as of a variance behind a mean.
    """

    name = "fold-rows"

    kernels: int = 64

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            kernels = [k for k in function.body.block.ops if isinstance(k, KernelOp)]
            whole: dict[KernelOp, str] = {}
            for kernel in reversed(kernels):
                if isinstance(why := _rows_of(kernel, self.kernels, whole), str):
                    whole[kernel] = why
            for kernel in kernels:
                if kernel in whole:
                    skip(kernel, whole[kernel])
                else:
                    _fold(kernel, self.kernels)


def _rows_of(kernel: KernelOp, most: int, whole: Container[KernelOp] = ()) -> RowsRead | str | None:
    """What is made of the sums of `kernel`, or why that is not read by slices; None if it sums no rows.

    Those of reductions in `whole` are not.
    """
    if (axis := reduced_axis(kernel)) is None:
        return None
    length = kernel.space[axis].constant
    if length is None:
        return "how long its rows are depends on a symbol"
    rows = RowsRead(length, most, whole)
    why = rows.follow(kernel.results)
    return rows if why is None else f"its rows are not folded: {why}"


def _fold(kernel: KernelOp, most: int) -> None:
    axis, rows = reduced_axis(kernel), _rows_of(kernel, most)
    if axis is None or not isinstance(rows, RowsRead) or not rows.slices:
        return
    if (places := rows.places(axis)) is None:
        return skip(kernel, "its rows are not folded: the slices are no equal parts of rows")
    if may_rewrite(kernel, f"rows of {len(places)} slices"):
        of_point = [place.substitute({Var("d", axis): dim(0)}) for place in places]
        fold(kernel, axis, places)
        for reducer, along in rows.reducers.items():
            fold(reducer, along, [place.substitute({Var("d", 0): dim(along)}) for place in of_point])
        rows.read_by_reducers()
        _make_by_slices(rows, of_point)


def _make_by_slices(rows: RowsRead, places: Sequence[Expr]) -> None:
    """Make each slice of rows by itself, where the element at a point `d0` is at one of `places`."""
    slices: dict[SSAValue, list[OpResult]] = {}
    for made in sorted(rows.walked, key=_position):
        parts = [_of_slice(made, rows, place, i, len(places), slices) for i, place in enumerate(places)]
        slices.update((old, [part.results[old.index] for part in parts]) for old in made.results)
    starts = [place.substitute({Var("d", 0): dim(0) * 0}).constant for place in places]
    readers = dict.fromkeys(slice_.load.parent_op() for slice_ in rows.slices)
    for slice_ in sorted(rows.slices, key=lambda slice_: slice_.start):
        _read_slice(slice_, slices[slice_.value][starts.index(slice_.start)], rows)
    for reader in readers:
        assert isinstance(reader, KernelOp)
        merge_equal_inputs(reader)
    for made in sorted(rows.walked, key=_position, reverse=True):
        Rewriter.erase_op(made)


def _position(kernel: KernelOp) -> int:
    block = kernel.parent_block()
    assert block is not None
    return block.get_operation_index(kernel)


def _of_slice(
    kernel: KernelOp,
    rows: RowsRead,
    place: Expr,
    number: int,
    parts: int,
    slices: Mapping[SSAValue, Sequence[OpResult]],
) -> KernelOp:
    """A copy of `kernel` before it, which makes one slice of rows from those of what it reads."""
    axis, copy = rows.walked[kernel], kernel.clone()
    at = {Var("d", axis): place.substitute({Var("d", 0): dim(axis)})}
    kept = {load for i, v in enumerate(copy.operands) if v in slices for load in loads_of(copy.sources[i])}
    for op in ops_of(copy.body.block):
        if (exprs := exprs_of(op)) and op not in kept and not isinstance(op, StoreOp):
            set_exprs(op, [e.substitute(at) for e in exprs])
    for i, value in enumerate(list(copy.operands)):
        if value in slices:
            replace_input(copy, i, slices[value][number])
    space = list(copy.space)
    space[axis] = space[axis] // parts
    types = [_shorter(result, rows, parts) for result in kernel.results]
    old = list(copy.destinations)
    body = copy.body.block
    for destination, new in zip(old, insert_arguments(body, len(body.args), types), strict=True):
        destination.replace_all_uses_with(new)
    made = KernelOp.create(
        operands=copy.operands,
        result_types=types,
        properties={"sizes": map_attr(space)},
        attributes=copy.attributes,
        regions=[copy.detach_region(copy.body)],
    )
    for destination in old:
        body.erase_arg(destination)  # pyright: ignore[reportArgumentType]
    made.location = kernel.location
    Rewriter.insert_op(made, InsertPoint.before(kernel))
    copy.erase()
    return made


def _shorter(result: OpResult, rows: RowsRead, parts: int) -> Attribute:
    sizes, row = list(sizes_of(result)), rows.along[result]
    assert row is not None
    sizes[row] = sizes[row] // parts
    return tensor_type(element_type_of(result), sizes)


def _read_slice(slice_: Slice, value: OpResult, rows: RowsRead) -> None:
    """Let a load read the slice that it reads of a row as a tensor by itself."""
    load, row = slice_.load, rows.along[slice_.value]
    reader = load.parent_op()
    assert isinstance(reader, KernelOp)
    assert row is not None
    block = reader.body.block
    (source,) = insert_arguments(block, len(reader.operands), [value.type])
    reader.operands = [*reader.operands, value]
    exprs = list(load.subscripts)
    exprs[row] = dim(slice_.axis)
    load.operands[0] = source
    set_exprs(load, exprs)
