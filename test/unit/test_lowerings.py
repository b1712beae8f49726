"""Kernels of single `tw` ops compute what the op says: on halves, NaN, both zeros and limits, interpreted."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from tw_harness import TORCH_DTYPES, Build, module_of, to_numpy
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.interpreter import interpret
from tilewright.dialects.registry import new_context
from tilewright.dialects.tw import creation, indexing, reduction, view
from tilewright.dialects.tw.elementwise import UNARY_OPS
from tilewright.dialects.tw.elementwise_binary import BINARY_OPS, CastOp, CompareOp, SelectOp
from tilewright.dialects.tw.window import WindowOp
from tilewright.dialects.types import ELEMENT_TYPES, element_type_of
from tilewright.passes.manager import parse_pipeline, run_pipeline, verify_hook

FLOATS = [0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 1.0, -1.0, 3.25, -7.0, 100.0, 1e-30]
SPECIAL = [*FLOATS, float("inf"), -float("inf"), float("nan")]
NUMBERS = ("f32", "f64", "i64", "i32", "i8", "ui8")


def values(element: str) -> torch.Tensor:
    dtype = TORCH_DTYPES[element]
    if dtype == torch.bool:
        return torch.tensor([False, True, True, False, True])
    if dtype.is_floating_point:
        return torch.tensor(SPECIAL, dtype=dtype)
    info = torch.iinfo(dtype)
    negative = [info.min, info.min + 1, -7, -2, -1] if info.min else []
    return torch.tensor([*negative, 0, 1, 2, 3, 7, info.max - 1, info.max], dtype=dtype)


def pairs(element: str) -> list[torch.Tensor]:
    x = values(element)
    a, b = torch.meshgrid(x, x, indexing="ij")
    return [a.flatten(), b.flatten()]


def outcome(module: Any, inputs: Sequence[torch.Tensor]) -> list[Any]:
    with np.errstate(all="ignore"):
        return interpret(module, [to_numpy(t).copy() for t in inputs], np)


def check(inputs: Sequence[torch.Tensor], build: Build, passes: str = "convert-tw-to-tk,dce") -> None:
    """The module before and after; bit by bit but for rounding of transcendentals and which NaN it is."""
    module = module_of(inputs, build)
    want = outcome(module, inputs)
    run_pipeline(new_context(), module, parse_pipeline(passes), hooks=[verify_hook()])
    assert any(op.name == "tk.kernel" for op in module.walk())
    for got, expected in zip(outcome(module, inputs), want, strict=True):
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=2e-6, equal_nan=True)


def accepted(op: Any, element: str) -> bool:
    x = values(element)
    try:
        module_of([x] if op in UNARY_OPS else [x, x], lambda v: op(*v))
    except VerifyException:
        return False
    return True


def of_elements(ops: Sequence[Any], elements: Sequence[str]) -> list[Any]:
    found = [(op, e) for op, e in itertools.product(ops, elements) if accepted(op, e)]
    return [pytest.param(op, e, id=f"{op.name}-{e}") for op, e in found]


@pytest.mark.parametrize(("op", "element"), of_elements(UNARY_OPS, (*NUMBERS, "i1")))
def test_unary(op: Any, element: str) -> None:
    check([values(element)], lambda v: op(*v))


def test_halves_round_to_even() -> None:
    """Stated by numbers: the interpreter might share a mistake."""
    (rounding,) = [op for op in UNARY_OPS if op.name == "tw.round"]
    module = module_of([x := torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5])], lambda v: rounding(*v))
    run_pipeline(new_context(), module, parse_pipeline("convert-tw-to-tk"))
    assert outcome(module, [x])[0].tolist() == [0.0, 2.0, 2.0, 0.0, -2.0]


def defined(name: str, element: str) -> list[torch.Tensor]:
    """The pairs for which the op is defined."""
    a, b = pairs(element)
    if a.dtype.is_floating_point or a.dtype == torch.bool:
        return [a, b]
    info, width = torch.iinfo(a.dtype), torch.iinfo(a.dtype).bits
    keep = torch.ones_like(a, dtype=torch.bool)
    if name in ("tw.floor_div", "tw.trunc_div", "tw.fmod", "tw.remainder"):
        keep = (b != 0) & ~((a == info.min) & (b == -1) if info.min else torch.zeros_like(keep))
    if name == "tw.pow":
        keep = (b >= 0) & (b <= 7)
    if name in ("tw.shift_left", "tw.shift_right"):
        keep = (b >= 0) & (b < width)
    return [a[keep], b[keep]]


@pytest.mark.parametrize(("op", "element"), of_elements(BINARY_OPS, (*NUMBERS, "i1")))
def test_binary(op: Any, element: str) -> None:
    check(defined(op.name, element), lambda v: op(*v))


@pytest.mark.parametrize("element", ["f32", "i64", "ui8", "i1"])
@pytest.mark.parametrize("predicate", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_compare(predicate: str, element: str) -> None:
    check(pairs(element), lambda v: CompareOp(v[0], v[1], predicate))


@pytest.mark.parametrize("element", ["f32", "i64", "i1"])
def test_select(element: str) -> None:
    a, b = pairs(element)
    check([torch.arange(a.numel()) % 3 == 0, a, b], lambda v: SelectOp(*v))


@pytest.mark.parametrize("target", TORCH_DTYPES)
@pytest.mark.parametrize("source", TORCH_DTYPES)
def test_cast(source: str, target: str) -> None:
    x = values(source)
    if x.dtype.is_floating_point and not TORCH_DTYPES[target].is_floating_point and target != "i1":
        x = x[x.isfinite() & (x.abs() <= 100) & ((x >= 0) | (target != "ui8"))]
    check([x], lambda v: CastOp(v[0], ELEMENT_TYPES[target]))


SHAPE = (3, 4, 5)
NAN = float("nan")


def grid(element: str = "f32") -> torch.Tensor:
    """Negative numbers alone in places, equal ones, and a NaN."""
    x = torch.arange(60).reshape(SHAPE) * 7 % 11 - 13.0
    if TORCH_DTYPES[element] == torch.bool:
        return x.long() % 3 == 0
    if TORCH_DTYPES[element].is_floating_point:
        x[1, 2, 3] = NAN
    return x.to(TORCH_DTYPES[element])


SOURCE = grid()
DOTS: dict[str, tuple[tuple[torch.Tensor, ...], Build]] = {
    **{
        f"{op.name}-{element}-{axes}": ((grid(element),), lambda v, op=op, axes=axes: op(v[0], axes))
        for op in (reduction.MaxOp, reduction.MinOp, reduction.SumOp)
        for element in ("f32", "i64")
        for axes in ([0], [1], [0, 2], [0, 1, 2], [])
    },
    **{
        f"{op.name}-{axes}": ((grid("i1"),), lambda v, op=op, axes=axes: op(v[0], axes))
        for op in (reduction.AnyOp, reduction.AllOp, reduction.MaxOp, reduction.MinOp)
        for axes in ([1], [0, 2])
    },
    **{
        f"{op.name}-{element}-{d}": ((grid(element),), lambda v, op=op, d=d: op(v[0], d))
        for op in (reduction.ArgmaxOp, reduction.ArgminOp, *reduction.CUMULATIVE_OPS)
        for element in ("f32", "i64")
        if element == "f32" or op is not reduction.LogcumsumexpOp
        for d in range(3)
    },
    **{
        f"linear scan-{d}": ((grid("f32"), grid("f32")), lambda v, d=d: reduction.LinearScanOp(v[0], v[1], d))
        for d in range(3)
    },
    "pad": ((SOURCE,), lambda v: view.PadOp(v[0], [1, 0, 2], [0, 3, 1], 2.5)),
    "pad before": ((SOURCE,), lambda v: view.PadOp(v[0], [0, 2, 0], [0, 0, 0], 2.5)),
    "pad behind": ((SOURCE,), lambda v: view.PadOp(v[0], [0, 0, 0], [2, 0, 1], 2.5)),
    "gather from the end": (
        (SOURCE, torch.tensor([[0, -1], [3, -4]])),
        lambda v: indexing.GatherOp(v[0], [v[1]], [1], 1),
    ),
    "gather apart": (
        (SOURCE, torch.tensor([0, -1, 2]), torch.tensor([4, 0, -5])),
        lambda v: indexing.GatherOp(v[0], v[1:], [0, 2], 0),
    ),
    "gather behind": ((SOURCE, torch.tensor([2, 0])), lambda v: indexing.GatherOp(v[0], [v[1]], [0], 2)),
    "gather strictly": (
        (SOURCE, torch.tensor([4, 0])),
        lambda v: indexing.GatherOp(v[0], [v[1]], [2], 0, strict=True),
    ),
    "gather along": (
        (SOURCE, torch.arange(24).reshape(3, 2, 4) % 4),
        lambda v: indexing.GatherAlongOp(v[0], v[1], 1),
    ),
    "iota": ((SOURCE,), lambda v: creation.IotaOp(element_type_of(v[0]), [3, 4], 1, -2, 3)),
    "iota of integers": ((SOURCE,), lambda v: creation.IotaOp(ELEMENT_TYPES["i8"], [3, 4], 0, 5, -2)),
}


@pytest.mark.parametrize("name", DOTS)
def test_other_ops(name: str) -> None:
    inputs, build = DOTS[name]
    check(inputs, build)


@pytest.mark.parametrize(("index", "strict"), [(4, False), (-5, False), (4, True), (-1, True)])
def test_an_index_out_of_range_is_an_error(index: int, strict: bool) -> None:
    inputs = [SOURCE, torch.tensor([0, index])]
    module = module_of(inputs, lambda v: indexing.GatherOp(v[0], [v[1]], [1], 1, strict=strict))
    run_pipeline(new_context(), module, parse_pipeline("convert-tw-to-tk"))
    with pytest.raises(IndexError, match="index out of range"):
        outcome(module, inputs)


def reads(build: Build) -> Build:
    """A kernel behind the view that `build` makes."""
    return lambda v: UNARY_OPS[0](build(v).results[0])


VIEWS: dict[str, Build] = {
    "reshape": lambda v: view.ReshapeOp(v[0], [6, 10]),
    "transpose": lambda v: view.TransposeOp(v[0], [1, 2, 0]),
    "broadcast": lambda v: view.BroadcastOp(v[0], [3, 2, 4, 5], [0, 2, 3]),
    "slice": lambda v: view.SliceOp(v[0], [1, 0, 4], [2, 2, 1], [1, 2, 3]),
    "reverse": lambda v: view.ReverseOp(v[0], [0, 2]),
    "window": lambda v: WindowOp(v[0], [1, 2], [2, 2], [1, 2], [2, 3]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_kernels_read_through_views(name: str) -> None:
    check([SOURCE.clamp(max=0)], reads(VIEWS[name]), "convert-tw-to-tk,absorb-views,dce")


def test_kernels_repeat_dimensions_of_one_element() -> None:
    build = reads(lambda v: view.BroadcastOp(v[0], [3, 2, 4], [0, 2]))
    check([torch.randn(3, 1)], build, "convert-tw-to-tk,absorb-views,dce")
