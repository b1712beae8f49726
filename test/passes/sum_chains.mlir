// RUN: tilewright-opt %s -p sum-chains --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p sum-chains --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p sum-chains --split-input-file --check-semantics -o /dev/null

// 256 batches in pairs: the sum over rows (axis 3) goes over both of a pair (axis 4) as well. Its results are
// not rounded before they are added; a number is multiplied behind.
// CHECK-LABEL: @pairs
// CHECK: %[[R:.*]] = tk.kernel [128, 4, 4, 2, 6, 4] ins(%k, %q : {{.*}}) -> (tensor<128x4x4xf16>)
// CHECK-NOT: tk.kernel
// CHECK: tk.load %{{.*}}[d0, d1, d5]
// CHECK: tk.load %{{.*}}[d0*2 + d3, d4, d5]
// CHECK: %[[S:.*]] = tk.reduce add %{{.*}} over [5] {tk.factors = f16}
// CHECK-NOT: arith.truncf
// CHECK: %[[T:.*]] = tk.reduce add %{{.*}} over [3, 4] {tk.factors = f16} : f32 loc("m.py":3:0)
// CHECK-NEXT: %[[U:.*]] = arith.mulf %[[T]], %{{.*}} : f32 loc("m.py":5:0)
// CHECK-NEXT: arith.truncf %[[U]]
// CHECK: } loc("m.py":5:0)
// CHECK-NEXT: return %[[R]]
func.func @pairs(%k: tensor<256x4x4xf16>, %q: tensor<256x6x4xf16>) -> tensor<128x4x4xf16> {
  %g = tk.kernel [256, 4, 4, 6, 4] ins(%k, %q : tensor<256x4x4xf16>, tensor<256x6x4xf16>) -> (tensor<256x4x4xf16>) {
  ^bb0(%a: tensor<256x4x4xf16>, %b: tensor<256x6x4xf16>, %r: tensor<256x4x4xf16>):
    %0 = tk.load %a[d0 floordiv 2, d1, d4] : tensor<256x4x4xf16> -> f16
    %1 = arith.extf %0 : f16 to f32
    %2 = tk.load %b[d0, d3, d4] : tensor<256x6x4xf16> -> f16
    %3 = arith.extf %2 : f16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [4] {tk.factors = f16} : f32
    %6 = tk.load %b[d0, d3, d2] : tensor<256x6x4xf16> -> f16
    %7 = arith.extf %6 : f16 to f32
    %8 = arith.mulf %5, %7 : f32
    %9 = tk.reduce add %8 over [3] {tk.factors = f16} : f32 loc("m.py":3:0)
    %10 = arith.constant 0.125 : f32
    %11 = arith.mulf %9, %10 : f32
    %12 = arith.truncf %11 : f32 to f16
    tk.store %12, %r[d0, d1, d2] : f16, tensor<256x4x4xf16>
  }
  %s = tk.kernel [128, 4, 4, 2] ins(%g : tensor<256x4x4xf16>) -> (tensor<128x4x4xf16>) {
  ^bb0(%a: tensor<256x4x4xf16>, %r: tensor<128x4x4xf16>):
    %0 = tk.load %a[d0*2 + d3, d1, d2] : tensor<256x4x4xf16> -> f16
    %1 = arith.extf %0 : f16 to f32
    %2 = tk.reduce add %1 over [3] : f32 loc("m.py":5:0)
    %3 = arith.truncf %2 : f32 to f16
    tk.store %3, %r[d0, d1, d2] : f16, tensor<128x4x4xf16>
  } loc("m.py":5:0)
  func.return %s : tensor<128x4x4xf16>
}

// -----

// Somebody reads the results of single batches.
// CHECK-LABEL: @read_elsewhere
// CHECK-COUNT-2: tk.kernel
func.func @read_elsewhere(%k: tensor<256x4x4xf16>, %q: tensor<256x6x4xf16>) -> (tensor<128x4x4xf16>, tensor<256x4x4xf16>) {
  %g = tk.kernel [256, 4, 4, 6, 4] ins(%k, %q : tensor<256x4x4xf16>, tensor<256x6x4xf16>) -> (tensor<256x4x4xf16>) {
  ^bb0(%a: tensor<256x4x4xf16>, %b: tensor<256x6x4xf16>, %r: tensor<256x4x4xf16>):
    %0 = tk.load %a[d0 floordiv 2, d1, d4] : tensor<256x4x4xf16> -> f16
    %1 = arith.extf %0 : f16 to f32
    %2 = tk.load %b[d0, d3, d4] : tensor<256x6x4xf16> -> f16
    %3 = arith.extf %2 : f16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [4] {tk.factors = f16} : f32
    %6 = tk.load %b[d0, d3, d2] : tensor<256x6x4xf16> -> f16
    %7 = arith.extf %6 : f16 to f32
    %8 = arith.mulf %5, %7 : f32
    %9 = tk.reduce add %8 over [3] {tk.factors = f16} : f32 loc("m.py":3:0)
    %10 = arith.constant 0.125 : f32
    %11 = arith.mulf %9, %10 : f32
    %12 = arith.truncf %11 : f32 to f16
    tk.store %12, %r[d0, d1, d2] : f16, tensor<256x4x4xf16>
  }
  %s = tk.kernel [128, 4, 4, 2] ins(%g : tensor<256x4x4xf16>) -> (tensor<128x4x4xf16>) {
  ^bb0(%a: tensor<256x4x4xf16>, %r: tensor<128x4x4xf16>):
    %0 = tk.load %a[d0*2 + d3, d1, d2] : tensor<256x4x4xf16> -> f16
    %1 = arith.extf %0 : f16 to f32
    %2 = tk.reduce add %1 over [3] : f32 loc("m.py":5:0)
    %3 = arith.truncf %2 : f32 to f16
    tk.store %3, %r[d0, d1, d2] : f16, tensor<128x4x4xf16>
  } loc("m.py":5:0)
  func.return %s, %g : tensor<128x4x4xf16>, tensor<256x4x4xf16>
}

// -----

// No sum.
// CHECK-LABEL: @maxima
// CHECK-COUNT-2: tk.kernel
func.func @maxima(%k: tensor<256x4x4xf16>, %q: tensor<256x6x4xf16>) -> tensor<128x4x4xf16> {
  %g = tk.kernel [256, 4, 4, 6, 4] ins(%k, %q : tensor<256x4x4xf16>, tensor<256x6x4xf16>) -> (tensor<256x4x4xf16>) {
  ^bb0(%a: tensor<256x4x4xf16>, %b: tensor<256x6x4xf16>, %r: tensor<256x4x4xf16>):
    %0 = tk.load %a[d0 floordiv 2, d1, d4] : tensor<256x4x4xf16> -> f16
    %1 = arith.extf %0 : f16 to f32
    %2 = tk.load %b[d0, d3, d4] : tensor<256x6x4xf16> -> f16
    %3 = arith.extf %2 : f16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [4] {tk.factors = f16} : f32
    %6 = tk.load %b[d0, d3, d2] : tensor<256x6x4xf16> -> f16
    %7 = arith.extf %6 : f16 to f32
    %8 = arith.mulf %5, %7 : f32
    %9 = tk.reduce add %8 over [3] {tk.factors = f16} : f32 loc("m.py":3:0)
    %10 = arith.constant 0.125 : f32
    %11 = arith.mulf %9, %10 : f32
    %12 = arith.truncf %11 : f32 to f16
    tk.store %12, %r[d0, d1, d2] : f16, tensor<256x4x4xf16>
  }
  %s = tk.kernel [128, 4, 4, 2] ins(%g : tensor<256x4x4xf16>) -> (tensor<128x4x4xf16>) {
  ^bb0(%a: tensor<256x4x4xf16>, %r: tensor<128x4x4xf16>):
    %0 = tk.load %a[d0*2 + d3, d1, d2] : tensor<256x4x4xf16> -> f16
    %1 = arith.extf %0 : f16 to f32
    %2 = tk.reduce max %1 over [3] : f32 loc("m.py":5:0)
    %3 = arith.truncf %2 : f32 to f16
    tk.store %3, %r[d0, d1, d2] : f16, tensor<128x4x4xf16>
  } loc("m.py":5:0)
  func.return %s : tensor<128x4x4xf16>
}

// -----

// CHECK-LABEL: @few_programs
// CHECK-COUNT-2: tk.kernel
// REMARK: its results are summed elsewhere: few programs would go a long way
func.func @few_programs(%k: tensor<254x4x4xf16>, %q: tensor<254x6x4xf16>) -> tensor<127x4x4xf16> {
  %g = tk.kernel [254, 4, 4, 6, 4] ins(%k, %q : tensor<254x4x4xf16>, tensor<254x6x4xf16>) -> (tensor<254x4x4xf16>) {
  ^bb0(%a: tensor<254x4x4xf16>, %b: tensor<254x6x4xf16>, %r: tensor<254x4x4xf16>):
    %0 = tk.load %a[d0 floordiv 2, d1, d4] : tensor<254x4x4xf16> -> f16
    %1 = arith.extf %0 : f16 to f32
    %2 = tk.load %b[d0, d3, d4] : tensor<254x6x4xf16> -> f16
    %3 = arith.extf %2 : f16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [4] {tk.factors = f16} : f32
    %6 = tk.load %b[d0, d3, d2] : tensor<254x6x4xf16> -> f16
    %7 = arith.extf %6 : f16 to f32
    %8 = arith.mulf %5, %7 : f32
    %9 = tk.reduce add %8 over [3] {tk.factors = f16} : f32 loc("m.py":3:0)
    %10 = arith.constant 0.125 : f32
    %11 = arith.mulf %9, %10 : f32
    %12 = arith.truncf %11 : f32 to f16
    tk.store %12, %r[d0, d1, d2] : f16, tensor<254x4x4xf16>
  }
  %s = tk.kernel [127, 4, 4, 2] ins(%g : tensor<254x4x4xf16>) -> (tensor<127x4x4xf16>) {
  ^bb0(%a: tensor<254x4x4xf16>, %r: tensor<127x4x4xf16>):
    %0 = tk.load %a[d0*2 + d3, d1, d2] : tensor<254x4x4xf16> -> f16
    %1 = arith.extf %0 : f16 to f32
    %2 = tk.reduce add %1 over [3] : f32 loc("m.py":5:0)
    %3 = arith.truncf %2 : f32 to f16
    tk.store %3, %r[d0, d1, d2] : f16, tensor<127x4x4xf16>
  } loc("m.py":5:0)
  func.return %s : tensor<127x4x4xf16>
}

// -----

// A factor that may be infinite stays where it was, whatever batches it belongs to.
// CHECK-LABEL: @factors_of_batches
// CHECK-COUNT-2: tk.kernel
// REMARK: its results are summed elsewhere: together they are no chain that goes along batches
func.func @factors_of_batches(%k: tensor<256x4x4xf16>, %q: tensor<256x6x4xf16>, %w: tensor<256xf32>) -> tensor<128x4x4xf16> {
  %g = tk.kernel [256, 4, 4, 6, 4] ins(%k, %q, %w : tensor<256x4x4xf16>, tensor<256x6x4xf16>, tensor<256xf32>) -> (tensor<256x4x4xf16>) {
  ^bb0(%a: tensor<256x4x4xf16>, %b: tensor<256x6x4xf16>, %c: tensor<256xf32>, %r: tensor<256x4x4xf16>):
    %0 = tk.load %a[d0 floordiv 2, d1, d4] : tensor<256x4x4xf16> -> f16
    %1 = arith.extf %0 : f16 to f32
    %2 = tk.load %b[d0, d3, d4] : tensor<256x6x4xf16> -> f16
    %3 = arith.extf %2 : f16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [4] {tk.factors = f16} : f32
    %6 = tk.load %b[d0, d3, d2] : tensor<256x6x4xf16> -> f16
    %7 = arith.extf %6 : f16 to f32
    %8 = arith.mulf %5, %7 : f32
    %9 = tk.reduce add %8 over [3] {tk.factors = f16} : f32 loc("m.py":3:0)
    %10 = tk.load %c[d0] : tensor<256xf32> -> f32
    %11 = arith.mulf %9, %10 : f32
    %12 = arith.truncf %11 : f32 to f16
    tk.store %12, %r[d0, d1, d2] : f16, tensor<256x4x4xf16>
  }
  %s = tk.kernel [128, 4, 4, 2] ins(%g : tensor<256x4x4xf16>) -> (tensor<128x4x4xf16>) {
  ^bb0(%a: tensor<256x4x4xf16>, %r: tensor<128x4x4xf16>):
    %0 = tk.load %a[d0*2 + d3, d1, d2] : tensor<256x4x4xf16> -> f16
    %1 = arith.extf %0 : f16 to f32
    %2 = tk.reduce add %1 over [3] : f32 loc("m.py":5:0)
    %3 = arith.truncf %2 : f32 to f16
    tk.store %3, %r[d0, d1, d2] : f16, tensor<128x4x4xf16>
  } loc("m.py":5:0)
  func.return %s : tensor<128x4x4xf16>
}
// -----
// CHECK-LABEL: @factors_of_rows
// CHECK-COUNT-2: tk.kernel
// REMARK: its results are summed elsewhere: together they are no chain that goes along batches
func.func @factors_of_rows(%k: tensor<256x4x4xf16>, %q: tensor<256x6x4xf16>, %w: tensor<256xf32>) -> tensor<128x4x4xf16> {
  %g = tk.kernel [256, 4, 4, 6, 4] ins(%k, %q, %w : tensor<256x4x4xf16>, tensor<256x6x4xf16>, tensor<256xf32>) -> (tensor<256x4x4xf16>) {
  ^bb0(%a: tensor<256x4x4xf16>, %b: tensor<256x6x4xf16>, %c: tensor<256xf32>, %r: tensor<256x4x4xf16>):
    %0 = tk.load %a[d0 floordiv 2, d1, d4] : tensor<256x4x4xf16> -> f16
    %1 = arith.extf %0 : f16 to f32
    %2 = tk.load %b[d0, d3, d4] : tensor<256x6x4xf16> -> f16
    %3 = arith.extf %2 : f16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [4] {tk.factors = f16} : f32
    %6 = tk.load %b[d0, d3, d2] : tensor<256x6x4xf16> -> f16
    %7 = arith.extf %6 : f16 to f32
    %8 = arith.mulf %5, %7 : f32
    %9 = tk.reduce add %8 over [3] {tk.factors = f16} : f32 loc("m.py":3:0)
    %10 = tk.load %c[d1] : tensor<256xf32> -> f32
    %11 = arith.mulf %9, %10 : f32
    %12 = arith.truncf %11 : f32 to f16
    tk.store %12, %r[d0, d1, d2] : f16, tensor<256x4x4xf16>
  }
  %s = tk.kernel [128, 4, 4, 2] ins(%g : tensor<256x4x4xf16>) -> (tensor<128x4x4xf16>) {
  ^bb0(%a: tensor<256x4x4xf16>, %r: tensor<128x4x4xf16>):
    %0 = tk.load %a[d0*2 + d3, d1, d2] : tensor<256x4x4xf16> -> f16
    %1 = arith.extf %0 : f16 to f32
    %2 = tk.reduce add %1 over [3] : f32 loc("m.py":5:0)
    %3 = arith.truncf %2 : f32 to f16
    tk.store %3, %r[d0, d1, d2] : f16, tensor<128x4x4xf16>
  } loc("m.py":5:0)
  func.return %s : tensor<128x4x4xf16>
}

// -----

// A product of halves is rounded each time, so that the sum of them is no multiple of a sum.
// CHECK-LABEL: @multiplied_as_halves
// CHECK-COUNT-2: = tk.kernel
// REMARK: tk.kernel at {{.*}}: its results are summed elsewhere: together they are no chain that goes along batches
func.func @multiplied_as_halves(%k: tensor<256x4x4xf16>, %q: tensor<256x6x4xf16>) -> tensor<128x4x4xf16> {
  %g = tk.kernel [256, 4, 4, 6, 4] ins(%k, %q : tensor<256x4x4xf16>, tensor<256x6x4xf16>) -> (tensor<256x4x4xf16>) {
  ^bb0(%a: tensor<256x4x4xf16>, %b: tensor<256x6x4xf16>, %r: tensor<256x4x4xf16>):
    %0 = tk.load %a[d0 floordiv 2, d1, d4] : tensor<256x4x4xf16> -> f16
    %1 = arith.extf %0 : f16 to f32
    %2 = tk.load %b[d0, d3, d4] : tensor<256x6x4xf16> -> f16
    %3 = arith.extf %2 : f16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [4] {tk.factors = f16} : f32
    %6 = tk.load %b[d0, d3, d2] : tensor<256x6x4xf16> -> f16
    %7 = arith.extf %6 : f16 to f32
    %8 = arith.mulf %5, %7 : f32
    %9 = tk.reduce add %8 over [3] {tk.factors = f16} : f32
    %10 = arith.constant 0.125 : f32
    %11 = arith.mulf %9, %10 : f32
    %12 = arith.truncf %11 : f32 to f16
    tk.store %12, %r[d0, d1, d2] : f16, tensor<256x4x4xf16>
  }
  %s = tk.kernel [128, 4, 4, 2] ins(%g : tensor<256x4x4xf16>) -> (tensor<128x4x4xf16>) {
  ^bb0(%a: tensor<256x4x4xf16>, %r: tensor<128x4x4xf16>):
    %0 = tk.load %a[d0*2 + d3, d1, d2] : tensor<256x4x4xf16> -> f16
    %w = arith.constant 0.1 : f16
    %m = arith.mulf %0, %w : f16
    %1 = arith.extf %m : f16 to f32
    %2 = tk.reduce add %1 over [3] : f32
    %3 = arith.truncf %2 : f32 to f16
    tk.store %3, %r[d0, d1, d2] : f16, tensor<128x4x4xf16>
  }
  func.return %s : tensor<128x4x4xf16>
}

// -----

// One loop for all batches has no place for the lists of each.
// CHECK-LABEL: @listed
// CHECK-COUNT-3: tk.kernel
// REMARK: its results are summed elsewhere: it goes along listed blocks
func.func @listed(%q: tensor<256x64x4xbf16>, %k: tensor<256x64x4xbf16>, %v: tensor<256x64x4xbf16>, %c: tensor<4xi32>, %l: tensor<4x6xi32>, %m: tensor<4x6xi32>, %g: tensor<4x8xi1>) -> tensor<128x64x4xf32> {
  %t = tk.kernel [4, 8, 6] ins(%c, %l : tensor<4xi32>, tensor<4x6xi32>) -> (tensor<4x8xi1>) {
  ^bb0(%count: tensor<4xi32>, %list: tensor<4x6xi32>, %o: tensor<4x8xi1>):
    %0 = tk.load %list[d0, d2] : tensor<4x6xi32> -> i32
    %1 = arith.extsi %0 : i32 to i64
    %2 = tk.index "d1" : i64
    %3 = arith.cmpi eq, %1, %2 : i64
    %4 = tk.index "d2" : i64
    %5 = tk.load %count[d0] : tensor<4xi32> -> i32
    %6 = arith.extsi %5 : i32 to i64
    %7 = arith.cmpi slt, %4, %6 : i64
    %8 = arith.andi %3, %7 : i1
    %9 = tk.reduce or %8 over [2] : i1
    tk.store %9, %o[d0, d1] : i1, tensor<4x8xi1>
  }
  %r = tk.kernel [256, 64, 4, 64, 4] ins(%q, %k, %v, %t : tensor<256x64x4xbf16>, tensor<256x64x4xbf16>, tensor<256x64x4xbf16>, tensor<4x8xi1>) -> (tensor<256x64x4xf32>) {
  ^bb0(%qs: tensor<256x64x4xbf16>, %ks: tensor<256x64x4xbf16>, %vs: tensor<256x64x4xbf16>, %ts: tensor<4x8xi1>, %o: tensor<256x64x4xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tk.load %qs[d0 floordiv 2, d1, d4] : tensor<256x64x4xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %ks[d0, d3, d4] : tensor<256x64x4xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
    %b = tk.load %ts[d1 floordiv 16, d3 floordiv 16] : tensor<4x8xi1> -> i1
    %6 = arith.select %b, %5, %zero : f32
    %7 = tk.load %vs[d0, d3, d2] : tensor<256x64x4xbf16> -> bf16
    %8 = arith.extf %7 : bf16 to f32
    %9 = arith.mulf %6, %8 : f32
    %10 = tk.reduce add %9 over [3] {tk.factors = bf16} : f32
    tk.store %10, %o[d0, d1, d2] : f32, tensor<256x64x4xf32>
  }
  %s = tk.kernel [128, 64, 4, 2] ins(%r : tensor<256x64x4xf32>) -> (tensor<128x64x4xf32>) {
  ^bb0(%a: tensor<256x64x4xf32>, %o: tensor<128x64x4xf32>):
    %0 = tk.load %a[d0*2 + d3, d1, d2] : tensor<256x64x4xf32> -> f32
    %1 = tk.reduce add %0 over [3] : f32
    tk.store %1, %o[d0, d1, d2] : f32, tensor<128x64x4xf32>
  }
  func.return %s : tensor<128x64x4xf32>
}

// -----

// What the second sum reads beside its results is made of the first sum.
// CHECK-LABEL: @one_sum_waits_for_the_other
// CHECK-COUNT-4: tk.kernel
// REMARK: its results are summed elsewhere: another path leads from one to the other
func.func @one_sum_waits_for_the_other(%q: tensor<256x6x4xf16>, %k: tensor<256x4x4xf16>) -> (tensor<128x4x4xf32>, tensor<128x4x4xf32>) {
  %g, %h = tk.kernel [256, 4, 4, 4, 6, 4] ins(%k, %q : tensor<256x4x4xf16>, tensor<256x6x4xf16>) -> (tensor<256x4x4xf32>, tensor<256x4x4xf32>) {
  ^bb0(%a: tensor<256x4x4xf16>, %b: tensor<256x6x4xf16>, %r: tensor<256x4x4xf32>, %t: tensor<256x4x4xf32>):
    %0 = tk.load %a[d0 floordiv 2, d1, d5] : tensor<256x4x4xf16> -> f16
    %1 = arith.extf %0 : f16 to f32
    %2 = tk.load %b[d0, d4, d5] : tensor<256x6x4xf16> -> f16
    %3 = arith.extf %2 : f16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [5] {tk.factors = f16} : f32
    %6 = tk.load %b[d0, d4, d2] : tensor<256x6x4xf16> -> f16
    %7 = arith.extf %6 : f16 to f32
    %8 = arith.mulf %5, %7 : f32
    %9 = tk.reduce add %8 over [4] {tk.factors = f16} : f32
    tk.store %9, %r[d0, d1, d2] : f32, tensor<256x4x4xf32>
    %10 = math.exp %5 : f32
    %11 = tk.load %b[d0, d4, d3] : tensor<256x6x4xf16> -> f16
    %12 = arith.extf %11 : f16 to f32
    %13 = arith.mulf %10, %12 : f32
    %14 = tk.reduce add %13 over [4] {tk.factors = f16} : f32
    tk.store %14, %t[d0, d1, d3] : f32, tensor<256x4x4xf32>
  }
  %s = tk.kernel [128, 4, 4, 2] ins(%g : tensor<256x4x4xf32>) -> (tensor<128x4x4xf32>) {
  ^bb0(%a: tensor<256x4x4xf32>, %o: tensor<128x4x4xf32>):
    %0 = tk.load %a[d0*2 + d3, d1, d2] : tensor<256x4x4xf32> -> f32
    %1 = tk.reduce add %0 over [3] : f32
    tk.store %1, %o[d0, d1, d2] : f32, tensor<128x4x4xf32>
  }
  %e = tk.kernel [128, 4, 4] ins(%s : tensor<128x4x4xf32>) -> (tensor<128x4x4xf32>) {
  ^bb0(%a: tensor<128x4x4xf32>, %o: tensor<128x4x4xf32>):
    %0 = tk.load %a[d0, d1, d2] : tensor<128x4x4xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1, d2] : f32, tensor<128x4x4xf32>
  }
  %u = tk.kernel [128, 4, 4, 2] ins(%h, %e : tensor<256x4x4xf32>, tensor<128x4x4xf32>) -> (tensor<128x4x4xf32>) {
  ^bb0(%a: tensor<256x4x4xf32>, %b: tensor<128x4x4xf32>, %o: tensor<128x4x4xf32>):
    %0 = tk.load %a[d0*2 + d3, d1, d2] : tensor<256x4x4xf32> -> f32
    %1 = tk.reduce add %0 over [3] : f32
    %2 = tk.load %b[d0, d1, d2] : tensor<128x4x4xf32> -> f32
    %3 = arith.addf %1, %2 : f32
    tk.store %3, %o[d0, d1, d2] : f32, tensor<128x4x4xf32>
  }
  func.return %s, %u : tensor<128x4x4xf32>, tensor<128x4x4xf32>
}
