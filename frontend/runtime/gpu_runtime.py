"""Builds CUDA code for an imported graph: Triton kernels and a native host function."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.th.calls import CallOp, ExternOp, TritonLaunchOp
from tilewright.dialects.th.control_flow import ControlOp
from tilewright.passes.manager import Fact
from tilewright.passes.rewrite import rewrites_left
from tilewright.targets.gpu_triton.architectures import architecture
from tilewright.targets.gpu_triton.compile_errors import UnknownArchitecture
from tilewright.targets.gpu_triton.driver import KernelCode
from tilewright.targets.gpu_triton.host_errors import NoDeviceTensor, NoDriver
from tilewright.targets.gpu_triton.kernel import TritonUnit
from tilewright.targets.native.unit import Unit

from ..environment import assembler, gpu_stand_in
from ..fx.graph import Graph
from ..torch_internals import find_operator, must_run, real_tensors
from .call import Run
from .compiling import Building
from .lower import Lowered, lower_unscheduled
from .native_code import module_of, text_of
from .request import Request

if TYPE_CHECKING:
    from tilewright.targets.gpu_triton.compiler import Compiled
    from tilewright.targets.gpu_triton.driver import Driver
    from tilewright.targets.gpu_triton.launch import Libraries
    from tilewright.targets.gpu_triton.tuning import Tuner


LOGGER = logging.getLogger("tilewright.cuda_graphs")
AUTOMATIC = -1
"""For the option `compile_workers`: one for each processor, up to MOST_WORKERS."""
MOST_WORKERS = 8


@dataclass(frozen=True)
class GpuCode:
    """Implements `Code`: machine code of the kernels, and the C++ text of the host function."""

    unit: Unit
    kernels: tuple[KernelCode, ...]
    places: tuple[tuple[str, str], ...]
    """What the checks of the kernels say, and where; empty where there are none."""
    wait: bool
    cuda_graphs: bool
    device: int
    written: tuple[int, ...]
    """Arguments of @main that the graph writes to."""
    fixed: bool
    """Whether no size is a symbol."""
    setup: ModuleOp | str | None
    """`@setup`, what is derived from frozen parameters; text in another process."""

    def load(self, cache_folder: Path, environment: Mapping[str, str]) -> Run:
        """The function; its host library is built where the cache has none."""
        from tilewright.targets.gpu_triton.launch import load_unit

        with real_tensors():  # constants are copied to the device
            compiled = load_unit(
                self.unit,
                self.kernels,
                checks=self.places,
                wait=self.wait,
                device=self.device,
                libraries=libraries(environment),
                cache_dir=cache_folder,
                environment=environment,
            )
        run: Run = compiled.call
        if self.cuda_graphs:
            from .cuda_graphs import recorded

            run = recorded(compiled.call, self.device, self.written, compiled.check, fixed=self.fixed)
        if self.setup is None:
            return run
        from .frozen import with_setup

        return with_setup(run, module_of(self.setup), _no_probe)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "setup": None if self.setup is None else text_of(self.setup)}


def _no_probe(tensors: Sequence[torch.Tensor]) -> Callable[[], int]:
    """Memory of a device is not sampled: version counters and addresses tell of changes."""
    return lambda: 0


def libraries(environment: Mapping[str, str]) -> Libraries:
    """Where the driver and libtorch's CUDA functions are found."""
    from tilewright.targets.gpu_triton.launch import Libraries

    return Libraries(stand_in=gpu_stand_in(environment))


def machine_facts(environment: Mapping[str, str]) -> Mapping[str, Fact]:
    """What passes are told about torch's modes, and about the current device once torch uses it.

    (The driver is not initialised just to look: processes that fork later could not use it.)
    """
    modes = torch_modes(environment)
    if not gpu_stand_in(environment) and not torch.cuda.is_initialized():
        return modes
    device = 0 if gpu_stand_in(environment) else torch.cuda.current_device()
    try:
        driver = libraries(environment).open_driver()
        name = driver.architecture(device)
        known = architecture(name).facts
    except (NoDriver, UnknownArchitecture):
        return modes  # building says so, at the graph
    tf32 = torch.backends.cuda.matmul.fp32_precision == "tf32"
    return {"architecture": name, **known, **modes, "cores": driver.cores(device), "tf32": tf32}


def torch_modes(environment: Mapping[str, str]) -> Mapping[str, Fact]:
    """What passes are told that is so on every GPU: whether sums must have one order."""
    return {"deterministic": torch.are_deterministic_algorithms_enabled()}


def build_gpu(graph: Graph, request: Request) -> Building:
    """Triton kernels, compiled while the C++ compiler builds the host function."""
    found = libraries(request.environment.variables)
    if graph.device.type != "cuda" and not found.stand_in:
        raise NoDeviceTensor(device=graph.device.type)
    driver, device = found.open_driver(), graph.device.index or 0
    written = written_arguments(graph)
    start_workers(graph, request)
    lowered = lower_unscheduled(graph, request, candidates=request.options.autotune)
    if request.options.autotune:
        lowered.schedule_tuned(_tuner(request, driver, device))
    else:
        lowered.keep_unscheduled()
        lowered.schedule()
    _choose_given(lowered, request, driver, device)
    emitted, architecture = _emit(lowered, found), driver.architecture(device)

    def compile_() -> Callable[[], Run]:
        compiled = _compile(emitted, architecture, request)
        return lambda: load(*without_faults(compiled))

    def without_faults(compiled: Compiled) -> tuple[_Emitted, Compiled]:
        """The same, but for kernels that spill, do not fit or do not compile: of these another candidate.

        Rules bound what `schedule-gpu` takes, so that this is rare; a remark says what was chosen, and why.
        """
        ours = {kernel.name for kernel in emitted.kernels.kernels if kernel.given is None}
        faults = ours.intersection(compiled.faults)  # of users' kernels there is no other candidate
        if not faults or lowered.unscheduled is None or not rewrites_left():
            return emitted, compiled
        lowered.schedule_again(_untimed(request, architecture, only=faults))
        _choose_given(lowered, request, driver, device)
        again = _emit(lowered, found)
        return again, _compile(again, architecture, request)

    def load(emitted: _Emitted, compiled: Compiled) -> Run:
        kernels, trace = emitted.kernels, request.trace
        checked = any(kernel.checks for kernel in kernels.kernels)
        trace.code = code = GpuCode(
            unit=emitted.host,
            kernels=codes_of(kernels, compiled),
            places=kernels.places if checked else (),
            wait=bool(request.target_options["wait_for_checks"]),
            cuda_graphs=request.options.cuda_graphs and _can_record(graph),
            device=device,
            written=written,
            fixed=not graph.symbols,
            setup=lowered.setup,
        )
        with trace.stage("load"):
            return code.load(request.cache_folder, request.environment.variables)

    return Building(compile_)


def _choose_given(lowered: Lowered, request: Request, driver: Driver, device: int) -> None:
    """Decide about users' kernels that have several configurations: `triton.autotune` asks for a clock."""
    functions = [op for op in lowered.graph.module.ops if isinstance(op, FuncOp)]  # not those of kernels
    launches = [op for function in functions for op in function.walk() if isinstance(op, TritonLaunchOp)]
    if all(op.candidates is None for op in launches):
        return
    from tilewright.targets.gpu_triton.given_tuning import choose_given

    chooser = _tuner(request, driver, device)
    lowered.choose(lambda module, _: choose_given(module, chooser, lowered.graph.traced_sizes))


class _Emitted(NamedTuple):
    """The text of a graph."""

    kernels: TritonUnit
    host: Unit


def _emit(lowered: Lowered, libraries: Libraries) -> _Emitted:
    from tilewright.targets.gpu_triton.emit import emit_unit
    from tilewright.targets.gpu_triton.host import emit_host_unit

    module = lowered.graph.module
    with lowered.request.trace.stage("emit Triton"):
        kernels = emit_unit(module)
        host = emit_host_unit(module, kernels, libraries.exports, libraries.shims)
    lowered.write("kernels.py", kernels.listing)
    lowered.write("host.cpp", host.text)
    return _Emitted(kernels, host)


def _compile(emitted: _Emitted, architecture: str, request: Request) -> Compiled:
    with request.trace.stage("compile kernels"), ThreadPoolExecutor(1) as pool:
        building = pool.submit(_build_host, emitted.host, request.cache_folder, request.environment.variables)
        compiled = compile_kernels(emitted.kernels, architecture, request)
        building.result()
    return compiled


def _build_host(unit: Unit, folder: Path, environment: Mapping[str, str]) -> Path:
    from tilewright.targets.gpu_triton.launch import build_host

    return build_host(unit, cache_dir=folder, environment=environment)


def compile_kernels(unit: TritonUnit, architecture: str, request: Request) -> Compiled:
    """Machine code of every kernel of a unit, from the store or compiled by several processes."""
    from tilewright.targets.gpu_triton.compiler import try_unit

    return try_unit(
        unit,
        architecture,
        cache_dir=request.cache_folder,
        workers=workers_of(request),
        assembler=assembler(request.environment.variables),
    )


def codes_of(unit: TritonUnit, compiled: Compiled) -> tuple[KernelCode, ...]:
    """What the driver loads, in the unit's order; raises why a kernel has none."""
    found = compiled.checked()
    binaries = [found[kernel.name] for kernel in unit.kernels]
    return tuple(
        KernelCode(b.image, b.entry, b.threads, b.shared, b.scratch, b.architecture) for b in binaries
    )


_OPS_PER_KERNEL = 8
"""That fusion joins, roughly."""


def start_workers(graph: Graph, request: Request) -> None:
    """Let the processes that will compile the kernels begin while passes run: imports take them a while."""
    from tilewright.targets.gpu_triton.compiler import triton_version

    workers = min(workers_of(request), len(ops_of(graph.main.body.block)) // _OPS_PER_KERNEL)
    if workers > 1 and triton_version():
        from tilewright.targets.gpu_triton.workers import POOL  # subprocess and threads, needed here alone

        POOL.start(workers)


def workers_of(request: Request) -> int:
    """How many processes may compile at a time."""
    asked = request.target_options["compile_workers"]
    workers = len(os.sched_getaffinity(0)) if asked == AUTOMATIC else asked
    assert isinstance(workers, int)
    return min(workers, MOST_WORKERS)


def _can_record(graph: Graph) -> bool:
    """A replay runs the same kernels each time: no Python function, no effect, nothing that data decide."""
    reason = f"`{graph.in_python}` runs in Python" if graph.in_python else ""
    if any(var not in graph.traced_sizes for var, _ in graph.symbols):
        reason = "data decide a size, which is another one in each call"
    for op in graph.main.body.block.ops:
        if isinstance(op, CallOp | ExternOp):
            operator = find_operator(op.callee.data)
            if operator is not None and must_run(operator):
                reason = f"`{op.callee.data}` has to run in each call"
        if isinstance(op, ControlOp):
            reason = f"the host decides what runs in `{op.kind.data}` of @{op.function_names[0]}"
    if reason:
        LOGGER.info("a graph runs without CUDA graphs: %s", reason)
    return not reason


def _tuner(request: Request, driver: Driver, device: int) -> Tuner:
    """What times configurations."""
    from tilewright.targets.gpu_triton.timing import Clock

    untimed = _untimed(request, driver.architecture(device))
    return replace(untimed, device=driver.name(device), clock=Clock(driver, device).seconds)


def _untimed(request: Request, architecture: str, only: Container[str] | None = None) -> Tuner:
    """What chooses the first configuration without a fault, for functions of these names."""
    from tilewright.targets.gpu_triton.tuning import Tuner

    return Tuner(
        architecture=architecture,
        device="",
        cache_dir=request.cache_folder,
        workers=workers_of(request),
        assembler=assembler(request.environment.variables),
        only=only,
    )


def written_arguments(graph: Graph) -> tuple[int, ...]:
    """The arguments of @main that the imported graph writes to."""
    from tilewright.dialects.tw.aten import AtenOp, WriteOp

    written: set[SSAValue] = set()
    for op in graph.main.body.block.ops:
        if isinstance(op, WriteOp):
            written.add(op.argument)
        elif isinstance(op, AtenOp) and op.mutates is not None:
            written.update(op.inputs[i] for i in op.mutates.get_values())
    return tuple(i for i, arg in enumerate(graph.main.body.block.args) if arg in written)
