"""A module of scheduled kernels and a host plan as one C++ translation unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp as MainOp

from tilewright.dialects.tk.kernels import FuncOp

from .emit_host import emit_host
from .emit_kernel import emit_kernel, has_checks
from .host_calls import Available
from .host_writer import HostPlan
from .places import Places


@dataclass(frozen=True)
class Unit:
    """A translation unit, and what its host function needs at run time."""

    text: str
    plan: HostPlan | None


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
    plan: HostPlan | None = None
    host = ""
    main = next((op for op in module.ops if isinstance(op, MainOp) and op.body.blocks), None)
    if main is not None:
        checked = frozenset(op.sym_name.data for op in kernels if has_checks(op))
        host, plan = emit_host(main, places, checked, available)
    parts = ['#include "prelude_math.h"' + ('\n#include "prelude_host.h"' if plan else "")]
    parts += [_vector_types(list(vectors))] if vectors else []
    parts += body
    if plan is not None:
        parts += [places.table(), _shims(plan), host, _entry(plan)]
    return Unit("\n\n".join(part for part in parts if part) + "\n", plan)


def _vector_types(names: Sequence[str]) -> str:
    lines: list[str] = []
    for name in sorted(names):
        element, _, lanes = name.rpartition("x")
        lines.append(f"typedef tw::vec<{element}, {lanes}> {name};")
    return "\n".join(lines)


def _shims(plan: HostPlan) -> str:
    return "\n".join(f"static tw::Error (*{name})({types});" for name, types in plan.shims.items())


def _entry(plan: HostPlan) -> str:
    """What launch.py calls: `tw_new` makes the Python function, `tw_trim` frees idle memory."""
    resolve = [
        f'  if (!({name} = (decltype({name}))dlsym(setup->libtorch, "{name}"))) return tw::lacks("{name}");'
        for name in plan.shims
    ]
    return "\n".join(
        [
            'static tw::Method METHOD = {"tilewright_graph", tw_main, tw::METH_O, nullptr};',
            "",
            "TW_EXPORT PyObject* tw_new(const tw::Setup* setup) {",
            *resolve,
            f"  return tw::new_graph(setup, &METHOD, {plan.slots});",
            "}",
            "",
            "TW_EXPORT i64 tw_trim(PyObject* graph) {",
            "  return tw::trim_graph((tw::Graph*)PyCapsule_GetPointer(graph, tw::GRAPH)) + tw::trim_pool();",
            "}",
            "",
            "TW_EXPORT u64 tw_probe(const void* const* data, const i64* bytes, i64 n) {",
            "  return tw::probe(data, bytes, n);",
            "}",
            "",
            "TW_EXPORT void tw_pool(i64* counters) {",
            "  const tw::PoolLock guard;",
            "  counters[0] = tw::POOL.idle_bytes;",
            "  counters[1] = tw::POOL.reused;",
            "  counters[2] = tw::POOL.made;",
            "}",
        ]
    )
