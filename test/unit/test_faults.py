"""The list of injected bugs: each can be put into the sources, every part has some, the page names all."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))

from fault import Fault
from faults import FAULTS
from results import Memory, Result, Results

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_bug_can_be_put_in(fault: Fault) -> None:
    text = fault.text(ROOT)
    assert fault.bug
    assert text != (ROOT / fault.file).read_text()
    if fault.file.endswith(".py"):
        compile(text, fault.file, "exec")


def test_names_differ_and_every_part_has_bugs() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 60
    parts = Counter(fault.file.rpartition("/")[0] for fault in FAULTS)
    passes = {f"passes/{name}" for name in ("tensor", "layout", "fusion", "host", "schedule")}
    targets = {f"targets/{name}" for name in ("cpu_openmp", "gpu_triton", "native")}
    assert {*passes, *targets, "frontend/aten"} <= parts.keys()


def test_the_page_lists_every_bug() -> None:
    page = (ROOT / "docs/faults.md").read_text()
    assert [fault.name for fault in FAULTS if f"`{fault.name}`: {fault.bug}" not in page] == []


def _results(folder: Path) -> Results:
    return Results(folder, Memory(folder / "caught.json"))


def test_results_of_changed_bugs_do_not_count(tmp_path: Path) -> None:
    results = _results(tmp_path)
    fault = Fault("f", "file.py", "a", "b", "")
    results.put(fault, Result(fault.digest, "test", "lit", 1.0))
    assert results.of(fault) is not None
    assert results.of(Fault("f", "file.py", "a", "c", "")) is None


def test_a_report_remembers_which_test_to_ask_first(tmp_path: Path) -> None:
    caught, missed, other = (Fault(name, "file.py", "a", "b", "") for name in ("caught", "missed", "other"))
    results = _results(tmp_path / "here")
    results.put(caught, Result(caught.digest, "test/x.mlir", "lit", 1.0))
    results.put(missed, Result(missed.digest, "", "near", 1.0))
    results.memory.write([caught, missed, other], results)
    known = Memory(tmp_path / "here/caught.json")
    assert [known.test(fault) for fault in (caught, missed, other)] == [["test/x.mlir"], [], []]
    elsewhere = Results(tmp_path / "there", known)
    assert [elsewhere.of(f) is not None for f in (caught, missed, other)] == [True, True, False]
    assert known.test(Fault("caught", "file.py", "a", "c", "")) == []


_SOUND = """
from pathlib import Path
from trial import sound

tree = Path({tree!r})
passes, fails, gone = (f"test_it.py::test_{{name}}" for name in ("passes", "fails", "gone"))
print([sound(tree, names, tree / "cache") for names in ([passes], [passes, fails], [passes, gone])])
"""


def test_tests_that_catch_bugs_must_be_there_and_pass_without(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / "test_it.py").write_text("def test_passes(): pass\n\ndef test_fails(): assert False\n")
    program = [sys.executable, "-c", _SOUND.format(tree=str(tmp_path))]
    done = subprocess.run(program, cwd=ROOT / "test/faults", capture_output=True, text=True, check=True)
    answers = [line for line in done.stdout.splitlines() if not line.startswith("fail without a bug")]
    assert answers == ["[True, False, False]"]


def test_one_process_has_a_bug_at_a_time(tmp_path: Path) -> None:
    fault = Fault("f", "file.py", "a", "b", "")
    with _results(tmp_path).claim(fault) as first, _results(tmp_path).claim(fault) as second:
        assert (first, second) == (True, False)
    with _results(tmp_path).claim(fault) as again:
        assert again
