"""How a graph is built from its text, and what the text calls."""

from typing import Any

import numpy as np
import torch
from xdsl.dialects.builtin import bf16

from tilewright.dialects import philox, special_functions
from tilewright.dialects.arrays import Arrays
from tilewright.dialects.semantics import Machine
from tilewright.dialects.tk.semantics_scalar import SPECIAL
from tilewright.frontend.runtime.fallback import aten_function
from tilewright.frontend.runtime.lower import lower

from . import NoNumpyText
from .emit import emit, library_calls

FAILURES = {"index out of range": IndexError, "division by zero": ZeroDivisionError}


def build(graph: Any, request: Any) -> Any:
    """The function of a graph: passes, text, `exec`."""
    lowered = lower(graph, request)
    if lowered.setup is not None:
        raise NoNumpyText(lowered.setup, reason="nothing is kept between calls: leave out hoist-frozen")
    text = emit(graph.module)
    lowered.write("kernels.py", text)
    scope: dict[str, Any] = {}
    exec(compile(text, "<numpy target>", "exec"), scope)
    functions = [aten_function(op) for op in library_calls(graph.main)]

    def run(args: list[Any]) -> Any:
        symbols = {var: int(args[index]) for var, index in graph.symbols}
        with torch.no_grad(), np.errstate(all="ignore"):
            return scope["main"](args, lambda n, operands: functions[n](operands, symbols))

    return run


def flat(tensor: Any) -> Any:
    """The memory of a tensor from its first element on, shared."""
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    count = 1 + sum((n - 1) * s for n, s in steps) if tensor.numel() else 0
    plain = tensor.detach().as_strided((count,), (1,))
    return (plain.view(torch.uint16) if plain.dtype == torch.bfloat16 else plain).numpy()


def view(source: Any, offset: Any, sizes: Any, strides: Any, dtype: Any) -> Any:
    tensor = source if isinstance(source, torch.Tensor) else torch.from_numpy(source).view(dtype)
    return tensor.as_strided(sizes, strides, tensor.storage_offset() + offset[0])


def placed(results: Any, layouts: Any) -> Any:
    made = [torch.empty_strided(*layout, dtype=r.dtype) for r, layout in zip(results, layouts, strict=True)]
    return [new.copy_(r) for new, r in zip(made, results, strict=True)]


def load(buffer: Any, place: Any, mask: Any, other: Any, dtype: Any, ones: Any) -> Any:
    place, mask = np.broadcast_arrays(np.full(ones, 0) + place, mask)
    value = buffer[np.where(mask, place, 0)] if mask.any() else np.zeros(place.shape, buffer.dtype)
    if buffer.dtype == np.uint16:
        value = (value.astype(np.uint32) << 16).view(np.float32)
    return np.where(mask, value.astype(dtype), np.asarray(other).astype(dtype))


def store(buffer: Any, place: Any, mask: Any, value: Any, ufunc: Any) -> None:
    place, value, mask = np.broadcast_arrays(place, value, mask)
    place, value = place[mask], value[mask]
    value = (value.view(np.uint32) >> 16 if buffer.dtype == np.uint16 else value).astype(buffer.dtype)
    if ufunc is not None:
        ufunc.at(buffer, place, value)
    else:
        buffer[place] = value


def finish(failures: Any) -> None:
    for held, message, sizes in failures:
        if 0 not in sizes and not held.all():
            raise FAILURES.get(message, RuntimeError)(message)


def spread(x: Any, axes: Any, sizes: Any) -> Any:
    return np.broadcast_to(x, [sizes[a] if a in axes else n for a, n in enumerate(x.shape)])


def reduce(ufunc: Any, x: Any, axes: Any, sizes: Any) -> Any:
    limits = (-np.inf, np.inf) if x.dtype.kind == "f" else (False, True)
    if x.dtype.kind == "i":
        limits = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
    initial = ufunc.identity if ufunc.identity is not None else limits[ufunc is np.minimum]
    wide = np.float64 if x.dtype.kind == "f" and initial in (0, 1) else x.dtype  # sums in any order, exactly
    return ufunc.reduce(spread(x, axes, sizes), axis=axes, keepdims=True, dtype=wide, initial=initial).astype(
        x.dtype
    )


def argreduce(ufunc: Any, x: Any, index: Any, axes: Any, sizes: Any) -> Any:
    best, last = reduce(ufunc, x, axes, sizes), np.iinfo(np.int64).max
    places = np.where((spread(x, axes, sizes) == best) | (x != x), index, last)
    return best, np.minimum.reduce(places, axis=axes, keepdims=True, initial=last)


def scan(ufunc: Any, x: Any, axes: Any, sizes: Any) -> Any:
    return ufunc.accumulate(spread(x, axes, sizes), axis=axes[0], dtype=x.dtype)


def rounded(x: Any) -> Any:
    return Arrays(np).store(x, bf16)


def erf(x: Any) -> Any:
    return special_functions.erf(Arrays(np), x)


def uniform(seed: Any, counter: Any) -> Any:
    return philox.uniform(int(seed.reshape(-1)[0]), counter)


def integer_power(x: Any, y: Any) -> Any:
    return SPECIAL["math.ipowi"](None, (x, y), Machine(Arrays(np)))


def unsigned(x: Any) -> Any:
    return x if x.dtype == np.bool_ else x.view(f"u{x.dtype}")
