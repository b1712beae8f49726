"""Triton kernels that users wrote, called from a graph."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue
from xdsl.irdl import (
    irdl_attr_definition,
    opt_prop_def,
    param_def,
    prop_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..index_expr import Expr, parse_exprs
from ..op_definition import op_definition
from .aten import ArgAttr, SizeAttr
from .base import PURE, checked_exprs
from .updating import UpdatingOp


@irdl_attr_definition
class JitAttr(ParametrizedAttribute):
    """A function of Triton text, with its warps and stages: `#tw.jit<"add", 4, 3, "import triton ...">`.

    The text has the function of that name, what it calls and the constants that it reads.
    """

    name = "tw.jit"

    function: StringAttr = param_def()
    warps: IntAttr = param_def()
    stages: IntAttr = param_def()
    text: StringAttr = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            function = parser.parse_str_literal()
            parser.parse_punctuation(",")
            warps = parser.parse_integer(allow_boolean=False, allow_negative=False)
            parser.parse_punctuation(",")
            stages = parser.parse_integer(allow_boolean=False, allow_negative=False)
            parser.parse_punctuation(",")
            text = parser.parse_str_literal()
        return [StringAttr(function), IntAttr(warps), IntAttr(stages), StringAttr(text)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.function.data)
            printer.print_string(f", {self.warps.data}, {self.stages.data}, ")
            printer.print_string_literal(self.text.data)

    def verify(self) -> None:
        _ = self.parameters_of_function

    @property
    def parameters_of_function(self) -> tuple[str, ...]:
        """The names of its parameters; raises VerifyException where the text does not define it."""
        return _parameters(self.text.data, self.function.data)


@irdl_attr_definition
class ConfigAttr(ParametrizedAttribute):
    """Another way to launch a kernel: `#tw.config<8, 2, "s0, 1, 1", [#tw.arg<0>, #tw.arg<1>, "64"]>`.

    Results are the same. It has warps, stages, a grid, and arguments of which only constants differ.
    """

    name = "tw.config"

    warps: IntAttr = param_def()
    stages: IntAttr = param_def()
    grid: StringAttr = param_def()
    args: ArrayAttr[Attribute] = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            warps = parser.parse_integer(allow_boolean=False, allow_negative=False)
            parser.parse_punctuation(",")
            stages = parser.parse_integer(allow_boolean=False, allow_negative=False)
            parser.parse_punctuation(",")
            grid = parser.parse_str_literal()
            parser.parse_punctuation(",")
            args = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_attribute)
        return [IntAttr(warps), IntAttr(stages), StringAttr(grid), ArrayAttr(args)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.warps.data}, {self.stages.data}, ")
            printer.print_string_literal(self.grid.data)
            printer.print_string(", ")
            printer.print_attribute(self.args)


@lru_cache(maxsize=256)
def _parameters(text: str, function: str) -> tuple[str, ...]:
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise VerifyException(f"tw.jit: the text is no Python: {error}") from error
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return tuple(arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs))
    raise VerifyException(f'tw.jit: the text defines no function "{function}"')


@op_definition
class TritonOp(UpdatingOp):
    """Launch a Triton kernel of the user's, over `grid` programs.

    `args` has one entry per parameter of the function: `#tw.arg<i>` is the address of operand i or, from
    the number of operands on, of a result; `#tw.size<"s0">` and integers of 32 or 64 bits, `f32` and `i1`
    are numbers given at the launch; a string is the Python literal of what is known at compile time.

    The kernel writes to results alone. A result starts as the operand that `inits` names, with -1 as
    memory that nobody wrote. The kernel reads memory as it was traced: `strides` are those of the operands,
    `tw.strides` those of the results. `candidates` are other ways to launch it (`triton.autotune`).

    ```mlir
    %r = tw.triton <"add", 4, 3, "..."> grid "s0, 1, 1" (%x, %y) {
      args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, #tw.size<"s0*64">, "64"],
      inits = array<i64: -1>, strides = ["1", "1"]
    } : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    ```

    Source: `torch._higher_order_ops.triton_kernel_wrap.triton_kernel_wrapper_functional`.
    """

    name = "tw.triton"

    kernel = prop_def(JitAttr)
    grid = prop_def(StringAttr)
    candidates = opt_prop_def(ArrayAttr[ConfigAttr])

    traits = traits_def(PURE)
    assembly_format = "$kernel `grid` $grid `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)"

    def __init__(
        self,
        kernel: JitAttr,
        grid: StringAttr,
        inputs: Sequence[SSAValue],
        args: ArrayAttr[Attribute],
        results: Sequence[Attribute],
        inits: Sequence[int],
        strides: Sequence[Sequence[Expr]],
        candidates: Sequence[ConfigAttr] = (),
    ) -> None:
        properties = self._as_properties(args, inits, strides)
        properties |= {"kernel": kernel, "grid": grid}
        if candidates:
            properties["candidates"] = ArrayAttr(candidates)
        self._build(inputs, results, properties)

    @property
    def grid_sizes(self) -> tuple[Expr, ...]:
        return parse_exprs(self.grid.data)

    def check(self) -> None:
        checked_exprs(self, "grid", self.grid, 3)
        check_arguments(self.name, self.kernel, self.args, self.candidates)
        for candidate in self.candidates or ():
            checked_exprs(self, "grid of a candidate", candidate.grid, 3)
        self._check_results()


_NUMBERS = ("i1", "i32", "i64", "f32")


def check_arguments(
    name: str,
    kernel: JitAttr,
    args: ArrayAttr[Attribute],
    candidates: ArrayAttr[ConfigAttr] | None,
) -> None:
    """One argument per parameter, each of a known kind, of every candidate too; raises VerifyException."""
    parameters = kernel.parameters_of_function
    for given in (args, *(candidate.args for candidate in candidates or ())):
        if len(given) != len(parameters):
            found = f"{len(given)} arguments for {len(parameters)} parameters"
            raise VerifyException(f'{name}: {found} of "{kernel.function.data}"')
        for parameter, first, arg in zip(parameters, args, given, strict=True):
            if not (_is_constant(arg) or isinstance(arg, ArgAttr | SizeAttr)):
                raise VerifyException(
                    f"{name}: argument `{parameter}` is {arg}: no operand, number or literal"
                )
            if arg != first and not (_is_constant(arg) and _is_constant(first)):
                raise VerifyException(f"{name}: a candidate has {arg} as `{parameter}`, expected {first}")


def _is_constant(arg: Attribute) -> bool:
    match arg:
        case IntegerAttr():
            return str(arg.type) in _NUMBERS
        case FloatAttr():
            return str(arg.type) in _NUMBERS
        case _:
            return isinstance(arg, StringAttr)


TRITON_OPS = (TritonOp,)
