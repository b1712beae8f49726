"""What a check of meaning, a bisection or a reduction reports (codes TW392x and TW192x)."""

from __future__ import annotations

from tilewright.dialects.diagnostics import TilewrightError


class ChangedMeaning(TilewrightError):
    """A module computes something else after a pass: a bug in that pass."""

    code = "TW3921"
    what = "pass {index} `{name}` changed what @{entry} computes"
    why = "{difference}\ninputs: {inputs}\nculprit: {culprit}"
    fix = "report this bug with the module before the pass; `tilewright reduce` shrinks it to a few ops"


class WrongCode(TilewrightError):
    """Compiled code computes something else than the module that it was emitted from."""

    code = "TW3922"
    what = "the compiled code of @{entry} does not compute what its module says"
    why = "{difference}\ninputs: {inputs}"
    fix = "report this bug of the emitter with the module, which `tilewright reduce --compile` shrinks"


class NothingToRun(TilewrightError):
    """A check of meaning was asked for, and no function of the module can be run."""

    code = "TW3923"
    what = "cannot check the meaning of {file}: nothing in it was run"
    why = "{reason}"
    fix = "give a module with a closed function; plans need `th.sizes` and `th.strides` on their arguments"


class NoFailure(TilewrightError):
    """`reduce` or `bisect` got an input on which nothing fails."""

    code = "TW1921"
    what = "{tool}: nothing fails on {file}"
    why = "the pipeline `{pipeline}` runs, verifies and keeps the meaning of the module"
    fix = "give the pipeline that fails (-p), or a script that tells good from bad (--test)"


class BadTestScript(TilewrightError):
    """The script of `--test` cannot be run."""

    code = "TW1922"
    what = "cannot run the test script {script}"
    why = "{reason}"
    fix = "give an executable file; it gets the path of a module and its exit status is kept"
