"""Tiny models of `transformers` through `backend="mlir"`, judged against eager and float64.

    python test/sweep/models.py --only '^(t5|bart)$' --kinds 'inference-f32|training|generate'
    python test/sweep/models.py --kinds training --target gpu_emulated

Inference and training call each model with three pairs of sizes: two that differ, and the first again. A
training step compares outputs, gradients and buffers, and steps an optimizer. `generate` compares tokens.
Exits with 1 where something is wrong or raised.
"""

from __future__ import annotations

import argparse
import copy
import logging
import re
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from image_cases import IMAGES_AND_SOUNDS
from model_cases import TEXTS, Arguments, Case
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.numerics import Verdict, Widen, judge

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
GENERATION: dict[str, dict[str, Any]] = {
    "greedy": {"do_sample": False},
    "sampled": {"do_sample": True, "top_k": 20},
    "beams": {"do_sample": False, "num_beams": 3},
    "static": {"do_sample": False, "cache_implementation": "static"},
}


def arguments(case: Case, dtype: torch.dtype, call: int) -> Arguments:
    """What the model is called with the `call`th time."""
    torch.manual_seed(call)
    batch, length = ((2, case.lengths[0]), (3, case.lengths[1]), (2, case.lengths[0]))[call]
    return tree_map(lambda x: x.to(dtype) if x.is_floating_point() else x, case.inputs(batch, length))


def tensors(output: Any) -> list[Tensor]:
    """All floats of an output, and what else is a tensor."""
    if hasattr(output, "to_tuple"):
        output = output.to_tuple()
    return [x for x in tree_leaves(output) if isinstance(x, Tensor)]


def built(case: Case, dtype: torch.dtype, **changes: Any) -> nn.Module:
    torch.manual_seed(0)
    model = case.build(**changes)
    for parameter in model.parameters():  # several start as zeros or ones, which hide what they do
        parameter.data.add_(torch.randn_like(parameter), alpha=0.02)
    return model.to(dtype)


def exact_copy(model: Any) -> nn.Module:
    """The model in float64; products of groups have no float64, so experts run one after the other."""
    exact = copy.deepcopy(model).double()
    if exact._can_set_experts_implementation():
        exact.set_experts_implementation("eager")
    return exact


def inference(case: Case, target: str, dtype: torch.dtype) -> Verdict:
    model = built(case, dtype).eval()
    exact = exact_copy(model)
    compiled = torch.compile(model, backend="mlir", options={"target": target})
    verdict = Verdict(False, "never called")
    for call in range(3):
        given = arguments(case, dtype, call)
        with torch.no_grad():
            got, want = tensors(compiled(**given)), tensors(model(**given))
            with Widen():
                truth = tensors(exact(**tree_map(wide, given)))
        verdict = judge(got, want, truth)
        if not verdict:
            return Verdict(False, f"call {call}: {verdict.why}")
    return verdict


def training(case: Case, target: str, dtype: torch.dtype) -> Verdict:
    model = built(case, dtype, **case.training).train()
    compiled = torch.compile(model, backend="mlir", options={"target": target})
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    verdict = Verdict(False, "never called")
    for call in range(3):
        given = arguments(case, dtype, call)
        eager, exact = copy.deepcopy(model), exact_copy(model)
        want = step(eager, eager, given)
        with Widen():
            truth = step(exact, exact, tree_map(wide, given))
        got = step(model, compiled, given)
        names = [k for k, _ in model.named_parameters()] + [k for k, _ in model.named_buffers()]
        count = len(want) - len(names)
        for i, three in enumerate(zip(got, want, truth, strict=True)):
            verdict = judge(*three)
            if not verdict:
                name = names[i - count] if i >= count else f"output {i}"
                return Verdict(False, f"call {call}, {name}: {verdict.why}")
        optimizer.step()
    return verdict


def step(model: nn.Module, run: Callable[..., Any], given: Arguments) -> list[Tensor]:
    """Outputs, gradients and buffers: of a loss that depends on every element of the outputs differently."""
    model.zero_grad()
    outputs = tensors(run(**given))
    losses = [
        (x - torch.linspace(-1.0, 1.0, x.numel(), dtype=x.dtype).view(x.shape)).square().mean()
        for x in outputs
        if x.requires_grad
    ]
    torch.stack(losses).sum().backward()
    # what reaches no loss has a gradient of zeros compiled, and none in eager
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]
    return [*(x.detach() for x in outputs), *gradients, *(b.clone() for b in model.buffers())]


def wide(value: Any) -> Any:
    return value.double() if isinstance(value, Tensor) and value.is_floating_point() else value


def generation(case: Case, target: str, kind: str) -> Verdict:
    """Tokens of `generate` with the compiled `forward`, for two batches."""
    for call in range(2):
        given = arguments(case, torch.float32, call)
        given.pop("decoder_input_ids", None)
        found: list[Tensor] = []
        for compiled in (False, True):
            model = built(case, torch.float32).eval()
            model.generation_config.eos_token_id = None  # all of them are as long
            if compiled:
                model.forward = torch.compile(model.forward, backend="mlir", options={"target": target})
            torch.manual_seed(5)
            with torch.no_grad():
                found.append(model.generate(**given, max_new_tokens=8, **GENERATION[kind]))
        if not torch.equal(*found):
            return Verdict(False, f"batch {call}: {found[1].tolist()} for {found[0].tolist()}")
    return Verdict(True, "equal tokens")


KINDS: dict[str, Callable[[Case, str], Verdict]] = {
    **{f"inference-{name}": partial(inference, dtype=dtype) for name, dtype in DTYPES.items()},
    **{f"training-{name}": partial(training, dtype=dtype) for name, dtype in DTYPES.items()},
    **{f"generate-{name}": partial(generation, kind=name) for name in GENERATION},
}


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", help="regular expression over names of models")
    parser.add_argument("--kinds", default="", help="regular expression: " + ", ".join(KINDS))
    parser.add_argument("--target", default="auto", help="auto, or gpu_emulated")
    parser.add_argument("--traceback", action="store_true", help="of what raises")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    for name in ("torch._dynamo", "transformers"):
        logging.getLogger(name).setLevel(logging.ERROR)
    counts: Counter[str] = Counter()
    for case in (*TEXTS, *IMAGES_AND_SOUNDS):
        if not re.search(args.only, case.name):
            continue
        for kind, run in KINDS.items():
            if not re.search(args.kinds, kind) or (kind.startswith("generate") and not _generates(case)):
                continue
            torch._dynamo.reset()
            start = time.process_time()
            try:
                verdict = run(case, args.target)
                status = "ok" if verdict else "wrong"
                line = "" if verdict else verdict.why
            except Exception as error:
                status, line = "error", f"{type(error).__name__}: {str(error)[:400]}"
                if args.traceback:
                    traceback.print_exc()
            counts[status] += 1
            print(f"{status:6} {case.name} {kind} ({time.process_time() - start:.0f} s) {line}", flush=True)
    print(", ".join(f"{status} {count}" for status, count in sorted(counts.items())))
    return 1 if counts["wrong"] or counts["error"] else 0


def _generates(case: Case) -> bool:
    return "CausalLM" in case.model or "Generation" in case.model or "MTModel" in case.model


if __name__ == "__main__":
    sys.exit(main())
