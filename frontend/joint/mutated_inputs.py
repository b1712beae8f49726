"""Nothing is computed again in the backward pass from an input that the forward pass changes at its end.

    cos = cos(sin(b)); y = x * cos; copy_(b, b * 2)        kept: cos, or sin(b), not b

torch's partitioner, to which inputs are as good to keep as anything, keeps `b`, and would compute `cos` again
from what `b` has become (torch 2.13). What reads an input directly in the backward pass is an error already.
"""

from __future__ import annotations

from torch.fx import GraphModule
from torch.utils.checkpoint import CheckpointPolicy

from ..torch_internals import COPY
from .joint_nodes import readers, written_arguments


def keep_what_is_read(joint: GraphModule) -> None:
    """Of a joint graph: what is made of inputs that change is kept, unless the program says otherwise."""
    changed = written_arguments(joint.graph.find_nodes(op="placeholder"))
    for node in joint.graph.find_nodes(op="placeholder"):
        if node in changed:
            for reader in readers(node):
                if reader.target is not COPY:
                    reader.meta.setdefault("recompute", CheckpointPolicy.MUST_SAVE)
