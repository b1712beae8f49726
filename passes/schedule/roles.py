"""What each axis of a function is for: which axes a GPU schedule treats alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Operation

from tilewright.dialects.index_expr import Atom, Call, Expr, Var, dim
from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.contraction import Contraction, find_products
from tilewright.dialects.tk.domain import Axes, axes_of_exprs, domains_of, exprs_of, is_along, reduced_axes
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import element_type

from ..kernels.chains import Chain, find_chain
from ..kernels.listed import find_listing
from .collisions import scatters
from .cost import estimate

_WORTH_TILES = 16
"""A transpose has at least so many rows and columns, neighbours in memory come at least so many at a time."""


@dataclass(frozen=True)
class Group:
    """Axes of one role, slowest first."""

    role: str
    """`parallel`, `across` (contiguous for some accesses of a transpose), `reduced`, `scanned` (or sorted);
    of a matrix product `batch`, `rows`, `columns`, `sum`, and `parts` where tiles are reduced."""
    axes: tuple[int, ...]


def groups_of(func: FuncOp, *, tiled: bool = True) -> list[Group]:
    """Every axis of `func`, parallel ones first, of these the ones with large steps in memory.

    A product that gets no tiles is a sum as any other.
    """
    weights = _weights(func)
    products = matrix_products(func) if tiled else ()
    chain = find_chain(func.body.block) if tiled and not products else None
    if chain is not None:
        roles = _chain_roles(func, chain)
    else:
        roles = _product_roles(func, products) if products else _roles(func, weights)
    groups: dict[tuple[str, object], list[int]] = {}
    for axis in sorted(range(len(func.space)), key=lambda a: (-weights.get(a, 0), a)):
        groups.setdefault(roles[axis], []).append(axis)
    order = ("parallel", "batch", "parts", "across", "last", "rows", "columns", "scanned", "reduced", "sum")

    def place(item: tuple[tuple[str, object], list[int]]) -> tuple[int, int, int]:
        (name, _), axes = item
        steps = -max(weights.get(a, 0) for a in axes) if name == "parallel" else 0
        return order.index(name), steps, min(axes)

    return [Group(role[0], tuple(axes)) for role, axes in sorted(groups.items(), key=place)]


def matrix_products(func: FuncOp) -> tuple[Contraction, ...]:
    """The products that matrix units can do: in f32, or in i32 of i8, of more than a vector on each side."""
    found = find_products(func.body.block)
    if any(element_type(product.reduce.result.type) not in (f32, i32) for product in found):
        return ()
    return () if any(map(scatters, func.body.block.ops)) else found


def _chain_roles(func: FuncOp, chain: Chain) -> Mapping[int, tuple[str, object]]:
    """Only batches of programs are alike; lists of what is visited and batches around are reduced."""
    found: dict[int, tuple[str, object]] = {axis: ("batch", None) for axis in range(len(func.space))}
    found |= {axis: ("columns", axis) for axis in chain.held}
    if (listing := find_listing(func.body.block.ops, chain.along)) is not None:
        found[listing.axis] = ("reduced", listing.axis)
    found |= {axis: ("reduced", axis) for axis in chain.around}
    return found | {chain.row: ("rows", None), chain.along: ("sum", None)}


def _product_roles(func: FuncOp, products: Sequence[Contraction]) -> Mapping[int, tuple[str, object]]:
    """All have the same rows and columns; each sum has axes of its own."""
    first = products[0]
    sides = {"rows": first.rows, "columns": first.columns, "parts": first.parts}
    found: dict[int, tuple[str, object]] = {
        axis: (name, None) for name, axes in sides.items() for axis in axes
    }
    found |= {axis: ("sum", number) for number, product in enumerate(products) for axis in product.over}
    return {axis: found.get(axis, ("batch", None)) for axis in range(len(func.space))}


def _roles(func: FuncOp, weights: Mapping[int, int]) -> Mapping[int, tuple[str, object]]:
    """Reduced axes by what reduces them; parallel ones together, but for those of a transpose."""
    signatures: dict[int, list[int]] = {a: [] for a in range(len(func.space))}
    scanned: set[int] = set()
    for number, op in enumerate(ops_of(func.body.block)):
        for axis in reduced_axes(op):
            signatures[axis].append(number)
        if is_along(op):
            scanned.add(op.along)
    found: dict[int, tuple[str, object]] = {}
    axes_of = _effects(func)
    for axis, numbers in signatures.items():
        if axis in scanned:
            found[axis] = ("scanned", axis)
        else:
            effects = tuple(op for op, axes in axes_of.items() if axis in axes)
            adding = tuple(op for op in effects if scatters(op))
            found[axis] = ("reduced", (tuple(numbers), adding)) if numbers else ("parallel", effects)
    parallel = [a for a, role in found.items() if role[0] == "parallel"]
    if len(parallel) == len(found):
        across, last = transposed_axes(func)
        if across is not None and last is not None:
            found[across], found[last] = ("across", None), ("last", None)
    return found


def _effects(func: FuncOp) -> dict[Operation, Axes]:
    """What has an effect, and the axes that it varies or moves over: those of other effects are not merged.

    Of reduced ones these effects are what adds: to store a number once more for each step changes nothing.
    """
    domains = domains_of(func.body.block)
    return {
        op: axes_of_exprs(exprs_of(op)).union(*(domains.get(v, ()) for v in op.operands))
        for op in func.body.block.ops
        if not op.results
    }


def _axes(expr: Expr) -> list[int]:
    return [v.index for v in expr.variables() if v.kind == "d"]


def transposed_axes(func: FuncOp) -> tuple[int | None, int | None]:
    """The axis along which some load, or another store, is contiguous, and the one of the first store."""
    stores = [op for op in func.body.block.ops if isinstance(op, StoreOp) and not scatters(op)]
    last = next((axis for op in stores if (axis := contiguous_axis(op)) is not None), None)
    if last is None or estimate(func.space[last]) < _WORTH_TILES:
        return None, None
    loads = [op for op in func.body.block.ops if isinstance(op, LoadOp)]
    for op in (*loads, *stores):
        axis = contiguous_axis(op)
        if axis is None or axis == last or estimate(func.space[axis]) < _WORTH_TILES:
            continue
        step = op.map.exprs[0].coefficient(Var("d", last))
        if step is not None and step.constant != 0:
            return axis, last
    return None, None


def contiguous_axis(op: LoadOp | StoreOp) -> int | None:
    """The axis along which neighbours lie side by side in memory, if only in runs (`d0 mod 196`)."""
    (expr,) = op.map.exprs
    for var in sorted(expr.variables(), key=str):
        if var.kind == "d" and (c := expr.coefficient(var)) is not None and c.constant == 1:
            return var.index
    runs = [_run(atoms[0]) for atoms, c in expr.terms if c == 1 and len(atoms) == 1]
    return next((axis for axis in runs if axis is not None), None)


def _run(atom: Atom) -> int | None:
    """The axis of `d0 mod 196`, what is left of one that was merged into another."""
    if not isinstance(atom, Call) or atom.name != "mod" or estimate(atom.rhs) < _WORTH_TILES:
        return None
    axes = _axes(atom.lhs)
    return axes[0] if len(axes) == 1 and atom.lhs == dim(axes[0]) else None


def _weights(func: FuncOp) -> dict[int, int]:
    """How far a step along each axis goes in memory: by the first store that moves, else the first load.

    Loads of more axes count first: they say how far axes go beside each other.
    """
    weights: dict[int, int] = {}
    ops = list(func.body.block.ops)
    loads = [op for op in ops if isinstance(op, LoadOp)]
    loads.sort(key=lambda op: -len({axis for expr in op.map.exprs for axis in _axes(expr)}))
    accesses: Sequence[LoadOp | StoreOp] = [*(op for op in ops if isinstance(op, StoreOp)), *loads]
    for op in accesses:
        for expr in op.map.exprs:
            for axis in _axes(expr):
                step = expr.coefficient(Var("d", axis))
                if step is not None and axis not in weights:
                    weights[axis] = abs(estimate(step))
    return weights
