"""`dynamic=True`: ten shapes, one compile, by the float64 rule."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._dynamo.utils import counters

from benchmarks.models import VOCABULARY, load
from benchmarks.numerics import check_model

SIGNS = torch.tensor([[0.5, -1.0, 2.0], [-0.25, 3.0, -4.0], [0.0, 1.0, -1.0]])
SIZES = [(2, 5), (3, 7), (4, 8), (2, 16), (5, 13), (7, 3), (8, 32), (6, 17), (2, 33), (9, 11)]


@pytest.fixture(autouse=True)
def _fresh_dynamo():
    torch._dynamo.reset()
    counters.clear()


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_gpt2_at_ten_sizes(dtype: str):
    model = load("gpt2", "tiny", 2, dtype).model
    compiled = torch.compile(model, backend="mlir", dynamic=True)
    for batch, length in SIZES:
        ids = torch.randint(0, VOCABULARY["tiny"], (batch, length))
        verdict = check_model(compiled, model, (ids,))
        assert verdict, f"{batch}x{length}: {verdict.why}"
    assert counters["stats"]["unique_graphs"] == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_mlp_at_ten_sizes(dtype: torch.dtype):
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.LayerNorm(24), nn.Linear(24, 50), nn.GELU(), nn.Linear(50, 24), nn.Softmax(-1)
    ).to(dtype)
    compiled = torch.compile(model, backend="mlir", dynamic=True)
    for batch, length in SIZES:
        verdict = check_model(compiled, model, (torch.randn(batch, length, 24, dtype=dtype),))
        assert verdict, f"{batch}x{length}: {verdict.why}"
    assert counters["stats"]["unique_graphs"] == 1


def test_mlp_trains_at_ten_sizes():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(24, 50), nn.GELU(), nn.Linear(50, 3))
    compiled = torch.compile(model, backend="mlir", dynamic=True)
    for batch, length in SIZES:
        x = torch.randn(batch, length, 24)
        grads = []
        for run in (compiled, model):
            model.zero_grad()
            run(x).square().mean().backward()
            grads.append([p.grad.clone() for p in model.parameters()])
        torch.testing.assert_close(*grads, rtol=1e-4, atol=1e-5)
    assert counters["stats"]["unique_graphs"] == 1


def test_reductions_over_a_symbolic_axis():
    def statistics(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.sum(0), x.mean(1), x.amax((0, 1)), x.softmax(1), x.std(1)

    compiled = torch.compile(statistics, backend="mlir", dynamic=True)
    for batch, length in SIZES:
        x = torch.randn(batch, length, 6)
        torch.testing.assert_close(compiled(x), statistics(x))
    assert counters["stats"]["unique_graphs"] == 1


def test_sizes_that_are_computed_from_sizes():
    def halves(x: torch.Tensor) -> torch.Tensor:
        half = x.shape[1] // 2
        return torch.cat([x[:, half:], -x[:, :half]], dim=1).flatten() * x.shape[0]

    compiled = torch.compile(halves, backend="mlir", dynamic=True)
    for batch, length in SIZES:
        x = torch.randn(batch, length)
        torch.testing.assert_close(compiled(x), halves(x))


def test_sizes_that_are_differences():
    """Rows whose length is `s1 - s0` go to ATen, from the front and from the back."""

    def rest(seen: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        new = x[:, seen.shape[1] :] + 1
        return new, torch.linalg.svdvals(new), torch.linalg.inv(new.flip(0) @ new.mT)

    compiled = torch.compile(rest, backend="mlir", dynamic=True)
    for seen, length in ((4, 9), (7, 13)):
        inputs = torch.randn(2, seen), torch.randn(3, length)
        torch.testing.assert_close(compiled(*inputs), rest(*inputs), rtol=1e-3, atol=1e-3)


def test_sizes_that_are_rounded():
    def blocks(x: torch.Tensor) -> torch.Tensor:
        up, down = math.ceil(x.shape[1] / 4), math.floor(x.shape[1] / 4)
        return torch.cat([x.new_ones(x.shape[0], 4 * up), -x[:, : 4 * down]], dim=1) * up

    compiled = torch.compile(blocks, backend="mlir", dynamic=True)
    for batch, length in SIZES:
        x = torch.randn(batch, length)
        torch.testing.assert_close(compiled(x), blocks(x))


@pytest.mark.filterwarnings("error::tilewright.frontend.runtime.aten_runtime.RunsByAten")
def test_sizes_that_are_multiplied_by_fractions():
    def resized(x: torch.Tensor) -> torch.Tensor:
        longer, shorter = x.new_ones(int(1.25 * x.shape[1])), x.flatten()[: int(x.shape[1] / 2)]
        rows = x[: math.ceil(0.375 * x.shape[0])] * math.floor(2.5 * x.shape[0])
        return torch.cat([longer, shorter, rows.flatten()])

    compiled = torch.compile(resized, backend="mlir", dynamic=True)
    for batch, length in SIZES:
        x = torch.randn(batch, length)
        torch.testing.assert_close(compiled(x), resized(x))


@pytest.mark.filterwarnings("error::tilewright.frontend.runtime.aten_runtime.RunsByAten")
@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_images_are_resized_by_fractions(mode: str):
    for factor in (0.5, 1.5):
        resize = nn.Upsample(scale_factor=factor, mode=mode)
        compiled = torch.compile(resize, backend="mlir", dynamic=True)
        for batch, length in SIZES[:3]:
            x = torch.randn(batch, 2, 9, length)
            torch.testing.assert_close(compiled(x), resize(x))


UNSAID = {
    "less than none": lambda rows, columns: 0.5 * (rows - 9),
    "over less than none": lambda rows, columns: rows / (columns - 9),
    "many digits": lambda rows, columns: 0.3 * rows,
}


@pytest.mark.filterwarnings("error::tilewright.frontend.runtime.aten_runtime.RunsByAten")
@pytest.mark.parametrize("name", UNSAID)
def test_sizes_whose_fractions_need_signs_or_digits_are_python_s(name: str):
    """Of what may be negative, `int` is no floor; 0.3 is no fraction of few digits."""

    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * int(UNSAID[name](*x.shape))

    compiled = torch.compile(scaled, backend="mlir", dynamic=True)
    for rows in (4, 7, 20):
        x = torch.randn(rows, 5)
        torch.testing.assert_close(compiled(x), scaled(x), rtol=0, atol=0)


def test_marked_dimension_only():
    model = load("mlp-mixer", "tiny", 2, "f32").model
    compiled = torch.compile(model, backend="mlir")
    for batch, _ in SIZES:
        images = torch.randn(batch, 3, 32, 32)
        torch._dynamo.mark_dynamic(images, 0)
        verdict = check_model(compiled, model, (images,))
        assert verdict, f"batch {batch}: {verdict.why}"
    assert counters["stats"]["unique_graphs"] == 1


def test_comparisons_of_sizes_are_operands():
    def function(x: torch.Tensor, n: int):
        filled = torch.full((3,), n > 2), torch.where(x > 0, n > 1, False), x.masked_fill(x > 0, n > 2)
        return (*filled, x * (n == 2), x + (x.size(0) > n), torch.tensor(n > 2), n > 2)

    compiled = torch.compile(function, backend="mlir", dynamic=True)
    for n in (2, 3, 5, 2):
        for got, expected in zip(compiled(SIGNS, n), function(SIGNS, n), strict=True):
            assert got is expected if isinstance(expected, bool) else torch.equal(got, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_padding_by_a_symbol(dtype: torch.dtype):
    def function(x: torch.Tensor, n: int) -> torch.Tensor:
        return torch.constant_pad_nd(x, (1, 2, -1, 0), n)

    x = SIGNS.to(dtype)
    compiled = torch.compile(function, backend="mlir", dynamic=True)
    for n in (2, 7, -3):
        assert torch.equal(compiled(x, n), function(x, n))


def test_sizes_that_may_be_zero_leave_strides_as_they_are():
    """Where a size may be 0, torch says strides with a `max(1, size)`."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        inner = x.permute(1, 2, 0)[:-2]
        return inner * 2, inner.flip(0), x[2:].permute(2, 0, 1) + 1

    compiled = torch.compile(function, backend="mlir", dynamic=True)
    for rows, columns in ((5, 7), (4, 3), (3, 9), (3, 2)):
        x = torch.randn(rows, columns, 6)
        for got, expected in zip(compiled(x), function(x), strict=True):
            assert torch.equal(got, expected)
            assert got.stride() == expected.stride() or not got.numel()


def test_groups_of_as_many_channels_as_there_are():
    """Traced as memory of a quarter of the channels, four times, which is seen as all channels."""
    compiled = torch.compile(F.group_norm, backend="mlir", dynamic=True, options={"fallback": False})
    for channels in (8, 12, 20):
        x = torch.randn(3, channels, 5, requires_grad=True)
        weights = [torch.randn(channels, requires_grad=True) for _ in range(2)]
        upstream = torch.randn_like(x)
        results = [f(x, 4, *weights) for f in (compiled, F.group_norm)]
        torch.testing.assert_close(*results)
        torch.testing.assert_close(
            *(torch.autograd.grad(y, (x, *weights), upstream) for y in results), rtol=1e-4, atol=1e-5
        )


def test_groups_that_are_a_size_are_left_to_aten():
    def function(x: torch.Tensor, window: torch.Tensor) -> torch.Tensor:
        channels = x.shape[1]
        return torch.conv2d(x, window.expand(channels, 1, 3, 3), padding=1, groups=channels).relu()

    compiled = torch.compile(function, backend="mlir", dynamic=True)
    for channels in (3, 5, 2):
        x, window = torch.randn(2, channels, 6, 7, requires_grad=True), torch.randn(3, 3, requires_grad=True)
        got, expected = compiled(x, window), function(x, window)
        torch.testing.assert_close(got, expected)
        gradients = (torch.autograd.grad(y.square().sum(), (x, window)) for y in (got, expected))
        torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", ["reference", "cpu_openmp", "gpu_emulated"])
def test_places_that_count_from_the_end(target: str):
    """Symbols may have either sign: which end a place counts from shows when they are known."""

    def function(x: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, ...]:
        n = k.shape[0]
        return (
            x[:, -n:] * 2,
            x[:, :-n].sum(1),
            x[:, n - 4 :].exp(),
            x[:, 1 - n].exp(),
            x.narrow(1, -n, n) + k,
            torch.slice_scatter(x, k.expand(x.shape[0], n) * 3, 1, -n),
        )

    options = {"target": target, "fallback": False}
    compiled = torch.compile(function, backend="mlir", options=options, dynamic=True)
    for rows, length, count in ((2, 9, 3), (3, 14, 7), (2, 5, 5), (4, 30, 2)):
        x, k = torch.randn(rows, length, requires_grad=True), torch.randn(count, requires_grad=True)
        got, wanted = compiled(x, k), function(x, k)
        torch.testing.assert_close(got, wanted)
        gradients = (torch.autograd.grad(sum(y.sin().sum() for y in r), (x, k)) for r in (got, wanted))
        torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("target", ["reference", "cpu_openmp", "gpu_emulated"])
def test_elements_of_sources_of_any_size_are_put_where_a_mask_says(target: str):
    """As images are put among the words of a prompt."""

    def function(words: torch.Tensor, marks: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
        return words.masked_scatter((marks == 1)[..., None], images * 2) + 1

    options = {"target": target, "fallback": False}
    compiled = torch.compile(function, backend="mlir", options=options, dynamic=True)
    for batch, length in ((2, 9), (3, 14), (2, 5)):
        marks = torch.arange(batch * length).view(batch, length) % 3
        words, images = torch.randn(batch, length, 8), torch.randn(int((marks == 1).sum()), 8)
        given = words.requires_grad_(), marks, images.requires_grad_()
        got, wanted = compiled(*given), function(*given)
        torch.testing.assert_close(got, wanted)
        gradients = (torch.autograd.grad(r.sin().sum(), (words, images)) for r in (got, wanted))
        torch.testing.assert_close(*gradients)
    assert counters["stats"]["unique_graphs"] == 1
