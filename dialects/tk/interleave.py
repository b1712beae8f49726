"""Neighbours in memory that belong to one place: the ops `tk.interleave` and `tk.deinterleave`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..arrays import Array, Arrays
from ..index_expr import ZERO, Atom, Call, Expr, Var, dim
from ..op_definition import op_definition
from ..types import element_type
from .arith import vector_of
from .scope import shape_of_lanes


def at_elements(expr: Expr, axis: int, group: int) -> Expr:
    """Where the elements of groups are that start at `expr`: of the result, `axis` counts elements.

    `d0*2 + 6` with groups of 2 is `d0 + 6`, `(d0 mod 64)*2` is `d0 mod 128`.
    """
    d, found, whole = Var("d", axis), ZERO, False
    for atoms, factor in expr.terms:
        elements = _elements(atoms[0], d, group) if factor == group and len(atoms) == 1 else None
        if elements is not None and not whole:
            found, whole = found + elements, True
        else:
            found += Expr(((atoms, factor),)).substitute({d: dim(axis) // group})
    return found if whole else found + dim(axis) % group


def _elements(atom: Atom, d: Var, group: int) -> Expr | None:
    """`group * atom`, and what lies behind it, if that is a place of an axis or of a run along it."""
    here = dim(d.index)
    if atom == d:
        return here
    runs = isinstance(atom, Call) and atom.name == "mod" and atom.lhs == here and not atom.rhs.uses(d)
    return here % (atom.rhs * group) if runs else None  # pyright: ignore


def _pairs(of: str, vector: Attribute, half: Attribute) -> None:
    shape = shape_of_lanes(vector)
    if not shape or shape[-1] % 2:
        raise VerifyException(f"{of}: a vector of rows of an even number of elements, got {vector}")
    if half != (expected := _half(vector)):
        raise VerifyException(f"{of}: every other element has type {half}, expected {expected}")


def _half(type_: Attribute) -> Attribute:
    *rows, columns = shape_of_lanes(type_)
    return vector_of(element_type(type_), *rows, columns // 2)


@op_definition
class DeinterleaveOp(IRDLOperation):
    """The elements at even and at odd places of a vector, or of each row of a tile.

    %even, %odd = tk.deinterleave %0 : vector<256xbf16> -> vector<128xbf16>, vector<128xbf16>

    As `vector.deinterleave` of MLIR. Where a lane holds neighbours, nothing moves.
    """

    name = "tk.deinterleave"

    value = operand_def(VectorType)
    even = result_def(VectorType)
    odd = result_def(VectorType)

    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value) `->` type($even) `,` type($odd)"

    @classmethod
    def make(cls, value: SSAValue) -> DeinterleaveOp:
        return cls.create(operands=[value], result_types=[_half(value.type)] * 2)

    def verify_(self) -> None:
        for result in self.results:
            _pairs(self.name, self.value.type, result.type)


@op_definition
class InterleaveOp(IRDLOperation):
    """The elements of two vectors, or of each of their rows, in turn, `%even` first.

    %0 = tk.interleave %even, %odd : vector<128xbf16>, vector<128xbf16> -> vector<256xbf16>
    """

    name = "tk.interleave"

    even = operand_def(VectorType)
    odd = operand_def(VectorType)
    result = result_def(VectorType)

    traits = traits_def(Pure())
    assembly_format = "$even `,` $odd attr-dict `:` type($even) `,` type($odd) `->` type($result)"

    @classmethod
    def make(cls, even: SSAValue, odd: SSAValue) -> InterleaveOp:
        *rows, columns = shape_of_lanes(even.type)
        type_ = vector_of(element_type(even.type), *rows, 2 * columns)
        return cls.create(operands=[even, odd], result_types=[type_])

    def verify_(self) -> None:
        for operand in self.operands:
            _pairs(self.name, self.result.type, operand.type)


def interleaved(parts: Sequence[SSAValue]) -> list[InterleaveOp]:
    """Ops of which the last one has the elements of 2, 4, ... parts in turn."""
    made: list[InterleaveOp] = []
    while len(parts) > 1:
        half = len(parts) // 2
        pairs = [InterleaveOp.make(a, b) for a, b in zip(parts[:half], parts[half:], strict=True)]
        made += pairs
        parts = [op.result for op in pairs]
    return made


def run_deinterleave(value: Array) -> tuple[Array, Array]:
    """What the op computes."""
    return value[..., 0::2], value[..., 1::2]


def run_interleave(even: Array, odd: Array, arrays: Arrays) -> Array:
    """What the op computes."""
    *rows, columns = even.shape
    pairs = [part.reshape([*even.shape, 1]) for part in (even, odd)]
    return arrays.concat(pairs, len(even.shape)).reshape([*rows, 2 * columns])
