"""`tilewright translate`: the same tool as `tilewright-translate`."""

from __future__ import annotations

from ..tools.translate_tool import arguments, main
from .tool import Tool

command = Tool(main, arguments)
