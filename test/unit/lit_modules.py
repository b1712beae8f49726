"""The modules of lit tests that are valid."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from tilewright.dialects.registry import new_context
from tilewright.frontend.tools.tool_io import chunks, parse_module, verify_input

_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)


def modules(path: Path) -> Iterator[ModuleOp]:
    """Those of one file, in its order."""
    for part in chunks(path.read_text(), split=True):
        try:
            module = parse_module(new_context(), _COMMENT.sub("", part), str(path))
            verify_input(module, str(path))
        except DiagnosticException:
            continue
        yield module
