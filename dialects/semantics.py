"""Reference semantics: what each op computes, as a function over arrays.

One truth for the interpreter, for constant folding and for semantic checks. A function is
registered for its op class and gets the op, the operands' arrays and a `Machine`:

    @semantics(NegOp)
    def run_neg(op: NegOp, args: Args, machine: Machine) -> Results:
        return (-args[0],)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from xdsl.ir import Operation

from .arrays import Array, Arrays
from .diagnostics import TilewrightError
from .index_expr import Expr, Var, evaluate_all

FUNCTIONS = "functions"
"""In `Machine.state`: the functions of the module by name."""
Args = Sequence[Any]
Results = Sequence[Any]


class NoSemantics(TilewrightError):
    """An op that nobody gave a meaning to."""

    code = "TW3110"
    what = "cannot execute `{op}`"
    why = "no reference semantics are registered for it"
    fix = "register a function with @semantics beside the op's family"


class NoCallback(TilewrightError):
    """An op that needs something from outside, which the caller did not pass."""

    code = "TW3111"
    what = "cannot execute `{op}`"
    why = "it needs the `{name}` callback, and the caller passed none"
    fix = "pass `{name}=` to interpret(...)"


@dataclass
class Machine:
    """Everything that executing an op may need besides its operands."""

    arrays: Arrays
    symbols: dict[Var, int] = field(default_factory=dict[Var, int])
    aten: Callable[[Operation, Sequence[Array]], Sequence[Array]] | None = None
    draw_seed: Callable[[], int] | None = None
    observe: Callable[[Operation, Sequence[Any]], None] | None = None
    """Told of each op of a function and its results, or its operands where it has none."""
    state: dict[str, Any] = field(default_factory=dict[str, Any])
    """Whatever other dialects keep between ops."""

    @property
    def xp(self) -> Any:
        return self.arrays.xp

    def quiet(self) -> AbstractContextManager[object]:
        """NumPy's warnings of NaN, overflow and division by zero off; torch has none."""
        return self.xp.errstate(all="ignore") if self.arrays.is_numpy else nullcontext()

    def sizes(self, exprs: Sequence[Expr]) -> list[int]:
        return evaluate_all(exprs, self.symbols)


Semantics = Callable[[Any, Args, Machine], Results]
_REGISTRY: dict[type[Operation], Semantics] = {}
_TW_FAMILIES = (
    *("elementwise", "creation", "view", "reduction", "indexing"),
    *("linalg", "attention", "packing", "bits", "float8", "aten", "control_flow"),
)
_MODULES: dict[str, tuple[str, ...]] = {
    "tw": tuple(f"tilewright.dialects.tw.semantics_{family}" for family in _TW_FAMILIES),
    "tk": ("tilewright.dialects.tk.semantics",),
    "th": ("tilewright.dialects.th.semantics", "tilewright.dialects.th.semantics_control_flow"),
}
"""Dialect -> the modules that register its semantics, imported when first needed."""


def semantics(*ops: type[Operation]) -> Callable[[Semantics], Semantics]:
    """Register the decorated function as the meaning of `ops`."""

    def register(function: Semantics) -> Semantics:
        for op in ops:
            _REGISTRY[op] = function
        return function

    return register


def semantics_of(op: Operation) -> Semantics:
    """The meaning of `op`; raises NoSemantics."""
    found = _REGISTRY.get(type(op))
    if found is None:
        for module in _MODULES.get(op.dialect_name(), ()):
            import_module(module)
        found = _REGISTRY.get(type(op))
    if found is None:
        raise NoSemantics(op)
    return found


def registered() -> Mapping[type[Operation], Semantics]:
    return _REGISTRY
