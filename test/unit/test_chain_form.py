"""Softmaxes times values in chain form: the same numbers, also of infinite maxima and of no keys."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, bf16, f16
from xdsl.parser import Parser

from tilewright.dialects.index_expr import Var
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.kernels.body import simplify_body
from tilewright.passes.products.chain_form import put_in_chain_form

X, V, R = 'tensor<7x?xf32, #tw.shape<"7, s0">>', 'tensor<?x2xf32, #tw.shape<"s0, 2">>', "tensor<7x2xf32>"
WEIGHTS = """%m = tk.reduce max %x over [2] : f32
  %d = arith.subf %x, %m : f32
  %e = math.exp %d : f32
  %s = tk.reduce add %e over [2] : f32
  %p = arith.divf %e, %s : f32
"""
HIDDEN = """%low = arith.constant 0xff800000 : f32
  %none = arith.cmpf oeq, %x, %low : f32
  %all = tk.reduce and %none over [2] : i1
"""
ROWS = "0.5 -1 2 0.25; -inf -inf -inf -inf; inf 1 -inf 0; nan 1 2 -inf; -inf 1 -inf 3; 300 299 0 0; 0 0 0 0"
SCORES = np.array([row.split() for row in ROWS.split(";")], dtype=np.float32)
VALUES = np.array([[1.0, 2.0], [-3.0, 0.5], [4.0, 1.5], [0.125, -2.0]], dtype=np.float32)


def module_of(weights: str, stored: str = "") -> ModuleOp:
    """A product of `%w`, made of scores `%x` and gates `%g`, and values; `%t` is stored, too."""
    text = f"""func.func @main(%0: {X}, %1: {V}, %2: {X}) -> ({R}, {X}) {{
      %r, %q = tk.kernel [7, 2, s0] ins(%0, %1, %2 : {X}, {V}, {X}) -> ({R}, {X}) {{
      ^bb0(%a: {X}, %b: {V}, %c: {X}, %o: {R}, %k: {X}):
        %x = tk.load %a[d0, d2] : {X} -> f32
        %g = tk.load %c[d0, d2] : {X} -> f32
        %zero = arith.constant 0.0 : f32
        %one = arith.constant 1.0 : f32
        %few = arith.cmpf olt, %g, %one : f32
        {weights}
        {stored or "%t = arith.negf %g : f32"}
        tk.store %t, %k[d0, d2] : f32, {X}
        %v = tk.load %b[d2, d1] : {V} -> f32
        %wv = arith.mulf %w, %v : f32
        %sum = tk.reduce add %wv over [2] : f32
        tk.store %sum, %o[d0, d1] : f32, {R}
      }}
      func.return %r, %q : {R}, {X}
    }}"""
    return Parser(new_context(), text).parse_module()


def in_chain_form(module: ModuleOp) -> str | None:
    kernel = next(op for op in module.walk() if isinstance(op, KernelOp))
    why = put_in_chain_form(kernel)
    simplify_body(kernel)
    return why


def run(module: ModuleOp, keys: int) -> list[np.ndarray]:
    gates = np.linspace(0, 2, 28, dtype=np.float32).reshape(7, 4)
    inputs = [SCORES[:, :keys], VALUES[:keys], gates[:, :keys]]
    with np.errstate(all="ignore"):
        return interpret(module, inputs, np, symbols={Var("s", 0): keys})


SOFTMAX = WEIGHTS + "%w = arith.divf %e, %s : f32"
CHAINS = {
    "a softmax": (SOFTMAX, ""),
    "hidden where all is": (WEIGHTS + HIDDEN + "%w = arith.select %all, %zero, %p : f32", ""),
    "gated": (WEIGHTS + "%w = arith.mulf %p, %g : f32", ""),
    "gated before": (WEIGHTS + "%y = arith.mulf %g, %e : f32\n%w = arith.divf %y, %s : f32", ""),
    "dropped": (WEIGHTS + "%w = arith.select %few, %p, %zero : f32", ""),
    "beside its own weights": (SOFTMAX, "%t = arith.mulf %p, %g : f32"),
    "beside their logarithms": (SOFTMAX, "%l = math.log %s : f32\n%t = arith.subf %d, %l : f32"),
}
NONE, KEPT = "its weights are no softmax", "it stores what is not divided by the sum of its weights"
REFUSED = {
    "not divided": (WEIGHTS + "%w = arith.mulf %e, %g : f32", "", NONE),
    "shifted": (WEIGHTS + "%w = arith.addf %p, %g : f32", "", NONE),
    "divided each by its own": (WEIGHTS + "%w = arith.divf %e, %g : f32", "", NONE),
    "1 elsewhere": (WEIGHTS + "%w = arith.select %few, %p, %one : f32", "", NONE),
    "0 where others say so": (
        WEIGHTS + "%w = arith.select %few, %zero, %p : f32",
        "",
        "its weights are no softmax",
    ),
    "beside exponentials": (SOFTMAX, "%t = arith.mulf %e, %g : f32", KEPT),
    "beside differences": (SOFTMAX, "%t = arith.negf %d : f32", KEPT),
    "beside sums of columns": (
        SOFTMAX,
        "%n = tk.reduce add %e over [0] : f32\n%t = arith.mulf %n, %g : f32",
        KEPT,
    ),
    "0 where another maximum is": (
        WEIGHTS + HIDDEN + "%n = tk.reduce max %x over [0] : f32\n%h = arith.cmpf oeq, %n, %low : f32\n"
        "%w = arith.select %h, %zero, %p : f32",
        "",
        NONE,
    ),
    "beside a choice": (SOFTMAX, "%t = arith.select %few, %p, %e : f32", KEPT),
}


@pytest.mark.parametrize(("weights", "stored"), CHAINS.values(), ids=CHAINS)
def test_numbers_stay(weights: str, stored: str) -> None:
    module = module_of(weights, stored)
    before = [*run(module, 4), *run(module, 0)]
    assert in_chain_form(module) is None
    module.verify()
    text = str(module)
    assert "arith.divf" in text[text.index("%sum = ") :]  # what divides each divides their sum
    for expected, actual in zip(before, [*run(module, 4), *run(module, 0)], strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("weights", "stored", "why"), REFUSED.values(), ids=REFUSED)
def test_what_has_no_such_form(weights: str, stored: str, why: str) -> None:
    assert in_chain_form(module_of(weights, stored)) == why


@pytest.mark.parametrize(("factors", "wanted"), [("bf16", True), ("f16", False)])
def test_factors_are_rounded_once(factors: str, wanted: bool) -> None:
    rounded = "%n = arith.truncf %p {tk.rounded} : f32 to bf16\n%w = arith.extf %n : bf16 to f32"
    module = module_of(WEIGHTS + rounded)
    total = next(op for op in module.walk() if op.results and op.results[0].name_hint == "sum")
    total.attributes["tk.factors"] = {"bf16": bf16, "f16": f16}[factors]
    assert (in_chain_form(module) is None) == wanted
    assert ("arith.truncf" in str(module)) != wanted
