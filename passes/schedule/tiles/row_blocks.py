"""Blocks for functions that reduce or scan: rows or columns of one program, what it holds or loops over."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from xdsl.dialects.arith import ConstantOp
from xdsl.ir import SSAValue

from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.domain import Along, Axes, levels_of
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.sort import SortOp
from tilewright.dialects.types import bytes_of, element_type

from ...kernels.facts import Body
from ...kernels.ranges import range_of_expr
from ...rewrite import skip
from ..blocks import Blocks, covers, limited, power_of_two
from ..cost import estimate, is_expensive, size_of_element
from ..live import COSTLY, FILE, ROOM, in_order_of_need, live_bits, rearrange, registers_wanted, with_first
from ..roles import Group, contiguous_axis, groups_of
from .lanes import AWAITED, elements_of_lane, filled_warps, most_scattered

_TILE = 4096
"""Elements that a program holds of one value: 32 per thread of 4 warps."""
_EACH = 8
"""Elements of one lane; twice as many of a row that is longer than a tile."""
_ACCESS, _MOST_OF_LANE = 16, 32
"""Bytes of the widest access; elements of a lane at most, for its sake."""
_PERSISTENT = 16384
"""Elements of a row that stay in registers between its reductions, of one register each."""
_FEWEST_COLUMNS = 16
"""Elements side by side that are worth a transaction of memory."""
_LOOP = 2048
"""Elements of a row that are read at a time where it does not stay."""
_LONGEST = 8192
"""The same, where programs are few."""
_MOST_WARPS = 16
"""Of a program."""
_WARPS_OF_COSTLY = 8
"""Warps of a program among which rows of a costly function of f64 are spread."""
_OF_FUNCTION = 3 * 32
"""Bits that a costly function takes while it is computed."""
_SHARED = 144 * 32
"""Bits of a lane for values where programs go along rows in steps: two of eight warps share a
multiprocessor. Compilers then keep each lane to 128 registers, and compute some of what is live again."""


def row_blocks(
    func: FuncOp, groups: list[Group], inner: list[Group], bits: int, programs: int, lanes: int
) -> Blocks:
    """Rows (or columns) are the grid; what is reduced or scanned is held at once, or looped over."""
    outer = [a for g in groups if g.role == "parallel" for a in g.axes]
    axes = [a for g in inner for a in g.axes]
    whole = {op.along for op in func.body.block.ops if isinstance(op, SortOp)}
    column = _lies_along(func, outer)
    sizes, body = _roomy_blocks(func, axes, whole, lanes, column=column is not None)
    rearrange(func, body)
    if not (stay := _covered(func, body, sizes)):
        skip(func, "rows do not stay in registers: reductions are loops over blocks")
    stepped = stay and any(not covers(size, func.space[axis]) for axis, size in sizes)
    sizes = _fewer_at_a_time(func, sizes, lanes, stepped=stepped)
    held = prod(size for _, size in sizes)
    summed = sum(_summed_bits(body, axis) for axis, size in sizes if not covers(size, func.space[axis]))
    varied = outer[-1:] if column is None else [column]
    sizes_out: list[tuple[int, int]] = []
    for axis in outer:
        bounds = _bounds(func, held, lanes, summed, column=column is not None, sorts=bool(whole))
        wanted = _rows(func, axis, held, bounds, programs, lanes) if axis in varied else 1
        sizes_out.append((axis, wanted))
        held *= wanted
    if column is not None:
        sizes = _deeper(func, sizes, sizes_out, programs, lanes)
    elif not stepped:
        sizes = _longer_steps(func, sizes, sizes_out, programs, lanes)
    held = prod(size for _, size in (*sizes_out, *sizes))
    return Blocks(
        (*sizes_out, *sizes),
        len(outer),
        warps=_warps(func, held, lanes, stepped=stepped),
        index=bits,
        kind="rows",
        varied=tuple(varied),
    )


def _deeper(
    func: FuncOp, sizes: list[tuple[int, int]], outer: list[tuple[int, int]], programs: int, lanes: int
) -> list[tuple[int, int]]:
    """More of columns at a time that are looped over, where programs have few of them and lanes room: what a
    step loads is on its way at once, and no more than that."""
    columns, body = prod(size for _, size in outer), Body.of(func.body.block)
    running = prod(-(-estimate(func.space[axis]) // size) for axis, size in outer)
    room = (_TILE if running < programs else _LOOP) // columns
    looped = [axis for axis, size in sizes if not covers(size, func.space[axis])]
    bits = _needed_bits(func) + sum(_summed_bits(body, axis) for axis in looped)
    while room > 1 and room * columns * bits > ROOM * lanes * _MOST_WARPS:
        room //= 2
    found = dict(sizes)
    for axis, size in sizes:
        others = prod(found.values()) // size
        if not covers(size, func.space[axis]):
            found[axis] = max(size, limited(room // others, func.space[axis]))
    return list(found.items())


def _longer_steps(
    func: FuncOp, sizes: list[tuple[int, int]], outer: list[tuple[int, int]], programs: int, lanes: int
) -> list[tuple[int, int]]:
    """More of rows at a time that are looped over, where programs are few and registers have room: a step's
    loads are on their way at once, and a multiprocessor has few other steps to wait with."""
    running = prod(-(-estimate(func.space[axis]) // size) for axis, size in outer)
    looped = [(axis, step) for axis, step in sizes if not covers(step, func.space[axis])]
    if not looped:
        return sizes
    axis, step = looped[-1]
    size, others = func.space[axis], prod(step for _, step in sizes) // step
    body = Body.of(func.body.block)
    loads = [op for op in body.ops if isinstance(op, LoadOp) and axis in body.runs[op]]
    each = sum(bytes_of(element_type(op.buffer.type)) for op in loads) * others
    live = (live_bits(body, frozenset([axis])) + _summed_bits(body, axis)) * others
    while step * each * running < AWAITED * programs and others * step < _LONGEST:
        longer = step * 2
        room = ROOM * lanes * _warps(func, others * longer, lanes)
        if covers(longer, size) or live * longer > room:
            break
        step = longer
    return [(a, step if a == axis else n) for a, n in sizes]


def _summed_bits(body: Body, axis: int) -> int:
    """Bits that a loop along `axis` keeps for each element of a step: of all that is being reduced."""
    over = [op for op, axes in body.over.items() if axis in axes]
    return sum(size_of_element(result.type) for op in over for result in op.results)


def rows_stay(func: FuncOp, lanes: int) -> bool:
    """Whether a program holds its rows (or columns) between one reduction along them and the next."""
    groups = groups_of(func, tiled=False)
    inner = [a for g in groups if g.role in ("reduced", "scanned") for a in g.axes]
    outer = [a for g in groups if g.role == "parallel" for a in g.axes]
    whole = {op.along for op in func.body.block.ops if isinstance(op, SortOp)}
    column = _lies_along(func, outer) is not None
    sizes, body = _roomy_blocks(func, inner, whole, lanes, column=column)
    return _covered(func, body, sizes)


def _covered(func: FuncOp, body: Body, sizes: list[tuple[int, int]]) -> bool:
    """Whether a program holds all along axes that it needs again, or, if it needs none so, along all."""
    again = [(axis, size) for axis, size in sizes if not _is_one_pass(body, axis)]
    return all(covers(size, func.space[axis]) for axis, size in again or sizes)


def _lies_along(func: FuncOp, outer: list[int]) -> int | None:
    """The parallel axis along which most that is read is contiguous, if rather than along a reduced one."""
    runs = Body.of(func.body.block).runs
    elements = dict.fromkeys(range(len(func.space)), 0)
    for op in func.body.block.ops:
        if not isinstance(op, LoadOp) or len(runs[op]) < 2:
            continue
        if (axis := contiguous_axis(op)) is not None and estimate(func.space[axis]) > 1:
            elements[axis] += _elements_read(func, op, runs[op])
    best = max(elements, key=lambda a: (elements[a], a), default=None)
    if best is None or not elements[best] or best not in outer:
        return None
    return best


def _elements_read(func: FuncOp, op: LoadOp, axes: Axes) -> int:
    """As many as places between the first and the last one at most: a row of each batch, of merged axes
    `d0 floordiv 65`, is read again for all columns."""
    points = prod(estimate(func.space[axis]) for axis in axes)
    (place,) = op.map.exprs
    ends = range_of_expr(place, func.space)
    return points if ends is None else min(points, int(ends[1]) - int(ends[0]) + 1)


def _is_single_pass(func: FuncOp) -> bool:
    """Whether nothing meets a reduction's result again along the reduced axes."""
    levels = levels_of(func.body.block)
    scans = any(isinstance(op, Along) for op in func.body.block.ops)
    return not scans and max(levels.values(), default=0) <= 1 and not _stores_inside(func)


def _inner_axes(func: FuncOp) -> Axes:
    return frozenset(a for g in groups_of(func, tiled=False) if g.role == "reduced" for a in g.axes)


def _stores_inside(func: FuncOp) -> bool:
    inner = _inner_axes(func)
    stores = [op for op in func.body.block.ops if isinstance(op, StoreOp)]
    return any(
        v.kind == "d" and v.index in inner for op in stores for e in op.map.exprs for v in e.variables()
    )


def _roomy_blocks(
    func: FuncOp, axes: list[int], whole: set[int], lanes: int, *, column: bool
) -> tuple[list[tuple[int, int]], Body]:
    """The blocks of reduced axes: rows stay where registers have room for all that is live of them.

    Ops are in another order, that of the body, where that is the only way, or makes less too much.
    """
    body, single = Body.of(func.body.block), _is_single_pass(func)
    stay = _PERSISTENT // registers_wanted(body, frozenset(axes))
    while True:
        sizes = _inner_blocks(func, body, axes, whole, stay, single=single, column=column)
        inner, held = frozenset(axis for axis, size in sizes if size > 1), prod(size for _, size in sizes)
        live = live_bits(body, inner)
        if live * held * 32 <= FILE * lanes or stay <= _LOOP:
            return sizes, body
        if live_bits(ordered := in_order_of_need(body), inner) < live:
            body = ordered
        else:
            stay //= 2


def _inner_blocks(
    func: FuncOp, body: Body, axes: list[int], whole: set[int], stay: int, *, single: bool, column: bool
) -> list[tuple[int, int]]:
    """The blocks of reduced axes, `whole` ones too; of what may `stay` those have theirs first along which
    something is needed again, of these the last ones."""
    if column:
        budget = 128 if single else stay // 2 // _FEWEST_COLUMNS
    else:
        budget = _TILE if single else stay
    found: dict[int, int] = {}
    again = {axis for axis in axes if not _is_one_pass(body, axis)}
    for axis in sorted(reversed(axes), key=lambda a: a not in again):
        size, held = func.space[axis].constant, prod(found.values())
        most = budget
        if again and axis not in again and not column:
            most = min(budget, 2 * _TILE // held)
        if size is not None and (axis in whole or power_of_two(max(1, size)) <= most):
            block = power_of_two(max(1, size))
        elif most < budget:
            block = max(1, _TILE // held)
        else:
            block = min(budget, 32 if column else _LOOP)
        found[axis] = block
        budget = max(1, budget // block)
    return [(axis, found[axis]) for axis in axes]


def _fewer_at_a_time(
    func: FuncOp, sizes: list[tuple[int, int]], lanes: int, *, stepped: bool
) -> list[tuple[int, int]]:
    """Half as much, and half again, of what is summed in one pass, until all that is live has room.

    Of rows that a program goes along in steps, columns are summed first where there is little.
    """
    body, found = Body.of(func.body.block), dict(sizes)
    held = prod(found.values())
    inner = frozenset(axis for axis, size in sizes if size > 1)
    live = live_bits(body, inner)
    beside = [a for a, _ in sizes if _is_one_pass(body, a)]
    if len(sizes) < 2 or not beside:
        return sizes

    def needed() -> int:
        looped = frozenset(a for a in beside if not covers(found[a], func.space[a]))
        kept = _looped_bits(body, looped, found) if stepped else 0
        return (live * held + kept) // (lanes * _warps(func, held, lanes, stepped=stepped))

    for axis in beside:
        while found[axis] > 1 and len(inner) > 1 and needed() >= (_SHARED if stepped else ROOM):
            skip(func, f"fewer of axis {axis} at a time: of {held} elements {live} bits each are live")
            found[axis] //= 2
            held //= 2
    if stepped and needed() >= ROOM:
        sums = [op for op, over in body.over.items() if not over.isdisjoint(beside)]
        first, varying = with_first(body, sums), inner.union(beside)
        if live_bits(first, varying) <= live_bits(body, varying):
            rearrange(func, first)
    return list(found.items())


def _looped_bits(body: Body, looped: Axes, sizes: Mapping[int, int]) -> int:
    """Bits that a loop keeps beside what is live in a step: what it sums of each element of a step, and
    what no step changes."""
    held = prod(sizes.values())
    bits = sum(_summed_bits(body, axis) * held for axis in looped)
    for op in body.ops:
        if body.runs[op].isdisjoint(looped) and not isinstance(op, ConstantOp | StoreOp):
            for value in op.results:
                if any(not body.runs[use.operation].isdisjoint(looped) for use in value.uses):
                    axes = body.domains[value] & sizes.keys()
                    bits += size_of_element(value.type) * prod(sizes[a] for a in axes) if axes else 0
    return bits


def _is_one_pass(body: Body, axis: int) -> bool:
    """Whether nothing that runs along `axis` needs what was reduced, or is scanned, along it."""
    after: set[SSAValue] = set()
    for op in body.ops:
        needs = not after.isdisjoint(op.operands)
        if axis in body.runs[op] and (needs or isinstance(op, Along)):
            return False
        if needs or axis in body.over.get(op, frozenset()):
            after.update(op.results)
    return True


def _warps(func: FuncOp, held: int, lanes: int, *, stepped: bool = False) -> int:
    """Warps that have enough to do; where a function of f64 is costly, half as much for each lane.

    Not beyond eight of them: lanes of sixteen have half of the registers, too. Programs that go along rows in
    steps are few, so that those of fewer warps share a multiprocessor.
    """
    each = _of_lane(func)
    if held > _TILE or stepped:
        each *= 2
    filled = filled_warps(held, each, lanes, most=_MOST_WARPS)
    if registers_wanted(Body.of(func.body.block)) < COSTLY:
        return filled
    return max(filled, filled_warps(held, each // 2, lanes, most=_WARPS_OF_COSTLY))


def _of_lane(func: FuncOp) -> int:
    """Elements of one lane: few of what is scattered, more of what is so narrow that eight of them are less
    than one access, where there is room. Programs have as many bytes on their way then as of halves."""
    body, inner = Body.of(func.body.block), _inner_axes(func)
    own = [op for op in body.ops if isinstance(op, LoadOp) and inner < body.runs[op]]
    points = prod(map(estimate, func.space))
    read = sum(_elements_read(func, op, body.runs[op]) * bytes_of(element_type(op.buffer.type)) for op in own)
    each, live = most_scattered(func, inner), live_bits(body, inner)
    if each < _EACH:
        return each
    while read and each < _MOST_OF_LANE and each * read < _ACCESS * points and 2 * each * live <= ROOM:
        each *= 2
    return each


def _bounds(
    func: FuncOp, held: int, lanes: int, summed: int, *, column: bool, sorts: bool
) -> tuple[int, int]:
    """The fewest and the most rows (columns) of a program: each of `held` elements, with bits of sums."""
    fewest, most, room = (_FEWEST_COLUMNS, 64, _TILE) if column else (1, 32, _LOOP)
    if column:
        bits = held * (_needed_bits(func) + summed)
        while fewest > 1 and fewest * bits > ROOM * lanes * _MOST_WARPS:
            fewest //= 2
    if not column and registers_wanted(Body.of(func.body.block)) >= COSTLY:
        room = max(held, _WARPS_OF_COSTLY * lanes * _EACH // 2)  # lanes keep as few as `_warps` gives them
    if sorts:  # each round is written out for all that a lane holds
        room = _LOOP
        fewest = min(fewest, max(1, room // held))
    return fewest, min(most, room // held)


def _needed_bits(func: FuncOp) -> int:
    """Of each element of columns: what is live, and what a function works with while it is computed."""
    inner, body = _inner_axes(func), Body.of(func.body.block)
    works = any(is_expensive(op) and inner <= body.runs[op] for op in body.ops)
    return live_bits(body, inner) + (_OF_FUNCTION if works else 0)


def _rows(func: FuncOp, axis: int, held: int, bounds: tuple[int, int], programs: int, lanes: int) -> int:
    """Rows (columns) per program: enough for the lanes of a warp, not so many that programs get few."""
    fewest, most = bounds
    filled = power_of_two(elements_of_lane(func) * lanes // held)
    least = max(fewest, filled)
    wanted = max(least, most)
    count = estimate(func.space[axis])
    while wanted > least and count // wanted < programs:
        wanted //= 2
    return limited(wanted, func.space[axis])
