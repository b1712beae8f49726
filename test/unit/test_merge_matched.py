"""Two kernels as one compute what both did; where they stay two, all is as it was."""

from __future__ import annotations

import numpy as np
import pytest
from tk_harness import parse
from xdsl.dialects.builtin import ModuleOp, f32

from tilewright.dialects.index_expr import parse_exprs
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import tensor_type
from tilewright.passes.fusion.contents import Bodies
from tilewright.passes.fusion.merge_matched import merge_matched, merge_written_out

SUM, ALL, DOWN = (f"%1 = tk.reduce add %0 over [{axes}]" for axes in ("1", "0, 1", "0"))
EXP, LESS = "%1 = math.exp %0", "%2 = tk.load %b[d0, d1] : {x} -> f32 %1 = arith.subf %2, %0"
Case = tuple[str, str, str, str, str, str, str, str]
"""Sizes of x; how p is made, where it is stored, its sizes; the second space, where p is read there; r."""
CASES: dict[str, Case] = {
    "rows": ("4, 6", SUM, "d0", "4", "4, 6", "d0", LESS, "4, 6"),
    "symbols": ("s0, 6", SUM, "d0", "s0", "s0, 6", "d0", LESS, "s0, 6"),
    "no rows": ("0, 6", SUM, "d0", "0", "0, 6", "d0", LESS, "0, 6"),
    "empty rows": ("4, 0", SUM, "d0", "4", "4", "d0", EXP, "4"),
    "one number for four": ("4, 6", ALL, "", "", "4", "", EXP, "4"),
    "numbers": ("4, 6", ALL, "", "", "", "", EXP, ""),
    "split": ("4, 6", EXP, "d0, d1", "4, 6", "24", "d0 floordiv 6, d0 mod 6", DOWN, ""),
}
BEHIND = "another path leads from it to the consumer"
ACROSS = "its reduction runs across rows, which would be walked twice with a stride"
REFUSED: dict[str, tuple[Case, bool, str]] = {
    "path": (CASES["rows"], True, BEHIND),
    "split and path": (CASES["split"], True, BEHIND),
    "across": (("4, 6", DOWN, "d1", "6", "4, 6", "d1", LESS, "4, 6"), False, ACROSS),
}


def module_of(case: Case, *, between: bool = False) -> tuple[ModuleOp, KernelOp, KernelOp]:
    """Two kernels; if `between`, an op that reads the first stands between them; the second reads it."""
    sizes, make, to, made, over, read, use, result = case
    x, p, r = (str(tensor_type(f32, parse_exprs(text))) for text in (sizes, made, result))
    into = ", ".join(f"d{a}" for a in range(len(parse_exprs(result))))
    module = parse(f"""func.func @main(%s0: index {{tw.symbol = "s0"}}, %x: {x}) -> {r} {{
      %p = tk.kernel [{sizes}] ins(%x : {x}) -> ({p}) {{
      ^bb0(%a: {x}, %o: {p}):
        %0 = tk.load %a[d0, d1] : {x} -> f32 {make} : f32 tk.store %1, %o[{to}] : f32, {p}
      }}
      {f"%q = tw.exp %p : {p}" * between}
      %r = tk.kernel [{over}] ins(%p, %x{", %q" * between} : {p}, {x}{f", {p}" * between}) -> ({r}) {{
      ^bb0(%a: {p}, %b: {x}{f", %c: {p}" * between}, %o: {r}):
        {f"%3 = tk.load %c[{read}] : {p} -> f32" * between}
        %0 = tk.load %a[{read}] : {p} -> f32 {use.replace("{x}", x)} : f32 tk.store %1, %o[{into}] : f32, {r}
      }}
      func.return %r : {r}
    }}""")
    producer, consumer = (op for op in module.walk() if isinstance(op, KernelOp))
    return module, producer, consumer


def outcome(module: ModuleOp) -> np.ndarray:
    """Of numbers, and of the same with a NaN in one row."""
    text = str(module)
    sizes = (0 if ": tensor<0x6x" in text else 4, 0 if ": tensor<4x0x" in text else 6)
    x = np.random.default_rng(0).standard_normal(sizes).astype(np.float32)
    broken = x.copy()
    broken[1:2, 2:3] = np.nan
    return np.stack([interpret(module, [4, given], np)[0] for given in (x, broken)])


@pytest.mark.parametrize("name", CASES)
def test_one_kernel_computes_what_two_did(name: str) -> None:
    module, producer, consumer = module_of(CASES[name])
    wanted = outcome(module)
    merged = merge_matched(producer, consumer, Bodies())
    assert isinstance(merged, KernelOp), merged
    module.verify()
    assert [op for op in module.walk() if isinstance(op, KernelOp)] == [merged]
    np.testing.assert_allclose(outcome(module), wanted, rtol=1e-6)


@pytest.mark.parametrize("name", REFUSED)
def test_where_they_stay_two_their_axes_are_as_they_were(name: str) -> None:
    case, between, why = REFUSED[name]
    module, producer, consumer = module_of(case, between=between)
    before, bodies = str(module), Bodies(column=1)
    assert merge_matched(producer, consumer, bodies) == why
    assert str(module) == before
    for kernel in (producer, consumer):
        assert bodies.of(kernel) == Bodies().of(kernel)


TERMS: Case = ("4, 6", SUM, "d0", "4", "4", "d0", DOWN, "")
WRITTEN: dict[str, tuple[Case, str | None, bool, bool]] = {
    "sum of sums": (TERMS, None, False, True),
    "another path": (TERMS, None, True, False),
    "too big": (TERMS, "too big", False, False),
    "no sum behind": (("4, 6", SUM, "d0", "4", "4", "d0", EXP, "4"), None, False, False),
    "too many terms": (("4, 6", ALL, "", "", "4", "", DOWN, ""), None, False, False),
    "no sum before": (("4, 6", EXP, "d0, d1", "4, 6", "4, 6", "d0, d1", ALL, ""), None, False, False),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_only_the_consumer_reduces_where_sums_are_written_out(name: str) -> None:
    case, too_big, between, joins = WRITTEN[name]
    module, producer, consumer = module_of(case, between=between)
    before, wanted = str(module), outcome(module)
    merged = merge_written_out(producer, consumer, Bodies(), lambda _first, _second: too_big)
    module.verify()
    np.testing.assert_allclose(outcome(module), wanted, rtol=1e-6)
    if not joins:
        assert merged is None
        assert str(module) == before
        return
    assert [op for op in module.walk() if isinstance(op, KernelOp)] == [merged]
    assert len([op for op in module.walk() if isinstance(op, ReduceOp)]) == 1
