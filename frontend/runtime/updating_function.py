"""What operators do that write to their arguments, on tensors: `tw.update`, and `th.extern` of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import Var, evaluate_all, parse_exprs
from tilewright.dialects.th.calls import ExternOp
from tilewright.dialects.tw.updating import UpdateOp, UpdatingOp
from tilewright.passes.memory.stated import layout_of_result

from .fallback import AtenFunction, aten_function, restrided

Env = Mapping[Var, int]


class UpdatingFunction:
    """`fn(operands, env) -> tensors`: results of a `tw.update`, or what a `th.extern` has written to."""

    def __init__(self, op: UpdateOp | ExternOp) -> None:
        self.op = op
        written = len(op.written) if isinstance(op, UpdateOp) else 0
        self.call: AtenFunction = aten_function(op, first=written)

    def __call__(self, operands: Sequence[Any], env: Env | None = None) -> tuple[torch.Tensor, ...]:
        op, env = self.op, env or {}
        if isinstance(op, ExternOp):
            self.call(operands, env)
            return tuple(operands[len(op.ins) :])
        given = laid(op, operands, env)
        results = [
            begun(op, i, given[init].dtype, env).copy_(given[init]) for i, init in enumerate(ints(op.inits))
        ]
        parts = [
            torch.as_strided(
                results[part.result.data],
                evaluate_all(parse_exprs(part.sizes.data), env),
                evaluate_all(parse_exprs(part.strides.data), env),
                evaluate_all(parse_exprs(part.offset.data), env)[0],
            )
            for part in op.parts or ()
        ]
        return (*results, *self.call([*given, *results, *parts], env))


def laid(op: UpdatingOp, operands: Sequence[Any], env: Env) -> list[torch.Tensor]:
    """The operands with the strides that were traced."""
    return [restrided(tensor, op.strides_of(i), env) for i, tensor in enumerate(operands)]


def begun(op: UpdatingOp, number: int, dtype: torch.dtype, env: Env) -> torch.Tensor:
    """Memory for a result."""
    layout = layout_of_result(op, number)
    sizes, strides = evaluate_all(layout.sizes, env), evaluate_all(layout.strides, env)
    return torch.empty_strided(sizes, strides, dtype=dtype)
