"""Every model of the zoo, forward, by the float64 rule."""

import pytest
import torch
from torch._dynamo.utils import counters

from benchmarks.models import BY_NAME, DTYPES, load
from benchmarks.numerics import check_model


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BY_NAME)
def test_forward_is_as_close_to_float64_as_eager(name: str, dtype: str):
    torch._dynamo.reset()
    counters.clear()
    case = load(name, "tiny", 2, dtype)
    with torch._dynamo.config.patch(dict(BY_NAME[name].dynamo)):
        verdict = check_model(torch.compile(case.model, backend="mlir"), case.model, case.inputs)
    assert verdict, verdict.why
    assert not counters["graph_break"]


@pytest.mark.parametrize("name", ["bert", "resnet18"])
def test_second_input_is_computed_anew(name: str):
    torch._dynamo.reset()
    case = load(name, "tiny", 2, "f32")
    compiled = torch.compile(case.model, backend="mlir")
    assert check_model(compiled, case.model, case.inputs)
    flipped = tuple(x.flip(-1) for x in case.inputs)
    verdict = check_model(compiled, case.model, flipped)
    assert verdict, verdict.why


@pytest.mark.parametrize("name", ["vit", "unet"])
def test_non_contiguous_inputs(name: str):
    torch._dynamo.reset()
    case = load(name, "tiny", 3, "f32")
    inputs = tuple(
        x.transpose(-1, -2).contiguous().transpose(-1, -2) if x.ndim == 4 else x for x in case.inputs
    )
    assert not inputs[0].is_contiguous()
    verdict = check_model(torch.compile(case.model, backend="mlir"), case.model, inputs)
    assert verdict, verdict.why


@pytest.mark.parametrize("name", ["resnet18", "convnext", "unet"])
def test_channels_last_inputs_and_weights(name: str):
    torch._dynamo.reset()
    case = load(name, "tiny", 2, "f32")
    model = case.model.to(memory_format=torch.channels_last)
    inputs = tuple(x.to(memory_format=torch.channels_last) if x.ndim == 4 else x for x in case.inputs)
    verdict = check_model(torch.compile(model, backend="mlir"), model, inputs)
    assert verdict, verdict.why


def test_returned_tensors_survive_the_next_call():
    torch._dynamo.reset()
    case = load("bert", "tiny", 2, "f32")
    compiled = torch.compile(case.model, backend="mlir")
    with torch.no_grad():
        first = compiled(*case.inputs).last_hidden_state
        kept = first.clone()
        compiled(*(x.flip(-1) for x in case.inputs))
    assert torch.equal(first, kept)


def test_inference_mode():
    torch._dynamo.reset()
    case = load("gpt2", "tiny", 2, "f32")
    compiled = torch.compile(case.model, backend="mlir")
    with torch.inference_mode():
        got, want = compiled(*case.inputs).logits, case.model(*case.inputs).logits
    torch.testing.assert_close(got, want)


def test_attention_mask_with_padding():
    torch._dynamo.reset()
    case = load("bert", "tiny", 2, "f32")
    mask = torch.ones_like(case.inputs[0])
    mask[1, 7:] = 0
    compiled = torch.compile(case.model, backend="mlir")
    verdict = check_model(
        lambda ids: compiled(ids, attention_mask=mask),
        _WithMask(case.model, mask),
        case.inputs,
    )
    assert verdict, verdict.why


class _WithMask(torch.nn.Module):
    def __init__(self, model: torch.nn.Module, mask: torch.Tensor) -> None:
        super().__init__()
        self.model, self.mask = model, mask

    def forward(self, ids: torch.Tensor) -> object:
        return self.model(ids, attention_mask=self.mask)
