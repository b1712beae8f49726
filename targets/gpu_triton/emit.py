"""A module of scheduled kernels as one module of Triton text."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.tk.kernels import FuncOp, KernelOp

from .emit_kernel import emit_kernel
from .errors import NoTritonLowering
from .helpers import definitions
from .kernel import TritonUnit

_IMPORTS = """import triton
import triton.language as tl
from triton.language.extra import libdevice"""


def emit_triton(module: ModuleOp) -> str:
    """The Triton source of `module`; raises NoTritonLowering where kernels are not functions yet."""
    for op in module.walk():
        if isinstance(op, KernelOp) or op.name.startswith("tw."):
            raise NoTritonLowering(
                op, reason="only `tk.func`s become Triton kernels, and this is outside of them"
            )
    return emit_unit(module).text


def emit_unit(module: ModuleOp) -> TritonUnit:
    """The Triton source, and what a host must know of the kernels in it."""
    places: dict[tuple[str, str], int] = {}
    emitted = [emit_kernel(op, places) for op in module.ops if isinstance(op, FuncOp)]
    helpers = definitions(name for kernel in emitted for name in kernel.helpers)
    parts = [_IMPORTS, *helpers, *(kernel.text for kernel in emitted)]
    return TritonUnit(
        text="\n\n\n".join(parts) + "\n",
        kernels=tuple(kernel.kernel for kernel in emitted),
        places=tuple(places),
    )
