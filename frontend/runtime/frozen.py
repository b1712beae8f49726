"""Runs `@setup`: what a graph derives from its parameters, kept while they stay the same.

A derived tensor is valid while each parameter behind it has the same memory and version
counter: an optimizer step, `load_state_dict` or `p.data = ...` makes the next call derive anew.
Writes through `p.data` or NumPy count no version; samples of the memory, compared in each call,
find those that change a parameter throughout. After single elements were written that way, say
`torch.compile(..., options={"freeze": False})`, or write under `torch.no_grad()` instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from weakref import ref

import torch
from xdsl.dialects.builtin import IntegerAttr, IntegerType, ModuleOp
from xdsl.dialects.func import FuncOp

from tilewright.dialects.interpreter import interpret
from tilewright.passes.setup import SETUP

from .call import Run

Prober = Callable[[Sequence[torch.Tensor]], Callable[[], int]]
"""Gives a function whose result changes with the memory of these tensors."""


@dataclass(frozen=True)
class _Derived:
    """Tensors derived from certain parameters in one state."""

    state: tuple[object, ...]
    """Addresses and version counters."""
    probe: Callable[[], int]
    """Keeps the memory of the parameters, whose addresses are in the state, from being used anew."""
    print: int
    tensors: list[torch.Tensor]
    owners: Sequence[Any]
    """Weak references to the parameters, which take this away when one of them dies."""


@dataclass
class Setup:
    """The derived tensors of one graph: one set for each set of parameters that it is called with.

    Modules of one class share a graph (the layers of a model, compiled one by one).
    """

    module: ModuleOp
    prober: Prober
    arguments: tuple[int, ...]
    """Which arguments of the graph `@setup` takes."""
    _found: dict[tuple[int, ...], _Derived] = field(default_factory=dict[tuple[int, ...], _Derived])
    """By identity of the parameters; each is replaced as a whole, so that threads need no lock."""

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
        key = tuple(map(id, parameters))
        state = (*[p.data_ptr() for p in parameters], *map(version, parameters))
        last = self._found.get(key)
        if last is not None and state == last.state and last.probe() == last.print:
            return last.tensors
        del last
        self._found.pop(key, None)  # frees the old ones first
        self._found[key] = made = self._derive(key, state, parameters)
        return made.tensors

    def _derive(
        self, key: tuple[int, ...], state: tuple[object, ...], parameters: Sequence[torch.Tensor]
    ) -> _Derived:
        found = self._found

        def forget(_: object) -> None:
            found.pop(key, None)

        with torch.no_grad():
            plain = [p.detach() for p in parameters]
            probe = self.prober(plain)
            print_ = probe()
            made = [t.contiguous() for t in interpret(self.module, plain, torch, entry=SETUP)]
        return _Derived(state, probe, print_, made, [ref(p, forget) for p in parameters])


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
