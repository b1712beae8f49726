"""How long one launch of a kernel takes, by the events of the driver, on memory of its own."""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from .binary import Binary
from .choosing import Argument, Number
from .driver import Driver, KernelCode
from .kernel import TritonKernel

# CUdevice_attribute and CUstream_flags of cuda.h.
_L2_BYTES = 38
_NON_BLOCKING = 1
_WARM_UP, _LAUNCHES = 2, 11
_IDLE, _AWAKE = 0.05, 0.1
"""Seconds: so long without work a device may have lowered its clocks; so long it is kept busy then."""
_FLOATS = ("*fp64", "*fp32", "*bf16", "*fp16")
_SMALL = 0x3C
"""In each byte of a float: about 0.01 in f32 and bf16, about 1 in f16."""


@dataclass
class Clock:
    """Times kernels on one device.

    Buffers hold small floats and zeros of other types, which are valid indices; the second-level cache
    is overwritten between launches, so that data comes from where most of it does in a model. A device
    that had nothing to do (while kernels were compiled, say) is kept busy first: the first kernel to be
    timed would have lower clocks than the others.
    """

    driver: Driver
    device: int
    _busy_until: float = float("-inf")

    def seconds(self, kernel: TritonKernel, binary: Binary, arguments: Sequence[Argument]) -> float:
        """Median seconds of a launch, 0 where there are no programs. Raises errors of the driver."""
        grid = [size.evaluate({}) for size in kernel.grid]
        if 0 in grid:
            return 0.0
        with ExitStack() as stack:
            stack.enter_context(self._context())
            stream = stack.enter_context(self._stream())
            code = KernelCode(
                binary.image, binary.entry, binary.threads, binary.shared, binary.scratch, binary.architecture
            )
            function = ctypes.c_void_p(self.driver.function(code, self.device))
            handed: list[ctypes.c_uint64 | Number] = []
            for parameter, argument in zip(kernel.parameters, arguments, strict=True):
                if isinstance(argument, int):
                    fill = _SMALL if parameter.type in _FLOATS else 0
                    handed.append(self._filled(argument, fill, stream, stack))
                else:
                    handed.append(argument)
            if kernel.checks:
                handed.append(self._filled(64, 0, stream, stack))
            scratch, of_profilers = ctypes.c_uint64(0), ctypes.c_uint64(0)
            if binary.scratch:
                scratch = stack.enter_context(self._memory(binary.scratch * grid[0] * grid[1] * grid[2]))
            handed += [scratch, of_profilers]
            pointers = (ctypes.c_void_p * len(handed))(*map(ctypes.addressof, handed))
            launch = _Launch(function, grid, code, stream, pointers)
            cache = max(self.driver.attribute(_L2_BYTES, self.device) * 2, 64)
            flush = stack.enter_context(self._memory(cache))
            self._wake(flush, cache, stream)
            return self._median(launch, flush, cache, stack)

    def _wake(self, flush: ctypes.c_uint64, size: int, stream: ctypes.c_void_p) -> None:
        start = time.monotonic()
        if start - self._busy_until < _IDLE:
            return
        while time.monotonic() - start < _AWAKE:
            for _ in range(_LAUNCHES):
                self._fill(flush, 0, size, stream)
            self.driver.call("cuStreamSynchronize", stream)

    def _median(self, launch: _Launch, flush: ctypes.c_uint64, size: int, stack: ExitStack) -> float:
        for _ in range(_WARM_UP):
            self._launch(launch)
        pairs = [
            (stack.enter_context(self._event()), stack.enter_context(self._event())) for _ in range(_LAUNCHES)
        ]
        for first, last in pairs:
            self._fill(flush, 0, size, launch.stream)
            self.driver.call("cuEventRecord", first, launch.stream)
            self._launch(launch)
            self.driver.call("cuEventRecord", last, launch.stream)
        self.driver.call("cuStreamSynchronize", launch.stream)
        self._busy_until = time.monotonic()
        found: list[float] = []
        for first, last in pairs:
            milliseconds = ctypes.c_float()
            self.driver.call("cuEventElapsedTime", ctypes.byref(milliseconds), first, last)
            found.append(milliseconds.value / 1000)
        return statistics.median(found)

    def _launch(self, launch: _Launch) -> None:
        x, y, z = (ctypes.c_uint(n) for n in launch.grid)
        threads, one = ctypes.c_uint(launch.code.threads), ctypes.c_uint(1)
        shared = ctypes.c_uint(launch.code.shared)
        sizes = (x, y, z, threads, one, one, shared)
        self.driver.call("cuLaunchKernel", launch.function, *sizes, launch.stream, launch.pointers, None)

    def _filled(self, size: int, byte: int, stream: ctypes.c_void_p, stack: ExitStack) -> ctypes.c_uint64:
        memory = stack.enter_context(self._memory(size))
        self._fill(memory, byte, size, stream)
        return memory

    def _fill(self, memory: ctypes.c_uint64, byte: int, size: int, stream: ctypes.c_void_p) -> None:
        self.driver.call("cuMemsetD8Async", memory, ctypes.c_ubyte(byte), ctypes.c_size_t(size), stream)

    @contextmanager
    def _context(self) -> Generator[None]:
        """The device's own context, which torch uses, is current in this thread."""
        device, context, before = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        self.driver.call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(self.device))
        self.driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        try:
            self.driver.call("cuCtxPushCurrent_v2", context)
            try:
                yield
            finally:
                self.driver.call("cuCtxPopCurrent_v2", ctypes.byref(before))
        finally:
            self.driver.call("cuDevicePrimaryCtxRelease_v2", device)

    @contextmanager
    def _stream(self) -> Generator[ctypes.c_void_p]:
        stream = ctypes.c_void_p()
        self.driver.call("cuStreamCreate", ctypes.byref(stream), ctypes.c_uint(_NON_BLOCKING))
        try:
            yield stream
        finally:
            self.driver.call("cuStreamDestroy_v2", stream)

    @contextmanager
    def _event(self) -> Generator[ctypes.c_void_p]:
        event = ctypes.c_void_p()
        self.driver.call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(0))
        try:
            yield event
        finally:
            self.driver.call("cuEventDestroy_v2", event)

    @contextmanager
    def _memory(self, size: int) -> Generator[ctypes.c_uint64]:
        memory = ctypes.c_uint64()
        self.driver.call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(max(size, 16)))
        try:
            yield memory
        finally:
            self.driver.call("cuMemFree_v2", memory)


@dataclass(frozen=True)
class _Launch:
    function: ctypes.c_void_p
    grid: Sequence[int]
    code: KernelCode
    stream: ctypes.c_void_p
    pointers: ctypes.Array[ctypes.c_void_p]
