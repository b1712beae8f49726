"""What positions, sizes and numbers decide in a kernel is put in place; what differs stays."""

from __future__ import annotations

import numpy as np
import pytest
from kernels_harness import kernels_of, module_of, run
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.kernels.body import simplify_body
from tilewright.passes.kernels.known import fold_known

TENSORS = {"x": "f32 8", "r": "f32 8"}
CHOICE = """%0 = load x[d0]
%zero = arith.constant 0.0 : f32
%i = tk.index "{left}" : i64
%j = tk.index "{right}" : i64
%c = arith.cmpi {predicate}, %i, %j : i64
%1 = arith.select %c, %0, %zero : f32
store %1, r[d0]"""


def folded(body: str) -> tuple[ModuleOp, ModuleOp, KernelOp, bool]:
    """The module as it was, and after; its kernel, and whether something was put in place."""
    module = module_of(TENSORS, [("8", body)], "r")
    before = module.clone()
    (kernel,) = kernels_of(module)
    changed = fold_known(kernel)
    module.verify()
    simplify_body(kernel)
    module.verify()
    return before, module, kernel, changed


def ops(kernel: KernelOp, kind: type) -> list[object]:
    return [op for op in kernel.body.block.ops if isinstance(op, kind)]


def choice(left: str, predicate: str, right: str) -> str:
    return CHOICE.format(left=left, predicate=predicate, right=right)


DECIDED = {
    "below the size": choice("d0", "slt", "8"),
    "at most the last": choice("d0", "sle", "7"),
    "above what is negative": choice("d0", "sgt", "-1"),
    "never as large": choice("d0", "sge", "8"),
    "never equal": choice("d0", "eq", "d0 + 1"),
    "always another": choice("d0", "ne", "9"),
    "itself": choice("d0", "eq", "d0"),
    "without a sign": choice("d0", "ult", "8"),
}
OPEN = {
    "below a position": choice("d0", "slt", "7"),
    "equal to one": choice("d0", "eq", "3"),
    "without a sign, beside what is negative": choice("d0 - 1", "ult", "8"),
}


@pytest.mark.parametrize("body", DECIDED.values(), ids=DECIDED)
def test_a_comparison_that_comes_to_the_same_everywhere_goes(body: str) -> None:
    before, after, kernel, changed = folded(body)
    assert changed
    assert not ops(kernel, arith.CmpiOp)
    assert not ops(kernel, arith.SelectOp)
    assert np.array_equal(*(run(module)[0] for module in (before, after)))


@pytest.mark.parametrize("body", OPEN.values(), ids=OPEN)
def test_a_comparison_that_differs_between_positions_stays(body: str) -> None:
    before, after, kernel, changed = folded(body)
    assert not changed
    assert len(ops(kernel, arith.SelectOp)) == 1
    assert np.array_equal(*(run(module)[0] for module in (before, after)))


MASKED = """%p = arith.constant {mask}
%zero = arith.constant 0.0 : f32
%0 = load x[d0] if %p else %zero
store %0, r[d0]"""


@pytest.mark.parametrize("mask", ["true", "false"])
def test_a_load_under_a_mask_that_is_known(mask: str) -> None:
    before, after, kernel, changed = folded(MASKED.format(mask=mask))
    assert changed
    loads = [op for op in kernel.body.block.ops if isinstance(op, LoadOp)]
    assert [load.mask for load in loads] == [None] * (mask == "true")
    assert np.array_equal(*(run(module)[0] for module in (before, after)))


def test_a_load_at_a_position_that_is_known() -> None:
    before, after, kernel, changed = folded("""%j = tk.index "(d0*3) mod 8" : i64
    %i = arith.index_cast %j : i64 to index
    %0 = load x[i0](%i)
    store %0, r[d0]""")
    assert changed
    (load,) = (op for op in kernel.body.block.ops if isinstance(op, LoadOp))
    assert (str(load.subscripts[0]), len(load.dynamic)) == ("((d0*3) mod 8)", 0)
    assert np.array_equal(*(run(module)[0] for module in (before, after)))


def test_a_load_at_a_position_from_memory_stays() -> None:
    _, _, kernel, changed = folded("""%n = load x[d0]
    %j = arith.fptosi %n : f32 to i64
    %i = arith.index_cast %j : i64 to index
    %0 = load x[i0](%i)
    store %0, r[d0]""")
    assert not changed
    assert [len(op.dynamic) for op in kernel.body.block.ops if isinstance(op, LoadOp)] == [0, 1]


WIDTHS = """%i = tk.index "{position}" : i64
%n = arith.trunci %i : i64 to i8
%w = arith.{widen} %n : i8 to i64
%f = arith.sitofp %w : i64 to f32
store %f, r[d0]"""


@pytest.mark.parametrize(
    ("position", "widen", "fits"),
    [
        ("d0", "extsi", True),
        ("d0", "extui", True),
        ("d0*18", "extsi", True),
        ("d0*19", "extsi", False),
        ("d0*36", "extui", True),
        ("d0*37", "extui", False),
        ("d0 - 1", "extsi", True),
        ("d0 - 1", "extui", False),
    ],
)
def test_what_fits_a_narrower_type_is_not_narrowed(position: str, widen: str, fits: bool) -> None:
    before, after, kernel, changed = folded(WIDTHS.format(position=position, widen=widen))
    assert changed is fits
    assert len(ops(kernel, arith.TruncIOp)) == (not fits)
    assert np.array_equal(*(run(module)[0] for module in (before, after)))


@pytest.mark.parametrize(("limit", "stays"), [(8, False), (7, True)])
def test_a_check_that_cannot_fail_goes(limit: int, stays: bool) -> None:
    module = module_of(
        TENSORS,
        [
            (
                "8",
                f"""%0 = load x[d0]
                %i = tk.index "d0" : i64
                %n = arith.constant {limit} : i64
                %ok = arith.cmpi slt, %i, %n : i64
                tk.assert %ok "too large" : i1
                store %0, r[d0]""",
            )
        ],
        "r",
    )
    (kernel,) = kernels_of(module)
    assert fold_known(kernel) is not stays
    assert len(ops(kernel, AssertOp)) == stays
