"""torch.compile for the GPU on CPU tensors: host functions, driver calls and kernels' text are real."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import stand_in
import torch
from emulated_gpu import EmulatedGpu, compiled
from torch import nn
from torch._dynamo.utils import counters
from torch._functorch import config as functorch

import tilewright
from tilewright.frontend.runtime import gpu_runtime
from tilewright.frontend.runtime.aten_runtime import RunsByAten, forget_warnings
from tilewright.passes.pipeline import pipeline_text

BY_DESCRIPTOR = pipeline_text("gpu").replace("schedule-gpu", "schedule-gpu{units=core}")
"""Of a device for which descriptors are the default."""


def check(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    got = compiled(function, **options)(*args)
    torch.testing.assert_close(got, function(*args))
    return got


def test_one_launch_for_a_fused_chain(gpu: EmulatedGpu) -> None:
    check(lambda x, y: torch.softmax(x * 2 + y, -1), torch.randn(5, 33), torch.randn(33))
    (launch,) = gpu.driver.launches()
    assert launch.grid == (3, 1, 1)  # two rows of 33, which 64 cover, are one instruction of a warp
    assert launch.threads == 32 * gpu.units[0].kernels[0].warps


def test_one_kernel_for_all_sizes(gpu: EmulatedGpu) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x) * x.shape[0]

    run = torch.compile(function, backend="mlir", dynamic=True, options={"target": "gpu_triton"})
    for n in (3, 70, 1000):
        x = torch.randn(n, 12)
        torch.testing.assert_close(run(x), function(x))
    assert len(gpu.units) == 1
    grids = [launch.grid[0] for launch in gpu.driver.launches()]
    assert grids == sorted(grids)
    assert grids[0] < grids[-1]


def test_a_training_step(gpu: EmulatedGpu) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4))
    eager = copy.deepcopy(model)
    run = compiled(model)
    for each, call in ((eager, eager), (model, run)):
        optimizer = torch.optim.SGD(each.parameters(), lr=0.1)
        for step in range(2):
            x = torch.linspace(-1, 1, 48).reshape(6, 8) * (step + 1)
            call(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    torch.testing.assert_close(dict(model.named_parameters()), dict(eager.named_parameters()))
    assert len(gpu.units) == 2, "one for the forward graph and one for the backward graph"


def test_training_of_convolutions(gpu: EmulatedGpu) -> None:
    """What the forward pass keeps lies as the backward pass reads it: with its channels last."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 65, 3)
    )
    eager, x = copy.deepcopy(model), torch.randn(2, 3, 9, 12)
    leaves = [x.clone().requires_grad_() for _ in range(2)]
    results = [call(leaf) for call, leaf in zip((compiled(model), eager), leaves, strict=True)]
    for result in results:
        result.square().mean().backward()
    torch.testing.assert_close(*results)
    torch.testing.assert_close(*(leaf.grad for leaf in leaves))
    found, wanted = ({n: p.grad for n, p in each.named_parameters()} for each in (model, eager))
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(dict(model.named_buffers()), dict(eager.named_buffers()))


def test_a_later_process_loads_both_graphs(
    gpu: EmulatedGpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry is written when the kernels are there."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "torch"))
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "ours"))
    for expected in ({"graph_compiled": 2}, {"graph_loaded": 2}):
        torch._dynamo.reset()
        counters.clear()
        x = torch.linspace(-1, 1, 12).requires_grad_()
        with functorch.patch(enable_autograd_cache=True):
            compiled(torch.sin)(x).sum().backward()
        torch.testing.assert_close(x.grad, x.detach().cos())
        assert counters["tilewright"] == expected
    assert len(gpu.units) == 2


def test_kernels_of_both_graphs_are_compiled_together(gpu: EmulatedGpu) -> None:
    """Those of the forward graph are not waited for before the backward graph is lowered."""
    backward, compile_kernels = threading.Event(), gpu_runtime.compile_kernels

    def compiles(unit: Any, architecture: str, request: Any) -> Any:
        if request.kind == "backward":
            backward.set()
        assert backward.wait(60)
        return compile_kernels(unit, architecture, request)

    x = torch.linspace(-1, 1, 12).requires_grad_()
    with (
        functorch.patch(force_non_lazy_backward_lowering=True),
        mock.patch.object(gpu_runtime, "compile_kernels", compiles),
    ):
        compiled(lambda x: x.sin().exp())(x).sum().backward()
    y = x.detach()
    torch.testing.assert_close(x.grad, y.cos() * y.sin().exp())


def test_library_calls_and_buffers_that_are_written(gpu: EmulatedGpu) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
    eager = copy.deepcopy(model)
    run, x = compiled(model), torch.randn(2, 3, 8, 8)
    for _ in range(2):
        torch.testing.assert_close(run(x), eager(x))
    torch.testing.assert_close(model[1].running_var, eager[1].running_var)
    assert "aoti_torch_cpu_convolution" in "".join(gpu.host)


def test_calls_through_python(gpu: EmulatedGpu) -> None:
    check(lambda x: torch.cummax(x + 1, 0).values.flip(0) * 2, torch.randn(7, 3), fallback=True)
    check(lambda x: torch.linalg.inv(x @ x.T + torch.eye(4)).exp(), torch.randn(4, 4), fallback=True)


def test_arguments_at_odd_addresses(gpu: EmulatedGpu) -> None:
    check(lambda x: x * 3, torch.randn(41)[1:])
    check(lambda x: x.t() + 1, torch.randn(5, 9)[:, 1:])
    memory = torch.randn(10)
    expected = memory.clone()
    expected[1:].mul_(2)
    compiled(lambda x: x.mul_(2))(memory[1:])
    torch.testing.assert_close(memory, expected)


def test_an_index_out_of_range(gpu: EmulatedGpu) -> None:
    table = torch.randn(5, 3)
    run = compiled(lambda i: table[i] * 2)
    torch.testing.assert_close(run(torch.tensor([4, 0])), table[[4, 0]] * 2)
    with pytest.raises(IndexError, match=r"TW2114: index out of range(.|\n)*test_gpu_on_stand_in.py"):
        run(torch.tensor([5, 0]))
    torch.testing.assert_close(run(torch.tensor([4, 0])), table[[4, 0]] * 2)


def test_dropout_is_reproducible(gpu: EmulatedGpu) -> None:
    run, x = compiled(lambda x: torch.nn.functional.dropout(x, 0.5)), torch.ones(4000)
    results: list[torch.Tensor] = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        results.append(run(x))
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])
    assert 1700 < int((results[0] == 0).sum()) < 2300


def test_empty_tensors_launch_nothing(gpu: EmulatedGpu) -> None:
    check(lambda x: (x + 1).sum(0), torch.ones(0, 3))
    check(lambda x: x * 2, torch.ones(3, 0))


def test_parameters_that_change_are_seen(gpu: EmulatedGpu) -> None:
    model = nn.Linear(8, 4).requires_grad_(False)
    run, x = compiled(model), torch.randn(3, 8)
    with torch.no_grad():
        torch.testing.assert_close(run(x), model(x))
        model.weight.mul_(2)
        torch.testing.assert_close(run(x), model(x))


def test_real_machine_code(
    cuda_stand_in: stand_in.StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing is emulated here: the kernels are compiled for sm_90, and their launches are recorded."""
    pytest.importorskip("triton")
    torch._dynamo.reset()
    cuda_stand_in.reset()
    monkeypatch.setenv("TILEWRIGHT_GPU_STAND_IN", str(cuda_stand_in.path))
    run = compiled(lambda x: torch.softmax(x, -1), cache_dir=str(tmp_path))
    run(torch.randn(3, 300))
    (launch,) = cuda_stand_in.launches()
    assert launch.grid == (3, 1, 1)
    kinds = {file.read_text().split()[0] for file in tmp_path.rglob("manifest")}
    assert {"kernel", "library"} <= kinds


def test_long_sums_of_products_load_by_descriptor(gpu: EmulatedGpu) -> None:
    """The driver says sm_90, which has descriptors; odd addresses are copied before."""
    torch.manual_seed(0)
    linear = nn.Linear(2048, 1032, dtype=torch.bfloat16).requires_grad_(False)
    model = nn.Sequential(linear, nn.ReLU())
    run, x = compiled(model, pipeline=BY_DESCRIPTOR), torch.randn(1027 * 2048 + 1).bfloat16()
    for first in (0, 1):
        view = x[first : first + 1027 * 2048].view(1027, 2048)
        expected = nn.functional.linear(view.double(), linear.weight.double(), linear.bias.double())
        torch.testing.assert_close(run(view).double(), expected.relu(), rtol=2**-8, atol=1e-4)
    assert [unit.text.count("tl.make_tensor_descriptor(") for unit in gpu.units] == [2]


def test_descriptors_in_real_machine_code(
    cuda_stand_in: stand_in.StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A launch hands over 128 bytes for each descriptor of each program."""
    pytest.importorskip("triton")
    torch._dynamo.reset()
    cuda_stand_in.reset()
    monkeypatch.setenv("TILEWRIGHT_GPU_STAND_IN", str(cuda_stand_in.path))
    linear = nn.Linear(2048, 1032, dtype=torch.bfloat16).requires_grad_(False)
    model = nn.Sequential(linear, nn.ReLU())  # without it a library does the product
    compiled(model, cache_dir=str(tmp_path), pipeline=BY_DESCRIPTOR)(torch.randn(1027, 2048).bfloat16())
    (launch,) = cuda_stand_in.launches()
    assert launch.grid == (9 * 9, 1, 1)
    assert [json.loads(file.read_text())["scratch"] for file in tmp_path.rglob("facts.json")] == [256]


def test_a_choice_among_configurations(
    cuda_stand_in: stand_in.StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`autotune` times what triton made of each candidate; another process would find the choice."""
    pytest.importorskip("triton")
    torch._dynamo.reset()
    cuda_stand_in.reset()
    cuda_stand_in.clock(lambda name, programs, threads: programs / threads)  # large programs of many threads
    monkeypatch.setenv("TILEWRIGHT_GPU_STAND_IN", str(cuda_stand_in.path))
    options = {"target": "gpu_triton", "fallback": False, "cache_dir": str(tmp_path), "autotune": True}
    found = tilewright.explain(lambda x: x * 2, torch.randn(1 << 20), options=options)
    assert found.seconds["autotune"] > 0
    (why,) = [r.why for r in found.remarks if "autotune" in r.why]
    assert why.startswith("autotune: 4 of 0-5, blocks 4096, 8 warps, 1 stages (0: ")
    *timed, last = cuda_stand_in.launches()
    assert len(timed) > 6 * 10
    assert (last.grid, last.threads) == ((256, 1, 1), 256)
    assert cuda_stand_in.count("held") == 0
    kinds = {file.read_text().split()[0] for file in tmp_path.rglob("manifest")}
    assert "choice" in kinds


def test_cpu_tensors_without_a_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TILEWRIGHT_GPU_STAND_IN", raising=False)
    torch._dynamo.reset()
    forget_warnings()
    run = torch.compile(lambda x: x + 1, backend="mlir", options={"target": "gpu_triton"})
    with pytest.warns(RunsByAten, match="TW2068: gpu_triton cannot run a graph whose tensors are on `cpu`"):
        torch.testing.assert_close(run(torch.ones(3)), torch.full((3,), 2.0))


def test_no_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILEWRIGHT_GPU_STAND_IN", str(tmp_path / "missing.so"))
    torch._dynamo.reset()
    with pytest.raises(Exception, match="TW2060: no CUDA driver can be used"):
        compiled(lambda x: x + 1)(torch.ones(3))
