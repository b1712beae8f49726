"""What emission hands on: the text of a module, and what a host must know of each kernel in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright.dialects.index_expr import Expr


@dataclass(frozen=True)
class Parameter:
    """One argument of a kernel, as Triton's signature writes it."""

    name: str
    type: str
    """`*fp64 *fp32 *bf16 *fp16 *i64 *i32 *i16 *i8 *i1` of buffers, `i32` or `i64` of symbols."""
    aligned: bool
    """The value is divisible by 16: the host hands over no other pointer."""
    contested: bool = False
    """Programs store different values to one element, of which any may remain (`combine any`)."""
    small: bool = False
    """The buffer has less than 2**31 bytes, whatever the symbols are, and no atomic operation changes it."""


@dataclass(frozen=True)
class TritonKernel:
    """One function of the text. Every size in it is a literal or a symbol: there is no constexpr."""

    name: str
    parameters: tuple[Parameter, ...]
    """The buffers in the order of the `tk.func`'s arguments, then its symbols."""
    grid: tuple[Expr, Expr, Expr]
    """Programs along x, y, z, over the symbols; nothing is launched where one is 0."""
    warps: int
    stages: int
    checks: bool
    """An `*i32` parameter follows, named `failure`, which starts as 0: a failed `tk.assert` writes its
    number there (see `TritonUnit.places`)."""


@dataclass(frozen=True)
class TritonUnit:
    """A module of Triton text and the kernels in it, in the order of the text."""

    text: str
    kernels: tuple[TritonKernel, ...]
    places: tuple[tuple[str, str], ...] = field(default=())
    """(message, file:line) of each check of the unit; a kernel writes the position here, plus 1."""
