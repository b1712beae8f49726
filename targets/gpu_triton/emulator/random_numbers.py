"""Random numbers of `tl`: Philox4x32 of a seed and an offset, as users' kernels draw them.

Source: triton/language/random.py, of which the numbers are the same bit by bit but for `randn`'s rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch

from tilewright.dialects.philox import ROUNDS, philox

from .dtypes import BadText, float32, uint32
from .values import Value, as_value

_WORD = 1 << 32
_SCALE = 4.6566127342e-10
"""What Triton multiplies 31 bits by, for numbers below 1."""


def _words(seed: Any, offset: Any, n_rounds: int) -> tuple[torch.Tensor, ...]:
    """Four words for each element of `offset`, in int64."""
    counter, key = as_value(offset), as_value(seed)
    if n_rounds != ROUNDS:
        raise BadText(f"{n_rounds} rounds of Philox: the emulator knows {ROUNDS}")
    if counter.dtype.floating or key.dtype.floating or key.is_block:
        raise BadText("a seed is an integer, offsets are integers")
    number = key.data.to(torch.int64).reshape(-1, *[1] * (counter.data.dim() - 1))
    count = counter.data.to(torch.int64)
    if counter.dtype.bits < 64:
        count = count % _WORD
    return philox(number, count)


def _integer(word: torch.Tensor) -> Value:
    """A word as the signed payload of an unsigned number."""
    return Value(torch.where(word >= _WORD // 2, word - _WORD, word).to(torch.int32), uint32)


def _uniform(word: torch.Tensor) -> torch.Tensor:
    bits = _integer(word).data
    return torch.where(bits < 0, -bits - 1, bits).to(torch.float32) * torch.tensor(_SCALE)


def randint4x(seed: Any, offset: Any, n_rounds: int = ROUNDS) -> tuple[Value, ...]:
    return tuple(_integer(word) for word in _words(seed, offset, n_rounds))


def randint(seed: Any, offset: Any, n_rounds: int = ROUNDS) -> Value:
    return randint4x(seed, offset, n_rounds)[0]


def rand4x(seed: Any, offsets: Any, n_rounds: int = ROUNDS) -> tuple[Value, ...]:
    return tuple(Value(_uniform(word), float32) for word in _words(seed, offsets, n_rounds))


def rand(seed: Any, offset: Any, n_rounds: int = ROUNDS) -> Value:
    return rand4x(seed, offset, n_rounds)[0]


def randn(seed: Any, offset: Any, n_rounds: int = ROUNDS) -> Value:
    """By Box and Muller, of two words."""
    first, second, _, _ = (_uniform(word) for word in _words(seed, offset, n_rounds))
    radius = torch.sqrt(-2.0 * torch.log(torch.clamp(first, min=1.0e-7)))
    return Value(radius * torch.cos(torch.tensor(2 * math.pi) * second), float32)


TL: Mapping[str, Callable[..., Any]] = {
    "randint4x": randint4x,
    "randint": randint,
    "rand4x": rand4x,
    "rand": rand,
    "randn": randn,
}
