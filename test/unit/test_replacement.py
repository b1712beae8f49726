"""New ops stand in front of the op whose place they take, where it stood in the program."""

from __future__ import annotations

import pytest
from tk_harness import parse
from xdsl.dialects.builtin import FloatAttr, ModuleOp, bf16, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block

from tilewright.dialects.tw.elementwise import ExpOp, NegOp
from tilewright.dialects.tw.elementwise_binary import CastOp
from tilewright.dialects.tw.view import PadOp
from tilewright.passes.layout.replacement import Replacement

X = "tensor<3x5xf32>"


def replacement() -> tuple[Block, Replacement[ExpOp]]:
    """Of an op that two others read."""
    module: ModuleOp = parse(f"""func.func @main(%x: {X}) -> ({X}, {X}) {{
      %a = tw.sin %x : {X} loc("m.py":2:1)
      %e = tw.exp %a : {X} loc("m.py":3:1)
      %n = tw.mul %e, %e : {X} loc("m.py":4:1)
      func.return %e, %n : {X}, {X}
    }}""")
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    (op,) = (op for op in module.walk() if isinstance(op, ExpOp))
    return function.body.block, Replacement(op)


def names(block: Block) -> list[str]:
    return [op.name.partition(".")[2] for op in block.ops]


def test_new_ops_stand_in_front_in_their_order() -> None:
    block, new = replacement()
    first = new.put(NegOp(new.op.operand))
    second = new.put(CastOp(first, bf16))
    assert names(block) == ["sin", "neg", "cast", "exp", "mul", "return"]
    assert second.owner is new.op.prev_op
    assert {str(op.location) for op in (first.owner, second.owner) if not isinstance(op, Block)} == {
        'loc("m.py":3:1)'
    }


def test_all_readers_read_what_takes_its_place() -> None:
    block, new = replacement()
    source = new.op.operand
    result = new.put(NegOp(source))
    new.finish(result)
    assert names(block) == ["sin", "neg", "mul", "return"]
    *_, product, leave = block.ops
    assert list(product.operands) == [result, result]
    assert leave.operands[0] is result
    assert result.name_hint == "e"
    assert [use.operation for use in source.uses] == [result.owner]


@pytest.mark.parametrize(("element", "casts"), [(f32, False), (bf16, True)])
def test_what_has_the_element_is_not_cast(element: Attribute, casts: bool) -> None:
    block, new = replacement()
    value = new.cast(new.op.operand, element)
    assert isinstance(value.owner, CastOp) == casts
    assert (value is new.op.operand) != casts
    assert len(names(block)) == 4 + casts


@pytest.mark.parametrize(("low", "high"), [([1, 0], [0, 0]), ([0, 0], [0, 2]), ([0, 1], [3, 0])])
def test_zeros_stand_before_and_behind(low: list[int], high: list[int]) -> None:
    _, new = replacement()
    owner = new.padded(new.op.operand, low, high).owner
    assert isinstance(owner, PadOp)
    assert (owner.low.data, owner.high.data) == (", ".join(map(str, low)), ", ".join(map(str, high)))
    assert owner.value == FloatAttr(0.0, f32)


def test_nothing_is_padded_by_nothing() -> None:
    block, new = replacement()
    assert new.padded(new.op.operand, [0, 0], [0, 0]) is new.op.operand
    assert len(names(block)) == 4
