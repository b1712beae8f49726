"""Writes scalar ops into a kernel body: what lowering rules are written with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    f32,
    i1,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.hints import isa

from tilewright.dialects.scalars import predicate_attr
from tilewright.dialects.tk.arith import CmpFOp, CmpIOp, ExtSIOp, ExtUIOp, SelectOp, TruncIOp
from tilewright.dialects.types import compute_type, is_float, scalar_type, ui8

_WIDENING = (arith.ExtFOp, ExtSIOp, ExtUIOp)


def scalar_attr(value: float | int | bool, type_: Attribute) -> Attribute:
    """The attribute of a scalar constant; floats are rounded to `type_`, integers wrap."""
    if is_float(type_):
        return FloatAttr(float(value), type_)  # pyright: ignore[reportArgumentType, reportCallIssue]
    assert isa(type_, IntegerType | IndexType)
    return IntegerAttr(int(value), type_)


def constant_op(value: float | int | bool, type_: Attribute) -> arith.ConstantOp:
    """An `arith.constant`, not yet in a block."""
    return arith.ConstantOp.create(result_types=[type_], properties={"value": scalar_attr(value, type_)})


@dataclass
class ScalarBuilder:
    """Appends to `block`; every op carries `location`."""

    block: Block
    location: LocationAttr
    _constants: dict[tuple[Attribute, str], SSAValue] = field(
        default_factory=dict[tuple[Attribute, str], SSAValue]
    )

    def add(self, op: Operation) -> Operation:
        op.location = self.location
        self.block.add_op(op)
        return op

    def op(
        self,
        cls: type[Operation],
        *operands: SSAValue,
        type_: Attribute | None = None,
        properties: Mapping[str, Attribute] | None = None,
    ) -> SSAValue:
        """Append `cls(operands)`; the result has the first operand's type unless `type_` says otherwise."""
        new = cls.create(
            operands=operands, result_types=[type_ or operands[0].type], properties=dict(properties or {})
        )
        return self.add(new).results[0]

    def constant(self, value: float | int | bool, type_: Attribute) -> SSAValue:
        key = (type_, repr(value))
        if key not in self._constants:
            self._constants[key] = self.add(constant_op(value, type_)).results[0]
        return self._constants[key]

    def compare_float(self, predicate: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """`arith.cmpf` by its name, as `olt` or `une`."""
        attr = predicate_attr(CmpFOp.name, predicate)
        return self.op(CmpFOp, lhs, rhs, type_=i1, properties={"predicate": attr})

    def compare_int(self, predicate: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """`arith.cmpi` by its name, as `slt` or `eq`."""
        attr = predicate_attr(CmpIOp.name, predicate)
        return self.op(CmpIOp, lhs, rhs, type_=i1, properties={"predicate": attr})

    def select(self, condition: SSAValue, on_true: SSAValue, on_false: SSAValue) -> SSAValue:
        return self.op(SelectOp, condition, on_true, on_false, type_=on_true.type)

    def invert(self, condition: SSAValue) -> SSAValue:
        return self.op(arith.XOrIOp, condition, self.constant(True, i1))

    # Storage and compute types

    def widen(self, value: SSAValue, stored: Attribute) -> SSAValue:
        """From what memory holds to the type that kernels compute in."""
        wide = compute_type(stored)
        if wide == scalar_type(stored):
            return value
        if wide == f32:
            return self.op(arith.ExtFOp, value, type_=f32)
        return self.op(ExtUIOp if stored == ui8 else ExtSIOp, value, type_=wide)

    def narrow(self, value: SSAValue, stored: Attribute) -> SSAValue:
        """From the compute type to what memory holds: rounds floats, keeps an integer's low bits."""
        if value.type == (narrow := scalar_type(stored)):
            return value
        if isinstance(value.owner, _WIDENING) and value.owner.input.type == narrow:
            return value.owner.input
        if is_float(narrow):
            return self.op(arith.TruncFOp, value, type_=narrow)
        return self.op(TruncIOp, value, type_=narrow)

    def wrap(self, value: SSAValue, stored: Attribute) -> SSAValue:
        """Let a narrow integer wrap as its storage would; other values pass."""
        if isa(stored, IntegerType) and value.type == i32 and stored != i32:
            return self.widen(self.narrow(value, stored), stored)
        return value


class InsertingBuilder(ScalarBuilder):
    """Inserts in front of `op` or, with `behind`, after it, one op after the other, at its location."""

    def __init__(self, op: Operation, *, behind: bool = False) -> None:
        block = op.parent_block()
        assert block is not None
        super().__init__(block, op.location)
        self._next = op.next_op if behind else op

    def add(self, op: Operation) -> Operation:
        if self._next is None:
            return super().add(op)
        op.location = self.location
        self.block.insert_op_before(op, self._next)
        return op
