"""Runs kernels of Triton text on CPU tensors, all programs of a grid at once.

Programs that want to go different ways (a loop bound or a branch that depends on the program)
are undone, parted by what they want, and run again part by part.
"""

from __future__ import annotations

import ast
import hashlib
import linecache
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import CodeType, TracebackType
from typing import Any, NoReturn

import torch

from tilewright.dialects.diagnostics import TilewrightError
from tilewright.dialects.index_expr import Var, evaluate_all

from ..kernel import Parameter, TritonKernel, TritonUnit
from .dtypes import POINTERS, BadText, DType
from .errors import KernelCheckFailed, NotEmulated, OrderDependent, OutOfBounds, Race, Refused, WrongLaunch
from .language import language
from .memory import AccessError, Buffer, buffers
from .pointers import Pointer
from .reductions import DependsOnOrder
from .values import Diverged, TooManyPrograms, as_value

_AT_ONCE = 4096
"""Programs that run together at first."""
_IMPORTS = frozenset({"triton", "triton.language", "triton.language.extra"})


class Emulator:
    """The kernels of a unit, ready to run.

    >>> Emulator(unit).launch("k0", [x, y, out, 1000], symbols={sym(0): 1000})
    """

    def __init__(self, unit: TritonUnit) -> None:
        self.unit = unit
        self._kernels = {kernel.name: kernel for kernel in unit.kernels}
        self._code, self._file = _compiled(unit.text)

    def launch(self, name: str, arguments: Sequence[Any], symbols: Mapping[Var, int]) -> None:
        """Run a kernel over the grid that it states for these sizes; a failed check raises."""
        kernel = self._kernels[name]
        x, y, z = evaluate_all(kernel.grid, symbols)
        failure = torch.zeros(1, dtype=torch.int32)
        self.run(name, [*arguments, failure] if kernel.checks else arguments, (x, y, z))
        if (number := int(failure)) != 0:
            what, where = self.unit.places[number - 1] if self.unit.places else (f"check {number} failed", "")
            raise KernelCheckFailed(where=where or None, what=what, kernel=name)

    def run(self, name: str, arguments: Sequence[Any], grid: tuple[int, int, int]) -> None:
        """Run a kernel over `grid`; arguments are contiguous tensors and integers, one per parameter."""
        kernel = self._kernels[name]
        parameters = [*kernel.parameters, *([Parameter("failure", "*i32", True)] if kernel.checks else [])]
        code, file = (self._code, self._file) if kernel.given is None else _compiled(kernel.given.text)
        launch = _Launch(kernel, code, file, grid)
        launch.run(_bound(kernel, parameters, arguments))


@lru_cache(maxsize=16)
def _compiled(text: str) -> tuple[CodeType, str]:
    """The text without its imports; its lines can be quoted by the file name that is returned."""
    file = f"<triton:{hashlib.sha256(text.encode()).hexdigest()[:12]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    tree = ast.parse(text, file)
    kept: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            _known_import(node)
        else:
            kept.append(node)
    tree.body = kept
    return compile(tree, file, "exec"), file


def _known_import(node: ast.Import | ast.ImportFrom) -> None:
    """Annotations are not evaluated; other modules than Triton's own are unknown."""
    names = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    for name in names:
        if name not in _IMPORTS and name != "__future__":
            raise NotEmulated(
                kernel="", reason=f"the text imports {name}", line=node.lineno, source=ast.unparse(node)
            )


def _bound(kernel: TritonKernel, parameters: Sequence[Parameter], arguments: Sequence[Any]) -> list[Any]:
    """Pointers and scalars for a kernel's parameters; raises WrongLaunch."""
    if len(arguments) != len(parameters):
        reason = f"it takes {len(parameters)} arguments and got {len(arguments)}"
        raise WrongLaunch(kernel=kernel.name, reason=reason)
    types: list[DType] = []
    tensors: list[torch.Tensor] = []
    names: list[str] = []
    contested: list[bool] = []
    for parameter, argument in zip(parameters, arguments, strict=True):
        if parameter.type.startswith("*"):
            types.append(POINTERS[parameter.type[1:]])
            tensors.append(_flat(kernel, parameter, argument, types[-1]))
            names.append(parameter.name)
            contested.append(parameter.contested)
    made = iter(buffers(names, tensors, types, contested))
    bound: list[Any] = []
    for parameter, argument in zip(parameters, arguments, strict=True):
        if parameter.type.startswith("*"):
            bound.append(next(made))
        else:
            if parameter.aligned and int(argument) % 16:
                raise WrongLaunch(
                    kernel=kernel.name, reason=f"`{parameter.name}` = {argument} is not divisible by 16"
                )
            number = float(argument) if POINTERS[parameter.type].floating else int(argument)
            bound.append(as_value(number, POINTERS[parameter.type]))
    return bound


def _flat(kernel: TritonKernel, parameter: Parameter, argument: Any, dtype: DType) -> torch.Tensor:
    reason = ""
    if not isinstance(argument, torch.Tensor):
        reason = f"`{parameter.name}` is no tensor"
    elif not argument.is_contiguous():
        reason = f"`{parameter.name}` is not contiguous"
    elif argument.element_size() != torch.empty(0, dtype=dtype.payload).element_size():
        reason = f"`{parameter.name}` is {parameter.type} and got {argument.dtype}"
    elif argument.dtype.is_floating_point != dtype.floating:
        reason = f"`{parameter.name}` is {parameter.type} and got {argument.dtype}"
    if reason:
        raise WrongLaunch(kernel=kernel.name, reason=reason)
    return argument.detach().reshape(-1)


class _Launch:
    """One run over a grid."""

    def __init__(self, kernel: TritonKernel, code: CodeType, file: str, grid: tuple[int, int, int]) -> None:
        self._kernel, self._code, self._file, self._grid = kernel, code, file, grid

    def run(self, arguments: Sequence[Any]) -> None:
        total = self._grid[0] * self._grid[1] * self._grid[2]
        regions = list({id(a.region): a.region for a in arguments if isinstance(a, Buffer)}.values())
        waiting = list(torch.split(torch.arange(total), _AT_ONCE)) if total else []
        while waiting:
            programs = waiting.pop(0)
            try:
                with torch.no_grad():
                    self._group(programs, arguments)
            except (Diverged, TooManyPrograms) as stop:
                waited = isinstance(stop, Diverged) and any(region.ordered for region in regions)
                for region in regions:
                    region.restore()
                    region.ordered |= waited
                waiting[:0] = _parts(programs, stop)
            else:
                for region in regions:
                    region.keep()

    def _group(self, programs: torch.Tensor, arguments: Sequence[Any]) -> None:
        names = language(programs, self._grid)
        zero = as_value(0).to(names["tl"].int64)
        try:
            exec(self._code, names)  # the text is our own emission
            given = [Pointer(a, zero) if isinstance(a, Buffer) else a for a in arguments]
            names[self._kernel.entry](*_in_order(self._kernel, given, names))
        except (Diverged, TooManyPrograms, TilewrightError):
            raise
        except Exception as error:
            self._explain(error)

    def _explain(self, error: Exception) -> NoReturn:
        """The same as an error of ours, with the line of the text."""
        line = self._line(error.__traceback__)
        source = linecache.getline(self._file, line).strip()
        facts: dict[str, Any] = {"kernel": self._kernel.name, "line": line, "source": source}
        match error:
            case AccessError(how="reads" | "writes" | "updates" as verb):
                size = error.buffer.flat.numel()
                place = {
                    "buffer": error.buffer.name,
                    "index": error.index,
                    "program": self._program(error.program),
                }
                raise OutOfBounds(verb=verb, size=size, **place, **facts) from error
            case AccessError(how=how):
                place = {
                    "buffer": error.buffer.name,
                    "index": error.index,
                    "program": self._program(error.program),
                }
                raise Race(how=how, **place, **facts) from error
            case DependsOnOrder():
                raise OrderDependent(**facts) from error
            case BadText():
                raise Refused(reason=str(error), **facts) from error
            case _:
                raise NotEmulated(reason=f"{type(error).__name__}: {error}", **facts) from error

    def _line(self, trace: TracebackType | None) -> int:
        line = 0
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self._file:
                line = trace.tb_lineno
            trace = trace.tb_next
        return line

    def _program(self, number: int) -> str:
        if number < 0:
            return "(several)"
        x, y, _ = self._grid
        return f"({number % x}, {number // x % y}, {number // (x * y)})"


def _in_order(kernel: TritonKernel, arguments: Sequence[Any], names: Mapping[str, Any]) -> Sequence[Any]:
    """Arguments as the function takes them: those of a user's have constants between them."""
    if kernel.given is None:
        return arguments
    values = {p.name: value for p, value in zip(kernel.parameters, arguments, strict=True)}
    values.update({name: eval(text, {"tl": names["tl"]}) for name, text in kernel.given.constants})
    return [values[name] for name in kernel.given.order]


def _parts(programs: torch.Tensor, stop: Diverged | TooManyPrograms) -> list[torch.Tensor]:
    """Programs that agree, or fewer of them."""
    if isinstance(stop, TooManyPrograms):
        return list(torch.split(programs, min(stop.count, max(1, len(programs) // 2))))
    return [programs[stop.choice == choice] for choice in sorted({int(c) for c in stop.choice})]
