"""Load a CUDA graph into this process: its host function, its kernels, its device."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Lock

import torch

from tilewright.dialects.diagnostics import TilewrightError

from ..native import launch as native
from ..native.build import Recipe, build, default_cache_dir
from ..native.errors import call_error
from ..native.launch import CompiledGraph, Place
from ..native.unit import Unit
from .driver import LIBRARY, Driver, KernelCode, open_driver
from .host_errors import DeviceUnavailable, LaunchFailed, LaunchRefused

HERE = Path(__file__).resolve().parent
_TORCH_LIB = Path(torch.__file__).parent / "lib"
_CUDA = 1
"""c10::DeviceType, part of libtorch's stable ABI."""


class DeviceOutOfMemory(TilewrightError, torch.OutOfMemoryError):
    """No memory on the device for temporaries or results, or for a launch."""

    code = "TW2062"
    what = "no memory on the device for {what}"
    why = "{why}"
    fix = "use smaller batches, or free memory (`torch.cuda.empty_cache()`)"


_ERRORS: Mapping[int, type[TilewrightError]] = {
    int(error.code.removeprefix("TW")): error
    for error in (DeviceUnavailable, DeviceOutOfMemory, LaunchRefused, LaunchFailed)
}


def _failed(code: int, what: str, where: str, why: str) -> None:
    if code in _ERRORS:
        raise _ERRORS[code](where=where or None, what=what, why=why)
    raise call_error(code, what, where, why)


class _Kernel(ctypes.Structure):
    """`tw::Kernel`, field by field."""

    _fields_ = (
        ("function", ctypes.c_void_p),
        ("threads", ctypes.c_uint32),
        ("shared", ctypes.c_uint32),
        ("scratch", ctypes.c_int64),
    )


class _Device(ctypes.Structure):
    """`tw::CudaDevice`, field by field."""

    _fields_ = (
        ("driver", ctypes.c_void_p),
        ("torch", ctypes.c_void_p),
        ("kernels", ctypes.c_void_p),
        ("load", ctypes.py_object),
        ("failure", ctypes.c_void_p),
        ("failure_address", ctypes.c_uint64),
        ("index", ctypes.c_int64),
        ("loaded", ctypes.c_int64),
        ("wait", ctypes.c_int64),
    )


@dataclass(frozen=True)
class Libraries:
    """Where the host function finds what it calls.

    Tests without a GPU let one library of their own stand for the driver and for the part of
    libtorch that knows CUDA (`stand_in`), and tensors of the CPU for those of a device.
    """

    driver: str = LIBRARY
    stand_in: str = ""

    @property
    def shims(self) -> str:
        """The prefix of libtorch's operators."""
        return "aoti_torch_cpu_" if self.stand_in else "aoti_torch_cuda_"

    def open_driver(self) -> Driver:
        return open_driver(self.stand_in or self.driver)

    def operators(self) -> ctypes.CDLL:
        """The library with ATen's operators for the device; it also finds those of libtorch_cpu."""
        return _opened("libtorch_cpu.so" if self.stand_in else "libtorch_cuda.so")

    def streams(self) -> ctypes.CDLL:
        """The library that knows torch's current stream and device."""
        return ctypes.CDLL(self.stand_in) if self.stand_in else self.operators()

    def exports(self, symbol: str) -> bool:
        """Whether libtorch has the C function."""
        return hasattr(self.operators(), symbol)


@cache
def _opened(name: str) -> ctypes.CDLL:
    return ctypes.CDLL(str(_TORCH_LIB / name))


def recipe(environment: Mapping[str, str]) -> Recipe:
    """Host functions have no code that depends on this CPU."""
    return Recipe((), (HERE,))


@dataclass
class _Loader:
    """Loads the kernels of a graph when it is first called: then its device is current."""

    driver: Driver
    device: int
    codes: Sequence[KernelCode]
    kernels: ctypes.Array[_Kernel]
    state: _Device
    checks: bool
    lock: Lock = field(default_factory=Lock)

    def __call__(self) -> None:
        with self.lock:
            if self.state.loaded:
                return
            for kernel, code in zip(self.kernels, self.codes, strict=False):
                kernel.function = self.driver.function(code, self.device)
                kernel.threads, kernel.shared, kernel.scratch = code.threads, code.shared, code.scratch
            if self.checks:
                self.state.failure, self.state.failure_address = self.driver.pinned(64)
            self.state.loaded = 1


@dataclass(frozen=True)
class CudaGraph(CompiledGraph):
    """A graph whose kernels may report failed checks later than its calls return."""

    places: Sequence[tuple[str, str]]
    state: _Device

    def check(self) -> None:
        """Raise what a kernel has reported by now; does not wait for the device."""
        if not self.state.failure:
            return
        flag = ctypes.c_int32.from_address(self.state.failure)
        if flag.value:
            what, where = self.places[flag.value - 1]
            flag.value = 0
            raise call_error(2114, what, where, _LATE)


_LATE = "a kernel of an earlier call found it; what that call returned is not valid"


def build_host(unit: Unit, *, cache_dir: Path, environment: Mapping[str, str]) -> Path:
    """The library of a host function, from the cache or compiled."""
    return build(
        unit.text,
        recipe=recipe(environment),
        cache_dir=cache_dir,
        environment=environment,
        openmp=native.openmp_library(),
    )


def load_unit(
    unit: Unit,
    codes: Sequence[KernelCode],
    *,
    checks: Sequence[tuple[str, str]],
    wait: bool,
    device: int,
    libraries: Libraries,
    cache_dir: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> CudaGraph:
    """Build and load a host function; its kernels are loaded when it is first called.

    `checks` says what the kernels check, and where; with `wait` each call waits for them.
    """
    driver = libraries.open_driver()
    kernels = (_Kernel * max(len(codes), 1))()
    streams = libraries.streams()
    state = _Device(driver.library._handle, streams._handle, ctypes.addressof(kernels))
    loader = _Loader(driver, device, codes, kernels, state, bool(checks))
    state.load, state.index, state.wait = loader, device, int(wait)
    place = Place(
        torch.device("cpu") if libraries.stand_in else torch.device("cuda", device),
        number=0 if libraries.stand_in else _CUDA,
        index=-1 if libraries.stand_in else device,
        library=libraries.operators,
        state=state,
        failed=_failed,
    )
    given = os.environ if environment is None else environment
    folder = default_cache_dir(given) if cache_dir is None else cache_dir
    graph = native.bind(unit, build_host(unit, cache_dir=folder, environment=given), pooled=False, on=place)
    return CudaGraph(graph.source, graph.library, graph.call, graph.native, graph.functions, checks, state)
