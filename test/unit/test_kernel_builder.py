"""Kernels written op by op: what is loaded widens, what is stored narrows, indices are checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region

from tilewright.dialects.index_expr import Expr, Var, dim, gathered, parse_exprs, sym
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.arith import ROUNDED
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.types import ELEMENT_TYPES, sizes_of_type, tensor_type
from tilewright.passes.kernels.kernel_builder import KernelBuilder

HERE = FileLineColLoc(StringAttr("m.py"), IntAttr(3), IntAttr(0))
Write = Callable[[KernelBuilder], None]


def tensor(text: str) -> Attribute:
    """`f32 4, s0`; `f32` is a number."""
    element, _, sizes = text.partition(" ")
    return tensor_type(ELEMENT_TYPES[element], parse_exprs(sizes))


def built(inputs: Sequence[str], result: str, write: Write, **how: bool) -> KernelBuilder:
    """A kernel over the elements of its first result, alone in a function of its operands."""
    types, given = [tensor(text) for text in result.split("; ")], [tensor(text) for text in inputs]
    block = Block(arg_types=given)
    b = KernelBuilder(HERE, sizes_of_type(types[0]), block.args, types, **how)
    write(b)
    block.add_ops([b.kernel, ReturnOp(*b.kernel.results)])
    ModuleOp([FuncOp("main", (given, types), Region(block))]).verify()
    assert {op.location for op in b.kernel.walk()} == {HERE}
    return b


def run(b: KernelBuilder, *inputs: Any) -> Any:
    module = b.kernel.get_toplevel_object()
    assert isinstance(module, ModuleOp)
    return interpret(module, [np.array(x) for x in inputs], np, symbols={Var("s", 0): 3})[0]


KINDS = {"f64": "f64", "f32": "f32", "bf16": "f32", "i64": "i64", "i8": "i32", "ui8": "i32", "i1": "i1"}
NUMPY = {"i8": np.int8, "ui8": np.uint8, "i1": np.bool_}


@pytest.mark.parametrize("element", KINDS)
def test_what_is_loaded_is_of_the_compute_type_and_stored_as_it_was(element: str) -> None:
    for sizes, values in ((" 3", [0, 1, 200]), ("", 1), (" 0", [])):
        b = built([element + sizes], element + sizes, lambda b: b.store(b.load(0, b.axes), b.axes))
        x = np.array(values).astype(NUMPY.get(element, np.float64))
        np.testing.assert_array_equal(run(b, x), x)
        load, *rest = b.kernel.body.block.ops
        assert str([load, *rest][-2].results[0].type) == KINDS[element]
        assert len(rest) == (1 if KINDS[element] == element else 2), "what was widened is not narrowed"


@pytest.mark.parametrize(
    ("result", "decides", "rounded"),
    [("f32", False, False), ("f32", True, True), ("i1", False, True), ("f32; i64", False, True)],
)
def test_kernels_that_decide_read_rounded_halves(result: str, decides: bool, rounded: bool) -> None:
    def write(b: KernelBuilder) -> None:
        values = [b.load(number, b.axes) for number in range(2)]
        found = [ROUNDED in value.owner.attributes for value in values if isinstance(value.owner, Operation)]
        assert found == [rounded, False]
        for number, element in enumerate(result.split("; ")):
            b.store(b.constant(1, ELEMENT_TYPES[element]), b.axes, number)

    built(["bf16", "f32"], result, write, decides=decides)


def test_indices_are_constants_or_expressions() -> None:
    def write(b: KernelBuilder) -> None:
        three, place = b.index(3), b.index(dim(0) + sym(0))
        assert isinstance(three.owner, arith.ConstantOp)
        assert b.index(parse_exprs("s0 - s0 + 3")[0]) is three
        assert three.type == place.type == i64
        b.store(b.op(arith.AddiOp, place, three), b.axes)

    assert run(built([], "i64 4", write)).tolist() == [6, 7, 8, 9]


@pytest.mark.parametrize(("size", "wanted"), [(sym(0), [0, 0, 1, 1, 1, 0]), (sym(0) - 3, [0] * 6)])
def test_within_is_half_open(size: Expr, wanted: list[int]) -> None:
    b = built([], "i1 6", lambda b: b.store(b.within(dim(0) - 2, size), b.axes))
    assert run(b).tolist() == wanted


def test_all_of_nothing_is_no_condition() -> None:
    def write(b: KernelBuilder) -> None:
        conditions = [b.load(i, b.axes) for i in range(3)]
        assert b.all_true([]) is None
        assert b.all_true(conditions[:1]) is conditions[0]
        b.store(b.all_true(conditions) or conditions[0], b.axes)

    bits = np.arange(8)[None] >> np.arange(3)[:, None] & 1
    assert run(built(["i1 8"] * 3, "i1 8", write), *bits.astype(np.bool_)).tolist() == [0] * 7 + [1]


@pytest.mark.parametrize(("wraps", "wanted"), [(True, [7, 9, 9, -7, -7]), (False, [7, 9, -7, -7, -7])])
def test_indices_out_of_range_read_the_first_element_and_are_reported(wraps: bool, wanted: list[int]) -> None:
    def write(b: KernelBuilder) -> None:
        index, inside = b.checked_index(b.load(0, b.axes), sym(0), wraps=wraps)
        value = b.load(1, [gathered(0)], [index])
        b.store(b.select(inside, value, b.op(arith.SubiOp, b.constant(0, i64), value)), b.axes)

    b, inputs = built(["i64 5", "i64 s0"], "i64 5", write), ([0, 2, -1, 3, -4], [7, 8, 9])
    with pytest.raises(IndexError, match="index out of range"):
        run(b, *inputs)
    (check,) = (op for op in b.kernel.walk() if isinstance(op, AssertOp))
    check.detach()
    assert run(b, *inputs).tolist() == wanted


def test_stores_run_over_the_axes_they_name() -> None:
    def write(b: KernelBuilder) -> None:
        b.store(b.load(0, (0, 0)), (0, 1), combine="add", mask=b.load(1, ()), over=b.axes[1:])

    store = built(["bf16 1, 1", "i1"], "bf16 4, 2", write).kernel.body.block.last_op
    assert isinstance(store, StoreOp)
    assert (store.over, store.combine, store.mask is None) == ((1,), StringAttr("add"), False)
