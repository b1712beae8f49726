"""Processes that compile kernels: how they begin, wait and end."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tilewright.targets.gpu_triton import workers
from tilewright.targets.gpu_triton.compiler import triton_version
from tilewright.targets.gpu_triton.workers import Pool


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    """Its workers wait for ever."""
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\nexec cat\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    made = Pool()
    yield made
    made.end()


def test_workers_stay_for_the_next_graph(pool: Pool) -> None:
    pool.start(2)
    first, second = pool.take(), pool.take()
    pool.give_back(first)
    pool.start(1)
    assert pool.take() is first
    assert pool.take() not in (first, second)


def test_workers_of_other_surroundings_end(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = pool.take()
    pool.give_back(worker)
    monkeypatch.setenv("TRITON_PTXAS_PATH", "/another")
    assert pool.take() is not worker
    assert not worker.lives()


def test_a_worker_that_died_while_it_waited_is_not_asked(pool: Pool) -> None:
    worker = pool.take()
    pool.give_back(worker)
    worker.end()
    assert pool.take().lives()


def test_idle_workers_end(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.01)
    worker = pool.take()
    pool.give_back(worker)
    deadline = time.monotonic() + 30
    while worker.lives() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not worker.lives()


def test_a_forked_process_has_workers_of_its_own(pool: Pool) -> None:
    worker = pool.take()
    pool.give_back(worker)
    pool.forget()
    assert pool.take() is not worker
    worker.end()


@pytest.mark.skipif(not triton_version(), reason="triton is not installed")
def test_workers_import_what_compiles_and_hash_nothing() -> None:
    """Passes and torch stay out; triton would hash all of its library for a cache that is never asked."""
    names = "('xdsl.ir', 'torch', 'triton.compiler.code_generator')"
    code = (
        f"import sys; from {workers.__name__} import main; main(); from triton.runtime import cache; "
        f"print(repr(cache.triton_key()), [name in sys.modules for name in {names}])"
    )
    done = subprocess.run([sys.executable, "-c", code], input="", capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "'' [False, False, True]"


@pytest.mark.skipif(not triton_version(), reason="triton is not installed")
def test_kernels_not_ours_keep_their_keys() -> None:
    """A program that compiles one kernel of ours itself may have others, whose keys name Triton's version."""
    code = (
        "from triton.runtime import cache; before = cache.triton_key; "
        f"import {workers.__package__}.triton_compiler; print(cache.triton_key is before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
