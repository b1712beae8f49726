"""Lowerings of ops that other packages define: to a scalar body, or to a kernel of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.plugins import Table
from tilewright.dialects.tk.kernels import KernelOp

from ..kernels.scalar_builder import ScalarBuilder

ScalarRule = Callable[[ScalarBuilder, Any, Sequence[SSAValue]], SSAValue]
KernelRule = Callable[[Any], KernelOp]
ScalarT = TypeVar("ScalarT", bound=ScalarRule)
KernelT = TypeVar("KernelT", bound=KernelRule)


def _accept(name: str, item: object) -> Callable[..., Any]:
    if not callable(item):
        raise TypeError(f"it is a {type(item).__name__}, not a function")
    return item


_SCALARS: Table[ScalarRule] = Table("scalar rule", "tilewright.scalar_rules", {}, _accept)
_KERNELS: Table[KernelRule] = Table("lowering", "tilewright.lowerings", {}, _accept)


def register_scalar_rule(op: type[Operation]) -> Callable[[ScalarT], ScalarT]:
    """Say what an op with the trait `Elementwise` computes per element, in `arith` and `math` ops.

    The function gets a builder, the op, and its operands in their compute type (halves as f32, narrow
    integers as i32); it returns the result in the result's compute type.

    >>> @register_scalar_rule(SquaredReluOp)
    ... def squared_relu(b: ScalarBuilder, op: SquaredReluOp, args: Sequence[SSAValue]) -> SSAValue:
    ...     kept = b.op(arith.MaximumfOp, args[0], b.constant(0.0, args[0].type))
    ...     return b.op(arith.MulfOp, kept, kept)
    """

    def register(function: ScalarT) -> ScalarT:
        _SCALARS.add(op.name, function)
        return function

    return register


def register_lowering(op: type[Operation]) -> Callable[[KernelT], KernelT]:
    """Say which kernel computes an op: a function from the op to a `tk.kernel` with the same results.

    `passes.kernels.kernel_builder.KernelBuilder` writes kernels; passes/lowering/lowerings.py has examples.
    """

    def register(function: KernelT) -> KernelT:
        _KERNELS.add(op.name, function)
        return function

    return register


def foreign_scalar_rule(name: str) -> ScalarRule | None:
    """The scalar rule of an op that this project does not define."""
    return _SCALARS.find(name)


def foreign_lowering(name: str) -> KernelRule | None:
    """The kernel of an op that this project does not define."""
    return _KERNELS.find(name)
