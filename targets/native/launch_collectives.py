"""Collective operators return before their results are there, which kernels that read these do not know.

So each is waited for where it is called; on a GPU the stream waits, the host does not. What the program says
of waiting (`_c10d_functional::wait_tensor`) is then no operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

_NAMESPACES = ("_c10d_functional", "symm_mem")


def is_collective(operator: Any) -> bool:
    """Whether processes call it together, in one order, and wait for what it returns."""
    return operator.namespace in _NAMESPACES


def waiting(operator: Any) -> Callable[..., Any]:
    """`operator`; a collective one such that what it returns is there."""
    if not is_collective(operator):
        return operator
    wait = torch.ops._c10d_functional.wait_tensor.default

    def call(*args: Any, **kwargs: Any) -> Any:
        return tree_map_only(torch.Tensor, wait, operator(*args, **kwargs))

    return call
