"""Bugs in the ops of kernels, and in the arithmetic of index expressions."""

from __future__ import annotations

from fault import Fault

_I, _D = "dialects/index_expr/", "dialects/tk/"

FAULTS = (
    Fault(
        "tail-of-others",
        _D + "scheduled.py",
        "self.tails.get(axes[0]) if axes else",
        "next(iter(self.tails.values()), None) if axes else",
        "executed, lanes along an axis are cut off by the tail of another one",
    ),
    Fault(
        "optional-operands",
        "dialects/op_definition.py",
        "if bounds[self.idx + 1] > begin else None",
        "if bounds[self.idx + 1] >= begin else None",
        "the operand behind an optional one is taken for it",
    ),
    Fault(
        "bound-of-mod",
        _I + "bounds.py",
        "            return atom.rhs - 1\n",
        "            return atom.rhs - 2\n",
        "the largest remainder is taken for one less",
    ),
    Fault(
        "remainder-of-any-remainder",
        _I + "bounds.py",
        'atom.name == "mod" and (atom.rhs * c).exact_div(by) is not None:',
        'atom.name == "mod" and (atom.rhs * c).exact_div(1) is not None:',
        "a remainder by anything counts as what it is a remainder of",
    ),
    Fault(
        "bound-of-axis",
        _I + "bounds.py",
        "return bound is not None and is_nonnegative(limit - 1 - bound)",
        "return bound is not None and is_nonnegative(limit - bound)",
        "an expression that reaches its limit counts as below it",
    ),
    Fault(
        "descriptor-grain",
        _D + "descriptor.py",
        "if (outer.stride * width % _GRAIN).constant != 0:",
        "if (outer.stride * width % _GRAIN).constant is None:",
        "rows that are no multiples of 16 bytes are loaded by tensor descriptor",
    ),
    Fault(
        "descriptor-overlap",
        _D + "descriptor.py",
        "    if not _covers(outer.stride, inner):\n",
        "    if _covers(outer.stride, inner) is None:\n",
        "rows that overlap, or all of which are one, are loaded by tensor descriptor",
    ),
    Fault(
        "descriptor-extent",
        _D + "descriptor.py",
        "return ZERO + self.block if (self.bound.size % self.block).constant == 0 else None",
        "return ZERO + self.block",
        "what hangs over the last block along the grid is not zero",
    ),
)
