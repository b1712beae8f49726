"""The search: try edits in a fixed order, keep each after which the module still fails in the same way.

An edit works on the module's text or on a copy of it; what it gives is printed, parsed and
verified before it is tried, so that the result is always a file that the tools read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException, ParseError

from tilewright.dialects.parser import ModuleParser
from tilewright.dialects.registry import new_context
from tilewright.passes.manager import module_text, verify_module

from . import edits, sizes

Keeps = Callable[[ModuleOp], bool]
"""Whether a module still fails in the way that is being reduced."""
MAX_TRIALS = 4000


@dataclass
class Reducer:
    """One reduction; `trials` counts the modules that were tried."""

    keeps: Keeps
    trials: int = 0
    _seen: set[str] = field(default_factory=set[str])

    def reduce(self, module: ModuleOp) -> ModuleOp:
        """The smallest module that the edits reach."""
        best = readable_text(module)
        while True:
            before = best
            for kind in edits.ALL:
                best = self._apply_all(kind, best)
            best = self._shrink_sizes(best)
            if best == before or self.trials >= MAX_TRIALS:
                return parse(best)

    def _apply_all(self, kind: edits.Edit, text: str) -> str:
        """Try every place of one kind of edit, from the end on; after a success the later places remain."""
        number = kind.count(parse(text))
        size = number
        while size >= 1:  # first many at once, as delta debugging does
            end = number
            while end > 0 and self.trials < MAX_TRIALS:
                start = max(0, end - size)
                found = self._try(lambda m, a=start, b=end: kind.apply(m, range(a, b)), text)
                if found is not None:
                    text, number = found, kind.count(parse(found))
                end = min(start, number)
            size //= 2
        return text

    def _try(self, change: Callable[[ModuleOp], bool], text: str) -> str | None:
        module = parse(text)
        try:
            if not change(module):
                return None
        except (DiagnosticException, ValueError, AssertionError, KeyError, IndexError):
            return None
        return self._judged(readable_text(module), text)

    def _shrink_sizes(self, text: str) -> str:
        for candidate in sizes.candidates(text):
            if self.trials >= MAX_TRIALS:
                break
            found = self._judged(candidate, text)
            if found is not None:
                return self._shrink_sizes(found)
        return text

    def _judged(self, candidate: str, text: str) -> str | None:
        """The canonical text of a candidate that parses, verifies and fails in the same way."""
        if candidate == text or candidate in self._seen:
            return None
        self._seen.add(candidate)
        try:
            module = parse(candidate)
            verify_module(module)
        except (DiagnosticException, ParseError, ValueError, KeyError, AssertionError, ArithmeticError):
            return None
        self.trials += 1
        return readable_text(module) if self.keeps(module) else None


def readable_text(module: ModuleOp) -> str:
    """With locations only if there are any."""
    text = module_text(module)
    return text if 'loc("' in text else module_text(module, locations=False)


def parse(text: str) -> ModuleOp:
    """A module from its text."""
    return ModuleParser(new_context(), text, "reduced.mlir").parse_module()
