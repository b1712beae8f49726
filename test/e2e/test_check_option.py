"""`options={"check": "each-pass"}`, and what a failing compile leaves behind."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tilewright.frontend.dump import load_flags
from tilewright.frontend.tools.tool_io import load_passes
from tilewright.passes.registry import TABLE, register_pass

WRONG = Path(__file__).parents[1] / "tools" / "Inputs" / "turn_differences.py"
BROKEN = WRONG.parent / "broken_rules.py"


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(16, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.softmax(self.linear(x), -1)
        return (x.sum(-1, keepdim=True) - y).relu()


def test_every_pass_and_the_compiled_code_are_checked(caplog: pytest.LogCaptureFixture) -> None:
    model, x = Net().eval(), torch.randn(5, 16)
    compiled = torch.compile(model, backend="mlir", options={"check": "each-pass"})
    with torch.no_grad(), caplog.at_level(logging.INFO, "tilewright.check"):
        torch.testing.assert_close(compiled(x), model(x))
    (line,) = [r.getMessage() for r in caplog.records if r.name == "tilewright.check"]
    assert "kept its meaning (compiled: 5 inputs)" in line
    assert int(re.findall(r"(\d+) comparisons", line)[0]) >= 50  # after each pass that changes something


def test_a_wrong_pass_is_named_and_leaves_a_repro(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)  # of the tools that run.sh names
    load_passes(str(WRONG))
    options = {
        "check": "each-pass",
        "cache_dir": str(tmp_path),
        "insert": {"before:decompose": ["turn-differences"]},
    }
    with torch.no_grad(), pytest.raises(Exception, match="TW3921: pass 4 `turn-differences`") as caught:
        torch.compile(Net().eval(), backend="mlir", options=options)(torch.randn(5, 16))
    message = str(caught.value)
    assert "culprit: rewrite 1 of" in message
    assert "test_check_option.py" in message
    (folder,) = (tmp_path / "repros").iterdir()
    assert f"repro: {folder}" in message
    facts = json.loads((folder / "repro.json").read_text())
    assert "turn-differences" in facts["pipeline"]
    assert facts["error"].startswith("ChangedMeaning: TW3921")
    assert "torch" in facts["versions"]
    # Another process, without the model: the file that added the pass is loaded.
    done = subprocess.run(["sh", str(folder / "run.sh")], capture_output=True, text=True)
    assert "TW3921: pass 4 `turn-differences` changed what @main computes" in done.stderr


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"insert": {"after:fuze": ["dce"]}}, "TW3912: no place `after:fuze`"),
        ({"pipeline": "fuse{"}, "TW3903: cannot read the pipeline"),
        ({"pipeline": "fuze"}, "TW3901: no pass is named `fuze`"),
        ({"pipeline": "fuse{oops=1}"}, "TW3902: `fuse` does not take these options"),
        ({"dump": "/proc/nope"}, "TW1902: cannot write"),
        ({"dump": "/proc"}, "TW1902: cannot write"),
        ({"target_options": {"foo": 1}}, "TW1001: unknown option `target_options: foo`"),
        (
            {"target": "gpu_emulated", "target_options": {"wait_for_checks": 1}},
            "TW1001: unknown option `target_options: wait_for_checks`",
        ),
    ],
)
def test_a_mistake_in_the_options_is_said_once_and_leaves_no_repro(
    options: dict[str, Any], error: str, tmp_path: Path
) -> None:
    options["cache_dir"] = str(tmp_path)
    with pytest.raises(Exception, match=error) as caught:
        torch.compile(torch.sin, backend="mlir", options=options)(torch.ones(3))
    assert str(caught.value).count(error[:6]) == 1
    assert "repro" not in str(caught.value)
    assert not (tmp_path / "repros").exists()


def negated_exp(x: torch.Tensor) -> torch.Tensor:
    return (-x).exp()


def test_inserted_passes_are_verified(tmp_path: Path) -> None:
    options: Any = {"cache_dir": str(tmp_path), "insert": {"before:canonicalize": ["use-before-definition"]}}
    load_passes(str(BROKEN))
    with pytest.raises(Exception, match="TW3904: the module does not verify after pass 1") as caught:
        torch.compile(negated_exp, backend="mlir", options=options)(torch.ones(3))
    assert "TW3905: operand 0 of `tw.exp` does not dominate this use" in str(caught.value)


def test_a_repro_says_what_only_the_program_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    def mine(ctx: object, module: object) -> None:
        """Nothing."""

    mine.__module__ = "__main__"
    monkeypatch.setattr(TABLE, "added", {})
    register_pass("of-the-program")(mine)
    assert load_flags().sources == ()
    assert load_flags().missing[0].startswith("Not known here: pass of-the-program")
