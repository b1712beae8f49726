"""The table of places in the user's source that run-time messages refer to by number."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import LocationAttr

from .cpp import quoted
from .text import place


@dataclass
class Places:
    """Numbered (what, where) pairs; equal ones share a number."""

    rows: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])

    def add(self, what: str, location: LocationAttr) -> int:
        """The number of this place."""
        return self.add_text(what, place(location) or "unknown")

    def add_text(self, what: str, where: str) -> int:
        """As `add`, of a place that is spelled already."""
        return self.rows.setdefault((what, where), len(self.rows))

    def table(self) -> str:
        """The C++ table."""
        rows = [f"  {{{quoted(what)}, {quoted(where)}}}," for what, where in self.rows]
        return "\n".join(["static const tw::Place PLACES[] = {", *rows, "  {nullptr, nullptr}", "};"])
