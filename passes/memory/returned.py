"""What a function returns, as views of what its ops compute."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.ir_access import operands_of

from .result_memory import memory_of, result_attributes
from .stated import result_strides
from .views import behind


@dataclass(frozen=True)
class Returned:
    """One result of a function, a tensor."""

    position: int
    value: SSAValue
    root: SSAValue
    views: tuple[Operation, ...]
    """Between `root` and the result, the last one first."""
    strides: tuple[Expr, ...]
    """That it must have."""
    memory: int | None
    """The number of the memory that it may share with results of the same number alone (`tw.memory`)."""


def returned_by(function: FuncOp) -> dict[SSAValue, list[Returned]]:
    """The results that are tensors, in their order, by what they are views of."""
    found: dict[SSAValue, list[Returned]] = {}
    ret = function.body.block.last_op
    assert isinstance(ret, ReturnOp)
    attributes, values = result_attributes(function), operands_of(ret)
    for position, strides in enumerate(result_strides(function)):
        if strides is not None:
            value = values[position]
            root, views = behind(value)
            memory = memory_of(attributes[position])
            found.setdefault(root, []).append(Returned(position, value, root, tuple(views), strides, memory))
    return found
