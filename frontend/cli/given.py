"""The arguments of `tilewright run`: arrays of files, sizes of symbols, and random numbers for the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pickle import UnpicklingError
from typing import Any, NamedTuple

import click
import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.index_expr import Var, sym

from ..check.execute import argument_sizes
from ..check.inputs import Case, arguments
from ..check.signature import Entry

_GUESS = 5
"""The size of a symbol of which nothing is said."""


class Given(NamedTuple):
    """An argument that is not random."""

    file: str
    array: Any


def given_arrays(entry: Entry, inputs: Sequence[str]) -> dict[int, Given]:
    """The array of each `number=file`; raises click.BadParameter."""
    found: dict[int, Given] = {}
    for text in inputs:
        index, _, file = text.partition("=")
        if not index.isdigit() or int(index) >= len(entry.parameters):
            hint = f"{text!r}; write number=file.npy; there are {len(entry.parameters)} arguments"
            raise click.BadParameter(hint, param_hint="--input")
        found[int(index)] = Given(file, _loaded(file))
    return found


def case_of(entry: Entry, seed: int, span: str, symbols: Sequence[str], given: Mapping[int, Given]) -> Case:
    """The symbols as they are told, else as the given arrays have them; and the range of random integers."""
    values: dict[Var, int] = dict.fromkeys(entry.symbols, _GUESS)
    values.update(_sizes(entry, given))
    for text in symbols:
        name, _, number = text.partition("=")
        var = next((v for v in entry.symbols if str(v) == name), None)
        if var is None or not number.isdigit():
            known = ", ".join(map(str, entry.symbols)) or "none"
            raise click.BadParameter(
                f"{text!r}; write name=size; the symbols are {known}", param_hint="--symbol"
            )
        values[var] = int(number)
    low, _, high = span.partition("..")
    try:
        limits = int(low), int(high)
    except ValueError as error:
        raise click.BadParameter(f"{span!r}; write low..high", param_hint="--range") from error
    if limits[0] > limits[1]:
        raise click.BadParameter(f"{span!r} is empty; write low..high", param_hint="--range")
    return Case("normal", seed, limits, tuple(values.items()))


def _sizes(entry: Entry, given: Mapping[int, Given]) -> dict[Var, int]:
    """The symbols that are sizes of given arrays as they stand; the first array counts."""
    found: dict[Var, int] = {}
    for place, (_, array) in sorted(given.items()):
        sizes = entry.parameters[place].sizes or ()
        for expr, size in zip(sizes, array.shape, strict=False):
            for var in expr.variables():
                if expr == sym(var.index):
                    found.setdefault(var, size)
    return found


def all_arguments(module: ModuleOp, entry: Entry, case: Case, given: Mapping[int, Given]) -> list[Any]:
    """Random arguments, but for those that are given; raises click.BadParameter where these do not fit."""
    found = arguments(entry, case, argument_sizes(module, entry, case))
    for place, (file, value) in given.items():
        wanted = np.asarray(found[place])
        if value.shape != wanted.shape or value.dtype != wanted.dtype:
            hint = f"{file} holds {value.dtype}{list(value.shape)}, not {wanted.dtype}{list(wanted.shape)}"
            more = "; --symbol gives sizes" if entry.symbols else ""
            raise click.BadParameter(hint + more, param_hint="--input")
        laid_out = np.empty_like(wanted)  # with the strides that the module asks for
        laid_out[...] = value
        found[place] = laid_out
    return found


def _loaded(file: str) -> Any:
    """The array of a .npy file, or of a tensor that torch saved (.pt)."""
    try:
        if file.endswith(".pt"):
            from ..runtime.run_module import saved_tensor

            return saved_tensor(file)
        found: Any = np.load(file, allow_pickle=False)
        if hasattr(found, "files"):
            raise ValueError("it holds several arrays")
    except (OSError, ValueError, RuntimeError, UnpicklingError) as error:
        raise click.BadParameter(f"{file}: {error}", param_hint="--input") from error
    return found
