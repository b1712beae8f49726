"""A program whose lines the report tests know, and its report."""

from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import torch

from tilewright.frontend.environment import read_environment
from tilewright.frontend.options import make_options
from tilewright.frontend.report.session import ReportRecord, record_call

TEXT = """\
import torch


def f(x, w):
    h = torch.relu(x @ w)
    m = h.mean(-1, keepdim=True)
    e = torch.exp(h - m)
    q = (e @ e.T) @ e
    return q, torch.linalg.svdvals(e)


def deep(x):
    for i in range(100):
        x = x * 1.01 + i
        x = torch.relu(x) - x
    return x
"""
PRODUCT, MEAN, EXP, CHAIN, LIBRARY, LOOP = 5, 6, 7, 8, 9, 14
"""Line numbers of TEXT."""


def program(folder: Path) -> Any:
    """The program as a module in `folder`."""
    path = folder / "program.py"
    path.write_text(TEXT)
    spec = spec_from_file_location("program", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def recorded(
    function: Callable[..., Any], *args: Any, dynamic: bool | None = None, **options: Any
) -> ReportRecord:
    """What the report collects of one call."""
    torch._dynamo.reset()
    record = ReportRecord(options=make_options(options), environment=read_environment())
    record_call(lambda compiled: compiled(*args), function, record, dynamic)
    return record
