"""A translation unit, and the parts of its text that are the same for every target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .cpp import quoted
from .host_writer import HostPlan


@dataclass(frozen=True)
class Unit:
    """A translation unit, and what its host function needs at run time."""

    text: str
    plan: HostPlan | None


def shim_pointers(plan: HostPlan) -> str:
    """A pointer for each C function of libtorch that the plan calls."""
    return "\n".join(f"static tw::Error (*{name})({types});" for name, types in plan.shims.items())


def ranges(plan: HostPlan) -> str:
    """The names of what a call runs, for `TW_RANGE`."""
    rows = [f"  {quoted(name)}," for name in plan.ranges]
    return "\n".join(["static const char* const RANGES[] = {", *rows, "  nullptr", "};"])


def entry(plan: HostPlan, before: Sequence[str] = ()) -> str:
    """What launch.py calls: `tw_new` makes the Python function, `tw_trim` frees idle memory.

    `before` are statements of `tw_new`, which has `setup`.
    """
    resolve = [
        f'  if (!({name} = (decltype({name}))dlsym(setup->libtorch, "{name}"))) return tw::lacks("{name}");'
        for name in plan.shims
    ]
    return "\n".join(
        [
            'static tw::Method METHOD = {"tilewright_graph", tw_main, tw::METH_O, nullptr};',
            "",
            "TW_EXPORT PyObject* tw_new(const tw::Setup* setup) {",
            *(f"  {line}" for line in before),
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
            "TW_EXPORT void tw_watch(PyObject* graph, u64* clock) {",
            "  ((tw::Graph*)PyCapsule_GetPointer(graph, tw::GRAPH))->clock = clock;",
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
