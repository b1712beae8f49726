"""One scheduled `tk.func` as one C++ function.

    tk.func @k0 [64] (%a: memref<64xf32>, %o: memref<64xf32>) scheduled {
      tk.for 0 = "0" to "64" step 16 parallel {
        %0 = tk.load %a[d0] lanes 0 : memref<64xf32> -> vector<16xf32>
        %1 = math.exp %0 : vector<16xf32>
        tk.store %1, %o[d0] lanes 0 : vector<16xf32>, memref<64xf32>
      }
    }

becomes

    static void k0(f32* a0, f32* a1) {
      #pragma omp parallel for schedule(static)
      for (i64 d0 = 0; d0 < 64; d0 += 16) {
        const f32x16 v2 = tw::load<16>(a0 + d0);
        const f32x16 v3 = tw::exp(v2);
        tw::store(a1 + d0, v3);
      }
    }
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.hints import isa

from tilewright.dialects.index_expr import Var
from tilewright.dialects.tk.access import IndexOp, LoadOp, LocalOp, StoreOp
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.compute import ActiveOp
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.loops import UNEVEN, ForOp, TailOp, YieldOp
from tilewright.dialects.tk.sort import OrderOp
from tilewright.dialects.tk.turn import TurnOp

from ..native.constants import numbers
from ..native.cpp import (
    buffer_type,
    comment,
    element_literal,
    expression,
    identifier,
    is_vector,
    lanes,
    literal,
    value_type,
)
from ..native.places import Places
from ..native.text import KernelText, place
from . import access, rules
from .errors import NoCppLowering, NotScheduled


@dataclass(kw_only=True)
class _Writer(KernelText):
    """The text of one C++ function."""

    INDENT = "  "
    COMMENT = "//"

    places: Places
    vectors: dict[str, None] = field(default_factory=dict[str, None])
    tails: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    parallel: int = 0

    # access.Scope

    def name(self, value: SSAValue) -> str:
        return self.names[value]

    def active_lanes(self, axis: int) -> str | None:
        """The number of active lanes, where a tail of this axis is around."""
        return next((count for tail, count in reversed(self.tails) if tail == axis), None)

    def in_parallel(self) -> bool:
        return self.parallel > 0

    # Text

    def type_of(self, type_: Attribute) -> str:
        """The C++ type; vector types are remembered, to be declared."""
        text = value_type(type_)
        if is_vector(type_):
            self.vectors.setdefault(text)
            self.vectors.setdefault(f"i32x{lanes(type_)}")
        return text


def emit_kernel(func: FuncOp, places: Places) -> tuple[str, tuple[str, ...]]:
    """The C++ function, and the names of the vector types that it uses."""
    if func.scheduled is None:
        raise NotScheduled(func, name=func.sym_name.data)
    w = _Writer(places=places)
    params: list[str] = []
    params += [f"{buffer_type(arg.type)}* {w.fresh(arg, 'a')}" for arg in func.body.block.args]
    params += [f"i64 {symbol}" for symbol in func.symbols.exprs]
    if has_checks(func):
        params.append("tw::KernelError* error")
    sizes = func.sizes.text.data
    head = [comment(f"[{sizes}] {place(func.location)}".rstrip())]
    head.append(f"static void {identifier(func.sym_name.data)}({', '.join(params)}) {{")
    _block(w, func.body.block)
    return "\n".join([*head, *w.lines, "}"]), tuple(w.vectors)


def has_checks(func: FuncOp) -> bool:
    """True where the function reports errors through an extra argument."""
    return any(isinstance(op, AssertOp) for op in func.body.walk())


def _block(w: _Writer, block: Block) -> None:
    for op in block.ops:
        if (statement := _STATEMENTS.get(type(op))) is not None:
            statement(w, op)
        else:
            _expression(w, op)


def _expression(w: _Writer, op: Operation) -> None:
    if len(op.results) != 1:
        raise NoCppLowering(op, reason="it has no row in the table of C++ statements")
    for value in op.operands:
        if is_vector(value.type):
            w.type_of(value.type)
    _define(w, op, rules.lower(op, [w.names[v] for v in op.operands]))


def _define(w: _Writer, op: Operation, text: str) -> None:
    w.note_place(op.location)
    (result,) = op.results
    w.line(f"const {w.type_of(result.type)} {w.fresh(result)} = {text};")


def _constant(w: _Writer, op: Operation) -> None:
    assert isinstance(op, arith.ConstantOp)
    value: Attribute = op.value
    (result,) = op.results
    type_ = result.type
    if isinstance(value, IntegerAttr | FloatAttr):
        w.names[op.result] = literal(value.value.data, type_)
        return
    if not isinstance(value, DenseIntOrFPElementsAttr) or not isa(type_, VectorType[Attribute]):
        raise NoCppLowering(op, reason="only numbers and vectors of numbers can be constants")
    element = type_.get_element_type()
    values = numbers(value)
    name = w.type_of(type_)
    if len(set(map(repr, values))) == 1:
        text = f"tw::splat<{name}>({element_literal(values[0], element)})"
    else:
        text = f"{name}{{{', '.join(element_literal(v, element) for v in values)}}}"
    w.line(f"const {name} {w.fresh(op.result, 'c')} = {text};")


def _load(w: _Writer, op: Operation) -> None:
    assert isinstance(op, LoadOp)
    _define(w, op, access.load(w, op))


def _store(w: _Writer, op: Operation) -> None:
    assert isinstance(op, StoreOp)
    w.note_place(op.location)
    w.line(access.store(w, op))


def _index(w: _Writer, op: Operation) -> None:
    assert isinstance(op, IndexOp)
    _define(w, op, access.index(op))


def _local(w: _Writer, op: Operation) -> None:
    assert isinstance(op, LocalOp)
    (result,) = op.results
    for text in access.local(w.fresh(result, "m"), result.type, op.size.exprs[0]):
        w.line(text)


def _turn(w: _Writer, op: Operation) -> None:
    assert isinstance(op, TurnOp)
    w.note_place(op.location)
    w.line(access.turn(w, op))


def _order(w: _Writer, op: Operation) -> None:
    assert isinstance(op, OrderOp)
    w.note_place(op.location)
    count = expression(op.count.exprs[0])
    first = count if op.first is None else op.first.value.data
    order = "true" if op.descending is not None else "false"
    w.line(f"tw::sort({w.names[op.values]}, {w.names[op.positions]}, {count}, {first}, {order});")


def _active(w: _Writer, op: Operation) -> None:
    assert isinstance(op, ActiveOp)
    (result,) = op.results
    _define(w, op, f"tw::first_lanes<{w.type_of(result.type)}>({w.tails[-1][1]})")


def _assert(w: _Writer, op: Operation) -> None:
    assert isinstance(op, AssertOp)
    condition = w.names[op.condition]
    if is_vector(op.condition.type):
        type_ = w.type_of(op.condition.type)
        failed = f"~{condition}"
        if w.tails:
            failed = f"({failed} & tw::first_lanes<{type_}>({w.tails[-1][1]}))"
        failed = f"tw::any_lane({failed})"
    else:
        failed = f"!{condition}"
    w.note_place(op.location)
    number = w.places.add(op.message.data, op.location)
    w.line(f"if (__builtin_expect({failed}, false)) error->raise({number});")


# Loops


def _carry(w: _Writer, op: ForOp | TailOp) -> None:
    """Declare the carried values; inside and after the loop they have the same names."""
    for init, arg, result in zip(op.inits, op.body.block.args, op.res, strict=True):
        start = w.names[init]
        w.line(f"{w.type_of(arg.type)} {w.fresh(arg, 'acc')} = {start};")
        w.names[result] = w.names[arg]


def _yield(w: _Writer, op: Operation) -> None:
    assert isinstance(op, YieldOp)
    block = op.parent
    if block is None or not op.values:
        return
    targets = [w.names[arg] for arg in block.args]
    sources = [w.names[value] for value in op.values]
    saved: dict[str, str] = {}
    for target, source in zip(targets, sources, strict=True):
        if source in targets and source != target and source not in saved:
            saved[source] = f"{source}_old"  # it may be overwritten before it is read
            w.line(f"const auto {source}_old = {source};")
    for target, source in zip(targets, sources, strict=True):
        if source != target:
            w.line(f"{target} = {saved.get(source, source)};")


def _for(w: _Writer, op: Operation) -> None:
    assert isinstance(op, ForOp)
    axis = f"d{op.axis.value.data}"
    given = {Var("i", k): w.names[v] for k, v in enumerate(op.dynamic)}
    lower, upper = (expression(e, given) for e in op.bounds)
    step = op.step.value.data
    _carry(w, op)
    if op.parallel is not None:
        worth = "" if op.worth is None else f" if ({expression(op.worth.exprs[0])} > 0)"
        how = "dynamic" if UNEVEN in op.attributes else "static"
        w.line(f"#pragma omp parallel for schedule({how}){worth}")
    elif op.unroll is not None:
        w.line(f"#pragma GCC unroll {op.unroll.value.data}")
    w.line(f"for (i64 {axis} = {lower}; {axis} < {upper}; {axis} += {step}) {{")
    w.parallel += op.parallel is not None
    _body(w, op.body.block)
    w.parallel -= op.parallel is not None
    w.line("}")


def _tail(w: _Writer, op: Operation) -> None:
    assert isinstance(op, TailOp)
    axis = op.axis.value.data
    count = op.count.exprs[0]
    _carry(w, op)
    fixed = count.constant
    if fixed is not None and fixed <= 0:
        return
    number = str(fixed)
    if fixed is None:
        number = f"n{axis}_{w.counter}"
        w.counter += 1
        w.line(f"if (const i64 {number} = {expression(count)}; {number} > 0) {{")
    else:
        w.line("{")
    w.tails.append((axis, number))
    w.depth += 1
    w.line(f"[[maybe_unused]] const i64 d{axis} = {expression(op.start.exprs[0])};")
    w.depth -= 1
    _body(w, op.body.block)
    w.tails.pop()
    w.line("}")


def _body(w: _Writer, block: Block) -> None:
    w.depth += 1
    _block(w, block)
    w.depth -= 1


_STATEMENTS: Mapping[type[Operation], Callable[[_Writer, Operation], None]] = {
    arith.ConstantOp: _constant,
    LoadOp: _load,
    StoreOp: _store,
    IndexOp: _index,
    LocalOp: _local,
    TurnOp: _turn,
    OrderOp: _order,
    ActiveOp: _active,
    AssertOp: _assert,
    YieldOp: _yield,
    ForOp: _for,
    TailOp: _tail,
}
