"""The fuzzer: seeds repeat, sound compilers pass, and a planted bug is found and reduced."""

from __future__ import annotations

import random
import re
import sys
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))

import check_graph as graphs
import compositions
from bodies import Body
from check_kernels import check_kernels
from check_program import check_program, no_worse
from check_typed import check_typed
from composed_operators import OPERATORS
from compositions import random_composition
from families import random_graph
from networks import LARGE, random_network
from programs import random_program
from statements import KINDS, filled
from typed_programs import random_typed_program

from benchmarks import gpu_static
from tilewright.dialects.tw.dialect import TW
from tilewright.dialects.tw.elementwise_binary import CastOp
from tilewright.frontend.reduce.reducer import parse
from tilewright.frontend.tools.tool_io import load_passes
from tilewright.passes.manager import module_text


def test_a_seed_gives_the_same_graph_and_program() -> None:
    assert [module_text(random_graph(s)) for s in range(20)] == [
        module_text(random_graph(s)) for s in range(20)
    ]
    assert random_program(3) == random_program(3) != random_program(4)
    assert random_network(3) == random_network(3) != random_network(4)
    assert random_composition(3) == random_composition(3) != random_composition(4)


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
@pytest.mark.parametrize("seed", [24, 39], ids=["halves, symbols", "gradients, symbols"])
def test_networks_agree(seed: int, target: str) -> None:
    find = check_program(random_network(seed), target)
    assert find is None, find.message


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
@pytest.mark.parametrize("seed", [0, 3, 5], ids=["gradients", "symbols", "halves, gradients"])
def test_compositions_agree(seed: int, target: str) -> None:
    find = check_program(random_composition(seed), target)
    assert find is None, find.message


@pytest.mark.parametrize("template", [text for _, family in OPERATORS for text in family])
def test_every_operator_of_compositions_takes_some_shape(template: str) -> None:
    """One that torch always refuses would never be drawn, and nobody would see it."""
    shapes = ((8,), (4, 6), (12, 12), (2, 4, 8), (2, 4, 6, 6))
    bodies = [Body(random.Random(seed)) for seed in range(4)]
    texts = (
        (body, compositions.filled(body, template, body.input(*s), [])) for body in bodies for s in shapes
    )
    assert any(text and body.tried(text) is not None for body, text in texts)


def test_what_random_programs_found_on_gpus_stays_fixed() -> None:
    find = check_program(random_program(30098), "gpu_emulated")  # a sum over all, added to each column
    assert find is None, find.message


def test_kernels_of_networks_are_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = random_network(17, LARGE)
    assert check_kernels(text, "sm_90", tmp_path) is None
    monkeypatch.setattr(gpu_static, "faults_of", lambda *of: ("spills 8",))
    find = check_kernels(text, "sm_90", tmp_path)
    assert find is not None
    assert re.match(r"@\w+ for sm_90: spills 8 \(\d+ registers\)", find.message)


@pytest.mark.parametrize(("valid", "found"), [(True, "Refused"), (False, None)], ids=str)
def test_a_program_that_eager_refuses_is_a_find_where_it_should_run(valid: bool, found: str | None) -> None:
    text = f"import torch\n\nVALID = {valid}\n\ndef inputs():\n    return (torch.ones(2), torch.ones(3))\n\n"
    find = check_program(text + "def program(a, b):\n    return (a + b,)\n")
    assert (None if find is None else find.kind) == found


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
@pytest.mark.parametrize("seed", [3, 8, 24, 98])
def test_typed_programs_agree(seed: int, target: str) -> None:
    text = random_typed_program(seed)
    assert text == random_typed_program(seed)
    find = check_typed(text, target)
    assert find is None, find.message


_TYPED = """import torch

TRAINED = False
DYNAMIC = None
SIZES = [(2, 3), (4, 3)]


def inputs(n, m):
    return (torch.ones(n, m), torch.arange(n * m).reshape(n, m))


def program(a, b):
    return {result},
"""


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ("a + 1, b * 2", "WrongResult"),
        ("b, b", "WrongResult"),
        ("(a + 0), b", "WrongLayout"),
        ("a", "WrongResult"),
    ],
)
def test_what_a_typed_program_gets_wrong_is_found(
    monkeypatch: pytest.MonkeyPatch, wrong: str, kind: str
) -> None:
    compile_ = torch.compile

    def other(program: object, *, backend: str, **how: Any) -> object:
        if backend != "mlir":
            return compile_(program, backend=backend, dynamic=how["dynamic"])  # pyright: ignore
        space: dict[str, Any] = {}
        exec(_TYPED.format(result=wrong), space)
        return space["program"]

    monkeypatch.setattr(torch, "compile", other)
    find = check_typed(_TYPED.format(result="a, b"))
    assert find is not None
    assert find.kind == kind


def test_strides_of_torchs_trace_are_no_find() -> None:
    """Positions that are not row-major: eager's result lies as they do, its trace says row-major."""
    turned = "(torch.arange(n * m) % 2).reshape(m, n).t()"
    text = _TYPED.replace("torch.arange(n * m).reshape(n, m)", turned)
    assert check_typed(text.format(result="a[b, b], b")) is None


NEVER_DRAWN = {
    "tw.bitcast": "bits of a number that is a rounding off are others, which no tolerance allows",
    "tw.cond": "calls functions, which random graphs have none of",
    "tw.while": "calls functions",
    "tw.scan": "calls functions",
    "tw.triton": "launches what a user wrote",
    "tw.update": "calls what a user wrote",
    "tw.attention_query_grad": "split-attention makes it, for GPUs",
    "tw.attention_key_grad": "split-attention makes it, for GPUs",
}
"""Ops of no random graph, and why."""


def test_every_op_is_drawn_or_stands_in_the_list() -> None:
    found = {op.name for seed in range(400) for op in random_graph(seed).walk()}
    assert {op.name for op in TW.operations} - found == set(NEVER_DRAWN)


def test_casts_that_the_program_asks_for_are_drawn() -> None:
    casts = [op for seed in range(200) for op in random_graph(seed).walk() if isinstance(op, CastOp)]
    assert {op.rounded is None for op in casts} == {True, False}


@pytest.mark.parametrize("text", [text for _, kind in KINDS for text in kind])
@pytest.mark.parametrize("shape", [(5,), (2, 3, 4)])
def test_every_statement_runs_in_eager(text: str, shape: tuple[int, ...]) -> None:
    values = {"torch": torch, "F": functional, "a": torch.rand(shape), "b": torch.rand(shape)}
    exec("\n".join(filled(random.Random(0), text, ["a", "b"], "new")), values)
    assert isinstance(values.get("new", values["a"]), torch.Tensor)


def test_programs_with_gradients_are_judged() -> None:
    text = (
        "import torch\n\nTRAINED = True\n\n\ndef inputs():\n    return (torch.ones(3), torch.ones(3))\n\n\n"
    )
    body = "def program(a, b):\n    return ({},)\n"
    assert check_program(text + body.format("(a * b).exp()")) is None
    assert "TRAINED, DYNAMIC = True" in "".join(map(random_program, range(20)))


@pytest.mark.parametrize("pipeline", ["cpu", "gpu"])
@pytest.mark.parametrize("seed", [0, 3, 8, 11])
def test_random_graphs_keep_their_meaning(seed: int, pipeline: str) -> None:
    assert graphs.check_graph(random_graph(seed), compiled=None, budget=0.05, pipeline=pipeline) is None


FOUND = {
    "positions of booleans": """
        func.func @main(%x: tensor<2x17xi1>) -> tensor<2xi64> {
          %0 = tw.argmax %x dim 1 : tensor<2x17xi1> -> tensor<2xi64>
          func.return %0 : tensor<2xi64>
        }""",
    "a division by zero that is computed once": """
        func.func @main(%w: tensor<4xi32> {tw.frozen}) -> tensor<4xi32> {
          %0 = tw.floor_div %w, %w : tensor<4xi32>
          func.return %0 : tensor<4xi32>
        }""",
    "a number that is computed once": """
        func.func @main(%x: tensor<i64>, %w: tensor<3xi64> {tw.frozen}) -> (tensor<1x1xi64>, tensor<1xi64>) {
          %0 = tw.full 0 : i64 -> tensor<i64>
          %1 = tw.gather %w[%0] dims [0] at 0 : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
          %2 = tw.broadcast %1 dims [] : tensor<i64> -> tensor<1xi64>
          %3 = tw.neg %2 : tensor<1xi64>
          %4 = tw.reshape %3 : tensor<1xi64> -> tensor<1x1xi64>
          func.return %4, %2 : tensor<1x1xi64>, tensor<1xi64>
        }""",
    "a result stored before another operand is read": """
        func.func @main(%x: tensor<1x3xf16>, %w: tensor<3x3xf16>) -> (tensor<1x3xf32>, tensor<1x3xf16>) {
          %0 = tw.iota dim 1 start "0" step "1" -> tensor<1x3xi64>
          %1 = tw.add %x, %x : tensor<1x3xf16>
          %2 = tw.scatter_along %x, %0, %1 dim 1 reduce none
              : (tensor<1x3xf16>, tensor<1x3xi64>, tensor<1x3xf16>) -> tensor<1x3xf16>
          %3 = tw.asinh %x : tensor<1x3xf16>
          %4 = tw.atan2 %3, %2 : tensor<1x3xf16>
          %5 = tw.cast %4 : tensor<1x3xf16> -> tensor<1x3xf32>
          %6 = tw.matmul %3, %w : (tensor<1x3xf16>, tensor<3x3xf16>) -> tensor<1x3xf16>
          func.return %5, %6 : tensor<1x3xf32>, tensor<1x3xf16>
        }""",
    "numbers that no integer is": """
        func.func @main(%x: tensor<5xf32>, %y: tensor<5xf64>)
            -> (tensor<5xi32>, tensor<5xi32>, tensor<5xui8>) {
          %0 = tw.cast %x : tensor<5xf32> -> tensor<5xi32>
          %1 = tw.cast %y : tensor<5xf64> -> tensor<5xi32>
          %2 = tw.cast %x : tensor<5xf32> -> tensor<5xui8>
          func.return %0, %1, %2 : tensor<5xi32>, tensor<5xi32>, tensor<5xui8>
        }""",
    "integers whose product has nothing to sum": """
        func.func @main(%x: tensor<2x?xi32, #tw.shape<"2, s0">>, %y: tensor<?x3xi32, #tw.shape<"s0, 3">>,
                        %b: tensor<3xi32>, %s0: index {tw.symbol = "s0"}) -> tensor<2x3xi32> {
          %0 = tw.matmul %x, %y bias %b : (tensor<2x?xi32, #tw.shape<"2, s0">>,
            tensor<?x3xi32, #tw.shape<"s0, 3">>, tensor<3xi32>) -> tensor<2x3xi32>
          func.return %0 : tensor<2x3xi32>
        }""",
    "a division by a size that is 0, of nothing": """
        func.func @main(%x: tensor<?x3xi32, #tw.shape<"s0, 3">>, %s0: index {tw.symbol = "s0"})
            -> tensor<?x3xi32, #tw.shape<"s0, 3">> {
          %0 = tw.full "s0" -> tensor<?x3xi32, #tw.shape<"s0, 3">>
          %1 = tw.fmod %0, %0 : tensor<?x3xi32, #tw.shape<"s0, 3">>
          func.return %1 : tensor<?x3xi32, #tw.shape<"s0, 3">>
        }""",
    "a product over fewer elements than none": """
        func.func @main(%w: tensor<?x3xf32, #tw.shape<"s0 - 1, 3">>, %s0: index {tw.symbol = "s0"})
            -> tensor<2x3xf32> {
          %0 = tw.full 1.0 : f32 -> tensor<2x?xf32, #tw.shape<"2, s0 - 1">>
          %1 = tw.matmul %0, %w : (tensor<2x?xf32, #tw.shape<"2, s0 - 1">>,
            tensor<?x3xf32, #tw.shape<"s0 - 1, 3">>) -> tensor<2x3xf32>
          func.return %1 : tensor<2x3xf32>
        }""",
    "an unread division by zero before the maximum of nothing": """
        func.func @main(%x: tensor<4xi32>, %y: tensor<?xf32, #tw.shape<"s0">>, %s0: index {tw.symbol = "s0"})
            -> tensor<f32> {
          %0 = tw.floor_div %x, %x : tensor<4xi32>
          %1 = tw.max %y over [0] : tensor<?xf32, #tw.shape<"s0">> -> tensor<f32>
          func.return %1 : tensor<f32>
        }""",
}
"""Modules on which the fuzzer once found something."""


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_stays_fixed(name: str, tmp_path: Path) -> None:
    find = graphs.check_graph(parse(FOUND[name]), compiled=tmp_path, budget=0.05)
    assert find is None, find.message


def test_a_wrong_pass_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    load_passes(str(Path(__file__).parents[1] / "tools/Inputs/add_as_mul.py"))
    monkeypatch.setattr(graphs, "pipeline_text", lambda target: "canonicalize,add-as-mul,hoist-frozen")
    finds = [graphs.check_graph(random_graph(seed), compiled=None, budget=0.05) for seed in range(30)]
    kinds = {find.kind for find in finds if find is not None}
    assert kinds == {"ChangedMeaning"}


def test_a_random_program_runs_and_agrees() -> None:
    text = "import torch\n\n\ndef inputs():\n    return (torch.ones(3), torch.ones(3))\n\n\n"
    assert check_program(text + "def program(a, b):\n    a.mul_(2)\n    return (a + b,)\n") is None


@pytest.mark.parametrize(
    ("found", "eager", "truth", "wanted"),
    [
        (0.0, nan, 0.0, 0.0),  # eager divides by 1e-12, which as f16 is 0
        (nan, nan, 0.0, nan),
        (nan, 1.0, nan, nan),
        (1.0, 1.0, nan, 1.0),
        (0.0, nan, nan, nan),
        (inf, 1.0, 1.0, 1.0),
    ],
)
def test_a_program_is_as_finite_as_eager_or_as_float64(
    found: float, eager: float, truth: float, wanted: float
) -> None:
    given = (torch.tensor([value], dtype=torch.float16) for value in (found, eager))
    assert no_worse(*given, torch.tensor([truth])).isclose(torch.tensor([wanted]).half(), equal_nan=True)


_SENSITIVE = """import torch


def inputs():
    torch.manual_seed(0)
    return (torch.randn(64) * 3e3, torch.ones(64))


def program(a, b):
    return (torch.sin(a * {factor}) + b,)
"""


@pytest.mark.parametrize(("factor", "agrees"), [("1.0000001", True), ("1.00001", False)])
def test_a_rounding_of_the_inputs_explains_as_much_as_it_does_in_eager(
    monkeypatch: pytest.MonkeyPatch, factor: str, agrees: bool
) -> None:
    """The sine of a large number turns with its last bit; what turns it by more is found."""

    def wrong(program: object, **_: object) -> object:
        space: dict[str, Any] = {}
        exec(_SENSITIVE.format(factor=factor), space)
        return space["program"]

    monkeypatch.setattr(torch, "compile", wrong)
    find = check_program(_SENSITIVE.format(factor="1"))
    assert (find is None) == agrees
