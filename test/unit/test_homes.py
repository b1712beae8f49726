"""What is computed into results, slices and arguments, and what must not be."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

import pytest
from layout_text import text_of
from tk_harness import parse
from xdsl.dialects.func import FuncOp

from tilewright.dialects.index_expr import format_exprs
from tilewright.dialects.registry import new_context
from tilewright.passes.host.boundary import Boundary
from tilewright.passes.host.homes import Homes, find_homes
from tilewright.passes.manager import parse_pipeline, run_pipeline

TYPES = {"X": "tensor<3x5xf32>", "T": "tensor<5x3xf32>", "R": "tensor<3x2xf32>", "F": "tensor<15xf32>"}
X, T, R, F = TYPES.values()
W, V = "tensor<3x10xf32>", "tensor<6x5xf32>"


def homes_of(results: str, body: str) -> Homes:
    """Of a function of `%x`, `%y` and `%z`, all 3x5, and `%t`, 5x3: after what can be a kernel is one."""
    module = parse(f"func.func @main(%x: {X}, %y: {X}, %z: {X}, %t: {T}) -> ({results}) {{\n{body}\n}}")
    run_pipeline(new_context(), module, parse_pipeline("convert-tw-to-tk"))
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    boundary = Boundary(function)
    return find_homes(function.body.block, boundary.layouts, boundary.wanted)


def results_of(homes: Homes) -> dict[str | None, str]:
    return {value.name_hint: format_exprs(strides) for value, strides in homes.results.items()}


def slices_of(homes: Homes) -> dict[str | None, str]:
    return {
        value.name_hint: f"{home.concat.result.name_hint} {home.operand}"
        + "".join(f" {view.results[0].name_hint}" for view in home.views)
        for value, home in homes.slices.items()
    }


def targets_of(homes: Homes) -> dict[str | None, str]:
    return {
        value.name_hint: f"{target.argument.name_hint}, {text_of(target.layout)}"
        for value, target in homes.targets.items()
    }


E = f"%e = tw.exp %x : {X}\n"
TURNED = f"%u = tw.transpose %e by [1, 0] : {X} -> {T}\n"
PART = f'%p = tw.slice %e starts "0, 1" steps "1, 1" : {X} -> {R}\n'
FLAT = f"%f = tw.reshape %u : {T} -> {F}\n"
RESULTS: Mapping[str, tuple[str, str, dict[str, str]]] = {
    # the types of the results, the function, and the strides of what is computed into them
    "a kernel's result": (X, f"{E}func.return %e : {X}", {"e": "5, 1"}),
    "in the order that is wanted": (
        f'{X} {{tw.strides = "1, 3"}}',
        f"{E}func.return %e : {X}",
        {"e": "1, 3"},
    ),
    "turned": (T, f"{E}{TURNED}func.return %u : {T}", {"e": "1, 3"}),
    "turned, in another order": (
        f'{T} {{tw.strides = "1, 5"}}',
        f"{E}{TURNED}func.return %u : {T}",
        {"e": "5, 1"},
    ),
    "as the first result wants it": (
        f"{T}, {X}",
        f"{E}{TURNED}func.return %u, %e : {T}, {X}",
        {"e": "1, 3"},
    ),
    "of which a part leaves, as it lies": (
        f'{R} {{tw.strides = "5, 1"}}',
        f"{E}{PART}func.return %p : {R}",
        {"e": "5, 1"},
    ),
    "of which a part leaves, closer together": (R, f"{E}{PART}func.return %p : {R}", {}),
    "for each row of what is wanted": (
        f'{X} {{tw.strides = "0, 1"}}',
        f"{E}func.return %e : {X}",
        {"e": "5, 1"},
    ),
    "an argument": (X, f"func.return %x : {X}", {}),
    "an argument, turned": (T, f"%u = tw.transpose %x by [1, 0] : {X} -> {T}\nfunc.return %u : {T}", {}),
    "what a call makes": (
        X,
        f"""%e = tw.aten "aten::cumprod"(%x) {{args = [#tw.arg<0>, 0 : i64]}} : ({X}) -> {X}
        func.return %e : {X}""",
        {},
    ),
    "data": (
        "tensor<2xf32>",
        "%c = tw.constant dense<[1.0, 2.0]> : tensor<2xf32>\nfunc.return %c : tensor<2xf32>",
        {},
    ),
    "a copy, and what need not be copied": (
        F,
        f"{E}{TURNED}{FLAT}func.return %f : {F}",
        {"f": "1", "e": "1, 3"},
    ),
    "a copy of an argument": (
        F,
        f"%u = tw.transpose %x by [1, 0] : {X} -> {T}\n{FLAT}func.return %f : {F}",
        {"f": "1"},
    ),
    "a copy of what another result is": (
        f"{X}, {F}",
        f"{E}{TURNED}{FLAT}func.return %e, %f : {X}, {F}",
        {"e": "5, 1", "f": "1"},
    ),
}


@pytest.mark.parametrize(("results", "body", "expected"), RESULTS.values(), ids=RESULTS)
def test_computed_into_results(results: str, body: str, expected: dict[str, str]) -> None:
    homes = homes_of(results, body)
    assert results_of(homes) == expected
    assert not homes.slices
    assert not homes.targets


N = f"%n = tw.neg %y : {X}\n"
BESIDE = f"%r = tw.concat %e, %n dim 1 : ({X}, {X}) -> {W}\n"
BELOW = f"%r = tw.concat %e, %n dim 0 : ({X}, {X}) -> {V}\n"
AGAIN = f"%m = tw.neg %e : {X}\n"
SLICES: Mapping[str, tuple[str, str, dict[str, str]]] = {
    # the types of the results, the function, and what is computed into which part, behind which views
    "side by side": (W, f"{E}{N}{BESIDE}func.return %r : {W}", {"e": "r 0", "n": "r 1"}),
    "read elsewhere, too": (
        f"{W}, {X}",
        f"{E}{N}{AGAIN}{BESIDE}func.return %r, %m : {W}, {X}",
        {"n": "r 1"},
    ),
    "below each other, and read elsewhere, too": (
        f"{V}, {X}",
        f"{E}{N}{AGAIN}{BELOW}func.return %r, %m : {V}, {X}",
        {"e": "r 0", "n": "r 1"},
    ),
    "of the only row, and read elsewhere, too": (
        "tensor<1x30xf32>, tensor<3x5xf32>",
        f"""{E}{AGAIN}%f = tw.reshape %e : {X} -> tensor<1x15xf32>
        %r = tw.concat %f, %f dim 1 : (tensor<1x15xf32>, tensor<1x15xf32>) -> tensor<1x30xf32>
        func.return %r, %m : tensor<1x30xf32>, {X}""",
        {"e": "r 0 f"},
    ),
    "twice": (W, f"{E}%r = tw.concat %e, %e dim 1 : ({X}, {X}) -> {W}\nfunc.return %r : {W}", {}),
    "turned": (
        "tensor<10x3xf32>",
        f"""{E}{TURNED}%r = tw.concat %u, %t dim 0 : ({T}, {T}) -> tensor<10x3xf32>
        func.return %r : tensor<10x3xf32>""",
        {"e": "r 0 u"},
    ),
    "a part": (
        "tensor<3x7xf32>",
        f"""{E}{PART}%r = tw.concat %p, %y dim 1 : ({R}, {X}) -> tensor<3x7xf32>
        func.return %r : tensor<3x7xf32>""",
        {},
    ),
    "a result": (f"{X}, {V}", f"{E}{N}{BELOW}func.return %e, %r : {X}, {V}", {"n": "r 1"}),
    "arguments": (W, f"%r = tw.concat %x, %y dim 1 : ({X}, {X}) -> {W}\nfunc.return %r : {W}", {}),
    "of the first of two": (
        f"{V}, {V}",
        f"{E}{N}{BELOW}%s = tw.concat %n, %e dim 0 : ({X}, {X}) -> {V}\nfunc.return %r, %s : {V}, {V}",
        {"e": "r 0", "n": "r 1"},
    ),
    "a copy, and what need not be copied": (
        "tensor<30xf32>",
        f"""{E}{TURNED}{FLAT}%g = tw.reshape %y : {X} -> {F}
        %r = tw.concat %g, %f dim 0 : ({F}, {F}) -> tensor<30xf32>
        func.return %r : tensor<30xf32>""",
        {"f": "r 1", "e": "r 1 u f"},
    ),
    "a copy of what others read": (
        f"tensor<30xf32>, {X}",
        f"""{E}{TURNED}{FLAT}{AGAIN}%g = tw.reshape %y : {X} -> {F}
        %r = tw.concat %g, %f dim 0 : ({F}, {F}) -> tensor<30xf32>
        func.return %r, %m : tensor<30xf32>, {X}""",
        {"f": "r 1"},
    ),
    "a copy of a part": (
        "tensor<12xf32>",
        f"""{E}{PART}%f = tw.reshape %p : {R} -> tensor<6xf32>
        %r = tw.concat %f, %f dim 0 : (tensor<6xf32>, tensor<6xf32>) -> tensor<12xf32>
        func.return %r : tensor<12xf32>""",
        {"f": "r 0"},
    ),
}


@pytest.mark.parametrize(("results", "body", "expected"), SLICES.values(), ids=SLICES)
def test_computed_into_parts(results: str, body: str, expected: dict[str, str]) -> None:
    assert slices_of(homes_of(results, body)) == expected


WRITTEN = "x, 3, 5 at 0 by 5, 1"
H = "tensor<3x2xf32>"
HALVES = "".join(
    f'%{name} = tw.slice %{source} starts "0, {start}" steps "1, 1" : {X} -> {H}\n'
    for name, source, start in (("a", "x", 0), ("b", "x", 2), ("c", "x", 1), ("d", "y", 0))
)
BOTH = f"%k = tw.exp %d : {H}\n%l = tw.neg %d : {H}\n"
TARGETS: Mapping[str, tuple[str, str, dict[str, str]]] = {
    # the types of the results, the function, and what is computed into which argument, and where
    "a kernel's result": ("", f"{E}tw.write %e into %x : {X}\nfunc.return", {"e": WRITTEN}),
    "turned": ("", f"{E}{TURNED}tw.write %u into %t : {T}\nfunc.return", {"e": "t, 3, 5 at 0 by 1, 3"}),
    "two": (
        "",
        f"{E}{N}tw.write %e into %x : {X}\ntw.write %n into %y : {X}\nfunc.return",
        {"e": WRITTEN, "n": WRITTEN.replace("x", "y")},
    ),
    "one, into two": (
        "",
        f"{E}tw.write %e into %x : {X}\ntw.write %e into %y : {X}\nfunc.return",
        {"e": WRITTEN},
    ),
    "two, into one": (
        "",
        f"{E}{N}tw.write %e into %x : {X}\ntw.write %n into %x : {X}\nfunc.return",
        {"e": WRITTEN},
    ),
    "two slices": (
        "",
        f"{HALVES}{BOTH}tw.write %k into %a : {H}\ntw.write %l into %b : {H}\nfunc.return",
        {"k": "x, 3, 2 at 0 by 5, 1", "l": "x, 3, 2 at 2 by 5, 1"},
    ),
    "slices that meet": (
        "",
        f"{HALVES}{BOTH}tw.write %k into %a : {H}\ntw.write %l into %c : {H}\nfunc.return",
        {"k": "x, 3, 2 at 0 by 5, 1"},
    ),
    "behind what is copied to a slice that it meets": (
        "",
        f"{HALVES}{BOTH}tw.write %d into %a : {H}\ntw.write %l into %c : {H}\nfunc.return",
        {},
    ),
    "behind what is copied elsewhere": (
        "",
        f"{HALVES}{BOTH}tw.write %d into %a : {H}\ntw.write %l into %b : {H}\nfunc.return",
        {"l": "x, 3, 2 at 2 by 5, 1"},
    ),
    "a slice of what is turned": (
        "",
        f"""{HALVES}{BOTH}%u = tw.transpose %t by [1, 0] : {T} -> {X}
        %v = tw.slice %u starts "0, 3" steps "1, 1" : {X} -> {H}
        tw.write %k into %v : {H}
        func.return""",
        {"k": "t, 3, 2 at 9 by 1, 3"},
    ),
    "a result": (X, f"{E}tw.write %e into %x : {X}\nfunc.return %e : {X}", {}),
    "an argument": ("", f"tw.write %y into %x : {X}\nfunc.return", {}),
    "a part": (
        "",
        f"""%w = tw.concat %y, %z dim 1 : ({X}, {X}) -> {W}
        %p = tw.slice %w starts "0, 2" steps "1, 1" : {W} -> {X}
        tw.write %p into %x : {X}
        func.return""",
        {},
    ),
    "what is part of a whole": (V, f"{E}{N}{BELOW}tw.write %e into %x : {X}\nfunc.return %r : {V}", {}),
    "an update of an update": (
        "",
        f"{E}{AGAIN}tw.write %m into %x : {X}\nfunc.return",
        {"m": WRITTEN, "e": WRITTEN},
    ),
    "an update of an update, turned": (
        "",
        f"{E}{TURNED}%m = tw.neg %u : {T}\ntw.write %m into %t : {T}\nfunc.return",
        {"m": "t, 5, 3 at 0 by 3, 1", "e": "t, 3, 5 at 0 by 1, 3"},
    ),
    "an update of what is read later": (
        X,
        f"{E}{AGAIN}%k = tw.sin %e : {X}\ntw.write %m into %x : {X}\nfunc.return %k : {X}",
        {"m": WRITTEN},
    ),
    "an update of a result": (
        X,
        f"{E}{AGAIN}tw.write %m into %x : {X}\nfunc.return %e : {X}",
        {"m": WRITTEN},
    ),
    "an update of a part": (
        V,
        f"{E}{N}{BELOW}{AGAIN}tw.write %m into %x : {X}\nfunc.return %r : {V}",
        {"m": WRITTEN},
    ),
    "an update for another result": (
        X,
        f"""{E}{N}%m, %v = tk.kernel [3, 5] ins(%e, %n : {X}, {X}) -> ({X}, {X}) {{
        ^bb0(%a: {X}, %b: {X}, %c: {X}, %d: {X}):
          %1 = tk.load %a[d0, d1] : {X} -> f32
          %2 = tk.load %b[d0, d1] : {X} -> f32
          tk.store %1, %c[2 - d0, d1] : f32, {X}
          tk.store %2, %d[d0, d1] : f32, {X}
        }}
        tw.write %m into %x : {X}
        func.return %v : {X}""",
        {"m": WRITTEN},
    ),
    "no update, as other elements are read": (
        "",
        f"""{E}%b = tw.reverse %e dims [0] : {X} -> {X}
        %m = tw.neg %b : {X}
        tw.write %m into %x : {X}
        func.return""",
        {"m": WRITTEN},
    ),
    "an update of an argument": (
        "",
        f"{AGAIN.replace('%e', '%y')}tw.write %m into %x : {X}\nfunc.return",
        {"m": WRITTEN},
    ),
}


@pytest.mark.parametrize(("results", "body", "expected"), TARGETS.values(), ids=TARGETS)
def test_computed_into_arguments(results: str, body: str, expected: dict[str, str]) -> None:
    assert targets_of(homes_of(results, body)) == expected


def test_when_memory_is_read_last() -> None:
    homes = homes_of(
        X,
        f"""{E}%u = tw.transpose %y by [1, 0] : {X} -> {T}
        {AGAIN}%k = tw.add %u, %t : {T}
        %l = tw.transpose %k by [1, 0] : {T} -> {X}
        tw.write %l into %z : {X}
        %s = tw.add %m, %l : {X}
        func.return %s : {X}""",
    )
    found = {value.name_hint: when for value, when in homes.last_read.items()}
    assert found == {"x": 0, "e": 2, "y": 3, "t": 3, "m": 6, "k": inf, "s": inf}
