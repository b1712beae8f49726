"""Units of Triton text for tests: kernels by hand, and what the pipeline emits."""

from __future__ import annotations

import re

from tilewright.dialects.index_expr import as_expr
from tilewright.targets.gpu_triton.kernel import Parameter, TritonKernel, TritonUnit

HEAD = "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n\n\n"


def kernel(text: str, name: str, types: str, *, warps: int = 4, aligned: bool = True) -> TritonKernel:
    """The kernel `name` of `text`, whose parameters have these types."""
    found = re.search(rf"def {name}\((.*?)\):", text)
    assert found is not None, name
    names = [part.strip() for part in found.group(1).split(",")]
    parameters = tuple(
        Parameter(parameter, type_, aligned and type_.startswith("*"))
        for parameter, type_ in zip(names, types.split(), strict=True)
    )
    return TritonKernel(name, parameters, (as_expr(1),) * 3, warps, 3, checks=False)


def unit(body: str, **types: str) -> TritonUnit:
    """A unit of kernels: `unit("@triton.jit...", k="*fp32 i32")`."""
    text = HEAD + body
    return TritonUnit(text, tuple(kernel(text, name, signature) for name, signature in types.items()))
