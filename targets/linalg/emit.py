"""A module of `tw` and `tk.kernel` as linalg on tensors, in upstream's own syntax.

Every op that computes becomes a kernel first, by the pass that the targets use, so what an op
means (rounding of halves, NaN, narrow integers) is decided in one place. Symbols become
sizes of arguments where they are no `index` argument.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Var
from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import element_type_of, sizes_of
from tilewright.passes.fusion.absorb_views import view_kernel
from tilewright.passes.manager import parse_pipeline, run_pipeline

from .errors import LEAVE_OUT, CannotExport
from .kernels import write_kernel
from .tensors import TENSOR_OPS
from .writer import UnknownSize, Writer, spell, tensor

_PASSES = "decompose,convert-tw-to-tk,dce"


def emit_linalg(module: ModuleOp) -> str:
    """The text; raises CannotExport at the first op that has no counterpart. Leaves `module` as it is."""
    module = module.clone()
    run_pipeline(new_context(), module, parse_pipeline(_PASSES))
    w = Writer()
    for op in module.ops:
        if not isinstance(op, FuncOp):
            raise CannotExport(op, reason="only functions on tensors can be exported", advice=LEAVE_OUT)
        _function(w, op)
    declarations = [f"  {text}" for _, text in sorted(w.functions.items())]
    return "\n".join(["module {", *declarations, *w.lines, "}"]) + "\n"


def _function(w: Writer, function: FuncOp) -> None:
    w.restart()
    block = function.body.block
    names: dict[SSAValue, str] = {arg: f"%arg{i}" for i, arg in enumerate(block.args)}
    for value in block.args:
        if not isinstance(value.type, TensorType | IndexType):
            raise CannotExport(function, reason=f"an argument has type {value.type}", advice=LEAVE_OUT)
    args = ", ".join(
        f"{names[a]}: {spell(t)}" for a, t in zip(block.args, function.function_type.inputs, strict=True)
    )
    results = ", ".join(spell(t) for t in function.function_type.outputs)
    head = (
        f"func.func @{function.sym_name.data}({args}) -> ({results}) attributes {{llvm.emit_c_interface}} {{"
    )
    with w.block(head, lambda: "}"):
        _bind_symbols(w, function, names)
        for op in block.ops:
            w.at(op)
            _op(w, op, names)
        w.location = ""


def _bind_symbols(w: Writer, function: FuncOp, names: dict[SSAValue, str]) -> None:
    """The value of each symbol: an index argument, or a size of a tensor argument."""
    block = function.body.block
    attrs = function.arg_attrs.data if function.arg_attrs is not None else ()
    for arg, attr in zip(block.args, attrs, strict=False):
        if isinstance(name := attr.data.get("tw.symbol"), StringAttr):
            w.symbols[Var(name.data[0], int(name.data[1:]))] = names[arg]
    for arg in block.args:
        for d, size in enumerate(sizes_of(arg) if isinstance(arg.type, TensorType) else ()):
            (var,) = size.variables() if len(size.variables()) == 1 else (None,)
            if var is not None and str(size) == str(var) and var not in w.symbols:
                at = w.constant(d, IndexType())
                type_ = tensor(element_type_of(arg), sizes_of(arg))
                w.symbols[var] = w.value(f"tensor.dim {names[arg]}, {at} : {type_}")


def _op(w: Writer, op: Operation, names: dict[SSAValue, str]) -> None:
    args = [names[v] for v in op.operands]
    if isinstance(op, ReturnOp):
        types = ", ".join(spell(t) for t in op.operand_types)
        w.line(f"return {', '.join(args)} : {types}" if args else "return")
        return
    found = _results(w, op, args)
    names.update(zip(op.results, found, strict=True))


def _results(w: Writer, op: Operation, args: Sequence[str]) -> list[str]:
    try:
        if isinstance(op, KernelOp):
            return write_kernel(w, op, args)
        if (write := TENSOR_OPS.get(type(op))) is not None:
            return [write(w, op, args)]
        if (kernel := view_kernel(op)) is not None:
            return write_kernel(w, kernel, args)
    except UnknownSize as error:
        reason = f"the size {error} is neither an argument nor a size of one"
        raise CannotExport(op, reason=reason, advice="make it an index argument with tw.symbol") from error
    raise CannotExport(op, reason="linalg has no op for it", advice=LEAVE_OUT)
