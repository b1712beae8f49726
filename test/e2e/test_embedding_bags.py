"""Bags of embeddings that are all as long are look-ups and sums; all others are ATen's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
import torch.utils.checkpoint
from drawn import positions, tensor
from emulated_gpu import EmulatedGpu, compiled
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.numerics import judge
from tilewright.frontend.explain import explain

WORDS, DEPTH = 19, 7
DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
SUMS: list[dict[str, Any]] = [
    {"mode": "sum"},
    {"mode": "mean"},
    {"mode": "sum", "padding_idx": 3},
    {"mode": "mean", "padding_idx": -WORDS},
    {"mode": "sum", "per_sample_weights": True},
    {"mode": "sum", "per_sample_weights": True, "padding_idx": -1},
]


@pytest.fixture(autouse=True)
def compiled_anew() -> None:
    """All bags are one function to Dynamo, which compiles it eight times at most."""
    torch._dynamo.reset()


def given(dtype: torch.dtype, bags: int = 13, rows: int = 5) -> list[Tensor]:
    """Ids, of which one bag has nothing but row 3, one row 0, one row 18; a table; a weight for each id."""
    ids = positions(WORDS, bags, rows)
    ids[:3] = torch.tensor([3, 0, WORDS - 1])[:bags, None]
    return [ids, tensor(WORDS, DEPTH, dtype=dtype), tensor(bags, rows, dtype=dtype, seed=1)]


def bag_of(options: dict[str, Any]) -> Callable[..., Tensor]:
    def bags(ids: Tensor, table: Tensor, weights: Tensor) -> Tensor:
        each = {"per_sample_weights": weights} if "per_sample_weights" in options else {}
        return functional.embedding_bag(ids, table, **{**options, **each}).sin()

    return bags


def with_gradients(call: Callable[..., Tensor], ids: Tensor, *others: Tensor) -> Sequence[Tensor]:
    leaves = [t.clone().requires_grad_() for t in others]
    result = call(ids, *leaves)
    result.square().sum().backward()
    return [result.detach(), *(t.grad for t in leaves if t.grad is not None)]


def check(options: dict[str, Any], dtype: torch.dtype, compile_: Callable[[Any], Any]) -> None:
    ids, *others = given(dtype)
    bags = bag_of(options)
    ours, eager = (with_gradients(call, ids, *others) for call in (compile_(bags), bags))
    truth = with_gradients(bags, ids, *(t.double() for t in others))
    assert len(ours) == 2 + ("per_sample_weights" in options)
    for mine, theirs, exact in zip(ours, eager, truth, strict=True):
        assert (verdict := judge(mine, theirs, exact)).ok, verdict


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("options", SUMS, ids=str)
def test_sums(options: dict[str, Any], dtype: torch.dtype) -> None:
    check(options, dtype, lambda bags: torch.compile(bags, backend="mlir"))


@pytest.mark.parametrize("options", SUMS, ids=str)
def test_sums_on_a_gpu(options: dict[str, Any], gpu: EmulatedGpu) -> None:
    check(options, torch.float32, compiled)


@pytest.mark.parametrize("ids", [torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_one_kernel_looks_up_adds_and_goes_on(dtype: torch.dtype, ids: torch.dtype) -> None:
    bags = nn.EmbeddingBag(WORDS, DEPTH).to(dtype)
    at, *_ = given(dtype)
    with torch.no_grad():
        found = explain(lambda x: functional.relu(bags(x)) * 2, at.to(ids))
    (graph,) = found.graphs
    assert graph.fallbacks == ()
    assert len(graph.kernels) == 1


def test_any_number_of_bags() -> None:
    bags = bag_of({"mode": "mean", "padding_idx": 3})
    ours = torch.compile(bags, backend="mlir", dynamic=True)
    for count, rows in ((13, 5), (6, 4), (2, 17)):
        torch.testing.assert_close(
            ours(*given(torch.float32, count, rows)), bags(*given(torch.float32, count, rows))
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("options", SUMS, ids=str)
def test_autocast_changes_no_dtype(options: dict[str, Any], dtype: torch.dtype) -> None:
    """Sums are of f32 by autocast on GPUs, bags are not."""
    bags = bag_of(options)
    ids, *others = given(dtype)
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        ours, eager = (call(ids, *others) for call in (torch.compile(bags, backend="mlir"), bags))
    assert ours.dtype == eager.dtype
    assert (verdict := judge(ours, eager, bags(ids, *(t.double() for t in others)))).ok, verdict


def test_inside_of_a_checkpoint() -> None:
    bags = bag_of({"mode": "sum"})

    def again(*args: Tensor) -> Tensor:
        return torch.utils.checkpoint.checkpoint(bags, *args, use_reentrant=False)

    assert explain(again, *given(torch.float32)).graphs[0].fallbacks == ()


def test_what_pads_may_be_anything() -> None:
    """Rows that pad have no part in a sum, infinite ones included."""
    bags = bag_of({"mode": "mean", "padding_idx": 3})
    ids, table, weights = given(torch.float32)
    table[3] = torch.inf
    result = torch.compile(bags, backend="mlir")(ids, table, weights)
    torch.testing.assert_close(result, bags(ids, table, weights))
    assert result.isfinite().all()
    assert (result[0] == 0).all()


OTHERS: list[dict[str, Any]] = [
    {"mode": "max"},
    {"mode": "mean", "scale_grad_by_freq": True},
    {"mode": "sum", "sparse": True},
    {"mode": "sum", "max_norm": 1.0},
    {"mode": "sum", "offsets": torch.tensor([0, 3, 3, 11])},
]


@pytest.mark.parametrize("options", OTHERS, ids=str)
def test_others_are_atens(options: dict[str, Any]) -> None:
    ids, table, _ = given(torch.float32)
    if "offsets" in options:
        ids = ids.flatten()

    def bags(ids: Tensor, table: Tensor) -> Tensor:
        return functional.embedding_bag(ids, table, **options).sin()

    want, ours = table.clone(), table.clone()  # `max_norm` changes the table
    torch.testing.assert_close(torch.compile(bags, backend="mlir")(ids, ours), bags(ids, want))
    torch.testing.assert_close(ours, want)
    (graph,) = explain(bags, ids, table).graphs
    assert any(fallback.op.startswith("aten::_embedding_bag") for fallback in graph.fallbacks)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_gradients_of_halves_are_atens(dtype: torch.dtype) -> None:
    """Ours would add them up in a table of f32."""
    ids, table, weights = given(dtype)
    graph = explain(bag_of({"mode": "sum"}), ids, table.requires_grad_(), weights).graphs[0]
    assert bool(graph.fallbacks) == (dtype.itemsize == 2)


def test_bags_of_nothing_are_refused_as_by_torch() -> None:
    bags = bag_of({"mode": "sum"})
    _, *others = given(torch.float32)
    empty = [torch.zeros(3, 0, dtype=torch.int64), *others]
    with pytest.raises(RuntimeError, match="step must be nonzero"):
        bags(*empty)
    with pytest.raises(Exception, match="step must be nonzero"):
        torch.compile(bags, backend="mlir")(*empty)
