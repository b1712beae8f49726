"""A module of scheduled kernels and a host plan as one C++ translation unit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NoReturn

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.th.calls import LaunchOp, TritonLaunchOp
from tilewright.dialects.tk.kernels import FuncOp

from ..native.cpp import comment, expression, identifier
from ..native.emit_host import emit_hosts
from ..native.host_calls import Available
from ..native.host_writer import HostStyle, HostWriter
from ..native.places import Places
from ..native.text import place
from ..native.unit import Unit, entry, make_unit, ranges, shim_pointers
from .emit_kernel import emit_kernel, has_checks
from .errors import TritonNeedsGpu


def emit_cpp(module: ModuleOp) -> str:
    """The C++ source of `module`."""
    return emit_unit(module, lambda symbol: True).text


def emit_unit(module: ModuleOp, available: Available) -> Unit:
    """The C++ source and its plan; `available` says which C functions libtorch exports."""
    places = Places()
    kernels = [op for op in module.ops if isinstance(op, FuncOp)]
    written = [emit_kernel(op, places) for op in kernels]
    vectors = dict.fromkeys(name for _, names in written for name in names)
    body = [text for text, _ in written]
    checked = frozenset(op.sym_name.data for op in kernels if has_checks(op))
    host, plans = emit_hosts(module, places, available, lambda: HostStyle(partial(_launch, checked), _refuse))
    plan = next(iter(plans.values()), None)
    parts = ['#include "prelude_math.h"' + ('\n#include "prelude_host.h"' if plan else "")]
    parts += [_vector_types(list(vectors))] if vectors else []
    parts += body
    if plan is not None:
        parts += [places.table(), ranges(plan), shim_pointers(plan), host, entry(list(plans.values()))]
    return make_unit(parts, plans)


def _launch(checked: frozenset[str], w: HostWriter, op: LaunchOp) -> None:
    """A kernel is a function; `checked` names those that report errors."""
    kernel = op.kernel.string_value()
    args = [w.names[v] for v in (*op.ins, *op.outs)]
    args += [expression(e) for e in op.symbol_values]
    if kernel in checked:
        args.append("&call.error")
    where = place(op.location)
    statement = f"{w.range(kernel, op)} {identifier(kernel)}({', '.join(args)});"
    w.line(f"{statement}  {comment(where)}" if where else statement)
    if kernel in checked:
        w.line("if (call.error.place >= 0) return call.kernel_failed();")


def _refuse(w: HostWriter, op: TritonLaunchOp) -> NoReturn:
    raise TritonNeedsGpu(op, kernel=op.kernel.function.data)


def _vector_types(names: Sequence[str]) -> str:
    lines: list[str] = []
    for name in sorted(names):
        element, _, lanes = name.rpartition("x")
        lines.append(f"typedef tw::vec<{element}, {lanes}> {name};")
    return "\n".join(lines)
