"""`options={"check": "each-pass"}`, and what a failing compile leaves behind."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tilewright.frontend.tool_io import load_passes

WRONG = Path(__file__).parents[1] / "tools" / "Inputs" / "turn_differences.py"


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
    assert int(re.findall(r"(\d+) comparisons", line)[0]) >= 100


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
    # Without the module that registers the pass: the tool knows every pass but that one.
    done = subprocess.run(["sh", str(folder / "run.sh")], capture_output=True, text=True)
    assert done.returncode == 1
    assert "TW3901: no pass is named `turn-differences`" in done.stderr
    script = (folder / "run.sh").read_text().replace("tilewright-opt", f"tilewright-opt --load {WRONG}")
    (folder / "run.sh").write_text(script)
    done = subprocess.run(["sh", str(folder / "run.sh")], capture_output=True, text=True)
    assert "TW3921: pass 4 `turn-differences` changed what @main computes" in done.stderr
