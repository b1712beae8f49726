// RUN: tilewright-opt %s -p reduce-online --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p reduce-online --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Rows that no program holds: the maximum and the sum come from one pass over them.

// CHECK-LABEL: @softmax_of_long_rows
// CHECK-NEXT: %[[X:.*]] = tk.load %x[d0*20000 + d1]
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: %[[M:.*]], %[[S:.*]] = tk.sumexp %[[X]], %[[ONE]] over [1] : f32 loc("m.py":2:0)
// CHECK-NEXT: %[[D:.*]] = arith.subf %[[X]], %[[M]]
// CHECK-NEXT: %[[E:.*]] = math.exp %[[D]]
// CHECK-NEXT: %[[N:.*]] = arith.subf %[[M]], %[[M]]
// CHECK-NEXT: %[[F:.*]] = math.exp %[[N]]
// CHECK-NEXT: %[[T:.*]] = arith.mulf %[[S]], %[[F]] : f32 loc("m.py":3:0)
// CHECK-NEXT: arith.divf %[[E]], %[[T]]
tk.func @softmax_of_long_rows [300, 20000] (%x: memref<6000000xf32>, %o: memref<6000000xf32>) {
  %0 = tk.load %x[d0*20000 + d1] : memref<6000000xf32> -> f32
  %1 = tk.reduce max %0 over [1] : f32 loc("m.py":2:0)
  %2 = arith.subf %0, %1 : f32
  %3 = math.exp %2 : f32
  %4 = tk.reduce add %3 over [1] : f32 loc("m.py":3:0)
  %5 = arith.divf %3, %4 : f32
  tk.store %5, %o[d0*20000 + d1] : f32, memref<6000000xf32>
}

// -----

// Zero in the place of an infinite maximum, as in log-sum-exp; rows of unknown length.

// CHECK-LABEL: @log_sum_exp
// CHECK: %[[M:.*]], %[[S:.*]] = tk.sumexp
// CHECK: math.absf %[[M]]
// CHECK: %[[SHIFT:.*]] = arith.select %{{.*}}, %{{.*}}, %[[M]]
// CHECK: %[[N:.*]] = arith.subf %[[M]], %[[SHIFT]]
// CHECK-NEXT: %[[F:.*]] = math.exp %[[N]]
// CHECK-NEXT: arith.mulf %[[S]], %[[F]]
tk.func @log_sum_exp [3, s0] (%x: memref<?xf32>, %o: memref<3xf32>) symbols [s0] {
  %0 = tk.load %x[d0*s0 + d1] : memref<?xf32> -> f32
  %1 = tk.reduce max %0 over [1] : f32
  %a = math.absf %1 : f32
  %i = arith.constant 0x7F800000 : f32
  %z = arith.constant 0.0 : f32
  %c = arith.cmpf oeq, %a, %i : f32
  %m = arith.select %c, %z, %1 : f32
  %2 = arith.subf %0, %m : f32
  %3 = math.exp %2 : f32
  %4 = tk.reduce add %3 over [1] : f32
  %5 = math.log %4 : f32
  %6 = arith.addf %5, %m : f32
  tk.store %6, %o[d0] : f32, memref<3xf32>
}

// -----

// Few long rows, which `split-reductions` will give to several programs each.

// CHECK-LABEL: @few_rows
// CHECK: tk.sumexp
// CHECK-NOT: tk.reduce
func.func @few_rows(%x: tensor<2x200000xf32>) -> tensor<2x200000xf32> {
  %r = tk.kernel [2, 200000] ins(%x : tensor<2x200000xf32>) -> (tensor<2x200000xf32>) {
  ^bb0(%a: tensor<2x200000xf32>, %o: tensor<2x200000xf32>):
    %0 = tk.load %a[d0, d1] : tensor<2x200000xf32> -> f32
    %1 = tk.reduce max %0 over [1] : f32
    %2 = arith.subf %0, %1 : f32
    %3 = math.exp %2 : f32
    %4 = tk.reduce add %3 over [1] : f32
    %5 = arith.divf %3, %4 : f32
    tk.store %5, %o[d0, d1] : f32, tensor<2x200000xf32>
  }
  func.return %r : tensor<2x200000xf32>
}

// -----

// Rows that stay in registers, and a kernel that is not split.

// CHECK-LABEL: @held_rows
// CHECK: tk.reduce max
// CHECK: tk.reduce add
// REMARK: tk.func at {{.*}}: what it reduces stays with one program
tk.func @held_rows [8, 1000] (%x: memref<8000xf32>, %o: memref<8xf32>) {
  %0 = tk.load %x[d0*1000 + d1] : memref<8000xf32> -> f32
  %1 = tk.reduce max %0 over [1] : f32
  %2 = arith.subf %0, %1 : f32
  %3 = math.exp %2 : f32
  %4 = tk.reduce add %3 over [1] : f32
  tk.store %4, %o[d0] : f32, memref<8xf32>
}

// -----

// Attention, which carries its own maximum along the keys.

// CHECK-LABEL: @attention
// CHECK: tk.reduce max
// REMARK: tk.func at {{.*}}: its rows are those of a chain of products
tk.func @attention [16, 8, s0, 4] (%q: memref<64xf32>, %k: memref<?xf32>, %v: memref<?xf32>, %o: memref<128xf32>)
    symbols [s0] {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*4 + d3] : memref<64xf32> -> f32
  %1 = tk.load %k[d2*4 + d3] : memref<?xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  %4 = tk.reduce max %3 over [2] : f32
  %hidden = arith.cmpf oeq, %4, %low : f32
  %shift = arith.select %hidden, %zero, %4 : f32
  %5 = arith.subf %3, %shift : f32
  %6 = math.exp %5 : f32
  %7 = tk.reduce add %6 over [2] : f32
  %8 = tk.load %v[d2*8 + d1] : memref<?xf32> -> f32
  %9 = arith.mulf %6, %8 : f32
  %10 = tk.reduce add %9 over [2] : f32
  %11 = arith.divf %10, %7 : f32
  tk.store %11, %o[d0*8 + d1] : f32, memref<128xf32>
}

// -----

// What is subtracted is another maximum, is no maximum, or differs along the row.

// CHECK-LABEL: @other_shifts
// CHECK-NOT: tk.sumexp
tk.func @other_shifts [3, s0] (%x: memref<?xf32>, %y: memref<?xf32>, %o: memref<9xf32>) symbols [s0] {
  %0 = tk.load %x[d0*s0 + d1] : memref<?xf32> -> f32
  %y0 = tk.load %y[d0*s0 + d1] : memref<?xf32> -> f32
  %1 = tk.reduce max %y0 over [1] : f32
  %2 = arith.subf %0, %1 : f32
  %3 = math.exp %2 : f32
  %4 = tk.reduce add %3 over [1] : f32
  %5 = tk.reduce min %0 over [1] : f32
  %6 = arith.subf %0, %5 : f32
  %7 = math.exp %6 : f32
  %8 = tk.reduce add %7 over [1] : f32
  %9 = tk.reduce max %0 over [1] : f32
  %z = arith.constant 0.0 : f32
  %c = arith.cmpf oeq, %0, %z : f32
  %s = arith.select %c, %z, %9 : f32
  %10 = arith.subf %0, %s : f32
  %11 = math.exp %10 : f32
  %12 = tk.reduce add %11 over [1] : f32
  tk.store %4, %o[d0*3] : f32, memref<9xf32>
  tk.store %8, %o[d0*3 + 1] : f32, memref<9xf32>
  tk.store %12, %o[d0*3 + 2] : f32, memref<9xf32>
}
