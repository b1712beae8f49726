"""How long the interpreter would need, before it is started."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.index_expr import Var, evaluate_all
from tilewright.dialects.th.calls import LaunchOp
from tilewright.dialects.tk.group import GroupOp, PartOp
from tilewright.dialects.tk.kernels import FuncOp as KernelFunction
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tk.loops import ForOp, TailOp
from tilewright.dialects.types import sizes_of

from .signature import Entry, function_named, kernel_named

_PER_POINT = 8e-9
"""Seconds for one scalar op at one point of a grid, which is executed as one array operation."""
_PER_STEP = 1.5e-5
"""Seconds for one op inside explicit loops, which are executed one by one."""
_LARGEST_GRID = 2e7

_PRODUCTS = (
    *("tw.matmul", "tw.convolution", "tw.packed_matmul", "tw.packed_convolution", "tw.attention"),
    *("tw.attention_backward", "tw.attention_query_grad", "tw.attention_key_grad"),
)

Symbols = Mapping[Var, int]


def seconds(module: ModuleOp, entry: Entry, symbols: Symbols) -> float:
    """A deterministic estimate for one run of `entry`."""
    if entry.level == "kernel":
        kernel = kernel_named(module, entry.name)
        return 0.0 if kernel is None else _kernel(kernel, symbols)
    function = function_named(module, entry.name)
    if function is None:
        return 0.0
    kernels = {f.sym_name.data: f for f in module.ops if isinstance(f, KernelFunction | GroupOp)}
    return sum(_host_op(op, kernels, symbols) for op in function.body.block.ops)


def _host_op(op: Operation, kernels: Mapping[str, KernelFunction | GroupOp], symbols: Symbols) -> float:
    if isinstance(op, LaunchOp | PartOp):
        kernel = kernels.get(op.kernel.string_value())
        if kernel is None:
            return 0.0
        given = [e.evaluate(symbols) for e in op.symbol_values]
        names = [var for e in kernel.symbols.exprs for var in e.variables()]
        own = dict(zip(names, given, strict=True))
        if isinstance(kernel, GroupOp):
            return sum(_host_op(part, kernels, own) for part in kernel.parts)
        return _kernel(kernel, own)
    if isinstance(op, KernelOp):
        return _grid(op, symbols)
    work = sum(_numel(r, symbols) for r in op.results)
    if op.name in _PRODUCTS:
        work *= max(1.0, _numel(op.operands[1], symbols) ** 0.5)
    return work * _PER_POINT


def _numel(value: SSAValue, symbols: Symbols) -> float:
    """0 where a size is negative: the run itself says what becomes of such symbols."""
    if not isinstance(value.type, TensorType):
        return 1.0
    return float(prod(max(0, e.evaluate(symbols)) for e in sizes_of(value)))


def _kernel(kernel: KernelFunction, symbols: Symbols) -> float:
    if kernel.scheduled is None:
        return _grid(kernel, symbols)
    return _steps(kernel.body.block, dict(symbols)) * _PER_STEP


def _grid(kernel: KernelFunction | KernelOp, symbols: Symbols) -> float:
    points = prod(evaluate_all(kernel.space, symbols))
    if points > _LARGEST_GRID:
        return float("inf")
    return points * len(kernel.body.block.ops) * _PER_POINT


def _steps(block: Block, places: dict[Var, int]) -> float:
    """Ops executed; a loop counts by its first iteration, in which inner bounds are largest."""
    total = 0.0
    for op in block.ops:
        if isinstance(op, ForOp):
            lower, upper = (e.evaluate(places) for e in op.bounds)
            trips = max(0, -((lower - upper) // op.step.value.data))
            if trips:
                total += trips * _steps(op.body.block, {**places, Var("d", op.axis.value.data): lower})
        elif isinstance(op, TailOp):
            start = op.start.exprs[0].evaluate(places)
            total += _steps(op.body.block, {**places, Var("d", op.axis.value.data): start})
        else:
            total += 1
    return total
