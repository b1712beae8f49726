"""The float64 rule: a compiled result is right when it is as close to the truth as eager is.

A result passes if it is `allclose` to eager; otherwise its root-mean-square distance from
a float64 run may be at most twice eager's (three times for 16-bit types).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

NARROW = (torch.float16, torch.bfloat16, torch.float32)
TOLERANCE: Mapping[torch.dtype, tuple[float, float]] = {  # rtol, atol: those of torch.testing
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
}


@dataclass(frozen=True)
class Verdict:
    """Whether a result is right, and in one line why."""

    ok: bool
    why: str

    def __bool__(self) -> bool:
        return self.ok


class Widen(TorchDispatchMode):
    """Run everything in float64, also where the model itself asks for a narrower type."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return func(*tree_map(_widened, args), **tree_map(_widened, kwargs or {}))


def _widened(value: Any) -> Any:
    if isinstance(value, torch.dtype):
        return torch.float64 if value in NARROW else value
    if isinstance(value, Tensor) and value.dtype in NARROW:
        return value.double()
    return value


def run_float64(model: nn.Module, inputs: tuple[Tensor, ...]) -> Any:
    """Run a float64 copy of `model`; the model itself is left alone."""
    wide = copy.deepcopy(model).double()
    with torch.no_grad(), Widen():
        return wide(*tree_map(_widened, inputs))


def judge(result: Any, eager: Any, truth: Any) -> Verdict:
    """Apply the rule to every tensor of an output structure."""
    leaves, spec = tree_flatten(result)
    expected, expected_spec = tree_flatten(eager)
    exact, _ = tree_flatten(truth)
    if spec != expected_spec:
        return Verdict(False, f"output structure {spec} instead of {expected_spec}")
    verdict = Verdict(True, "no tensors")
    for index, (got, want, true) in enumerate(zip(leaves, expected, exact, strict=True)):
        if not isinstance(want, Tensor):
            verdict = Verdict(bool(got == want), f"{got!r} for {want!r}")
        else:
            verdict = judge_tensor(got, want, true)
        if not verdict:
            return Verdict(False, f"output {index}: {verdict.why}")
    return verdict


def judge_tensor(got: Tensor, want: Tensor, truth: Tensor, *, halves: bool = False) -> Verdict:
    """Apply the rule to one tensor; `halves`: 16-bit types occur on the way."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return Verdict(False, f"{got.dtype} {tuple(got.shape)} instead of {want.dtype} {tuple(want.shape)}")
    if not want.is_floating_point():
        return Verdict(bool(torch.equal(got, want)), "exact")
    if not torch.equal(_what_is_no_number(got), _what_is_no_number(want)):
        return Verdict(False, "NaN or infinity where eager has none or another, or the reverse")
    rtol, atol = TOLERANCE[want.dtype]
    if torch.allclose(got, want, rtol=rtol, atol=atol, equal_nan=True):
        return Verdict(True, "allclose to eager")
    ours, theirs = rmse(got, truth), rmse(want, truth)
    factor = 3.0 if halves or want.dtype not in (torch.float32, torch.float64) else 2.0
    line = f"RMSE to float64 {ours:.3g}, eager's {theirs:.3g}"
    return Verdict(ours <= factor * theirs, line)


def _what_is_no_number(value: Tensor) -> Tensor:
    """NaN is 2, infinities are 1 and -1, numbers 0."""
    return torch.where(value.isnan(), 2, torch.where(value.isinf(), value.sign(), 0))


def rmse(value: Tensor, truth: Tensor) -> float:
    """Root-mean-square difference over the finite elements."""
    difference = value.double() - truth.double()
    finite = difference[difference.isfinite()]
    return float(finite.square().mean().sqrt()) if finite.numel() else 0.0


def check_model(run: Callable[..., Any], model: nn.Module, inputs: tuple[Tensor, ...]) -> Verdict:
    """Judge one forward call of `run`, a compiled form of `model`."""
    with torch.no_grad():
        return judge(run(*inputs), model(*inputs), run_float64(model, inputs))
