"""Tensors that are zero but for pieces, and sums of them."""

from __future__ import annotations

import pytest
from tk_harness import parse
from xdsl.dialects.func import FuncOp, ReturnOp

from tilewright.passes.tensor.pieces import Pieces, added, pieces_of

_TYPES = {
    "%a": "tensor<2x3xf32>",
    "%b": "tensor<2x1xf32>",
    "%c": "tensor<3xf32>",
    "%s": 'tensor<?x3xf32, #tw.shape<"s0, 3">>',
    "%n": "tensor<2x2xf32>",
}
_GIVEN = ", ".join(['%s0: index {tw.symbol = "s0"}', *(f"{name}: {type_}" for name, type_ in _TYPES.items())])


def pieces(body: str, result: str) -> tuple[int, Pieces] | None:
    """Of `%r`, which is of type `result`; the body has the types of its operands as `{%a}`."""
    for name, type_ in _TYPES.items():
        body = body.replace(f"{{{name}}}", type_)
    module = parse(f"func.func @main({_GIVEN}) -> {result} {{ {body} func.return %r : {result} }}")
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    ret = function.body.block.last_op
    assert isinstance(ret, ReturnOp)
    return pieces_of(ret.operands[0])


def text(found: tuple[int, Pieces] | None) -> str | None:
    """`along 1: 2 0, 3 %a`: the dimension; of each piece its size and what it is."""
    return None if found is None else f"along {found[0]}: {_listed(found[1])}"


def _listed(found: Pieces) -> str:
    return ", ".join(f"{p.size} {'+'.join(f'%{v.name_hint}' for v in p.values) or '0'}" for p in found)


_ZEROS = "%z = tw.full 0.0 : f32 -> tensor<2x4xf32> "
_PLACE = """%i = tw.iota dim 0 start "0" step "1" -> tensor<4xi64>
  %j = tw.reshape %i : tensor<4xi64> -> tensor<4x1xi64>
  %k = tw.full 1 : i64 -> tensor<4x1xi64>
  %e = tw.compare eq %j, %k : tensor<4x1xi64> -> tensor<4x1xi1>
  %m = tw.broadcast %e dims [0, 1] : tensor<4x1xi1> -> tensor<4x3xi1>
  %v = tw.broadcast %c dims [1] : tensor<3xf32> -> tensor<4x3xf32>
  %o = tw.full 0.0 : f32 -> tensor<4x3xf32>
  %r = tw.select %m, %v, %o : tensor<4x3xi1>, tensor<4x3xf32>"""
FOUND = {
    "zeros behind": (
        f"{_ZEROS}%r = tw.concat %a, %z dim 1 : ({{%a}}, tensor<2x4xf32>) -> tensor<2x7xf32>",
        "tensor<2x7xf32>",
        "along 1: 3 %a, 4 0",
    ),
    "zeros beside zeros": (
        f"{_ZEROS}%r = tw.concat %z, %z, %a dim 1 : (tensor<2x4xf32>, tensor<2x4xf32>, {{%a}})"
        " -> tensor<2x11xf32>",
        "tensor<2x11xf32>",
        "along 1: 8 0, 3 %a",
    ),
    "a pad on both sides": (
        '%r = tw.pad %a low "0, 2" high "0, 5" value 0.0 : f32 : {%a} -> tensor<2x10xf32>',
        "tensor<2x10xf32>",
        "along 1: 2 0, 3 %a, 5 0",
    ),
    "a pad of as many rows as the run has": (
        '%r = tw.pad %s low "0, 0" high "s0, 0" value 0.0 : f32 : {%s} -> '
        'tensor<?x3xf32, #tw.shape<"s0*2, 3">>',
        'tensor<?x3xf32, #tw.shape<"s0*2, 3">>',
        "along 0: s0 %s, s0 0",
    ),
    "a row by its position": (_PLACE, "tensor<4x3xf32>", "along 0: 1 0, 1 %c, 2 0"),
    "the first row": (
        _PLACE.replace("full 1 ", "full 0 "), "tensor<4x3xf32>", "along 0: 1 %c, 3 0"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "result", "expected"), FOUND.values(), ids=FOUND)
def test_pieces(body: str, result: str, expected: str) -> None:
    assert text(pieces(body, result)) == expected


OTHER = {
    "a pad of ones": (
        '%r = tw.pad %a low "0, 2" high "0, 0" value 1.0 : f32 : {%a} -> tensor<2x5xf32>', "tensor<2x5xf32>"),
    "a pad of rows and columns": (
        '%r = tw.pad %a low "1, 2" high "0, 0" value 0.0 : f32 : {%a} -> tensor<3x5xf32>', "tensor<3x5xf32>"),
    "no place that exists": (_PLACE.replace("full 1 ", "full 4 "), "tensor<4x3xf32>"),
    "every place but one": (_PLACE.replace("compare eq", "compare ne"), "tensor<4x3xf32>"),
    "positions from one on": (_PLACE.replace('start "0"', 'start "1"'), "tensor<4x3xf32>"),
    "among ones": (_PLACE.replace("full 0.0", "full 1.0"), "tensor<4x3xf32>"),
    "a column as a row": (
        _PLACE.replace("<4x", "<3x").replace("%c dims [1]", "%c dims [0]"), "tensor<3x3xf32>"),
    "any other tensor": ("%r = tw.exp %a : {%a}", _TYPES["%a"]),
}  # fmt: skip


@pytest.mark.parametrize(("body", "result"), OTHER.values(), ids=OTHER)
def test_other_tensors_have_none(body: str, result: str) -> None:
    assert pieces(body, result) is None


def _padded(name: str, low: int, high: int) -> Pieces:
    width = {"%a": 3, "%b": 1, "%n": 2}[name]
    result = f"tensor<2x{low + width + high}xf32>"
    body = f'%r = tw.pad {name} low "0, {low}" high "0, {high}" value 0.0 : f32 : {{{name}}} -> {result}'
    found = pieces(body, result)
    assert found is not None
    return found[1]


SUMS = {
    "one behind the other": (("%a", 0, 2), ("%n", 3, 0), "3 %a, 2 %n"),
    "in the other order": (("%n", 3, 0), ("%a", 0, 2), "3 %a, 2 %n"),
    "with zeros between": (("%b", 0, 5), ("%n", 3, 1), "1 %b, 2 0, 2 %n, 1 0"),
    "at one place": (("%n", 1, 2), ("%n", 1, 2), "1 0, 2 %n+%n, 2 0"),
    "within each other": (("%a", 1, 1), ("%b", 2, 2), None),
    "overlapping": (("%a", 0, 2), ("%a", 2, 0), None),
    "of other lengths": (("%a", 0, 2), ("%n", 3, 1), None),
}


@pytest.mark.parametrize(("first", "second", "expected"), SUMS.values(), ids=SUMS)
def test_sums(first: tuple[str, int, int], second: tuple[str, int, int], expected: str | None) -> None:
    found = added(_padded(*first), _padded(*second))
    assert (None if found is None else _listed(found)) == expected
