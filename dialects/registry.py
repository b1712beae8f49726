"""Dialect name -> where it lives. The only place that lists dialects; other packages may add theirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.ir import Attribute, Dialect, Operation

from .diagnostics import RegistrationClash
from .plugins import Table, definition, load

ClassT = TypeVar("ClassT", type[Operation], type[Attribute])

OWN_DIALECTS: Mapping[str, str] = {
    "tw": "tilewright.dialects.tw:TW",
    "tk": "tilewright.dialects.tk:TK",
    "th": "tilewright.dialects.th:TH",
}

SHARED_DIALECTS: Mapping[str, str] = {
    "arith": "tilewright.dialects.tk.arith:ARITH",
    "func": "xdsl.dialects.func:Func",
    "math": "xdsl.dialects.math:Math",
    "memref": "xdsl.dialects.memref:MemRef",
    "test": "xdsl.dialects.test:Test",
    "ub": "xdsl.dialects.ub:UB",
    "vector": "xdsl.dialects.vector:Vector",
}


def _accept(name: str, item: object) -> Dialect:
    if not isinstance(item, Dialect):
        raise TypeError(f"it is a {type(item).__name__}, not an xdsl.ir.Dialect")
    if item.name != name:
        raise TypeError(f"the entry point is named `{name}`, the dialect `{item.name}`")
    return item


_TABLE: Table[Dialect] = Table(
    "dialect", "tilewright.dialects", {**OWN_DIALECTS, **SHARED_DIALECTS, "builtin": Builtin}, _accept
)


def register_dialect(dialect: Dialect) -> Dialect:
    """Make the ops, attributes and types of a dialect known to every tool and compile of this process.

    >>> SQ = register_dialect(Dialect("sq", [SquaredReluOp]))

    Several files may each register some of a dialect. Of one that is loaded again, the later counts.
    """
    known = _TABLE.added.get(dialect.name)
    _TABLE.add(dialect.name, dialect if known is None else _joined(known, dialect))
    return dialect


def _joined(known: Dialect, more: Dialect) -> Dialect:
    """Both; raises RegistrationClash where two definitions share a name."""
    operations = _united(known.operations, more.operations)
    return Dialect(known.name, operations, _united(known.attributes, more.attributes))


def _united(known: Iterable[ClassT], more: Iterable[ClassT]) -> list[ClassT]:
    found = {cls.name: cls for cls in known}
    for cls in more:
        other = found.get(cls.name, cls)
        if definition(other) != definition(cls):
            raise RegistrationClash(kind="definition", name=cls.name, owner=".".join(definition(other)))
        found[cls.name] = cls
    return [*found.values()]


def added_dialects() -> list[Dialect]:
    """Those that `register_dialect` added in this process, in that order."""
    return list(_TABLE.added.values())


def foreign_dialects() -> list[str]:
    """The names of all that other packages and files add, sorted."""
    return sorted({*_TABLE.added, *_TABLE.installed()})


def dialect(where: str) -> Dialect:
    """Import `module:NAME`."""
    return load(where)


def registered_dialect(name: str) -> Dialect:
    """A dialect by its name, of another package too; raises UnknownName."""
    return _TABLE.get(name)


def new_context(*, allow_unregistered: bool = False) -> Context:
    """A context in which each dialect is imported when its first op or attribute is met."""
    ctx = Context(allow_unregistered=allow_unregistered)
    ctx.load_dialect(Builtin)
    for name in _TABLE.names():
        if name != "builtin":
            ctx.register_dialect(name, partial(_TABLE.get, name))
    return ctx
