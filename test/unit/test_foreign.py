"""Ops of other packages are lowered by the functions that those register: per element, or to a kernel."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from tw_harness import module_of, to_numpy
from xdsl.dialects import arith
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import AnyAttr, IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def

from tilewright.dialects import plugins
from tilewright.dialects.diagnostics import BrokenPlugin, RegistrationClash
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.base import Elementwise
from tilewright.dialects.types import sizes_of
from tilewright.passes.kernels.kernel_builder import KernelBuilder
from tilewright.passes.kernels.scalar_builder import ScalarBuilder
from tilewright.passes.lowering import foreign
from tilewright.passes.lowering.lowerings import lowering_of
from tilewright.passes.manager import parse_pipeline, run_pipeline, verify_hook


@irdl_op_definition
class TwiceOp(IRDLOperation):
    name = "mine.twice"
    source = operand_def(AnyAttr())
    result = result_def(AnyAttr())
    traits = traits_def(Elementwise())


@pytest.fixture(autouse=True)
def tables(monkeypatch: pytest.MonkeyPatch) -> list[plugins.Table[Any]]:
    """Both tables, empty for a test."""
    groups = ("tilewright.scalar_rules", "tilewright.lowerings")
    found = [table for table in plugins.TABLES if table.group in groups]
    for table in found:
        for name in ("added", "_loaded", "_plugins"):
            monkeypatch.setattr(table, name, dict[str, Any]())
    return found


def twice(b: ScalarBuilder, op: TwiceOp, args: Sequence[SSAValue]) -> SSAValue:
    (x,) = args
    assert str(x.type) in ("f32", "i32")
    return b.op(arith.AddiOp if str(x.type) == "i32" else arith.AddfOp, x, x)


def flip(op: AnyOp) -> KernelOp:
    b = KernelBuilder(op.location, sizes_of(op.operands[0]), op.operands, op.result_types)
    b.store(b.load(0, (b.kernel.space[0] - 1 - b.axes[0], *b.axes[1:])), b.axes)
    return b.kernel


def other(*_: Any) -> Any: ...


def computed(kind: type[Operation], x: torch.Tensor) -> np.ndarray:
    module = module_of([x], lambda v: kind.create(operands=v, result_types=[v[0].type]))
    run_pipeline(new_context(), module, parse_pipeline("convert-tw-to-tk"), hooks=[verify_hook()])
    return interpret(module, [to_numpy(x)], np)[0]


BYTES = [torch.tensor([100, -100], dtype=torch.int8), torch.tensor([200, 3], dtype=torch.uint8)]
ROWS = [*BYTES, torch.tensor([1, -0.0]), torch.tensor([[0.1, 2.0], [3.0, 4.0]]).bfloat16(), torch.empty(0, 3)]


def test_registered_functions_lower_ops() -> None:
    """In compute types, on any shape; what is stored wraps and rounds."""
    assert foreign.register_scalar_rule(TwiceOp)(twice) is twice
    assert foreign.register_lowering(AnyOp)(flip) is flip
    for x in (*ROWS, torch.tensor(2.5)):
        np.testing.assert_array_equal(computed(TwiceOp, x), to_numpy(x + x))
    for x in ROWS:
        np.testing.assert_array_equal(computed(AnyOp, x), to_numpy(x.flip(0)))


def test_only_what_is_registered_for_the_op_is_found() -> None:
    """Neither by another name, nor in the other table, nor per element for what is not `Elementwise`."""
    foreign.register_scalar_rule(TwiceOp)(twice)
    foreign.register_lowering(AnyOp)(flip)
    names = ("mine.twice", "test.op", "mine.no")
    assert [foreign.foreign_scalar_rule(name) for name in names] == [twice, None, None]
    assert [foreign.foreign_lowering(name) for name in names] == [None, flip, None]
    foreign.register_scalar_rule(AnyOp)(other)
    assert lowering_of(AnyOp.create()) is flip


def test_a_second_function_for_an_op_is_refused() -> None:
    for _ in range(2):  # as a notebook cell that runs twice
        foreign.register_scalar_rule(TwiceOp)(twice)
        foreign.register_lowering(AnyOp)(flip)
    with pytest.raises(RegistrationClash, match=r"a scalar rule named `mine\.twice` exists already"):
        foreign.register_scalar_rule(TwiceOp)(other)
    with pytest.raises(RegistrationClash, match=r"a lowering named `test\.op` exists already"):
        foreign.register_lowering(AnyOp)(other)


def test_entry_points_name_functions(
    tables: list[plugins.Table[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for table in tables:
        places = {"f": "operator:neg", "x": "math:pi"}
        points = {name: plugins.Plugin(table.group, name, at, "pkg 1") for name, at in places.items()}
        monkeypatch.setattr(table, "_plugins", points)
    for find in (foreign.foreign_scalar_rule, foreign.foreign_lowering):
        assert find("f") is operator.neg
        with pytest.raises(BrokenPlugin, match="it is a float, not a function"):
            find("x")
