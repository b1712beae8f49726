"""The server: what `features` answers, in the terms of the Language Server Protocol."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import version

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument
from xdsl.context import Context

from tilewright.dialects.registry import new_context

from . import features
from .format import formatted
from .source import Chunk, Problem, Range, read

_TYPED = re.compile(r"[A-Za-z_][\w.]*$")


class Server(LanguageServer):
    """Keeps what was read of each open document until the document changes."""

    def __init__(self, ctx: Context | None = None) -> None:
        super().__init__("tilewright", version("tilewright"))  # pyright: ignore[reportUnknownMemberType]
        self.ctx = new_context() if ctx is None else ctx
        self.known: dict[str, tuple[int | None, Sequence[Chunk]]] = {}

    def chunks(self, uri: str) -> Sequence[Chunk]:
        """The modules of a document, as it is now."""
        document = self.workspace.get_text_document(uri)
        kept = self.known.get(uri)
        if kept is not None and kept[0] == document.version and document.version is not None:
            return kept[1]
        found = read(document.source, self.ctx)
        self.known[uri] = (document.version, found)
        return found

    def publish(self, uri: str) -> None:
        """Send what is wrong with a document."""
        document = self.workspace.get_text_document(uri)
        found = [_diagnostic(document, problem) for chunk in self.chunks(uri) for problem in chunk.problems]
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri=uri, version=document.version, diagnostics=found)
        )


def make_server(ctx: Context | None = None) -> Server:
    """A server with every feature registered; `start_io()` runs it."""
    server = Server(ctx)
    for name, handler in _HANDLERS.items():
        options = lsp.CompletionOptions(trigger_characters=["."]) if handler is _completion else None
        server.feature(name, options)(handler)  # pyright: ignore[reportUnknownMemberType]
    return server


# Places


def _offset(document: TextDocument, position: lsp.Position) -> int:
    return document.offset_at_position(position)


def _position(document: TextDocument, offset: int) -> lsp.Position:
    before = document.source[:offset]
    line = before.count("\n")
    column = offset - (before.rfind("\n") + 1)
    return document.position_codec.position_to_client_units(
        document.lines, lsp.Position(line=line, character=column)
    )


def _range(document: TextDocument, at: Range) -> lsp.Range:
    return lsp.Range(start=_position(document, at.start), end=_position(document, at.end))


def _diagnostic(document: TextDocument, problem: Problem) -> lsp.Diagnostic:
    return lsp.Diagnostic(
        range=_range(document, problem.at),
        message=problem.message,
        severity=lsp.DiagnosticSeverity.Error,
        source="tilewright",
        code=problem.code,
    )


# Handlers


def _opened(server: Server, params: lsp.DidOpenTextDocumentParams) -> None:
    server.publish(params.text_document.uri)


def _changed(server: Server, params: lsp.DidChangeTextDocumentParams) -> None:
    server.publish(params.text_document.uri)


def _closed(server: Server, params: lsp.DidCloseTextDocumentParams) -> None:
    server.known.pop(params.text_document.uri, None)


def _hover(server: Server, params: lsp.HoverParams) -> lsp.Hover | None:
    document = server.workspace.get_text_document(params.text_document.uri)
    chunks = server.chunks(params.text_document.uri)
    found = features.hover(chunks, _offset(document, params.position))
    if found is None:
        return None
    text, at = found
    contents = lsp.MarkupContent(kind=lsp.MarkupKind.Markdown, value=text)
    return lsp.Hover(contents=contents, range=_range(document, at))


def _definition(server: Server, params: lsp.DefinitionParams) -> lsp.Location | None:
    uri = params.text_document.uri
    document = server.workspace.get_text_document(uri)
    at = features.definition_of(server.chunks(uri), _offset(document, params.position))
    return None if at is None else lsp.Location(uri=uri, range=_range(document, at))


def _references(server: Server, params: lsp.ReferenceParams) -> list[lsp.Location]:
    uri = params.text_document.uri
    document = server.workspace.get_text_document(uri)
    found = features.references_of(
        server.chunks(uri),
        _offset(document, params.position),
        with_definition=params.context.include_declaration,
    )
    return [lsp.Location(uri=uri, range=_range(document, at)) for at in found]


def _symbols(server: Server, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    document = server.workspace.get_text_document(params.text_document.uri)

    def made(symbol: features.Symbol) -> lsp.DocumentSymbol:
        function = symbol.name.startswith("@")
        return lsp.DocumentSymbol(
            name=symbol.name,
            detail=symbol.detail,
            kind=lsp.SymbolKind.Function if function else lsp.SymbolKind.Operator,
            range=_range(document, symbol.at),
            selection_range=_range(document, symbol.name_at),
            children=[made(child) for child in symbol.children],
        )

    return [made(symbol) for symbol in features.outline(server.chunks(params.text_document.uri))]


def _formatting(server: Server, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
    document = server.workspace.get_text_document(params.text_document.uri)
    text = formatted(document.source, server.ctx)
    if text is None or text == document.source:
        return None
    whole = _range(document, Range(0, len(document.source)))
    return [lsp.TextEdit(range=whole, new_text=text)]


def _completion(server: Server, params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
    document = server.workspace.get_text_document(params.text_document.uri)
    typed = _TYPED.search(document.source[: _offset(document, params.position)])
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
