"""Functions that sort a tile along its last dimension, of `1 << log` elements."""

from __future__ import annotations

from collections.abc import Mapping

_KEYS = """
@triton.jit
def _sort_key_{width}(x):
    # Bits of floats are ordered as integers are, those of negative ones the other way round.
    bits = x.to(tl.int{width}, bitcast=True)
    key = tl.where(bits < 0, bits ^ {top}, bits)
    return tl.where(x != x, {top}, tl.where(x == 0.0, 0, key))
"""
_NUMBERS = """
@triton.jit
def _sorted_number_{width}(key, minus):
    bits = tl.where(minus, {bottom}, tl.where(key < 0, key ^ {top}, key))
    return bits.to(tl.float{width}, bitcast=True)
"""
_ARRANGE_FLOATS = """
@triton.jit
def _arrange_floats_{width}(x, descending: tl.constexpr, log: tl.constexpr):
    key = _sort_key_{width}(x)
    minus = (x == 0.0) & (x.to(tl.int{width}, bitcast=True) < 0)
    key, place, minus = _arrange_{width}(key, minus.to(tl.int32), descending, log)
    return _sorted_number_{width}(key, minus != 0), place
"""
_ARRANGE_INTEGERS = """
@triton.jit
def _arrange_integers_{width}(x, descending: tl.constexpr, log: tl.constexpr):
    key, place, minus = _arrange_{width}(x, tl.zeros_like(x).to(tl.int32), descending, log)
    return key, place
"""
_ARRANGE = """
@triton.jit
def _arrange_{width}(key, mark, descending: tl.constexpr, log: tl.constexpr):
    # Of equal keys the first one is less; a mark of one bit goes along.
    flip = -1 if descending else 0
    low = mark + 2 * tl.arange(0, 1 << log)
    key, low = _sorted_pairs_{width}(key ^ flip, low, log)
    return key ^ flip, low >> 1, low & 1
"""
_WIDTHS: Mapping[int, Mapping[str, int]] = {
    width: {"width": width, "top": 2 ** (width - 1) - 1, "bottom": -(2 ** (width - 1))} for width in (32, 64)
}

SORT_HELPERS: Mapping[str, str] = {
    "_sorted_pairs_32": """
@triton.jit
def _sorted_pairs_32(high, low, log: tl.constexpr):
    both = tl.sort((high.to(tl.int64) << 32) | low.to(tl.int64))
    return (both >> 32).to(tl.int32), both.to(tl.int32)
""",
    "_exchange": """
@triton.jit
def _exchange(high, low, rising, apart: tl.constexpr, count: tl.constexpr):
    # Each pair of elements that stand `apart` swaps where it is not in the order that is wanted.
    high = tl.reshape(high, [count // (2 * apart), 2, apart])
    low = tl.reshape(low, [count // (2 * apart), 2, apart])
    rising = tl.reshape(rising, [count // (2 * apart), 2, apart])
    high_there = high ^ tl.xor_sum(high, 1, True)
    low_there = low ^ tl.xor_sum(low, 1, True)
    greater = (high > high_there) | ((high == high_there) & (low > low_there))
    last = tl.arange(0, 2)[None, :, None]
    swaps = greater == ((rising ^ last) != 0)
    high = tl.where(swaps, high_there, high)
    low = tl.where(swaps, low_there, low)
    return tl.reshape(high, [count]), tl.reshape(low, [count])
""",
    "_sorted_pairs_64": """
@triton.jit
def _sorted_pairs_64(high, low, log: tl.constexpr):
    # Batcher's bitonic network: of runs of 2, 4, ... every other one falls; each two of them merge.
    count: tl.constexpr = high.numel
    place = tl.arange(0, count)
    first = tl.reshape(high, [count])
    second = tl.reshape(low, [count])
    for stage in tl.static_range(1, log + 1):
        rising = 1 - ((place >> stage) & 1) if stage < log else place * 0 + 1
        for step in tl.static_range(stage):
            first, second = _exchange(first, second, rising, 1 << (stage - 1 - step), count)
    return tl.reshape(first, high.shape), tl.reshape(second, low.shape)
""",
    **{
        f"{name}_{width}": text.format(**facts)
        for width, facts in _WIDTHS.items()
        for name, text in (
            ("_sort_key", _KEYS),
            ("_sorted_number", _NUMBERS),
            ("_arrange", _ARRANGE),
            ("_arrange_floats", _ARRANGE_FLOATS),
            ("_arrange_integers", _ARRANGE_INTEGERS),
        )
    },
}
"""Name -> definition."""


def helpers_of_sort(width: int, *, floats: bool) -> list[str]:
    """What `tk.arrange` of such values calls, the function itself first."""
    kind = ("_arrange_floats", "_sort_key", "_sorted_number") if floats else ("_arrange_integers",)
    found = [f"{name}_{width}" for name in (*kind, "_arrange", "_sorted_pairs")]
    return found if width == 32 else [*found, "_exchange"]
