"""dedupe-kernels: equal kernels become one function, however often the model repeats a layer."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from xdsl.context import Context
from xdsl.dialects.builtin import FloatAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import Expr, Var, format_exprs, parse_exprs, sym
from tilewright.dialects.th.calls import LaunchOp
from tilewright.dialects.tk.attributes import MapAttr, map_attr
from tilewright.dialects.tk.kernels import FuncOp


@dataclass(frozen=True)
class DedupeKernelsPass(ModulePass):
    """Keep one `tk.func` of those that differ in their names and in the names of symbols only.

    Before:
        th.launch @exp(%x) into(%a) symbols "s0" : (memref<?xf32>) into (memref<?xf32>)
        th.launch @exp_1(%y) into(%b) symbols "s7" : (memref<?xf32>) into (memref<?xf32>)
        tk.func @exp [s0] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {...}
        tk.func @exp_1 [s7] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s7] {...}
    After:
        th.launch @exp(%x) into(%a) symbols "s0" : (memref<?xf32>) into (memref<?xf32>)
        th.launch @exp(%y) into(%b) symbols "s7" : (memref<?xf32>) into (memref<?xf32>)
        tk.func @exp [s0] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {...}

    Symbols of a function are numbered in the order of their first use, so that equal
    functions have equal text. Runs before scheduling: what is equal is scheduled once.
    """

    name = "dedupe-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        first: dict[Key, FuncOp] = {}
        kept: dict[str, FuncOp] = {}
        orders: dict[str, list[int]] = {}
        for function in [f for f in op.ops if isinstance(f, FuncOp)]:
            name = function.sym_name.data
            orders[name] = _number_symbols(function)
            kept[name] = first.setdefault(kernel_key(function), function)
            if kept[name] is not function:
                function.detach()
                function.erase()
        for launch in [launch for launch in op.walk() if isinstance(launch, LaunchOp)]:
            _redirect(launch, kept, orders)


Key = tuple[object, ...]


def kernel_key(function: FuncOp) -> Key:
    """Equal for functions that differ in names only (symbols must be numbered alike)."""
    numbers: dict[SSAValue, int] = {}
    for argument in function.body.block.args:
        numbers[argument] = len(numbers)
    types = tuple(argument.type for argument in function.body.block.args)
    parts: list[object] = [function.sizes, function.symbols, types, _facts(function)]
    for op in function.body.block.ops:
        _append(parts, op, numbers)
    return tuple(parts)


def kernel_hash(function: FuncOp) -> str:
    """A stable name for a kernel's content, the same in every process."""
    return sha256(repr([str(part) for part in kernel_key(function)]).encode()).hexdigest()[:16]


def _facts(op: Operation) -> tuple[tuple[str, Attribute | str], ...]:
    facts = [(n, _exact(v)) for n, v in (*op.properties.items(), *op.attributes.items()) if n != "sym_name"]
    return tuple(sorted(facts, key=lambda fact: fact[0]))


def _exact(attribute: Attribute) -> Attribute | str:
    """Attributes compare by value, in which 0.0 equals -0.0: floats are told apart by their text."""
    return str(attribute) if attribute.name == FloatAttr.name else attribute


def _append(parts: list[object], op: Operation, numbers: dict[SSAValue, int]) -> None:
    for result in op.results:
        numbers[result] = len(numbers)
    parts.append(op.name)
    parts.append(tuple(numbers[operand] for operand in op.operands))
    parts.append(op.result_types)
    parts.append(_facts(op))
    for region in op.regions:
        for block in region.blocks:
            for argument in block.args:
                numbers[argument] = len(numbers)
            parts.append(len(block.args))
            for inner in block.ops:
                _append(parts, inner, numbers)
            parts.append("end")


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


def _redirect(launch: LaunchOp, kept: dict[str, FuncOp], orders: dict[str, list[int]]) -> None:
    """Point a launch at the function that was kept, with the symbol values in its order."""
    name = launch.kernel.string_value()
    if name not in kept:
        return
    launch.properties["kernel"] = SymbolRefAttr(kept[name].sym_name)
    order = orders[name]
    if launch.symbols is not None and order != list(range(len(order))):
        values = parse_exprs(launch.symbols.data)
        launch.properties["symbols"] = StringAttr(format_exprs(values[old] for old in order))
