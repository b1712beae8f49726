"""What became of one graph, read from its final plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from tilewright.dialects.th.calls import CallOp, ExternOp, LaunchOp, TritonLaunchOp
from tilewright.dialects.th.control_flow import ControlOp
from tilewright.dialects.th.memory import ArenaOp
from tilewright.dialects.tk.group import GroupOp, PartOp
from tilewright.dialects.tk.kernels import FuncOp as KernelOp

from .fx.graph import Fallback
from .trace import Trace

_SLOW = 0.001
"""Seconds from which on a pass is worth a word."""
BY_DESIGN = "TW1100"
"""The code of an operation that a library always runs: no fall-back."""


@dataclass(frozen=True)
class GraphReport:
    """One compiled graph."""

    kind: str
    """`inference`, `forward` or `backward`."""
    kernels: Mapping[str, int]
    """How often each kernel is launched, by name."""
    library_calls: Mapping[str, int]
    """How often each ATen operator is called, fall-backs included."""
    control: Mapping[str, int]
    """How many conditions and loops of each kind the host decides, wherever they stand."""
    fallbacks: tuple[Fallback, ...]
    """Operations for which ATen stands in: id, operator, place in the model, reason."""
    by_aten: str | None
    """Why ATen runs the whole graph; None where it is compiled."""
    arena_bytes: str
    """Memory for temporaries, planned; an expression over the symbolic sizes."""
    requested_bytes: str
    """What the temporaries would take without sharing memory."""
    derived: tuple[str, ...]
    """Types of the tensors that are derived from parameters once and kept."""
    operations: Mapping[str, int]
    """How many of each op the compiled module holds, by name."""
    seconds: Mapping[str, float]
    """Seconds of each stage."""
    passes: Mapping[str, float]
    """Seconds of each pass (its runs together)."""

    def __str__(self) -> str:
        if self.by_aten is not None:
            return f"{self.kind}: run by ATen as a whole\n  " + self.by_aten.replace("\n", "\n  ")
        launches, calls = sum(self.kernels.values()), sum(self.library_calls.values())
        lines = [
            f"{self.kind}: {counted(len(self.kernels), 'kernel')} in {counted(launches, 'launch', 'es')}, "
            f"{counted(calls, 'library call')}"
        ]
        lines += _counted("kernels", self.kernels)
        lines += _counted("library", self.library_calls)
        lines += _counted("control", self.control)
        lines.append(f"  arena:   {self.arena_bytes} bytes (without sharing: {self.requested_bytes})")
        if self.derived:
            types = Counter(self.derived)
            lines += _counted(f"derived: {counted(len(self.derived), 'tensor')},", types, "")
        lines.append(f"  seconds: {_seconds(self.seconds)}")
        lines.append(f"  passes:  {_slowest(self.passes)}")
        lines += [f"  {fallback}" for fallback in self.fallbacks]
        return "\n".join(lines)


def _counted(title: str, counts: Mapping[str, int], colon: str = ":") -> list[str]:
    if not counts:
        return []
    listed = ", ".join(name if n == 1 else f"{name} x{n}" for name, n in counts.items())
    return [f"  {title}{colon} {listed}"]


def _seconds(stages: Mapping[str, float]) -> str:
    """The stages, slowest first."""
    ordered = sorted(stages.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {seconds:.3f}" for name, seconds in ordered)


def _slowest(passes: Mapping[str, float]) -> str:
    """The passes that take a millisecond or more, and how many others there are."""
    slow = {name: seconds for name, seconds in passes.items() if seconds >= _SLOW}
    rest = len(passes) - len(slow)
    others = f"{counted(rest, 'other')} below {_SLOW} each" if rest else ""
    return ", ".join(filter(None, (_seconds(slow), others)))


def counted(number: int, what: str, ending: str = "s") -> str:
    """`1 kernel`, `2 kernels`."""
    return f"{number} {what}{'' if number == 1 else ending}"


def report_of(trace: Trace) -> GraphReport:
    """The report of one graph."""
    ops = _operations(trace)
    arena = next((op for op in ops if isinstance(op, ArenaOp)), None)
    fallbacks = trace.graph.fallbacks if trace.graph is not None else ()
    return GraphReport(
        kind=trace.kind,
        kernels=_kernels(ops),
        library_calls=Counter(op.callee.data for op in ops if isinstance(op, CallOp | ExternOp)),
        control=Counter(op.kind.data for op in ops if isinstance(op, ControlOp)),
        fallbacks=tuple(f for f in fallbacks if f.code != BY_DESIGN),
        by_aten=None if trace.by_aten is None else str(trace.by_aten),
        arena_bytes=arena.size.data if arena is not None else "0",
        requested_bytes=_text(arena, "th.requested") if arena is not None else "0",
        derived=_derived(trace.setup),
        operations=dict(sorted(Counter(op.name for op in ops).items())),
        seconds=trace.stages(),
        passes=trace.passes(),
    )


def _operations(trace: Trace) -> list[Operation]:
    if trace.graph is None or trace.by_aten is not None:
        return []
    module = trace.graph.module
    return [op for op in module.walk() if op is not module]


def _kernels(ops: list[Operation]) -> dict[str, int]:
    parts = {op.kernel.string_value() for op in ops if isinstance(op, PartOp)}
    launched = {op.kernel.string_value() for op in ops if isinstance(op, LaunchOp)}
    found = [op.sym_name.data for op in ops if isinstance(op, KernelOp | GroupOp)]
    names = {name: 0 for name in found if name in launched or name not in parts}
    for op in ops:
        if isinstance(op, LaunchOp):
            names[op.kernel.string_value()] += 1
        elif isinstance(op, TritonLaunchOp):
            names[op.kernel.function.data] = names.get(op.kernel.function.data, 0) + 1
    return names


def _derived(setup: ModuleOp | None) -> tuple[str, ...]:
    function = setup.body.block.first_op if setup is not None else None
    return tuple(map(str, function.function_type.outputs)) if isinstance(function, FuncOp) else ()


def _text(op: Operation, name: str) -> str:
    attr = op.attributes.get(name)
    return attr.data if isinstance(attr, StringAttr) else "0"
