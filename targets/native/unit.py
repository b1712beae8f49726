"""A translation unit, and the parts of its text that are the same for every target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .cpp import quoted
from .host_writer import HostPlan


@dataclass(frozen=True)
class Unit:
    """A translation unit, and what its host function needs at run time."""

    text: str
    plan: HostPlan | None
    functions: Mapping[str, HostPlan] = field(default_factory=dict[str, HostPlan])
    """The functions that the host function calls, in the order of `entry`; it is none of them."""


def make_unit(parts: Sequence[str], plans: Mapping[str, HostPlan]) -> Unit:
    """The unit of these parts of its text, and of the plans of its host functions, @main first."""
    text = "\n\n".join(part for part in parts if part) + "\n"
    names = list(plans)
    plan = plans[names[0]] if names else None
    return Unit(text, plan, {name: plans[name] for name in names[1:]})


def entry_name(number: int) -> str:
    """The C++ name of a host function, of which the first is @main."""
    return f"tw_function{number}" if number else "tw_main"


def shim_pointers(plan: HostPlan) -> str:
    """A pointer for each C function of libtorch that the plan calls."""
    return "\n".join(f"static tw::Error (*{name})({types});" for name, types in plan.shims.items())


def ranges(plan: HostPlan) -> str:
    """The names of what a call runs, for `TW_RANGE`."""
    rows = [f"  {quoted(name)}," for name in plan.ranges]
    return "\n".join(["static const char* const RANGES[] = {", *rows, "  nullptr", "};"])


def entry(plans: Sequence[HostPlan], before: Sequence[str] = ()) -> str:
    """What launch.py calls: `tw_new` makes a Python function, `tw_trim` frees idle memory.

    Its second argument is the number of the plan, of which the first is that of @main.

    `before` are statements of `tw_new`, which has `setup`.
    """
    resolve = [
        f'  if (!({name} = (decltype({name}))dlsym(setup->libtorch, "{name}"))) return tw::lacks("{name}");'
        for name in plans[0].shims
    ]
    methods = [f'  {{"tilewright_graph", {entry_name(i)}, tw::METH_O, nullptr}},' for i in range(len(plans))]
    slots = ", ".join(str(plan.slots) for plan in plans)
    return "\n".join(
        [
            "static tw::Method METHODS[] = {",
            *methods,
            "};",
            f"static const int SLOTS[] = {{{slots}}};",
            "",
            "TW_EXPORT PyObject* tw_new(const tw::Setup* setup, i64 which) {",
            *(f"  {line}" for line in before),
            *resolve,
            "  return tw::new_graph(setup, &METHODS[which], SLOTS[which]);",
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
