"""Writes docs/errors.md: `python -m tilewright.frontend.tools.error_reference docs/errors.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

from tilewright.dialects.diagnostics import CannotCompile, TilewrightError

from ..errors import REASONS

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("dialects", "passes", "targets", "frontend")

_HEADER = """# Errors

Generated from the error classes by `make docs`; do not edit. Codes are never reused.

Every error says what failed, where in your model, why, and what to do next:

```
TW1004: size `s0**2 - 1` cannot be expressed
  where: model.py:42 (encoder.norm)
  why:   ...
  fix:   ...
```

All are `tilewright.TilewrightError`. Raised while compiling, they arrive inside Dynamo's
`BackendCompilerFailed`. Where an error concerns one graph on one machine (marked *runs by
ATen*), the graph is run operation by operation meanwhile, with a warning that says so
once; `options={"fallback": False}` makes it an error.
"""

_SECTIONS: Mapping[str, str] = {
    "TW10": "Frontend: options, and graphs that cannot be imported",
    "TW11": "Frontend: why one operation runs through ATen",
    "TW19": "Tools",
    "TW20": "GPU target",
    "TW21": "CPU target",
    "TW22": "GPU target: kernels as Triton text, compiled and emulated",
    "TW24": "Export to other MLIR",
    "TW31": "Passes on tensors, and the interpreter",
    "TW32": "Passes on the host plan",
    "TW33": "Passes: fusion",
    "TW34": "Passes: schedules",
    "TW39": "Pass manager, registry and upstream MLIR",
}


def error_classes() -> list[type[TilewrightError]]:
    """Every class that defines a code, by code."""
    for layer in LAYERS:
        for path in sorted((ROOT / layer).rglob("*.py")):
            if "TilewrightError" in path.read_text() and path.name != "__init__.py":
                import_module(".".join(["tilewright", *path.relative_to(ROOT).with_suffix("").parts]))
    return sorted(_below(TilewrightError), key=lambda error: error.code)


def _below(base: type[TilewrightError]) -> Iterator[type[TilewrightError]]:
    for error in base.__subclasses__():
        if "code" in vars(error):
            yield error
        yield from _below(error)


def reference() -> str:
    """The whole page."""
    entries = [(error.code, _entry(error)) for error in error_classes()]
    entries += [(code, f"### {code}\n\n{text}\n") for code, text in REASONS.items()]
    lines, section = [_HEADER], ""
    for code, text in sorted(entries):
        if code[:4] != section:
            section = code[:4]
            lines.append(f"## {_SECTIONS[section]}\n")
        lines.append(text)
    return "\n".join(lines).rstrip() + "\n"


def _entry(error: type[TilewrightError]) -> str:
    summary = " ".join((error.__doc__ or "").split())
    marks = ["runs by ATen"] if issubclass(error, CannotCompile) else []
    marks += [f"a `{b.__name__}`" for b in error.__bases__ if b.__module__ == "builtins"]
    mark = f" *({', '.join(marks)})*" if marks else ""
    return (
        f"### {error.code} {error.__name__}\n\n{summary}{mark}\n\n"
        f"- what: {_plain(error.what)}\n- why: {_plain(error.why)}\n- fix: {_plain(error.fix)}\n"
    )


def _plain(template: str) -> str:
    """The template with its facts in angle brackets."""
    marked = template.replace("{{", "\0").replace("}}", "\1").replace("!r}", "}")
    return marked.replace("{", "<").replace("}", ">").replace("\0", "{").replace("\1", "}")


def main() -> None:
    """Write the page to the file that the command line names."""
    Path(sys.argv[1]).write_text(reference())


if __name__ == "__main__":
    main()
