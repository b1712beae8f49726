"""Tests never touch the user's caches: every session gets folders of its own."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

_TABLES = (
    ("tilewright.passes.registry", "TABLE"),
    ("tilewright.dialects.registry", "_TABLE"),
    ("tilewright.targets.registry", "_TABLE"),
    ("tilewright.passes.fusion.foreign", "_SCALARS"),
    ("tilewright.passes.fusion.foreign", "_KERNELS"),
    ("tilewright.frontend.aten", "_TABLE"),
)
"""Where passes, ops, targets and rows of others are kept."""
_CACHES = ("TILEWRIGHT_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")


@pytest.fixture(autouse=True)
def nothing_stays_registered() -> Iterator[None]:
    """What a test adds to the tables of plug-ins goes with it: graphs beside plug-ins are not cached."""
    before = {place: dict(table.added) for place, table in _loaded_tables()}
    yield
    for place, table in _loaded_tables():
        table.added.clear()
        table.added.update(before.get(place, {}))


def _loaded_tables() -> Iterator[tuple[tuple[str, str], Any]]:
    for module, name in _TABLES:
        if module in sys.modules:
            yield (module, name), getattr(sys.modules[module], name)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: needs a CUDA device; skipped, with the reason, without one")
    if hasattr(config, "workerinput"):  # xdist workers inherit the session's folder
        return
    folder = tempfile.mkdtemp(prefix="tilewright-pytest-")
    for name in _CACHES:
        os.environ[name] = os.path.join(folder, name.lower())
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("gpu") is not None]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        reason = "no CUDA device here; `test_gpu_on_stand_in.py` covers the same path by emulation"
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=reason))
