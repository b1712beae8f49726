"""Kernels of attention and its gradients compute what the ops say, and only what tiles can do becomes one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from test_tw_linalg import values
from tw_harness import module_of
from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32, f64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.test_value import create_ssa_value

from tilewright.dialects.index_expr import as_expr, parse_exprs
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.tw import attention as t
from tilewright.dialects.types import tensor_type
from tilewright.passes.lowering import lower_attention as of_attention
from tilewright.passes.lowering.lower_attention import Sides, attention_kernel, fills_lanes, why_no_kernel
from tilewright.passes.lowering.lowerings import Lowering
from tilewright.passes.rewrite import Remark, remarks_to

SEED = torch.tensor([-1234567890123456789, 11])
HIDDEN = torch.rand(5, 7, generator=torch.Generator().manual_seed(0)) > 0.5
HIDDEN[2] = False
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"is_causal": True},
    "a row that sees nothing": {"mask": HIDDEN},
    "mask of keys": {"mask": HIDDEN[:1]},
    "mask of rows and heads": {"mask": values(1, 8, 5, 1, seed=7) > 0},
    "added": {"mask": values(2, 1, 5, 7, seed=8), "is_causal": True},
    "bf16": {"name": "bf16", "mask": values(5, 7, name="bf16", seed=8)},
    "f16": {"name": "f16", "is_causal": True},
    "dropout": {"dropout_p": 0.3, "mask": HIDDEN},
    "one of each": {"sizes": (1, 1, 1)},
    "no batch": {"batch": 0},
    "no keys": {"sizes": (5, 0, 4)},
}


def inputs_of(batch: int, sizes: tuple[int, int, int], name: str) -> list[torch.Tensor]:
    """Query, key, value, gradient, log-sum-exp and delta; eight heads share two of keys and values."""
    rows, keys, depth = sizes
    shapes = [(8, rows, depth), (2, keys, depth), (2, keys, 3), (8, rows, 3)]
    found = [values(batch, *shape, name=name, seed=i) for i, shape in enumerate(shapes)]
    total, delta = (values(batch, 8, rows, seed=i) for i in (4, 5))
    total[..., rows // 2] = float("-inf")
    return [*found, total, delta]


def made(
    kind: type[t.AnyAttention], heads: int, args: Sequence[SSAValue], masked: bool, how: Any
) -> Operation:
    """The op of what `inputs_of` gives, then mask and seed; gradients of keys are of `heads` heads."""
    fixed = 3 if kind is t.AttentionOp else 6
    mask, seed = args[fixed] if masked else None, args[-1] if "dropout_p" in how else None
    if kind is t.AttentionOp:
        return t.AttentionOp(args[0], args[1], args[2], mask, scale=0.3, seed=seed, **how)
    if kind is t.AttentionQueryGradOp:
        return t.AttentionQueryGradOp(args[:6], mask, scale=0.3, seed=seed, **how)
    how = {"heads": as_expr(heads), **how}
    return t.AttentionKeyGradOp(args[:6], mask, scale=0.3, seed=seed, **how)


KINDS: dict[str, tuple[type[t.AnyAttention], int, Lowering]] = {
    "forward": (t.AttentionOp, 8, of_attention.lower_attention),
    "of queries": (t.AttentionQueryGradOp, 8, of_attention.lower_query_grad),
    "of keys": (t.AttentionKeyGradOp, 8, of_attention.lower_key_grad),
    "of keys, two heads summed": (t.AttentionKeyGradOp, 4, of_attention.lower_key_grad),
    "of keys, all summed": (t.AttentionKeyGradOp, 2, of_attention.lower_key_grad),
}


@pytest.mark.parametrize("which", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_kernels_compute_what_the_op_says(which: str, case: str) -> None:
    """Also of sizes that are left to a library."""
    kind, heads, lower = KINDS[which]
    how = dict(CASES[case])
    name, mask = how.pop("name", "f32"), how.pop("mask", None)
    inputs = inputs_of(how.pop("batch", 2), how.pop("sizes", (5, 7, 4)), name)
    inputs = inputs[:3] if kind is t.AttentionOp else inputs
    inputs += [x for x in (mask, SEED if "dropout_p" in how else None) if x is not None]
    module = module_of(inputs, lambda args: made(kind, heads, args, mask is not None, how))
    wanted = interpret(module, inputs, torch)
    (op,) = (op for op in module.walk() if isinstance(op, kind))
    Rewriter.replace_op(op, lower(op))
    module.verify()
    tolerance = {"f32": 1e-5, "f16": 2e-3, "bf16": 1e-2}[name]
    for found, expected in zip(interpret(module, inputs, torch), wanted, strict=True):
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


F64, ONE = "no matrix unit takes f64", "no more than one element"
DEEP, DEEP_GRAD = (f"symbolic or have more than {most} elements" for most in (256, 128))
FACTS: list[tuple[Attribute, tuple[int | None, ...], str, str]] = [
    (f32, (2, 2, 2, 2), "", ""),
    (f16, (None, None, 128, 128), "", ""),
    (bf16, (5, 7, 129, 32), "", DEEP_GRAD),
    (f32, (5, 7, 64, 256), "", DEEP_GRAD),
    (f32, (5, 7, 257, 32), DEEP, DEEP_GRAD),
    (f32, (5, 7, None, 32), DEEP, DEEP_GRAD),
    (f32, (5, 7, 64, None), DEEP, DEEP_GRAD),
    (f64, (5, 7, 64, 32), F64, F64),
    *((f32, tuple(n if i == at else 8 for i in range(4)), ONE, ONE) for at in range(4) for n in (0, 1)),
]


@pytest.mark.parametrize(("element", "sides", "forward", "gradient"), FACTS)
def test_what_tiles_cannot_do_says_why(element: Attribute, sides: Any, forward: str, gradient: str) -> None:
    for wanted, asked in ((forward, False), (gradient, True)):
        why = why_no_kernel(element, Sides(*sides), gradient=asked)
        assert wanted in why if why else not wanted


def attention(rows: str, depth: str) -> t.AttentionOp:
    q, k = (create_ssa_value(tensor_type(f32, parse_exprs(f"2, 3, {n}, {depth}"))) for n in (rows, "9"))
    return t.AttentionOp(q, k, k, scale=1.0)


def test_ops_are_lowered_or_say_why() -> None:
    assert attention_kernel(attention("s0", "8")) is not None
    assert attention_kernel(ModuleOp([])) is None
    found = list[Remark]()
    with remarks_to(found.append):
        assert attention_kernel(attention("s0", "s1")) is None
    assert [DEEP in remark.why for remark in found] == [True]
    filling = [rows for rows in ("0", "15", "16", "s0") if fills_lanes(attention(rows, "8"))]
    assert filling == ["16", "s0"]
