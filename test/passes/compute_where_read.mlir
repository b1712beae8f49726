// RUN: tilewright-opt %s -p compute-where-read --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p compute-where-read --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p "compute-where-read{max-ops=7}" --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=OPS
// RUN: tilewright-opt %s -p "compute-where-read{max-inputs=1}" --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=INPUTS

// Each reads a half, at its own place.
// CHECK-LABEL: @halves
// CHECK-NEXT:  %a = tk.kernel [64, 48] ins(%x, %i : tensor<9x96xf32>, tensor<64xi64>) -> (tensor<48xf32>)
// CHECK:         tk.load %{{.*}}[i0, d1](%{{.*}}) : tensor<9x96xf32>
// CHECK:       %b = tk.kernel [64, 48] ins(%x, %i : tensor<9x96xf32>, tensor<64xi64>) -> (tensor<64xf32>)
// CHECK:         tk.load %{{.*}}[i0, d1 + 48](%{{.*}}) : tensor<9x96xf32>
// CHECK-NOT:   tk.kernel
// OPS:         stored for those that read it: one of them would have more than 7 ops
// OPS-COUNT-3: tk.kernel
// INPUTS:      stored for those that read it: one of them would read more than 1 tensors
func.func @halves(%x: tensor<9x96xf32>, %i: tensor<64xi64>) -> (tensor<48xf32>, tensor<64xf32>) {
  %m = tk.kernel [64, 96] ins(%x, %i : tensor<9x96xf32>, tensor<64xi64>) -> (tensor<64x96xf32>) {
  ^bb0(%x0: tensor<9x96xf32>, %i0: tensor<64xi64>, %o: tensor<64x96xf32>):
    %0 = tk.load %i0[d0] : tensor<64xi64> -> i64
    %1 = arith.index_cast %0 : i64 to index
    %2 = tk.load %x0[i0, d1](%1) : tensor<9x96xf32> -> f32
    %3 = arith.negf %2 : f32
    tk.store %3, %o[d0, d1] : f32, tensor<64x96xf32>
  }
  %a = tk.kernel [64, 48] ins(%m : tensor<64x96xf32>) -> (tensor<48xf32>) {
  ^bb0(%m0: tensor<64x96xf32>, %o: tensor<48xf32>):
    %0 = tk.load %m0[d0, d1] : tensor<64x96xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[d1] : f32, tensor<48xf32>
  }
  %b = tk.kernel [64, 48] ins(%m : tensor<64x96xf32>) -> (tensor<64xf32>) {
  ^bb0(%m0: tensor<64x96xf32>, %o: tensor<64xf32>):
    %0 = tk.load %m0[d0, d1 + 48] : tensor<64x96xf32> -> f32
    %1 = tk.reduce max %0 over [1] : f32
    tk.store %1, %o[d0] : f32, tensor<64xf32>
  }
  func.return %a, %b : tensor<48xf32>, tensor<64xf32>
}

// -----

// Both read all of it: of three inputs that would be more.
// CHECK-LABEL:   @more_to_read
// CHECK-COUNT-3: tk.kernel
func.func @more_to_read(%x: tensor<64x96xf32>, %y: tensor<64x96xf32>, %z: tensor<64x96xf32>) -> (tensor<96xf32>, tensor<96xf32>) {
  %m = tk.kernel [64, 96] ins(%x, %y, %z : tensor<64x96xf32>, tensor<64x96xf32>, tensor<64x96xf32>) -> (tensor<64x96xf32>) {
  ^bb0(%x0: tensor<64x96xf32>, %y0: tensor<64x96xf32>, %z0: tensor<64x96xf32>, %o: tensor<64x96xf32>):
    %0 = tk.load %x0[d0, d1] : tensor<64x96xf32> -> f32
    %1 = tk.load %y0[d0, d1] : tensor<64x96xf32> -> f32
    %2 = tk.load %z0[d0, d1] : tensor<64x96xf32> -> f32
    %3 = arith.mulf %0, %1 : f32
    %4 = arith.mulf %2, %3 : f32
    tk.store %4, %o[d0, d1] : f32, tensor<64x96xf32>
  }
  %a = tk.kernel [64, 96] ins(%m : tensor<64x96xf32>) -> (tensor<96xf32>) {
  ^bb0(%m0: tensor<64x96xf32>, %o: tensor<96xf32>):
    %0 = tk.load %m0[d0, d1] : tensor<64x96xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[d1] : f32, tensor<96xf32>
  }
  %b = tk.kernel [64, 96] ins(%m : tensor<64x96xf32>) -> (tensor<96xf32>) {
  ^bb0(%m0: tensor<64x96xf32>, %o: tensor<96xf32>):
    %0 = tk.load %m0[d0, d1] : tensor<64x96xf32> -> f32
    %1 = tk.reduce max %0 over [0] : f32
    tk.store %1, %o[d1] : f32, tensor<96xf32>
  }
  func.return %a, %b : tensor<96xf32>, tensor<96xf32>
}

// -----

// It is in memory anyway.
// CHECK-LABEL:   @returned
// CHECK-COUNT-2: tk.kernel
func.func @returned(%x: tensor<64x96xf32>) -> (tensor<96xf32>, tensor<64x96xf32>) {
  %m = tk.kernel [64, 96] ins(%x : tensor<64x96xf32>) -> (tensor<64x96xf32>) {
  ^bb0(%x0: tensor<64x96xf32>, %o: tensor<64x96xf32>):
    %0 = tk.load %x0[d0, d1] : tensor<64x96xf32> -> f32
    %1 = arith.negf %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<64x96xf32>
  }
  %a = tk.kernel [64, 96] ins(%m : tensor<64x96xf32>) -> (tensor<96xf32>) {
  ^bb0(%m0: tensor<64x96xf32>, %o: tensor<96xf32>):
    %0 = tk.load %m0[d0, d1] : tensor<64x96xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[d1] : f32, tensor<96xf32>
  }
  func.return %a, %m : tensor<96xf32>, tensor<64x96xf32>
}

// -----

// Rows are not reduced again.
// CHECK-LABEL:   @reduced
// CHECK-COUNT-3: tk.kernel
// REMARK:        stored for those that read it: one of them cannot make it, or has no time to
func.func @reduced(%x: tensor<64x96xf32>) -> (tensor<96xf32>, tensor<96xf32>) {
  %m = tk.kernel [64, 96] ins(%x : tensor<64x96xf32>) -> (tensor<64x96xf32>) {
  ^bb0(%x0: tensor<64x96xf32>, %o: tensor<64x96xf32>):
    %0 = tk.load %x0[d0, d1] : tensor<64x96xf32> -> f32
    %1 = tk.reduce max %0 over [1] : f32
    %2 = arith.subf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<64x96xf32>
  }
  %a = tk.kernel [64, 96] ins(%m : tensor<64x96xf32>) -> (tensor<96xf32>) {
  ^bb0(%m0: tensor<64x96xf32>, %o: tensor<96xf32>):
    %0 = tk.load %m0[d0, d1] : tensor<64x96xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[d1] : f32, tensor<96xf32>
  }
  %b = tk.kernel [64, 96] ins(%m : tensor<64x96xf32>) -> (tensor<96xf32>) {
  ^bb0(%m0: tensor<64x96xf32>, %o: tensor<96xf32>):
    %0 = tk.load %m0[d0, d1] : tensor<64x96xf32> -> f32
    %1 = tk.reduce max %0 over [0] : f32
    tk.store %1, %o[d1] : f32, tensor<96xf32>
  }
  func.return %a, %b : tensor<96xf32>, tensor<96xf32>
}

// -----

// What is added to %y in place would change what is still to be read of it.
// CHECK-LABEL:   @changed_in_place
// CHECK-COUNT-3: tk.kernel
// REMARK:        stored for those that read it: one of them changes in place what it is made of
func.func @changed_in_place(%x: tensor<12xf32>, %i: tensor<12xi64>) -> tensor<12xf32> {
  %y = tk.kernel [12] ins(%x : tensor<12xf32>) -> (tensor<12xf32>) {
  ^bb0(%x0: tensor<12xf32>, %o: tensor<12xf32>):
    %0 = tk.load %x0[d0] : tensor<12xf32> -> f32
    %1 = tk.scan add %0 along 0 : f32
    tk.store %1, %o[d0] : f32, tensor<12xf32>
  }
  %m = tk.kernel [12] ins(%y : tensor<12xf32>) -> (tensor<12xf32>) {
  ^bb0(%y0: tensor<12xf32>, %o: tensor<12xf32>):
    %0 = tk.load %y0[-d0 + 11] : tensor<12xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<12xf32>
  }
  %r = tk.kernel [12, 12] ins(%y, %m, %i : tensor<12xf32>, tensor<12xf32>, tensor<12xi64>) -> (tensor<12xf32>) {
  ^bb0(%y0: tensor<12xf32>, %m0: tensor<12xf32>, %i0: tensor<12xi64>, %o: tensor<12xf32>):
    %0 = tk.load %y0[d0] : tensor<12xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<12xf32>
    %1 = tk.load %i0[d1] : tensor<12xi64> -> i64
    %2 = arith.index_cast %1 : i64 to index
    %3 = tk.load %m0[d1] : tensor<12xf32> -> f32
    tk.store %3, %o[i0](%2) over [1] combine add : f32, tensor<12xf32>
  }
  func.return %r : tensor<12xf32>
}

// -----

// Each program of the reader has one of four channels, and would read all of them.
// CHECK-LABEL:   @at_several_places
// CHECK-COUNT-2: tk.kernel
func.func @at_several_places(%x: tensor<3x4x35xf32>) -> tensor<3x4xf32> {
  %m = tk.kernel [3, 35] ins(%x : tensor<3x4x35xf32>) -> (tensor<3x35xf32>) {
  ^bb0(%x0: tensor<3x4x35xf32>, %o: tensor<3x35xf32>):
    %0 = tk.load %x0[d0, 0, d1] : tensor<3x4x35xf32> -> f32
    %1 = tk.load %x0[d0, 1, d1] : tensor<3x4x35xf32> -> f32
    %2 = tk.load %x0[d0, 2, d1] : tensor<3x4x35xf32> -> f32
    %3 = tk.load %x0[d0, 3, d1] : tensor<3x4x35xf32> -> f32
    %4 = arith.addf %0, %1 : f32
    %5 = arith.addf %2, %3 : f32
    %6 = arith.addf %4, %5 : f32
    tk.store %6, %o[d0, d1] : f32, tensor<3x35xf32>
  }
  %r = tk.kernel [3, 4, 35] ins(%x, %m : tensor<3x4x35xf32>, tensor<3x35xf32>) -> (tensor<3x4xf32>) {
  ^bb0(%x0: tensor<3x4x35xf32>, %m0: tensor<3x35xf32>, %o: tensor<3x4xf32>):
    %0 = tk.load %x0[d0, d1, d2] : tensor<3x4x35xf32> -> f32
    %1 = tk.load %m0[d0, d2] : tensor<3x35xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    %3 = tk.reduce add %2 over [2] : f32
    tk.store %3, %o[d0, d1] : f32, tensor<3x4xf32>
  }
  func.return %r : tensor<3x4xf32>
}

// -----

// Chained products read queries once, which are scaled then: matrix units are given halves.
// CHECK-LABEL: @scaled_queries
// CHECK-NEXT:  tk.kernel [2, 8, 5, 9, 4] ins(
// CHECK:       %[[P:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK:       %[[F:.*]] = arith.mulf %[[P]], %{{.*}} : f32
// CHECK-NEXT:  tk.reduce add %[[F]] over [4] {tk.factors = bf16}
// CHECK-NOT:   tk.kernel
func.func @scaled_queries(%q: tensor<2x8x4xbf16>, %k: tensor<2x9x4xbf16>, %v: tensor<2x9x5xbf16>) -> tensor<2x8x5xbf16> {
  %s = tk.kernel [2, 8, 4] ins(%q : tensor<2x8x4xbf16>) -> (tensor<2x8x4xbf16>) {
  ^bb0(%0: tensor<2x8x4xbf16>, %1: tensor<2x8x4xbf16>):
    %2 = tk.load %0[d0, d1, d2] : tensor<2x8x4xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.constant 0.125 : f32
    %5 = arith.mulf %3, %4 : f32
    %6 = arith.truncf %5 : f32 to bf16
    tk.store %6, %1[d0, d1, d2] : bf16, tensor<2x8x4xbf16>
  }
  %r = tk.kernel [2, 8, 5, 9, 4] ins(%s, %k, %v : tensor<2x8x4xbf16>, tensor<2x9x4xbf16>, tensor<2x9x5xbf16>) -> (tensor<2x8x5xbf16>) {
  ^bb0(%0: tensor<2x8x4xbf16>, %1: tensor<2x9x4xbf16>, %2: tensor<2x9x5xbf16>, %3: tensor<2x8x5xbf16>):
    %4 = tk.load %0[d0, d1, d4] : tensor<2x8x4xbf16> -> bf16
    %5 = arith.extf %4 : bf16 to f32
    %6 = tk.load %1[d0, d3, d4] : tensor<2x9x4xbf16> -> bf16
    %7 = arith.extf %6 : bf16 to f32
    %8 = arith.mulf %5, %7 : f32
    %9 = tk.reduce add %8 over [4] {tk.factors = bf16} : f32
    %10 = tk.reduce max %9 over [3] : f32
    %11 = math.absf %10 : f32
    %12 = arith.constant 0.000000e+00 : f32
    %13 = arith.constant 0x7f800000 : f32
    %14 = arith.cmpf oeq, %11, %13 : f32
    %15 = arith.select %14, %12, %10 : f32
    %16 = arith.subf %10, %10 : f32
    %17 = arith.subf %9, %15 : f32
    %18 = math.exp %17 : f32
    %19 = tk.reduce add %18 over [3] : f32
    %20 = arith.addf %19, %16 : f32
    %21 = tk.load %2[d0, d3, d2] : tensor<2x9x5xbf16> -> bf16
    %22 = arith.extf %21 : bf16 to f32
    %23 = arith.mulf %18, %22 : f32
    %24 = tk.reduce add %23 over [3] {tk.factors = bf16} : f32
    %25 = arith.divf %24, %20 : f32
    %26 = arith.truncf %25 : f32 to bf16
    tk.store %26, %3[d0, d1, d2] : bf16, tensor<2x8x5xbf16>
  }
  func.return %r : tensor<2x8x5xbf16>
}

// -----

// Queries with weights of their own are made by a kernel.
// CHECK-LABEL:   @weighed_queries
// CHECK-COUNT-2: tk.kernel
func.func @weighed_queries(%q: tensor<2x8x4xbf16>, %w: tensor<4xbf16>, %k: tensor<2x9x4xbf16>, %v: tensor<2x9x5xbf16>) -> tensor<2x8x5xbf16> {
  %s = tk.kernel [2, 8, 4] ins(%q, %w : tensor<2x8x4xbf16>, tensor<4xbf16>) -> (tensor<2x8x4xbf16>) {
  ^bb0(%0: tensor<2x8x4xbf16>, %1: tensor<4xbf16>, %2: tensor<2x8x4xbf16>):
    %3 = tk.load %0[d0, d1, d2] : tensor<2x8x4xbf16> -> bf16
    %4 = arith.extf %3 : bf16 to f32
    %5 = tk.load %1[d2] : tensor<4xbf16> -> bf16
    %6 = arith.extf %5 : bf16 to f32
    %7 = arith.mulf %4, %6 : f32
    %8 = arith.truncf %7 : f32 to bf16
    tk.store %8, %2[d0, d1, d2] : bf16, tensor<2x8x4xbf16>
  }
  %r = tk.kernel [2, 8, 5, 9, 4] ins(%s, %k, %v : tensor<2x8x4xbf16>, tensor<2x9x4xbf16>, tensor<2x9x5xbf16>) -> (tensor<2x8x5xbf16>) {
  ^bb0(%0: tensor<2x8x4xbf16>, %1: tensor<2x9x4xbf16>, %2: tensor<2x9x5xbf16>, %3: tensor<2x8x5xbf16>):
    %4 = tk.load %0[d0, d1, d4] : tensor<2x8x4xbf16> -> bf16
    %5 = arith.extf %4 : bf16 to f32
    %6 = tk.load %1[d0, d3, d4] : tensor<2x9x4xbf16> -> bf16
    %7 = arith.extf %6 : bf16 to f32
    %8 = arith.mulf %5, %7 : f32
    %9 = tk.reduce add %8 over [4] {tk.factors = bf16} : f32
    %10 = tk.reduce max %9 over [3] : f32
    %11 = math.absf %10 : f32
    %12 = arith.constant 0.000000e+00 : f32
    %13 = arith.constant 0x7f800000 : f32
    %14 = arith.cmpf oeq, %11, %13 : f32
    %15 = arith.select %14, %12, %10 : f32
    %16 = arith.subf %10, %10 : f32
    %17 = arith.subf %9, %15 : f32
    %18 = math.exp %17 : f32
    %19 = tk.reduce add %18 over [3] : f32
    %20 = arith.addf %19, %16 : f32
    %21 = tk.load %2[d0, d3, d2] : tensor<2x9x5xbf16> -> bf16
    %22 = arith.extf %21 : bf16 to f32
    %23 = arith.mulf %18, %22 : f32
    %24 = tk.reduce add %23 over [3] {tk.factors = bf16} : f32
    %25 = arith.divf %24, %20 : f32
    %26 = arith.truncf %25 : f32 to bf16
    tk.store %26, %3[d0, d1, d2] : bf16, tensor<2x8x5xbf16>
  }
  func.return %r : tensor<2x8x5xbf16>
}

// -----

// They go along the keys.
// CHECK-LABEL:   @scaled_keys
// CHECK-COUNT-2: tk.kernel
func.func @scaled_keys(%q: tensor<2x8x4xbf16>, %k: tensor<2x9x4xbf16>, %v: tensor<2x9x5xbf16>) -> tensor<2x8x5xbf16> {
  %s = tk.kernel [2, 9, 4] ins(%k : tensor<2x9x4xbf16>) -> (tensor<2x9x4xbf16>) {
  ^bb0(%0: tensor<2x9x4xbf16>, %1: tensor<2x9x4xbf16>):
    %2 = tk.load %0[d0, d1, d2] : tensor<2x9x4xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.constant 0.125 : f32
    %5 = arith.mulf %3, %4 : f32
    %6 = arith.truncf %5 : f32 to bf16
    tk.store %6, %1[d0, d1, d2] : bf16, tensor<2x9x4xbf16>
  }
  %r = tk.kernel [2, 8, 5, 9, 4] ins(%q, %s, %v : tensor<2x8x4xbf16>, tensor<2x9x4xbf16>, tensor<2x9x5xbf16>) -> (tensor<2x8x5xbf16>) {
  ^bb0(%0: tensor<2x8x4xbf16>, %1: tensor<2x9x4xbf16>, %2: tensor<2x9x5xbf16>, %3: tensor<2x8x5xbf16>):
    %4 = tk.load %0[d0, d1, d4] : tensor<2x8x4xbf16> -> bf16
    %5 = arith.extf %4 : bf16 to f32
    %6 = tk.load %1[d0, d3, d4] : tensor<2x9x4xbf16> -> bf16
    %7 = arith.extf %6 : bf16 to f32
    %8 = arith.mulf %5, %7 : f32
    %9 = tk.reduce add %8 over [4] {tk.factors = bf16} : f32
    %10 = tk.reduce max %9 over [3] : f32
    %11 = math.absf %10 : f32
    %12 = arith.constant 0.000000e+00 : f32
    %13 = arith.constant 0x7f800000 : f32
    %14 = arith.cmpf oeq, %11, %13 : f32
    %15 = arith.select %14, %12, %10 : f32
    %16 = arith.subf %10, %10 : f32
    %17 = arith.subf %9, %15 : f32
    %18 = math.exp %17 : f32
    %19 = tk.reduce add %18 over [3] : f32
    %20 = arith.addf %19, %16 : f32
    %21 = tk.load %2[d0, d3, d2] : tensor<2x9x5xbf16> -> bf16
    %22 = arith.extf %21 : bf16 to f32
    %23 = arith.mulf %18, %22 : f32
    %24 = tk.reduce add %23 over [3] {tk.factors = bf16} : f32
    %25 = arith.divf %24, %20 : f32
    %26 = arith.truncf %25 : f32 to bf16
    tk.store %26, %3[d0, d1, d2] : bf16, tensor<2x8x5xbf16>
  }
  func.return %r : tensor<2x8x5xbf16>
}
