"""What cannot be read as `tw` (code TW1031)."""

from __future__ import annotations

from xdsl.ir import Operation

from tilewright.dialects.diagnostics import TilewrightError


class CannotImport(TilewrightError):
    """An op of another dialect that `tw` has no counterpart for."""

    code = "TW1031"
    what = "`{name}` cannot be imported"
    why = "{reason}"
    fix = "lower or rewrite it with mlir-opt first; docs/tutorials/other-mlir.md lists what can be imported"


def cannot(op: Operation, reason: str) -> CannotImport:
    return CannotImport(op, name=name_of(op), reason=reason)


def name_of(op: Operation) -> str:
    """The name of an op, of a dialect that nobody registered too."""
    given = op.attributes.get("op_name__")
    return op.name if given is None else str(given).strip('"')
