"""One `linalg.generic`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute

from tilewright.dialects.index_expr import Expr

from .writer import Writer, spell, tensor


@dataclass(frozen=True)
class Operand:
    """A tensor, and per dimension the loop that walks over it; None stays at 0."""

    value: str
    element: Attribute
    sizes: tuple[Expr, ...]
    loops: tuple[int | None, ...]


Body = Callable[[Sequence[str]], Sequence[str]]
"""Names of the elements (inputs, then outputs) -> names of the yielded values."""


def generic(
    w: Writer,
    loops: Sequence[Expr],
    summed: Sequence[int],
    ins: Sequence[Operand],
    outs: Sequence[Operand],
    body: Body,
) -> list[str]:
    """Write the op over `loops`, of which those in `summed` are reductions; gives its results."""
    ins = [*ins, *_extents(w, loops, [*ins, *outs])]
    names = [w.fresh() for _ in outs]
    kinds = ", ".join('"reduction"' if i in summed else '"parallel"' for i in range(len(loops)))
    maps = ", ".join(_map(len(loops), o.loops) for o in (*ins, *outs))
    args = [f"%e{i}" for i in range(len(ins) + len(outs))]
    typed = ", ".join(f"{a}: {spell(o.element)}" for a, o in zip(args, (*ins, *outs), strict=True))
    given = f" ins({_list(ins)})" if ins else ""
    traits = f"{{indexing_maps = [{maps}], iterator_types = [{kinds}]}}"
    head = f"linalg.generic {traits}{given} outs({_list(outs)}) {{"
    types = [tensor(o.element, o.sizes) for o in outs]
    result = types[0] if len(types) == 1 else f"({', '.join(types)})"
    with w.block(f"{', '.join(names)} = {head}", lambda: f"}} -> {result}"):
        w.line(f"^bb0({typed}):", located=False)
        yielded = body(args)
        of_type = ", ".join(spell(o.element) for o in outs)
        w.line(f"linalg.yield {', '.join(yielded)} : {of_type}")
    return names


def _extents(w: Writer, loops: Sequence[Expr], operands: Sequence[Operand]) -> list[Operand]:
    """A tensor that is not read, where nothing else tells how far a loop goes."""
    told = {loop for o in operands for loop in o.loops}
    missing = tuple(i for i in range(len(loops)) if i not in told)
    if not missing:
        return []
    sizes = tuple(loops[i] for i in missing)
    return [Operand(w.empty(i1, sizes), i1, sizes, missing)]


def _map(rank: int, loops: Sequence[int | None]) -> str:
    results = ", ".join("0" if loop is None else f"d{loop}" for loop in loops)
    return f"affine_map<({', '.join(f'd{i}' for i in range(rank))}) -> ({results})>"


def _list(operands: Sequence[Operand]) -> str:
    values = ", ".join(o.value for o in operands)
    return f"{values} : {', '.join(tensor(o.element, o.sizes) for o in operands)}"
