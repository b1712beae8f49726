"""tilewright: an MLIR-based compiler stack for PyTorch.

    compiled = torch.compile(model, backend="mlir")      # needs no import of this package

What this package offers by itself:

    tilewright.__version__
    tilewright.Options            every setting, with its meaning; torch.compile(..., options={...})
    tilewright.explain(f, *args)  what happened to each op of a call: fused, fallen back, and why
    tilewright.report(f, *args)   writes one static HTML page: source, IR, kernels, their time and memory
    tilewright.register_pass      decorator: makes a class or function a pass, by name
    tilewright.register_dialect   makes the ops of a dialect known; register_scalar_rule and
                                  register_lowering say how they become kernels
    tilewright.register_row       decorator: how calls of an operator (torch.library's, too) are imported
    tilewright.register_target    makes a `Target` known to options={"target": ...} and to the tools
    tilewright.pass_names()       every registered pass
    tilewright.PIPELINES          the pass order of each target, as data
    tilewright.TilewrightError    base class of every error, each with a code, a place, a reason and a fix

Importing this package imports neither torch nor xDSL; each attribute is imported when used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.dialects.diagnostics import TilewrightError
    from tilewright.dialects.registry import register_dialect
    from tilewright.dialects.semantics import semantics
    from tilewright.frontend.aten import register_row
    from tilewright.frontend.explain import explain
    from tilewright.frontend.options import Options
    from tilewright.frontend.report.session import report
    from tilewright.passes.lowering.foreign import register_lowering, register_scalar_rule
    from tilewright.passes.pipeline import PIPELINES
    from tilewright.passes.registry import pass_names, register_pass
    from tilewright.targets.registry import Target, register_target

    __version__: str

__all__ = [
    "PIPELINES",
    "Options",
    "Target",
    "TilewrightError",
    "__version__",
    "explain",
    "pass_names",
    "register_dialect",
    "register_lowering",
    "register_pass",
    "register_row",
    "register_scalar_rule",
    "register_target",
    "report",
    "semantics",
]

_HOMES = {
    "PIPELINES": "tilewright.passes.pipeline",
    "Options": "tilewright.frontend.options",
    "Target": "tilewright.targets.registry",
    "TilewrightError": "tilewright.dialects.diagnostics",
    "explain": "tilewright.frontend.explain",
    "pass_names": "tilewright.passes.registry",
    "register_dialect": "tilewright.dialects.registry",
    "register_lowering": "tilewright.passes.lowering.foreign",
    "register_pass": "tilewright.passes.registry",
    "register_row": "tilewright.frontend.aten",
    "register_scalar_rule": "tilewright.passes.lowering.foreign",
    "register_target": "tilewright.targets.registry",
    "report": "tilewright.frontend.report.session",
    "semantics": "tilewright.dialects.semantics",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("tilewright")
    if name not in _HOMES:
        raise AttributeError(f"module 'tilewright' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
