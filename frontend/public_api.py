"""tilewright: an MLIR-based compiler stack for PyTorch.

    compiled = torch.compile(model, backend="mlir")      # needs no import of this package

What this package offers by itself:

    tilewright.__version__
    tilewright.Options            every setting, with its meaning; torch.compile(..., options={...})
    tilewright.explain(f, *args)  what happened to each op of a call: fused, fallen back, and why
    tilewright.register_pass      class decorator: makes a pass known to pipelines and tools
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
    from tilewright.frontend.explain import explain
    from tilewright.frontend.options import Options
    from tilewright.passes.pipeline import PIPELINES
    from tilewright.passes.registry import pass_names, register_pass

    __version__: str

__all__ = [
    "PIPELINES",
    "Options",
    "TilewrightError",
    "__version__",
    "explain",
    "pass_names",
    "register_pass",
]

_HOMES = {
    "PIPELINES": "tilewright.passes.pipeline",
    "Options": "tilewright.frontend.options",
    "TilewrightError": "tilewright.dialects.diagnostics",
    "explain": "tilewright.frontend.explain",
    "pass_names": "tilewright.passes.registry",
    "register_pass": "tilewright.passes.registry",
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
