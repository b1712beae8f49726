"""Builds one-op modules and runs them in the reference interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
import torch
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.dialects.dominance import verify_dominance
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.types import ELEMENT_TYPES, tensor_type
from tilewright.targets.native.launch_calls import DTYPES as TORCH_DTYPES

NAMES = {dtype: name for name, dtype in TORCH_DTYPES.items()}
FLOATS = ("f64", "f32", "bf16", "f16")
INTEGERS = ("i64", "i32", "i16", "i8", "ui8")
Build = Callable[[Sequence[SSAValue]], Operation]


def module_of(inputs: Sequence[torch.Tensor], build: Build) -> ModuleOp:
    """`@main` that applies the op that `build` makes to its arguments."""
    types = [tensor_type(ELEMENT_TYPES[NAMES[t.dtype]], tuple(t.shape)) for t in inputs]
    block = Block(arg_types=types)
    op = build(block.args)
    for operand in op.operands:  # ops that `build` made on the way
        if isinstance(owner := operand.owner, Operation) and owner.parent is None:
            block.add_op(owner)
    block.add_op(op)
    block.add_op(ReturnOp(*op.results))
    results = [r.type for r in op.results]
    module = ModuleOp([FuncOp("main", (types, results), Region(block))])
    module.verify()
    verify_dominance(module)
    return module


def to_numpy(value: torch.Tensor) -> Any:
    return value.float().numpy() if value.dtype == torch.bfloat16 else value.numpy()


def run_both(inputs: Sequence[torch.Tensor], build: Build, **options: Any) -> list[list[torch.Tensor]]:
    """The results under torch and under NumPy, as torch tensors of the op's result dtypes."""
    module = module_of(inputs, build)
    by_torch = interpret(module, inputs, torch, **options)
    by_numpy = interpret(module, [to_numpy(t) for t in inputs], numpy, **options)
    converted = [torch.as_tensor(numpy.array(b)).to(a.dtype) for a, b in zip(by_torch, by_numpy, strict=True)]
    return [by_torch, converted]


def check(
    inputs: Sequence[torch.Tensor],
    build: Build,
    *expected: torch.Tensor,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Both namespaces agree with `expected`, dtype and shape included."""
    for results in run_both(inputs, build):
        for actual, wanted in zip(results, expected, strict=True):
            torch.testing.assert_close(actual, wanted, rtol=rtol, atol=atol, equal_nan=True)
