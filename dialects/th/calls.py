"""What the plan runs: our kernels and ATen's."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IntAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    BaseAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    opt_prop_def,
    prop_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from ..index_expr import Expr
from ..op_definition import op_definition
from ..tw.triton import ConfigAttr, JitAttr, check_arguments
from ..verification import SelfContained
from .types import TensorType, exprs_of

_FLAT = BaseAttr(MemRefType)
_HANDLE = BaseAttr(TensorType)


@op_definition
class LaunchOp(SelfContained, IRDLOperation):
    """Run a kernel, or a group of them: it reads `ins`, writes `outs` and nothing else.

    th.launch @k0(%x, %w) into(%o) symbols "s0, s1*2" : (memref<8xf32>, memref<8xf32>) into (memref<8xf32>)

    `symbols` are the values of the kernel's symbols, in the order of its symbol list. An
    output may be the same buffer as an input; then the kernel is safe to run in place. What parts of a
    `tk.group` write, one of them may read as well.
    """

    name = "th.launch"

    kernel = prop_def(SymbolRefAttr)
    symbols = opt_prop_def(StringAttr)
    ins = var_operand_def(_FLAT)
    outs = var_operand_def(_FLAT)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$kernel `(` $ins `)` `into` `(` $outs `)` (`symbols` $symbols^)? attr-dict"
        " `:` `(` type($ins) `)` `into` `(` type($outs) `)`"
    )

    @property
    def symbol_values(self) -> tuple[Expr, ...]:
        return () if self.symbols is None else exprs_of(self.name, "symbols", self.symbols)

    def verify_(self) -> None:
        _ = self.symbol_values
        if not self.outs:
            raise VerifyException(f"{self.name}: @{self.kernel.string_value()} writes no buffer")


@op_definition
class ExternOp(SelfContained, IRDLOperation):
    """Run an ATen out-variant, which writes the tensors `outs`.

    th.extern "aten::mm.out"(%a, %b) into(%o) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>]}
      : (!th.tensor<f32>, !th.tensor<f32>) into (!th.tensor<f32>)

    `args` follow the ATen schema, all positional, keyword-only arguments included. They are
    encoded as for `tw.aten`; `#tw.arg<i>` counts `ins`, then `outs`.
    """

    name = "th.extern"

    callee = prop_def(StringAttr)
    args = prop_def(ArrayAttr[Attribute])
    ins = var_operand_def(_HANDLE)
    outs = var_operand_def(_HANDLE)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$callee `(` $ins `)` `into` `(` $outs `)` attr-dict"
        " `:` `(` type($ins) `)` `into` `(` type($outs) `)`"
    )

    def verify_(self) -> None:
        _check_callee(self.name, self.callee)
        _check_args(self.name, self.args, len(self.operands))


@op_definition
class TritonLaunchOp(SelfContained, IRDLOperation):
    """Launch a Triton kernel of the user's, which reads `ins` and `outs` and writes to `outs`.

    th.triton <"add", 4, 3, "..."> grid "4, 1, 1" (%a) into(%o) {args = [#tw.arg<0>, #tw.arg<1>, 1000 : i32]}
      : (!th.tensor<f32>) into (!th.tensor<f32>)

    `args` and `candidates` are as for `tw.triton`; `#tw.arg<i>` counts `ins`, then `outs`.
    """

    name = "th.triton"

    kernel = prop_def(JitAttr)
    grid = prop_def(StringAttr)
    args = prop_def(ArrayAttr[Attribute])
    candidates = opt_prop_def(ArrayAttr[ConfigAttr])
    ins = var_operand_def(_HANDLE)
    outs = var_operand_def(_HANDLE)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$kernel `grid` $grid `(` $ins `)` `into` `(` $outs `)` attr-dict"
        " `:` `(` type($ins) `)` `into` `(` type($outs) `)`"
    )

    @property
    def grid_sizes(self) -> tuple[Expr, ...]:
        """Programs along x, y and z."""
        return exprs_of(self.name, "grid", self.grid)

    @property
    def configurations(self) -> tuple[ConfigAttr, ...]:
        """All ways to launch it, its own first."""
        own = ConfigAttr(self.kernel.warps, self.kernel.stages, self.grid, self.args)
        return (own, *(self.candidates or ()))

    def kernel_in(self, configuration: ConfigAttr) -> JitAttr:
        """The kernel as it is compiled for this way."""
        function, text = self.kernel.function, self.kernel.text
        return JitAttr(function, configuration.warps, configuration.stages, text)

    def take(self, configuration: ConfigAttr) -> None:
        """Launch it in this way, the only one from now on."""
        kernel = self.kernel_in(configuration)
        self.properties.pop("candidates", None)
        self.properties.update(kernel=kernel, grid=configuration.grid, args=configuration.args)

    def verify_(self) -> None:
        _check_args(self.name, self.args, len(self.operands))
        for configuration in self.configurations:
            if len(exprs_of(self.name, "grid", configuration.grid)) != 3:
                raise VerifyException(f"{self.name}: a grid has three sizes")
        check_arguments(self.name, self.kernel, self.args, self.candidates)


@op_definition
class CallOp(SelfContained, IRDLOperation):
    """Run an ATen function that returns new tensors.

    %u = th.call "aten::relu"(%t) sizes ["8, s0"] strides ["s0, 1"] {args = [#tw.arg<0>]}
      : (!th.tensor<f32>) -> (!th.tensor<f32>)

    `sizes` and `strides` hold one string per result: what the function is known to return.
    `returns` says which of the function's returns the results are, where some are None.
    """

    name = "th.call"

    callee = prop_def(StringAttr)
    args = prop_def(ArrayAttr[Attribute])
    sizes = prop_def(ArrayAttr[StringAttr])
    strides = prop_def(ArrayAttr[StringAttr])
    returns = opt_prop_def(DenseArrayBase.constr(i64))
    ins = var_operand_def(_HANDLE)
    outs = var_result_def(_HANDLE)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$callee `(` $ins `)` `sizes` $sizes `strides` $strides attr-dict"
        " `:` `(` type($ins) `)` `->` `(` type($outs) `)`"
    )

    @property
    def positions(self) -> list[int]:
        """For each result, which return of the function it is."""
        return list(range(len(self.outs))) if self.returns is None else list(self.returns.get_values())

    def verify_(self) -> None:
        _check_callee(self.name, self.callee)
        _check_args(self.name, self.args, len(self.operands))
        check_layouts(self.name, self.sizes, self.strides, len(self.outs))
        if self.returns is not None and len(self.positions) != len(self.outs):
            raise VerifyException(f"{self.name}: {len(self.outs)} results but returns {self.positions}")


def check_layouts(
    name: str, all_sizes: ArrayAttr[StringAttr], all_strides: ArrayAttr[StringAttr], results: int
) -> None:
    """One list of sizes and one of strides per result, equally long."""
    for what, texts in (("sizes", all_sizes), ("strides", all_strides)):
        if len(texts) != results:
            raise VerifyException(f"{name}: {results} results but {len(texts)} {what}")
    for size, stride in zip(all_sizes, all_strides, strict=True):
        sizes, strides = exprs_of(name, "sizes", size), exprs_of(name, "strides", stride)
        if len(sizes) != len(strides):
            raise VerifyException(f"{name}: {len(sizes)} sizes but {len(strides)} strides")


def _check_callee(name: str, callee: StringAttr) -> None:
    namespace, separator, rest = callee.data.partition("::")
    if not (namespace and separator and rest):
        raise VerifyException(f'{name}: "{callee.data}" is not of the form "namespace::op.overload"')


def operand_indices(args: Attribute) -> Iterator[int]:
    """Every `#tw.arg<i>` in `args`, nested lists included."""
    if isa(args, ArrayAttr[Attribute]):
        for arg in args:
            yield from operand_indices(arg)
    elif args.name == "tw.arg":
        assert isinstance(args, ParametrizedAttribute)
        (index,) = args.parameters
        match index:
            case IntAttr():
                yield index.data
            case IntegerAttr():
                yield index.value.data
            case _:
                raise AssertionError(f"{args} holds no operand number")


def _check_args(name: str, args: Attribute, operands: int) -> None:
    used = set(operand_indices(args))
    if used != set(range(operands)):
        raise VerifyException(
            f"{name}: args use operands {sorted(used)}, there are {operands}: each must be used"
        )
