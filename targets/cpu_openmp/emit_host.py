"""The plan, `func.func @main` of th ops, as one C++ function that CPython calls.

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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ArrayAttr, IndexType, MemRefType, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tilewright.dialects.index_expr import Expr, parse_exprs
from tilewright.dialects.th.calls import CallOp, ExternOp, LaunchOp
from tilewright.dialects.th.memory import (
    ArenaOp,
    BufferOp,
    ConstantOp,
    DataOp,
    EmptyOp,
    FreeOp,
    ViewOp,
)
from tilewright.dialects.th.types import TensorType, element_of_handle
from tilewright.dialects.types import bytes_of

from .constants import constant_bytes
from .cpp import buffer_type, comment, expression, identifier, operand, place
from .errors import NoCppLowering
from .fallback import Fallback, Result
from .host_calls import DTYPES, Available, NoCForm, PythonArguments, ShimArguments, element_name
from .places import Places
from .shims import SHIMS, Shim


@dataclass(frozen=True)
class Root:
    """What an alias that is returned keeps alive: an input or an owned tensor, and from where."""

    kind: str
    """"input" or "owned"."""
    number: int
    offset: Expr


@dataclass
class HostPlan:
    """What the emitted host function needs besides its text."""

    constants: list[bytes] = field(default_factory=list[bytes])
    fallbacks: list[Fallback] = field(default_factory=list[Fallback])
    shims: dict[str, str] = field(default_factory=dict[str, str])
    """C name -> declaration."""
    inputs: int = 0
    slots: int = 0
    owned: int = 0


@dataclass
class _Writer:
    plan: HostPlan
    places: Places
    checked: frozenset[str]
    available: Available
    lines: list[str] = field(default_factory=list[str])
    names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    pointers: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    roots: dict[SSAValue, Root] = field(default_factory=dict[SSAValue, Root])
    layouts: dict[str, str] = field(default_factory=dict[str, str])
    views: dict[tuple[str, str, str], str] = field(default_factory=dict[tuple[str, str, str], str])
    counter: int = 0

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def fresh(self, prefix: str) -> str:
        self.counter += 1
        return f"{prefix}{self.counter - 1}"

    def own(self, count: int) -> int:
        """The first of `count` new places for owned tensors."""
        self.plan.owned += count
        return self.plan.owned - count

    def layout(self, sizes: Sequence[Expr], strides: Sequence[Expr]) -> tuple[str, bool]:
        """`rank, sizes, strides` as arguments, and whether they are the same in every call."""
        values = [*sizes, *strides]
        text = ", ".join(expression(v) for v in values) or "0"
        fixed = all(v.constant is not None for v in values)
        name = self.layouts.get(text)
        if name is None:
            name = self.layouts[text] = f"L{len(self.layouts)}"
            self.line(f"{'static ' if fixed else ''}const i64 {name}[] = {{{text}}};")
        rank = len(sizes)
        return f"{rank}, {name}, {name}{f' + {rank}' if rank else ''}", fixed


def emit_host(
    main: FuncOp, places: Places, checked: frozenset[str], available: Available
) -> tuple[str, HostPlan]:
    """The text of `tw_main`; `checked` names the kernels that report errors."""
    w = _Writer(HostPlan(), places, checked, available)
    _arguments(w, main)
    for op in main.body.block.ops:
        statement = _STATEMENTS.get(type(op))
        if statement is None:
            raise NoCppLowering(op, reason="it is not an op of the host plan")
        statement(w, op)
    head = [
        "static PyObject* tw_main(PyObject* self, PyObject* inputs) {",
        f"  tw::Call<{w.plan.owned}> call(self, inputs, PLACES);",
    ]
    return "\n".join([*head, *w.lines, "}"]), w.plan


def _arguments(w: _Writer, main: FuncOp) -> None:
    args = main.body.block.args
    w.plan.inputs = len(args)
    w.line(f"if (!call.has_inputs({len(args)})) return nullptr;")
    attributes = main.arg_attrs.data if main.arg_attrs is not None else ()
    for i, arg in enumerate(args):
        given = attributes[i].data if i < len(attributes) else {}
        if isinstance(arg.type, IndexType):
            symbol = given.get("tw.symbol")
            name = symbol.data if isinstance(symbol, StringAttr) else w.fresh("n")
            w.names[arg] = name
            w.line(f"[[maybe_unused]] const i64 {name} = call.integer({i});")
            continue
        w.roots[arg] = Root("input", i, parse_exprs("0")[0])
        if arg.first_use is None:
            continue
        w.names[arg] = w.fresh("x")
        w.pointers[arg] = w.names[arg]
        type_ = buffer_type(arg.type)
        w.line(f"{type_}* const {w.names[arg]} = ({type_}*)call.data({i});{_comment(given.get('tw.name'))}")
    symbols = any(isinstance(arg.type, IndexType) for arg in args)
    w.line(f"if (call.bad_input{' || PyErr_Occurred()' if symbols else ''}) return nullptr;")
    w.line("call.release_gil();")


def _comment(name: Attribute | None) -> str:
    return f"  {comment(name.data)}" if isinstance(name, StringAttr) else ""


def _exprs(text: StringAttr) -> tuple[Expr, ...]:
    return parse_exprs(text.data)


def _fail(w: _Writer, how: str, op: Operation, what: str) -> str:
    return f"return call.{how}({w.places.add(what, op.location)});"


# Memory


def _arena(w: _Writer, op: Operation) -> None:
    assert isinstance(op, ArenaOp)
    name = w.names[op.result] = w.fresh("arena")
    w.line(f"char* const {name} = call.arena({expression(_exprs(op.size)[0])});")
    w.line(f"if (!{name}) {_fail(w, 'out_of_memory', op, 'the arena of temporaries')}")


def _buffer(w: _Writer, op: Operation) -> None:
    assert isinstance(op, BufferOp)
    offset = _exprs(op.offset)[0]
    at = w.names[op.arena] + ("" if offset.constant == 0 else f" + {operand(offset)}")
    _pointer(w, op.result, at)


def _pointer(w: _Writer, result: SSAValue, text: str) -> None:
    type_ = buffer_type(result.type)
    name = w.names[result] = w.pointers[result] = w.fresh("b")
    w.line(f"{type_}* const {name} = ({type_}*)({text});")


def _empty(w: _Writer, op: Operation) -> None:
    assert isinstance(op, EmptyOp)
    slot = w.own(1)
    layout, _ = w.layout(_exprs(op.sizes), _exprs(op.strides))
    dtype = DTYPES[element_name(element_of_handle(op.result.type))]
    w.line(
        f"if (!call.empty({slot}, {layout}, {dtype})) {_fail(w, 'aten_failed', op, 'allocating a result')}"
    )
    _pointer(w, op.result, f"call.owned[{slot}].data")
    w.roots[op.result] = Root("owned", slot, parse_exprs("0")[0])


def _constant(w: _Writer, op: Operation) -> None:
    assert isinstance(op, ConstantOp)
    w.plan.constants.append(constant_bytes(op.value))
    _pointer(w, op.result, f"call.graph->constants[{len(w.plan.constants) - 1}]")


def _view(w: _Writer, op: Operation) -> None:
    assert isinstance(op, ViewOp)
    offset = _exprs(op.offset)[0]
    root = w.roots.get(op.source)
    if root is not None:
        w.roots[op.result] = Root(root.kind, root.number, root.offset + offset)
    size = bytes_of(element_of_handle(op.source.type))
    source = w.pointers[op.source]
    at = source if offset.constant == 0 else f"(char*){source} + {operand(offset * size)}"
    w.pointers[op.result] = f"({at})" if " " in at else at


def _handle(w: _Writer, value: SSAValue) -> str:
    """A tensor handle on `value`; made where first needed, kept from call to call."""
    if value in w.names:
        return w.names[value]
    owner = value.owner
    assert isinstance(owner, ViewOp)
    layout, fixed = w.layout(_exprs(owner.sizes), _exprs(owner.strides))
    dtype = DTYPES[element_name(element_of_handle(value.type))]
    key = (w.pointers[value], layout, str(dtype))
    name = w.views.get(key)
    if name is None:
        name = w.views[key] = w.fresh("t")
        _make_view(w, owner, name, key[0], f"{layout}, {dtype}, {'true' if fixed else 'false'}")
    w.names[value] = name
    return name


def _make_view(w: _Writer, op: Operation, name: str, pointer: str, layout: str) -> None:
    w.line(f"const Handle {name} = call.view({w.plan.slots}, {pointer}, {layout});")
    w.line(f"if (!{name}) {_fail(w, 'aten_failed', op, 'a view')}")
    w.plan.slots += 1


def _data(w: _Writer, op: Operation) -> None:
    assert isinstance(op, DataOp)
    _pointer(w, op.result, w.pointers[op.source])
    if (root := w.roots.get(op.source)) is not None:
        w.roots[op.result] = root


def _free(w: _Writer, op: Operation) -> None:
    assert isinstance(op, FreeOp)
    root = w.roots.get(op.source)
    if root is not None and root.kind == "owned":
        w.line(f"call.drop({root.number});")


# Calls


def _launch(w: _Writer, op: Operation) -> None:
    assert isinstance(op, LaunchOp)
    kernel = op.kernel.string_value()
    args = [w.names[v] for v in (*op.ins, *op.outs)]
    args += [expression(e) for e in op.symbol_values]
    if kernel in w.checked:
        args.append("&call.error")
    where = place(op.location)
    w.line(f"{identifier(kernel)}({', '.join(args)});{'  ' + comment(where) if where else ''}")
    if kernel in w.checked:
        w.line("if (call.error.place >= 0) return call.kernel_failed();")


def _extern(w: _Writer, op: Operation) -> None:
    assert isinstance(op, ExternOp)
    handles = [_handle(w, v) for v in (*op.ins, *op.outs)]
    shim = _shim(w, op.callee.data)
    if shim is not None and shim.outs and _shim_call(w, op, shim, op.args, handles, None):
        return
    _python_call(w, op, op.callee.data, op.args, handles, (), None)


def _call(w: _Writer, op: Operation) -> None:
    assert isinstance(op, CallOp)
    handles = [_handle(w, v) for v in op.ins]
    first = w.own(len(op.outs))
    layouts = [(_exprs(n), _exprs(s)) for n, s in zip(op.sizes, op.strides, strict=True)]
    shim = _shim(w, op.callee.data)
    native = shim is not None and shim.results >= len(op.outs) and not shim.outs
    if not native or shim is None or not _shim_call(w, op, shim, op.args, handles, first):
        _python_call(w, op, op.callee.data, op.args, handles, tuple(layouts), first)
        native = False
    for i, (result, (sizes, strides)) in enumerate(zip(op.outs, layouts, strict=True)):
        w.roots[result] = Root("owned", first + i, parse_exprs("0")[0])
        w.pointers[result] = f"call.owned[{first + i}].data"
        if native:
            _adopt(w, op, result, first + i, sizes, strides)
        elif any(not isinstance(use.operation, ReturnOp | FreeOp | DataOp | ViewOp) for use in result.uses):
            layout, fixed = w.layout(sizes, strides)
            dtype = DTYPES[element_name(element_of_handle(result.type))]
            name = w.names[result] = w.fresh("t")
            _make_view(w, op, name, w.pointers[result], f"{layout}, {dtype}, {'true' if fixed else 'false'}")


def _adopt(
    w: _Writer, op: CallOp, result: SSAValue, slot: int, sizes: Sequence[Expr], strides: Sequence[Expr]
) -> None:
    layout, _ = w.layout(sizes, strides)
    dtype = DTYPES[element_name(element_of_handle(result.type))]
    fail = _fail(w, "unexpected", op, op.callee.data)
    w.line(f"if (!call.adopt({slot}, call.owned[{slot}].handle, {layout}, {dtype})) {fail}")
    w.names[result] = f"call.owned[{slot}].handle"


def _shim(w: _Writer, callee: str) -> Shim | None:
    shim = SHIMS.get(callee) or SHIMS.get(callee.removesuffix(".default"))
    return shim if shim is not None and w.available(shim.symbol) else None


def _shim_call(
    w: _Writer,
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
    wanted = len(op.results)
    for i in range(shim.results):
        unused = f"{made.prefix}_unused{i}"
        if i >= wanted:
            made.before.append(f"Handle {unused} = nullptr;")
        made.values.append(f"&{unused}" if i >= wanted else f"&call.owned[{(first or 0) + i}].handle")
    w.plan.shims[shim.symbol] = shim.declaration
    for text in made.before:
        w.line(text)
    callee = op.properties["callee"]
    assert isinstance(callee, StringAttr)
    w.line(f"if ({shim.symbol}({', '.join(made.values)})) {_fail(w, 'aten_failed', op, callee.data)}")
    for i in range(wanted, shim.results):
        unused = f"{made.prefix}_unused{i}"
        w.line(f"if ({unused}) tw::aoti_torch_delete_tensor_object({unused});")
    return True


def _python_call(
    w: _Writer,
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
        f"if (!call.fallback({number}, {values}, {first or 0}, {len(results)}))"
        f" return nullptr;  {comment(callee)}"
    )


# Results


def _return(w: _Writer, op: Operation) -> None:
    assert isinstance(op, ReturnOp)
    w.line("call.hold_gil();")
    items = [_result(w, value) for value in op.operands]
    w.line(f"PyObject* items[] = {{{', '.join(items) or 'nullptr'}}};")
    w.line(f"return call.results(items, {len(items)});")


def _result(w: _Writer, value: SSAValue) -> str:
    if isinstance(value.type, IndexType):
        return f"PyLong_FromLongLong({w.names[value]})"
    root = w.roots[value]
    base = f"call.{'input' if root.kind == 'input' else 'result'}({root.number})"
    owner = value.owner
    if isinstance(value, BlockArgument) or not isinstance(owner, ViewOp):
        return base
    layout, _ = w.layout(_exprs(owner.sizes), _exprs(owner.strides))
    return f"call.alias({base}, {expression(root.offset)}, {layout})"


_STATEMENTS: Mapping[type[Operation], Callable[[_Writer, Operation], None]] = {
    ArenaOp: _arena,
    BufferOp: _buffer,
    EmptyOp: _empty,
    ConstantOp: _constant,
    ViewOp: _view,
    DataOp: _data,
    FreeOp: _free,
    LaunchOp: _launch,
    ExternOp: _extern,
    CallOp: _call,
    ReturnOp: _return,
}

__all__ = ["HostPlan", "MemRefType", "TensorType", "emit_host"]
