"""Reads a document: parses what is new in it, and verifies what changed with that."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException, ParseError

from tilewright.dialects.diagnostics import TilewrightError
from tilewright.dialects.dominance import verify_dominance
from tilewright.dialects.op_text import uses_symbols

from .recorder import Recorder
from .source import Chunk, OpText, Piece, Placed, Problem, Range, moved
from .split import Parts, parts_of

_SEPARATOR = re.compile(r"^// -----[ \t]*$\n?", re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*")
_ENOUGH = 8
"""A verifier forgets nothing: another one is made when it was given so many times the ops of a module."""


def read(text: str, ctx: Context, before: Sequence[Chunk] = ()) -> list[Chunk]:
    """The chunks of a document, each parsed and verified as far as it goes.

    What stood in the document `before` is not parsed again; its chunks answer still, but have no modules.
    """
    ctx = ctx.clone()
    parts = list(_parts(text))
    texts = {part for _, part in parts}
    same = {chunk.text: chunk for chunk in before if chunk.text in texts}
    changed = [chunk for chunk in before if chunk.text not in texts]
    known = {placed.piece.text: placed.piece for chunk in changed for placed in chunk.pieces}
    verifiers = iter(changed)
    return [
        moved(chunk, start)
        if (chunk := same.pop(part, None)) is not None
        else _read(Chunk(start, part), ctx, known, next(verifiers, None))
        for start, part in parts
    ]


def _parts(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for match in [*_SEPARATOR.finditer(text), None]:
        end = len(text) if match is None else match.start()
        if text[start:end].strip() or match is None:
            yield start, text[start:end]
        start = end if match is None else match.end()


def _read(chunk: Chunk, ctx: Context, known: dict[str, Piece], last: Chunk | None) -> Chunk:
    """Each piece serves one place: it is taken out of `known`."""
    parts = parts_of(chunk.text)
    for at in parts.functions:
        text = chunk.text[at.start : at.end]
        piece = known.pop(text, None) or _parsed(Piece(text), ctx)
        chunk.pieces.append(Placed(chunk.start + at.start, piece))
    chunk.problems = [problem.shifted(start) for start, piece in chunk.pieces for problem in piece.problems]
    if not chunk.problems:
        _put_together(chunk, parts)
    if chunk.module is not None:
        _hand_over_verifier(chunk, last)
        chunk.problems = list(_broken_rules(chunk, chunk.module))
    return chunk


def _parsed(piece: Piece, ctx: Context) -> Piece:
    if not _COMMENT.sub("", piece.text).strip():
        return piece
    try:
        parser = Recorder(ctx, piece)  # reads the first token
    except ParseError as error:
        piece.problems.append(_unreadable(error))
        return piece
    try:
        module = parser.parse_module()
        written = any(text.op is module for text in piece.ops)
        piece.tops = [module] if written else list(module.ops)
    except ParseError as error:
        piece.problems.append(_unreadable(error))
    except Exception as error:  # a malformed attribute surfaces as anything, from anywhere in the parser
        piece.problems.append(_problem(Range(parser.pos, parser.pos + 1), error))
    piece.ops.sort(key=lambda op: (op.at.start, -op.at.end))
    return piece


def _unreadable(error: ParseError) -> Problem:
    return Problem(Range(error.span.start, error.span.end), error.msg)


def _put_together(chunk: Chunk, parts: Parts) -> None:
    """The module of a chunk whose pieces all parse; none where there are only comments."""
    tops = [op for _, piece in chunk.pieces for op in piece.tops or ()]
    for op in tops:
        if op.parent is not None:
            op.detach()
    if parts.name is not None:
        chunk.module = ModuleOp(tops)
        at = Range(parts.name.start, parts.end).shifted(chunk.start)
        chunk.around = OpText(chunk.module, at, parts.name.shifted(chunk.start))
    elif len(tops) == 1 and isinstance(tops[0], ModuleOp):
        chunk.module = tops[0]
    elif tops:
        chunk.module = ModuleOp(tops)


def _hand_over_verifier(chunk: Chunk, last: Chunk | None) -> None:
    count = sum(len(piece.ops) for _, piece in chunk.pieces)
    chunk.judged = count
    if last is not None and last.judged < _ENOUGH * count:
        chunk.verifier = last.verifier
        chunk.judged += last.judged


# Verification


def _broken_rules(chunk: Chunk, module: ModuleOp) -> Iterator[Problem]:
    """Nothing, mostly, and that is seen at once; else what is wrong with each op, then dominance."""
    try:
        chunk.verifier.verify(module)
        return
    except Exception:  # which of many is found below
        pass
    whole = Range(chunk.start, chunk.start + len(chunk.text))
    found = list(_of_ops([module], {module: whole if chunk.around is None else chunk.around.name}))
    for start, piece in chunk.pieces:
        found += [problem.shifted(start) for problem in _of_piece(piece, module)]
    if not found:
        try:
            verify_dominance(module)
        except TilewrightError as error:
            places = {text.op: text.name for text in chunk.ops()}
            found = [_problem(whole if error.op is None else places.get(error.op, whole), error)]
    yield from found


def _of_piece(piece: Piece, module: ModuleOp) -> list[Problem]:
    """Ops that use symbols are asked each time, the others once."""
    places = {text.op: text.name for text in piece.ops if text.op is not module}
    if piece.broken is None:
        piece.broken = list(_of_ops([op for op in places if not uses_symbols(type(op))], places))
    return piece.broken + list(_of_ops([op for op in places if uses_symbols(type(op))], places))


def _of_ops(ops: Sequence[Operation], places: dict[Operation, Range]) -> Iterator[Problem]:
    for op in ops:
        try:
            op.verify(verify_nested_ops=False)
        except Exception as error:
            yield _problem(places[op], error)


def _problem(at: Range, error: Exception) -> Problem:
    """An error as a diagnostic; what stands in the `ir:` line is in front of the reader already."""
    if isinstance(error, TilewrightError):
        lines = str(error).partition("\n  ir:")[0]
        return Problem(at, lines.partition(": ")[2], error.code)
    message = str(error) if isinstance(error, DiagnosticException) else f"{type(error).__name__}: {error}"
    return Problem(at, message.partition("\n\n")[0].strip())
