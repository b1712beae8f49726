"""What emission hands on: the text of a module, and what a host must know of each kernel in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright.dialects.index_expr import Expr


@dataclass(frozen=True)
class Parameter:
    """One argument of a kernel, as Triton's signature writes it."""

    name: str
    type: str
    """`*fp64 *fp32 *bf16 *fp16 *i64 *i32 *i16 *i8 *i1` of buffers, `i32` or `i64` of symbols.

    Of users' kernels also `*u8`, and `i1` and `fp32` of numbers."""
    aligned: bool
    """The value is divisible by 16: the host hands over no other pointer."""
    contested: bool = False
    """Programs store different values to one element, of which any may remain (`combine any`)."""
    small: bool = False
    """The buffer has less than 2**31 bytes, whatever the symbols are, and no atomic operation changes it."""


@dataclass(frozen=True)
class GivenText:
    """The text of a kernel that a user wrote."""

    text: str
    """A module with the function and all that it needs."""
    constants: tuple[tuple[str, str], ...]
    """Parameters that are known at compile time, in their order, each with a Python literal."""
    order: tuple[str, ...]
    """All parameters of the function."""


@dataclass(frozen=True)
class TritonKernel:
    """One function of the text. Every size in it is a literal or a symbol: there is no constexpr.

    But for what a user wrote (`given`), which has a text of its own.
    """

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
    given: GivenText | None = None
    function: str = ""
    """What the text calls it, if not `name`."""

    @property
    def entry(self) -> str:
        return self.function or self.name


@dataclass(frozen=True)
class TritonUnit:
    """A module of Triton text and the kernels in it, in the order of the text; then users' kernels."""

    text: str
    kernels: tuple[TritonKernel, ...]
    places: tuple[tuple[str, str], ...] = field(default=())
    """(message, file:line) of each check of the unit; a kernel writes the position here, plus 1."""

    @property
    def listing(self) -> str:
        """The text, and behind it those of users' kernels, for people."""
        given = dict.fromkeys(kernel.given.text for kernel in self.kernels if kernel.given is not None)
        return "\n\n".join([self.text, *given])
