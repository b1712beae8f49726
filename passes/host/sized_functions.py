"""One function for elementwise work on tensors of several static sizes: the size becomes a symbol."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Attribute
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.index_expr import dim, sym
from tilewright.dialects.th.types import is_memref
from tilewright.dialects.tk.attributes import int64, map_attr
from tilewright.dialects.tk.domain import REDUCTIONS_AND_SCANS, exprs_of
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import element_type, flat_memref

from ..functions.coalesce_axes import coalesce
from ..schedule.offsets import LIMIT, MOST
from .kernel_key import Key, kernel_key
from .outline import Names

_UNIT = 16
"""Sizes are counted in so many elements where they divide: then masks, too, are known to be aligned."""


@dataclass(frozen=True)
class Sized:
    """A function of `units` times some number of elements."""

    key: Key
    function: FuncOp
    """Has the size as its only symbol, and is not in the module yet."""
    units: int
    size: int


@dataclass
class SizedFunctions:
    """The functions whose only fact is a size that others of the same body may have otherwise."""

    names: Names
    _found: dict[FuncOp, Sized | None] = field(default_factory=dict["FuncOp", "Sized | None"])
    _placed: dict[Key, FuncOp] = field(default_factory=dict[Key, FuncOp])

    def of(self, function: FuncOp) -> Sized | None:
        """`function` for any size; None where it does more than walk through buffers of one length."""
        if function not in self._found:
            self._found[function] = _sized(function)
        return self._found[function]

    def place(self, sized: Sized, beside: FuncOp) -> FuncOp:
        """The function of the module that stands for all of this body; it is put there if it is the first."""
        if sized.key not in self._placed:
            function = sized.function
            name = f"{beside.sym_name.data}_of_any_size"
            function.properties["sym_name"] = StringAttr(self.names.fresh(name))
            Rewriter.insert_op(function, InsertPoint.before(beside))
            self._placed[sized.key] = function
        placed = self._placed[sized.key]
        known = placed.attributes[MOST]
        assert isinstance(known, IntegerAttr)
        placed.attributes[MOST] = int64(max(known.value.data, sized.size))
        return placed


def _sized(function: FuncOp) -> Sized | None:
    if function.symbols.exprs:
        return None
    made = function.clone()
    coalesce(made)
    size = made.space[0].constant if len(made.space) == 1 else None
    if size is None or not 0 < size < LIMIT or not _walks_once(made):
        return None
    step = _UNIT if size % _UNIT == 0 else 1
    made.properties["sizes"] = map_attr([sym(0) * step])
    made.properties["symbols"] = map_attr([sym(0)])
    for argument in tuple(made.body.block.args):
        type_: Attribute = argument.type
        assert is_memref(type_)
        if type_.get_shape()[0] == size:
            Rewriter.replace_value_with_new_type(argument, flat_memref(element_type(type_), sym(0)))
    key = kernel_key(made)
    made.attributes[MOST] = int64(size)
    return Sized(key, made, size // step, size)


def _walks_once(function: FuncOp) -> bool:
    """Whether each access is at the place of its iteration, or the same for all."""
    ops = list(function.body.block.ops)
    if any(type(op) in REDUCTIONS_AND_SCANS for op in ops):
        return False
    return all(e == dim(0) or e.constant is not None for op in ops for e in exprs_of(op))
