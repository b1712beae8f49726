"""Philox4x32-10 (Salmon et al., 2011) on int64 arrays, the generator of all random ops."""

from __future__ import annotations

from .arrays import Array

_MASK = 0xFFFFFFFF
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10


def _high_and_low(multiplier: int, value: Array) -> tuple[Array, Array]:
    """Both words of a 32 x 32 bit product, without a product of more than 48 bits."""
    low_part, high_part = (multiplier & 0xFFFF) * value, (multiplier >> 16) * value
    total = high_part + (low_part >> 16)
    return total >> 16, ((total & 0xFFFF) << 16) | (low_part & 0xFFFF)


def philox(seed: int | Array, counter: Array) -> tuple[Array, Array, Array, Array]:
    """Four words for counter words (low, high, 0, 0) of each element of an i64 array."""
    key = [seed & _MASK, (seed >> 32) & _MASK]
    words = (counter & _MASK, (counter >> 32) & _MASK, counter & 0, counter & 0)
    for _ in range(ROUNDS):
        high0, low0 = _high_and_low(_MULTIPLIERS[0], words[0])
        high1, low1 = _high_and_low(_MULTIPLIERS[1], words[2])
        words = (high1 ^ words[1] ^ key[0], low1, high0 ^ words[3] ^ key[1], low0)
        key = [(k + step) & _MASK for k, step in zip(key, _KEY_STEPS, strict=True)]
    return words


WORDS = 4
"""Numbers with counters from a multiple of this on are made of one block."""


def first_of_block(counter: int) -> int:
    """The multiple of four at or before a counter, an integer or a tensor of some."""
    return counter & -WORDS


def uniform(seed: int, counter: Array) -> Array:
    """Multiples of 2**-24 in [0, 1), exact in f32 and f64: the upper 24 bits of one word of a block.

    Number `counter` is word `counter mod 4` of block `counter div 4`.
    """
    words = philox(seed, counter >> 2)
    word = sum(((counter & 3) == number) * word for number, word in enumerate(words))
    return (word >> 8) * 2.0**-24
