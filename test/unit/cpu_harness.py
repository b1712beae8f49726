"""Compile a module given as text, in a cache of the test's own."""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from tilewright.dialects.registry import new_context
from tilewright.targets.cpu_openmp.launch import load
from tilewright.targets.native.launch import CompiledGraph

SIZES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "ui8": 1, "i1": 1}


def parse(text: str) -> ModuleOp:
    """A verified module."""
    module = Parser(new_context(), text, "test.mlir").parse_module()
    module.verify()
    return module


def compiled(text: str, folder: Path) -> CompiledGraph:
    """The graph of a module with @main."""
    return load(parse(text), cache_dir=folder)


def with_main(kernel: str, ins: list[tuple[str, int]], outs: list[tuple[str, int]]) -> str:
    """`kernel` (a tk.func @k) with an @main that launches it on flat tensors (element type, size)."""
    args = ", ".join(f"%x{i}: memref<{n}x{t}>" for i, (t, n) in enumerate(ins))
    types = ", ".join(f"memref<{n}x{t}>" for t, n in outs)
    in_types = ", ".join(f"memref<{n}x{t}>" for t, n in ins)
    lines = [f"func.func @main({args}) -> ({types}) {{"]
    for i, (t, n) in enumerate(outs):
        lines.append(f'%o{i} = th.empty sizes "{n}" strides "1" : memref<{n}x{t}>')
    names = ", ".join(f"%o{i}" for i in range(len(outs)))
    sources = ", ".join(f"%x{i}" for i in range(len(ins)))
    lines.append(f"th.launch @k({sources}) into({names}) : ({in_types}) into ({types})")
    lines.append(f"func.return {names} : {types}\n}}")
    return kernel + "\n" + "\n".join(lines)
