"""What comes back from upstream's passes, in the ops that our passes, targets and interpreter know."""

from __future__ import annotations

import re
from collections.abc import Mapping

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, VectorType
from xdsl.dialects.vector import BroadcastOp
from xdsl.rewriter import Rewriter
from xdsl.utils.hints import isa

from .diagnostics import NothingForUpstream, UnreadableUpstream

_NEEDS: Mapping[str, str] = {
    "affine-loop-invariant-code-motion": "loops of the dialect `affine`",
    "control-flow-sink": "ops with RegionBranchOpInterface",
    "loop-invariant-code-motion": "loops with LoopLikeOpInterface",
    "loop-invariant-subset-hoisting": "loops with LoopLikeOpInterface",
    "mem2reg": "memory with PromotableAllocationOpInterface",
    "sroa": "memory with DestructurableAllocationOpInterface",
}
"""Passes that see nothing in `tw`, `tk` and `th`: IRDL cannot give an op these interfaces of C++."""
_PASS = re.compile(r"[a-z0-9-]*[a-z][a-z0-9-]*(?=\s*(?:[,){]|$))")


def refuse_idle(pipeline: str) -> None:
    """Raise NothingForUpstream where a pass of `pipeline` could only do nothing."""
    for name in _PASS.findall(pipeline):
        if name in _NEEDS:
            raise NothingForUpstream(name=name, needs=_NEEDS[name])


def take_back(module: ModuleOp, pipeline: str) -> None:
    """Splats of vectors become a scalar that is broadcast, as schedules write them."""
    for op in list(module.walk()):
        if isinstance(op, ConstantOp) and isa(op.result.type, VectorType):
            value = op.value
            if not isinstance(value, DenseIntOrFPElementsAttr) or not value.is_splat():
                raise UnreadableUpstream(pipeline=pipeline, reason=f"a vector of different constants: {op}")
            _broadcast(op, value)


def _broadcast(op: ConstantOp, value: DenseIntOrFPElementsAttr) -> None:
    (element, *_) = value.iter_attrs()
    scalar = ConstantOp(element)
    spread = BroadcastOp.create(operands=[scalar.result], result_types=[op.result.type])
    for new in (scalar, spread):
        new.location = op.location
    Rewriter.replace_op(op, [scalar, spread])
