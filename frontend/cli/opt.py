"""`tilewright opt`: the same tool as `tilewright-opt`."""

from __future__ import annotations

from ..tools.opt_tool import arguments, main
from .tool import Tool

command = Tool(main, arguments)
