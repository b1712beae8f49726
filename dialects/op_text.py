"""What ops say, as numbers: equal for ops that differ in nothing but the names of their values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.traits import IsolatedFromAbove, SymbolUserOpInterface

from .snapshot import RegionSnapshot, Snapshot

Text = tuple[int, ...]

_OPEN, _BLOCK, _RESULT, _CLOSE, _A_NAME = -1, -2, -3, -4, -5


@cache
def uses_symbols(cls: type[Operation]) -> bool:
    return any(isinstance(trait, SymbolUserOpInterface) for trait in cls.traits)


@cache
def is_isolated(cls: type[Operation]) -> bool:
    return cls.has_trait(IsolatedFromAbove)


@dataclass
class OpTexts:
    """Numbers are found by identity after the first time; what they stand for is held, so that it stays."""

    _of_parts: dict[tuple[object, ...], int] = field(default_factory=dict[tuple[object, ...], int])
    """By the class, the `id` of each type and attribute, and the names of attributes."""
    _of_values: dict[tuple[object, ...], int] = field(default_factory=dict[tuple[object, ...], int])
    _attributes: dict[Attribute, int] = field(default_factory=dict[Attribute, int])
    _by_identity: dict[int, tuple[Attribute, int]] = field(default_factory=dict[int, tuple[Attribute, int]])

    def text(self, op: Snapshot) -> Text | None:
        """The op with all in its regions; a value goes by the place where it appears first.

        None where something inside an isolated op uses a value that is not defined before it there,
        and where something has successors or uses symbols.
        """
        if _reaches_out(op):
            return None
        out, values = [self.number(op)], dict[int, int]()
        for value in op.operands:
            out.append(values.setdefault(id(value), len(out)))
        isolated = is_isolated(type(op.op))
        for region in op.regions:
            if not self._write(region, {} if isolated else values, isolated, out):
                return None
        return tuple(out)

    def _write(self, region: RegionSnapshot, values: dict[int, int], closed: bool, out: list[int]) -> bool:
        """False where there is no such text; `closed` regions use what is defined in them only."""
        made: list[int] = []
        out.append(_OPEN)
        for block in region.blocks:
            out.append(_BLOCK)
            for argument, type_ in zip(block.arguments, block.types, strict=True):
                values[id(argument)] = len(out)
                made.append(id(argument))
                out.append(self._attribute(type_))
            for op in block.ops:
                if not self._write_op(op, values, closed, out):
                    return False
                for result in op.results:
                    values[id(result)] = len(out)
                    made.append(id(result))
                    out.append(_RESULT)
        for name in made:
            del values[name]
        out.append(_CLOSE)
        return True

    def _write_op(self, op: Snapshot, values: dict[int, int], closed: bool, out: list[int]) -> bool:
        if _reaches_out(op):
            return False
        out.append(self.number(op))
        for value in op.operands:
            place = values.get(id(value))
            if place is None:
                if closed:
                    return False
                place = values[id(value)] = len(out)
            out.append(place)
        return not op.regions or all([self._write(region, values, closed, out) for region in op.regions])

    def number(self, op: Snapshot) -> int:
        """The op alone: what it is called, its types, properties and attributes."""
        _, _, _, operand_types, result_types, properties, attributes, _, _ = op
        parts = (
            type(op.op),
            *map(id, operand_types),
            None,
            *map(id, result_types),
            *properties,
            *map(id, properties.values()),
            None,
            *attributes,
            *map(id, attributes.values()),
        )
        if (known := self._of_parts.get(parts)) is not None:
            return known
        values = (
            type(op.op),
            tuple([self._attribute(type_) for type_ in operand_types]),
            tuple([self._attribute(type_) for type_ in result_types]),
            self._named(properties),
            self._named(attributes),
        )
        number = self._of_values.setdefault(values, len(self._of_values))
        self._of_parts[parts] = number
        return number

    def _named(self, attributes: Mapping[str, Attribute]) -> tuple[tuple[str, int], ...]:
        return tuple([(name, self._attribute(value, name)) for name, value in attributes.items()])

    def _attribute(self, attribute: Attribute, name: str = "") -> int:
        if (known := self._by_identity.get(id(attribute))) is None:
            number = self._attributes.setdefault(attribute, len(self._attributes))
            known = self._by_identity[id(attribute)] = (attribute, number)
        # Of what a symbol is called no verifier but the symbol table's thinks anything.
        named = name == "sym_name" and type(attribute) is StringAttr and attribute.data != ""
        return _A_NAME if named else known[1]


def _reaches_out(op: Snapshot) -> bool:
    return bool(op.successors) or uses_symbols(type(op.op))
