// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: th.arena: size "1024*s0" is not canonical, write "s0*1024"
%a = th.arena "1024*s0" : memref<?xi8>

// -----

// CHECK: th.arena: size "d0" may only use symbols s0, s1, ...
%a = th.arena "d0" : memref<?xi8>

// -----

// CHECK: th.alloc: size "4, 4" must be one expression
%a = th.alloc "4, 4" : memref<16xf32>

// -----

// CHECK: th.alloc: memref<4x4xf32> is not a flat buffer (rank 1, identity layout)
%a = th.alloc "16" : memref<4x4xf32>

// -----

// CHECK: th.alloc: memref<8xf32> must have 16 elements, the size is 16
%a = th.alloc "16" : memref<8xf32>

// -----

// CHECK: th.alloc: memref<8xf32> must have ? elements, the size is s0
%a = th.alloc "s0" : memref<8xf32>

// -----

// CHECK: th.buffer: offset "4" is not a multiple of 64 bytes
%a = th.arena "64" : memref<?xi8>
%b = th.buffer %a at "4" size "1" : memref<1xf32>

// -----

// CHECK: th.empty: 2 sizes but 1 strides
%a = th.empty sizes "4, 4" strides "1" : memref<16xf32>

// -----

// CHECK: th.empty: memref<16xf32> must have 19 elements, the size is 19
%a = th.empty sizes "4, 4" strides "5, 1" : memref<16xf32>

// -----

// CHECK: th.constant: data is i64, the buffer is memref<2xf32>
%a = th.constant dense<[1, 2]> : tensor<2xi64> -> memref<2xf32>

// -----

// CHECK: th.view: ATen has no negative stride "-1"
%a = th.alloc "4" : memref<4xf32>
%t = th.view %a offset "3" sizes "4" strides "-1" : memref<4xf32> -> !th.tensor<f32>

// -----

// CHECK: th.view: ATen has no negative stride "-s0 + 3"
%a = th.alloc "s0*s0" : memref<?xf32>
%t = th.view %a offset "s0" sizes "4" strides "-s0 + 3" : memref<?xf32> -> !th.tensor<f32>

// -----

// CHECK: th.view: needs 5 elements, the buffer has 4
%a = th.alloc "4" : memref<4xf32>
%t = th.view %a offset "1" sizes "4" strides "1" : memref<4xf32> -> !th.tensor<f32>

// -----

// CHECK: th.view: views f32 as f64
%a = th.alloc "4" : memref<4xf32>
%t = th.view %a offset "0" sizes "4" strides "1" : memref<4xf32> -> !th.tensor<f64>

// -----

// CHECK: th.tensor: index is not an element type of a tensor
func.func @f(%t: !th.tensor<index>) {
  func.return
}

// -----

// CHECK: th.launch: @k writes no buffer
%a = th.alloc "4" : memref<4xf32>
th.launch @k(%a) into () : (memref<4xf32>) into ()

// -----

// CHECK: th.call: "relu" is not of the form "namespace::op.overload"
%r = th.call "relu"() sizes ["4"] strides ["1"] {args = []} : () -> (!th.tensor<f32>)

// -----

// CHECK: th.call: 1 results but 2 sizes
%r = th.call "aten::rand"() sizes ["4", "4"] strides ["1"] {args = []} : () -> (!th.tensor<f32>)

// -----

// CHECK: th.extern: args use operands [0], there are 2: each must be used
func.func @f(%t: !th.tensor<f32>) {
  th.extern "aten::exp.out"(%t) into (%t) {args = [#tw.arg<0>]} : (!th.tensor<f32>) into (!th.tensor<f32>)
  func.return
}

// -----

// CHECK: th.triton: a grid has three sizes
func.func @f(%t: !th.tensor<f32>) {
  th.triton <"f", 4, 3, "def f(x, out):\0A    pass"> grid "1, 1" (%t) into (%t) {args = [#tw.arg<0>, #tw.arg<1>]} : (!th.tensor<f32>) into (!th.tensor<f32>)
  func.return
}

// -----

// CHECK: th.triton: args use operands [0], there are 2: each must be used
func.func @f(%t: !th.tensor<f32>) {
  th.triton <"f", 4, 3, "def f(x):\0A    pass"> grid "1, 1, 1" (%t) into (%t) {args = [#tw.arg<0>]} : (!th.tensor<f32>) into (!th.tensor<f32>)
  func.return
}

// -----

// CHECK: th.triton: a grid has three sizes
func.func @f(%t: !th.tensor<f32>) {
  th.triton <"f", 4, 3, "def f(x, out):\0A    pass"> grid "1, 1, 1" (%t) into (%t) {args = [#tw.arg<0>, #tw.arg<1>], candidates = [#tw.config<8, 1, "1", [#tw.arg<0>, #tw.arg<1>]>]} : (!th.tensor<f32>) into (!th.tensor<f32>)
  func.return
}

// -----

// CHECK: th.triton: 2 arguments for 3 parameters of "f"
func.func @f(%t: !th.tensor<f32>) {
  th.triton <"f", 4, 3, "def f(x, n, out):\0A    pass"> grid "1, 1, 1" (%t) into (%t) {args = [#tw.arg<0>, #tw.arg<1>]} : (!th.tensor<f32>) into (!th.tensor<f32>)
  func.return
}

// -----

// CHECK: th.call: 1 results but returns [0, 1]
%x = "test.op"() : () -> !th.tensor<f32>
%r = "th.call"(%x) <{callee = "aten::relu", args = [#tw.arg<0>], sizes = ["4"], strides = ["1"], returns = array<i64: 0, 1>}> : (!th.tensor<f32>) -> !th.tensor<f32>

// -----

// CHECK: th.data: reads f32 as f64
%x = "test.op"() : () -> !th.tensor<f32>
%d = th.data %x size "4" : !th.tensor<f32> -> memref<4xf64>
