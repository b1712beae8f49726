"""Checks that vary over fewer axes than there are: where an other axis is empty, nothing is checked."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i1, i64
from xdsl.ir import Operation

from tilewright.dialects.index_expr import Expr, product
from tilewright.dialects.scalars import predicate_attr
from tilewright.dialects.tk.access import IndexOp
from tilewright.dialects.tk.arith import CmpIOp
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.domain import domains_of
from tilewright.dialects.tk.kernels import FuncOp

from ..rewrite import carry_location


def spare_empty(func: FuncOp) -> None:
    """Let checks hold where the iteration space has no point: they will stand outside of its loops."""
    checks = [op for op in func.body.block.ops if isinstance(op, AssertOp)]
    if not checks:
        return
    domains = domains_of(func.body.block)
    for check in checks:
        axes = domains[check.condition]
        others = [n for axis, n in enumerate(func.space) if axis not in axes and not (n.constant or 0) > 0]
        if others:
            _spare(func, check, others)


def _spare(func: FuncOp, check: AssertOp, others: Sequence[Expr]) -> None:
    count = IndexOp.make(product(others))
    zero = arith.ConstantOp.create(result_types=[i64], properties={"value": IntegerAttr(0, i64)})
    empty = CmpIOp.create(
        operands=[count.result, zero.result],
        result_types=[i1],
        properties={"predicate": predicate_attr(CmpIOp.name, "eq")},
    )
    either = arith.OrIOp.create(operands=[check.condition, empty.result], result_types=[i1])
    new: list[Operation] = [count, zero, empty, either]
    carry_location(check, new)
    func.body.block.insert_ops_before(new, check)
    check.operands[0] = either.result
