"""The same program gives byte-identical IR and C++, whatever Python's hash seed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.heads, self.out = nn.Linear(16, 48), nn.Linear(16, 8)

    def forward(self, x):
        x = self.norm(self.conv(x)).relu().flatten(2).transpose(1, 2)
        q, k, v = self.heads(x).chunk(3, -1)
        x = nn.functional.dropout(torch.softmax(q @ k.transpose(1, 2), -1), 0.1, self.training) @ v
        return nn.functional.cross_entropy(self.out(x.mean(1)), torch.zeros(len(x), dtype=torch.int64))

model = Block()
torch.compile(model, backend="mlir")(torch.randn(2, 3, 6, 6)).backward()
with torch.no_grad():
    torch.compile(model.eval(), backend="mlir")(torch.randn(2, 3, 6, 6))
"""


def _dump(folder: Path, seed: str) -> dict[str, bytes]:
    """Every stage of every graph of PROGRAM, by its name."""
    environment = {**os.environ, "PYTHONHASHSEED": seed, "TILEWRIGHT_DUMP": str(folder)}
    subprocess.run([sys.executable, "-c", PROGRAM], env=environment, check=True, timeout=300)
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_hash_seed_does_not_matter(tmp_path: Path) -> None:
    first, second = _dump(tmp_path / "a", "0"), _dump(tmp_path / "b", "4711")
    assert len({Path(name).parent for name in first}) == 3  # forward, backward, inference
    assert list(first) == list(second)
    assert [name for name in first if first[name] != second[name]] == []
