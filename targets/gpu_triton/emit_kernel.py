"""One scheduled `tk.func` on tiles as one Triton function.

    tk.func @k0 [1000] (%a: memref<1000xf32>, %o: memref<1000xf32>) scheduled {
      tk.for 0 = "0" to "1000" step 128 masked parallel {
        %0 = tk.load %a[d0] lanes 0 : memref<1000xf32> -> vector<128xf32>
        %1 = math.exp %0 : vector<128xf32>
        tk.store %1, %o[d0] lanes 0 : vector<128xf32>, memref<1000xf32>
      }
    }

becomes

    @triton.jit
    def k0(a0, a1):
        d0 = tl.program_id(0) * 128
        x0 = d0 + tl.arange(0, 128)
        m0 = x0 < 1000
        v2 = tl.load(a0 + x0, mask=m0, other=0.0)
        tl.store(a1 + x0, libdevice.exp(v2), mask=m0)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.index_expr import Bounds, Var, as_expr
from tilewright.dialects.ir_access import kinds_within
from tilewright.dialects.tk.access import AWAITS, IndexOp, LoadOp, StoreOp
from tilewright.dialects.tk.attributes import launch_number
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.compute import ActiveOp, RandomOp
from tilewright.dialects.tk.halve import HalveOp
from tilewright.dialects.tk.interleave import DeinterleaveOp, InterleaveOp
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.lanes import axes_of_lanes
from tilewright.dialects.tk.loops import ForOp, YieldOp
from tilewright.dialects.tk.scope import shape_of_lanes
from tilewright.dialects.tk.share import ShareOp
from tilewright.dialects.tk.sort import ArrangeOp
from tilewright.dialects.tk.tiles import CollapseOp, CumulateOp, MmaOp
from tilewright.dialects.tk.transpose import TransposeOp
from tilewright.dialects.types import element_type
from tilewright.passes.schedule.offsets import is_small

from ..native.text import place
from . import access, rules
from .coordinates import write_coordinates
from .descriptors import load_block, write_descriptors
from .errors import NoBlocks, NoTritonLowering
from .grid import Grid, grid_of, write_grid
from .inside import writes_nothing
from .kernel import Parameter, TritonKernel
from .spelling import bare, comment, identifier, number, pointer
from .tile_ops import arrange, tile_text
from .writer import Writer, broadcast


@dataclass(frozen=True)
class Emitted:
    """A function, the helpers that it calls, and what a host must know."""

    text: str
    helpers: frozenset[str]
    kernel: TritonKernel


def emit_kernel(
    func: FuncOp, places: dict[tuple[str, str], int], *, reads: str = "", part: bool = False
) -> Emitted:
    """The Triton function of `func`; numbers of its checks are added to `places`.

    What it `reads`, in the user's words, is a comment, which no key of machine code contains.
    As a `part` of a group it is a function that kernels call, with the number of the program as its
    last argument.
    """
    if func.scheduled is None:
        raise NoBlocks(func, name=func.sym_name.data)
    wide = launch_number(func, "tk.index") > 32
    w = Writer(bounds=_bounds(func), wide=wide, places=places)
    parameters = _parameters(w, func)
    checks = bool(kinds_within(func, AssertOp))
    names = [p.name for p in parameters] + (["failure"] if checks else [])
    name = identifier(func.sym_name.data)
    if part:
        w.program = "program"
        names.append(w.program)
        name = part_name(func.sym_name.data)
    head = ["@triton.jit", f"def {name}({', '.join(names)}):"]
    w.where = place(func.location)
    head.append("    " + comment(f"[{func.sizes.text.data}] {w.where}".rstrip()))
    if reads:
        head.append("    " + comment(reads))
    grid = grid_of(func)
    _body(w, func, grid)
    kernel = TritonKernel(
        name=name,
        parameters=parameters,
        grid=grid.programs,
        warps=launch_number(func, "tk.warps"),
        stages=launch_number(func, "tk.stages"),
        checks=checks,
    )
    return Emitted("\n".join([*head, *w.lines]), frozenset(w.helpers), kernel)


def part_name(kernel: str) -> str:
    """What the function of a kernel is called that is a part of others: kernels have no such names."""
    return f"_part_{identifier(kernel)}"


def _bounds(func: FuncOp) -> Bounds:
    """Sizes of axes; those beyond the iteration space count from 0, how far data say."""
    loops = [op for op in kinds_within(func, ForOp) if op.bounds[0].constant == 0]
    most = max((op.axis.value.data for op in loops), default=-1)
    return Bounds((*func.space, *[as_expr(2**62)] * (most + 1 - len(func.space))))


def _parameters(w: Writer, func: FuncOp) -> tuple[Parameter, ...]:
    buffers = [
        Parameter(
            w.fresh(arg, "a"),
            pointer(element_type(arg.type)),
            aligned=True,
            contested="any" in (combined := _combined(arg)),
            small=is_small(arg) and combined <= {"any"},
        )
        for arg in func.body.block.args
    ]
    symbols: list[Parameter] = []
    for symbol in func.symbols.exprs:
        w.axes.update((var, str(symbol)) for var in symbol.variables())
        symbols.append(Parameter(str(symbol), "i64" if w.wide else "i32", aligned=False))
    return (*buffers, *symbols)


def _combined(buffer: SSAValue) -> frozenset[str]:
    """How stores of several programs to one element meet: `any` of them remains, or atomic operations."""
    stores = [use.operation for use in buffer.uses if isinstance(use.operation, StoreOp)]
    return frozenset(op.combine.data for op in stores if op.combine is not None)


def _body(w: Writer, func: FuncOp, grid: Grid) -> None:
    outside = list(func.body.block.ops)
    if grid.loops:
        outside.remove(grid.loops[0])
    for op in outside:
        _op(w, op)
    w.flush()
    write_grid(w, grid)
    for loop in grid.loops:
        write_coordinates(w, loop)
    write_descriptors(w, func)
    if grid.loops:
        _block(w, grid.loops[-1].body.block)


def _block(w: Writer, block: Block) -> None:
    for op in block.ops:
        _op(w, op)


def _op(w: Writer, op: Operation) -> None:
    if (statement := _STATEMENTS.get(type(op))) is not None:
        statement(w, op)
    else:
        _expression(w, op)


def _expression(w: Writer, op: Operation) -> None:
    if len(op.results) != 1:
        raise NoTritonLowering(op, reason="it has no row in the table of Triton statements")
    if writes_nothing(op):
        w.alias(op.results[0], op.operands[0])
        return
    w.note_place(op.location)
    w.helpers.update(rules.helpers(op))

    def text() -> str:
        return rules.lower(op, w.operands(op.operands, typed=rules.takes_types(op)))

    w.assign(op, text, broadcast([w.shape(v) for v in op.operands]))


# Values


def _constant(w: Writer, op: Operation) -> None:
    assert isinstance(op, arith.ConstantOp)
    if not isinstance(op.value, IntegerAttr | FloatAttr):
        raise NoTritonLowering(op, reason="only numbers can be constants")
    w.names[op.result] = number(op.value.value.data, op.result.type)
    w.shapes[op.result] = ()
    w.literals.add(op.result)


def _load(w: Writer, op: Operation) -> None:
    assert isinstance(op, LoadOp)
    w.note_place(op.location)
    load = load_block if op in w.descriptors else access.load
    w.assign(op, lambda: load(w, op), shape_of_lanes(op.result.type))


def _store(w: Writer, op: Operation) -> None:
    assert isinstance(op, StoreOp)
    w.note_place(op.location)
    if AWAITS in op.attributes:
        w.line("tl.debug_barrier()")
    w.write(op, lambda: access.store(w, op))


def _index(w: Writer, op: Operation) -> None:
    assert isinstance(op, IndexOp)
    text, shape = access.index(w, op)
    if text.isidentifier():
        w.names[op.result], w.shapes[op.result] = text, shape
    else:
        w.assign(op, lambda: text, shape)


_DRAWS: Mapping[tuple[int, int | None], str] = {
    (1, 0): "_random_row",
    (2, 1): "_random_along",
    (2, 0): "_random_down",
}
"""By the rank of a tile, and the dimension along which four neighbours share a block; else each has one."""


def _random(w: Writer, op: Operation) -> None:
    assert isinstance(op, RandomOp)
    w.note_place(op.location)
    shape = w.shape(op.counter)
    fours = _DRAWS.get((len(shape), op.quads))
    helper = fours or "_random"
    w.helpers.update(("_philox", helper, *(("_fours",) if fours else ())))
    w.assign(op, lambda: f"{helper}({', '.join(map(bare, w.operands(op.operands, typed=True)))})", shape)


def _active(w: Writer, op: Operation) -> None:
    assert isinstance(op, ActiveOp)
    text, shape = access.active(w, axes_of_lanes(op), shape_of_lanes(op.result.type))
    if text.isidentifier():
        w.names[op.result], w.shapes[op.result] = text, shape
    else:
        w.assign(op, lambda: text, shape)


def _assert(w: Writer, op: Operation) -> None:
    assert isinstance(op, AssertOp)
    key = (op.message.data, place(op.location) or "unknown")
    code = w.places.setdefault(key, len(w.places)) + 1
    w.note_place(op.location)
    condition = w.whole(op.condition) if op.condition in w.literals else w.names[op.condition]
    shape = w.shape(op.condition)
    target = f"failure + tl.zeros({list(shape)}, tl.int32)" if shape else "failure"
    w.line(f"tl.store({target}, {code}, mask={condition} == 0)")


def _arrange(w: Writer, op: Operation) -> None:
    assert isinstance(op, ArrangeOp)
    w.note_place(op.location)
    call, back = arrange(w, op)
    names = [w.fresh(result) for result in op.results]
    w.line(f"{', '.join(names)} = {call}")
    for name in names if back != "{0}" else ():
        w.line(f"{name} = {back.format(name)}")


def _halve(w: Writer, op: Operation) -> None:
    assert isinstance(op, HalveOp)
    w.note_place(op.location)
    rows, columns = shape_of_lanes(op.left.type)
    pairs = f"tl.reshape({bare(w.whole(op.value))}, [{rows}, 2, {columns}])"
    w.line(f"{w.fresh(op.left)}, {w.fresh(op.right)} = tl.split(tl.permute({pairs}, [0, 2, 1]))")


def _deinterleave(w: Writer, op: Operation) -> None:
    assert isinstance(op, DeinterleaveOp)
    w.note_place(op.location)
    shape = ", ".join(map(str, shape_of_lanes(op.even.type)))
    pairs = f"tl.reshape({bare(w.whole(op.value))}, [{shape}, 2])"
    w.line(f"{w.fresh(op.even)}, {w.fresh(op.odd)} = tl.split({pairs})")


def _tile(w: Writer, op: Operation) -> None:
    assert isinstance(op, CollapseOp | CumulateOp | MmaOp | ShareOp | TransposeOp | InterleaveOp)
    w.note_place(op.location)
    w.assign(op, lambda: tile_text(w, op), shape_of_lanes(op.result.type))


# Loops


def _for(w: Writer, op: Operation) -> None:
    assert isinstance(op, ForOp)
    w.flush()  # not inside of the loop
    axis = Var("d", op.axis.value.data)
    lower, upper = op.bounds
    step = op.step.value.data
    for init, arg, result in zip(op.inits, op.body.block.args, op.res, strict=True):
        start = w.whole(init)
        w.line(f"{w.fresh(arg, 'acc')} = {start}")
        w.alias(result, arg)
    given = {Var("i", k): access.offset(w, v) for k, v in enumerate(op.dynamic)}
    w.axes.update(given)
    ends = w.text(lower), w.text(upper)
    for var in given:
        del w.axes[var]
    if axis in w.axes or axis in w.zeros:
        _part_of_block(w, op, ends[0])
        return
    once = lower.constant == 0 and upper.constant is not None and 0 < upper.constant <= step
    if once:
        w.zeros.add(axis)
        write_coordinates(w, op)
        _block(w, op.body.block)
        w.zeros.remove(axis)
        return
    w.axes[axis] = str(axis)
    if op.once is not None:
        w.line(f"{axis} = {ends[0]}")
        write_coordinates(w, op)
        _block(w, op.body.block)
    else:
        w.line(f"for {axis} in range({', '.join(ends)}, {step}):")
        w.depth += 1
        before = len(w.lines)
        write_coordinates(w, op)
        _block(w, op.body.block)
        if len(w.lines) == before:
            w.line("pass")
        w.depth -= 1
    del w.axes[axis]


def _part_of_block(w: Writer, loop: ForOp, start: str) -> None:
    """The body for a part of the block that a loop around has along the same axis."""
    assert loop.once is not None
    axis = Var("d", loop.axis.value.data)
    around, zero = w.axes.get(axis), axis in w.zeros
    w.zeros.discard(axis)
    if not start.isidentifier() and not start.isdecimal():
        w.line(f"{axis}_1 = {start}")
        start = f"{axis}_1"
    w.axes[axis] = start
    if start == "0":
        w.zeros.add(axis)
    write_coordinates(w, loop)
    _block(w, loop.body.block)
    w.zeros.discard(axis)
    del w.axes[axis]
    if around is not None:
        w.axes[axis] = around
    if zero:
        w.zeros.add(axis)


def _yield(w: Writer, op: Operation) -> None:
    assert isinstance(op, YieldOp)
    block = op.parent
    if block is None or not op.values:
        return
    targets = ", ".join(w.names[arg] for arg in block.args)  # at once: a source may be another one's target
    w.write(op, lambda: f"{targets} = {', '.join(bare(w.whole(value)) for value in op.values)}")


_STATEMENTS: Mapping[type[Operation], Callable[[Writer, Operation], None]] = {
    arith.ConstantOp: _constant,
    LoadOp: _load,
    StoreOp: _store,
    IndexOp: _index,
    ActiveOp: _active,
    RandomOp: _random,
    AssertOp: _assert,
    ArrangeOp: _arrange,
    HalveOp: _halve,
    DeinterleaveOp: _deinterleave,
    **dict.fromkeys((CollapseOp, CumulateOp, MmaOp, ShareOp, TransposeOp, InterleaveOp), _tile),
    ForOp: _for,
    YieldOp: _yield,
}
