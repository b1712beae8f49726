"""What nobody reads of a kernel goes, with what only it needs; what is read is as it was."""

from __future__ import annotations

import numpy as np
import pytest
from tk_harness import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from tilewright.dialects.interpreter import interpret
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.fusion.unread import drop_unread

X = "tensor<4xf32>"
STORES = {
    "plain": f"tk.store %2, %q[d0] : f32, {X}",
    "masked": f"%m = arith.constant true tk.store %2, %q[d0] if %m : f32, {X}",
    "added": f"tk.store %2, %q[d0] combine add : f32, {X}",
}


def module_of(store: str, *read: str) -> tuple[ModuleOp, KernelOp]:
    """A kernel of three results, those in `read` returned."""
    names, types = ", ".join(f"%{name}" for name in read), ", ".join([X] * len(read))
    module = parse(f"""func.func @main(%x: {X}, %y: {X}) -> ({types}) {{
      %z = tw.exp %x : {X}
      %p, %q, %r = tk.kernel [4] ins(%x, %y : {X}, {X}) -> ({X}, {X}, {X}) {{
      ^bb0(%a: {X}, %b: {X}, %p: {X}, %q: {X}, %r: {X}):
        %0 = tk.load %a[d0] : {X} -> f32
        %1 = math.exp %0 : f32
        tk.store %1, %p[d0] : f32, {X}
        %3 = tk.load %b[d0] : {X} -> f32
        %2 = math.sin %3 : f32
        {store}
        %4 = arith.negf %1 : f32
        tk.store %4, %r[d0] : f32, {X}
      }} loc("model.py":3:1)
      %w = tw.sin %x : {X}
      func.return {names} : {types}
    }}""")
    (kernel,) = (op for op in module.walk() if isinstance(op, KernelOp))
    return module, kernel


def run(module: ModuleOp) -> list[np.ndarray]:
    return interpret(module, [np.linspace(-1, 1, 4, dtype=np.float32), np.ones(4, np.float32)], np)


@pytest.mark.parametrize(
    ("read", "given", "inside"),
    [
        (("p",), ["x"], ["tk.load", "math.exp", "tk.store"]),
        (("q",), ["y"], ["tk.load", "math.sin", "tk.store"]),
        (("r", "p"), ["x"], ["tk.load", "math.exp", "tk.store", "arith.negf", "tk.store"]),
        (("r", "q"), ["x", "y"], ["tk.load", "math.exp", "tk.load", "math.sin", "tk.store", "arith.negf"]),
    ],
)
def test_what_is_read_is_left(read: tuple[str, ...], given: list[str], inside: list[str]) -> None:
    module, kernel = module_of(STORES["plain"], *read)
    before, location = run(module), kernel.location
    drop_unread(kernel)
    module.verify()
    (smaller,) = (op for op in module.walk() if isinstance(op, KernelOp))
    assert [operand.name_hint for operand in smaller.operands] == given
    assert len(smaller.results) == len(read)
    assert [op.name for op in smaller.body.block.ops][: len(inside)] == inside
    assert smaller.location == location
    (main,) = (op for op in module.walk() if isinstance(op, FuncOp))
    assert [op.name for op in main.body.block.ops] == ["tw.exp", "tk.kernel", "tw.sin", "func.return"]
    np.testing.assert_array_equal(run(module), before)


def test_a_kernel_that_nobody_reads_goes() -> None:
    module, kernel = module_of(STORES["plain"], "p")
    leave = next(op for op in module.walk() if isinstance(op, ReturnOp))
    other: SSAValue = next(op for op in module.walk() if op.name == "tw.exp").results[0]
    leave.operands[0] = other
    drop_unread(kernel)
    module.verify()
    assert [op.name for op in module.walk()] == [
        "builtin.module",
        "func.func",
        "tw.exp",
        "tw.sin",
        "func.return",
    ]


@pytest.mark.parametrize("how", ["masked", "added"])
def test_what_is_stored_in_part_stays(how: str) -> None:
    """Its old value is in it, too; beside it, others go."""
    module, kernel = module_of(STORES[how], "p", "r")
    text = str(module)
    drop_unread(kernel)
    assert str(module) == text
    module, kernel = module_of(STORES[how], "p")
    before = run(module)
    drop_unread(kernel)
    (smaller,) = (op for op in module.walk() if isinstance(op, KernelOp))
    assert (len(smaller.results), len(smaller.operands)) == (2, 2)
    np.testing.assert_array_equal(run(module), before)


def test_a_kernel_whose_results_are_all_read_stays_itself() -> None:
    module, kernel = module_of(STORES["plain"], "p", "q", "r")
    drop_unread(kernel)
    assert next(op for op in module.walk() if isinstance(op, KernelOp)) is kernel
