"""Writes docs/ops.md from the dialects: `python -m tilewright.frontend.tools.op_reference docs/ops.md`.

With `--load my_op.py my_op.md`, the page of the ops that this file registers.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from xdsl.ir import Attribute, Dialect, Operation, TypeAttribute
from xdsl.irdl import IRDLOperation, OptionalDef, VariadicDef

from tilewright.dialects.registry import OWN_DIALECTS, added_dialects, dialect

from .reference_page import header, run_generator

_HEADER = """# Operations

Generated from the dialects by `make docs`; do not edit. How the levels fit together is in
[ir.md](ir.md).
"""
_CODE = re.compile(r"^(%|[a-z]\w*\.[a-z]\w*[ ({]|\^)")
_HIDDEN = ("operandSegmentSizes", "resultSegmentSizes")


def reference() -> str:
    """The whole page."""
    dialects = [dialect(where) for where in OWN_DIALECTS.values()]
    lines = [_HEADER, *(line for d in dialects for line in _dialect(d))]
    return "\n".join(lines).rstrip() + "\n"


def reference_of_file(source: str) -> str:
    """The page of the dialects that a file, which was just loaded, registered."""
    lines = [header("Operations", source, "op_reference")]
    lines += [line for d in added_dialects() for line in _dialect(d)]
    return "\n".join(lines).rstrip() + "\n"


def _dialect(d: Dialect) -> Iterator[str]:
    operations = list(d.operations)
    yield f"## {d.name}\n"
    attributes = [attr for attr in d.attributes if attr.name.startswith(f"{d.name}.")]
    for attr in attributes:
        yield from _attribute(attr)
    for module, ops in groupby(operations, key=lambda op: op.__module__):
        yield f"### {module.rpartition('.')[2].replace('_', ' ')}\n"
        yield _first_line(sys.modules[module].__doc__) + "\n"
        for op in ops:
            yield from _operation(op)


def _attribute(attr: type[Attribute]) -> Iterator[str]:
    sigil = "!" if issubclass(attr, TypeAttribute) else "#"
    yield f"#### `{sigil}{attr.name}`\n"
    yield _markdown(attr.__doc__)


def _operation(op: type[Operation]) -> Iterator[str]:
    yield f"#### `{op.name}`\n"
    if op.__module__.startswith("tilewright."):
        yield f"`from {op.__module__} import {op.__qualname__}`\n"
    yield describe(op)


def describe(op: type[Operation]) -> str:
    """What an op means and consists of, as Markdown."""
    facts = [f"{kind}: {', '.join(names)}" for kind, names in _facts(op) if names]
    return "\n".join([_markdown(op.__doc__), *(["; ".join(facts) + "\n"] if facts else [])])


def _facts(op: type[Operation]) -> Iterator[tuple[str, list[str]]]:
    assert issubclass(op, IRDLOperation)
    definition = op.get_irdl_definition()
    yield "Operands", _names(definition.operands)
    data = [*definition.properties.items(), *definition.attributes.items()]
    yield "attributes", _names((name, d) for name, d in data if name not in _HIDDEN)
    yield "results", _names(definition.results)
    yield "regions", _names(definition.regions)
    yield "traits", sorted({type(trait).__name__ for trait in definition.traits.traits})


def _names(definitions: Iterable[tuple[str, object]]) -> list[str]:
    """`x` is required, `x?` may be absent, `x...` is a list."""
    return [f"`{name}{_arity(definition)}`" for name, definition in definitions]


def _arity(definition: object) -> str:
    if isinstance(definition, OptionalDef):
        return "?"
    return "..." if isinstance(definition, VariadicDef) else ""


def _first_line(doc: str | None) -> str:
    return inspect.cleandoc(doc or "").partition("\n")[0]


def _markdown(doc: str | None) -> str:
    """A docstring with its IR examples fenced."""
    text = inspect.cleandoc(doc or "")
    if "```" in text:
        return text + "\n"
    paragraphs = text.split("\n\n")
    return "\n\n".join(_fenced(p) if _is_code(p) else p for p in paragraphs) + "\n"


def _is_code(paragraph: str) -> bool:
    return _CODE.match(paragraph.lstrip()) is not None


def _fenced(paragraph: str) -> str:
    return f"```mlir\n{inspect.cleandoc(paragraph)}\n```"


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page to the file named on the command line, or to standard output."""
    return run_generator(argv, reference, reference_of_file)


if __name__ == "__main__":
    raise SystemExit(main())
