"""What an editor asks about a place in a document; positions are offsets, answers plain data."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, LocationAttr, NameLoc, StringAttr, UnknownLoc
from xdsl.ir import Operation

from ..tools.op_reference import describe
from .source import Chunk, Definition, OpText, Placed, Range

_MAX_LINE = 160


@dataclass
class Symbol:
    """An entry of the outline."""

    name: str
    detail: str
    at: Range
    name_at: Range
    children: list[Symbol] = field(default_factory=list["Symbol"])


def definition_of(chunks: Sequence[Chunk], offset: int) -> Range | None:
    """Where the value or symbol at `offset` is defined."""
    if (found := _value_at(chunks, offset)) is not None:
        start, definition = found
        return definition.at.shifted(start)
    if (named := _symbol_at(chunks, offset)) is not None:
        chunk, name, _ = named
        return next((text.name for other, text in chunk.symbol_definitions() if other == name), None)
    return None


def references_of(chunks: Sequence[Chunk], offset: int, *, with_definition: bool) -> list[Range]:
    """Where the value or symbol at `offset` is used."""
    if (found := _value_at(chunks, offset)) is not None:
        start, definition = found
        own = [definition.at] if with_definition else []
        return [at.shifted(start) for at in [*own, *(use.at for use in definition.uses)]]
    if (named := _symbol_at(chunks, offset)) is not None:
        chunk, name, _ = named
        defining = [text.at for other, text in chunk.symbol_definitions() if other == name]
        every = [at for other, at in chunk.symbols() if other == name]
        heads = [next((at for at in every if at.start >= d.start), None) for d in defining]
        return [at for at in every if with_definition or at not in heads]
    return []


def hover(chunks: Sequence[Chunk], offset: int) -> tuple[str, Range] | None:
    """Markdown about the value, op name or symbol at `offset`, and what it stands on."""
    if (found := _value_at(chunks, offset)) is not None:
        start, definition = found
        places = [definition.at, *(use.at for use in definition.uses)]
        at = next(r for r in places if r.holds(offset - start))
        return _about_value(definition), at.shifted(start)
    if (text := _op_named_at(chunks, offset)) is not None:
        return _about_op(text.op), text.name
    if (named := _symbol_at(chunks, offset)) is not None:
        chunk, name, at = named
        for other, text in chunk.symbol_definitions():
            if other == name:
                return _code(_first_line(chunk, text)), at
    return None


def outline(chunks: Sequence[Chunk]) -> list[Symbol]:
    """Functions, and in them what has regions: kernels, loops."""
    roots: list[Symbol] = []
    for chunk in chunks:
        stack: list[Symbol] = []
        for text in chunk.ops():
            if not text.op.regions:
                continue
            symbol = Symbol(*_title(text.op), text.at, text.name)
            while stack and stack[-1].at.end < text.at.end:
                stack.pop()
            (stack[-1].children if stack else roots).append(symbol)
            stack.append(symbol)
    return roots


def completions(ctx: Context, typed: str) -> list[tuple[str, str]]:
    """Names of ops of the dialect whose prefix stands before the cursor, with their documentation."""
    dialect, dot, _ = typed.rpartition(".")
    if not dot:
        return [(name, "") for name in sorted(ctx.registered_dialect_names)]
    found = ctx.get_optional_dialect(dialect) if dialect in ctx.registered_dialect_names else None
    return [] if found is None else [(op.name, describe(op)) for op in found.operations]


# What is where


def _chunk_at(chunks: Sequence[Chunk], offset: int) -> Chunk | None:
    return next((chunk for chunk in chunks if chunk.start <= offset <= chunk.start + len(chunk.text)), None)


def _pieces_at(chunks: Sequence[Chunk], offset: int) -> Iterator[Placed]:
    """That which holds it; between two of them, both."""
    chunk = _chunk_at(chunks, offset)
    for placed in () if chunk is None else chunk.pieces:
        if placed.start <= offset <= placed.start + len(placed.piece.text):
            yield placed


def _value_at(chunks: Sequence[Chunk], offset: int) -> tuple[int, Definition] | None:
    """What defines the value there, and where the piece begins that has it."""
    for start, piece in _pieces_at(chunks, offset):
        if (definition := piece.definition_at(offset - start)) is not None:
            return start, definition
    return None


def _op_named_at(chunks: Sequence[Chunk], offset: int) -> OpText | None:
    for start, piece in _pieces_at(chunks, offset):
        for text in piece.ops:
            if text.name.holds(offset - start):
                return text.shifted(start)
    around = None if (chunk := _chunk_at(chunks, offset)) is None else chunk.around
    return around if around is not None and around.name.holds(offset) else None


def _symbol_at(chunks: Sequence[Chunk], offset: int) -> tuple[Chunk, str, Range] | None:
    if (chunk := _chunk_at(chunks, offset)) is not None:
        for name, at in chunk.symbols():
            if at.holds(offset):
                return chunk, name, at
    return None


# What is said about it


def _about_value(definition: Definition) -> str:
    owner = definition.values[0].owner
    lines = [
        f"%{definition.name}{f'#{i}' if len(definition.values) > 1 else ''} : {value.type}"
        for i, value in enumerate(definition.values)
    ]
    parts = [_code("\n".join(lines))]
    if isinstance(owner, Operation):
        parts += [f"result of `{owner.name}`{_place(owner.location)}"]
    else:
        parent = owner.parent_op()
        parts += [f"argument of `{parent.name}`" if parent is not None else "block argument"]
    uses = len(definition.uses)
    return "\n\n".join([*parts, f"{uses} use{'' if uses == 1 else 's'}"])


def _about_op(op: Operation) -> str:
    lines = [f"**`{op.name}`**{_place(op.location)}", describe(type(op))]
    if op.results:
        lines.insert(1, _code("\n".join(f"-> {result.type}" for result in op.results)))
    return "\n\n".join(lines)


def _place(location: LocationAttr) -> str:
    """The user's Python line that the op comes from."""
    if isinstance(location, UnknownLoc):
        return ""
    if isinstance(location, NameLoc):
        inner = _place(location.location) if isinstance(location.location, LocationAttr) else ""
        return f"{inner or ' from'} (`{location.desc.data}`)"
    if isinstance(location, FileLineColLoc):
        return f" from `{location.filename.data}:{location.line.data}`"
    return f" from `{location}`"


def _title(op: Operation) -> tuple[str, str]:
    """What the outline calls an op, and its kind."""
    for key in ("sym_name", "tk.name"):
        name = op.properties.get(key) or op.attributes.get(key)
        if isinstance(name, StringAttr):
            return (f"@{name.data}" if key == "sym_name" else name.data), op.name
    return op.name, ""


def _first_line(chunk: Chunk, text: OpText) -> str:
    start = text.at.start - chunk.start
    line = chunk.text[start : text.at.end - chunk.start].partition("\n")[0].rstrip(" {")
    return line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]}..."


def _code(text: str) -> str:
    return f"```mlir\n{inspect.cleandoc(text)}\n```"
