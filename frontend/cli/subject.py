"""What a command compiles: a function or module named on the command line, and its inputs.

tilewright explain examples/unet.py:UNet --input 1x3x64x64xf32
tilewright capture my_package.models:forward --inputs-from my_package.models:example
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import logging
import re
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import click

from tilewright.dialects.diagnostics import TilewrightError

from .errors import BadInputText, FailedCall, NoSuchFunction

if TYPE_CHECKING:
    import torch

_INPUT = re.compile(
    r"(?:(?P<sizes>\d+(?:x\d+)*)x)?(?P<element>[a-z]+\d*)(?::(?P<low>-?\d+)\.\.(?P<high>-?\d+))?"
)
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>\S+)')
_LARGEST_INDEX = 10
"""Random integers lie in [0, 10) unless a range is given: most of them become indices."""


@dataclass(frozen=True)
class Subject:
    """A callable and the arguments to call it with."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    dynamic: bool | None
    training: bool

    def call(self, compiled: Callable[..., Any]) -> Any:
        """Call without gradients, or, when training, with the backward of the sum of all results."""
        import torch

        with torch.set_grad_enabled(self.training):
            result = compiled(*self.args)
        if self.training:
            _sum(result).backward()
        return result


@dataclass(frozen=True)
class Named:
    """A subject as the command line names it."""

    function: str
    inputs: Sequence[str]
    inputs_from: str | None
    dynamic: bool
    training: bool
    seed: int

    @contextmanager
    def calling(self, subject: Subject) -> Generator[None]:
        """What the call raises becomes the diagnostic behind it, or FailedCall with the user's line."""
        try:
            with _failures_not_logged():
                yield
        except TilewrightError:
            raise
        except Exception as error:
            ours = next((e for e in _causes(error) if isinstance(e, TilewrightError)), None)
            if ours is not None:
                raise ours from error
            given = ", ".join(type(arg).__name__ for arg in subject.args) or "no arguments"
            reason = _told_by_dynamo(error) or f"{type(error).__name__}: {error}"
            reason += _place_in(error, self.function)
            raise FailedCall(subject=self.function, given=given, reason=reason) from error

    def load(self) -> Subject:
        """Import the function and make its arguments; raises NoSuchFunction or BadInputText."""
        import torch

        torch.manual_seed(self.seed)  # pyright: ignore[reportUnknownMemberType]
        target = _callable(_find(self.function), self.training)
        args: Sequence[Any] = [make_input(text) for text in self.inputs]
        if self.inputs_from is not None:
            given: Any = _find(self.inputs_from)()
            args = cast("tuple[Any, ...]", given) if isinstance(given, tuple) else (given,)
        if self.training:
            args = [_with_gradient(arg) for arg in args]
        return Subject(target, tuple(args), True if self.dynamic else None, self.training)


_OPTIONS = (
    click.argument("function", metavar="MODULE:FUNCTION"),
    click.option(
        "--input",
        "inputs",
        multiple=True,
        metavar="TYPE",
        help="a random argument: 4x8xf32, i64 (0-d), 2x16xi64:0..1000 (below 1000); repeatable",
    ),
    click.option("--inputs-from", metavar="MODULE:FUNCTION", help="call this for the arguments"),
    click.option("--dynamic", is_flag=True, help="compile for sizes that vary"),
    click.option("--training", is_flag=True, help="run the backward, too"),
    click.option("--seed", default=0, show_default=True, help="of the random weights and arguments"),
)


def takes_subject(command: Callable[..., None]) -> Callable[..., None]:
    """Decorator: the argument and options that name a subject, given to the command as a `Named`."""
    names = [field.name for field in fields(Named)]

    @wraps(command)
    def with_subject(**given: Any) -> None:
        command(Named(**{name: given.pop(name) for name in names}), **given)

    wrapped: Callable[..., None] = with_subject
    for decorate in reversed(_OPTIONS):
        wrapped = decorate(wrapped)
    return wrapped


def option_values(texts: Sequence[str]) -> dict[str, bool | str]:
    """`NAME=VALUE` options of the backend; an option's own check refuses what does not fit."""
    given = (text.partition("=") for text in texts)
    return {name: {"true": True, "false": False}.get(value.lower(), value) for name, _, value in given}


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what it was raised for; torch wraps what a backend raises."""
    while error is not None:
        yield error
        error = getattr(error, "inner_exception", None) or error.__cause__


@contextmanager
def _failures_not_logged() -> Generator[None]:
    """Drop the traceback that torch logs where an op refuses its operands: the error is told anyway."""
    logger = logging.getLogger("torch._subclasses.fake_tensor")

    def is_wanted(record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith("failed while attempting to run meta")

    logger.addFilter(is_wanted)
    try:
        yield
    finally:
        logger.removeFilter(is_wanted)


def _told_by_dynamo(error: Exception) -> str:
    """What an op refused while TorchDynamo traced, without the advice around it; else nothing."""
    if type(error).__name__ != "TorchRuntimeError":
        return ""
    cause = [*_causes(error.__context__)][-1:]  # it is raised `from None`
    return "".join(f"{type(one).__name__}: {one}" for one in cause)


def _place_in(error: Exception, function: str) -> str:
    """The innermost line of the file that holds the user's function, where the error passed one.

    TorchDynamo traces the function, which then has no frame: its error lists them.
    """
    found = sys.modules.get(Path(function.rpartition(":")[0]).stem) or sys.modules.get(
        function.rpartition(":")[0]
    )
    home = getattr(found, "__file__", None)
    lines = [(f.f_code, line) for f, line in walk_tb(error.__traceback__) if f.f_code.co_filename == home]
    if lines:
        return f"\nin {lines[-1][0].co_qualname}, {home}:{lines[-1][1]}"
    traced = [match for match in _FRAME.finditer(str(error)) if match["file"] == home]
    return f"\nin {traced[-1]['name']}, {home}:{traced[-1]['line']}" if traced else ""


def _callable(found: Any, training: bool) -> Callable[..., Any]:
    import torch

    if inspect.isclass(found) and issubclass(found, torch.nn.Module):
        found = found()
    return found.train(training) if isinstance(found, torch.nn.Module) else found


def _find(text: str) -> Any:
    """What `package.module:name.name` or `file.py:name` names."""
    where, colon, path = text.rpartition(":")
    if not colon:
        raise NoSuchFunction(text=text, reason="there is no `:` between the module and the name")
    module = import_from(where, text)
    found: Any = module
    for name in path.split("."):
        if not hasattr(found, name):
            near = get_close_matches(name, dir(found), n=1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise NoSuchFunction(text=text, reason=f"{where} has no `{name}`{hint}")
        found = getattr(found, name)
    if not callable(found):
        raise NoSuchFunction(text=text, reason=f"it is a {type(found).__name__}, which cannot be called")
    return found


def import_from(where: str, text: str) -> ModuleType:
    """Import a module by its dotted name (from the working directory, too) or by its file."""
    try:
        if not where.endswith(".py"):
            sys.path.insert(0, str(Path.cwd()))
            return importlib.import_module(where)
        spec = importlib.util.spec_from_file_location(Path(where).stem, where)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        sys.path.insert(0, str(Path(where).resolve().parent))
        spec.loader.exec_module(module)
        return module
    except Exception as error:
        raise NoSuchFunction(text=text, reason=f"{type(error).__name__}: {error}") from error


def make_input(text: str) -> torch.Tensor:
    """`4x8xf32` is normal, `4xi64:0..100` uniform over [0, 100), `4xi1` true or false."""
    import torch

    from ..fx.dtypes import ELEMENTS

    dtypes = {str(element): dtype for dtype, element in ELEMENTS.items()}

    match = _INPUT.fullmatch(text)
    if match is None or match["element"] not in dtypes:
        raise _bad_input(text, list(dtypes))
    dtype = dtypes[match["element"]]
    sizes = [int(n) for n in (match["sizes"] or "").split("x") if n]
    if dtype.is_floating_point:
        return torch.randn(sizes).to(dtype)
    low, high = int(match["low"] or 0), int(match["high"] or _LARGEST_INDEX)
    if dtype == torch.bool:
        return torch.randint(0, 2, sizes).bool()
    if low >= high:
        raise _bad_input(text, list(dtypes))
    return torch.randint(low, high, sizes, dtype=dtype)


def _bad_input(text: str, elements: Sequence[str]) -> BadInputText:
    """The first part of the text that does not do, and what stands there in others."""
    head, _, span = text.partition(":")
    *sizes, element = head.split("x")
    wrong = next((size for size in sizes if not size.isdecimal()), None)
    if wrong is not None:
        return BadInputText(text=text, reason=f"`{wrong}` is no size", advice="sizes are numbers, 0 or more")
    if element.isdecimal() or not element:
        shown = "x".join([*sizes, element] if element else sizes)
        advice = f"add one: {shown}xf32; or one of {', '.join(elements)}"
        return BadInputText(text=text, reason="it has no element type", advice=advice)
    if element not in elements:
        advice = f"use one of the element types {', '.join(elements)}"
        return BadInputText(text=text, reason=f"`{element}` is no element type", advice=advice)
    return BadInputText(
        text=text,
        reason=f"`{span}` is no range",
        advice="write low..high in whole numbers, of which low counts and high does not",
    )


def _with_gradient(arg: Any) -> Any:
    import torch

    floating = isinstance(arg, torch.Tensor) and arg.is_floating_point()
    return arg.requires_grad_() if floating else arg


def _sum(result: Any) -> Any:
    import torch
    from torch.utils._pytree import tree_leaves

    leaves = [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    return sum((leaf.float().sum() for leaf in leaves), torch.zeros(()))
