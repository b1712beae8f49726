"""Compiling functions with users' Triton kernels on a machine without a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

triton = pytest.importorskip("triton")

EMULATED = {"target": "gpu_emulated"}


class Driver:
    """Of a GPU that does not exist: Dynamo compiles a kernel's front end to see what it writes."""

    @staticmethod
    def get_current_target() -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)


@pytest.fixture(autouse=True)
def seen_by_dynamo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dynamo knows Triton's kernels on machines with a GPU only."""
    monkeypatch.setattr("torch.utils._triton.has_triton", lambda: True)
    torch._dynamo.reset()
    monkeypatch.setattr(triton.runtime.driver, "_active", Driver())


def run(function: Callable[..., Any], *args: Any, dynamic: bool | None = None, **options: Any) -> Any:
    """Compiled, with every operation by a kernel."""
    options = {**EMULATED, "fallback": False, **options}
    return torch.compile(function, backend="mlir", dynamic=dynamic, options=options)(*args)


def reason(function: Callable[..., Any], *args: Any) -> str:
    """Why a kernel is left to Triton in Python."""
    with pytest.raises(Exception, match="TW1008") as caught:
        run(function, *args)
    return str(caught.value)
