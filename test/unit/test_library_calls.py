"""Calls of ATen compute what their ops do, of operands and into memory of any layout that they take."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch
from aten_harness import Layouts, call_of, check, numbers, op_of
from layout_text import text_of
from xdsl.dialects.builtin import ArrayAttr

from tilewright.dialects.tw.creation import RngSeedOp
from tilewright.frontend.runtime.fallback import AtenFunction
from tilewright.passes.memory.errors import NotBufferizable
from tilewright.passes.memory.library_calls import is_call

BATCHES_AND_ROW = """tw.matmul %a, %b bias %c
 : (tensor<2x3x4xf32>, tensor<2x4x6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>"""
PRODUCTS: Mapping[str, tuple[str, Layouts, str]] = {
    # the op, layouts, the callee
    "matrices": ("tw.matmul %a, %b : (tensor<3x4xf32>, tensor<4x6xf32>) -> tensor<3x6xf32>", {}, "mm.out"),
    "turned matrices": (
        "tw.matmul %a, %b : (tensor<3x4xf32>, tensor<4x6xf32>) -> tensor<3x6xf32>",
        {"a": "3, 4 at 2 by 1, 3", "b": "4, 6 at 0 by 1, 9", "r": "3, 6 at 5 by 1, 3"},
        "mm.out",
    ),
    "and a row": (
        "tw.matmul %a, %b bias %c : (tensor<3x4xf32>, tensor<4x6xf32>, tensor<6xf32>) -> tensor<3x6xf32>",
        {"c": "6 at 1 by 2"},
        "addmm.out",
    ),
    "batches": (
        "tw.matmul %a, %b : (tensor<2x3x4xf32>, tensor<2x4x6xf32>) -> tensor<2x3x6xf32>",
        {"a": "2, 3, 4 at 0 by 4, 8, 1"},
        "bmm.out",
    ),
    "batches, and a row": (
        BATCHES_AND_ROW,
        {},
        "baddbmm.out",
    ),
    "batches of batches": (
        "tw.matmul %a, %b : (tensor<2x5x3x4xf32>, tensor<2x5x4x6xf32>) -> tensor<2x5x3x6xf32>",
        {},
        "bmm.out",
    ),
    "batches by one matrix": (
        "tw.matmul %a, %b : (tensor<2x3x4xf32>, tensor<2x4x6xf32>) -> tensor<2x3x6xf32>",
        {"b": "2, 4, 6 at 3 by 0, 1, 4"},
        "mm.out",
    ),
    "batches by one matrix, and a row": (
        BATCHES_AND_ROW,
        {"b": "2, 4, 6 at 0 by 0, 6, 1"},
        "addmm.out",
    ),
    "batches by one matrix, into rows that are no dim": (
        "tw.matmul %a, %b : (tensor<2x3x4xf32>, tensor<2x4x6xf32>) -> tensor<2x3x6xf32>",
        {"b": "2, 4, 6 at 0 by 0, 6, 1", "r": "2, 3, 6 at 0 by 6, 12, 1"},
        "bmm.out",
    ),
    "batches by one matrix, whose rows are no dim": (
        "tw.matmul %a, %b : (tensor<2x3x4xf32>, tensor<2x4x6xf32>) -> tensor<2x3x6xf32>",
        {"a": "2, 3, 4 at 0 by 4, 8, 1", "b": "2, 4, 6 at 0 by 0, 6, 1"},
        "bmm.out",
    ),
    "small integers": (
        "tw.matmul %a, %b : (tensor<24x8xi8>, tensor<8x16xi8>) -> tensor<24x16xi32>",
        {},
        "_int_mm.out",
    ),
}


@pytest.mark.parametrize(("text", "layouts", "callee"), PRODUCTS.values(), ids=PRODUCTS)
def test_products(text: str, layouts: Layouts, callee: str) -> None:
    assert check(text, layouts).callee == f"aten::{callee}"


@pytest.mark.parametrize("name", ["a", "b", "r"])
def test_batches_that_are_no_dim_are_copied_first(name: str) -> None:
    _, op = op_of("tw.matmul %a, %b : (tensor<2x5x4x4xf32>, tensor<2x5x4x4xf32>) -> tensor<2x5x4x4xf32>")
    assert call_of(op, {name: "2, 5, 4, 4 at 0 by 16, 32, 4, 1"}) is None


IMAGE = "tensor<2x4x5x6xf32>"
CONVOLUTIONS = {
    "plain": f"""tw.convolution %a, %b strides [1, 1] padding [0, 0] dilation [1, 1]
      output_padding [0, 0] groups 1 : ({IMAGE}, tensor<3x4x2x3xf32>) -> tensor<2x3x4x4xf32>""",
    "of all kinds": f"""tw.convolution %a, %b bias %c strides [2, 1] padding [1, 2] dilation [1, 2]
      output_padding [0, 0] groups 2
      : ({IMAGE}, tensor<6x2x2x3xf32>, tensor<6xf32>) -> tensor<2x6x3x6xf32>""",
    "turned": f"""tw.convolution %a, %b strides [2, 3] padding [0, 1] dilation [1, 1] transposed
      output_padding [1, 2] groups 1 : ({IMAGE}, tensor<4x3x2x3xf32>) -> tensor<2x3x11x18xf32>""",
}


@pytest.mark.parametrize("text", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
@pytest.mark.parametrize("image", ["120, 30, 6, 1", "120, 1, 24, 4"])
def test_convolutions(text: str, image: str) -> None:
    check(text.replace("\n", " "), {"a": f"2, 4, 5, 6 at 0 by {image}"})


Q, KV, L = "tensor<2x4x5x8xf32>", "tensor<2x4x7x8xf32>", "tensor<2x4x5xf32>"
ATTENTION = f"tw.attention %a, %b, %c scale 0.5 dropout 0.0 : ({Q}, {KV}, {KV}) -> ({Q}, {L})"
MASKED = ATTENTION.replace("%c scale", "%c mask %d scale").replace(f"{KV})", f"{KV}, tensor<2x4x5x7xf32>)")
BACKWARD = f"""tw.attention_backward %a, %b, %c, %d, %e, %f scale 0.5
 : ({Q}, {KV}, {KV}, {Q}, {Q}, {L}) -> ({Q}, {KV}, {KV})""".replace("\n", "")


@pytest.mark.parametrize("text", [ATTENTION, ATTENTION.replace("scale", "causal scale"), MASKED])
@pytest.mark.parametrize("query", ["160, 40, 8, 1", "160, 8, 32, 1"])
def test_attention(text: str, query: str) -> None:
    call = check(text, {"a": f"2, 4, 5, 8 at 0 by {query}"})
    assert [text_of(layout) for layout in call.outs] == [
        "2, 4, 5, 8 at 0 by 160, 8, 32, 1",
        "2, 4, 5 at 0 by 20, 1, 4",
    ]


def test_results_of_attention_have_the_strides_that_passes_chose() -> None:
    _, op = op_of(ATTENTION.replace("0.0 :", '0.0 {tw.strides = ["160, 40, 8, 1", "20, 5, 1"]} :'))
    call = call_of(op, {})
    assert call is not None
    assert [text_of(layout) for layout in call.outs] == [
        "2, 4, 5, 8 at 0 by 160, 40, 8, 1",
        "2, 4, 5 at 0 by 20, 5, 1",
    ]


@pytest.mark.parametrize("flags", ["", "mask %g ", "causal "])
def test_gradients_of_attention(flags: str) -> None:
    text = BACKWARD.replace("scale", f"{flags}scale")
    if "mask" in flags:
        text = text.replace(f"{L})", f"{L}, tensor<2x4x5x7xf32>)")
    _, op = op_of(text)
    call = call_of(op, {})
    assert call is not None
    q, k, v, grad = (numbers(2, 4, n, 8).requires_grad_() for n in (5, 7, 7, 5))
    mask = numbers(2, 4, 5, 7)
    scores = q @ k.mT * 0.5 + (mask if "mask" in flags else 0)
    if "causal" in flags:
        scores = scores.masked_fill(torch.ones(5, 7).triu(1).bool(), -torch.inf)
    result = scores.softmax(-1) @ v
    given = [grad, q, k, v, result, scores.logsumexp(-1), mask]
    expected = torch.autograd.grad(result, (q, k, v), grad)
    assert [value.name_hint for value, _ in call.ins] == [*"dabcef", *("g" if "mask" in flags else "")]
    made = AtenFunction(call.callee, ArrayAttr(call.args))([t.detach() for t in given[: len(call.ins)]])
    for actual, wanted in zip(made, expected, strict=True):
        torch.testing.assert_close(actual, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "names"), [(ATTENTION, "abc"), (BACKWARD, "abcde")], ids=["forward", "backward"]
)
def test_rows_of_attention_that_are_not_together_are_copied_first(text: str, names: str) -> None:
    _, op = op_of(text)
    for name in names:
        rows = 7 if name in "bc" else 5
        assert call_of(op, {name: f"2, 4, {rows}, 8 at 0 by {rows * 32}, {rows * 8}, 1, {rows}"}) is None, (
            name
        )


BOOLEAN = MASKED.replace("5x7xf32", "5x7xi1")
REFUSED = {
    "dropout": (
        ATTENTION.replace("dropout 0.0", "dropout 0.5 seed %d").replace(f"{KV})", f"{KV}, tensor<2xi64>)"),
        "no library drops the weights that its seed says",
    ),
    "a mask of booleans": (BOOLEAN, "ATen's attention for CPUs adds its mask, and takes none of i1"),
    "heads of two widths": (
        ATTENTION.replace(f"{KV})", "tensor<2x4x7x3xf32>)").replace(f"-> ({Q}", "-> (tensor<2x4x5x3xf32>"),
        "ATen's attention for CPUs has heads of one width, not 8 for keys and 3 for values",
    ),
    "another type": (
        ATTENTION.replace("8xf32", "8xbf16").replace("-> (tensor<2x4x5x8xbf16>", "-> (tensor<2x4x5x8xf32>"),
        "ATen's attention for CPUs rounds its result to bf16, and makes none of f32",
    ),
    "gradients of a mask of booleans": (
        BACKWARD.replace("%f scale", "%f mask %g scale").replace(f"{L})", f"{L}, tensor<2x4x5x7xi1>)"),
        "ATen's attention for CPUs adds its mask, and takes none of i1",
    ),
    "batches of small integers": (
        "tw.matmul %a, %b : (tensor<2x24x8xi8>, tensor<2x8x16xi8>) -> tensor<2x24x16xi32>",
        "ATen multiplies no batches of i8 with a product of i32",
    ),
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_no_library_does(text: str, reason: str) -> None:
    _, op = op_of(text)
    with pytest.raises(NotBufferizable) as error:
        call_of(op, {})
    assert f"why:   {reason}\n" in str(error.value)


X, WIDE = "tensor<3x4x5xf32>", "tensor<3x4x2x3xf32>"
TURNED = {X: "3, 4, 5 at 2 by 1, 3, 12", WIDE: "3, 4, 2, 3 at 2 by 1, 3, 12, 24"}
ROW, TABLE = "tensor<6xi64>", "tensor<2x6xi64>"
GATHERS = {
    "rows": f"tw.gather %a[%b] dims [0] at 0 : ({X}, {ROW}) -> tensor<6x4x5xf32>",
    "in the middle": f"tw.gather %a[%b] dims [1] at 1 : ({X}, {ROW}) -> tensor<3x6x5xf32>",
    "columns, put first": f"tw.gather %a[%b] dims [2] at 0 : ({X}, {ROW}) -> tensor<6x3x4xf32>",
    "rows, put last": f"tw.gather %a[%b] dims [0] at 2 : ({X}, {ROW}) -> tensor<4x5x6xf32>",
    "of two adjacent dims": (
        f"tw.gather %a[%b, %c] dims [1, 2] at 1 : ({X}, {TABLE}, {TABLE}) -> tensor<3x2x6xf32>"
    ),
    "of the last of two dims apart": (
        f"tw.gather %a[%b, %c] dims [1, 3] at 1 : ({WIDE}, {ROW}, {ROW}) -> tensor<3x6x2xf32>"
    ),
    "of two dims apart": (
        f"tw.gather %a[%b, %c] dims [0, 2] at 1 : ({X}, {TABLE}, {TABLE}) -> tensor<4x2x6xf32>"
    ),
    "of two dims apart, put first": (
        f"tw.gather %a[%b, %c] dims [0, 2] at 0 : ({X}, {ROW}, {ROW}) -> tensor<6x4xf32>"
    ),
}


@pytest.mark.parametrize("text", GATHERS.values(), ids=GATHERS)
def test_gathers(text: str) -> None:
    places = "2, 6 at 0 by 1, 2" if TABLE in text else "6 at 0 by 2"
    check(text, {"a": TURNED[source_of(text)], "b": places})


def source_of(text: str) -> str:
    return WIDE if WIDE in text else X


@pytest.mark.parametrize("text", GATHERS.values(), ids=GATHERS)
def test_scatters_that_add(text: str) -> None:
    source, gathered = source_of(text), text.rpartition("-> ")[2]
    places = text[text.index("%a[") + 3 : text.index("]")].replace("%c", "%d").replace("%b", "%c")
    indices = text[text.index(f"{source}, ") + len(source) + 2 : text.index(") ->")]
    rest = text[text.index("dims") : text.index(" : ")]
    check(
        f"tw.scatter_add %b into %a[{places}] {rest} : ({source}, {gathered}, {indices}) -> {source}",
        {"a": TURNED[source]},
    )


def test_scatters_that_replace() -> None:
    check(f"tw.scatter %b into %a[%c] dims [2] at 0 : ({X}, tensor<1x3x4xf32>, tensor<1xi64>) -> {X}")


def test_gathers_along_a_dim() -> None:
    text = f"tw.gather_along %a, %b dim 1 : ({X}, tensor<3x6x5xi64>) -> tensor<3x6x5xf32>"
    turned = "3, 6, 5 at 1 by 1, 3, 18"
    assert (
        check(text, {"a": "3, 4, 5 at 2 by 1, 3, 12", "b": turned, "r": turned}).callee == "aten::gather.out"
    )


@pytest.mark.parametrize(
    ("how", "callee"),
    [
        ("add", "scatter_add.out"),
        ("mul", "scatter_reduce.two_out"),
        ("max", "scatter_reduce.two_out"),
        ("min", "scatter_reduce.two_out"),
    ],
)
def test_scatters_along_a_dim(how: str, callee: str) -> None:
    text = (
        f"tw.scatter_along %a, %b, %c dim 1 reduce {how} : ({X}, tensor<3x6x5xi64>, tensor<3x6x5xf32>) -> {X}"
    )
    assert check(text, {"r": "3, 4, 5 at 1 by 1, 3, 12"}).callee == f"aten::{callee}"


def test_scatters_along_a_dim_that_replace() -> None:
    text = (
        f"tw.scatter_along %a, %b, %c dim 1 reduce none : ({X}, tensor<3x1x5xi64>, tensor<3x1x5xf32>) -> {X}"
    )
    assert check(text).callee == "aten::scatter.src_out"


def test_seeds_are_any_integers() -> None:
    op = RngSeedOp(64)
    call = call_of(op, {})
    assert call is not None
    made = torch.zeros(64, dtype=torch.int64)
    AtenFunction(call.callee, ArrayAttr(call.args))([made])
    assert made.min() < -(2**60) < 2**60 < made.max()
    assert not call.ins


@pytest.mark.parametrize(
    ("text", "ordered"),
    [
        ("aten::cumprod", False),
        ("aten::view_copy.dtype", True),
        ("aten::view.dtype", True),
    ],
)
def test_operands_of_some_kernels_must_lie_in_order(text: str, ordered: bool) -> None:
    last = "i32" if ordered else "0 : i64"
    result = "tensor<3x5xi32>" if ordered else "tensor<3x5xf32>"
    _, op = op_of(f'tw.aten "{text}"(%a) {{args = [#tw.arg<0>, {last}]}} : (tensor<3x5xf32>) -> {result}')
    call = call_of(op, {})
    assert call is not None
    assert (call.callee, ArrayAttr(call.args)) == (text, op.properties["args"])
    assert (call_of(op, {"a": "3, 5 at 0 by 1, 3"}) is None) == ordered
    assert (call_of(op, {"a": "3, 5 at 2 by 5, 1"}) is None) == ordered


@pytest.mark.parametrize(("name", "bad"), [("a", False), ("b", True), ("c", True), ("d", False)])
def test_only_operands_that_are_not_checked_must_lie_in_order(name: str, bad: bool) -> None:
    args = ", ".join(f"#tw.arg<{i}>" for i in range(3))
    _, op = op_of(
        f'tw.aten "aten::_embedding_bag"(%a, %b, %c, %d) '
        f"{{args = [{args}, false, 0 : i64, false, #tw.arg<3>]}} : "
        "(tensor<4x4xf32>, tensor<4x4xi64>, tensor<4x4xi64>, tensor<4x4xf32>) -> tensor<4x4xf32>"
    )
    assert (call_of(op, {name: "4, 4 at 0 by 1, 4"}) is None) == bad


def test_what_allocates_its_results() -> None:
    assert is_call(op_of(ATTENTION)[1])
    assert is_call(op_of(GATHERS["rows"])[1])
    assert not is_call(op_of(PRODUCTS["matrices"][0])[1])
    _, control = op_of("tw.scan @same(%a) carrying 0 over 1 : (tensor<4xf32>) -> tensor<4xf32>")
    assert is_call(control)
