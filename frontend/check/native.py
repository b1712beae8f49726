"""Runs compiled code on the inputs of a check, and compares it with the module as it was given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from tilewright.dialects.th.types import element_of_handle
from tilewright.dialects.types import element_type_of

from ..fx.dtypes import DTYPES
from ..torch_internals import real_tensors
from .errors import WrongCode
from .execute import Outcome, derived
from .inputs import Case, arguments
from .session import Baseline, Expected, compare
from .signature import Parameter, function_named

Call = Callable[[list[Any]], Sequence[Any]]
"""A compiled graph: tensors and integers in a list, results back."""


def check_compiled(call: Call, module: ModuleOp, baseline: Baseline, *, derives: bool = False) -> int:
    """Compare `call`, compiled from `module`, with what was expected; gives the number of comparisons.

    `derives` says that `call` runs `@setup` itself. Raises WrongCode. Functions that draw random
    seeds take them from torch, and are not compared.
    """
    function = function_named(module, "main")
    if function is None or any(op.name == "tw.rng_seed" for op in baseline.given.walk()):
        return 0
    done = 0
    for expected in baseline.expected:
        if expected.entry.name != "main":
            continue
        own = run_compiled(call, module, baseline.setup, expected, derives=derives)
        text = baseline.broken_promise(expected, own)
        text = text or compare(expected, own, expected.truth, baseline.narrow)
        if text is not None:
            raise WrongCode(entry="main", difference=text, inputs=str(expected.case))
        done += 1
    return done


def run_compiled(
    call: Call, module: ModuleOp, setup: ModuleOp | None, expected: Expected, *, derives: bool
) -> Outcome:
    """One call on the inputs of a case; the outcome holds NumPy arrays, as the interpreter's does."""
    plain = arguments(expected.entry, expected.case, expected.sizes)
    with real_tensors():
        return _called(call, module, setup, expected, plain, derives)


def _called(
    call: Call,
    module: ModuleOp,
    setup: ModuleOp | None,
    expected: Expected,
    plain: Sequence[Any],
    derives: bool,
) -> Outcome:
    entry, case = expected.entry, expected.case
    made = [_placed(a, p, case) for a, p in zip(plain, entry.parameters, strict=True)]
    function = function_named(module, entry.name)
    assert function is not None
    extra: list[torch.Tensor] = []
    try:
        if not derives:
            elements = [_element(arg.type, arg) for arg in function.body.block.args[len(made) :]]
            more = derived(setup or module, function, plain, False)
            extra = [_tensor(np.asarray(v), e) for v, e in zip(more, elements, strict=True)]
        with torch.no_grad():
            results = call([*made, *extra])
    except Exception as error:  # what the compiled program raises
        # Its classes are those of the target; that both raise is what counts.
        return expected.own if expected.own.error is not None else Outcome(error=error)
    final = [_array(v) for v in made if isinstance(v, torch.Tensor)]
    values = tuple(_array(v) if isinstance(v, torch.Tensor) else np.asarray(v) for v in results)
    return Outcome((*values, *final), len(values))


def _element(type_: Attribute, value: Any) -> Attribute:
    return element_of_handle(type_) if type_.name == "th.tensor" else element_type_of(value)


def _placed(value: Any, parameter: Parameter, case: Case) -> Any:
    """An argument as a tensor, in the layout that the function was compiled for."""
    if parameter.element is None:
        return value
    tensor = _tensor(value, parameter.element)
    if parameter.strides is None:
        return tensor
    strides = [e.evaluate(case.values) for e in parameter.strides]
    return torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype).copy_(tensor)


def _tensor(value: Any, element: Attribute) -> torch.Tensor:
    return torch.as_tensor(np.array(value, order="C")).to(DTYPES[element])


def _array(value: torch.Tensor) -> Any:
    plain = value.detach()
    if plain.dtype == torch.bfloat16:
        plain = plain.float()
    return plain.numpy()
