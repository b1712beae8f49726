"""Tests never touch the user's caches: every session gets folders of its own."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest

_CACHES = ("TILEWRIGHT_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):  # xdist workers inherit the session's folder
        return
    folder = tempfile.mkdtemp(prefix="tilewright-pytest-")
    for name in _CACHES:
        os.environ[name] = os.path.join(folder, name.lower())
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
