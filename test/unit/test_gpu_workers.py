"""Processes that compile kernels: how they begin, wait and end."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


def used(pool: Pool) -> Any:
    """A worker that has had its jobs."""
    with pool.worker(9) as worker:
        return worker


def test_workers_stay_for_the_next_graph(pool: Pool) -> None:
    pool.start(2)
    with pool.worker(9) as first:
        second = used(pool)
        pool.start(1)
        with pool.worker(9) as again, pool.worker(9) as third:
            assert again is second
            assert third not in (first, second)


def test_graphs_share_the_workers_that_there_may_be(pool: Pool) -> None:
    begun: queue.SimpleQueue[str] = queue.SimpleQueue()

    def work(name: str, most: int) -> None:
        with pool.worker(most):
            begun.put(name)

    with pool.worker(1) as first:
        waiting = threading.Thread(target=work, args=("waits", 1))
        waiting.start()
        work("has room", 2)
        assert begun.get(timeout=30) == "has room"
        assert begun.empty()
    assert begun.get(timeout=30) == "waits"
    waiting.join()
    assert used(pool) is first


def test_one_that_cannot_be_had_leaves_room(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/nowhere/python")
        with pytest.raises(FileNotFoundError):
            used(pool)
    with pool.worker(1) as worker:
        assert worker.lives()


def test_workers_of_other_surroundings_end(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = used(pool)
    monkeypatch.setenv("TRITON_PTXAS_PATH", "/another")
    assert used(pool) is not worker
    assert not worker.lives()


def test_a_worker_that_died_while_it_waited_is_not_asked(pool: Pool) -> None:
    used(pool).end()
    assert used(pool).lives()


def test_a_worker_that_died_at_work_is_not_kept(pool: Pool) -> None:
    with pool.worker(1) as worker:
        worker.end()
    assert used(pool) is not worker


def test_idle_workers_end(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.01)
    worker = used(pool)
    deadline = time.monotonic() + 30
    while worker.lives() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not worker.lives()


def test_a_forked_process_has_workers_of_its_own(pool: Pool) -> None:
    worker = used(pool)
    pool.forget()
    assert used(pool) is not worker
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
