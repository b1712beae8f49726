"""What a graph does not say of the operators of others in it: schemas, and the Python that tracing runs.

The shape that an operator's fake gives, and the formula of its gradient, are part of what is compiled, where
torch's key holds the operator's name alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from torch.fx import GraphModule

from ..torch_internals import Operator, is_of_torch, overloads_of, python_files_of, schema_of


class NoSource(Exception):
    """An operator's Python stands in no file."""


def operators_in(gm: GraphModule) -> Iterator[str]:
    """The schema of each operator of others, and a digest of each file that defines it. Raises NoSource."""
    found: dict[Operator, None] = {}
    for module in gm.modules():
        for node in module.graph.nodes if isinstance(module, GraphModule) else ():
            found.update(dict.fromkeys(op for op in overloads_of(node.target) if not is_of_torch(op)))
    files: dict[str, None] = {}
    for op in sorted(found, key=str):
        yield f"{schema_of(op)} {sorted(map(str, op.tags))}"
        for file in python_files_of(op):
            if not Path(file).is_file():
                raise NoSource(f"`{op}` is defined in no file, but in {file}")
            files[file] = None
    for file in files:
        yield hashlib.sha256(Path(file).read_bytes()).hexdigest()
