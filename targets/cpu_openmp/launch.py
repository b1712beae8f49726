"""Compile and load a module for this CPU."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from ..native.launch import CompiledGraph, exports, load_unit
from .build import recipe
from .emit import emit_unit


def load(
    module: ModuleOp,
    *,
    cache_dir: Path | None = None,
    environment: Mapping[str, str] | None = None,
    pooled: bool = True,
) -> CompiledGraph:
    """Compile and load a module of scheduled kernels and a host plan."""
    given = os.environ if environment is None else environment
    unit = emit_unit(module, exports)
    return load_unit(unit, recipe=recipe(given), cache_dir=cache_dir, environment=given, pooled=pooled)
