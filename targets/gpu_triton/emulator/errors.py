"""What emulated text can do wrong. The first line names kernel, line of the text and program."""

from __future__ import annotations

from tilewright.dialects.diagnostics import TilewrightError


class EmulationError(TilewrightError):
    """Base of what the emulator finds in a kernel."""


class OutOfBounds(EmulationError):
    """A load or store outside of its buffer."""

    code = "TW2231"
    what = "kernel @{kernel} {verb} element {index} of `{buffer}`, which has {size}"
    why = "program {program} at line {line}: {source}"
    fix = "mask this access, or correct its index; `tilewright-translate --to=triton` prints the text"


class Race(EmulationError):
    """Programs, or threads of one, whose order decides about the result."""

    code = "TW2232"
    what = "kernel @{kernel} races for element {index} of `{buffer}`: {how}"
    why = "program {program} at line {line}: {source}"
    fix = "give each element to one program, keep what is stored in registers, or use atomic operations"


class NotEmulated(EmulationError):
    """Text that Triton may accept and the emulator does not know."""

    code = "TW2233"
    what = "the emulator cannot execute kernel @{kernel}: {reason}"
    why = "at line {line}: {source}"
    fix = "add it to targets/gpu_triton/emulator/"


class Refused(EmulationError):
    """Text that Triton's own front end would not accept."""

    code = "TW2234"
    what = "kernel @{kernel} is no valid Triton: {reason}"
    why = "at line {line}: {source}"
    fix = "correct the emission in targets/gpu_triton/"


class WrongLaunch(EmulationError):
    """Arguments that do not fit the kernel's parameters."""

    code = "TW2235"
    what = "kernel @{kernel} cannot be launched: {reason}"
    why = "an argument has the type and the contiguous memory that its parameter states"
    fix = "pass the buffers in the order of the parameters, then the sizes"


class OrderDependent(EmulationError):
    """A reduction whose result depends on the order that the hardware happens to choose."""

    code = "TW2236"
    what = "kernel @{kernel} reduces in a way that depends on the order of elements"
    why = (
        "at line {line}: {source}\nthe combining function is not associative and commutative on these values"
    )
    fix = "make it so for NaN and for equal values, too"


class KernelCheckFailed(EmulationError):
    """A `tk.assert` of the kernel."""

    code = "TW2237"
    what = "{what}"
    why = "a check in kernel @{kernel} failed"
    fix = "correct the values that reach this line; eager mode checks them, too"
