"""libcuda, opened when it is needed: what this project asks of it besides launches.

Modules that were loaded stay loaded, as libraries do: a kernel that still runs needs its code.
"""

from __future__ import annotations

import ctypes
import hashlib
from dataclasses import dataclass, field
from functools import cache
from threading import Lock

from .host_errors import KernelUnloadable, LaunchFailed, NoDriver, TooMuchSharedMemory

LIBRARY = "libcuda.so.1"
DEFAULT_SHARED = 48 << 10
"""Bytes of shared memory that a kernel gets without being given more."""

# CUresult, CUdevice_attribute, CUfunction_attribute and CUfunc_cache of cuda.h.
_BAD_IMAGE, _NO_BINARY, _BAD_PTX, _NEWER_PTX, _OUT_OF_MEMORY = 200, 209, 218, 222, 2
_CORES, _MAJOR, _MINOR, _SHARED_OPTIN = 16, 75, 76, 97
_MAX_DYNAMIC_SHARED = 8
_PREFER_SHARED = 1
_PORTABLE_AND_MAPPED = 3

_ADVICE = {
    _BAD_IMAGE: "update the NVIDIA driver, which may be older than the ptxas that assembled it, or have"
    " TRITON_PTXAS_PATH name an older one and clear the cache with `tilewright cache clear`",
    _NO_BINARY: "this device needs code of its own: clear the cache with `tilewright cache clear`",
    _BAD_PTX: "update the NVIDIA driver",
    _NEWER_PTX: "update the NVIDIA driver: it is older than the compiler that triton ships",
    _OUT_OF_MEMORY: "free memory on the device",
}


@dataclass(frozen=True)
class KernelCode:
    """Machine code of one kernel, and what a launch must say."""

    image: bytes
    entry: str
    threads: int
    shared: int
    """Bytes of shared memory of a program."""
    scratch: int = 0
    """Bytes of global memory that each program needs."""
    architecture: str = ""


@dataclass(frozen=True)
class Driver:
    """The driver's functions; raises errors of this project instead of giving back statuses."""

    library: ctypes.CDLL
    _lock: Lock = field(default_factory=Lock)
    _loaded: dict[tuple[int, str, str], int] = field(default_factory=dict[tuple[int, str, str], int])

    def architecture(self, device: int) -> str:
        """`sm_90`."""
        return f"sm_{self.attribute(_MAJOR, device)}{self.attribute(_MINOR, device)}"

    def cores(self, device: int) -> int:
        """Multiprocessors."""
        return self.attribute(_CORES, device)

    def name(self, device: int) -> str:
        """`NVIDIA H200`."""
        handle, text = ctypes.c_int(), ctypes.create_string_buffer(256)
        self.call("cuDeviceGet", ctypes.byref(handle), device)
        self.call("cuDeviceGetName", text, len(text), handle)
        return text.value.decode(errors="replace")

    def function(self, code: KernelCode, device: int) -> int:
        """The kernel in the current context, which is that of `device`; loaded once per context."""
        context = ctypes.c_void_p()
        self.call("cuCtxGetCurrent", ctypes.byref(context))
        key = (context.value or 0, hashlib.sha256(code.image).hexdigest(), code.entry)
        with self._lock:
            if key not in self._loaded:
                self._loaded[key] = self._load(code, device)
            return self._loaded[key]

    def _load(self, code: KernelCode, device: int) -> int:
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        status = self.library.cuModuleLoadData(ctypes.byref(module), code.image)
        if status == 0:
            name = code.entry.encode()
            status = self.library.cuModuleGetFunction(ctypes.byref(function), module, name)
        if status != 0:
            advice = _ADVICE.get(status, "report this with TILEWRIGHT_DUMP=dir")
            raise KernelUnloadable(
                name=code.entry, architecture=code.architecture, why=self.message(status), advice=advice
            )
        if code.shared > DEFAULT_SHARED:
            limit = self.attribute(_SHARED_OPTIN, device)
            if code.shared > limit:
                raise TooMuchSharedMemory(name=code.entry, needed=code.shared, limit=limit)
            # As Triton's own launcher has it: no first-level cache at the cost of programs that fit.
            self.call("cuFuncSetCacheConfig", function, _PREFER_SHARED)
            self.call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED, code.shared)
        return function.value or 0

    def pinned(self, size: int) -> tuple[int, int]:
        """Memory of the host that kernels can write: its address here, and for the device."""
        host, there = ctypes.c_void_p(), ctypes.c_uint64()
        self.call("cuMemHostAlloc", ctypes.byref(host), ctypes.c_size_t(size), _PORTABLE_AND_MAPPED)
        self.call("cuMemHostGetDevicePointer_v2", ctypes.byref(there), host, 0)
        assert host.value
        ctypes.memset(host.value, 0, size)
        return host.value, there.value

    def message(self, status: int) -> str:
        """`CUDA_ERROR_NO_BINARY_FOR_GPU (209): no kernel image is available`."""
        name, text = ctypes.c_char_p(), ctypes.c_char_p()
        self.library.cuGetErrorName(status, ctypes.byref(name))
        self.library.cuGetErrorString(status, ctypes.byref(text))
        known = (name.value or b"unknown error").decode(errors="replace")
        return f"{known} ({status}): {(text.value or b'no text').decode(errors='replace')}"

    def attribute(self, attribute: int, device: int) -> int:
        """A CUdevice_attribute."""
        handle, value = ctypes.c_int(), ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(handle), device)
        self.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, handle)
        return value.value

    def call(self, name: str, *args: object) -> None:
        """Call a function that gives back a status; raises LaunchFailed."""
        status = getattr(self.library, name)(*args)
        if status != 0:
            raise LaunchFailed(what=name, why=self.message(status))


@cache
def open_driver(path: str = LIBRARY) -> Driver:
    """The driver, initialised; raises NoDriver."""
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise NoDriver(reason=f"{path} cannot be opened ({error})") from error
    driver = Driver(library)
    status = library.cuInit(0)
    if status != 0:
        raise NoDriver(reason=driver.message(status))
    return driver
