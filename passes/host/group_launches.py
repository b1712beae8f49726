"""group-launches: launches that need not wait for each other are one launch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tilewright.dialects.ir_access import defined_functions, ops_of
from tilewright.dialects.th.calls import CallOp, ExternOp, LaunchOp, TritonLaunchOp
from tilewright.dialects.th.memory import AllocOp, EmptyOp
from tilewright.dialects.th.types import is_memref
from tilewright.dialects.tk.kernels import FuncOp as KernelFunction
from tilewright.dialects.types import bytes_of, element_type_of

from ..rewrite import may_rewrite, skip
from ..schedule.tiles.group_kinds import Kind, kind_of
from .group_builder import GroupBuilder
from .launch_order import LaunchOrder, Touched, is_silent
from .outline import Names
from .sized_functions import SizedFunctions


@dataclass(frozen=True)
class GroupLaunchesPass(ModulePass):
    """Run kernels of different iteration spaces by one launch, where none must wait for another.

    Before:
        th.launch @decay(%a) into(%a) : (memref<4096xf32>) into(memref<4096xf32>)
        th.launch @decay_1(%b) into(%b) : (memref<64xf32>) into(memref<64xf32>)
        tk.func @decay [4096] (%x: memref<4096xf32>, %o: memref<4096xf32>) {...}
        tk.func @decay_1 [64] (%x: memref<64xf32>, %o: memref<64xf32>) {...}
    After:
        th.launch @decay_group() into(%a, %b) : () into(memref<4096xf32>, memref<64xf32>)
        tk.func @decay_of_any_size [s0*16] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {...}
        tk.group @decay_group (%a: memref<4096xf32>, %b: memref<64xf32>) {
          tk.part @decay_of_any_size(%a, %a) symbols [256]
          tk.part @decay_of_any_size(%b, %b) symbols [4]
        }

    Each launch goes up to the first one behind all that it depends on, through memory and values, if the two
    suit each other: elementwise work, reductions, scans and sorts of rows of like length, and beside those
    whatever is small, little products (the gradients of weights where batches are small) among these alone.
    Where there is none, a group of which nothing depends on yet comes down to the launch: so do the gradients
    of a model's vectors, each of which is summed when its layer is through and read by nobody.
    Other products and scatters stay alone, and what would hold much memory for long. Elementwise
    work on tensors of several static sizes is one function of the size. A group has `parameters` arguments,
    `kernels` different functions and `ops` ops in these at most; the next one begins where it is full. A
    launch that writes no element is left out. Runs before `plan-memory`: what runs at once shares no memory.
    """

    name = "group-launches"

    parameters: int = 480
    """CUDA takes 4 KB of arguments, eight bytes each."""
    kernels: int = 16
    ops: int = 1024

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {f.sym_name.data: f for f in op.ops if isinstance(f, KernelFunction)}
        sized = SizedFunctions(Names(dict.fromkeys(functions, 1)))
        builder = GroupBuilder(op, functions, sized)
        for function in defined_functions(op):
            _drop_empty(function)
            for group in _Groups(self, functions, sized).of(function):
                if len(group.launches) > 1 and may_rewrite(group.launches[0], "launched with others"):
                    builder.build(group.launches, group.place)
        builder.drop_unused()


def _drop_empty(function: FuncOp) -> None:
    """Leave out launches that write tensors without elements only: nothing else depends on them."""
    for op in [op for op in function.body.block.ops if isinstance(op, LaunchOp)]:
        if all(_elements(value) == 0 for value in op.outs) and may_rewrite(
            op, "left out: it writes no elements"
        ):
            Rewriter.erase_op(op)


_NEAR = 16
"""Launches and calls that a launch may move past, whatever memory it takes."""
_LITTLE = 1 << 20
"""Bytes that may be taken earlier than need be, however much."""
_HELD = 16 << 20
"""Bytes that a group may hold longer than need be, however long."""


@dataclass
class _Group:
    """Launches that run where one of them stood."""

    position: int
    steps: int
    """Launches and calls before its place, or before its first launch where that stood earlier."""
    kind: Kind
    place: LaunchOp
    touched: Touched
    held: int | None = 0
    """Bytes of temporaries that it reads; None where nobody knows."""
    launches: list[LaunchOp] = field(default_factory=list[LaunchOp])
    buffers: set[object] = field(default_factory=set[object])
    kernels: dict[object, int] = field(default_factory=dict[object, int])
    """Ops of each of its functions, those of all sizes being one."""


@dataclass
class _Groups:
    limits: GroupLaunchesPass
    functions: dict[str, KernelFunction]
    sized: SizedFunctions
    _kinds: dict[str, Kind | str] = field(default_factory=dict[str, "Kind | str"])
    _found: list[_Group] = field(default_factory=list[_Group])
    _loose: list[_Group] = field(default_factory=list[_Group])
    """Those that may come down to the op at hand: nothing after them depends on them."""

    def of(self, function: FuncOp) -> list[_Group]:
        """Every launch that may share, in a group of its own at least."""
        order, steps = LaunchOrder(self.functions), 0
        for position, op in enumerate(ops_of(function.body.block)):
            place, touched = position, Touched.by(op)
            if isinstance(op, LaunchOp) and touched is not None:
                place = self._place(op, touched, position, steps, order)
            order.note(op, place)
            if not is_silent(op):
                self._loose = [g for g in self._loose if _is_before(g, place, touched)]
            steps += isinstance(op, LaunchOp | ExternOp | TritonLaunchOp | CallOp)
        return self._found

    def _place(self, op: LaunchOp, touched: Touched, position: int, steps: int, order: LaunchOrder) -> int:
        """Put a launch into the first group that takes it, or into a new one; where it stands then."""
        kind = self._kind(op)
        if isinstance(kind, str):
            skip(op, f"launched alone: {kind}")
            return position
        full = False
        for group in self._above(op, kind, steps, order.last_conflict(op)):
            if self._takes(group, op):
                self._add(group, op, touched, kind)
                return group.position
            full = True
        for group in self._coming_down(kind, steps, touched):
            if self._takes(group, op):
                for launch in group.launches:
                    order.note(launch, position)
                group.position, group.place = position, op
                self._add(group, op, touched, kind)
                return position
            full = True
        if full:
            skip(op, "not launched with those before: they are as much as one launch may be")
        group = _Group(position, steps, kind, op, touched)
        self._found.append(group)
        self._loose.append(group)
        self._add(group, op, touched, kind)
        return position

    def _above(self, op: LaunchOp, kind: Kind, steps: int, after: int) -> Iterator[_Group]:
        """The groups to which a launch may go up that must stand `after` some position."""
        made = _bytes_of_temporaries(op.outs)
        reach = _NEAR if made is None or made > _LITTLE else steps
        for group in self._found:
            if group.position > after and group.kind.suits(kind) and steps - group.steps <= reach:
                yield group

    def _coming_down(self, kind: Kind, steps: int, touched: Touched) -> Iterator[_Group]:
        """The groups that may come down to a launch."""
        for group in self._loose:
            reach = _NEAR if group.held is None or group.held > _HELD else steps
            if group.kind.suits(kind) and steps - group.steps <= reach and not group.touched.meets(touched):
                yield group

    def _kind(self, op: LaunchOp) -> Kind | str:
        name = op.kernel.string_value()
        if name not in self._kinds:
            function = self.functions.get(name)
            self._kinds[name] = kind_of(function) if function is not None else "its kernel is not known"
        return self._kinds[name]

    def _key(self, op: LaunchOp) -> tuple[object, int]:
        """What functions of one body have in common, and how many ops they have."""
        function = self.functions[op.kernel.string_value()]
        sized = self.sized.of(function)
        return function if sized is None else sized.key, len(ops_of(function.body.block))

    def _takes(self, group: _Group, op: LaunchOp) -> bool:
        key, count = self._key(op)
        kernels = {**group.kernels, key: count}
        buffers = len(group.buffers.union(op.operands)) + len(group.launches) + 1
        symbols = sum(len(launch.symbol_values) for launch in (*group.launches, op))
        return (
            buffers + symbols <= self.limits.parameters
            and len(kernels) <= self.limits.kernels
            and sum(kernels.values()) <= self.limits.ops
        )

    def _add(self, group: _Group, op: LaunchOp, touched: Touched, kind: Kind) -> None:
        key, count = self._key(op)
        held = _bytes_of_temporaries(op.ins)
        group.touched = group.touched.joined(touched)
        group.held = None if group.held is None or held is None else group.held + held
        group.launches.append(op)
        group.buffers.update(op.operands)
        group.kernels[key] = count
        if group.kind.small:
            group.kind = replace(kind, product=kind.product or group.kind.product)


def _is_before(group: _Group, place: int, touched: Touched | None) -> bool:
    """Whether what stands at `place` may as well come before the group."""
    return place <= group.position or (touched is not None and not touched.meets(group.touched))


def _bytes_of_temporaries(values: Sequence[SSAValue]) -> int | None:
    """Of the memory that is there for some values only; None where nobody knows."""
    total = 0
    for value in values:
        if isinstance(value.owner, AllocOp | EmptyOp):
            count = _elements(value)
            if count is None:
                return None
            total += count * bytes_of(element_type_of(value))
    return total


def _elements(value: SSAValue) -> int | None:
    type_: Attribute = value.type
    count = type_.get_shape()[0] if is_memref(type_) else -1
    return count if count >= 0 else None
