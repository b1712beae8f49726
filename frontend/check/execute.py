"""Runs any function of a module, at whatever level it is, on the inputs of a case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.arrays import Arrays
from tilewright.dialects.index_expr import Var
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.semantics import Machine
from tilewright.dialects.th.run import run_plan
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.kernels import FuncOp as KernelFunction
from tilewright.dialects.tk.memory import FailedAssertion
from tilewright.dialects.tk.memory import evaluate as evaluate_places
from tilewright.dialects.tk.semantics import run_func
from tilewright.dialects.types import element_type_of, is_float
from tilewright.passes.setup import SETUP

from .inputs import Case, arguments, sizes_of_parameters
from .signature import Entry, derived_arguments, function_named, is_plan, kernel_named

RUN_TIME_ERRORS = (IndexError, ZeroDivisionError, FailedAssertion)
"""What a program may raise by its own meaning; anything else is a failure of the module."""
_GATHERED = 64

Observe = Callable[[Operation, Sequence[Any]], None]
AtenMaker = Callable[[Case], Callable[[Operation, Sequence[Any]], Sequence[Any]]]


@dataclass(frozen=True)
class Outcome:
    """What one run gave."""

    values: tuple[Any, ...] = ()
    """The results, then the final contents of the arguments."""
    results: int = 0
    error: Exception | None = None
    magnitude: float = field(default=1.0, compare=False)
    """The largest finite float on the way."""

    @property
    def is_sound(self) -> bool:
        """Whether the program ran, or raised what programs may raise."""
        return self.error is None or isinstance(self.error, RUN_TIME_ERRORS)

    def label(self, index: int) -> str:
        return f"result {index}" if index < self.results else f"argument {index - self.results} afterwards"


def run(
    module: ModuleOp,
    entry: Entry,
    case: Case,
    sizes: Sequence[Sequence[int]],
    *,
    float64: bool = False,
    aten: AtenMaker | None = None,
    observe: Observe | None = None,
    setup: ModuleOp | None = None,
) -> Outcome:
    """Run `entry` of `module` on the inputs of `case`; errors become part of the outcome.

    `setup` is the module of `@setup` where that is no longer beside `@main`.
    """
    start = arguments(entry, case, sizes)
    largest = [1.0]

    def watch(op: Operation, values: Sequence[Any]) -> None:
        largest[0] = max(largest[0], _largest(values))
        if observe is not None:
            observe(op, values)

    try:
        with np.errstate(all="ignore"):
            args, values = run_on(module, entry, case, start, float64, aten, watch, setup)
    except Exception as error:  # what the program raises, or an invalid module: the caller tells them apart
        return Outcome(error=error)
    final = [np.asarray(a) for a in args if is_array(a)]
    results = tuple(map(np.asarray, values))
    if entry.level == "kernel":  # nothing is seen of its inside: products of what goes in and out
        largest[0] = _largest([*start, *final]) ** 2
    return Outcome((*results, *final), len(results), magnitude=largest[0])


def is_array(value: Any) -> bool:
    """Whether it is an array: not a size, nor the handle of a tensor in a plan."""
    return isinstance(value, np.ndarray)


def _largest(values: Sequence[Any]) -> float:
    found = [v for v in values if is_array(v) and v.dtype.kind == "f" and v.size]
    largest = 1.0
    for value in found:
        finite = np.abs(value[np.isfinite(value)])
        largest = max(largest, float(finite.max()) if finite.size else 1.0)
    return largest


def run_on(
    module: ModuleOp,
    entry: Entry,
    case: Case,
    start: Sequence[Any],
    float64: bool,
    aten: AtenMaker | None,
    observe: Observe,
    setup: ModuleOp | None = None,
) -> tuple[list[Any], Sequence[Any]]:
    """The arguments afterwards, and the results, of `entry` on `start`; raises what the program raises."""
    args = list(start)
    if float64:
        args = [_widened(a, p.element) for a, p in zip(args, entry.parameters, strict=True)]
    if entry.level == "kernel":
        kernel = kernel_named(module, entry.name)
        assert kernel is not None, f"kernel @{entry.name} is gone"
        run_func(kernel, args, dict(case.values), Machine(Arrays(np, float64=float64)))
        return args, ()
    function = function_named(module, entry.name)
    assert function is not None, f"function @{entry.name} is gone"
    given = [*args, *derived(setup or module, function, args, float64)]
    execute = run_plan if is_plan(function) else interpret
    results = execute(
        module,
        given,
        np,
        float64,
        aten=aten(case) if aten is not None else None,
        draw_seed=seeds(case),
        symbols=case.values,
        observe=observe,
        entry=entry.name,
    )
    return args, results


def _widened(value: Any, element: Attribute | None) -> Any:
    return value.astype(np.float64) if element is not None and is_float(element) else value


def seeds(case: Case) -> Callable[[], int]:
    """Numbers for `tw.rng_seed`: the same sequence in every run."""
    rng = np.random.default_rng([case.seed, 1 << 20])
    return lambda: int(rng.integers(-(1 << 63), (1 << 63) - 1))


def argument_sizes(module: ModuleOp, entry: Entry, case: Case) -> list[list[int]]:
    """The sizes of all arguments; a kernel's buffers of unknown size are as large as its subscripts ask."""
    sizes = sizes_of_parameters(entry, case)
    if entry.level == "kernel" and (kernel := kernel_named(module, entry.name)) is not None:
        for index, (parameter, arg) in enumerate(zip(entry.parameters, kernel.body.block.args, strict=True)):
            if parameter.sizes is None:
                sizes[index] = [_reach(kernel, arg, case)]
    return sizes


def _reach(kernel: KernelFunction, buffer: SSAValue, case: Case) -> int:
    """One more than the largest subscript at which an unscheduled kernel accesses `buffer`.

    Where other axes have no elements, it is accessed all the same.
    """
    space = [e.evaluate(case.values) for e in kernel.space]
    places: dict[Var, Any] = dict(case.values)
    for axis, size in enumerate(space):
        places[Var("d", axis)] = np.arange(size).reshape(
            [size if a == axis else 1 for a in range(len(space))]
        )
    largest = 0
    for op in kernel.body.block.ops:
        if isinstance(op, LoadOp | StoreOp) and op.buffer is buffer:
            for expr in op.map.exprs:
                if any(v.kind == "d" and space[v.index] == 0 for v in expr.variables()):
                    continue
                gathered = {v: _GATHERED for v in expr.variables() if v.kind == "i"}
                reached = int(np.max(evaluate_places(expr, {**places, **gathered}, np)))
                largest = max(largest, reached + 1)
    return largest


def derived(module: ModuleOp, function: FuncOp, args: Sequence[Any], float64: bool) -> Sequence[Any]:
    """The results of `@setup`, which are the trailing arguments of `@main` after `hoist-frozen`."""
    if not derived_arguments(function):
        return ()
    setup = function_named(module, SETUP)
    assert setup is not None, "arguments are derived, and there is no @setup"
    numbers: list[int] = []
    for attrs in setup.arg_attrs or ():
        number = attrs.data["tw.argument"]
        assert isinstance(number, IntegerAttr)
        numbers.append(number.value.data)
    execute = run_plan if is_plan(setup) else interpret
    made = execute(module, [args[i] for i in numbers], np, float64, entry=SETUP)
    return [np.asarray(v) for v in made]  # what has no dimensions may be a plain number


def narrowest(module: ModuleOp) -> Attribute | None:
    """The narrowest float type that occurs; None in a module without floats."""
    found = dict.fromkeys(e for e in _elements(module) if is_float(e))
    ranked = sorted(found, key=lambda e: ("bf16", "f16", "f32", "f64").index(str(e)))
    return ranked[0] if ranked else None


def _elements(module: ModuleOp) -> Iterable[Attribute]:
    for op in module.walk():
        for region in op.regions:
            for block in region.blocks:
                yield from (element_type_of(arg) for arg in block.args)
        yield from (element_type_of(result) for result in op.results)
