"""What can go wrong between Triton text and machine code."""

from __future__ import annotations

from tilewright.dialects.diagnostics import CannotCompile, TilewrightError


class TritonMissing(CannotCompile):
    """The optional package that compiles kernels."""

    code = "TW2221"
    what = "kernels for {architecture} cannot be compiled: triton is not installed"
    why = "{reason}"
    fix = "pip install 'tilewright[gpu]' (triton 3.6 or later)"


class KernelRefused(TilewrightError):
    """Triton does not accept a kernel's text."""

    code = "TW2222"
    what = "triton refused kernel @{kernel} for {architecture}: {reason}"
    why = "at line {line}: {source}"
    fix = "this is an error of the emission: report it with TILEWRIGHT_DUMP=dir"


class AssemblerFailed(TilewrightError):
    """Triton accepted a kernel, and what follows (LLVM, ptxas) did not produce machine code."""

    code = "TW2223"
    what = "kernel @{kernel} could not be compiled for {architecture}"
    why = "{reason}"
    fix = "take a newer triton if the assembler lacks the device; or report it with TILEWRIGHT_DUMP=dir"


class UnknownArchitecture(CannotCompile):
    """A device that nobody described."""

    code = "TW2224"
    what = "nothing is known about architecture `{name}`"
    why = "compiling needs its warp size and limits; known are {known}"
    fix = "update tilewright, which may know it by now, or use a device of an architecture that is known"


class WorkerLost(TilewrightError):
    """A process that compiled kernels ended before it answered."""

    code = "TW2225"
    what = "the process that compiled kernel @{kernel} ended with status {status}"
    why = "{reason}"
    fix = "free memory (it may have run out), or compile with workers=0"
