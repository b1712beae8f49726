"""Programs for torch's CUDA build on the stand-in for the CUDA runtime; `test_gpu_cuda_build.py` runs them.

Everything is real but the device: tensors of `cuda`, torch's caching allocator, streams, autograd's
threads, its recording of CUDA graphs, and libtorch's C functions below the emitted host functions.
Kernels of torch itself do nothing there, so that tensors are made on the CPU, and no case may launch one.
"""

from __future__ import annotations

import copy
import ctypes
import json
import sys
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import stand_in
import torch
from emulated_gpu import EmulatedGpu, emulated_gpu
from torch import nn

from tilewright.frontend.runtime import gpu_runtime


def compiled(function: Any, **how: Any) -> Any:
    return torch.compile(function, backend="mlir", **how)


def check(function: Callable[..., Any], *args: torch.Tensor, device: str = "cuda") -> None:
    got = compiled(function)(*(arg.to(device) for arg in args))
    torch.testing.assert_close(got.cpu(), function(*args))


def network(*, bias: bool = False) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(8, 16, bias=bias), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4, bias=bias)
    )


def launches_on_the_current_stream(gpu: EmulatedGpu) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x * 2 + y, -1)

    check(function, torch.randn(5, 33), torch.randn(33))
    stream = torch.cuda.Stream()
    x, y, run = torch.randn(5, 33).cuda(), torch.randn(33).cuda(), compiled(function)
    with torch.cuda.stream(stream):
        run(x, y)
    assert [launch.stream for launch in gpu.driver.launches()] == [0, stream.cuda_stream]
    assert gpu_runtime.machine_facts({})["architecture"] == "sm_90"


def a_backward_graph_in_a_thread_of_autograd(gpu: EmulatedGpu) -> None:
    eager = network()
    model = copy.deepcopy(eager).cuda()
    x, g = torch.randn(6, 8), torch.randn(6, 4)
    for _ in range(2):
        got = torch.autograd.grad(compiled(model)(x.cuda()), list(model.parameters()), g.cuda())
        expected = torch.autograd.grad(eager(x), list(eager.parameters()), g)
        torch.testing.assert_close([value.cpu() for value in got], list(expected))


def products_of_halves(gpu: EmulatedGpu) -> None:
    model = network(bias=True).bfloat16()
    run, x = compiled(copy.deepcopy(model).cuda()), torch.randn(6, 8).bfloat16()
    with torch.no_grad():
        got, eager, exact = run(x.cuda()).cpu(), model(x), model.double()(x.double())
    error, allowed = ((value.double() - exact).square().mean().sqrt() for value in (got, eager))
    assert error <= 3 * allowed
    assert not any("aoti_torch_cuda" in text for text in gpu.host), "kernels of ours multiply halves"


def another_device(gpu: EmulatedGpu) -> None:
    check(lambda x: (x @ x.T).relu() * 2, torch.randn(5, 3), device="cuda:1")
    assert {launch.device for launch in gpu.driver.launches()} == {1}
    assert torch.cuda.current_device() == 0
    with torch.cuda.device(1):
        check(lambda x: x.exp() - 1, torch.randn(5, 3))
    check(lambda x: x.exp() + 1, torch.randn(5, 3), device="cuda:0")
    assert [launch.device for launch in gpu.driver.launches()][-2:] == [1, 0]


def recorded_graphs(gpu: EmulatedGpu) -> None:
    eager = network()
    run = compiled(copy.deepcopy(eager).cuda(), mode="reduce-overhead")
    with torch.no_grad():
        for rows in (6, 6, 6, 6, 6, 3, 3, 3, 3, 6):
            x = torch.randn(rows, 8)
            torch.testing.assert_close(run(x.cuda()).cpu(), eager(x))
        assert gpu.driver.library.cudart_replays() >= 5
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(2):
                torch.testing.assert_close(run(x.cuda()).cpu(), eager(x))
        before = gpu.driver.library.cudart_replays()
        for i in range(6):
            got = run(torch.full((6, 8), float(i)).cuda())  # the one before is alive meanwhile
            torch.testing.assert_close(got.cpu(), eager(torch.full((6, 8), float(i))))
        assert gpu.driver.library.cudart_replays() == before + 5
        del got
        kept = [run(torch.full((6, 8), float(i)).cuda()) for i in range(3)]
        for i, got in enumerate(kept):  # no result changes under its owner
            torch.testing.assert_close(got.cpu(), eager(torch.full((6, 8), float(i))))


def one_graph_for_all_sizes(gpu: EmulatedGpu) -> None:
    run = compiled(lambda x: torch.sin(x) * x.shape[0], dynamic=True)
    for n in (3, 70, 1000):
        x = torch.randn(n, 12)
        torch.testing.assert_close(run(x.cuda()).cpu(), torch.sin(x) * n)
    assert len(gpu.units) == 1


def many_threads(gpu: EmulatedGpu) -> None:
    run, x = compiled(lambda x: (x * 3).softmax(0)), torch.randn(7, 40)
    run(x.cuda())
    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda i: run((x * i).cuda()).cpu() * i, range(1, 9)):
            assert got.isfinite().all()
        for i, got in enumerate(pool.map(lambda i: run((x * i).cuda()).cpu(), range(4))):
            torch.testing.assert_close(got, (x * i * 3).softmax(0))


def scalars_of_the_cpu_and_constants(gpu: EmulatedGpu) -> None:
    run = compiled(lambda x, s: x * s + torch.tensor([1.0, 2.0, 4.0], device=x.device))
    x, s = torch.randn(5, 3), torch.tensor(0.5)
    torch.testing.assert_close(run(x.cuda(), s).cpu(), x * s + torch.tensor([1.0, 2.0, 4.0]))


def what_moves_between_devices(gpu: EmulatedGpu) -> None:
    def loss(x: torch.Tensor, table: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = (x * table.to(x.device)).sin()
        return y.mean().cpu(), y[torch.arange(2)].t().cpu()

    x, table = torch.randn(5, 3, requires_grad=True), torch.randn(3)
    there = x.detach().cuda().requires_grad_()
    got, expected = compiled(loss)(there, table), loss(x, table)
    torch.testing.assert_close(got, expected)
    assert got[1].stride() == expected[1].stride()
    sum(part.sum() for part in got).backward()
    sum(part.sum() for part in expected).backward()
    torch.testing.assert_close(there.grad.cpu(), x.grad)


def an_index_out_of_range(gpu: EmulatedGpu) -> None:
    table = torch.randn(5, 3)
    run, there = compiled(lambda t, i: t[i] * 2), table.cuda()
    torch.testing.assert_close(run(there, torch.tensor([4, 0]).cuda()).cpu(), table[[4, 0]] * 2)
    with pytest.raises(IndexError, match="TW2114: index out of range"):
        run(there, torch.tensor([5, 0]).cuda())


def no_memory(gpu: EmulatedGpu) -> None:
    run, x = compiled(lambda x: (x.exp(), x * 2)), torch.randn(1 << 12, 1 << 10).cuda()
    run(x)
    torch.cuda.empty_cache()
    gpu.driver.fail("cudaMalloc", 2)
    try:
        with pytest.raises(torch.OutOfMemoryError, match="TW2062: no memory on the device for a result"):
            run(x)
    finally:
        gpu.driver.fail("nothing", 0)
    assert run(x)[0].shape == x.shape


CASES = (
    launches_on_the_current_stream,
    a_backward_graph_in_a_thread_of_autograd,
    products_of_halves,
    another_device,
    recorded_graphs,
    one_graph_for_all_sizes,
    many_threads,
    scalars_of_the_cpu_and_constants,
    what_moves_between_devices,
    an_index_out_of_range,
    no_memory,
)


def outcome(case: Callable[[EmulatedGpu], None], driver: stand_in.StandIn) -> str:
    """What a case raised; empty where it passed."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    launched = driver.library.cudart_kernels()
    try:
        with emulated_gpu(driver, pytest.MonkeyPatch(), torch_is_real=True) as gpu:
            case(gpu)
        assert driver.library.cudart_kernels() == launched, driver.library.cudart_last_kernel()
    except Exception:
        return traceback.format_exc()
    return ""


def main(path: str, names: Sequence[str]) -> None:
    driver = stand_in.StandIn(Path(path), ctypes.CDLL("libcuda.so.1"))
    driver.library.cudart_last_kernel.restype = ctypes.c_char_p
    torch.cuda.init()
    cases = [case for case in CASES if not names or case.__name__ in names]
    print(json.dumps({case.__name__: outcome(case, driver) for case in cases}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
