"""What a check of meaning, a bisection or a reduction reports (codes TW392x and TW192x)."""

from __future__ import annotations

from tilewright.dialects.diagnostics import TilewrightError


class ChangedMeaning(TilewrightError):
    """A module computes something else after a pass: a bug in that pass."""

    code = "TW3921"
    what = "pass {index} `{name}` changed what @{entry} computes"
    why = "{difference}\ninputs: {inputs}\nculprit: {culprit}"
    fix = "report this bug with the module before the pass; `tilewright reduce` shrinks it to a few ops"


class NothingToRun(TilewrightError):
    """A check of meaning was asked for, and no function of the module can be run."""

    code = "TW3923"
    what = "cannot check the meaning of {file}: nothing in it was run"
    why = "{reason}"
    fix = "give a module with a closed function; plans need `th.sizes` and `th.strides` on their arguments"
