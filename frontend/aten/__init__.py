"""ATen overload -> tw, one table per family of ops; `ROWS` joins them."""

from __future__ import annotations

from . import creation, elementwise, indexing, linalg, numbers, reduction, view
from .builder import Row

ROWS: dict[str, Row] = {
    **elementwise.ROWS,
    **creation.ROWS,
    **view.ROWS,
    **reduction.ROWS,
    **indexing.ROWS,
    **linalg.ROWS,
    **numbers.ROWS,
}
