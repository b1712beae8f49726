// RUN: tilewright-opt %s -p 'fuse{far=true},dce' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{concats=true},fuse{far=true},dce' --split-input-file --check-semantics
// RUN: tilewright-opt %s -p 'fuse{far=true},dce' --split-input-file --verify-locations
// RUN: tilewright-opt %s -p 'fuse{far=true}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// What is read under a mask is checked there: of a concatenation each piece is gathered where it is stored.
// CHECK-LABEL: @checked_under_a_mask
// CHECK:      tk.kernel [6]
// CHECK:      %[[M:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : i64
// CHECK:      %[[X:.*]] = tk.load %{{.*}}[d0] if %[[M]] else %{{.*}} : tensor<4xi64> -> i64
// CHECK:      %[[OK:.*]] = arith.cmpi slt, %[[X]], %{{.*}} : i64
// CHECK:      %[[OUT:.*]] = arith.xori %[[M]], %{{.*}} : i1
// CHECK:      %[[BOTH:.*]] = arith.ori %[[OK]], %[[OUT]] : i1
// CHECK:      tk.assert %[[BOTH]] "index out of range"
// CHECK:      tk.store %[[X]]
// CHECK-NOT:  tk.kernel
func.func @checked_under_a_mask(%x: tensor<4xi64>) -> tensor<6xi64> {
  %p = tk.kernel [4] ins(%x : tensor<4xi64>) -> (tensor<4xi64>) {
  ^bb0(%a: tensor<4xi64>, %o: tensor<4xi64>):
    %end = arith.constant 9 : i64
    %0 = tk.load %a[d0] : tensor<4xi64> -> i64
    %1 = arith.cmpi slt, %0, %end : i64
    tk.assert %1 "index out of range" : i1
    tk.store %0, %o[d0] : i64, tensor<4xi64>
  }
  %r = tk.kernel [6] ins(%p : tensor<4xi64>) -> (tensor<6xi64>) {
  ^bb0(%a: tensor<4xi64>, %o: tensor<6xi64>):
    %zero = arith.constant 0 : i64
    %end = arith.constant 4 : i64
    %0 = tk.index "d0" : i64
    %1 = arith.cmpi slt, %0, %end : i64
    %2 = tk.load %a[d0] if %1 else %zero : tensor<4xi64> -> i64
    tk.store %2, %o[d0] : i64, tensor<6xi64>
  }
  func.return %r : tensor<6xi64>
}

// -----

func.func @gathered_and_concatenated(%x: tensor<9x4xf32>, %i: tensor<6xi64>, %j: tensor<6xi64>) -> tensor<6x8xf32> {
  %a = tw.gather %x[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
  %b = tw.gather %x[%j] dims [0] at 0 : (tensor<9x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
  %c = tw.concat %a, %b dim 1 : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x8xf32>
  func.return %c : tensor<6x8xf32>
}

// -----

// A check beside a value, of more axes than the value has, stays: where the value is read those are none, or others.
// CHECK-LABEL: @checked_along_another_axis
// CHECK:      tk.kernel [4, 3]
// CHECK:      tk.assert
// CHECK:      tk.kernel [7, 9]
// CHECK-NOT:  tk.assert
// CHECK:      tk.load %{{.*}}[(d1 floordiv 3)] : tensor<4xf32>
// REMARK: it checks what varies along axes that its result lacks; only a part of it is read
func.func @checked_along_another_axis(%x: tensor<4xf32>, %i: tensor<4x3xi64>, %y: tensor<7x9xf32>) -> tensor<7x9xf32> {
  %e, %n = tk.kernel [4, 3] ins(%x, %i : tensor<4xf32>, tensor<4x3xi64>) -> (tensor<4xf32>, tensor<4x3xi64>) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4x3xi64>, %o: tensor<4xf32>, %p: tensor<4x3xi64>):
    %end = arith.constant 9 : i64
    %0 = tk.load %a[d0] : tensor<4xf32> -> f32
    %1 = arith.negf %0 : f32
    tk.store %1, %o[d0] : f32, tensor<4xf32>
    %2 = tk.load %b[d0, d1] : tensor<4x3xi64> -> i64
    %3 = arith.cmpi slt, %2, %end : i64
    tk.assert %3 "index out of range" : i1
    tk.store %2, %p[d0, d1] : i64, tensor<4x3xi64>
  }
  %r = tk.kernel [7, 9] ins(%e, %y : tensor<4xf32>, tensor<7x9xf32>) -> (tensor<7x9xf32>) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<7x9xf32>, %o: tensor<7x9xf32>):
    %0 = tk.load %a[d1 floordiv 3] : tensor<4xf32> -> f32
    %1 = tk.load %b[d0, d1] : tensor<7x9xf32> -> f32
    %2 = arith.addf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<7x9xf32>
  }
  func.return %r : tensor<7x9xf32>
}

// -----

// What is summed by a product is checked before: its tiles check nothing along the sum. Along its rows they do.
// CHECK-LABEL: @checked_in_a_sum
// CHECK:      tk.kernel [4, 3] ins(%i
// CHECK:      tk.assert
// CHECK:      tk.kernel [4, 5, 3]
// CHECK-NOT:  tk.assert
// REMARK: it checks what a product sums, whose tiles check nothing
func.func @checked_in_a_sum(%i: tensor<4x3xi64>, %y: tensor<3x5xf32>) -> tensor<4x5xf32> {
  %e = tk.kernel [4, 3] ins(%i : tensor<4x3xi64>) -> (tensor<4x3xf32>) {
  ^bb0(%a: tensor<4x3xi64>, %o: tensor<4x3xf32>):
    %end = arith.constant 9 : i64
    %0 = tk.load %a[d0, d1] : tensor<4x3xi64> -> i64
    %1 = arith.cmpi slt, %0, %end : i64
    tk.assert %1 "index out of range" : i1
    %2 = arith.sitofp %0 : i64 to f32
    tk.store %2, %o[d0, d1] : f32, tensor<4x3xf32>
  }
  %r = tk.kernel [4, 5, 3] ins(%e, %y : tensor<4x3xf32>, tensor<3x5xf32>) -> (tensor<4x5xf32>) {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<3x5xf32>, %o: tensor<4x5xf32>):
    %0 = tk.load %a[d0, d2] : tensor<4x3xf32> -> f32
    %1 = tk.load %b[d2, d1] : tensor<3x5xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    %3 = tk.reduce add %2 over [2] : f32
    tk.store %3, %o[d0, d1] : f32, tensor<4x5xf32>
  }
  func.return %r : tensor<4x5xf32>
}

// -----

// CHECK-LABEL: @checked_beside_a_sum
// CHECK:      tk.kernel [4, 5, 3]
// CHECK:      tk.assert
// CHECK-NOT:  tk.kernel
func.func @checked_beside_a_sum(%i: tensor<4xi64>, %x: tensor<4x3xf32>, %y: tensor<3x5xf32>) -> tensor<4x5xf32> {
  %e = tk.kernel [4] ins(%i : tensor<4xi64>) -> (tensor<4xf32>) {
  ^bb0(%a: tensor<4xi64>, %o: tensor<4xf32>):
    %end = arith.constant 9 : i64
    %0 = tk.load %a[d0] : tensor<4xi64> -> i64
    %1 = arith.cmpi slt, %0, %end : i64
    tk.assert %1 "index out of range" : i1
    %2 = arith.sitofp %0 : i64 to f32
    tk.store %2, %o[d0] : f32, tensor<4xf32>
  }
  %r = tk.kernel [4, 5, 3] ins(%e, %x, %y : tensor<4xf32>, tensor<4x3xf32>, tensor<3x5xf32>) -> (tensor<4x5xf32>) {
  ^bb0(%c: tensor<4xf32>, %a: tensor<4x3xf32>, %b: tensor<3x5xf32>, %o: tensor<4x5xf32>):
    %0 = tk.load %a[d0, d2] : tensor<4x3xf32> -> f32
    %1 = tk.load %b[d2, d1] : tensor<3x5xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    %3 = tk.reduce add %2 over [2] : f32
    %4 = tk.load %c[d0] : tensor<4xf32> -> f32
    %5 = arith.addf %3, %4 : f32
    tk.store %5, %o[d0, d1] : f32, tensor<4x5xf32>
  }
  func.return %r : tensor<4x5xf32>
}
