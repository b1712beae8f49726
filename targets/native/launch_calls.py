"""What the host function calls by way of Python: operators without a C function, functions of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from tilewright.dialects.control_flow import run_control

from .errors import UnexpectedResult, unknown_operator
from .fallback import Argument, Control, Dtype, Fallback, Integer, Operand
from .launch_collectives import waiting

Called = Callable[[list[Any]], tuple[Any, ...]]
"""A host function: a list of inputs, which it empties, to its results."""

DTYPES: Mapping[str, torch.dtype] = {
    "f64": torch.float64,
    "f32": torch.float32,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "ui8": torch.uint8,
    "i1": torch.bool,
}


def python_call(fallback: Fallback, device: torch.device) -> Callable[..., tuple[torch.Tensor, ...]]:
    """The function for `fallback`: (tensors..., integers...) -> results as planned, on `device`."""
    overload = resolve(fallback.callee)
    arguments = overload._schema.arguments
    keyword_only = [argument.name for argument in arguments if argument.kwarg_only]
    positional = len(arguments) - len(keyword_only)
    split, run = fallback.tensors, waiting(overload)
    # What makes tensors from nothing makes them on the CPU unless it is told. Plans name no device.
    told = {"device": device} if device.type != "cpu" and "device" in keyword_only else {}

    def call(*given: Any) -> tuple[torch.Tensor, ...]:
        tensors, integers = given[:split], given[split:]
        args = [_value(arg, tensors, integers) for arg in fallback.args]
        named = {**dict(zip(keyword_only, args[positional:], strict=False)), **told}
        try:
            made = run(*args[:positional], **named)
        except Exception as error:
            error.add_note(f"TW2111: {fallback.callee} failed\n  where: {fallback.where or 'unknown'}")
            raise
        return _conform(made, fallback, integers, device, tensors)

    return call


def control_call(
    control: Control, functions: Sequence[Called], device: torch.device
) -> Callable[..., tuple[torch.Tensor, ...]]:
    """The function for `control`: (tensors..., integers...) -> results as planned, on `device`."""
    counts = (control.carried, control.scanned, len(control.results))

    def call(*given: Any) -> tuple[torch.Tensor, ...]:
        tensors, integers = given[: control.tensors], given[control.tensors :]
        symbols = integers[: control.symbols]

        def stack(index: int, rows: Sequence[torch.Tensor]) -> torch.Tensor:
            if rows:
                return torch.stack(list(rows))
            planned = control.results[index]
            sizes = integers[planned.first : planned.first + planned.rank]
            return torch.empty(sizes, dtype=DTYPES[planned.element], device=device)

        calls = [partial(_call_function, function, symbols) for function in functions]
        with torch.no_grad():
            made = run_control(control.callee, calls, tensors, *counts, stack)
            return _conform(made, control, integers, device, tensors)

    return call


def _call_function(function: Called, symbols: Sequence[int], tensors: Sequence[Any]) -> tuple[Any, ...]:
    return function([*tensors, *symbols])


def apart(made: Sequence[torch.Tensor], tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Each result in memory of its own: the plan may write over operands, and over results.

    An operator that makes its operand row-major may return the operand, whatever its schema says.
    """
    taken = {_memory(tensor) for tensor in tensors} - {None}
    results: list[torch.Tensor] = []
    for tensor in made:
        own = tensor.clone() if _memory(tensor) in taken else tensor
        taken.update({_memory(own)} - {None})
        results.append(own)
    return results


def _memory(tensor: torch.Tensor) -> int | None:
    """None of what has no elements in memory, or of an order that only a library knows."""
    address = tensor.untyped_storage().data_ptr() if tensor.layout == torch.strided else 0
    return address or None


def resolve(callee: str) -> Any:
    """`aten::mm.out` -> torch.ops.aten.mm.out."""
    namespace, _, rest = callee.partition("::")
    name, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, namespace), name, None)
    found = getattr(packet, overload or "default", None)
    if found is None:
        raise unknown_operator(callee)
    return found


def _value(arg: Argument, tensors: Sequence[torch.Tensor], integers: Sequence[int]) -> Any:
    match arg:
        case Operand():
            return tensors[arg.index]
        case Integer():
            return integers[arg.index]
        case Dtype():
            return DTYPES[arg.name]
        case tuple():
            return [_value(item, tensors, integers) for item in arg]
        case _:
            return arg


def _conform(
    made: Any,
    fallback: Fallback | Control,
    integers: Sequence[int],
    device: torch.device,
    operands: Sequence[torch.Tensor],
) -> tuple[torch.Tensor, ...]:
    """The results with the planned strides; another dtype, size or type of device is an error."""
    if not fallback.results:
        return ()
    made = (made,) if isinstance(made, torch.Tensor) else made
    tensors = [value for value in made if isinstance(value, torch.Tensor)]  # numbers were known before
    results: list[torch.Tensor] = []
    if len(tensors) < len(fallback.results):
        raise RuntimeError(
            f"TW2112: {fallback.callee} failed\n  where: {fallback.where or 'unknown'}\n"
            f"  why:   it returned {len(tensors)} tensors, the graph was compiled for {len(fallback.results)}"
        )
    for tensor, planned in zip(apart(tensors, operands), fallback.results, strict=False):
        middle = planned.first + planned.rank
        sizes, strides = integers[planned.first : middle], integers[middle : middle + planned.rank]
        if tensor.dim() == 0 and tensor.device.type == "cpu":
            tensor = tensor.to(device)  # ATen leaves some scalars of GPU functions on the CPU (seeds)
        asked = (tuple(sizes), DTYPES[planned.element], device.type)
        if (tuple(tensor.shape), tensor.dtype, tensor.device.type) != asked:
            found = f"{tensor.dtype} {list(tensor.shape)} on {tensor.device.type}"
            wanted = f"{DTYPES[planned.element]} {list(sizes)} on {device.type}"
            why = f"it returned {found}, the graph was compiled for {wanted}"
            raise UnexpectedResult(where=fallback.where or None, what=fallback.callee, why=why)
        fits = _same_strides(tensor, strides) and (device.type == "cpu" or tensor.data_ptr() % 16 == 0)
        results.append(tensor if fits else _restrided(tensor, strides))
    return tuple(results)


def _same_strides(tensor: torch.Tensor, strides: Sequence[int]) -> bool:
    if tensor.numel() == 0:
        return True
    return all(n == 1 or a == b for n, a, b in zip(tensor.shape, tensor.stride(), strides, strict=True))


def _restrided(tensor: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    copy = torch.empty_strided(tuple(tensor.shape), tuple(strides), dtype=tensor.dtype, device=tensor.device)
    return copy.copy_(tensor)
