"""Calls that no C function serves: what launch.py must make callable, as plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Operand:
    """The i-th tensor that the native side passes."""

    index: int


@dataclass(frozen=True)
class Integer:
    """The i-th integer that the native side passes after the tensors."""

    index: int


@dataclass(frozen=True)
class Dtype:
    """A torch dtype, by the name of the element type."""

    name: str


Argument = Operand | Integer | Dtype | bool | int | float | str | None | tuple["Argument", ...]


@dataclass(frozen=True)
class Result:
    """What a call must return: its sizes, then strides, stand from `first` on among the integers."""

    element: str
    rank: int
    first: int


@dataclass(frozen=True)
class Control:
    """One `th.control`: the functions of the unit that it calls, as `run_control` says."""

    callee: str
    """Its kind."""
    functions: tuple[str, ...]
    carried: int
    scanned: int
    symbols: int
    """So many integers come first, which each function takes after its tensors."""
    tensors: int
    results: tuple[Result, ...]
    where: str


@dataclass(frozen=True)
class Fallback:
    """One call through Python: `callee(*args)` -> tensors laid out as `results` say."""

    callee: str
    args: tuple[Argument, ...]
    tensors: int
    results: tuple[Result, ...]
    where: str


"""`results` is empty for an out-variant, which writes its operands."""
