"""Scatters as kernels give the same numbers, and check positions; which become kernels."""

from __future__ import annotations

import numpy as np
import pytest
from tk_harness import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tilewright.dialects.index_expr import Var, format_exprs
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.types import sizes_of
from tilewright.passes.lowering.lower_scatter import combines_at_once, lower_scatter, scatter_becomes_kernel
from tilewright.passes.rewrite import Remark, remarks_to

PLACES: dict[str, tuple[str, str, list[object]]] = {
    # op and types, sizes of the kernel, positions
    "rows": ("tw.scatter %v into %t[%i] dims [0] at 0 | 5x4, 3x4, 3", "5, 4, 3", [[4, 0, -2]]),
    "rows added, one twice": (
        "tw.scatter_add %v into %t[%i] dims [0] at 0 | 5x4, 3x4, 3",
        "5, 4, 3",
        [[1, -4, 0]],
    ),
    "columns": ("tw.scatter %v into %t[%i] dims [1] at 1 | 5x4, 5x2, 2", "5, 4, 2", [[3, 0]]),
    "columns, strictly": (
        "tw.scatter %v into %t[%i] dims [1] at 1 strict | 5x4, 5x2, 2",
        "5, 4, 2",
        [[3, 0]],
    ),
    "two positions around an axis": (
        "tw.scatter_add %v into %t[%j, %i] dims [0, 2] at 1 | 3x2x4, 2x2x3, 2x3, 2x3",
        "3, 2, 4, 2, 3",
        [[[0, 2, -1], [2, 2, 1]], [[3, 0, 0], [0, 1, -4]]],
    ),
    "values first": (
        "tw.scatter %v into %t[%i] dims [1] at 0 | 5x4, 2x5, 2",
        "5, 4, 2",
        [[3, 1]],
    ),
    "no values": ("tw.scatter %v into %t[%i] dims [0] at 0 | 5x4, 0x4, 0", "5, 4, 0", [[]]),
    "along rows": (
        "tw.scatter_along %t, %i, %v dim 1 reduce none | 5x4, 3x2, 3x2",
        "5, 4, 3, 2",
        [[[0, 3], [1, 2], [3, 0]]],
    ),
    "along whole rows": (
        "tw.scatter_along %t, %i, %v dim 1 reduce add | 5x4, 5x2, 5x2",
        "5, 4, 2",
        [[[0, 0], [1, 2], [3, 3], [2, 0], [1, 1]]],
    ),
    "products along columns": (
        "tw.scatter_along %t, %i, %v dim 0 reduce mul | 5x4, 2x4, 2x4",
        "5, 4, 2",
        [[[0, 3, 4, 4], [0, 2, 1, 4]]],
    ),
    "largest": (
        "tw.scatter_along %t, %i, %v dim 0 reduce max | 5x4, 2x4, 2x4",
        "5, 4, 2",
        [[[0, 3, 4, 4], [0, 2, 1, 4]]],
    ),
    "rows of a number that only the run knows": (
        "tw.scatter_add %v into %t[%i] dims [0] at 0 | s0x4, 3x4, 3",
        "s0, 4, 3",
        [[4, 0, -5]],
    ),
}


def module_of(line: str, element: str = "f32") -> tuple[ModuleOp, Operation]:
    """A scatter into `%t`; values are `%v`, positions `%i` and `%j`."""
    how, _, texts = line.partition(" | ")
    sizes = texts.split(", ")
    order = "tiv" if "along" in how else "tvji" if "%j" in how else "tvi"
    kinds = {
        name: _type(size, "i64" if name in "ij" else element) for name, size in zip(order, sizes, strict=True)
    }
    arguments = ", ".join(f"%{name}: {kind}" for name, kind in kinds.items())
    module = parse(f"""func.func @main(%s0: index {{tw.symbol = "s0"}}, {arguments}) -> {kinds["t"]} {{
      %r = {how} : ({", ".join(kinds.values())}) -> {kinds["t"]}
      func.return %r : {kinds["t"]}
    }}""")
    (op,) = (op for op in module.walk() if op.name.startswith("tw.scatter"))
    return module, op


def _type(sizes: str, element: str) -> str:
    if "s0" in sizes:
        return f'tensor<{sizes.replace("s0", "?")}x{element}, #tw.shape<"{sizes.replace("x", ", ")}">>'
    return f"tensor<{sizes}x{element}>"


def inputs_of(op: Operation, positions: list[object]) -> list[object]:
    """What is scattered, and where, in the order of the operands."""
    random, given = np.random.default_rng(0), iter(positions)
    found: list[object] = [5]
    for value in op.operands:
        shape = [size.evaluate({Var("s", 0): 5}) for size in sizes_of(value)]
        if "i64" in str(value.type):
            found.append(np.array(next(given), np.int64).reshape(shape))
        else:
            found.append(random.standard_normal(shape).astype(np.float32))
    return found


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize(("line", "sizes", "positions"), PLACES.values(), ids=PLACES)
def test_kernels_scatter(line: str, sizes: str, positions: list[object], at_once: bool) -> None:
    module, op = module_of(line)
    inputs, combines = inputs_of(op, positions), "add" in line or "mul" in line or "max" in line
    wanted = interpret(module, inputs, np)
    kernel = lower_scatter(op, at_once=at_once)
    Rewriter.replace_op(op, kernel)
    module.verify()
    assert format_exprs(kernel.space) == sizes
    np.testing.assert_allclose(interpret(module, inputs, np)[0], wanted[0], rtol=1e-6)
    copy, store = (inner for inner in kernel.walk() if isinstance(inner, StoreOp))
    assert copy.combine is None
    kind = None if store.combine is None else store.combine.data
    assert (kind is not None) == (combines or at_once)
    assert (kind == "any") == (at_once and not combines)
    rank = len(sizes_of(kernel.results[0]))
    assert store.over == tuple(range(rank, len(kernel.space))), "also where one value goes to one place"
    assert store.mask is not None, "until somebody hears of a bad position, nothing is written there"
    assert isinstance(store.mask.owner, Operation)
    assert len(_reached(store.mask.owner, "tk.load")) == len(positions)


def _reached(op: Operation, name: str) -> set[Operation]:
    """The ops of that name behind `op`."""
    behind = [value.owner for value in op.operands if isinstance(value.owner, Operation)]
    return {op} if op.name == name else {found for each in behind for found in _reached(each, name)}


BAD = {
    "behind": ("tw.scatter %v into %t[%i] dims [0] at 0 | 5x4, 1x4, 1", [[5]]),
    "before": ("tw.scatter_add %v into %t[%i] dims [0] at 0 | 5x4, 1x4, 1", [[-6]]),
    "before the first, strictly": ("tw.scatter %v into %t[%i] dims [0] at 0 strict | 5x4, 1x4, 1", [[-1]]),
    "before the first, along": ("tw.scatter_along %t, %i, %v dim 1 reduce none | 5x4, 1x1, 1x1", [[[-1]]]),
    "one of two": (
        "tw.scatter_add %v into %t[%j, %i] dims [0, 2] at 1 | 3x2x4, 2x1, 1, 1",
        [[0], [4]],
    ),
}


@pytest.mark.parametrize(("line", "positions"), BAD.values(), ids=BAD)
def test_kernels_check_positions(line: str, positions: list[object]) -> None:
    module, op = module_of(line)
    inputs = inputs_of(op, positions)
    Rewriter.replace_op(op, lower_scatter(op, at_once=False))
    with pytest.raises(IndexError, match="out of range"):
        interpret(module, inputs, np)


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("tw.scatter %v into %t[%i] dims [0] at 0 | 5x4, 3x4, 3", True),
        ("tw.scatter %v into %t[%i] dims [0] at 0 | 5x4, 0x4, 0", True),
        ("tw.scatter_add %v into %t[%i] dims [0] at 0 | 5x0, 3x0, 3", False),
        ("tw.scatter_along %t, %i, %v dim 0 reduce add | 0x4, 3x4, 3x4", False),
        ("tw.scatter_along %t, %i, %v dim 0 reduce add | s0x4, 3x4, 3x4", True),
    ],
)
def test_targets_without_elements_have_no_kernel(line: str, becomes: bool) -> None:
    _, op = module_of(line)
    heard: list[Remark] = []
    with remarks_to(heard.append):
        assert scatter_becomes_kernel(op) == becomes
    reason = "no kernel: nothing can be written to a target without elements"
    assert [remark.why for remark in heard] == ([] if becomes else [reason])


def test_other_ops_are_no_scatters() -> None:
    module, op = module_of(PLACES["rows"][0])
    heard: list[Remark] = []
    with remarks_to(heard.append):
        assert [scatter_becomes_kernel(each) for each in module.walk() if each is not op] == [False] * 3
    assert not heard


ROWS = "tw.scatter %v into %t[%i] dims [0] at 0 | 5x4, 3x4, 3"
ADDED, ALONG = (
    ROWS.replace("scatter ", "scatter_add "),
    "tw.scatter_along %t, %i, %v dim 0 reduce {} | 5, 3, 3",
)
AT_ONCE = {
    "values of any type": (ROWS, "i1", ""),
    "halves along": (ALONG.format("none"), "bf16", ""),
    **{f"sums of {element}": (ADDED, element, "") for element in ("f32", "f64", "i32", "i64")},
    "the least": (ALONG.format("min"), "i64", ""),
    "the largest": (ALONG.format("max"), "f32", ""),
    "sums of halves": (ADDED, "bf16", "bf16 by `add`"),
    "the largest of bytes": (ALONG.format("max"), "i8", "i8 by `max`"),
    "products": (ALONG.format("mul"), "f32", "f32 by `mul`"),
}


@pytest.mark.parametrize(("line", "element", "what"), AT_ONCE.values(), ids=AT_ONCE)
def test_what_threads_may_do_at_once(line: str, element: str, what: str) -> None:
    _, op = module_of(line, element)
    heard: list[Remark] = []
    with remarks_to(heard.append):
        assert combines_at_once(op) == (not what)
    reasons = [f"no kernel: devices do not combine elements of {what} in memory"] if what else []
    assert [remark.why for remark in heard] == reasons
