"""Register tiles for matrix products: which axes, how many rows, how many vectors."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, i64
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from tilewright.dialects.index_expr import Var
from tilewright.dialects.tk.contraction import Contraction, find_contraction
from tilewright.dialects.tk.domain import domains_of
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import element_type, is_float
from tilewright.passes.rewrite import skip

from .cost import estimate

REGISTERS = {512: 32, 256: 16, 128: 32}
"""Vector registers, by their width in bits: AVX-512, AVX2, NEON."""

MAX_VECTORS = 4

NAME = "tk.tile"


@dataclass(frozen=True)
class Tile:
    """`rows` steps of axis `row` times `vectors` vectors of axis `column`, in registers.

    In the text: `tk.tile = array<i64: 0, 8, 2, 3, 16>` (row axis, rows, column axis,
    vectors, lanes).
    """

    row: int
    rows: int
    column: int
    vectors: int
    lanes: int

    def attribute(self) -> Attribute:
        values = (self.row, self.rows, self.column, self.vectors, self.lanes)
        return DenseArrayBase.from_list(i64, values)


def take_tile(func: FuncOp) -> Tile | None:
    """Read the tile of a function and remove it."""
    found = func.attributes.pop(NAME, None)
    if not isa(found, DenseArrayBase[IntegerType]):
        return None
    return Tile(*found.get_values())


def choose_tile(func: FuncOp, vector_bits: int) -> Tile | None:
    """The tile of a function that is a matrix product, None where it is none that suits one."""
    contraction = find_contraction(func.body.block)
    if contraction is None or not is_float(element_type(contraction.reduce.result.type)):
        return None
    for product in (contraction, _swapped(contraction)):
        column = _column(func, product, vector_bits // 32)
        if column is not None:
            return _tile(func, product, column, vector_bits)
    skip(func, "a matrix product without register tiles: no operand is contiguous across whole vectors")
    return None


def _swapped(c: Contraction) -> Contraction:
    return Contraction(c.reduce, c.product, c.right, c.left, c.columns, c.rows, c.over)


def _column(func: FuncOp, c: Contraction, lanes: int) -> int | None:
    """The axis along which the right operand is loaded as whole vectors, and the left not at all."""
    domains = domains_of(func.body.block)
    for axis in sorted(c.columns, reverse=True):
        size = func.space[axis].constant
        if size is None or size % lanes or axis in c.over:
            continue
        steps = {
            None if (step := e.coefficient(Var("d", axis))) is None else step.constant
            for load in c.sources()
            if axis in domains[load.result] and not load.dynamic and load.mask is None
            for e in load.subscripts
        }
        if steps == {1}:
            return axis
    return None


def _tile(func: FuncOp, c: Contraction, column: int, vector_bits: int) -> Tile:
    lanes = vector_bits // 32
    size = func.space[column].constant or lanes
    total = size // lanes
    vectors = next(n for n in range(min(total, MAX_VECTORS), 0, -1) if total % n == 0)
    registers = REGISTERS.get(vector_bits, 16)
    rows = max(1, (registers - vectors - 1) // vectors)
    rows = rows if rows < 8 else 8 if rows < 12 else 12
    row = max(sorted(c.rows), key=lambda a: estimate(func.space[a]))
    return Tile(row, rows, column, vectors, lanes)
