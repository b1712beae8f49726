// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,dce,fuse,store-statistics --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,dce,fuse,store-statistics --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p "convert-tw-to-tk,absorb-views,dce,fuse,store-statistics{max-ops=5}" --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=SMALL
// RUN: tilewright-opt %s -p "convert-tw-to-tk,absorb-views,dce,fuse,store-statistics{max-inputs=1}" --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=NARROW

// CHECK-LABEL: @sums_columns_of_softmax
// CHECK: %[[M:.*]], %[[S:.*]] = tk.kernel [64, 48] ins(%x : tensor<64x48xf32>) -> (tensor<64xf32>, tensor<64xf32>)
// CHECK: tk.reduce max %{{.*}} over [1]
// CHECK: tk.reduce add %{{.*}} over [1]
// CHECK: tk.kernel [64, 48] ins(%[[M]], %[[S]], %x : tensor<64xf32>, tensor<64xf32>, tensor<64x48xf32>) -> (tensor<48xf32>)
// CHECK: math.exp
// CHECK: arith.divf
// CHECK: tk.reduce add %{{.*}} over [0]
// CHECK-NOT: tk.kernel
// SMALL: what it makes of its reductions is stored: its reader would have more than 5 ops
// NARROW: what it makes of its reductions is stored: its reader would read more than 1 tensors
func.func @sums_columns_of_softmax(%x: tensor<64x48xf32>) -> tensor<48xf32> {
  %m = tw.max %x over [1] : tensor<64x48xf32> -> tensor<64xf32>
  %b = tw.broadcast %m dims [0] : tensor<64xf32> -> tensor<64x48xf32>
  %d = tw.sub %x, %b : tensor<64x48xf32>
  %e = tw.exp %d : tensor<64x48xf32>
  %s = tw.sum %e over [1] : tensor<64x48xf32> -> tensor<64xf32>
  %t = tw.broadcast %s dims [0] : tensor<64xf32> -> tensor<64x48xf32>
  %p = tw.div %e, %t : tensor<64x48xf32>
  %r = tw.sum %p over [0] : tensor<64x48xf32> -> tensor<48xf32>
  func.return %r : tensor<48xf32>
}

// -----

// What it stores beside stays where it is made.
// CHECK-LABEL: @keeps_other_results
// CHECK: %[[E:.*]], %[[M:.*]] = tk.kernel [64, 48] ins(%x : tensor<64x48xf32>) -> (tensor<64x48xf32>, tensor<64xf32>)
// CHECK: tk.kernel [64, 48] ins(%[[M]], %x
// CHECK: return %{{.*}}, %[[E]]
func.func @keeps_other_results(%x: tensor<64x48xf32>) -> (tensor<48xf32>, tensor<64x48xf32>) {
  %e = tw.exp %x : tensor<64x48xf32>
  %m = tw.max %e over [1] : tensor<64x48xf32> -> tensor<64xf32>
  %b = tw.broadcast %m dims [0] : tensor<64xf32> -> tensor<64x48xf32>
  %d = tw.sub %e, %b : tensor<64x48xf32>
  %r = tw.sum %d over [0] : tensor<64x48xf32> -> tensor<48xf32>
  func.return %r, %e : tensor<48xf32>, tensor<64x48xf32>
}

// -----

// What is stored for others is read there; nothing is stored twice.
// CHECK-LABEL: @returned_as_well
// CHECK: %[[M:.*]], %[[S:.*]] = tk.kernel [64, 48] ins(%x : tensor<64x48xf32>) -> (tensor<64xf32>, tensor<64xf32>)
// CHECK: tk.kernel [64, 48] ins(%[[M]], %[[S]], %x : tensor<64xf32>, tensor<64xf32>, tensor<64x48xf32>) -> (tensor<48xf32>)
// CHECK: return %{{.*}}, %[[M]]
func.func @returned_as_well(%x: tensor<64x48xf32>) -> (tensor<48xf32>, tensor<64xf32>) {
  %m = tw.max %x over [1] : tensor<64x48xf32> -> tensor<64xf32>
  %b = tw.broadcast %m dims [0] : tensor<64xf32> -> tensor<64x48xf32>
  %d = tw.sub %x, %b : tensor<64x48xf32>
  %e = tw.exp %d : tensor<64x48xf32>
  %s = tw.sum %e over [1] : tensor<64x48xf32> -> tensor<64xf32>
  %t = tw.broadcast %s dims [0] : tensor<64xf32> -> tensor<64x48xf32>
  %p = tw.div %e, %t : tensor<64x48xf32>
  %r = tw.sum %p over [0] : tensor<64x48xf32> -> tensor<48xf32>
  func.return %r, %m : tensor<48xf32>, tensor<64xf32>
}

// -----

// At the place where it is stored; a whole matrix of one number per row is none.
// CHECK-LABEL: @stored_elsewhere
// CHECK: %[[M:.*]], %{{.*}}, %[[S:.*]] = tk.kernel [64, 48] ins(%x : tensor<64x48xf32>) -> (tensor<80xf32>, tensor<64x48xf32>, tensor<64xf32>)
// CHECK: tk.kernel [64, 48] ins(%[[M]], %[[S]], %x
// CHECK: tk.load %{{.*}}[d0 + 16] : tensor<80xf32> -> f32
func.func @stored_elsewhere(%x: tensor<64x48xf32>) -> (tensor<48xf32>, tensor<80xf32>, tensor<64x48xf32>) {
  %y, %m, %s = tk.kernel [64, 48] ins(%x : tensor<64x48xf32>) -> (tensor<64x48xf32>, tensor<80xf32>, tensor<64x48xf32>) {
  ^bb0(%a: tensor<64x48xf32>, %o: tensor<64x48xf32>, %p: tensor<80xf32>, %q: tensor<64x48xf32>):
    %0 = tk.load %a[d0, d1] : tensor<64x48xf32> -> f32
    %1 = tk.reduce max %0 over [1] : f32
    tk.store %1, %p[d0 + 16] : f32, tensor<80xf32>
    %2 = arith.subf %0, %1 : f32
    %3 = math.exp %2 : f32
    %4 = tk.reduce add %3 over [1] : f32
    tk.store %4, %q[d0, d1] : f32, tensor<64x48xf32>
    %5 = arith.divf %3, %4 : f32
    tk.store %5, %o[d0, d1] : f32, tensor<64x48xf32>
  }
  %r = tk.kernel [64, 48] ins(%y : tensor<64x48xf32>) -> (tensor<48xf32>) {
  ^bb0(%a: tensor<64x48xf32>, %o: tensor<48xf32>):
    %0 = tk.load %a[d0, d1] : tensor<64x48xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[d1] : f32, tensor<48xf32>
  }
  func.return %r, %m, %s : tensor<48xf32>, tensor<80xf32>, tensor<64x48xf32>
}

// -----

// CHECK-LABEL: @others_read_it
// CHECK: tk.kernel [64, 48] ins(%x : tensor<64x48xf32>) -> (tensor<64x48xf32>)
func.func @others_read_it(%x: tensor<64x48xf32>) -> (tensor<48xf32>, tensor<64x48xf32>) {
  %m = tw.max %x over [1] : tensor<64x48xf32> -> tensor<64xf32>
  %b = tw.broadcast %m dims [0] : tensor<64xf32> -> tensor<64x48xf32>
  %d = tw.sub %x, %b : tensor<64x48xf32>
  %r = tw.sum %d over [0] : tensor<64x48xf32> -> tensor<48xf32>
  func.return %r, %d : tensor<48xf32>, tensor<64x48xf32>
}

// -----

// Halves are written and read for less than what they were made of is read again.
// CHECK-LABEL: @narrower_than_its_source
// CHECK: tk.kernel [64, 48] ins(%x : tensor<64x48xf32>) -> (tensor<64x48xbf16>)
// REMARK: what it makes of its reductions is stored: to make it again would move 12800 bytes of 12288
func.func @narrower_than_its_source(%x: tensor<64x48xf32>) -> tensor<48xbf16> {
  %m = tw.max %x over [1] : tensor<64x48xf32> -> tensor<64xf32>
  %b = tw.broadcast %m dims [0] : tensor<64xf32> -> tensor<64x48xf32>
  %d = tw.sub %x, %b : tensor<64x48xf32>
  %h = tw.cast %d : tensor<64x48xf32> -> tensor<64x48xbf16>
  %r = tw.max %h over [0] : tensor<64x48xbf16> -> tensor<48xbf16>
  func.return %r : tensor<48xbf16>
}

// -----

// Running sums of the rows are not made again.
// CHECK-LABEL: @scans
// CHECK: tk.kernel [64, 48] ins(%x : tensor<64x48xf32>) -> (tensor<64x48xf32>)
// REMARK: what it makes of its reductions is stored: more than elementwise ops lie behind what is reduced
func.func @scans(%x: tensor<64x48xf32>) -> tensor<48xf32> {
  %k = tk.kernel [64, 48] ins(%x : tensor<64x48xf32>) -> (tensor<64x48xf32>) {
  ^bb0(%a: tensor<64x48xf32>, %o: tensor<64x48xf32>):
    %0 = tk.load %a[d0, d1] : tensor<64x48xf32> -> f32
    %1 = tk.reduce max %0 over [1] : f32
    %2 = arith.subf %0, %1 : f32
    %3 = tk.scan add %2 along 1 : f32
    tk.store %3, %o[d0, d1] : f32, tensor<64x48xf32>
  }
  %r = tw.sum %k over [0] : tensor<64x48xf32> -> tensor<48xf32>
  func.return %r : tensor<48xf32>
}

// -----

// Beside running sums, which stay, what rows are reduced to is enough for the rest.
// CHECK-LABEL: @beside_scans
// CHECK: %{{.*}}, %{{.*}} = tk.kernel [64, 48] ins(%x : tensor<64x48xf32>) -> (tensor<64x48xf32>, tensor<64xf32>)
// CHECK: tk.kernel [64, 48] ins({{.*}}) -> (tensor<48xf32>)
func.func @beside_scans(%x: tensor<64x48xf32>) -> tensor<48xf32> {
  %k, %l = tk.kernel [64, 48] ins(%x : tensor<64x48xf32>) -> (tensor<64x48xf32>, tensor<64x48xf32>) {
  ^bb0(%a: tensor<64x48xf32>, %o: tensor<64x48xf32>, %p: tensor<64x48xf32>):
    %0 = tk.load %a[d0, d1] : tensor<64x48xf32> -> f32
    %1 = tk.reduce max %0 over [1] : f32
    %2 = arith.subf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<64x48xf32>
    %3 = tk.scan add %2 along 1 : f32
    tk.store %3, %p[d0, d1] : f32, tensor<64x48xf32>
  }
  %r = tk.kernel [64, 48] ins(%k, %l : tensor<64x48xf32>, tensor<64x48xf32>) -> (tensor<48xf32>) {
  ^bb0(%a: tensor<64x48xf32>, %b: tensor<64x48xf32>, %o: tensor<48xf32>):
    %0 = tk.load %a[d0, d1] : tensor<64x48xf32> -> f32
    %1 = tk.load %b[d0, d1] : tensor<64x48xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    %3 = tk.reduce add %2 over [0] : f32
    tk.store %3, %o[d1] : f32, tensor<48xf32>
  }
  func.return %r : tensor<48xf32>
}

// -----

// What a function is for is made where it was, once: only elements at other places are made again.
// CHECK-LABEL: @moves_functions
// CHECK: %[[K:.*]] = tk.kernel [64, 48] ins(%x, %w : tensor<64x48xbf16>, tensor<48xf32>) -> (tensor<64x48xf32>)
// CHECK: math.cos
// CHECK-NOT: math.cos
// CHECK: return %[[K]] :
func.func @moves_functions(%x: tensor<64x48xbf16>, %w: tensor<48xf32>) -> tensor<64x48xf32> {
  %y, %z = tk.kernel [64, 48] ins(%x, %w : tensor<64x48xbf16>, tensor<48xf32>) -> (tensor<64x48xbf16>, tensor<64x48xbf16>) {
  ^bb0(%a: tensor<64x48xbf16>, %b: tensor<48xf32>, %o: tensor<64x48xbf16>, %p: tensor<64x48xbf16>):
    %h = tk.load %a[d0, d1] : tensor<64x48xbf16> -> bf16
    %0 = arith.extf %h : bf16 to f32
    %1 = tk.reduce max %0 over [1] : f32
    %2 = arith.subf %0, %1 : f32
    %3 = arith.truncf %2 : f32 to bf16
    tk.store %3, %o[d0, d1] : bf16, tensor<64x48xbf16>
    %4 = tk.load %b[d1] : tensor<48xf32> -> f32
    %c = math.cos %4 : f32
    %e = math.erf %c : f32
    %5 = math.log %e : f32
    %6 = arith.mulf %2, %5 : f32
    %7 = arith.truncf %6 : f32 to bf16
    tk.store %7, %p[d0, d1] : bf16, tensor<64x48xbf16>
  }
  %r = tk.kernel [64, 48] ins(%y, %z : tensor<64x48xbf16>, tensor<64x48xbf16>) -> (tensor<64x48xf32>) {
  ^bb0(%a: tensor<64x48xbf16>, %b: tensor<64x48xbf16>, %o: tensor<64x48xf32>):
    %0 = tk.load %a[d0, (d1 + 24) mod 48] : tensor<64x48xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %a[d0, (d1 + 12) mod 48] : tensor<64x48xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = tk.load %b[d0, d1] : tensor<64x48xbf16> -> bf16
    %5 = arith.extf %4 : bf16 to f32
    %6 = arith.addf %1, %3 : f32
    %7 = arith.addf %6, %5 : f32
    tk.store %7, %o[d0, d1] : f32, tensor<64x48xf32>
  }
  func.return %r : tensor<64x48xf32>
}

// -----

// Seven sines of each element, one of which its kernel made, take longer than to write them.
// CHECK-LABEL: @costs_more
// CHECK: tk.kernel [64, 48] ins(%x : tensor<64x48xf32>) -> (tensor<64x48xf32>)
// REMARK: what it makes of its reductions is stored: making it again costs 689472 and saves 188416
func.func @costs_more(%x: tensor<64x48xf32>) -> tensor<58x48xf32> {
  %m = tw.max %x over [1] : tensor<64x48xf32> -> tensor<64xf32>
  %b = tw.broadcast %m dims [0] : tensor<64xf32> -> tensor<64x48xf32>
  %d = tw.sub %x, %b : tensor<64x48xf32>
  %e = tw.sin %d : tensor<64x48xf32>
  %w = tw.window %e dims [0] sizes [7] strides [1] dilation [1] : tensor<64x48xf32> -> tensor<58x48x7xf32>
  %r = tw.sum %w over [2] : tensor<58x48x7xf32> -> tensor<58x48xf32>
  func.return %r : tensor<58x48xf32>
}

// -----

// A check that fails is said where it was made; what nothing else takes is read by the reader alone.
// CHECK-LABEL: @checks
// CHECK: %[[M:.*]] = tk.kernel [64, 48] ins(%x, %t : tensor<64x48xf32>, tensor<64xi64>) -> (tensor<64xf32>)
// CHECK: tk.assert
// CHECK: tk.kernel [64, 48] ins(%[[M]], %x, %w : tensor<64xf32>, tensor<64x48xf32>, tensor<64x48xf32>)
// CHECK-NOT: tk.assert
// CHECK: return
func.func @checks(%x: tensor<64x48xf32>, %t: tensor<64xi64>, %w: tensor<64x48xf32>) -> tensor<48xf32> {
  %k = tk.kernel [64, 48] ins(%x, %t, %w : tensor<64x48xf32>, tensor<64xi64>, tensor<64x48xf32>)
      -> (tensor<64x48xf32>) {
  ^bb0(%a: tensor<64x48xf32>, %p: tensor<64xi64>, %b: tensor<64x48xf32>, %o: tensor<64x48xf32>):
    %end = arith.constant 48 : i64
    %0 = tk.load %a[d0, d1] : tensor<64x48xf32> -> f32
    %1 = tk.reduce max %0 over [1] : f32
    %2 = tk.load %p[d0] : tensor<64xi64> -> i64
    %3 = arith.cmpi ult, %2, %end : i64
    tk.assert %3 "index out of range" : i1
    %4 = arith.subf %0, %1 : f32
    %5 = tk.load %b[d0, d1] : tensor<64x48xf32> -> f32
    %6 = arith.mulf %4, %5 : f32
    tk.store %6, %o[d0, d1] : f32, tensor<64x48xf32>
  }
  %r = tw.sum %k over [0] : tensor<64x48xf32> -> tensor<48xf32>
  func.return %r : tensor<48xf32>
}

// -----

// A norm of heads, of which rotary embeddings read each element and the one half a head further, under masks:
// the reader walks the same rows, so that it reduces them itself.
// CHECK-LABEL: @read_at_other_places
// CHECK: tk.kernel [6, 8] ins(%x : tensor<6x8xf32>) -> (tensor<6x8xf32>)
// CHECK: tk.reduce add
// CHECK-DAG: tk.load %{{.*}}[d0, d1 - 4] if
// CHECK-DAG: tk.load %{{.*}}[d0, d1 + 4] if
// CHECK-NOT: tk.kernel
// CHECK: return
func.func @read_at_other_places(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %y = tk.kernel [6, 8] ins(%x : tensor<6x8xf32>) -> (tensor<6x8xf32>) {
  ^bb0(%a: tensor<6x8xf32>, %o: tensor<6x8xf32>):
    %0 = tk.load %a[d0, d1] : tensor<6x8xf32> -> f32
    %1 = arith.mulf %0, %0 : f32
    %2 = tk.reduce add %1 over [1] : f32
    %3 = math.rsqrt %2 : f32
    %4 = arith.mulf %0, %3 : f32
    tk.store %4, %o[d0, d1] : f32, tensor<6x8xf32>
  }
  %r = tk.kernel [6, 8] ins(%y : tensor<6x8xf32>) -> (tensor<6x8xf32>) {
  ^bb0(%a: tensor<6x8xf32>, %o: tensor<6x8xf32>):
    %four = arith.constant 4 : i64
    %zero = arith.constant 0.0 : f32
    %0 = tk.index "d1" : i64
    %1 = arith.cmpi sge, %0, %four : i64
    %2 = arith.cmpi slt, %0, %four : i64
    %3 = tk.load %a[d0, d1 - 4] if %1 else %zero : tensor<6x8xf32> -> f32
    %4 = tk.load %a[d0, d1 + 4] if %2 else %zero : tensor<6x8xf32> -> f32
    %5 = tk.load %a[d0, d1] : tensor<6x8xf32> -> f32
    %6 = arith.subf %3, %4 : f32
    %7 = arith.addf %5, %6 : f32
    tk.store %7, %o[d0, d1] : f32, tensor<6x8xf32>
  }
  func.return %r : tensor<6x8xf32>
}

// -----

// A position is no number that a tensor holds: what it is made of is stored.
// CHECK-LABEL: @positions
// CHECK: %[[M:.*]] = tk.kernel [64, 48] ins(%x : tensor<64x48xf32>) -> (tensor<64xi64>)
// CHECK: tk.kernel [64, 48] ins(%[[M]], %x, %t : tensor<64xi64>, tensor<64x48xf32>, tensor<64x48xf32>) -> (tensor<48xf32>)
// CHECK: %[[P:.*]] = arith.index_cast
// CHECK: tk.load %{{.*}}[i0, d1](%[[P]])
// CHECK-NOT: tk.kernel
// CHECK: return
func.func @positions(%x: tensor<64x48xf32>, %t: tensor<64x48xf32>) -> tensor<48xf32> {
  %k = tk.kernel [64, 48] ins(%x, %t : tensor<64x48xf32>, tensor<64x48xf32>) -> (tensor<64x48xf32>) {
  ^bb0(%a: tensor<64x48xf32>, %w: tensor<64x48xf32>, %o: tensor<64x48xf32>):
    %low = arith.constant 0 : i64
    %high = arith.constant 63 : i64
    %0 = tk.load %a[d0, d1] : tensor<64x48xf32> -> f32
    %1 = tk.reduce max %0 over [1] : f32
    %2 = arith.fptosi %1 : f32 to i64
    %3 = arith.maxsi %2, %low : i64
    %4 = arith.minsi %3, %high : i64
    %5 = arith.index_cast %4 : i64 to index
    %6 = tk.load %w[i0, d1](%5) : tensor<64x48xf32> -> f32
    %7 = arith.subf %0, %6 : f32
    tk.store %7, %o[d0, d1] : f32, tensor<64x48xf32>
  }
  %r = tw.sum %k over [0] : tensor<64x48xf32> -> tensor<48xf32>
  func.return %r : tensor<48xf32>
}

// -----

// Another axis is reduced as well, in parts: what was reduced along the rows may vary along it.
// CHECK-LABEL: @reduces_columns_in_parts
// CHECK: %[[P:.*]], %[[M:.*]] = tk.kernel [16, 4, 48] ins(%x : tensor<64x48xf32>) -> (tensor<16x48xf32>, tensor<16x4xf32>)
// CHECK: tk.kernel [48, 64] ins(%{{.*}}, %[[M]], %x : tensor<48xf32>, tensor<16x4xf32>, tensor<64x48xf32>)
func.func @reduces_columns_in_parts(%x: tensor<64x48xf32>) -> tensor<48xf32> {
  %k, %p = tk.kernel [16, 4, 48] ins(%x : tensor<64x48xf32>) -> (tensor<64x48xf32>, tensor<16x48xf32>) {
  ^bb0(%a: tensor<64x48xf32>, %o: tensor<64x48xf32>, %q: tensor<16x48xf32>):
    %0 = tk.load %a[d0*4 + d1, d2] : tensor<64x48xf32> -> f32
    %1 = tk.reduce max %0 over [2] : f32
    %2 = arith.subf %0, %1 : f32
    tk.store %2, %o[d0*4 + d1, d2] : f32, tensor<64x48xf32>
    %3 = tk.reduce max %2 over [1] : f32
    tk.store %3, %q[d0, d2] : f32, tensor<16x48xf32>
  }
  %m = tw.max %p over [0] : tensor<16x48xf32> -> tensor<48xf32>
  %r = tk.kernel [48, 64] ins(%k, %m : tensor<64x48xf32>, tensor<48xf32>) -> (tensor<48xf32>) {
  ^bb0(%a: tensor<64x48xf32>, %b: tensor<48xf32>, %o: tensor<48xf32>):
    %0 = tk.load %a[d1, d0] : tensor<64x48xf32> -> f32
    %1 = tk.load %b[d0] : tensor<48xf32> -> f32
    %2 = arith.subf %0, %1 : f32
    %3 = math.exp %2 : f32
    %4 = tk.reduce add %3 over [1] : f32
    tk.store %4, %o[d0] : f32, tensor<48xf32>
  }
  func.return %r : tensor<48xf32>
}

// -----

// Each tile of a product would normalise its rows again.
// CHECK-LABEL: @products
// CHECK: tk.kernel [64, 48] ins(%x : tensor<64x48xf32>) -> (tensor<64x48xf32>)
// REMARK: what it makes of its reductions is stored: a product reads it, or makes it
func.func @products(%x: tensor<64x48xf32>, %w: tensor<48x32xf32>) -> tensor<64x32xf32> {
  %m = tw.max %x over [1] : tensor<64x48xf32> -> tensor<64xf32>
  %b = tw.broadcast %m dims [0] : tensor<64xf32> -> tensor<64x48xf32>
  %d = tw.sub %x, %b : tensor<64x48xf32>
  %r = tk.kernel [64, 32, 48] ins(%d, %w : tensor<64x48xf32>, tensor<48x32xf32>) -> (tensor<64x32xf32>) {
  ^bb0(%a: tensor<64x48xf32>, %c: tensor<48x32xf32>, %o: tensor<64x32xf32>):
    %0 = tk.load %a[d0, d2] : tensor<64x48xf32> -> f32
    %1 = tk.load %c[d2, d1] : tensor<48x32xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    %3 = tk.reduce add %2 over [2] : f32
    tk.store %3, %o[d0, d1] : f32, tensor<64x32xf32>
  }
  func.return %r : tensor<64x32xf32>
}
