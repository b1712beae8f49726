"""Pass `schedule-gpu`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilewright.dialects.ir_access import kinds_within
from tilewright.dialects.th.calls import LaunchOp
from tilewright.dialects.tk.attributes import int64, launch_number
from tilewright.dialects.tk.contraction import Contraction
from tilewright.dialects.tk.group import GroupOp
from tilewright.dialects.tk.kernels import FuncOp

from ..kernels.chains import Chain, find_chain
from ..kernels.facts import Body
from ..rewrite import may_rewrite
from .blocks import Blocks, limited
from .cost import estimate
from .live import COSTLY, keep_fewer_live, registers_wanted
from .offsets import index_bits, known_space
from .roles import Group, groups_of, matrix_products
from .tiles.chain_blocks import chain_blocks
from .tiles.group_kinds import Kind, kind_of
from .tiles.lanes import elements_of_lane, filled_warps, least_warps, most_of_lane
from .tiles.limits import Limits, Units
from .tiles.product_blocks import product_blocks
from .tiles.row_blocks import row_blocks
from .tiles.shared_factors import mark_shared
from .tiles.variants import candidates

_PER_CORE = 2
"""Programs per multiprocessor: with fewer, smaller blocks fill it better."""
_MOST, _MOST_FOR_SMALL = 32, 4
"""Warps of a program; those that a group has for the sake of its small parts."""


@dataclass(frozen=True)
class ScheduleGpuPass(ModulePass):
    """Decide the blocks of each `tk.func` for a GPU, and write them into its attributes.

    Before:
        tk.func @sum [4096, 768] (%x: memref<3145728xf32>, %o: memref<4096xf32>) {
          %0 = tk.load %x[d0*768 + d1] : memref<3145728xf32> -> f32
          %1 = tk.reduce add %0 over [1] : f32
          tk.store %1, %o[d0] : f32, memref<4096xf32>
        }
    After:
        tk.func @sum ... attributes {tk.blocks = array<i64: 0, 4, 1, 1024>, tk.grid = 1 : i64,
            tk.warps = 8 : i64, tk.stages = 1 : i64, tk.index = 32 : i64} {...}

    Parallel axes are the grid. A reduced axis is one block if its row fits into registers,
    else a loop. Offsets have 64 bits only where a buffer may have 2**31 elements. Run
    `flatten-axes` before: blocks along short axes waste lanes. `tf32` lets products of f32 round
    their factors; `lanes` is how many threads a warp has, each of which moves 16 bytes at once, `shared`
    how many KiB of shared memory a program may have, `cores` how many multiprocessors there are to fill;
    `units` says whose the matrix units are. Those of a `warp` take factors from its registers: `tk.shared`
    marks products of which a factor costs much, so that not each warp computes all that it multiplies. With
    `descriptors` a product of large blocks and a long sum loads its factors by tensor descriptor, where all
    can be: `tk.descriptors` has the numbers of those arguments.
    `candidates` names other choices in `tk.candidates`, the one that was taken first: who can compile or
    time them puts the best one in its place.
    """

    name = "schedule-gpu"

    tf32: bool = False
    shared: int = 96
    cores: int = 132
    descriptors: bool = False
    units: Units = "warp"
    lanes: int = 32
    candidates: bool = False

    @property
    def limits(self) -> Limits:
        """What the options say of the device."""
        return Limits(
            self.tf32,
            self.shared,
            self.cores,
            self.descriptors,
            self.units,
            self.lanes,
        )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        limits = self.limits
        groups = [group for group in op.ops if isinstance(group, GroupOp)]
        parts = {part.kernel.string_value() for group in groups for part in group.parts}
        launched = {launch.kernel.string_value() for launch in kinds_within(op, LaunchOp)}
        kinds = {
            f.sym_name.data: kind_of(f) for f in op.ops if isinstance(f, FuncOp) and f.sym_name.data in parts
        }
        for func in op.body.block.ops:
            if isinstance(func, FuncOp) and func.scheduled is None and may_rewrite(func, "given blocks"):
                found = decide(func, limits)
                func.attributes.update(found.attributes())
                if self.candidates and (func.sym_name.data in launched or func.sym_name.data not in parts):
                    func.attributes.update(candidates(func, found))
        for group in groups:
            _decide_group(group, op, kinds, limits.lanes)


def _decide_group(group: GroupOp, module: ModuleOp, kinds: Mapping[str, Kind | str], lanes: int) -> None:
    """The warps of all parts of a group: those that the large ones want, a few at least if small ones do, and
    as many as any needs for what it keeps in registers."""
    functions = {f.sym_name.data: f for f in module.ops if isinstance(f, FuncOp)}
    names = {part.kernel.string_value() for part in group.parts} & functions.keys()
    small = {name: kind for name in names if isinstance(kind := kinds[name], Kind) and kind.small}
    few = small if len(small) < len(names) else {}
    warps: list[int] = []
    for name in names:
        func, most = functions[name], _MOST
        if name in few:
            most = _MOST_FOR_SMALL if few[name].product else max(_MOST_FOR_SMALL, least_warps(func, lanes))
        warps.append(min(most, launch_number(func, "tk.warps")))
    group.attributes["tk.warps"] = int64(max(warps, default=1))
    stages = [launch_number(functions[name], "tk.stages") for name in names]
    group.attributes["tk.stages"] = int64(max(stages, default=1))


def decide(func: FuncOp, limits: Limits) -> Blocks:
    """The blocks of one function, of which some products are marked."""
    bits = index_bits(func)
    products = matrix_products(func)
    if products and (found := product_blocks(func, products, bits, limits)) is not None:
        return _with_marks(func, products, limits, found)
    chain = find_chain(func.body.block)
    if chain is not None and (found := chain_blocks(func, chain, bits, limits)) is not None:
        return _with_marks(func, chain, limits, found)
    groups = groups_of(func, tiled=False)
    inner = [g for g in groups if g.role in ("reduced", "scanned")]
    wanted = _PER_CORE * limits.cores
    if inner:
        found = row_blocks(func, groups, inner, bits, wanted, limits.lanes)
    else:
        found = _pointwise(func, groups, bits, wanted, limits.lanes)
    keep_fewer_live(func, found, limits.lanes)
    return found


def _with_marks(
    func: FuncOp, products: Sequence[Contraction] | Chain, limits: Limits, found: Blocks
) -> Blocks:
    if not limits.from_shared:
        mark_shared(func, products)
    return found


def _pointwise(func: FuncOp, groups: list[Group], bits: int, wanted: int, lanes: int) -> Blocks:
    held_by_lane = most_of_lane(func)
    each = min(elements_of_lane(func), held_by_lane)
    across = next((g.axes[0] for g in groups if g.role == "across"), None)
    last = next((g.axes[0] for g in groups if g.role == "last"), None)
    outer = [a for g in groups if g.role == "parallel" for a in g.axes]
    half = 2 if registers_wanted(Body.of(func.body.block)) >= COSTLY else 1
    if across is not None and last is not None:
        side = 8 * each
        tile = tuple((a, limited(side, func.space[a])) for a in (across, last))
        rest = tuple((a, 1) for a in outer)
        warps = filled_warps(tile[0][1] * tile[1][1], 8 // half, lanes, most=8)
        varied = (across, last)
        return Blocks((*rest, *tile), len(rest) + 2, warps=warps, index=bits, kind="turned", varied=varied)
    if not outer:
        return Blocks((), 0, warps=1, index=bits)
    space = known_space(func)
    *rest_axes, axis = outer
    inner, room = list[tuple[int, int]](), min(1024 // half, 4 * lanes * held_by_lane)
    while rest_axes and space[axis].constant == limited(room // 2, space[axis]):
        inner.insert(0, (axis, limited(room, space[axis])))
        room //= inner[0][1]
        *rest_axes, axis = rest_axes
    held = prod(n for _, n in inner)
    block = limited(room, space[axis])
    others = prod(estimate(space[a]) for a in rest_axes)
    while held * block > each * lanes and block > 1 and others * (estimate(space[axis]) // block) < wanted:
        block //= 2
    return Blocks(
        (*((a, 1) for a in rest_axes), (axis, block), *inner),
        len(outer) - len(inner),
        warps=filled_warps(held * block, each, lanes, most=4),
        index=bits,
        kind="pointwise",
        varied=(axis,),
    )
