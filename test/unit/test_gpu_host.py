"""Host functions of CUDA graphs against a stand-in for the driver: launches, streams, memory, failures."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import stand_in
import torch
from cpu_harness import parse

from tilewright.dialects.diagnostics import TilewrightError
from tilewright.dialects.index_expr import ONE, sym
from tilewright.frontend.doctor import examine
from tilewright.frontend.environment import read_environment
from tilewright.targets.gpu_triton import launch as gpu
from tilewright.targets.gpu_triton.driver import KernelCode, open_driver
from tilewright.targets.gpu_triton.host import emit_host_unit
from tilewright.targets.gpu_triton.kernel import Parameter, TritonKernel, TritonUnit
from tilewright.targets.native.launch import CompiledGraph

SQUARE = """
tk.func @square [8] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0] scheduled {}
func.func @main(%n: index {tw.symbol = "s0"},
                %x: memref<?xf32> {th.sizes = "s0", th.strides = "STRIDE", tw.name = "x"})
    -> (memref<?xf32>) {
  %arena = th.arena "s0*4 - (s0 mod 16)*4 + 64" : memref<?xi8>
  %b = th.buffer %arena at "0" size "s0" : memref<?xf32>
  %o = th.empty sizes "s0" strides "1" : memref<?xf32>
  th.launch @square(%x) into(%b) symbols "s0" : (memref<?xf32>) into (memref<?xf32>) loc("model.py":7:0)
  %t = th.view %b offset "0" sizes "s0" strides "1" : memref<?xf32> -> !th.tensor<f32>
  %u = th.view %o offset "0" sizes "s0" strides "1" : memref<?xf32> -> !th.tensor<f32>
  th.extern "aten::neg.out"(%t) into(%u) {args = [#tw.arg<0>, #tw.arg<1>]}
    : (!th.tensor<f32>) into (!th.tensor<f32>)
  th.launch @square(%o) into(%o) symbols "s0" : (memref<?xf32>) into (memref<?xf32>)
  func.return %o : memref<?xf32>
}
"""
WRITES = """
tk.func @square [8] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0] scheduled {}
func.func @main(%n: index {tw.symbol = "s0"}, %x: memref<?xf32> {th.sizes = "s0", th.strides = "2"}) {
  th.launch @square(%x) into(%x) symbols "s0*2 - 1" : (memref<?xf32>) into (memref<?xf32>)
  func.return
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all: they compile few different host functions."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def driver(cuda_stand_in: stand_in.StandIn) -> Iterator[stand_in.StandIn]:
    cuda_stand_in.reset()
    cuda_stand_in.work(square)
    yield cuda_stand_in
    assert cuda_stand_in.count("guards") == 0, "a guard was left behind"
    assert cuda_stand_in.raised == []


def square(name: str, grid: tuple[int, int, int], parameters: Any) -> None:
    n = stand_in.integer(parameters, 2)
    x = stand_in.floats(stand_in.pointer(parameters, 0), n)
    o = stand_in.floats(stand_in.pointer(parameters, 1), n)
    for i in range(n):
        o[i] = x[i] * x[i]


def unit(*, checks: bool = False, grid: Any = None) -> TritonUnit:
    buffers = [Parameter("x", "*fp32", True), Parameter("o", "*fp32", True)]
    kernel = TritonKernel(
        "square",
        (*buffers, Parameter("s0", "i32", False)),
        grid or (sym(0).ceildiv(4), ONE, ONE),
        4,
        1,
        checks,
    )
    places = (("index out of range", "model.py:3"), ("division by zero", "model.py:4"))
    return TritonUnit("", (kernel,), places if checks else ())


def load(
    driver: stand_in.StandIn,
    folder: Path,
    text: str = SQUARE.replace("STRIDE", "1"),
    kernels: TritonUnit | None = None,
    *,
    device: int = 0,
    shared: int = 0,
    scratch: int = 0,
    wait: bool = False,
) -> CompiledGraph:
    kernels = kernels or unit()
    libraries = gpu.Libraries(stand_in=str(driver.path))
    host = emit_host_unit(parse(text), kernels, libraries.exports, libraries.shims)
    code = KernelCode(b"image of %d" % shared, "square", 128, shared, scratch, "sm_90")
    return gpu.load_unit(
        host,
        [code],
        checks=kernels.places,
        wait=wait,
        device=device,
        libraries=libraries,
        cache_dir=folder,
    )


def test_launches_in_order_on_the_current_stream(driver: stand_in.StandIn, folder: Path) -> None:
    driver.stream(0, 0x5000)
    graph = load(driver, folder)
    assert driver.count("modules") == 0, "kernels are loaded when the graph is first called"
    for n in (1, 5, 1024):
        x = torch.randn(n)
        (got,) = graph([n, x])
        torch.testing.assert_close(got, (x * x) ** 2)
        assert got.device == torch.device("cpu")
    launches = driver.launches()
    assert [launch.grid[0] for launch in launches] == [1, 1, 2, 2, 256, 256]
    assert {(launch.name, launch.threads, launch.shared, launch.stream) for launch in launches} == {
        ("square", 128, 0, 0x5000)
    }
    driver.stream(0, 0x6000)
    graph([1, torch.ones(1)])
    assert driver.launches()[-1].stream == 0x6000


def test_nothing_is_launched_for_nothing(driver: stand_in.StandIn, folder: Path) -> None:
    (got,) = load(driver, folder)([0, torch.empty(0)])
    assert got.shape == (0,)
    assert driver.launches() == []


def test_kernels_are_loaded_once_per_device(driver: stand_in.StandIn, folder: Path) -> None:
    open_driver.cache_clear()
    first, again, other = (load(driver, folder, device=device) for device in (0, 0, 1))
    for graph in (first, again, other, first):
        graph([3, torch.ones(3)])
    assert driver.count("modules") == 2
    assert [launch.device for launch in driver.launches()] == [0, 0, 0, 0, 1, 1, 0, 0]


@pytest.mark.parametrize("device", [0, 1])
def test_a_thread_without_a_context_gets_that_of_the_device(
    driver: stand_in.StandIn, folder: Path, device: int
) -> None:
    """Autograd's threads have none: the driver's functions would answer CUDA_ERROR_INVALID_CONTEXT there."""
    graph, x = load(driver, folder, device=device), torch.randn(3)
    with ThreadPoolExecutor(1) as pool:  # loads the kernels, too
        (first,) = pool.submit(graph, [3, x]).result()
    with ThreadPoolExecutor(1) as pool:
        (second,) = pool.submit(graph, [3, x]).result()
    torch.testing.assert_close([first, second], [(x * x) ** 2] * 2)
    assert [launch.device for launch in driver.launches()] == [device] * 4


def test_an_odd_address_is_copied(driver: stand_in.StandIn, folder: Path) -> None:
    seen: list[int] = []

    def work(name: str, grid: tuple[int, int, int], parameters: Any) -> None:
        seen.extend(stand_in.pointer(parameters, i) % 16 for i in (0, 1))
        square(name, grid, parameters)

    driver.work(work)
    x = torch.randn(10)[1:]
    (got,) = load(driver, folder)([9, x])
    torch.testing.assert_close(got, (x * x) ** 2)
    memory = torch.randn(12)
    expected = memory.clone()
    expected[1:10:2] **= 2
    load(driver, folder, WRITES)([5, memory[1:10:2]])
    torch.testing.assert_close(memory, expected)  # and what lies between is untouched
    assert set(seen) == {0}


def test_scratch_and_shared_memory(driver: stand_in.StandIn, folder: Path) -> None:
    scratch: list[int] = []

    def work(name: str, grid: tuple[int, int, int], parameters: Any) -> None:
        scratch.extend(stand_in.pointer(parameters, i) for i in (3, 4))
        square(name, grid, parameters)

    driver.work(work)
    x = torch.randn(9)
    (got,) = load(driver, folder, shared=100 << 10, scratch=64)([9, x])
    torch.testing.assert_close(got, (x * x) ** 2)
    assert scratch[0] != 0
    assert scratch[1] == 0
    assert driver.launches()[0].shared == 100 << 10
    with pytest.raises(TilewrightError, match="TW2066: kernel square needs 262144 bytes of shared memory"):
        load(driver, folder, shared=256 << 10)([9, x])


def test_a_failed_check_is_an_error_of_its_line(driver: stand_in.StandIn, folder: Path) -> None:
    def work(name: str, grid: tuple[int, int, int], parameters: Any) -> None:
        square(name, grid, parameters)
        x = stand_in.floats(stand_in.pointer(parameters, 0), 1)
        if x[0] < 0:
            ctypes.c_int32.from_address(stand_in.pointer(parameters, 3)).value = 1 if x[0] == -1 else 2

    driver.work(work)
    graph = load(driver, folder, kernels=unit(checks=True))
    graph([1, torch.ones(1)])
    with pytest.raises(IndexError, match=r"TW2114: index out of range\n  where: model.py:3"):
        graph([1, -torch.ones(1)])
    with pytest.raises(ZeroDivisionError, match=r"where: model.py:4"):
        graph([1, -2 * torch.ones(1)])
    torch.testing.assert_close(graph([1, torch.ones(1)])[0], torch.ones(1))  # the error is told once
    assert driver.count("synchronized") == 0
    load(driver, folder, kernels=unit(checks=True), wait=True)([1, torch.ones(1)])
    assert driver.count("synchronized") == 1
    driver.library.stub_capturing(1)
    load(driver, folder, kernels=unit(checks=True), wait=True)([1, torch.ones(1)])
    assert driver.count("synchronized") == 1, "a stream that records cannot be waited for"


def test_a_check_that_fails_late_is_told_by_the_next_call(driver: stand_in.StandIn, folder: Path) -> None:
    flags: list[int] = []

    def work(name: str, grid: tuple[int, int, int], parameters: Any) -> None:
        flags.append(stand_in.pointer(parameters, 3))

    driver.work(work)
    graph = load(driver, folder, kernels=unit(checks=True))
    graph([1, torch.ones(1)])
    ctypes.c_int32.from_address(flags[0]).value = 1  # the kernel gets there only now
    with pytest.raises(IndexError, match="an earlier call"):
        graph([1, torch.ones(1)])


@pytest.mark.parametrize(
    ("function", "status", "pattern"),
    [
        (
            "cuModuleLoadData",
            209,
            r"TW2065: .* kernel square, .* sm_90(.|\n)*NO_BINARY_FOR_GPU(.|\n)*cache clear",
        ),
        ("cuModuleLoadData", 200, r"TW2065(.|\n)*INVALID_IMAGE(.|\n)*TRITON_PTXAS_PATH"),
        ("cuModuleLoadData", 222, r"TW2065(.|\n)*UNSUPPORTED_PTX(.|\n)*update the NVIDIA driver"),
        ("cuModuleLoadData", 2, r"TW2065(.|\n)*OUT_OF_MEMORY(.|\n)*free memory"),
        ("cuLaunchKernel", 2, r"TW2062: no memory on the device(.|\n)*model.py:7"),
        ("cuLaunchKernel", 700, r"TW2064: the launch of kernel square failed\n  where: model.py:7(.|\n)*700"),
        ("aoti_torch_create_cuda_guard", 1, r"TW2061: cannot use the CUDA device"),
        ("cuDevicePrimaryCtxRetain", 100, r"TW2061: cannot use the CUDA device(.|\n)*CUDA_ERROR_NO_DEVICE"),
    ],
)
def test_what_the_driver_refuses(
    driver: stand_in.StandIn, folder: Path, function: str, status: int, pattern: str
) -> None:
    open_driver.cache_clear()
    graph = load(driver, folder)
    driver.fail(function, status)
    with pytest.raises(TilewrightError, match=pattern):
        graph([1, torch.ones(1)])
    driver.fail("nothing", 0)
    graph([1, torch.ones(1)])  # nothing is broken for good


def test_out_of_memory_is_torchs_error_too() -> None:
    assert issubclass(gpu.DeviceOutOfMemory, torch.OutOfMemoryError)


def test_memory_that_cannot_be_had(driver: stand_in.StandIn, folder: Path) -> None:
    with pytest.raises(torch.OutOfMemoryError, match="TW2062: no memory on the device for the arena"):
        load(driver, folder)([1 << 50, torch.ones(1)])


@pytest.mark.parametrize(
    ("grid", "n", "why"),
    [
        ((ONE, sym(0), ONE), 70000, "1 x 70000 x 1 programs"),
        ((sym(0) * 2**30, ONE, ONE), 2, "2147483648 x 1 x 1"),
    ],
)
def test_impossible_grids(driver: stand_in.StandIn, folder: Path, grid: Any, n: int, why: str) -> None:
    with pytest.raises(
        TilewrightError, match=f"TW2063: the launch of kernel square is impossible(.|\n)*{why}"
    ):
        load(driver, folder, kernels=unit(grid=grid))([n, torch.ones(n)])


def test_no_driver(driver: stand_in.StandIn, folder: Path) -> None:
    with pytest.raises(TilewrightError, match=r"TW2060(.|\n)*no-such-file"):
        open_driver(str(folder / "no-such-file.so"))
    open_driver.cache_clear()
    driver.fail("cuInit", 100)
    with pytest.raises(TilewrightError, match=r"TW2060(.|\n)*CUDA_ERROR_NO_DEVICE \(100\)"):
        open_driver(str(driver.path))
    driver.fail("nothing", 0)


@pytest.mark.parametrize(
    ("capability", "state", "said"),
    [
        (90, "ok", "Stand-in (sm_90), Stand-in (sm_90)"),
        (75, "wrong", "TW2224"),
    ],
)
def test_doctor_asks_the_driver(
    driver: stand_in.StandIn, monkeypatch: pytest.MonkeyPatch, capability: int, state: str, said: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    driver.library.stub_capability(capability)
    environment = read_environment({"TILEWRIGHT_GPU_STAND_IN": str(driver.path)})
    (found,) = (f for f in examine(environment) if f.subject == "GPU")
    assert found.state == state
    assert said in found.detail


def test_inputs_are_released(driver: stand_in.StandIn, folder: Path) -> None:
    inputs = [2, torch.ones(2)]
    load(driver, folder)(inputs)
    assert inputs == []
    with pytest.raises(TypeError, match="TW2110"):
        load(driver, folder)([2, "text"])
