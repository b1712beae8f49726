"""When recordings are made, replayed and left alone, with a recorder that works on CPU tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from tilewright.frontend.options import make_options
from tilewright.frontend.runtime import cuda_graphs
from tilewright.frontend.runtime.call import Run
from tilewright.frontend.runtime.cuda_graphs import MOST, CudaRecorder, Recorded

BUSY = "a result of its last call is still alive"


class FakeRecorder:
    """A recording reads and writes the memory that it was made with, as a CUDA graph does."""

    def __init__(self) -> None:
        self.made = 0
        self.reason = ""
        self.error: Exception | None = None

    def possible(self) -> str:
        return self.reason

    def record(self, run: Run, args: Sequence[Any]) -> tuple[Callable[[], None], Sequence[Any]]:
        if self.error is not None:
            raise self.error
        self.made += 1
        # As the device sees them: addresses, whose owners may be gone.
        addresses = [_alias(arg) if isinstance(arg, torch.Tensor) else arg for arg in args]
        given = [_clone(a) for a in args]
        made = run(list(given))
        passed = {id(a): i for i, a in enumerate(given)}
        results = [addresses[passed[id(r)]] if id(r) in passed else torch.empty_like(r) for r in made]

        def replay() -> None:
            for there, new in zip(results, run(list(addresses)), strict=True):
                there.copy_(new)

        return replay, results


def _clone(arg: Any) -> Any:
    return arg.clone() if isinstance(arg, torch.Tensor) else arg


def _alias(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach()


def double(args: list[Any]) -> Sequence[Any]:
    (x,) = args
    args.clear()
    return (x * 2,)


def scaled(args: list[Any]) -> Sequence[Any]:
    weight, x = args
    args.clear()
    return (weight * x,)


def test_results_are_those_of_the_run() -> None:
    recorder = FakeRecorder()
    call = Recorded(scaled, frozenset(), recorder)
    weight = torch.randn(4)
    for _ in range(6):
        x = torch.randn(4)
        args = [weight, x]
        (got,) = call(args)
        assert args == []
        torch.testing.assert_close(got, weight * x)
        del got
    assert call.counts == {"its arguments are being watched": 2, "replayed": 4}
    weight.mul_(3)  # in place: the recording reads it where it stands
    torch.testing.assert_close(call([weight, x])[0], weight * x)
    assert recorder.made == 1


def test_a_result_that_is_alive_is_never_overwritten() -> None:
    call = Recorded(double, frozenset(), FakeRecorder())
    keep = [torch.full((3,), float(i)) for i in range(8)]
    results = [call([x])[0] for x in keep]
    for x, result in zip(keep, results, strict=True):
        torch.testing.assert_close(result, x * 2)
    assert call.counts[BUSY] == 5
    part = results.pop(2)[1:]  # a view of what the recording wrote
    results.clear()
    call([keep[7]])
    torch.testing.assert_close(part, keep[2][1:] * 2)
    del part
    torch.testing.assert_close(call([keep[4]])[0], keep[4] * 2)
    assert call.counts["replayed"] == 2


def test_a_result_that_outlives_the_next_call_is_handed_out_as_a_copy() -> None:
    call = Recorded(scaled, frozenset(), FakeRecorder())
    weight, inputs = torch.randn(4), [torch.randn(4) for _ in range(12)]
    for x in inputs:
        y = call([weight, x])[0]  # the one before is alive meanwhile
        torch.testing.assert_close(y, weight * x)
    assert call.counts == {"its arguments are being watched": 2, "replayed": 9, BUSY: 1}


@pytest.mark.parametrize("reason", ["large", "shared", "expanded"])
def test_what_cannot_be_copied_runs_without_its_recording(
    reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(args: list[Any]) -> Sequence[Any]:
        y = args[0] * 2
        return (y.expand(2, 3),) if reason == "expanded" else (y, y[1:]) if reason == "shared" else (y,)

    class Shares(FakeRecorder):
        """Results keep their layout, and their memory in common."""

        def record(self, run: Run, args: Sequence[Any]) -> tuple[Callable[[], None], Sequence[Any]]:
            self.made += 1
            x = _alias(args[0])
            results = run([x])

            def replay() -> None:
                y = x * 2
                for there in results:
                    there.as_strided(y[-there.shape[-1] :].shape, (1,)).copy_(y[-there.shape[-1] :])

            return replay, results

    if reason == "large":
        monkeypatch.setattr(cuda_graphs, "_MOST_COPIED", 8)
    call, x = Recorded(run, frozenset(), Shares()), torch.randn(3)
    for factor in range(9):
        x.fill_(factor)
        y = call([x])[0]
        torch.testing.assert_close(y, run([x])[0])
    assert call.counts == {"its arguments are being watched": 2, "replayed": 4, BUSY: 3}


@pytest.mark.parametrize("kept", [0, 1])
def test_one_of_several_results_may_be_alive(kept: int) -> None:
    def both(args: list[Any]) -> Sequence[Any]:
        (x,) = args
        args.clear()
        return x * 2, x * 3

    call = Recorded(both, frozenset(), FakeRecorder())
    *before, x, last = [torch.full((3,), float(i)) for i in range(6)]
    for other in before:
        call([other])
    result = call([x])[kept]
    call([last])
    torch.testing.assert_close(result, x * (2 + kept))
    assert call.counts == {"its arguments are being watched": 2, "replayed": 3, BUSY: 1}


def test_autograd_keeps_what_it_saved() -> None:
    call = Recorded(double, frozenset(), FakeRecorder())
    x = torch.ones(3)
    for _ in range(4):
        call([x])
    w = torch.ones(3, requires_grad=True)
    loss = (w * call([x])[0]).sum()  # saves the result
    call([x * 100])
    loss.backward()
    torch.testing.assert_close(w.grad, x * 2)


def test_an_argument_that_moves_is_copied_from_then_on() -> None:
    recorder = FakeRecorder()
    call = Recorded(double, frozenset(), recorder)
    x = torch.ones(5)
    for _ in range(4):
        call([x])
    others = [torch.full((5,), float(i)) for i in range(6)]
    for other in [*others, *[x] * 8, *others]:
        torch.testing.assert_close(call([other])[0], other * 2)
    assert recorder.made == 2


def test_where_no_size_varies_nobody_looks_at_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses are looked at all the same, and inputs are copied together."""
    monkeypatch.setattr(cuda_graphs, "_sizes", lambda args: pytest.fail("sizes were looked at"))
    recorder = FakeRecorder()
    call = Recorded(lambda args: (args[0] * args[1] + args[2],), frozenset(), recorder, fixed=True)
    weights = [torch.randn(4) for _ in range(2)]
    for step in range(14):
        x, y = torch.randn(4), torch.randn(4)
        weight = weights[step > 8]
        torch.testing.assert_close(call([weight, x, y])[0], weight * x + y)
    assert recorder.made == 2
    assert call.counts["replayed"] == 12


def test_what_stands_still_after_all_is_not_copied() -> None:
    """The tensors that a forward graph saves move until that graph is recorded itself."""
    recorder = FakeRecorder()
    call = Recorded(double, frozenset(), recorder)
    keep = [torch.full((5,), float(i)) for i in range(3)]
    for x in keep:
        call([x])
    settled = torch.randn(5)
    for _ in range(6):
        torch.testing.assert_close(call([settled])[0], settled * 2)
    assert recorder.made == 2
    assert call._known  # pyright: ignore[reportPrivateUsage]
    (known,) = call._known.values()  # pyright: ignore[reportPrivateUsage]
    assert known.addresses == (settled.data_ptr(),)


def test_each_size_has_a_recording_up_to_a_limit() -> None:
    recorder = FakeRecorder()
    call = Recorded(double, frozenset(), recorder)
    keep = [torch.ones(n) for n in range(1, MOST + 3)]
    for x in keep:
        for _ in range(4):
            torch.testing.assert_close(call([x])[0], x * 2)
    assert recorder.made == MOST
    assert call.counts[f"it has {MOST} recordings already"] == 4


def test_integers_belong_to_the_sizes() -> None:
    recorder = FakeRecorder()
    call = Recorded(lambda args: (args[0] * args[1],), frozenset(), recorder)
    x = torch.ones(2)
    for factor in (2, 3):
        for _ in range(4):
            torch.testing.assert_close(call([x, factor])[0], x * factor)
    assert recorder.made == 2


def test_written_arguments_stay_or_are_written_without_a_recording() -> None:
    def add_one(args: list[Any]) -> Sequence[Any]:
        args[0].add_(1)
        return (args[0] * 2,)

    call = Recorded(add_one, frozenset({0}), FakeRecorder())
    buffer = torch.zeros(2)
    for step in range(5):
        torch.testing.assert_close(call([buffer])[0], torch.full((2,), 2.0 * (step + 1)))
    assert call.counts["replayed"] == 3
    keep = [torch.zeros(2) for _ in range(4)]
    for other in keep:
        call([other])
        torch.testing.assert_close(other, torch.ones(2))
    assert call.counts["it writes to argument 0, which moves from call to call"] == 4


@pytest.mark.parametrize("reason", ["recording", "error", "passed", "expanded"])
def test_what_cannot_be_recorded_runs_and_says_why(reason: str, caplog: pytest.LogCaptureFixture) -> None:
    recorder = FakeRecorder()
    run: Run = double
    if reason == "recording":
        recorder.reason = "its stream is recording already"
    elif reason == "error":
        recorder.error = RuntimeError("operation not permitted when stream is capturing")
    elif reason == "passed":

        def run(args: list[Any]) -> Sequence[Any]:
            return (args[0],)

    call = Recorded(run, frozenset(), recorder)
    keep = [torch.ones(1).expand(3) if reason == "expanded" else torch.ones(3) for _ in range(5)]
    with caplog.at_level("INFO", logger="tilewright.cuda_graphs"):
        for x in keep:
            torch.testing.assert_close(call([x])[0], x if reason == "passed" else x * 2)
    assert "replayed" not in call.counts
    said = {
        "recording": "its stream is recording already",
        "error": "it cannot be recorded: operation not permitted",
        "passed": "shares memory with one",
        "expanded": "argument 0 is expanded",
    }[reason]
    assert sum(said in message for message in caplog.messages) == 1


def test_reports_of_kernels_come_before_a_replay() -> None:
    def check() -> None:
        if failed:
            raise IndexError("reported")

    failed: list[int] = []
    call = Recorded(double, frozenset(), FakeRecorder(), check)
    x = torch.ones(2)
    for _ in range(4):
        call([x])
    failed.append(1)
    with pytest.raises(IndexError, match="reported"):
        call([x])


def test_modes_ask_for_recordings() -> None:
    assert make_options(mode="reduce-overhead").cuda_graphs
    assert make_options(mode="max-autotune").cuda_graphs
    assert not make_options(mode="max-autotune-no-cudagraphs").cuda_graphs
    assert not make_options().cuda_graphs
    assert not make_options({"cuda_graphs": False}, mode="reduce-overhead").cuda_graphs


def test_a_replay_on_another_stream_waits_for_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream:
        def wait_stream(self, other: object) -> None:
            waits.append((self, other))

    waits: list[tuple[object, object]] = []
    a, b = Stream(), Stream()
    recorder = CudaRecorder(0)
    for now in (a, a, b, b, a):
        monkeypatch.setattr(torch.cuda, "current_stream", lambda now=now: now)
        monkeypatch.setattr(cuda_graphs, "raw_stream", lambda device, now=now: id(now))
        recorder._in_order()  # pyright: ignore[reportPrivateUsage]
    assert waits == [(b, a), (a, b)]


def test_threads_do_not_wait_for_each_other() -> None:
    inside: list[Sequence[Any]] = []

    def run(args: list[Any]) -> Sequence[Any]:
        if not inside:
            inside.append(())
            inside.append(call([torch.zeros(1)]))  # as another thread would, while this one is in
        return (args[0] + 1,)

    call = Recorded(run, frozenset(), FakeRecorder())
    torch.testing.assert_close(call([torch.ones(1)])[0], torch.full((1,), 2.0))
    torch.testing.assert_close(inside[1][0], torch.ones(1))
    assert call.counts["another thread is in the graph"] == 1
    assert cuda_graphs.MOST > 1
