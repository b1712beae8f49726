"""A user's Triton kernel, executed from its text on CPU tensors: what `tw.triton` means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import Var, evaluate_all
from tilewright.dialects.th.calls import TritonLaunchOp
from tilewright.dialects.th.types import element_of_handle
from tilewright.dialects.tw.aten import ArgAttr, SizeAttr
from tilewright.dialects.tw.triton import TritonOp
from tilewright.dialects.types import element_type_of
from tilewright.targets.gpu_triton.emulate import Emulator
from tilewright.targets.gpu_triton.given import handed_over, kernel_of
from tilewright.targets.gpu_triton.kernel import TritonUnit

from ..fx.dtypes import DTYPES
from .updating_function import begun, laid

Env = Mapping[Var, int]


class GivenFunction:
    """`fn(operands, env) -> tensors`: the results of a `tw.triton`, or the new contents of what a
    `th.triton` writes. The emulator checks every access against the operands' bounds."""

    def __init__(self, op: TritonOp | TritonLaunchOp) -> None:
        self.op = op
        if isinstance(op, TritonOp):
            self.elements = [element_type_of(value) for value in (*op.inputs, *op.outputs)]
        else:
            self.elements = [element_of_handle(value.type) for value in op.operands]
        aligned = [False] * len(self.elements)  # a CPU tensor may lie anywhere
        self.kernel = kernel_of(op.kernel, op.args.data, self.elements, aligned)
        self.emulator = Emulator(TritonUnit("", (self.kernel,)))

    def __call__(self, operands: Sequence[Any], env: Env | None = None) -> tuple[torch.Tensor, ...]:
        op, env = self.op, env or {}
        given = [self._as(value, i) for i, value in enumerate(operands)]
        if isinstance(op, TritonOp):
            given = laid(op, given, env)
            results = [self._result(op, i, given, env) for i in range(len(op.outputs))]
            buffers = [*given, *results]
        else:
            results = [_cloned(t) for t in given[len(op.ins) :]]
            buffers = [*given[: len(op.ins)], *results]
        x, y, z = evaluate_all(op.grid_sizes, env)
        handed = [_value(arg, buffers, env) for arg in handed_over(op.args.data)]
        if x * y * z:
            self.emulator.run(self.kernel.name, handed, (x, y, z))
        return tuple(results)

    def _as(self, value: Any, number: int) -> Any:
        """An operand in its own type: checks compute in float64."""
        dtype = DTYPES[self.elements[number]]
        return value if value.dtype == dtype else value.to(dtype)

    def _result(self, op: TritonOp, number: int, given: Sequence[torch.Tensor], env: Env) -> torch.Tensor:
        init, dtype = ints(op.inits)[number], DTYPES[self.elements[len(op.inputs) + number]]
        result = begun(op, number, dtype, env)
        if init >= 0:
            return result.copy_(given[init])
        unwritten = float("nan") if dtype.is_floating_point else True if dtype == torch.bool else 0x7F
        return result.fill_(unwritten)


def _cloned(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype).copy_(tensor)


def _value(arg: Attribute, buffers: Sequence[torch.Tensor], env: Env) -> Any:
    match arg:
        case ArgAttr():
            return _flat(buffers[arg.index.data])
        case SizeAttr():
            return arg.expr().evaluate(env)
        case IntegerAttr() | FloatAttr():
            return arg.value.data
        case _:
            raise AssertionError(f"{arg} is no argument of a launch")


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    """The memory from the first element of a tensor to its last one."""
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    count = 0 if 0 in tensor.shape else 1 + sum((n - 1) * step for n, step in steps)
    return tensor.as_strided((count,), (1,), tensor.storage_offset())
