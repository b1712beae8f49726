"""Whole models, tiny and with random weights: what falls back, and the reference runtime against eager."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tilewright.frontend.compile import Record, compile_captured
from tilewright.frontend.environment import read_environment
from tilewright.frontend.options import make_options

Inputs = tuple[tuple[Any, ...], dict[str, Any]]
Made = tuple[nn.Module, Inputs]
TOKENS = 99
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 37}


def tokens() -> Tensor:
    return torch.randint(0, TOKENS, (2, 11))


def bert() -> Made:
    from transformers import BertConfig, BertModel

    mask = torch.ones(2, 11, dtype=torch.long)
    mask[1, 7:] = 0
    model = BertModel(BertConfig(vocab_size=TOKENS, max_position_embeddings=64, **SMALL))
    return model, ((), {"input_ids": tokens(), "attention_mask": mask})


def gpt2() -> Made:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=TOKENS, n_embd=32, n_layer=2, n_head=4, n_positions=64, use_cache=False)
    return GPT2LMHeadModel(config), ((), {"input_ids": tokens()})


def llama() -> Made:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=TOKENS, num_key_value_heads=2, use_cache=False, **SMALL)
    return LlamaForCausalLM(config), ((), {"input_ids": tokens()})


def t5() -> Made:
    from transformers import T5Config, T5EncoderModel

    config = T5Config(vocab_size=TOKENS, d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4)
    return T5EncoderModel(config), ((), {"input_ids": tokens()})


def vit() -> Made:
    from transformers import ViTConfig, ViTModel

    return ViTModel(ViTConfig(image_size=32, patch_size=8, **SMALL)), ((torch.randn(2, 3, 32, 32),), {})


def resnet() -> Made:
    from transformers import ResNetConfig, ResNetForImageClassification

    config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 2], layer_type="basic")
    return ResNetForImageClassification(config), ((torch.randn(2, 3, 32, 32),), {})


def convnext() -> Made:
    from transformers import ConvNextConfig, ConvNextModel

    config = ConvNextConfig(hidden_sizes=[8, 16], depths=[1, 2], num_stages=2)
    return ConvNextModel(config), ((torch.randn(2, 3, 32, 32),), {})


def encoder() -> Made:
    layer = nn.TransformerEncoderLayer(32, 4, 37, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), ((torch.randn(2, 11, 32),), {})


def lstm() -> Made:
    return nn.LSTM(16, 20, 2, batch_first=True), ((torch.randn(2, 5, 16),), {})


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.SiLU())
        self.down2 = nn.Sequential(nn.Conv2d(8, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        self.smooth = nn.Upsample(scale_factor=2, mode="bilinear")
        self.nearest = nn.Upsample(scale_factor=2, mode="nearest")
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.out = nn.Conv2d(16, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        a = self.down1(x)
        b = self.down2(a)
        u = self.smooth(b)[:, :8] + self.nearest(b)[:, 8:]
        pooled = F.max_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 1)
        return self.out(torch.cat([a, u + self.up(b)], 1)) + pooled


class Mixer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.norm1, self.norm2 = nn.Linear(12, 16), nn.LayerNorm(16), nn.LayerNorm(16)
        self.tokens = nn.Sequential(nn.Linear(9, 20), nn.GELU(), nn.Dropout(0.1), nn.Linear(20, 9))
        self.channels = nn.Sequential(nn.Linear(16, 24), nn.GELU(approximate="tanh"), nn.Linear(24, 16))
        self.head = nn.Linear(16, 7)

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x)
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        x = x + self.channels(self.norm2(x))
        return self.head(x.mean(1))


def unet() -> Made:
    return UNet(), ((torch.randn(2, 3, 16, 16),), {})


def mixer() -> Made:
    return Mixer(), ((torch.randn(2, 9, 12),), {})


MODELS: dict[str, Callable[[], Made]] = {
    f.__name__: f for f in (bert, gpt2, llama, t5, vit, resnet, convnext, encoder, lstm, unet, mixer)
}


def without_dropout(model: nn.Module) -> nn.Module:
    for module in model.modules():
        for name, value in vars(module).items():
            if isinstance(value, float) and (
                "drop" in name or (name == "p" and isinstance(module, nn.Dropout))
            ):
                setattr(module, name, 0.0)
    config = getattr(model, "config", None)
    for name in list(vars(config)) if config is not None else ():
        if "drop" in name or "pdrop" in name:
            setattr(config, name, 0.0)
    return model


def backend(record: Record) -> Callable[..., Any]:
    options = make_options({"target": "reference"})
    return lambda gm, inputs: compile_captured(gm, inputs, options, read_environment(), record)


def tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if hasattr(value, "values"):
        value = list(value.values())
    return [leaf for item in value for leaf in tensors(item)] if isinstance(value, list | tuple) else []


def distance(a: Tensor, b: Tensor) -> float:
    """Largest difference against the larger of b's largest element and 1e-3."""
    a, b = a.double(), b.double()
    return float((a - b).abs().max() / max(float(b.abs().max()), 1e-3)) if a.numel() else 0.0


def loss_of(output: Any) -> Tensor:
    first = tensors(output)[0].float()
    return (first**2).mean() + F.log_softmax(first.flatten(1), 1)[:, 0].mean()


def made(name: str, dtype: torch.dtype) -> tuple[nn.Module, Inputs]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    model, (args, kwargs) = MODELS[name]()
    args = tuple(x.to(dtype) if x.is_floating_point() else x for x in args)
    return without_dropout(model.to(dtype)), (args, kwargs)


def unexpected(record: Record) -> list[str]:
    return [str(f) for _, graph in record.graphs for f in graph.fallbacks if f.code != "TW1100"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", MODELS)
def test_inference(name: str, dtype: torch.dtype) -> None:
    """Of one size; training is of any size, too."""
    model, (args, kwargs) = made(name, dtype)
    model.eval()
    record = Record()
    with torch.no_grad():
        got = tensors(torch.compile(model, backend=backend(record), dynamic=False)(*args, **kwargs))
        want = tensors(model(*args, **kwargs))
    assert not unexpected(record)
    for a, b in zip(got, want, strict=True):
        assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
        assert distance(a, b) < (5e-2 if dtype is torch.bfloat16 else 1e-4)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_training(name: str, dynamic: bool) -> None:
    model, (args, kwargs) = made(name, torch.float32)
    model.train()
    twin = copy.deepcopy(model)
    record = Record()

    def step(model: nn.Module) -> Tensor:
        return loss_of(model(*args, **kwargs))

    loss = torch.compile(step, backend=backend(record), dynamic=dynamic)(model)
    loss.backward()
    expected = step(twin)
    expected.backward()
    assert not unexpected(record)
    assert {kind for kind, _ in record.graphs} == {"forward", "backward"}
    assert distance(loss, expected) < 1e-4
    for (key, p), q in zip(model.named_parameters(), twin.parameters(), strict=True):
        assert (p.grad is None) == (q.grad is None), key
        assert p.grad is None or distance(p.grad, q.grad) < 2e-3, key  # pyright: ignore
    for p, q in zip(model.buffers(), twin.buffers(), strict=True):
        assert distance(p, q) < 1e-4


@pytest.mark.parametrize("foreach", [False, True])
def test_adamw(foreach: bool) -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)
    values = [torch.randn(3, 4), torch.randn(5)]
    ours, theirs = ([nn.Parameter(v.clone()) for v in values] for _ in range(2))
    record = Record()
    a, b = (torch.optim.AdamW(p, lr=1e-2, foreach=foreach) for p in (ours, theirs))
    step = torch.compile(lambda: a.step(), backend=backend(record))
    for i in range(3):
        for p, q in zip(ours, theirs, strict=True):
            p.grad = torch.full_like(p, 0.5 + i)
            q.grad = torch.full_like(q, 0.5 + i)
        step()
        b.step()
    assert not unexpected(record)
    for p, q in zip(ours, theirs, strict=True):
        torch.testing.assert_close(p, q)
