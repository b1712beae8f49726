"""Tests never touch the user's caches: every session gets folders of its own."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest

_CACHES = ("TILEWRIGHT_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")


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
