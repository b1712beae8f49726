"""benchmarks/gpu_traffic.py: what a launch moves."""

from __future__ import annotations

from xdsl.parser import Parser

from benchmarks.gpu_traffic import calls_of, touched
from tilewright.dialects.registry import new_context

MODULE = """
builtin.module {
  tk.func @k0 [8, 16] (%a: memref<1024xf32>, %b: memref<16xbf16>, %o: memref<8xf32>) {
    %0 = tk.load %a[d0*32 + d1] : memref<1024xf32> -> f32
    %1 = tk.load %a[d0*32 + d1] : memref<1024xf32> -> f32
    %2 = tk.load %b[d1] : memref<16xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %0, %3 : f32
    %5 = arith.addf %1, %4 : f32
    %6 = tk.reduce add %5 over [1] : f32
    tk.store %6, %o[d0] : f32, memref<8xf32>
  }
  func.func @main(%x: memref<1024xf32>, %y: memref<16xbf16>) -> memref<8xf32> {
    %o = th.empty sizes "8" strides "1" : memref<8xf32>
    th.launch @k0(%x, %y) into(%o) : (memref<1024xf32>, memref<16xbf16>) into (memref<8xf32>)
    %t = th.view %o offset "0" sizes "4, 8" strides "0, 1" : memref<8xf32> -> !th.tensor<f32>
    %u = th.call "aten::relu"(%t) sizes ["4, 8"] strides ["8, 1"] {args = [#tw.arg<0>]}
      : (!th.tensor<f32>) -> (!th.tensor<f32>)
    th.free %u : !th.tensor<f32>
    func.return %o : memref<8xf32>
  }
}
"""


def test_a_launch_moves_what_its_accesses_touch() -> None:
    kernel, library = calls_of(Parser(new_context(), MODULE).parse_module())
    assert (kernel.library, library.library) == (False, True)
    assert kernel.bytes == 8 * 16 * 4 + 16 * 2 + 8 * 4  # 8 rows of 16 in a buffer of 1024, once
    assert library.bytes == 8 * 4 + 4 * 8 * 4  # what is repeated is read once


def test_a_buffer_is_not_moved_twice() -> None:
    assert touched([("a", 6), ("b", 6), ("a", 6)], 100) == 12
    assert touched([("a", 6), ("b", 6)], 10) == 10


def test_parts_of_a_group_move_what_they_touch() -> None:
    group = """
  tk.func @k0 [s0*2] (%a: memref<?xf32>, %b: memref<1xf32>, %o: memref<?xf32>) symbols [s0] {
    %0 = tk.load %a[d0] : memref<?xf32> -> f32
    %1 = tk.load %b[0] : memref<1xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    tk.store %2, %o[d0] : f32, memref<?xf32>
  }
  tk.group @g (%b: memref<1xf32>, %x: memref<8xf32>, %y: memref<6xf32>) {
    tk.part @k0(%x, %b, %x) symbols [4]
    tk.part @k0(%y, %b, %y) symbols [3]
  }
  func.func @main(%b: memref<1xf32>, %x: memref<8xf32>, %y: memref<6xf32>) {
    th.launch @g(%b) into(%x, %y) : (memref<1xf32>) into (memref<8xf32>, memref<6xf32>)
    func.return
  }
"""
    (launch,) = calls_of(Parser(new_context(), group).parse_module())
    assert launch.bytes == 4 * (2 * 8 + 2 * 6 + 1)  # the factor is read once


def test_a_users_kernel_moves_what_it_is_given() -> None:
    launch = """
  func.func @main(%x: memref<100xf32>, %y: memref<100xbf16>) {
    %a = th.view %x offset "0" sizes "5, 20" strides "20, 1" : memref<100xf32> -> !th.tensor<f32>
    %b = th.view %y offset "0" sizes "100" strides "1" : memref<100xbf16> -> !th.tensor<bf16>
    th.triton <"f", 4, 3, "def f(x, y):\\0A    pass"> grid "4, 1, 1" (%a) into(%b)
      {args = [#tw.arg<0>, #tw.arg<1>]} : (!th.tensor<f32>) into (!th.tensor<bf16>)
    func.return
  }
"""
    (call,) = calls_of(Parser(new_context(), launch).parse_module())
    assert (call.name, call.library, call.bytes) == ("f", False, 400 + 200)


def test_a_sum_in_place_is_read_and_written() -> None:
    call = """
  func.func @main(%x: memref<12xf32>, %y: memref<20xf32>, %z: memref<15xf32>) {
    %a = th.view %x offset "0" sizes "3, 4" strides "4, 1" : memref<12xf32> -> !th.tensor<f32>
    %b = th.view %y offset "0" sizes "4, 5" strides "5, 1" : memref<20xf32> -> !th.tensor<f32>
    %c = th.view %z offset "0" sizes "3, 5" strides "5, 1" : memref<15xf32> -> !th.tensor<f32>
    th.extern "aten::addmm.out"(%a, %b) into(%c)
      {args = [#tw.arg<2>, #tw.arg<0>, #tw.arg<1>, 1.0 : f64, 1.0 : f64, #tw.arg<2>]}
      : (!th.tensor<f32>, !th.tensor<f32>) into (!th.tensor<f32>)
    func.return
  }
"""
    (library,) = calls_of(Parser(new_context(), call).parse_module())
    assert library.bytes == 4 * (12 + 20 + 15 + 15)
