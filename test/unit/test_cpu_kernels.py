"""Every kind of access, conversion and loop, compiled and compared with torch."""

from __future__ import annotations

from pathlib import Path

import cpu_harness as harness
import pytest
import torch

from tilewright.dialects.philox import uniform
from tilewright.targets.native.launch_calls import DTYPES


def run(
    folder: Path, kernel: str, inputs: list[torch.Tensor], outs: list[tuple[str, int]]
) -> list[torch.Tensor]:
    names = {dtype: name for name, dtype in DTYPES.items()}
    ins = [(names[t.dtype], t.numel()) for t in inputs]
    graph = harness.compiled(harness.with_main(kernel, ins, outs), folder)
    return list(graph(list(inputs)))


def sample(dtype: torch.dtype, count: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(7)
    if dtype == torch.bool:
        return torch.randint(0, 2, (count,), generator=generator).bool()
    if dtype.is_floating_point:
        return (torch.randn(count, generator=generator) * 3).to(dtype)
    low = 0 if dtype == torch.uint8 else -90
    return torch.randint(low, 90, (count,), generator=generator).to(dtype)


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("name", list(DTYPES))
def test_copies_whole_and_partial_vectors(tmp_path: Path, name: str, lanes: int) -> None:
    """37 = n vectors and a tail of 5; reversed, strided and splat accesses beside."""
    value = "i8" if name == "ui8" else name
    v = f"vector<{lanes}x{value}>"
    whole = 37 // lanes * lanes

    def body() -> str:
        return f"""
        %a = tk.load %x[d0] lanes 0 : memref<37x{name}> -> {v}
        tk.store %a, %o[d0] lanes 0 : {v}, memref<37x{name}>
        %b = tk.load %x[-d0 + 36] lanes 0 : memref<37x{name}> -> {v}
        tk.store %b, %p[d0] lanes 0 : {v}, memref<37x{name}>
        %c = tk.load %x[3] lanes 0 : memref<37x{name}> -> {v}
        tk.store %c, %q[d0*2] lanes 0 : {v}, memref<74x{name}>
        """

    kernel = f"""
    tk.func @k [37] (%x: memref<37x{name}>, %o: memref<37x{name}>,
                     %p: memref<37x{name}>, %q: memref<74x{name}>)
    scheduled {{
      tk.for 0 = "0" to "{whole}" step {lanes} {{ {body()} }}
      tk.tail 0 = "{whole}" count "{37 - whole}" {{ {body()} }}
      tk.for 0 = "0" to "37" step 1 {{
        %s = tk.load %x[d0] : memref<37x{name}> -> {value}
        tk.store %s, %q[d0*2 + 1] : {value}, memref<74x{name}>
      }}
    }}"""
    x = sample(DTYPES[name], 37)
    o, p, q = run(tmp_path, kernel, [x], [(name, 37), (name, 37), (name, 74)])
    assert torch.equal(o, x)
    assert torch.equal(p, x.flip(0))
    assert torch.equal(q[::2], x[3].expand(37))
    assert torch.equal(q[1::2], x)


@pytest.mark.parametrize("name", ["bf16", "f16"])
@pytest.mark.parametrize("lanes", [1, 8, 16])
def test_half_precision_rounds_as_torch(tmp_path: Path, name: str, lanes: int) -> None:
    def v(t: str) -> str:
        return t if lanes == 1 else f"vector<{lanes}x{t}>"

    along = "" if lanes == 1 else "lanes 0"
    kernel = f"""
    tk.func @k [4096] (%x: memref<4096xf32>, %o: memref<4096x{name}>, %p: memref<4096xf32>) scheduled {{
      tk.for 0 = "0" to "4096" step {lanes} {{
        %a = tk.load %x[d0] {along} : memref<4096xf32> -> {v("f32")}
        %b = arith.truncf %a : {v("f32")} to {v(name)}
        tk.store %b, %o[d0] {along} : {v(name)}, memref<4096x{name}>
        %c = arith.extf %b : {v(name)} to {v("f32")}
        tk.store %c, %p[d0] {along} : {v("f32")}, memref<4096xf32>
      }}
    }}"""
    bits = torch.randint(
        -(2**31), 2**31, (4096,), dtype=torch.int64, generator=torch.Generator().manual_seed(1)
    )
    x = bits.to(torch.int32).view(torch.float32).clone()
    x[:5] = torch.tensor([0.0, -0.0, float("inf"), float("-inf"), float("nan")])
    x[5:1000] = torch.linspace(-70000, 70000, 995)
    x[1000:2000] = torch.linspace(-1e-6, 1e-6, 1000)
    o, p = run(tmp_path, kernel, [x], [(name, 4096), ("f32", 4096)])
    want = x.to(DTYPES[name])
    torch.testing.assert_close(o, want, rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(p, want.float(), rtol=0, atol=0, equal_nan=True)


def elementwise(types: list[str], out: str, lines: str, lanes: int) -> str:
    """A kernel over 64 elements: inputs %0, %1, ..., result %r; @T is the vector suffix."""

    def v(t: str) -> str:
        return t if lanes == 1 else f"vector<{lanes}x{t}>"

    along = "" if lanes == 1 else "lanes 0"
    args = ", ".join(f"%x{i}: memref<64x{t}>" for i, t in enumerate(types))
    loads = "\n".join(
        f"%{i} = tk.load %x{i}[d0] {along} : memref<64x{t}> -> {v('i8' if t == 'ui8' else t)}"
        for i, t in enumerate(types)
    )
    for t in ("f64", "f32", "bf16", "i64", "i32", "i16", "i8", "i1", "index"):
        lines = lines.replace(f"@{t}", v(t))
    value = "i8" if out == "ui8" else out
    return f"""
    tk.func @k [64] ({args}, %o: memref<64x{out}>) scheduled {{
      tk.for 0 = "0" to "64" step {lanes} {{
        {loads}
        {lines}
        tk.store %r, %o[d0] {along} : {v(value)}, memref<64x{out}>
      }}
    }}"""


CASES = [
    (["f32", "f32"], "f32", "%r = arith.maximumf %0, %1 : @f32", torch.maximum),
    (["f32", "f32"], "f32", "%r = arith.minimumf %0, %1 : @f32", torch.minimum),
    (["f64", "f64"], "f64", "%r = arith.divf %0, %1 : @f64", torch.div),
    (["f32"], "f32", "%r = arith.negf %0 : @f32", torch.neg),
    (["f32"], "f32", "%r = math.absf %0 : @f32", torch.abs),
    (["f32", "f32"], "f32", "%r = math.copysign %0, %1 : @f32", torch.copysign),
    (["f32", "f32"], "f32", "%r = math.atan2 %0, %1 : @f32", torch.atan2),
    (["f32", "f32"], "f32", '%r = tk.call "fmod"(%0, %1) : @f32, @f32 -> @f32', torch.fmod),
    (["f64"], "f64", "%r = math.exp %0 : @f64", torch.exp),
    (["f64"], "f64", "%r = math.tanh %0 : @f64", torch.tanh),
    (["f64"], "f64", "%r = math.floor %0 : @f64", torch.floor),
    (["f32"], "f32", "%r = math.trunc %0 : @f32", torch.trunc),
    (["f32"], "f32", "%r = math.roundeven %0 : @f32", torch.round),
    (["f32"], "f32", "%r = math.ceil %0 : @f32", torch.ceil),
    (["f32", "f32"], "i1", "%r = arith.cmpf olt, %0, %1 : @f32", torch.lt),
    (["f32", "f32"], "i1", "%r = arith.cmpf une, %0, %1 : @f32", torch.ne),
    (["f64", "f64"], "i1", "%r = arith.cmpf oge, %0, %1 : @f64", torch.ge),
    (["i64", "i64"], "i1", "%r = arith.cmpi sle, %0, %1 : @i64", torch.le),
    (["i1", "i1"], "i1", "%r = arith.xori %0, %1 : @i1", torch.logical_xor),
    (["i1", "i1"], "i1", "%r = arith.cmpi ult, %0, %1 : @i1", lambda a, b: ~a & b),
    (["i1", "f32", "f32"], "f32", "%r = arith.select %0, %1, %2 : @i1, @f32", torch.where),
    (["i1", "i64", "i64"], "i64", "%r = arith.select %0, %1, %2 : @i1, @i64", torch.where),
    (["i1", "f64", "f64"], "f64", "%r = arith.select %0, %1, %2 : @i1, @f64", torch.where),
    (["i1", "i8", "i8"], "i8", "%r = arith.select %0, %1, %2 : @i1, @i8", torch.where),
    (["i1", "bf16", "bf16"], "bf16", "%r = arith.select %0, %1, %2 : @i1, @bf16", torch.where),
    (["i64", "i64"], "i64", "%r = arith.muli %0, %1 : @i64", torch.mul),
    (["i32", "i32"], "i32", "%r = arith.andi %0, %1 : @i32", torch.bitwise_and),
    (["i32", "i32"], "i32", "%r = arith.maxsi %0, %1 : @i32", torch.maximum),
    (["i1"], "f32", "%r = arith.uitofp %0 : @i1 to @f32", lambda a: a.float()),
    (["i1"], "i64", "%r = arith.extui %0 : @i1 to @i64", lambda a: a.long()),
    (["i8"], "i32", "%r = arith.extsi %0 : @i8 to @i32", lambda a: a.int()),
    (["ui8"], "i32", "%r = arith.extui %0 : @i8 to @i32", lambda a: a.int()),
    (["i64"], "ui8", "%r = arith.trunci %0 : @i64 to @i8", lambda a: a.to(torch.uint8)),
    (["i64"], "f32", "%r = arith.sitofp %0 : @i64 to @f32", lambda a: a.float()),
    (["i32"], "f64", "%r = arith.sitofp %0 : @i32 to @f64", lambda a: a.double()),
    (["f32"], "i64", "%r = arith.fptosi %0 : @f32 to @i64", lambda a: a.long()),
    (["f64"], "i32", "%r = arith.fptosi %0 : @f64 to @i32", lambda a: a.int()),
    (["f64"], "f32", "%r = arith.truncf %0 : @f64 to @f32", lambda a: a.float()),
    (["f32"], "f64", "%r = arith.extf %0 : @f32 to @f64", lambda a: a.double()),
    (["i64"], "i1", "%r = arith.trunci %0 : @i64 to @i1", lambda a: (a & 1).bool()),
]


@pytest.mark.parametrize("lanes", [1, 8, 16])
@pytest.mark.parametrize(
    "case", CASES, ids=lambda c: c[2].partition(" = ")[2].partition(",")[0].replace(" ", "-")
)
def test_elementwise(tmp_path: Path, case: tuple, lanes: int) -> None:
    types, out, lines, reference = case
    inputs = []
    for i, t in enumerate(types):
        x = sample(DTYPES[t], 64).roll(i * 5)
        if DTYPES[t].is_floating_point and out != "i64" and out != "i32":
            x[i * 3 : i * 3 + 5] = torch.tensor([float("nan"), float("inf"), float("-inf"), -0.0, 0.0])
        inputs.append(x)
    (got,) = run(tmp_path, elementwise(types, out, lines, lanes), inputs, [(out, 64)])
    torch.testing.assert_close(got, reference(*inputs), rtol=1e-6, atol=0, equal_nan=True)


@pytest.mark.parametrize("lanes", [1, 8, 16])
def test_integer_division_and_shifts(tmp_path: Path, lanes: int) -> None:
    a = torch.arange(-32, 32)
    b = torch.tensor([1, 2, 3, 7, -1, -3, 5, -7] * 8)
    for name, want in (
        ("divsi", torch.div(a, b, rounding_mode="trunc")),
        ("remsi", torch.fmod(a, b)),
        ("floordivsi", torch.div(a, b, rounding_mode="floor")),
        ("ceildivsi", -torch.div(-a, b, rounding_mode="floor")),
    ):
        kernel = elementwise(["i64", "i64"], "i64", f"%r = arith.{name} %0, %1 : @i64", lanes)
        assert torch.equal(run(tmp_path, kernel, [a, b], [("i64", 64)])[0], want), name
    amount = torch.arange(64) % 31
    for name, op in (("shli", torch.bitwise_left_shift), ("shrsi", torch.bitwise_right_shift)):
        kernel = elementwise(["i32", "i32"], "i32", f"%r = arith.{name} %0, %1 : @i32", lanes)
        x = sample(torch.int32, 64)
        assert torch.equal(run(tmp_path, kernel, [x, amount.int()], [("i32", 64)])[0], op(x, amount.int()))
    kernel = elementwise(["i32", "i32"], "i32", "%r = arith.shrui %0, %1 : @i32", lanes)
    got = run(tmp_path, kernel, [sample(torch.int32, 64), amount.int()], [("i32", 64)])[0]
    want = ((sample(torch.int32, 64).long() & 0xFFFFFFFF) >> amount).to(torch.int32)
    assert torch.equal(got, want)


@pytest.mark.parametrize("kind", ["add", "mul", "maximumf", "minimumf"])
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_reduces_across_lanes(tmp_path: Path, kind: str, element: str) -> None:
    zero = {"add": 0.0, "mul": 1.0, "maximumf": "-3.0e38", "minimumf": "3.0e38"}[kind]
    combine = {"add": "addf", "mul": "mulf"}.get(kind, kind)
    v = f"vector<16x{element}>"
    kernel = f"""
    tk.func @k [48] (%x: memref<48x{element}>, %o: memref<1x{element}>) scheduled {{
      %z = arith.constant dense<{zero}> : {v}
      %s = tk.for 0 = "0" to "48" step 16 iter(%acc = %z : {v}) {{
        %a = tk.load %x[d0] lanes 0 : memref<48x{element}> -> {v}
        %n = arith.{combine} %acc, %a : {v}
        tk.yield %n : {v}
      }}
      %r = vector.reduction <{kind}>, %s : {v} into {element}
      tk.store %r, %o[0] : {element}, memref<1x{element}>
    }}"""
    x = sample(DTYPES[element], 48)
    want = {"add": x.sum(), "mul": x.prod(), "maximumf": x.max(), "minimumf": x.min()}[kind]
    (got,) = run(tmp_path, kernel, [x], [(element, 1)])
    torch.testing.assert_close(got[0], want, rtol=1e-5, atol=1e-5)
    x[20] = float("nan")
    (got,) = run(tmp_path, kernel, [x], [(element, 1)])
    assert torch.isnan(got[0])


def test_gathers_scatters_and_masks(tmp_path: Path) -> None:
    kernel = """
    tk.func @k [40] (%x: memref<100xf32>, %i: memref<40xi64>, %m: memref<40xi1>,
                     %o: memref<40xf32>, %p: memref<100xf32>, %q: memref<40xf32>) scheduled {
      %z = arith.constant dense<-1.0> : vector<16xf32>
      %zero = arith.constant 0.0 : f32
      tk.for 0 = "0" to "100" step 1 { tk.store %zero, %p[d0] : f32, memref<100xf32> }
      tk.for 0 = "0" to "32" step 16 {
        %n = tk.load %i[d0] lanes 0 : memref<40xi64> -> vector<16xi64>
        %j = arith.index_cast %n : vector<16xi64> to vector<16xindex>
        %b = tk.load %m[d0] lanes 0 : memref<40xi1> -> vector<16xi1>
        %v = tk.load %x[i0](%j) lanes 0 : memref<100xf32> -> vector<16xf32>
        tk.store %v, %o[d0] lanes 0 : vector<16xf32>, memref<40xf32>
        tk.store %v, %p[i0](%j) if %b combine add lanes 0 : vector<16xf32>, memref<100xf32>
        %w = tk.load %x[d0] if %b else %z lanes 0 : memref<100xf32> -> vector<16xf32>
        tk.store %w, %q[d0] lanes 0 : vector<16xf32>, memref<40xf32>
      }
      tk.tail 0 = "32" count "8" {
        %n = tk.load %i[d0] lanes 0 : memref<40xi64> -> vector<16xi64>
        %j = arith.index_cast %n : vector<16xi64> to vector<16xindex>
        %b = tk.load %m[d0] lanes 0 : memref<40xi1> -> vector<16xi1>
        %v = tk.load %x[i0](%j) lanes 0 : memref<100xf32> -> vector<16xf32>
        tk.store %v, %o[d0] lanes 0 : vector<16xf32>, memref<40xf32>
        tk.store %v, %p[i0](%j) if %b combine add lanes 0 : vector<16xf32>, memref<100xf32>
        %w = tk.load %x[d0] if %b else %z lanes 0 : memref<100xf32> -> vector<16xf32>
        tk.store %w, %q[d0] lanes 0 : vector<16xf32>, memref<40xf32>
      }
    }"""
    x, m = sample(torch.float32, 100), sample(torch.bool, 40)
    i = torch.randint(0, 100, (40,), generator=torch.Generator().manual_seed(3))
    i[:6] = 11
    o, p, q = run(tmp_path, kernel, [x, i, m], [("f32", 40), ("f32", 100), ("f32", 40)])
    assert torch.equal(o, x[i])
    torch.testing.assert_close(p, torch.zeros(100).index_add(0, i, torch.where(m, x[i], 0.0)))
    assert torch.equal(q, torch.where(m, x[:40], -1.0))


@pytest.mark.parametrize("name", ["f32", "bf16", "i64", "f64", "f16"])
def test_adds_atomically_in_parallel(tmp_path: Path, name: str) -> None:
    kernel = f"""
    tk.func @k [4000] (%x: memref<4000x{name}>, %o: memref<2x{name}>) scheduled {{
      %zero = arith.constant {"0" if name == "i64" else "0.0"} : {name}
      tk.for 0 = "0" to "2" step 1 {{ tk.store %zero, %o[d0] : {name}, memref<2x{name}> }}
      tk.for 0 = "0" to "4000" step 1 parallel {{
        %v = tk.load %x[d0] : memref<4000x{name}> -> {name}
        tk.store %v, %o[d0 mod 2] combine add : {name}, memref<2x{name}>
      }}
    }}"""
    x = torch.zeros(4000, dtype=DTYPES[name])
    x[:200] = 1
    (got,) = run(tmp_path, kernel, [x], [(name, 2)])
    assert got.tolist() == [100, 100]


@pytest.mark.parametrize("name", ["f32", "bf16", "i64", "f64", "f16", "i8"])
def test_adds_neighbours_in_order(tmp_path: Path, name: str) -> None:
    """Each sum is rounded as memory holds it; a tail adds nothing beyond its lanes."""
    v = f"vector<16x{name}>"
    kernel = f"""
    tk.func @k [37, 19] (%x: memref<703x{name}>, %o: memref<40x{name}>) scheduled {{
      %zero = arith.constant {"0" if name[0] == "i" else "0.0"} : {name}
      tk.for 0 = "0" to "40" step 1 {{ tk.store %zero, %o[d0] : {name}, memref<40x{name}> }}
      tk.for 0 = "0" to "37" step 1 {{
        tk.for 1 = "0" to "16" step 16 {{
          %a = tk.load %x[d0*19 + d1] lanes 1 : memref<703x{name}> -> {v}
          tk.store %a, %o[d1 + 1] combine add lanes 1 : {v}, memref<40x{name}>
        }}
        tk.tail 1 = "16" count "3" {{
          %a = tk.load %x[d0*19 + d1] lanes 1 : memref<703x{name}> -> {v}
          tk.store %a, %o[d1 + 1] combine add lanes 1 : {v}, memref<40x{name}>
        }}
      }}
    }}"""
    x = torch.randn(37, 19).mul(9).to(DTYPES[name])
    (got,) = run(tmp_path, kernel, [x.reshape(-1)], [(name, 40)])
    expected = torch.zeros(40, dtype=x.dtype)
    for row in x:
        expected[1:20] += row
    assert torch.equal(got, expected)


@pytest.mark.parametrize("lanes", [1, 8, 16])
def test_random_is_philox(tmp_path: Path, lanes: int) -> None:
    v = (lambda t: t) if lanes == 1 else (lambda t: f"vector<{lanes}x{t}>")
    along = "" if lanes == 1 else "lanes 0"
    kernel = f"""
    tk.func @k [64] (%x: memref<1xi64>, %o: memref<64xf32>) scheduled {{
      %s = tk.load %x[0] : memref<1xi64> -> i64
      tk.for 0 = "0" to "64" step {lanes} {{
        %c = tk.index "d0 + 4294967290" {along} : {v("i64")}
        %r = tk.random %s, %c : {v("f32")}
        tk.store %r, %o[d0] {along} : {v("f32")}, memref<64xf32>
      }}
    }}"""
    seed = 0x1234567890ABCDEF
    (got,) = run(tmp_path, kernel, [torch.tensor([seed])], [("f32", 64)])
    want = uniform(seed, torch.arange(64) + 4294967290)
    torch.testing.assert_close(got, torch.as_tensor(want).float(), rtol=0, atol=0)


def test_loops_carry_and_swap_values(tmp_path: Path) -> None:
    """Fibonacci: each yield reads a value that the other one overwrites."""
    kernel = """
    tk.func @k [10] (%x: memref<2xi64>, %o: memref<2xi64>) scheduled {
      %a = tk.load %x[0] : memref<2xi64> -> i64
      %b = tk.load %x[1] : memref<2xi64> -> i64
      %p, %q = tk.for 0 = "0" to "10" step 1 iter(%u = %a : i64, %v = %b : i64) {
        %w = arith.addi %u, %v : i64
        tk.yield %v, %w : i64, i64
      }
      %r, %s = tk.for 0 = "0" to "3" step 1 iter(%u = %p : i64, %v = %q : i64) {
        tk.yield %v, %u : i64, i64
      }
      tk.store %r, %o[0] : i64, memref<2xi64>
      tk.store %s, %o[1] : i64, memref<2xi64>
    }"""
    (got,) = run(tmp_path, kernel, [torch.tensor([0, 1])], [("i64", 2)])
    assert got.tolist() == [89, 55]


def test_local_scratch_small_and_large(tmp_path: Path) -> None:
    kernel = """
    tk.func @k [4] (%x: memref<4xf32>, %o: memref<4xf32>) scheduled {
      tk.for 0 = "0" to "4" step 1 parallel {
        %s = tk.local "40000" : memref<40000xf32>
        %t = tk.local "8" : memref<8xi1>
        %v = tk.load %x[d0] : memref<4xf32> -> f32
        tk.store %v, %s[39999] : f32, memref<40000xf32>
        %c = arith.cmpf ogt, %v, %v : f32
        tk.store %c, %t[7] : i1, memref<8xi1>
        %w = tk.load %s[39999] : memref<40000xf32> -> f32
        %d = tk.load %t[7] : memref<8xi1> -> i1
        %r = arith.select %d, %v, %w : f32
        tk.store %r, %o[d0] : f32, memref<4xf32>
      }
    }"""
    x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    assert torch.equal(run(tmp_path, kernel, [x], [("f32", 4)])[0], x)


def test_failed_assert_raises_after_the_kernel(tmp_path: Path) -> None:
    kernel = """
    tk.func @k [20] (%x: memref<20xi64>, %o: memref<20xi64>) scheduled {
      %n = arith.constant dense<10> : vector<16xi64>
      tk.for 0 = "0" to "16" step 16 {
        %v = tk.load %x[d0] lanes 0 : memref<20xi64> -> vector<16xi64>
        tk.store %v, %o[d0] lanes 0 : vector<16xi64>, memref<20xi64>
      }
      tk.tail 0 = "16" count "4" {
        %v = tk.load %x[d0] lanes 0 : memref<20xi64> -> vector<16xi64>
        %z = arith.constant dense<0> : vector<16xi64>
        %ok = arith.cmpi ne, %v, %z : vector<16xi64>
        tk.assert %ok "division by zero" : vector<16xi1> loc("model.py":3:1)
        tk.store %v, %o[d0] lanes 0 : vector<16xi64>, memref<20xi64>
      }
    }"""
    graph = harness.compiled(harness.with_main(kernel, [("i64", 20)], [("i64", 20)]), tmp_path)
    x = torch.arange(20)
    assert torch.equal(graph([x])[0], x)  # the inactive lanes, which are zero, are not checked
    x[18] = 0
    with pytest.raises(ZeroDivisionError, match=r"TW2114: division by zero\n  where: model.py:3"):
        graph([x])
    x[18] = 1
    assert torch.equal(graph([x])[0], x)
