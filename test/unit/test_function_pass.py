"""Classes made of functions are passes as one would write them by hand; other functions are refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser
from xdsl.passes import ModulePass

from tilewright.dialects.diagnostics import BadPassFunction
from tilewright.dialects.registry import new_context
from tilewright.dialects.tw.elementwise import ExpOp, NegOp
from tilewright.passes.function_pass import has_default, module_pass, pattern_pass

if TYPE_CHECKING:
    from tilewright.passes.driver import Rewrite

TEXT = """func.func @main(%x: tensor<0x?xf32>) -> tensor<0x?xf32> {
  %0 = tw.neg %x : tensor<0x?xf32>
  %1 = tw.abs %0 : tensor<0x?xf32>
  %2 = tw.exp %1 : tensor<0x?xf32>
  func.return %2 : tensor<0x?xf32>
}"""
SEEN: list[Any] = []


def look_twice(ctx: Context, module: ModuleOp, *, label: str | None = None, most: int = 3) -> None:
    """Look, and look again."""
    SEEN.append((ctx, module, label, most))


LOOK: Any = module_pass("look-twice", look_twice)


def test_a_module_pass_is_a_class_as_by_hand() -> None:
    assert (LOOK.name, LOOK.__name__, LOOK.__doc__) == ("look-twice", "LookTwicePass", look_twice.__doc__)
    assert (LOOK.__module__, LOOK.__qualname__) == (look_twice.__module__, look_twice.__qualname__)
    options = [(f.name, f.type, f.default) for f in fields(LOOK)]
    assert options == [("label", str | None, None), ("most", int, 3)]
    assert LOOK(most=4) == LOOK(None, 4) != LOOK()
    assert len({LOOK(), LOOK(most=3), LOOK(label="")}) == 2


def test_each_pass_calls_with_its_own_options() -> None:
    ctx, module = Context(), ModuleOp([])
    SEEN.clear()
    for one in (LOOK(), LOOK("a"), LOOK(most=0)):
        one.apply(ctx, module)
    assert SEEN == [(ctx, module, None, 3), (ctx, module, "a", 3), (ctx, module, None, 0)]


def test_a_pattern_pass_calls_on_ops_of_its_classes() -> None:
    called: list[str] = []

    # The type of `rewrite` is not there at run time: without options no type need be.
    def drop(op: Operation, rewrite: Rewrite) -> SSAValue | None:
        called.append(op.name)
        return op.operands[0] if isinstance(op, NegOp) else None

    module = Parser(new_context(), TEXT).parse_module()
    pattern_pass("drop", (NegOp, ExpOp), drop)().apply(new_context(), module)
    assert [op.name for op in module.walk() if op.name.startswith("tw.")] == ["tw.abs", "tw.exp"]
    assert set(called) == {"tw.neg", "tw.exp"}


def _turned(module: ModuleOp, ctx: Context, most: int = 3) -> None: ...
def _rest(ctx: Context, module: ModuleOp, **rest: int) -> None: ...
def _no_default(ctx: Context, module: ModuleOp, *, fine: int = 1, most: int) -> None: ...
def _name(ctx: Context, module: ModuleOp, *, name: str = "x") -> None: ...
def _apply(ctx: Context, module: ModuleOp, *, apply: bool = True) -> None: ...
def _list(ctx: Context, module: ModuleOp, *, axes: list[int] = []) -> None: ...  # noqa: B006


REFUSED = {
    _turned: r"its signature is \(module: .*most",
    _rest: "its signature is",
    _no_default: "option `most` needs a type and a default",
    _name: "option `name` needs another name",
    _apply: "option `apply` needs another name",
    _list: "option `axes` needs a default that cannot change",
}


@pytest.mark.parametrize(("function", "why"), REFUSED.items())
def test_what_cannot_be_a_pass(function: Callable[..., Any], why: str) -> None:
    said = rf"{function.__name__}` cannot(.|\n)*`bad`(.|\n)*{why}"
    with pytest.raises(BadPassFunction, match=said):
        module_pass("bad", function)
    with pytest.raises(BadPassFunction, match=said):
        pattern_pass("bad", (NegOp,), function)


@dataclass(frozen=True)
class _ByHandPass(ModulePass):
    name = "by-hand"

    sizes: tuple[int, ...] = field(default_factory=lambda: tuple(range(2)))
    most: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


def test_defaults_are_known_by_their_values() -> None:
    passes = _ByHandPass((0, 1)), _ByHandPass(()), _ByHandPass(most=0)
    assert [has_default(one, "sizes") for one in passes] == [True, False, True]
    assert [has_default(one, "most") for one in passes] == [True, True, False]
    assert [has_default(LOOK("a"), option) for option in ("most", "label")] == [True, False]
