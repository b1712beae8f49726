"""Runs the call of ATen that an op becomes, on memory of any layout, beside the interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from layout_text import layout_of
from tk_harness import parse
from torch import Tensor
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import format_exprs
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.types import element_type_of, sizes_of
from tilewright.frontend.fx.dtypes import DTYPES
from tilewright.frontend.runtime.fallback import AtenFunction
from tilewright.passes.memory.layouts import Layout, dense
from tilewright.passes.memory.library_calls import Call, out_variant, returning
from tilewright.passes.memory.stated import layout_of_result

GENERATOR = torch.Generator().manual_seed(0)
Layouts = Mapping[str, str]
"""Of operands and results, by name; the others are row-major."""


def op_of(text: str) -> tuple[ModuleOp, Operation]:
    """The op `text`, whose operands are arguments; its results are `%r` or `%r0`, `%r1` and so on."""
    made = text.rpartition("-> ")[2]
    count = made.count("tensor<")
    names = [f"%r{i}" for i in range(count)] if count > 1 else ["%r"]
    op, _, types = text.rpartition("-> ")[0].rpartition(" : ")
    given = types.strip(" ()").replace(", t", "; t").split("; ")
    arguments = [f"%{name}: {type_}" for name, type_ in zip("abcdefgh", given, strict=False)]
    module = parse(f"""func.func @main({", ".join(arguments)}) -> {made} {{
      {", ".join(names)} = {op} : {types}-> {made}
      func.return {", ".join(names)} : {made.strip("()")}
    }}
    func.func @same(%a: tensor<f32>) -> tensor<f32> {{
      func.return %a : tensor<f32>
    }}""")
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    first = function.body.block.first_op
    assert first is not None
    return module, first


def call_of(op: Operation, layouts: Layouts) -> Call | None:
    row = out_variant(op) or returning(op)
    assert row is not None
    return row(op, lambda value: _layout(value, layouts), _results(op, layouts))


def _layout(value: SSAValue, layouts: Layouts) -> Layout:
    text = layouts.get(str(value.name_hint))
    return layout_of(text) if text else dense(sizes_of(value))


def _results(op: Operation, layouts: Layouts) -> list[Layout]:
    return [
        layout_of(layouts[str(result.name_hint)])
        if str(result.name_hint) in layouts
        else layout_of_result(op, i)
        for i, result in enumerate(op.results)
    ]


def _viewed(memory: Tensor, layout: Layout) -> Tensor:
    sizes, strides, (offset,) = (
        [expr.evaluate({}) for expr in exprs] for exprs in (layout.sizes, layout.strides, (layout.offset,))
    )
    return torch.as_strided(memory, sizes, strides, offset)


def numbers(*shape: int) -> Tensor:
    return torch.randn(shape, generator=GENERATOR)


def _random(value: SSAValue) -> Tensor:
    """Memory of random numbers, below 3 if they are whole."""
    dtype = DTYPES[element_type_of(value)]
    if dtype.is_floating_point:
        return numbers(1000).to(dtype)
    return torch.randint(0, 3, (1000,), generator=GENERATOR).to(dtype)


def check(text: str, layouts: Layouts | None = None) -> Call:
    """The call, which computes what the op does."""
    layouts = layouts or {}
    module, op = op_of(text)
    call = call_of(op, layouts)
    assert call is not None
    operands = list(dict.fromkeys(op.operands))
    memory = {value: _random(value) for value in operands}
    expected = interpret(module, [_viewed(memory[v], _layout(v, layouts)) for v in operands], torch)
    for actual, wanted in zip(_called(op, call, memory, layouts), expected, strict=True):
        torch.testing.assert_close(actual, wanted, rtol=1e-5, atol=1e-5)
    return call


def _called(
    op: Operation, call: Call, memory: Mapping[SSAValue, Tensor], layouts: Layouts
) -> Sequence[Tensor]:
    given = [_viewed(memory[value], layout) for value, layout in call.ins]
    if out_variant(op) is not None:
        own = [_random(result) for result in op.results]
        given += [_viewed(out, layout) for out, layout in zip(own, call.outs, strict=True)]
        AtenFunction(call.callee, ArrayAttr(call.args))(given)
        return [_viewed(out, layout) for out, layout in zip(own, _results(op, layouts), strict=True)]
    strides = [format_exprs(layout.strides) for layout in call.outs]
    made = AtenFunction(call.callee, ArrayAttr(call.args), strides)(given)
    return [_viewed(tensor, layout) for tensor, layout in zip(made, call.results or call.outs, strict=True)]
