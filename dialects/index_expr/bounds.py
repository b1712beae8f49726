"""What the extents of axes say about an expression."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from .expr import (
    FUNCTIONS,
    ONE,
    ZERO,
    Atom,
    Call,
    Expr,
    Monomial,
    as_expr,
    atom_is_nonnegative,
    from_atom,
    from_terms,
    is_nonnegative,
    product,
    scale_down,
)
from .variables import Var


@dataclass(frozen=True)
class Bounds:
    """Axis extents (`0 <= d_i < sizes[i]`), used to drop `floordiv` and `mod`."""

    sizes: tuple[Expr, ...]

    def lengthened(self, axis: int, times: int) -> Bounds:
        """The same, but for an axis that is `times` as long."""
        return Bounds(tuple(size * times if a == axis else size for a, size in enumerate(self.sizes)))

    def upper(self, value: Expr) -> Expr | None:
        """An expression without axes that `value` never exceeds, None if none is known."""
        total = ZERO
        for monomial, c in value.terms:
            factor = as_expr(c)
            for atom in monomial:
                if isinstance(atom, Var) and atom.kind == "d" and atom.index < len(self.sizes):
                    if c < 0:
                        factor = ZERO  # the axis is at least 0
                    else:
                        factor = factor * (self.sizes[atom.index] - 1)
                elif isinstance(atom, Var) and atom.kind == "s":
                    factor = factor * from_atom(atom)
                elif isinstance(atom, Call) and c > 0 and (bound := self._upper_of_call(atom)) is not None:
                    factor = factor * bound
                elif isinstance(atom, Call) and c < 0 and atom_is_nonnegative(atom):
                    factor = ZERO
                else:
                    return None
            total = total + factor
        return total

    def _upper_of_call(self, atom: Call) -> Expr | None:
        if atom.name == "mod":
            return atom.rhs - 1
        if atom.name == "floordiv" and self.is_nonnegative(atom.lhs):
            bound = self.upper(atom.lhs)
            return None if bound is None else bound // atom.rhs
        if atom.name == "min":
            known = [bound for side in (atom.lhs, atom.rhs) if (bound := self.upper(side)) is not None]
            return min(known, key=lambda bound: (bound.constant is None, bound.constant or 0), default=None)
        return None

    def is_nonnegative(self, value: Expr) -> bool:
        def known(atom: Atom) -> bool:
            if isinstance(atom, Var) and atom.kind == "d":
                return atom.index < len(self.sizes)
            if isinstance(atom, Call) and atom.name == "floordiv":
                return self.is_nonnegative(atom.lhs) and is_nonnegative(atom.rhs)
            return atom_is_nonnegative(atom)

        return all(c > 0 and all(known(a) for a in m) for m, c in value.terms)

    def is_below(self, value: Expr, limit: Expr) -> bool:
        bound = self.upper(value)
        return bound is not None and is_nonnegative(limit - 1 - bound)

    def simplify(self, value: Expr) -> Expr:
        """Rewrite `floordiv` and `mod` whose operand is known to lie in one period."""
        if not any(isinstance(atom, Call) for atom in value.atoms()):
            return value
        return _simplify(self, value)

    def simplify_call(self, atom: Call) -> Expr:
        """`simplify` for one function call."""
        lhs, rhs = self.simplify(atom.lhs), self.simplify(atom.rhs)
        if atom.name in ("max", "min"):
            return FUNCTIONS[atom.name](lhs, rhs)
        # Split lhs into a multiple of rhs and a rest that stays within [0, rhs).
        whole, rest = _divided(lhs, rhs)
        if not self._within(rest, rhs) and self._within(near := _less_whole(rest, rhs), rhs):
            whole, rest = whole + scale_down(rest - near, rhs.constant or 1), near
        if self._within(rest, rhs):
            return whole if atom.name == "floordiv" else rest
        if (split := self._split_inner(rest, rhs)) is not None:
            quotient, remainder = split
            return whole + quotient if atom.name == "floordiv" else remainder
        if atom.name == "mod" and (near := _without_mods(lhs, rhs)) is not None and self.is_nonnegative(near):
            return near % rhs
        return FUNCTIONS[atom.name](lhs, rhs)

    def _within(self, value: Expr, limit: Expr) -> bool:
        return self.is_nonnegative(value) and self.is_below(value, limit)

    def _split_inner(self, rest: Expr, rhs: Expr) -> tuple[Expr, Expr] | None:
        """(a*g + b) by (r*g), 0 <= b < g: quotient is a by r, remainder (a mod r)*g + b."""
        for g in _steps(rest):
            r = rhs.exact_div(g)
            if r is None or r == ONE:
                continue
            a, low = _divided(rest, g)
            if low and self._within(low, g):
                return self.simplify(a // r), self.simplify(a % r) * g + low
        return None


def _without_mods(value: Expr, by: Expr) -> Expr | None:
    """What leaves the same remainder as `value`, if that is a sum of remainders by multiples of `by`.

    `(d0 mod 256 + 192) mod 256` is `(d0 + 192) mod 256`: neighbours are seen to be neighbours up to the end.
    """
    near = ZERO
    for monomial, c in value.terms:
        atom = monomial[0] if len(monomial) == 1 else None
        if isinstance(atom, Call) and atom.name == "mod" and (atom.rhs * c).exact_div(by) is not None:
            near = near + atom.lhs * c
        elif monomial:
            return None
        else:
            near = near + c
    return None if near == value else near


def _by_axes(value: Expr) -> dict[Monomial, Expr]:
    """Its terms as factors that axes have a part in, and what each of these is multiplied by."""
    found: dict[Monomial, Expr] = {}
    for monomial, c in value.terms:
        moving = tuple(atom for atom in monomial if _has_axes(atom))
        rest = tuple(atom for atom in monomial if not _has_axes(atom))
        found[moving] = found.get(moving, ZERO) + from_terms({rest: c})
    return found


def _has_axes(atom: Atom) -> bool:
    return any(var.kind == "d" for var in from_atom(atom).variables())


def _divided(value: Expr, by: Expr) -> tuple[Expr, Expr]:
    """`(a, b)`, of which `value` is `a*by + b`: `a` holds what `by` divides."""
    whole, rest = ZERO, value
    for moving, factor in _by_axes(value).items():
        whole_factor = factor.exact_div(by) is not None
        for part in (factor,) if whole_factor else _terms_of(factor):
            if (quotient := part.exact_div(by)) is not None:
                whole = whole + quotient * from_terms({moving: 1})
                rest = rest - part * from_terms({moving: 1})
    return whole, rest


def _terms_of(value: Expr) -> list[Expr]:
    return [from_terms({monomial: c}) for monomial, c in value.terms]


def _steps(value: Expr) -> list[Expr]:
    """What axes are multiplied by, largest first: of `6*d0 + s0*d1 + d2` these are `s0` and 6.

    Numbers stand there without symbols, too: 6 for `6*s0*d0`, besides `6*s0`.
    """
    found = {as_expr(abs(c)) for _, c in value.terms} | set(_by_axes(value).values())
    return sorted(
        found - {ONE}, key=lambda e: (-max(len(m) for m, _ in e.terms), -abs(e.terms[0][1]), str(e))
    )


def _less_whole(value: Expr, n: Expr) -> Expr:
    """`value` less as many times `n` as each of its terms has: of `9*d0 + d1`, `d0 + d1` for 8."""
    if n.constant is None or n.constant < 1:
        return value
    return from_terms({m: c % n.constant for m, c in value.terms if c % n.constant})


@lru_cache(maxsize=65536)
def _simplify(bounds: Bounds, value: Expr) -> Expr:
    def simplified(atom: Atom) -> Expr:
        return bounds.simplify_call(atom) if isinstance(atom, Call) else from_atom(atom)

    total = ZERO
    for monomial, c in value.terms:
        total = total + product(map(simplified, monomial)) * c
    return _joined(bounds, total)


def _joined(bounds: Bounds, total: Expr) -> Expr:
    """`(x floordiv n)*n + x mod n` is `x`, also where the quotient was made simpler."""
    for monomial, c in total.terms:
        if len(monomial) == 1 and isinstance(atom := monomial[0], Call) and atom.name == "mod":
            part = bounds.simplify(atom.lhs // atom.rhs) * atom.rhs * c
            rest = total - from_atom(atom) * c - part
            if len(rest.terms) == len(total.terms) - 1 - len(part.terms):
                return _joined(bounds, rest + atom.lhs * c)
    return total
