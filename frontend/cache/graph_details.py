"""What torch's key of an AOTAutograd cache entry is made of, without the parts that only Inductor needs.

To tell Inductor's entries apart, torch imports all of its code generators, asks Triton for its version
and hashes every source file of torch: 1.5 CPU-seconds in each process, cold or warm.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch._functorch import config as functorch
from torch._functorch._aot_autograd import autograd_cache
from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCacheDetails
from torch._inductor.codecache import FxGraphHashDetails
from torch._library.triton import get_triton_kernels_for_op
from torch.fx import GraphModule

from ..torch_internals import overloads_of


class _OwnDetails(FxGraphHashDetails):
    """In front of Inductor's part of the key."""

    def __init__(self, gm: GraphModule, example_inputs: Sequence[Any], *_: Any) -> None:
        self.gm = gm
        self.example_inputs = list(example_inputs)
        self.torch = (torch.__version__, torch.version.git_version)


class GraphDetails(AOTAutogradCacheDetails, _OwnDetails):
    """Dynamo's graph, its inputs and the state of torch; versions and settings of ours are an attribute
    of the graph module (cache_key.py)."""

    def get_triton_source_codes_from_gm(self, gm: GraphModule) -> list[str]:
        """Of the user's own Triton kernels, where there are any."""
        modules = [m for m in gm.modules() if isinstance(m, GraphModule)]
        if not any(_runs_triton(node.target) for module in modules for node in module.graph.nodes):
            return []
        return super().get_triton_source_codes_from_gm(gm)


def _runs_triton(target: Any) -> bool:
    """Whether an operator was registered with `torch.library.triton_op`."""
    return any(get_triton_kernels_for_op(overload.name()) for overload in overloads_of(target))


@contextmanager
def our_entries() -> Generator[None]:
    """Within a compile of ours (Dynamo runs one at a time): entries hold our objects, keys are cheap.

    The backward graph is handed to us with the forward graph, because its code is part of the entry.
    """
    with (
        functorch.patch(bundled_autograd_cache=True, force_non_lazy_backward_lowering=True),  # pyright: ignore
        patch.object(autograd_cache, "AOTAutogradCacheDetails", GraphDetails),
    ):
        yield
