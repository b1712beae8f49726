// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=all},absorb-views,dce,fuse{hold_back=true},recompute-products,dce' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=all},absorb-views,dce,fuse{hold_back=true},recompute-products' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// Gradients of attention, from the log-sum-exp %l of each row and the sums %t of result times gradient.

// Rows of queries go along keys; rows of keys, of which two results are wanted, along queries.
// CHECK-LABEL: @gradients
// CHECK: %[[GQ:.*]] = tk.kernel [2, 8, 9, 4, 5, 4] ins({{.*}}) -> (tensor<2x8x4xbf16>)
// CHECK: %[[S:.*]] = tk.reduce add %{{.*}} over [3] {tk.factors = bf16} : f32
// CHECK: %[[G:.*]] = tk.reduce add %{{.*}} over [4] {tk.factors = bf16} : f32
// CHECK: %[[Y:.*]] = arith.subf %[[G]]
// CHECK: %[[X:.*]] = arith.subf %[[S]]
// CHECK: %[[P:.*]] = math.exp %[[X]]
// CHECK: arith.mulf %[[P]], %[[Y]]
// CHECK: tk.reduce add %{{.*}} over [2] {tk.factors = bf16} : f32
// CHECK-NOT: tk.reduce
// CHECK: %[[GV:.*]], %[[GK:.*]] = tk.kernel [2, 8, 9, 4, 5, 5, 4] ins({{.*}}) -> (tensor<2x9x5xbf16>, tensor<2x9x4xbf16>)
// CHECK: tk.reduce add %{{.*}} over [3] {tk.factors = bf16} : f32
// CHECK: tk.reduce add %{{.*}} over [4] {tk.factors = bf16} : f32
// CHECK: tk.reduce add %{{.*}} over [1] {tk.factors = bf16} : f32
// CHECK: tk.reduce add %{{.*}} over [1] {tk.factors = bf16} : f32
// CHECK-NOT: tk.reduce
// CHECK: return %[[GQ]], %[[GK]], %[[GV]]
func.func @gradients(%q: tensor<2x8x4xbf16>, %k: tensor<2x9x4xbf16>, %v: tensor<2x9x5xbf16>, %g: tensor<2x8x5xbf16>, %l: tensor<2x8xf32>, %t: tensor<2x8xf32>) -> (tensor<2x8x4xbf16>, tensor<2x9x4xbf16>, tensor<2x9x5xbf16>) {
  %kt = tw.transpose %k by [0, 2, 1] : tensor<2x9x4xbf16> -> tensor<2x4x9xbf16>
  %vt = tw.transpose %v by [0, 2, 1] : tensor<2x9x5xbf16> -> tensor<2x5x9xbf16>
  %s0 = tw.matmul %q, %kt : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s1 = tw.cast %s0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %lb = tw.broadcast %l dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %x = tw.sub %s1, %lb : tensor<2x8x9xf32>
  %p = tw.exp %x : tensor<2x8x9xf32>
  %ph = tw.cast %p rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %pt = tw.transpose %ph by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gv = tw.matmul %pt, %g : (tensor<2x9x8xbf16>, tensor<2x8x5xbf16>) -> tensor<2x9x5xbf16>
  %y0 = tw.matmul %g, %vt : (tensor<2x8x5xbf16>, tensor<2x5x9xbf16>) -> tensor<2x8x9xbf16>
  %y1 = tw.cast %y0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y2 = tw.sub %y1, %tb : tensor<2x8x9xf32>
  %d0 = tw.mul %p, %y2 : tensor<2x8x9xf32>
  %d = tw.cast %d0 rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %dt = tw.transpose %d by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gk = tw.matmul %dt, %q : (tensor<2x9x8xbf16>, tensor<2x8x4xbf16>) -> tensor<2x9x4xbf16>
  %gq = tw.matmul %d, %k : (tensor<2x8x9xbf16>, tensor<2x9x4xbf16>) -> tensor<2x8x4xbf16>
  func.return %gq, %gk, %gv : tensor<2x8x4xbf16>, tensor<2x9x4xbf16>, tensor<2x9x5xbf16>
}

// -----

// A mask that is computed, and what is computed for each row, are computed again where they are read.
// CHECK-LABEL: @what_rows_and_columns_are_made_of
// CHECK: tk.kernel [2, 8, 9, 4, {{.*}}] ins(%q, %k, %g, %v, %t, %l :
// CHECK: tk.kernel [2, 8, 9, 4, {{.*}}] ins(%q, %k, %g, %v, %t, %l :
// CHECK-NOT: tk.kernel
func.func @what_rows_and_columns_are_made_of(%q: tensor<2x8x4xbf16>, %k: tensor<2x9x4xbf16>, %v: tensor<2x9x5xbf16>, %g: tensor<2x8x5xbf16>, %l: tensor<2x8xf32>, %t: tensor<2x8xf32>) -> (tensor<2x8x4xbf16>, tensor<2x9x4xbf16>, tensor<2x9x5xbf16>) {
  %kt = tw.transpose %k by [0, 2, 1] : tensor<2x9x4xbf16> -> tensor<2x4x9xbf16>
  %vt = tw.transpose %v by [0, 2, 1] : tensor<2x9x5xbf16> -> tensor<2x5x9xbf16>
  %s0 = tw.matmul %q, %kt : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s1 = tw.cast %s0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %i = tw.iota dim 0 start "0" step "1" -> tensor<8x9xi64>
  %j = tw.iota dim 1 start "0" step "1" -> tensor<8x9xi64>
  %c = tw.compare ge %i, %j : tensor<8x9xi64> -> tensor<8x9xi1>
  %cb = tw.broadcast %c dims [1, 2] : tensor<8x9xi1> -> tensor<2x8x9xi1>
  %n = tw.full 0xff800000 : f32 -> tensor<2x8x9xf32>
  %s2 = tw.select %cb, %s1, %n : tensor<2x8x9xi1>, tensor<2x8x9xf32>
  %l2 = tw.mul %l, %l : tensor<2x8xf32>
  %lb = tw.broadcast %l2 dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %x = tw.sub %s2, %lb : tensor<2x8x9xf32>
  %p = tw.exp %x : tensor<2x8x9xf32>
  %ph = tw.cast %p rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %pt = tw.transpose %ph by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gv = tw.matmul %pt, %g : (tensor<2x9x8xbf16>, tensor<2x8x5xbf16>) -> tensor<2x9x5xbf16>
  %y0 = tw.matmul %g, %vt : (tensor<2x8x5xbf16>, tensor<2x5x9xbf16>) -> tensor<2x8x9xbf16>
  %y1 = tw.cast %y0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y2 = tw.sub %y1, %tb : tensor<2x8x9xf32>
  %d0 = tw.mul %p, %y2 : tensor<2x8x9xf32>
  %d = tw.cast %d0 rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %dt = tw.transpose %d by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gk = tw.matmul %dt, %q : (tensor<2x9x8xbf16>, tensor<2x8x4xbf16>) -> tensor<2x9x4xbf16>
  %gq = tw.matmul %d, %k : (tensor<2x8x9xbf16>, tensor<2x9x4xbf16>) -> tensor<2x8x4xbf16>
  func.return %gq, %gk, %gv : tensor<2x8x4xbf16>, tensor<2x9x4xbf16>, tensor<2x9x5xbf16>
}

// -----

// Somebody reads the gradient of the scores, too: the kernel that goes along keys stores it.
// CHECK-LABEL: @gradient_of_scores_is_read
// CHECK: %[[D:.*]], %[[GQ:.*]] = tk.kernel {{.*}} -> (tensor<2x8x9xbf16>, tensor<2x8x4xbf16>)
// CHECK: tk.store %{{.*}}, %{{.*}}[d0, d1, d2] : bf16, tensor<2x8x9xbf16>
// CHECK: %[[GV:.*]], %[[GK:.*]] = tk.kernel {{.*}} -> (tensor<2x9x5xbf16>, tensor<2x9x4xbf16>)
// CHECK: return %[[GQ]], %[[GK]], %[[GV]], %[[D]]
func.func @gradient_of_scores_is_read(%q: tensor<2x8x4xbf16>, %k: tensor<2x9x4xbf16>, %v: tensor<2x9x5xbf16>, %g: tensor<2x8x5xbf16>, %l: tensor<2x8xf32>, %t: tensor<2x8xf32>) -> (tensor<2x8x4xbf16>, tensor<2x9x4xbf16>, tensor<2x9x5xbf16>, tensor<2x8x9xbf16>) {
  %kt = tw.transpose %k by [0, 2, 1] : tensor<2x9x4xbf16> -> tensor<2x4x9xbf16>
  %vt = tw.transpose %v by [0, 2, 1] : tensor<2x9x5xbf16> -> tensor<2x5x9xbf16>
  %s0 = tw.matmul %q, %kt : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s1 = tw.cast %s0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %lb = tw.broadcast %l dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %x = tw.sub %s1, %lb : tensor<2x8x9xf32>
  %p = tw.exp %x : tensor<2x8x9xf32>
  %ph = tw.cast %p rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %pt = tw.transpose %ph by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gv = tw.matmul %pt, %g : (tensor<2x9x8xbf16>, tensor<2x8x5xbf16>) -> tensor<2x9x5xbf16>
  %y0 = tw.matmul %g, %vt : (tensor<2x8x5xbf16>, tensor<2x5x9xbf16>) -> tensor<2x8x9xbf16>
  %y1 = tw.cast %y0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y2 = tw.sub %y1, %tb : tensor<2x8x9xf32>
  %d0 = tw.mul %p, %y2 : tensor<2x8x9xf32>
  %d = tw.cast %d0 rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %dt = tw.transpose %d by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gk = tw.matmul %dt, %q : (tensor<2x9x8xbf16>, tensor<2x8x4xbf16>) -> tensor<2x9x4xbf16>
  %gq = tw.matmul %d, %k : (tensor<2x8x9xbf16>, tensor<2x9x4xbf16>) -> tensor<2x8x4xbf16>
  func.return %gq, %gk, %gv, %d : tensor<2x8x4xbf16>, tensor<2x9x4xbf16>, tensor<2x9x5xbf16>, tensor<2x8x9xbf16>
}

// -----

// CHECK-LABEL: @gradients_of_keys_alone
// CHECK: tk.kernel {{.*}} -> (tensor<2x9x5xbf16>, tensor<2x9x4xbf16>)
// CHECK-NOT: tk.kernel
func.func @gradients_of_keys_alone(%q: tensor<2x8x4xbf16>, %k: tensor<2x9x4xbf16>, %v: tensor<2x9x5xbf16>, %g: tensor<2x8x5xbf16>, %l: tensor<2x8xf32>, %t: tensor<2x8xf32>) -> (tensor<2x9x4xbf16>, tensor<2x9x5xbf16>) {
  %kt = tw.transpose %k by [0, 2, 1] : tensor<2x9x4xbf16> -> tensor<2x4x9xbf16>
  %vt = tw.transpose %v by [0, 2, 1] : tensor<2x9x5xbf16> -> tensor<2x5x9xbf16>
  %s0 = tw.matmul %q, %kt : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s1 = tw.cast %s0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %lb = tw.broadcast %l dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %x = tw.sub %s1, %lb : tensor<2x8x9xf32>
  %p = tw.exp %x : tensor<2x8x9xf32>
  %ph = tw.cast %p rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %pt = tw.transpose %ph by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gv = tw.matmul %pt, %g : (tensor<2x9x8xbf16>, tensor<2x8x5xbf16>) -> tensor<2x9x5xbf16>
  %y0 = tw.matmul %g, %vt : (tensor<2x8x5xbf16>, tensor<2x5x9xbf16>) -> tensor<2x8x9xbf16>
  %y1 = tw.cast %y0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y2 = tw.sub %y1, %tb : tensor<2x8x9xf32>
  %d0 = tw.mul %p, %y2 : tensor<2x8x9xf32>
  %d = tw.cast %d0 rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %dt = tw.transpose %d by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gk = tw.matmul %dt, %q : (tensor<2x9x8xbf16>, tensor<2x8x4xbf16>) -> tensor<2x9x4xbf16>
  %gq = tw.matmul %d, %k : (tensor<2x8x9xbf16>, tensor<2x9x4xbf16>) -> tensor<2x8x4xbf16>
  func.return %gk, %gv : tensor<2x9x4xbf16>, tensor<2x9x5xbf16>
}

// -----

// What reads one result before the others are made comes after all of them, in the order in which it stood.
// CHECK-LABEL: @readers_move_behind
// CHECK: %[[GV:.*]], %{{.*}} = tk.kernel {{.*}} -> (tensor<2x9x5xbf16>, tensor<2x9x4xbf16>)
// CHECK: %[[R:.*]] = tk.kernel {{.*}} ins(%[[GV]] :
// CHECK: tk.kernel {{.*}} ins(%[[R]] :
func.func @readers_move_behind(%q: tensor<2x8x4xbf16>, %k: tensor<2x9x4xbf16>, %v: tensor<2x9x5xbf16>, %g: tensor<2x8x5xbf16>, %l: tensor<2x8xf32>, %t: tensor<2x8xf32>) -> (tensor<2x8x4xbf16>, tensor<2x9x4xbf16>, tensor<2x9x5xbf16>, tensor<2x9x5xbf16>) {
  %kt = tw.transpose %k by [0, 2, 1] : tensor<2x9x4xbf16> -> tensor<2x4x9xbf16>
  %vt = tw.transpose %v by [0, 2, 1] : tensor<2x9x5xbf16> -> tensor<2x5x9xbf16>
  %s0 = tw.matmul %q, %kt : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s1 = tw.cast %s0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %lb = tw.broadcast %l dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %x = tw.sub %s1, %lb : tensor<2x8x9xf32>
  %p = tw.exp %x : tensor<2x8x9xf32>
  %ph = tw.cast %p rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %pt = tw.transpose %ph by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gv = tw.matmul %pt, %g : (tensor<2x9x8xbf16>, tensor<2x8x5xbf16>) -> tensor<2x9x5xbf16>
  %r0, %ri0 = tw.sort %gv dim 2 : tensor<2x9x5xbf16> -> tensor<2x9x5xbf16>, tensor<2x9x5xi64>
  %r, %ri = tw.sort %r0 dim 1 : tensor<2x9x5xbf16> -> tensor<2x9x5xbf16>, tensor<2x9x5xi64>
  %y0 = tw.matmul %g, %vt : (tensor<2x8x5xbf16>, tensor<2x5x9xbf16>) -> tensor<2x8x9xbf16>
  %y1 = tw.cast %y0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y2 = tw.sub %y1, %tb : tensor<2x8x9xf32>
  %d0 = tw.mul %p, %y2 : tensor<2x8x9xf32>
  %d = tw.cast %d0 rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %dt = tw.transpose %d by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gk = tw.matmul %dt, %q : (tensor<2x9x8xbf16>, tensor<2x8x4xbf16>) -> tensor<2x9x4xbf16>
  %gq = tw.matmul %d, %k : (tensor<2x8x9xbf16>, tensor<2x9x4xbf16>) -> tensor<2x8x4xbf16>
  func.return %gq, %gk, %gv, %r : tensor<2x8x4xbf16>, tensor<2x9x4xbf16>, tensor<2x9x5xbf16>, tensor<2x9x5xbf16>
}

// -----

// CHECK-LABEL: @effect_in_between
// CHECK-COUNT-5: tk.kernel
// REMARK: not computed again: an op with effects stands between them
func.func @effect_in_between(%q: tensor<2x8x4xbf16>, %k: tensor<2x9x4xbf16>, %v: tensor<2x9x5xbf16>, %g: tensor<2x8x5xbf16>, %l: tensor<2x8xf32>, %t: tensor<2x8xf32>, %z: tensor<2x9x5xbf16>) -> (tensor<2x8x4xbf16>, tensor<2x9x4xbf16>) {
  %kt = tw.transpose %k by [0, 2, 1] : tensor<2x9x4xbf16> -> tensor<2x4x9xbf16>
  %vt = tw.transpose %v by [0, 2, 1] : tensor<2x9x5xbf16> -> tensor<2x5x9xbf16>
  %s0 = tw.matmul %q, %kt : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s1 = tw.cast %s0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %lb = tw.broadcast %l dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %x = tw.sub %s1, %lb : tensor<2x8x9xf32>
  %p = tw.exp %x : tensor<2x8x9xf32>
  %ph = tw.cast %p rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %pt = tw.transpose %ph by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gv = tw.matmul %pt, %g : (tensor<2x9x8xbf16>, tensor<2x8x5xbf16>) -> tensor<2x9x5xbf16>
  tw.write %gv into %z : tensor<2x9x5xbf16>
  %y0 = tw.matmul %g, %vt : (tensor<2x8x5xbf16>, tensor<2x5x9xbf16>) -> tensor<2x8x9xbf16>
  %y1 = tw.cast %y0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y2 = tw.sub %y1, %tb : tensor<2x8x9xf32>
  %d0 = tw.mul %p, %y2 : tensor<2x8x9xf32>
  %d = tw.cast %d0 rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %dt = tw.transpose %d by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gk = tw.matmul %dt, %q : (tensor<2x9x8xbf16>, tensor<2x8x4xbf16>) -> tensor<2x9x4xbf16>
  %gq = tw.matmul %d, %k : (tensor<2x8x9xbf16>, tensor<2x9x4xbf16>) -> tensor<2x8x4xbf16>
  func.return %gq, %gk : tensor<2x8x4xbf16>, tensor<2x9x4xbf16>
}

// -----

// CHECK-LABEL: @one_needs_the_other
// CHECK-COUNT-6: tk.kernel
// REMARK: not computed again: another path leads from one to the other
func.func @one_needs_the_other(%q: tensor<2x8x4xbf16>, %k: tensor<2x9x4xbf16>, %v: tensor<2x9x5xbf16>, %g: tensor<2x8x5xbf16>, %l: tensor<2x8xf32>, %t: tensor<2x8xf32>) -> (tensor<2x8x4xbf16>, tensor<2x9x4xbf16>, tensor<2x9x5xbf16>) {
  %kt = tw.transpose %k by [0, 2, 1] : tensor<2x9x4xbf16> -> tensor<2x4x9xbf16>
  %vt = tw.transpose %v by [0, 2, 1] : tensor<2x9x5xbf16> -> tensor<2x5x9xbf16>
  %s0 = tw.matmul %q, %kt : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s1 = tw.cast %s0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %lb = tw.broadcast %l dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %x = tw.sub %s1, %lb : tensor<2x8x9xf32>
  %p = tw.exp %x : tensor<2x8x9xf32>
  %ph = tw.cast %p rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %pt = tw.transpose %ph by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gv = tw.matmul %pt, %g : (tensor<2x9x8xbf16>, tensor<2x8x5xbf16>) -> tensor<2x9x5xbf16>
  %y0 = tw.matmul %g, %vt : (tensor<2x8x5xbf16>, tensor<2x5x9xbf16>) -> tensor<2x8x9xbf16>
  %y1 = tw.cast %y0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %h = tw.slice %gv starts "0, 0, 0" steps "1, 1, 1" : tensor<2x9x5xbf16> -> tensor<2x8x5xbf16>
  %h1 = tw.cast %h : tensor<2x8x5xbf16> -> tensor<2x8x5xf32>
  %h2 = tw.sum %h1 over [2] : tensor<2x8x5xf32> -> tensor<2x8xf32>
  %tb = tw.broadcast %h2 dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y2 = tw.sub %y1, %tb : tensor<2x8x9xf32>
  %d0 = tw.mul %p, %y2 : tensor<2x8x9xf32>
  %d = tw.cast %d0 rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %dt = tw.transpose %d by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gk = tw.matmul %dt, %q : (tensor<2x9x8xbf16>, tensor<2x8x4xbf16>) -> tensor<2x9x4xbf16>
  %gq = tw.matmul %d, %k : (tensor<2x8x9xbf16>, tensor<2x9x4xbf16>) -> tensor<2x8x4xbf16>
  func.return %gq, %gk, %gv : tensor<2x8x4xbf16>, tensor<2x9x4xbf16>, tensor<2x9x5xbf16>
}

// -----

// CHECK-LABEL: @gradients_of_queries_alone
// CHECK: tk.kernel {{.*}} -> (tensor<2x8x4xbf16>)
// CHECK-NOT: tk.kernel
func.func @gradients_of_queries_alone(%q: tensor<2x8x4xbf16>, %k: tensor<2x9x4xbf16>, %v: tensor<2x9x5xbf16>, %g: tensor<2x8x5xbf16>, %l: tensor<2x8xf32>, %t: tensor<2x8xf32>) -> (tensor<2x8x4xbf16>) {
  %kt = tw.transpose %k by [0, 2, 1] : tensor<2x9x4xbf16> -> tensor<2x4x9xbf16>
  %vt = tw.transpose %v by [0, 2, 1] : tensor<2x9x5xbf16> -> tensor<2x5x9xbf16>
  %s0 = tw.matmul %q, %kt : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s1 = tw.cast %s0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %lb = tw.broadcast %l dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %x = tw.sub %s1, %lb : tensor<2x8x9xf32>
  %p = tw.exp %x : tensor<2x8x9xf32>
  %ph = tw.cast %p rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %pt = tw.transpose %ph by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gv = tw.matmul %pt, %g : (tensor<2x9x8xbf16>, tensor<2x8x5xbf16>) -> tensor<2x9x5xbf16>
  %y0 = tw.matmul %g, %vt : (tensor<2x8x5xbf16>, tensor<2x5x9xbf16>) -> tensor<2x8x9xbf16>
  %y1 = tw.cast %y0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y2 = tw.sub %y1, %tb : tensor<2x8x9xf32>
  %d0 = tw.mul %p, %y2 : tensor<2x8x9xf32>
  %d = tw.cast %d0 rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %dt = tw.transpose %d by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gk = tw.matmul %dt, %q : (tensor<2x9x8xbf16>, tensor<2x8x4xbf16>) -> tensor<2x9x4xbf16>
  %gq = tw.matmul %d, %k : (tensor<2x8x9xbf16>, tensor<2x9x4xbf16>) -> tensor<2x8x4xbf16>
  func.return %gq : tensor<2x8x4xbf16>
}

// -----

// A layer after another is none of this.
// CHECK-LABEL: @one_reader
// CHECK-COUNT-2: tk.kernel
// REMARK: not computed again: it is read by one product alone
func.func @one_reader(%q: tensor<2x8x4xbf16>, %k: tensor<2x9x4xbf16>, %v: tensor<2x9x5xbf16>, %g: tensor<2x8x5xbf16>, %l: tensor<2x8xf32>, %t: tensor<2x8xf32>) -> (tensor<2x9x5xbf16>) {
  %kt = tw.transpose %k by [0, 2, 1] : tensor<2x9x4xbf16> -> tensor<2x4x9xbf16>
  %vt = tw.transpose %v by [0, 2, 1] : tensor<2x9x5xbf16> -> tensor<2x5x9xbf16>
  %s0 = tw.matmul %q, %kt : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s1 = tw.cast %s0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %lb = tw.broadcast %l dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %x = tw.sub %s1, %lb : tensor<2x8x9xf32>
  %p = tw.exp %x : tensor<2x8x9xf32>
  %ph = tw.cast %p rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %pt = tw.transpose %ph by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gv = tw.matmul %pt, %g : (tensor<2x9x8xbf16>, tensor<2x8x5xbf16>) -> tensor<2x9x5xbf16>
  %y0 = tw.matmul %g, %vt : (tensor<2x8x5xbf16>, tensor<2x5x9xbf16>) -> tensor<2x8x9xbf16>
  %y1 = tw.cast %y0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y2 = tw.sub %y1, %tb : tensor<2x8x9xf32>
  %d0 = tw.mul %p, %y2 : tensor<2x8x9xf32>
  %d = tw.cast %d0 rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %dt = tw.transpose %d by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gk = tw.matmul %dt, %q : (tensor<2x9x8xbf16>, tensor<2x8x4xbf16>) -> tensor<2x9x4xbf16>
  %gq = tw.matmul %d, %k : (tensor<2x8x9xbf16>, tensor<2x9x4xbf16>) -> tensor<2x8x4xbf16>
  func.return %gv : tensor<2x9x5xbf16>
}

// -----

// CHECK-LABEL: @f32
// CHECK-COUNT-5: tk.kernel
// REMARK: not computed again: a library multiplies f32 as fast as it is read
func.func @f32(%q: tensor<2x8x4xf32>, %k: tensor<2x9x4xf32>, %v: tensor<2x9x5xf32>, %g: tensor<2x8x5xf32>, %l: tensor<2x8xf32>, %t: tensor<2x8xf32>) -> (tensor<2x8x4xf32>, tensor<2x9x4xf32>, tensor<2x9x5xf32>) {
  %kt = tw.transpose %k by [0, 2, 1] : tensor<2x9x4xf32> -> tensor<2x4x9xf32>
  %vt = tw.transpose %v by [0, 2, 1] : tensor<2x9x5xf32> -> tensor<2x5x9xf32>
  %s0 = tw.matmul %q, %kt : (tensor<2x8x4xf32>, tensor<2x4x9xf32>) -> tensor<2x8x9xf32>
  %lb = tw.broadcast %l dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %x = tw.sub %s0, %lb : tensor<2x8x9xf32>
  %p = tw.exp %x : tensor<2x8x9xf32>
  %pt = tw.transpose %p by [0, 2, 1] : tensor<2x8x9xf32> -> tensor<2x9x8xf32>
  %gv = tw.matmul %pt, %g : (tensor<2x9x8xf32>, tensor<2x8x5xf32>) -> tensor<2x9x5xf32>
  %y0 = tw.matmul %g, %vt : (tensor<2x8x5xf32>, tensor<2x5x9xf32>) -> tensor<2x8x9xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y2 = tw.sub %y0, %tb : tensor<2x8x9xf32>
  %d0 = tw.mul %p, %y2 : tensor<2x8x9xf32>
  %dt = tw.transpose %d0 by [0, 2, 1] : tensor<2x8x9xf32> -> tensor<2x9x8xf32>
  %gk = tw.matmul %dt, %q : (tensor<2x9x8xf32>, tensor<2x8x4xf32>) -> tensor<2x9x4xf32>
  %gq = tw.matmul %d0, %k : (tensor<2x8x9xf32>, tensor<2x9x4xf32>) -> tensor<2x8x4xf32>
  func.return %gq, %gk, %gv : tensor<2x8x4xf32>, tensor<2x9x4xf32>, tensor<2x9x5xf32>
}

// -----

// CHECK-LABEL: @wide_heads
// CHECK-COUNT-5: tk.kernel
// REMARK: not computed again: a program cannot hold axes that are symbolic, of one element, or of more than 256
func.func @wide_heads(%q: tensor<2x8x257xbf16>, %k: tensor<2x9x257xbf16>, %v: tensor<2x9x5xbf16>, %g: tensor<2x8x5xbf16>, %l: tensor<2x8xf32>, %t: tensor<2x8xf32>) -> (tensor<2x8x257xbf16>, tensor<2x9x257xbf16>, tensor<2x9x5xbf16>) {
  %kt = tw.transpose %k by [0, 2, 1] : tensor<2x9x257xbf16> -> tensor<2x257x9xbf16>
  %vt = tw.transpose %v by [0, 2, 1] : tensor<2x9x5xbf16> -> tensor<2x5x9xbf16>
  %s0 = tw.matmul %q, %kt : (tensor<2x8x257xbf16>, tensor<2x257x9xbf16>) -> tensor<2x8x9xbf16>
  %s1 = tw.cast %s0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %lb = tw.broadcast %l dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %x = tw.sub %s1, %lb : tensor<2x8x9xf32>
  %p = tw.exp %x : tensor<2x8x9xf32>
  %ph = tw.cast %p rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %pt = tw.transpose %ph by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gv = tw.matmul %pt, %g : (tensor<2x9x8xbf16>, tensor<2x8x5xbf16>) -> tensor<2x9x5xbf16>
  %y0 = tw.matmul %g, %vt : (tensor<2x8x5xbf16>, tensor<2x5x9xbf16>) -> tensor<2x8x9xbf16>
  %y1 = tw.cast %y0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y2 = tw.sub %y1, %tb : tensor<2x8x9xf32>
  %d0 = tw.mul %p, %y2 : tensor<2x8x9xf32>
  %d = tw.cast %d0 rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %dt = tw.transpose %d by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gk = tw.matmul %dt, %q : (tensor<2x9x8xbf16>, tensor<2x8x257xbf16>) -> tensor<2x9x257xbf16>
  %gq = tw.matmul %d, %k : (tensor<2x8x9xbf16>, tensor<2x9x257xbf16>) -> tensor<2x8x257xbf16>
  func.return %gq, %gk, %gv : tensor<2x8x257xbf16>, tensor<2x9x257xbf16>, tensor<2x9x5xbf16>
}

// -----

// Two matrices of one layer: each program of the few would go along all that is in a batch.
// CHECK-LABEL: @a_long_way
// CHECK-COUNT-5: tk.kernel
// REMARK: not computed again: few programs would go a long way
func.func @a_long_way(%q: tensor<1x512x4xbf16>, %k: tensor<1x9x4xbf16>, %v: tensor<1x9x5xbf16>, %g: tensor<1x512x5xbf16>, %l: tensor<1x512xf32>, %t: tensor<1x512xf32>) -> (tensor<1x512x4xbf16>, tensor<1x9x4xbf16>, tensor<1x9x5xbf16>) {
  %kt = tw.transpose %k by [0, 2, 1] : tensor<1x9x4xbf16> -> tensor<1x4x9xbf16>
  %vt = tw.transpose %v by [0, 2, 1] : tensor<1x9x5xbf16> -> tensor<1x5x9xbf16>
  %s0 = tw.matmul %q, %kt : (tensor<1x512x4xbf16>, tensor<1x4x9xbf16>) -> tensor<1x512x9xbf16>
  %s1 = tw.cast %s0 : tensor<1x512x9xbf16> -> tensor<1x512x9xf32>
  %lb = tw.broadcast %l dims [0, 1] : tensor<1x512xf32> -> tensor<1x512x9xf32>
  %x = tw.sub %s1, %lb : tensor<1x512x9xf32>
  %p = tw.exp %x : tensor<1x512x9xf32>
  %ph = tw.cast %p rounded : tensor<1x512x9xf32> -> tensor<1x512x9xbf16>
  %pt = tw.transpose %ph by [0, 2, 1] : tensor<1x512x9xbf16> -> tensor<1x9x512xbf16>
  %gv = tw.matmul %pt, %g : (tensor<1x9x512xbf16>, tensor<1x512x5xbf16>) -> tensor<1x9x5xbf16>
  %y0 = tw.matmul %g, %vt : (tensor<1x512x5xbf16>, tensor<1x5x9xbf16>) -> tensor<1x512x9xbf16>
  %y1 = tw.cast %y0 : tensor<1x512x9xbf16> -> tensor<1x512x9xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<1x512xf32> -> tensor<1x512x9xf32>
  %y2 = tw.sub %y1, %tb : tensor<1x512x9xf32>
  %d0 = tw.mul %p, %y2 : tensor<1x512x9xf32>
  %d = tw.cast %d0 rounded : tensor<1x512x9xf32> -> tensor<1x512x9xbf16>
  %dt = tw.transpose %d by [0, 2, 1] : tensor<1x512x9xbf16> -> tensor<1x9x512xbf16>
  %gk = tw.matmul %dt, %q : (tensor<1x9x512xbf16>, tensor<1x512x4xbf16>) -> tensor<1x9x4xbf16>
  %gq = tw.matmul %d, %k : (tensor<1x512x9xbf16>, tensor<1x9x4xbf16>) -> tensor<1x512x4xbf16>
  func.return %gq, %gk, %gv : tensor<1x512x4xbf16>, tensor<1x9x4xbf16>, tensor<1x9x5xbf16>
}

// -----

// A product of a part of the columns does not make all of them.
// CHECK-LABEL: @part_is_read
// CHECK-COUNT-3: tk.kernel
// REMARK: not computed again: no product reads all of what is made of it
func.func @part_is_read(%q: tensor<2x8x4xbf16>, %k: tensor<2x9x4xbf16>, %v: tensor<2x9x5xbf16>, %g: tensor<2x8x5xbf16>, %l: tensor<2x8xf32>, %t: tensor<2x8xf32>) -> (tensor<2x8x4xbf16>) {
  %kt = tw.transpose %k by [0, 2, 1] : tensor<2x9x4xbf16> -> tensor<2x4x9xbf16>
  %vt = tw.transpose %v by [0, 2, 1] : tensor<2x9x5xbf16> -> tensor<2x5x9xbf16>
  %s0 = tw.matmul %q, %kt : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s1 = tw.cast %s0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %lb = tw.broadcast %l dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %x = tw.sub %s1, %lb : tensor<2x8x9xf32>
  %p = tw.exp %x : tensor<2x8x9xf32>
  %ph = tw.cast %p rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %pt = tw.transpose %ph by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gv = tw.matmul %pt, %g : (tensor<2x9x8xbf16>, tensor<2x8x5xbf16>) -> tensor<2x9x5xbf16>
  %y0 = tw.matmul %g, %vt : (tensor<2x8x5xbf16>, tensor<2x5x9xbf16>) -> tensor<2x8x9xbf16>
  %y1 = tw.cast %y0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y2 = tw.sub %y1, %tb : tensor<2x8x9xf32>
  %d0 = tw.mul %p, %y2 : tensor<2x8x9xf32>
  %d = tw.cast %d0 rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %dt = tw.transpose %d by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gk = tw.matmul %dt, %q : (tensor<2x9x8xbf16>, tensor<2x8x4xbf16>) -> tensor<2x9x4xbf16>
  %d1 = tw.slice %d starts "0, 0, 0" steps "1, 1, 1" : tensor<2x8x9xbf16> -> tensor<2x8x7xbf16>
  %k1 = tw.slice %k starts "0, 0, 0" steps "1, 1, 1" : tensor<2x9x4xbf16> -> tensor<2x7x4xbf16>
  %gq = tw.matmul %d1, %k1 : (tensor<2x8x7xbf16>, tensor<2x7x4xbf16>) -> tensor<2x8x4xbf16>
  func.return %gq : tensor<2x8x4xbf16>
}

// -----

// CHECK-LABEL: @scores_of_integers
// CHECK-COUNT-5: tk.kernel
// REMARK: not computed again: together they are no chain that tiles can walk
func.func @scores_of_integers(%q: tensor<2x8x4xbf16>, %k: tensor<2x9x4xbf16>, %v: tensor<2x9x5xbf16>, %g: tensor<2x8x5xbf16>, %l: tensor<2x8xf32>, %t: tensor<2x8xf32>, %q8: tensor<2x8x4xi8>, %k8: tensor<2x4x9xi8>) -> (tensor<2x8x4xbf16>, tensor<2x9x4xbf16>, tensor<2x9x5xbf16>) {
  %vt = tw.transpose %v by [0, 2, 1] : tensor<2x9x5xbf16> -> tensor<2x5x9xbf16>
  %s0 = tw.matmul %q8, %k8 : (tensor<2x8x4xi8>, tensor<2x4x9xi8>) -> tensor<2x8x9xi32>
  %s1 = tw.cast %s0 : tensor<2x8x9xi32> -> tensor<2x8x9xf32>
  %lb = tw.broadcast %l dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %x = tw.sub %s1, %lb : tensor<2x8x9xf32>
  %p = tw.exp %x : tensor<2x8x9xf32>
  %ph = tw.cast %p rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %pt = tw.transpose %ph by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gv = tw.matmul %pt, %g : (tensor<2x9x8xbf16>, tensor<2x8x5xbf16>) -> tensor<2x9x5xbf16>
  %y0 = tw.matmul %g, %vt : (tensor<2x8x5xbf16>, tensor<2x5x9xbf16>) -> tensor<2x8x9xbf16>
  %y1 = tw.cast %y0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y2 = tw.sub %y1, %tb : tensor<2x8x9xf32>
  %d0 = tw.mul %p, %y2 : tensor<2x8x9xf32>
  %d = tw.cast %d0 rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %dt = tw.transpose %d by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gk = tw.matmul %dt, %q : (tensor<2x9x8xbf16>, tensor<2x8x4xbf16>) -> tensor<2x9x4xbf16>
  %gq = tw.matmul %d, %k : (tensor<2x8x9xbf16>, tensor<2x9x4xbf16>) -> tensor<2x8x4xbf16>
  func.return %gq, %gk, %gv : tensor<2x8x4xbf16>, tensor<2x9x4xbf16>, tensor<2x9x5xbf16>
}

// -----

// Its columns are those of another one's.
// CHECK-LABEL: @product_with_itself
// CHECK-COUNT-5: tk.kernel
// REMARK: not computed again: it is read under a mask, or at several positions
func.func @product_with_itself(%q: tensor<2x8x4xbf16>, %k: tensor<2x9x4xbf16>, %v: tensor<2x9x5xbf16>, %g: tensor<2x8x5xbf16>, %l: tensor<2x8xf32>, %t: tensor<2x8xf32>) -> (tensor<2x8x4xbf16>, tensor<2x9x5xbf16>, tensor<2x9x9xbf16>) {
  %kt = tw.transpose %k by [0, 2, 1] : tensor<2x9x4xbf16> -> tensor<2x4x9xbf16>
  %vt = tw.transpose %v by [0, 2, 1] : tensor<2x9x5xbf16> -> tensor<2x5x9xbf16>
  %s0 = tw.matmul %q, %kt : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s1 = tw.cast %s0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %lb = tw.broadcast %l dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %x = tw.sub %s1, %lb : tensor<2x8x9xf32>
  %p = tw.exp %x : tensor<2x8x9xf32>
  %ph = tw.cast %p rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %pt = tw.transpose %ph by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gv = tw.matmul %pt, %g : (tensor<2x9x8xbf16>, tensor<2x8x5xbf16>) -> tensor<2x9x5xbf16>
  %y0 = tw.matmul %g, %vt : (tensor<2x8x5xbf16>, tensor<2x5x9xbf16>) -> tensor<2x8x9xbf16>
  %y1 = tw.cast %y0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y2 = tw.sub %y1, %tb : tensor<2x8x9xf32>
  %d0 = tw.mul %p, %y2 : tensor<2x8x9xf32>
  %d = tw.cast %d0 rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %gk = tw.matmul %pt, %d : (tensor<2x9x8xbf16>, tensor<2x8x9xbf16>) -> tensor<2x9x9xbf16>
  %gq = tw.matmul %d, %k : (tensor<2x8x9xbf16>, tensor<2x9x4xbf16>) -> tensor<2x8x4xbf16>
  func.return %gq, %gv, %gk : tensor<2x8x4xbf16>, tensor<2x9x5xbf16>, tensor<2x9x9xbf16>
}

// -----

// What is added up over rows and columns, the kernel that goes along keys adds up of each row. It takes no second pass.
// CHECK-LABEL: @factor_of_all_scores
// CHECK: %[[R:.*]], %[[GQ:.*]] = tk.kernel {{.*}} -> (tensor<2x8xf32>, tensor<2x8x4xbf16>)
// CHECK: %[[S:.*]] = tk.reduce add %{{.*}} over [3] {tk.factors = bf16} : f32
// CHECK: %[[W:.*]] = arith.mulf %{{.*}}, %[[S]] : f32
// CHECK: %[[T:.*]] = tk.reduce add %[[W]] over [2] : f32
// CHECK: tk.store %[[T]], %{{.*}}[d0, d1] : f32, tensor<2x8xf32>
// CHECK: tk.kernel {{.*}} -> (tensor<2x9x5xbf16>, tensor<2x9x4xbf16>)
// CHECK-NOT: tk.reduce add %{{.*}} over [{{[0-9]}}] : f32
// CHECK: tk.kernel [2, 8] ins(%[[R]] : tensor<2x8xf32>) -> (tensor<2xbf16>)
// CHECK: %[[U:.*]] = tk.reduce add %{{.*}} over [1] : f32
// CHECK: arith.negf %[[U]]
func.func @factor_of_all_scores(%q: tensor<2x8x4xbf16>, %k: tensor<2x9x4xbf16>, %v: tensor<2x9x5xbf16>, %g: tensor<2x8x5xbf16>, %l: tensor<2x8xf32>, %t: tensor<2x8xf32>) -> (tensor<2x8x4xbf16>, tensor<2x9x4xbf16>, tensor<2x9x5xbf16>, tensor<2x1xbf16>) {
  %kt = tw.transpose %k by [0, 2, 1] : tensor<2x9x4xbf16> -> tensor<2x4x9xbf16>
  %vt = tw.transpose %v by [0, 2, 1] : tensor<2x9x5xbf16> -> tensor<2x5x9xbf16>
  %s0 = tw.matmul %q, %kt : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s1 = tw.cast %s0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %lb = tw.broadcast %l dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %x = tw.sub %s1, %lb : tensor<2x8x9xf32>
  %p = tw.exp %x : tensor<2x8x9xf32>
  %ph = tw.cast %p rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %pt = tw.transpose %ph by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gv = tw.matmul %pt, %g : (tensor<2x9x8xbf16>, tensor<2x8x5xbf16>) -> tensor<2x9x5xbf16>
  %y0 = tw.matmul %g, %vt : (tensor<2x8x5xbf16>, tensor<2x5x9xbf16>) -> tensor<2x8x9xbf16>
  %y1 = tw.cast %y0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y2 = tw.sub %y1, %tb : tensor<2x8x9xf32>
  %d0 = tw.mul %p, %y2 : tensor<2x8x9xf32>
  %d = tw.cast %d0 rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %dt = tw.transpose %d by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gk = tw.matmul %dt, %q : (tensor<2x9x8xbf16>, tensor<2x8x4xbf16>) -> tensor<2x9x4xbf16>
  %gq = tw.matmul %d, %k : (tensor<2x8x9xbf16>, tensor<2x9x4xbf16>) -> tensor<2x8x4xbf16>
  %w = tw.mul %d0, %s1 : tensor<2x8x9xf32>
  %u = tw.sum %w over [1, 2] : tensor<2x8x9xf32> -> tensor<2xf32>
  %n = tw.neg %u : tensor<2xf32>
  %nh = tw.cast %n : tensor<2xf32> -> tensor<2xbf16>
  %f = tw.reshape %nh : tensor<2xbf16> -> tensor<2x1xbf16>
  func.return %gq, %gk, %gv, %f : tensor<2x8x4xbf16>, tensor<2x9x4xbf16>, tensor<2x9x5xbf16>, tensor<2x1xbf16>
}

// -----

// Where nothing is computed again, one kernel does both, as before.
// CHECK-LABEL: @factor_of_scores_of_f32
// CHECK: tk.reduce add %{{.*}} over [1, 2] : f32
// CHECK-NOT: tk.kernel [2, 8] ins
func.func @factor_of_scores_of_f32(%q: tensor<2x8x4xf32>, %k: tensor<2x9x4xf32>, %v: tensor<2x9x5xf32>, %g: tensor<2x8x5xf32>, %l: tensor<2x8xf32>, %t: tensor<2x8xf32>) -> (tensor<2x8x4xf32>, tensor<2x9x4xf32>, tensor<2x9x5xf32>, tensor<2x1xf32>) {
  %kt = tw.transpose %k by [0, 2, 1] : tensor<2x9x4xf32> -> tensor<2x4x9xf32>
  %vt = tw.transpose %v by [0, 2, 1] : tensor<2x9x5xf32> -> tensor<2x5x9xf32>
  %s0 = tw.matmul %q, %kt : (tensor<2x8x4xf32>, tensor<2x4x9xf32>) -> tensor<2x8x9xf32>
  %s1 = tw.neg %s0 : tensor<2x8x9xf32>
  %lb = tw.broadcast %l dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %x = tw.sub %s1, %lb : tensor<2x8x9xf32>
  %p = tw.exp %x : tensor<2x8x9xf32>
  %ph = tw.neg %p : tensor<2x8x9xf32>
  %pt = tw.transpose %ph by [0, 2, 1] : tensor<2x8x9xf32> -> tensor<2x9x8xf32>
  %gv = tw.matmul %pt, %g : (tensor<2x9x8xf32>, tensor<2x8x5xf32>) -> tensor<2x9x5xf32>
  %y0 = tw.matmul %g, %vt : (tensor<2x8x5xf32>, tensor<2x5x9xf32>) -> tensor<2x8x9xf32>
  %y1 = tw.neg %y0 : tensor<2x8x9xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y2 = tw.sub %y1, %tb : tensor<2x8x9xf32>
  %d0 = tw.mul %p, %y2 : tensor<2x8x9xf32>
  %d = tw.neg %d0 : tensor<2x8x9xf32>
  %dt = tw.transpose %d by [0, 2, 1] : tensor<2x8x9xf32> -> tensor<2x9x8xf32>
  %gk = tw.matmul %dt, %q : (tensor<2x9x8xf32>, tensor<2x8x4xf32>) -> tensor<2x9x4xf32>
  %gq = tw.matmul %d, %k : (tensor<2x8x9xf32>, tensor<2x9x4xf32>) -> tensor<2x8x4xf32>
  %w = tw.mul %d0, %s1 : tensor<2x8x9xf32>
  %u = tw.sum %w over [1, 2] : tensor<2x8x9xf32> -> tensor<2xf32>
  %n = tw.neg %u : tensor<2xf32>
  %nh = tw.neg %n : tensor<2xf32>
  %f = tw.reshape %nh : tensor<2xf32> -> tensor<2x1xf32>
  func.return %gq, %gk, %gv, %f : tensor<2x8x4xf32>, tensor<2x9x4xf32>, tensor<2x9x5xf32>, tensor<2x1xf32>
}

// -----

// A sum that is subtracted where it was made is known too late.
// CHECK-LABEL: @sums_that_columns_read
// CHECK: tk.reduce add %{{.*}} over [1, 2] : f32
func.func @sums_that_columns_read(%q: tensor<2x8x4xbf16>, %k: tensor<2x9x4xbf16>, %v: tensor<2x9x5xbf16>, %g: tensor<2x8x5xbf16>, %l: tensor<2x8xf32>, %t: tensor<2x8xf32>) -> (tensor<2x8x4xbf16>, tensor<2x9x4xbf16>, tensor<2x9x5xbf16>, tensor<2x1xbf16>) {
  %kt = tw.transpose %k by [0, 2, 1] : tensor<2x9x4xbf16> -> tensor<2x4x9xbf16>
  %vt = tw.transpose %v by [0, 2, 1] : tensor<2x9x5xbf16> -> tensor<2x5x9xbf16>
  %s0 = tw.matmul %q, %kt : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s1 = tw.cast %s0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %lb = tw.broadcast %l dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %x = tw.sub %s1, %lb : tensor<2x8x9xf32>
  %p = tw.exp %x : tensor<2x8x9xf32>
  %ph = tw.cast %p rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %pt = tw.transpose %ph by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gv = tw.matmul %pt, %g : (tensor<2x9x8xbf16>, tensor<2x8x5xbf16>) -> tensor<2x9x5xbf16>
  %y0 = tw.matmul %g, %vt : (tensor<2x8x5xbf16>, tensor<2x5x9xbf16>) -> tensor<2x8x9xbf16>
  %y1 = tw.cast %y0 : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y2 = tw.sub %y1, %tb : tensor<2x8x9xf32>
  %d0 = tw.mul %p, %y2 : tensor<2x8x9xf32>
  %d = tw.cast %d0 rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %dt = tw.transpose %d by [0, 2, 1] : tensor<2x8x9xbf16> -> tensor<2x9x8xbf16>
  %gk = tw.matmul %dt, %q : (tensor<2x9x8xbf16>, tensor<2x8x4xbf16>) -> tensor<2x9x4xbf16>
  %gq = tw.matmul %d, %k : (tensor<2x8x9xbf16>, tensor<2x9x4xbf16>) -> tensor<2x8x4xbf16>
  %w = tw.mul %d0, %s1 : tensor<2x8x9xf32>
  %u = tw.sum %w over [1, 2] : tensor<2x8x9xf32> -> tensor<2xf32>
  %ub = tw.broadcast %u dims [0] : tensor<2xf32> -> tensor<2x8x9xf32>
  %uw = tw.sub %w, %ub : tensor<2x8x9xf32>
  %uh = tw.sum %uw over [1, 2] : tensor<2x8x9xf32> -> tensor<2xf32>
  %nh = tw.cast %uh : tensor<2xf32> -> tensor<2xbf16>
  %f = tw.reshape %nh : tensor<2xbf16> -> tensor<2x1xbf16>
  func.return %gq, %gk, %gv, %f : tensor<2x8x4xbf16>, tensor<2x9x4xbf16>, tensor<2x9x5xbf16>, tensor<2x1xbf16>
}
