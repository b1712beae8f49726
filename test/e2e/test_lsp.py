"""The language server, asked over its protocol."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the language server needs pygls")

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

URI = "file:///somewhere/test.mlir"
TEXT = """\
// A comment that stays.
func.func @main(%x: T, %s0: index {tw.symbol = "s0"}) -> T {
      %a = tw.exp %x : T loc("net.act"("model.py":12:0))
  %b = tw.add %a, %a : T  // twice
  func.return %b : T
}
""".replace(" T", ' tensor<4x?xf32, #tw.shape<"4, s0">>')
PLAN = """\
tk.func @k0 [8] (%x: memref<8xf32>, %o: memref<8xf32>) {
  %0 = tk.load %x[d0] : memref<8xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<8xf32>
}
func.func @main(%x: memref<8xf32>) -> memref<8xf32> {
  %o = th.empty sizes "8" strides "1" : memref<8xf32>
  th.launch @k0(%x) into(%o) : (memref<8xf32>) into (memref<8xf32>)
  func.return %o : memref<8xf32>
}
"""


class Editor:
    """A client with one open document."""

    def __init__(self) -> None:
        self.client = LanguageClient("test", "1")
        self.diagnostics: asyncio.Queue[Any] = asyncio.Queue()
        self.text = ""

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def _published(params: lsp.PublishDiagnosticsParams) -> None:
            self.diagnostics.put_nowait(params.diagnostics)

    async def open(self, text: str) -> list[lsp.Diagnostic]:
        self.text = text
        item = lsp.TextDocumentItem(uri=URI, language_id="mlir", version=1, text=text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(text_document=item))
        return list(await asyncio.wait_for(self.diagnostics.get(), 60))

    async def change(self, text: str, version: int) -> list[lsp.Diagnostic]:
        self.text = text
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                text_document=lsp.VersionedTextDocumentIdentifier(uri=URI, version=version),
                content_changes=[lsp.TextDocumentContentChangeWholeDocument(text=text)],
            )
        )
        return list(await asyncio.wait_for(self.diagnostics.get(), 60))

    def at(self, needle: str, occurrence: int = 0) -> dict[str, Any]:
        """The place of the n-th `needle`, as parameters."""
        offset = -1
        for _ in range(occurrence + 1):
            offset = self.text.index(needle, offset + 1)
        line = self.text.count("\n", 0, offset)
        column = offset - (self.text.rfind("\n", 0, offset) + 1)
        position = lsp.Position(line=line, character=column + 1)
        return {"text_document": lsp.TextDocumentIdentifier(uri=URI), "position": position}

    def words(self, at: lsp.Range) -> str:
        lines = self.text.splitlines()
        assert at.start.line == at.end.line
        return lines[at.start.line][at.start.character : at.end.character]


def with_editor(body: Callable[[Editor], Awaitable[None]], *flags: str) -> None:
    async def run() -> None:
        editor = Editor()
        command = (sys.executable, "-m", "tilewright.frontend.cli.main", "lsp", *flags)
        await editor.client.start_io(*command)
        await editor.client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities()))
        editor.client.initialized(lsp.InitializedParams())
        try:
            await body(editor)
        finally:
            await editor.client.shutdown_async(None)
            editor.client.exit(None)
            await editor.client.stop()

    asyncio.run(asyncio.wait_for(run(), 120))


def test_a_sound_document_has_no_diagnostics_and_a_broken_one_has_each_at_its_place() -> None:
    async def body(editor: Editor) -> None:
        assert await editor.open(TEXT) == []
        (wrong,) = await editor.change(TEXT.replace("tw.exp", "tw.expp"), 2)
        assert wrong.message == "Operation tw.expp is not registered; did you mean `tw.exp`?"
        (unknown,) = await editor.change(TEXT.replace("%a, %a", "%a, %c"), 3)
        assert "%c" in unknown.message
        first = 'tw.pad %x low "1" high "1" value 0.0 : f32 : tensor<4xf32> -> tensor<7xf32>'
        second = "tw.exp %y : tensor<7xi64>"
        text = (
            "func.func @f(%x: tensor<4xf32>, %y: tensor<7xi64>) {\n"
            f"  %0 = {first}\n  %1 = {second}\n  func.return\n}}\n"
            "// -----\nfunc.func @g() {\n  tw.nothing\n}\n"
        )
        found = await editor.change(text, 4)
        assert [d.range.start.line for d in found] == [1, 2, 7]
        assert [editor.words(d.range) for d in found[:2]] == ["tw.pad", "tw.exp"]
        assert await editor.change(TEXT, 5) == []
        (stray,) = await editor.change(f"\x00{TEXT}", 6)  # what cannot begin a token, at the very start
        assert stray.message.startswith("Unexpected character")
        assert (stray.range.start.line, stray.range.start.character) == (0, 0)

    with_editor(body)


def test_hover_shows_types_and_where_an_op_comes_from() -> None:
    async def body(editor: Editor) -> None:
        await editor.open(TEXT)

        async def hover(needle: str, occurrence: int = 0) -> str:
            found = await editor.client.text_document_hover_async(
                lsp.HoverParams(**editor.at(needle, occurrence))
            )
            assert found is not None
            assert isinstance(found.contents, lsp.MarkupContent)
            return found.contents.value

        value = await hover("%a", 1)
        assert '%a : tensor<4x?xf32, #tw.shape<"4, s0">>' in value
        assert "model.py:12" in value
        assert "net.act" in value
        assert "2 uses" in value
        op = await hover("tw.exp")
        assert "tw.exp" in op
        assert "Operands" in op
        assert "argument of `func.func`" in await hover("%x")
        nothing = await editor.client.text_document_hover_async(lsp.HoverParams(**editor.at("comment")))
        assert nothing is None

    with_editor(body)


def test_definition_and_uses_of_values_and_kernels() -> None:
    async def body(editor: Editor) -> None:
        assert await editor.open(PLAN) == []
        client = editor.client

        async def definition(needle: str, occurrence: int) -> lsp.Range:
            found = await client.text_document_definition_async(
                lsp.DefinitionParams(**editor.at(needle, occurrence))
            )
            assert isinstance(found, lsp.Location)
            return found.range

        async def uses(needle: str, occurrence: int, own: bool) -> list[int]:
            found = await client.text_document_references_async(
                lsp.ReferenceParams(
                    **editor.at(needle, occurrence), context=lsp.ReferenceContext(include_declaration=own)
                )
            )
            assert found is not None
            return [place.range.start.line for place in found]

        kernel = await definition("@k0", 1)
        assert (kernel.start.line, editor.words(kernel)) == (0, "tk.func")
        assert (await definition("%o", 2)).start.line == 5  # that of @main, not of @k0
        assert (await definition("%o", 1)).start.line == 0
        assert await uses("%o", 2, own=True) == [5, 6, 7]
        assert await uses("%x", 0, own=False) == [1]
        assert await uses("@k0", 0, own=False) == [6]
        assert await uses("@k0", 1, own=True) == [0, 6]

    with_editor(body)


def test_outline_completion_and_formatting() -> None:
    async def body(editor: Editor) -> None:
        await editor.open(PLAN)
        document = lsp.TextDocumentIdentifier(uri=URI)
        symbols = await editor.client.text_document_document_symbol_async(
            lsp.DocumentSymbolParams(text_document=document)
        )
        assert symbols is not None
        assert [symbol.name for symbol in symbols] == ["@k0", "@main"]
        offered = await editor.client.text_document_completion_async(
            lsp.CompletionParams(**editor.at(".store"))
        )
        assert isinstance(offered, list)
        names = {item.label for item in offered}
        assert {"tk.store", "tk.reduce"} <= names
        await editor.change(TEXT, 2)
        edits = await editor.client.text_document_formatting_async(
            lsp.DocumentFormattingParams(
                text_document=document, options=lsp.FormattingOptions(tab_size=2, insert_spaces=True)
            )
        )
        assert edits is not None
        assert edits[0].new_text == TEXT.replace("      %a", "  %a").replace(
            'xf32, #tw.shape<"4, s0">>', 'xf32, #tw.shape<"4, s0">>'
        )
        await editor.change("func.func @broken(", 3)
        broken = await editor.client.text_document_formatting_async(
            lsp.DocumentFormattingParams(
                text_document=document, options=lsp.FormattingOptions(tab_size=2, insert_spaces=True)
            )
        )
        assert broken is None

    with_editor(body)


def test_dialects_of_others_are_served(tmp_path: Path) -> None:
    plugin = tmp_path / "my_dialect.py"
    plugin.write_text(
        "import tilewright\n"
        "from xdsl.ir import Dialect\n"
        "from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def\n\n"
        "@irdl_op_definition\n"
        "class PokeOp(IRDLOperation):\n"
        '    """Poke a tensor."""\n'
        '    name = "mine.poke"\n'
        "    x = operand_def()\n"
        '    assembly_format = "$x attr-dict `:` type($x)"\n\n'
        'tilewright.register_dialect(Dialect("mine", [PokeOp]))\n'
    )

    async def body(editor: Editor) -> None:
        text = "func.func @f(%x: tensor<4xf32>) {\n  mine.poke %x : tensor<4xf32>\n  func.return\n}\n"
        assert await editor.open(text) == []
        found = await editor.client.text_document_hover_async(lsp.HoverParams(**editor.at("mine.poke")))
        assert found is not None
        assert "Poke a tensor." in str(found.contents)

    with_editor(body, "--load", str(plugin))


@pytest.mark.parametrize("folder", ["passes", "dialects", "targets"])
def test_every_lit_file_formats_to_something_stable_that_means_the_same(folder: str) -> None:
    from tilewright.dialects.registry import new_context
    from tilewright.frontend.lsp.format import formatted

    ctx = new_context()
    files = sorted((Path(__file__).parents[1] / folder).glob("*.mlir"))[::4]
    assert files
    for file in files:
        once = formatted(file.read_text(), ctx)
        if once is not None:
            assert formatted(once, ctx) == once, file.name


def test_without_pygls_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from tilewright.frontend.cli.main import tilewright

    monkeypatch.setitem(sys.modules, "pygls.lsp.server", None)
    monkeypatch.delitem(sys.modules, "tilewright.frontend.lsp.server", raising=False)
    result = CliRunner().invoke(tilewright, ["lsp"])
    assert "TW1954" in str(result.exception)
    assert "tilewright[lsp]" in str(result.exception)
