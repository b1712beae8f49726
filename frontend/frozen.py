"""Runs `@setup`: what a graph derives from its parameters, kept while they stay the same.

A derived tensor is valid while each parameter behind it has the same memory and version
counter: an optimizer step, `load_state_dict` or `p.data = ...` makes the next call derive anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from xdsl.dialects.builtin import IntegerAttr, IntegerType, ModuleOp
from xdsl.dialects.func import FuncOp

from tilewright.dialects.interpreter import interpret

from .call import Run

_SETUP = "setup"


def take_setup(module: ModuleOp) -> ModuleOp | None:
    """Detach `@setup` into a module of its own, None where there is none."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == _SETUP:
            op.detach()
            return ModuleOp([op])
    return None


@dataclass
class Setup:
    """The derived tensors of one graph, and the state of the parameters they were derived from."""

    module: ModuleOp
    arguments: tuple[int, ...]
    """Which arguments of the graph `@setup` takes."""
    _key: tuple[int, ...] | None = None
    _derived: list[torch.Tensor] = field(default_factory=list[torch.Tensor])

    @staticmethod
    def of(module: ModuleOp) -> Setup:
        function = module.body.block.first_op
        assert isinstance(function, FuncOp)
        attrs = function.arg_attrs.data if function.arg_attrs is not None else ()
        numbers = (cast("IntegerAttr[IntegerType]", a.data["tw.argument"]) for a in attrs)
        return Setup(module, tuple(n.value.data for n in numbers))

    def derived(self, args: Sequence[Any]) -> list[torch.Tensor]:
        """The derived tensors for these arguments; computed again only if a parameter changed."""
        parameters = [args[i] for i in self.arguments]
        key = (*(p.data_ptr() for p in parameters), *(version(p) for p in parameters))
        if key != self._key:
            with torch.no_grad():
                plain = [p.detach() for p in parameters]
                made = interpret(self.module, plain, torch, entry=_SETUP)
                self._derived = [t.contiguous() for t in made]
            self._key = key
        return self._derived


def version(tensor: torch.Tensor) -> int:
    """The version counter; an inference tensor has none and cannot change in place outside inference mode."""
    return 0 if tensor.is_inference() else tensor._version


def with_setup(run: Run, module: ModuleOp) -> Run:
    """`run` with the derived tensors behind its arguments."""
    setup = Setup.of(module)

    def call(args: list[Any]) -> Sequence[Any]:
        args.extend(setup.derived(args))
        return run(args)

    return call
