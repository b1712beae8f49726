"""Random programs of views, kernels, products, concatenations and writes, against the interpreter."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, f32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from tilewright.dialects.index_expr import as_expr
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.registry import new_context
from tilewright.dialects.th.run import run_plan
from tilewright.dialects.tw.aten import WriteOp
from tilewright.dialects.tw.elementwise import TanhOp
from tilewright.dialects.tw.elementwise_binary import AddOp
from tilewright.dialects.tw.linalg import MatmulOp
from tilewright.dialects.tw.view import BroadcastOp, ConcatOp, ReshapeOp, ReverseOp, SliceOp, TransposeOp
from tilewright.dialects.types import sizes_of, tensor_type
from tilewright.passes.manager import parse_pipeline, run_pipeline, verify_module

Shape = tuple[int, ...]


class Program:
    """A function that grows by one random op at a time."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        shapes: list[Shape] = [(3, 4), (4, 3), (2, 6), (2, 3, 4), (12,)]
        self.block = Block(arg_types=[tensor_type(f32, shape) for shape in shapes])
        self.values: list[SSAValue] = list(self.block.args)
        self.kernels = 0

    def shape(self, value: SSAValue) -> Shape:
        return tuple(n.constant or 0 for n in sizes_of(value))

    def pick(self, test: Callable[[Shape], bool] = lambda shape: True) -> SSAValue | None:
        found = [v for v in self.values if test(self.shape(v))]
        return self.random.choice(found[-8:] + found[:2]) if found else None

    def add(self, op: Any) -> None:
        self.block.add_op(op)
        self.values.append(op.results[0])

    def reshape(self) -> None:
        value = self.pick()
        assert value is not None
        count = int(np.prod(self.shape(value)))
        divisor = self.random.choice([n for n in range(1, count + 1) if count % n == 0]) if count else 1
        self.add(ReshapeOp(value, self.random.choice([(divisor, count // divisor), (count,)])))

    def transpose(self) -> None:
        if (value := self.pick(lambda s: len(s) > 1)) is not None:
            perm = list(range(len(self.shape(value))))
            self.random.shuffle(perm)
            self.add(TransposeOp(value, perm))

    def slice(self) -> None:
        value = self.pick()
        assert value is not None
        starts, sizes, steps = [], [], []
        for n in self.shape(value):
            step = self.random.choice([1, 1, 2])
            start = self.random.randrange(n) if n else 0
            starts.append(start)
            steps.append(step)
            sizes.append(self.random.randint(min(1, n - start), (n - start + step - 1) // step))
        self.add(SliceOp(value, starts, sizes, steps))

    def reverse(self) -> None:
        value = self.pick(lambda s: len(s) > 0)
        assert value is not None
        self.add(ReverseOp(value, [self.random.randrange(len(self.shape(value)))]))

    def broadcast(self) -> None:
        if (value := self.pick(lambda s: 0 < len(s) < 3 and np.prod(s) < 50)) is not None:
            self.add(BroadcastOp(value, (2, *self.shape(value))))

    def tanh(self) -> None:
        value = self.pick()
        assert value is not None
        self.add(TanhOp(value))

    def plus(self) -> None:
        a = self.pick()
        assert a is not None
        b = self.pick(lambda s: s == self.shape(a))
        assert b is not None
        self.add(AddOp(a, b))

    def concat(self) -> None:
        a = self.pick(lambda s: len(s) > 0 and np.prod(s) < 100)
        if a is None:
            return
        dim = self.random.randrange(len(self.shape(a)))
        rest = self.shape(a)[:dim] + self.shape(a)[dim + 1 :]
        b = self.pick(lambda s: len(s) == len(rest) + 1 and s[:dim] + s[dim + 1 :] == rest)
        assert b is not None
        self.add(ConcatOp([a, b], dim))

    def matmul(self) -> None:
        a = self.pick(lambda s: len(s) >= 2)
        if a is None:
            return
        *batch, _, k = self.shape(a)
        b = self.pick(lambda s: len(s) == len(batch) + 2 and list(s[:-2]) == batch and s[-2] == k)
        if b is not None:
            self.add(MatmulOp(a, b))

    def finish(self) -> ModuleOp:
        returned = [self.pick() for _ in range(3)]
        results = [v for v in returned if v is not None]
        written: list[SSAValue] = []
        for target in self.random.sample(list(self.block.args), 3):
            value = self.pick(lambda s, t=target: s == self.shape(t))
            if value is not None and value is not target and target not in written:
                self.block.add_op(WriteOp(value, target))
                written.append(target)
        self.block.add_op(ReturnOp(*results))
        types = [v.type for v in self.block.args], [v.type for v in results]
        function = FuncOp("main", types, Region(self.block))
        attrs: list[dict[str, Any]] = [{} for _ in self.block.args]
        attrs[0] = {"tw.strides": StringAttr("1, 3")}
        function.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(a) for a in attrs])
        self.memory = [self.random.choice((None, None, 0, 1)) for _ in results]
        numbers = [{} if n is None else {"tw.memory": IntegerAttr(n, i64)} for n in self.memory]
        function.properties["res_attrs"] = ArrayAttr([DictionaryAttr(a) for a in numbers])
        return ModuleOp([function])


STEPS = ("reshape", "transpose", "slice", "reverse", "broadcast", "tanh", "tanh", "plus", "concat", "matmul")


HOST_PASSES = {
    "cpu": "dedupe-kernels,plan-memory",
    "gpu": "dedupe-kernels{unit=16},group-launches,plan-memory,drop-self-copies",
}


@pytest.mark.parametrize("target", HOST_PASSES)
@pytest.mark.parametrize("seed", range(60))
def test_random_program(seed: int, target: str) -> None:
    program = Program(seed)
    for _ in range(program.random.randint(4, 24)):
        getattr(program, program.random.choice(STEPS))()
    module = program.finish()
    rng = np.random.default_rng(seed)
    args = [
        (rng.standard_normal([as_expr(n).constant or 0 for n in sizes_of(a)]) * 0.3).astype(np.float32)
        for a in program.block.args
    ]
    expected_args = [a.copy() for a in args]
    expected = interpret(module, expected_args, np)
    run_pipeline(
        new_context(),
        module,
        parse_pipeline(f"convert-tw-to-tk,dce,bufferize,{HOST_PASSES[target]}"),
    )
    verify_module(module)
    found = run_plan(module, args, np)
    for a, b in zip([*found, *args], [*expected, *expected_args], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
    for i, number in enumerate(program.memory):
        if number is not None:
            others = [*args, *(b for b, n in zip(found, program.memory, strict=True) if n != number)]
            assert not any(np.shares_memory(found[i], other) for other in others)
