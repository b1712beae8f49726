"""Runs a whole graph by ATen's operators where it cannot be compiled here, and says so once, loudly.

Without a C++ compiler, for a device that no target serves, or for an input that the IR
cannot hold, the captured graph is still good: results are those of eager, and slow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch.fx import GraphModule

from tilewright.dialects.diagnostics import CannotCompile, warn_user

_said: dict[str, None] = {}


class RunsByAten(UserWarning):
    """A graph that is not compiled at all."""


def warn_once(error: CannotCompile) -> None:
    """Tell the user what is wrong, and what happens instead; each text once per process."""
    text = str(error)
    if text not in _said:
        _said[text] = None
        warn_user(f"{text}\n  until then, ATen runs the graph operation by operation", RunsByAten)


def forget_warnings() -> None:
    """Say everything again (for tests)."""
    _said.clear()


def run_by_aten(gm: GraphModule) -> Callable[[list[Any]], Sequence[Any]]:
    """The boxed function that executes the ATen graph as it was traced."""

    def call(args: list[Any]) -> Sequence[Any]:
        given = tuple(args)
        args.clear()
        return gm(*given)

    call._boxed_call = True  # pyright: ignore[reportFunctionMemberAccess]
    return call
