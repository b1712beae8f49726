"""The last few ops of a result show that it is not recomputed, or say nothing."""

from __future__ import annotations

import pytest
from kernels_harness import Kernel, kernels_of, module_of
from xdsl.ir import OpResult

from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.fusion.contents import Bodies
from tilewright.passes.fusion.staying import only_reader, reads_all, stays
from tilewright.passes.kernels.body import loads_of

READER: Kernel = ("6, 6", "%0 = load p[d0, d1]\nstore %0, r[d0, d1]")
OTHERS: dict[str, Kernel] = {
    "of the same": ("6, 6", "%0 = load p[d0, d1]\nstore %0, t[d0, d1]"),
    "of what is made beside it": ("6, 6", "%0 = load q[d0, d1]\nstore %0, u[d0, d1]"),
}
BESIDE = "%z = arith.negf %0 : f32\nstore %z, q[d0, d1]"


def asked(
    ops: str, *others: Kernel, reader: Kernel = READER, element: str = "f32", rows: int = 6
) -> tuple[OpResult, KernelOp]:
    """`%p`, which `ops` make of `%0`, in a kernel that makes `%q`, too; and a reader of it, beside others."""
    sizes = f"{rows}, 6"
    tensors = {**dict.fromkeys("xqu", f"f32 {sizes}"), **dict.fromkeys("prt", f"{element} {sizes}")}
    maker = ("6, 6", f"%0 = load x[d0, d1]\n{ops}\n{BESIDE}")
    kernels = [(space.replace("6", str(rows), 1), body) for space, body in (maker, reader, *others)]
    maker_, reader_, *_ = kernels_of(module_of(tensors, kernels, "r"))
    return maker_.results[0], reader_


def stays_(value: OpResult, reader: KernelOp) -> bool:
    return stays(value, reader, loads_of(reader.sources[0]), Bodies())


STORE = "store %9, p[d0, d1]"
EXP = f"%9 = math.exp %0 : f32\n{STORE}"
SUM = "%8 = tk.reduce add %0 over [1] : f32\n%9 = arith.addf %0, %8 : f32\n"
ALWAYS = {
    "a sum": SUM + STORE,
    "a running sum": f"%9 = tk.scan add %0 along 1 : f32\n{STORE}",
    "what is stored where a mask says": "%m = arith.constant true\nstore %0, p[d0, d1] if %m",
}


@pytest.mark.parametrize("ops", ALWAYS.values(), ids=ALWAYS)
def test_it_stays_whoever_reads_it(ops: str) -> None:
    assert stays_(*asked(ops))
    assert stays_(*asked(ops, *OTHERS.values()))


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_much_work_stays_where_its_kernel_runs_anyway(other: Kernel) -> None:
    assert stays_(*asked(EXP, other))


def free_ops(first: str, count: int) -> str:
    """So many conversions of `first`, which cost nothing, and a store."""
    lines, last = list[str](), first
    for i in range(0, count, 2):
        lines += [f"%b{i} = arith.truncf {last} : f32 to bf16", f"%c{i} = arith.extf %b{i} : bf16 to f32"]
        last = f"%c{i}"
    return "\n".join([*lines, f"store {last}, p[d0, d1]"])


PRODUCT: Kernel = (
    "6, 6, 6",
    """%0 = load p[d0, d2]
    %1 = load p[d2, d1]
    %2 = arith.mulf %0, %1 : f32
    %3 = tk.reduce add %2 over [2] : f32
    store %3, r[d0, d1]""",
)
BESIDE_IT = OTHERS["of what is made beside it"]
SAYS_NOTHING = {
    "nothing is left of its kernel": asked(EXP),
    "as much work as reading it": asked(
        f"%8 = arith.negf %0 : f32\n%9 = math.absf %8 : f32\n{STORE}", BESIDE_IT
    ),
    "nothing is read": asked(EXP, BESIDE_IT, rows=0),
    "a position": asked(
        f"%8 = math.exp %0 : f32\n%9 = arith.fptosi %8 : f32 to i32\n{STORE}", BESIDE_IT, element="i32"
    ),
    "a product reads it": asked(EXP, BESIDE_IT, reader=PRODUCT),
    "the sum is behind many ops": asked(f"{SUM}%7 = arith.negf %9 : f32\n{free_ops('%7', 14)}", BESIDE_IT),
}


@pytest.mark.parametrize(("value", "reader"), SAYS_NOTHING.values(), ids=SAYS_NOTHING)
def test_else_it_says_nothing(value: OpResult, reader: KernelOp) -> None:
    assert not stays_(value, reader)


def test_sixteen_ops_are_looked_at() -> None:
    assert stays_(*asked(SUM + free_ops("%9", 14), BESIDE_IT))
    assert stays_(*asked(f"%8 = math.exp %0 : f32\n{free_ops('%8', 14)}", BESIDE_IT))


def test_a_wider_result_may_be_more_work() -> None:
    """What is computed once is compared with reading one element."""
    work = "%7 = arith.negf %0 : f32\n%8 = math.absf %7 : f32\n%6 = arith.negf %8 : f32\n"
    half, single = f"%9 = arith.truncf %6 : f32 to bf16\n{STORE}", "store %6, p[d0, d1]"
    assert stays_(*asked(work + single, BESIDE_IT))
    assert stays_(*asked(work + half, BESIDE_IT, element="bf16"))
    wide = f"%9 = arith.extf %6 : f32 to f64\n{STORE}"
    assert not stays_(*asked(work + wide, BESIDE_IT, element="f64"))


@pytest.mark.parametrize(
    ("others", "all_", "only"), [((), True, False), *(((other,), False, False) for other in OTHERS.values())]
)
def test_who_reads(others: tuple[Kernel, ...], all_: bool, only: bool) -> None:
    value, reader = asked(EXP, *others)
    kernel = value.op
    assert isinstance(kernel, KernelOp)
    assert (reads_all(kernel, reader), only_reader(value, reader)) == (all_, only)


def test_the_only_reader_of_a_single_result() -> None:
    tensors = {name: "f32 6, 6" for name in ("x", "p", "r", "t")}
    maker = ("6, 6", f"%0 = load x[d0, d1]\n{EXP}")
    first, second = kernels_of(module_of(tensors, [maker, READER], "r"))
    assert only_reader(first.results[0], second)
    first, second = kernels_of(module_of(tensors, [maker, READER], "r p"))
    assert not only_reader(first.results[0], second)
