// RUN: tilewright-translate --to=linalg %s | filecheck %s

// Sums have a tensor to start from; the location of an op is kept.
// CHECK-LABEL: func.func @row_sums
// CHECK: %[[ZERO:.*]] = arith.constant 0.0 : f32 loc("m.py":3:0)
// CHECK: %[[START:.*]] = linalg.fill ins(%[[ZERO]] : f32)
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<3x?xf32>) outs(%[[START]] : tensor<3xf32>) {
// CHECK: arith.addf %e1, %e0 : f32
func.func @row_sums(%x: tensor<3x?xf32, #tw.shape<"3, s0">>) -> tensor<3xf32> {
  %0 = tw.sum %x over [1] : tensor<3x?xf32, #tw.shape<"3, s0">> -> tensor<3xf32> loc("m.py":3:0)
  func.return %0 : tensor<3xf32>
}

// A product of halves is summed in f32 and rounded once.
// CHECK-LABEL: func.func @half_product
// CHECK: linalg.matmul ins(%arg0, %arg1 : tensor<3x5xbf16>, tensor<5x2xbf16>) outs(%{{.*}} : tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK: arith.truncf
func.func @half_product(%a: tensor<3x5xbf16>, %b: tensor<5x2xbf16>) -> tensor<3x2xbf16> {
  %0 = tw.matmul %a, %b : (tensor<3x5xbf16>, tensor<5x2xbf16>) -> tensor<3x2xbf16>
  func.return %0 : tensor<3x2xbf16>
}

// One of i8 may be i32, in batches, too.
// CHECK-LABEL: func.func @integer_products
// CHECK: linalg.matmul ins(%arg0, %arg1 : tensor<3x5xi8>, tensor<5x2xi8>) outs(%{{.*}} : tensor<3x2xi32>) -> tensor<3x2xi32>
// CHECK: linalg.batch_matmul ins(%arg2, %arg3 : tensor<4x3x5xi8>, tensor<4x5x2xi8>) outs(%{{.*}} : tensor<4x3x2xi32>)
// CHECK: arith.addi %{{.*}}, %{{.*}} : i32
func.func @integer_products(%a: tensor<3x5xi8>, %b: tensor<5x2xi8>, %c: tensor<4x3x5xi8>, %d: tensor<4x5x2xi8>, %e: tensor<2xi32>)
    -> (tensor<3x2xi32>, tensor<4x3x2xi32>) {
  %0 = tw.matmul %a, %b : (tensor<3x5xi8>, tensor<5x2xi8>) -> tensor<3x2xi32>
  %1 = tw.matmul %c, %d bias %e : (tensor<4x3x5xi8>, tensor<4x5x2xi8>, tensor<2xi32>) -> tensor<4x3x2xi32>
  func.return %0, %1 : tensor<3x2xi32>, tensor<4x3x2xi32>
}

// Bits are read by upstream's op of that name.
// CHECK-LABEL: func.func @bits
// CHECK: arith.bitcast %e0 : f32 to i32
func.func @bits(%x: tensor<5xf32>) -> tensor<5xi32> {
  %0 = tw.bitcast %x : tensor<5xf32> -> tensor<5xi32>
  func.return %0 : tensor<5xi32>
}

// A transposition is an indexing map.
// CHECK-LABEL: func.func @transposed
// CHECK: affine_map<(d0, d1) -> (d1, d0)>
func.func @transposed(%x: tensor<3x5xf32>) -> tensor<5x3xf32> {
  %0 = tw.transpose %x by [1, 0] : tensor<3x5xf32> -> tensor<5x3xf32>
  func.return %0 : tensor<5x3xf32>
}

// CHECK-LABEL: func.func @no_value
// CHECK: 0x7FF0000000000000 : f64
func.func @no_value(%x: tensor<3xf64>) -> tensor<3xi1> {
  %0 = tw.isinf %x : tensor<3xf64> -> tensor<3xi1>
  func.return %0 : tensor<3xi1>
}

// CHECK-LABEL: func.func @no_elements
// CHECK: arith.constant dense<> : tensor<0x3xf32>
func.func @no_elements() -> tensor<0x3xf32> {
  %0 = tw.constant dense<> : tensor<0x3xf32>
  func.return %0 : tensor<0x3xf32>
}
