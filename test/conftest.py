"""Tests never touch the user's caches: every session gets folders of its own."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from long_tests import long_tests

if TYPE_CHECKING:
    from emulated_gpu import EmulatedGpu
    from stand_in import StandIn

# Each worker has as many threads as there are cores: those that wait must leave the core to others.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

_CACHES = ("TILEWRIGHT_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")


@pytest.fixture(autouse=True)
def nothing_stays_registered() -> Iterator[None]:
    """What a test adds to the tables of plug-ins goes with it: graphs beside plug-ins are not cached."""
    before = [(table, dict(table.added)) for table in _tables()]
    yield
    for table in _tables():
        table.added.clear()
    for table, added in before:
        table.added.update(added)


@pytest.fixture(autouse=True)
def random_numbers_of_its_own() -> None:
    """Whatever ran before it, a test draws the same numbers."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(0)


@pytest.fixture(autouse=True)
def nothing_runs_uncompiled() -> None:
    """Past torch's limit of compiles a function runs as it is, and its test could not fail: here it does.

    From the second test of a process on that compiles: the first one imports what has the limit.
    """
    config = sys.modules.get("torch._dynamo.config")
    if config is not None:
        config.fail_on_recompile_limit_hit = True


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """What fixtures of a whole module added goes with the module."""
    if nextitem is None or nextitem.path != item.path:
        for table in _tables():
            table.added.clear()


def _tables() -> list[Any]:
    plugins = sys.modules.get("tilewright.dialects.plugins")
    return [] if plugins is None else plugins.TABLES


@pytest.fixture
def like_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """The emulator's tensors are on the CPU: graphs of them are imported as those of a GPU."""
    from tilewright.frontend.eager_facts import FACTS, GPUS

    monkeypatch.setitem(FACTS, "cpu", GPUS)


@pytest.fixture(scope="module")
def cuda_stand_in(tmp_path_factory: pytest.TempPathFactory) -> StandIn:
    """What stands in for libcuda."""
    from stand_in import build

    return build(tmp_path_factory.mktemp("driver"))


@pytest.fixture
def gpu(cuda_stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmulatedGpu]:
    """A GPU whose launches run the text of kernels on CPU tensors."""
    import torch
    from emulated_gpu import emulated_gpu

    torch._dynamo.reset()
    with emulated_gpu(cuda_stand_in, monkeypatch) as found:
        yield found


@pytest.fixture
def flex_gradients_on_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eager flex attention computes gradients on CPUs, too, but for a check in front."""
    import torch
    from torch.nn.attention import flex_attention

    monkeypatch.setattr(flex_attention, "_validate_device", lambda *_: None)
    torch._dynamo.reset()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: needs a CUDA device; skipped, with the reason, without one")
    config.addinivalue_line("markers", "long: named in long_tests.txt, and left to `make test-long`")
    if hasattr(config, "workerinput"):  # xdist workers inherit the session's folder
        return
    folder = tempfile.mkdtemp(prefix="tilewright-pytest-")
    for name in _CACHES:
        os.environ[name] = os.path.join(folder, name.lower())
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def pytest_collection_finish() -> None:
    """What is imported by now stays, and compiles make much that does not: a tenth of the time went to gc."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_unconfigure() -> None:
    """At exit modules are collected again, or libraries complain of leaks."""
    gc.unfreeze()


@pytest.hookimpl(tryfirst=True)  # before pytest looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    long = long_tests([item.nodeid for item in items])
    for item in items:
        if item.nodeid in long:
            item.add_marker("long")
    marked = [item for item in items if item.get_closest_marker("gpu") is not None]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        reason = "no CUDA device here; `test_gpu_on_stand_in.py` covers the same path by emulation"
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def crowded_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 8192 elements for one warp, 256 in each lane, by default; half as many are a candidate."""
    from tilewright.passes.schedule import schedule_gpu

    decide = schedule_gpu.decide

    def crowded(*given: Any) -> Any:
        found = decide(*given)
        return replace(found, sizes=tuple((axis, 8192) for axis, _ in found.sizes), warps=1)

    monkeypatch.setattr(schedule_gpu, "decide", crowded)
