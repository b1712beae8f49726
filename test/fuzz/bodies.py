"""A random program that is being written: each line runs as it is drawn, so that shapes are known."""

from __future__ import annotations

import random
import re
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


class Body:
    """Lines of a program on inputs that it makes as it wants them.

    The first input is `a0`. Whatever the dtype of the program, lines run in f32 while they are drawn.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self._makers: dict[str, str] = {}
        self._space: dict[str, Any] = {"torch": torch, "F": F}

    def text(self, seed: int, dtype: str, results: list[str], **facts: bool) -> str:
        """Source that runs by itself; `VALID`, `TRAINED` and `DYNAMIC` are what `check_program` asks."""
        body = "\n".join(f"    {line}" for line in self.lines)
        read = {name: maker for name, maker in self._makers.items() if re.search(rf"\b{name}\b", body)}
        makers = "\n".join(f"        {maker}," for maker in read.values())
        return (
            "import torch\nfrom torch.nn import functional as F\n\n"
            f"{', '.join(facts)} = {', '.join(map(str, facts.values()))}\n\n\n"
            f"def inputs():\n    torch.manual_seed({seed})\n    dtype = torch.{dtype}\n"
            f"    return (\n{makers}\n    )\n\n\n"
            f"def program({', '.join(read)}):\n{body}\n    return ({', '.join(results)},)\n"
        )

    def shape(self, name: str) -> tuple[int, ...]:
        """Of a value."""
        return tuple(self._space[name].shape)

    def input(self, *shape: int, scale: float = 1.0) -> str:
        """An input of normal numbers."""
        times = f" * {scale:.3g}" if scale != 1.0 else ""
        return self._made(f"(torch.randn({list(shape)}){times}).to(dtype)")

    def weight(self, *shape: int) -> str:
        """A matrix or filter, such that what it makes of numbers around 1 is around 1."""
        return self.input(*shape, scale=max(1, prod(shape[1:])) ** -0.5)

    def places(self, *shape: int, below: int) -> str:
        """An input of indices."""
        return self._made(f"torch.randint({below}, {list(shape)})")

    def mask(self, *shape: int) -> str:
        """An input of booleans, most of them true."""
        return self._made(f"torch.rand({list(shape)}) < 0.7")

    def _made(self, maker: str) -> str:
        name = f"a{len(self._makers)}"
        self._makers[name] = maker
        self._space[name] = eval(maker, {"torch": torch, "dtype": torch.float32})
        return name

    def tried(self, expression: str) -> Tensor | None:
        """What an expression gives here; None where torch refuses it."""
        try:
            return self._value(expression)
        except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError):
            return None

    def let(self, expression: str) -> str:
        """Add a line; the name of its value."""
        name = f"v{len(self.lines)}"
        self._space[name] = self._value(expression)
        self.lines.append(f"{name} = {expression}")
        return name

    def _value(self, expression: str) -> Tensor:
        with torch.no_grad():
            value = eval(expression, self._space)
        assert isinstance(value, Tensor)
        return value
