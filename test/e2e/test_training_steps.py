"""Training: gradients of five AdamW steps by the float64 rule; weights are never stale."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from benchmarks.models import load
from benchmarks.numerics import Widen, check_model, judge

NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def _both_outputs(output: Any) -> Tensor:
    """All of BERT's outputs: what reaches no loss has a zero gradient compiled, and none in eager."""
    return torch.cat([output.last_hidden_state.flatten(), output.pooler_output.flatten()])


CASES = {
    "bert": (NO_DROPOUT, _both_outputs),
    "resnet18": ({}, lambda output: output.logits),
}


def _loss(run: Any, pick: Any, inputs: tuple[Tensor, ...]) -> Tensor:
    """A loss that depends on every output element differently."""
    output = pick(run(*inputs))
    target = torch.linspace(-1.0, 1.0, output.numel(), dtype=output.dtype).view(output.shape)
    return (output - target).square().mean()


def _gradients(model: nn.Module, run: Any, pick: Any, inputs: tuple[Tensor, ...]) -> list[Tensor | None]:
    model.zero_grad()
    loss = _loss(run, pick, inputs)
    loss.backward()
    return [loss.detach(), *(parameter.grad for parameter in model.parameters()), *model.buffers()]


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("name", CASES)
def test_five_adamw_steps(name: str, dtype: str):
    torch._dynamo.reset()
    changes, pick = CASES[name]
    case = load(name, "tiny", 3, dtype, training=True, **changes)
    compiled = torch.compile(case.model, backend="mlir")
    optimizer = torch.optim.AdamW(case.model.parameters(), lr=1e-3)
    for step in range(5):
        eager, exact = copy.deepcopy(case.model), copy.deepcopy(case.model).double()
        want = _gradients(eager, eager, pick, case.inputs)
        wide = tuple(x.double() if x.is_floating_point() else x for x in case.inputs)
        with Widen():
            truth = _gradients(exact, exact, pick, wide)
        got = _gradients(case.model, compiled, pick, case.inputs)
        verdict = judge(got, want, truth)
        assert verdict, f"step {step}: {verdict.why}"
        optimizer.step()


@pytest.mark.parametrize("name", CASES)
def test_inference_sees_an_optimizer_step(name: str):
    torch._dynamo.reset()
    changes, pick = CASES[name]
    case = load(name, "tiny", 2, "f32", **changes)
    compiled = torch.compile(case.model, backend="mlir")
    assert check_model(compiled, case.model, case.inputs)
    optimizer = torch.optim.AdamW(case.model.parameters(), lr=0.1)
    _loss(case.model, pick, case.inputs).backward()
    optimizer.step()
    verdict = check_model(compiled, case.model, case.inputs)
    assert verdict, f"stale weights: {verdict.why}"


def test_inference_sees_a_loaded_state():
    torch._dynamo.reset()
    case = load("resnet18", "tiny", 2, "f32")
    compiled = torch.compile(case.model, backend="mlir")
    assert check_model(compiled, case.model, case.inputs)
    state = {
        key: value * 1.5 if value.is_floating_point() else value
        for key, value in case.model.state_dict().items()
    }
    case.model.load_state_dict(state)
    verdict = check_model(compiled, case.model, case.inputs)
    assert verdict, f"stale weights: {verdict.why}"


def test_inference_sees_a_replaced_parameter_storage():
    torch._dynamo.reset()
    model = nn.Sequential(nn.Linear(12, 20), nn.GELU(), nn.Linear(20, 7)).eval()
    compiled = torch.compile(model, backend="mlir")
    inputs = (torch.randn(5, 12),)
    assert check_model(compiled, model, inputs)
    model[0].weight.data = torch.randn(20, 12)
    verdict = check_model(compiled, model, inputs)
    assert verdict, f"stale weights: {verdict.why}"


def test_gradients_accumulate_over_two_backwards():
    torch._dynamo.reset()
    case = load("mlp-mixer", "tiny", 2, "f32", training=True)
    eager = copy.deepcopy(case.model)
    compiled = torch.compile(case.model, backend="mlir")
    for run in (compiled, compiled, eager, eager):
        run(*case.inputs).square().sum().backward()
    for got, want in zip(case.model.parameters(), eager.parameters(), strict=True):
        torch.testing.assert_close(got.grad, want.grad, rtol=1e-4, atol=1e-5)


def test_input_gradient_with_frozen_weights():
    torch._dynamo.reset()
    case = load("unet", "tiny", 2, "f32")
    case.model.requires_grad_(False)
    image, step = case.inputs
    grads: list[Tensor] = []
    for run in (torch.compile(case.model, backend="mlir"), case.model):
        source = image.clone().requires_grad_()
        run(source, step).square().sum().backward()
        assert source.grad is not None
        grads.append(source.grad)
    torch.testing.assert_close(*grads, rtol=1e-4, atol=1e-4)
