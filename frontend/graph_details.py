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
from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCacheDetails, BypassAOTAutogradCache
from torch._inductor.codecache import BypassFxGraphCache, FxGraphCache
from torch.fx import GraphModule


class GraphDetails(AOTAutogradCacheDetails):
    """Dynamo's graph, its inputs and the state of torch; versions and settings of ours are an attribute
    of the graph module (cache_key.py)."""

    def get_triton_source_codes_from_gm(self, gm: GraphModule) -> list[str]:
        """Of the user's own Triton kernels, where there are any."""
        modules = [m for m in gm.modules() if isinstance(m, GraphModule)]
        nodes = [node for module in modules for node in module.graph.nodes]
        if not any(True for node in nodes for _ in self._iter_triton_kernels_from_node(node)):
            return []
        return super().get_triton_source_codes_from_gm(gm)

    def _init_fx_graph_hash_details(
        self, gm: GraphModule, example_inputs: Sequence[Any], fx_config: Any
    ) -> None:
        try:
            FxGraphCache._check_can_cache(gm, example_inputs, fx_config)  # pyright: ignore
        except BypassFxGraphCache as error:
            raise BypassAOTAutogradCache(str(error)) from error
        self.gm = gm
        self.example_inputs = list(example_inputs)
        self.torch = (torch.__version__, torch.version.git_version)


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
