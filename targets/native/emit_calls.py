"""Statements of the host function that run something: our kernels, and ATen's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.index_expr import ZERO, Expr
from tilewright.dialects.th.calls import CallOp, ExternOp, LaunchOp
from tilewright.dialects.th.memory import DataOp, FreeOp, ViewOp
from tilewright.dialects.th.types import element_of_handle

from .cpp import comment, expression
from .fallback import Fallback, Result
from .host_calls import DTYPES, NoCForm, PythonArguments, ShimArguments, element_name
from .host_writer import HostWriter, Root, exprs, fail, handle, make_view
from .shims import SHIMS, Shim
from .text import place


def launch(w: HostWriter, op: Operation) -> None:
    assert isinstance(op, LaunchOp)
    w.style.launch(w, op)


def extern(w: HostWriter, op: Operation) -> None:
    assert isinstance(op, ExternOp)
    handles = [handle(w, v) for v in (*op.ins, *op.outs)]
    shim = _shim(w, op.callee.data)
    if shim is not None and shim.outs and _shim_call(w, op, shim, op.args, handles, None):
        return
    _python_call(w, op, op.callee.data, op.args, handles, (), None)


def call(w: HostWriter, op: Operation) -> None:
    assert isinstance(op, CallOp)
    handles = [handle(w, v) for v in op.ins]
    first = w.own(len(op.outs))
    layouts = [(exprs(n), exprs(s)) for n, s in zip(op.sizes, op.strides, strict=True)]
    shim = _shim(w, op.callee.data)
    native = shim is not None and shim.results > max(op.positions, default=-1) and not shim.outs
    if not native or shim is None or not _shim_call(w, op, shim, op.args, handles, first):
        _python_call(w, op, op.callee.data, op.args, handles, tuple(layouts), first)
        native = False
    for i, (result, (sizes, strides)) in enumerate(zip(op.outs, layouts, strict=True)):
        w.roots[result] = Root("owned", first + i, ZERO)
        w.pointers[result] = f"call.owned[{first + i}].data"
        if native:
            _adopt(w, op, result, first + i, sizes, strides)
        elif any(not isinstance(use.operation, ReturnOp | FreeOp | DataOp | ViewOp) for use in result.uses):
            layout, fixed = w.layout(sizes, strides)
            dtype = DTYPES[element_name(element_of_handle(result.type))]
            name = w.names[result] = w.fresh("t")
            make_view(w, op, name, w.pointers[result], f"{layout}, {dtype}, {'true' if fixed else 'false'}")


def _adopt(
    w: HostWriter, op: CallOp, result: SSAValue, slot: int, sizes: Sequence[Expr], strides: Sequence[Expr]
) -> None:
    layout, _ = w.layout(sizes, strides)
    dtype = DTYPES[element_name(element_of_handle(result.type))]
    failure = fail(w, "unexpected", op, op.callee.data)
    w.line(f"if (!call.adopt({slot}, call.owned[{slot}].handle, {layout}, {dtype})) {failure}")
    w.names[result] = f"call.owned[{slot}].handle"


def _shim(w: HostWriter, callee: str) -> Shim | None:
    shim = SHIMS.get(callee) or SHIMS.get(callee.removesuffix(".default"))
    if shim is None:
        return None
    ours, device = w.style.shims
    if ours:
        shim = replace(shim, symbol=device + shim.symbol.removeprefix(ours))
    return shim if w.available(shim.symbol) else None


def _shim_call(
    w: HostWriter,
    op: Operation,
    shim: Shim,
    args: ArrayAttr[Attribute],
    handles: Sequence[str],
    first: int | None,
) -> bool:
    """Emit the C call; False where an argument has no C form."""
    made = ShimArguments(handles, w.fresh("q"))
    try:
        made.fill(shim, args.data)
    except NoCForm:
        return False
    slots = {p: (first or 0) + i for i, p in enumerate(op.positions)} if isinstance(op, CallOp) else {}
    dropped = {i: f"{made.prefix}_unused{i}" for i in range(shim.results) if i not in slots}
    made.before.extend(f"Handle {unused} = nullptr;" for unused in dropped.values())
    made.values.extend(
        f"&{dropped[i]}" if i in dropped else f"&call.owned[{slots[i]}].handle" for i in range(shim.results)
    )
    w.plan.shims[shim.symbol] = shim.declaration
    for text in made.before:
        w.line(text)
    callee = op.properties["callee"]
    assert isinstance(callee, StringAttr)
    failure = fail(w, "aten_failed", op, callee.data)
    w.line(f"{w.range(callee.data, op)} if ({shim.symbol}({', '.join(made.values)})) {failure}")
    for unused in dropped.values():
        w.line(f"if ({unused}) tw::aoti_torch_delete_tensor_object({unused});")
    return True


def _python_call(
    w: HostWriter,
    op: Operation,
    callee: str,
    args: ArrayAttr[Attribute],
    handles: Sequence[str],
    layouts: Sequence[tuple[Sequence[Expr], Sequence[Expr]]],
    first: int | None,
) -> None:
    made = PythonArguments(op)
    converted = tuple(made.convert(arg) for arg in args.data)
    results: list[Result] = []
    for value, (sizes, strides) in zip(op.results, layouts, strict=True):
        element = element_name(element_of_handle(value.type))
        results.append(Result(element, len(sizes), len(made.integers)))
        made.integers += [*sizes, *strides]
    where = place(op.location)
    w.plan.fallbacks.append(Fallback(callee, converted, len(handles), tuple(results), where))
    prefix = w.fresh("q")
    integers = ", ".join(expression(e) for e in made.integers) or "0"
    w.line(f"const Handle {prefix}_tensors[] = {{{', '.join(handles) or 'nullptr'}}};")
    w.line(f"const i64 {prefix}_integers[] = {{{integers}}};")
    number = len(w.plan.fallbacks) - 1
    values = f"{prefix}_tensors, {len(handles)}, {prefix}_integers, {len(made.integers)}"
    w.line(
        f"{w.range(callee, op)} if (!call.fallback({number}, {values}, {first or 0}, {len(results)}))"
        f" return nullptr;  {comment(callee)}"
    )
