"""Models on the GPU that does not exist: compiled until the first compiled graph would run.

Import this before torch (benchmarks/fake_cuda.py), in a process that does nothing else.
"""

# ruff: noqa: I001 (fake_cuda goes before torch)
from __future__ import annotations

from benchmarks import fake_cuda

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from benchmarks.models import BY_NAME, load

fake_cuda.install()


class _Stop(Exception):
    """A compiled graph is called, with tensors that hold nothing."""


def stop(args: Any) -> Any:
    """What a compiler of `first_call` gives back for a graph."""
    raise _Stop


@dataclass(frozen=True)
class FakeCase:
    """A model of benchmarks/models.py and its inputs."""

    name: str
    model: nn.Module
    inputs: list[Tensor]
    training: bool

    @staticmethod
    def load(name: str, dtype: str, scale: str, kind: str) -> FakeCase:
        """`kind` is inference or training."""
        training = kind == "training"
        case = load(name, scale, 2 if scale == "tiny" else 8, dtype, training=training)
        return FakeCase(name, *_on_device(case.model, case.inputs), training)

    def first_call(self, compiler: Callable[[nn.Module], Any]) -> None:
        """Compile all graphs, the backward one's too, up to where the first one would run."""
        torch._functorch.config.force_non_lazy_backward_lowering = True
        torch._functorch.config.enable_autograd_cache = False
        settings = dict(BY_NAME[self.name].dynamo)
        with torch._dynamo.config.patch(settings), torch.set_grad_enabled(self.training):
            try:
                compiler(self.model)(*self.inputs)
            except _Stop:
                return
        raise AssertionError("nothing was compiled")


def _on_device(model: nn.Module, inputs: Iterable[Tensor]) -> tuple[nn.Module, list[Tensor]]:
    """The model and its inputs, as tensors that hold nothing."""
    mode = FakeTensorMode()
    made: dict[Tensor, Tensor] = {}

    def moved(tensor: Tensor) -> Tensor:
        if tensor not in made:
            with mode:
                new = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cuda")
                if isinstance(tensor, nn.Parameter):
                    new = nn.Parameter(new, requires_grad=tensor.requires_grad)
            made[tensor] = new
        return made[tensor]

    for module in model.modules():
        for held in (module._parameters, module._buffers):
            for name, tensor in held.items():
                if tensor is not None:
                    held[name] = moved(tensor)  # type: ignore[assignment]
    for module in model.modules():
        if isinstance(module, nn.RNNBase):
            module._init_flat_weights()  # it would ask cuDNN about a real tensor while Dynamo traces
    return model, [moved(tensor) for tensor in inputs]
