"""`tilewright.explain`: what it counts is what is there, with places and reasons."""

import logging
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import tilewright
from tilewright.frontend import dynamo_internals
from tilewright.frontend.explain import Explanation
from tilewright.frontend.explain_graph import GraphReport
from tilewright.frontend.runtime.aten_runtime import RunsByAten
from tilewright.passes.rewrite import Remark

HERE = __file__


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()


def model() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 64))


def test_inference() -> None:
    m, x = model(), torch.randn(32, 64)
    with torch.no_grad():
        found = tilewright.explain(m, x)
        torch.testing.assert_close(found.result, m(x), rtol=1e-4, atol=1e-4)
    (graph,) = found.graphs
    assert graph.kind == "inference"
    assert 0 < len(graph.kernels) <= sum(graph.kernels.values())
    assert found.kernels == len(graph.kernels)
    assert (found.fallbacks, found.graph_breaks, graph.by_aten) == (0, (), None)
    assert int(graph.arena_bytes) <= int(graph.requested_bytes)
    assert len(graph.derived) == 2  # two packed weights
    assert list(graph.seconds) == ["import", "passes", "emit C++", "compile C++"]
    assert set(graph.passes) >= {"fuse", "bufferize", "schedule-cpu"}
    assert list(found.seconds) == ["dynamo", "aot", *graph.seconds]
    assert all(seconds >= 0 for seconds in found.seconds.values())
    text = str(found)
    assert text.startswith("1 graph, 0 graph breaks, ")
    assert all(name in text for name in graph.kernels)


def test_training_compiles_the_backward_graph_too() -> None:
    found = tilewright.explain(model(), torch.randn(32, 64))
    assert [graph.kind for graph in found.graphs] == ["forward", "backward"]
    assert all(graph.kernels for graph in found.graphs)
    found.result.sum().backward()


def test_graph_breaks_and_fallbacks_have_places() -> None:
    def f(x: Tensor) -> Tensor:
        y = x.sin()
        print("a graph break")
        return torch.linalg.svdvals(y) + 1

    found = tilewright.explain(f, torch.randn(4, 3))
    assert len(found.graphs) == 2
    (graph_break,) = found.graph_breaks
    line = f.__code__.co_firstlineno + 2
    assert graph_break.place == f"{HERE}:{line}"
    assert "print" in graph_break.reason or "builtin" in graph_break.reason
    (fallback,) = found.graphs[1].fallbacks
    assert (fallback.code, fallback.op) == ("TW1101", "aten::_linalg_svd")
    assert fallback.place.startswith(f"{HERE}:{line + 1}")
    assert found.graphs[1].library_calls["aten::_linalg_svd"] == 1
    assert f"graph break at {HERE}:{line}" in str(found)


def test_what_is_left_to_python_says_why() -> None:
    def f(x: Tensor) -> Tensor:
        for _ in range(2):
            with torch.no_grad():
                torch._dynamo.graph_break()  # not where Dynamo can resume
        return x + 1

    found = tilewright.explain(f, torch.randn(3))
    assert (found.graphs, found.graph_breaks) == ((), ())
    (untraced,) = found.untraced
    assert untraced.reason.startswith("Call to `torch._dynamo.graph_break()`: User-inserted graph break")
    assert "\nnot traced: Call to `torch._dynamo.graph_break()`" in str(found)
    assert tilewright.explain(torch.sin, torch.randn(3)).untraced == ()


def test_a_module_of_torch_itself_is_the_place_where_no_line_is_the_users() -> None:
    with torch.no_grad():
        found = tilewright.explain(nn.EmbeddingBag(20, 7), torch.tensor([1, 2]), torch.tensor([0]))
    ((fallback,),) = (graph.fallbacks for graph in found.graphs)
    assert (fallback.op, fallback.place) == ("aten::_embedding_bag", "EmbeddingBag")


def test_missed_fusions_have_places() -> None:
    def f(x: Tensor) -> tuple[Tensor, Tensor]:
        rows = x.sum(0)
        return rows, (x - rows).sum(1)

    found = tilewright.explain(f, torch.randn(64, 48))
    assert any(HERE in remark.location for remark in found.remarks)
    assert all(remark.why for remark in found.remarks)
    assert "remark (" in str(found)


def test_remarks_of_live_compiles_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    def f(x: Tensor) -> Tensor:
        return (x - x.sum(0)).sum(1)

    with caplog.at_level(logging.INFO, "tilewright.remarks"):
        torch.compile(f, backend="mlir")(torch.randn(64, 48))
    assert any(record.name == "tilewright.remarks" for record in caplog.records)


def test_a_graph_that_aten_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nowhere/c++")
    from tilewright.frontend.runtime import aten_runtime

    aten_runtime.forget_warnings()
    with pytest.warns(RunsByAten):
        found = tilewright.explain(lambda x: x.sin() + 1, torch.randn(3))
    (graph,) = found.graphs
    assert graph.by_aten is not None
    assert graph.by_aten.startswith("TW2103")
    assert "TW2103" in str(found)


@pytest.mark.parametrize("isolated", [True, False])
def test_explaining_often_leaves_the_function_compilable(
    isolated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not isolated:  # as with torch 2.11
        monkeypatch.setattr(dynamo_internals, "_knows_isolated_compiles", lambda: False)
    m, x = model(), torch.randn(8, 64)
    counts = {tilewright.explain(m, x).kernels for _ in range(10)}
    assert len(counts) == 1
    assert 0 not in counts
    compiled = torch.compile(m, backend="mlir", fullgraph=True)  # would raise at the limit of recompiles
    torch.testing.assert_close(compiled(x), m(x), rtol=1e-4, atol=1e-4)


def test_dumps_hold_every_stage_and_the_source(tmp_path: Path) -> None:
    tilewright.explain(lambda x: x.sin() + 1, torch.randn(3), options={"dump": str(tmp_path)})
    (folder,) = tmp_path.iterdir()
    names = sorted(path.name for path in folder.iterdir())
    assert names[0] == "00-import.mlir"
    assert names[-1] == "kernels.cpp"
    assert any(name.endswith("-apply-schedule.mlir") for name in names)


def test_a_broken_stage_is_dumped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.frontend.runtime import lower
    from tilewright.passes.manager import BrokenByPass, PassRun

    def refuse(run: PassRun, module: object) -> None:
        if run.name == "fuse":
            raise BrokenByPass(index=run.index, name=run.spec, reason="for this test")

    monkeypatch.setattr(lower, "verify_hook", lambda: refuse)
    options = {"dump": str(tmp_path), "verify": True}
    with pytest.raises(Exception, match="TW3904"):
        torch.compile(lambda x: x.sin() + 1, backend="mlir", options=options)(torch.randn(3))
    (folder,) = tmp_path.iterdir()
    assert max(path.name for path in folder.glob("*.mlir")).endswith("-fuse.mlir")


def test_the_report_is_short_and_names_places_as_people_do() -> None:
    remark = Remark("tw.matmul", 'loc("n"("/tmp/model.py":8:0))', "not packed")
    passes = {"fuse": 0.0021, "dce": 0.0004, "cse": 0.0002}
    kernels = {"a": 1, "b": 2}
    graph = GraphReport("forward", kernels, {"mm": 1}, {}, (), None, "0", "0", ("f32",), {}, {}, passes)
    lines = str(Explanation(None, (graph,), (), (), (remark, remark), {"aot": 1.0})).splitlines()
    assert lines[0] == "1 graph, 0 graph breaks, 2 kernels, 1 library call, 0 fall-backs"
    assert lines[2] == "graph 0, forward: 2 kernels in 3 launches, 1 library call"
    assert "  derived: 1 tensor, f32" in lines
    assert "  passes:  fuse 0.002, 2 others below 0.001 each" in lines
    assert lines[-1] == "remark (2x): tw.matmul at model.py:8 (n): not packed"
