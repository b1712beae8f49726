"""translate --to=linalg: upstream verifies, lowers and executes the text, with the interpreter's results."""

import sys
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))

from families import random_graph

from tilewright.dialects import upstream
from tilewright.dialects.registry import new_context
from tilewright.frontend.check.aten_callback import aten_callback
from tilewright.frontend.check.execute import Outcome
from tilewright.frontend.check.inputs import arguments
from tilewright.frontend.check.session import SemanticCheck, compare
from tilewright.frontend.check.signature import function_named
from tilewright.frontend.tools.tool_io import parse_module
from tilewright.targets.linalg.emit import emit_linalg
from tilewright.targets.linalg.errors import CannotExport

pytestmark = pytest.mark.skipif(not upstream.available(), reason="needs the upstream extra")


def difference(module: ModuleOp) -> tuple[str | None, int]:
    """How upstream's results differ from the interpreter's, and the number of runs compared."""
    from tilewright.dialects.upstream_run import call_linalg, compile_linalg

    text = emit_linalg(module)
    baseline = SemanticCheck(module, aten=aten_callback, budget=0.3).baseline
    function = function_named(module, "main")
    assert function is not None
    invoke, runs = compile_linalg(text), 0
    for expected in baseline.expected:
        if expected.own.error is not None:  # a failed `cf.assert` ends the process
            continue
        args = arguments(expected.entry, expected.case, expected.sizes)
        found = call_linalg(invoke, "main", function.function_type, args)
        final = [np.asarray(v) for v in args if isinstance(v, np.ndarray)]
        own = Outcome((*map(np.asarray, found), *final), len(found))
        if (wrong := compare(expected, own, expected.truth, baseline.narrow)) is not None:
            return f"{wrong} ({expected.case})", runs
        runs += 1
    return None, runs


def function(arguments_: str, results: str, body: str) -> ModuleOp:
    text = f"func.func @main({arguments_}) -> ({results}) {{\n{body}\n}}"
    return parse_module(new_context(), text, "test")


S = 'tensor<?x5xf32, #tw.shape<"s0, 5">>'
CASES = {
    "softmax": (
        "%x: tensor<3x7xf32>",
        "tensor<3x7xf32>",
        """%m = tw.max %x over [1] : tensor<3x7xf32> -> tensor<3xf32>
        %b = tw.broadcast %m dims [0] : tensor<3xf32> -> tensor<3x7xf32>
        %d = tw.sub %x, %b : tensor<3x7xf32>
        %e = tw.exp %d : tensor<3x7xf32>
        %s = tw.sum %e over [1] : tensor<3x7xf32> -> tensor<3xf32>
        %t = tw.broadcast %s dims [0] : tensor<3xf32> -> tensor<3x7xf32>
        %r = tw.div %e, %t : tensor<3x7xf32>
        func.return %r : tensor<3x7xf32>""",
    ),
    "half_matmul_with_bias": (
        "%a: tensor<3x5xbf16>, %b: tensor<5x7xbf16>, %c: tensor<7xbf16>",
        "tensor<3x7xbf16>",
        """%r = tw.matmul %a, %b bias %c
          : (tensor<3x5xbf16>, tensor<5x7xbf16>, tensor<7xbf16>) -> tensor<3x7xbf16>
        func.return %r : tensor<3x7xbf16>""",
    ),
    "integer_batches": (
        "%a: tensor<2x3x1x5xi8>, %b: tensor<2x3x5x4xi8>",
        "tensor<2x3x1x4xi8>",
        """%r = tw.matmul %a, %b : (tensor<2x3x1x5xi8>, tensor<2x3x5x4xi8>) -> tensor<2x3x1x4xi8>
        func.return %r : tensor<2x3x1x4xi8>""",
    ),
    "unsigned_bytes_wrap": (
        "%a: tensor<7xui8>, %b: tensor<7xui8>",
        "tensor<7xui8>, tensor<7xf32>, tensor<7xi1>",
        """%r = tw.add %a, %b : tensor<7xui8>
        %f = tw.cast %r : tensor<7xui8> -> tensor<7xf32>
        %c = tw.compare lt %a, %b : tensor<7xui8> -> tensor<7xi1>
        func.return %r, %f, %c : tensor<7xui8>, tensor<7xf32>, tensor<7xi1>""",
    ),
    "floats_to_integers_out_of_range": (
        "%x: tensor<11xf32>",
        "tensor<11xi64>, tensor<11xi32>, tensor<11xi1>",
        """%a = tw.cast %x : tensor<11xf32> -> tensor<11xi64>
        %b = tw.cast %x : tensor<11xf32> -> tensor<11xi32>
        %c = tw.cast %x : tensor<11xf32> -> tensor<11xi1>
        func.return %a, %b, %c : tensor<11xi64>, tensor<11xi32>, tensor<11xi1>""",
    ),
    "first_of_equal_extremes": (
        "%x: tensor<3x9xf32>, %i: tensor<3x9xi32>, %p: tensor<3x9xi1>",
        "tensor<3xi64>, tensor<3xi64>, tensor<9xi64>",
        """%a = tw.argmax %x dim 1 : tensor<3x9xf32> -> tensor<3xi64>
        %b = tw.argmin %i dim 1 : tensor<3x9xi32> -> tensor<3xi64>
        %c = tw.argmax %p dim 0 : tensor<3x9xi1> -> tensor<9xi64>
        func.return %a, %b, %c : tensor<3xi64>, tensor<3xi64>, tensor<9xi64>""",
    ),
    "symbolic_sizes": (
        f'%x: {S}, %s0: index {{tw.symbol = "s0"}}',
        'tensor<?xf32, #tw.shape<"s0*5">>, tensor<5xf32>, tensor<?x5xf32, #tw.shape<"s0*2, 5">>',
        f"""%f = tw.reshape %x : {S} -> tensor<?xf32, #tw.shape<"s0*5">>
        %m = tw.sum %x over [0] : {S} -> tensor<5xf32>
        %j = tw.concat %x, %x dim 0 : ({S}, {S}) -> tensor<?x5xf32, #tw.shape<"s0*2, 5">>
        func.return %f, %m, %j : tensor<?xf32, #tw.shape<"s0*5">>, tensor<5xf32>,
          tensor<?x5xf32, #tw.shape<"s0*2, 5">>""",
    ),
    "a_symbol_that_is_no_argument": (
        f"%x: {S}",
        f"{S}, tensor<f32>",
        f"""%n = tw.full "s0" -> tensor<f32>
        %r = tw.reverse %x dims [0] : {S} -> {S}
        func.return %r, %n : {S}, tensor<f32>""",
    ),
    "views": (
        "%x: tensor<4x6xf16>",
        "tensor<3x8xf16>, tensor<2x2xf16>, tensor<5x9xf16>, tensor<4x6xf16>",
        """%t = tw.transpose %x by [1, 0] : tensor<4x6xf16> -> tensor<6x4xf16>
        %r = tw.reshape %t : tensor<6x4xf16> -> tensor<3x8xf16>
        %s = tw.slice %x starts "1, 2" steps "2, 3" : tensor<4x6xf16> -> tensor<2x2xf16>
        %p = tw.pad %x low "1, 0" high "0, 3" value -1.5 : f16 : tensor<4x6xf16> -> tensor<5x9xf16>
        func.return %r, %s, %p, %x
          : tensor<3x8xf16>, tensor<2x2xf16>, tensor<5x9xf16>, tensor<4x6xf16>""",
    ),
    "nothing_to_sum": (
        "%x: tensor<3x0xf32>",
        "tensor<3xf32>, tensor<3xi1>, tensor<0x3xf32>",
        """%s = tw.sum %x over [1] : tensor<3x0xf32> -> tensor<3xf32>
        %n = tw.isnan %x : tensor<3x0xf32> -> tensor<3x0xi1>
        %a = tw.all %n over [1] : tensor<3x0xi1> -> tensor<3xi1>
        %t = tw.transpose %x by [1, 0] : tensor<3x0xf32> -> tensor<0x3xf32>
        func.return %s, %a, %t : tensor<3xf32>, tensor<3xi1>, tensor<0x3xf32>""",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_upstream_computes_the_same(name: str) -> None:
    wrong, runs = difference(function(*CASES[name]))
    assert wrong is None
    assert runs >= 4


@pytest.mark.parametrize("first", [0, 20, 40])
def test_random_graphs(first: int) -> None:
    """The first three of twenty that hold nothing but what is exported."""
    exported = 0
    for seed in range(first, first + 20):
        module = random_graph(seed)
        try:
            wrong, _ = difference(module)
        except CannotExport:
            continue
        assert wrong is None, f"seed {seed}: {wrong}"
        exported += 1
        if exported == 3:
            return
    raise AssertionError(f"{exported} of the graphs from seed {first} on were exported")


def test_the_module_stays_as_it_is() -> None:
    module = function(*CASES["softmax"])
    before = str(module)
    assert emit_linalg(module) == emit_linalg(module)
    assert str(module) == before
