// RUN: tilewright-opt %s -p split-reductions --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p split-reductions --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// CHECK-LABEL: @full_sum
// CHECK: %[[P:.*]] = tk.kernel [256, 4096] ins(%x : tensor<1048576xf32>) -> (tensor<256xf32>)
// CHECK: %[[V:.*]] = tk.load %{{.*}}[d0*4096 + d1] : tensor<1048576xf32> -> f32 loc("m.py":1:0)
// CHECK: %[[S:.*]] = tk.reduce add %[[V]] over [1] : f32 loc("m.py":2:0)
// CHECK: tk.store %[[S]], %{{.*}}[d0]
// CHECK: tk.kernel [256] ins(%[[P]] : tensor<256xf32>) -> (tensor<f32>)
// CHECK: %[[W:.*]] = tk.load %{{.*}}[d0] : tensor<256xf32> -> f32
// CHECK: %[[T:.*]] = tk.reduce add %[[W]] over [0] : f32
// CHECK: %[[R:.*]] = math.sqrt %[[T]]
// CHECK: tk.store %[[R]], %{{.*}}[]
func.func @full_sum(%x: tensor<1048576xf32>) -> tensor<f32> {
  %r = tk.kernel [1048576] ins(%x : tensor<1048576xf32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<1048576xf32>, %o: tensor<f32>):
    %0 = tk.load %a[d0] : tensor<1048576xf32> -> f32 loc("m.py":1:0)
    %1 = tk.reduce add %0 over [0] : f32 loc("m.py":2:0)
    %2 = math.sqrt %1 : f32 loc("m.py":3:0)
    tk.store %2, %o[] : f32, tensor<f32> loc("m.py":3:0)
  }
  func.return %r : tensor<f32>
}

// -----

// Parts of unequal length read nothing beyond the end, and combine the identity there.
// CHECK-LABEL: @uneven
// CHECK: tk.kernel [64, ((s0 + 63) floordiv 64)]
// CHECK: %[[I:.*]] = tk.index "d0*((s0 + 63) floordiv 64) + d1"
// CHECK: %[[N:.*]] = tk.index "s0"
// CHECK: %[[M:.*]] = arith.cmpi slt, %[[I]], %[[N]]
// CHECK: %[[L:.*]] = tk.load %{{.*}}[d0*((s0 + 63) floordiv 64) + d1] if %[[M]] else
// CHECK: %[[F:.*]] = arith.constant 0xff800000 : f32
// CHECK: %[[V:.*]] = arith.select %[[M]], %[[L]], %[[F]]
// CHECK: tk.reduce max %[[V]] over [1]
// CHECK: tk.kernel [64]
// CHECK: tk.reduce max
func.func @uneven(%x: tensor<?xf32, #tw.shape<"s0">>, %s0: index {tw.symbol = "s0"}) -> tensor<f32> {
  %r = tk.kernel [s0] ins(%x : tensor<?xf32, #tw.shape<"s0">>) -> (tensor<f32>) {
  ^bb0(%a: tensor<?xf32, #tw.shape<"s0">>, %o: tensor<f32>):
    %0 = tk.load %a[d0] : tensor<?xf32, #tw.shape<"s0">> -> f32
    %1 = tk.reduce max %0 over [0] : f32
    tk.store %1, %o[] : f32, tensor<f32>
  }
  func.return %r : tensor<f32>
}

// -----

// A product with few tiles and a long sum: the parts are batches of it.
// CHECK-LABEL: @product
// CHECK: tk.kernel [64, 64, 32, 256]
// CHECK: %[[S:.*]] = tk.reduce add %{{.*}} over [3] {tk.factors = bf16}
// CHECK: tk.store %[[S]], %{{.*}}[d2, d0, d1]
// CHECK: tk.kernel [64, 64, 32]
func.func @product(%x: tensor<64x8192xbf16>, %y: tensor<8192x64xbf16>) -> tensor<64x64xf32> {
  %r = tk.kernel [64, 64, 8192] ins(%x, %y : tensor<64x8192xbf16>, tensor<8192x64xbf16>) -> (tensor<64x64xf32>) {
  ^bb0(%a: tensor<64x8192xbf16>, %b: tensor<8192x64xbf16>, %o: tensor<64x64xf32>):
    %0 = tk.load %a[d0, d2] : tensor<64x8192xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %b[d2, d1] : tensor<8192x64xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
    tk.store %5, %o[d0, d1] : f32, tensor<64x64xf32>
  }
  func.return %r : tensor<64x64xf32>
}

// -----

// A sum over the places of images is split along the axis of which most parts can be; the other one stays in each.
// CHECK-LABEL: @product_over_two_axes
// CHECK: tk.kernel [64, 48, 14, 56, 8]
// CHECK: tk.load %{{.*}}[d4, d0, d2*56 + d3]
// CHECK: tk.load %{{.*}}[d4, d1, d2*56 + d3]
// CHECK: tk.reduce add %{{.*}} over [3, 4] {tk.factors = bf16}
// CHECK: tk.kernel [64, 48, 14]
func.func @product_over_two_axes(%x: tensor<8x64x784xbf16>, %y: tensor<8x48x784xbf16>) -> tensor<64x48xf32> {
  %r = tk.kernel [64, 48, 8, 784] ins(%x, %y : tensor<8x64x784xbf16>, tensor<8x48x784xbf16>) -> (tensor<64x48xf32>) {
  ^bb0(%a: tensor<8x64x784xbf16>, %b: tensor<8x48x784xbf16>, %o: tensor<64x48xf32>):
    %0 = tk.load %a[d2, d0, d3] : tensor<8x64x784xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %b[d2, d1, d3] : tensor<8x48x784xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [2, 3] {tk.factors = bf16} : f32
    tk.store %5, %o[d0, d1] : f32, tensor<64x48xf32>
  }
  func.return %r : tensor<64x48xf32>
}

// -----

// REMARK: tk.kernel at {{.*}}: not split: the sum of the product is of unknown length
func.func @product_of_unknown_length(%x: tensor<64x?xbf16, #tw.shape<"64, s0">>, %y: tensor<?x64xbf16, #tw.shape<"s0, 64">>, %s0: index {tw.symbol = "s0"}) -> tensor<64x64xf32> {
  %r = tk.kernel [64, 64, s0] ins(%x, %y : tensor<64x?xbf16, #tw.shape<"64, s0">>, tensor<?x64xbf16, #tw.shape<"s0, 64">>) -> (tensor<64x64xf32>) {
  ^bb0(%a: tensor<64x?xbf16, #tw.shape<"64, s0">>, %b: tensor<?x64xbf16, #tw.shape<"s0, 64">>, %o: tensor<64x64xf32>):
    %0 = tk.load %a[d0, d2] : tensor<64x?xbf16, #tw.shape<"64, s0">> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %b[d2, d1] : tensor<?x64xbf16, #tw.shape<"s0, 64">> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
    tk.store %5, %o[d0, d1] : f32, tensor<64x64xf32>
  }
  func.return %r : tensor<64x64xf32>
}

// -----

// Few rows have narrow tiles, of which there are more, and each reads less: its sum is split when it is longer.
// CHECK-LABEL: @few_rows
// CHECK: tk.kernel [4, 2048, 2, 4096]
// CHECK: tk.kernel [4, 2048, 2]
func.func @few_rows(%x: tensor<4x8192xbf16>, %y: tensor<8192x2048xbf16>) -> tensor<4x2048xf32> {
  %r = tk.kernel [4, 2048, 8192] ins(%x, %y : tensor<4x8192xbf16>, tensor<8192x2048xbf16>) -> (tensor<4x2048xf32>) {
  ^bb0(%a: tensor<4x8192xbf16>, %b: tensor<8192x2048xbf16>, %o: tensor<4x2048xf32>):
    %0 = tk.load %a[d0, d2] : tensor<4x8192xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %b[d2, d1] : tensor<8192x2048xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
    tk.store %5, %o[d0, d1] : f32, tensor<4x2048xf32>
  }
  func.return %r : tensor<4x2048xf32>
}

// -----

// CHECK-LABEL: @few_columns
// CHECK: tk.kernel [2048, 4, 2, 4096]
func.func @few_columns(%x: tensor<2048x8192xbf16>, %y: tensor<8192x4xbf16>) -> tensor<2048x4xf32> {
  %r = tk.kernel [2048, 4, 8192] ins(%x, %y : tensor<2048x8192xbf16>, tensor<8192x4xbf16>) -> (tensor<2048x4xf32>) {
  ^bb0(%a: tensor<2048x8192xbf16>, %b: tensor<8192x4xbf16>, %o: tensor<2048x4xf32>):
    %0 = tk.load %a[d0, d2] : tensor<2048x8192xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %b[d2, d1] : tensor<8192x4xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
    tk.store %5, %o[d0, d1] : f32, tensor<2048x4xf32>
  }
  func.return %r : tensor<2048x4xf32>
}

// -----

// REMARK: tk.kernel at {{.*}}: not split: a sum of 4096 products is short
func.func @shorter_sum_of_few_rows(%x: tensor<4x4096xbf16>, %y: tensor<4096x2048xbf16>) -> tensor<4x2048xf32> {
  %r = tk.kernel [4, 2048, 4096] ins(%x, %y : tensor<4x4096xbf16>, tensor<4096x2048xbf16>) -> (tensor<4x2048xf32>) {
  ^bb0(%a: tensor<4x4096xbf16>, %b: tensor<4096x2048xbf16>, %o: tensor<4x2048xf32>):
    %0 = tk.load %a[d0, d2] : tensor<4x4096xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %b[d2, d1] : tensor<4096x2048xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
    tk.store %5, %o[d0, d1] : f32, tensor<4x2048xf32>
  }
  func.return %r : tensor<4x2048xf32>
}

// -----

// REMARK: tk.kernel at {{.*}}: not split: 128 tiles with sums of 8192 keep a GPU busy
func.func @many_columns_of_few_rows(%x: tensor<4x8192xbf16>, %y: tensor<8192x4096xbf16>) -> tensor<4x4096xf32> {
  %r = tk.kernel [4, 4096, 8192] ins(%x, %y : tensor<4x8192xbf16>, tensor<8192x4096xbf16>) -> (tensor<4x4096xf32>) {
  ^bb0(%a: tensor<4x8192xbf16>, %b: tensor<8192x4096xbf16>, %o: tensor<4x4096xf32>):
    %0 = tk.load %a[d0, d2] : tensor<4x8192xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %b[d2, d1] : tensor<8192x4096xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
    tk.store %5, %o[d0, d1] : f32, tensor<4x4096xf32>
  }
  func.return %r : tensor<4x4096xf32>
}

// -----

// A second launch would take longer than the steps that it saves.
// REMARK: tk.kernel at {{.*}}: not split: a sum of 768 products is short
func.func @short_product(%x: tensor<8x768xbf16>, %y: tensor<768x64xbf16>) -> tensor<8x64xf32> {
  %r = tk.kernel [8, 64, 768] ins(%x, %y : tensor<8x768xbf16>, tensor<768x64xbf16>) -> (tensor<8x64xf32>) {
  ^bb0(%a: tensor<8x768xbf16>, %b: tensor<768x64xbf16>, %o: tensor<8x64xf32>):
    %0 = tk.load %a[d0, d2] : tensor<8x768xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %b[d2, d1] : tensor<768x64xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
    tk.store %5, %o[d0, d1] : f32, tensor<8x64xf32>
  }
  func.return %r : tensor<8x64xf32>
}

// -----

// REMARK: tk.kernel at {{.*}}: not split: it is short
func.func @short(%x: tensor<1024xf32>) -> tensor<f32> {
  %r = tk.kernel [1024] ins(%x : tensor<1024xf32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<1024xf32>, %o: tensor<f32>):
    %0 = tk.load %a[d0] : tensor<1024xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[] : f32, tensor<f32>
  }
  func.return %r : tensor<f32>
}

// -----

// REMARK: tk.kernel at {{.*}}: not split: 4096 programs keep a GPU busy
func.func @many_rows(%x: tensor<4096x1024xf32>) -> tensor<4096xf32> {
  %r = tk.kernel [4096, 1024] ins(%x : tensor<4096x1024xf32>) -> (tensor<4096xf32>) {
  ^bb0(%a: tensor<4096x1024xf32>, %o: tensor<4096xf32>):
    %0 = tk.load %a[d0, d1] : tensor<4096x1024xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    tk.store %1, %o[d0] : f32, tensor<4096xf32>
  }
  func.return %r : tensor<4096xf32>
}

// -----

// Cut behind the sum; then the sum is split.
// CHECK-LABEL: @what_meets_the_sum
// CHECK: %[[P:.*]] = tk.kernel [256, 4096] ins(%x
// CHECK: %[[S:.*]] = tk.kernel [256] ins(%[[P]]
// CHECK: tk.kernel [1048576] ins(%[[S]], %x
// CHECK: %[[M:.*]] = tk.load %{{.*}}[] : tensor<f32> -> f32
// CHECK: %[[V:.*]] = tk.load %{{.*}}[d0] : tensor<1048576xf32> -> f32
// CHECK: arith.subf %[[V]], %[[M]]
// CHECK-NOT: tk.reduce
func.func @what_meets_the_sum(%x: tensor<1048576xf32>) -> tensor<1048576xf32> {
  %r = tk.kernel [1048576] ins(%x : tensor<1048576xf32>) -> (tensor<1048576xf32>) {
  ^bb0(%a: tensor<1048576xf32>, %o: tensor<1048576xf32>):
    %0 = tk.load %a[d0] : tensor<1048576xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    %2 = arith.subf %0, %1 : f32
    tk.store %2, %o[d0] : f32, tensor<1048576xf32>
  }
  func.return %r : tensor<1048576xf32>
}

// -----

// CHECK-LABEL: @different_axes
// REMARK: tk.kernel at {{.*}}: not split: its reductions are over different axes
func.func @different_axes(%x: tensor<4x262144xf32>) -> tensor<f32> {
  %r = tk.kernel [4, 262144] ins(%x : tensor<4x262144xf32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<4x262144xf32>, %o: tensor<f32>):
    %0 = tk.load %a[d0, d1] : tensor<4x262144xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    %2 = tk.reduce max %1 over [0] : f32
    tk.store %2, %o[] : f32, tensor<f32>
  }
  func.return %r : tensor<f32>
}

// -----

// REMARK: tk.kernel at {{.*}}: not split: positions and running values are not combined from parts
func.func @positions(%x: tensor<1048576xf32>) -> tensor<i64> {
  %r = tk.kernel [1048576] ins(%x : tensor<1048576xf32>) -> (tensor<i64>) {
  ^bb0(%a: tensor<1048576xf32>, %o: tensor<i64>):
    %0 = tk.load %a[d0] : tensor<1048576xf32> -> f32
    %i = tk.index "d0" : i64
    %1, %2 = tk.argreduce max %0 at %i over [0] : f32
    tk.store %2, %o[] : i64, tensor<i64>
  }
  func.return %r : tensor<i64>
}

// -----

// REMARK: tk.kernel at {{.*}}: not split: it checks along the reduced axes
func.func @checks(%x: tensor<1048576xi64>) -> tensor<i64> {
  %r = tk.kernel [1048576] ins(%x : tensor<1048576xi64>) -> (tensor<i64>) {
  ^bb0(%a: tensor<1048576xi64>, %o: tensor<i64>):
    %0 = tk.load %a[d0] : tensor<1048576xi64> -> i64
    %n = arith.constant 5 : i64
    %ok = arith.cmpi slt, %0, %n : i64
    tk.assert %ok "index out of range" : i1
    %1 = tk.reduce add %0 over [0] : i64
    tk.store %1, %o[] : i64, tensor<i64>
  }
  func.return %r : tensor<i64>
}

// -----

// One pass for mean and variance: parts hand on sum, squared deviations and count.
// CHECK-LABEL: @moments
// CHECK: %[[P:.*]], %[[Q:.*]], %[[K:.*]] = tk.kernel [64, ((s0 + 63) floordiv 64)]
// CHECK: %[[V:.*]] = tk.load %{{.*}} if %[[M:.*]] else
// CHECK: %[[X:.*]] = arith.select %[[M]], %[[V]], %{{.*}} : f32
// CHECK: %[[N:.*]] = arith.select %[[M]], %{{.*}}, %{{.*}} : f32
// CHECK: tk.moments %[[X]], %{{.*}}, %[[N]] over [1] : f32 loc("m.py":2:0)
// CHECK: tk.kernel [64] ins(%[[P]], %[[Q]], %[[K]]
// CHECK: %[[S:.*]], %[[D:.*]], %{{.*}} = tk.moments %{{.*}}, %{{.*}}, %{{.*}} over [0] : f32 loc("m.py":2:0)
// CHECK: tk.store %[[S]]
// CHECK: tk.store %[[D]]
func.func @moments(%x: tensor<?xf32, #tw.shape<"s0">>, %s0: index {tw.symbol = "s0"}) -> (tensor<f32>, tensor<f32>) {
  %r, %t = tk.kernel [s0] ins(%x : tensor<?xf32, #tw.shape<"s0">>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%a: tensor<?xf32, #tw.shape<"s0">>, %o: tensor<f32>, %p: tensor<f32>):
    %0 = tk.load %a[d0] : tensor<?xf32, #tw.shape<"s0">> -> f32
    %z = arith.constant 0.0 : f32
    %u = arith.constant 1.0 : f32
    %s, %q, %n = tk.moments %0, %z, %u over [0] : f32 loc("m.py":2:0)
    tk.store %s, %o[] : f32, tensor<f32>
    tk.store %q, %p[] : f32, tensor<f32>
  }
  func.return %r, %t : tensor<f32>, tensor<f32>
}

// -----

// Cut behind the moments, of which only the sum is needed again.
// CHECK-LABEL: @centred
// CHECK: tk.kernel [256, 4096] ins(%x
// CHECK: %[[S:.*]] = tk.kernel [256] ins(
// CHECK-SAME: -> (tensor<f32>)
// CHECK: tk.kernel [1048576] ins(%[[S]], %x
func.func @centred(%x: tensor<1048576xf32>) -> tensor<1048576xf32> {
  %r = tk.kernel [1048576] ins(%x : tensor<1048576xf32>) -> (tensor<1048576xf32>) {
  ^bb0(%a: tensor<1048576xf32>, %o: tensor<1048576xf32>):
    %0 = tk.load %a[d0] : tensor<1048576xf32> -> f32
    %z = arith.constant 0.0 : f32
    %u = arith.constant 1.0 : f32
    %s, %q, %n = tk.moments %0, %z, %u over [0] : f32
    %1 = arith.subf %0, %s : f32
    tk.store %1, %o[d0] : f32, tensor<1048576xf32>
  }
  func.return %r : tensor<1048576xf32>
}

// -----

// The sums of columns are read by column.

// CHECK-LABEL: @what_meets_the_sums_of_columns
// CHECK: %[[P:.*]] = tk.kernel {{.*}} ins(%x
// CHECK: %[[S:.*]] = tk.kernel {{.*}} ins(%[[P]]
// CHECK: tk.kernel [1048576, 4] ins(%[[S]], %x
// CHECK: tk.load %{{.*}}[d1] : tensor<4xf32> -> f32
// CHECK: tk.load %{{.*}}[d0, d1] : tensor<1048576x4xf32> -> f32
func.func @what_meets_the_sums_of_columns(%x: tensor<1048576x4xf32>) -> tensor<1048576x4xf32> {
  %r = tk.kernel [1048576, 4] ins(%x : tensor<1048576x4xf32>) -> (tensor<1048576x4xf32>) {
  ^bb0(%a: tensor<1048576x4xf32>, %o: tensor<1048576x4xf32>):
    %0 = tk.load %a[d0, d1] : tensor<1048576x4xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    %2 = arith.subf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<1048576x4xf32>
  }
  func.return %r : tensor<1048576x4xf32>
}

// -----

// As long as a program needs for its row, a launch takes.
// CHECK-LABEL: @fewer_than_programs
// CHECK-COUNT-1: = tk.kernel
// CHECK-NOT: = tk.kernel
// REMARK: not split: 64 programs reduce 20000 elements each before others have started
func.func @fewer_than_programs(%x: tensor<64x20000xf32>) -> tensor<64xf32> {
  %r = tk.kernel [64, 20000] ins(%x : tensor<64x20000xf32>) -> (tensor<64xf32>) {
  ^bb0(%a: tensor<64x20000xf32>, %o: tensor<64xf32>):
    %0 = tk.load %a[d0, d1] : tensor<64x20000xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    tk.store %1, %o[d0] : f32, tensor<64xf32>
  }
  func.return %r : tensor<64xf32>
}

// -----

// What else is stored along the reduced axes is stored by the parts: nothing is read again for it.
// CHECK-LABEL: @stores_beside
// CHECK: %[[P:.*]], %[[E:.*]] = tk.kernel [4, 64, 15626] ins(%x : tensor<4x1000003xf32>) -> (tensor<64x4xf32>, tensor<4x1000003xf32>)
// CHECK: %[[M:.*]] = arith.cmpi slt
// CHECK: %[[V:.*]] = math.absf
// CHECK-NEXT: tk.store %[[V]], %{{.*}}[d0, d1*15626 + d2] if %[[M]] : f32, tensor<4x1000003xf32> loc("m.py":1:0)
// CHECK: tk.reduce add %{{.*}} over [2]
// CHECK: %[[R:.*]], %[[S:.*]] = tk.kernel [4, 64] ins(%[[P]] : tensor<64x4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK: return %[[R]], %[[E]], %[[S]]
func.func @stores_beside(%x: tensor<4x1000003xf32>) -> (tensor<4xf32>, tensor<4x1000003xf32>, tensor<4xf32>) {
  %r, %e, %s = tk.kernel [4, 1000003] ins(%x : tensor<4x1000003xf32>) -> (tensor<4xf32>, tensor<4x1000003xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4x1000003xf32>, %p: tensor<4xf32>, %o: tensor<4x1000003xf32>, %q: tensor<4xf32>):
    %0 = tk.load %a[d0, d1] : tensor<4x1000003xf32> -> f32
    %1 = math.absf %0 : f32 loc("m.py":1:0)
    tk.store %1, %o[d0, d1] : f32, tensor<4x1000003xf32> loc("m.py":1:0)
    %2 = tk.reduce add %1 over [1] : f32 loc("m.py":2:0)
    tk.store %2, %p[d0] : f32, tensor<4xf32> loc("m.py":2:0)
    %3 = math.sqrt %2 : f32
    tk.store %3, %q[d0] : f32, tensor<4xf32>
  }
  func.return %r, %e, %s : tensor<4xf32>, tensor<4x1000003xf32>, tensor<4xf32>
}

// -----

// The maximum and the sum of exponentials of each part, then of all. Parts of 4000 begin at multiples of 16 elements;
// 64 of 3125 would not.
// CHECK-LABEL: @softmax_in_one_pass
// CHECK: %[[P:.*]], %[[Q:.*]] = tk.kernel [2, 50, 4000] ins(%x : tensor<2x200000xf32>) -> (tensor<50x2xf32>, tensor<50x2xf32>)
// CHECK: %[[M:.*]], %[[S:.*]] = tk.sumexp %{{.*}}, %{{.*}} over [2] : f32 loc("m.py":1:0)
// CHECK: tk.kernel [2, 50] ins(%[[P]], %[[Q]] : tensor<50x2xf32>, tensor<50x2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
// CHECK: tk.sumexp %{{.*}}, %{{.*}} over [1] : f32 loc("m.py":1:0)
// CHECK: tk.kernel [2, 200000]
func.func @softmax_in_one_pass(%x: tensor<2x200000xf32>) -> tensor<2x200000xf32> {
  %r = tk.kernel [2, 200000] ins(%x : tensor<2x200000xf32>) -> (tensor<2x200000xf32>) {
  ^bb0(%a: tensor<2x200000xf32>, %o: tensor<2x200000xf32>):
    %0 = tk.load %a[d0, d1] : tensor<2x200000xf32> -> f32
    %c = arith.constant 1.0 : f32
    %1, %2 = tk.sumexp %0, %c over [1] : f32 loc("m.py":1:0)
    %3 = arith.subf %0, %1 : f32
    %4 = math.exp %3 : f32
    %5 = arith.divf %4, %2 : f32
    tk.store %5, %o[d0, d1] : f32, tensor<2x200000xf32>
  }
  func.return %r : tensor<2x200000xf32>
}

// -----

// Parts of columns are as many elements as parts of rows, and so shorter.
// CHECK-LABEL: @columns_in_parts
// CHECK: tk.kernel [512, 16, 256] ins(%x : tensor<4096x512xf32>) -> (tensor<16x512xf32>)
// CHECK: tk.kernel [512, 16] ins
func.func @columns_in_parts(%x: tensor<4096x512xf32>) -> tensor<512xf32> {
  %r = tk.kernel [512, 4096] ins(%x : tensor<4096x512xf32>) -> (tensor<512xf32>) {
  ^bb0(%a: tensor<4096x512xf32>, %o: tensor<512xf32>):
    %0 = tk.load %a[d1, d0] : tensor<4096x512xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    tk.store %1, %o[d0] : f32, tensor<512xf32>
  }
  func.return %r : tensor<512xf32>
}

// -----

// Rows that are looked up by positions of two dimensions are rows: positions are not reduced.
// REMARK: tk.kernel at {{.*}}: not split: 1024 programs keep a GPU busy
// CHECK-LABEL: @rows_at_positions
// CHECK: tk.kernel [8, 128, 768] ins(%x, %i
// CHECK-NOT: tk.kernel
func.func @rows_at_positions(%x: tensor<90x768xf32>, %i: tensor<8x128xi64>) -> tensor<8x128xf32> {
  %r = tk.kernel [8, 128, 768] ins(%x, %i : tensor<90x768xf32>, tensor<8x128xi64>) -> (tensor<8x128xf32>) {
  ^bb0(%a: tensor<90x768xf32>, %at: tensor<8x128xi64>, %o: tensor<8x128xf32>):
    %0 = tk.load %at[d0, d1] : tensor<8x128xi64> -> i64
    %1 = arith.index_cast %0 : i64 to index
    %2 = tk.load %a[i0, d2](%1) : tensor<90x768xf32> -> f32
    %3 = tk.reduce add %2 over [2] : f32
    tk.store %3, %o[d0, d1] : f32, tensor<8x128xf32>
  }
  func.return %r : tensor<8x128xf32>
}

// -----

// Columns of rows that are looked up are columns.
// CHECK-LABEL: @columns_at_positions
// CHECK: tk.kernel [512, 16, 256] ins(%x, %i
// CHECK: tk.kernel [512, 16] ins
func.func @columns_at_positions(%x: tensor<90x512xf32>, %i: tensor<4096xi64>) -> tensor<512xf32> {
  %r = tk.kernel [512, 4096] ins(%x, %i : tensor<90x512xf32>, tensor<4096xi64>) -> (tensor<512xf32>) {
  ^bb0(%a: tensor<90x512xf32>, %at: tensor<4096xi64>, %o: tensor<512xf32>):
    %0 = tk.load %at[d1] : tensor<4096xi64> -> i64
    %1 = arith.index_cast %0 : i64 to index
    %2 = tk.load %a[i0, d0](%1) : tensor<90x512xf32> -> f32
    %3 = tk.reduce add %2 over [1] : f32
    tk.store %3, %o[d0] : f32, tensor<512xf32>
  }
  func.return %r : tensor<512xf32>
}

// -----

// Where a few elements are repeated along the rows, these are told of by what is as long as they are.
// REMARK: not split: 64 programs reduce 25088 elements each before others have started
// CHECK-LABEL: @scaled_rows
// CHECK-COUNT-1: = tk.kernel
// CHECK-NOT: = tk.kernel
func.func @scaled_rows(%x: tensor<32x64x784xf32>, %s: tensor<32x64xf32>) -> tensor<64xf32> {
  %r = tk.kernel [64, 32, 784] ins(%s, %x : tensor<32x64xf32>, tensor<32x64x784xf32>) -> (tensor<64xf32>) {
  ^bb0(%b: tensor<32x64xf32>, %a: tensor<32x64x784xf32>, %o: tensor<64xf32>):
    %0 = tk.load %b[d1, d0] : tensor<32x64xf32> -> f32
    %1 = tk.load %a[d1, d0, d2] : tensor<32x64x784xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    %3 = tk.reduce add %2 over [1, 2] : f32
    tk.store %3, %o[d0] : f32, tensor<64xf32>
  }
  func.return %r : tensor<64xf32>
}

// -----

// A product without rows has no tiles.
// CHECK-LABEL: @product_of_no_rows
// CHECK: tk.kernel [0, 64, 65536]
// REMARK: not split: 0 tiles with sums of 65536 keep a GPU busy
func.func @product_of_no_rows(%x: tensor<0x65536xbf16>, %y: tensor<65536x64xbf16>) -> tensor<0x64xbf16> {
  %r = tk.kernel [0, 64, 65536] ins(%x, %y : tensor<0x65536xbf16>, tensor<65536x64xbf16>) -> (tensor<0x64xbf16>) {
  ^bb0(%a: tensor<0x65536xbf16>, %b: tensor<65536x64xbf16>, %o: tensor<0x64xbf16>):
    %0 = tk.load %a[d0, d2] : tensor<0x65536xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %b[d2, d1] : tensor<65536x64xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
    %6 = arith.truncf %5 : f32 to bf16
    tk.store %6, %o[d0, d1] : bf16, tensor<0x64xbf16>
  }
  func.return %r : tensor<0x64xbf16>
}

// -----

// What is stored of the sums alone stays with the kernel that makes them, and is read where it is needed
// again: here the mean, which is returned, and an average that is kept. The largest is no sum of this level.
// CHECK-LABEL: @stored_of_sums
// CHECK: tk.kernel [8, 32, 4096] ins(%x
// CHECK: %[[A:.*]], %[[M:.*]] = tk.kernel [8, 32] ins({{.*}}, %old
// CHECK-SAME: -> (tensor<8xf32>, tensor<8x1xf32>)
// CHECK: tk.reduce add %{{.*}} over [1]
// CHECK: tk.store %{{.*}}, %{{.*}}[d0] : f32, tensor<8xf32>
// CHECK: tk.store %{{.*}}, %{{.*}}[d0, 0] : f32, tensor<8x1xf32>
// CHECK: tk.kernel [8, 131072] ins(%[[M]], %x
// CHECK-NOT: %old
// CHECK: tk.load %{{.*}}[d0, 0] : tensor<8x1xf32>
// CHECK-NOT: math.sqrt
// CHECK: func.return %{{.*}}, %[[A]], %[[M]]
func.func @stored_of_sums(%x: tensor<8x131072xf32>, %old: tensor<8xf32>) -> (tensor<8x131072xf32>, tensor<8xf32>, tensor<8x1xf32>) {
  %r, %k, %v = tk.kernel [8, 131072] ins(%x, %old : tensor<8x131072xf32>, tensor<8xf32>) -> (tensor<8x131072xf32>, tensor<8xf32>, tensor<8x1xf32>) {
  ^bb0(%a: tensor<8x131072xf32>, %b: tensor<8xf32>, %o: tensor<8x131072xf32>, %p: tensor<8xf32>, %q: tensor<8x1xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x131072xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    %2 = math.sqrt %1 : f32
    %3 = tk.load %b[d0] : tensor<8xf32> -> f32
    %4 = arith.addf %3, %2 : f32
    tk.store %4, %p[d0] : f32, tensor<8xf32>
    tk.store %2, %q[d0, 0] : f32, tensor<8x1xf32>
    %5 = arith.subf %0, %2 : f32
    tk.store %5, %o[d0, d1] : f32, tensor<8x131072xf32>
  }
  func.return %r, %k, %v : tensor<8x131072xf32>, tensor<8xf32>, tensor<8x1xf32>
}

// -----

// What needs a later reduction waits for it.
// CHECK-LABEL: @stored_of_later_sums
// CHECK: tk.kernel [8, 32] ins(
// CHECK-SAME: -> (tensor<8xf32>)
// CHECK: tk.reduce max
// CHECK: tk.kernel [8, 32, 4096]
// CHECK: tk.reduce add
// CHECK: tk.kernel [8, 32] ins(
// CHECK: tk.reduce add
// CHECK: math.log
func.func @stored_of_later_sums(%x: tensor<8x131072xf32>) -> (tensor<8xf32>) {
  %r = tk.kernel [8, 131072] ins(%x : tensor<8x131072xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<8x131072xf32>, %o: tensor<8xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x131072xf32> -> f32
    %1 = tk.reduce max %0 over [1] : f32
    %2 = arith.subf %0, %1 : f32
    %3 = math.sin %2 : f32
    %4 = tk.reduce add %3 over [1] : f32
    %5 = math.log %4 : f32
    %6 = arith.addf %5, %1 : f32
    tk.store %6, %o[d0] : f32, tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}

// -----

// Adjacent dimensions are one before, so that parts are of contiguous elements.
// CHECK-LABEL: @contiguous
// CHECK: tk.kernel [240, 2368] ins(%x
// CHECK: tk.load %{{.*}}[((d0*2368 + d1) floordiv 8880), ((d0*2368 + d1) mod 8880)]
// CHECK: tk.reduce add %{{.*}} over [1]
func.func @contiguous(%x: tensor<64x8880xf32>) -> tensor<f32> {
  %r = tk.kernel [64, 8880] ins(%x : tensor<64x8880xf32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<64x8880xf32>, %o: tensor<f32>):
    %0 = tk.load %a[d0, d1] : tensor<64x8880xf32> -> f32
    %1 = tk.reduce add %0 over [0, 1] : f32
    tk.store %1, %o[] : f32, tensor<f32>
  }
  func.return %r : tensor<f32>
}

// -----

// Not where one tensor has them otherwise.
// CHECK-LABEL: @not_contiguous_everywhere
// CHECK: tk.kernel [185, 48, 64] ins(%x
// CHECK: tk.reduce add %{{.*}} over [1, 2]
func.func @not_contiguous_everywhere(%x: tensor<64x8880xf32>, %w: tensor<8880xf32>) -> tensor<f32> {
  %r = tk.kernel [64, 8880] ins(%x, %w : tensor<64x8880xf32>, tensor<8880xf32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<64x8880xf32>, %b: tensor<8880xf32>, %o: tensor<f32>):
    %0 = tk.load %a[d0, d1] : tensor<64x8880xf32> -> f32
    %1 = tk.load %b[d1] : tensor<8880xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    %3 = tk.reduce add %2 over [0, 1] : f32
    tk.store %3, %o[] : f32, tensor<f32>
  }
  func.return %r : tensor<f32>
}

// -----

// What is stored twice is read as one of the two has it.
// CHECK-LABEL: @stored_twice
// CHECK: %[[P:.*]], %[[Q:.*]] = tk.kernel [8, 32] ins(
// CHECK-SAME: -> (tensor<8x1xf32>, tensor<8xf32>)
// CHECK: tk.kernel [8, 131072] ins(%[[P]], %x
// CHECK: tk.load %{{.*}}[d0, 0] : tensor<8x1xf32>
// CHECK: func.return %{{.*}}, %[[P]], %[[Q]]
func.func @stored_twice(%x: tensor<8x131072xf32>) -> (tensor<8x131072xf32>, tensor<8x1xf32>, tensor<8xf32>) {
  %r, %v, %k = tk.kernel [8, 131072] ins(%x : tensor<8x131072xf32>) -> (tensor<8x131072xf32>, tensor<8x1xf32>, tensor<8xf32>) {
  ^bb0(%a: tensor<8x131072xf32>, %o: tensor<8x131072xf32>, %p: tensor<8x1xf32>, %q: tensor<8xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x131072xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    %2 = math.sqrt %1 : f32
    tk.store %2, %p[d0, 0] : f32, tensor<8x1xf32>
    tk.store %2, %q[d0] : f32, tensor<8xf32>
    %5 = arith.subf %0, %2 : f32
    tk.store %5, %o[d0, d1] : f32, tensor<8x131072xf32>
  }
  func.return %r, %v, %k : tensor<8x131072xf32>, tensor<8x1xf32>, tensor<8xf32>
}
