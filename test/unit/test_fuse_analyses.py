"""What `fuse` remembers or guesses of a kernel is what a look at all of its body would find."""

from __future__ import annotations

from collections import Counter

import pytest
from test_lit_keeps_meaning import PASSES, modules
from xdsl.dialects.builtin import f32
from xdsl.ir import Block, Operation, OpResult
from xdsl.parser import Parser

from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.fusion import computed_again, sizes, vanishing
from tilewright.passes.fusion.contents import Bodies, Contents
from tilewright.passes.fusion.fuse import Fuser
from tilewright.passes.fusion.inline import axis_values, producer_of
from tilewright.passes.fusion.sizes import SizesTogether
from tilewright.passes.fusion.staying import stays
from tilewright.passes.fusion.worth import Memory, recompute_costs_more
from tilewright.passes.kernels.scalar_builder import constant_op
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


READERS = 40


def test_questions_to_many_readers_stay_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked of a kernel is asked once for all of its readers, and is what a new look would find."""
    ops = [f"%{i} = tw.mul %e, %{i - 1} : tensor<4x33xf32>" for i in range(1, READERS)]
    sums = [f"%s{i} = tw.sum %{i} over [1] : tensor<4x33xf32> -> tensor<4xf32>" for i in range(1, READERS)]
    names, types = (", ".join(f"%s{i}" for i in range(1, READERS)), ", ".join(["tensor<4xf32>"] * 39))
    text = f"func.func @main(%x: tensor<4x33xf32>) -> ({types}) {{\n%e = tw.exp %x : tensor<4x33xf32>\n"
    lines = [*ops, *sums, f"func.return {names} : {types}", "}"]
    module = Parser(new_context(), (text + "\n".join(lines)).replace("%0 ", "%x ")).parse_module()
    asked: Counter[str] = Counter()

    def producer(value: OpResult) -> object:
        asked["producer"] += 1
        return producer_of(value)

    def together(self: SizesTogether, first: KernelOp, second: KernelOp) -> int:
        asked["counted"] += 1
        found = kept(self, first, second)
        assert found == kept(SizesTogether(Bodies()), first, second)
        return found

    kept = SizesTogether.of
    monkeypatch.setattr(vanishing, "producer_of", producer)
    monkeypatch.setattr(SizesTogether, "of", together)
    run_pipeline(new_context(), module, parse_pipeline("convert-tw-to-tk,fuse{far=true max-ops=16}"))
    assert asked["counted"] > 0
    assert 0 < asked["producer"] < 4 * READERS, asked


def test_kernels_are_walked_again_when_they_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers that wait behind a recurrence are met whenever it grows, and when it cannot grow any more."""
    text = """func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %e = tw.exp %x : tensor<8xf32>
      %s = tw.sin %e : tensor<8xf32>
      func.return %s : tensor<8xf32>
    }"""
    module = Parser(new_context(), text).parse_module()
    run_pipeline(new_context(), module, parse_pipeline("convert-tw-to-tk"))
    first, second = (op for op in module.walk() if isinstance(op, KernelOp))
    walked: list[Block] = []

    def walk(block: Block) -> list[Operation]:
        walked.append(block)
        return ops_of(block)

    monkeypatch.setattr(sizes, "ops_of", walk)
    together = SizesTogether(bodies := Bodies())
    assert [together.of(first, second) for _ in range(3)] == [6] * 3
    assert walked == [first.body.block, second.body.block]
    changed = first.body.block
    assert changed.last_op is not None
    changed.insert_op_before(constant_op(1.0, f32), changed.last_op)
    bodies.changed(first)
    assert together.of(first, second) == 7
    assert walked == [changed, second.body.block, changed]


def test_merged_kernels_leave_equal_ops(monkeypatch: pytest.MonkeyPatch) -> None:
    """What each step walks over grows with what a kernel computes, not with how many parts computed it."""
    terms = 24
    lines = ["%t0 = tw.exp %x : tensor<8xf32>"]
    for i in range(1, terms):
        lines += [f"%s{i} = tw.sin %x : tensor<8xf32>", f"%e{i} = tw.exp %s{i} : tensor<8xf32>"]
        lines += [f"%t{i} = tw.add %t{i - 1}, %e{i} : tensor<8xf32>"]
    lines += [f"func.return %t{terms - 1} : tensor<8xf32>", "}"]
    head = "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
    module = Parser(new_context(), head + "\n".join(lines)).parse_module()
    walked: list[int] = []

    def fuse(self: Fuser, value: OpResult, consumer: KernelOp) -> KernelOp | str:
        producer = value.op
        assert isinstance(producer, KernelOp)
        walked.append(max(len(ops_of(kernel.body.block)) for kernel in (producer, consumer)))
        return kept(self, value, consumer)

    kept = Fuser.fuse
    monkeypatch.setattr(Fuser, "fuse", fuse)
    run_pipeline(new_context(), module, parse_pipeline("convert-tw-to-tk,fuse{max-ops=40}"))
    assert max(walked) <= 40
    assert [len(ops_of(op.body.block)) for op in module.walk() if isinstance(op, KernelOp)] == [terms + 4]
