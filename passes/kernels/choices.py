"""Values that are chosen under conditions: what padding, slicing and shifting leave of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from itertools import combinations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Operation, SSAValue
from xdsl.utils.hints import isa

from tilewright.dialects.ir_access import operands_of
from tilewright.dialects.scalars import number_of, predicate_of
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.arith import CmpIOp, SelectOp

from .ranges import Range, decided
from .scalar_builder import constant_op


def chosen_once(op: Operation, same: Callable[[Operation], Operation]) -> SSAValue | None:
    """What a `select` is without it, where it changes nothing; None of other ops.

    One that lies around another with the same alternative becomes one with both conditions. Of what the
    select reads, equal ops are one; `same` gives the op of the body that is equal to a new one.

        %b = arith.select %p, %x, %zero : f32        %both = arith.andi %p, %q : i1
        %c = arith.select %q, %b, %zero : f32   ->   %c = arith.select %both, %x, %zero : f32
    """
    if type(op) is not SelectOp:
        return None
    condition, value, other = operands_of(op)
    if value is other:
        return value
    inner = value.owner
    if isinstance(inner, LoadOp):
        implied = inner.other is other and inner.mask is not None and _implies(inner.mask, condition)
        return value if implied else None
    if not isinstance(inner, SelectOp) or inner.rhs is not other:
        return None
    if _implies(inner.cond, condition):
        return value
    if not _implies(condition, inner.cond):
        both = arith.AndIOp.create(operands=[inner.cond, condition], result_types=[condition.type])
        both.location = op.location
        condition = same(both).results[0]
    op.operands = [condition, inner.lhs, other]
    return None


def decided_by_numbers(op: Operation, same: Callable[[Operation], Operation]) -> SSAValue | None:
    """What numbers make of a comparison, and that of a choice or a condition; None of other ops.

    Who divides by a number has nothing to ask of it:

        %ok = arith.cmpi ne, %two, %zero : i64
        %by = arith.select %ok, %two, %one : i64     ->    %two
    """
    if type(op) is CmpIOp:
        predicate = predicate_of(op)
        lhs, rhs = (_one_number(value, signed=not predicate.startswith("u")) for value in op.operands)
        found = decided(predicate, lhs, rhs)
        return None if found is None else same(_boolean(found, op)).results[0]
    if type(op) is SelectOp:
        chosen = number_of(op.cond)
        return None if chosen is None else op.lhs if chosen else op.rhs
    if type(op) in _LOGIC and op.results[0].type == i1:
        lhs, rhs = operands_of(op)
        for value, condition in ((lhs, rhs), (rhs, lhs)):
            if (number := number_of(condition)) is not None:
                if bool(number) == isinstance(op, arith.AndIOp):
                    return value
                return None if isinstance(op, arith.XOrIOp) else condition
    return None


def _one_number(value: SSAValue, *, signed: bool) -> Range | None:
    """The range of an integer that is known: of any, where `signed` ones are compared, else of one from 0 on.

    Those are the same number with a sign as without one.
    """
    number = number_of(value)
    if number is None or not isa(value.type, IntegerType):
        return None
    bound = 2 ** (value.type.width.data - 1)
    return (number, number) if (-bound if signed else 0) <= number < bound else None


def _boolean(value: bool, op: Operation) -> Operation:
    constant = constant_op(value, i1)
    constant.location = op.location
    return constant


_LOGIC = frozenset[type[Operation]]((arith.AndIOp, arith.OrIOp, arith.XOrIOp))
_NUMBERS = ("arith.", "math.")
_TRAPS = (
    *(arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp),
    *(arith.FloorDivSIOp, arith.CeilDivSIOp, arith.CeilDivUIOp, arith.FPToSIOp, arith.FPToUIOp),
)
"""What a choice may guard: these do harm where their result is thrown away, too."""


def choose_last(op: Operation) -> None:
    """Undo choices behind a `select` that makes them once more: nobody sees what they chose otherwise.

    %a = arith.select %p, %n, %zero : f32          %b = arith.divf %x, %n : f32
    %b = arith.divf %x, %a : f32             ->    %c = arith.select %p, %b, %zero : f32
    %c = arith.select %p, %b, %zero : f32
    """
    if type(op) is not SelectOp:
        return
    for index in (1, 2):
        _choose_behind(op, index)


def _choose_behind(op: SelectOp, index: int) -> None:
    """Undo the choices that are known where `op` takes one of its operands."""
    condition, taken = op.cond, op.operands[index]
    if op.lhs is op.rhs or taken is condition:
        return
    behind, todo = set[Operation]((op,)), [taken]
    while todo:
        made = todo.pop().owner
        if not isinstance(made, Operation) or made in behind or not made.name.startswith(_NUMBERS):
            continue
        if isinstance(made, _TRAPS) or any(
            use.operation not in behind or (use.operation is op and use.index != index)
            for use in made.results[0].uses
        ):
            continue
        behind.add(made)
        known = _known(made.cond, condition, index == 1) if isinstance(made, SelectOp) else None
        if isinstance(made, SelectOp) and known is not None:
            kept = made.lhs if known else made.rhs
            todo.append(kept)
            made.result.replace_all_uses_with(kept)
        else:
            todo += made.operands


def _known(wanted: SSAValue, condition: SSAValue, holds: bool) -> bool | None:
    """Whether `wanted` holds where `condition` does, or where it does not; None where it may or may not."""
    if holds:
        return True if _implies(condition, wanted) else False if are_opposite(condition, wanted) else None
    return True if are_opposite(condition, wanted) else False if _implies(wanted, condition) else None


_OPPOSITE = (("eq", "ne"), ("slt", "sge"), ("sle", "sgt"), ("ult", "uge"), ("ule", "ugt"))


def are_opposite(one: SSAValue, other: SSAValue) -> bool:
    """Whether always just one of two conditions holds: before a position, and from it on."""
    first, second = one.owner, other.owner
    if not isinstance(first, arith.CmpiOp) or not isinstance(second, arith.CmpiOp):
        return False
    tests = {predicate_of(first), predicate_of(second)}
    return operands_of(first) == operands_of(second) and tests in map(set, _OPPOSITE)


Place = tuple[object, ...]
"""Where a load reads: its buffer, its subscripts and what these are computed of."""


def _place(load: LoadOp) -> Place:
    return (load.buffer, load.properties["map"], *load.dynamic)


def places_loaded(ops: Iterable[Operation]) -> frozenset[Place]:
    """Where elements are loaded under no mask, or under two of which always one holds."""
    masks: dict[Place, list[SSAValue | None]] = {}
    for op in ops:
        if type(op) is LoadOp:
            masks.setdefault(_place(op), []).append(op.mask)
    return frozenset(place for place, found in masks.items() if None in found or _cover(found))


def _cover(masks: Sequence[SSAValue | None]) -> bool:
    return any(a and b and are_opposite(a, b) for a, b in combinations(masks, 2))


def loaded_anyway(
    op: Operation, loaded: Set[Place], same: Callable[[Operation], Operation]
) -> SSAValue | None:
    """What a load under a mask is, where the kernel loads the very place under none; None of other ops.

    %a = tk.load %x[d0] if %p else %zero             %b = tk.load %x[d0]
    %b = tk.load %x[d0]                          ->  %a = arith.select %p, %b, %zero

    So it is where it loads what lies before a position and what lies behind it: the first element of a row
    beside differences of neighbours.
    """
    if type(op) is not LoadOp or op.mask is None or op.other is None or _place(op) not in loaded:
        return None
    plain = LoadOp.make(op.buffer, op.subscripts, op.dynamic, result_type=op.result.type)
    plain.location = op.location
    chosen = SelectOp.create(
        operands=[op.mask, same(plain).results[0], op.other], result_types=[op.result.type]
    )
    chosen.location = op.location
    return same(chosen).results[0]


def _implies(condition: SSAValue, wanted: SSAValue) -> bool:
    """Whether `wanted` is `condition`, or one of those that it says all hold."""
    if condition is wanted:
        return True
    owner = condition.owner
    return isinstance(owner, arith.AndIOp) and any(_implies(part, wanted) for part in owner.operands)
