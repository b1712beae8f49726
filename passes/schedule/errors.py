"""What the schedule passes refuse."""

from __future__ import annotations

from tilewright.dialects.diagnostics import TilewrightError


class NoLoopOrder(TilewrightError):
    """Two reductions in one chain need opposite loop orders."""

    code = "TW3401"
    what = "apply-schedule finds no loop order for `{op}`"
    why = "it depends on a reduction over one axis and on one whose result varies over that axis"
    fix = "keep the two reductions in separate kernels"
