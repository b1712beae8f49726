"""Makes a pass from its text, `name{key=value ...}`; errors name the option that does not do."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import MISSING
from difflib import get_close_matches
from typing import Any, Literal, get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec
from xdsl.utils.hints import isa

from tilewright.dialects.diagnostics import BadPassOption


def pass_from_spec(cls: type[ModulePass], spec: ArgSpec) -> ModulePass:
    """The pass with these options; raises BadPassOption for the first that does not do."""
    given = spec.normalize_parameter_names().parameters
    options = {f.name: f for f in dataclasses.fields(cls) if f.init and f.name != "name"}
    hints = get_type_hints(cls) if given else {}
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in options:
            raise _refused(cls, name, _unknown(name, options))
        found = _converted(value, hints[name])
        if found is MISSING:
            raise _refused(cls, name, f"{_written(value)} is {_not_of(hints[name])}")
        values[name] = found
    for name, option in options.items():
        if name not in values and option.default is MISSING and option.default_factory is MISSING:
            raise _refused(cls, "(none)", f"`{_kebab(name)}` has no default, and has to be given")
    try:
        return cls(**values)
    except (ValueError, TypeError) as error:
        raise BadPassOption(
            name=cls.name, given=", ".join(map(_kebab, given)), reason=error, usage=usage(cls)
        ) from error


def usage(cls: type[ModulePass]) -> str:
    """How to write a pass with its options: `fuse{max-ops=<int>}`."""
    fields = [f for f in dataclasses.fields(cls) if f.init and f.name != "name"]
    if not fields:
        return f"`{cls.name}` takes no options"
    hints = get_type_hints(cls)
    options = " ".join(f"{_kebab(f.name)}=<{type_name(hints[f.name])}>" for f in fields)
    return f"write {cls.name}{{{options}}}; every option may be left out unless it has no default"


def type_name(hint: Any) -> str:
    """How the type of an option is written: the values, where it takes no others."""
    if get_origin(hint) is Literal:
        return "|".join(map(str, get_args(hint)))
    return hint.__name__ if isinstance(hint, type) and get_origin(hint) is None else str(hint)


def _not_of(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return f"none of {', '.join(map(str, get_args(hint)))}"
    return f"no {type_name(hint)}"


def _converted(value: Sequence[Any], hint: Any) -> Any:
    """What a list of literals is as a value of this type; MISSING where it is none.

    xDSL reads `2` as an integer and `1e-3` as a name; both are numbers where a float is asked for.
    """
    if not value:
        return next((empty for empty in ((), None) if isa(empty, hint)), MISSING)
    wants = (hint, *get_args(hint))
    literals = tuple(_as_float(literal) if float in wants else literal for literal in value)
    if len(literals) == 1 and isa(literals[0], hint):
        return literals[0]
    return literals if isa(literals, hint) else MISSING


def _as_float(literal: Any) -> Any:
    if isinstance(literal, bool):
        return literal
    try:
        return float(literal)
    except ValueError:
        return literal


def _unknown(name: str, options: Mapping[str, object]) -> str:
    near = get_close_matches(name, options, n=1)
    return f"did you mean `{_kebab(near[0])}`?" if near else "it has no such option"


def _refused(cls: type[ModulePass], name: str, reason: str) -> BadPassOption:
    return BadPassOption(name=cls.name, given=_kebab(name), reason=reason, usage=usage(cls))


def _written(value: Sequence[Any]) -> str:
    return f"`{','.join(map(str, value))}`" if value else "nothing"


def _kebab(name: str) -> str:
    return name.replace("_", "-")
