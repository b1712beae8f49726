"""The state of the host function while it is written, and what its statements share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.dialects.index_expr import Expr, parse_exprs
from tilewright.dialects.th.calls import LaunchOp, TritonLaunchOp
from tilewright.dialects.th.memory import ViewOp
from tilewright.dialects.th.types import element_of_handle

from .cpp import buffer_type, expression
from .fallback import Control, Fallback
from .host_calls import DTYPES, Available, element_name
from .places import Places
from .text import place


@dataclass(frozen=True)
class Root:
    """What an alias that is returned keeps alive: an input or an owned tensor, and from where."""

    kind: str
    """"input" or "owned"."""
    number: int
    offset: Expr


@dataclass
class HostPlan:
    """What one emitted host function needs besides its text; all of a unit share `shims` and `ranges`."""

    constants: list[bytes] = field(default_factory=list[bytes])
    fallbacks: list[Fallback | Control] = field(default_factory=list[Fallback | Control])
    shims: dict[str, str] = field(default_factory=dict[str, str])
    """C name -> declaration."""
    ranges: list[str] = field(default_factory=list[str])
    """What a call runs, one after the other: `sum @ model.py:12 (norm)`."""
    inputs: int = 0
    slots: int = 0
    owned: int = 0


@dataclass(frozen=True)
class HostStyle:
    """What the host functions of one target say in their own way."""

    launch: Callable[[HostWriter, LaunchOp], None]
    """Writes the launch of a kernel."""
    launch_given: Callable[[HostWriter, TritonLaunchOp], None]
    """Writes the launch of a Triton kernel of the user's."""
    call: str = "tw::Call<{owned}> call(self, inputs, PLACES);"
    """Declares `call`, the state of one call."""
    begin: str = ""
    """A condition that holds once a call may start, asked when its arguments are known."""
    argument: Callable[[HostWriter, BlockArgument, int], None] = lambda writer, value, number: None
    """Writes what must be done to a buffer argument before its first use."""
    finish: Callable[[HostWriter], None] = lambda writer: None
    """Writes what must be done when everything has been launched."""
    shims: tuple[str, str] = ("", "")
    """Prefix of the C functions in `SHIMS`, and the one that stands for it on this device."""


@dataclass
class HostWriter:
    """The text, and for every value its C++ name, pointer and what keeps it alive."""

    plan: HostPlan
    places: Places
    available: Available
    style: HostStyle
    lines: list[str] = field(default_factory=list[str])
    names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    pointers: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    roots: dict[SSAValue, Root] = field(default_factory=dict[SSAValue, Root])
    layouts: dict[str, str] = field(default_factory=dict[str, str])
    views: dict[tuple[str, str, str], str] = field(default_factory=dict[tuple[str, str, str], str])
    counter: int = 0

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def fresh(self, prefix: str) -> str:
        self.counter += 1
        return f"{prefix}{self.counter - 1}"

    def range(self, what: str, op: Operation) -> str:
        """The macro before the statement that runs `what`: profiles and reports see it under this name."""
        where = place(op.location)
        self.plan.ranges.append(f"{what} @ {where}" if where else what)
        return f"TW_RANGE({len(self.plan.ranges) - 1})"

    def own(self, count: int) -> int:
        """The first of `count` new places for owned tensors."""
        self.plan.owned += count
        return self.plan.owned - count

    def layout(self, sizes: Sequence[Expr], strides: Sequence[Expr]) -> tuple[str, bool]:
        """`rank, sizes, strides` as arguments, and whether they are the same in every call."""
        values = [*sizes, *strides]
        text = ", ".join(expression(v) for v in values) or "0"
        fixed = all(v.constant is not None for v in values)
        name = self.layouts.get(text)
        if name is None:
            name = self.layouts[text] = f"L{len(self.layouts)}"
            self.line(f"{'static ' if fixed else ''}const i64 {name}[] = {{{text}}};")
        rank = len(sizes)
        return f"{rank}, {name}, {name}{f' + {rank}' if rank else ''}", fixed


def exprs(text: StringAttr) -> tuple[Expr, ...]:
    return parse_exprs(text.data)


def fail(w: HostWriter, how: str, op: Operation, what: str) -> str:
    return f"return call.{how}({w.places.add(what, op.location)});"


def pointer(w: HostWriter, result: SSAValue, text: str) -> None:
    type_ = buffer_type(result.type)
    name = w.names[result] = w.pointers[result] = w.fresh("b")
    w.line(f"{type_}* const {name} = ({type_}*)({text});")


def handle(w: HostWriter, value: SSAValue) -> str:
    """A tensor handle on `value`; made where first needed, kept from call to call."""
    if value in w.names:
        return w.names[value]
    owner = value.owner
    assert isinstance(owner, ViewOp)
    layout, fixed = w.layout(exprs(owner.sizes), exprs(owner.strides))
    dtype = DTYPES[element_name(element_of_handle(value.type))]
    key = (w.pointers[value], layout, str(dtype))
    name = w.views.get(key)
    if name is None:
        name = w.views[key] = w.fresh("t")
        make_view(w, owner, name, key[0], f"{layout}, {dtype}, {'true' if fixed else 'false'}")
    w.names[value] = name
    return name


def make_view(w: HostWriter, op: Operation, name: str, pointer: str, layout: str) -> None:
    w.line(f"const Handle {name} = call.view({w.plan.slots}, {pointer}, {layout});")
    w.line(f"if (!{name}) {fail(w, 'aten_failed', op, 'a view')}")
    w.plan.slots += 1
