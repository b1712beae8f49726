"""Verifies a module again and again, at the cost of what changed in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import SymbolUserOpInterface

from .dominance import verify_dominance


class SelfContained:
    """Mixed into ops whose verifier reads the op, its types and attributes and its regions only.

    What was found right is then right wherever it stands and however often. An op whose verifier looks at
    where it stands, who uses or makes its operands or what another symbol is must not say this, unless
    all that it looks at stands in a region of an op that does.
    """


Stamp = tuple[object, ...]
"""What a verdict rests on. Holds the objects themselves, so that none is taken for a later one."""


@dataclass
class Verifier:
    """What `module.verify()` checks, and dominance, without judging the same thing twice.

    An op that is `SelfContained` is not judged again while nothing of it was replaced, nor if its text,
    but for the names of values, is that of one that was right. Positions are checked each time: parents,
    terminators, dominance.
    """

    _right: dict[Operation, Stamp] = field(default_factory=dict[Operation, Stamp])
    _texts: set[Stamp] = field(default_factory=set[Stamp])
    _numbers: _Numbers = field(default_factory=lambda: _Numbers())

    def verify(self, module: ModuleOp) -> None:
        """Raise what xDSL's verifier or `verify_dominance` raises."""
        before, self._right = self._right, {}
        self._check(module, before)
        verify_dominance(module)

    def _check(self, op: Operation, before: dict[Operation, Stamp]) -> None:
        stamp = _stamp(op) if isinstance(op, SelfContained) and not _uses_symbols(type(op)) else None
        if stamp is None:
            for region in op.regions:
                self._check_region(region, before)
            op.verify(verify_nested_ops=False)
            return
        if before.get(op) != stamp:
            self._judge(op)
        elif op.parent is not None and op.parent.last_op is op:
            op.verify(verify_nested_ops=False)  # it need not have been the last before
        self._right[op] = stamp

    def _judge(self, op: Operation) -> None:
        text = self._numbers.text(op)
        if text not in self._texts or (op.parent is not None and op.parent.last_op is op):
            op.verify()
            self._texts.add(text)

    def _check_region(self, region: Region, before: dict[Operation, Stamp]) -> None:
        for block in region.blocks:
            if block.first_op is None:
                block.verify()  # which says where a block may be empty
            for op in block.ops:
                _check_parents(op, block, region)
                self._check(op, before)


def _check_parents(op: Operation, block: Block, region: Region) -> None:
    if op.parent is not block or block.parent is not region:
        raise ValueError(f"the parent pointer of {op.name} or of its block is not what contains it")


_A_NAME = -1


def _is_name(property_: str, attribute: Attribute) -> bool:
    """True for what a symbol is called, of which no verifier but the symbol table's thinks anything."""
    return property_ == "sym_name" and type(attribute) is StringAttr and attribute.data != ""


@cache
def _uses_symbols(cls: type[Operation]) -> bool:
    return any(isinstance(trait, SymbolUserOpInterface) for trait in cls.traits)


def _stamp(op: Operation) -> Stamp | None:
    """None where something inside depends on other symbols."""
    if not op.regions:
        return _own(op)
    parts: list[object] = [_own(op)]
    for region in op.regions:
        if not _stamp_region(region, parts):
            return None
    return tuple(parts)


def _stamp_region(region: Region, parts: list[object]) -> bool:
    """Every block and op of a region, in order, with their own stamps; False if one uses symbols."""
    for block in region.blocks:
        parts += (block, [a.type for a in block.args])
        for op in block.ops:
            _check_parents(op, block, region)
            if _uses_symbols(type(op)):
                return False
            parts += (op, _own(op))
            for inner in op.regions:
                if not _stamp_region(inner, parts):
                    return False
    return True


def _own(op: Operation) -> Stamp:
    operands = _operands(op)
    return (
        operands,
        [v.type for v in operands],
        [r.type for r in op.results],
        op.properties.copy(),
        op.attributes.copy(),
        tuple(op.successors),
        tuple(op.regions),
    )


def _operands(op: Operation) -> tuple[SSAValue, ...]:
    # `op.operands` makes a sequence for each look; this is asked of every op after every pass.
    return op._operands  # pyright: ignore[reportPrivateUsage]


@dataclass
class _Numbers:
    """A number for each attribute, equal for equal ones, found by identity after the first time."""

    _of_object: dict[int, tuple[Attribute, int]] = field(default_factory=dict[int, tuple[Attribute, int]])
    _of_value: dict[Attribute, int] = field(default_factory=dict[Attribute, int])

    def text(self, op: Operation) -> Stamp:
        """The op with all in its regions; values are numbered in order of appearance."""
        out: list[object] = []
        self._write(op, {}, out)
        return tuple(out)

    def _write(self, op: Operation, values: dict[SSAValue, int], out: list[object]) -> None:
        out.append(type(op))
        for value in _operands(op):
            out += (values.setdefault(value, len(values)), self._number(value.type))
        out.append("->")
        self._define(op.results, values, out)
        for name, attribute in op.properties.items():
            out += (name, _A_NAME if _is_name(name, attribute) else self._number(attribute))
        out.append("{}")
        for name, attribute in op.attributes.items():
            out += (name, self._number(attribute))
        out += op.successors
        for region in op.regions:
            out.append("({")
            for block in region.blocks:
                out.append("^")
                self._define(block.args, values, out)
                for inner in block.ops:
                    self._write(inner, values, out)
            out.append("})")

    def _define(self, made: Sequence[SSAValue], values: dict[SSAValue, int], out: list[object]) -> None:
        for value in made:
            values[value] = len(values)
            out.append(self._number(value.type))

    def _number(self, attribute: Attribute) -> int:
        found = self._of_object.get(id(attribute))
        if found is None:
            number = self._of_value.setdefault(attribute, len(self._of_value))
            found = self._of_object[id(attribute)] = (attribute, number)
        return found[1]
