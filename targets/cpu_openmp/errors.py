"""What the emission of kernels as C++ refuses."""

from __future__ import annotations

from tilewright.dialects.diagnostics import CannotCompile, TilewrightError


class NoCppLowering(CannotCompile):
    """An op that has no row in the C++ tables."""

    code = "TW2101"
    what = "cpu_openmp cannot lower `{op}`"
    why = "{reason}"
    fix = "run the CPU pipeline first (tilewright-opt -p ...), or add a row to targets/cpu_openmp/rules.py"


class NotScheduled(TilewrightError):
    """A kernel whose loops are still implicit."""

    code = "TW2102"
    what = "cpu_openmp got kernel @{name} without explicit loops"
    why = "only a `tk.func ... scheduled` says in which order to compute"
    fix = "run schedule-cpu and apply-schedule first"


class TritonNeedsGpu(CannotCompile):
    """A user's Triton kernel in a graph for CPUs."""

    code = "TW2108"
    what = "cpu_openmp cannot launch the Triton kernel `{kernel}`"
    why = "Triton compiles for GPUs"
    fix = "move the tensors to a GPU; `options={{'target': 'gpu_emulated'}}` executes the kernel on the CPU"
