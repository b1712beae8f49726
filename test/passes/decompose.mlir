// RUN: tilewright-opt %s -p decompose --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p 'decompose{sorts=6}' | filecheck %s --check-prefix=SORTS
// RUN: tilewright-opt %s -p 'decompose{sorts=6}' --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p decompose{moments=12} | filecheck %s --check-prefix=KEEP

// CHECK-LABEL: @normal_from_two_draws
func.func @normal_from_two_draws(%seed: tensor<i64>) -> tensor<3x?xf32, #tw.shape<"3, s0">> {
  // CHECK-NEXT: %[[U:.*]] = tw.rng_uniform %seed offset "5" : tensor<i64> -> tensor<3x?xf32, #tw.shape<"3, s0">> loc("m.py":1:2)
  // CHECK-NEXT: %[[V:.*]] = tw.rng_uniform %seed offset "s0*3 + 5"
  // CHECK-NEXT: %[[N:.*]] = tw.neg %[[U]]
  // CHECK-NEXT: tw.log1p %[[N]]
  // CHECK: tw.sqrt
  // CHECK: tw.cos
  // CHECK-NEXT: tw.mul {{.*}} loc("m.py":1:2)
  // CHECK-NOT: tw.rng_normal
  %n = tw.rng_normal %seed offset "5" : tensor<i64> -> tensor<3x?xf32, #tw.shape<"3, s0">> loc("m.py":1:2)
  func.return %n : tensor<3x?xf32, #tw.shape<"3, s0">>
}

// CHECK-LABEL: @leaves_primitives
func.func @leaves_primitives(%seed: tensor<i64>) -> tensor<3xf32> {
  // CHECK-NEXT: tw.rng_uniform
  // CHECK-NEXT: func.return
  %n = tw.rng_uniform %seed offset "0" : tensor<i64> -> tensor<3xf32>
  func.return %n : tensor<3xf32>
}

// CHECK-LABEL: @moments_in_two_passes
// CHECK-NEXT: %[[S:.*]] = tw.sum %x over [0, 2] : tensor<3x?x4xf32, #tw.shape<"3, s0, 4">> -> tensor<?xf32, #tw.shape<"s0">> loc("m.py":4:2)
// CHECK-NEXT: %[[N:.*]] = tw.full 1.200000e+01 : f32 -> tensor<?xf32, #tw.shape<"s0">>
// CHECK-NEXT: %[[M:.*]] = tw.div %[[S]], %[[N]]
// CHECK-NEXT: %[[B:.*]] = tw.broadcast %[[M]] dims [1]
// CHECK-NEXT: %[[D:.*]] = tw.sub %x, %[[B]]
// CHECK-NEXT: %[[Q:.*]] = tw.mul %[[D]], %[[D]]
// CHECK-NEXT: %[[T:.*]] = tw.sum %[[Q]] over [0, 2]
// CHECK-NEXT: %[[L:.*]] = tw.sum %[[D]] over [0, 2]
// CHECK-NEXT: %[[I:.*]] = tw.full 0.0833333{{.*}} : f32
// CHECK-NEXT: %[[E:.*]] = tw.mul %[[L]], %[[I]]
// CHECK-NEXT: %[[C:.*]] = tw.mul %[[L]], %[[E]]
// CHECK-NEXT: %[[R:.*]] = tw.sub %[[T]], %[[C]]
// CHECK-NEXT: %[[Z:.*]] = tw.full 0.000000e+00 : f32
// CHECK-NEXT: %[[A:.*]] = tw.add %[[M]], %[[E]]
// CHECK-NEXT: %[[P:.*]] = tw.maximum %[[R]], %[[Z]]
// CHECK-NEXT: func.return %[[A]], %[[P]]
// KEEP-LABEL: @moments_in_two_passes
// KEEP-NEXT: tw.moments %x over [0, 2]
func.func @moments_in_two_passes(%x: tensor<3x?x4xf32, #tw.shape<"3, s0, 4">>, %s0: index {tw.symbol = "s0"}) -> (tensor<?xf32, #tw.shape<"s0">>, tensor<?xf32, #tw.shape<"s0">>) {
  %m, %q = tw.moments %x over [0, 2] : tensor<3x?x4xf32, #tw.shape<"3, s0, 4">> -> tensor<?xf32, #tw.shape<"s0">> loc("m.py":4:2)
  func.return %m, %q : tensor<?xf32, #tw.shape<"s0">>, tensor<?xf32, #tw.shape<"s0">>
}

// The innermost axes, of few elements: rows, of which a program of a GPU holds one.
// KEEP-LABEL: @moments_of_rows
// KEEP-COUNT-3: tw.sum {{.*}} over [1, 2] : tensor<5x3x4xf32>
// KEEP-NOT: tw.moments
func.func @moments_of_rows(%x: tensor<5x3x4xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %m, %q = tw.moments %x over [1, 2] : tensor<5x3x4xf32> -> tensor<5xf32>
  func.return %m, %q : tensor<5xf32>, tensor<5xf32>
}

// KEEP-LABEL: @moments_of_columns
// KEEP-NEXT: tw.moments %x over [0]
func.func @moments_of_columns(%x: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %m, %q = tw.moments %x over [0] : tensor<3x4xf32> -> tensor<4xf32>
  func.return %m, %q : tensor<4xf32>, tensor<4xf32>
}

// KEEP-LABEL: @moments_of_long_rows
// KEEP-NEXT: tw.moments %x over [1]
func.func @moments_of_long_rows(%x: tensor<2x13xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %m, %q = tw.moments %x over [1] : tensor<2x13xf32> -> tensor<2xf32>
  func.return %m, %q : tensor<2xf32>, tensor<2xf32>
}

// How many there are is not known: at least one, so that of none nothing is left.
// CHECK-LABEL: @moments_of_any_number
// CHECK: %[[L:.*]] = tw.sum
// CHECK: %[[L:.*]] = tw.sum
// CHECK: %[[L:.*]] = tw.sum
// CHECK-NEXT: %[[N:.*]] = tw.full "max(1, s0)" -> tensor<f32>
// CHECK-NEXT: tw.div %[[L]], %[[N]]
func.func @moments_of_any_number(%x: tensor<?xf32, #tw.shape<"s0">>, %s0: index {tw.symbol = "s0"}) -> (tensor<f32>, tensor<f32>) {
  %m, %q = tw.moments %x over [0] : tensor<?xf32, #tw.shape<"s0">> -> tensor<f32>
  func.return %m, %q : tensor<f32>, tensor<f32>
}

// Halves compute in f32, which is exact enough; a size that is not known counts as it is.
// CHECK-LABEL: @moments_of_halves
// CHECK-NEXT: %[[X:.*]] = tw.cast %x : tensor<?xbf16, #tw.shape<"s0">> -> tensor<?xf32, #tw.shape<"s0">>
// CHECK-NEXT: %[[S:.*]] = tw.sum %[[X]] over [0]
// CHECK-NEXT: %[[N:.*]] = tw.full "s0" -> tensor<f32>
// CHECK: tw.cast %{{.*}} : tensor<f32> -> tensor<bf16>
// CHECK: tw.cast %{{.*}} : tensor<f32> -> tensor<bf16>
func.func @moments_of_halves(%x: tensor<?xbf16, #tw.shape<"s0">>, %s0: index {tw.symbol = "s0"}) -> (tensor<bf16>, tensor<bf16>) {
  %m, %q = tw.moments %x over [0] : tensor<?xbf16, #tw.shape<"s0">> -> tensor<bf16>
  func.return %m, %q : tensor<bf16>, tensor<bf16>
}

// Kernels sort what is short, where they may.
// CHECK-LABEL: @sort
// CHECK-NEXT: tw.aten "aten::sort.stable"(%x) {args = [#tw.arg<0>, true, 1 : i64, true]} : (tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xi64>) loc("m.py":7:0)
// CHECK-NEXT: %[[V:.*]], %[[I:.*]] = tw.aten "aten::sort.stable"(%x) {args = [#tw.arg<0>, true, 0 : i64, false]} : (tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xi64>)
// CHECK-NEXT: tw.slice %[[V]] {{.*}} -> tensor<3x6xf32>
// CHECK-NEXT: tw.slice %[[I]] {{.*}} -> tensor<3x6xi64>
// SORTS-LABEL: @sort
// SORTS-NEXT: tw.sort %x dim 1 descending
// SORTS-NEXT: tw.sort %x dim 0 :
func.func @sort(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xi64>, tensor<3x6xf32>, tensor<3x6xi64>) {
  %v, %i = tw.sort %x dim 1 descending : tensor<4x6xf32> -> tensor<4x6xf32>, tensor<4x6xi64> loc("m.py":7:0)
  %w, %j = tw.sort %x dim 0 : tensor<4x6xf32> -> tensor<3x6xf32>, tensor<3x6xi64>
  func.return %v, %i, %w, %j : tensor<4x6xf32>, tensor<4x6xi64>, tensor<3x6xf32>, tensor<3x6xi64>
}

// CHECK-LABEL: @sorts_longer_rows_by_library
// CHECK-NEXT: tw.aten "aten::sort.stable"
// CHECK-NEXT: tw.aten "aten::sort.stable"(%y) {args = [#tw.arg<0>, true, 0 : i64, true]}
// CHECK-NEXT: tw.slice {{.*}} -> tensor<?xi64, #tw.shape<"{{.*}}floordiv 2{{.*}}">>
// SORTS-LABEL: @sorts_longer_rows_by_library
// SORTS-NEXT: tw.aten "aten::sort.stable"
// SORTS-NEXT: tw.aten "aten::sort.stable"
// REMARK: tw.sort at {{.*}}: sorted by ATen: rows of 7 elements are more than a kernel takes
func.func @sorts_longer_rows_by_library(%x: tensor<7xi32>, %y: tensor<?xi32, #tw.shape<"s0">>, %s0: index {tw.symbol = "s0"}) -> (tensor<7xi64>, tensor<?xi64, #tw.shape<"(s0 floordiv 2)">>) {
  %v, %i = tw.sort %x dim 0 : tensor<7xi32> -> tensor<7xi32>, tensor<7xi64>
  %w, %j = tw.sort %y dim 0 descending : tensor<?xi32, #tw.shape<"s0">> -> tensor<?xi32, #tw.shape<"(s0 floordiv 2)">>, tensor<?xi64, #tw.shape<"(s0 floordiv 2)">>
  func.return %i, %j : tensor<7xi64>, tensor<?xi64, #tw.shape<"(s0 floordiv 2)">>
}

// Of 64 bits, a quarter as many.
// SORTS-LABEL: @sorts_few_wide_numbers
// SORTS-NEXT: tw.sort %x
// SORTS-NEXT: tw.aten "aten::sort.stable"
func.func @sorts_few_wide_numbers(%x: tensor<1xf64>, %y: tensor<2xi64>) -> (tensor<1xi64>, tensor<2xi64>) {
  %v, %i = tw.sort %x dim 0 : tensor<1xf64> -> tensor<1xf64>, tensor<1xi64>
  %w, %j = tw.sort %y dim 0 : tensor<2xi64> -> tensor<2xi64>, tensor<2xi64>
  func.return %i, %j : tensor<1xi64>, tensor<2xi64>
}

// CHECK-LABEL: @bias_of_integers
// CHECK-NEXT: %[[B:.*]] = tw.broadcast %b dims [1] : tensor<4xi32> -> tensor<2x4xi32> loc("m.py":9:0)
// CHECK-NEXT: %[[P:.*]] = tw.matmul %x, %y : (tensor<2x3xi32>, tensor<3x4xi32>) -> tensor<2x4xi32> loc("m.py":9:0)
// CHECK-NEXT: tw.add %[[P]], %[[B]]
func.func @bias_of_integers(%x: tensor<2x3xi32>, %y: tensor<3x4xi32>, %b: tensor<4xi32>) -> tensor<2x4xi32> {
  %0 = tw.matmul %x, %y bias %b : (tensor<2x3xi32>, tensor<3x4xi32>, tensor<4xi32>) -> tensor<2x4xi32> loc("m.py":9:0)
  func.return %0 : tensor<2x4xi32>
}

// CHECK-LABEL: @bias_of_widened_integers
// CHECK: %[[P:.*]] = tw.matmul %x, %y : (tensor<2x3xi8>, tensor<3x4xi8>) -> tensor<2x4xi32>
// CHECK-NEXT: tw.add %[[P]]
func.func @bias_of_widened_integers(%x: tensor<2x3xi8>, %y: tensor<3x4xi8>, %b: tensor<4xi32>) -> tensor<2x4xi32> {
  %0 = tw.matmul %x, %y bias %b : (tensor<2x3xi8>, tensor<3x4xi8>, tensor<4xi32>) -> tensor<2x4xi32>
  func.return %0 : tensor<2x4xi32>
}

// CHECK-LABEL: @leaves_other_products
// CHECK-NEXT: tw.matmul %x, %y bias %b
// CHECK-NEXT: tw.matmul %i, %j
// CHECK-NEXT: func.return
func.func @leaves_other_products(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>, %b: tensor<4xf32>, %i: tensor<2x3xi32>, %j: tensor<3x4xi32>) -> (tensor<2x4xf32>, tensor<2x4xi32>) {
  %0 = tw.matmul %x, %y bias %b : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %1 = tw.matmul %i, %j : (tensor<2x3xi32>, tensor<3x4xi32>) -> tensor<2x4xi32>
  func.return %0, %1 : tensor<2x4xf32>, tensor<2x4xi32>
}

// -----

// Columns times rows: each element of the result is 0 and one product. Halves are rounded once, with the bias; an
// unknown number of terms stays a sum, and so do two.
// CHECK-LABEL: @columns_times_rows
// CHECK-NOT:  tw.matmul
// CHECK:      %[[A:.*]] = tw.broadcast %x dims [0, 1, 2] : tensor<5x7x1xf32> -> tensor<5x7x4xf32>
// CHECK-NEXT: %[[B:.*]] = tw.broadcast %y dims [0, 1, 2] : tensor<5x1x4xf32> -> tensor<5x7x4xf32>
// CHECK-NEXT: %[[P:.*]] = tw.mul %[[A]], %[[B]] : tensor<5x7x4xf32> loc("m.py":9:0)
// CHECK-NEXT: %[[Z:.*]] = tw.full 0.0{{.*}} -> tensor<5x7x4xf32>
// CHECK-NEXT: tw.add %[[P]], %[[Z]] : tensor<5x7x4xf32>
func.func @columns_times_rows(%x: tensor<5x7x1xf32>, %y: tensor<5x1x4xf32>) -> tensor<5x7x4xf32> {
  %0 = tw.matmul %x, %y : (tensor<5x7x1xf32>, tensor<5x1x4xf32>) -> tensor<5x7x4xf32> loc("m.py":9:0)
  func.return %0 : tensor<5x7x4xf32>
}

// -----

// CHECK-LABEL: @of_halves_with_a_bias
// CHECK-NOT:  tw.matmul
// CHECK-DAG:  tw.cast %x : tensor<7x1xbf16> -> tensor<7x1xf32>
// CHECK-DAG:  tw.cast %b : tensor<4xbf16> -> tensor<4xf32>
// CHECK:      tw.mul
// CHECK:      tw.add
// CHECK:      tw.add
// CHECK-NEXT: tw.cast %{{.*}} : tensor<7x4xf32> -> tensor<7x4xbf16>
// CHECK-NEXT: func.return
func.func @of_halves_with_a_bias(%x: tensor<7x1xbf16>, %y: tensor<1x4xbf16>, %b: tensor<4xbf16>) -> tensor<7x4xbf16> {
  %0 = tw.matmul %x, %y bias %b : (tensor<7x1xbf16>, tensor<1x4xbf16>, tensor<4xbf16>) -> tensor<7x4xbf16>
  func.return %0 : tensor<7x4xbf16>
}

// -----

// CHECK-LABEL: @of_bytes
// CHECK-NOT:  tw.matmul
// CHECK:      tw.mul %{{.*}}, %{{.*}} : tensor<7x4xi32>
func.func @of_bytes(%x: tensor<7x1xi8>, %y: tensor<1x4xi8>) -> tensor<7x4xi32> {
  %0 = tw.matmul %x, %y : (tensor<7x1xi8>, tensor<1x4xi8>) -> tensor<7x4xi32>
  func.return %0 : tensor<7x4xi32>
}

// -----

// CHECK-LABEL: @sums_stay
// CHECK:      tw.matmul %x, %y
// CHECK:      tw.matmul %u, %v
func.func @sums_stay(%x: tensor<7x2xf32>, %y: tensor<2x4xf32>, %u: tensor<7x?xf32, #tw.shape<"7, s0">>, %v: tensor<?x4xf32, #tw.shape<"s0, 4">>) -> (tensor<7x4xf32>, tensor<7x4xf32>) {
  %0 = tw.matmul %x, %y : (tensor<7x2xf32>, tensor<2x4xf32>) -> tensor<7x4xf32>
  %1 = tw.matmul %u, %v : (tensor<7x?xf32, #tw.shape<"7, s0">>, tensor<?x4xf32, #tw.shape<"s0, 4">>) -> tensor<7x4xf32>
  func.return %0, %1 : tensor<7x4xf32>, tensor<7x4xf32>
}
