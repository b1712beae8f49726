"""ATen calls on NumPy arrays: the part of the interpreter that needs torch, imported when one is met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType, bf16
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.th.calls import ExternOp, TritonLaunchOp
from tilewright.dialects.th.types import element_of_handle
from tilewright.dialects.types import element_type_of

from .execute import is_array
from .inputs import Case


def aten_callback(case: Case) -> Callable[[Operation, Sequence[Any]], Sequence[Any]]:
    """Executes `tw.aten`, `th.call` and `th.extern`; random operators start from the seed of `case`."""
    states: list[Any] = []

    def call(op: Operation, operands: Sequence[Any]) -> Sequence[Any]:
        import torch

        from ..runtime.fallback import called_function
        from ..torch_internals import real_tensors

        given = torch.get_rng_state()
        try:
            if states:
                torch.set_rng_state(states.pop())
            else:
                torch.manual_seed(case.seed)  # pyright: ignore[reportUnknownMemberType]
            with torch.no_grad(), real_tensors():
                tensors = [_tensor(value, v) for value, v in zip(operands, op.operands, strict=True)]
                made = called_function(op)(tensors, case.values)
                arrays = [_array(value) for value in made[: max(len(op.results), _outs(op))]]
            states.append(torch.get_rng_state())
        finally:
            torch.set_rng_state(given)  # the user's numbers stay what they are
        return arrays

    return call


def _outs(op: Operation) -> int:
    """How many of its operands an op writes, of which the callback returns the new contents."""
    return len(op.outs) if isinstance(op, ExternOp | TritonLaunchOp) else 0


def _element(value: SSAValue) -> Attribute:
    return element_type_of(value) if isinstance(value.type, TensorType) else element_of_handle(value.type)


def _tensor(value: Any, of: SSAValue) -> Any:
    if not is_array(value):
        return value
    import torch

    usable = value.flags.writeable and all(step >= 0 for step in value.strides)
    tensor = torch.as_tensor(value if usable else np.array(value, order="C"))
    return tensor.bfloat16() if _element(of) == bf16 and value.dtype == np.float32 else tensor


def _array(value: Any) -> Any:
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    return (value.float() if value.dtype == torch.bfloat16 else value).numpy()
