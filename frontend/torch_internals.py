"""The parts of torch that have no public name or no types, in one place."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeGuard

import torch
from torch._guards import TracingContext
from torch._ops import OpOverload
from torch.utils import _python_dispatch as dispatch

Operator: TypeAlias = "OpOverload[..., Any]"
NONDETERMINISTIC = torch.Tag.nondeterministic_seeded


def is_operator(target: object) -> TypeGuard[Operator]:
    """True for one overload of an operator, `aten.add.Tensor`."""
    return isinstance(target, OpOverload)


def schema_of(op: Operator) -> Any:
    """The FunctionSchema of an operator."""
    return op._schema  # pyright: ignore[reportPrivateUsage]


def find_operator(callee: str) -> Operator | None:
    """The operator that `aten::name.overload` names."""
    namespace, _, rest = callee.partition("::")
    name, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, namespace), name, None)
    return getattr(packet, overload or "default", None)


def size_expression(value: torch.SymInt) -> Any:
    """The sympy expression of a symbolic size."""
    return value.node.expr  # pyright: ignore


def shape_environment(value: torch.SymInt) -> Any:
    """Where the guards of a symbolic size are kept."""
    return value.node.shape_env  # pyright: ignore


def real_tensors() -> Any:
    """A context in which tensors are real although a compile is going on."""
    return dispatch._disable_current_modes()  # pyright: ignore


def tracing_context() -> Any:
    """What AOTAutograd knows about the graph it is compiling, None outside of a compile."""
    return TracingContext.try_get()
