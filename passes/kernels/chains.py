"""Recognises chained products in kernel bodies: products whose results are reduced along one more axis.

Attention is one: scores are a product over the depth of heads; their maximum, the sum of their
exponentials, and the product of these with the values are reductions over keys. So are its gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.ir_access import defined_functions, operands_of, ops_of
from tilewright.dialects.scalars import is_number, number_of, predicate_of
from tilewright.dialects.tk.compute import DISTINCT, ReduceOp
from tilewright.dialects.tk.contraction import FACTORS, OF_TILE
from tilewright.dialects.tk.domain import REDUCTIONS_AND_SCANS, Axes, runs_and_domains
from tilewright.dialects.tk.kernels import KernelOp

from .running_sums import running_sums


@dataclass(frozen=True)
class Factors:
    """A product of `left`, which varies over rows, and `right`, which does not."""

    reduce: ReduceOp
    left: SSAValue
    right: SSAValue
    axis: int
    """Of an inner product the one that it sums over; of an outer one its columns."""


@dataclass(frozen=True)
class Shift:
    """What is subtracted in `exp(x - m)`, or in `exp2((x - m) * rate)`: the maximum of all x."""

    peak: ReduceOp
    value: SSAValue
    """`m`, but 0 where that is -inf."""
    rate: float | None
    """None for powers of e."""

    def decay(
        self,
        difference: SSAValue,
        constant: Callable[[float], SSAValue],
        emit: Callable[..., SSAValue],
    ) -> SSAValue:
        """What sums are multiplied with where `m` went up by minus `difference`.

        `emit` puts an op of a type, with these operands, into place.
        """
        if self.rate is None:
            return emit(math.ExpOp, difference)
        return emit(math.Exp2Op, emit(arith.MulfOp, difference, constant(self.rate)))


@dataclass(frozen=True)
class Outer:
    """A reduction along the chain."""

    reduce: ReduceOp
    factors: Factors | None
    """If it is a product."""
    shift: Shift | None = None
    """Where what it adds up is proportional to `exp(x - m)`."""


@dataclass(frozen=True)
class Chain:
    """`outer` reduces over `along`, and over all of `around`, what `inner` made for each row."""

    row: int
    along: int
    around: tuple[int, ...]
    """Batches that the chain goes along one after the other: heads of queries that share a head of keys."""
    inner: tuple[Factors, ...]
    outer: tuple[Outer, ...]
    sums: tuple[ReduceOp, ...]
    """Of what a program holds of each row: the same all along the chain."""

    @property
    def products(self) -> tuple[Factors, ...]:
        """Inner ones, then outer ones."""
        return (*self.inner, *(o.factors for o in self.outer if o.factors is not None))

    @property
    def scores(self) -> Mapping[SSAValue, Sequence[Factors]]:
        """The sums of inner products that are one tile each, and the products that each adds up."""
        return running_sums(self.inner)

    @property
    def sides(self) -> tuple[Axes, ...]:
        """The axes of each side: of inner products of one sum together, of outer ones of one left factor."""
        inner = [frozenset(f.axis for f in found) for found in self.scores.values()]
        outer: dict[SSAValue, set[int]] = {}
        for f in self.products[len(self.inner) :]:
            outer.setdefault(f.left, set()).add(f.axis)
        return (*inner, *map(frozenset, outer.values()))

    @property
    def multiplies_halves(self) -> bool:
        """Whether all products have factors of halves."""
        return all(FACTORS in f.reduce.attributes for f in self.products)

    @property
    def held(self) -> tuple[int, ...]:
        """Axes of which a program holds all: what inner products add up, columns of outer ones."""
        return tuple(sorted({f.axis for f in self.products}))


def chains_of(module: ModuleOp) -> list[tuple[KernelOp, Chain]]:
    """The kernels of a module that are chains of products."""
    kernels = [op for function in defined_functions(module) for op in function.body.block.ops]
    found = [(op, find_chain(op.body.block)) for op in kernels if isinstance(op, KernelOp)]
    return [(kernel, chain) for kernel, chain in found if chain is not None]


def find_chain(block: Block) -> Chain | None:
    """The chain of products that a kernel is, None of any other."""
    reductions = [
        op for op in ops_of(block) if type(op) in REDUCTIONS_AND_SCANS and DISTINCT not in op.attributes
    ]
    if len(reductions) < 2 or not all(_is_plain(op) for op in reductions):
        return None
    found = [op for op in reductions if isinstance(op, ReduceOp)]
    return _Finder(block, found).find()


def _is_plain(op: Operation) -> bool:
    return isinstance(op, ReduceOp) and op.result.type == f32 and OF_TILE not in op.attributes


class _Finder:
    def __init__(self, block: Block, reductions: list[ReduceOp]) -> None:
        self.runs, self.domains = runs_and_domains(block)
        *around, self.along = sorted(reductions[-1].over)
        self.around = frozenset(around)
        self.others = [op for op in reductions if self.along not in op.over]
        self.inner = [op for op in self.others if self.along in self.domains[op.value]]
        self.sums = tuple(op for op in self.others if op not in self.inner)
        self.outer = [op for op in reductions if self.along in op.over]
        self.needs = _needs(block, frozenset(self.outer))

    def find(self) -> Chain | None:
        whole = self.around | {self.along}
        if any(len(op.over) > 1 for op in self.others) or any({*op.over} != {*whole} for op in self.outer):
            return None
        inner = [self._factors(op) for op in self.inner]
        rows = [self.domains[f.left] - self.domains[f.right] for f in inner if f is not None]
        if not rows or len(rows) != len(inner):
            return None
        common = sorted(a for a in rows[0] if all(a in others for others in rows))
        if not common:
            return None
        row = common[-1]
        outer = [self._outer(op, row) for op in self.outer]
        chain = Chain(
            row,
            self.along,
            tuple(sorted(self.around)),
            tuple(f for f in inner if f is not None),
            tuple(o for o in outer if o is not None),
            self.sums,
        )
        complete = len(chain.outer) == len(self.outer) and whole.isdisjoint(chain.held)
        return chain if complete and row not in chain.held and self._fits_tiles(chain) else None

    def _fits_tiles(self, chain: Chain) -> bool:
        """Whether each op needs one tile at a time: of rows, and the chain or one axis beside."""
        held, columns = {*chain.held}, {o.factors.axis for o in chain.outer if o.factors is not None}
        scores = [o.reduce.value for o in chain.outer if o.factors is None]
        factors = [({f.axis}, v) for f in chain.products for v in (f.left, f.right)]
        return (
            bool(columns)
            and all(self._is_sum_of_row(op, chain) for op in self.sums)
            and all(held.isdisjoint(self.domains[v]) for v in scores)
            and all(held & self.domains[v] <= own for own, v in factors)
            and all(self._is_done(op, held, columns) for op in self.runs if not op.results)
        )

    def _is_done(self, op: Operation, held: set[int], columns: set[int]) -> bool:
        """Whether an effect is one of a step, when no sum is whole yet, or one behind all of them."""
        axes = self.runs[op]
        if axes.isdisjoint(self.around | {self.along}):
            return held & axes <= columns and len(held & axes) <= 1
        return self.along in axes and held.isdisjoint(axes) and not any(self.needs[v] for v in op.operands)

    def _is_sum_of_row(self, op: ReduceOp, chain: Chain) -> bool:
        """Whether `op` adds up what programs hold of each row, whatever the chain makes."""
        varies = self.domains[op.value]
        held = op.over[0] in chain.held and varies.isdisjoint({*chain.held, *self.around} - {op.over[0]})
        return held and op.kind.data == "add" and chain.row in varies and not self.needs[op.value]

    def _factors(self, op: ReduceOp) -> Factors | None:
        """An inner product: of values that the chain's reductions have no part in."""
        product = op.value.owner
        if op.kind.data != "add" or not isinstance(product, arith.MulfOp) or self.needs[op.value]:
            return None
        axis, (left, right) = op.over[0], (product.lhs, product.rhs)
        if self.along in self.domains[left]:
            left, right = right, left
        both = self.domains[left] & self.domains[right]
        changing = self.around | {self.along}
        if axis not in both or changing & self.domains[left] or self.along not in self.domains[right]:
            return None
        return Factors(op, left, right, axis)

    def _outer(self, op: ReduceOp, row: int) -> Outer | None:
        needs = self.needs[op.value]
        domain = self.domains[op.value]
        if self.along not in domain or row not in domain or len(needs) > 1:
            return None
        if op.kind.data == "max" and not needs:
            return Outer(op, None)
        if op.kind.data != "add":
            return None
        peak = next(iter(needs), None)
        shift = None if peak is None else self._shift(op.value, peak)
        if peak is not None and (peak.kind.data != "max" or shift is None):
            return None
        return Outer(op, self._outer_factors(op, row), shift)

    def _outer_factors(self, op: ReduceOp, row: int) -> Factors | None:
        """Rows by the chain, times the chain by columns."""
        product = op.value.owner
        if not isinstance(product, arith.MulfOp):
            return None
        left, right = product.lhs, product.rhs
        if row in self.domains[right]:
            left, right = right, left
        columns: Axes = self.domains[right] - self.domains[left]
        fits = row in self.domains[left] and row not in self.domains[right] and len(columns) == 1
        both = self.along in self.domains[left] and self.along in self.domains[right]
        if not fits or not both or self.needs[right]:
            return None
        return Factors(op, left, right, next(iter(columns)))

    def _shift(self, value: SSAValue, peak: ReduceOp) -> Shift | None:
        """What is subtracted from the exponent that `value` is proportional to, a function of `peak`."""
        op = value.owner
        if isinstance(op, math.ExpOp | math.Exp2Op):
            found = _difference(op)
            if found is None or found[0] is not peak.value or not is_guarded(found[1], peak.result):
                return None
            return Shift(peak, *found[1:])
        parts: tuple[SSAValue, ...] = ()
        if isinstance(op, arith.MulfOp):
            parts = (op.lhs, op.rhs)
        elif isinstance(op, arith.DivfOp | arith.NegfOp | arith.ExtFOp | arith.TruncFOp):
            parts = (op.operands[0],)
        elif isinstance(op, arith.SelectOp) and is_number(op.rhs, 0.0):
            parts = (op.lhs,)
        needing = [part for part in parts if self.needs[part]]
        others = [v for v in op.operands if v not in parts] if isinstance(op, Operation) else []
        if len(needing) != 1 or any(self.needs[v] for v in others):
            return None
        return self._shift(needing[0], peak)


def _needs(block: Block, outer: frozenset[ReduceOp]) -> dict[SSAValue, frozenset[ReduceOp]]:
    """The reductions along the chain that each value depends on, the closest ones."""
    none: frozenset[ReduceOp] = frozenset()
    needs: dict[SSAValue, frozenset[ReduceOp]] = dict.fromkeys(block.args, none)
    for op in ops_of(block):
        found = none.union(*map(needs.__getitem__, operands_of(op)))
        for result in op.results:
            needs[result] = frozenset((op,)) if isinstance(op, ReduceOp) and op in outer else found
    return needs


def _difference(power: math.ExpOp | math.Exp2Op) -> tuple[SSAValue, SSAValue, float | None] | None:
    """x, m and the rate of `exp(x - m)`, of `exp2((x - m) * rate)` or of `exp2(fma(x, rate, m * -rate))`."""
    op, rate = power.operand.owner, None
    if isinstance(power, math.Exp2Op):
        if isinstance(op, math.FmaOp) and isinstance(less := op.c.owner, arith.MulfOp):
            rate = positive(op.b)
            return (op.a, less.lhs, rate) if rate is not None and is_number(less.rhs, -rate) else None
        rate = positive(op.rhs) if isinstance(op, arith.MulfOp) else None
        if rate is None or not isinstance(op, arith.MulfOp):
            return None
        op = op.lhs.owner
    return (op.lhs, op.rhs, rate) if isinstance(op, arith.SubfOp) else None


def positive(value: SSAValue) -> float | None:
    """A constant above 0."""
    number = number_of(value)
    return number if number is not None and number > 0 else None


def is_guarded(value: SSAValue, peak: SSAValue) -> bool:
    """Whether `value` is `peak`, but 0 where that is -inf, or infinite.

    The maximum so far may be that when the one of all is not, and `exp(-inf - -inf)` is NaN.
    """
    op = value.owner
    if not isinstance(op, arith.SelectOp) or op.rhs is not peak or not is_number(op.lhs, 0.0):
        return False
    test = op.cond.owner
    if not isinstance(test, arith.CmpfOp) or predicate_of(test) != "oeq":
        return False
    sizes = [v.owner.operands[0] for v in test.operands if isinstance(v.owner, math.AbsFOp)]
    low, high = (any(is_number(v, n) for v in test.operands) for n in (float("-inf"), float("inf")))
    return (low and peak in test.operands) or (high and peak in sizes)
