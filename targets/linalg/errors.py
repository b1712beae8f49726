"""What cannot be written as linalg on tensors (code TW2401)."""

from __future__ import annotations

from tilewright.dialects.diagnostics import TilewrightError


class CannotExport(TilewrightError):
    """An op that has no counterpart among upstream's tensor ops."""

    code = "TW2401"
    what = "`{op}` cannot be exported to linalg"
    why = "{reason}"
    fix = "{advice}"


LEAVE_OUT = "export the part of the graph around it; docs/tutorials/other-mlir.md lists what can be exported"
