"""Index expressions: integer polynomials over axes and symbols, in one canonical form.

Sizes, strides, offsets and subscripts are all `Expr`. Arithmetic canonicalises, so two
expressions that are equal as polynomials compare equal and print the same:

    >>> d0, s0 = dim(0), sym(0)
    >>> str((d0 + 1) * s0 - s0)
    'd0*s0'

Atoms are axes `d0`, symbols `s0`, gather indices `i0`, and the non-polynomial functions
`floordiv`, `mod`, `max`, `min` of expressions. Symbols are sizes, hence >= 0; nothing is
assumed of an axis until `Bounds` gives its extent.
"""

from .bounds import Bounds
from .expr import (
    ONE,
    ZERO,
    Atom,
    Call,
    Expr,
    Monomial,
    as_expr,
    dim,
    gathered,
    is_nonnegative,
    maximum,
    minimum,
    product,
    sym,
)
from .shapes import (
    delinearize,
    evaluate_all,
    is_negative_stride,
    linearize,
    row_major_strides,
    static_product,
)
from .text import IndexExprSyntaxError, format_exprs, parse_expr, parse_exprs
from .variables import Var

__all__ = [
    "ONE",
    "ZERO",
    "Atom",
    "Bounds",
    "Call",
    "Expr",
    "IndexExprSyntaxError",
    "Monomial",
    "Var",
    "as_expr",
    "delinearize",
    "dim",
    "evaluate_all",
    "format_exprs",
    "gathered",
    "is_negative_stride",
    "is_nonnegative",
    "linearize",
    "maximum",
    "minimum",
    "parse_expr",
    "parse_exprs",
    "product",
    "row_major_strides",
    "static_product",
    "sym",
]
