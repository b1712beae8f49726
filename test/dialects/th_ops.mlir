// RUN: tilewright-opt %s | filecheck %s
// RUN: tilewright-opt %s | tilewright-opt | filecheck %s
// RUN: tilewright-opt %s --print-generic | tilewright-opt | filecheck %s

// CHECK-LABEL: @plan
func.func @plan(%x: memref<64xf32>, %s0: index {tw.symbol = "s0"}) -> (memref<?xf32>, !th.tensor<f32>) {
  // CHECK-NEXT: %arena = th.arena "s0*1024" : memref<?xi8>
  %arena = th.arena "s0*1024" : memref<?xi8>
  // CHECK-NEXT: %b = th.buffer %arena at "s0*64" size "64" : memref<64xf32>
  %b = th.buffer %arena at "s0*64" size "64" : memref<64xf32>
  // CHECK-NEXT: %c = th.alloc "s0*64" : memref<?xf32>
  %c = th.alloc "s0*64" : memref<?xf32>
  // CHECK-NEXT: %o = th.empty sizes "8, s0" strides "s0, 1" : memref<?xf32>
  %o = th.empty sizes "8, s0" strides "s0, 1" : memref<?xf32>
  // CHECK-NEXT: %z = th.empty sizes "0, 8" strides "8, 1" : memref<0xi1>
  %z = th.empty sizes "0, 8" strides "8, 1" : memref<0xi1>
  // CHECK-NEXT: %k = th.constant dense<[1, 2]> : tensor<2xi64> -> memref<2xi64>
  %k = th.constant dense<[1, 2]> : tensor<2xi64> -> memref<2xi64>
  // CHECK-NEXT: th.launch @k0(%x, %k) into(%b) : (memref<64xf32>, memref<2xi64>) into(memref<64xf32>)
  th.launch @k0(%x, %k) into (%b) : (memref<64xf32>, memref<2xi64>) into (memref<64xf32>)
  // CHECK-NEXT: th.launch @k1() into(%c, %o) symbols "s0, s0*2" : () into(memref<?xf32>, memref<?xf32>)
  th.launch @k1() into (%c, %o) symbols "s0, s0*2" : () into (memref<?xf32>, memref<?xf32>)
  // CHECK-NEXT: %t = th.view %b offset "32" sizes "4, 8" strides "1, 4" : memref<64xf32> -> !th.tensor<f32>
  %t = th.view %b offset "32" sizes "4, 8" strides "1, 4" : memref<64xf32> -> !th.tensor<f32>
  // CHECK-NEXT: th.call "aten::topk"(%t) sizes ["4, 2", "4, 2"] strides ["2, 1", "2, 1"] {args = [#tw.arg<0>, 2 : i64]} : (!th.tensor<f32>) -> (!th.tensor<f32>, !th.tensor<i64>)
  %v, %i = th.call "aten::topk"(%t) sizes ["4, 2", "4, 2"] strides ["2, 1", "2, 1"]
    {args = [#tw.arg<0>, 2 : i64]} : (!th.tensor<f32>) -> (!th.tensor<f32>, !th.tensor<i64>)
  // CHECK-NEXT: %r = th.view %v offset "1" sizes "4" strides "2" : !th.tensor<f32> -> !th.tensor<f32>
  %r = th.view %v offset "1" sizes "4" strides "2" : !th.tensor<f32> -> !th.tensor<f32>
  // CHECK-NEXT: th.extern "aten::mm.out"(%t, %v) into(%t) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>]} : (!th.tensor<f32>, !th.tensor<f32>) into(!th.tensor<f32>)
  th.extern "aten::mm.out"(%t, %v) into (%t) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>]}
    : (!th.tensor<f32>, !th.tensor<f32>) into (!th.tensor<f32>)
  // CHECK-NEXT: th.triton <"f", 4, 3, "def f(x, n, out):\0A    pass"> grid "s0, 1, 1"(%t) into(%t) {args = [#tw.arg<0>, 4 : i32, #tw.arg<1>], candidates = [#tw.config<8, 1, "4, 1, 1", [#tw.arg<0>, 8 : i32, #tw.arg<1>]>]} : (!th.tensor<f32>) into(!th.tensor<f32>)
  th.triton <"f", 4, 3, "def f(x, n, out):\0A    pass"> grid "s0, 1, 1" (%t) into (%t) {args = [#tw.arg<0>, 4 : i32, #tw.arg<1>], candidates = [#tw.config<8, 1, "4, 1, 1", [#tw.arg<0>, 8 : i32, #tw.arg<1>]>]}
    : (!th.tensor<f32>) into (!th.tensor<f32>)
  // CHECK-NEXT: %d = th.data %i size "8" : !th.tensor<i64> -> memref<8xi64>
  %d = th.data %i size "8" : !th.tensor<i64> -> memref<8xi64>
  // CHECK-NEXT: th.free %i : !th.tensor<i64>
  th.free %i : !th.tensor<i64>
  func.return %o, %r : memref<?xf32>, !th.tensor<f32>
}
