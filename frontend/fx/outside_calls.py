"""Operations that no op of ours computes: ATen runs them, or torch in Python, and each is noted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch.fx import Node

from tilewright.passes.tensor.decompose_pooling import POOLING
from tilewright.targets.native.launch_collectives import is_collective

from ..aten.aten import call_aten, callee_of, how_they_lie
from ..aten.builder import Builder
from ..decompositions.pooling import MAX_POOLING
from ..errors import FallbackRefused, Unsupported, UnsupportedNode
from ..torch_internals import WITH_EFFECTS, Operator, is_operator
from .graph import Fallback
from .locations import place_of
from .python_call import call_python, name_of
from .updating_calls import call_updating

NO_ROW = "tw has no op for it yet"
# Kept whole on purpose: libraries run these well, so a fall-back says nothing new.
LIBRARY = frozenset(
    (
        "aten::convolution_backward",
        "aten::_grouped_mm",
        "aten::avg_pool2d_backward",
        "aten::_adaptive_avg_pool2d_backward",
        *POOLING,
        *MAX_POOLING,
    )
)


class OutsideCalls:
    """Those of one graph. What is noted is an error where `allowed` says that nothing may run elsewhere."""

    def __init__(
        self, b: Builder, values: Mapping[Node, Any], noted: list[Fallback], *, allowed: bool
    ) -> None:
        self.b, self.values, self.noted, self.allowed = b, values, noted, allowed
        self.in_python = ""
        """A call that only this process can make."""

    def aten(self, op: Operator, args: list[Any], kwargs: dict[str, Any], why: Unsupported) -> Any:
        """Run an operator by ATen, else by torch in Python."""
        callee, start = callee_of(op), len(self.b.ops)
        code = "TW1100" if callee in LIBRARY or is_collective(op) else why.code
        try:
            value = call_aten(self.b, op, args, kwargs, lying=self._lying(op))
        except Unsupported as reason:
            del self.b.ops[start:]
            if reason.code == "TW1103":  # a dtype that no carrier takes through the IR, in Python or not
                raise self._refused(callee, reason) from reason
            return self.python(self.b.node, reason)
        self._note(Fallback(code, callee, place_of(self.b.location), why.reason))
        return value

    def effect(self, op: Operator, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Run an operator that has an effect by ATen."""
        try:
            value = call_aten(self.b, op, args, kwargs, effect=True, lying=self._lying(op))
        except Unsupported as reason:
            raise self._refused(callee_of(op), reason) from reason
        self._note(Fallback("TW1101", callee_of(op), place_of(self.b.location), NO_ROW))
        return value

    def updating(self, op: Operator, node: Node, value_of: Callable[[Any], Any]) -> tuple[Any, ...]:
        """Run an operator that writes to its arguments. Raises Unsupported."""
        made = call_updating(self.b, op, node, value_of)
        self._note(Fallback("TW1101", callee_of(op), place_of(self.b.location), NO_ROW))
        return made

    def _lying(self, op: Operator) -> list[Any]:
        node: Node = self.b.node
        effect = node.target is WITH_EFFECTS  # a token and the operator come first
        return how_they_lie(self.b, op, node.args[2:] if effect else node.args, node.kwargs)

    def python(self, node: Node, why: Unsupported) -> Any:
        """Run this node by torch in Python: nothing else describes the call."""
        callee = callee_of(node.target) if is_operator(node.target) else name_of(node.target)
        try:
            value = call_python(self.b, node, self.values)
        except Unsupported as reason:
            raise self._refused(callee, why, reason) from reason
        self._note(Fallback(why.code, callee, place_of(self.b.location), why.reason))
        self.in_python = self.in_python or callee
        return value

    def _refused(self, callee: str, *reasons: Unsupported) -> UnsupportedNode:
        why = "; ".join(dict.fromkeys(f"{r.reason} ({r.code})" for r in reasons))
        return UnsupportedNode(where=place_of(self.b.location), target=callee, reason=why)

    def _note(self, fallback: Fallback) -> None:
        if not self.allowed and fallback.code != "TW1100":
            raise FallbackRefused(where=fallback.place, callee=fallback.op, reason=fallback.reason)
        self.noted.append(fallback)
