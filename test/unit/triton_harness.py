"""Runs the Triton text of a `tk.func` on CPU tensors, against the function before it was scheduled."""

from __future__ import annotations

import numpy as np
import torch
from tk_harness import Case, buffers_of, parse, run, scheduled
from xdsl.dialects.builtin import MemRefType, bf16, f16

from tilewright.dialects.index_expr import Var
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import element_type
from tilewright.targets.gpu_triton.emit import emit_unit
from tilewright.targets.gpu_triton.emulate import Emulator
from tilewright.targets.gpu_triton.kernel import TritonUnit

GPU = "coalesce-axes,flatten-axes,schedule-gpu,apply-schedule"
_HALVES = {bf16: torch.bfloat16, f16: torch.float16}


def check_text(case: Case, pipeline: str = GPU, seed: int = 0) -> TritonUnit:
    """Assert that the text computes what the function says; gives the text."""
    buffers = buffers_of(case, np.random.default_rng(seed))
    module = parse(case.text)
    expected = run(module, buffers, case.symbols)
    (func,) = [op for op in module.ops if isinstance(op, FuncOp)]
    unit = emit_unit(scheduled(case.text, pipeline))
    tensors: list[torch.Tensor] = []
    for arg, buffer in zip(func.body.block.args, buffers, strict=True):
        assert isinstance(arg.type, MemRefType)
        tensor = torch.from_numpy(buffer.copy())
        half = _HALVES.get(element_type(arg.type))
        tensors.append(tensor if half is None else tensor.to(half))
    symbols = {Var("s", int(name[1:])): value for name, value in case.symbols.items()}
    listed = [symbols[var] for symbol in func.symbols.exprs for var in symbol.variables()]
    (kernel,) = unit.kernels
    Emulator(unit).launch(kernel.name, [*tensors, *listed], symbols)
    for wanted, tensor in zip(expected, tensors, strict=True):
        found = tensor.float().numpy() if tensor.dtype in _HALVES.values() else tensor.numpy()
        np.testing.assert_allclose(found, wanted, rtol=case.tolerance, atol=case.tolerance)
    return unit
