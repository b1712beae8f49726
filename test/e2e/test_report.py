"""What the report collects, and the structure of its page (the page in a browser: test_report_page.py)."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import reported
import torch
from click.testing import CliRunner
from torch import Tensor, nn

import tilewright
from tilewright.dialects.diagnostics import TilewrightError
from tilewright.frontend.cli.main import tilewright as cli
from tilewright.frontend.report.layout import HEIGHT, WIDTH, place
from tilewright.frontend.report.remarks import REMEDIES, notes_of_remarks
from tilewright.frontend.report.render import data, page
from tilewright.frontend.report.session import GraphRecord, ReportRecord
from tilewright.frontend.report.stages import Place, Stage
from tilewright.passes.rewrite import Remark

ROWS, INNER, COLUMNS = 48, 32, 64


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> ReportRecord:
    module = reported.program(tmp_path_factory.mktemp("report"))
    with torch.no_grad():
        return reported.recorded(module.f, torch.randn(ROWS, INNER), torch.randn(INNER, COLUMNS))


@pytest.fixture(scope="module")
def graph(record: ReportRecord) -> GraphRecord:
    (found,) = record.graphs_seen
    return found


def lines_at(stage: Stage, line: int) -> list[str]:
    return [x.text for x in stage.lines if x.place is not None and x.place.line == line]


def test_every_form_of_the_graph_is_a_stage(graph: GraphRecord) -> None:
    names = [stage.name for stage in graph.stages]
    passes = [run.name for run in graph.trace.timing.runs]
    assert names == ["TorchDynamo's graph", "ATen graph (inference)", "import", *passes, "kernels.cpp"]
    assert all(stage.lines for stage in graph.stages)
    assert [s.seconds for s in graph.stages[3:-1]] == [run.seconds for run in graph.trace.timing.runs]


def test_a_source_line_is_found_at_every_level(graph: GraphRecord) -> None:
    by_name = {stage.name: stage for stage in graph.stages}
    assert any("torch.exp" in text for text in lines_at(by_name["TorchDynamo's graph"], reported.EXP))
    assert any("aten.exp" in text for text in lines_at(by_name["ATen graph (inference)"], reported.EXP))
    assert any("tw.exp" in text for text in lines_at(by_name["import"], reported.EXP))
    assert any("math.exp" in text for text in lines_at(by_name["apply-schedule"], reported.EXP))
    assert any("tw::exp" in text for text in lines_at(by_name["kernels.cpp"], reported.EXP))
    assert not any("exp" in text for text in lines_at(by_name["import"], reported.MEAN))


def test_changes_are_those_of_the_pass(graph: GraphRecord) -> None:
    for before, stage in pairwise(graph.stages[2:-1]):
        same = [x.text for x in before.lines] == [x.text for x in stage.lines]
        assert same == (stage.changed == 0 and stage.removed == 0), stage.name
    dce = next(stage for stage in graph.stages if stage.name == "dce")
    assert dce.changed <= 1  # it only takes away


def test_numbers_of_values_are_no_change(graph: GraphRecord) -> None:
    """The first `dce` that removes something renumbers what follows; that is not marked."""
    for before, stage in pairwise(graph.stages[2:-1]):
        if stage.name == "dce" and stage.removed:
            assert stage.ops == before.ops - stage.removed


def test_work_is_counted_by_hand(record: ReportRecord, graph: GraphRecord) -> None:
    content = data(record)["graphs"][0]
    steps = content["steps"]
    product = steps[0]
    assert product["name"] == "aten::mm.out" or "matmul" in product["name"]
    assert 2 * ROWS * INNER * COLUMNS <= product["flops"] <= 2 * ROWS * INNER * COLUMNS + 4 * ROWS * COLUMNS
    exponential = next(s for s in steps if "exp" in s["name"])
    # Reads h (the mean fused in or not), writes e; every element counts once.
    assert 2 * ROWS * COLUMNS * 4 <= exponential["bytes"] <= 2 * ROWS * COLUMNS * 4 + ROWS * 4
    svd = next(s for s in steps if "linalg" in s["name"])
    assert svd["kind"] == "library"
    assert svd["flops"] is None


def test_every_step_is_measured(record: ReportRecord, graph: GraphRecord) -> None:
    assert graph.measured is not None
    assert all(seconds > 0 for seconds in graph.measured.steps)
    assert sum(graph.measured.steps) <= graph.measured.call * 1.05
    content = data(record)
    assert content["machine"]["flops"] > 0
    assert len(content["machine"]["copies"]) >= 3


def test_steps_follow_what_they_read(record: ReportRecord) -> None:
    steps = data(record)["graphs"][0]["steps"]
    assert all(before < i for i, step in enumerate(steps) for before in step["after"])
    exponential = next(i for i, s in enumerate(steps) if "exp" in s["name"])
    svd = next(s for s in steps if "linalg" in s["name"])
    assert exponential in svd["after"] or any(exponential in steps[i]["after"] for i in svd["after"])


def test_memory_blocks_lie_in_the_arena_and_apart(record: ReportRecord) -> None:
    content = data(record)["graphs"][0]
    blocks = content["blocks"]
    assert blocks
    assert all(0 <= b["offset"] and b["offset"] + b["bytes"] <= content["arena"] for b in blocks)
    for i, a in enumerate(blocks):
        for b in blocks[:i]:
            in_time = a["first"] < b["last"] and b["first"] < a["last"]
            in_space = a["offset"] < b["offset"] + b["bytes"] and b["offset"] < a["offset"] + a["bytes"]
            assert not (in_time and in_space)


def test_fall_backs_stand_at_their_line(record: ReportRecord) -> None:
    content = data(record)
    notes = [n for n in content["graphs"][0]["notes"] if n["kind"] == "fall-back"]
    assert any("_linalg_svd" in n["what"] and n["what"].startswith("TW11") for n in notes)
    assert {content["places"][n["place"]][1] for n in notes} == {reported.LIBRARY}
    assert all(n["remedy"] for n in content["graphs"][0]["notes"])


def test_missed_fusions_have_a_cost_and_a_remedy() -> None:
    why = 'not fused with the kernel of loc("n"("/a/m.py":7:0)): both reduce, over other axes'
    remark = Remark("tk.kernel", 'loc("/a/m.py":9:0)', why, "tensor<16x8xf32>")
    (note,) = notes_of_remarks([remark, remark])
    assert note.place == Place("/a/m.py", 9)
    assert note.bytes == 2 * 16 * 8 * 4
    assert "m.py:7 (n)" in note.what
    assert "axes" in note.remedy


def test_remedies_answer_reasons_that_passes_give() -> None:
    """A row whose pattern no pass can say any more is dead."""
    root = Path(__file__).parents[2] / "passes"
    text = "\n".join(re.sub(r"\{[^}]*\}", "8", p.read_text()) for p in sorted(root.rglob("*.py")))
    dead = [pattern for pattern, _ in REMEDIES if re.search(pattern, text) is None]
    assert dead == []


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_page_stands_alone(record: ReportRecord) -> None:
    text = page(record)
    tags = _Tags()
    tags.feed(text)
    sources = [a for _, a in tags.tags if "src" in a or (a.get("href") or "data:,") != "data:,"]
    assert sources == []
    assert "http://www.w3.org/2000/svg" in text  # a name, no address
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text.replace("\\u003c", "<")) == []
    ids = {a["id"] for _, a in tags.tags if "id" in a}
    tabs = [a for tag, a in tags.tags if a.get("role") == "tab"]
    assert len(tabs) == 6
    assert all(tab["aria-controls"] in ids for tab in tabs)


def test_page_cannot_be_broken_out_of(record: ReportRecord, tmp_path: Path) -> None:
    source = tmp_path / "odd.py"
    source.write_text("def g(x):\n    return x * 2  # </script><script>alert(1)</script> <!-- \u2028\n")
    space: dict[str, Any] = {}
    exec(compile(source.read_text(), str(source), "exec"), space)
    with torch.no_grad():
        text = page(reported.recorded(space["g"], torch.randn(8)))
    assert "<script>alert" not in text
    embedded = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert embedded is not None
    files = json.loads(embedded.group(1))["files"]
    assert any("</script><script>alert(1)" in line for file in files for line in file["lines"])


def test_symbolic_sizes_take_the_values_of_the_call(tmp_path: Path) -> None:
    module = reported.program(tmp_path)
    with torch.no_grad():
        record = reported.recorded(module.f, torch.randn(20, 8), torch.randn(8, 24), dynamic=True)
    (graph,) = data(record)["graphs"]
    assert set(graph["symbols"].values()) >= {20}
    exponential = next(s for s in graph["steps"] if "exp" in s["name"])
    assert 2 * 20 * 24 * 4 <= exponential["bytes"] <= 2 * 20 * 24 * 4 + 20 * 4
    assert graph["guessed"] is False


def test_training_has_both_graphs_and_changes_nothing(tmp_path: Path) -> None:
    """Measuring runs the graphs again: gradients, buffers and random numbers are as without it."""

    def step(module: nn.Module, run: Any) -> list[Tensor]:
        torch.manual_seed(1)
        run(torch.randn(12, 6)).square().sum().backward()
        return [
            *[p.grad for p in module.parameters() if p.grad is not None],
            *module.buffers(),
            torch.randn(3),
        ]

    def fresh() -> nn.Module:
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))

    torch._dynamo.reset()
    plain = fresh()
    expected = step(plain, torch.compile(plain, backend="mlir"))
    watched = fresh()
    record = ReportRecord(
        options=reported.make_options({}), environment=reported.read_environment(), path=tmp_path / "r.html"
    )
    found: list[Tensor] = []
    reported.record_call(lambda compiled: found.extend(step(watched, compiled)), watched, record)
    assert [one.trace.kind for one in record.graphs_seen] == ["forward", "backward"]
    assert all(one.measured is not None for one in record.graphs_seen)
    for a, b in zip(found, expected, strict=True):
        assert torch.equal(a, b)
    assert (tmp_path / "r.html").stat().st_size > 10_000


def test_triton_text_is_linked_too(tmp_path: Path) -> None:
    module = reported.program(tmp_path)
    with torch.no_grad():
        record = reported.recorded(module.f, torch.randn(8, 8), torch.randn(8, 8), target="gpu_emulated")
    (graph,) = record.graphs_seen
    assert graph.stages[-1].name == "kernels.py"
    assert any("exp" in text for text in lines_at(graph.stages[-1], reported.EXP))
    assert graph.not_measured == "only code for CPUs is measured"
    assert all(step["seconds"] is None for step in data(record)["graphs"][0]["steps"])


def test_environment_variable_writes_a_page_per_compile(tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    script.write_text(
        "import torch\n"
        "@torch.compile(backend='mlir')\n"
        "def f(x):\n    return x + 1\n"
        "with torch.no_grad():\n    f(torch.ones(9)); f(torch.ones(9))\n"
    )
    folder = tmp_path / "pages"
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**reported.read_environment().variables, "TILEWRIGHT_REPORT": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    pages = sorted(p.name for p in folder.iterdir())
    assert pages == ["000-inference.html"]
    assert str(folder / pages[0]) in done.stderr
    assert all(re.search(r'"call_seconds":\d', (folder / name).read_text()) for name in pages)


def test_command_line(tmp_path: Path) -> None:
    reported.program(tmp_path)
    target = tmp_path / "out.html"
    arguments = ["report", f"{tmp_path / 'program.py'}:f", "--input", "8x4xf32", "--input", "4x8xf32"]
    done = CliRunner().invoke(cli, [*arguments, "-o", str(target)], catch_exceptions=False)
    assert done.exit_code == 0
    assert str(target) in done.output
    assert target.read_text().startswith("<!doctype html>")
    with pytest.raises(TilewrightError, match="TW1902"):
        tilewright.report(lambda x: x + 1, torch.ones(3), path=tmp_path / "no" / "such" / "folder.html")


@pytest.mark.parametrize("nodes", [0, 1, 7, 400])
def test_layout_places_nodes_apart_and_below_what_they_read(nodes: int) -> None:
    after = [sorted({i * 7 % i, i - 1, i // 2} - {i}) if i > 2 and i % 3 else [] for i in range(nodes)]
    found = place(after)
    assert len(found.nodes) == nodes
    for i, before in enumerate(after):
        assert all(found.nodes[b][1] + HEIGHT < found.nodes[i][1] for b in before)
    boxes = sorted((y, x) for x, y in found.nodes)
    for (ay, ax), (by, bx) in pairwise(boxes):
        assert ay != by or ax + WIDTH <= bx
    assert all(0 <= x and x + WIDTH <= found.width for x, _ in found.nodes)
    assert len(found.edges) == sum(map(len, after))
