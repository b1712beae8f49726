"""What the forward pass keeps for the backward pass."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional

from tilewright.frontend.joint.partition import partition

ATEN = torch.ops.aten


def efficient(q: Tensor, g: Tensor, p: float) -> tuple[Tensor, Tensor]:
    out, total, seed, offset = ATEN._scaled_dot_product_efficient_attention(q, q, q, None, True, p)
    saved = (g, q, q, q, None, out, total, seed, offset)
    wanted = [True, True, True, False]
    return out, ATEN._scaled_dot_product_efficient_attention_backward(*saved, p, wanted)[0]


def flash(q: Tensor, g: Tensor, p: float) -> tuple[Tensor, Tensor]:
    found = ATEN._scaled_dot_product_flash_attention(q, q, q, p)
    out, total, cum_q, cum_k, max_q, max_k, seed, offset = found[:8]
    saved = (g, q, q, q, out, total, cum_q, cum_k, max_q, max_k, p, False, seed, offset)
    return out, ATEN._scaled_dot_product_flash_attention_backward(*saved)[0]


def parts(function: Any, p: float, dtype: torch.dtype = torch.float16) -> tuple[GraphModule, GraphModule]:
    with FakeTensorMode() as mode:
        given = [torch.empty(2, 3, 32, 16, dtype=dtype, device="meta") for _ in range(2)]

    def both(primals: list[Tensor], tangents: list[Tensor]) -> tuple[Tensor, Tensor]:
        return function(primals[0], tangents[0], p)

    with mode:
        joint = make_fx(both)([given[0]], [given[1]])
    for node, name in zip(joint.graph.find_nodes(op="placeholder"), ("primals_1", "tangents_1"), strict=True):
        node.name = node.target = name
    joint.recompile()
    return partition(joint, given, again=lambda _: False, num_fwd_outputs=1)


def kept(forward: GraphModule) -> list[torch.dtype]:
    """The dtypes of what is returned beside the one result."""
    (output,) = forward.graph.find_nodes(op="output")
    return [node.meta["val"].dtype for node in output.args[0][1:]]


@pytest.mark.parametrize("function", [efficient, flash])
@pytest.mark.parametrize("p", [0.0, 0.25])
def test_seeds_are_kept_with_dropout_alone(function: Any, p: float) -> None:
    forward, backward = parts(function, p)
    seeds = [dtype for dtype in kept(forward) if not dtype.is_floating_point]
    assert bool(seeds) == (p > 0)
    zeros = backward.graph.find_nodes(op="call_function", target=ATEN.full.default)
    assert bool(zeros) == (p == 0)


def repeated(x: Tensor, times: int) -> Tensor:
    """Each head of keys for so many heads of queries, as transformers writes it."""
    batch, heads, rows, depth = x.shape
    return x[:, :, None].expand(batch, heads, times, rows, depth).reshape(batch, heads * times, rows, depth)


def shared_heads(x: Tensor, g: Tensor, p: float) -> tuple[Tensor, Tensor]:
    k, q = ATEN.sin(x), ATEN.cat([x, ATEN.cos(x)], 1)
    many = repeated(k, 2)
    out, total, seed, offset = ATEN._scaled_dot_product_efficient_attention(q, many, many, None, True, p)
    saved = (repeated(g, 2), q, many, many, None, out, total, seed, offset)
    back = ATEN._scaled_dot_product_efficient_attention_backward(*saved, p, [True, True, True, False])
    return out, back[0].sum(1)


def test_heads_are_kept_once() -> None:
    forward, backward = parts(shared_heads, 0.0)
    (output,) = forward.graph.find_nodes(op="output")
    assert not {node.target for node in output.args[0][1:]} & {ATEN.view.default, ATEN._unsafe_view.default}
    assert backward.graph.find_nodes(op="call_function", target=ATEN.expand.default)


def angles(other: bool) -> Any:
    def function(x: Tensor, g: Tensor, p: float) -> tuple[Tensor, Tensor]:
        y = ATEN.mul(x, 2.0)
        joined = ATEN.cat([y, ATEN.neg(y) if other else y], -1)
        return ATEN.sin(joined), ATEN.mul(ATEN.cat([g, g], -1), ATEN.cos(joined))

    return function


@pytest.mark.parametrize("other", [False, True])
def test_what_is_joined_with_itself_is_not_kept(other: bool) -> None:
    forward, _ = parts(angles(other), 0.0)
    (output,) = forward.graph.find_nodes(op="output")
    joined = [node for node in output.args[0][1:] if node.meta["val"].shape[-1] == 32]
    assert bool(joined) == other


@pytest.mark.parametrize("place", [0, 1])
def test_of_what_has_no_elements_and_a_size_that_is_unknown_two_are_joined(place: int) -> None:
    function = torch.compile(lambda x: torch.cat([x, x], place).exp(), backend="mlir", dynamic=True)
    x = torch.ones((5, 0) if place == 0 else (0, 5), requires_grad=True)
    joined = function(x)
    joined.sum().backward()
    assert joined.shape == ((10, 0) if place == 0 else (0, 10))
    assert x.grad is not None
    assert x.grad.shape == x.shape


def gated(product: bool) -> Any:
    def function(x: Tensor, g: Tensor, p: float) -> tuple[Tensor, Tensor]:
        y = ATEN.mm(x[0, 0], x[0, 0, :16]) if product else ATEN.sin(x[0, 0])
        a, b = ATEN.split_with_sizes(ATEN.view(y, [4, 8, 16]), [8, 8], -1)
        back = ATEN.cat([ATEN.view(g[0, 0, :, :8], [4, 8, 8]) * part for part in (b, a)], -1)
        return ATEN.tanh(a) * b, back.sum(1)

    return function


@pytest.mark.parametrize("product", [False, True])
def test_parts_of_products_are_kept_as_a_whole(product: bool) -> None:
    """What is divided, but is no product, is made again of inputs, and divided again."""
    forward, _ = parts(gated(product), 0.0)
    (output,) = forward.graph.find_nodes(op="output")
    kept = output.args[0][1:]
    assert {node.meta["val"].shape[-1] for node in kept} == {16}
    assert [node.op == "placeholder" for node in kept] == [not product]


def halves(x: Tensor, g: Tensor, p: float) -> tuple[Tensor, Tensor]:
    a, b = ATEN.slice(x, 3, 0, 8), ATEN.slice(x, 3, 8, 16)
    half = ATEN.slice(g, 3, 0, 8)
    return ATEN.tanh(a) * b, ATEN.cat([half * b, half * ATEN.tanh(a)], -1)


def columns(x: Tensor, g: Tensor, p: float) -> tuple[Tensor, Tensor]:
    a, b, *_ = ATEN.unbind(x, 3)
    row = ATEN.select(g, 3, 0)
    return ATEN.tanh(a) * b, ATEN.stack([row * b, row * ATEN.tanh(a)] * 8, -1)


@pytest.mark.parametrize("function", [halves, columns])
def test_parts_of_inputs_are_not_kept(function: Any) -> None:
    forward, _ = parts(function, 0.0)
    (output,) = forward.graph.find_nodes(op="output")
    assert [node.op for node in output.args[0][1:]] == ["placeholder"]


def crossed(longer: bool) -> Any:
    """Of values that are computed, looked up in turns; or of a part of them."""

    def function(x: Tensor, g: Tensor, p: float) -> tuple[Tensor, Tensor]:
        counted = ATEN.arange(2 if longer else 16, device=x.device)
        places = ATEN.remainder(ATEN.add(counted, 1), 16)
        one = ATEN.index_select(ATEN.sin(x), 3, places)
        two = ATEN.index_select(ATEN.slice(x, 3, 0, 16), 3, places)
        part = ATEN.slice(g, 3, 0, places.shape[0])
        return one * two, (part * one).sum(3, True) + x * (part * two).sum(3, True)

    return function


@pytest.mark.parametrize("longer", [False, True])
def test_what_is_looked_up_in_turns_is_not_kept(longer: bool) -> None:
    forward, _ = parts(crossed(longer), 0.0)
    (output,) = forward.graph.find_nodes(op="output")
    kept = {node.target for node in output.args[0][1:]}
    assert ("primals_1" in kept, ATEN.index_select.default in kept) == (True, longer)


def reflected(divided: bool) -> Any:
    """Rows that are made longer by reflection, and multiplied: whole, or each half by the other."""

    def function(x: Tensor, g: Tensor, p: float) -> tuple[Tensor, Tensor]:
        places = ATEN.abs(ATEN.sub(ATEN.arange(20, device=x.device), 4))
        rows = ATEN.index_select(ATEN.relu(x), 3, places)
        one, other = ATEN.split(rows, 10, 3) if divided else (rows, x)
        flat, factor = ATEN.t(ATEN.view(one, [192, -1])), ATEN.view(other, [192, -1])
        return ATEN.mm(flat, factor), ATEN.mm(flat, ATEN.view(g, [192, 16]))

    return function


@pytest.mark.parametrize("divided", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_what_a_library_multiplies_is_kept(dtype: torch.dtype, divided: bool) -> None:
    forward, _ = parts(reflected(divided), 0.0, dtype)
    (output,) = forward.graph.find_nodes(op="output")
    sizes = {node.meta["val"].numel() for node in output.args[0][1:]}
    assert (192 * (10 if divided else 20) in sizes) == (dtype == torch.float32)


def planned(make: Any) -> Any:
    """Rows are looked up, and gradients added, where a plan says, which `make` makes of 16 numbers."""

    def function(x: Tensor, g: Tensor, p: float) -> tuple[Tensor, Tensor]:
        places = make(ATEN.arange(16, device=x.device))
        rows = ATEN.embedding_dense_backward(ATEN.select(g, 0, 0)[0, :16], places, 16, -1, False)
        return ATEN.embedding(ATEN.select(x, 0, 0)[0], places), rows

    return function


PLANS: dict[str, tuple[Any, bool]] = {
    "sorted": (lambda i: ATEN.sort(ATEN.remainder(ATEN.mul(i, 7), 5))[1], False),
    "scattered": (lambda i: ATEN.index_put(ATEN.zeros_like(i), [ATEN.flip(i, [0])], i), False),
    "counted": (lambda i: ATEN.sub(ATEN.cumsum(ATEN.ones_like(i), 0), 1), False),
    "of many": (lambda i: ATEN.sort(ATEN.expand(i, [64, 16]))[1][0], True),
    "of floats": (lambda i: ATEN.sort(ATEN.sin(ATEN._to_copy(i, dtype=torch.float32)))[1], True),
    "drawn": (lambda i: ATEN.randint_like(i, 16), True),
}


@pytest.mark.parametrize("name", PLANS)
def test_plans_of_few_integers_are_made_in_each_pass(name: str) -> None:
    """They are literals there; what is drawn would be another one."""
    make, stays = PLANS[name]
    forward, _ = parts(planned(make), 0.0)
    assert (torch.int64 in kept(forward)) == stays


def test_what_only_checks_read_in_the_backward_pass_is_not_kept() -> None:
    """So that it may be written to: torch keeps what checks of a gathered class would read again."""

    def program(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = x * 1
        z = y[..., torch.arange(6) % 3]
        return y, z, functional.one_hot(z.long() % 4, 4).amax(0)

    torch._dynamo.reset()
    x = torch.randn(2, 5, requires_grad=True)
    y, z, _ = torch.compile(program, backend="mlir")(x)
    with torch.no_grad():
        y.add_(1)
    (y.sum() + z.sum()).backward()
    assert x.grad is not None
    assert torch.equal(x.grad, torch.tensor([[3.0, 3, 3, 1, 1]] * 2))
