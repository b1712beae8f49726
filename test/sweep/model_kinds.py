"""Every kind of model that `transformers` makes from a small configuration: one step, by the float64 rule.

    python test/sweep/model_kinds.py --target gpu_emulated --dtype bf16
    python test/sweep/model_kinds.py --only '^(bert|gpt2)$' --dynamic

Outputs, gradients and buffers are compared; with `--dynamic` of two calls with other sizes, which one compile
is to serve. A kind that the configuration does not fit is not built, and says why; each has a process of its
own. Exits with 1 where something is wrong or raised.
"""

from __future__ import annotations

import argparse
import copy
import logging
import os
import re
import signal
import sys
import warnings
from collections import Counter
from typing import Any

import torch
from models import DTYPES as MODEL_DTYPES
from models import exact_copy, step, wide
from torch import nn
from torch.utils._pytree import tree_map
from transformers import AutoConfig, AutoModel
from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

from benchmarks.numerics import Widen, judge

DTYPES = {**MODEL_DTYPES, "f16": torch.float16}
SECONDS, MOST_PARAMETERS = 150, 20_000_000
WORDS, SIDE = 131, 32
WIDTHS = ("hidden_size", "d_model", "n_embd")
INNER = ("intermediate_size", "d_ff", "ffn_dim", "encoder_ffn_dim", "decoder_ffn_dim")
LAYERS = ("num_hidden_layers", "num_layers", "n_layer", "n_layers", "encoder_layers", "decoder_layers")
HEADS = ("num_attention_heads", "num_heads", "n_head", "n_heads")
HEADS_OF_PARTS = ("encoder_attention_heads", "decoder_attention_heads")
DROPPED = ("dropout", "hidden_dropout_prob", "resid_pdrop", "embd_pdrop", "attn_pdrop")
DRAWN = ("p", "dropout", "attention_dropout", "activation_dropout", "drop_prob", "layerdrop")
"""What modules call the share of what they drop."""
SMALL: dict[str, Any] = {
    **dict.fromkeys(WIDTHS, 64),
    **dict.fromkeys(INNER, 96),
    **dict.fromkeys(LAYERS, 2),
    **dict.fromkeys((*HEADS, *HEADS_OF_PARTS), 4),
    **dict.fromkeys(DROPPED, 0.0),
    **{"attention_dropout": 0.0, "attention_probs_dropout_prob": 0.0, "activation_dropout": 0.0},
    **{"num_key_value_heads": 2, "head_dim": 16, "embedding_size": 32, "rotary_dim": 8, "sliding_window": 8},
    **{"vocab_size": WORDS, "max_position_embeddings": 64, "use_cache": False},
    **{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2},
    **{"image_size": SIDE, "patch_size": 8, "num_channels": 3},
    # experts
    **{"num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4, "num_experts_per_tok": 2},
    **{"moe_intermediate_size": 48, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1},
    # latent attention
    **{"kv_lora_rank": 16, "q_lora_rank": 24, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8},
    **{"v_head_dim": 16},
    # state spaces
    **{"state_size": 8, "mamba_n_heads": 8, "mamba_d_head": 16},
}
"""What configurations call their sizes; each takes those that it knows."""


def configuration(kind: str) -> Any:
    known = AutoConfig.for_model(kind).to_dict()
    fits = {name for name, value in known.items() if not isinstance(value, list)}  # one for each stage
    chosen = {name: value for name, value in SMALL.items() if name in fits}
    if types := known.get("layer_types"):  # one layer of two kinds, or two of one
        chosen["layer_types"] = (list(dict.fromkeys(types)) * 2)[:2]
    return AutoConfig.for_model(kind, **chosen)


def built(kind: str, dtype: torch.dtype) -> nn.Module:
    """The model, training, but nothing is dropped; raises what `transformers` raises, or ValueError."""
    config = configuration(kind)
    with torch.device("meta"):
        count = sum(p.numel() for p in AutoModel.from_config(config).parameters())
    if count > MOST_PARAMETERS:
        raise ValueError(f"{count} parameters")
    torch.manual_seed(0)
    model = AutoModel.from_config(config)
    for parameter in model.parameters():  # several start as zeros or ones, which hide what they do
        parameter.data.add_(torch.randn_like(parameter), alpha=0.02)
    for module in model.modules():
        for name in DRAWN:
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
    return model.to(dtype).train()


def arguments(model: Any, dtype: torch.dtype, more: int = 0) -> dict[str, torch.Tensor]:
    """What the model is called with; `more` makes batches and texts longer."""
    torch.manual_seed(1)
    batch = 2 + more
    if model.main_input_name == "pixel_values":
        return {"pixel_values": torch.randn(batch, 3, SIDE, SIDE).to(dtype)}
    given = {"input_ids": torch.randint(3, WORDS, (batch, 19 + 4 * more))}
    if model.config.is_encoder_decoder:
        given["decoder_input_ids"] = torch.randint(3, WORDS, (batch, 11 + 3 * more))
    return given


def run(kind: str, target: str, dtype: torch.dtype, dynamic: bool) -> tuple[str, str]:
    """What became of it, and more about that."""
    try:
        model = built(kind, dtype)
        calls = [arguments(model, dtype, more) for more in ((0, 1) if dynamic else (0,))]
        eager, exact = copy.deepcopy(model), exact_copy(model)
        want = [step(eager, eager, given) for given in calls]
        with Widen():
            truth = [step(exact, exact, tree_map(wide, given)) for given in calls]
    except Exception as error:
        return "not built", f"{type(error).__name__}: {error}"
    try:
        compiled = torch.compile(model, backend="mlir", options={"target": target}, dynamic=dynamic or None)
        got = [step(model, compiled, given) for given in calls]
    except Exception as error:
        return "error", f"{type(error).__name__}: {error}"
    bad = [
        f"call {call}, {i}: {verdict.why}"
        for call, values in enumerate(zip(got, want, truth, strict=True))
        for i, three in enumerate(zip(*values, strict=True))
        if not (verdict := judge(*three))
    ]
    return ("wrong", "; ".join(bad)) if bad else ("ok", "")


def alone(kind: str, target: str, dtype: torch.dtype, dynamic: bool) -> str:
    """`run`, printed by a process of its own; what became of it."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(SECONDS)
        status, more = run(kind, target, dtype, dynamic)
        print(f"{status:9} {kind} {' '.join(more.split())[:300]}", flush=True)
        os.write(writer, status.encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as answer:
        if status := answer.read():
            return status
    print(f"error     {kind} its process ended", flush=True)
    return "error"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", help="regular expression over kinds of models")
    parser.add_argument("--dtype", default="f32", choices=DTYPES)
    parser.add_argument("--dynamic", action="store_true", help="with symbolic sizes, called with two")
    parser.add_argument("--target", default="auto", help="auto, or gpu_emulated")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    for name in ("torch._dynamo", "transformers", "tilewright"):
        logging.getLogger(name).setLevel(logging.ERROR)
    torch.set_num_threads(1)  # processes are forked
    kinds = [kind for kind in MODEL_MAPPING_NAMES if re.search(args.only, kind)]
    counts = Counter(alone(kind, args.target, DTYPES[args.dtype], args.dynamic) for kind in kinds)
    print(", ".join(f"{status} {count}" for status, count in sorted(counts.items())))
    return 1 if counts["wrong"] or counts["error"] else 0


if __name__ == "__main__":
    sys.exit(main())
