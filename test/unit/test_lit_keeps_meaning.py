"""Every lit input of test/passes is run before and after its passes, on seeded and boundary inputs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lit_modules import modules
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilewright.dialects.diagnostics import BrokenByPass, FailedPass, TilewrightError
from tilewright.dialects.registry import new_context
from tilewright.frontend.check.aten_callback import aten_callback
from tilewright.frontend.check.errors import ChangedMeaning
from tilewright.frontend.check.session import SemanticCheck
from tilewright.passes.manager import parse_pipeline, run_pipeline

PASSES = Path(__file__).parents[1] / "passes"
RUN = re.compile(r"// RUN: (?:not )?tilewright-opt %s -p (\"[^\"]*\"|'[^']*'|\S+)")
BUDGET = 0.02
"""Seconds for one run, as estimated: what is larger is run by the end-to-end tests."""

NOT_RUN = {
    "apply_schedule_long_sums": "too large; test/e2e/test_roundings.py runs what is like it",
    "bufferize_dropout": "no pass accepts it",
    "bufferize_errors": "no pass accepts it",
    "bufferize_narrow_products": "no pass accepts it",
    "reduce_at_once_calls": "it calls what is not defined",
    "sum_in_products_large": "too large",
    "schedule_gpu_masks": "long attention; test/e2e/test_gpu_masks.py runs what is like it",
}
"""Files of which no function is run, and why."""


def pipelines(text: str) -> list[tuple[ModulePass, ...]]:
    found = dict.fromkeys(match.strip("\"'") for match in RUN.findall(text))
    passes: list[tuple[ModulePass, ...]] = []
    for pipeline in found:
        try:
            passes.append(parse_pipeline(pipeline))
        except TilewrightError:
            continue  # a test of the error
    return passes


def made_otherwise(module: ModuleOp) -> set[str]:
    """Ops of a class that no parser makes of their text, which equal ops from text would not equal."""
    context = new_context()
    return {op.name for op in module.walk() if type(op) is not context.get_optional_op(op.name)}


FILES = sorted(path.stem for path in PASSES.glob("*.mlir"))


@pytest.mark.parametrize("name", FILES)
def test_passes_keep_the_meaning_of_their_lit_inputs(name: str) -> None:
    path = PASSES / f"{name}.mlir"
    comparisons = 0
    for module in modules(path):
        for passes in pipelines(path.read_text()):
            copy = module.clone()
            check = SemanticCheck(copy, aten=aten_callback, budget=BUDGET)
            try:
                run_pipeline(new_context(), copy, passes, hooks=[check])
            except (ChangedMeaning, BrokenByPass, FailedPass):
                raise
            except TilewrightError:
                pass  # the pass refuses this input, which its lit test expects
            assert not made_otherwise(copy)
            comparisons += check.checked
    assert (comparisons == 0) == (name in NOT_RUN), f"{comparisons} comparisons"
