"""What every row needs: emit tw ops at a node's location, with casts and broadcasts explicit."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node
from xdsl.dialects.builtin import IntegerType, LocationAttr, bf16, f32, f64, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects import index_expr
from tilewright.dialects.index_expr import Expr
from tilewright.dialects.philox import WORDS
from tilewright.dialects.tw.creation import FullOp, RngSeedOp
from tilewright.dialects.tw.elementwise_binary import CastOp
from tilewright.dialects.tw.view import BroadcastOp, ReshapeOp, TransposeOp
from tilewright.dialects.types import element_type_of, is_float, is_half, sizes_of, tensor_type

from ..eager_facts import EagerFacts, facts_of
from ..errors import Unsupported
from ..fx.dtypes import element_of_dtype
from ..fx.symbols import Symbols

Row = Callable[..., Any]
Rows = Mapping[str, Row]
Sizes = Sequence[Expr]


@dataclass(frozen=True)
class FloatScalar:
    """A symbolic Python float: a rank-0 f64 tensor that promotes as a Python number."""

    value: SSAValue


Operand = SSAValue | FloatScalar | Expr | bool | int | float
"""What an elementwise row may be given: a tensor or some kind of Python number."""


def fits(value: float, element: Attribute) -> bool:
    """True where a half type holds `value` exactly."""
    if element == bf16:
        try:
            return value != value or (struct.pack(">f", value)[2:] == b"\0\0" and _is_f32(value))
        except OverflowError:
            return False
    try:
        return value != value or struct.unpack("e", struct.pack("e", value))[0] == value
    except OverflowError:
        return False


def _is_f32(value: float) -> bool:
    return struct.unpack("f", struct.pack("f", value))[0] == value


def _parts(fake: Any) -> list[torch.Tensor]:
    """The tensors in what a node evaluates to."""
    if isinstance(fake, tuple | list):
        return [part for value in fake for part in _parts(value)]  # pyright: ignore[reportUnknownVariableType]
    return [fake] if isinstance(fake, torch.Tensor) else []


class Builder:
    """Collects the ops of one graph. `fake` is what the current node evaluates to."""

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self.ops: list[Operation] = []
        self.location: LocationAttr
        self.node: Any = None
        self.fake: Any = None
        self.carried: dict[SSAValue, torch.Tensor] = {}
        """Values whose dtype has no element type: what they stand for."""
        self._seed: SSAValue | None = None
        self._offset = index_expr.ZERO
        self._states = 0

    # The current node

    @property
    def element(self) -> Attribute:
        """Element type of the node's (only) tensor."""
        return self.element_of(self.fake)

    @property
    def sizes(self) -> tuple[Expr, ...]:
        """Sizes of the node's (only) tensor."""
        return self.symbols.exprs(self.fake.shape)

    def element_of(self, fake: torch.Tensor) -> Attribute:
        return self.element_of_dtype(fake.dtype)

    def element_of_dtype(self, dtype: torch.dtype) -> Attribute:
        element = element_of_dtype(dtype)
        if element is None:
            raise Unsupported(f"{dtype} has no element type in the IR", "TW1103")
        return element

    def no_element_type(self) -> Unsupported:
        """Of the dtypes of the current node's operands and results that the IR lacks."""
        nodes: list[Node] = [*self.node.all_input_nodes, self.node]
        fakes = [fake for node in nodes for fake in _parts(node.meta.get("val"))]
        names = dict.fromkeys(str(f.dtype) for f in fakes if element_of_dtype(f.dtype) is None)
        have = "have" if len(names) > 1 else "has"
        return Unsupported(f"{' and '.join(names) or 'its dtype'} {have} no element type in the IR", "TW1103")

    @property
    def eager(self) -> EagerFacts:
        """How eager mode computes where the current node does."""
        first = self.fake if isinstance(self.fake, torch.Tensor) else self.fake[0]
        return facts_of(first.device)

    def input_fake(self, index: int) -> torch.Tensor:
        """What operand `index` of the current node evaluates to."""
        return self.node.args[index].meta["val"]

    # Emitting

    def emit(self, op: Operation) -> SSAValue:
        """Append `op`; its first result."""
        op.location = self.location
        self.ops.append(op)
        return op.results[0]

    def add(self, op: Operation) -> None:
        """Append an op whose results, if any, are taken from it."""
        op.location = self.location
        self.ops.append(op)

    def full(
        self, value: bool | int | float | Expr, element: Attribute, sizes: Sequence[Expr | int]
    ) -> SSAValue:
        if isinstance(value, Expr) and value.constant is not None:
            value = value.constant
        return self.emit(FullOp(value, element, sizes))

    def cast(self, value: SSAValue, element: Attribute, *, rounded: bool = False) -> SSAValue:
        """With `rounded` a half really is one, also inside a kernel."""
        if element_of(value) == element:
            return value
        return self.emit(CastOp(value, element, rounded=rounded and is_half(element)))

    def broadcast(self, value: SSAValue, sizes: Sizes) -> SSAValue:
        own = sizes_of(value)
        if own == tuple(sizes):
            return value
        aligned = sizes[len(sizes) - len(own) :]
        value = self.conform(value, meant := tuple(map(self._before_it_repeats, own, aligned)))
        return value if meant == tuple(sizes) else self.emit(BroadcastOp(value, sizes))

    def _before_it_repeats(self, own: Expr, size: Expr) -> Expr:
        """1 where a size that becomes `size` is 1, by a guard at least, else `size`, which it is equal to."""
        traced = self.symbols.traced_value
        one = own.constant == 1 or (own != size and traced(own) == 1 != traced(size))
        return index_expr.ONE if one else size

    def conform(self, value: SSAValue, sizes: Sizes) -> SSAValue:
        """`value` with its sizes written as `sizes`, which tracing found to be equal."""
        for own, meant in zip(sizes_of(value), sizes, strict=True):
            both_known = own.constant is not None and meant.constant is not None
            assert own == meant or not both_known, f"{self.node}: size {own} is not {meant}"
        return self.reshape(value, sizes)

    def reshape(self, value: SSAValue, sizes: Sequence[Expr | int]) -> SSAValue:
        result = tensor_type(element_of(value), sizes)
        if result == value.type:
            return value
        return self.emit(ReshapeOp(value, sizes))

    def transpose(self, value: SSAValue, perm: Sequence[int]) -> SSAValue:
        if list(perm) == list(range(len(perm))):
            return value
        return self.emit(TransposeOp(value, perm))

    def operand(self, value: Operand, element: Attribute, sizes: Sizes) -> SSAValue:
        """`value`, a tensor or a number, as a tensor of this type."""
        if isinstance(value, FloatScalar):
            value = value.value
        if isinstance(value, SSAValue):
            return self.broadcast(self.cast(value, element), sizes)
        return self.full(value, element, sizes)

    def working_element(self, element: Attribute, values: Sequence[Operand]) -> Attribute:
        """`element`, or f32 where a half type would round one of the Python numbers."""
        if is_half(element):
            for value in values:
                if isinstance(value, SSAValue):
                    continue
                if not isinstance(value, int | float) or not fits(float(value), element):
                    return f32
        return element

    def elementwise(self, op: Callable[..., Operation], values: Sequence[Operand]) -> SSAValue:
        """`op` on operands of the node's own type."""
        element, sizes = self.element, self.sizes
        work = self.working_element(element, values)
        operands = [self.operand(value, work, sizes) for value in values]
        return self.cast(self.emit(op(*operands)), element)

    # Randomness: one seed per graph, disjoint counters per draw

    def random(self, numbers: Expr) -> tuple[SSAValue, Expr]:
        """The seed, and a multiple of four as the offset from which `numbers` counters are free."""
        if self._seed is None:
            self._seed = self.emit(RngSeedOp())
        offset = self._offset
        self._offset += (numbers + (WORDS - 1)) // WORDS * WORDS
        return self._seed, offset

    def random_state(self) -> SSAValue:
        """Two numbers that are returned as a tensor, so drawn first: memory begins with them."""
        op = RngSeedOp(2)
        op.location = self.location
        self.ops.insert(self._states, op)
        self._states += 1
        return op.result


def element_of(value: SSAValue) -> Attribute:
    return element_type_of(value)


def as_tensor(value: Operand) -> SSAValue:
    if not isinstance(value, SSAValue):
        raise Unsupported(f"operand {value} is a number where a tensor is expected")
    return value


def integer(value: Any) -> int:
    """`value` where it is a known integer."""
    if isinstance(value, Expr) and value.constant is not None:
        return value.constant
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unsupported(f"{value} is not a known integer")
    return value


def integers(values: Any) -> list[int]:
    return [integer(value) for value in values]


def axis(value: Any, rank: int) -> int:
    """A dimension number of torch (negative counts from the end) as ours.

    Raises `Unsupported` where there is no such dimension: some operators of ATen take any of no elements.
    """
    number = integer(value)
    if not -max(rank, 1) <= number < max(rank, 1):
        raise Unsupported(f"dimension {number} of {rank}")
    return number + max(rank, 1) if number < 0 else number


# Type promotion

_INTS: Mapping[Attribute, int] = {IntegerType(8): 1, IntegerType(16): 2, IntegerType(32): 3, i64: 4}


def _category(element: Attribute) -> int:
    return 2 if is_float(element) else 0 if element == i1 else 1


def join(a: Attribute, b: Attribute) -> Attribute:
    """The element type in which values of both types are computed (torch.promote_types)."""
    if a == b:
        return a
    if _category(a) != _category(b):
        return a if _category(a) > _category(b) else b
    if is_float(a):
        return f64 if f64 in (a, b) else f32
    rank_a, rank_b = _INTS.get(a), _INTS.get(b)
    if rank_a is None or rank_b is None:  # one is unsigned
        rank = rank_a or rank_b or 1
        return IntegerType(16) if rank == 1 else IntegerType(8 << (rank - 1))
    return a if rank_a > rank_b else b


def _number_element(value: Operand) -> Attribute:
    if isinstance(value, bool):
        return i1
    if isinstance(value, float | FloatScalar):
        dtype = torch.get_default_dtype()
        return element_of_dtype(dtype) or f32
    return i64


def promote(values: Sequence[Operand]) -> Attribute:
    """torch.result_type: tensors rule over rank-0 tensors, those over Python numbers."""
    chosen: Attribute | None = None
    tiers: list[list[Attribute]] = [[], [], []]
    for value in values:
        if isinstance(value, SSAValue):
            tiers[0 if sizes_of(value) else 1].append(element_of(value))
        else:
            tiers[2].append(_number_element(value))
    for tier in tiers:
        here: Attribute | None = None
        for element in tier:
            here = element if here is None else join(here, element)
        if here is not None and (chosen is None or _category(here) > _category(chosen)):
            chosen = here
    assert chosen is not None
    return chosen
