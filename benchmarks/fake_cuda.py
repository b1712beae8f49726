"""One GPU that does not exist: torch's CPU build traces and lowers for it, and nothing ever runs.

Import this before torch, call `install()`, and make tensors under a FakeTensorMode on the
device "cuda". Dynamo, AOTAutograd, Inductor and this project then see an H200. A small library, built once,
gives torch what its CPU build lacks (fake_cuda.cpp). For one process that does nothing else.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

_SOURCE = Path(__file__).with_suffix(".cpp")
_BUILD = Path("build/fake_cuda")


def _library() -> ctypes.CDLL:
    """The library, in this process before torch's: its symbols are to be found first."""
    assert "torch" not in sys.modules, "import benchmarks.fake_cuda before torch"
    spec = importlib.util.find_spec("torch")
    assert spec is not None
    assert spec.submodule_search_locations
    torch = Path(spec.submodule_search_locations[0])
    made = _BUILD / f"fake_cuda-{torch.stat().st_mtime_ns:x}-{_SOURCE.stat().st_mtime_ns:x}.so"
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        part = made.with_suffix(f".{os.getpid()}")
        flags = ["-std=c++20", "-O1", "-shared", "-fPIC", f"-I{torch}/include"]
        links = [f"-L{torch}/lib", "-lc10", "-ltorch_cpu", f"-Wl,-rpath,{torch}/lib"]
        subprocess.run(
            [os.environ.get("CXX", "g++"), *flags, str(_SOURCE), "-o", str(part), *links], check=True
        )
        part.replace(made)
    return ctypes.CDLL(str(made.resolve()), mode=ctypes.RTLD_GLOBAL)


_LIBRARY = _library()

import torch  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

PROPERTIES = SimpleNamespace(
    name="NVIDIA H200",
    major=9,
    minor=0,
    multi_processor_count=132,
    total_memory=150_000_000_000,
    regs_per_multiprocessor=65536,
    max_threads_per_multi_processor=2048,
    max_threads_per_block=1024,
    warp_size=32,
    shared_memory_per_block=49152,
    shared_memory_per_block_optin=232448,
    shared_memory_per_multiprocessor=233472,
    L2_cache_size=62914560,
    gcnArchName="",
    is_integrated=0,
    is_multi_gpu_board=0,
    uuid="none",
    pci_bus_id=0,
)
_COMPUTE = {
    "max_shared_mem": 232448,
    "max_num_regs": 65536,
    "multiprocessor_count": 132,
    "warpSize": 32,
    "sm_clock_rate": 1980000,
    "mem_clock_rate": 3201000,
    "mem_bus_width": 6144,
}


class _Stream:
    cuda_stream = stream_id = device_index = 0
    device_type = 1

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def synchronize(self) -> None:
        pass


class _Driver:
    """What Triton's runtime asks its driver for."""

    class utils:
        @staticmethod
        def get_device_properties(_: int) -> dict[str, int]:
            return _COMPUTE

        @staticmethod
        def load_binary(*_: Any) -> tuple[int, int, int, int, int]:
            """Module, function, registers, spills and the most threads of a program."""
            return 1, 1, 0, 0, 1024

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _: int = 0) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", 0)

    @staticmethod
    def is_active() -> bool:
        return True

    @staticmethod
    def launcher_cls(source: Any, metadata: Any) -> None:
        """Nothing is launched."""


class _OnCpu(TorchDispatchMode):
    """Tensors that are asked for on the GPU are made on the CPU."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if getattr(kwargs.get("device"), "type", kwargs.get("device")) == "cuda":
            kwargs["device"] = torch.device("cpu")
        return func(*args, **kwargs)


def install() -> None:
    """Make this process believe in the GPU."""
    # Fake tensors take the way of a process that must not touch the device.
    FakeTensorMode.avoid_device_init = property(lambda self: True)  # type: ignore[assignment]
    torch._C._ensureCUDADeviceGuardSet()
    _LIBRARY.install()
    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda d: None,
        "get_device_properties": lambda d=None: PROPERTIES,
        "get_device_capability": lambda d=None: (9, 0),
        "get_device_name": lambda d=None: PROPERTIES.name,
        "is_bf16_supported": lambda including_emulation=True: True,
        "is_tf32_supported": lambda: True,
        "is_initialized": lambda: True,
        "init": lambda: None,
        "_lazy_init": lambda: None,
        "synchronize": lambda d=None: None,
        "memory_allocated": lambda d=None: 0,
        "mem_get_info": lambda d=None: (140 << 30, 140 << 30),
        "current_stream": lambda d=None: _Stream(),
        "get_rng_state": lambda d=None: torch.zeros(16, dtype=torch.uint8),
        "set_rng_state": lambda s, d=None: None,
        "_exchange_device": lambda d: 0,
        "_maybe_exchange_device": lambda d: 0,
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    torch._C._cuda_getCurrentRawStream = lambda d=0: 0  # type: ignore[attr-defined]
    torch.version.cuda = torch.version.cuda or "13.0"
    _install_interface(answers)
    _install_triton()
    _install_constant_folding()


def _install_interface(answers: dict[str, Any]) -> None:
    import torch._dynamo.device_interface as interfaces

    interface = interfaces.CudaInterface
    for name in [n for n in answers if hasattr(interface, n)]:
        setattr(interface, name, staticmethod(answers[name]))
    interface.exchange_device = interface.maybe_exchange_device = staticmethod(lambda d: 0)
    interface.get_raw_stream = staticmethod(lambda d: 0)
    interfaces.caching_worker_device_properties["cuda"] = [PROPERTIES]
    interfaces.caching_worker_current_devices["cuda"] = 0


def _install_triton() -> None:
    import torch._inductor.runtime.triton_helpers as helpers
    import torch.utils._triton as found
    import triton

    triton.runtime.driver.set_active(_Driver())
    helpers.set_driver_to_gpu = lambda: None
    for name in dir(found):
        if hasattr(getattr(found, name), "cache_clear"):
            getattr(found, name).cache_clear()


def _install_constant_folding() -> None:
    """Inductor folds constants on the device of the graph; numbers are the same on the CPU."""
    from torch._inductor.constant_folding import ConstantFolder
    from torch._inductor.fx_passes.joint_graph import UniformValueConstantFolder

    for cls in (ConstantFolder, UniformValueConstantFolder):
        deduce = cls._deduce_value

        def on_cpu(self: Any, node: Any, deduce: Any = deduce) -> Any:
            with _OnCpu():
                return deduce(self, node)

        cls._deduce_value = on_cpu
