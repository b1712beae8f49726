// RUN: tilewright-opt %s -p chain-products,dce --split-input-file | filecheck %s

// Scores with an epilogue, weights that are 0 where all is hidden, and a product: the mask stays a condition,
// the division scales the sum, and each exponent counts from what is never infinite.
// CHECK-LABEL: @masked_softmax
// CHECK: tk.kernel [2, 8, 5, 9, 4] ins(%q, %k, %v : {{.*}}) -> (tensor<2x8x5xbf16>)
// CHECK: %[[S:.*]] = tk.reduce add %{{.*}} over [4] {tk.factors = bf16} : f32
// CHECK: %[[X:.*]] = arith.select %{{.*}}, %[[S]], %{{.*}} : f32
// CHECK: %[[M:.*]] = tk.reduce max %[[X]] over [3] : f32
// CHECK: %[[A:.*]] = math.absf %[[M]]
// CHECK: %[[I:.*]] = arith.cmpf oeq, %[[A]], %{{.*}} : f32
// CHECK: %[[G:.*]] = arith.select %[[I]], %{{.*}}, %[[M]] : f32
// CHECK: %[[D:.*]] = arith.subf %[[X]], %[[G]] : f32
// CHECK: %[[E:.*]] = math.exp %[[D]] : f32
// CHECK: %[[Z:.*]] = tk.reduce add %[[E]] over [3] : f32
// CHECK: %[[T:.*]] = arith.addf %[[Z]], %{{.*}} : f32
// CHECK: %[[H:.*]] = arith.cmpf oeq, %[[M]], %{{.*}} : f32
// CHECK: %[[P:.*]] = arith.mulf %[[E]], %{{.*}} : f32
// CHECK: %[[O:.*]] = tk.reduce add %[[P]] over [3] {tk.factors = bf16} : f32
// CHECK: %[[Q:.*]] = arith.divf %[[O]], %[[T]] : f32
// CHECK: arith.select %[[H]], %[[O]], %[[Q]] : f32
// CHECK-NOT: tk.kernel
func.func @masked_softmax(%q: tensor<2x8x4xbf16>, %k: tensor<2x9x4xbf16>, %v: tensor<2x9x5xbf16>) -> tensor<2x8x5xbf16> {
  %s = tk.kernel [2, 8, 9, 4] ins(%q, %k : tensor<2x8x4xbf16>, tensor<2x9x4xbf16>) -> (tensor<2x8x9xf32>) {
  ^bb0(%0: tensor<2x8x4xbf16>, %1: tensor<2x9x4xbf16>, %2: tensor<2x8x9xf32>):
    %3 = tk.load %0[d0, d1, d3] : tensor<2x8x4xbf16> -> bf16
    %4 = arith.extf %3 : bf16 to f32
    %5 = tk.load %1[d0, d2, d3] : tensor<2x9x4xbf16> -> bf16
    %6 = arith.extf %5 : bf16 to f32
    %7 = arith.mulf %4, %6 : f32
    %8 = tk.reduce add %7 over [3] {tk.factors = bf16} : f32
    %9 = tk.index "d1" : i64
    %10 = tk.index "d2" : i64
    %11 = arith.cmpi sge, %9, %10 : i64
    %12 = arith.constant 0xff800000 : f32
    %13 = arith.select %11, %8, %12 : f32
    tk.store %13, %2[d0, d1, d2] : f32, tensor<2x8x9xf32>
  }
  %w = tk.kernel [2, 8, 9] ins(%s : tensor<2x8x9xf32>) -> (tensor<2x8x9xbf16>) {
  ^bb0(%0: tensor<2x8x9xf32>, %1: tensor<2x8x9xbf16>):
    %2 = tk.load %0[d0, d1, d2] : tensor<2x8x9xf32> -> f32
    %3 = tk.reduce max %2 over [2] : f32
    %4 = arith.subf %2, %3 : f32
    %5 = math.exp %4 : f32
    %6 = tk.reduce add %5 over [2] : f32
    %7 = arith.divf %5, %6 : f32
    %8 = arith.constant 0xff800000 : f32
    %9 = arith.cmpf oeq, %2, %8 : f32
    %10 = tk.reduce and %9 over [2] : i1
    %11 = arith.constant 0.000000e+00 : f32
    %12 = arith.select %10, %11, %7 : f32
    %13 = arith.truncf %12 {tk.rounded} : f32 to bf16
    tk.store %13, %1[d0, d1, d2] : bf16, tensor<2x8x9xbf16>
  }
  %o = tk.kernel [2, 8, 5, 9] ins(%w, %v : tensor<2x8x9xbf16>, tensor<2x9x5xbf16>) -> (tensor<2x8x5xbf16>) {
  ^bb0(%0: tensor<2x8x9xbf16>, %1: tensor<2x9x5xbf16>, %2: tensor<2x8x5xbf16>):
    %3 = tk.load %0[d0, d1, d3] : tensor<2x8x9xbf16> -> bf16
    %4 = arith.extf %3 : bf16 to f32
    %5 = tk.load %1[d0, d3, d2] : tensor<2x9x5xbf16> -> bf16
    %6 = arith.extf %5 : bf16 to f32
    %7 = arith.mulf %4, %6 : f32
    %8 = tk.reduce add %7 over [3] {tk.factors = bf16} : f32
    %9 = arith.truncf %8 : f32 to bf16
    tk.store %9, %2[d0, d1, d2] : bf16, tensor<2x8x5xbf16>
  }
  func.return %o : tensor<2x8x5xbf16>
}
