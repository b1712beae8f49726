"""Modules compiled for GPUs, whose kernels have to use matrix units and to keep all in registers."""

from __future__ import annotations

from pathlib import Path

from xdsl.parser import Parser

from tilewright.dialects.registry import new_context
from tilewright.passes.manager import parse_pipeline, run_pipeline, with_facts
from tilewright.passes.pipeline import pipeline_text
from tilewright.targets.gpu_triton.architectures import architecture
from tilewright.targets.gpu_triton.compiler import compile_kernel
from tilewright.targets.gpu_triton.emit import emit_unit

UNITS = {"sm_80": "mma.sync", "sm_90": "wgmma", "sm_100": "tcgen05.mma", "gfx942": "v_mfma"}
"""The instruction of each target for products of halves."""


def check_kernels(
    text: str, target: str, folder: Path, count: int, *, named: str = "", spills: int = 0, units: bool = True
) -> None:
    """The `count` kernels of a module in `tw`, of which `named` is a part of the name, fit `target`."""
    context = new_context()
    module = Parser(context, text).parse_module()
    passes = parse_pipeline(pipeline_text("gpu"))
    run_pipeline(context, module, with_facts(passes, architecture(target).facts))
    unit = emit_unit(module)
    kernels = [kernel for kernel in unit.kernels if named in kernel.name]
    assert len(kernels) == count
    for kernel in kernels:
        binary = compile_kernel(unit.text, kernel, target, cache_dir=folder)
        assert not units or UNITS[target] in binary.assembly
        assert binary.spills <= spills
        assert binary.shared <= architecture(target).shared_per_block
