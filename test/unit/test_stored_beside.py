"""A kernel beside makes a result of what is stored beside it, the same numbers; or there is none."""

from __future__ import annotations

import numpy as np
import pytest
from tk_harness import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import OpResult

from tilewright.dialects.index_expr import format_exprs
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.fusion.stored_beside import from_stored_beside

X = "tensor<4x6xf32>"


def module_of(body: str, beside: str = X, type_: str = X) -> tuple[ModuleOp, OpResult]:
    """A kernel that makes `%q` of type `type_` beside `%p`; `%q`."""
    module = parse(f"""func.func @main(%x: {X}) -> ({beside}, {type_}, {X}) {{
      %p, %q, %r = tk.kernel [4, 6] ins(%x : {X}) -> ({beside}, {type_}, {X}) {{
      ^bb0(%a: {X}, %p: {beside}, %q: {type_}, %r: {X}):
        {body}
      }} loc("model.py":3:1)
      func.return %p, %q, %r : {beside}, {type_}, {X}
    }}""")
    (kernel,) = (op for op in module.walk() if isinstance(op, KernelOp))
    return module, kernel.results[1]


def run(module: ModuleOp) -> list[np.ndarray]:
    return interpret(module, [np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)], np)


COSTLY = f"%0 = tk.load %a[d0, d1] : {X} -> f32 %1 = math.exp %0 : f32 %2 = math.sin %0 : f32"
OTHERS = f"tk.store %1, %p[d0, d1] : f32, {X} tk.store %2, %r[d0, d1] : f32, {X}"
HALF, DOUBLE, ROW = "tensor<4x6xbf16>", "tensor<4x6xf64>", "tensor<4xf32>"
ROUNDED = f"""{COSTLY} %7 = arith.truncf %1 : f32 to bf16 tk.store %7, %p[d0, d1] : bf16, {HALF}
  tk.store %2, %r[d0, d1] : f32, {X}"""
OF_ROWS = f"""{COSTLY} %6 = tk.reduce add %1 over [1] : f32 tk.store %6, %p[d0] : f32, {ROW}
  tk.store %2, %r[d0, d1] : f32, {X} %3 = arith.negf %6 : f32 tk.store %3, %q[d0] : f32, {ROW}"""
STEPS = "".join(f" %{i + 1} = arith.negf %{i} : f32" for i in range(10, 25))
MADE = {
    # body, types, what is read and made
    "of one": (
        f"{COSTLY} {OTHERS} %3 = arith.negf %1 : f32 tk.store %3, %q[d0, d1] : f32, {X}",
        (X, X),
        ["p"],
        ["load", "negf"],
    ),
    "of two": (
        f"{COSTLY} {OTHERS} %3 = arith.subf %2, %1 : f32 tk.store %3, %q[d0, d1] : f32, {X}",
        (X, X),
        ["p", "r"],
        ["load", "load", "subf"],
    ),
    "of what is loaded, too": (
        f"{COSTLY} {OTHERS} %3 = arith.subf %1, %0 : f32 tk.store %3, %q[d0, d1] : f32, {X}",
        (X, X),
        ["p", "x"],
        ["load", "load", "subf"],
    ),
    "with constants, stored before": (
        f"""{COSTLY} %4 = arith.constant 3.0 : f32 %3 = arith.mulf %1, %4 : f32
        tk.store %3, %q[d0, d1] : f32, {X} {OTHERS}""",
        (X, X),
        ["p"],
        ["load", "constant", "mulf"],
    ),
    "of what is rounded": (
        f"{ROUNDED} %8 = arith.extf %7 : bf16 to f32 %3 = arith.negf %8 : f32 "
        f"tk.store %3, %q[d0, d1] : f32, {X}",
        (HALF, X),
        ["p"],
        ["load", "extf", "extf", "negf"],
    ),
    "of what is rounded for memory": (
        f"{ROUNDED} %3 = arith.negf %1 : f32 tk.store %3, %q[d0, d1] : f32, {X}",
        (HALF, X),
        ["p"],
        ["load", "extf", "negf"],
    ),
    "backwards": (
        f"{COSTLY} {OTHERS} %3 = arith.negf %1 : f32 tk.store %3, %q[d0, d1] : f32, {X}".replace(
            "[d0, d1] : f32", "[3 - d0, d1] : f32"
        ),
        (X, X),
        ["p"],
        ["load", "negf"],
    ),
    "of a row's sum": (OF_ROWS, (ROW, ROW), ["p"], ["load", "negf"]),
    "by as many ops as may be": (
        f"{COSTLY} {OTHERS} %10 = arith.negf %1 : f32 {STEPS} tk.store %25, %q[d0, d1] : f32, {X}",
        (X, X),
        ["p"],
        ["load", *["negf"] * 16],
    ),
}


@pytest.mark.parametrize(("body", "types", "read", "made"), MADE.values(), ids=MADE)
def test_it_is_made_of_what_is_beside(
    body: str, types: tuple[str, str], read: list[str], made: list[str]
) -> None:
    module, value = module_of(body, *types)
    before = run(module)
    kernel = from_stored_beside(value)
    assert kernel is not None
    assert [operand.name_hint for operand in kernel.operands] == read
    assert [op.name.partition(".")[2] for op in kernel.body.block.ops] == [*made, "store"]
    assert (kernel.prev_op, kernel.location) == (value.op, value.op.location)
    assert format_exprs(kernel.space) == ("4, 1" if ROW in types else "4, 6")
    leave = next(op for op in module.walk() if isinstance(op, ReturnOp))
    leave.operands[1] = kernel.results[0]
    module.verify()
    np.testing.assert_allclose(run(module)[1], before[1], rtol=2**-8 if HALF in types else 0)


NONE = {
    "elsewhere": f"{COSTLY} {OTHERS} %3 = arith.negf %1 : f32 tk.store %3, %q[3 - d0, d1] : f32, {X}",
    "of what is loaded alone": (
        f"{COSTLY} {OTHERS} %3 = arith.negf %0 : f32 tk.store %3, %q[d0, d1] : f32, {X}"
    ),
    "of what is loaded under a mask": f"""{COSTLY} {OTHERS} %m = arith.constant true
      %z = arith.constant 0.0 : f32 %5 = tk.load %a[d0, d1] if %m else %z : {X} -> f32
      %3 = arith.subf %1, %5 : f32 tk.store %3, %q[d0, d1] : f32, {X}""",
    "of places, too": f"""{COSTLY} {OTHERS} %4 = tk.index "d0" : i64 %5 = arith.sitofp %4 : i64 to f32
      %3 = arith.subf %1, %5 : f32 tk.store %3, %q[d0, d1] : f32, {X}""",
    "a sum": f"""{COSTLY} {OTHERS} %3 = tk.reduce add %1 over [1] : f32
      %4 = arith.subf %1, %3 : f32 tk.store %4, %q[d0, d1] : f32, {X}""",
    "a running sum": (
        f"{COSTLY} {OTHERS} %3 = tk.scan add %1 along 1 : f32 tk.store %3, %q[d0, d1] : f32, {X}"
    ),
    "by more ops": (
        f"{COSTLY} {OTHERS} %9 = arith.negf %1 : f32 %10 = arith.negf %9 : f32 {STEPS} "
        f"tk.store %25, %q[d0, d1] : f32, {X}"
    ),
    "the same number": f"{COSTLY} {OTHERS} tk.store %1, %q[d0, d1] : f32, {X}",
    "masked": f"""{COSTLY} {OTHERS} %3 = arith.negf %1 : f32 %m = arith.constant true
      tk.store %3, %q[d0, d1] if %m : f32, {X}""",
    "of what is masked": f"""{COSTLY} %m = arith.constant true tk.store %1, %p[d0, d1] if %m : f32, {X}
      tk.store %2, %r[d0, d1] : f32, {X} %3 = arith.negf %1 : f32 tk.store %3, %q[d0, d1] : f32, {X}""",
}


NONE_OF_OTHER_TYPES = {
    "a half, beside itself only": (
        f"""{COSTLY} {OTHERS} %3 = arith.subf %0, %0 : f32 %4 = arith.truncf %3 : f32 to bf16
        tk.store %4, %q[d0, d1] : bf16, {HALF}""",
        (X, HALF),
    ),
    "of what only f64 holds": (
        f"""%0 = tk.load %a[d0, d1] : {X} -> f32 %1 = arith.extf %0 : f32 to f64 %2 = math.exp %1 : f64
        %3 = arith.truncf %2 : f64 to f32 tk.store %3, %p[d0, d1] : f32, {X}
        tk.store %3, %r[d0, d1] : f32, {X} %4 = arith.negf %2 : f64
        tk.store %4, %q[d0, d1] : f64, {DOUBLE}""",
        (X, DOUBLE),
    ),
    "for each element of a row": (OF_ROWS.replace("%q[d0]", "%q[d0] over [1]"), (ROW, ROW)),
    "of what is so": (OF_ROWS.replace("%p[d0]", "%p[d0] over [1]"), (ROW, ROW)),
}


@pytest.mark.parametrize(
    ("body", "types"),
    [*((body, (X, X)) for body in NONE.values()), *NONE_OF_OTHER_TYPES.values()],
    ids=[*NONE, *NONE_OF_OTHER_TYPES],
)
def test_there_is_none(body: str, types: tuple[str, str]) -> None:
    module, value = module_of(body, *types)
    text = str(module)
    assert from_stored_beside(value) is None
    assert str(module) == text


def test_nothing_is_beside_a_single_result() -> None:
    module = parse(f"""func.func @main(%x: {X}) -> {X} {{
      %p = tk.kernel [4, 6] ins(%x : {X}) -> ({X}) {{
      ^bb0(%a: {X}, %p: {X}):
        %0 = arith.constant 3.0 : f32
        tk.store %0, %p[d0, d1] : f32, {X}
      }}
      func.return %p : {X}
    }}""")
    (kernel,) = (op for op in module.walk() if isinstance(op, KernelOp))
    assert from_stored_beside(kernel.results[0]) is None
