"""Two products and the softmax between them are offered as kernels; not taken, nothing changed."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from tilewright.dialects.index_expr import Var
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.contraction import find_contraction
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.linalg import MatmulOp
from tilewright.passes.products.chain_calls import Why, chain_calls
from tilewright.passes.rewrite import Remark, remarks_to

SOFTMAX = """%e = math.exp %d : f32
    %s = tk.reduce add %e over [1] : f32
    %p = arith.divf %e, %s : f32"""


def typed(*sizes: str) -> str:
    """A tensor of these sizes, of which `s0` is known when it runs."""
    encoding = f', #tw.shape<"{", ".join(sizes)}">' if "s0" in sizes else ""
    return f"tensor<{'x'.join('?' if n == 's0' else n for n in sizes)}xf32{encoding}>"


def module_of(
    rows: str = "16", keys: str = "24", ops: str = SOFTMAX, bias: str = "", read: str = "%w", also: str = "%t"
) -> ModuleOp:
    """Scores, their softmax `%w` beside what is summed, `%t`, and a product of `read`; `also` is returned."""
    q, k, v, b = typed(rows, "4"), typed("4", keys), typed(keys, "5"), typed("5")
    x, t, r = typed(rows, keys), typed(rows), typed(rows, "5")
    given = t if also == "%t" else x
    text = f"""func.func @main(%q: {q}, %k: {k}, %v: {v}, %b: {b}) -> ({r}, {given}) {{
      %x = tw.matmul %q, %k : ({q}, {k}) -> {x}
      %w, %t = tk.kernel [{rows}, {keys}] ins(%x : {x}) -> ({x}, {t}) {{
      ^bb0(%0: {x}, %1: {x}, %2: {t}):
        %a = tk.load %0[d0, d1] : {x} -> f32
        %m = tk.reduce max %a over [1] : f32
        %d = arith.subf %a, %m : f32
        {ops}
        tk.store %p, %1[d0, d1] : f32, {x}
        tk.store %m, %2[d0] : f32, {t}
      }}
      {f"%n = tw.neg %w : {x}" if read == "%n" else ""}
      %o = tw.matmul {read}, %v{bias} : ({x}, {v}{f", {b}" if bias else ""}) -> {r}
      func.return %o, {also} : {r}, {given}
    }}"""
    module = Parser(new_context(), text).parse_module()
    module.verify()
    return module


def offered(module: ModuleOp, take: bool) -> list[tuple[KernelOp, str | None]]:
    """The kernels that `chain_calls` offers for the last product, and why they shall not be."""
    *_, last = (op for op in module.walk() if isinstance(op, MatmulOp))
    seen: list[tuple[KernelOp, str | None]] = []

    def chain(kernel: KernelOp, why: Why) -> bool:
        module.verify()
        seen.append((kernel, why(kernel)))
        return take

    chain_calls(last, chain)
    return seen


def run(module: ModuleOp, rows: int, keys: int) -> list[np.ndarray]:
    shapes = (rows, 4), (4, keys), (keys, 5), (5,)
    arrays = [np.linspace(-1, 2, m[0] * m[-1] if len(m) > 1 else 5).reshape(m).astype("f") for m in shapes]
    return interpret(module, arrays, np, symbols={Var("s", 0): rows})


@pytest.mark.parametrize(
    ("rows", "keys", "at"), [("16", "24", (16, 24)), ("s0", "3", (2, 3)), ("17", "0", (17, 0))]
)
def test_all_read_what_is_taken(rows: str, keys: str, at: tuple[int, int]) -> None:
    """Also the other results of the softmax; the calls are left without readers."""
    module = module_of(rows, keys)
    before = run(module, *at)
    ((last, why),) = offered(module, take=True)
    module.verify()
    assert why is None
    assert [use.operation.name for use in last.results[0].uses] == ["func.return"]
    weights = next(v.owner for v in last.operands if isinstance(v.owner, KernelOp))
    scores = next(v.owner for v in weights.operands if isinstance(v.owner, KernelOp))
    assert all(find_contraction(kernel.body.block) is not None for kernel in (scores, last))
    assert [use.operation.name for use in weights.results[1].uses] == ["func.return"]
    assert [op.result.first_use is None for op in module.walk() if isinstance(op, MatmulOp)] == [False, True]
    for expected, actual in zip(before, run(module, *at), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-5)


def test_what_is_not_taken_is_undone() -> None:
    module = module_of()
    text = str(module)
    assert len(offered(module, take=False)) == 1
    assert str(module) == text


DECLINED = {
    "few rows": (module_of(rows="15"), "not chained: it has fewer than 16 rows"),
    "scores are returned": (module_of(also="%x"), "not chained: its scores have other readers"),
    "weights are returned": (module_of(also="%w"), "not chained: its weights have other readers"),
    "a bias": (module_of(bias=" bias %b"), ""),
    "nothing but a maximum": (module_of(ops="%p = math.exp %d : f32"), ""),
    "a sum of no exponentials": (module_of(ops=SOFTMAX.replace("math.exp", "math.sin")), ""),
    "something between": (module_of(read="%n"), ""),
    "scores alone": (module_of(read="%x"), ""),
}


@pytest.mark.parametrize(("module", "why"), DECLINED.values(), ids=DECLINED)
def test_what_is_not_offered(module: ModuleOp, why: str) -> None:
    text = str(module)
    heard: list[Remark] = []
    with remarks_to(heard.append):
        assert offered(module, take=True) == []
    assert [remark.why for remark in heard] == ([why] if why else [])
    assert str(module) == text
