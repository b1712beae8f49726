"""Dialect name -> where it lives. The only place that lists dialects."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.ir import Dialect

OWN_DIALECTS: Mapping[str, str] = {
    "tw": "tilewright.dialects.tw:TW",
    "tk": "tilewright.dialects.tk:TK",
    "th": "tilewright.dialects.th:TH",
}

SHARED_DIALECTS: Mapping[str, str] = {
    "arith": "tilewright.dialects.tk.arith:ARITH",
    "func": "xdsl.dialects.func:Func",
    "math": "xdsl.dialects.math:Math",
    "memref": "xdsl.dialects.memref:MemRef",
    "test": "xdsl.dialects.test:Test",
    "ub": "xdsl.dialects.ub:UB",
    "vector": "xdsl.dialects.vector:Vector",
}


def dialect(where: str) -> Dialect:
    """Import `module:NAME`."""
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)


def new_context(*, allow_unregistered: bool = False) -> Context:
    """A context in which each dialect is imported when its first op or attribute is met."""
    ctx = Context(allow_unregistered=allow_unregistered)
    ctx.load_dialect(Builtin)
    for name, where in {**OWN_DIALECTS, **SHARED_DIALECTS}.items():
        ctx.register_dialect(name, partial(dialect, where))
    return ctx
