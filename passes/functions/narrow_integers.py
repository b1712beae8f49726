"""Pass `narrow-integers`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerType, ModuleOp, i1, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tilewright.dialects.scalars import number_of, predicate_of
from tilewright.dialects.tk.access import IndexOp
from tilewright.dialects.tk.arith import CmpIOp, ExtSIOp, FPToSIOp, IndexCastOp, SelectOp, SIToFPOp, TruncIOp
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.compute import ArgReduceOp
from tilewright.dialects.tk.domain import Reduction
from tilewright.dialects.tk.kernels import FuncOp

from ..kernels.body import erase_unread
from ..kernels.ranges import Range, decided, range_of
from ..kernels.scalar_builder import constant_op
from ..rewrite import count_rewrite, may_rewrite, rewrites_left
from .coalesce_axes import coalesce

_LIMIT = 2**31 - 1
"""`ArgReduceOp` keeps the largest number for no position."""

_SAME = (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.MaxSIOp, arith.MinSIOp, math.AbsIOp, SelectOp)
_MAKES = (IndexOp, FPToSIOp, ArgReduceOp)
_TAKES = (SIToFPOp, IndexCastOp, CmpIOp)


@dataclass(frozen=True)
class NarrowIntegersPass(ModulePass):
    """Compute what is made of positions in 32 bits where it fits, and drop checks that cannot fail.

    Before:
        tk.func @nearest [112] (%x: memref<56xf32>, %o: memref<112xf32>) {
          %zero = arith.constant 0 : i64
          %0 = tk.index "d0 floordiv 2" : i64
          %1 = arith.cmpi sge, %0, %zero : i64
          tk.assert %1 "index out of range"
          %2 = arith.index_cast %0 : i64 to index
          ...
    After:
          %0 = tk.index "d0 floordiv 2" : i32
          %2 = arith.index_cast %0 : i32 to index
          ...

    A vector of 64-bit numbers takes two registers where one of f32 takes one. Ranges follow from the
    sizes of axes and from constants (`ranges.py`); what is loaded may be anything, until it is checked:
    `select (x ult n), x, zero` truncates x first. Axes of sums that are not read any more (scores that a mask
    is known to hide, say) are dropped.
    """

    name = "narrow-integers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, FuncOp) and func.scheduled is None:
                _Narrower(func).run()


class _Narrower:
    def __init__(self, func: FuncOp) -> None:
        self.func = func
        self.ranges: dict[SSAValue, Range | None] = {}
        self.narrow: dict[SSAValue, SSAValue] = {}

    def run(self) -> None:
        ops = list(self.func.body.block.ops)
        for op in ops:
            if len(op.results) == 1:
                known = [self._checked(op, v) or self.ranges.get(v) for v in op.operands]
                self.ranges[op.results[0]] = range_of(op, known, self.func.space)
            elif isinstance(op, ArgReduceOp):
                self.ranges[op.position] = self.ranges.get(op.index)
            if not self._fold(op):
                self._narrow(op)
        for old, new in self.narrow.items():
            if old.first_use is not None and not isinstance(old.owner, arith.ConstantOp):
                old.replace_all_uses_with(self._widened(old, new))
        erase_unread(self.func.body.block)
        if any(isinstance(op, Reduction) and op.parent is None for op in ops):
            coalesce(self.func, merge=False)  # nobody may go along its axes any more

    # What is known already

    def _fold(self, op: Operation) -> bool:
        if isinstance(op, AssertOp):
            if _boolean(op.condition) is not True or not may_rewrite(op, "cannot fail"):
                return False
            Rewriter.erase_op(op)
            return True
        if not rewrites_left() or (value := self._known(op)) is None:
            return False
        count_rewrite(op, "known before")
        self.ranges[value] = self.ranges.get(value, self.ranges[op.results[0]])
        op.results[0].replace_all_uses_with(value)
        return True

    def _known(self, op: Operation) -> SSAValue | None:
        """The value that the result of `op` always equals."""
        if isinstance(op, CmpIOp):
            known = decided(predicate_of(op), self.ranges.get(op.lhs), self.ranges.get(op.rhs))
            return None if known is None else self._before(op, constant_op(known, i1))
        if isinstance(op, SelectOp):
            which = _boolean(op.cond)
            return None if which is None else op.lhs if which else op.rhs
        if isinstance(op, arith.AndIOp | arith.OrIOp) and op.result.type == i1:
            for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                if (known := _boolean(one)) is not None:
                    return other if known == isinstance(op, arith.AndIOp) else one
        return None

    # What fits

    def _narrow(self, op: Operation) -> None:
        wide = [v for v in op.operands if v.type == i64 and self._checked(op, v) is None]
        if not isinstance(op, (*_SAME, *_MAKES, *_TAKES)) or not all(self._fits(v) for v in wide):
            return
        results = [r for r in op.results if r.type == i64]
        if not all(self._fits(r) for r in results) or not (wide or results):
            return
        if not may_rewrite(op, "narrowed"):
            return
        new = op.create(
            operands=[self._as_narrow(op, v) for v in op.operands],
            result_types=[i32 if r.type == i64 else r.type for r in op.results],
            properties=op.properties,
            attributes=op.attributes,
        )
        self._before(op, new)
        for old, result in zip(op.results, new.results, strict=True):
            result.name_hint = old.name_hint
            if old.type == i64:
                self.narrow[old] = result
            else:
                self.ranges[result] = self.ranges.get(old)
                old.replace_all_uses_with(result)

    def _checked(self, op: Operation, value: SSAValue) -> Range | None:
        """The range of `value` where `op` is a choice that takes it if it is unsigned below a limit."""
        if not isinstance(op, SelectOp) or value is not op.lhs:
            return None
        test = op.cond.owner
        if not isinstance(test, CmpIOp) or test.lhs is not value or predicate_of(test) != "ult":
            return None
        limit = self.ranges.get(test.rhs)
        return None if limit is None or limit[0] < 0 or limit[1] > _LIMIT else (0, max(0, limit[1] - 1))

    def _fits(self, value: SSAValue) -> bool:
        found = self.ranges.get(value)
        return found is not None and -_LIMIT <= found[0] <= found[1] < _LIMIT

    def _as_narrow(self, op: Operation, value: SSAValue) -> SSAValue:
        if value.type != i64:
            return value
        if value not in self.narrow:
            owner = value.owner
            if isinstance(owner, Operation) and (number := number_of(value)) is not None:
                made = constant_op(number, i32)
                made.location = owner.location
                block = self.func.body.block
                block.insert_op_before(made, owner)
                self.narrow[value] = made.result
            else:
                return self._before(op, TruncIOp(value, IntegerType(32)))
        return self.narrow[value]

    def _widened(self, old: SSAValue, new: SSAValue) -> SSAValue:
        assert isinstance(old.owner, Operation)
        return self._before(old.owner, ExtSIOp(new, i64))

    def _before(self, op: Operation, new: Operation) -> SSAValue:
        new.location = op.location
        self.func.body.block.insert_op_before(new, op)
        return new.results[0]


def _boolean(value: SSAValue) -> bool | None:
    """The value of a constant i1."""
    number = number_of(value) if value.type == i1 else None
    return None if number is None else bool(number)
