"""Runs `tw.aten` in Python, and tells the user about every operation that needed it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, FloatAttr, IntegerAttr, StringAttr, UnitAttr, i1
from xdsl.ir import Attribute, Operation

from tilewright.dialects.index_expr import Expr, Var, parse_exprs
from tilewright.dialects.th.calls import ExternOp, TritonLaunchOp
from tilewright.dialects.tw.aten import ArgAttr, SizeAttr
from tilewright.dialects.tw.base import STRIDES
from tilewright.dialects.tw.triton import TritonOp
from tilewright.dialects.tw.updating import UpdateOp
from tilewright.targets.native.errors import unknown_operator
from tilewright.targets.native.launch_calls import apart
from tilewright.targets.native.launch_collectives import waiting

from ..fx.dtypes import DTYPES
from ..fx.graph import Fallback
from ..torch_internals import find_operator, schema_of

LOGGER = logging.getLogger("tilewright.fallback")

Env = Mapping[Var, int]
Argument = Callable[[Sequence[Any], Env], Any]

_said: dict[tuple[str, str], None] = {}


def report(fallbacks: Sequence[Fallback]) -> None:
    """Log each kind of fall-back once per process; library operations only at debug level."""
    for fallback in fallbacks:
        key = (fallback.op, fallback.reason)
        if fallback.code == "TW1100":
            LOGGER.debug("%s", fallback)
        elif key not in _said:
            _said[key] = None
            LOGGER.warning("%s", fallback)


class AtenFunction:
    """`fn(operands, env) -> tensors`: one ATen call as its IR attributes describe it.

    `env` holds the values of the symbols in `symbols`. Results are a flat tuple of what
    `returns` counts (without it all that are not None); each has the strides that the IR says
    (row-major unless `strides` names others), as have the operands of which `operand_strides` says any.
    """

    def __init__(
        self,
        callee: str,
        args: ArrayAttr[Attribute],
        strides: Sequence[str] = (),
        returns: Sequence[int] | None = None,
        operand_strides: Sequence[str] = (),
    ) -> None:
        op = find_operator(callee)
        if op is None:
            raise unknown_operator(callee)
        self.op, self._call = op, waiting(op)
        schema = schema_of(op)
        used: dict[Var, None] = {}
        self._positional: list[Argument] = []
        self._keyword: dict[str, Argument] = {}
        for attr, argument in zip(args, schema.arguments, strict=False):
            made = _argument(attr, str(argument.type), used)
            if argument.kwarg_only:
                self._keyword[argument.name] = made
            else:
                self._positional.append(made)
        self.symbols = tuple(used)
        self._strides = [parse_exprs(text) for text in strides]
        self._operand_strides = [parse_exprs(text) for text in operand_strides]
        self._returns = returns

    def __call__(self, operands: Sequence[Any], env: Env | None = None) -> tuple[Any, ...]:
        env = env or {}
        given, operands = operands, self._laid(operands, env)
        positional = [argument(operands, env) for argument in self._positional]
        keyword = {name: argument(operands, env) for name, argument in self._keyword.items()}
        flat = _flat(self._call(*positional, **keyword))
        if schema_of(self.op).is_mutable:
            for before, after in zip(given, operands, strict=True):
                if after is not before:
                    before.copy_(after)
        kept = flat if self._returns is None else [flat[i] for i in self._returns]
        values = [value for value in kept if value is not None]
        if not schema_of(self.op).is_mutable and all(isinstance(v, torch.Tensor) for v in values):
            values = apart(values, [v for v in operands if isinstance(v, torch.Tensor)])
        return tuple(self._placed(value, i, env) for i, value in enumerate(values))

    def _laid(self, operands: Sequence[Any], env: Env) -> Sequence[Any]:
        if not self._operand_strides:
            return operands
        pairs = zip(operands, self._operand_strides, strict=True)
        return [restrided(operand, strides, env) if strides else operand for operand, strides in pairs]

    def _placed(self, value: Any, index: int, env: Env) -> Any:
        """The result in the layout that the IR declares."""
        if not isinstance(value, torch.Tensor):
            return value
        if not self._strides:
            return value.contiguous()
        return restrided(value, self._strides[index], env)


def restrided(value: torch.Tensor, wanted: Sequence[Expr], env: Env) -> torch.Tensor:
    """`value`, or a copy of it with those strides."""
    strides = tuple(stride.evaluate(env) for stride in wanted)
    if value.stride() == strides:
        return value
    return torch.empty_strided(value.shape, strides, dtype=value.dtype, device=value.device).copy_(value)


Function = Callable[[Sequence[Any], Env], Sequence[Any]]


class CalledFunctions(dict[Operation, Function]):
    """The functions of the calls of one graph, each made when it is first asked for."""

    def __missing__(self, op: Operation) -> Function:
        return self.setdefault(op, called_function(op))


def called_function(op: Operation) -> Function:
    """What an op calls that no kernel of ours computes: ATen's, or what a user wrote."""
    if isinstance(op, TritonOp | TritonLaunchOp):
        from .given_function import GivenFunction  # and the emulator

        return GivenFunction(op)
    if isinstance(op, UpdateOp) or (isinstance(op, ExternOp) and _returns_nothing(op.callee.data)):
        from .updating_function import UpdatingFunction

        return UpdatingFunction(op)
    return aten_function(op)


def _returns_nothing(callee: str) -> bool:
    found = find_operator(callee)
    return found is not None and not schema_of(found).returns


def aten_function(op: Operation, first: int = 0) -> AtenFunction:
    """The function of a `tw.aten` (or of a later op that carries the same attributes).

    It gives the results of `op` from `first` on.
    """
    attrs = {**op.properties, **op.attributes}
    callee, args = attrs["callee"], attrs["args"]
    assert isinstance(callee, StringAttr)
    assert isinstance(args, ArrayAttr)
    return AtenFunction(
        callee.data,
        cast("ArrayAttr[Attribute]", args),
        _strings(attrs.get(STRIDES))[first:],
        _numbers(attrs.get("returns")),
        _strings(attrs.get("operand_strides")),
    )


def _numbers(attr: Attribute | None) -> list[int] | None:
    return [int(n) for n in cast("DenseArrayBase[Any]", attr).get_values()] if attr is not None else None


def _strings(attr: Attribute | None) -> list[str]:
    if not isinstance(attr, ArrayAttr):
        return []
    return [item.data for item in attr if isinstance(item, StringAttr)]  # pyright: ignore[reportUnknownVariableType]


def _flat(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in _flat(item)]  # pyright: ignore[reportUnknownVariableType]
    return [value]


def _argument(attr: Attribute, kind: str, used: dict[Var, None]) -> Argument:
    """How to make one argument of the call; `kind` is its type in the schema."""
    match attr:
        case ArgAttr():
            index = attr.index.data
            return lambda operands, env: operands[index]
        case SizeAttr():
            return _size(attr.expr(), used)
        case ArrayAttr():
            parts = [_argument(item, kind, used) for item in attr]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            return lambda operands, env: [part(operands, env) for part in parts]
        case _:
            value = _constant(attr, kind)
            return lambda operands, env: value


def _size(expr: Expr, used: dict[Var, None]) -> Argument:
    for var in sorted(expr.variables(), key=lambda v: v.index):
        used[var] = None
    return lambda operands, env: expr.evaluate(env)


def _constant(attr: Attribute, kind: str) -> Any:
    match attr:
        case UnitAttr():
            return None
        case IntegerAttr():
            return bool(attr.value.data) if attr.type == i1 else attr.value.data
        case FloatAttr():
            return attr.value.data
        case StringAttr():
            return _named(attr.data, kind)
        case _:
            return DTYPES[attr]


def _named(text: str, kind: str) -> Any:
    """Text that stands for a device where the schema says so."""
    return torch.device(text) if "Device" in kind else text
