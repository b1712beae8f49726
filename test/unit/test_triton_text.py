"""Triton text computes what its kernel says: executed on CPU tensors, bounds and races checked."""

from __future__ import annotations

import pytest
from test_tk_schedule import CASES
from tk_harness import check
from triton_harness import GPU, check_text


@pytest.mark.parametrize("name", CASES)
def test_text_computes_what_the_kernel_says(name: str) -> None:
    check_text(CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_tiles_keep_the_meaning(name: str) -> None:
    check(CASES[name], GPU)
