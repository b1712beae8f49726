"""The choice among the configurations of users' kernels, which `triton.autotune` names."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.index_expr import Expr, Var, as_expr
from tilewright.dialects.th.calls import TritonLaunchOp
from tilewright.dialects.th.memory import ViewOp
from tilewright.dialects.th.types import element_of_handle, exprs_of, span
from tilewright.dialects.tw.aten import ArgAttr, SizeAttr
from tilewright.dialects.tw.triton import ConfigAttr
from tilewright.dialects.types import bytes_of
from tilewright.passes.rewrite import note

from .choosing import Argument, Choice, Chooser, Number, Trial
from .given import handed_over, kernel_of_launch

_INTEGERS: Mapping[str, Callable[[int], Number]] = {
    "i1": ctypes.c_bool,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
}


def choose_given(module: ModuleOp, chooser: Chooser, sizes: Mapping[Var, int]) -> None:
    """Put the best configuration of each launch in its place; `sizes` are usual ones of `@main`'s symbols."""
    found: list[_Launch] = []
    for function in [op for op in module.ops if isinstance(op, FuncOp)]:
        known = sizes if function.sym_name.data == "main" else dict[Var, int]()
        found += [
            _Launch(op, known, chooser)
            for op in function.walk()
            if isinstance(op, TritonLaunchOp) and op.candidates is not None
        ]
    chooser.decide(found)


@dataclass(frozen=True)
class _Launch:
    """A launch that has `candidates`."""

    op: TritonLaunchOp
    sizes: Mapping[Var, int]
    chooser: Chooser

    title = "autotune"
    fills = False

    def identity(self) -> Sequence[str]:
        return ["given", *(f"{t.task.key} {t.kernel.grid} {t.arguments}" for t in self._trials)]

    def trials(self) -> tuple[list[Trial], dict[int, str]]:
        return self._trials, {}

    @cached_property
    def _trials(self) -> list[Trial]:
        return [self._trial(number, config) for number, config in enumerate(self.op.configurations)]

    def _trial(self, number: int, config: ConfigAttr) -> Trial:
        kernel = kernel_of_launch(self.op, config)
        grid = self._known(exprs_of(self.op.name, "grid", config.grid))
        arguments = None
        if grid is not None:
            x, y, z = map(as_expr, grid)
            kernel = replace(kernel, grid=(x, y, z))
            arguments = self._arguments(config)
        return Trial(number, self._name(config), kernel, self.chooser.job("", kernel), arguments)

    def _arguments(self, config: ConfigAttr) -> list[Argument] | None:
        found = [self._argument(arg) for arg in handed_over(config.args.data)]
        known = [arg for arg in found if arg is not None]
        return known if len(known) == len(found) else None

    def _argument(self, arg: Attribute) -> Argument | None:
        match arg:
            case ArgAttr():
                return self._bytes(self.op.operands[arg.index.data])
            case SizeAttr():
                found = self._known([arg.expr()])
                return None if found is None else ctypes.c_int32(found[0])
            case IntegerAttr():
                return _INTEGERS[str(arg.type)](arg.value.data)
            case FloatAttr():
                return ctypes.c_float(arg.value.data)
            case _:
                raise AssertionError(f"{arg} is no argument of a launch")

    def _bytes(self, value: SSAValue) -> int | None:
        view = value.owner
        if not isinstance(view, ViewOp):
            return None
        sizes, strides = (exprs_of(view.name, "layout", text) for text in (view.sizes, view.strides))
        found = self._known([span(sizes, strides)])
        return None if found is None else found[0] * bytes_of(element_of_handle(value.type))

    def _known(self, values: Sequence[Expr]) -> list[int] | None:
        if any(var not in self.sizes for value in values for var in value.variables()):
            return None
        return [value.evaluate(self.sizes) for value in values]

    def _name(self, config: ConfigAttr) -> str:
        """`BLOCK 128, 8 warps, 2 stages`: the constants that differ among configurations."""
        all_args = zip(*(one.args for one in self.op.configurations), strict=True)
        names = self.op.kernel.parameters_of_function
        differ = [name for name, args in zip(names, all_args, strict=True) if len(set(args)) > 1]
        given = dict(zip(names, config.args, strict=True))
        constants = [f"{name} {_text(given[name])}" for name in differ]
        return ", ".join([*constants, f"{config.warps.data} warps", f"{config.stages.data} stages"])

    def take(self, choice: Choice) -> None:
        self.op.take(self.op.configurations[choice.number])
        note(self.op, choice.why)


def _text(arg: Attribute) -> str:
    match arg:
        case StringAttr():
            return arg.data
        case IntegerAttr() | FloatAttr():
            return str(arg.value.data)
        case _:
            return str(arg)
