"""Random well-typed `tw` graphs: what the verifier accepts, of every op family."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IndexType,
    ModuleOp,
    StringAttr,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.index_expr import Expr, as_expr, format_exprs, sym
from tilewright.dialects.tw.aten import WriteOp
from tilewright.dialects.types import ELEMENT_TYPES, element_type_of, sizes_of, tensor_type
from tilewright.passes.manager import verify_module

Sizes = tuple[Expr, ...]
_EXTENTS = (1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 33)
FAVOURITES = ("f32", "f32", "f32", "bf16", "f16", "f64", "i64", "i64", "i32", "i8", "ui8", "i1")
_LARGEST = 6000


class Graph:
    """A function that grows op by op; `symbolic` gives some dimensions a size known at run time only."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.symbolic = self.random.random() < 0.35
        self.symbols: list[Expr] = [sym(0), sym(1)] if self.symbolic else []
        shapes = [self._shape() for _ in range(self.random.randint(1, 4))]
        kinds = [ELEMENT_TYPES[self.random.choice(FAVOURITES)] for _ in shapes]
        if len(shapes) > 1 and self.random.random() < 0.6:
            shapes[1], kinds[1] = shapes[0], kinds[0]
        types: list[Attribute] = [tensor_type(k, s) for k, s in zip(kinds, shapes, strict=True)]
        self.tensors = len(types)
        types += [IndexType()] * len(self.symbols)
        self.block = Block(arg_types=types)
        self.values: list[SSAValue] = list(self.block.args[: self.tensors])

    def _shape(self) -> Sizes:
        shape = [
            as_expr(self.random.choice(_EXTENTS)) for _ in range(self.random.choice((0, 1, 2, 2, 3, 3, 4)))
        ]
        for i in range(len(shape)):
            if self.symbols and self.random.random() < 0.35:
                shape[i] = self.random.choice(self.symbols)
        return tuple(shape)

    def pick(self, test: Callable[[SSAValue], bool] = lambda v: True) -> SSAValue:
        """A value that passes; raises VerifyException, which drops the op, where there is none."""
        found = [v for v in self.values if test(v)]
        if not found:
            raise VerifyException("no operand")
        return self.random.choice(found[-5:] if self.random.random() < 0.7 else found)

    def like(self, value: SSAValue) -> SSAValue:
        return self.pick(lambda v: v.type == value.type)

    def add(self, op: Operation) -> SSAValue:
        """Put a verified op at the end; refuses results that would be too large."""
        for result in op.results:
            count = 1
            for n in sizes_of(result):
                count *= n.constant if n.constant is not None else 40
            if count > _LARGEST:
                raise VerifyException("too large")
        op.verify()
        self.block.add_op(op)
        self.values += list(op.results)
        return op.results[0]

    def finish(self) -> ModuleOp:
        computed = [v for v in self.values[self.tensors :] if element_type_of(v)]
        count = min(len(computed), self.random.choice((1, 2, 3, 5)))
        returned = computed[-1:] + self.random.sample(computed[:-1], max(0, count - 1)) if computed else []
        returned = returned or [self.values[0]]
        if self.random.random() < 0.15:
            self._write(computed)
        self.block.add_op(ReturnOp(*returned))
        inputs = [a.type for a in self.block.args]
        attrs = [DictionaryAttr(self._attributes(i)) for i in range(len(inputs))]
        function = FuncOp(
            "main", (inputs, [v.type for v in returned]), Region(self.block), arg_attrs=ArrayAttr(attrs)
        )
        module = ModuleOp([function])
        verify_module(module)
        return module.clone()  # without the uses by ops that were refused

    def _write(self, computed: Sequence[SSAValue]) -> None:
        for target in self.block.args[: self.tensors]:
            fitting = [v for v in computed if v.type == target.type]
            if fitting:
                self.block.add_op(WriteOp(self.random.choice(fitting), target))
                return

    def _attributes(self, index: int) -> dict[str, Attribute]:
        if index >= self.tensors:
            return {"tw.symbol": StringAttr(str(self.symbols[index - self.tensors]))}
        shape = sizes_of(self.block.args[index])
        chance = self.random.random()
        if chance < 0.2 and all(n.constant is not None for n in shape):
            return {"tw.frozen": UnitAttr()}
        if chance < 0.4 and len(shape) >= 2:
            return {"tw.strides": StringAttr(format_exprs(_permuted_strides(self.random, shape)))}
        return {}


def _permuted_strides(rng: random.Random, shape: Sizes) -> list[Expr]:
    order = list(range(len(shape)))
    rng.shuffle(order)
    strides: list[Expr] = [as_expr(1)] * len(shape)
    step = as_expr(1)
    for axis in order:
        strides[axis] = step
        step = step * shape[axis]
    return strides
