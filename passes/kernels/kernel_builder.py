"""Builds one `tk.kernel`: its inputs, its body, its stores."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, LocationAttr, UnitAttr, i1, i64
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.index_expr import Expr, as_expr, dim
from tilewright.dialects.tk.access import IndexOp, LoadOp, StoreOp
from tilewright.dialects.tk.arith import ROUNDED, IndexCastOp
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import element_type, element_type_of, is_float

from .scalar_builder import ScalarBuilder

_INDEX = IndexType()


class KernelBuilder(ScalarBuilder):
    """Appends to the body of a new kernel over `sizes`; loads widen, stores narrow.

    A kernel that decides reads halves as memory would hold them, whatever it is fused with:
    `x == x.amax()` finds the largest element also where only one side comes from memory. Those that make
    integers or booleans do, and others that say so by `decides`.
    """

    def __init__(
        self,
        location: LocationAttr,
        sizes: Sequence[Expr],
        inputs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        *,
        decides: bool = False,
    ) -> None:
        self.kernel = KernelOp.make(sizes, inputs, result_types)
        self.kernel.location = location
        self._decides = decides or not all(is_float(element_type(type_)) for type_ in result_types)
        super().__init__(self.kernel.body.block, location)

    @property
    def axes(self) -> tuple[Expr, ...]:
        """`d0, d1, ...`"""
        return tuple(dim(i) for i in range(len(self.kernel.space)))

    def load(
        self,
        number: int,
        subscripts: Sequence[Expr | int],
        dynamic: Sequence[SSAValue] = (),
        mask: SSAValue | None = None,
        other: SSAValue | None = None,
    ) -> SSAValue:
        """Read input `number` in its compute type; `other` is of the stored type."""
        source = self.kernel.sources[number]
        load = self.add(LoadOp.make(source, subscripts, dynamic, mask, other))
        value = self.widen(load.results[0], element_type_of(source))
        if self._decides and isinstance(value.owner, arith.ExtFOp):
            value.owner.attributes[ROUNDED] = UnitAttr()
        return value

    def store(
        self,
        value: SSAValue,
        subscripts: Sequence[Expr | int],
        number: int = 0,
        dynamic: Sequence[SSAValue] = (),
        mask: SSAValue | None = None,
        combine: str | None = None,
        *,
        over: Sequence[Expr] = (),
    ) -> None:
        """Write `value`, of the compute type, to destination `number`, or combine it with the old one.

        It is done for each element of the axes `over`, whether or not anything varies over them.
        """
        destination = self.kernel.destinations[number]
        narrow = self.narrow(value, element_type_of(destination))
        axes = [self.axes.index(axis) for axis in over]
        self.add(StoreOp.make(narrow, destination, subscripts, dynamic, mask, combine, over=axes))

    def index(self, expr: Expr | int) -> SSAValue:
        """The value of an index expression, as i64."""
        value = as_expr(expr)
        if value.constant is not None:
            return self.constant(value.constant, i64)
        return self.add(IndexOp.make(value)).results[0]

    def within(self, expr: Expr, size: Expr) -> SSAValue:
        """True where `0 <= expr < size`."""
        value = self.index(expr)
        low = self.compare_int("sge", value, self.constant(0, i64))
        return self.op(arith.AndIOp, low, self.compare_int("slt", value, self.index(size)))

    def all_true(self, conditions: Sequence[SSAValue]) -> SSAValue | None:
        """The conjunction, None of nothing."""
        result: SSAValue | None = None
        for condition in conditions:
            result = condition if result is None else self.op(arith.AndIOp, result, condition, type_=i1)
        return result

    def checked_index(self, value: SSAValue, size: Expr, *, wraps: bool) -> tuple[SSAValue, SSAValue]:
        """(subscript of type index, in range): out of range reads element 0 and is reported.

        With `wraps` a negative value counts from the end, as in Python.
        """
        zero, limit = self.constant(0, i64), self.index(size)
        if wraps:
            negative = self.compare_int("slt", value, zero)
            value = self.select(negative, self.op(arith.AddiOp, value, limit), value)
        inside = self.compare_int("ult", value, limit)
        self.add(AssertOp.make(inside, "index out of range"))
        safe = self.select(inside, value, zero)
        return self.op(IndexCastOp, safe, type_=_INDEX), inside
