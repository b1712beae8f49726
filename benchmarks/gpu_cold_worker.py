"""One cold compile of `benchmarks.gpu_cold`, in a process of its own: prints JSON.

TILEWRIGHT_GPU_STAND_IN=libcuda_stand_in.so python -m benchmarks.gpu_cold_worker bert bf16 bench training mlir
"""

# ruff: noqa: I001 (fake_models goes before torch)
from __future__ import annotations

from benchmarks.fake_models import FakeCase, stop

import json
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
import torch._inductor.compile_fx
from torch import nn
from torch._inductor import config
from torch._inductor.graph import GraphLowering

from benchmarks.timing import tree_cpu_seconds
from tilewright.frontend.runtime.gpu_runtime import GpuCode

_KERNELS: list[int] = []
"""Kernels of each graph."""


def ours() -> Callable[[nn.Module], Any]:
    """All of our backend, with its defaults; a loaded graph is not called."""
    load = GpuCode.load

    def loaded(self: GpuCode, *args: Any) -> Any:
        load(self, *args)
        _KERNELS.append(len(self.kernels))
        return stop

    GpuCode.load = loaded  # type: ignore[method-assign]
    options = {"target": "gpu_triton"}
    return lambda model: torch.compile(model, backend="mlir", options=options)


def inductor() -> Callable[[nn.Module], Any]:
    """Inductor with its defaults, without what it times on a device: padding of products, configurations."""
    compile_ = GraphLowering.compile_to_module

    def compiled(self: GraphLowering) -> Any:
        module = compile_(self)
        _KERNELS.append(len([name for name in vars(module) if name.startswith("triton_")]))
        return SimpleNamespace(__file__=module.__file__, call=stop)

    GraphLowering.compile_to_module = compiled  # type: ignore[method-assign]
    config.shape_padding = False
    config.worker_start_method = "fork"  # its processes must believe in the GPU, too
    config.use_static_triton_launcher = False  # part of torch's CUDA build only
    return lambda model: torch.compile(model, backend="inductor")


def main() -> None:
    name, dtype, scale, kind, backend = sys.argv[1:]
    compiler = {"mlir": ours, "inductor": inductor}[backend]()
    case = FakeCase.load(name, dtype, scale, kind)
    used, own, began = tree_cpu_seconds(), time.process_time(), time.perf_counter()
    case.first_call(compiler)
    seconds, own, cpu = time.perf_counter() - began, time.process_time() - own, tree_cpu_seconds() - used
    print(json.dumps({"seconds": seconds, "cpu": cpu, "own": own, "kernels": sum(_KERNELS)}))


if __name__ == "__main__":
    main()
