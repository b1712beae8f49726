"""xDSL's printer, which writes what modules are full of, types and plain strings, at once."""

from __future__ import annotations

import re
from io import StringIO

from xdsl.ir import Attribute, TypeAttribute
from xdsl.printer import Printer

_PLAIN_STRING = re.compile(r"[ !#-\[\]-~]*")
"""What a string literal spells without escapes."""


class ModulePrinter(Printer):
    """Writes exactly what `Printer` does."""

    def __init__(self, stream: StringIO, *, generic: bool, locations: bool) -> None:
        super().__init__(stream, print_generic_format=generic, print_debuginfo=locations)
        self._write = stream.write
        self._type_texts: dict[int, tuple[Attribute, str]] = {}
        """By the `id` of the type, which is held, so that it stays."""

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        """A line break goes to `Printer`, which indents what follows."""
        if "\n" in text:
            super().print_string(text, indent=indent)
        else:
            self._current_column += len(text)
            self._write(text)

    def print_string_literal(self, string: str) -> None:
        """At once where nothing is escaped."""
        if _PLAIN_STRING.fullmatch(string) is None:
            super().print_string_literal(string)
        else:
            self.print_string(f'"{string}"')

    def print_attribute(self, attribute: Attribute) -> None:
        """The text of a type is put together once."""
        known = self._type_texts.get(id(attribute))
        if known is None:
            if not isinstance(attribute, TypeAttribute):
                super().print_attribute(attribute)
                return
            stream = StringIO()
            Printer(stream).print_attribute(attribute)
            known = self._type_texts[id(attribute)] = (attribute, stream.getvalue())
        self.print_string(known[1])
