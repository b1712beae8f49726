"""Bytecode for processes whose compiles are timed: a checkout imports as quickly as what pip installs."""

from __future__ import annotations

import compileall
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path


@lru_cache(maxsize=1)
def write_bytecode() -> None:
    """Compile the package's modules now, as pip does, even where Python is told to write no bytecode.

    Some 390 modules from their sources take 0.7 s of CPU time, in each process. torch's have theirs.
    """
    spec = find_spec("tilewright")
    assert spec is not None
    for folder in spec.submodule_search_locations or ():
        for package in Path(folder).iterdir():
            if package.is_dir():
                compileall.compile_dir(package, quiet=2)
