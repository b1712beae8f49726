"""Every lit input of test/passes is run before and after its passes, on seeded and boundary inputs.

Pipelines that lit runs with `--check-semantics` are left to it.
"""

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
RUN = re.compile(r"// RUN: (?:not )?tilewright-opt %s -p (\"[^\"]*\"|'[^']*'|\S+)(.*--check-semantics)?")
BUDGET = 0.02
"""Seconds for one run, as estimated: what is larger is run by the end-to-end tests."""

NOT_RUN = {
    "apply_schedule_long_sums": "too large; test/e2e/test_roundings.py runs what is like it",
    "bufferize_dropout": "no pass accepts it",
    "bufferize_errors": "no pass accepts it",
    "bufferize_narrow_products": "no pass accepts it",
    "canonicalize_failing": "nothing changes it",
    "fuse_refusals": "nothing changes it",
    "reduce_at_once_calls": "it calls what is not defined",
    "sum_in_products_large": "too large",
    "schedule_gpu_branches": "long rows; test/e2e/test_gpu_static.py compiles them",
    "schedule_gpu_chain_room": "long attention; test/e2e/test_gpu_static.py compiles it",
    "schedule_gpu_masks": "long attention; test/e2e/test_gpu_masks.py runs what is like it",
    "share_turned_loads": "values of test.op; test/e2e/test_gpu_turned_loads.py runs what is like it",
    "verify_upstream": "nothing changes it",
}
"""Files of which nothing is compared, and why."""


def pipelines(text: str) -> list[tuple[tuple[ModulePass, ...], bool]]:
    """The pipelines of a lit file, and whether lit itself checks what they keep."""
    found: dict[str, bool] = {}
    for pipeline, checked in RUN.findall(text):
        name = pipeline.strip("\"'")
        found[name] = bool(checked) or found.get(name, False)
    passes: list[tuple[tuple[ModulePass, ...], bool]] = []
    for pipeline, checked in found.items():
        try:
            passes.append((parse_pipeline(pipeline), checked))
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
    comparisons, by_lit = 0, False
    for module in modules(path):
        for passes, checked in pipelines(path.read_text()):
            copy = module.clone()
            check = None if checked else SemanticCheck(copy, aten=aten_callback, budget=BUDGET)
            by_lit |= checked
            try:
                run_pipeline(new_context(), copy, passes, hooks=[] if check is None else [check])
            except (ChangedMeaning, BrokenByPass, FailedPass):
                raise
            except TilewrightError:
                pass  # the pass refuses this input, which its lit test expects
            assert not made_otherwise(copy)
            comparisons += 0 if check is None else check.checked
    assert (comparisons == 0 and not by_lit) == (name in NOT_RUN), f"{comparisons} comparisons"
