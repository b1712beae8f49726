"""Results of a function by what they are views of, with what is said of each."""

from __future__ import annotations

from tk_harness import parse
from xdsl.dialects.func import FuncOp

from tilewright.dialects.index_expr import format_exprs
from tilewright.passes.memory.returned import Returned, returned_by

X, T, R = "tensor<3x5xf32>", "tensor<5x3xf32>", "tensor<3x2xf32>"
E = f"%e = tw.exp %x : {X}\n"


def returned(results: str, body: str) -> dict[str | None, list[Returned]]:
    """By the names of what they are views of."""
    module = parse(f"func.func @main(%x: {X}, %n: index) -> ({results}) {{\n{body}\n}}")
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    found = returned_by(function)
    assert all(result.root is root for root, results in found.items() for result in results)
    return {root.name_hint: results for root, results in found.items()}


def test_nothing_is_returned() -> None:
    assert returned("", f"{E}func.return") == {}


def test_results_are_found_by_what_they_are_views_of() -> None:
    found = returned(
        f"{T}, {X}, {X}, {X}",
        f"""{E}%t = tw.transpose %e by [1, 0] : {X} -> {T}
        func.return %t, %x, %e, %x : {T}, {X}, {X}, {X}""",
    )
    assert list(found) == ["e", "x"]
    assert {name: [result.position for result in found[name]] for name in found} == {"e": [0, 2], "x": [1, 3]}
    assert [result.value.name_hint for result in found["e"]] == ["t", "e"]


def test_views_are_told_from_the_result_on() -> None:
    found = returned(
        R,
        f"""{E}%t = tw.transpose %e by [1, 0] : {X} -> {T}
        %s = tw.slice %t starts "1, 0" steps "2, 1" : {T} -> tensor<2x3xf32>
        %r = tw.transpose %s by [1, 0] : tensor<2x3xf32> -> {R}
        func.return %r : {R}""",
    )
    (result,) = found["e"]
    assert [view.results[0].name_hint for view in result.views] == ["r", "s", "t"]


def test_what_is_no_tensor_is_left_out_but_counted() -> None:
    found = returned(f"index, {X}", f"func.return %n, %x : index, {X}")
    (result,) = found["x"]
    assert (list(found), result.position) == (["x"], 1)


def test_each_result_has_what_is_said_of_it() -> None:
    found = returned(
        f'{X}, {X} {{tw.memory = 7 : i64, tw.strides = "1, 3"}}, index, {X} {{tw.strides = "6, 1"}}',
        f"func.return %x, %x, %n, %x : {X}, {X}, index, {X}",
    )
    assert [format_exprs(result.strides) for result in found["x"]] == ["5, 1", "1, 3", "6, 1"]
    assert [result.memory for result in found["x"]] == [None, 7, None]
