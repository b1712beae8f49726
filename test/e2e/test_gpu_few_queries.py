"""Attention of few queries over many keys on GPUs (emulated), in parts of the keys (`split-keys`)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from drawn import tensor
from test_gpu_attention import attention, check_gradients
from test_gpu_emulated import check
from torch import Tensor

from benchmarks.numerics import judge
from tilewright.frontend.explain import Explanation, explain

OPTIONS = {"target": "gpu_emulated", "fallback": False}
SEEN = (torch.arange(512) < 300)[None, None, None]


def grouped(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    return attention(q, k, v, mask, enable_gqa=True)


def factors(sizes: str, *, dtype: torch.dtype = torch.bfloat16) -> tuple[Tensor, Tensor, Tensor]:
    """Of "batch heads shared rows keys depth width"."""
    b, h, g, m, s, e, c = map(int, sizes.split())
    shapes = ((b, h, m, e), (b, g, s, e), (b, g, s, c))
    q, k, v = (tensor(*shape, seed=i).to(dtype) for i, shape in enumerate(shapes))
    return q, k, v


def explained(function: Callable[..., Tensor], *inputs: Tensor) -> Explanation:
    torch._dynamo.reset()
    return explain(function, *inputs, options=OPTIONS)


@pytest.mark.parametrize(
    ("sizes", "dtype", "mask"),
    [
        ("1 8 2 1 512 64 64", torch.bfloat16, SEEN),
        ("1 3 3 1 512 40 40", torch.float16, SEEN),
        ("2 6 2 3 1024 72 72", torch.bfloat16, None),
        ("2 6 2 3 512 32 32", torch.float16, tensor(3, 512)),
        ("2 6 2 3 512 32 32", torch.bfloat16, tensor(2, 6, 1, 512)),
        ("1 4 2 3 512 32 32", torch.float32, tensor(1, 4, 3, 1)),
        ("1 4 1 20 1024 32 32", torch.bfloat16, tensor(20, 1024)),
        ("3 2 2 1 640 72 72", torch.float32, None),
        ("64 4 1 2 96 16 16", torch.bfloat16, None),
        ("1 8 2 1 1000 64 64", torch.bfloat16, None),
        ("2 6 2 3 777 40 40", torch.float32, tensor(2, 6, 3, 777)),
        ("1 4 2 3 509 32 32", torch.float16, tensor(3, 1)),
    ],
)
def test_in_parts(sizes: str, dtype: torch.dtype, mask: Tensor | None) -> None:
    q, k, v = factors(sizes, dtype=dtype)
    given = [] if mask is None else [mask if mask.dtype == torch.bool else mask.to(dtype)]
    found = explained(grouped, q, k, v, *given)
    wide = [x.double() if x.is_floating_point() else x for x in (q, k, v, *given)]
    verdict = judge(found.result, grouped(q, k, v, *given), grouped(*wide))
    assert verdict, verdict.why
    (graph,) = found.graphs
    assert len(graph.kernels) == (1 if sizes.startswith("64") else 2)
    assert not graph.library_calls


def grown(q: Tensor, k: Tensor, v: Tensor, new: Tensor) -> tuple[Tensor, Tensor]:
    """A cache that is longer by one key in every step, whose length becomes a symbol."""
    keys = torch.cat([k, new], 2)
    return grouped(q, keys, torch.cat([v, new], 2)), keys


@pytest.mark.parametrize(("shared", "dtype"), [(2, torch.bfloat16), (8, torch.float16), (2, torch.float32)])
def test_keys_of_any_number(shared: int, dtype: torch.dtype) -> None:
    """One graph for all, from fewer keys than there are parts to more than were guessed."""
    torch._dynamo.reset()
    compiled = torch.compile(grown, backend="mlir", options=OPTIONS, fullgraph=True)
    q, k, v = factors(f"1 8 {shared} 1 5000 32 32", dtype=dtype)
    for keys in (50, 778, 7, 128, 4999):
        inputs = q, *(x[:, :, :keys].contiguous() for x in (k, v)), k[:, :, :1].contiguous()
        with torch._dynamo.config.patch(error_on_recompile=keys not in (50, 778)):
            found, cache = compiled(*inputs)
        expected, _ = grown(*inputs)
        verdict = judge(found, expected, grown(*(x.double() for x in inputs))[0])
        assert verdict, f"{keys}: {verdict.why}"
        assert cache.shape[2] == keys + 1


def test_parts_that_see_nothing_add_nothing() -> None:
    q, k, v = factors("1 2 2 2 512 16 16", dtype=torch.float32)
    seen = torch.zeros(1, 2, 2, 512, dtype=torch.bool)
    seen[0, 0, 0, 400:], seen[0, 1, 1, 3] = True, True
    k[0, 1, 3] = -200 * q[0, 1, 1]  # far below what a part without keys is taken to be
    check(attention, q, k, v, seen)
    result = explained(attention, q, k, v, seen).result
    assert (result[0, 0, 1] == 0).all()
    assert (result[0, 1, 0] == 0).all()


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_no_number_stays_in_its_row(bad: float) -> None:
    q, k, v = factors("1 4 2 1 512 16 16", dtype=torch.float32)
    q[0, 1, 0, 2] = bad
    found = explained(grouped, q, k, v).result
    assert found[0, 1].isnan().any()
    torch.testing.assert_close(found, grouped(q, k, v), rtol=1e-5, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients(dtype: torch.dtype) -> None:
    """They read the log-sum-exp of all keys."""
    check_gradients(grouped, *factors("1 4 2 3 512 32 32", dtype=dtype))
    check_gradients(grouped, *factors("1 2 2 20 1024 32 32", dtype=dtype), tensor(20, 1024).to(dtype))


def step(q: Tensor, k: Tensor, v: Tensor, keys: Tensor, values: Tensor, at: Tensor) -> Tensor:
    """Of a model that generates text: a new key goes into the cache before."""
    keys.index_copy_(2, at, k)
    values.index_copy_(2, at, v)
    seen = torch.arange(keys.shape[2]) <= at
    return F.scaled_dot_product_attention(q, keys, values, attn_mask=seen[None, None, None], enable_gqa=True)


def test_a_cache_of_keys() -> None:
    new, (_, keys, values) = factors("2 8 2 1 1 16 16"), factors("2 8 2 1 512 16 16")
    at = torch.tensor([411])
    ours, eager = ((keys.clone(), values.clone()) for _ in range(2))
    wide = [x.double() for x in (*new, keys, values)]
    found = explained(step, *new, *ours, at)
    verdict = judge(found.result, step(*new, *eager, at), step(*wide, at))
    assert verdict, verdict.why
    assert all(map(torch.equal, ours, eager))


def widened(q: Tensor, k: Tensor, v: Tensor, scales: Tensor) -> Tensor:
    """Of a cache of bytes, with a scale for each key."""
    return F.scaled_dot_product_attention(q, k.to(q.dtype) * scales, v.to(q.dtype) * scales)


def repeated(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Heads of keys are spelled out as often as they are shared."""
    keys, values = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)


def test_a_row_of_many_sequences_widens_its_keys() -> None:
    q, _, _ = factors("32 4 4 1 256 16 16")
    k, v = (tensor(32, 4, 256, 16, dtype=torch.int8, seed=i) for i in range(2))
    scales = tensor(32, 4, 256, 1, dtype=torch.bfloat16) / 50
    found = explained(widened, q, k, v, scales)
    verdict = judge(found.result, widened(q, k, v, scales), widened(q.double(), k, v, scales.double()))
    assert verdict, verdict.why
    (graph,) = found.graphs
    assert len(graph.kernels) == 2
    assert not graph.library_calls


def test_a_row_of_many_sequences_reads_repeated_heads_once() -> None:
    q, k, v = factors("32 8 4 1 256 16 16")
    seen = torch.arange(256)[None, None, None] < torch.arange(1, 33)[:, None, None, None]
    found = explained(repeated, q, k, v, seen)
    wide = [x.double() for x in (q, k, v)]
    verdict = judge(found.result, repeated(q, k, v, seen), repeated(*wide, seen))
    assert verdict, verdict.why
    (graph,) = found.graphs
    assert len(graph.kernels) == 1
    assert not graph.library_calls
