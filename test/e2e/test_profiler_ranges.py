"""torch.profiler sees our kernels and library calls by name, with the user's line; only while it runs."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import reported
import torch


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, list[torch.Tensor], str]:
    folder = tmp_path_factory.mktemp("profiled")
    torch._dynamo.reset()
    function = torch.compile(reported.program(folder).f, backend="mlir")
    args = [torch.randn(16, 8), torch.randn(8, 24)]
    with torch.no_grad():
        function(*args)
    return function, args, str(folder / "program.py")


def profiled(function: Any, args: list[torch.Tensor]) -> list[Any]:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        with torch.no_grad():
            function(*args)
    return [event for event in profile.events() if " @ " in event.name]


def test_events_are_named_with_their_lines(compiled: tuple[Any, list[torch.Tensor], str]) -> None:
    function, args, file = compiled
    names = [event.name for event in profiled(function, args)]
    lines = {int(name.partition(f"{file}:")[2].split()[0]) for name in names}
    assert lines <= {reported.PRODUCT, reported.MEAN, reported.EXP, reported.CHAIN, reported.LIBRARY}
    assert {reported.EXP, reported.LIBRARY} <= lines
    assert any("exp" in name.partition(" @ ")[0] for name in names)
    assert any(name.startswith("aten::_linalg_svd") for name in names)


def test_each_profile_has_each_launch_once(compiled: tuple[Any, list[torch.Tensor], str]) -> None:
    function, args, _ = compiled
    first, second = profiled(function, args), profiled(function, args)
    assert [e.name for e in first] == [e.name for e in second]
    assert len(first) == len({id(e) for e in first}) > 0
    ends = [(e.time_range.start, e.time_range.end) for e in first]
    assert all(b[0] >= a[1] for a, b in pairwise(ends))  # one after the other


def test_ranges_end_when_a_kernel_raises(tmp_path: Path) -> None:
    """A profile that ends inside of a call's ranges would break the next one."""

    def pick(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        return x[i] * 2

    torch._dynamo.reset()
    function = torch.compile(pick, backend="mlir")
    good, bad = torch.tensor([1]), torch.tensor([7])
    x = torch.randn(3)
    torch.testing.assert_close(function(x, good), pick(x, good))
    with pytest.raises(Exception, match="TW2114"):
        profiled(function, [x, bad])
    (event,) = profiled(function, [x, good])
    assert event.time_range.end >= event.time_range.start
