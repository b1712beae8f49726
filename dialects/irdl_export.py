"""Our dialects as IRDL, so that upstream MLIR can load and verify them.

Constraints that IRDL cannot say (sizes, element relations of tensors) become `irdl.any`;
everything structural (operand, result, attribute and region counts, base types,
optional and variadic segments, exact types, parameters) is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    VectorType,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    AllOf,
    AnyOf,
    AttrConstraint,
    AttrSetConstraint,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    MessageConstraint,
    OpDef,
    OptionalDef,
    ParamAttrConstraint,
    RangeConstraint,
    RangeLengthConstraint,
    RangeOf,
    RangeVarConstraint,
    VarConstraint,
    VariadicDef,
)
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, Pure

from .irdl_segments import Definition, is_open

_UPSTREAM_BASES: dict[type[Attribute], str] = {
    ArrayAttr: "#builtin.array",
    DenseArrayBase: "#builtin.dense_array",
    DictionaryAttr: "#builtin.dictionary",
    FloatAttr: "#builtin.float",
    FunctionType: "!builtin.function",
    IndexType: "!builtin.index",
    IntegerAttr: "#builtin.integer",
    IntegerType: "!builtin.integer",
    MemRefType: "!builtin.memref",
    StringAttr: "#builtin.string",
    SymbolRefAttr: "#builtin.symbol_ref",
    TensorType: "!builtin.tensor",
    UnitAttr: "#builtin.unit",
    VectorType: "!builtin.vector",
}
"""Upstream's registered names; xDSL's own `name` differs (two of these are "array" there)."""


class UpstreamTrait(Enum):
    """Traits that IRDL has no word for; `upstream.py` attaches them after loading."""

    PURE = Pure
    TERMINATOR = IsTerminator
    ISOLATED = IsolatedFromAbove
    NO_TERMINATOR = NoTerminator


def upstream_traits(dialects: Iterable[Dialect]) -> list[tuple[str, UpstreamTrait]]:
    """Op name and trait, for every trait that upstream must be told of."""
    return [
        (op.name, trait)
        for dialect in dialects
        for op in dialect.operations
        for trait in UpstreamTrait
        if op.has_trait(trait.value)
    ]


def export_irdl(dialects: Sequence[Dialect], *, arity: int) -> str:
    """One IRDL module with all `dialects`, which may refer to each other's types.

    `arity` bounds the groups of values that differ in type, see irdl_segments.py.
    """
    own = {attr: _symbol(attr.name) for dialect in dialects for attr in dialect.attributes}
    return "\n".join(line for dialect in dialects for line in _dialect(dialect, own, arity)) + "\n"


def _symbol(name: str) -> str:
    dialect, _, rest = name.partition(".")
    return f"@{dialect}::@{_identifier(rest)}"


def _identifier(name: str) -> str:
    return name if name.replace("_", "a").isalnum() else f'"{name}"'


OwnAttributes = dict[type[Attribute], str]


@dataclass
class _Body:
    """The lines of one definition and the SSA values that its constraints have become."""

    own: OwnAttributes
    lines: list[str] = field(default_factory=list[str])
    variables: dict[str, str] = field(default_factory=dict[str, str])
    count: int = 0

    def emit(self, text: str) -> str:
        value = f"%{self.count}"
        self.count += 1
        self.lines.append(f"    {value} = {text}")
        return value

    def constraint(self, constraint: AttrConstraint | RangeConstraint) -> str:
        """The SSA value of a constraint; equal variables share one, which is what ties them."""
        match constraint:
            case VarConstraint(name=name) | RangeVarConstraint(name=name):
                if name not in self.variables:
                    self.variables[name] = self.constraint(constraint.constraint)
                return self.variables[name]
            case (
                RangeOf(constr=inner)
                | RangeLengthConstraint(constraint=inner)
                | MessageConstraint(constr=inner)
            ):
                return self.constraint(inner)
            case EqAttrConstraint():
                return self.exactly(constraint.attr)
            case AttrSetConstraint():
                return self.one_of([self.exactly(a) for a in sorted(constraint.values, key=str)])
            case AnyOf():
                return self.one_of([self.constraint(c) for c in constraint.attr_constrs])
            case AllOf():
                values = [self.constraint(c) for c in constraint.attr_constrs]
                return self.emit(f"irdl.all_of({', '.join(values)})")
            case BaseAttr():
                return self.base(constraint.attr)
            case ParamAttrConstraint():
                return self.base(constraint.base_attr)
            case _:
                return self.emit("irdl.any")

    def member(self, constraint: RangeConstraint) -> str:
        """A constraint for one member of an open group, shared with no other member."""
        while isinstance(constraint, RangeLengthConstraint | RangeVarConstraint):
            constraint = constraint.constraint
        return self.constraint(constraint)

    def one_of(self, values: list[str]) -> str:
        return self.emit(f"irdl.any_of({', '.join(values)})")

    def exactly(self, attr: Attribute) -> str:
        if type(attr) in self.own:
            return self.base(type(attr))
        return self.emit(f"irdl.is {attr}")

    def base(self, attr: type[Attribute]) -> str:
        if attr in self.own:
            return self.emit(f"irdl.base {self.own[attr]}")
        if (name := _UPSTREAM_BASES.get(attr)) is not None:
            return self.emit(f'irdl.base "{name}"')
        return self.emit("irdl.any")


def _dialect(dialect: Dialect, own: OwnAttributes, arity: int) -> list[str]:
    lines = [f"irdl.dialect @{dialect.name} {{"]
    for attr in dialect.attributes:
        lines += _attribute(attr, own)
    for op in dialect.operations:
        lines += _operation(op, own, arity)
    return [*lines, "}"]


def _attribute(attr: type[Attribute], own: OwnAttributes) -> list[str]:
    body = _Body(own)
    named = ", ".join(f"{name}: {value}" for name, value in _parameters(attr, body))
    kind = "type" if issubclass(attr, TypeAttribute) else "attribute"
    clause = [f"    irdl.parameters({named})"] if named else []
    return [f"  irdl.{kind} {_local(attr.name)} {{", *body.lines, *clause, "  }"]


def _parameters(attr: type[Attribute], body: _Body) -> list[tuple[str, str]]:
    if issubclass(attr, EnumAttribute):  # upstream sees `#tw.combine<"add">`
        cases = [body.exactly(StringAttr(case.value)) for case in attr.enum_type]
        return [("case", body.one_of(cases))]
    assert issubclass(attr, ParametrizedAttribute), f"{attr.name}: upstream has no attribute of this kind"
    return [(name, body.constraint(p.constr)) for name, p in attr.get_irdl_definition().parameters]


def _local(name: str) -> str:
    return _symbol(name).partition("::")[2]


def _operation(op: type[Operation], own: OwnAttributes, arity: int) -> list[str]:
    assert issubclass(op, IRDLOperation)
    definition, body = op.get_irdl_definition(), _Body(own)
    clauses = [
        _values("operands", definition.operands, body, arity),
        _attributes(definition, body),
        _values("results", definition.results, body, arity),
        _regions(definition, body),
    ]
    return [f"  irdl.operation {_local(op.name)} {{", *body.lines, *filter(None, clauses), "  }"]


def _values(kind: str, definitions: Sequence[tuple[str, Definition]], body: _Body, arity: int) -> str:
    items: list[str] = []
    for name, definition in definitions:
        if is_open(definition):
            items += [f"{name}_{i}: optional {body.member(definition.constr)}" for i in range(arity)]
        else:
            items.append(f"{name}: {_arity(definition)}{body.constraint(definition.constr)}")
    return f"    irdl.{kind}({', '.join(items)})" if items else ""


def _arity(definition: object) -> str:
    if isinstance(definition, OptionalDef):
        return "optional "
    return "variadic " if isinstance(definition, VariadicDef) else ""


def _attributes(definition: OpDef, body: _Body) -> str:
    """Required attributes only: IRDL has no optional ones, and accepts those that are not named."""
    items = [
        f'"{name}" = {body.constraint(d.constr)}'
        for name, d in [*definition.properties.items(), *definition.attributes.items()]
        if not isinstance(d, OptionalDef) and not name.endswith("SegmentSizes")
    ]
    return f"    irdl.attributes {{{', '.join(items)}}}" if items else ""


def _regions(definition: OpDef, body: _Body) -> str:
    items = [f"{name}: {body.emit('irdl.region')}" for name, _ in definition.regions]
    return f"    irdl.regions({', '.join(items)})" if items else ""
