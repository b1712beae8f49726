// RUN: tilewright-opt %s | tilewright-opt | filecheck %s

// CHECK-LABEL: @scale
func.func @scale(%p: memref<1xi1> {th.sizes = "", th.strides = ""}, %x: memref<?xf32> {th.sizes = "s0", th.strides = "1"},
                 %s0: index {tw.symbol = "s0"}) -> !th.tensor<f32> {
  %c = th.view %p offset "0" sizes "" strides "" : memref<1xi1> -> !th.tensor<i1>
  %t = th.view %x offset "0" sizes "s0" strides "1" : memref<?xf32> -> !th.tensor<f32>
  // CHECK: th.control "cond" [@same, @same](%c, %t) carrying 0 over 0 symbols "s0" sizes ["s0"] strides ["1"] : (!th.tensor<i1>, !th.tensor<f32>) -> (!th.tensor<f32>)
  %r = th.control "cond" [@same, @same](%c, %t) carrying 0 over 0 symbols "s0" sizes ["s0"] strides ["1"] : (!th.tensor<i1>, !th.tensor<f32>) -> (!th.tensor<f32>)
  func.return %r : !th.tensor<f32>
}
func.func @same(%x: memref<?xf32> {th.sizes = "s0", th.strides = "1"}, %s0: index {tw.symbol = "s0"}) -> memref<?xf32> {
  func.return %x : memref<?xf32>
}
