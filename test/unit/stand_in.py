"""A stand-in for the CUDA driver: tensors of the CPU are device memory, Python does the kernels' work."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parents[1] / "gpu_stub" / "libcuda.c"
Work = Callable[[str, tuple[int, int, int], Any], None]
"""(kernel, grid, addresses of the arguments): does what the kernel does."""
_CALLBACK = ctypes.CFUNCTYPE(
    None, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint), ctypes.POINTER(ctypes.c_void_p)
)
Clock = Callable[[str, int, int], float]
"""(kernel, programs, threads of each) -> milliseconds of a launch."""
_CLOCK = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint), ctypes.c_uint)


class _Launch(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char * 128),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("device", ctypes.c_int),
    )


@dataclass(frozen=True)
class Launch:
    """One recorded launch."""

    name: str
    grid: tuple[int, ...]
    threads: int
    shared: int
    stream: int
    device: int


@dataclass
class StandIn:
    """The library, and what tests do with it."""

    path: Path
    library: ctypes.CDLL
    raised: list[BaseException] = field(default_factory=list[BaseException])
    _kept: Any = None
    _clock: Any = None

    def reset(self) -> None:
        self.library.stub_reset()
        self.raised.clear()
        self._kept = None

    def work(self, function: Work) -> None:
        """Every launch calls `function`; what it raises is kept in `raised`."""

        def callback(name: bytes, grid: Any, parameters: Any) -> None:
            try:
                function(name.decode(), (grid[0], grid[1], grid[2]), parameters)
            except BaseException as error:
                self.raised.append(error)

        self._kept = _CALLBACK(callback)
        self.library.stub_callback(self._kept)

    def clock(self, milliseconds: Clock) -> None:
        """What events say of each launch; 1 without this."""
        self._clock = _CLOCK(lambda name, grid, threads: milliseconds(name.decode(), grid[0], threads))
        self.library.stub_clock(self._clock)

    def fail(self, function: str, status: int, after: int = 0) -> None:
        """From its call number `after` on, `function` returns `status`; 0 ends that."""
        self.library.stub_fail(function.encode(), status, after)

    def stream(self, device: int, stream: int) -> None:
        """Make a stream the current one of a device."""
        self.library.stub_stream(device, ctypes.c_void_p(stream))

    def launches(self) -> list[Launch]:
        self.library.stub_launch.restype = ctypes.POINTER(_Launch)
        found = [self.library.stub_launch(i).contents for i in range(self.library.stub_launches())]
        return [
            Launch(
                x.name.decode(),
                tuple(x.grid),
                x.block[0] * x.block[1] * x.block[2],
                x.shared,
                x.stream or 0,
                x.device,
            )
            for x in found
        ]

    def count(self, what: str) -> int:
        """`modules`, `guards`, `synchronized`, `held`: what was not given back."""
        return getattr(self.library, f"stub_{what}")()


def build(folder: Path) -> StandIn:
    """Compile it; a library of another path is another stand-in, with counters of its own."""
    compiler = next(found for name in ("cc", "gcc", "clang") if (found := shutil.which(name)))
    path = folder / "libcuda_stand_in.so"
    command: Sequence[str] = (compiler, "-O1", "-shared", "-fPIC", str(SOURCE), "-o", str(path))
    subprocess.run(command, check=True)
    return StandIn(path, ctypes.CDLL(str(path)))


def pointer(parameters: Any, index: int) -> int:
    """The pointer that a kernel gets as this argument."""
    return ctypes.cast(parameters[index], ctypes.POINTER(ctypes.c_uint64))[0]


def integer(parameters: Any, index: int, bits: int = 32) -> int:
    """The integer that a kernel gets as this argument."""
    type_ = ctypes.c_int32 if bits == 32 else ctypes.c_int64
    return ctypes.cast(parameters[index], ctypes.POINTER(type_))[0]


def number(parameters: Any, index: int, type_: str) -> int | float:
    """The number that a kernel gets as this argument, of a type as Triton's signatures write it."""
    if type_ == "fp32":
        return ctypes.cast(parameters[index], ctypes.POINTER(ctypes.c_float))[0]
    if type_ == "i1":
        return ctypes.cast(parameters[index], ctypes.POINTER(ctypes.c_uint8))[0]
    return integer(parameters, index, int(type_[1:]))


def floats(address: int, count: int) -> Any:
    """Memory as `count` f32, for reading and writing."""
    return (ctypes.c_float * count).from_address(address)
