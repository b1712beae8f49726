"""Functions of the plan that run as often as data says."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, SymbolRefAttr, i64
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    opt_prop_def,
    prop_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from ..control_flow import COND, KINDS, SCAN, WHILE
from ..index_expr import Expr
from ..op_definition import op_definition
from ..verification import SelfContained
from .calls import check_layouts
from .types import TensorType, exprs_of

_HANDLE = BaseAttr(TensorType)


@op_definition
class ControlOp(SelfContained, IRDLOperation):
    """Call functions of the plan as `tw.cond`, `tw.while` and `tw.scan` say, whichever `kind` names.

    %y = th.control "while" [@more, @body](%i, %x) carrying 2 over 0 symbols "s0" sizes ["", "s0"]
      strides ["", "1"] : (!th.tensor<i64>, !th.tensor<f32>) -> (!th.tensor<i64>, !th.tensor<f32>)

    The functions take the tensors that `kind` says, row-major, and the values of `symbols`. The host reads
    each condition, and on GPUs waits for it. No result shares memory with an operand or another result;
    what a call leaves behind is freed before the next one. `sizes` and `strides` are as in `th.call`.
    """

    name = "th.control"

    kind = prop_def(StringAttr)
    functions = prop_def(ArrayAttr[SymbolRefAttr])
    carried = prop_def(IntegerAttr.constr(i64))
    scanned = prop_def(IntegerAttr.constr(i64))
    symbols = opt_prop_def(StringAttr)
    sizes = prop_def(ArrayAttr[StringAttr])
    strides = prop_def(ArrayAttr[StringAttr])
    ins = var_operand_def(_HANDLE)
    outs = var_result_def(_HANDLE)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$kind $functions `(` $ins `)` `carrying` $carried `over` $scanned (`symbols` $symbols^)?"
        " `sizes` $sizes `strides` $strides attr-dict `:` `(` type($ins) `)` `->` `(` type($outs) `)`"
    )

    @property
    def symbol_values(self) -> tuple[Expr, ...]:
        return () if self.symbols is None else exprs_of(self.name, "symbols", self.symbols)

    @property
    def function_names(self) -> list[str]:
        return [name.string_value() for name in self.functions]

    @property
    def counts(self) -> tuple[int, int, int]:
        """Operands that are state, operands that are scanned, results: as `run_control` takes them."""
        return self.carried.value.data, self.scanned.value.data, len(self.outs)

    def verify_(self) -> None:
        _ = self.symbol_values
        kind, count = self.kind.data, len(self.functions)
        if kind not in KINDS:
            raise VerifyException(f'{self.name}: kind is "{kind}", expected one of {", ".join(KINDS)}')
        if count != KINDS[kind]:
            raise VerifyException(f"{self.name}: {kind} of {count} functions, expected {KINDS[kind]}")
        carried, scanned, results = self.counts
        state = {COND: 0, WHILE: results, SCAN: min(max(carried, 0), results)}[kind]
        if carried != state:
            raise VerifyException(f"{self.name}: {kind} of {results} results carries {carried}")
        low, high = {COND: (0, 0), WHILE: (0, 0), SCAN: (1, len(self.ins) - carried)}[kind]
        if not low <= scanned <= high:
            raise VerifyException(f"{self.name}: {kind} of {len(self.ins)} operands scans {scanned}")
        check_layouts(self.name, self.sizes, self.strides, results)
