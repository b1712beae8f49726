"""What importing one FX graph yields: the module, and how its values meet the caller's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from tilewright.dialects.index_expr import Expr, Var


@dataclass(frozen=True)
class Argument:
    """Argument `index` of the call; `dtype` where it travels in a carrier, `device` where it is copied."""

    index: int
    dtype: torch.dtype | None = None
    device: torch.device | None = None


@dataclass(frozen=True)
class Part:
    """What argument `index` of the call, an integer, has above zero (`sign` 1) or below (-1, turned)."""

    index: int
    sign: int


@dataclass(frozen=True)
class SizeOf:
    """A size of a tensor argument that no argument of the call holds by itself."""

    index: int
    dim: int


@dataclass(frozen=True)
class Constant:
    """A tensor that belongs to the graph."""

    tensor: torch.Tensor


Input = Argument | Part | SizeOf | Constant


@dataclass(frozen=True)
class Result:
    """Result `index` of @main; `expand` brings back dimensions that only repeat elements.

    `dtype` where it travels in a carrier, `device` where it is copied.
    """

    index: int
    dtype: torch.dtype | None = None
    expand: tuple[Expr, ...] | None = None
    device: torch.device | None = None


@dataclass(frozen=True)
class Passed:
    """An argument of the call, given back as it is."""

    index: int


@dataclass(frozen=True)
class Size:
    """An integer over the symbols."""

    value: Expr


@dataclass(frozen=True)
class Multiple:
    """Argument `index` of the call, the length of a ragged dimension, times an integer over the symbols."""

    index: int
    factor: Expr


@dataclass(frozen=True)
class Literal:
    """A Python value known at compile time (None, a number)."""

    value: object


@dataclass(frozen=True)
class Alias:
    """A view of an argument or, where `of_output`, of an output: nothing is computed for it.

    Where `of_result` it is one of a result of @main that is no output. `offset` counts from where that
    begins.

    AOTAutograd makes it anew of that tensor, looking at sizes, strides and offset only, unless it reads the
    output as another dtype (`read_as`).
    """

    index: int
    of_output: bool
    sizes: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    offset: Expr
    read_as: torch.dtype | None = None
    of_result: bool = False


Output = Result | Passed | Size | Multiple | Literal | Alias


@dataclass(frozen=True)
class Fallback:
    """One operation that runs through ATen, and why."""

    code: str
    op: str
    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.code}: {self.op} at {self.place} runs through ATen: {self.reason}"


@dataclass(frozen=True)
class Boundary:
    """How a graph meets its caller: all that is left of it once it is compiled."""

    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    symbols: tuple[tuple[Var, int], ...]
    fallbacks: tuple[Fallback, ...]
    has_work: bool


@dataclass(frozen=True)
class Graph:
    """An imported graph: arguments of @main come from `inputs`, the caller's results from `outputs`."""

    module: ModuleOp
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    symbols: tuple[tuple[Var, int], ...]
    """Where the value of each symbol is found: (symbol, argument number of @main)."""
    fallbacks: tuple[Fallback, ...] = ()
    output_strides: tuple[tuple[int | torch.SymInt, ...] | None, ...] = field(default=())
    """Strides of the caller's results, for AOTAutograd's backward graph."""
    traced_sizes: Mapping[Var, int] = field(default_factory=dict[Var, int])
    """What symbols were when the graph was traced, but for those that depend on data."""
    device: torch.device = torch.device("cpu")  # noqa: RUF009 (immutable)
    """Where it computes."""
    in_python: str = ""
    """A call that only this process can make: Python functions are bound to it (python_call.py)."""

    @property
    def has_work(self) -> bool:
        """False where @main computes and writes nothing."""
        return len(self.main.body.block.ops) > 1 or any(isinstance(out, Result) for out in self.outputs)

    @property
    def boundary(self) -> Boundary:
        return Boundary(self.inputs, self.outputs, self.symbols, self.fallbacks, self.has_work)

    @property
    def main(self) -> FuncOp:
        main = self.module.body.block.first_op
        assert isinstance(main, FuncOp)
        return main
