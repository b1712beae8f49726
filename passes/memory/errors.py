"""What bufferisation refuses."""

from __future__ import annotations

from tilewright.dialects.diagnostics import TilewrightError


class NotBufferizable(TilewrightError):
    """An op that is neither a kernel, a view nor a library call."""

    code = "TW3201"
    what = "bufferize has no place for `{op}`"
    why = "{reason}"
    fix = "{advice}"
