"""How many ops two kernels have together, and when that is too many to merge them."""

from __future__ import annotations

import pytest
from tk_harness import parse
from xdsl.dialects.builtin import f32

from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.fusion.contents import Bodies
from tilewright.passes.fusion.sizes import KernelSizes, SizesTogether
from tilewright.passes.kernels.scalar_builder import constant_op

ROW = "tensor<8xf32>"
LOAD = f"%0 = tk.load %a[d0] : {ROW} -> f32\n"
AGAIN = f"%1 = tk.load %a[d0] : {ROW} -> f32\n"
OTHER = f"%1 = tk.load %b[d0] : {ROW} -> f32\n"
EXP, SIN = "%v = math.exp %0 : f32\n", "%v = math.sin %0 : f32\n"
ADD, TURNED = "%v = arith.addf %0, %1 : f32\n", "%v = arith.addf %1, %0 : f32\n"
BOTH = ("%x, %y", "%x, %y")
STORE = f"tk.store %v, %o[d0] : f32, {ROW}\n"


def kernels(first: str, second: str, inputs: tuple[str, str] = BOTH) -> tuple[KernelOp, KernelOp]:
    """Two of one function, that load `%a` and `%b` and store `%v` to `%o`."""
    made = "".join(
        f"""%r{number} = tk.kernel [8] ins({given} : {ROW}, {ROW}) -> ({ROW}) {{
        ^bb0(%a: {ROW}, %b: {ROW}, %o: {ROW}):
          {ops}{STORE}}}\n"""
        for number, (ops, given) in enumerate(zip((first, second), inputs, strict=True))
    )
    text = f"func.func @main(%x: {ROW}, %y: {ROW}) -> ({ROW}, {ROW}) {{\n{made}"
    module = parse(f"{text}func.return %r0, %r1 : {ROW}, {ROW}\n}}")
    one, other = (op for op in module.walk() if isinstance(op, KernelOp))
    return one, other


COUNTED = {
    "the same, which store apart": (LOAD + EXP, LOAD + EXP, BOTH, 4),
    "what is computed differs": (LOAD + EXP, LOAD + SIN, BOTH, 5),
    "other inputs": (LOAD + EXP, LOAD + EXP, ("%x, %y", "%y, %x"), 6),
    "the same input elsewhere": (LOAD + EXP, LOAD.replace("%a", "%b") + EXP, ("%x, %y", "%y, %x"), 4),
    "one input twice": (LOAD + OTHER + ADD, LOAD + EXP, ("%x, %x", "%x, %y"), 5),
    "operands turned": (LOAD + OTHER + ADD, LOAD + OTHER + TURNED, BOTH, 6),
    "another element": (LOAD + EXP, LOAD.replace("d0", "0") + EXP, BOTH, 6),
    "what the other made": (LOAD + EXP, LOAD + EXP, ("%x, %y", "%r0, %y"), 6),
}


@pytest.mark.parametrize(("first", "second", "inputs", "ops"), COUNTED.values(), ids=COUNTED)
def test_equal_ops_count_once(first: str, second: str, inputs: tuple[str, str], ops: int) -> None:
    one, other = kernels(first, second, inputs)
    together = SizesTogether(Bodies())
    assert together.of(one, other) == together.of(other, one) == ops


def test_a_kernel_is_walked_again_once_it_is_said_to_have_changed() -> None:
    first, second = kernels(LOAD + EXP, LOAD + SIN)
    together = SizesTogether(bodies := Bodies())
    assert (together.of(first, second), together.of(first, first)) == (5, 3)
    second.body.block.add_op(constant_op(1.0, f32))
    assert together.of(first, second) == 5
    bodies.changed(second)
    assert together.of(first, second) == 6


def test_a_kernel_is_walked_again_once_it_reads_another_tensor() -> None:
    first, second = kernels(LOAD + EXP, LOAD + EXP, ("%x, %y", "%y, %x"))
    together = SizesTogether(Bodies())
    assert together.of(first, second) == 6
    second.operands = first.operands
    assert together.of(first, second) == 4


@pytest.mark.parametrize(
    ("untidy", "most", "ops"), [(0, 7, [3, 4]), (1, 7, [4, 3]), (None, 7, [4, 4]), (0, 8, [4, 4])]
)
def test_equal_ops_are_merged_only_where_that_decides(untidy: int | None, most: int, ops: list[int]) -> None:
    pair = kernels(LOAD + AGAIN + ADD, LOAD + AGAIN + ADD)
    gone, sizes = kernels(LOAD + EXP, LOAD + SIN), KernelSizes(most, Bodies())
    if untidy is not None:
        sizes.replaced(*gone, pair[untidy])
    assert sizes.exceeded_by(*pair) == (untidy is None)
    assert [len(kernel.body.block.ops) for kernel in pair] == ops
    sizes.tidy_all()
    left = [3 if number == untidy else 4 for number in range(2)]
    assert [sizes.bodies.of(kernel).ops for kernel in pair] == left
