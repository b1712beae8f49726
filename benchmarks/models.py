"""The models that tilewright is tested on (`tiny`) and measured on (`bench`; `slim` has fewer equal layers).

All weights are random and seeded; nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
import transformers
from torch import Tensor, nn

from examples.mlp_mixer import MlpMixer
from examples.unet import UNet

Inputs = tuple[Tensor, ...]
VOCABULARY = {"tiny": 101, "bench": 8192}
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


@dataclass(frozen=True)
class Model:
    """One row of the zoo: how to build it and its inputs, at each scale."""

    name: str
    build: Callable[..., nn.Module]
    inputs: Callable[[str, int, tuple[int, ...]], Inputs]
    sample: Mapping[str, tuple[int, ...]]  # scale -> shape of one sample
    sizes: Mapping[str, Mapping[str, Any]]  # scale -> arguments of `build`
    dynamo: Mapping[str, Any] = field(default_factory=dict[str, Any])  # settings that Dynamo needs


def _token_ids(scale: str, batch: int, sample: tuple[int, ...]) -> Inputs:
    return (torch.randint(0, VOCABULARY[scale], (batch, *sample)),)


def _floats(scale: str, batch: int, sample: tuple[int, ...]) -> Inputs:
    return (torch.randn(batch, *sample),)


def _image_and_step(scale: str, batch: int, sample: tuple[int, ...]) -> Inputs:
    return torch.randn(batch, *sample), torch.randint(0, 1000, (batch,))


def _transformers(model: str, config: str, **sizes: Any) -> nn.Module:
    return getattr(transformers, model)(getattr(transformers, config)(**sizes))


def _sequence_first(scale: str, batch: int, sample: tuple[int, ...]) -> Inputs:
    """What torch.nn's layers take by default: time steps, then the batch."""
    length, *features = sample
    return (torch.randn(length, batch, *features),)


def _encoder(width: int, heads: int, hidden: int, layers: int, **options: Any) -> nn.Module:
    layer = nn.TransformerEncoderLayer(width, heads, hidden, **options)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)


def _text(name: str, model: str, config: str, tiny: dict[str, Any], bench: dict[str, Any]) -> Model:
    """A language model over token ids: sequences of 13 (tiny) or 128 (bench)."""
    sizes = {
        "tiny": dict(tiny, vocab_size=VOCABULARY["tiny"], bos_token_id=1, eos_token_id=2),
        "bench": dict(bench, vocab_size=VOCABULARY["bench"], bos_token_id=1, eos_token_id=2),
    }
    return Model(
        name, partial(_transformers, model, config), _token_ids, {"tiny": (13,), "bench": (128,)}, sizes
    )


def _vision(
    name: str, build: Callable[..., nn.Module], tiny: dict[str, Any], bench: dict[str, Any], side: int = 224
) -> Model:
    """An image classifier over images of 32 (tiny) or `side` pixels (bench)."""
    return Model(
        name, build, _floats, {"tiny": (3, 32, 32), "bench": (3, side, side)}, {"tiny": tiny, "bench": bench}
    )


_RESNET = partial(_transformers, "ResNetForImageClassification", "ResNetConfig")
_ENCODER_INPUTS = {"tiny": (13, 60), "bench": (128, 512)}
_ENCODER_SIZES = {
    "tiny": {"width": 60, "heads": 3, "hidden": 100, "layers": 2},
    "bench": {"width": 512, "heads": 8, "hidden": 2048, "layers": 6},
}

ZOO: tuple[Model, ...] = (
    _text(
        "bert",
        "BertModel",
        "BertConfig",
        {"hidden_size": 60, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 100},
        {"hidden_size": 768, "num_hidden_layers": 4, "num_attention_heads": 12, "intermediate_size": 3072},
    ),
    _text(
        "gpt2",
        "GPT2LMHeadModel",
        "GPT2Config",
        {"n_embd": 60, "n_layer": 2, "n_head": 3, "n_positions": 64, "use_cache": False},
        {"n_embd": 768, "n_layer": 4, "n_head": 12, "n_positions": 1024, "use_cache": False},
    ),
    _text(
        "llama",
        "LlamaForCausalLM",
        "LlamaConfig",
        {
            "hidden_size": 64,
            "intermediate_size": 100,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "use_cache": False,
        },
        {
            "hidden_size": 768,
            "intermediate_size": 2048,
            "num_hidden_layers": 4,
            "num_attention_heads": 12,
            "num_key_value_heads": 4,
            "use_cache": False,
        },
    ),
    _text(
        "t5-encoder",
        "T5EncoderModel",
        "T5Config",
        {"d_model": 60, "d_kv": 20, "d_ff": 100, "num_layers": 2, "num_heads": 3},
        {"d_model": 768, "d_kv": 64, "d_ff": 2048, "num_layers": 4, "num_heads": 12},
    ),
    _vision(
        "vit",
        partial(_transformers, "ViTForImageClassification", "ViTConfig"),
        {
            "hidden_size": 60,
            "num_hidden_layers": 2,
            "num_attention_heads": 3,
            "intermediate_size": 100,
            "image_size": 32,
            "patch_size": 8,
            "num_labels": 10,
        },
        {"hidden_size": 768, "num_hidden_layers": 4, "num_attention_heads": 12, "intermediate_size": 3072},
    ),
    _vision(
        "resnet18",
        _RESNET,
        {
            "embedding_size": 12,
            "hidden_sizes": [12, 20],
            "depths": [2, 1],
            "layer_type": "basic",
            "num_labels": 10,
        },
        {
            "embedding_size": 64,
            "hidden_sizes": [64, 128, 256, 512],
            "depths": [2, 2, 2, 2],
            "layer_type": "basic",
            "num_labels": 1000,
        },
    ),
    _vision(
        "resnet50",
        _RESNET,
        {
            "embedding_size": 12,
            "hidden_sizes": [24, 40],
            "depths": [2, 1],
            "layer_type": "bottleneck",
            "num_labels": 10,
        },
        {"num_labels": 1000},
    ),
    _vision(
        "convnext",
        partial(
            _transformers, "ConvNextForImageClassification", "ConvNextConfig", layer_scale_init_value=0.5
        ),
        {"hidden_sizes": [12, 20], "depths": [2, 1], "num_stages": 2, "num_labels": 10},
        {"hidden_sizes": [96, 192, 384, 768], "depths": [3, 3, 9, 3], "num_labels": 1000},
    ),
    Model("encoder", _encoder, _sequence_first, _ENCODER_INPUTS, _ENCODER_SIZES),
    Model(  # in inference each of its layers is one ATen operator: torch.nn's "fast path"
        "encoder-fast-path",
        partial(_encoder, activation="gelu", batch_first=True),
        _floats,
        _ENCODER_INPUTS,
        _ENCODER_SIZES,
    ),
    Model(
        "lstm",
        partial(nn.LSTM, batch_first=True),
        _floats,
        {"tiny": (5, 20), "bench": (16, 256)},
        {
            "tiny": {"input_size": 20, "hidden_size": 24, "num_layers": 2},
            "bench": {"input_size": 256, "hidden_size": 512, "num_layers": 2},
        },
        {"allow_rnn": True},  # Dynamo leaves recurrent layers to eager unless told otherwise
    ),
    Model(
        "unet",
        UNet,
        _image_and_step,
        {"tiny": (3, 16, 16), "bench": (3, 64, 64)},
        {"tiny": {"width": 8, "levels": 2, "heads": 2, "groups": 4}, "bench": {"width": 64}},
    ),
    Model(
        "mlp-mixer",
        MlpMixer,
        _floats,
        {"tiny": (3, 32, 32), "bench": (3, 224, 224)},
        {
            "tiny": {"image": 32, "width": 36, "depth": 2},
            "bench": {"image": 224, "patch": 16, "width": 512, "depth": 8, "classes": 1000},
        },
    ),
)
BY_NAME: Mapping[str, Model] = {model.name: model for model in ZOO}
_FEW = [1, 1, 1, 1]
SLIM: Mapping[str, Mapping[str, Any]] = {
    "bert": {"num_hidden_layers": 1},
    "gpt2": {"n_layer": 1},
    "llama": {"num_hidden_layers": 1},
    "t5-encoder": {"num_layers": 1},
    "vit": {"num_hidden_layers": 1},
    "resnet18": {"depths": _FEW},
    "resnet50": {"depths": _FEW},
    "convnext": {"depths": _FEW},
    "encoder": {"layers": 1},
    "encoder-fast-path": {"layers": 1},
    "lstm": {"num_layers": 1},
    "mlp-mixer": {"depth": 1},
}
"""What the scale `slim` changes of `bench`: fewer equal layers."""


@dataclass(frozen=True)
class Case:
    """A model with its inputs, ready to call."""

    model: nn.Module
    inputs: Inputs


def load(name: str, scale: str, batch: int, dtype: str, *, training: bool = False, **changes: Any) -> Case:
    """Build one case; the same arguments always give the same weights and inputs.

    `changes` override what the row passes to `build`.
    """
    row = BY_NAME[name]
    if scale == "slim":
        scale, changes = "bench", {**SLIM.get(name, {}), **changes}
    torch.manual_seed(0)
    model = row.build(**{**row.sizes[scale], **changes})
    _scatter_vectors(model)
    inputs = row.inputs(scale, batch, row.sample[scale])
    model = model.to(DTYPES[dtype]).train(training)
    return Case(model, tuple(x.to(DTYPES[dtype]) if x.is_floating_point() else x for x in inputs))


def _scatter_vectors(model: nn.Module) -> None:
    """Move biases, norm weights and running statistics off 0 and 1, where mistakes hide."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.randn_like(parameter), alpha=0.1)
        for name, buffer in model.named_buffers():
            if name.endswith("running_mean"):
                buffer.normal_(0.0, 0.1)
            elif name.endswith("running_var"):
                buffer.uniform_(0.5, 1.5)
