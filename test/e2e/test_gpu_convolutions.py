"""Convolutions that are matrix products on GPUs, and their gradients: their text executed, and compiled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from matrix_units import UNITS, check_kernels
from test_gpu_emulated import OPTIONS, compiled, floats
from torch import Tensor, nn

import tilewright
from benchmarks.numerics import judge
from tilewright.targets.gpu_triton.compiler import triton_version

CONVOLUTION, GRADIENT = "aten::convolution", "aten::convolution_backward"
Case = tuple[nn.Module, tuple[int, ...]]

PRODUCTS: dict[str, Case] = {
    "pointwise": (nn.Conv2d(24, 41, 1), (3, 24, 9, 10)),
    "no_bias": (nn.Conv2d(7, 40, 1, bias=False), (2, 7, 6, 7)),
    "patches": (nn.Conv2d(3, 33, (3, 4), stride=(3, 4)), (2, 3, 15, 20)),
    "line": (nn.Conv1d(12, 20, 2, stride=2), (3, 12, 38)),
    "volume": (nn.Conv3d(2, 9, (1, 2, 2), stride=(1, 2, 2)), (2, 2, 3, 4, 6)),
    "the_whole_image": (nn.Conv2d(5, 17, 4, stride=4), (3, 5, 4, 4)),
    "one_place": (nn.Conv2d(34, 17, 1), (5, 34, 1, 1)),
    "one_place_of_a_line": (nn.Conv1d(10, 9, 1, stride=2, bias=False), (13, 10, 1)),
    "one_window": (nn.Conv2d(10, 1, (3, 5)), (6, 10, 3, 5)),
    "one_window_is_made": (nn.ConvTranspose2d(10, 6, (3, 4)), (5, 10, 1, 1)),
    "pixels_become_patches": (nn.ConvTranspose2d(66, 70, (2, 3), stride=(2, 3)), (2, 66, 5, 3)),
}
OTHERS: dict[str, Case] = {
    "overlapping": (nn.Conv2d(6, 8, 3), (2, 6, 9, 10)),
    "padded": (nn.Conv2d(6, 8, 1, padding=1), (2, 6, 9, 10)),
    "groups": (nn.Conv2d(6, 8, 1, groups=2), (2, 6, 9, 10)),
    "depthwise": (nn.Conv2d(6, 6, 3, padding=1, groups=6), (2, 6, 9, 10)),
    "every_second": (nn.Conv2d(6, 8, 1, stride=2), (2, 6, 9, 10)),
    "odd_channels": (nn.Conv2d(7, 8, 1), (2, 7, 1, 1)),
    "one_window_of_two": (nn.Conv2d(4, 8, 3), (2, 4, 3, 4)),
    "one_padded_window": (nn.Conv2d(4, 8, 3, padding=1, stride=3), (2, 4, 3, 3)),
    "odd_places": (nn.Conv2d(6, 8, 1), (2, 6, 7, 7)),
    "dilated": (nn.Conv2d(6, 8, 2, stride=2, dilation=2), (2, 6, 10, 10)),
    "transposed": (nn.ConvTranspose2d(6, 8, 2, stride=2), (2, 6, 4, 5)),
    "patches_that_overlap": (nn.ConvTranspose2d(66, 70, 3, stride=2), (2, 66, 4, 5)),
    "patches_apart": (nn.ConvTranspose2d(66, 70, 2, stride=3), (2, 66, 4, 5)),
    "patches_and_more": (nn.ConvTranspose2d(66, 70, 2, stride=2, output_padding=1), (2, 66, 4, 5)),
    "a_rest": (nn.Conv2d(6, 8, 2, stride=2), (2, 6, 9, 11)),
}


def gradients(function: Any, model: nn.Module, x: Tensor) -> list[Tensor]:
    leaf = x.clone().requires_grad_()
    out = function(leaf)
    seed = floats(*out.shape, seed=3, dtype=torch.float64).to(x.dtype)
    return [out, *torch.autograd.grad(out, [leaf, *model.parameters()], seed)]


def strides(t: Tensor) -> list[int]:
    """Those that tell elements apart."""
    return [stride for stride, size in zip(t.stride(), t.shape, strict=True) if size > 1]


@contextmanager
def biases_apart() -> Iterator[None]:
    """Eager as on a GPU, where ATen rounds what cuDNN gives before it adds the bias; for CPUs it does not."""
    with ExitStack() as stack:
        for cls in (nn.Conv1d, nn.Conv2d, nn.Conv3d):
            own = cls._conv_forward

            def forward(
                self: nn.Module, x: Tensor, weight: Tensor, bias: Tensor | None, own: Any = own
            ) -> Tensor:
                out = own(self, x, weight, None)
                return out if bias is None else out + bias.view(-1, *(1 for _ in weight.shape[2:]))

            stack.enter_context(mock.patch.object(cls, "_conv_forward", forward))
        yield


def check(model: nn.Module, x: Tensor) -> None:
    """As close to float64 as eager is, in the layout of eager."""
    with torch.no_grad():
        for seed, parameter in enumerate(model.parameters()):
            parameter.copy_(floats(*parameter.shape, seed=seed) / 4)
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    wide = model.double()
    wide.load_state_dict({name: value.to(x.dtype) for name, value in kept.items()})
    truth = [value.clone() for value in gradients(wide, wide, x.double())]
    narrow = model.to(x.dtype)
    found = gradients(compiled(narrow), narrow, x)
    with biases_apart():
        wanted = gradients(narrow, narrow, x)
    verdict = judge(found, wanted, truth)
    assert verdict, verdict.why
    assert [strides(t) for t in found] == [strides(t) for t in wanted]


def explained(model: nn.Module, x: Tensor) -> Sequence[Any]:
    """What the forward and the backward graph became."""
    torch._dynamo.reset()
    return tilewright.explain(model, x.clone().requires_grad_(), options=OPTIONS).graphs


def calls(model: nn.Module, x: Tensor) -> list[set[str]]:
    """The functions of a library that the forward and the backward graph call."""
    return [set(graph.library_calls) for graph in explained(model, x)]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str, dtype: torch.dtype) -> None:
    model, sizes = PRODUCTS[name]
    check(model, floats(*sizes, dtype=dtype))
    assert calls(model, floats(*sizes, dtype=dtype)) == [set(), set()]


@pytest.mark.parametrize("name", ["pointwise", "patches"])
def test_channels_last(name: str) -> None:
    """Gradients are stored as they are returned, of patches too: nothing is copied."""
    model, sizes = PRODUCTS[name]
    x = floats(*sizes, dtype=torch.bfloat16).contiguous(memory_format=torch.channels_last)
    check(model, x)
    assert calls(model, x) == [set(), set()]
    assert not [name for graph in explained(model, x) for name in graph.kernels if "copy" in name]


@pytest.mark.parametrize("name", OTHERS)
def test_what_a_library_does(name: str) -> None:
    """Convolutions and gradients. Windows that leave a rest are products forward, and so are few channels.

    A graph that keeps nothing for a backward pass is turned, as inference is (`layout/worth_turning.py`).
    """
    model, sizes = OTHERS[name]
    x = floats(*sizes, dtype=torch.bfloat16)
    check(model, x)
    assert calls(model, x) == [set() if name in ("a_rest", "transposed") else {CONVOLUTION}, {GRADIENT}]


def test_f32_is_left_to_a_library() -> None:
    model, sizes = PRODUCTS["pointwise"]
    check(model, floats(*sizes))
    assert calls(model.float(), floats(*sizes)) == [{CONVOLUTION}, {GRADIENT}]


def test_empty_batch() -> None:
    model, (_, *sizes) = PRODUCTS["pointwise"]
    check(model, floats(0, *sizes, dtype=torch.bfloat16))


def test_symbolic_sizes() -> None:
    """One program for any batch and any image whose rows are even."""
    model = nn.Conv2d(6, 16, 2, stride=2).bfloat16()
    torch._dynamo.reset()
    run = torch.compile(model, backend="mlir", options=OPTIONS, dynamic=True)
    for batch, height, width in ((2, 6, 8), (3, 10, 8), (5, 4, 14)):
        x = floats(batch, 6, height, width, dtype=torch.bfloat16)
        torch.testing.assert_close(run(x), model(x), rtol=2e-2, atol=2e-2)


def test_norm_and_activation_join_the_product() -> None:
    """What follows a pointwise convolution is done where it is stored: one launch."""

    def block(x: Tensor, w: Tensor, scale: Tensor, rest: Tensor) -> Tensor:
        return torch.relu(torch.conv2d(x, w) * scale[:, None, None] + rest)

    bf16 = torch.bfloat16
    inputs = [
        floats(2, 16, 6, 8),
        floats(24, 16, 1, 1, seed=1),
        floats(24, seed=2),
        floats(2, 24, 6, 8, seed=3),
    ]
    found = tilewright.explain(block, *(t.to(bf16) for t in inputs), options=OPTIONS).graphs[0]
    assert (sum(found.kernels.values()), found.library_calls) == (1, {})


class Excitation(nn.Module):
    """Squeeze and excitation (https://arxiv.org/abs/1709.01507): channels scaled by a function of means."""

    def __init__(self, channels: int, fewer: int) -> None:
        super().__init__()
        self.squeeze, self.excite = nn.Conv2d(channels, fewer, 1), nn.Conv2d(fewer, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.excite(self.squeeze(x.mean((2, 3), keepdim=True)).relu()).sigmoid()


def test_gradients_of_little_products_share_launches() -> None:
    """Those of a layer's filters, of its bias and of what it was given."""
    model, x = Excitation(40, 12), floats(9, 40, 5, 7, dtype=torch.bfloat16)
    check(model, x)
    forward, backward = explained(model, x)
    assert (sum(forward.kernels.values()), forward.library_calls) == (4, {})
    assert (sum(backward.kernels.values()), backward.library_calls) == (4, {})
    assert sum("matmul" in name and "group" in name for name in backward.kernels) == 2


IMAGE, RESULT = "tensor<8x512x14x14xbf16>", "tensor<8x2048x14x14xbf16>"
FILTERS = "tensor<2048x512x1x1xbf16>"
FORWARD = f"""func.func @main(%x: {IMAGE}, %w: {FILTERS}) -> {RESULT} {{
  %r = tw.convolution %x, %w strides [1, 1] padding [0, 0] dilation [1, 1] output_padding [0, 0] groups 1
    : ({IMAGE}, {FILTERS}) -> {RESULT}
  func.return %r : {RESULT}
}}"""


def gradient_of(which: int) -> str:
    """The gradient of the image (0) or of the filters (1)."""
    type_ = (IMAGE, FILTERS)[which]
    pair = "[1 : i64, 1 : i64], [0 : i64, 0 : i64], [1 : i64, 1 : i64], false, [0 : i64, 0 : i64]"
    mask = ("[true, false, false]", "[false, true, false]")[which]
    args = f"#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, [0 : i64], {pair}, 1 : i64, {mask}"
    return f"""func.func @main(%g: {RESULT}, %x: {IMAGE}, %w: {FILTERS}) -> {type_} {{
      %r = tw.aten "aten::convolution_backward"(%g, %x, %w) {{args = [{args}], returns = array<i64: {which}>}}
        : ({RESULT}, {IMAGE}, {FILTERS}) -> {type_}
      func.return %r : {type_}
    }}"""


PROGRAMS = {"forward": FORWARD, "image": gradient_of(0), "filters": gradient_of(1)}


@pytest.mark.skipif(not triton_version(), reason="triton is not installed")
@pytest.mark.parametrize("target", UNITS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiles_to_matrix_units_without_spills(name: str, target: str, tmp_path: Path) -> None:
    check_kernels(PROGRAMS[name], target, tmp_path, 1)
