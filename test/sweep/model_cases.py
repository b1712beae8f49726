"""Tiny models of `transformers` with random weights, by family: what `models.py` runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import transformers
from torch import Tensor, nn

Arguments = dict[str, Any]
WORDS = 101


@dataclass(frozen=True)
class Case:
    """One model: its class, the fields of its configuration, and what it is called with."""

    name: str
    model: str
    config: str
    fields: Mapping[str, Any]
    inputs: Callable[[int, int], Arguments]
    """Arguments of `forward` for a batch and a length."""
    lengths: tuple[int, int] = (13, 17)
    """Of the first call, and of a later one with another batch: equal for images of one size."""
    training: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What else a training step changes in the configuration."""

    def build(self, **changes: Any) -> nn.Module:
        config = getattr(transformers, self.config)(**{**self.fields, **changes})
        return getattr(transformers, self.model)(config)


def tokens(batch: int, length: int) -> Arguments:
    return {"input_ids": _ids(batch, length)}


def masked(batch: int, length: int) -> Arguments:
    """Sequences of unequal lengths."""
    mask = (torch.arange(length) < length - torch.arange(batch)[:, None]).long()
    return {"input_ids": _ids(batch, length), "attention_mask": mask}


def pair(batch: int, length: int) -> Arguments:
    """What an encoder and a decoder read."""
    return {**masked(batch, length), "decoder_input_ids": _ids(batch, length - 4)}


def spectrogram(batch: int, length: int) -> Arguments:
    return {"input_features": torch.randn(batch, 10, 40), "decoder_input_ids": _ids(batch, length)}


def _ids(batch: int, length: int) -> Tensor:
    return torch.randint(3, WORDS, (batch, length))


_BERT = {
    "vocab_size": WORDS,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 52,
    "max_position_embeddings": 64,
}
BART = {
    "vocab_size": WORDS,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 52,
    "decoder_ffn_dim": 52,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}
NO_BART_DROPOUT = {"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}
_NO_BERT_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
_T5 = {
    "decoder_start_token_id": 0,
    "vocab_size": WORDS,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 52,
    "num_layers": 2,
    "num_heads": 4,
}
_LLAMA = {
    "vocab_size": WORDS,
    "hidden_size": 32,
    "intermediate_size": 52,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
_MOE = {**_LLAMA, "moe_intermediate_size": 24, "num_experts": 4, "num_experts_per_tok": 2}
"""Rows of experts are multiples of 8: torch has no other grouped products of bf16."""
TEXTS = (
    # encoder and decoder
    Case("t5", "T5ForConditionalGeneration", "T5Config", _T5, pair, training={"dropout_rate": 0.0}),
    Case("bart", "BartForConditionalGeneration", "BartConfig", BART, pair, training=NO_BART_DROPOUT),
    Case("marian", "MarianMTModel", "MarianConfig", BART, pair, training=NO_BART_DROPOUT),
    Case("pegasus", "PegasusForConditionalGeneration", "PegasusConfig", BART, pair, training=NO_BART_DROPOUT),
    Case(
        "whisper",
        "WhisperForConditionalGeneration",
        "WhisperConfig",
        {**BART, "num_mel_bins": 10, "max_source_positions": 20, "max_target_positions": 64},
        spectrogram,
        training=NO_BART_DROPOUT,
    ),
    # decoders: experts, state spaces
    Case(
        "mixtral",
        "MixtralForCausalLM",
        "MixtralConfig",
        {**_LLAMA, "intermediate_size": 40, "num_local_experts": 4},
        masked,
    ),
    Case(
        "qwen2-moe",
        "Qwen2MoeForCausalLM",
        "Qwen2MoeConfig",
        {**_MOE, "shared_expert_intermediate_size": 28},
        masked,
    ),
    Case("qwen3-moe", "Qwen3MoeForCausalLM", "Qwen3MoeConfig", {**_MOE, "head_dim": 8}, masked),
    Case("qwen2", "Qwen2ForCausalLM", "Qwen2Config", _LLAMA, masked),
    Case(
        "gemma2", "Gemma2ForCausalLM", "Gemma2Config", {**_LLAMA, "head_dim": 8, "sliding_window": 5}, masked
    ),
    Case("falcon", "FalconForCausalLM", "FalconConfig", {**_BERT, "alibi": True}, masked),
    Case(
        "bloom",
        "BloomForCausalLM",
        "BloomConfig",
        {"vocab_size": WORDS, "hidden_size": 32, "n_layer": 2, "n_head": 4},
        masked,
        training={"hidden_dropout": 0.0, "attention_dropout": 0.0},
    ),
    Case(
        "mamba",
        "MambaForCausalLM",
        "MambaConfig",
        {"vocab_size": WORDS, "hidden_size": 32, "state_size": 8, "num_hidden_layers": 2},
        tokens,
    ),
    Case(
        "mamba2",
        "Mamba2ForCausalLM",
        "Mamba2Config",
        {
            "vocab_size": WORDS,
            "hidden_size": 32,
            "state_size": 8,
            "num_hidden_layers": 2,
            "num_heads": 8,
            "head_dim": 8,
            "n_groups": 2,
            "chunk_size": 8,
        },
        tokens,
    ),
    # encoders: relative and sparse attention
    Case(
        "deberta",
        "DebertaModel",
        "DebertaConfig",
        {**_BERT, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
        masked,
        training=_NO_BERT_DROPOUT,
    ),
    Case(
        "deberta-v2",
        "DebertaV2Model",
        "DebertaV2Config",
        {**_BERT, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 8},
        masked,
        training=_NO_BERT_DROPOUT,
    ),
    Case(
        "longformer",
        "LongformerModel",
        "LongformerConfig",
        {**_BERT, "attention_window": 4, "pad_token_id": 0},
        masked,
        training=_NO_BERT_DROPOUT,
    ),
    Case(
        "bigbird",
        "BigBirdModel",
        "BigBirdConfig",
        {**_BERT, "max_position_embeddings": 256, "block_size": 4, "num_random_blocks": 1},
        masked,
        lengths=(64, 68),
        # TorchDynamo draws other blocks than numpy does
        training={**_NO_BERT_DROPOUT, "attention_type": "original_full"},
    ),
    Case("roberta", "RobertaModel", "RobertaConfig", _BERT, masked, training=_NO_BERT_DROPOUT),
    Case("electra", "ElectraModel", "ElectraConfig", _BERT, masked, training=_NO_BERT_DROPOUT),
    Case(
        "reformer",
        "ReformerModel",
        "ReformerConfig",
        {
            "vocab_size": WORDS,
            "hidden_size": 32,
            "attention_head_size": 16,
            "num_attention_heads": 2,
            "feed_forward_size": 52,
            "axial_pos_embds_dim": (16, 16),
            "axial_pos_shape": (4, 4),
            "attn_layers": ["local", "lsh"],
            "local_attn_chunk_length": 4,
            "lsh_attn_chunk_length": 4,
            "num_buckets": 4,
            "hash_seed": 0,
            "max_position_embeddings": 64,
        },
        tokens,
        lengths=(16, 16),
    ),
    Case(
        "perceiver",
        "PerceiverModel",
        "PerceiverConfig",
        {
            "num_latents": 6,
            "d_latents": 32,
            "d_model": 24,
            "num_blocks": 1,
            "num_self_attends_per_block": 2,
            "num_self_attention_heads": 4,
            "num_cross_attention_heads": 4,
        },
        lambda batch, length: {"inputs": torch.randn(batch, length, 24)},
        training={"attention_probs_dropout_prob": 0.0},
    ),
)
