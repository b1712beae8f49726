"""Compiled kernels that turn rows into columns: every element type, whole and partial blocks."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from test_cpu_kernels import DTYPES, run, sample

SIZES = ((1, 1), (3, 40), (16, 16), (37, 19), (64, 33), (130, 65))


def turned(number: int, rows: int, columns: int, name: str) -> str:
    """A kernel that copies the columns of `x` into rows, all but the last of either."""
    count = rows * columns
    over = f'0 = "0" count "{columns}", 1 = "0" count "{rows}"'
    memory = f"memref<{count}x{name}>"
    return f"""
    tk.func @k{number} [{columns}, {rows}] (%x: {memory}, %o: {memory}) scheduled {{
      tk.turn %x[d0 + d1*{columns}] into %o[d0*{rows} + d1] over {over} : {memory}, {memory}
    }}"""


@pytest.mark.parametrize("name", list(DTYPES))
def test_rectangles_of_every_size(tmp_path: Path, name: str) -> None:
    for number, (rows, columns) in enumerate(SIZES):
        x = sample(DTYPES[name], rows * columns)
        kernel = turned(number, rows, columns, name).replace(f"@k{number}", "@k")
        (got,) = run(tmp_path, kernel, [x], [(name, rows * columns)])
        assert torch.equal(got.view(columns, rows), x.view(rows, columns).t())
