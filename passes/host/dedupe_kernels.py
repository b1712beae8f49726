"""dedupe-kernels: equal kernels become one function, however often the model repeats a layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tilewright.dialects.index_expr import Expr, Var, as_expr, format_exprs, parse_exprs, sym
from tilewright.dialects.ir_access import kinds_within
from tilewright.dialects.th.calls import LaunchOp
from tilewright.dialects.tk.attributes import MapAttr, map_attr
from tilewright.dialects.tk.kernels import FuncOp

from ..rewrite import may_rewrite
from ..schedule.offsets import LIMIT
from .kernel_key import SUBSCRIPTS, Key, Offset, key_and_offsets

_MAX_OFFSETS = 4


@dataclass(frozen=True)
class DedupeKernelsPass(ModulePass):
    """Keep one `tk.func` of those that differ in names only, or in constant offsets of subscripts.

    Before:
        th.launch @exp(%x) into(%a) symbols "s0" : (memref<?xf32>) into (memref<?xf32>)
        th.launch @exp_1(%y) into(%b) symbols "s7" : (memref<?xf32>) into (memref<?xf32>)
        tk.func @exp [s0] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {
          %0 = tk.load %x[d0] : memref<?xf32> -> f32 ...
        tk.func @exp_1 [s7] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s7] {
          %0 = tk.load %x[d0 + 64] : memref<?xf32> -> f32 ...
    After:
        th.launch @exp(%x) into(%a) symbols "s0, 0" : (memref<?xf32>) into (memref<?xf32>)
        th.launch @exp(%y) into(%b) symbols "s7, 64" : (memref<?xf32>) into (memref<?xf32>)
        tk.func @exp [s0] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0, s1] {
          %0 = tk.load %x[d0 + s1] : memref<?xf32> -> f32 ...

    Symbols of a function are numbered in the order of their first use, so that equal
    functions have equal text. Offsets differ between the steps of a recurrence and the layers
    that draw random numbers. Symbols count `unit` elements, so that targets still know what is
    aligned (of 16, `%x[d0 + 16*s1]`); functions whose offsets differ by other numbers stay apart.
    Where constants stand in a function does not matter. Runs before scheduling: what is equal is
    scheduled once.
    """

    name = "dedupe-kernels"

    unit: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        groups: dict[Key, list[_Member]] = {}
        for function in [f for f in op.ops if isinstance(f, FuncOp)]:
            order = _number_symbols(function)
            key, offsets = key_and_offsets(function, self.unit)
            groups.setdefault(key, []).append(_Member(function, order, offsets))
        calls: dict[str, _Call] = {}
        for equal in groups.values():
            for members in _replaceable(equal):
                calls.update(_unified(members, self.unit))
        for launch in kinds_within(op, LaunchOp):
            if (call := calls.get(launch.kernel.string_value())) is not None:
                _redirect(launch, call)


@dataclass(frozen=True)
class _Member:
    """A function, which old position each of its symbols had, and the offsets of its subscripts."""

    function: FuncOp
    order: list[int]
    offsets: Sequence[Offset]


@dataclass(frozen=True)
class _Call:
    """What a launch of some function calls instead."""

    kept: FuncOp
    order: list[int]
    offsets: tuple[int, ...] = ()
    """Values of the symbols that stand for offsets."""


def _replaceable(members: list[_Member]) -> list[list[_Member]]:
    """All in one list, but for those that `bisect` wants left alone."""
    first, *others = members
    together, alone = [first], list[list[_Member]]()
    for member in others:
        if may_rewrite(member.function, f"replaced by @{first.function.sym_name.data}"):
            together.append(member)
        else:
            alone.append([member])
    return [together, *alone]


def _unified(members: list[_Member], unit: int) -> dict[str, _Call]:
    """One function for all members, or one per distinct list of offsets where symbols cannot replace these.

    Symbols are never negative: they count from the least offset. Targets may give them 32 bits.
    """
    first = members[0]
    table = [tuple([offset.value for offset in member.offsets]) for member in members]
    columns = [tuple([(n - min(column)) // unit for n in column]) for column in zip(*table, strict=True)]
    symbols = dict.fromkeys(column for column in columns if any(column))
    if len(symbols) > _MAX_OFFSETS or max((max(column) for column in symbols), default=0) >= LIMIT:
        apart: dict[tuple[int, ...], list[_Member]] = {}
        for row, member in zip(table, members, strict=True):
            apart.setdefault(row, []).append(member)
        return {name: call for same in apart.values() for name, call in _unified(same, unit).items()}
    calls: dict[str, _Call] = {}
    for row, member in enumerate(members):
        values = tuple(column[row] for column in symbols)
        calls[member.function.sym_name.data] = _Call(first.function, member.order, values)
    if symbols:
        _shift(first, columns, list(symbols), unit)
    for member in members[1:]:
        Rewriter.erase_op(member.function)
    return calls


def _shift(
    member: _Member, columns: Sequence[tuple[int, ...]], symbols: Sequence[tuple[int, ...]], unit: int
) -> None:
    """Let each subscript of the first member begin at the least offset, and add the symbol of the others."""
    count = len(member.function.symbols.exprs)
    for offset, column in zip(member.offsets, columns, strict=True):
        if any(column):
            attribute = offset.op.properties[SUBSCRIPTS]
            assert isinstance(attribute, MapAttr)
            exprs = list(attribute.exprs)
            exprs[offset.number] += (sym(count + symbols.index(column)) - column[0]) * unit
            offset.op.properties[SUBSCRIPTS] = map_attr(exprs)
    member.function.properties["symbols"] = map_attr([sym(i) for i in range(count + len(symbols))])


def _number_symbols(function: FuncOp) -> list[int]:
    """Rename symbols to s0, s1, ... by first use; returns which old position each new one had."""
    listed = [_var(symbol) for symbol in function.symbols.exprs]
    if not listed:
        return []
    used = dict.fromkeys(_symbols_of(function))
    order = [listed.index(var) for var in used]
    order += [i for i in range(len(listed)) if i not in order]
    values = {listed[old]: sym(new) for new, old in enumerate(order)}
    if any(str(var) != str(value) for var, value in values.items()):
        for op in function.walk():
            for name, attribute in op.properties.items():
                if isinstance(attribute, MapAttr):
                    op.properties[name] = map_attr([e.substitute(values) for e in attribute.exprs])
    function.properties["symbols"] = map_attr([sym(i) for i in range(len(order))])
    return order


def _symbols_of(function: FuncOp) -> list[Var]:
    """Every use of a symbol, in order."""
    found = [var for expr in function.sizes.exprs for var in _ordered(expr)]
    for op in function.body.walk():
        for _, attribute in sorted(op.properties.items()):
            if isinstance(attribute, MapAttr):
                found += [var for expr in attribute.exprs for var in _ordered(expr)]
    return found


def _ordered(expr: Expr) -> list[Var]:
    return sorted((var for var in expr.variables() if var.kind == "s"), key=lambda var: var.index)


def _var(symbol: Expr) -> Var:
    (var,) = symbol.variables()
    return var


def _redirect(launch: LaunchOp, call: _Call) -> None:
    """Point a launch at the function that was kept, with the symbol values in its order."""
    launch.properties["kernel"] = SymbolRefAttr(call.kept.sym_name)
    if call.offsets or call.order != list(range(len(call.order))):
        values = () if launch.symbols is None else parse_exprs(launch.symbols.data)
        ordered = [values[old] for old in call.order]
        launch.properties["symbols"] = StringAttr(format_exprs([*ordered, *map(as_expr, call.offsets)]))
