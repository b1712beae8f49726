"""What `fuse` remembers or guesses of a kernel is what a look at all of its body would find."""

from __future__ import annotations

from collections import Counter

import pytest
from test_lit_keeps_meaning import PASSES, modules
from xdsl.ir import OpResult

from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.fusion import computed_again
from tilewright.passes.fusion.contents import Bodies, Contents
from tilewright.passes.fusion.inline import axis_values, producer_of
from tilewright.passes.fusion.staying import stays
from tilewright.passes.fusion.worth import Memory, recompute_costs_more
from tilewright.passes.manager import parse_pipeline, run_pipeline

FILES = ("fuse", "fuse_siblings", "fuse_undoes_splits", "chain_products_attention", "canonicalize")
PIPELINES = tuple(
    parse_pipeline(f"convert-tw-to-tk{{products=half}},absorb-views,dce,{fusion},fuse-siblings")
    for fusion in ("fuse", "fuse{hold-back=true tile=128 far=true}")
)


def fused(name: str) -> None:
    for module in modules(PASSES / f"{name}.mlir"):
        for passes in PIPELINES:
            run_pipeline(new_context(), module.clone(), passes)


def test_contents_are_those_of_the_body(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Bodies.of
    asked: Counter[KernelOp] = Counter()

    def checked(self: Bodies, kernel: KernelOp) -> Contents:
        found, new = kept(self, kernel), kept(Bodies(), kernel)
        asked[kernel] += 1
        assert (found.block, found.ops, found.loads) == (new.block, new.ops, new.loads)
        assert set(found.stores) == set(new.stores)
        assert (found.over, found.scans) == (new.over, new.scans)
        return found

    monkeypatch.setattr(Bodies, "of", checked)
    for name in FILES:
        fused(name)
    assert asked.total() > 3 * len(asked) > 1000


def test_what_stays_costs_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at the last few ops refuses nothing that the whole question would not."""
    asked: Counter[bool] = Counter()

    def checked(value: OpResult, consumer: KernelOp, loads: list[LoadOp], bodies: Bodies) -> bool:
        found, producer = stays(value, consumer, loads, bodies), producer_of(value)
        asked[found] += 1
        if found and not isinstance(producer, str):
            places = [axis_values(producer, load, consumer.space, checks=True) for load in loads]
            if all(not isinstance(place, str) for place in places):
                for memory in (Memory(1, far=False), Memory(128, far=True)):
                    assert recompute_costs_more(value, producer, consumer, loads, memory)
        return found

    monkeypatch.setattr(computed_again, "stays", checked)
    for name in FILES:
        fused(name)
    assert min(asked[True], asked[False]) > 50
