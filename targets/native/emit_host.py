"""The plan, functions of th ops, as C++ functions that CPython calls: `@main` first.

    %o = th.empty sizes "8" strides "1" : memref<8xf32>
    th.launch @k0(%x) into(%o) : (memref<8xf32>) into (memref<8xf32>)
    func.return %o : memref<8xf32>

becomes, inside `tw_main(self, inputs)`,

    if (!call.empty(0, 1, L0, L0 + 1, 6)) return call.out_of_memory(0);
    f32* const o = (f32*)call.owned[0].data;
    k0(x, o);
    PyObject* items[] = {call.result(0)};
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tilewright.dialects.index_expr import ZERO
from tilewright.dialects.th.calls import CallOp, ExternOp, LaunchOp, TritonLaunchOp
from tilewright.dialects.th.control_flow import ControlOp
from tilewright.dialects.th.memory import ArenaOp, BufferOp, ConstantOp, DataOp, EmptyOp, FreeOp, ViewOp
from tilewright.dialects.th.types import element_of_handle, span
from tilewright.dialects.types import bytes_of

from . import emit_calls
from .constants import constant_bytes
from .cpp import buffer_type, comment, expression, operand
from .errors import NoHostLowering
from .host_calls import DTYPES, Available, element_name
from .host_writer import HostPlan, HostStyle, HostWriter, Root, exprs, fail, pointer
from .places import Places
from .unit import entry_name


def emit_hosts(
    module: ModuleOp, places: Places, available: Available, style: Callable[[], HostStyle]
) -> tuple[str, dict[str, HostPlan]]:
    """The text of `tw_main` and of the functions that it calls, and their plans by name."""
    texts: list[str] = []
    plans: dict[str, HostPlan] = {}
    main = HostPlan()
    functions = [f for f in module.ops if isinstance(f, FuncOp) and f.body.blocks]
    for function in functions:
        plan = HostPlan(shims=main.shims, ranges=main.ranges) if plans else main
        w = HostWriter(plan, places, available, style())
        texts.append(_emit_host(w, function, entry_name(len(plans))))
        plans[function.sym_name.data] = plan
    return "\n\n".join(texts), plans


def _emit_host(w: HostWriter, function: FuncOp, name: str) -> str:
    for op in function.body.block.ops:  # first: of tensors that are arguments, too, an op has the user's line
        if type(op) not in _STATEMENTS:
            raise NoHostLowering(op, reason="it is not an op of the host plan")
    _arguments(w, function)
    for op in function.body.block.ops:
        _STATEMENTS[type(op)](w, op)
    head = [
        f"static PyObject* {name}(PyObject* self, PyObject* inputs) {{",
        "  " + w.style.call.format(owned=w.plan.owned),
    ]
    return "\n".join([*head, *w.lines, "}"])


def _arguments(w: HostWriter, main: FuncOp) -> None:
    args = main.body.block.args
    w.plan.inputs = len(args)
    w.line(f"if (!call.has_inputs({len(args)})) return nullptr;")
    attributes = [dict(a.data) for a in main.arg_attrs.data] if main.arg_attrs is not None else []
    for i, arg in enumerate(args):
        given: dict[str, Attribute] = attributes[i] if i < len(attributes) else {}
        if isinstance(arg.type, IndexType):
            symbol = given.get("tw.symbol")
            name = symbol.data if isinstance(symbol, StringAttr) else w.fresh("n")
            w.names[arg] = name
            w.line(f"[[maybe_unused]] const i64 {name} = call.integer({i});")
            continue
        w.roots[arg] = Root("input", i, ZERO)
        if all(isinstance(use.operation, ReturnOp) for use in arg.uses):
            continue
        w.names[arg] = w.fresh("x")
        w.pointers[arg] = w.names[arg]
        given_type: Attribute = arg.type
        if not isinstance(given_type, MemRefType):
            raise NoHostLowering(main, reason=f"argument {i} is no buffer but {given_type}")
        type_ = buffer_type(arg.type)
        w.line(f"{type_}* const {w.names[arg]} = ({type_}*)call.data({i});{_comment(given.get('tw.name'))}")
    symbols = any(isinstance(arg.type, IndexType) for arg in args)
    w.line(f"if (call.bad_input{' || PyErr_Occurred()' if symbols else ''}) return nullptr;")
    if w.style.begin:
        w.line(f"if (!{w.style.begin}) return nullptr;")
    w.line("call.release_gil();")
    for i, arg in enumerate(args):
        if arg in w.pointers:
            w.style.argument(w, arg, i)


def _comment(name: Attribute | None) -> str:
    return f"  {comment(name.data)}" if isinstance(name, StringAttr) else ""


# Memory


def _arena(w: HostWriter, op: Operation) -> None:
    assert isinstance(op, ArenaOp)
    name = w.names[op.result] = w.fresh("arena")
    w.line(f"char* const {name} = call.arena({expression(exprs(op.size)[0])});")
    w.line(f"if (!{name}) {fail(w, 'out_of_memory', op, 'the arena of temporaries')}")


def _buffer(w: HostWriter, op: Operation) -> None:
    assert isinstance(op, BufferOp)
    offset = exprs(op.offset)[0]
    at = w.names[op.arena] + ("" if offset.constant == 0 else f" + {operand(offset)}")
    pointer(w, op.result, at)


def _empty(w: HostWriter, op: Operation) -> None:
    assert isinstance(op, EmptyOp)
    slot = w.own(1)
    sizes, strides = exprs(op.sizes), exprs(op.strides)
    element = element_of_handle(op.result.type)
    layout, _ = w.layout(sizes, strides)
    room = expression(span(sizes, strides) * bytes_of(element))
    failure = fail(w, "out_of_memory", op, "a result")
    w.line(f"if (!call.empty({slot}, {layout}, {DTYPES[element_name(element)]}, {room})) {failure}")
    pointer(w, op.result, f"call.owned[{slot}].data")
    w.roots[op.result] = Root("owned", slot, ZERO)


def _constant(w: HostWriter, op: Operation) -> None:
    assert isinstance(op, ConstantOp)
    w.plan.constants.append(constant_bytes(op.value))
    pointer(w, op.result, f"call.graph->constants[{len(w.plan.constants) - 1}]")


def _view(w: HostWriter, op: Operation) -> None:
    assert isinstance(op, ViewOp)
    offset = exprs(op.offset)[0]
    root = w.roots.get(op.source)
    if root is not None:
        w.roots[op.result] = Root(root.kind, root.number, root.offset + offset)
    size = bytes_of(element_of_handle(op.source.type))
    source = w.pointers[op.source]
    at = source if offset.constant == 0 else f"(char*){source} + {operand(offset * size)}"
    w.pointers[op.result] = f"({at})" if " " in at else at


def _data(w: HostWriter, op: Operation) -> None:
    assert isinstance(op, DataOp)
    pointer(w, op.result, w.pointers[op.source])
    if (root := w.roots.get(op.source)) is not None:
        w.roots[op.result] = root


def _free(w: HostWriter, op: Operation) -> None:
    assert isinstance(op, FreeOp)
    root = w.roots.get(op.source)
    if root is not None and root.kind == "owned":
        w.line(f"call.drop({root.number});")


# Results


def _return(w: HostWriter, op: Operation) -> None:
    assert isinstance(op, ReturnOp)
    w.style.finish(w)
    w.line("call.hold_gil();")
    items = [_result(w, value) for value in op.operands]
    w.line(f"PyObject* items[] = {{{', '.join(items) or 'nullptr'}}};")
    w.line(f"return call.results(items, {len(items)});")


def _result(w: HostWriter, value: SSAValue) -> str:
    if isinstance(value.type, IndexType):
        return f"PyLong_FromLongLong({w.names[value]})"
    root = w.roots[value]
    base = f"call.{'input' if root.kind == 'input' else 'result'}({root.number})"
    owner = value.owner
    if isinstance(value, BlockArgument) or not isinstance(owner, ViewOp):
        return base
    layout, _ = w.layout(exprs(owner.sizes), exprs(owner.strides))
    return f"call.alias({base}, {expression(root.offset)}, {layout})"


_STATEMENTS: Mapping[type[Operation], Callable[[HostWriter, Operation], None]] = {
    ArenaOp: _arena,
    BufferOp: _buffer,
    EmptyOp: _empty,
    ConstantOp: _constant,
    ViewOp: _view,
    DataOp: _data,
    FreeOp: _free,
    LaunchOp: emit_calls.launch,
    TritonLaunchOp: emit_calls.triton,
    ExternOp: emit_calls.extern,
    CallOp: emit_calls.call,
    ControlOp: emit_calls.control,
    ReturnOp: _return,
}
