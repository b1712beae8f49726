"""Runs a `tk.func` before and after schedule passes on the same random buffers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp, bf16
from xdsl.parser import Parser

from tilewright.dialects.arrays import Arrays
from tilewright.dialects.index_expr import Var, parse_expr
from tilewright.dialects.registry import new_context
from tilewright.dialects.semantics import Machine
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.semantics import run_func
from tilewright.passes.manager import parse_pipeline, run_pipeline, verify_hook

SCHEDULE = "coalesce-axes,schedule-cpu,apply-schedule"


@dataclass(frozen=True)
class Case:
    """A function, and for each buffer its element and how many there are (in the symbols)."""

    text: str
    buffers: tuple[str, ...]
    """`f32 s0*4`, `bf16 8`: random; `i64 8 < 5`: random below 5; `f32 8 = 0`: constant."""
    symbols: dict[str, int] = field(default_factory=dict)
    tolerance: float = 1e-5


def parse(text: str) -> ModuleOp:
    module = Parser(new_context(), text).parse_module()
    module.verify()
    return module


def buffers_of(case: Case, rng: np.random.Generator) -> list[np.ndarray]:
    found = []
    for line in case.buffers:
        kind, _, rest = line.partition(" ")
        size, _, limit = rest.partition("<")
        size, _, value = size.partition("=")
        symbols = {Var("s", int(k[1:])): v for k, v in case.symbols.items()}
        count = parse_expr(size).evaluate(symbols)
        known = {"i64": np.int64, "i1": np.bool_, "i32": np.int32, "i8": np.int8, "f64": np.float64}
        dtype = known.get(kind, np.float32)
        if value:
            array = np.full(count, float(value))
        elif limit:
            array = rng.integers(0, int(limit), count)
        elif kind in ("f32", "f64"):
            array = rng.standard_normal(count)
        elif kind == "bf16":
            array = Arrays(np).store(rng.standard_normal(count), bf16)
        else:
            array = rng.integers(-5, 5, count)
        found.append(array.astype(dtype))
    return found


def run(module: ModuleOp, buffers: list[np.ndarray], symbols: dict[str, int]) -> list[np.ndarray]:
    copies = [b.copy() for b in buffers]
    run_on(module, copies, symbols)
    return copies


def run_on(module: ModuleOp, buffers: list[np.ndarray], symbols: dict[str, int]) -> None:
    """Let the one function change the buffers themselves, of which two may be one."""
    (func,) = [op for op in module.ops if isinstance(op, FuncOp)]
    assert all(isinstance(arg.type, MemRefType) for arg in func.body.block.args)
    values = {Var("s", int(k[1:])): v for k, v in symbols.items()}
    run_func(func, buffers, values, Machine(Arrays(np)))


def scheduled(text: str, pipeline: str = SCHEDULE) -> ModuleOp:
    module = parse(text)
    run_pipeline(new_context(), module, parse_pipeline(pipeline), hooks=[verify_hook()])
    return module


def check(case: Case, pipeline: str = SCHEDULE, seed: int = 0) -> ModuleOp:
    """Assert that the passes keep the meaning; gives the module they made."""
    buffers = buffers_of(case, np.random.default_rng(seed))
    before = run(parse(case.text), buffers, case.symbols)
    module = scheduled(case.text, pipeline)
    after = run(module, buffers, case.symbols)
    for expected, actual in zip(before, after, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=case.tolerance, atol=case.tolerance)
    return module
