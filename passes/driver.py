"""A worklist that applies rewrite rules until none matches, in near-linear time.

A rule is a function from an op to the values that replace its results, or None. Rules are
rows of a table keyed by op class, so an op meets only its own:

    def fold_double_neg(op: Operation, rw: Rewrite) -> SSAValue | None:
        inner = op.operands[0].owner
        return inner.operands[0] if isinstance(inner, NegOp) else None

    RULES: Rules = {NegOp: (fold_double_neg,)}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.diagnostics import TilewrightError
from tilewright.dialects.ir_access import ops_within

from .rewrite import FailedRule, carry_location, count_rewrite, is_removable, rewrites_left

OpT = TypeVar("OpT", bound=Operation)
_Items = Sequence[object]


class RewriteBudgetExceeded(TilewrightError):
    """Rules that undo each other."""

    code = "TW3101"
    what = "`{name}` did not settle after {budget} rewrites"
    why = "two rules undo each other, or one matches what it makes; the last op rewritten is shown below"
    fix = "this is a bug in `{name}`: mend it, or report it with the module that `TILEWRIGHT_DUMP` writes"


class Rewrite:
    """Where a rule puts new ops: before the op it matched, with that op's location."""

    def __init__(self, op: Operation) -> None:
        self.op = op
        self.new_ops: list[Operation] = []

    def insert(self, new: OpT, like: Operation | None = None) -> OpT:
        """Put `new` before the matched op; it stands for `like`, by default the matched op."""
        carry_location(like or self.op, (new,))
        Rewriter.insert_op(new, InsertPoint.before(self.op))
        self.new_ops.append(new)
        return new

    def value(self, new: Operation, like: Operation | None = None) -> SSAValue:
        """Insert `new` and return its only result."""
        return self.insert(new, like).results[0]


Rule = Callable[[Operation, Rewrite], "SSAValue | Sequence[SSAValue] | None"]
Rules = Mapping[type[Operation], Sequence[Rule]]


def apply_rules(root: Operation, rules: Rules, name: str, *, fallback: Sequence[Rule] = ()) -> bool:
    """Apply `rules` (then `fallback`, to every op) under `root`; True where something changed.

    Ops that a rewrite leaves unused and without effect are erased.
    """
    worklist = ops_within(root)
    worklist.reverse()
    pending = set(worklist)
    budget = 8 * len(worklist) + 256
    rewrites = 0
    while worklist and rewrites_left():
        op = worklist.pop()
        pending.discard(op)
        if op.parent is None:
            continue
        if _is_dead(op):
            _erase(op, worklist, pending)
            continue
        rewrite = _first_match(op, rules, fallback)
        if rewrite is None:
            continue
        count_rewrite(op)
        rewrites += 1
        if rewrites > budget:
            raise RewriteBudgetExceeded(op, name=name, budget=budget)
        _commit(op, rewrite, worklist, pending)
    return rewrites > 0


def _first_match(
    op: Operation, rules: Rules, fallback: Sequence[Rule]
) -> tuple[Rewrite, Sequence[SSAValue]] | None:
    for rule in (*rules.get(type(op), ()), *fallback):
        rewrite = Rewrite(op)
        try:
            found = rule(op, rewrite)
            if found is not None:
                return rewrite, _checked(op, (found,) if isinstance(found, SSAValue) else found)
        except TilewrightError:
            raise
        except Exception as error:
            raise FailedRule(op, error) from error
        assert not rewrite.new_ops, f"{rule} inserted ops and then declined"
    return None


def _checked(op: Operation, values: object) -> Sequence[SSAValue]:
    """What a rule returned, as values for the results of `op`; raises TypeError where it is none."""
    kind = type(values).__name__
    if not isinstance(values, Sequence) or any(not isinstance(v, SSAValue) for v in cast(_Items, values)):
        raise TypeError(
            f"a rule returns a value for each result of the op, or None; this is {kind} "
            "(`rewrite.value(NewOp(...))` inserts an op and is its result)"
        )
    replacements = cast("Sequence[SSAValue]", values)
    if [v.type for v in replacements] != [r.type for r in op.results]:
        new, old = (", ".join(str(v.type) for v in group) for group in (replacements, op.results))
        raise TypeError(f"values of types ({new}) cannot replace results of types ({old})")
    for value in replacements:
        if value.owner is op:
            raise TypeError("an op cannot take its own place: return None to leave it as it is")
        if isinstance(owner := value.owner, Operation) and owner.parent is None:
            how = f"`rewrite.value({type(owner).__name__}(...))` puts it there"
            raise TypeError(f"{owner.name} is in no block: {how}")
    return replacements


def _commit(
    op: Operation,
    rewrite: tuple[Rewrite, Sequence[SSAValue]],
    worklist: list[Operation],
    pending: set[Operation],
) -> None:
    changed, values = rewrite
    for old, new in zip(op.results, values, strict=True):
        for use in old.uses:
            _push(use.operation, worklist, pending)
        old.replace_all_uses_with(new)
    _erase(op, worklist, pending)
    for new_op in reversed(changed.new_ops):
        _push(new_op, worklist, pending)


def _push(op: Operation, worklist: list[Operation], pending: set[Operation]) -> None:
    if op not in pending:
        pending.add(op)
        worklist.append(op)


def _is_dead(op: Operation) -> bool:
    return all(r.first_use is None for r in op.results) and bool(op.results) and is_removable(op)


def _erase(op: Operation, worklist: list[Operation], pending: set[Operation]) -> None:
    operands = tuple(op.operands)
    block = op.parent
    assert block is not None
    block.erase_op(op)
    for operand in operands:
        if operand.first_use is None and isinstance(owner := operand.owner, Operation):
            _push(owner, worklist, pending)
