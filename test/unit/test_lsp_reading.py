"""The language server reads what is new in a document, and knows the same as after reading all of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from xdsl.context import Context

from tilewright.dialects.registry import new_context
from tilewright.frontend.lsp.features import definition_of, outline, references_of
from tilewright.frontend.lsp.reading import read
from tilewright.frontend.lsp.recorder import Recorder
from tilewright.frontend.lsp.source import Chunk, Range


def function(name: str, op: str = "exp") -> str:
    return (
        f"// About @{name}.\n"
        f"func.func @{name}(%x: tensor<4x?xf32>) -> tensor<4x?xf32> {{\n"
        f"  %y = tw.{op} %x : tensor<4x?xf32>\n"
        "  func.return %y : tensor<4x?xf32>\n"
        '} loc("a.py":1:0)\n'
    ).replace("x?x", "x8x")


CALLER = """\
func.func @caller(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = func.call @b(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}
"""
A, B, C = function("a"), function("b", "neg"), function("c", "abs")
FLAT = A + B + CALLER + C
WRAPPED = f"// Top.\nbuiltin.module {{\n{FLAT}}}\n"
WRONG = B.replace("tw.neg %x : tensor<4x8xf32>", "tw.sum %x over [7] : tensor<4x8xf32> -> tensor<4x8xf32>")
ALIASED = "!t = tensor<4x8xf32>\n" + FLAT.replace("tw.exp %x : tensor<4x8xf32>", "tw.exp %x : !t")

VERSIONS: dict[str, list[str]] = {
    "an op": [FLAT, FLAT.replace("tw.neg", "tw.exp"), FLAT],
    "a function more": [FLAT, A + B + CALLER + function("d") + C, FLAT],
    "a function less": [FLAT, B + CALLER + C],
    "another order": [FLAT, C + CALLER + B + A],
    "a name twice": [FLAT, A + FLAT, FLAT],
    "a function that is called": [FLAT, A + CALLER + C, FLAT],
    "other symbols": [FLAT, FLAT.replace("@b", "@e")],
    "broken syntax": [FLAT, FLAT.replace("tw.neg", "tw."), FLAT.replace("tw.neg", "tw.nothing"), FLAT],
    "broken syntax at two places": [FLAT, function("a", "no") + B + CALLER + function("c", "no"), FLAT],
    "broken rules": [FLAT, A + WRONG + CALLER + C, C + WRONG + CALLER, FLAT],
    "braces": [FLAT, FLAT.replace("  %y = tw.neg", "  { %y = tw.neg"), FLAT],
    "a brace in a comment and in a string": [
        FLAT,
        FLAT.replace("// About @b", "// } {").replace('"a.py"', '"{"'),
    ],
    "a module around": [FLAT, WRAPPED, WRAPPED.replace("tw.neg", "tw.exp"), FLAT],
    "a module around that is not closed": [WRAPPED, WRAPPED[:-2], WRAPPED],
    "a module with attributes": [WRAPPED, WRAPPED.replace("module {", "module attributes {a = 1 : i64} {")],
    "an empty module": [WRAPPED, "builtin.module {\n}\n", ""],
    "two modules": [FLAT, WRAPPED + A, WRAPPED],
    "an alias": [FLAT, ALIASED, FLAT],
    "a value outside of functions": [FLAT, '%o = "tw.full"() {} : () -> i1\n' + FLAT],
    "parts": [FLAT, f"{A}// -----\n{B}", f"{B}// -----\n\n// -----\n{A}", f"{A}// -----\n{A}"],
    "only comments": [FLAT, "// nothing\n", FLAT],
}


def facts(chunks: Sequence[Chunk]) -> list[Any]:
    """All that is known, as plain data."""
    return [
        (
            chunk.start,
            chunk.text,
            chunk.problems,
            None if chunk.module is None else str(chunk.module),
            [(text.op.name, text.at, text.name) for text in chunk.ops()],
            [
                (d.name, d.at.shifted(start), [use.at.shifted(start) for use in d.uses])
                for start, piece in chunk.pieces
                for d in piece.definitions
            ],
        )
        for chunk in chunks
    ]


@pytest.mark.parametrize("texts", VERSIONS.values(), ids=list(VERSIONS))
def test_a_document_that_changes_is_known_as_if_read_anew(texts: list[str]) -> None:
    ctx = new_context()
    chunks: Sequence[Chunk] = ()
    for text in texts:
        chunks = read(text, ctx, chunks)
        assert facts(chunks) == facts(read(text, ctx))


def test_problems_are_found_in_functions_that_did_not_change() -> None:
    ctx = new_context()
    chunks = read(FLAT, ctx)
    assert [problem.message for chunk in chunks for problem in chunk.problems] == []
    text = A + CALLER + C
    (chunk,) = read(text, ctx, chunks)
    (problem,) = chunk.problems
    assert text[problem.at.start : problem.at.end] == "func.call"
    assert "@b" in problem.message


@pytest.mark.parametrize(
    "around", ["{}", "builtin.module {{\n{}}}\n", "func.func private @p()\n// -----\n{}"]
)
def test_only_the_function_that_changed_is_parsed(around: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    ours = Recorder.parse_module

    def parse_module(self: Recorder) -> Any:
        parsed.append(self.piece.text)
        return ours(self)

    monkeypatch.setattr(Recorder, "parse_module", parse_module)
    ctx = new_context()
    chunks = read(around.format(FLAT), ctx)
    parsed.clear()
    chunks = read(around.format(FLAT.replace("tw.neg", "tw.exp")), ctx, chunks)
    assert [text.strip() for text in parsed] == [function("b", "exp").strip()]
    parsed.clear()
    moved = around.format("// More.\n\n" + FLAT.replace("tw.neg", "tw.exp"))
    read(moved, ctx, chunks)
    assert [text.strip() for text in parsed] == ["// More.\n\n" + A.strip()]


def test_answers_are_about_places_in_the_document() -> None:
    (chunk,) = chunks = read(WRAPPED, new_context())
    assert len(chunk.pieces) == 4

    def words(at: Range | None) -> str:
        return "" if at is None else WRAPPED[at.start : at.end]

    use = WRAPPED.index("return %y", WRAPPED.index("@c(")) + len("return %")
    at = definition_of(chunks, use)
    assert at is not None
    assert words(at) == "%y"
    assert at.start > WRAPPED.index("@c(")
    call = WRAPPED.index("@b(%x)") + 1
    assert words(definition_of(chunks, call)) == "func.func"
    found = references_of(chunks, call, with_definition=True)
    assert [words(at) for at in found] == ["@b", "@b"]
    (module,) = outline(chunks)
    assert [child.name for child in module.children] == ["@a", "@b", "@caller", "@c"]


def test_a_document_maps_places_of_the_old_text_to_the_new_one() -> None:
    pytest.importorskip("pygls", reason="the language server needs pygls")
    from lsprotocol import types as lsp
    from pygls.workspace import PositionCodec

    from tilewright.frontend.lsp.document import Document

    def document(old: str, new: str) -> Document:
        return Document(old, [], new, PositionCodec())

    inserted = document("one two\nthree", "one 22 two\nthree")
    assert [inserted.was(i) for i in (0, 4, 5, 7, 9)] == [0, 4, None, 4, 6]
    assert inserted.now(Range(4, 7)) == Range(7, 10)
    assert inserted.now(Range(0, 3)) == Range(0, 3)
    assert inserted.now(Range(0, 13)) == Range(0, 16)
    removed = document("one 22 two\nthree", "one two\nthree")
    assert removed.now(Range(4, 6)) is None
    assert removed.now(Range(7, 10)) == Range(4, 7)
    same = document("a\nb", "a\nb")
    assert [same.was(i) for i in range(4)] == [0, 1, 2, 3]
    wide = document("", "\U0001f600 x\ny\n")  # two units in UTF-16
    at = wide.range(Range(2, 6))
    assert (at.start, at.end) == (lsp.Position(0, 3), lsp.Position(2, 0))
    assert wide.offset(lsp.Position(0, 3)) == 2
    assert wide.offset(lsp.Position(9, 0)) == 6
    assert wide.before(lsp.Position(0, 3)) == "\U0001f600 "


def test_requests_are_answered_while_a_document_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pygls", reason="the language server needs pygls")
    from lsprotocol import types as lsp
    from pygls.workspace import Workspace

    from tilewright.frontend.lsp import server as module

    server = module.make_server()
    monkeypatch.setattr(type(server), "workspace", Workspace(None))
    published: list[tuple[int | None, list[str]]] = []

    def publish(params: lsp.PublishDiagnosticsParams) -> None:
        published.append((params.version, [found.message for found in params.diagnostics]))

    monkeypatch.setattr(server, "text_document_publish_diagnostics", publish)
    uri = "file:///somewhere/test.mlir"
    handlers: Any = module._HANDLERS  # pyright: ignore[reportPrivateUsage]

    def ask(what: str, line: int, character: int) -> Any:
        place = lsp.TextDocumentIdentifier(uri=uri), lsp.Position(line=line, character=character)
        return handlers[what](server, lsp.HoverParams(*place))

    async def body() -> None:
        item = lsp.TextDocumentItem(uri=uri, language_id="mlir", version=1, text=FLAT)
        server.workspace.put_text_document(item)
        opened = asyncio.ensure_future(server.follow(uri))
        await asyncio.sleep(0)
        first = await ask("textDocument/hover", 3, 15)  # sent before the document is read
        assert "%y : tensor<4x8xf32>" in first.contents.value
        await opened
        assert published == [(1, [])]

        hold, go_on, ours = asyncio.Event(), asyncio.Event(), asyncio.to_thread

        async def held(*args: Any) -> Any:
            hold.set()
            await go_on.wait()
            return await ours(*args)

        monkeypatch.setattr(asyncio, "to_thread", held)
        changed = [_change(version, f"// {version}\n" * (version - 1) + "%" + FLAT) for version in (2, 3)]
        await hold.wait()  # the document is being read now, which does not end before `go_on`
        assert (await ask("textDocument/hover", 0, 1)) is None
        found = await ask("textDocument/hover", 5, 15)
        assert "%y : tensor<4x8xf32>" in found.contents.value
        assert (found.range.start.line, found.range.start.character) == (5, 14)
        go_on.set()
        await asyncio.gather(*changed)
        assert [version for version, _ in published] == [1, 3]  # version 2 was never read
        assert published[-1][1] != []

    def _change(version: int, text: str) -> asyncio.Future[None]:
        place = lsp.VersionedTextDocumentIdentifier(uri=uri, version=version)
        server.workspace.update_text_document(place, lsp.TextDocumentContentChangeWholeDocument(text=text))
        return asyncio.ensure_future(server.follow(uri, 0.01))

    asyncio.run(asyncio.wait_for(body(), 60))


def test_a_verifier_is_not_kept_for_ever() -> None:
    ctx: Context = new_context()
    chunks = read(FLAT, ctx)
    first = chunks[0].verifier
    kept = 0
    for i in range(40):
        chunks = read(FLAT.replace("tw.neg", ["tw.exp", "tw.abs"][i % 2]), ctx, chunks)
        kept += chunks[0].verifier is first
    assert 3 <= kept < 20
