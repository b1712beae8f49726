"""What is asked of bodies: which axes they name, where they store, and which inputs they read."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import f64
from xdsl.parser import Parser

from tilewright.dialects.index_expr import parse_expr
from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import tensor_type
from tilewright.passes.kernels import body

ROW, MASKS = "tensor<8xf32>", "tensor<8xi1>"
TYPES = {"%x": ROW, "%y": ROW, "%m": MASKS, "%z": "tensor<f32>"}
LOAD = f"%0 = tk.load %a[d0] : {ROW} -> f32\n"
STORE = f"\ntk.store %v, %o[d0] : f32, {ROW}"


def kernel_of(ops: str, inputs: str = "%x, %y, %m, %z", sizes: str = "8", made: str = ROW) -> KernelOp:
    """A kernel of `%a`, `%b`, `%c` and so on, that stores to `%o`."""
    types = [TYPES[name] for name in inputs.split(", ")]
    arguments = ", ".join(f"%{name}: {type_}" for name, type_ in zip("abcd", types, strict=False))
    text = f"""func.func @main({", ".join(map(": ".join, TYPES.items()))}) -> {made} {{
      %r = tk.kernel [{sizes}] ins({inputs} : {", ".join(types)}) -> ({made}) {{
      ^bb0({arguments}, %o: {made}):
        {ops}
      }}
      func.return %r : {made}
    }}"""
    module = Parser(new_context(), text).parse_module()
    return next(op for op in module.walk() if isinstance(op, KernelOp))


AXES = [("d0", 0), ("d3", 3), ("d0*2", None), ("d0 + 1", None), ("d0 + d1", None), ("s0", None), ("0", None)]


@pytest.mark.parametrize(("value", "axis"), AXES)
def test_what_is_nothing_but_an_axis(value: str, axis: int | None) -> None:
    assert body.plain_axis(parse_expr(value)) == axis


NAMED = {
    "%v = tk.reduce add %0 over [0, 1] : f32": ((0, 1), (0, 1), (1, 2, 3)),
    "%i = tk.index \"d0\" : i64\n%v, %w = tk.argreduce max %0 at %i over [1] : f32": ((1,), (1,), (1,)),
    "%v = tk.scan add %0 along 1 : f32": ((1,), (1,), (1,)),
    "%v, %i = tk.sort %0 along 0 : f32": ((0,), (0,), (3,)),
    f"tk.store %0, %o[0] over [0, 1] combine add : f32, {ROW}": ((0, 1), (), (1, 2, 3)),
    f"tk.store %0, %o[d0] : f32, {ROW}": ((), (), ()),
}  # fmt: skip


@pytest.mark.parametrize(("op", "axes"), NAMED.items())
def test_axes_that_ops_name(op: str, axes: tuple[tuple[int, ...], ...]) -> None:
    last = kernel_of(LOAD + op, sizes="8, 8").body.block.last_op
    assert last is not None
    assert (body.named_axes(last), body.combined_axes(last)) == axes[:2]
    body.rename_axes([last], {0: (3, 2), 1: (1,)})
    assert body.named_axes(last) == axes[2]
    assert (last.properties.get("axes") is None) == ("over" not in op)


ONLY = {
    "one": (f"tk.store %0, %o[d0] : f32, {ROW}", True),
    "none": ("", False),
    "two": (f"tk.store %0, %o[d0] : f32, {ROW}\n" * 2, False),
    "masked": (f"tk.store %0, %o[d0] if %p : f32, {ROW}", False),
    "at an index": (f"tk.store %0, %o[i0](%i) : f32, {ROW}", False),
    "added": (f"tk.store %0, %o[d0] combine add : f32, {ROW}", False),
}


@pytest.mark.parametrize(("store", "plain"), ONLY.values(), ids=ONLY)
def test_the_one_plain_store(store: str, plain: bool) -> None:
    kernel = kernel_of(f'{LOAD}%p = tk.load %c[d0] : {MASKS} -> i1\n%i = tk.index "d0" : i64\n{store}')
    found = body.store_to(kernel.destinations[0])
    assert found is (kernel.body.block.last_op if plain else None)


def test_inputs_are_shared_and_those_that_nothing_reads_are_left_out() -> None:
    ops = f"""%0 = tk.load %b[d0] : {ROW} -> f32
      %1 = tk.load %c[d0] : {ROW} -> f32
      %2 = tk.load %d[] : tensor<f32> -> f32
      %3 = arith.addf %0, %1 : f32
      %v = arith.addf %3, %2 : f32{STORE}"""
    kernel = kernel_of(ops, inputs="%m, %x, %x, %z")
    _, x, _, z = kernel.operands
    body.merge_equal_inputs(kernel)
    assert tuple(kernel.operands) == (x, z)
    assert [len(body.loads_of(source)) for source in kernel.sources] == [2, 1]
    kernel.verify()


def test_a_replaced_input_takes_the_type_of_its_value() -> None:
    kernel = kernel_of(LOAD + STORE.replace("%v", "%0"))
    a, b, x = kernel.sources[0], kernel.sources[1], kernel.operands[0]
    assert body.replace_input(kernel, 1, x) is b
    wide = KernelOp.create(result_types=[tensor_type(f64, (8,))])
    new = body.replace_input(kernel, 0, wide.results[0])
    assert (kernel.sources[0], new.type, tuple(kernel.operands)[:2]) == (
        new,
        wide.results[0].type,
        (wide.results[0], x),
    )
    assert (a.first_use, len(body.loads_of(new))) == (None, 1)
