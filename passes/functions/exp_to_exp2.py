"""The `exp-to-exp2` pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import e, inf, log2

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tilewright.dialects.scalars import is_number
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.kernels import FuncOp

from ..kernels.body import erase_unread
from ..kernels.chains import find_chain, is_guarded, positive
from ..kernels.facts import Body
from ..kernels.scalar_builder import InsertingBuilder, ScalarBuilder
from ..rewrite import may_rewrite, skip

_LOG2_E = log2(e)
_LEAST_RATE = 2.0**-100
"""What scores are multiplied with may be no zero of f32."""


@dataclass(frozen=True)
class ExpToExp2Pass(ModulePass):
    """Write exponentials in chains of products of halves as powers of two, scores as they come.

    Before:
        %x = arith.mulf %s, %c : f32                      // 0.125
        %m = tk.reduce max %x over [4] : f32
        %d = arith.subf %x, %m : f32
        %e = math.exp %d : f32
    After:
        %n = tk.reduce max %s over [4] : f32
        %m = arith.mulf %n, %c : f32                      // for those that read it elsewhere
        %t = arith.mulf %n, %minus_k : f32
        %d = math.fma %s, %k, %t : f32                    // 0.125 * log2(e)
        %e = math.exp2 %d : f32

    Devices have an instruction for powers of two; a function for those of e takes eight, more than all else
    that is done with a score beside the products (Dao, FlashAttention-2, 2023, counts so too). What is
    lost is less than the last place of a half: exponents are rounded, by |x| * 2**-24 of the result at most.

    Scores that are multiplied or divided by a positive number, and maybe hidden by -inf, need not be: the
    exponent takes the number along, where it is not above 1 / log2(e), so that nothing becomes infinite that
    was not. Of others, which something is added to (the least number of the type, say, which log2(e) would
    make -inf), the maximum is subtracted first: `exp2((x - m) * log2(e))`. Kernels without such a chain keep
    `exp`, as do those of f32.
    """

    name = "exp-to-exp2"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, FuncOp) and func.scheduled is None:
                _rewrite(func)


def _rewrite(func: FuncOp) -> None:
    chain = find_chain(func.body.block)
    if chain is None:
        return None
    if not chain.multiplies_halves:
        return skip(func, "its exponentials stay: it multiplies more than halves")
    body = Body.of(func.body.block)
    powers = [op for op in body.ops if isinstance(op, math.ExpOp) and op.result.type == f32]
    powers = [op for op in powers if chain.along in body.runs[op]]
    if not powers or not may_rewrite(func, "its exponentials are powers of two"):
        return None
    for outer in chain.outer:
        if outer.reduce.kind.data == "max":
            shifts = [s for o in chain.outer if (s := o.shift) is not None and s.peak is outer.reduce]
            done = _count_from_raw(outer.reduce, [s.value for s in shifts], powers)
            powers = [op for op in powers if op not in done]
    for power in powers:
        _as_exp2(power)
    erase_unread(func.body.block)
    return None


@dataclass(frozen=True)
class _Scaled:
    """A value that is a product or quotient of `raw`, -inf where one of the conditions hides it."""

    scaling: arith.MulfOp | arith.DivfOp
    hidden: tuple[arith.SelectOp, ...] = ()
    """Outermost first; both ways round."""

    @property
    def raw(self) -> SSAValue:
        return self.scaling.lhs

    @property
    def rate(self) -> float:
        """The power of two that it is in an exponential of e."""
        number = positive(self.scaling.rhs)
        assert number is not None
        return (number if isinstance(self.scaling, arith.MulfOp) else 1 / number) * _LOG2_E

    def written(self, b: ScalarBuilder) -> SSAValue:
        """What is not scaled."""
        value = self.raw
        for select in reversed(self.hidden):
            nothing = b.constant(-inf, f32)
            pair = (value, nothing) if is_number(select.rhs, -inf) else (nothing, value)
            value = b.select(select.cond, *pair)
        return value

    def again(self, b: ScalarBuilder, value: SSAValue) -> SSAValue:
        """`value` scaled: rounding keeps order, so that a maximum becomes the very one of scaled values."""
        return b.op(type(self.scaling), value, b.constant(positive(self.scaling.rhs) or 0.0, f32))


def _scaled(value: SSAValue) -> _Scaled | None:
    """How scores became `value`, where exponents may be taken of what they were before."""
    op = value.owner
    if isinstance(op, arith.MulfOp | arith.DivfOp) and positive(op.rhs) is not None:
        found = _Scaled(op)
        return found if _LEAST_RATE <= found.rate <= 1 else None
    if isinstance(op, arith.SelectOp) and (is_number(op.lhs, -inf) or is_number(op.rhs, -inf)):
        inner = _scaled(op.lhs if is_number(op.rhs, -inf) else op.rhs)
        return None if inner is None else _Scaled(inner.scaling, (op, *inner.hidden))
    return None


def _count_from_raw(
    peak: ReduceOp, shifts: Sequence[SSAValue], powers: Sequence[math.ExpOp]
) -> set[Operation]:
    """Take the maximum of scores before they are scaled; gives the exponentials that this rewrote."""
    scaled = _scaled(peak.value)
    if scaled is None:
        return set()
    b = InsertingBuilder(peak)
    raw = scaled.written(b)
    most = b.add(ReduceOp.make("max", raw, tuple(peak.over))).results[0]
    old = peak.result
    done = set[Operation]()
    rate = b.constant(scaled.rate, f32)
    less = b.constant(-scaled.rate, f32)
    for shift in dict.fromkeys(shifts):
        guarded = _guarded(b, shift, old, most)
        away = b.op(arith.MulfOp, guarded, less)
        for power in powers:
            op = power.operand.owner
            if isinstance(op, arith.SubfOp) and op.lhs is peak.value and op.rhs is shift:
                _replace(power, math.FmaOp, raw, rate, away)
                done.add(power)
    old.replace_all_uses_with(scaled.again(b, most))
    return done


def _guarded(b: ScalarBuilder, shift: SSAValue, old: SSAValue, new: SSAValue) -> SSAValue:
    """What `shift` is of `old`, of `new`: itself, but 0 where it is -inf, or infinite."""
    assert is_guarded(shift, old)
    assert isinstance(shift.owner, arith.SelectOp)
    test = shift.owner.cond.owner
    assert isinstance(test, arith.CmpfOp)
    sizes = any(isinstance(v.owner, math.AbsFOp) for v in test.operands)
    value, limit = (b.op(math.AbsFOp, new), inf) if sizes else (new, -inf)
    nothing = b.compare_float("oeq", value, b.constant(limit, f32))
    return b.select(nothing, b.constant(0.0, f32), new)


def _as_exp2(power: math.ExpOp) -> None:
    """An exponential of anything else."""
    b, op = InsertingBuilder(power), power.operand.owner
    if isinstance(op, arith.SubfOp) and (scaled := _scaled(op.lhs)) is not None:
        away = b.op(arith.MulfOp, op.rhs, b.constant(-_LOG2_E, f32))
        rate = b.constant(scaled.rate, f32)
        return _replace(power, math.FmaOp, scaled.written(b), rate, away)
    return _replace(power, arith.MulfOp, power.operand, b.constant(_LOG2_E, f32))


def _replace(power: math.ExpOp, exponent: type[Operation], *operands: SSAValue) -> None:
    b = InsertingBuilder(power)
    power.result.replace_all_uses_with(b.op(math.Exp2Op, b.op(exponent, *operands)))
    Rewriter.erase_op(power)
