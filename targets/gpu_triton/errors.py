"""What can go wrong between a scheduled module and Triton text."""

from __future__ import annotations

from tilewright.dialects.diagnostics import CannotCompile, TilewrightError


class NoTritonLowering(CannotCompile):
    """An op that has no row in the tables of Triton text."""

    code = "TW2201"
    what = "gpu_triton cannot lower `{op}`"
    why = "{reason}"
    fix = "run the GPU pipeline first (--pipeline=gpu), or add a row to targets/gpu_triton/rules.py"


class NoBlocks(TilewrightError):
    """A kernel whose blocks are still implicit."""

    code = "TW2202"
    what = "gpu_triton got kernel @{name} without explicit loops"
    why = "only a `tk.func ... scheduled` on tiles says what one program computes"
    fix = "run flatten-axes, schedule-gpu and apply-schedule first"
