"""The body of a `linalg.generic`, op by op, on tensors that have one dimension per loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import TensorType, i1, i64
from xdsl.ir import Operation, Region, SSAValue

from tilewright.dialects.index_expr import ONE, Expr
from tilewright.dialects.tw import elementwise_binary as bi
from tilewright.dialects.tw.creation import IotaOp
from tilewright.dialects.tw.elementwise import LogicalNotOp
from tilewright.dialects.tw.indexing import GatherOp
from tilewright.dialects.tw.view import PadOp
from tilewright.dialects.types import element_type, element_type_of, sizes_of

from .builder import Builder, plain, required, scalar_constant
from .errors import cannot, name_of
from .scalars import read_scalar


@dataclass
class Body:
    """Values of the body that are known so far, and what it asserts."""

    b: Builder
    op: Operation
    sizes: Sequence[Expr]
    """Of the loops."""
    tensors: Mapping[SSAValue, SSAValue]
    """Values of the function, of which elements may be extracted."""
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    checks: list[SSAValue] = field(default_factory=list[SSAValue])
    """What must hold in every iteration."""

    def value(self, op: Operation, value: SSAValue) -> SSAValue:
        """A value of the body, or a scalar or size from outside of it."""
        if (found := self.values.get(value)) is not None:
            return found
        if value in self.b.numbers:
            return self.b.full(self.b.numbers[value], i64, self.sizes)
        owner = value.owner
        if isinstance(owner, Operation) and name_of(owner) == "arith.constant":
            if not isinstance(value.type, TensorType):
                return self._constant(owner)
        raise cannot(op, "its body uses a value from outside that is no constant and no size")

    def read(self, op: Operation, mask: SSAValue | None = None) -> None:
        """Compute what `op` gives; it runs where `mask` holds."""
        name = name_of(op)
        self.b.location = op.location
        if name == "scf.if":
            self._if(op, mask)
        elif name == "cf.assert":
            holds = self.value(op, op.operands[0])
            if mask is not None:
                holds = self.b.add(bi.OrOp(holds, self.b.add(LogicalNotOp(mask))))
            self.checks.append(holds)
        elif name == "tensor.extract":
            self.values[op.results[0]] = self._extract(op, mask)
        else:
            self.values[op.results[0]] = self._scalar(op, name)

    def guarded(self, value: SSAValue) -> SSAValue:
        """`value`; a position out of range, which is an error, where a check does not hold."""
        for holds in self.checks:
            right, wrong = (self.b.full(n, i64, self.sizes) for n in (0, 1))
            place = self.b.add(bi.SelectOp(holds, right, wrong))
            held = self.b.add(GatherOp(self.b.full(1, i1, [ONE]), [place], [0]))
            value = self.b.add(bi.SelectOp(held, value, self.b.like(value, 0)))
        return value

    def _scalar(self, op: Operation, name: str) -> SSAValue:
        if name == "linalg.index":
            return self.b.add(IotaOp(i64, self.sizes, int(str(required(op, "dim")).split()[0])))
        if name == "arith.constant":
            return self._constant(op)
        args = [self.value(op, v) for v in op.operands]
        if name in ("arith.index_cast", "arith.index_castui"):
            target = element_type(op.results[0].type)
            return args[0] if str(target) == "index" else self.b.cast(args[0], target)
        found = read_scalar(self.b, op, args)
        if found is None:
            raise cannot(op, "no op of tw computes it element by element")
        return found

    def _constant(self, op: Operation) -> SSAValue:
        value, element = scalar_constant(op)
        return self.b.full(value, i64 if str(element) == "index" else element, self.sizes)

    def _extract(self, op: Operation, mask: SSAValue | None) -> SSAValue:
        """The first element where the mask does not hold, whose own position may be anywhere."""
        source, *places = op.operands
        if source not in self.tensors:
            raise cannot(op, "it reads a tensor that the body itself makes")
        tensor = self.tensors[source]
        if not places:
            return self.b.broadcast(tensor, self.sizes, ())
        indices = [self.b.cast(self.value(op, v), i64) for v in places]
        if mask is not None:
            zero = self.b.full(0, i64, self.sizes)
            indices = [self.b.add(bi.SelectOp(mask, i, zero)) for i in indices]
            tensor = self._never_empty(tensor)
        return self.b.add(GatherOp(tensor, indices, range(len(indices)), strict=True))

    def _never_empty(self, tensor: SSAValue) -> SSAValue:
        """With an element more along what may have none."""
        more = [int(n.constant in (None, 0)) for n in sizes_of(tensor)]
        if not any(more):
            return tensor
        return self.b.add(PadOp(tensor, [0] * len(more), more, plain(0, element_type_of(tensor))))

    def _if(self, op: Operation, mask: SSAValue | None) -> None:
        condition = self.value(op, op.operands[0])
        sides = [condition, self.b.add(LogicalNotOp(condition))]
        if mask is not None:
            sides = [self.b.add(bi.AndOp(mask, side)) for side in sides]
        yielded = [self._side(region, side) for region, side in zip(op.regions, sides, strict=True)]
        self.b.location = op.location
        for result, one, other in zip(op.results, *yielded, strict=True):
            self.values[result] = self.b.add(bi.SelectOp(condition, one, other))

    def _side(self, region: Region, mask: SSAValue) -> list[SSAValue]:
        """What one side of an `scf.if` yields; nothing where there is none."""
        last = region.block.last_op if region.blocks else None
        if last is None:
            return []
        for inner in region.block.ops:
            if inner is not last:
                self.read(inner, mask)
        return [self.value(last, v) for v in last.operands]
