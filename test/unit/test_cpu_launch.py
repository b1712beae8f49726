"""One call of a compiled plan: results, errors, threads, library calls, memory."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from pathlib import Path
from types import BuiltinFunctionType, FrameType
from typing import Any

import cpu_harness as harness
import pytest
import torch

from tilewright.targets.cpu_openmp.launch import load
from tilewright.targets.native.launch import CompiledGraph

SQUARE = """
tk.func @k [8] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0] scheduled {
  tk.for 0 = "0" to "s0" step 1 {
    %0 = tk.load %x[d0] : memref<?xf32> -> f32
    %1 = arith.mulf %0, %0 : f32
    tk.store %1, %o[d0] : f32, memref<?xf32>
  }
}
func.func @main(%s0: index {tw.symbol = "s0"}, %x: memref<?xf32>) -> (memref<?xf32>) {
  %arena = th.arena "s0*4 - (s0 mod 16)*4 + 64" : memref<?xi8>
  %b = th.buffer %arena at "0" size "s0" : memref<?xf32>
  %o = th.empty sizes "s0" strides "1" : memref<?xf32>
  th.launch @k(%x) into(%b) symbols "s0" : (memref<?xf32>) into (memref<?xf32>)
  %t = th.view %b offset "0" sizes "s0" strides "1" : memref<?xf32> -> !th.tensor<f32>
  %u = th.view %o offset "0" sizes "s0" strides "1" : memref<?xf32> -> !th.tensor<f32>
  th.extern "aten::neg.out"(%t) into(%u) {args = [#tw.arg<0>, #tw.arg<1>]}
    : (!th.tensor<f32>) into (!th.tensor<f32>)
  func.return %o : memref<?xf32>
}
"""


def identity(element: str, sizes: str, strides: str, numel: int) -> str:
    return f"""
    func.func @main(%x: memref<{numel}x{element}>) -> (memref<{numel}x{element}>) {{
      %o = th.empty sizes "{sizes}" strides "{strides}" : memref<{numel}x{element}>
      func.return %o : memref<{numel}x{element}>
    }}"""


def test_results_have_the_planned_layout(tmp_path: Path) -> None:
    for element, dtype in (
        ("f32", torch.float32),
        ("i1", torch.bool),
        ("bf16", torch.bfloat16),
        ("ui8", torch.uint8),
    ):
        for sizes, strides, numel in (("2, 3", "1, 2", 6), ("", "", 1), ("0, 4", "4, 1", 0)):
            (got,) = harness.compiled(identity(element, sizes, strides, numel), tmp_path)([torch.zeros(1)])
            assert got.dtype == dtype
            assert got.device == torch.device("cpu")
            assert list(got.shape) == [int(n) for n in sizes.split(",") if n]
            assert list(got.stride()) == [int(n) for n in strides.split(",") if n]
            got.resize_(7)  # an ordinary tensor, which owns its memory


def test_the_list_of_inputs_is_emptied_and_inputs_are_released(tmp_path: Path) -> None:
    graph = harness.compiled(SQUARE, tmp_path)
    x = torch.randn(5)
    inputs = [5, x]
    dead = weakref.ref(x)
    torch.testing.assert_close(graph(inputs)[0], -(x * x))
    assert inputs == []
    del x
    gc.collect()
    assert dead() is None


def test_sizes_may_change_from_call_to_call(tmp_path: Path) -> None:
    graph = harness.compiled(SQUARE, tmp_path)
    for n in (5, 100000, 3, 0, 1, 2000000, 7):
        x = torch.randn(n)
        (got,) = graph([n, x])
        torch.testing.assert_close(got, -(x * x))
    assert graph.trim() >= 8000000
    assert graph.trim() == 0
    (got,) = graph([4, torch.ones(4)])
    assert got.tolist() == [-1.0] * 4


def test_threads_at_once(tmp_path: Path) -> None:
    graph = harness.compiled(SQUARE, tmp_path)
    wrong: list[int] = []

    def work(seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for n in range(1, 200):
            x = torch.randn(n * seed, generator=generator)
            if not torch.equal(graph([n * seed, x])[0], -(x * x)):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(1, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_two_graphs_of_one_source_do_not_share_state(tmp_path: Path) -> None:
    a, b = harness.compiled(SQUARE, tmp_path), harness.compiled(SQUARE, tmp_path)
    assert a.library == b.library
    a([1000, torch.randn(1000)])
    assert b.trim() == 0
    call = a.call
    del a, b
    gc.collect()
    assert call([2, torch.ones(2)])[0].tolist() == [-1.0, -1.0]


def test_wrong_inputs_are_type_errors(tmp_path: Path) -> None:
    graph = harness.compiled(SQUARE, tmp_path)
    with pytest.raises(TypeError, match="TW2110: this graph takes a list of 2 inputs"):
        graph([torch.ones(1)])
    with pytest.raises(TypeError, match="TW2110: input 1 of this graph must be a tensor"):
        graph([3, "text"])
    with pytest.raises(TypeError):
        graph(["text", torch.ones(1)])
    with pytest.raises(TypeError):
        graph.call(5)
    assert graph([1, torch.nn.Parameter(torch.ones(1))])[0].tolist() == [-1.0]


MM = """
func.func @main(%x: memref<64xf32>) -> (memref<64xf32>) {{
  %o = th.empty sizes "{n}, {n}" strides "{n}, 1" : memref<64xf32>
  %a = th.view %x offset "0" sizes "{m}, {k}" strides "{k}, 1" : memref<64xf32> -> !th.tensor<f32>
  %t = th.view %o offset "0" sizes "{n}, {n}" strides "{n}, 1" : memref<64xf32> -> !th.tensor<f32>
  th.extern "aten::mm.out"(%a) into(%t) {{args = [#tw.arg<0>, #tw.arg<0>, #tw.arg<1>]}}
    : (!th.tensor<f32>) into (!th.tensor<f32>) loc("model.py":7:0)
  func.return %o : memref<64xf32>
}}"""


def test_matrix_product_by_the_c_function(tmp_path: Path) -> None:
    graph = harness.compiled(MM.format(n=8, m=8, k=8), tmp_path)
    assert "aoti_torch_cpu_mm_out(" in graph.source
    for _ in range(3):
        x = torch.randn(64)
        torch.testing.assert_close(graph([x])[0], x.view(8, 8) @ x.view(8, 8))


def test_atens_error_message_with_the_place(tmp_path: Path) -> None:
    graph = harness.compiled(MM.format(n=8, m=4, k=16), tmp_path)
    with pytest.raises(RuntimeError, match=r"TW2111: aten::mm\.out failed") as caught:
        graph([torch.randn(64)])
    assert "where: model.py:7" in str(caught.value)


def test_an_error_in_python_has_a_note_with_the_place(tmp_path: Path) -> None:
    text = """
    func.func @main(%x: memref<64xf32>) -> (!th.tensor<f32>) {
      %a = th.view %x offset "0" sizes "4, 16" strides "16, 1" : memref<64xf32> -> !th.tensor<f32>
      %u = th.call "aten::inverse"(%a) sizes ["4, 16"] strides ["16, 1"] {args = [#tw.arg<0>]}
        : (!th.tensor<f32>) -> (!th.tensor<f32>) loc("model.py":9:0)
      func.return %u : !th.tensor<f32>
    }"""
    with pytest.raises(RuntimeError) as caught:
        harness.compiled(text, tmp_path)([torch.randn(64)])
    assert caught.value.__notes__ == ["TW2111: aten::inverse failed\n  where: model.py:9"]


@pytest.mark.parametrize("callee", ["aten::relu", "aten::cumsum"])
def test_a_result_of_another_size_is_an_error(tmp_path: Path, callee: str) -> None:
    args = "#tw.arg<0>, 1 : i64" if callee == "aten::cumsum" else "#tw.arg<0>"
    text = f"""
    func.func @main(%x: memref<64xf32>) -> (!th.tensor<f32>) {{
      %a = th.view %x offset "0" sizes "4, 16" strides "16, 1" : memref<64xf32> -> !th.tensor<f32>
      %u = th.call "{callee}"(%a) sizes ["16, 4"] strides ["4, 1"] {{args = [{args}]}}
        : (!th.tensor<f32>) -> (!th.tensor<f32>)
      func.return %u : !th.tensor<f32>
    }}"""
    with pytest.raises(RuntimeError, match=f"TW2112: {callee} failed"):
        harness.compiled(text, tmp_path)([torch.randn(64)])


def test_other_strides_are_copied_and_aliases_share_memory(tmp_path: Path) -> None:
    text = """
    func.func @main(%s0: index {tw.symbol = "s0"}, %x: memref<?xf32>)
        -> (!th.tensor<f32>, !th.tensor<f32>, !th.tensor<i64>, index, memref<?xf32>, !th.tensor<f32>) {
      %a = th.view %x offset "0" sizes "4, s0" strides "s0, 1" : memref<?xf32> -> !th.tensor<f32>
      %u, %i = th.call "aten::sort"(%a) sizes ["4, s0", "4, s0"] strides ["1, 4", "s0, 1"]
        {args = [#tw.arg<0>, 1, false]} : (!th.tensor<f32>) -> (!th.tensor<f32>, !th.tensor<i64>)
      %v = th.view %u offset "1" sizes "3" strides "1" : !th.tensor<f32> -> !th.tensor<f32>
      %w = th.view %x offset "s0" sizes "s0" strides "1" : memref<?xf32> -> !th.tensor<f32>
      func.return %u, %v, %i, %s0, %x, %w
        : !th.tensor<f32>, !th.tensor<f32>, !th.tensor<i64>, index, memref<?xf32>, !th.tensor<f32>
    }"""
    x = torch.randn(12)
    u, v, i, s0, same, w = harness.compiled(text, tmp_path)([3, x])
    want, positions = x.view(4, 3).sort(1)
    assert torch.equal(u, want)
    assert u.stride() == (1, 4)
    assert torch.equal(i, positions)
    assert s0 == 3
    assert same is x
    assert torch.equal(w, x[3:6])
    w.zero_()
    assert x[3:6].tolist() == [0, 0, 0]
    u[1, 0] = 77
    assert v[0] == 77


def test_convolution_and_its_gradient(tmp_path: Path) -> None:
    text = """
    func.func @main(%x: memref<150xf32>, %w: memref<108xf32>, %g: memref<100xf32>)
        -> (!th.tensor<f32>, !th.tensor<f32>, !th.tensor<f32>) {
      %a = th.view %x offset "0" sizes "2, 3, 5, 5" strides "75, 25, 5, 1"
        : memref<150xf32> -> !th.tensor<f32>
      %b = th.view %w offset "0" sizes "4, 3, 3, 3" strides "27, 9, 3, 1" : memref<108xf32> -> !th.tensor<f32>
      %y = th.call "aten::convolution"(%a, %b) sizes ["2, 4, 5, 5"] strides ["100, 25, 5, 1"]
        {args = [#tw.arg<0>, #tw.arg<1>, unit, [1, 1], [1, 1], [1, 1], false, [0, 0], 1]}
        : (!th.tensor<f32>, !th.tensor<f32>) -> (!th.tensor<f32>)
      %gx, %gw = th.call "aten::convolution_backward"(%y, %a, %b)
        sizes ["2, 3, 5, 5", "4, 3, 3, 3"] strides ["75, 25, 5, 1", "27, 9, 3, 1"]
        {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, unit, [1, 1], [1, 1], [1, 1], false, [0, 0], 1,
                 [true, true, false]]}
        : (!th.tensor<f32>, !th.tensor<f32>, !th.tensor<f32>) -> (!th.tensor<f32>, !th.tensor<f32>)
      func.return %y, %gx, %gw : !th.tensor<f32>, !th.tensor<f32>, !th.tensor<f32>
    }"""
    graph = harness.compiled(text, tmp_path)
    assert "aoti_torch_cpu_convolution_backward(" in graph.source
    x, w = torch.randn(2, 3, 5, 5, requires_grad=True), torch.randn(4, 3, 3, 3, requires_grad=True)
    y = torch.conv2d(x, w, padding=1)
    y.backward(y.detach())
    got = graph([x.detach().flatten(), w.detach().flatten(), torch.zeros(100)])
    for have, want in zip(got, (y, x.grad, w.grad), strict=True):
        torch.testing.assert_close(have, want, rtol=1e-4, atol=1e-4)


def test_constants_of_every_type(tmp_path: Path) -> None:
    cases = [
        ("f32", "[1.5, -2.0]", [1.5, -2.0], torch.float32),
        ("bf16", "[1.51, -0.999]", [1.51, -0.999], torch.bfloat16),  # both round up
        ("f16", "[1.5, -2.0]", [1.5, -2.0], torch.float16),
        ("i64", "7", [7, 7], torch.int64),
        ("i1", "[true, false]", [True, False], torch.bool),
    ]
    for element, data, values, dtype in cases:
        text = f"""
        tk.func @k [2] (%x: memref<2x{element}>, %o: memref<2x{element}>) scheduled {{
          tk.for 0 = "0" to "2" step 1 {{
            %0 = tk.load %x[d0] : memref<2x{element}> -> {element}
            tk.store %0, %o[d0] : {element}, memref<2x{element}>
          }}
        }}
        func.func @main(%x: memref<2xf32>) -> (memref<2x{element}>) {{
          %c = th.constant dense<{data}> : tensor<2x{element}> -> memref<2x{element}>
          %o = th.empty sizes "2" strides "1" : memref<2x{element}>
          th.launch @k(%c) into(%o) : (memref<2x{element}>) into (memref<2x{element}>)
          func.return %o : memref<2x{element}>
        }}"""
        (got,) = harness.compiled(text, tmp_path)([torch.zeros(2)])
        assert torch.equal(got, torch.tensor(values, dtype=dtype))


def test_handles_under_inference_mode_and_outside(tmp_path: Path) -> None:
    graph = harness.compiled(SQUARE, tmp_path)
    x = torch.ones(3)
    for _ in range(2):
        with torch.inference_mode():
            assert graph([3, x])[0].is_inference()
        assert not graph([3, x])[0].is_inference()


def test_large_results_are_reused_when_dropped(tmp_path: Path) -> None:
    graph = harness.compiled(SQUARE, tmp_path)
    n = 1 << 19
    x = torch.randn(n)
    want = -(x * x)
    graph.trim()
    before = graph.pool()
    kept = [graph([n, x])[0] for _ in range(3)]
    assert all(torch.equal(t, want) for t in kept)
    assert len({t.data_ptr() for t in kept}) == 3
    assert graph.pool().made - before.made == 3
    place = kept[1].data_ptr()
    row = kept[1][5:7]
    kept.clear()
    assert graph.pool().idle_bytes == 2 * 4 * n  # a view keeps its memory
    for _ in range(5):
        (got,) = graph([n, x])
        assert got.data_ptr() != place
    assert torch.equal(row, want[5:7])
    del row, got
    (got,) = graph([n - 100, x[:-100]])
    assert torch.equal(got, want[:-100])
    assert graph.pool().made - before.made == 3
    graph([8 * n, torch.randn(8 * n)])
    assert graph.pool().made - before.made == 4
    assert graph.trim() >= 8 * 4 * n
    assert graph.pool().idle_bytes == 0
    assert torch.equal(got, want[:-100])


def test_pooled_results_outlive_the_graph(tmp_path: Path) -> None:
    graph = harness.compiled(SQUARE, tmp_path)
    x = torch.randn(1 << 20)
    (got,) = graph([1 << 20, x])
    del graph
    gc.collect()
    assert torch.equal(got, -(x * x))
    got.add_(1)
    del got


def test_without_the_pool_results_can_be_resized(tmp_path: Path) -> None:
    graph = load(harness.parse(SQUARE), cache_dir=tmp_path, pooled=False)
    (got,) = graph([1 << 20, torch.randn(1 << 20)])
    got.resize_(1 << 21)
    assert graph.pool().made == harness.compiled(SQUARE, tmp_path).pool().made


def run_in_python(graph: CompiledGraph, inputs: list[Any]) -> list[str]:
    """Functions written in Python that a call runs, each as often as it does."""
    seen: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        graph.call(inputs)
    finally:
        sys.setprofile(None)
    return seen


COPY = """
tk.func @k [1048576] (%x: memref<1048576xf32>, %o: memref<1048576xf32>) scheduled {
  tk.for 0 = "0" to "1048576" step 1 {
    %0 = tk.load %x[d0] : memref<1048576xf32> -> f32
    tk.store %0, %o[d0] : f32, memref<1048576xf32>
  }
}"""


def test_a_call_runs_python_only_for_operators_without_a_c_function(tmp_path: Path) -> None:
    """Kernels, C functions of ATen and memory, new or used again, need none: it would take microseconds."""
    size = 1 << 20
    kernel = harness.compiled(harness.with_main(COPY, [("f32", size)], [("f32", size)]), tmp_path)
    product = harness.compiled(MM.format(n=8, m=8, k=8), tmp_path)
    assert isinstance(kernel.call, BuiltinFunctionType)
    for _ in range(2):
        assert run_in_python(kernel, [torch.randn(size)]) == []
        assert run_in_python(product, [torch.randn(64)]) == []
    assert kernel.pool().reused > 0
    assert "_conform" in run_in_python(harness.compiled(SQUARE, tmp_path), [5, torch.randn(5)])
