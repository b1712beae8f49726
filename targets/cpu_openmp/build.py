"""How C++ is built for this CPU."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..native import build as native
from .isa import machine_isa

HERE = Path(__file__).resolve().parent


def recipe(environment: Mapping[str, str]) -> native.Recipe:
    """Flags of this CPU, and the headers of kernels."""
    return native.Recipe(machine_isa(environment).flags, (HERE,))


def build(source: str, *, cache_dir: Path, environment: Mapping[str, str]) -> Path:
    """The library of `source`, from the cache or compiled."""
    return native.build(source, recipe=recipe(environment), cache_dir=cache_dir, environment=environment)
