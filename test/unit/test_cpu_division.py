"""Division, remainder and powers of the C++ prelude, in every width, against Python's integers and libm."""

from __future__ import annotations

import ctypes
import os
from itertools import product
from random import Random

import numpy as np
import pytest

from tilewright.targets.cpu_openmp.build import build

LANES = {"f32": (1, 4, 8, 16), "i32": (1, 4, 8, 16), "i64": (1, 2, 4, 8, 16), "f64": (1, 4, 8)}
TYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64}
FUNCTIONS = {
    "quotient": ("i32", "i64"),
    "rest": ("i32", "i64"),
    "fmod": ("f32", "f64"),
    "pow": ("f32", "f64"),
}


def _source() -> str:
    parts = ['#include "prelude_math.h"']
    for name, types in FUNCTIONS.items():
        for t in types:
            for lanes in LANES[t]:
                one = f"o[i] = tw::{name}(x[i], y[i]);"
                many = f"tw::store(o + i, tw::{name}(tw::load<{lanes}>(x + i), tw::load<{lanes}>(y + i)));"
                head = f"TW_EXPORT void {name}_{t}_{lanes}(const {t}* x, const {t}* y, {t}* o, i64 n)"
                body = one if lanes == 1 else many
                parts.append(f"{head} {{ for (i64 i = 0; i < n; i += {lanes}) {body} }}")
    return "\n".join(parts)


@pytest.fixture(scope="module", params=["best", "avx2", "default"])
def library(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> ctypes.CDLL:
    capability = {} if request.param == "best" else {"ATEN_CPU_CAPABILITY": request.param}
    folder = tmp_path_factory.mktemp("cache")
    return ctypes.CDLL(str(build(_source(), cache_dir=folder, environment={**os.environ, **capability})))


def _run(library: ctypes.CDLL, name: str, lanes: int, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    kind = next(text for text, type_ in TYPES.items() if type_ == x.dtype.type)
    got = np.empty_like(x)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (x, y, got)]
    getattr(library, f"{name}_{kind}_{lanes}")(*pointers, ctypes.c_int64(x.size))
    return got


def _integers(bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Small, large and extreme numbers; products and their neighbours, whose quotients almost round up."""
    random = Random(0)
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    edges = [0, 1, -1, 2, -2, 3, 7, -7, 10, low, low + 1, high, high - 1, high // 2, low // 2]
    edges += [
        s * (2**e + d) for e in (23, 24, 30, 31, 50, 51, 52, 53, 54, 62) for d in (-1, 0, 1) for s in (1, -1)
    ]
    edges = [n for n in edges if low <= n <= high]
    pairs = [(a, b) for a, b in product(edges, edges) if b != 0 and (a, b) != (low, -1)]
    for _ in range(6000):
        b = random.randrange(1, 2 ** random.randrange(1, bits))
        k = random.randrange(max(1, min(high, 2**51) // b))
        near = k * b + random.randrange(-1, 2)
        pairs += [(near, b), (-near, b), (near, -b)]
        pairs.append((random.randrange(low, high), random.randrange(1, high)))
    pairs += [(1, 1)] * (-len(pairs) % 16)
    x, y = np.array(pairs, dtype=np.int64).T
    kind = TYPES[f"i{bits}"]
    return np.ascontiguousarray(x.astype(kind)), np.ascontiguousarray(y.astype(kind))


@pytest.mark.parametrize("bits", [32, 64])
def test_integers_are_divided_exactly(library: ctypes.CDLL, bits: int) -> None:
    x, y = _integers(bits)
    quotients = [
        abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        for a, b in zip(x.tolist(), y.tolist(), strict=True)
    ]
    rests = [a - q * b for a, b, q in zip(x.tolist(), y.tolist(), quotients, strict=True)]
    for lanes in LANES[f"i{bits}"]:
        assert _run(library, "quotient", lanes, x, y).tolist() == quotients, lanes
        assert _run(library, "rest", lanes, x, y).tolist() == rests, lanes


SPECIAL = (
    *(
        0.0,
        1.0,
        2.0,
        3.0,
        0.5,
        1.5,
        2.5,
        7.0,
        33.0,
        127.0,
        128.0,
        149.0,
        150.0,
        0.1,
        1e-10,
        0.99999994,
        1.0000001,
    ),
    *(1e-45, 1e-40, 1.1754944e-38, 3.4e38, 16777215.0, 16777216.0, 1e10, np.inf, np.nan),
)


def _floats(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Special values with each other, bit patterns, near multiples."""
    random = np.random.default_rng(0)
    signed = [s * v for v in SPECIAL for s in (1, -1)]
    grid = np.array(list(product(signed, signed)), dtype=TYPES[kind]).T
    word = np.uint32 if kind == "f32" else np.uint64
    patterns = random.integers(0, 2 ** (8 * np.dtype(word).itemsize) - 1, (2, 20000), dtype=word).view(
        TYPES[kind]
    )
    y = random.random(20000).astype(TYPES[kind]) * 100
    near = np.stack([y * random.integers(0, 2**22, 20000).astype(TYPES[kind]), y])
    plain = np.stack([random.random(20000) * 30, random.normal(size=20000) * 20]).astype(TYPES[kind])
    ones = np.stack([1 + random.normal(size=20000) * 1e-3, random.normal(size=20000) * 1e4]).astype(
        TYPES[kind]
    )
    x, y = np.concatenate([grid, patterns, near, plain, ones], axis=1)
    size = x.size // 16 * 16
    return np.ascontiguousarray(x[:size]), np.ascontiguousarray(y[:size])


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_fmod_is_exact(library: ctypes.CDLL, kind: str) -> None:
    x, y = _floats(kind)
    with np.errstate(all="ignore"):
        want = np.fmod(x, y)
    for lanes in LANES[kind]:
        got = _run(library, "fmod", lanes, x, y)
        np.testing.assert_array_equal(got, want)
        numbers = ~np.isnan(want)
        assert (np.signbit(got) == np.signbit(want))[numbers].all()


def test_powers_are_good_to_the_last_place(library: ctypes.CDLL) -> None:
    """0.6 units at most; special cases as C99 has them."""
    x, y = _floats("f32")
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
        want = exact.astype(np.float32)
        unit = np.spacing(np.minimum(np.abs(want), np.float32(3e38))).astype(np.float64)
    finite = np.isfinite(want)
    for lanes in LANES["f32"]:
        got = _run(library, "pow", lanes, x, y)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        np.testing.assert_array_equal(got[~finite], want[~finite])
        numbers = ~np.isnan(want)
        assert (np.signbit(got) == np.signbit(want))[numbers].all()
        error = np.abs(got[finite].astype(np.float64) - exact[finite]) / unit[finite]
        assert error.max() < 0.6, (lanes, x[finite][error.argmax()], y[finite][error.argmax()])


def test_powers_of_doubles_are_those_of_libm(library: ctypes.CDLL) -> None:
    x, y = _floats("f64")
    with np.errstate(all="ignore"):
        want = np.power(x, y)
    for lanes in LANES["f64"]:
        np.testing.assert_allclose(_run(library, "pow", lanes, x, y), want, rtol=1e-15)
