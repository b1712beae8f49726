"""How far align-reductions looks around a reduction, whatever many others read the same tensor."""

from __future__ import annotations

import pytest
from xdsl.ir import Operation
from xdsl.parser import Parser

from tilewright.dialects.registry import new_context
from tilewright.passes.tensor.align_reductions import AlignReductionsPass

SQUARE = "tensor<512x512xf32>"


def looked_at(count: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """The ops that are looked at around so many sums of what is made with one tensor."""
    found: list[Operation] = []

    def nothing(op: Operation, total: int) -> None:
        found.append(op)

    monkeypatch.setattr(f"{AlignReductionsPass.__module__}._partly", nothing)
    lines = [
        f"%p{i} = tw.mul %x, %y : {SQUARE}\n%s{i} = tw.sum %p{i} over [0, 1] : {SQUARE} -> tensor<f32>"
        for i in range(count)
    ]
    names, types = (", ".join(part) for part in ([f"%s{i}" for i in range(count)], ["tensor<f32>"] * count))
    text = f"func.func @main(%x: {SQUARE}, %y: {SQUARE}) -> ({types}) {{\n" + "\n".join(lines)
    module = Parser(new_context(), f"{text}\nfunc.return {names} : {types}\n}}").parse_module()
    AlignReductionsPass().apply(new_context(), module)
    return len(found)


def test_each_sum_looks_at_as_much_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = looked_at(100, monkeypatch), looked_at(400, monkeypatch)
    assert 0 < many == 4 * few
