"""A target for tilewright that writes NumPy text; see README.md."""

from tilewright.dialects.diagnostics import CannotCompile
from tilewright.passes.pipeline import KERNELS, TENSOR
from tilewright.targets.registry import Target

TARGET = Target(
    name="numpy",
    pipeline=(*TENSOR, *KERNELS),
    emitters={"numpy": "numpy_target.emit:emit"},
    build="numpy_target.runtime:build",
)


class NoNumpyText(CannotCompile):
    """An op without a row in emit.py; ATen runs the graph, which is said once."""

    code = "NP0001"
    what = "the NumPy target cannot write `{op}`"
    why = "{reason}"
    fix = "add a row to numpy_target/emit.py, or choose another target"
