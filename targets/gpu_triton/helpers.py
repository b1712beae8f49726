"""Functions that kernels call, written out in each module that needs them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .sort_helpers import SORT_HELPERS

_EXTREME = """
@triton.jit
def _atomic_{kind}_{width}(pointer, value, mask):
    # Bits of floats are ordered as integers are, those of negative ones the other way round; what is no
    # number is made the one beyond all. What stands there stays if it is none, or equal: the other zero, say.
    old = tl.load(pointer, mask=mask, other=0.0, volatile=True)
    mask = mask & ((value {better} old) | (value != value))
    bits = tl.where(value != value, {nan}, value.to(tl.int{width}, bitcast=True))
    signed = pointer.to(tl.pointer_type(tl.int{width}), bitcast=True)
    unsigned = pointer.to(tl.pointer_type(tl.uint{width}), bitcast=True)
    tl.atomic_{kind}(signed, bits, mask=mask & (bits >= 0), sem="relaxed")
    tl.atomic_{other}(unsigned, bits.to(tl.uint{width}, bitcast=True), mask=mask & (bits < 0), sem="relaxed")
"""
_NANS = {"max": {32: 0x7FFFFFFF, 64: 0x7FFFFFFFFFFFFFFF}, "min": {32: -1, 64: -1}}


def _extreme(kind: str, width: int) -> str:
    better, other = (">", "min") if kind == "max" else ("<", "max")
    return _EXTREME.format(kind=kind, width=width, better=better, other=other, nan=_NANS[kind][width])


HELPERS: Mapping[str, str] = {
    "_maximum": """
@triton.jit
def _maximum(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
""",
    "_minimum": """
@triton.jit
def _minimum(a, b):
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)
""",
    "_multiply": """
@triton.jit
def _multiply(a, b):
    return a * b
""",
    "_linear": """
@triton.jit
def _linear(factor, value, next_factor, next_value):
    return factor * next_factor, value * next_factor + next_value
""",
    "_log_add_exp": """
@triton.jit
def _log_add_exp(a, b):
    low = tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)
    high = tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
    total = libdevice.log1p(libdevice.exp(low - high)) + high
    return tl.where((low == high) & (total != total), high, total)  # infinities of one sign
""",
    "_and": """
@triton.jit
def _and(a, b):
    return a & b
""",
    "_or": """
@triton.jit
def _or(a, b):
    return a | b
""",
    "_floor_div": """
@triton.jit
def _floor_div(a, b):
    rest = a % b  # Triton divides towards zero
    return a // b - ((rest != 0) & ((rest < 0) != (b < 0))).to(tl.int32)
""",
    "_floor_mod": """
@triton.jit
def _floor_mod(a, b):
    rest = a % b  # of the sign of a
    return rest + ((rest != 0) & ((rest < 0) != (b < 0))).to(tl.int32) * b
""",
    "_power": """
@triton.jit
def _power(x, n):
    # Squares and multiplies, wrapping; a negative exponent gives the integer part of the inverse.
    result, base, left = x * 0 + n * 0 + 1, x + n * 0, n + x * 0
    for _ in range(64):
        result = tl.where((left > 0) & (left % 2 == 1), result * base, result)
        base = base * base
        left = tl.where(left > 0, left // 2, left)
    parity = tl.where(n % 2 == 0, x * 0 + 1, x + n * 0)
    inverse = tl.where(x == 1, 1, tl.where(x == -1, parity, 0))
    return tl.where(n < 0, inverse, result)
""",
    "_tanh": """
@triton.jit
def _tanh(x):
    # Without branches. Near 0 a polynomial (least squares on Chebyshev nodes): all in all within 3 units in
    # the last place.
    a = tl.abs(x)
    z = x * x
    p = -0.05385186523199081 + z * (0.02107025310397148 + z * -0.006272607482969761)
    p = x * (1.0 + z * (-0.3333331644535065 + z * (0.13332580029964447 + z * p)))
    t = 1.0 - 2.0 / (libdevice.exp2(a * 2.885390043258667) + 1.0)
    return tl.where(a < 0.55, p, tl.where(x < 0.0, -t, t))
""",
    "_shared": """
@triton.jit
def _shared(x):
    # All of x. What depends on positions Triton does not compute anew in the layout of a matrix unit, where
    # each warp has what other warps have, too.
    return tl.where((tl.arange(0, x.shape[0]) >= 0)[:, None], x, 0.0)
""",
    "_philox": """
@triton.jit
def _philox(seed, counter):
    # Philox4x32-10: the four words of a block.
    k0 = seed.to(tl.uint32)
    k1 = (seed >> 32).to(tl.uint32)
    c0 = counter.to(tl.uint32)
    c1 = (counter >> 32).to(tl.uint32)
    c2 = c0 ^ c0
    c3 = c2
    for _ in tl.static_range(10):
        a = tl.umulhi(c0, 0xD2511F53)
        b = tl.umulhi(c2, 0xCD9E8D57)
        low_a = c0 * 0xD2511F53
        low_b = c2 * 0xCD9E8D57
        c0 = b ^ c1 ^ k0
        c1 = low_b
        c2 = a ^ c3 ^ k1
        c3 = low_a
        k0 = k0 + 0x9E3779B9
        k1 = k1 + 0xBB67AE85
    return c0, c1, c2, c3


@triton.jit
def _uniform(word):
    # In [0, 1).
    return (word >> 8).to(tl.float32) * 5.960464477539063e-08
""",
    "_random": """
@triton.jit
def _random(seed, counter):
    # Each number is one word of a block.
    c0, c1, c2, c3 = _philox(seed, counter >> 2)
    odd = (counter & 1) != 0
    return _uniform(tl.where((counter & 2) != 0, tl.where(odd, c3, c2), tl.where(odd, c1, c0)))
""",
    "_fours": """
@triton.jit
def _fours(seed, counter):
    # Numbers of the shape [..., 2, 2]: the last four are the words of one block.
    first, _ = tl.split(counter)
    first, _ = tl.split(first)
    c0, c1, c2, c3 = _philox(seed, first >> 2)
    return _uniform(tl.join(tl.join(c0, c2), tl.join(c1, c3)))
""",
    "_random_row": """
@triton.jit
def _random_row(seed, counter):
    size: tl.constexpr = counter.shape[0]
    return _fours(seed, counter.reshape(size // 4, 2, 2)).reshape(size)
""",
    "_random_along": """
@triton.jit
def _random_along(seed, counter):
    rows: tl.constexpr = counter.shape[0]
    columns: tl.constexpr = counter.shape[1]
    return _fours(seed, counter.reshape(rows, columns // 4, 2, 2)).reshape(rows, columns)
""",
    "_random_down": """
@triton.jit
def _random_down(seed, counter):
    rows: tl.constexpr = counter.shape[0]
    columns: tl.constexpr = counter.shape[1]
    found = _fours(seed, counter.reshape(rows // 4, 2, 2, columns).permute(0, 3, 1, 2))
    return found.permute(0, 2, 3, 1).reshape(rows, columns)
""",
    **{f"_atomic_{kind}_{width}": _extreme(kind, width) for kind in _NANS for width in (32, 64)},
    **SORT_HELPERS,
}
"""Name -> definition."""


def definitions(names: Iterable[str]) -> list[str]:
    """The definitions of these helpers, in the order of the table."""
    wanted = frozenset(names)
    return [text.strip("\n") for name, text in HELPERS.items() if name in wanted]
