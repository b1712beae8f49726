"""Statements of the host function that run something: our kernels, and ATen's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.index_expr import ZERO, Expr
from tilewright.dialects.th.calls import CallOp, ExternOp, LaunchOp, TritonLaunchOp
from tilewright.dialects.th.control_flow import ControlOp
from tilewright.dialects.th.memory import DataOp, FreeOp, ViewOp
from tilewright.dialects.th.types import element_of_handle

from .cpp import comment, expression
from .fallback import Control, Fallback, Result
from .host_calls import DTYPES, NoCForm, PythonArguments, ShimArguments, element_name
from .host_writer import HostWriter, Root, exprs, fail, handle, make_view
from .shims import SHIMS, Shim
from .text import place


def launch(w: HostWriter, op: Operation) -> None:
    assert isinstance(op, LaunchOp)
    w.style.launch(w, op)


def triton(w: HostWriter, op: Operation) -> None:
    assert isinstance(op, TritonLaunchOp)
    w.style.launch_given(w, op)


def extern(w: HostWriter, op: Operation) -> None:
    assert isinstance(op, ExternOp)
    handles = [handle(w, v) for v in (*op.ins, *op.outs)]
    shim = _shim(w, op.callee.data)
    if shim is not None and shim.outs and _shim_call(w, op, shim, op.args, handles, None):
        return
    _python_call(w, op, op.callee.data, op.args, handles, None)


def call(w: HostWriter, op: Operation) -> None:
    assert isinstance(op, CallOp)
    handles = [handle(w, v) for v in op.ins]
    first = w.own(len(op.outs))
    layouts = [(exprs(n), exprs(s)) for n, s in zip(op.sizes, op.strides, strict=True)]
    shim = _shim(w, op.callee.data)
    native = shim is not None and shim.results > max(op.positions, default=-1) and not shim.outs
    if not native or shim is None or not _shim_call(w, op, shim, op.args, handles, first):
        _python_call(w, op, op.callee.data, op.args, handles, first)
        native = False
    if not native:
        _have_results(w, op, first)
        return
    for i, (result, (sizes, strides)) in enumerate(zip(op.outs, layouts, strict=True)):
        _own_result(w, result, first + i)
        _adopt(w, op, result, first + i, sizes, strides)


def control(w: HostWriter, op: Operation) -> None:
    """The functions are called in Python, which reads conditions and holds the state."""
    assert isinstance(op, ControlOp)
    handles = [handle(w, v) for v in op.ins]
    first, integers = w.own(len(op.outs)), list(op.symbol_values)
    carried, scanned, _ = op.counts
    planned = Control(
        callee=op.kind.data,
        functions=tuple(op.function_names),
        carried=carried,
        scanned=scanned,
        symbols=len(integers),
        tensors=len(handles),
        results=_results(op, integers),
        where=place(op.location),
    )
    _through_python(w, op, planned, handles, integers, first)
    _have_results(w, op, first)


def _own_result(w: HostWriter, result: SSAValue, slot: int) -> None:
    w.roots[result] = Root("owned", slot, ZERO)
    w.pointers[result] = f"call.owned[{slot}].data"


def _have_results(w: HostWriter, op: CallOp | ControlOp, first: int) -> None:
    """What Python returned, and handles on it where somebody takes them."""
    for i, result in enumerate(op.outs):
        _own_result(w, result, first + i)
        if any(not isinstance(use.operation, ReturnOp | FreeOp | DataOp | ViewOp) for use in result.uses):
            layout, fixed = w.layout(exprs(op.sizes.data[i]), exprs(op.strides.data[i]))
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
    op: CallOp | ExternOp,
    callee: str,
    args: ArrayAttr[Attribute],
    handles: Sequence[str],
    first: int | None,
) -> None:
    made = PythonArguments(op)
    converted = tuple(made.convert(arg) for arg in args.data)
    results = _results(op, made.integers) if isinstance(op, CallOp) else ()
    planned = Fallback(callee, converted, len(handles), results, place(op.location))
    _through_python(w, op, planned, handles, made.integers, first)


def _results(op: CallOp | ControlOp, integers: list[Expr]) -> tuple[Result, ...]:
    """What is to be returned; sizes and strides are added to the integers."""
    results: list[Result] = []
    for value, size, stride in zip(op.outs, op.sizes, op.strides, strict=True):
        sizes, element = exprs(size), element_name(element_of_handle(value.type))
        results.append(Result(element, len(sizes), len(integers)))
        integers += [*sizes, *exprs(stride)]
    return tuple(results)


def _through_python(
    w: HostWriter,
    op: Operation,
    planned: Fallback | Control,
    handles: Sequence[str],
    integers: Sequence[Expr],
    first: int | None,
) -> None:
    w.plan.fallbacks.append(planned)
    prefix, callee = w.fresh("q"), planned.callee
    values = ", ".join(expression(e) for e in integers) or "0"
    w.line(f"const Handle {prefix}_tensors[] = {{{', '.join(handles) or 'nullptr'}}};")
    w.line(f"const i64 {prefix}_integers[] = {{{values}}};")
    number = len(w.plan.fallbacks) - 1
    given = f"{prefix}_tensors, {len(handles)}, {prefix}_integers, {len(integers)}"
    results = len(planned.results)
    w.line(
        f"{w.range(callee, op)} if (!call.fallback({number}, {given}, {first or 0}, {results}))"
        f" return nullptr;  {comment(callee)}"
    )
