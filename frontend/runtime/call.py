"""Calls a built graph the way AOTAutograd does: a list in, a list out, the list emptied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from tilewright.dialects.index_expr import Var

from ..fx.dtypes import decode, encode
from ..fx.graph import (
    Alias,
    Argument,
    Boundary,
    Constant,
    Input,
    Literal,
    Multiple,
    Output,
    Part,
    Passed,
    Result,
    Size,
)

Run = Callable[[list[Any]], Sequence[Any]]
"""Arguments of @main to its results."""
Boxed = Callable[[list[Any]], Sequence[Any]]
"""Arguments of the graph to its results; the list is emptied."""


def make_call(graph: Boundary, run: Run) -> Callable[[list[Any]], Sequence[Any]]:
    """The boxed function that AOTAutograd wants; costs nothing where both sides agree already."""
    plain_in = all(
        isinstance(source, Argument) and source == Argument(i) for i, source in enumerate(graph.inputs)
    )
    plain_out = all(isinstance(out, Result) and out == Result(i) for i, out in enumerate(graph.outputs))
    call = _direct(run, len(graph.inputs)) if plain_in and plain_out else _adapted(graph, run)
    call._boxed_call = True  # pyright: ignore[reportFunctionMemberAccess]
    return call


def _direct(run: Run, count: int) -> Callable[[list[Any]], Sequence[Any]]:
    def call(args: list[Any]) -> Sequence[Any]:
        if len(args) != count:  # trailing arguments that the graph never reads
            del args[count:]
        results = run(args)
        args.clear()
        return results

    return call


def _adapted(graph: Boundary, run: Run) -> Callable[[list[Any]], Sequence[Any]]:
    def call(args: list[Any]) -> Sequence[Any]:
        given = [_input(source, args) for source in graph.inputs]
        env = {var: given[i] for var, i in graph.symbols}
        kept = list(args)
        args.clear()
        results = run(given) if graph.has_work else ()
        outputs = [_output(out, results, kept, env) for out in graph.outputs]
        for i, alias in aliases:
            bases = results if alias.of_result else outputs if alias.of_output else kept
            outputs[i] = _alias(alias, bases, env)
        return outputs

    aliases = [(i, out) for i, out in enumerate(graph.outputs) if isinstance(out, Alias)]
    return call


def _alias(alias: Alias, bases: Sequence[Any], env: dict[Var, int]) -> torch.Tensor:
    sizes, strides = ([n.evaluate(env) for n in each] for each in (alias.sizes, alias.strides))
    base, offset = bases[alias.index], alias.offset.evaluate(env)
    if alias.read_as is None:
        return base.as_strided(sizes, strides, base.storage_offset() + offset)
    whole = base.as_strided((base.numel(),), (1,)).view(alias.read_as)
    return whole.as_strided(sizes, strides, whole.storage_offset() + offset)


def no_work(args: list[Any]) -> Sequence[Any]:
    """What runs where @main computes nothing."""
    return ()


def _input(source: Input, args: Sequence[Any]) -> Any:
    match source:
        case Argument(index=index, dtype=dtype, device=device):
            value = args[index] if device is None else args[index].to(device)
            return value if dtype is None else encode(value)
        case Constant(tensor=tensor):
            return tensor
        case Part(index=index, sign=sign):
            return max(sign * args[index], 0)
        case _:
            return args[source.index].shape[source.dim]


def _output(out: Output, results: Sequence[Any], args: Sequence[Any], env: dict[Var, int]) -> Any:
    match out:
        case Result():
            return _result(out, results[out.index], env)
        case Passed(index=index):
            return args[index]
        case Size(value=value):
            return value.evaluate(env)
        case Multiple(index=index, factor=factor):
            return args[index] * factor.evaluate(env)
        case Literal(value=value):
            return value
        case Alias():
            return None  # its base may be an output after it


def _result(out: Result, value: torch.Tensor, env: dict[Var, int]) -> torch.Tensor:
    if out.device is not None:
        value = value.to(out.device)
    if out.expand is not None:
        value = value.expand([size.evaluate(env) for size in out.expand])
    return value if out.dtype is None else decode(value, out.dtype)
