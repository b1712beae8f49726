"""Passes that are functions: of the whole module, or of one op that matches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, field, fields, make_dataclass
from inspect import Parameter, signature
from typing import Any, cast, get_type_hints

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from tilewright.dialects.diagnostics import BadPassFunction

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def module_pass(name: str, function: Callable[..., None]) -> type[ModulePass]:
    """The pass that calls `function(ctx, module, **options)`."""
    options = _options(name, function)

    def apply(self: Any, ctx: Context, op: ModuleOp) -> None:
        function(ctx, op, **_values(self, options))

    return _make(name, function, options, apply)


def pattern_pass(name: str, on: Sequence[type[Operation]], function: Callable[..., Any]) -> type[ModulePass]:
    """The pass that calls `function(op, rewrite, **options)` on ops of these classes until none changes."""
    options = _options(name, function)

    def apply(self: Any, ctx: Context, op: ModuleOp) -> None:
        from .driver import Rewrite, apply_rules

        values = _values(self, options)

        def rule(matched: Operation, rewrite: Rewrite) -> Any:
            return function(matched, rewrite, **values)

        apply_rules(op, dict.fromkeys(on, (rule,)), name)

    return _make(name, function, options, apply)


def _options(name: str, function: Callable[..., Any]) -> Mapping[str, Parameter]:
    """The keyword-only parameters of a function that takes two more; raises BadPassFunction."""
    parameters = signature(function).parameters.values()
    positional = [p for p in parameters if p.kind in _POSITIONAL]
    options = {p.name: p for p in parameters if p.kind is Parameter.KEYWORD_ONLY}
    where = f"{function.__module__}.{function.__qualname__}"
    if len(positional) != 2 or len(positional) + len(options) != len(parameters):
        raise BadPassFunction(name=name, function=where, reason=f"its signature is {signature(function)}")
    for option in options.values():
        if (why := _why_no_option(option)) is not None:
            raise BadPassFunction(name=name, function=where, reason=f"option `{option.name}` {why}")
    return options


def _why_no_option(option: Parameter) -> str | None:
    """Why a parameter cannot be a field of the class that is made."""
    if option.default is Parameter.empty or option.annotation is Parameter.empty:
        return "needs a type and a default"
    if option.name == "name" or hasattr(ModulePass, option.name):
        return "needs another name: every pass has that attribute"
    if type(option.default).__hash__ is None:
        return "needs a default that cannot change, such as a tuple"
    return None


def _values(pass_: ModulePass, options: Mapping[str, Parameter]) -> dict[str, Any]:
    return {option: getattr(pass_, option) for option in options}


def _make(
    name: str, function: Callable[..., Any], options: Mapping[str, Parameter], apply: Callable[..., None]
) -> type[ModulePass]:
    """A class as one would write it by hand, documented and placed as the function is."""
    hints = get_type_hints(function) if options else {}
    namespace = {"name": name, "apply": apply, "__doc__": function.__doc__}
    made = make_dataclass(
        "".join(part.capitalize() for part in name.split("-")) + "Pass",
        [(option, hints[option], field(default=p.default)) for option, p in options.items()],
        bases=(ModulePass,),
        namespace=namespace,
        frozen=True,
    )
    made.__module__, made.__qualname__ = function.__module__, function.__qualname__
    return cast("type[ModulePass]", made)


def has_default(pass_: ModulePass, option: str) -> bool:
    """Whether a pass holds the default of one of its options."""
    found = next(f for f in fields(pass_) if f.name == option)
    default: object = found.default if found.default_factory is MISSING else found.default_factory()
    return getattr(pass_, option) == default
