"""The emulator of Triton text: against Triton's own interpreter, and what it must catch."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from gpu_harness import unit
from gpu_samples import SAMPLES, TEXT, Sample

from tilewright.dialects.diagnostics import TilewrightError
from tilewright.dialects.index_expr import sym
from tilewright.targets.gpu_triton.emulate import Emulator
from tilewright.targets.gpu_triton.emulator.errors import (
    KernelCheckFailed,
    NotEmulated,
    OrderDependent,
    OutOfBounds,
    Race,
    Refused,
    WrongLaunch,
)
from tilewright.targets.gpu_triton.kernel import TritonKernel, TritonUnit


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What Triton's interpreter makes of the samples: one process for all of them."""
    if find_spec("triton") is None:
        pytest.skip("triton is not installed: nothing to compare with")
    folder = tmp_path_factory.mktemp("interpreted")
    program = str(Path(__file__).with_name("gpu_samples.py"))
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, program, str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if "only 0-dimensional arrays can be converted" in done.stderr:
        pytest.skip("this triton's interpreter needs a NumPy older than 2.4")
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


@pytest.mark.parametrize("sample", SAMPLES, ids=[sample[0] for sample in SAMPLES])
def test_agrees_with_tritons_interpreter(sample: Sample, interpreted: Path) -> None:
    name, arguments, grid, types = sample
    args = arguments()
    Emulator(unit(TEXT, **{name: types})).run(name, args, grid)
    found = [arg for arg in args if isinstance(arg, torch.Tensor)]
    for mine, theirs in zip(found, torch.load(interpreted / f"{name}.pt"), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=2e-6, atol=2e-6)
    assert not torch.equal(found[-1], [a for a in arguments() if isinstance(a, torch.Tensor)][-1])


COPY = """@triton.jit
def k(x, o, n):
    i = tl.program_id(0) * 16 + tl.arange(0, 16)
    tl.store(o + i, tl.load(x + i, i < n, other=0.0), i < n)
"""


def run(body: str, types: str, *args: object, grid: tuple[int, int, int] = (1, 1, 1)) -> None:
    Emulator(unit(body, k=types)).run("k", list(args), grid)


def test_other_groups_of_programs_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many programs run in parts, and parts shrink where memory is short."""
    monkeypatch.setattr("tilewright.targets.gpu_triton.emulator.programs._AT_ONCE", 100)
    monkeypatch.setattr("tilewright.targets.gpu_triton.emulator.values.MOST_ELEMENTS", 200)
    x, o = torch.randn(5000), torch.zeros(5000)
    run(COPY, "*fp32 *fp32 i32", x, o, 4990, grid=(320, 1, 1))
    assert torch.equal(o[:4990], x[:4990])
    assert not o[4990:].any()


def test_an_empty_grid_does_nothing() -> None:
    run(COPY, "*fp32 *fp32 i32", torch.zeros(0), torch.zeros(0), 0, grid=(0, 1, 1))


def test_load_out_of_bounds() -> None:
    with pytest.raises(
        OutOfBounds, match=r"(?s)TW2231.*@k reads element 40 of `x`, which has 40.*program \(2, 0, 0\)"
    ):
        run(COPY, "*fp32 *fp32 i32", torch.zeros(40), torch.zeros(50), 41, grid=(4, 1, 1))


def test_store_out_of_bounds() -> None:
    with pytest.raises(OutOfBounds, match=r"(?s)writes element 40 of `o`.*at line 9: tl.store"):
        run(COPY, "*fp32 *fp32 i32", torch.zeros(50), torch.zeros(40), 41, grid=(4, 1, 1))


def test_a_view_ends_where_it_ends() -> None:
    """Memory beyond the buffer that belongs to something else is out of bounds, too."""
    arena = torch.zeros(100)
    with pytest.raises(OutOfBounds):
        run(COPY, "*fp32 *fp32 i32", arena[:16], arena[50:], 17, grid=(2, 1, 1))


def test_two_programs_write_different_values() -> None:
    body = "@triton.jit\ndef k(o):\n    tl.store(o, tl.program_id(0))\n"
    with pytest.raises(Race, match="TW2232"):
        run(body, "*i32", torch.zeros(1, dtype=torch.int32), grid=(2, 1, 1))


def test_two_programs_write_the_same() -> None:
    o = torch.zeros(1, dtype=torch.int32)
    run("@triton.jit\ndef k(o):\n    tl.store(o, 7)\n", "*i32", o, grid=(3, 1, 1))
    assert int(o) == 7


def test_one_program_reads_what_another_writes() -> None:
    body = """@triton.jit
def k(x):
    p = tl.program_id(0)
    tl.store(x + p, tl.load(x + p + 1) * 2.0)
"""
    with pytest.raises(Race, match="another program reads what this one writes"):
        run(body, "*fp32", torch.ones(5), grid=(4, 1, 1))


def test_a_program_reads_back_what_its_threads_wrote() -> None:
    body = """@triton.jit
def k(x, o):
    i = tl.arange(0, 64)
    tl.store(x + i, i)
    tl.store(o + i, tl.load(x + 63 - i))
"""
    with pytest.raises(Race, match="a thread reads what another one of its program may not have written yet"):
        run(body, "*i32 *i32", *(torch.zeros(64, dtype=torch.int32) for _ in range(2)), grid=(1, 1, 1))


def test_races_through_shared_memory_of_two_parameters() -> None:
    """In place is fine element by element, and a race when shifted by one."""
    x = torch.ones(65)
    run(COPY, "*fp32 *fp32 i32", x[:64], x[:64], 64, grid=(4, 1, 1))
    x = torch.randn(65)
    with pytest.raises(Race):
        run(COPY, "*fp32 *fp32 i32", x[1:], x[:64], 64, grid=(4, 1, 1))


def test_races_between_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.targets.gpu_triton.emulator.programs._AT_ONCE", 1)
    with pytest.raises(Race):
        run(
            "@triton.jit\ndef k(o):\n    tl.store(o, tl.program_id(0))\n",
            "*i32",
            torch.zeros(1).int(),
            grid=(2, 1, 1),
        )


def test_masked_lanes_without_other_are_poison() -> None:
    body = """@triton.jit
def k(x, o, p, n):
    i = tl.arange(0, 16)
    v = tl.load(x + i, i < n)
    tl.store(o + i, v)
    tl.store(p + i, v.to(tl.int32, bitcast=True))
"""
    o, p = torch.zeros(16), torch.zeros(16, dtype=torch.int32)
    run(body, "*fp32 *fp32 *i32 i32", torch.ones(9), o, p, 9)
    assert o[:9].eq(1).all()
    assert o[9:].isnan().all()
    assert p[9:].gt(1 << 30).all()


def test_the_last_to_arrive_sees_what_others_wrote() -> None:
    """Split reductions that end in a ticket: branches part the programs, and atomics order them."""
    body = """@triton.jit
def k(x, parts, ticket, o):
    p = tl.program_id(0)
    tl.store(parts + p, tl.sum(tl.load(x + p * 16 + tl.arange(0, 16)), 0))
    if tl.atomic_add(ticket, 1) == 3:
        tl.store(o, tl.sum(tl.load(parts + tl.arange(0, 4)), 0))
"""
    x, o = torch.randn(64), torch.zeros(1)
    ticket = torch.zeros(1, dtype=torch.int32)
    run(body, "*fp32 *fp32 *i32 *fp32", x, torch.full((4,), float("nan")), ticket, o, grid=(4, 1, 1))
    assert int(ticket) == 4
    torch.testing.assert_close(o[0], x.sum())


def test_argmax_with_nan_depends_on_order() -> None:
    body = "@triton.jit\ndef k(x, o):\n    tl.store(o, tl.argmax(tl.load(x + tl.arange(0, 16)), 0))\n"
    x, o = torch.arange(16.0).flip(0), torch.zeros(1, dtype=torch.int32)
    run(body, "*fp32 *i32", x, o)
    assert int(o) == 0
    x[5] = float("nan")
    with pytest.raises(OrderDependent, match="TW2236"):
        run(body, "*fp32 *i32", x, o)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("tl.arange(0, 12)", "no power of two"),
        ("tl.arange(0, 16) + tl.arange(0, 8)", "do not broadcast"),
        ("tl.load(x + 0.5)", "a pointer plus"),
        ("tl.exp(tl.arange(0, 16))", "exp of int32"),
        ("tl.full((4,), 1, tl.float32) // 2.0", "// of float32"),
        ("tl.full((4,), 1, tl.uint32) + (-1)", "out of the range of uint32"),
        ("tl.load(x, tl.arange(0, 16) < 3)", "a mask of a block"),
        ("tl.store(x, tl.zeros((4,), tl.float32))", "a value of"),
        ("tl.zeros((4, 4), tl.float32)[0]", "subscript"),
        (
            "tl.dot(tl.zeros((16, 16), tl.float32), tl.zeros((16, 16), tl.float16))",
            "dot of float32 and float16",
        ),
        ("tl.make_tensor_descriptor(x, [1, 4], [4, 1], [1, 2])", "a descriptor of blocks"),
        ("tl.make_tensor_descriptor(x, [1, 4], [4, 2], [1, 4])", "the last stride of a descriptor is 1"),
        ("tl.make_tensor_descriptor(x, [1, 2], [2, 1], [1, 4])", "a stride that is no multiple of 16"),
        ("tl.make_tensor_descriptor(x + 2, [1, 2], [4, 1], [1, 4])", "base is no multiple of 16 bytes"),
        ("tl.make_tensor_descriptor(x, [0, 4], [4, 1], [1, 4])", "a descriptor of a size below 1"),
        (
            "tl.make_tensor_descriptor(x, [1, 4], [4, 1], [1, 4]).load([tl.program_id(0).to(tl.int64), 0])",
            "the places of a descriptor have 32 bits",
        ),
    ],
)
def test_refuses_what_triton_refuses(line: str, reason: str) -> None:
    with pytest.raises(Refused, match=rf"(?s)TW2234.*{reason}.*at line 8: {line[:6]}"):
        run(f"@triton.jit\ndef k(x):\n    {line}\n", "*fp32", torch.zeros(4))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("tl.inline_asm_elementwise('nop')", "it has no `inline_asm_elementwise`"),
        ("x.to(tl.pointer_type(tl.int64), bitcast=True)", "it does not read float32 as int64"),
        ("x.to(tl.int64)", "it has no addresses as numbers"),
    ],
)
def test_what_is_not_emulated_says_so(line: str, reason: str) -> None:
    with pytest.raises(NotEmulated, match=rf"TW2233.*{reason}"):
        run(f"@triton.jit\ndef k(x):\n    {line}\n", "*fp32", torch.zeros(4))


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ((torch.zeros(4), 1), "takes 3 arguments and got 2"),
        ((torch.zeros(4, dtype=torch.float64), torch.zeros(4), 1), "`x` is .fp32 and got torch.float64"),
        ((torch.zeros(4, dtype=torch.int32), torch.zeros(4), 1), "`x` is .fp32 and got torch.int32"),
        ((torch.zeros(4, 4).t(), torch.zeros(4), 1), "`x` is not contiguous"),
        ((3, torch.zeros(4), 1), "`x` is no tensor"),
    ],
)
def test_wrong_launches(args: tuple[object, ...], reason: str) -> None:
    with pytest.raises(WrongLaunch, match=f"TW2235.*{reason}"):
        run(COPY, "*fp32 *fp32 i32", *args)


def test_failed_checks_and_grids() -> None:
    """A launch evaluates the grid, and a number in `failure` becomes an error at the user's line."""
    body = """@triton.jit
def k(x, s0, failure):
    p = tl.program_id(0)
    v = tl.load(x + p)
    tl.store(failure, 1, v > 2.0)
    tl.store(x + p, v + 1.0, v <= 2.0)
"""
    plain = unit(body, k="*fp32 i32 *i32")
    (k,) = plain.kernels
    checked = TritonKernel("k", k.parameters[:2], (sym(0), *k.grid[1:]), 4, 3, checks=True)
    emulator = Emulator(TritonUnit(plain.text, (checked,), (("index out of range", "model.py:7"),)))
    x = torch.zeros(9)
    emulator.launch("k", [x, 9], {next(iter(sym(0).variables())): 9})
    assert x.eq(1).all()
    x[4] = 3.0
    with pytest.raises(KernelCheckFailed, match=r"(?s)TW2237: index out of range.*where: model.py:7"):
        emulator.launch("k", [x, 9], {next(iter(sym(0).variables())): 9})


def test_halves_and_float8_round_as_hardware_does() -> None:
    body = """@triton.jit
def k(x, h, b, e, f):
    i = tl.arange(0, 64)
    v = tl.load(x + i)
    tl.store(h + i, v.to(tl.float16) * v.to(tl.float16))
    tl.store(b + i, v.to(tl.bfloat16) + v.to(tl.bfloat16) * 3)
    tl.store(e + i, v.to(tl.float8e4nv))
    tl.store(f + i, v.to(tl.float8e4nv).to(tl.float32))
"""
    x = torch.randn(64) * 300
    x[0], x[1] = float("nan"), float("inf")
    h, b, f = torch.zeros(64).half(), torch.zeros(64).bfloat16(), torch.zeros(64)
    e = torch.zeros(64).to(torch.float8_e4m3fn)
    run(body, "*fp32 *fp16 *bf16 *fp8e4nv *fp32", x, h, b, e, f)
    torch.testing.assert_close(h, x.half() * x.half(), equal_nan=True)
    torch.testing.assert_close(b, x.bfloat16() + x.bfloat16() * 3, equal_nan=True)
    torch.testing.assert_close(f, x.clamp(-448, 448).to(torch.float8_e4m3fn).float(), equal_nan=True)
    assert torch.equal(e.view(torch.int8), f.to(torch.float8_e4m3fn).view(torch.int8))


def test_atomic_sums_of_floats() -> None:
    body = """@triton.jit
def k(x, at, o, n):
    i = tl.program_id(0) * 32 + tl.arange(0, 32)
    m = i < n
    tl.atomic_add(o + tl.load(at + i, m, other=0), tl.load(x + i, m, other=0.0), m)
"""
    x, at, o = torch.randn(1000), torch.randint(0, 9, (1000,)), torch.zeros(9)
    run(body, "*fp32 *i64 *fp32 i32", x, at, o, 1000, grid=(32, 1, 1))
    torch.testing.assert_close(o, torch.zeros(9).index_add(0, at, x))


@pytest.mark.parametrize(
    "function", ["tanh", "erf", "expm1", "log1p", "pow", "atan2", "isnan", "rint", "trunc"]
)
def test_libdevice(function: str) -> None:
    two = function in ("pow", "atan2")
    body = f"""@triton.jit
def k(x, o):
    v = tl.load(x + tl.arange(0, 16))
    tl.store(o + tl.arange(0, 16), libdevice.{function}(v{", v" if two else ""}))
"""
    x, o = torch.rand(16) + 0.1, torch.zeros(16)
    run(body, "*fp32 *fp32", x, o)
    plain = {"rint": torch.round}.get(function) or getattr(torch, function)
    torch.testing.assert_close(o, plain(*[x] * (1 + two)).float())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rest", ["libdevice.fmod(v, w)", "v % w"])
def test_remainders_are_exact(rest: str, dtype: torch.dtype) -> None:
    """torch.fmod gives NaN, or a number that is off, where the quotient is large."""
    body = f"""@triton.jit
def k(x, y, o):
    i = tl.arange(0, 64)
    v, w = tl.load(x + i), tl.load(y + i)
    tl.store(o + i, {rest})
"""
    scales = 10.0 ** torch.randint(-30, 30, (2, 64))
    x, y = (torch.randn(2, 64, dtype=torch.float64) * scales).to(dtype)
    o = torch.zeros(64, dtype=dtype)
    types = {torch.float32: "*fp32 *fp32 *fp32", torch.float64: "*fp64 *fp64 *fp64"}[dtype]
    run(body, types, x, y, o)
    assert o.tolist() == [math.fmod(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]


def test_unsigned_64_bits() -> None:
    body = """@triton.jit
def k(x, y, o):
    i = tl.arange(0, 64)
    u = tl.load(x + i).to(tl.uint64, bitcast=True)
    v = tl.load(y + i).to(tl.uint64, bitcast=True)
    tl.store(o + i, (u // v).to(tl.int64, bitcast=True))
    tl.store(o + 64 + i, (u % v).to(tl.int64, bitcast=True))
    tl.store(o + 128 + i, tl.umulhi(u, v).to(tl.int64, bitcast=True))
    tl.store(o + 192 + i, (u >> 7).to(tl.int64, bitcast=True))
    tl.store(o + 256 + i, (u < v).to(tl.int64))
    tl.store(o + 320 + i, tl.maximum(u, v).to(tl.int64, bitcast=True))
"""
    x, y = (torch.randint(-(2**63), 2**63 - 1, (64,)) >> shift for shift in (0, 20))
    y[:8] = torch.arange(1, 9)
    o = torch.zeros(384, dtype=torch.int64)
    run(body, "*i64 *i64 *i64", x, y, o)
    for i in range(64):
        a, b = int(x[i]) % 2**64, int(y[i]) % 2**64
        wanted = (a // b, a % b, a * b >> 64, a >> 7, int(a < b), max(a, b))
        assert tuple(int(n) % 2**64 for n in o[i::64]) == wanted


def test_errors_are_ours() -> None:
    with pytest.raises(TilewrightError):
        run(COPY, "*fp32 *fp32 i32", torch.zeros(4), torch.zeros(4), 9)
