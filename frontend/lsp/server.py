"""The server: what `features` answers, in the terms of the Language Server Protocol."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import NamedTuple

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from xdsl.context import Context

from tilewright.dialects.registry import new_context

from ..collector import collector_paused
from . import features
from .document import Document
from .format import formatted
from .reading import read
from .source import Chunk, Problem, Range

_TYPED = re.compile(r"[A-Za-z_][\w.]*$")
_PAUSE = 0.1
"""Seconds without a change after which a document is read."""


class _Read(NamedTuple):
    text: str
    chunks: Sequence[Chunk]


class Server(LanguageServer):
    """Reads each open document behind its changes; until that is done, answers are from what was read last.

    Documents are read in a thread, one at a time, so that other requests are answered meanwhile.
    """

    def __init__(self, ctx: Context | None = None) -> None:
        super().__init__("tilewright", version("tilewright"))  # pyright: ignore[reportUnknownMemberType]
        self.ctx = new_context() if ctx is None else ctx
        self._known: dict[str, _Read] = {}
        self._changes: dict[str, int] = {}
        """How often each open document changed."""
        self._reading = asyncio.Lock()

    async def follow(self, uri: str, pause: float = 0.0) -> None:
        """Read a document, unless it changes again within `pause` seconds, and send what is wrong with it."""
        change = self._changes[uri] = self._changes.get(uri, 0) + 1
        if pause:
            await asyncio.sleep(pause)
        async with self._reading:
            if self._changes.get(uri) != change:
                return
            text = self.workspace.get_text_document(uri).source
            known = self._known.get(uri)
            chunks = await asyncio.to_thread(_read, text, self.ctx, () if known is None else known.chunks)
            if uri in self._changes:
                self._known[uri] = _Read(text, chunks)
        if self._changes.get(uri) == change:
            self._publish(uri)

    def forget(self, uri: str) -> None:
        """It was closed."""
        self._known.pop(uri, None)
        self._changes.pop(uri, None)

    async def document(self, uri: str) -> Document:
        """What is known of a document; only the first time that is waited for."""
        if uri not in self._known:
            async with self._reading:
                pass
        return self._as_it_is(uri)

    def _as_it_is(self, uri: str) -> Document:
        text, chunks = self._known.get(uri, _Read("", ()))
        return Document(
            text, chunks, self.workspace.get_text_document(uri).source, self.workspace.position_codec
        )

    def _publish(self, uri: str) -> None:
        document = self._as_it_is(uri)
        found = [_diagnostic(document, problem) for chunk in document.chunks for problem in chunk.problems]
        now = self.workspace.get_text_document(uri).version
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri=uri, version=now, diagnostics=found)
        )


def _read(text: str, ctx: Context, before: Sequence[Chunk]) -> Sequence[Chunk]:
    with collector_paused():
        return read(text, ctx, before)


def make_server(ctx: Context | None = None) -> Server:
    """A server with every feature registered; `start_io()` runs it."""
    server = Server(ctx)
    for name, handler in _HANDLERS.items():
        options = lsp.CompletionOptions(trigger_characters=["."]) if handler is _completion else None
        server.feature(name, options)(handler)  # pyright: ignore[reportUnknownMemberType]
    return server


def _diagnostic(document: Document, problem: Problem) -> lsp.Diagnostic:
    return lsp.Diagnostic(
        range=document.range(problem.at),
        message=problem.message,
        severity=lsp.DiagnosticSeverity.Error,
        source="tilewright",
        code=problem.code,
    )


# Handlers


async def _opened(server: Server, params: lsp.DidOpenTextDocumentParams) -> None:
    await server.follow(params.text_document.uri)


async def _changed(server: Server, params: lsp.DidChangeTextDocumentParams) -> None:
    await server.follow(params.text_document.uri, _PAUSE)


def _closed(server: Server, params: lsp.DidCloseTextDocumentParams) -> None:
    server.forget(params.text_document.uri)


async def _hover(server: Server, params: lsp.HoverParams) -> lsp.Hover | None:
    document = await server.document(params.text_document.uri)
    offset = document.was(document.offset(params.position))
    found = None if offset is None else features.hover(document.chunks, offset)
    if found is None:
        return None
    text, at = found
    contents = lsp.MarkupContent(kind=lsp.MarkupKind.Markdown, value=text)
    now = document.now(at)
    return lsp.Hover(contents=contents, range=None if now is None else document.range(now))


async def _definition(server: Server, params: lsp.DefinitionParams) -> lsp.Location | None:
    uri = params.text_document.uri
    document = await server.document(uri)
    offset = document.was(document.offset(params.position))
    at = None if offset is None else features.definition_of(document.chunks, offset)
    now = None if at is None else document.now(at)
    return None if now is None else lsp.Location(uri=uri, range=document.range(now))


async def _references(server: Server, params: lsp.ReferenceParams) -> list[lsp.Location]:
    uri, own = params.text_document.uri, params.context.include_declaration
    document = await server.document(uri)
    offset = document.was(document.offset(params.position))
    found = [] if offset is None else features.references_of(document.chunks, offset, with_definition=own)
    now = [document.now(at) for at in found]
    return [lsp.Location(uri=uri, range=document.range(at)) for at in now if at is not None]


async def _symbols(server: Server, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    document = await server.document(params.text_document.uri)

    def made(symbols: Sequence[features.Symbol]) -> list[lsp.DocumentSymbol]:
        placed = [(symbol, document.now(symbol.at), document.now(symbol.name_at)) for symbol in symbols]
        return [
            lsp.DocumentSymbol(
                name=symbol.name,
                detail=symbol.detail,
                kind=lsp.SymbolKind.Function if symbol.name.startswith("@") else lsp.SymbolKind.Operator,
                range=document.range(at),
                selection_range=document.range(name_at),
                children=made(symbol.children),
            )
            for symbol, at, name_at in placed
            if at is not None and name_at is not None
        ]

    return made(features.outline(document.chunks))


async def _formatting(server: Server, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
    document = await server.document(params.text_document.uri)
    text = await asyncio.to_thread(formatted, document.text, server.ctx)
    if text is None or text == document.text:
        return None
    whole = document.range(Range(0, len(document.text)))
    return [lsp.TextEdit(range=whole, new_text=text)]


async def _completion(server: Server, params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
    document = await server.document(params.text_document.uri)
    typed = _TYPED.search(document.before(params.position))
    if typed is None:
        return []
    return [
        lsp.CompletionItem(
            label=name,
            insert_text=name[typed[0].rfind(".") + 1 :],
            filter_text=name[typed[0].rfind(".") + 1 :],
            kind=lsp.CompletionItemKind.Operator if "." in name else lsp.CompletionItemKind.Module,
            documentation=lsp.MarkupContent(kind=lsp.MarkupKind.Markdown, value=documentation),
        )
        for name, documentation in features.completions(server.ctx, typed[0])
    ]


_HANDLERS = {
    lsp.TEXT_DOCUMENT_DID_OPEN: _opened,
    lsp.TEXT_DOCUMENT_DID_CHANGE: _changed,
    lsp.TEXT_DOCUMENT_DID_CLOSE: _closed,
    lsp.TEXT_DOCUMENT_HOVER: _hover,
    lsp.TEXT_DOCUMENT_DEFINITION: _definition,
    lsp.TEXT_DOCUMENT_REFERENCES: _references,
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: _symbols,
    lsp.TEXT_DOCUMENT_FORMATTING: _formatting,
    lsp.TEXT_DOCUMENT_COMPLETION: _completion,
}
