"""A module of scheduled kernels as one module of Triton text."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.ir_access import kinds_within
from tilewright.dialects.th.calls import LaunchOp
from tilewright.dialects.tk.group import GroupOp
from tilewright.dialects.tk.kernels import FuncOp, KernelOp

from ..native.text import name_of_argument
from .emit_group import emit_group
from .emit_kernel import emit_kernel
from .errors import NoTritonLowering
from .given import given_kernels
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
    return emit_unit(module).listing


def _names_of_arguments(module: ModuleOp) -> dict[str, str]:
    """`a0: x, a2: encoder.norm.weight`: what the first launch of each kernel reads of the graph's inputs."""
    found: dict[str, str] = {}
    for op in module.walk():
        if isinstance(op, LaunchOp) and op.kernel.string_value() not in found:
            names = ((i, name_of_argument(value)) for i, value in enumerate(op.ins))
            found[op.kernel.string_value()] = ", ".join(f"a{i}: {name}" for i, name in names if name)
    return found


def emit_unit(module: ModuleOp) -> TritonUnit:
    """The Triton source, and what a host must know of the kernels in it."""
    places: dict[tuple[str, str], int] = {}
    groups = [op for op in module.ops if isinstance(op, GroupOp)]
    called = {part.kernel.string_value() for group in groups for part in group.parts}
    launched = {op.kernel.string_value() for op in kinds_within(module, LaunchOp)}
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    own = [op for name, op in functions.items() if name in launched or name not in called]
    inner = {name: emit_kernel(op, places, part=True) for name, op in functions.items() if name in called}
    reads = _names_of_arguments(module)
    emitted = [emit_kernel(op, places, reads=reads.get(op.sym_name.data, "")) for op in own]
    emitted += [emit_group(group, inner) for group in groups]
    helpers = definitions(name for kernel in (*inner.values(), *emitted) for name in kernel.helpers)
    parts = [
        _IMPORTS,
        *helpers,
        *(part.text for part in inner.values()),
        *(kernel.text for kernel in emitted),
    ]
    kernels = [kernel.kernel for kernel in emitted]
    given = given_kernels(module, [kernel.name for kernel in kernels])
    return TritonUnit(
        text="\n\n\n".join(parts) + "\n",
        kernels=(*kernels, *dict.fromkeys(given.values())),
        places=tuple(places),
    )
