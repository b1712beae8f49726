"""Copies of repeated elements that products or attention read are made again in the backward pass."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from tilewright.frontend.joint.joint_nodes import AGAIN
from tilewright.frontend.joint.repetitions import keep_shorter

ATEN = torch.ops.aten
ATTENTION = ATEN._scaled_dot_product_flash_attention_for_cpu.default
Function = Callable[[Tensor, Tensor], Tensor]


def repeated(x: Tensor) -> Tensor:
    """Each of two heads, `[2, 3, 4]`, three times."""
    copied = ATEN.clone.default(ATEN.expand.default(ATEN.unsqueeze.default(x, 1), [2, 3, 3, 4]))
    return ATEN.view.default(copied, [6, 3, 4])


def turned(x: Tensor) -> Tensor:
    return ATEN.permute.default(x, [0, 2, 1])


def copies_again(function: Function, *, products: bool) -> list[bool]:
    """Of each copy, whether it is made again, of `[2, 3, 4]` and `[6, 5, 4]`."""
    joint = make_fx(function, tracing_mode="fake")(torch.rand(2, 3, 4), torch.rand(6, 5, 4))
    keep_shorter(joint, (ATTENTION,), products=products)
    copies = joint.graph.find_nodes(op="call_function", target=ATEN.clone.default)
    for copy in copies:  # with all views between it and its reader, or torch would keep one of these
        if copy.meta.get("recompute") in AGAIN:
            assert all(user.meta.get("recompute") in AGAIN for user in copy.users)
    return [copy.meta.get("recompute") in AGAIN for copy in copies]


def products(x: Tensor, y: Tensor) -> Tensor:
    return ATEN.bmm.default(ATEN.bmm.default(y, turned(repeated(x))), repeated(x))


def attention(x: Tensor, y: Tensor) -> Tensor:
    queries, keys, values = (t.view(1, 6, -1, 4) for t in (y, repeated(x), repeated(x)))
    return ATTENTION(queries, keys, values)[0]


@pytest.mark.parametrize(
    ("function", "ours"), [(products, True), (attention, False)], ids=["products", "attention"]
)
def test_repeated_operands_are_made_again(function: Function, ours: bool) -> None:
    assert copies_again(function, products=ours) == [True, True]


LEFT: dict[str, Function] = {
    "repeats nothing": lambda x, y: ATEN.bmm.default(ATEN.clone.default(x), turned(x)),
    "is changed before it is multiplied": lambda x, y: ATEN.bmm.default(y, turned(repeated(x).neg())),
    "is not multiplied": lambda x, y: repeated(x) + 1,
}


@pytest.mark.parametrize("name", LEFT)
def test_a_copy_is_torchs_affair_that(name: str) -> None:
    assert copies_again(LEFT[name], products=True) == [False]


def test_products_of_libraries_read_copies() -> None:
    assert copies_again(products, products=False) == [False, False]


def test_what_a_checkpoint_decided_stays() -> None:
    joint = make_fx(products, tracing_mode="fake")(torch.rand(2, 3, 4), torch.rand(6, 5, 4))
    for node in joint.graph.nodes:
        node.meta["recompute"] = "as the program says"
    keep_shorter(joint, (), products=True)
    assert {node.meta["recompute"] for node in joint.graph.nodes} == {"as the program says"}


def test_a_tensor_joined_with_itself_is_expanded() -> None:
    def double(x: Tensor, y: Tensor) -> Tensor:
        return torch.cat([x, x], dim=1) + torch.cat([x, x + 1], dim=1)

    x = torch.rand(2, 3, 4)
    joint = make_fx(double, tracing_mode="fake")(x, x)
    keep_shorter(joint, ())
    joint.recompile()
    assert len(joint.graph.find_nodes(op="call_function", target=ATEN.cat.default)) == 1
    assert torch.equal(joint(x, x), double(x, x))
