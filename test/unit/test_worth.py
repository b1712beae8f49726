"""What waits for later kernels, and where computing again costs more than memory, number by number."""

from __future__ import annotations

from itertools import pairwise

import pytest
from kernels_harness import Kernel, differences, kernels_of, module_of

from tilewright.passes.fusion.contents import Bodies
from tilewright.passes.fusion.inline import producer_of
from tilewright.passes.fusion.worth import Memory, computing_costs_less, recompute_costs_more, waits
from tilewright.passes.kernels.body import loads_of

NEAR, FAR = Memory(1, far=False), Memory(128, far=True)
WIDENS = "it only widens what is stored, as those that read it can"
ENLARGES = "it only enlarges what is stored, as those that read it can"
READ_BY_OTHERS = "it is a matrix product whose result others read, too"
NARROWER = "it is a matrix product, and its result is narrower"


def steps(count: int, op: str = "math.exp", first: str = "%0", type_: str = "f32") -> str:
    """So many ops, one of the other, of `first` to `%1`."""
    names = [first, *(f"%w{i}" for i in range(1, count)), "%1"]
    return "\n".join(f"{new} = {op} {old} : {type_}" for old, new in pairwise(names))


def reader(given: str, made: str, sizes: str = "6, 6") -> Kernel:
    return sizes, f"%0 = load {given}[d0, d1]\nstore %0, {made}[d0, d1]"


# Waiting


def waiting(consumer: str, returned: str = "t", *more: Kernel, **tensors: str) -> str | None:
    """Why a kernel of `%p` should not join one that copies it; another reads its result."""
    kinds = {"x": "bf16 6, 6", "p": "bf16 6, 6", "y": "bf16 6, 6", "c": "f32 6, 6", "t": "f32 6, 6"}
    kernels = [reader("x", "p"), *more, ("6, 6", consumer), reader("c", "t")]
    found = kernels_of(module_of({**kinds, **tensors}, kernels, returned))
    return waits(found[0], found[-2], Bodies(), 128)


WIDER = "%a = load p[d0, d1]\n%0 = arith.extf %a : bf16 to f32\n"
INTEGER = {"x": "i8 6, 6", "p": "i8 6, 6", "c": "i32 6, 6", "t": "i32 6, 6"}


def test_what_only_widens_waits() -> None:
    assert waiting(f"{WIDER}store %0, c[d0, d1]") == WIDENS
    assert waiting(f"{WIDER}store %0, c[d0, d1]", "c t") == WIDENS
    extended = "%a = load p[d0, d1]\n%0 = arith.extui %a : i8 to i32\nstore %0, c[d0, d1]"
    assert waiting(extended, **INTEGER) == WIDENS


def test_so_does_what_does_little_more() -> None:
    assert waiting(f"{WIDER}{steps(1)}\nstore %1, c[d0, d1]") == WIDENS
    more = f"{WIDER}%z = arith.negf %0 : f32\n{steps(1, first='%z')}\nstore %1, c[d0, d1]"
    assert waiting(more) is None
    constant = "", "%0 = arith.constant 1.0 : f32\nstore %0, k[]"
    scaled = f"{WIDER}%b = load k[]\n%1 = arith.mulf %0, %b : f32\nstore %1, c[d0, d1]"
    assert waiting(scaled, "t", constant, k="f32") == WIDENS, "a number that is made of nothing"
    of_it = "", "%0 = load l[]\n%1 = arith.negf %0 : f32\nstore %1, k[]"
    first = "", "%0 = arith.constant 1.0 : f32\nstore %0, l[]"
    assert waiting(scaled, "t", first, of_it, k="f32", l="f32") == WIDENS, "of what is made of nothing"
    assert waiting(scaled, "t", of_it, k="f32", l="f32") is None, "of what is given"


JOINS = {
    "much work": f"{WIDER}{steps(2)}\nstore %1, c[d0, d1]",
    "two loads": f"""{WIDER}%b = load p[d1, d0]\n%1 = arith.extf %b : bf16 to f32
    %2 = arith.addf %0, %1 : f32\nstore %2, c[d0, d1]""",
    "two inputs": f"""{WIDER}%b = load y[d0, d1]\n%1 = arith.extf %b : bf16 to f32
    %2 = arith.addf %0, %1 : f32\nstore %2, c[d0, d1]""",
    "two results": f"{WIDER}store %0, c[d0, d1]\nstore %0, q[d0, d1]",
}


@pytest.mark.parametrize("consumer", JOINS.values(), ids=JOINS)
def test_what_does_more_joins(consumer: str) -> None:
    assert waiting(consumer, q="f32 6, 6") is None


def test_what_is_no_wider_or_no_float_joins() -> None:
    assert (
        waiting(
            f"{WIDER}%1 = arith.truncf %0 : f32 to bf16\nstore %1, c[d0, d1]", c="bf16 6, 6", t="bf16 6, 6"
        )
        is None
    )
    added = "%a = load p[d0, d1]\n%0 = arith.extui %a : i8 to i32\n%1 = arith.addi %0, %0 : i32\n"
    assert waiting(f"{added}store %1, c[d0, d1]", **INTEGER) is None


def test_what_no_kernel_reads_need_not_wait() -> None:
    kinds = {"x": "bf16 6, 6", "p": "bf16 6, 6", "c": "f32 6, 6"}
    kernels = [reader("x", "p"), ("6, 6", f"{WIDER}store %0, c[d0, d1]")]
    first, second = kernels_of(module_of(kinds, kernels, "c"))
    assert waits(first, second, Bodies(), 128) is None


def waiting_for_more(columns: int, body: str, returned: str) -> str | None:
    """Why a kernel of `columns` columns should not join that of six, `%p`."""
    sizes = f"6, {columns}"
    kinds = {**dict.fromkeys("xyp", "f32 6, 6"), "c": f"f32 {sizes}", "t": f"f32 {sizes}"}
    made, copied = (sizes, f"{body}\nstore %1, c[d0, d1]"), reader("c", "t", sizes)
    first, second, _ = kernels_of(module_of(kinds, [reader("x", "p"), made, copied], returned))
    return waits(first, second, Bodies(), 128)


def test_what_only_copies_to_more_elements_waits() -> None:
    """Where nothing but kernels reads them."""
    for columns, why in ((6, None), (7, WIDENS)):
        repeated = f"%0 = load p[d0, d1 mod 6]\n{steps(1)}"
        assert waiting_for_more(columns, repeated, "t") == why
        assert waiting_for_more(columns, repeated, "t c") is None


def test_what_enlarges_two_inputs_more_than_twice_waits() -> None:
    """If those that read it can compute it: it has more than two elements for each of both together."""
    for columns, why in ((24, None), (25, ENLARGES)):
        both = "%0 = load p[d0, d1 mod 6]\n%2 = load y[d0, d1 mod 6]\n%1 = arith.addf %0, %2 : f32"
        assert waiting_for_more(columns, both, "t") == why
        assert waiting_for_more(columns, both, "t c") is None


def product(left: str = "x", right: str = "y", made: str = "p", size: int = 6, factors: str = "") -> Kernel:
    """Of square matrices of f32, or of what is cut to `factors`."""
    attribute = f" {{tk.factors = {factors}}}" if factors else ""
    cut = "%5 = arith.truncf %4 : f32 to bf16\n" if made == "h" else ""
    return (
        f"{size}, {size}, {size}",
        f"""%0 = load {left}[d0, d2]
        %1 = load {right}[d2, d1]
        %2 = arith.mulf %0, %1 : f32
        %4 = tk.reduce add %2 over [2]{attribute} : f32
        {cut}store %{"5" if cut else "4"}, {made}[d0, d1]""",
    )


def waiting_for_product(consumer: str, returned: str, *more: Kernel, made: str = "p") -> str | None:
    kinds = {**dict.fromkeys("xypctuz", "f32 6, 6"), "h": "bf16 6, 6", "b": "bf16 6, 6"}
    module = module_of(kinds, [product(made=made), ("6, 6", consumer), *more], returned)
    first, second, *_ = kernels_of(module)
    return waits(first, second, Bodies(), 128)


def test_what_joins_a_product() -> None:
    biased = "%0 = load p[d0, d1]\n%1 = load z[d0, d1]\n%2 = arith.addf %0, %1 : f32\n"
    single = f"{biased}store %2, c[d0, d1]"
    assert waiting_for_product(single, "c") is None
    assert waiting_for_product(single, "t", reader("c", "t")) is None, "as wide"
    assert waiting_for_product(single, "t u", reader("p", "u"), reader("c", "t")) == READ_BY_OTHERS
    assert waiting_for_product(single, "t p", reader("c", "t")) == READ_BY_OTHERS
    assert waiting_for_product(single, "c p") is None, "all that it makes is returned"
    half = biased.replace("%0 = load p", "%g = load h").replace(
        "%1 =", "%0 = arith.extf %g : bf16 to f32\n%1 ="
    )
    assert waiting_for_product(f"{half}store %2, c[d0, d1]", "t", reader("c", "t"), made="h") == NARROWER
    assert waiting_for_product(f"{half}store %2, c[d0, d1]", "c", made="h") is None
    cut = "%3 = arith.truncf %2 : f32 to bf16\nstore %3, b[d0, d1]"
    copied = "6, 6", "%0 = load b[d0, d1]\n%1 = arith.extf %0 : bf16 to f32\nstore %1, t[d0, d1]"
    assert waiting_for_product(half + cut, "t", copied, made="h") is None
    both = f"{half}store %2, c[d0, d1]\n{cut}"
    assert waiting_for_product(both, "t c", copied, made="h") is None, "what is returned does not count"
    assert waiting_for_product(both, "t u", copied, reader("c", "u"), made="h") == NARROWER
    assert waiting_for_product(both, "b u", reader("c", "u"), made="h") == NARROWER, "one of two is returned"


# Computing again


def again(
    maker: Kernel, consumer: Kernel, memory: Memory, *more: Kernel, returned: str = "r", **tensors: str
) -> str | None:
    """Why `%p` is not computed again where `consumer` reads it."""
    kinds = {**dict.fromkeys("xyrtq", "f32 6, 6"), "p": "f32 6, 6", **tensors}
    first, second, *_ = kernels_of(module_of(kinds, [maker, consumer, *more], returned))
    (value,) = (result for result in first.results if result.name_hint == "p")
    producer = producer_of(value)
    assert not isinstance(producer, str)
    loads = loads_of(second.sources[list(second.operands).index(value)])
    return recompute_costs_more(value, producer, second, loads, memory)


def maker(ops: str = steps(1), sizes: str = "6, 6") -> Kernel:
    return sizes, f"%0 = load x[d0, d1]\n{ops}\nstore %1, p[d0, d1]"


ONCE = reader("p", "r")
TWICE: Kernel = (
    "6, 6",
    "%0 = load p[d0, d1]\n%1 = load p[d1, d0]\n%2 = arith.addf %0, %1 : f32\nstore %2, r[d0, d1]",
)


def test_where_nothing_is_left_of_its_kernel() -> None:
    """36 elements: 72 to write, 72 to read, as those behind it; 15 for each that is computed twice."""
    assert again(maker(steps(9)), ONCE, NEAR) is None
    assert again(maker(), TWICE, NEAR) == "recomputing it costs 612 and saves 216"
    assert again(maker("%1 = arith.negf %0 : f32"), TWICE, NEAR) is None


def test_where_its_kernel_runs_anyway() -> None:
    """Only reading is saved."""
    for name, body in ({"returned": ("r p", ()), "read": ("r t", (reader("p", "t"),))}).values():
        assert again(maker(), ONCE, NEAR, *body, returned=name) == "recomputing it costs 612 and saves 72"
        assert again(maker(), ONCE, FAR, *body, returned=name) == "recomputing it costs 612 and saves 72"
    free = "%a = arith.truncf %0 : f32 to bf16\n%1 = arith.extf %a : bf16 to f32"
    assert again(maker(free), ONCE, NEAR, returned="r p") is None


def test_beside_other_results() -> None:
    """Near, two kernels for one may be read in another order; far, all that moves through memory counts."""
    beside = maker(f"{steps(3)}\nstore %0, q[d0, d1]")
    both = "6, 6", "%0 = load p[d0, d1]\n%1 = load q[d0, d1]\nstore %0, r[d0, d1]\nstore %1, t[d0, d1]"
    assert again(beside, both, NEAR, returned="r t") == "recomputing it costs 1692 and saves 72"
    assert again(beside, both, FAR, returned="r t") is None


@pytest.mark.parametrize(("count", "why"), [(15, None), (16, "recomputing it costs 8712 and saves 8208")])
def test_memory_that_is_far_is_written_and_read(count: int, why: str | None) -> None:
    """128 more for each element, and what its reader computes while it waits: 96, less the sum."""
    assert again(maker(steps(count)), TWICE, FAR) == why


def test_what_computes_as_long_as_it_waits_computes_no_more() -> None:
    """Of the 96 ops that would be hidden for each element, seven exponentials and a sum leave none."""
    busy = steps(7, first="%2").replace("%1", "%8") + "\nstore %8"
    consumer = TWICE[0], TWICE[1].replace("store %2", busy)
    assert again(maker(steps(8)), consumer, FAR) is None
    assert again(maker(steps(9)), consumer, FAR) == "recomputing it costs 4932 and saves 4824"


def test_what_a_sum_need_not_repeat_is_computed_once() -> None:
    """Of windows of six columns: what rows alone decide is computed for each, not for each of six places."""
    sums = "6, 6, 6", "%0 = load p[d0, d1 + d2]\n%1 = tk.reduce add %0 over [2] : f32\nstore %1, r[d0, d1]"
    kinds = {"p": "f32 6, 11", "x": "f32 6, 11", "y": "f32 6"}

    def summed(loaded: str) -> str | None:
        made = "6, 11", f"%9 = load {loaded}\n{steps(6, first='%9')}\nstore %1, p[d0, d1]"
        return again(made, sums, FAR, **kinds)

    assert summed("x[d0, d1]") == "recomputing it costs 13800 and saves 13476"
    assert summed("y[d0]") is None


@pytest.mark.parametrize("type_", ["i32", "i64"])
def test_positions_are_computed_where_they_are_used(type_: str) -> None:
    """Six ops cost nothing, as they would wrap, widen and check what is read; but not behind a load."""
    least = {"i32": 7, "i64": 9}[type_]  # two or four more, for the bytes of each
    kinds = dict.fromkeys("xprt", f"{type_} 6, 6")

    def made(count: int, first: str) -> str | None:
        names = ["%0", *(f"%w{n}" for n in range(1, count)), "%1"]
        added = "\n".join(f"{new} = arith.addi {old}, {old} : {type_}" for old, new in pairwise(names))
        return again(("6, 6", f"{first}\n{added}\nstore %1, p[d0, d1]"), ONCE, NEAR, returned="r p", **kinds)

    index = f'%0 = tk.index "d0" : {type_}'
    assert made(least, index) is None
    assert made(least + 1, index) is not None
    assert made(1, "%0 = load x[d0, d1]") is not None


def test_products_read_rows_of_what_is_stored_anyway() -> None:
    made, reads = maker("%1 = arith.negf %0 : f32"), product("p", "y", "r")
    assert again(made, reads, FAR, returned="r p") == (
        "it is stored anyway, and a product reads rows of it faster"
    )
    assert again(made, reads, FAR) is None
    assert again(made, reads, NEAR, returned="r p") == "recomputing it costs 648 and saves 432"


# Products that read it


def squares(size: int, **elements: str) -> dict[str, str]:
    return {name: f"{element} {size}, {size}" for name, element in elements.items()}


CAST = "%1 = arith.extf %0 : bf16 to f32"
BYTES = "%f = arith.bitcast %0 : i8 to f8E4M3FN\n%1 = arith.extf %f : f8E4M3FN to f32"
MASKED = "%m = arith.constant true\n%z = arith.constant 0.0 : bf16\n%g = load x[d0, d1] if %m else %z\n"
STORED = "converting it costs 180 and saves 144"
CONVERTED = {
    # ops, what memory holds, factors, why it is stored first
    "for tiles of the same": (CAST, "bf16", "bf16", None),
    "for tiles of 8 bits": (BYTES, "i8", "f8E4M3FN", None),
    "for tiles of f32": (CAST, "bf16", "", STORED),
    "for tiles of others": (CAST, "bf16", "f16", STORED),
    "where a mask says": (f"{MASKED}%1 = arith.extf %g : bf16 to f32", "bf16", "bf16", STORED),
    "of 8 bits, where a mask says": (
        f"{MASKED.replace('0.0 : bf16', '0 : i8')}{BYTES.replace('%0', '%g')}",
        "i8",
        "f8E4M3FN",
        "converting it costs 360 and saves 144",
    ),
    "and changed": (
        f"{CAST.replace('%1', '%c')}\n{steps(1, first='%c')}",
        "bf16",
        "bf16",
        "converting it costs 2880 and saves 144",
    ),
    "with others": (
        CAST.replace("%1", "%c") + "\n%b = load s[d0]\n%1 = arith.mulf %c, %b : f32",
        "bf16",
        "bf16",
        "converting it costs 360 and saves 144",
    ),
}


@pytest.mark.parametrize(("ops", "held", "factors", "why"), CONVERTED.values(), ids=CONVERTED)
def test_a_near_product_converts_what_its_tiles_take(
    ops: str, held: str, factors: str, why: str | None
) -> None:
    reads = product("p", "y", "r", factors=factors)
    assert again(maker(ops), reads, NEAR, x=f"{held} 6, 6", s="f32 6") == why


WIDENED = {
    # ops, what memory holds, what is made, why it is stored first
    "a little work": (f"{CAST.replace('%1', '%c')}\n{steps(1, first='%c')}", "bf16", "f32", None),
    "more work": (
        f"{CAST.replace('%1', '%c')}\n{steps(4, 'arith.negf', '%c')}".replace("%1 =", "%e =")
        + f"\n{steps(1, first='%e')}",
        "bf16",
        "f32",
        "widening it in tiles costs 146800640 and saves 134217728",
    ),
    "with a factor of each row": (
        CAST.replace("%1", "%c") + "\n%b = load s[d0]\n%1 = arith.mulf %c, %b : f32",
        "bf16",
        "f32",
        None,
    ),
    "what is as wide": (
        f"{CAST.replace('%1', '%c')}\n%e = math.exp %c : f32\n%1 = arith.truncf %e : f32 to bf16",
        "bf16",
        "bf16",
        "converting it costs 18235785216 and saves 2097152",
    ),
    "no widening": (
        "%1 = arith.truncf %0 : f32 to bf16",
        "f32",
        "bf16",
        "converting it costs 1072693248 and saves 2097152",
    ),
}


@pytest.mark.parametrize(("ops", "held", "made", "why"), WIDENED.values(), ids=WIDENED)
def test_a_far_product_widens_what_its_tiles_take(ops: str, held: str, made: str, why: str | None) -> None:
    """Each element once for 128 rows of the other factor."""
    kinds = squares(1024, x=held, p=made, y="f32", r="f32")
    sizes, body = product("p", "y", "r", 1024)
    if made == "bf16":
        body = body.replace("%0 = load p[d0, d2]", "%g = load p[d0, d2]\n%0 = arith.extf %g : bf16 to f32")
    assert again(maker(ops, "1024, 1024"), (sizes, body), FAR, s="f32 1024", **kinds) == why


# Programs that share nothing


@pytest.mark.parametrize(
    ("size", "ops", "held", "why"),
    [
        (4096, "%1 = arith.negf %0 : f32", "f32", None),
        (8192, "%1 = arith.negf %0 : f32", "f32", "recomputing it costs 7100672 and saves 1081344"),
        (4096, "%1 = arith.truncf %0 : f64 to f32", "f64", "recomputing it costs 476739840 and saves 540672"),
    ],
)
def test_programs_far_apart_compute_it_for_themselves(
    size: int, ops: str, held: str, why: str | None
) -> None:
    """What they do while another kernel would begin costs nothing; nor does anything where they are near."""
    kinds = {**dict.fromkeys("pyr", f"f32 {size}"), "x": f"{held} {size}"}
    made = f"{size}", f"%0 = load x[d0]\n{ops}\nstore %1, p[d0]"
    assert again(made, differences(size), FAR, **kinds) == why
    assert again(made, differences(size), NEAR, **kinds) is None


# Results that their kernel makes beside others


def less(made: Kernel, consumer: Kernel, saved: int, **tensors: str) -> bool:
    kinds = {**dict.fromkeys("xypr", "f32 6, 6"), **tensors}
    first, second = kernels_of(module_of(kinds, [made, consumer], "r p"))
    producer = producer_of(first.results[0])
    assert not isinstance(producer, str)
    loads = loads_of(second.sources[list(second.operands).index(first.results[0])])
    return computing_costs_less(first.results[0], producer, second, loads, FAR, saved)


KNOWN: Kernel = (
    "6, 6",
    "%0 = load p[d0, d1]\n%1 = load x[d0, d1]\n%2 = arith.addf %0, %1 : f32\nstore %2, r[d0, d1]",
)


def test_computing_takes_less_than_moving() -> None:
    """64 for an element: four exponentials, where all that it is made of is read anyway."""
    assert less(maker(f"%c = math.sqrt %0 : f32\n{steps(4, first='%c')}"), KNOWN, 1)
    assert not less(maker(steps(5)), KNOWN, 1)
    assert less(maker(steps(8)), KNOWN, 2)
    assert less(maker(steps(2)), TWICE, 2)
    assert not less(maker(steps(5)), TWICE, 2), "each load computes it"


def test_what_it_is_made_of_is_moved_instead() -> None:
    assert not less(maker(steps(1)), ONCE, 1)
    assert less(maker(steps(4)), ONCE, 2)
    assert not less(maker(steps(5)), ONCE, 2)
    halves = "%c = arith.extf %0 : bf16 to f32\n" + steps(2, first="%c")
    assert less(maker(halves), ONCE, 1, x="bf16 6, 6")
    row = "6, 6", f"%0 = load x[0, d1]\n{steps(3)}\nstore %1, p[d0, d1]"
    assert less(row, ONCE, 1), "only what is read of it"
    repeated = "6, 6", f"%0 = load x[d0 floordiv 3, d1]\n{steps(2)}\nstore %1, p[d0, d1]"
    assert less(repeated, ONCE, 1, x="f32 2, 6"), "once"


def test_programs_compute_what_they_share() -> None:
    for size, done in ((4096, True), (8192, False)):
        made = f"{size}", "%0 = load x[d0]\n%1 = arith.negf %0 : f32\nstore %1, p[d0]"
        kinds = dict.fromkeys("xpyr", f"f32 {size}")
        assert less(made, differences(size), 2, **kinds) == done
