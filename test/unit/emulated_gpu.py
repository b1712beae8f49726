"""`target="gpu_triton"` on CPU tensors: the whole path, the stand-in driver running kernels by emulation."""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import stand_in
import torch
from torch._functorch import config as functorch
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.tk.group import GroupOp
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.frontend.runtime import gpu_runtime
from tilewright.targets.gpu_triton import emit
from tilewright.targets.gpu_triton.binary import Binary
from tilewright.targets.gpu_triton.compiler import Compiled
from tilewright.targets.gpu_triton.emulate import Emulator
from tilewright.targets.gpu_triton.kernel import TritonKernel, TritonUnit
from tilewright.targets.native.unit import Unit

_TYPES: Mapping[str, torch.dtype] = {
    "fp64": torch.float64,
    "fp32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "u8": torch.uint8,
    "i1": torch.bool,
}
_WINDOW = 1 << 20
"""Bytes that a buffer of a size that only the run knows is taken to have, at most."""


@dataclass
class _Kernel:
    """A kernel as the driver meets it."""

    emulator: Emulator
    kernel: TritonKernel
    sizes: Sequence[int | None]
    """Elements of each buffer, None where its type does not say."""


@dataclass
class EmulatedGpu:
    """What the device of a test did."""

    driver: stand_in.StandIn
    units: list[TritonUnit] = field(default_factory=list[TritonUnit])
    host: list[str] = field(default_factory=list[str])
    """C++ of the host functions."""
    _kernels: dict[str, _Kernel] = field(default_factory=dict[str, _Kernel])
    _modules: dict[int, ModuleOp] = field(default_factory=dict[int, ModuleOp])
    _one: threading.Lock = field(default_factory=threading.Lock)
    """Graphs are compiled in threads of their own."""

    def launched(self) -> list[str]:
        """Names of the kernels, in the order of their launches."""
        return [launch.name.partition(":")[2] for launch in self.driver.launches()]

    def emitted(self, module: ModuleOp, unit: TritonUnit) -> TritonUnit:
        self._modules[id(unit)] = module
        return unit

    def compiled(self, unit: TritonUnit) -> Compiled:
        with self._one:
            number, emulator = len(self.units), Emulator(unit)
            self.units.append(unit)
        ops = self._modules.pop(id(unit)).ops
        functions = {op.sym_name.data: op for op in ops if isinstance(op, FuncOp | GroupOp)}
        binaries: dict[str, Binary] = {}
        for kernel in unit.kernels:
            entry = f"{number}:{kernel.name}"
            image = f"{entry} {len(kernel.parameters) + kernel.checks + 2}"  # scratch memory twice
            self._kernels[entry] = _Kernel(emulator, kernel, _sizes(functions.get(kernel.name)))
            code = image.encode()
            binaries[kernel.name] = Binary("sm_90", entry, code, "", kernel.warps, 0, 0, 1, 0, 0)
        return Compiled(binaries, {})

    def run(self, name: str, grid: tuple[int, int, int], parameters: Any) -> None:
        known = self._kernels[name]
        types = [parameter.type for parameter in known.kernel.parameters]
        sizes = [*known.sizes, *([None] * len(types))][: len(types)]
        if known.kernel.checks:
            types.append("*i32")
            sizes.append(1)
        pointers = [i for i, type_ in enumerate(types) if type_.startswith("*")]
        buffers = iter(
            _memory([(stand_in.pointer(parameters, i), _TYPES[types[i][1:]], sizes[i]) for i in pointers])
        )
        arguments = [
            next(buffers) if type_.startswith("*") else stand_in.number(parameters, i, type_)
            for i, type_ in enumerate(types)
        ]
        known.emulator.run(known.kernel.name, arguments, grid)


def _sizes(function: FuncOp | GroupOp | None) -> list[int | None]:
    """Of the buffers of a user's kernel nothing is known."""
    found: list[int | None] = []
    for arg in () if function is None else function.body.block.args:
        text = re.search(r"memref<(\d+)x", str(arg.type))
        found.append(int(text[1]) if text else None)
    return found


def _memory(wanted: Sequence[tuple[int, torch.dtype, int | None]]) -> list[torch.Tensor]:
    """Tensors on memory that a kernel was given; what overlaps has one storage."""
    spans: list[tuple[int, int]] = []
    for address, dtype, size in wanted:
        room = dtype.itemsize * size if size is not None else min(_WINDOW, _mapped(address) - address)
        spans.append((address, address + room // dtype.itemsize * dtype.itemsize))
    storages: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if storages and start < storages[-1][1]:
            storages[-1] = (storages[-1][0], max(end, storages[-1][1]))
        else:
            storages.append((start, end))
    bytes_ = {
        (start, end): torch.frombuffer((ctypes.c_char * (end - start)).from_address(start), dtype=torch.uint8)
        for start, end in storages
        if end > start
    }
    made: list[torch.Tensor] = []
    for (address, dtype, _), (start, end) in zip(wanted, spans, strict=True):
        if end == start:
            made.append(torch.empty(0, dtype=dtype))
            continue
        low, whole = next((low, data) for (low, high), data in bytes_.items() if low <= address < high)
        made.append(whole[start - low : end - low].view(dtype))
    return made


def _mapped(address: int) -> int:
    """Where the mapping that holds an address ends."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        first, _, rest = line.partition("-")
        last = int(rest.split(" ", 1)[0], 16)
        if int(first, 16) <= address < last:
            return last
    raise AssertionError(f"{address:#x} is not mapped")


def compiled(function: Any, *, dynamic: bool | None = None, **options: Any) -> Any:
    """For the GPU; where no option allows it, nothing may run by way of ATen."""
    options = {"target": "gpu_triton", "fallback": False, **options}
    return torch.compile(function, backend="mlir", dynamic=dynamic, options=options)


@contextmanager
def emulated_gpu(
    driver: stand_in.StandIn, monkeypatch: Any, *, torch_is_real: bool = False
) -> Iterator[EmulatedGpu]:
    """Graphs that are compiled inside run on the stand-in, their kernels by emulation of the text."""
    gpu = EmulatedGpu(driver)
    driver.reset()
    driver.work(gpu.run)
    if not torch_is_real:
        monkeypatch.setenv("TILEWRIGHT_GPU_STAND_IN", str(driver.path))
    real = emit.emit_unit

    def emitted(module: ModuleOp) -> TritonUnit:
        return gpu.emitted(module, real(module))

    def in_python(unit: TritonUnit, architecture: str, request: Any) -> Compiled:
        return gpu.compiled(unit)

    build_host = gpu_runtime._build_host  # pyright: ignore[reportPrivateUsage]

    def built(unit: Unit, *args: Any) -> Path:
        gpu.host.append(unit.text)
        return build_host(unit, *args)

    with (
        mock.patch.object(emit, "emit_unit", emitted),
        mock.patch.object(gpu_runtime, "compile_kernels", in_python),
        mock.patch.object(gpu_runtime, "start_workers"),
        mock.patch.object(gpu_runtime, "_build_host", built),
        functorch.patch(enable_autograd_cache=False),  # entries would name kernels of other tests
    ):
        yield gpu
    assert torch_is_real or driver.count("guards") == 0, "a guard was left behind"
    if driver.raised:
        raise driver.raised[0]
