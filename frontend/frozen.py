"""Runs `@setup`: what a graph derives from its parameters, kept while they stay the same.

A derived tensor is valid while each parameter behind it has the same memory and version
counter: an optimizer step, `load_state_dict` or `p.data = ...` makes the next call derive anew.
Writes through `p.data` or NumPy count no version; samples of the memory, compared in each call,
find those that change a parameter throughout. After single elements were written that way, say
`torch.compile(..., options={"freeze": False})`, or write under `torch.no_grad()` instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


Prober = Callable[[Sequence[torch.Tensor]], Callable[[], int]]
"""Gives a function whose result changes with the memory of these tensors."""


@dataclass(frozen=True)
class _Derived:
    """Tensors derived from the parameters in one state."""

    key: tuple[object, ...]
    probe: Callable[[], int]
    """Keeps the memory of the parameters, whose addresses are in the key, from being used anew."""
    print: int
    tensors: list[torch.Tensor]


@dataclass
class Setup:
    """The derived tensors of one graph, and the state of the parameters they were derived from."""

    module: ModuleOp
    prober: Prober
    arguments: tuple[int, ...]
    """Which arguments of the graph `@setup` takes."""
    _last: _Derived | None = None
    """Replaced as a whole: other threads see one state or the other."""

    @staticmethod
    def of(module: ModuleOp, prober: Prober) -> Setup:
        function = module.body.block.first_op
        assert isinstance(function, FuncOp)
        attrs = function.arg_attrs.data if function.arg_attrs is not None else ()
        numbers = (cast("IntegerAttr[IntegerType]", a.data["tw.argument"]) for a in attrs)
        return Setup(module, prober, tuple(n.value.data for n in numbers))

    def derived(self, args: Sequence[Any]) -> list[torch.Tensor]:
        """The derived tensors for these arguments; computed again only if a parameter changed."""
        parameters = [args[i] for i in self.arguments]
        key = (*[p.data_ptr() for p in parameters], *map(version, parameters))
        last = self._last
        if last is not None and key == last.key and last.probe() == last.print:
            return last.tensors
        last = self._last = None  # frees the old ones first
        with torch.no_grad():
            plain = [p.detach() for p in parameters]
            probe = self.prober(plain)
            print_ = probe()
            made = [t.contiguous() for t in interpret(self.module, plain, torch, entry=_SETUP)]
        self._last = _Derived(key, probe, print_, made)
        return made


def version(tensor: torch.Tensor) -> object:
    """The version counter; an inference tensor has none, so that nothing equals what stands for it."""
    return object() if tensor.is_inference() else tensor._version


def with_setup(run: Run, module: ModuleOp, prober: Prober) -> Run:
    """`run` with the derived tensors behind its arguments."""
    setup = Setup.of(module, prober)

    def call(args: list[Any]) -> Sequence[Any]:
        args.extend(setup.derived(args))
        return run(args)

    return call
