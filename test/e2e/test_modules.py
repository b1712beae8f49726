"""Modules and losses of torch.nn: results, gradients and buffers of a training step, against eager."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations
from torch.utils import _pytree as pytree


class Calls(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Tensor) -> Any:
        return self.function(*args)


LABELS = torch.tensor([1, 2, -100, 0])
WEIGHTS = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
ONCE_EACH = torch.tensor([[0, 1, 1, 2, 0]] * 4)
Shapes = tuple[tuple[int, ...], ...]

MODULES: dict[str, tuple[Callable[[], nn.Module], Shapes]] = {
    "GRU": (lambda: nn.GRU(7, 9, 2, batch_first=True), ((3, 5, 7),)),
    "LSTM of two directions": (lambda: nn.LSTM(7, 9, bidirectional=True), ((5, 3, 7),)),
    "RNN": (lambda: nn.RNN(7, 9), ((5, 3, 7),)),
    "MultiheadAttention": (
        lambda: nn.MultiheadAttention(12, 3, batch_first=True),
        ((2, 5, 12), *[(2, 6, 12)] * 2),
    ),
    "Transformer": (lambda: nn.Transformer(12, 3, 1, 1, 20, 0.0, batch_first=True), ((2, 5, 12), (2, 4, 12))),
    "Conv1d": (lambda: nn.Conv1d(4, 6, 3, padding=1, groups=2), ((2, 4, 17),)),
    "Conv3d": (lambda: nn.Conv3d(3, 5, 3, stride=2), ((2, 3, 9, 8, 7),)),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(3, 5, 3, stride=2, output_padding=1), ((2, 3, 7, 8),)),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(6), ((5, 6, 4),)),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(6, affine=True, track_running_stats=True), ((5, 6, 4, 3),)),
    "GroupNorm": (lambda: nn.GroupNorm(3, 6), ((5, 6, 4, 3),)),
    "LocalResponseNorm": (lambda: nn.LocalResponseNorm(3), ((2, 6, 4, 3),)),
    "PReLU and GLU": (lambda: nn.Sequential(nn.PReLU(6), nn.GLU(1)), ((5, 6, 4),)),
    "Bilinear": (lambda: nn.Bilinear(3, 4, 5), ((7, 3), (7, 4))),
    "PixelShuffle": (lambda: nn.Sequential(nn.PixelShuffle(2), nn.PixelUnshuffle(2)), ((2, 8, 3, 5),)),
    "Unfold and Fold": (
        lambda: nn.Sequential(nn.Unfold(3, padding=1), nn.Fold((6, 7), 3, padding=1)),
        ((2, 3, 6, 7),),
    ),
    "grid_sample": (
        lambda: Calls(lambda x, g: F.grid_sample(x, g.tanh(), align_corners=False)),
        ((2, 3, 6, 7), (2, 4, 5, 2)),
    ),
    "affine_grid": (
        lambda: Calls(lambda t: F.affine_grid(t, [2, 3, 4, 5], align_corners=True)),
        ((2, 2, 3),),
    ),
    "AdaptiveMaxPool2d": (lambda: nn.AdaptiveMaxPool2d((3, 2)), ((2, 3, 7, 8),)),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d((3, 2)), ((2, 3, 7, 8),)),
    "max_pool2d with indices": (
        lambda: Calls(lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True)),
        ((2, 3, 7, 8),),
    ),
    "bilinear": (lambda: nn.Upsample(scale_factor=2.5, mode="bilinear"), ((2, 3, 5, 6),)),
    "trilinear": (
        lambda: nn.Upsample(scale_factor=2, mode="trilinear", align_corners=True),
        ((1, 2, 3, 4, 5),),
    ),
    "bicubic": (lambda: nn.Upsample(size=(7, 9), mode="bicubic"), ((2, 3, 5, 6),)),
    "einsum": (
        lambda: Calls(lambda a, b, c: torch.einsum("bij,bjk,kl->bil", a, b, c)),
        ((2, 3, 4), (2, 4, 5), (5, 6)),
    ),
    "cdist": (lambda: Calls(torch.cdist), ((4, 3), (5, 3))),
    "CosineSimilarity": (lambda: nn.CosineSimilarity(1), ((4, 3, 2), (4, 3, 2))),
    "kl_div": (
        lambda: Calls(lambda a, b: F.kl_div(a.log_softmax(1), b.softmax(1), reduction="batchmean")),
        ((4, 5), (4, 5)),
    ),
    "cross_entropy": (
        lambda: Calls(lambda a: F.cross_entropy(a, LABELS, WEIGHTS, label_smoothing=0.1)),
        ((4, 5),),
    ),
    "binary_cross_entropy": (
        lambda: Calls(
            lambda a: F.binary_cross_entropy_with_logits(a, a.detach().sigmoid(), pos_weight=WEIGHTS)
        ),
        ((4, 5),),
    ),
    "HuberLoss": (lambda: nn.HuberLoss(delta=0.5), ((4, 5), (4, 5))),
    "TripletMarginLoss": (lambda: nn.TripletMarginLoss(), ((4, 5),) * 3),
    "multi_margin_loss": (lambda: Calls(lambda a: F.multi_margin_loss(a, LABELS.abs() % 5)), ((4, 5),)),
    "ctc_loss": (
        lambda: Calls(
            lambda x: F.ctc_loss(
                x.log_softmax(2),
                torch.tensor([[1, 2, 3], [2, 2, 1]]),
                torch.tensor([8, 8]),
                torch.tensor([3, 2]),
            )
        ),
        ((8, 2, 5),),
    ),
    "running products and maxima": (
        lambda: Calls(lambda a: (a.cumprod(1), a.cummax(1), a.logcumsumexp(0))),
        ((4, 5),),
    ),
    "order statistics": (
        lambda: Calls(lambda a: (a.kthvalue(3, 1), a.median(), a.median(1), a.quantile(0.3, 1), a.sort(0))),
        ((4, 5),),
    ),
    "linear equations": (
        lambda: Calls(lambda a, b: torch.linalg.solve(a @ a.T + torch.eye(4), b)),
        ((4, 4), (4, 2)),
    ),
    "scatter_reduce": (
        lambda: Calls(
            lambda a: [
                torch.ones(4, 5).scatter_reduce(1, ONCE_EACH, a, how) for how in ("mean", "amax", "prod")
            ]
        ),
        ((4, 5),),
    ),
    "index_put": (
        lambda: Calls(lambda a: a.index_put((torch.tensor([0, 1, 1]),), torch.ones(3, 5), accumulate=True)),
        ((4, 5),),
    ),
    "masked": (
        lambda: Calls(lambda a: a.masked_fill(a > 0, -1).masked_scatter(a < -0.5, torch.arange(20.0))),
        ((4, 5),),
    ),
    "take": (
        lambda: Calls(lambda a: (a.take_along_dim(a.argsort(1), 1), a.take(torch.tensor([0, -1, 7])))),
        ((4, 5),),
    ),
    "turned": (
        lambda: Calls(lambda a: (a.roll((1, 2), (0, 1)), a.rot90(), a.flip(0, 1), a.tril(-1))),
        ((4, 5),),
    ),
    "weight_norm": (lambda: parametrizations.weight_norm(nn.Linear(5, 6)), ((4, 5),)),
    "spectral_norm": (lambda: parametrizations.spectral_norm(nn.Linear(5, 6)), ((4, 5),)),
    "activations": (
        lambda: nn.Sequential(
            nn.SELU(),
            nn.Softplus(),
            nn.Mish(),
            nn.Hardswish(),
            nn.Hardshrink(),
            nn.Softsign(),
            nn.CELU(),
            nn.LogSigmoid(),
            nn.Tanhshrink(),
            nn.Threshold(0.1, 20),
        ),
        ((4, 5),),
    ),
    "pads": (
        lambda: nn.Sequential(
            nn.CircularPad2d(1), nn.ReplicationPad2d(1), nn.ReflectionPad2d(1), nn.ZeroPad2d((1, -1, 0, 2))
        ),
        ((2, 3, 4, 5),),
    ),
}


def step(model: nn.Module, run: Callable[..., Any], inputs: list[Tensor]) -> list[Any]:
    """Results, gradients of inputs and parameters, and buffers after one step."""
    inputs = [x.clone().requires_grad_() for x in inputs]
    results = [leaf for leaf in pytree.tree_leaves(run(*inputs)) if isinstance(leaf, Tensor)]
    floats = [x for x in results if x.is_floating_point()]
    weighted = [(x * torch.linspace(0.5, 1.5, x.numel()).reshape(x.shape)).sum() for x in floats]
    torch.stack(weighted).sum().backward()
    gradients = [x.grad for x in (*inputs, *model.parameters())]
    return [results, gradients, list(model.buffers())]


@pytest.mark.parametrize("name", list(MODULES))
def test_one_step(name: str) -> None:
    make, shapes = MODULES[name]
    torch.manual_seed(0)
    model, inputs = make(), [torch.randn(shape) for shape in shapes]
    again = copy.deepcopy(model)
    wanted = step(model, model, inputs)
    torch._dynamo.reset()
    found = step(again, torch.compile(again, backend="mlir"), inputs)
    torch.testing.assert_close(found, wanted)
