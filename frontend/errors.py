"""Errors of the frontend (codes TW1001 to TW1099), and why an operation runs through ATen (TW1100 on)."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.dialects.diagnostics import CannotCompile, TilewrightError, UserMistake


class UnknownOption(UserMistake):
    """A name in `options` that is no field of `Options`."""

    code = "TW1001"
    what = "unknown option `{name}`"
    why = "`options` accepts: {valid}"
    fix = "{suggestion}"


class BadOptionValue(UserMistake):
    """A value that an option does not accept."""

    code = "TW1002"
    what = "option `{name}` cannot be {value!r}"
    why = "it accepts {accepted}"
    fix = "pass one of the accepted values"


class UnknownMode(UserMistake):
    """A `mode` that is not in the table of modes."""

    code = "TW1003"
    what = "unknown mode `{name}`"
    why = "`mode` accepts: {valid}"
    fix = "{suggestion}"


class UnsupportedSize(CannotCompile):
    """A size that index expressions cannot say."""

    code = "TW1004"
    what = "size `{size}` cannot be expressed"
    why = "{reason}"
    fix = "mark the dimension static (torch._dynamo.mark_static) or compute it outside the compiled function"


class UnsupportedInput(CannotCompile):
    """A value at the edge of a graph (an input, a constant, a result) that has no counterpart in the IR."""

    code = "TW1005"
    what = "graph {role} `{name}` is {kind}"
    why = "{reason}"
    fix = "{fix}"


class UnsupportedNode(CannotCompile):
    """A graph node that can run neither by our kernels nor alone, between them, by ATen or in Python."""

    code = "TW1006"
    what = "cannot import `{target}`"
    why = "{reason}"
    fix = "keep this call outside the compiled function (torch.compiler.disable)"


class MissingTarget(CannotCompile):
    """A target that this installation cannot build for."""

    code = "TW1007"
    what = "target `{name}` is not available"
    why = "{reason}"
    fix = 'pass options={{"target": "reference"}} to run the captured graphs on the interpreter'


class NotOnCpu(CannotCompile):
    """The CPU target was asked for a graph of another device."""

    code = "TW1021"
    what = "cpu_openmp cannot run a graph whose tensors are on `{device}`"
    why = "its kernels read the memory of the CPU"
    fix = 'leave out options={{"target": ...}}, or move model and inputs to the CPU'


class NoTargetForDevice(CannotCompile):
    """Tensors on a device for which there is no code generator."""

    code = "TW1009"
    what = "no target compiles for device `{device}`"
    why = "targets exist for: {known}"
    fix = "move the tensors to one of these devices"


class FallbackRefused(TilewrightError):
    """`fallback=False` and an operation that only ATen can run."""

    code = "TW1008"
    what = "`{callee}` has no native path"
    why = "{reason}"
    fix = 'allow it with options={{"fallback": True}}, or rewrite that line'


REASONS: Mapping[str, str] = {
    "TW1100": "A library runs this operation best; it is no fall-back, and logged at debug level only.",
    "TW1101": "The `tw` dialect has no op for this operator yet.",
    "TW1102": "The operator has an op, which does not cover these arguments.",
    "TW1103": "An operand or the result has a dtype without element type in the IR (complex, float8, ...).",
    "TW1104": "An argument or a result is of a kind that the IR cannot hold, or data decide how large it is.",
    "TW1105": "The call takes graphs or Python functions (cond, while_loop, ...), or is no operator.",
}
"""Why one operation runs through ATen, by code; the rest of the graph is compiled."""


class Unsupported(Exception):
    """Raised by a row that declines; the node then becomes `tw.aten` and the reason is recorded."""

    def __init__(self, reason: str, code: str = "TW1102") -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code
