// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tw.cond: no operands, expected a condition first
"tw.cond"() <{then = @f, otherwise = @f}> : () -> ()

// -----

// CHECK: tw.cond: condition has element type f32, expected i1
%p = "test.op"() : () -> tensor<f32>
tw.cond @f else @f(%p) : (tensor<f32>) -> ()

// -----

// CHECK: tw.cond: condition has rank 1, expected 0
%p = "test.op"() : () -> tensor<1xi1>
tw.cond @f else @f(%p) : (tensor<1xi1>) -> ()

// -----

// CHECK: tw.cond: the module has no function @f
%p = "test.op"() : () -> tensor<i1>
tw.cond @f else @f(%p) : (tensor<i1>) -> ()

// -----

// CHECK: tw.cond: @f takes (tensor<5xf32>), expected (tensor<4xf32>)
%p, %x = "test.op"() : () -> (tensor<i1>, tensor<4xf32>)
%r = tw.cond @f else @f(%p, %x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
func.func private @f(tensor<5xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.cond: @f returns (tensor<5xf32>), expected (tensor<4xf32>)
%p, %x = "test.op"() : () -> (tensor<i1>, tensor<4xf32>)
%r = tw.cond @f else @f(%p, %x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
func.func private @f(tensor<4xf32>) -> tensor<5xf32>

// -----

// CHECK: tw.cond: @f takes (), expected (index)
%p = "test.op"() : () -> tensor<i1>
tw.cond @f else @f(%p) symbols "s0" : (tensor<i1>) -> ()
func.func private @f() -> ()

// -----

// CHECK: tw.cond: symbols: unexpected `q` in index expression `q`
%p = "test.op"() : () -> tensor<i1>
tw.cond @f else @f(%p) symbols "q" : (tensor<i1>) -> ()

// -----

// CHECK: tw.while: operand 0 and result 0 are the same state, but of types tensor<4xf32> and tensor<5xf32>
%x = "test.op"() : () -> tensor<4xf32>
%r = tw.while @f do @f(%x) : (tensor<4xf32>) -> tensor<5xf32>

// -----

// CHECK: tw.while: 0 operands, expected at least the 1 of the state
%r = tw.while @f do @f() : () -> tensor<5xf32>

// -----

// CHECK: tw.while: @more returns (tensor<4xi1>), expected (tensor<i1>)
%x = "test.op"() : () -> tensor<4xf32>
%r = tw.while @more do @more(%x) : (tensor<4xf32>) -> tensor<4xf32>
func.func private @more(tensor<4xf32>) -> tensor<4xi1>

// -----

// CHECK: tw.scan: carries 2, expected 0 to 1: the state is returned
%x = "test.op"() : () -> tensor<4xf32>
%r = tw.scan @f(%x, %x, %x) carrying 2 over 1 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.scan: scans 0 operands, expected 1 to 1
%x = "test.op"() : () -> tensor<4xf32>
%r = tw.scan @f(%x) carrying 0 over 0 : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.scan: what is scanned has no dimensions, expected rows along the first one
%x = "test.op"() : () -> tensor<f32>
%r = tw.scan @f(%x) carrying 0 over 1 : (tensor<f32>) -> tensor<4xf32>

// -----

// CHECK: tw.scan: number of rows is [5], expected [4]
%x = "test.op"() : () -> tensor<4xf32>
%r = tw.scan @f(%x) carrying 0 over 1 : (tensor<4xf32>) -> tensor<5xf32>
