// RUN: tilewright-opt %s -p bufferize,plan-memory | filecheck %s

// Functions see row-major memory, so that a transposed operand is copied; what a call made is freed after
// its last use, and a function that returns its argument returns it as it is.
// CHECK-LABEL: func.func @called
func.func @called(%p: tensor<i1>, %x: tensor<4x8xf32>) -> tensor<4xf32> {
  %t = tw.transpose %x by [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %zero = tw.constant dense<0.0> : tensor<4xf32>
  // CHECK: th.launch @copy(%x) into(%[[T:.*]]) : (memref<32xf32>) into(memref<32xf32>)
  // CHECK: %[[V:.*]] = th.view %[[T]] offset "0" sizes "8, 4" strides "4, 1"
  // CHECK-NEXT: %[[LAST:.*]], %[[ALL:.*]] = th.control "scan" [@step](%{{.*}}, %[[V]]) carrying 1 over 1 sizes ["4", "8, 4"] strides ["1", "4, 1"]
  %last, %all = tw.scan @step(%zero, %t) carrying 1 over 1 : (tensor<4xf32>, tensor<8x4xf32>) -> (tensor<4xf32>, tensor<8x4xf32>)
  // CHECK-NEXT: th.free %[[ALL]]
  // CHECK: %[[R:.*]] = th.control "cond" [@same, @same](%{{.*}}, %[[LAST]]) carrying 0 over 0 sizes ["4"] strides ["1"]
  %r = tw.cond @same else @same(%p, %last) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: th.free %[[LAST]]
  // CHECK: return %[[R]]
  func.return %r : tensor<4xf32>
}
// CHECK-LABEL: func.func @step
// CHECK: return %c, %x : memref<4xf32>, memref<4xf32>
func.func @step(%c: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  func.return %c, %x : tensor<4xf32>, tensor<4xf32>
}
func.func @same(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
