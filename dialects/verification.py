"""Verifies a module again and again, at the cost of what changed in between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, Region
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import DiagnosticException

from .dominance import verify_dominance
from .op_text import OpTexts, Text, is_isolated
from .snapshot import BlockSnapshot, RegionSnapshot, Snapshot, check_parents, snapshot_of, snapshot_of_block


class SelfContained:
    """Mixed into ops whose verifier reads the op, its types and attributes and its regions only.

    What was found right is then right wherever it stands and however often. An op whose verifier looks at
    where it stands, who uses or makes its operands or what another symbol is must not say this, unless
    all that it looks at stands in a region of an op that does.
    """


class Enclosed:
    """Mixed into ops without regions whose verifier reads the op, its types and attributes and, of the ops
    around it, the properties and attributes; so do those of all upstream ops of `arith` and `math`."""


@dataclass
class Verifier:
    """What `module.verify()` checks, and dominance, without judging the same thing twice.

    A module is not judged again while nothing of it was replaced. If something was, an op that is
    `SelfContained` is not judged again while nothing of that op was, nor if its text, but for the names
    of values, is that of one that was right; nor is an `Enclosed` op, if the texts of the ops around it
    are the same, too. A function is not judged again while only what is in its blocks changed. Then positions
    are checked each time: parents, terminators, dominance (which nothing outside can change for what is
    inside an isolated op).
    """

    _module: Snapshot | None = None
    _right: dict[int, Snapshot] = field(default_factory=dict[int, Snapshot])
    """Self-contained ops by their `id`."""
    _heads: dict[int, Snapshot] = field(default_factory=dict[int, Snapshot])
    """Functions by their `id`."""
    _texts: OpTexts = field(default_factory=OpTexts)
    _right_texts: set[Text] = field(default_factory=set[Text])
    _around: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    """A number for each nest of ops: that of the outer ones and the text of the innermost."""
    _right_inside: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    """Enclosed ops: what is around them, and their own text."""

    def verify(self, module: ModuleOp) -> None:
        """Raise what xDSL's verifier or `verify_dominance` raises."""
        last, self._module = self._module, None
        if last is None or last.op is not module or module.parent is not None or not last.is_same_module():
            look = _Look(self._right, self._heads)
            self._right, self._heads = {}, {}
            last = self._check(module, look, set())
            if look.unsure:
                verify_dominance(module, look.right)
            self._right, self._heads = look.right, look.heads
        self._module = last

    def _check(self, op: Operation, look: _Look, defined: set[int]) -> Snapshot:
        known = look.right_before.get(id(op))
        if known is not None and known.is_current():
            if op.next_op is None and not _may_end(op):
                op.verify(verify_nested_ops=False)  # it need not have been the last before
            look.right[id(op)] = known
        elif isinstance(op, SelfContained):
            known = snapshot_of(op)
            if self._judge(known):
                look.right[id(op)] = known
        else:
            inner = set[int]() if is_isolated(type(op)) else defined
            known = snapshot_of(op, tuple([self._check_region(region, look, inner) for region in op.regions]))
            if look.unsure or not _has_right_head(known, look):
                op.verify(verify_nested_ops=False)
            return known
        if known.regions and (id(op) not in look.right or not is_isolated(type(op))):
            look.unsure = True
        return known

    def _judge(self, known: Snapshot) -> bool:
        """Raise what is wrong; false where it must be judged each time."""
        op, text = known.op, self._texts.text(known)
        if text is None:
            op.verify()
        elif text not in self._right_texts or (op.next_op is None and not _may_end(op)):
            self._verify(known, -1)
            self._right_texts.add(text)
        return text is not None

    def _verify(self, known: Snapshot, around: int) -> None:
        """`op.verify()`, but for enclosed ops that stand as others stood that were right."""
        here = self._around.setdefault((around, self._texts.number(known)), len(self._around))
        for region in known.regions:
            for block in region.blocks:
                if not block.ops:
                    block.block.verify()  # which says where a block may be empty
                for inner in block.ops:
                    if _is_enclosed(type(inner.op)) and inner is not block.ops[-1]:
                        self._verify_enclosed(inner, here)
                    else:
                        self._verify(inner, here)
        known.op.verify(verify_nested_ops=False)

    def _verify_enclosed(self, op: Snapshot, around: int) -> None:
        known = (around, self._texts.number(op))
        if known not in self._right_inside:
            op.op.verify()
            self._right_inside.add(known)

    def _check_region(self, region: Region, look: _Look, defined: set[int]) -> RegionSnapshot:
        """Check each op; `look` is unsure then where something may not be defined before its use."""
        blocks: list[BlockSnapshot] = []
        for block in region.blocks:
            look.unsure = look.unsure or block.next_block is not None
            made: list[int] = list(map(id, block.args))
            defined.update(made)
            op, ops = block.first_op, list[Snapshot]()
            if op is None:
                block.verify()  # which says where a block may be empty
            while op is not None:
                check_parents(op, block, region)
                known = self._check(op, look, defined)
                ops.append(known)
                if not defined.issuperset(map(id, known.operands)):
                    look.unsure = True
                results = list(map(id, known.results))
                made += results
                defined.update(results)
                op = op.next_op
            defined.difference_update(made)
            blocks.append(snapshot_of_block(block, ops))
        return RegionSnapshot(region, tuple(blocks))


def broken_op(op: Operation) -> tuple[Operation, Exception] | None:
    """The first op, inner ones first, that does not verify, and what its verifier says of it."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                if (found := broken_op(inner)) is not None:
                    return found
    try:
        for region in op.regions:
            for block in region.blocks:
                if block.first_op is None:
                    block.verify()  # which says where a block may be empty
        op.verify(verify_nested_ops=False)
    except (DiagnosticException, ValueError) as error:
        return op, error
    return None


@dataclass
class _Look:
    """One look at a module in which something changed: what was known, and what is."""

    right_before: Mapping[int, Snapshot]
    heads_before: Mapping[int, Snapshot]
    right: dict[int, Snapshot] = field(default_factory=dict[int, Snapshot])
    heads: dict[int, Snapshot] = field(default_factory=dict[int, Snapshot])
    unsure: bool = False
    """Whether an operand may not be defined before its use: then `verify_dominance` judges."""


@cache
def _is_enclosed(cls: type[Operation]) -> bool:
    return issubclass(cls, Enclosed) or cls.dialect_name() in ("arith", "math")


def _has_right_head(known: Snapshot, look: _Look) -> bool:
    """Whether nothing changed of what the verifier of a function reads: all but what is in its blocks.

    It also says that nothing in there is from outside, which dominance implies.
    """
    if not isinstance(known.op, FuncOp):
        return False
    look.heads[id(known.op)] = known
    before = look.heads_before.get(id(known.op))
    at_end = known.op.next_op is None and not _may_end(known.op)
    return before is not None and not at_end and before.head() == known.head()


def _may_end(op: Operation) -> bool:
    """Whether any op may be the last where this one stands."""
    region = op.parent_region()
    if region is None or region.parent is None or not region.parent.has_trait(NoTerminator):
        return False
    return region.first_block is region.last_block
