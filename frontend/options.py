"""Everything a user may ask of a compile, as one frozen dataclass."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any, cast

from tilewright.targets.registry import Target, target_names

from .errors import BadOptionValue, UnknownMode, UnknownOption


@dataclass(frozen=True)
class Options:
    """Options of one `torch.compile(..., backend="mlir", options={...})`."""

    target: str = "auto"
    """What to emit: `auto` follows the device of the inputs; `reference` interprets the IR."""
    freeze: bool = True
    """Fold and pre-pack parameters that need no gradient in this call (guarded)."""
    pool_outputs: bool = True
    """Keep the memory of large results for the next call once the caller drops them."""
    cuda_graphs: bool = False
    """Replay a graph's launches as one CUDA graph where that is safe (`mode="reduce-overhead"`)."""
    autotune: bool = False
    """On GPUs, compile a few configurations of each kernel and take the one that a clock finds fastest."""
    fallback: bool = True
    """Run operations without an op of ours through ATen; False makes them an error."""
    pipeline: str = ""
    """Passes to run instead of the target's pipeline, as `tilewright-opt -p` takes them."""
    insert: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """Passes around named ones: `{"after:fuse": ["my-pass"], "before:dce#2": [...]}`."""
    target_options: Mapping[str, object] = field(default_factory=dict[str, object])
    """Options that only the chosen target has."""
    verify: bool = False
    """Verify the IR after every pass; so it is where `pipeline` or `insert` is given."""
    check: str = ""
    """`each-pass`: run every graph before and after each pass, and compiled, on made-up inputs (slow)."""
    dump: str = ""
    """Write the IR after each pass into this folder (as TILEWRIGHT_DUMP)."""
    cache_dir: str = ""
    """Keep compiled libraries in this folder (as TILEWRIGHT_CACHE_DIR)."""


_ACCEPTED: Mapping[str, Callable[[], Sequence[str]]] = {
    "target": lambda: ("auto", *target_names()),
    "check": lambda: ("", "each-pass"),
}

_PATHS = ("dump", "cache_dir")

# torch.compile's modes. On CPUs launches cost nothing and no schedule is searched: there all
# of them mean the default (`autotune` and `cuda_graphs` change nothing).
MODES: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "reduce-overhead": {"cuda_graphs": True},
    "max-autotune": {"cuda_graphs": True, "autotune": True},
    "max-autotune-no-cudagraphs": {"autotune": True},
}


def _suggestion(name: object, valid: list[str]) -> str:
    close = get_close_matches(str(name), valid, n=1, cutoff=0.4)
    return f"did you mean `{close[0]}`?" if close else "remove it"


def make_options(options: Mapping[str, Any] | None = None, mode: str | None = None) -> Options:
    """Options from what Dynamo passes to a backend; unknown names are refused."""
    valid = [field.name for field in fields(Options)]
    if mode is not None and mode not in list(MODES):
        raise UnknownMode(name=mode, valid=", ".join(MODES), suggestion=_suggestion(mode, list(MODES)))
    given = {} if options is None else _mapping(options)
    if given is None:
        raise BadOptionValue(name="options", value=options, accepted='a mapping: {"target": "cpu_openmp"}')
    chosen: dict[str, Any] = dict(MODES[mode or "default"])
    for name, value in given.items():
        if name not in valid:
            raise UnknownOption(name=name, valid=", ".join(valid), suggestion=_suggestion(name, valid))
        chosen[str(name)] = _checked(str(name), value)
    return replace(Options(), **chosen)


def _checked(name: str, given: object) -> object:
    """The value of an option, of the type that its field has."""
    default: object = getattr(Options(), name)
    value = _plain(name, given, type(default))
    if type(value) is not type(default):
        accepted = f"a {type(default).__name__}" + (" or a path" if name in _PATHS else "")
        raise BadOptionValue(name=name, value=given, accepted=accepted)
    if name == "insert" and not _is_insertion(cast("Mapping[object, object]", value)):
        raise BadOptionValue(
            name=name, value=value, accepted='lists of passes by place: {"after:fuse": ["dce"]}'
        )
    accepted = _ACCEPTED[name]() if name in _ACCEPTED else None
    if accepted is not None and value not in accepted:
        raise BadOptionValue(
            name=name, value=value, accepted=", ".join(a or "an empty text" for a in accepted)
        )
    return value


def _plain(name: str, given: object, kind: type) -> object:
    """Paths as texts and mappings as dicts, where the option is one."""
    if name in _PATHS and isinstance(given, os.PathLike):
        return os.fsdecode(cast("os.PathLike[str]", given))
    return _mapping(given) if kind is dict else given


def _mapping(value: object) -> dict[object, object] | None:
    """Any mapping as a dict; None for anything else."""
    return dict(cast("Mapping[object, object]", value)) if isinstance(value, Mapping) else None


def options_of_target(target: Target, given: Mapping[str, object]) -> dict[str, object]:
    """The options of a target's own, with its defaults; unknown names and other types are refused."""
    for name, value in given.items():
        if name not in target.options:
            valid = list(target.options)
            raise UnknownOption(
                name=f"target_options: {name}",
                valid=", ".join(valid) or f"nothing for `{target.name}`",
                suggestion=_suggestion(name, valid),
            )
        default = target.options[name]
        if type(value) is not type(default):
            accepted = f"a {type(default).__name__}"
            raise BadOptionValue(name=f"target_options: {name}", value=value, accepted=accepted)
    return {**target.options, **given}


def _is_insertion(value: Mapping[object, object]) -> bool:
    def is_list(passes: object) -> bool:
        return isinstance(passes, list | tuple) and all(
            isinstance(p, str) for p in cast("Sequence[object]", passes)
        )

    return all(isinstance(place, str) and is_list(passes) for place, passes in value.items())
