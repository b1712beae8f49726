"""Modules of a few kernels, written without the types that each of their lines would repeat."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from tk_harness import parse, run_on, scheduled
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.hints import isa

from tilewright.dialects.index_expr import Var, parse_exprs
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.kernels import FuncOp, KernelOp
from tilewright.dialects.types import element_type_of, is_float, sizes_of, tensor_type
from tilewright.passes.manager import parse_pipeline, run_pipeline

_LOAD = re.compile(r"= load (\w+)(\[[^\]]*\].*)")
_STORE = re.compile(r"store (%\w+), (\w+)(\[[^\]]*\].*)")
Kernel = tuple[str, str]
"""Its sizes and its body."""


def module_of(tensors: Mapping[str, str], kernels: Sequence[Kernel], returned: str) -> ModuleOp:
    """The module of kernels with such bodies, a line per op:

        %0 = load x[d0, d1]
        %1 = math.exp %0 : f32
        store %1, p[d0, d1]

    `tensors` says what `x` and `p` are, as in `f32 4, s0*2`; what no kernel stores is an argument.
    """
    types = {name: _type(text) for name, text in tensors.items()}
    elements = {name: text.partition(" ")[0] for name, text in tensors.items()}
    made = {m[2] for _, body in kernels for m in _STORE.finditer(body)}
    given = [f"%{name}: {type_}" for name, type_ in types.items() if name not in made]
    values, results = _listed(returned.split(), types)
    return parse(f"""func.func @main({", ".join(['%s0: index {tw.symbol = "s0"}', *given])}) -> ({results}) {{
      {"".join(_kernel(types, elements, *kernel) for kernel in kernels)}
      func.return {values} : {results}
    }}""")


def one_kernel(sizes: str, body: str, given: str, made: str) -> tuple[ModuleOp, KernelOp]:
    """A kernel of `body`, in which `%a` of type `given` is read and `%o` of type `made` written.

    `{x}` and `{o}` stand for the two types there, and `s0` for a size that only the run knows.
    """
    module = parse(f"""func.func @main(%s0: index {{tw.symbol = "s0"}}, %x: {given}) -> {made} {{
      %r = tk.kernel [{sizes}] ins(%x : {given}) -> ({made}) {{
      ^bb0(%a: {given}, %o: {made}):
        {body.replace("{x}", given).replace("{o}", made)}
      }}
      func.return %r : {made}
    }}""")
    (kernel,) = kernels_of(module)
    return module, kernel


def differences(size: int) -> Kernel:
    """Each row of `p` with each of `y`, summed: programs of rows of `y` make `p` for themselves."""
    return (
        f"{size}, {size}",
        """%0 = load p[d1]
        %1 = load y[d0]
        %2 = arith.subf %0, %1 : f32
        %3 = math.absf %2 : f32
        %4 = tk.reduce add %3 over [1] : f32
        store %4, r[d0]""",
    )


def kernels_of(module: ModuleOp) -> list[KernelOp]:
    return [op for op in module.walk() if isinstance(op, KernelOp)]


def run(module: ModuleOp, s0: int = 3) -> list[np.ndarray]:
    """What `@main` returns for random numbers."""
    (function,), random = defined_functions(module), np.random.default_rng(0)
    given = [
        s0
        if isinstance(argument.type, IndexType)
        else random.standard_normal(
            [size.evaluate({Var("s", 0): s0}) for size in sizes_of(argument)], np.float32
        )
        for argument in function.body.block.args
    ]
    return interpret(module, given, np)


def changes(module: ModuleOp, pair: str) -> bool:
    """Whether the loops of a CPU make other numbers where two buffers of the kernel, as in `x p`, are one.

    These are an input and a result, whose memory holds the same numbers at first in any case.
    """
    apart, over = (_looped(module, *pair.split(), in_place=in_place) for in_place in (False, True))
    return not all(map(np.array_equal, apart, over))


def _type(text: str) -> str:
    element, _, sizes = text.partition(" ")
    return str(tensor_type(Parser(new_context(), element).parse_type(), parse_exprs(sizes)))


def _listed(names: Sequence[str], types: Mapping[str, str]) -> tuple[str, str]:
    return ", ".join(f"%{name}" for name in names), ", ".join(types[name] for name in names)


def _kernel(types: Mapping[str, str], elements: Mapping[str, str], sizes: str, body: str) -> str:
    read = list(dict.fromkeys(m[1] for m in _LOAD.finditer(body)))
    made = list(dict.fromkeys(m[2] for m in _STORE.finditer(body)))
    (inputs, given), (names, results) = _listed(read, types), _listed(made, types)
    arguments = ", ".join(f"%{name}_: {types[name]}" for name in (*read, *made))
    body = _LOAD.sub(lambda m: f"= tk.load %{m[1]}_{m[2]} : {types[m[1]]} -> {elements[m[1]]}", body)
    body = _STORE.sub(lambda m: f"tk.store {m[1]}, %{m[2]}_{m[3]} : {elements[m[2]]}, {types[m[2]]}", body)
    return f"""{names} = tk.kernel [{sizes}] {f"ins({inputs} : {given})" * bool(read)} -> ({results}) {{
      ^bb0({arguments}):
        {body}
      }}
      """


def _looped(module: ModuleOp, read: str, made: str, *, in_place: bool) -> list[np.ndarray]:
    """What it makes of random numbers."""
    module = module.clone()
    (kernel,) = kernels_of(module)
    names, count = [value.name_hint for value in (*kernel.inputs, *kernel.results)], len(kernel.inputs)
    run_pipeline(new_context(), module, parse_pipeline("bufferize"))
    (function,) = (op for op in module.walk() if isinstance(op, FuncOp))
    random, buffers = np.random.default_rng(0), list[np.ndarray]()
    for argument in function.body.block.args:
        assert isa(argument.type, MemRefType[Attribute])
        floats, shape = is_float(element_type_of(argument)), argument.type.get_shape()
        values = random.standard_normal(shape) if floats else random.integers(0, 3, shape)
        buffers.append(values.astype(np.float32 if floats else np.int64))
    before = buffers[names.index(read)]
    buffers[names.index(made)] = before if in_place else before.copy()
    run_on(scheduled(str(function)), buffers, {})
    return buffers[count:]
