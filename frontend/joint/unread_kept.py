"""What the backward pass is given and does not read is not kept.

    before    forward returns (y, x)    backward(x, tangent) does not read x
    after     forward returns (y,)      backward(tangent)

torch's partitioner looks for what is not read before it takes out copies of what only checks numbers (an
`_assert_async` of a class), and keeps what those read. Whoever writes to such a tensor after the forward pass
would be told that a gradient needs it.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch.fx import GraphModule, Node


def drop_unread_kept(forward: GraphModule, backward: GraphModule, results: int) -> None:
    """Of both passes; the first `results` that the forward one returns are the program's."""
    unread = {
        node.name: node
        for node in backward.graph.find_nodes(op="placeholder")
        if not node.users and isinstance(node.meta.get("val"), torch.Tensor)
    }
    output = forward.graph.output_node()
    returned: list[Any] = [*cast("Any", output.args[0])]
    kept, gone = list[int](), list[Node]()
    for place, value in enumerate(returned):
        given = unread.get(value.name) if place >= results and isinstance(value, Node) else None
        if given is None:
            kept.append(place)
        else:
            gone.append(given)
    if not gone:
        return
    output.args = (tuple(returned[place] for place in kept),)
    if "desc" in output.meta:  # what each of them is, for messages
        output.meta["desc"] = [output.meta["desc"][place] for place in kept]
    for node in gone:
        backward.graph.erase_node(node)
