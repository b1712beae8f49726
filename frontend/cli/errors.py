"""Errors of the command line (codes from TW1950 on)."""

from __future__ import annotations

from tilewright.dialects.diagnostics import TilewrightError


class NoSuchFunction(TilewrightError):
    """`MODULE:FUNCTION` that cannot be found."""

    code = "TW1950"
    what = "cannot find `{text}`"
    why = "{reason}"
    fix = "write package.module:name or path/file.py:name, where name is a function or an nn.Module"


class BadInputText(TilewrightError):
    """`--input` that is no type."""

    code = "TW1951"
    what = "`{text}` describes no input: {reason}"
    why = "an input is sizes and an element type, e.g. 4x8xf32; for integers a range may follow: 4xi64:0..100"
    fix = "{advice}"


class FailedCall(TilewrightError):
    """The function that a command compiles raised an error of its own."""

    code = "TW1957"
    what = "`{subject}` failed when it was called with {given}"
    why = "{reason}"
    fix = "call it without torch.compile first; --input and --inputs-from give its arguments"


class NothingCaptured(TilewrightError):
    """A script or function from which no graph came."""

    code = "TW1952"
    what = "`{subject}` compiled no graph"
    why = "{reason}"
    fix = "{advice}"


class FailedScript(TilewrightError):
    """The captured script ended with an error."""

    code = "TW1953"
    what = "{script} ended with status {status}"
    why = "its own output stands above"
    fix = "make the script run by itself first: python {script}"


class MissingExtra(TilewrightError):
    """A command whose packages are not installed."""

    code = "TW1954"
    what = "`tilewright {command}` needs the package {package}"
    why = "it is not installed; only this command needs it"
    fix = 'pip install "tilewright[{extra}]"'


class CannotRun(TilewrightError):
    """A function that cannot be executed as asked."""

    code = "TW1955"
    what = "cannot run {subject}"
    why = "{reason}"
    fix = "what can be run: {known}"


class CannotScaffold(TilewrightError):
    """`new-pass` or `new-op` with a name that does not do."""

    code = "TW1956"
    what = "cannot make `{name}`"
    why = "{reason}"
    fix = "{advice}"
