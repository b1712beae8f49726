"""Seeded and boundary inputs: what modules are run on to compare them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, Literal

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute

from tilewright.dialects.arrays import Arrays
from tilewright.dialects.index_expr import Var
from tilewright.dialects.types import bytes_of, is_float, ui8

from .signature import Entry, Parameter

Style = Literal["normal", "special", "extreme"]
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0)
TINY = (1e-40, -1e-40, 1.2e-38, 1e-30, -1e-20, 0.0, -0.0)
LARGE = (1e4, 3e4, 2.0, 6e4)
"""Within the range of every float type, so that float64 overflows no earlier than the type itself."""


@dataclass(frozen=True)
class Case:
    """One set of inputs; the same arrays come from the same case, everywhere."""

    style: Style
    seed: int
    integers: tuple[int, int]
    """Least and largest of most integers."""
    symbols: tuple[tuple[Var, int], ...] = ()

    def __str__(self) -> str:
        sizes = "".join(f", {var} = {value}" for var, value in self.symbols)
        low, high = self.integers
        return f"{self.style} floats, integers {low} to {high}, seed {self.seed}{sizes}"

    @property
    def values(self) -> Mapping[Var, int]:
        return dict(self.symbols)


_PLANS: Sequence[tuple[Style, tuple[int, int], tuple[int, ...]]] = (
    ("normal", (0, 2), (5, 7, 3)),
    ("normal", (-9, 9), (17, 2, 6)),
    ("special", (-2, 2), (3, 4, 5)),
    ("extreme", (-(2**63), 2**63 - 1), (2, 3, 4)),
    ("special", (0, 1), (8, 5, 2)),
    ("normal", (0, 0), (1, 1, 1)),
    ("normal", (0, 1), (0, 2, 3)),
    ("normal", (0, 2), (33, 16, 1)),
    ("normal", (1, 3), (4, 0, 8)),
)
"""Style, range of integers, sizes; without symbols those that differ in sizes only are left out."""


def cases_for(entry: Entry, seed: int = 0) -> list[Case]:
    """The inputs for one function."""
    plans = _PLANS if entry.symbols else _PLANS[:5]
    found: list[Case] = []
    for number, (style, integers, sizes) in enumerate(plans):
        symbols = tuple((var, sizes[i % len(sizes)]) for i, var in enumerate(entry.symbols))
        found.append(Case(style, seed + number, integers, symbols))
    return found


def arguments(entry: Entry, case: Case, sizes: Sequence[Sequence[int]]) -> list[Any]:
    """One value per parameter: NumPy arrays (bf16 as rounded f32), integers for sizes."""
    made: list[Any] = []
    for index, (parameter, shape) in enumerate(zip(entry.parameters, sizes, strict=True)):
        if parameter.element is None:
            made.append(case.values.get(parameter.symbol, 1) if parameter.symbol is not None else 1)
        else:
            made.append(_drawn(index, parameter.element, tuple(shape), case).copy())
    return made


@lru_cache(maxsize=32)
def _drawn(index: int, element: Attribute, sizes: tuple[int, ...], case: Case) -> Any:
    """Of parameter `index`; a module is run on the same inputs after each pass."""
    return draw(np.random.default_rng([case.seed, index]), element, sizes, case)


def sizes_of_parameters(entry: Entry, case: Case) -> list[list[int]]:
    """The concrete sizes; those of a buffer of unknown size are left to the caller (empty)."""
    return [_sizes(p, case) for p in entry.parameters]


def _sizes(parameter: Parameter, case: Case) -> list[int]:
    return [e.evaluate(case.values) for e in parameter.sizes or ()]


def draw(rng: np.random.Generator, element: Attribute, sizes: Sequence[int], case: Case) -> Any:
    """An array of `element`, as the interpreter stores it under NumPy."""
    arrays = Arrays(np)
    count = prod(sizes)
    if is_float(element):
        with np.errstate(all="ignore"):  # a subnormal or a large number may leave a half type
            return arrays.store(_floats(rng, count, case.style).reshape(sizes), element)
    width = 1 if element == i1 else 8 * bytes_of(element)
    return arrays.store(_integers(rng, count, width, element == ui8, case).reshape(sizes), element)


def _floats(rng: np.random.Generator, count: int, style: Style) -> Any:
    plain = rng.standard_normal(count)
    if style == "normal":
        return plain
    pool = SPECIAL if style == "special" else (TINY, LARGE)[int(rng.integers(2))]
    drawn = rng.choice(np.asarray(pool), count)
    return np.where(rng.random(count) < 0.4, drawn, plain) if style == "special" else drawn


def _integers(rng: np.random.Generator, count: int, width: int, unsigned: bool, case: Case) -> Any:
    if width == 1:
        return rng.integers(0, 2, count)
    least, most = (0, 2**width - 1) if unsigned else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
    low, high = max(case.integers[0], least), min(case.integers[1], most)
    if case.style != "extreme":
        return rng.integers(low, high, count, endpoint=True)
    return rng.choice(np.asarray([least, least + 1, max(-1, least), 0, 1, most - 1, most], object), count)
