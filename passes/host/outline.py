"""tk.kernel on tensors -> tk.func on flat buffers, and the names of these functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from keyword import iskeyword

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.index_expr import ZERO, Bounds, Expr, Var
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.attributes import MapAttr, map_attr
from tilewright.dialects.tk.kernels import FuncOp, KernelOp

from ..kernels.body import set_exprs
from ..memory.layouts import Layout


@dataclass
class Names:
    """Hands out names that are not taken yet, and no words of Python, in which targets write functions.

    `exp`, `exp_1`, ...; `and_kernel`.
    """

    taken: dict[str, int] = field(default_factory=dict[str, int])

    def fresh(self, base: str) -> str:
        base = f"{base}_kernel" if iskeyword(base) else base
        count = self.taken.get(base, 0)
        self.taken[base] = count + 1
        if not count:
            return base
        name = f"{base}_{count}"
        return self.fresh(base) if name in self.taken else self._claim(name)

    def _claim(self, name: str) -> str:
        self.taken[name] = 1
        return name


_SILENT = frozenset(
    ["arith.constant", "arith.extf", "arith.truncf", "arith.index_cast", "tk.load", "tk.store", "tk.index"]
)
_LONGEST = 4
_TYPE = re.compile(r"(?<!^er)[fi]$")
"""What `addf` and `addi` end in; `erf` is a word."""


def kernel_name(kernel: KernelOp) -> str:
    """A readable name from what the kernel computes: `reduce_sub_exp_reduce`."""
    hint = kernel.attributes.get("tk.name")
    if isinstance(hint, StringAttr):
        return re.sub(r"\W", "_", hint.data)
    words: list[str] = []
    for op in kernel.body.block.ops:
        if op.name in _SILENT:
            continue
        word = _TYPE.sub("", op.name.rpartition(".")[2])
        if not words or words[-1] != word:
            words.append(word)
    if len(words) > _LONGEST:
        words = [*words[: _LONGEST - 1], "etc"]
    return "_".join(words) or "copy"


def kernel_symbols(sizes: Sequence[Expr], block: Block) -> tuple[Expr, ...]:
    """Every symbol in the space or in an expression of the body, by number."""
    found: set[Var] = set()
    for expr in sizes:
        found |= expr.variables()
    for op in block.walk():
        for attribute in op.properties.values():
            if type(attribute) is MapAttr:
                for expr in attribute.exprs:
                    found |= expr.variables()
    numbers = sorted(var.index for var in found if var.kind == "s")
    return tuple(Expr((((Var("s", n),), 1),)) for n in numbers)


@lru_cache(maxsize=16384)
def flat_subscript(sizes: tuple[Expr, ...], subscripts: tuple[Expr, ...], layout: Layout) -> Expr:
    """The position of an element, simplified by what is known of the axes of `sizes`."""
    unit_axes = {Var("d", i): ZERO for i, n in enumerate(sizes) if n.constant == 1}
    return Bounds(sizes).simplify(layout.flat(subscripts).substitute(unit_axes))


class Linearizer:
    """Rewrites the subscripts of one kernel to positions in flat buffers."""

    def __init__(self, sizes: Sequence[Expr]) -> None:
        self.sizes = tuple(sizes)
        self.original: dict[Operation, tuple[Expr, ...]] = {}

    def place(self, buffer: SSAValue, layout: Layout) -> None:
        """Point every load and store of `buffer` into memory that has `layout`; may be repeated."""
        for use in tuple(buffer.uses):
            op = use.operation
            if isinstance(op, LoadOp | StoreOp):
                subscripts = self.original.setdefault(op, op.subscripts)
                op.properties["map"] = map_attr((flat_subscript(self.sizes, subscripts, layout),))


def outline(kernel: KernelOp, name: str, types: Sequence[Attribute]) -> FuncOp:
    """Move the body of `kernel`, already linearized, into a function over buffers of `types`.

    A load loses gather indices along which its tensor repeats: all of them are one position.
    The kernel is left without a body and must be erased.
    """
    block = kernel.body.block
    for op in block.ops:
        if isinstance(op, LoadOp) and op.dynamic:
            set_exprs(op, op.subscripts)
    for argument, type_ in zip(tuple(block.args), types, strict=True):
        Rewriter.replace_value_with_new_type(argument, type_)
    function = FuncOp.create(
        properties={
            "sym_name": StringAttr(name),
            "sizes": kernel.sizes,
            "symbols": map_attr(kernel_symbols(kernel.space, block)),
        },
        regions=[kernel.detach_region(kernel.body)],
    )
    function.location = kernel.location
    return function


def twin(function: FuncOp, name: str) -> FuncOp:
    """The same function under another name, before it."""
    made = function.clone()
    made.properties["sym_name"] = StringAttr(name)
    Rewriter.insert_op(made, InsertPoint.before(function))
    return made
