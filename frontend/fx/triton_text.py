"""The text of a user's Triton kernel: the function, the functions that it calls, the constants that it reads.

    SCALE = tl.constexpr(2.0)          import triton
                                       from triton import language as tl
    @triton.jit                 ->
    def add(x, y, out, n, B: ...):     SCALE = tl.constexpr(2.0)
        ...                            ...

A text says all that determines the machine code, in any process. What no text can say (a global that is
neither a constant, a kernel nor a part of Triton) is why a kernel is left to Triton in Python.
"""

from __future__ import annotations

import ast
import builtins
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any, cast

from ..errors import Unsupported

_CONSTANTS = (bool, int, float, str)


def triton_module(name: str) -> Any:
    """A module of triton, an optional package without types, which whoever launches a kernel has imported."""
    return import_module(name)


def text_of(function: Any) -> str:
    """The module text with a `triton.JITFunction` in it; raises Unsupported."""
    text = _Text()
    text.meet("triton", triton_module("triton"))
    text.meet(function.fn.__name__, function)
    return "\n\n\n".join(["\n".join(text.imports), *text.definitions]) + "\n"


def literal(value: Any) -> str:
    """A constant as a Python expression that means it anywhere, `tl` being Triton's; raises Unsupported."""
    tl = triton_module("triton.language")
    if isinstance(value, tl.constexpr):
        return literal(value.value)
    if isinstance(value, tl.dtype) and (name := _name_of_dtype(value)):
        return f"tl.{name}"
    if type(value) is tuple:
        parts: tuple[Any, ...] = value  # pyright: ignore[reportUnknownVariableType]
        return f"({''.join(f'{literal(part)}, ' for part in parts)})"
    if type(value) is float and value - value != 0:
        return f'float("{value}")'
    if value is None or type(value) in _CONSTANTS:
        return repr(value)
    raise Unsupported(f"`{value}` ({type(value).__name__}) is no constant that a text can hold", "TW1105")


def _name_of_dtype(dtype: Any) -> str:
    """`float32` for what Triton prints as `fp32`."""
    tl = triton_module("triton.language")
    names = cast("dict[str, Any]", vars(tl))
    return next((name for name, known in names.items() if type(known) is tl.dtype and known == dtype), "")


@dataclass
class _Text:
    """A module while it is put together; every name stands for one object."""

    imports: list[str] = field(default_factory=list[str])
    definitions: list[str] = field(default_factory=list[str])
    known: dict[str, Any] = field(default_factory=dict[str, Any])

    def meet(self, name: str, value: Any) -> None:
        """Let `name` mean `value`, here as where it was read."""
        if name in self.known:
            known = self.known[name]
            if known is not value and (_is_function(known) or literal(known) != literal(value)):
                raise Unsupported(f"two things that it uses are called `{name}`", "TW1105")
            return
        self.known[name] = value
        tl, module = triton_module("triton.language"), getattr(value, "__module__", None) or ""
        if _is_function(value):
            self._function(name, value)
        elif isinstance(value, ModuleType) and _is_tritons(value.__name__):
            package, _, last = value.__name__.rpartition(".")
            what = f"from {package} import {last}" if package else f"import {last}"
            self.imports.append(what if last == name else f"{what} as {name}")
        elif _is_tritons(module) and getattr(import_module(module), _name_of(value), None) is value:
            self.imports.append(f"from {module} import {_name_of(value)} as {name}")
        else:  # a constant, whether an annotation says so or a call
            self.meet("tl", tl)
            self.definitions.append(f"{name} = tl.constexpr({literal(value)})")

    def _function(self, name: str, function: Any) -> None:
        """A function of Triton's, after what it needs."""
        own = function.fn.__name__
        if own != name:
            self.meet(own, function)
            self.definitions.append(f"{name} = {own}")
            return
        source = textwrap.dedent(function.src).strip()
        for symbol in _symbols(source):
            if symbol in function.fn.__code__.co_freevars:
                raise Unsupported(f"`{symbol}`, which its text reads, is a variable around it", "TW1105")
            if symbol in function.fn.__globals__:
                self.meet(symbol, function.fn.__globals__[symbol])
            elif not hasattr(builtins, symbol):
                raise Unsupported(f"`{symbol}`, which its text reads, is no global of its module", "TW1105")
        decorator = "@triton.jit(noinline=True)" if getattr(function, "noinline", None) else "@triton.jit"
        self.definitions.append(f"{decorator}\n{source}")


def _is_function(value: Any) -> bool:
    return isinstance(value, triton_module("triton").JITFunction)


def _name_of(value: Any) -> str:
    return getattr(value, "__name__", "")


def _is_tritons(module: str) -> bool:
    return module.partition(".")[0] == "triton"


def _symbols(source: str) -> Iterator[str]:
    """Names that the text of a function reads and does not bind, each once, in their order."""
    tree = ast.parse(source)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    loaded = sorted((n for n in names if n.id not in bound), key=lambda n: (n.lineno, n.col_offset))
    yield from dict.fromkeys(node.id for node in loaded)
