"""The text of one kernel while it is written: lines, names, and the shapes that names really have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import ZERO, Bounds, Expr, Var
from tilewright.dialects.tk.descriptor import Descriptor
from tilewright.dialects.tk.scope import shape_of_lanes
from tilewright.dialects.types import element_type

from ..native.text import KernelText
from .inside import WIDTH, read_once_by, stays_inside
from .spelling import bare, dtype, enclosed, expression, shape_text

Shape = tuple[int, ...]
Place = tuple[int, int, int, int]
"""An axis, its dimension, the number of dimensions of the tile, and how many neighbours each place has."""


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """What tiles of these shapes have when they meet; a scalar is ()."""
    rank = max((len(s) for s in shapes), default=0)
    full = [s if s else (1,) * rank for s in shapes]
    return tuple(max(sizes) for sizes in zip(*full, strict=True)) if rank else ()


@dataclass(kw_only=True)
class Writer(KernelText):
    """Collects lines; `vector.broadcast` writes nothing until a shape matters."""

    INDENT = "    "
    COMMENT = "#"

    bounds: Bounds
    wide: bool
    """Whether offsets have 64 bits."""
    places: dict[tuple[str, str], int]
    """(message, where) of each check of the module, and its number."""
    shapes: dict[SSAValue, Shape] = field(default_factory=dict[SSAValue, Shape])
    """The shape that the text of a value has, where that is not the one of its type."""
    literals: set[SSAValue] = field(default_factory=set[SSAValue])
    axes: dict[Var, str] = field(default_factory=dict[Var, str])
    """The first place of each bound axis, and the symbols."""
    zeros: set[Var] = field(default_factory=set[Var])
    """Axes that one block covers: their first place is 0."""
    coordinates: dict[Place, str] = field(default_factory=dict[Place, str])
    masks: dict[Place, str] = field(default_factory=dict[Place, str])
    descriptors: dict[Operation, tuple[str, Descriptor]] = field(
        default_factory=dict[Operation, tuple[str, Descriptor]]
    )
    """The loads that are by tensor descriptor, and the descriptor's name."""
    helpers: set[str] = field(default_factory=set[str])
    program: str = "tl.program_id(0)"
    """The number of this program among those of the function."""
    waiting: list[SSAValue] = field(default_factory=list[SSAValue])
    """Values without a line yet, in their order: the next text that is written may contain the last ones."""
    repeated: dict[SSAValue, list[SSAValue]] = field(default_factory=dict[SSAValue, list[SSAValue]])
    """The values that have the text of another; all of them have one list."""

    # Lines

    def line(self, text: str) -> None:
        """One more line, behind those of what waits."""
        self.flush()
        super().line(text)

    def flush(self) -> None:
        """Give all that waits lines of their own: `v3 = ...`."""
        values, self.waiting = self.waiting, []
        for value in values:
            text = bare(self.names[value])
            name = self.fresh(value)
            super().line(f"{name} = {text}")
            self.names.update(dict.fromkeys(self.repeated.get(value, ()), name))

    def write(self, op: Operation, text: Callable[[], str]) -> None:
        """The line of an op that has no result."""
        self.line(self.with_operands(op, text))

    def assign(self, op: Operation, text: Callable[[], str], shape: Shape) -> None:
        """The only result of `op`: `v3 = ...`, or inside of what reads it."""
        (value,) = op.results
        made = self.with_operands(op, text)
        self.shapes[value] = shape
        if stays_inside(op, made):
            self.names[value] = enclosed(made)
            self.waiting.append(value)
        else:
            self.flush()
            self.line(f"{self.fresh(value)} = {made}")

    def with_operands(self, op: Operation, text: Callable[[], str]) -> str:
        """`text()` with those operands inside that wait, if they are the last ones, fit, and stand once each.

        They stand in the order of the IR, so that Triton gets ops in that order, too, but for addresses.
        """
        inside = [v for v in self.waiting if read_once_by(v) is op]
        made = text()
        if not inside:
            return made
        last = self.waiting[-len(inside) :] == inside
        texts = [bare(self.names[v]) for v in inside]
        places = [made.find(each) for each in texts]
        once = all(made.count(each) == 1 for each in texts) and places == sorted(places)
        if not last or not once or len(made) + len(self.INDENT) * self.depth > WIDTH:
            self.flush()
            return text()
        del self.waiting[-len(inside) :]
        return made

    def alias(self, value: SSAValue, source: SSAValue) -> None:
        """Both have one text."""
        self.names[value] = self.names[source]
        alike = self.repeated[value] = self.repeated.setdefault(source, [])
        alike.append(value)
        self.shapes[value] = self.shape(source)
        if source in self.literals:
            self.literals.add(value)

    # Values

    def shape(self, value: SSAValue) -> Shape:
        """The shape of the text."""
        return self.shapes.get(value, shape_of_lanes(value.type))

    def whole(self, value: SSAValue) -> str:
        """The text of `value` in the shape and with the type that it has in the IR."""
        shape = shape_of_lanes(value.type)
        name = self.names[value]
        if value in self.literals:
            if not shape:
                return f"tl.full([], {name}, {dtype(value.type)})"
            return f"tl.full({shape_text(shape)}, {name}, {dtype(value.type)})"
        if self.shape(value) == shape:
            return name
        return f"tl.broadcast_to({bare(name)}, {shape_text(shape)})"

    def operands(self, values: Sequence[SSAValue], *, typed: bool = False) -> list[str]:
        """Texts of the operands of an elementwise op, none of which is a literal if `typed`.

        Of those of one type (all, but for the condition of a selection) the first is no literal if all are:
        literals take the type of what they meet.
        """
        found = [self.whole(v) if typed and v in self.literals else self.names[v] for v in values]
        alike = [i for i, v in enumerate(values) if element_type(v.type) == element_type(values[-1].type)]
        if alike and all(values[i] in self.literals for i in alike):
            found[alike[0]] = self.whole(values[alike[0]])
        return found

    # Expressions

    def text(self, expr: Expr, names: dict[Var, str] | None = None, bounds: Bounds | None = None) -> str:
        """An index expression; `names` says what some variables are here, `bounds` their sizes if others."""
        names = names or {}
        expr = expr.substitute({axis: ZERO for axis in self.zeros if axis not in names})
        return expression(expr, {**self.axes, **names}, bounds or self.bounds, self.helpers)

    def lanes(self, axes: Sequence[int], shape: Shape, group: int = 1) -> dict[Var, str]:
        """What the axes of a tile are called in its expressions."""
        rank = len(shape)
        return {
            Var("d", axis): self.coordinates[axis, dim, rank, group if dim == rank - 1 else 1]
            for dim, axis in enumerate(axes)
            if shape[dim] > 1
        }

    def active(self, axes: Sequence[int], shape: Shape, group: int = 1) -> list[tuple[str, Shape]]:
        """Masks of the dimensions that may hang over, and their shapes."""
        rank = len(shape)
        found: list[tuple[str, Shape]] = []
        for dim, axis in enumerate(axes):
            mask = self.masks.get((axis, dim, rank, group if dim == rank - 1 else 1))
            if shape[dim] > 1 and mask is not None:
                found.append((mask, tuple(n if i == dim else 1 for i, n in enumerate(shape))))
        return found
