"""Readable names of kernels: the tensor ops that were fused into them."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from tilewright.dialects.tk.kernels import KernelOp

NAME = "tk.name"
_SILENT = frozenset({"full", "constant", "cast", "iota", "select", "compare"})
_LONGEST = 5


def name_after(kernel: KernelOp, op: Operation) -> None:
    """Call `kernel` by the tensor op that it computes: `tw.exp` gives `exp`."""
    kernel.attributes[NAME] = StringAttr(op.name.partition(".")[2])


def fused_name(producer: KernelOp, consumer: KernelOp) -> StringAttr:
    """The words of both, without conversions and constants: `sub-exp-sum`; long ones end in `etc`."""
    return name_of((*words_of(producer), *words_of(consumer)))


def name_of(found: Iterable[str]) -> StringAttr:
    """A name of these words."""
    words: list[str] = []
    for word in found:
        if word not in _SILENT and word != "etc" and (not words or words[-1] != word):
            words.append(word)
    if len(words) > _LONGEST:
        words = [*words[:_LONGEST], "etc"]
    return StringAttr("-".join(words) or "copy")


def words_of(kernel: KernelOp) -> list[str]:
    """The words of a kernel's name."""
    name = kernel.attributes.get(NAME)
    return name.data.split("-") if isinstance(name, StringAttr) else []
