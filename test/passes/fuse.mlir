// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,dce,fuse,dce --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,dce,fuse --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p "convert-tw-to-tk,absorb-views,dce,fuse{max-ops=3},dce" --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=SMALL

// CHECK-LABEL: @softmax
// CHECK-NEXT: tk.kernel [8, 12] ins(%x
// CHECK:      %[[X:.*]] = arith.extf
// CHECK-NEXT: %[[M:.*]] = tk.reduce max %[[X]] over [1]
// CHECK-NEXT: %[[D:.*]] = arith.subf %[[X]], %[[M]]
// CHECK-NEXT: %[[E:.*]] = math.exp %[[D]]
// CHECK-NEXT: %[[S:.*]] = tk.reduce add %[[E]] over [1]
// CHECK-NEXT: arith.divf %[[E]], %[[S]]
// CHECK-NOT:  tk.kernel
// SMALL:      not fused with the kernel of {{.*}}: the kernel would have {{[0-9]+}} ops, max-ops is 3
func.func @softmax(%x: tensor<8x12xbf16>) -> tensor<8x12xbf16> {
  %f = tw.cast %x : tensor<8x12xbf16> -> tensor<8x12xf32>
  %m = tw.max %f over [1] : tensor<8x12xf32> -> tensor<8xf32>
  %mb = tw.broadcast %m dims [0] : tensor<8xf32> -> tensor<8x12xf32>
  %d = tw.sub %f, %mb : tensor<8x12xf32>
  %e = tw.exp %d : tensor<8x12xf32>
  %s = tw.sum %e over [1] : tensor<8x12xf32> -> tensor<8xf32>
  %sb = tw.broadcast %s dims [0] : tensor<8xf32> -> tensor<8x12xf32>
  %q = tw.div %e, %sb : tensor<8x12xf32>
  %r = tw.cast %q : tensor<8x12xf32> -> tensor<8x12xbf16>
  func.return %r : tensor<8x12xbf16>
}

// -----

// CHECK-LABEL: @norm
// CHECK-NEXT: %{{.*}}, %[[O:.*]] = tk.kernel [2, 4, 12]
// CHECK:      tk.load %{{.*}}[d0*4 + d1, d2] : tensor<8x12xf32>
// CHECK:      tk.store
// CHECK:      tk.reduce add
// CHECK:      tk.reduce add
// CHECK:      math.rsqrt
// CHECK-NOT:  tk.kernel
// CHECK:      tw.reshape %[[O]]
// layer norm over a flattened residual sum, whose sum is also returned
func.func @norm(%x: tensor<2x4x12xf32>, %y: tensor<8x12xf32>, %w: tensor<12xf32>, %b: tensor<12xf32>) -> (tensor<8x12xf32>, tensor<2x4x12xf32>) {
  %y3 = tw.reshape %y : tensor<8x12xf32> -> tensor<2x4x12xf32>
  %a = tw.add %x, %y3 : tensor<2x4x12xf32>
  %n = tw.full 12.0 : f32 -> tensor<2x4xf32>
  %s = tw.sum %a over [2] : tensor<2x4x12xf32> -> tensor<2x4xf32>
  %mean = tw.div %s, %n : tensor<2x4xf32>
  %mb = tw.broadcast %mean dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x12xf32>
  %c = tw.sub %a, %mb : tensor<2x4x12xf32>
  %sq = tw.mul %c, %c : tensor<2x4x12xf32>
  %v = tw.sum %sq over [2] : tensor<2x4x12xf32> -> tensor<2x4xf32>
  %var = tw.div %v, %n : tensor<2x4xf32>
  %eps = tw.full 1.0e-5 : f32 -> tensor<2x4xf32>
  %ve = tw.add %var, %eps : tensor<2x4xf32>
  %r = tw.rsqrt %ve : tensor<2x4xf32>
  %rb = tw.broadcast %r dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x12xf32>
  %nn = tw.mul %c, %rb : tensor<2x4x12xf32>
  %wb = tw.broadcast %w dims [2] : tensor<12xf32> -> tensor<2x4x12xf32>
  %bb = tw.broadcast %b dims [2] : tensor<12xf32> -> tensor<2x4x12xf32>
  %nw = tw.mul %nn, %wb : tensor<2x4x12xf32>
  %o = tw.add %nw, %bb : tensor<2x4x12xf32>
  %of = tw.reshape %o : tensor<2x4x12xf32> -> tensor<8x12xf32>
  func.return %of, %a : tensor<8x12xf32>, tensor<2x4x12xf32>
}

// -----

// CHECK-LABEL: @bn
// CHECK:      tk.load
// CHECK-NEXT: tk.reduce add %{{.*}} over [0, 2, 3]
// CHECK-NOT:  tk.load
// CHECK-NOT:  tk.kernel
func.func @bn(%x: tensor<4x3x5x5xf32>) -> (tensor<4x3x5x5xf32>, tensor<3xf32>) {
  %s = tw.sum %x over [0, 2, 3] : tensor<4x3x5x5xf32> -> tensor<3xf32>
  %n = tw.full 100.0 : f32 -> tensor<3xf32>
  %m = tw.div %s, %n : tensor<3xf32>
  %mb = tw.broadcast %m dims [1] : tensor<3xf32> -> tensor<4x3x5x5xf32>
  %c = tw.sub %x, %mb : tensor<4x3x5x5xf32>
  func.return %c, %m : tensor<4x3x5x5xf32>, tensor<3xf32>
}

// -----

// CHECK-LABEL: @cycle
// CHECK:      tk.kernel
// CHECK:      tw.matmul
// CHECK:      tk.kernel
// REMARK:     it is a reduction; another path leads from it to the consumer
func.func @cycle(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %s = tw.sum %x over [1] : tensor<8x8xf32> -> tensor<8xf32>
  %sb = tw.broadcast %s dims [0] : tensor<8xf32> -> tensor<8x8xf32>
  %e = tw.exp %sb : tensor<8x8xf32>
  %m = tw.matmul %e, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = tw.add %m, %e : tensor<8x8xf32>
  func.return %r : tensor<8x8xf32>
}

// -----

// CHECK-LABEL: @pad
// CHECK:      tk.kernel
// CHECK:      tk.kernel
// REMARK:     recomputing it costs 51 and saves 22; it is read under a mask or at gathered positions
func.func @pad(%x: tensor<4xf32>) -> tensor<7xf32> {
  %e = tw.exp %x : tensor<4xf32>
  %p = tw.pad %e low "1" high "2" value 3.0 : f32 : tensor<4xf32> -> tensor<7xf32>
  func.return %p : tensor<7xf32>
}

// -----

// A cheap producer is recomputed by both readers; the view between does not matter.
// CHECK-LABEL: @recomputes_casts
// CHECK-COUNT-2: tk.kernel
// CHECK-NOT: tk.kernel
func.func @recomputes_casts(%x: tensor<8x8xbf16>) -> (tensor<8x8xf32>, tensor<8xf32>) {
  %f = tw.cast %x : tensor<8x8xbf16> -> tensor<8x8xf32>
  %t = tw.transpose %f by [1, 0] : tensor<8x8xf32> -> tensor<8x8xf32>
  %m = tw.matmul %x, %x : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %mf = tw.cast %m : tensor<8x8xbf16> -> tensor<8x8xf32>
  %a = tw.add %t, %mf : tensor<8x8xf32>
  %s = tw.sum %f over [1] : tensor<8x8xf32> -> tensor<8xf32>
  func.return %a, %s : tensor<8x8xf32>, tensor<8xf32>
}

// -----

// Halves stay in f32 between the ops of a kernel, unless the program asks for the rounding (or for one of f64).
// CHECK-LABEL: @rounds_where_asked
// CHECK-NEXT:  %{{.*}} = tk.kernel [8]
// CHECK:       %[[X:.*]] = tk.load
// CHECK-NEXT:  %[[H:.*]] = arith.truncf %[[X]] {tk.rounded} : f32 to bf16
// CHECK-NEXT:  %[[F:.*]] = arith.extf %[[H]]
// CHECK-NEXT:  %[[A:.*]] = arith.addf %[[F]], %[[X]]
// CHECK-NEXT:  %[[D:.*]] = arith.extf %[[A]] : f32 to f64
// CHECK-NEXT:  %[[E:.*]] = math.exp %[[D]]
// CHECK-NEXT:  %[[N:.*]] = arith.truncf %[[E]] : f64 to f32
// CHECK-NEXT:  arith.extf %[[N]] : f32 to f64
// CHECK-NOT:   arith.truncf
func.func @rounds_where_asked(%x: tensor<8xf32>) -> tensor<8xf64> {
  %h = tw.cast %x rounded : tensor<8xf32> -> tensor<8xbf16>
  %f = tw.cast %h : tensor<8xbf16> -> tensor<8xf32>
  %a = tw.add %f, %x : tensor<8xf32>
  %g = tw.cast %a : tensor<8xf32> -> tensor<8xbf16>
  %b = tw.cast %g : tensor<8xbf16> -> tensor<8xf64>
  %e = tw.exp %b : tensor<8xf64>
  %n = tw.cast %e : tensor<8xf64> -> tensor<8xf32>
  %w = tw.cast %n : tensor<8xf32> -> tensor<8xf64>
  func.return %w : tensor<8xf64>
}

// -----

// What decides is rounded: the comparison and the floor, but not the exponential.
// CHECK-LABEL: @rounds_what_decides
// CHECK:       %[[P:.*]] = arith.mulf
// CHECK:       %[[H:.*]] = arith.truncf %[[P]] : f32 to bf16
// CHECK:       %[[R:.*]] = arith.extf %[[H]] {tk.rounded} : bf16 to f32
// CHECK:       arith.cmpf ogt, %[[R]]
// CHECK:       math.floor %[[R]]
// CHECK:       math.exp %[[P]]
// CHECK-NOT:   tk.kernel
func.func @rounds_what_decides(%x: tensor<8xbf16>, %y: tensor<8xbf16>) -> (tensor<8xi1>, tensor<8xbf16>, tensor<8xbf16>) {
  %p = tw.mul %x, %y : tensor<8xbf16>
  %c = tw.compare gt %p, %y : tensor<8xbf16> -> tensor<8xi1>
  %f = tw.floor %p : tensor<8xbf16>
  %e = tw.exp %p : tensor<8xbf16>
  func.return %c, %f, %e : tensor<8xi1>, tensor<8xbf16>, tensor<8xbf16>
}

// -----

// CHECK-LABEL: @reads_only_a_part
// REMARK: it is a reduction; only a part of it is read
func.func @reads_only_a_part(%x: tensor<9x4xf32>) -> (tensor<3xf32>, tensor<9xf32>) {
  %s = tw.sum %x over [1] : tensor<9x4xf32> -> tensor<9xf32>
  %p = tw.slice %s starts "0" steps "1" : tensor<9xf32> -> tensor<3xf32>
  %e = tw.exp %p : tensor<3xf32>
  func.return %e, %s : tensor<3xf32>, tensor<9xf32>
}

// -----

// CHECK-LABEL: @few_rows
// REMARK: it is a reduction; the merged kernel would have only 1 independent rows
func.func @few_rows(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %s = tw.sum %x over [0, 1] : tensor<512x512xf32> -> tensor<f32>
  %b = tw.broadcast %s dims [] : tensor<f32> -> tensor<512x512xf32>
  %d = tw.div %x, %b : tensor<512x512xf32>
  func.return %d : tensor<512x512xf32>
}

// -----

// Each reads its rows as they lie: one loop over both would read one of them with a stride.
// CHECK-LABEL: @both_ways
// CHECK:      tk.reduce add {{.*}} over [1]
// CHECK-NEXT: tk.store
// CHECK:      tk.kernel
// CHECK-NOT:  over [1]
// CHECK:      tk.reduce add
// REMARK: one of the two reduces along rows, the other one across them
func.func @both_ways(%x: tensor<512x512xf32>) -> tensor<512xf32> {
  %e = tw.exp %x : tensor<512x512xf32>
  %r = tw.sum %e over [1] : tensor<512x512xf32> -> tensor<512xf32>
  %c = tw.sum %x over [0] : tensor<512x512xf32> -> tensor<512xf32>
  %s = tw.add %c, %r : tensor<512xf32>
  func.return %s : tensor<512xf32>
}

// -----

// CHECK-LABEL: @columns
// REMARK: it is a reduction; its reduction runs across rows, which would be walked twice with a stride
func.func @columns(%x: tensor<512x64xf32>) -> tensor<512x64xf32> {
  %s = tw.sum %x over [0] : tensor<512x64xf32> -> tensor<64xf32>
  %b = tw.broadcast %s dims [1] : tensor<64xf32> -> tensor<512x64xf32>
  %d = tw.div %x, %b : tensor<512x64xf32>
  func.return %d : tensor<512x64xf32>
}

// -----

// A mean that is kept, behind an axis of size 1: one kernel all the same.
// CHECK-LABEL: @kept_mean
// CHECK:       %{{.*}}, %{{.*}} = tk.kernel [8, 128, 1] ins(%x : tensor<8x128xf32>) -> (tensor<8x1xf32>, tensor<8x128xf32>)
// CHECK-NOT:   tk.kernel
func.func @kept_mean(%x: tensor<8x128xf32>) -> (tensor<8x1xf32>, tensor<8x128xf32>) {
  %s = tw.sum %x over [1] : tensor<8x128xf32> -> tensor<8xf32>
  %k = tw.reshape %s : tensor<8xf32> -> tensor<8x1xf32>
  %n = tw.full 1.280000e+02 : f32 -> tensor<8x1xf32>
  %m = tw.div %k, %n : tensor<8x1xf32>
  %b = tw.broadcast %m dims [0, 1] : tensor<8x1xf32> -> tensor<8x128xf32>
  %r = tw.sub %x, %b : tensor<8x128xf32>
  func.return %m, %r : tensor<8x1xf32>, tensor<8x128xf32>
}

// -----

// Axes of size 1 that the store does not mention are 0 wherever the kernel is inlined.
// CHECK-LABEL: @unit_axes
// CHECK:       tk.kernel [8, 4]
// CHECK:       tk.load %{{.*}}[d0, 0] : tensor<8x1xf32>
// CHECK-NOT:   tk.kernel
func.func @unit_axes(%x: tensor<8x1xf32>, %y: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %e = tk.kernel [8, 1] ins(%x : tensor<8x1xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<8x1xf32>, %o: tensor<8xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x1xf32> -> f32
    %1 = arith.negf %0 : f32
    tk.store %1, %o[d0] : f32, tensor<8xf32>
  }
  %r = tk.kernel [8, 4] ins(%e, %y : tensor<8xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>) {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8x4xf32>, %o: tensor<8x4xf32>):
    %0 = tk.load %a[d0] : tensor<8xf32> -> f32
    %1 = tk.load %b[d0, d1] : tensor<8x4xf32> -> f32
    %2 = arith.addf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<8x4xf32>
  }
  func.return %r : tensor<8x4xf32>
}

// -----

// The elements of a diagonal are some of what the producer has to store.

// CHECK-LABEL: @diagonal
// CHECK:       tk.kernel [4, 4]
// CHECK:       tk.kernel [4]
// REMARK:      not fused with the kernel of {{.*}}; it is read along a diagonal
func.func @diagonal(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>) {
  %e = tw.exp %x : tensor<4x4xf32>
  %r = tk.kernel [4] ins(%e : tensor<4x4xf32>) -> (tensor<4xf32>) {
  ^bb0(%a: tensor<4x4xf32>, %o: tensor<4xf32>):
    %0 = tk.load %a[d0, d0] : tensor<4x4xf32> -> f32
    %1 = arith.negf %0 : f32
    tk.store %1, %o[d0] : f32, tensor<4xf32>
  }
  func.return %e, %r : tensor<4x4xf32>, tensor<4xf32>
}

// -----

// Positions of 32 bits that need a few ops are made again for each window, as those of 64 bits are.

// CHECK-LABEL: @positions
// CHECK-COUNT-1: tk.kernel
// CHECK-NOT: tk.kernel
func.func @positions(%x: tensor<64x3x3xf32>) -> tensor<64xi32> {
  %a = tw.iota dim 0 start "0" step "5" -> tensor<3x3xi32>
  %b = tw.iota dim 1 start "0" step "1" -> tensor<3x3xi32>
  %p = tw.add %a, %b : tensor<3x3xi32>
  %q = tw.bitwise_not %p : tensor<3x3xi32>
  %c = tw.broadcast %p dims [1, 2] : tensor<3x3xi32> -> tensor<64x3x3xi32>
  %d = tw.broadcast %q dims [1, 2] : tensor<3x3xi32> -> tensor<64x3x3xi32>
  %n = tw.isnan %x : tensor<64x3x3xf32> -> tensor<64x3x3xi1>
  %s = tw.select %n, %c, %d : tensor<64x3x3xi1>, tensor<64x3x3xi32>
  %r = tw.min %s over [1, 2] : tensor<64x3x3xi32> -> tensor<64xi32>
  func.return %r : tensor<64xi32>
}

// -----

// Each gate alone would not compute the sum again, for the other reads it, too; the kernel of both does.
// CHECK-LABEL: @gates_of_one_sum
// CHECK-COUNT-1: = tk.kernel
// CHECK-NOT: tk.kernel
func.func @gates_of_one_sum(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x32xf32> {
  %s = tk.kernel [8, 64] ins(%x, %y : tensor<8x64xf32>, tensor<8x64xf32>) -> (tensor<8x64xf32>) {
  ^bb0(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>, %o: tensor<8x64xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x64xf32> -> f32
    %1 = tk.load %b[d0, d1] : tensor<8x64xf32> -> f32
    %2 = arith.addf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<8x64xf32>
  }
  %p = tk.kernel [8, 32] ins(%s : tensor<8x64xf32>) -> (tensor<8x32xf32>) {
  ^bb0(%a: tensor<8x64xf32>, %o: tensor<8x32xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x64xf32> -> f32
    %1 = math.tanh %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<8x32xf32>
  }
  %r = tk.kernel [8, 32] ins(%s, %p : tensor<8x64xf32>, tensor<8x32xf32>) -> (tensor<8x32xf32>) {
  ^bb0(%a: tensor<8x64xf32>, %b: tensor<8x32xf32>, %o: tensor<8x32xf32>):
    %0 = tk.load %a[d0, d1 + 32] : tensor<8x64xf32> -> f32
    %1 = tk.load %b[d0, d1] : tensor<8x32xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<8x32xf32>
  }
  func.return %r : tensor<8x32xf32>
}

// -----

// Positions that are read at gathered places are made of the gather indices.
// CHECK-LABEL: @gathers_positions
// CHECK:      tk.kernel [5, 4] ins(%i :
// CHECK:      %[[I:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK-NEXT: %[[D:.*]] = tk.index "d1*2 + 3" : i64
// CHECK-NEXT: %[[P:.*]] = arith.index_cast %[[I]] : index to i64
// CHECK-NEXT: %[[N:.*]] = tk.index "8" : i64
// CHECK-NEXT: %[[M:.*]] = arith.muli %[[P]], %[[N]]
// CHECK-NEXT: arith.addi %[[D]], %[[M]]
// CHECK-NOT:  tk.kernel
func.func @gathers_positions(%i: tensor<5xi64>) -> tensor<5x4xi64> {
  %p = tw.iota dim 0 start "3" step "2" -> tensor<28xi64>
  %r = tw.reshape %p : tensor<28xi64> -> tensor<7x4xi64>
  %g = tw.gather %r[%i] dims [0] at 0 : (tensor<7x4xi64>, tensor<5xi64>) -> tensor<5x4xi64>
  func.return %g : tensor<5x4xi64>
}

// -----

// CHECK-LABEL: @keeps_positions_that_start_again
// CHECK-COUNT-2: = tk.kernel
// REMARK:     it depends on its position and is read at gathered positions
func.func @keeps_positions_that_start_again(%i: tensor<5xi64>) -> tensor<5xi64> {
  %p = tw.iota dim 0 start "0" step "1" -> tensor<4xi64>
  %b = tw.broadcast %p dims [1] : tensor<4xi64> -> tensor<7x4xi64>
  %r = tw.reshape %b : tensor<7x4xi64> -> tensor<28xi64>
  %g = tw.gather %r[%i] dims [0] at 0 : (tensor<28xi64>, tensor<5xi64>) -> tensor<5xi64>
  func.return %g : tensor<5xi64>
}

// -----

// CHECK-LABEL: @checks_one_index_once
// CHECK: tk.assert
// CHECK-NOT: tk.assert
// CHECK: func.return
func.func @checks_one_index_once(%x: tensor<8xf32>, %i: tensor<5xi64>) -> tensor<5xf32> {
  %a = tw.gather %x[%i] dims [0] at 0 : (tensor<8xf32>, tensor<5xi64>) -> tensor<5xf32>
  %e = tw.exp %x : tensor<8xf32>
  %b = tw.gather %e[%i] dims [0] at 0 : (tensor<8xf32>, tensor<5xi64>) -> tensor<5xf32>
  %s = tw.add %a, %b : tensor<5xf32>
  func.return %s : tensor<5xf32>
}
