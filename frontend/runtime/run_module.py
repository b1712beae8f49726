"""Runs a `tw` module given as text through a target, as a compile of a captured graph would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from xdsl.dialects.builtin import ModuleOp, bf16
from xdsl.dialects.func import FuncOp

from tilewright.dialects.index_expr import Var

from ..check.signature import Entry, Parameter, function_named
from ..cli.errors import CannotRun
from ..environment import read_environment
from ..fx.dtypes import DTYPES
from ..fx.graph import Argument, Graph, Result
from ..options import make_options
from .compiling import finished
from .request import Request, build


def run_by_target(
    module: ModuleOp, entry: Entry, given: Mapping[str, Any], symbols: Mapping[Var, int], args: Sequence[Any]
) -> list[Any]:
    """The results of `entry` on NumPy arrays, as NumPy arrays; raises CannotRun unless it is on tensors.

    `given` are options of the backend, the target among them.
    """
    options = make_options(given)
    function = function_named(module, entry.name)
    if function is None or entry.level != "tensors" or module.body.block.first_op is not function:
        reason = f"target {options.target} compiles the first function of a module, which must be on tensors"
        raise CannotRun(subject=f"@{entry.name}", reason=reason, known="interpreter, float64")
    graph = _graph(module, function, entry)
    run = finished(build(options.target, graph, Request(options, read_environment(), "inference")))
    tensors = [_tensor(p, value, symbols) for p, value in zip(entry.parameters, args, strict=True)]
    return [_array(value) for value in run(tensors)]


def saved_tensor(file: str) -> Any:
    """The NumPy array of a tensor that torch saved; raises ValueError where the file holds no tensor."""
    found = torch.load(file, map_location="cpu", weights_only=True)
    if not isinstance(found, torch.Tensor):
        raise ValueError(f"it holds a {type(found).__name__}, not one tensor")
    return _array(found.detach())


def _graph(module: ModuleOp, function: FuncOp, entry: Entry) -> Graph:
    found = [(p.symbol, index) for index, p in enumerate(entry.parameters) if p.symbol is not None]
    return Graph(
        module,
        tuple(Argument(index) for index in range(len(entry.parameters))),
        tuple(Result(index) for index in range(len(function.function_type.outputs))),
        tuple(found),
    )


def _tensor(parameter: Parameter, value: Any, symbols: Mapping[Var, int]) -> Any:
    """A tensor in the layout that the function was written for."""
    if parameter.element is None:
        return int(value)
    plain = torch.from_numpy(np.array(value))  # pyright: ignore[reportUnknownMemberType]
    plain = plain.to(DTYPES[parameter.element])
    if parameter.strides is None:
        return plain
    strides = [stride.evaluate(symbols) for stride in parameter.strides]
    return torch.empty_strided(plain.shape, strides, dtype=plain.dtype).copy_(plain)


def _array(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return np.asarray(value)
    return (value.float() if value.dtype == DTYPES[bf16] else value).numpy()
