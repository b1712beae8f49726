"""Modules of any number of `tw` ops, as text, for measuring how the time of a pass grows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass
class Text:
    """@main while it is written: arguments and ops."""

    arguments: list[str] = field(default_factory=list[str])
    ops: list[str] = field(default_factory=list[str])

    def argument(self, type_: str, attributes: str = "") -> str:
        name = f"%a{len(self.arguments)}"
        self.arguments.append(f'{name}: {type_} {{tw.name = "a{len(self.arguments)}"{attributes}}}')
        return name

    def frozen(self, type_: str) -> str:
        return self.argument(type_, ", tw.frozen")

    def op(self, text: str) -> str:
        name = f"%v{len(self.ops)}"
        self.ops.append(f'    {name} = {text} loc("model.py":{len(self.ops) + 1}:0)')
        return name

    def module(self, results: list[tuple[str, str]]) -> str:
        """The whole text; `results` are names with their types."""
        names, types = (", ".join(part) for part in zip(*results, strict=True))
        lines = ["builtin.module {", f"  func.func @main({', '.join(self.arguments)}) -> ({types}) {{"]
        return "\n".join([*lines, *self.ops, f"    func.return {names} : {types}", "  }", "}"]) + "\n"


X = "tensor<32x64xf32>"
ROW = "tensor<32xf32>"
COLUMN = "tensor<32x1xf32>"


def layers(count: int) -> str:
    """A transformer's rhythm: normalise, multiply by weights, activate, add the residual."""
    text = Text()
    x = text.argument(X)
    while len(text.ops) < count:
        y = _gelu(text, _linear(text, _normalised(text, x)))
        x = text.op(f"tw.add {x}, {_linear(text, y)} : {X}")
    return text.module([(x, X)])


def _normalised(text: Text, x: str) -> str:
    def mean(value: str) -> str:
        total = text.op(f"tw.sum {value} over [1] : {X} -> {ROW}")
        column = text.op(f"tw.reshape {total} : {ROW} -> {COLUMN}")
        size = text.op(f"tw.full 6.400000e+01 : f32 -> {COLUMN}")
        return text.op(f"tw.div {column}, {size} : {COLUMN}")

    def spread(value: str) -> str:
        return text.op(f"tw.broadcast {value} dims [0, 1] : {COLUMN} -> {X}")

    centred = text.op(f"tw.sub {x}, {spread(mean(x))} : {X}")
    square = text.op(f"tw.mul {centred}, {centred} : {X}")
    scale = text.op(f"tw.rsqrt {mean(square)} : {COLUMN}")
    return text.op(f"tw.mul {centred}, {spread(scale)} : {X}")


def _linear(text: Text, x: str) -> str:
    weight, bias = text.frozen("tensor<64x64xf32>"), text.frozen("tensor<64xf32>")
    turned = text.op(f"tw.transpose {weight} by [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>")
    kinds = f"({X}, tensor<64x64xf32>, tensor<64xf32>)"
    return text.op(f"tw.matmul {x}, {turned} bias {bias} : {kinds} -> {X}")


def _gelu(text: Text, x: str) -> str:
    half = text.op(f"tw.full 5.000000e-01 : f32 -> {X}")
    scaled = text.op(f"tw.erf {x} : {X}")
    one = text.op(f"tw.full 1.000000e+00 : f32 -> {X}")
    shifted = text.op(f"tw.add {scaled}, {one} : {X}")
    return text.op(f"tw.mul {text.op(f'tw.mul {x}, {half} : {X}')}, {shifted} : {X}")


def chain(count: int) -> str:
    """One chain of elementwise ops, which could all be one kernel."""
    text = Text()
    x = first = text.argument(X)
    while len(text.ops) < count:
        x = text.op(f"tw.add {text.op(f'tw.tanh {x} : {X}')}, {first} : {X}")
    return text.module([(x, X)])


def kept(count: int) -> str:
    """Everything computed forward is used again backward, in reverse order: training's lifetimes."""
    text = Text()
    x = text.argument(X)
    saved: list[str] = []
    while len(text.ops) < count // 2:
        x = text.op(f"tw.exp {_linear(text, x)} : {X}")
        saved.append(x)
    for value in reversed(saved):
        x = text.op(f"tw.mul {_linear(text, x)}, {value} : {X}")
    return text.module([(x, X)])


def siblings(count: int) -> str:
    """Many ops that read the same value, and as many results: optimizers, branches."""
    text = Text()
    x = text.argument(X)
    results: list[tuple[str, str]] = []
    while len(text.ops) < count:
        product = text.op(f"tw.mul {x}, {text.argument(X)} : {X}")
        total = text.op(f"tw.sum {text.op(f'tw.exp {product} : {X}')} over [1] : {X} -> {ROW}")
        results.append((text.op(f"tw.neg {total} : {ROW}"), ROW))
    return text.module(results)


def steps(count: int) -> str:
    """A recurrence over slices of one tensor, put together again at the end."""
    text = Text()
    length = count // 5
    whole = f"tensor<{length}x64xf32>"
    x, state = text.argument(whole), text.argument("tensor<1x64xf32>")
    made: list[str] = []
    for i in range(length):
        row = text.op(f'tw.slice {x} starts "{i}, 0" steps "1, 1" : {whole} -> tensor<1x64xf32>')
        mixed = text.op(f"tw.mul {row}, {state} : tensor<1x64xf32>")
        state = text.op(f"tw.tanh {text.op(f'tw.add {mixed}, {row} : tensor<1x64xf32>')} : tensor<1x64xf32>")
        made.append(state)
    types = ", ".join(["tensor<1x64xf32>"] * length)
    y = text.op(f"tw.concat {', '.join(made)} dim 0 : ({types}) -> {whole}")
    return text.module([(y, whole)])


GRAPHS: Mapping[str, Callable[[int], str]] = {
    "layers": layers,
    "chain": chain,
    "kept": kept,
    "siblings": siblings,
    "steps": steps,
}
