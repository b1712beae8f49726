"""The GPU target on a GPU. All of this is skipped without one."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import nn

from benchmarks import models, numerics
from benchmarks.gpu_classes import CLASSES, KernelClass
from benchmarks.gpu_sections import MODELS, Module, without_tf32

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    with without_tf32():
        yield


def compiled(function: Any, **arguments: Any) -> Any:
    return torch.compile(function, backend="mlir", **arguments)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("each", CLASSES, ids=lambda each: each.name)
def test_class_of_kernels(each: KernelClass, dtype: torch.dtype) -> None:
    if dtype != torch.float32 and not each.floats:
        pytest.skip("has no floating point inputs")
    inputs = tuple(x.cuda() for x in each.make(1 << 14, dtype))
    verdict = numerics.check_model(compiled(each.run), Module(each.run), inputs)
    assert verdict, verdict.why


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
@pytest.mark.parametrize("name", MODELS)
def test_model(name: str, mode: str) -> None:
    case = models.load(name, "tiny", 2, "f32")
    model, inputs = case.model.cuda(), tuple(x.cuda() for x in case.inputs)
    run = compiled(model, mode=mode)
    for _ in range(5):  # watched, then recorded and replayed
        verdict = numerics.check_model(run, model, inputs)
        assert verdict, verdict.why


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_training_follows_eager(mode: str) -> None:
    model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 8)).cuda()
    eager = copy.deepcopy(model)
    for each, call in ((eager, eager), (model, compiled(model, mode=mode))):
        optimizer = torch.optim.SGD(each.parameters(), lr=0.1)
        generator = torch.Generator("cuda").manual_seed(1)
        for _ in range(8):
            x = torch.randn(16, 32, device="cuda", generator=generator)
            call(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    torch.testing.assert_close(dict(model.named_parameters()), dict(eager.named_parameters()))


def test_results_outlive_their_recording() -> None:
    run = compiled(lambda x: torch.softmax(x * 2, -1), mode="reduce-overhead")
    inputs = [torch.randn(64, 100, device="cuda") for _ in range(8)]
    results = [run(x) for x in inputs]
    for x, result in zip(inputs, results, strict=True):
        torch.testing.assert_close(result, torch.softmax(x * 2, -1))


def test_dropout_differs_from_replay_to_replay() -> None:
    run = compiled(lambda x: torch.nn.functional.dropout(x, 0.5), mode="reduce-overhead")
    x = torch.ones(4096, device="cuda")
    masks = [run(x).clone() for _ in range(6)]
    for a, b in pairwise(masks):
        assert not torch.equal(a, b)


def test_other_streams() -> None:
    run = compiled(lambda x: torch.softmax(x, -1).sum(0))
    x = torch.randn(512, 1024, device="cuda")
    run(x)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        y = x * 3  # the result must see this, which runs on the same stream
        got = run(y)
    torch.cuda.current_stream().wait_stream(stream)
    torch.testing.assert_close(got, torch.softmax(y, -1).sum(0))


def test_scalars_of_the_cpu() -> None:
    x, scale = torch.randn(5, device="cuda"), torch.tensor(2.5)
    run = compiled(lambda x, s: x * s + 1)
    torch.testing.assert_close(run(x, scale), x * 2.5 + 1)
    torch.testing.assert_close(run(x, torch.tensor(4.0)), x * 4 + 1)


def test_an_index_out_of_range_leaves_the_device_usable() -> None:
    table = torch.randn(5, 3, device="cuda")
    options = {"target_options": {"wait_for_checks": True}}
    run = compiled(lambda t, i: t[i] * 2, options=options)
    with pytest.raises(IndexError, match="TW2114"):
        run(table, torch.tensor([5], device="cuda"))
    index = torch.tensor([4], device="cuda")
    torch.testing.assert_close(run(table, index), table[index] * 2)


def test_out_of_memory() -> None:
    run = compiled(lambda x: (x.expand(1 << 22, -1) + 1).contiguous())
    with pytest.raises(torch.OutOfMemoryError):
        run(torch.ones(1 << 20, device="cuda"))
    assert run(torch.ones(2, device="cuda")).shape == (1 << 22, 2)


def test_several_devices() -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("there is one CUDA device")
    run = compiled(lambda x: torch.softmax(x, -1))
    for device in ("cuda:1", "cuda:0", "cuda:1"):
        x = torch.randn(7, 33, device=device)  # the current device stays 0
        got = run(x)
        assert got.device == x.device
        torch.testing.assert_close(got, torch.softmax(x, -1))
