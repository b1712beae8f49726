"""Gathers and partial vectors of the C++ prelude: the lanes that are wanted, nothing beyond either end."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterator

import numpy as np
import pytest

from tilewright.targets.cpu_openmp.build import build

ELEMENTS = {
    "f32": np.float32,
    "f64": np.float64,
    "i64": np.int64,
    "i32": np.int32,
    "bf16": np.uint16,
    "i8": np.int8,
}
LANES = (4, 8, 16)
STRIDES = (-2, -1, 2)
COUNT = 400

_FUNCTION = """
TW_EXPORT void whole_{t}_{w}_{i}(const {t}* p, i64 base, const {i}* at, i64 n, {t}* o) {{
  const auto where = tw::raw_load<tw::vec<{i}, {w}>>(at);
  if (n == {w}) tw::store(o, tw::gather_at<{w}>(p, base, where, {w}, tw::every_lane{{}}));
  else tw::store(o, tw::gather_at<{w}>(p, base, where, n, tw::every_lane{{}}));
}}
TW_EXPORT void masked_{t}_{w}_{i}(const {t}* p, i64 base, const {i}* at, const i32* mask, i64 n, {t}* o) {{
  const auto where = tw::raw_load<tw::vec<{i}, {w}>>(at);
  tw::store(o, tw::gather_at<{w}>(p, base, where, n, tw::raw_load<tw::vec<i32, {w}>>(mask)));
}}
"""
_PARTIAL = """
TW_EXPORT void picked_{t}_{w}(const {t}* p, const i32* mask, i64 n, {t}* o) {{
  tw::store(o, tw::load_masked<{w}>(p, tw::raw_load<tw::vec<i32, {w}>>(mask), n));
}}
TW_EXPORT void first_{t}_{w}(const {t}* p, i64 n, {t}* o) {{ tw::store(o, tw::load_first<{w}>(p, n)); }}
TW_EXPORT void stored_{t}_{w}(const {t}* v, i64 n, {t}* o) {{ tw::store_first(o, tw::load<{w}>(v), n); }}
"""
_STRIDED = """
TW_EXPORT void strided_{t}_{w}_{name}(const {t}* p, i64 n, {t}* o) {{
  if (n == {w}) tw::store(o, tw::load_strided<{w}, {stride}>(p, {w}));
  else tw::store(o, tw::load_strided<{w}, {stride}>(p, n));
}}
"""


def _source() -> str:
    parts = ['#include "prelude_math.h"']
    for t in ELEMENTS:
        for w in LANES:
            parts += [_FUNCTION.format(t=t, w=w, i=i) for i in ("i32", "i64")]
            parts.append(_PARTIAL.format(t=t, w=w))
            parts += [_STRIDED.format(t=t, w=w, stride=s, name=_name(s)) for s in STRIDES]
    return "\n".join(parts)


def _name(stride: int) -> str:
    return f"back{-stride}" if stride < 0 else str(stride)


@pytest.fixture(scope="module", params=["best", "avx2", "default"])
def library(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> ctypes.CDLL:
    capability = {} if request.param == "best" else {"ATEN_CPU_CAPABILITY": request.param}
    folder = tmp_path_factory.mktemp("cache")
    return ctypes.CDLL(str(build(_source(), cache_dir=folder, environment={**os.environ, **capability})))


class _Fenced:
    """Elements between two pages that nobody may touch: they end at the second, or begin after the first."""

    def __init__(self, values: np.ndarray, *, at_end: bool) -> None:
        page = mmap.PAGESIZE
        self.memory = mmap.mmap(-1, 3 * page)
        anchor = ctypes.c_char.from_buffer(self.memory)
        start = ctypes.addressof(anchor)
        libc = ctypes.CDLL(None, use_errno=True)
        for fence in (start, start + 2 * page):
            assert libc.mprotect(ctypes.c_void_p(fence), ctypes.c_size_t(page), 0) == 0
        self.address = start + page + (page - values.nbytes if at_end else 0)
        ctypes.memmove(self.address, values.ctypes.data, values.nbytes)


def _positions(width: int) -> Iterator[np.ndarray]:
    """Rows of positions below COUNT."""
    random = np.random.default_rng(0)
    lanes = np.arange(width)
    for start in (0, COUNT - 2 * width, COUNT - width):
        yield start + lanes
        yield start + lanes // 2
        yield start + lanes[::-1]
        yield start + np.abs(lanes - 2)
    yield COUNT - 1 - lanes // 3
    yield COUNT - 2 * width + 2 * lanes
    yield np.full(width, COUNT - 1)
    yield np.full(width, 0)
    for spread in (width, 2 * width, 31, 32, 33, 64, COUNT):
        for _ in range(4):
            first = int(random.integers(0, COUNT - spread + 1))
            yield first + random.integers(0, spread, width)
            yield np.sort(first + random.integers(0, spread, width))


@pytest.mark.parametrize("width", LANES)
@pytest.mark.parametrize("name", list(ELEMENTS))
def test_every_lane_reads_its_position_alone(library: ctypes.CDLL, name: str, width: int) -> None:
    values = (np.arange(COUNT) * 7919 % 251 - (0 if name == "bf16" else 125)).astype(ELEMENTS[name])
    random = np.random.default_rng(1)
    for at_end in (False, True):
        fenced = _Fenced(values, at_end=at_end)
        for place in _positions(width):
            base = int(random.integers(-1000, 1000))
            mask = -(random.random(width) < 0.7).astype(np.int32)
            for count in (width, width - 1, 1):
                want = np.where(np.arange(width) < count, values[place], 0).astype(values.dtype)
                for index in (np.int32, np.int64):
                    at = (place - base).astype(index)
                    at[count:] = 2**30  # nobody reads there
                    kind = f"{name}_{width}_i{at.itemsize * 8}"
                    assert (_call(library, f"whole_{kind}", fenced, base, at, count, want) == want).all(), (
                        place
                    )
                    at = np.where(mask != 0, at, 2**30).astype(index)
                    got = _call(library, f"masked_{kind}", fenced, base, at, count, want, mask)
                    assert (got == np.where(mask != 0, want, 0)).all(), place


def _call(
    library: ctypes.CDLL, function: str, fenced: _Fenced, base: int, at: np.ndarray, count: int,
    like: np.ndarray, *masks: np.ndarray,
) -> np.ndarray:  # fmt: skip
    got = np.full_like(like, 99)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (at, *masks)]
    getattr(library, function)(
        ctypes.c_void_p(fenced.address), ctypes.c_int64(base), *pointers, ctypes.c_int64(count),
        ctypes.c_void_p(got.ctypes.data),
    )  # fmt: skip
    return got


@pytest.mark.parametrize("width", LANES)
@pytest.mark.parametrize("name", list(ELEMENTS))
def test_fixed_strides_read_nothing_in_front_or_behind(library: ctypes.CDLL, name: str, width: int) -> None:
    for stride in STRIDES:
        for count in range(1, width + 1):
            values = np.arange(1, abs(stride) * (count - 1) + 2).astype(ELEMENTS[name])
            want = np.zeros(width, values.dtype)
            want[:count] = values[::stride]
            for at_end in (False, True):
                fenced = _Fenced(values, at_end=at_end)
                first = fenced.address + (values.nbytes - values.itemsize if stride < 0 else 0)
                got = np.full_like(want, 99)
                getattr(library, f"strided_{name}_{width}_{_name(stride)}")(
                    ctypes.c_void_p(first), ctypes.c_int64(count), ctypes.c_void_p(got.ctypes.data)
                )
                assert (got == want).all()


@pytest.mark.parametrize("width", LANES)
@pytest.mark.parametrize("name", list(ELEMENTS))
def test_parts_of_vectors_touch_nothing_else(library: ctypes.CDLL, name: str, width: int) -> None:
    """The first lanes, and those of a mask, at either end of what may be touched."""
    random = np.random.default_rng(2)
    lanes = np.arange(width)
    for count in range(1, width + 1):
        values = np.arange(1, count + 1).astype(ELEMENTS[name])
        padded = np.concatenate([values, np.zeros(width - count, values.dtype)])
        mask = -(random.random(width) < 0.6).astype(np.int32)
        for at_end in (False, True):
            fenced = _Fenced(values, at_end=at_end)
            pointer, size, got = (
                ctypes.c_void_p(fenced.address),
                ctypes.c_int64(count),
                np.full_like(padded, 99),
            )
            target = ctypes.c_void_p(got.ctypes.data)
            getattr(library, f"first_{name}_{width}")(pointer, size, target)
            assert (got == padded).all()
            bits = ctypes.c_void_p(mask.ctypes.data)
            getattr(library, f"picked_{name}_{width}")(pointer, bits, size, target)
            assert (got == np.where(mask != 0, padded, 0)).all()
            more = (padded + lanes).astype(values.dtype)
            getattr(library, f"stored_{name}_{width}")(ctypes.c_void_p(more.ctypes.data), size, pointer)
            getattr(library, f"first_{name}_{width}")(pointer, size, target)
            assert (got == np.where(lanes < count, more, 0)).all()


def test_positions_of_32_bits_wrap_around(library: ctypes.CDLL) -> None:
    """A position and a base that fit together need not fit alone."""
    values = np.arange(64, dtype=np.float32)
    fenced = _Fenced(values, at_end=True)
    for place in (np.arange(16) * 4, np.arange(16)):
        base = 2**33 - 2**31 - 5
        at = ((place - base + 2**31) % 2**32 - 2**31).astype(np.int32)
        got = _call(library, "whole_f32_16_i32", fenced, base, at, 16, np.zeros(16, np.float32))
        assert (got == values[place]).all()
