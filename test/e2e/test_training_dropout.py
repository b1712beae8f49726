"""Dropout: reproducible by `torch.manual_seed`, one mask for forward and backward."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from benchmarks.models import load


@pytest.fixture(autouse=True)
def _fresh_dynamo():
    torch._dynamo.reset()


def _compiled(function: object) -> object:
    return torch.compile(function, backend="mlir")


def test_seed_repeats_the_mask_and_no_seed_does_not():
    run = _compiled(lambda x: functional.dropout(x, 0.3, training=True))
    x = torch.ones(64, 65)
    torch.manual_seed(5)
    first, second = run(x), run(x)
    torch.manual_seed(5)
    again = run(x)
    torch.manual_seed(6)
    other = run(x)
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("p", [0.1, 0.5])
def test_backward_uses_the_mask_of_forward(p: float, dtype: torch.dtype):
    run = _compiled(lambda x: functional.dropout(x, p, training=True))
    x = torch.ones(50, 37, dtype=dtype, requires_grad=True)
    y = run(x)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())
    values = y.detach().unique()
    torch.testing.assert_close(values, torch.tensor([0.0, 1.0 / (1.0 - p)], dtype=dtype))


def test_mask_survives_recomputation_through_a_chain():
    def chain(x: torch.Tensor) -> torch.Tensor:
        return functional.dropout(functional.gelu(functional.dropout(x, 0.5, True)), 0.5, True).exp()

    run = _compiled(chain)
    x = torch.full((40, 41), 1.5, requires_grad=True)
    y = run(x)
    y.sum().backward()
    # y is 1 exactly where one of the two masks is 0; the gradient must vanish there and only there.
    assert torch.equal(x.grad == 0, y.detach() == 1)
    assert 0.15 < (x.grad != 0).float().mean() < 0.35


def test_two_dropouts_are_independent():
    run = _compiled(lambda x: (functional.dropout(x, 0.5, True), functional.dropout(x, 0.5, True)))
    a, b = run(torch.ones(100, 100))
    assert 0.45 < (a == b).float().mean() < 0.55


def test_share_of_kept_elements():
    run = _compiled(lambda x: functional.dropout(x, 0.25, True))
    torch.manual_seed(0)
    kept = (run(torch.ones(400, 500)) != 0).float().mean()
    assert abs(kept - 0.75) < 0.005


def test_seed_repeats_a_training_step_of_bert():
    def gradients() -> list[torch.Tensor]:
        case = load("bert", "tiny", 2, "f32", training=True)
        run = _compiled(case.model)
        torch.manual_seed(11)
        run(*case.inputs).last_hidden_state.square().sum().backward()
        return [p.grad for p in case.model.parameters() if p.grad is not None]

    for got, want in zip(gradients(), gradients(), strict=True):
        assert torch.equal(got, want)


def test_eval_mode_is_the_identity():
    layer = nn.Dropout(0.5).eval()
    x = torch.randn(7, 9)
    assert torch.equal(_compiled(layer)(x), x)
