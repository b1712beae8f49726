"""Register tiles for matrix products: which axes, how many rows, how many vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.attribute_facts import ints_in
from tilewright.dialects.index_expr import Var
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.contraction import Contraction, find_contraction, find_matrix_vector
from tilewright.dialects.tk.domain import Axes, domains_of
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import element_type, is_float

from ...rewrite import skip
from .dot import group_axis
from .turned import turns

REGISTERS = {512: 32, 256: 16, 128: 32}
"""Vector registers, by their width in bits: AVX-512, AVX2, NEON."""

MAX_VECTORS = 4

NAME = "tk.tile"


@dataclass(frozen=True)
class Tile:
    """`rows` steps of axis `row` times `vectors` vectors of axis `column`, in registers.

    In the text: `tk.tile = array<i64: 0, 8, 2, 3, 16>` (row axis, rows, column axis,
    vectors, lanes); a sixth number is the reduced axis whose steps `tk.dot` takes at once.
    The row axis after the last one of the function has one step.
    """

    row: int
    rows: int
    column: int
    vectors: int
    lanes: int
    group: int | None = None

    def attribute(self) -> Attribute:
        values = [self.row, self.rows, self.column, self.vectors, self.lanes]
        return DenseArrayBase.from_list(i64, values if self.group is None else [*values, self.group])


def take_tile(func: FuncOp) -> Tile | None:
    """Read the tile of a function and remove it."""
    found = ints_in(func.attributes.pop(NAME, None))
    return None if found is None else Tile(*found)


def choose_tile(func: FuncOp, vector_bits: int) -> Tile | None:
    """The tile of a function that is a matrix product, None where it is none that suits one."""
    contraction = find_contraction(func.body.block, shared_columns=True)
    if contraction is None:
        return _choose_one_row(func, vector_bits)
    if not is_float(element_type(contraction.reduce.result.type)):
        return None
    shared = contraction.columns & domains_of(func.body.block)[contraction.left]
    found: list[Tile] = []
    for product in (contraction,) if shared else (contraction, _swapped(contraction)):
        group = group_axis(func, product)
        step = 1 if group is None else func.space[group].constant
        column = _column(func, product, vector_bits // 32, step)
        if column is not None:
            found.append(replace(_tile(func, product, column, vector_bits), group=group))
    if found:
        return _in_order(func, found)
    skip(func, "a matrix product without register tiles: no operand is contiguous across whole vectors")
    return None


def _in_order(func: FuncOp, found: Sequence[Tile]) -> Tile:
    """Of tiles that differ in which operand's axis has the lanes, the one whose result needs not turn."""
    first, last = found[0], found[-1]
    stores = [op for op in func.body.block.ops if isinstance(op, StoreOp)]
    turned = all(turns(op, last.column, first.column) for op in stores)
    return last if turned and first.group is None and last.group is None else first


def _choose_one_row(func: FuncOp, vector_bits: int) -> Tile | None:
    """The tile of a matrix packed in groups times a vector: its row axis is beyond the last one.

    Others do as well by loops that add row after row of the matrix to sums in scratch.
    """
    product = find_matrix_vector(func.body.block)
    group = None if product is None else group_axis(func, product)
    if product is None or group is None:
        return None
    lanes = vector_bits // 32
    column = _column(func, product, lanes, func.space[group].constant)
    width = None if column is None else func.space[column].constant
    if column is None or width is None:
        return None
    total = width // lanes
    vectors = next(n for n in range(min(total, MAX_VECTORS), 0, -1) if total % n == 0)
    return Tile(len(func.space), 1, column, vectors, lanes, group)


def _swapped(c: Contraction) -> Contraction:
    return Contraction(c.reduce, c.product, c.right, c.left, c.columns, c.rows, c.over)


def _column(func: FuncOp, c: Contraction, lanes: int, step: int | None) -> int | None:
    """The axis along which the right operand is loaded as whole vectors (of `step` elements per
    lane), and the left not at all, or as whole vectors too."""
    domains = domains_of(func.body.block)
    for axis in sorted(c.columns, reverse=True):
        size = func.space[axis].constant
        if size is None or size % lanes or axis in c.over:
            continue
        if _steps(c, axis, domains) == {step}:
            return axis
    return None


def _steps(c: Contraction, axis: int, domains: Mapping[SSAValue, Axes]) -> set[int | None]:
    """How far the loads of the product move per step of `axis`; None for what is not constant."""
    steps: set[int | None] = set()
    for load in c.sources():
        if axis not in domains[load.result]:
            continue
        if load.dynamic or load.mask is not None:
            return {None}
        for expr in load.subscripts:
            step = expr.coefficient(Var("d", axis))
            steps.add(None if step is None else step.constant)
    return steps


def _tile(func: FuncOp, c: Contraction, column: int, vector_bits: int) -> Tile:
    """The axis of rows is the one of the nearest neighbours among those that waste little."""
    lanes = vector_bits // 32
    total = (func.space[column].constant or lanes) // lanes
    domains = domains_of(func.body.block)
    shared = column in domains[c.left]
    found: list[tuple[float, int, Tile]] = []
    for axis in sorted(c.rows):
        size = func.space[axis].constant
        steps = [_FAR if n is None else abs(n) for n in _steps(c, axis, domains)]
        step = max(steps, default=_FAR)
        rows, vectors = best_shape(size, total, vector_bits, step, shared=shared)
        cost = _cost(size or _GUESS, rows, vectors)
        found.append((cost, step, Tile(axis, rows, column, vectors, lanes)))
    limit = _SLACK * min(cost for cost, _, _ in found)
    return min((entry for entry in found if entry[0] <= limit), key=lambda entry: entry[1])[2]


# The shape of a tile

_GUESS = 128
_FAR = (1 << 62) + 1
_SLACK = 1.15
_LATENCY = 4


_CACHE_PERIOD = 1024
"""Elements at whose distance two addresses fall into the same set of the nearest cache (4 KiB)."""
_CACHE_WAYS = 8
"""Rows that may share a set."""


def best_shape(
    size: int | None, total: int, vector_bits: int, step: int = 1, *, shared: bool = False
) -> tuple[int, int]:
    """(rows, vectors) of the tiles for `size` rows (None: not known) by `total` vectors.

    Rows lie `step` elements apart; powers of two make them evict each other from the cache.
    With `shared` columns the left operand takes as many registers as the sums: the C++
    compiler carries what the next step of a window reads again.
    """
    shapes: list[tuple[int, int]] = []
    registers = REGISTERS.get(vector_bits, 16) // (2 if shared else 1)
    fitting = _CACHE_WAYS * (_CACHE_PERIOD // gcd(step, _CACHE_PERIOD))
    for vectors in range(min(total, MAX_VECTORS), 0, -1):
        if total % vectors:
            continue
        most = max(1, min((registers - vectors - 1) // vectors, fitting))
        usual = most if most < 8 else 8 if most < 12 else 12
        shapes.append((usual, vectors))
        if size:
            shapes += [(n, vectors) for n in range(1, min(most, size) + 1) if size % n == 0]
    return min(shapes, key=lambda shape: _cost(size or _GUESS, *shape))


def row_counts(size: int | None, rows: int) -> list[int]:
    """Tile heights: the full one, then smaller ones for the rows that are left.

    `size % n` must be what is left after the larger ones, so each divides the one before.
    """
    counts = [rows, *(n for n in (4, 2, 1) if n < rows and not (n == 2 and size is None))]
    kept: list[int] = []
    for n in counts:
        if not kept or kept[-1] % n == 0:
            kept.append(n)
    return kept


def _cost(size: int, rows: int, vectors: int) -> float:
    """Cycles per vector and step of the sum: multiply-adds, and some for the loads."""
    cycles, left = 0.0, size
    for n in row_counts(size, rows):
        step = max(n * vectors, _LATENCY) + (n + 2 * vectors) / 4
        cycles += left // n * step
        left %= n
    return cycles / (size * vectors)
