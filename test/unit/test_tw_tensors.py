"""The reference semantics of creation, view, reduction and indexing ops against torch."""

from __future__ import annotations

from collections.abc import Callable

import numpy
import pytest
import torch
from tw_harness import FLOATS, INTEGERS, TORCH_DTYPES, check, module_of, run_both
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, f32, i64
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.index_expr import ZERO, as_expr, sym
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.philox import philox
from tilewright.dialects.semantics import NoCallback
from tilewright.dialects.tw import creation as c
from tilewright.dialects.tw import indexing as x
from tilewright.dialects.tw import reduction as r
from tilewright.dialects.tw import view as v
from tilewright.dialects.types import ELEMENT_TYPES


def values(*shape: int, name: str = "f32", seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(shape, generator=generator) * 4).to(TORCH_DTYPES[name])


# Creation


@pytest.mark.parametrize("name", TORCH_DTYPES)
def test_full(name: str) -> None:
    for shape in ((), (0,), (3, 2)):
        wanted = torch.full(shape, 1, dtype=TORCH_DTYPES[name])
        check([], lambda args: c.FullOp(1, ELEMENT_TYPES[name], shape), wanted)  # noqa: B023


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_iota(name: str) -> None:
    wanted = torch.arange(2, 12, 2).to(TORCH_DTYPES[name]).reshape(1, 5, 1).expand(2, 5, 3)
    check([], lambda args: c.IotaOp(ELEMENT_TYPES[name], (2, 5, 3), 1, 2, 2), wanted)


def test_constant() -> None:
    attr = DenseIntOrFPElementsAttr.from_list(TensorType(i64, [2, 2]), [1, 2, 3, 4])
    check([], lambda args: c.ConstantOp(attr), torch.tensor([[1, 2], [3, 4]]))
    splat = DenseIntOrFPElementsAttr.from_list(TensorType(f32, [3]), [0.5])
    check([], lambda args: c.ConstantOp(splat), torch.full((3,), 0.5))


def test_philox_known_answer() -> None:
    """The published test vector of Philox4x32-10 for a counter and key of all zeros."""
    words = philox(0, numpy.zeros(1, dtype=numpy.int64))
    assert [int(w[0]) for w in words] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def test_rng_uniform_is_uniform_and_offsets_are_counters() -> None:
    seed = torch.tensor(0x123456789ABCDEF)
    (whole, also), shifted = run_both([seed], lambda a: c.RngUniformOp(a[0], (100, 50))), None
    torch.testing.assert_close(whole, also, rtol=0, atol=0)
    assert whole[0].dtype == torch.float32
    assert 0 <= float(whole[0].min())
    assert float(whole[0].max()) < 1
    assert abs(float(whole[0].mean()) - 0.5) < 0.02
    shifted = run_both([seed], lambda a: c.RngUniformOp(a[0], (4900,), 100))[0][0]
    torch.testing.assert_close(shifted, whole[0].reshape(-1)[100:], rtol=0, atol=0)


def test_rng_normal_moments() -> None:
    by_torch, by_numpy = run_both([torch.tensor(7)], lambda a: c.RngNormalOp(a[0], (5000,)))
    torch.testing.assert_close(by_torch, by_numpy)
    assert abs(float(by_torch[0].mean())) < 0.05
    assert abs(float(by_torch[0].std()) - 1) < 0.05
    assert bool(by_torch[0].isfinite().all())


def test_rng_seed_needs_a_source() -> None:
    module = module_of([], lambda args: c.RngSeedOp())
    assert int(interpret(module, [], numpy, draw_seed=lambda: 42)[0]) == 42
    numbers = iter([3, 1, 2])
    several = module_of([], lambda args: c.RngSeedOp(2))
    assert list(interpret(several, [], numpy, draw_seed=lambda: next(numbers))[0]) == [3, 1]
    with pytest.raises(NoCallback, match="draw_seed"):
        interpret(module, [], numpy)


# Views


@pytest.mark.parametrize("name", TORCH_DTYPES)
def test_views(name: str) -> None:
    t = values(2, 3, 4, name=name)
    check([t], lambda a: v.ReshapeOp(a[0], (6, 4)), t.reshape(6, 4))
    check([t], lambda a: v.TransposeOp(a[0], (2, 0, 1)), t.permute(2, 0, 1))
    check([t], lambda a: v.BroadcastOp(a[0], (5, 2, 3, 4)), t.expand(5, 2, 3, 4))
    check([t], lambda a: v.BroadcastOp(a[0], (2, 7, 3, 4), (0, 2, 3)), t[:, None].expand(2, 7, 3, 4))
    check([t], lambda a: v.SliceOp(a[0], (0, 1, 0), (2, 2, 2), (1, 1, 3)), t[:, 1:3, ::3])
    check([t], lambda a: v.SliceOp(a[0], (2, 0, 0), (0, 3, 4)), t[2:])
    check([t], lambda a: v.ReverseOp(a[0], (0, 2)), t.flip(0, 2))
    check([t, t[:, :1]], lambda a: v.ConcatOp(a, 1), torch.cat([t, t[:, :1]], 1))
    padded = torch.nn.functional.pad(t, (0, 1, 2, 0), value=1)
    check([t], lambda a: v.PadOp(a[0], (0, 2, 0), (0, 0, 1), 1), padded)


def test_views_of_scalars_and_empty_tensors() -> None:
    scalar, empty = torch.tensor(3.0), torch.ones(0, 3)
    check([scalar], lambda a: v.ReshapeOp(a[0], (1, 1)), scalar.reshape(1, 1))
    check([scalar], lambda a: v.BroadcastOp(a[0], (2, 3)), scalar.expand(2, 3))
    check([scalar], lambda a: v.TransposeOp(a[0], ()), scalar)
    check([empty], lambda a: v.TransposeOp(a[0], (1, 0)), empty.t())
    check([empty], lambda a: v.PadOp(a[0], (1, 0), (1, 0), 2.0), torch.full((2, 3), 2.0))
    check([empty], lambda a: v.ReshapeOp(a[0], (3, 0, 5)), empty.reshape(3, 0, 5))


# Reductions

REDUCTIONS: dict[type[r.ReduceOp], Callable[..., torch.Tensor]] = {
    r.SumOp: lambda t, d: t.sum(d, dtype=t.dtype) if d else t,
    r.MaxOp: lambda t, d: t.amax(d) if d else t,
    r.MinOp: lambda t, d: t.amin(d) if d else t,
}


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("axes", [(), (0,), (1,), (0, 2), (0, 1, 2)])
def test_reductions(op: type[r.ReduceOp], name: str, axes: tuple[int, ...]) -> None:
    t = values(3, 5, 4, name=name)
    check([t], lambda a: op(a[0], axes), REDUCTIONS[op](t, axes))


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_prod(name: str) -> None:
    t = values(3, 5, name=name) / 4 if name in FLOATS else values(3, 5, name=name)
    check([t], lambda a: r.ProdOp(a[0], (1,)), t.prod(1, dtype=t.dtype))
    check([t], lambda a: r.ProdOp(a[0], (0, 1)), t.prod(dtype=t.dtype), rtol=2e-2, atol=1e-5)


def test_empty_reductions() -> None:
    t = torch.ones(0, 3)
    check([t], lambda a: r.SumOp(a[0], (0,)), torch.zeros(3))
    check([t], lambda a: r.ProdOp(a[0], (0,)), torch.ones(3))
    check([t], lambda a: r.MaxOp(a[0], (1,)), torch.zeros(0))
    check([t > 0], lambda a: r.AnyOp(a[0], (0,)), torch.zeros(3, dtype=torch.bool))
    check([t > 0], lambda a: r.AllOp(a[0], (0, 1)), torch.tensor(True))


def test_reductions_propagate_nan() -> None:
    t = torch.tensor([[1.0, float("nan"), 3.0], [4.0, 5.0, float("nan")]])
    check([t], lambda a: r.MaxOp(a[0], (1,)), torch.full((2,), float("nan")))
    check([t], lambda a: r.ArgmaxOp(a[0], 1), torch.tensor([1, 2]))
    check([t], lambda a: r.ArgminOp(a[0], 1), torch.tensor([1, 2]))


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_arg_reductions_take_the_first(name: str) -> None:
    t = torch.tensor([[1, 3, 3], [2, 2, 1], [0, 0, 0]]).to(TORCH_DTYPES[name])
    check([t], lambda a: r.ArgmaxOp(a[0], 1), torch.tensor([1, 0, 0]))
    check([t], lambda a: r.ArgminOp(a[0], 1), torch.tensor([0, 2, 0]))


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_cumulative(name: str) -> None:
    for t in (values(3, 7, name=name), values(2, 0, name=name)):
        wide, same = (t.double(), {}) if name in FLOATS else (t, {"dtype": t.dtype})
        check([t], lambda a: r.CumsumOp(a[0], 1), wide.cumsum(1, **same).to(t.dtype))
        check([t], lambda a: r.CumprodOp(a[0], 1), wide.cumprod(1, **same).to(t.dtype))
        check([t], lambda a: r.CummaxOp(a[0], 1), t.cummax(1).values)
        check([t], lambda a: r.CumminOp(a[0], 0), t.cummin(0).values)
        if name in FLOATS:
            check([t], lambda a: r.LogcumsumexpOp(a[0], 1), wide.logcumsumexp(1).to(t.dtype))


@pytest.mark.parametrize("name", FLOATS)
def test_linear_scan(name: str) -> None:
    """The first factor is not read."""
    t, f = values(3, 4, name=name), values(3, 4, name=name).flip(1)
    f[0, 0], t[1, 2] = float("inf"), float("nan")
    wide, by = t.double(), f.double()
    found = [wide[:, 0]]
    for i in range(1, 4):
        found.append(by[:, i] * found[-1] + wide[:, i])
    check([t, f], lambda a: r.LinearScanOp(a[0], a[1], 1), torch.stack(found, 1).to(t.dtype))
    check([t[:, :0], f[:, :0]], lambda a: r.LinearScanOp(a[0], a[1], 1), t[:, :0])


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 2)])
def test_moments(name: str, axes: tuple[int, ...]) -> None:
    t = values(3, 5, 4, name=name)
    wide = t.double()
    squares = (wide - wide.mean(axes, keepdim=True)).square().sum(axes)
    check([t], lambda a: r.MomentsOp(a[0], axes), wide.mean(axes).to(t.dtype), squares.to(t.dtype))


def test_moments_that_are_no_numbers() -> None:
    nan, inf = float("nan"), float("inf")
    t = torch.tensor([[1.0, nan, 3.0], [4.0, inf, 5.0], [inf, -inf, 0.0]])
    check([t], lambda a: r.MomentsOp(a[0], (1,)), torch.full((3,), nan), torch.full((3,), nan))
    check([torch.ones(2, 0)], lambda a: r.MomentsOp(a[0], (1,)), torch.full((2,), nan), torch.zeros(2))


# Indexing


@pytest.mark.parametrize("name", TORCH_DTYPES)
def test_gather(name: str) -> None:
    t = values(4, 5, 3, name=name)
    i, j = torch.tensor([[0, -1], [2, 3]]), torch.tensor([[0, 1], [2, -3]])
    check([t, i], lambda a: x.GatherOp(a[0], a[1:], (0,), 0), t[i])
    check([t, i], lambda a: x.GatherOp(a[0], a[1:], (1,), 1), t[:, i])
    check([t, i, j], lambda a: x.GatherOp(a[0], a[1:], (0, 1), 0), t[i, j])
    check([t, i, j], lambda a: x.GatherOp(a[0], a[1:], (0, 2), 0), t[i, :, j])
    check([t, torch.tensor(2)], lambda a: x.GatherOp(a[0], a[1:], (0,), 0), t[2])
    check([t, i[:0]], lambda a: x.GatherOp(a[0], a[1:], (0,), 0), t[i[:0]])


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("name", TORCH_DTYPES)
def test_sort(name: str, descending: bool) -> None:
    t = torch.randint(0, 4, (3, 7, 2)).to(TORCH_DTYPES[name])
    if name in FLOATS:
        t[1, 2, 0] = t[1, 5, 0] = float("nan")
        t[0, 3, 1] = -0.0
    for dim in range(3):
        wanted = t.sort(dim=dim, descending=descending, stable=True)
        check([t], lambda a, d=dim: x.SortOp(a[0], d, descending=descending), *wanted)
    first = [value[:, :3] for value in t.sort(dim=1, descending=descending, stable=True)]
    check([t], lambda a: x.SortOp(a[0], 1, descending=descending, count=as_expr(3)), *first)


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_scatter(name: str) -> None:
    t, i = values(6, 3, name=name), torch.tensor([5, -6, 2])
    w = values(3, 3, name=name, seed=1)
    check([t, i, w], lambda a: x.ScatterOp(a[0], [a[1]], a[2], (0,)), t.index_put((i,), w))
    check([t, i, w.t()], lambda a: x.ScatterOp(a[0], [a[1]], a[2], (0,)), t.index_put((i,), w.t()))
    repeated = torch.tensor([1, 1, 0])
    wanted = t.double().index_put((repeated,), w.double(), accumulate=True).to(t.dtype)
    check([t, repeated, w], lambda a: x.ScatterAddOp(a[0], [a[1]], a[2], (0,)), wanted)
    columns = torch.tensor([2, 0])
    u = values(6, 2, name=name, seed=2)
    wanted = t.clone()
    wanted[:, columns] = u
    check([t, columns, u], lambda a: x.ScatterOp(a[0], [a[1]], a[2], (1,), 1), wanted)


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_along(name: str) -> None:
    t, i = values(4, 5, name=name), torch.tensor([[0, 3, 1], [2, 0, 0]])
    w = values(2, 3, name=name, seed=1)
    unique = torch.tensor([[0, 3, 1], [2, 0, 3]])
    check([t, i], lambda a: x.GatherAlongOp(a[0], a[1], 0), t.gather(0, i))
    check([t, i], lambda a: x.GatherAlongOp(a[0], a[1], 1), t.gather(1, i))
    check([t, unique, w], lambda a: x.ScatterAlongOp(*a, 0), t.scatter(0, unique, w))
    wanted = t.double().scatter_add(1, i, w.double()).to(t.dtype)
    check([t, i, w], lambda a: x.ScatterAlongOp(*a, 1, "add"), wanted)


def test_indices_out_of_range_are_errors() -> None:
    t, i = values(4, 5), torch.tensor([4])
    with pytest.raises(IndexError, match=r"tw\.gather"):
        check([t, i], lambda a: x.GatherOp(a[0], a[1:], (0,)), t)
    with pytest.raises(IndexError, match=r"tw\.gather_along"):
        check([t, -i.reshape(1, 1)], lambda a: x.GatherAlongOp(a[0], a[1], 0), t)


# Constructors infer symbolic sizes


def test_constructors_carry_symbols() -> None:
    s0 = sym(0)
    full = c.FullOp(1.0, f32, (4, s0, 8)).result
    assert str(v.TransposeOp(full, (1, 0, 2)).result.type) == 'tensor<?x4x8xf32, #tw.shape<"s0, 4, 8">>'
    assert str(r.SumOp(full, (2,)).result.type) == 'tensor<4x?xf32, #tw.shape<"4, s0">>'
    assert str(v.ConcatOp([full, full], 1).result.type) == 'tensor<4x?x8xf32, #tw.shape<"4, s0*2, 8">>'
    assert str(v.PadOp(full, (0, 1, 0), (0, s0, 0), 0.0).result.type) == (
        'tensor<4x?x8xf32, #tw.shape<"4, s0*2 + 1, 8">>'
    )
    assert str(v.ReshapeOp(full, (s0 * 4, 8)).result.type) == 'tensor<?x8xf32, #tw.shape<"s0*4, 8">>'
    assert str(v.SliceOp(full, (0, ZERO, 0), (4, 2, 8)).result.type) == "tensor<4x2x8xf32>"


def test_constants_are_finite() -> None:
    attr = DenseIntOrFPElementsAttr.from_list(TensorType(f32, [2]), [1.0, float("inf")])
    with pytest.raises(VerifyException, match=r"tw\.constant: has infinite or NaN elements"):
        c.ConstantOp(attr).verify()
