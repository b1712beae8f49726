// RUN: tilewright-opt %s -p convert-tw-to-tk --split-input-file --print-debuginfo | filecheck %s

// CHECK-LABEL: @computes_halves_in_f32
func.func @computes_halves_in_f32(%x: tensor<8x4xbf16>, %y: tensor<8x4xbf16>) -> tensor<8x4xbf16> {
  // CHECK:      %[[R:.*]] = tk.kernel [8, 4] ins(%x, %y : tensor<8x4xbf16>, tensor<8x4xbf16>) -> (tensor<8x4xbf16>)
  // CHECK:      tk.load %{{.*}}[d0, d1] : tensor<8x4xbf16> -> bf16
  // CHECK-NEXT: arith.extf %{{.*}} : bf16 to f32
  // CHECK:      arith.addf %{{.*}}, %{{.*}} : f32 loc("m.py":3:0)
  // CHECK-NEXT: arith.truncf %{{.*}} : f32 to bf16
  // CHECK-NEXT: tk.store %{{.*}}, %{{.*}}[d0, d1]
  %r = tw.add %x, %y : tensor<8x4xbf16> loc("m.py":3:0)
  func.return %r : tensor<8x4xbf16>
}

// -----

// CHECK-LABEL: @wraps_narrow_integers
func.func @wraps_narrow_integers(%x: tensor<4xui8>, %y: tensor<4xui8>) -> tensor<4xui8> {
  // CHECK:      arith.extui %{{.*}} : i8 to i32
  // CHECK:      arith.addi
  // CHECK-NEXT: arith.trunci %{{.*}} : i32 to i8
  // CHECK-NEXT: arith.extui
  %r = tw.add %x, %y : tensor<4xui8>
  func.return %r : tensor<4xui8>
}

// -----

// CHECK-LABEL: @reduces_symbolic_rows
func.func @reduces_symbolic_rows(%x: tensor<?x4xf32, #tw.shape<"s0, 4">>, %s0: index {tw.symbol = "s0"}) -> tensor<?xf32, #tw.shape<"s0">> {
  // CHECK: tk.kernel [s0, 4]
  // CHECK: tk.reduce max %{{.*}} over [1] : f32
  // CHECK: tk.store %{{.*}}, %{{.*}}[d0]
  %r = tw.max %x over [1] : tensor<?x4xf32, #tw.shape<"s0, 4">> -> tensor<?xf32, #tw.shape<"s0">>
  func.return %r : tensor<?xf32, #tw.shape<"s0">>
}

// -----

// Before the first element there is nothing, whatever its factor is.

// CHECK-LABEL: @linear_recurrences_begin_with_nothing
func.func @linear_recurrences_begin_with_nothing(%x: tensor<5x4xbf16>, %f: tensor<5x4xbf16>) -> tensor<5x4xbf16> {
  // CHECK:      %[[X:.*]] = arith.extf %{{.*}} : bf16 to f32
  // CHECK:      %[[F:.*]] = arith.extf %{{.*}} : bf16 to f32
  // CHECK:      %[[I:.*]] = tk.index "d0" : i64
  // CHECK:      %[[FIRST:.*]] = arith.cmpi eq, %[[I]], %{{.*}} : i64
  // CHECK:      %[[BY:.*]] = arith.select %[[FIRST]], %{{.*}}, %[[F]] : f32
  // CHECK-NEXT: tk.scan linear %[[X]] by %[[BY]] along 0 : f32 loc("m.py":7:0)
  %r = tw.linear_scan %x by %f dim 0 : tensor<5x4xbf16> loc("m.py":7:0)
  func.return %r : tensor<5x4xbf16>
}

// -----

// CHECK-LABEL: @checks_divisor_and_index
func.func @checks_divisor_and_index(%x: tensor<4xi64>, %y: tensor<4xi64>, %t: tensor<6x2xf32>) -> tensor<4x2xf32> {
  // CHECK: tk.assert %{{.*}} "division by zero" : i1
  // CHECK: arith.remsi
  // CHECK: tk.assert %{{.*}} "index out of range" : i1
  // CHECK: tk.load %{{.*}}[i0, d1](%{{.*}}) : tensor<6x2xf32> -> f32
  %i = tw.remainder %x, %y : tensor<4xi64>
  %r = tw.gather %t[%i] dims [0] at 0 : (tensor<6x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
  func.return %r : tensor<4x2xf32>
}

// -----

// CHECK-LABEL: @masks_padding
func.func @masks_padding(%x: tensor<3x4xf32>) -> tensor<3x7xf32> {
  // CHECK: tk.load %{{.*}}[d0, d1 - 1] if %{{.*}} else %{{.*}} : tensor<3x4xf32> -> f32
  %r = tw.pad %x low "0, 1" high "0, 2" value 3.0 : f32 : tensor<3x4xf32> -> tensor<3x7xf32>
  func.return %r : tensor<3x7xf32>
}

// -----

// CHECK-LABEL: @leaves_views_and_library_ops
func.func @leaves_views_and_library_ops(%x: tensor<3x4xf32>) -> tensor<3x3xf32> {
  // CHECK-NEXT: tw.transpose
  // CHECK-NEXT: tw.matmul
  // CHECK-NOT: tk.kernel
  %t = tw.transpose %x by [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %r = tw.matmul %x, %t : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
  func.return %r : tensor<3x3xf32>
}

// -----

// CHECK-LABEL: @moments
func.func @moments(%x: tensor<?x4xbf16, #tw.shape<"s0, 4">>, %s0: index {tw.symbol = "s0"}) -> (tensor<4xbf16>, tensor<4xbf16>) {
  // CHECK:      %[[X:.*]] = arith.extf
  // CHECK:      %[[S:.*]], %[[Q:.*]], %{{.*}} = tk.moments %[[X]], %{{.*}}, %{{.*}} over [0] : f32
  // CHECK:      %[[I:.*]] = tk.index "s0" : i64
  // CHECK:      %[[B:.*]] = arith.cmpi ne, %[[I]], %{{.*}} : i64
  // CHECK:      %[[N:.*]] = arith.constant 0x7fc00000 : f32
  // CHECK-NEXT: %[[M:.*]] = arith.select %[[B]], %[[S]], %[[N]] : f32
  // CHECK-NEXT: %[[H:.*]] = arith.truncf %[[M]]
  // CHECK-NEXT: tk.store %[[H]], %{{.*}}[d1]
  // CHECK-NEXT: %[[R:.*]] = arith.truncf %[[Q]]
  // CHECK-NEXT: tk.store %[[R]], %{{.*}}[d1]
  %m, %q = tw.moments %x over [0] : tensor<?x4xbf16, #tw.shape<"s0, 4">> -> tensor<4xbf16>
  func.return %m, %q : tensor<4xbf16>, tensor<4xbf16>
}

// -----

// CHECK-LABEL: @sort
func.func @sort(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xi64>) {
  // CHECK: tk.kernel [4, 6]
  // CHECK: %[[X:.*]] = tk.load %{{.*}}[d0, d1] : tensor<4x6xf32> -> f32
  // CHECK-NEXT: %[[V:.*]], %[[P:.*]] = tk.sort %[[X]] along 1 : f32
  // CHECK-NEXT: tk.store %[[V]], %{{.*}}[d0, d1] : f32
  // CHECK-NEXT: %[[I:.*]] = arith.extsi %[[P]] : i32 to i64
  // CHECK-NEXT: tk.store %[[I]], %{{.*}}[d0, d1] : i64
  %v, %i = tw.sort %x dim 1 : tensor<4x6xf32> -> tensor<4x6xf32>, tensor<4x6xi64>
  func.return %v, %i : tensor<4x6xf32>, tensor<4x6xi64>
}

// -----

// CHECK-LABEL: @first_of_a_column
func.func @first_of_a_column(%x: tensor<4x6xi1>) -> (tensor<2x6xi1>, tensor<2x6xi64>) {
  // CHECK: tk.kernel [4, 6]
  // CHECK: %[[X:.*]] = tk.load %{{.*}}[d0, d1] : tensor<4x6xi1> -> i1
  // CHECK-NEXT: %[[K:.*]] = arith.extui %[[X]] : i1 to i32
  // CHECK-NEXT: %[[S:.*]], %{{.*}} = tk.sort %[[K]] along 0 descending first 2 : i32
  // CHECK-NEXT: %[[V:.*]] = arith.trunci %[[S]] : i32 to i1
  // CHECK: %[[M:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : i64
  // CHECK: tk.store %[[V]], %{{.*}}[d0, d1] if %[[M]] : i1
  %v, %i = tw.sort %x dim 0 descending : tensor<4x6xi1> -> tensor<2x6xi1>, tensor<2x6xi64>
  func.return %v, %i : tensor<2x6xi1>, tensor<2x6xi64>
}

// -----

// Halves are compared as memory holds them, whatever they are fused with.
// CHECK-LABEL: @keys_of_halves
func.func @keys_of_halves(%x: tensor<4x6xbf16>) -> (tensor<4x6xbf16>, tensor<4x6xi64>) {
  // CHECK: %[[K:.*]] = arith.extf %{{.*}} {tk.rounded} : bf16 to f32
  // CHECK-NEXT: tk.sort %[[K]] along 1 : f32
  %v, %i = tw.sort %x dim 1 : tensor<4x6xbf16> -> tensor<4x6xbf16>, tensor<4x6xi64>
  func.return %v, %i : tensor<4x6xbf16>, tensor<4x6xi64>
}

// -----

// Along a reduced axis of size 1 there is nothing to combine; where all have that size, one is.
// CHECK-LABEL: @reduced_axes_of_one_element
// CHECK: tk.kernel [1, 4, 8]
// CHECK: tk.load %{{.*}}[0, d1, d2]
// CHECK: tk.reduce add %{{.*}} over [2] : f32
// CHECK: tk.store %{{.*}}, %{{.*}}[d1]
// CHECK: tk.kernel [1, 4, 8]
// CHECK: tk.load %{{.*}}[0, d1, d2]
// CHECK: tk.moments {{.*}} over [2]
// CHECK: tk.kernel [1, 4, 8]
// CHECK: tk.load %{{.*}}[d0, d1, d2]
// CHECK: tk.reduce max %{{.*}} over [0] : f32
func.func @reduced_axes_of_one_element(%x: tensor<1x4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x8xf32>) {
  %s = tw.sum %x over [0, 2] : tensor<1x4x8xf32> -> tensor<4xf32>
  %m, %q = tw.moments %x over [0, 2] : tensor<1x4x8xf32> -> tensor<4xf32>
  %t = tw.max %x over [0] : tensor<1x4x8xf32> -> tensor<4x8xf32>
  func.return %s, %m, %t : tensor<4xf32>, tensor<4xf32>, tensor<4x8xf32>
}

// -----

// What only calls read is data. What a kernel reads, too, what a call writes to, what is long or infinite is computed.

// CHECK-LABEL: @literals_of_calls
// CHECK-NEXT: %b = tw.constant dense<2.000000e+00> : tensor<3xf32> loc("m.py":3:0)
// CHECK-NEXT: tw.aten "aten::_linalg_solve_ex"(%x, %b)
// CHECK-NEXT: %c = tk.kernel [3]
// CHECK:      %d = tk.kernel [65]
// CHECK:      %e = tk.kernel [3]
// CHECK:      %f = tk.kernel [3]
// CHECK-NOT:  tw.constant
// CHECK:      return
func.func @literals_of_calls(%x: tensor<3x3xf32>, %y: tensor<65x65xf32>) -> tensor<3xf32> {
  %b = tw.full 2.0 : f32 -> tensor<3xf32> loc("m.py":3:0)
  %0, %1, %2, %3 = tw.aten "aten::_linalg_solve_ex"(%x, %b) {args = [#tw.arg<0>, #tw.arg<1>]} : (tensor<3x3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3x3xf32>, tensor<3xi32>, tensor<i32>)
  %c = tw.full 3.0 : f32 -> tensor<3xf32>
  %4, %5, %6, %7 = tw.aten "aten::_linalg_solve_ex"(%x, %c) {args = [#tw.arg<0>, #tw.arg<1>]} : (tensor<3x3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3x3xf32>, tensor<3xi32>, tensor<i32>)
  %d = tw.full 2.0 : f32 -> tensor<65xf32>
  %8, %9, %10, %11 = tw.aten "aten::_linalg_solve_ex"(%y, %d) {args = [#tw.arg<0>, #tw.arg<1>]} : (tensor<65x65xf32>, tensor<65xf32>) -> (tensor<65xf32>, tensor<65x65xf32>, tensor<65xi32>, tensor<i32>)
  %e = tw.full 2.0 : f32 -> tensor<3xf32>
  tw.aten "aten::mul_.Tensor"(%e, %c) {args = [#tw.arg<0>, #tw.arg<1>], mutates = array<i64: 0>} : (tensor<3xf32>, tensor<3xf32>) -> ()
  %f = tw.full 0x7f800000 : f32 -> tensor<3xf32>
  %12, %13, %14, %15 = tw.aten "aten::_linalg_solve_ex"(%x, %f) {args = [#tw.arg<0>, #tw.arg<1>]} : (tensor<3x3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3x3xf32>, tensor<3xi32>, tensor<i32>)
  %g = tw.add %c, %0 : tensor<3xf32>
  func.return %g : tensor<3xf32>
}
