"""Steps of a compile: what is done once, in which thread, and what becomes of errors."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch.fx import GraphModule, symbolic_trace
from torch.fx.experimental.proxy_tensor import make_fx

from tilewright.frontend import compile as compile_
from tilewright.frontend.cache import kept_graph
from tilewright.frontend.compile import import_aten
from tilewright.frontend.environment import read_environment
from tilewright.frontend.fx.graph import Graph
from tilewright.frontend.options import Options
from tilewright.frontend.runtime.call import Run
from tilewright.frontend.runtime.compiling import Building, Compiled, Compiling, call_of, finished
from tilewright.frontend.runtime.request import Request

SECONDS = 30.0


def doubled(args: list[Any]) -> Sequence[Any]:
    return [2 * arg for arg in args]


@dataclass(eq=False)
class Steps:
    """A graph whose compiler waits for `go`."""

    aside: bool = True
    go: threading.Event = field(default_factory=threading.Event)
    error: Exception | None = None
    """What the compiler raises."""
    seen: list[str] = field(default_factory=list[str])
    threads: dict[str, threading.Thread] = field(default_factory=dict[str, threading.Thread])
    interrupts: int = 0

    def lower(self) -> Run | Building:
        self.note("lower")
        if self.interrupts:
            self.interrupts -= 1
            raise KeyboardInterrupt
        return Building(self.compile) if self.aside else doubled

    def compile(self) -> Callable[[], Run]:
        self.note("compile")
        assert self.go.wait(SECONDS)
        if self.error is not None:
            raise self.error
        return self.load

    def load(self) -> Run:
        self.note("load")
        return doubled

    def compiled(self, run: Run) -> Compiled:
        return Compiled(run, None, None, "a test")

    def rescue(self, error: Exception) -> Compiled:
        self.note("rescue")
        if isinstance(error, NotImplementedError):
            return Compiled(lambda args: ["rescued"], None, None, "a test")
        raise error

    def note(self, step: str) -> None:
        self.seen.append(step)
        self.threads[step] = threading.current_thread()


def test_each_step_once_and_compilers_aside() -> None:
    steps = Steps()
    compiling = Compiling(steps)
    assert not compiling.busy
    compiling.lower()
    assert not compiling.busy
    compiling.begin()
    assert compiling.busy
    compiling.begin()
    steps.go.set()
    assert compiling.finish().call([3]) == [6]
    assert compiling.finish() is compiling.finish()
    assert not compiling.busy
    assert steps.seen == ["lower", "compile", "load"]
    assert steps.threads["compile"] is not threading.current_thread()
    assert steps.threads["lower"] is steps.threads["load"] is threading.current_thread()


@pytest.mark.parametrize("aside", [True, False])
def test_finishing_at_once(aside: bool) -> None:
    steps = Steps(aside)
    steps.go.set()
    assert finished(steps.lower())([1]) == [2]
    assert Compiling(steps).finish().call([1]) == [2]
    assert set(steps.threads.values()) == {threading.current_thread()}


def test_errors_are_rescued_or_raised_by_each_step() -> None:
    for error in (NotImplementedError("no compiler"), RuntimeError("no memory")):
        steps = Steps(error=error)
        steps.go.set()
        compiling = Compiling(steps)
        compiling.begin()
        if isinstance(error, NotImplementedError):
            assert compiling.finish().call([]) == ["rescued"]
        else:
            for step in (compiling.finish, compiling.lower, compiling.begin, compiling.finish):
                with pytest.raises(RuntimeError, match="no memory"):
                    step()
        assert steps.seen == ["lower", "compile", "rescue"]


def test_what_compiling_needed_is_not_kept() -> None:
    steps = Steps(aside=False)
    compiling, left = Compiling(steps), weakref.ref(steps)
    compiling.finish()
    del steps
    assert left() is None


def test_an_interrupt_ends_a_step_alone() -> None:
    steps = Steps(interrupts=1)
    steps.go.set()
    compiling = Compiling(steps)
    with pytest.raises(KeyboardInterrupt):
        compiling.finish()
    assert compiling.finish().call([1]) == [2]
    assert steps.seen == ["lower", "lower", "compile", "load"]


def test_what_an_interrupt_left_is_imported_again(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.linspace(0, 1, 5)
    request = Request(Options(target="reference"), read_environment(), "inference")
    compiling = import_aten(make_fx(lambda x: [x.sin() * 2])(x), [x], request)

    def interrupted(name: str, graph: Graph, request: Request) -> Run:
        graph.module.walk().__next__().detach_region(0)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(compile_, "build", interrupted)
        with pytest.raises(KeyboardInterrupt):
            compiling.finish()
    torch.testing.assert_close(compiling.finish().call([x]), [x.sin() * 2])


def test_a_forward_graph_is_waited_for_when_it_is_called() -> None:
    begun: list[Compiling] = []
    forward, inference = Steps(), Steps()
    call = call_of(Compiling(forward), "forward", begun)
    assert [each.busy for each in begun] == [True]
    inference.go.set()
    assert call_of(Compiling(inference), "inference", begun)([2]) == [4]
    assert len(begun) == 1
    forward.go.set()
    assert call([2]) == [4]


@pytest.mark.parametrize("error", [False, True])
@pytest.mark.parametrize("busy", [True, False])
def test_backward_passes_run_while_the_forward_graph_is_compiled(
    busy: bool, error: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What goes wrong with them is raised by the call."""
    monkeypatch.setattr(kept_graph, "keep_saved_tensors", lambda: None)
    monkeypatch.setattr(kept_graph, "_token", lambda *_: "")
    forward, backward = Steps(aside=busy), Steps(interrupts=0)
    if error:
        monkeypatch.setattr(backward, "lower", lambda: 1 // 0)
    begun: list[Compiling] = []

    def kept(steps: Steps, kind: str) -> Any:
        request = Request(Options(), read_environment(), kind)
        return kept_graph.keeping(lambda graph, inputs: Compiling(steps), request, "key", begun)

    graph: GraphModule = symbolic_trace(torch.nn.Identity())
    first = kept(forward, "forward").compiler_fn(graph, [])
    second = kept(backward, "backward").compiler_fn(graph, [])
    assert backward.seen == (["rescue"] if error else ["lower"]) * busy
    for steps in (forward, backward):
        steps.go.set()
    assert first([5]) == [10]
    if error:
        with pytest.raises(ZeroDivisionError):
            second([7])
    else:
        assert second([7]) == [14]
        assert backward.seen == ["lower", "compile", "load"]
