// Products that a library would do become kernels where these are chained; else they stay calls.
// RUN: tilewright-opt %s -p 'chain-products{calls=true},dce' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'chain-products{calls=true}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p chain-products --split-input-file | filecheck %s --check-prefix=WITHOUT

// The softmax walks blocks of 8 by 8, of which a mask has one value each: its axes are joined.
// CHECK-LABEL: @table
// CHECK-NOT:   tw.matmul
// CHECK:       tk.kernel [2, 16, 5, 24, 4] ins(%q, %k, %t, %v : {{.*}}) -> (tensor<2x16x5xf32>)
// CHECK:       tk.load %{{.*}}[d0, d3, d4] : tensor<2x24x4xf32>
// CHECK:       tk.load %{{.*}}[(d1 floordiv 8), (d3 floordiv 8)]
// CHECK:       tk.reduce max %{{.*}} over [3]
// CHECK-NOT:   tk.kernel
// WITHOUT-LABEL: @table
// WITHOUT-COUNT-2: tw.matmul
func.func @table(%q: tensor<2x16x4xf32>, %k: tensor<2x24x4xf32>, %v: tensor<2x24x5xf32>, %t: tensor<2x3xi1>) -> tensor<2x16x5xf32> {
  %kt = tw.transpose %k by [0, 2, 1] : tensor<2x24x4xf32> -> tensor<2x4x24xf32>
  %s = tw.matmul %q, %kt : (tensor<2x16x4xf32>, tensor<2x4x24xf32>) -> tensor<2x16x24xf32>
  %w = tk.kernel [1, 2, 2, 8, 3, 8] ins(%s, %t : tensor<2x16x24xf32>, tensor<2x3xi1>) -> (tensor<1x2x16x24xf32>) {
  ^bb0(%0: tensor<2x16x24xf32>, %1: tensor<2x3xi1>, %2: tensor<1x2x16x24xf32>):
    %3 = tk.load %0[d1, d2*8 + d3, d4*8 + d5] : tensor<2x16x24xf32> -> f32
    %4 = tk.load %1[d2, d4] : tensor<2x3xi1> -> i1
    %5 = arith.constant 0xff800000 : f32
    %6 = arith.select %4, %3, %5 : f32
    %7 = tk.reduce max %6 over [4, 5] : f32
    %8 = arith.subf %6, %7 : f32
    %9 = math.exp %8 : f32
    %10 = tk.reduce add %9 over [4, 5] : f32
    %11 = arith.divf %9, %10 : f32
    tk.store %11, %2[d0, d1, d2*8 + d3, d4*8 + d5] : f32, tensor<1x2x16x24xf32>
  }
  %r = tw.reshape %w : tensor<1x2x16x24xf32> -> tensor<2x16x24xf32>
  %o = tw.matmul %r, %v : (tensor<2x16x24xf32>, tensor<2x24x5xf32>) -> tensor<2x16x5xf32>
  func.return %o : tensor<2x16x5xf32>
}

// -----

// Halves: a library is faster, unless a mask says that blocks can be left out.
// CHECK-LABEL: @halves
// CHECK-COUNT-2: tw.matmul
// REMARK: tk.kernel{{.*}}a library multiplies halves faster
func.func @halves(%q: tensor<16x4xbf16>, %k: tensor<4x24xbf16>, %v: tensor<24x5xbf16>) -> tensor<16x5xbf16> {
  %s = tw.matmul %q, %k : (tensor<16x4xbf16>, tensor<4x24xbf16>) -> tensor<16x24xbf16>
  %w = tk.kernel [16, 24] ins(%s : tensor<16x24xbf16>) -> (tensor<16x24xbf16>) {
  ^bb0(%0: tensor<16x24xbf16>, %1: tensor<16x24xbf16>):
    %2 = tk.load %0[d0, d1] : tensor<16x24xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = tk.reduce max %3 over [1] : f32
    %5 = arith.subf %3, %4 : f32
    %6 = math.exp %5 : f32
    %7 = tk.reduce add %6 over [1] : f32
    %8 = arith.divf %6, %7 : f32
    %9 = arith.truncf %8 : f32 to bf16
    tk.store %9, %1[d0, d1] : bf16, tensor<16x24xbf16>
  }
  %o = tw.matmul %w, %v : (tensor<16x24xbf16>, tensor<24x5xbf16>) -> tensor<16x5xbf16>
  func.return %o : tensor<16x5xbf16>
}

// -----

// CHECK-LABEL: @causal_halves
// CHECK-NOT:   tw.matmul
// CHECK:       tk.kernel [16, 5, 24, 4]
// CHECK:       tk.reduce add %{{.*}} over [3] {tk.factors = bf16} : f32
func.func @causal_halves(%q: tensor<16x4xbf16>, %k: tensor<4x24xbf16>, %v: tensor<24x5xbf16>) -> tensor<16x5xbf16> {
  %s = tw.matmul %q, %k : (tensor<16x4xbf16>, tensor<4x24xbf16>) -> tensor<16x24xbf16>
  %w = tk.kernel [16, 24] ins(%s : tensor<16x24xbf16>) -> (tensor<16x24xbf16>) {
  ^bb0(%0: tensor<16x24xbf16>, %1: tensor<16x24xbf16>):
    %2 = tk.load %0[d0, d1] : tensor<16x24xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = tk.index "d0" : i64
    %5 = tk.index "d1" : i64
    %6 = arith.cmpi sge, %4, %5 : i64
    %7 = arith.constant 0xff800000 : f32
    %8 = arith.select %6, %3, %7 : f32
    %9 = tk.reduce max %8 over [1] : f32
    %10 = arith.subf %8, %9 : f32
    %11 = math.exp %10 : f32
    %12 = tk.reduce add %11 over [1] : f32
    %13 = arith.divf %11, %12 : f32
    %14 = arith.truncf %13 : f32 to bf16
    tk.store %14, %1[d0, d1] : bf16, tensor<16x24xbf16>
  }
  %o = tw.matmul %w, %v : (tensor<16x24xbf16>, tensor<24x5xbf16>) -> tensor<16x5xbf16>
  func.return %o : tensor<16x5xbf16>
}

// -----

// CHECK-LABEL: @few_rows
// CHECK-COUNT-2: tw.matmul
// REMARK: tw.matmul{{.*}}not chained: it has fewer than 16 rows
func.func @few_rows(%q: tensor<15x4xf32>, %k: tensor<4x24xf32>, %v: tensor<24x5xf32>) -> tensor<15x5xf32> {
  %s = tw.matmul %q, %k : (tensor<15x4xf32>, tensor<4x24xf32>) -> tensor<15x24xf32>
  %w = tk.kernel [15, 24] ins(%s : tensor<15x24xf32>) -> (tensor<15x24xf32>) {
  ^bb0(%0: tensor<15x24xf32>, %1: tensor<15x24xf32>):
    %2 = tk.load %0[d0, d1] : tensor<15x24xf32> -> f32
    %3 = tk.reduce max %2 over [1] : f32
    %4 = arith.subf %2, %3 : f32
    %5 = math.exp %4 : f32
    %6 = tk.reduce add %5 over [1] : f32
    %7 = arith.divf %5, %6 : f32
    tk.store %7, %1[d0, d1] : f32, tensor<15x24xf32>
  }
  %o = tw.matmul %w, %v : (tensor<15x24xf32>, tensor<24x5xf32>) -> tensor<15x5xf32>
  func.return %o : tensor<15x5xf32>
}

// -----

// CHECK-LABEL: @scores_read_again
// CHECK-COUNT-2: tw.matmul
// REMARK: tw.matmul{{.*}}not chained: its scores have other readers
func.func @scores_read_again(%q: tensor<16x4xf32>, %k: tensor<4x24xf32>, %v: tensor<24x5xf32>) -> (tensor<16x5xf32>, tensor<16x24xf32>) {
  %s = tw.matmul %q, %k : (tensor<16x4xf32>, tensor<4x24xf32>) -> tensor<16x24xf32>
  %w = tk.kernel [16, 24] ins(%s : tensor<16x24xf32>) -> (tensor<16x24xf32>) {
  ^bb0(%0: tensor<16x24xf32>, %1: tensor<16x24xf32>):
    %2 = tk.load %0[d0, d1] : tensor<16x24xf32> -> f32
    %3 = tk.reduce max %2 over [1] : f32
    %4 = arith.subf %2, %3 : f32
    %5 = math.exp %4 : f32
    %6 = tk.reduce add %5 over [1] : f32
    %7 = arith.divf %5, %6 : f32
    tk.store %7, %1[d0, d1] : f32, tensor<16x24xf32>
  }
  %o = tw.matmul %w, %v : (tensor<16x24xf32>, tensor<24x5xf32>) -> tensor<16x5xf32>
  func.return %o, %s : tensor<16x5xf32>, tensor<16x24xf32>
}

// -----

// A view of the weights is returned, too.
// CHECK-LABEL: @weights_read_again
// CHECK-COUNT-2: tw.matmul
// REMARK: tw.matmul{{.*}}not chained: its weights have other readers
func.func @weights_read_again(%q: tensor<16x4xf32>, %k: tensor<4x24xf32>, %v: tensor<24x5xf32>) -> (tensor<16x5xf32>, tensor<384xf32>) {
  %s = tw.matmul %q, %k : (tensor<16x4xf32>, tensor<4x24xf32>) -> tensor<16x24xf32>
  %w = tk.kernel [16, 24] ins(%s : tensor<16x24xf32>) -> (tensor<16x24xf32>) {
  ^bb0(%0: tensor<16x24xf32>, %1: tensor<16x24xf32>):
    %2 = tk.load %0[d0, d1] : tensor<16x24xf32> -> f32
    %3 = tk.reduce max %2 over [1] : f32
    %4 = arith.subf %2, %3 : f32
    %5 = math.exp %4 : f32
    %6 = tk.reduce add %5 over [1] : f32
    %7 = arith.divf %5, %6 : f32
    tk.store %7, %1[d0, d1] : f32, tensor<16x24xf32>
  }
  %o = tw.matmul %w, %v : (tensor<16x24xf32>, tensor<24x5xf32>) -> tensor<16x5xf32>
  %flat = tw.reshape %w : tensor<16x24xf32> -> tensor<384xf32>
  func.return %o, %flat : tensor<16x5xf32>, tensor<384xf32>
}
