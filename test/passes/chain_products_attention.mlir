// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse{hold_back=true},chain-products,dce' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse{hold_back=true},chain-products' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// Hand-written attention: products of halves, a softmax in f32.

// CHECK-LABEL: @chained
// CHECK: tk.kernel [2, 8, 5, 9, 4] ins(%q, %k, %v :
// CHECK-NOT: tk.kernel
func.func @chained(%q: tensor<2x8x4xbf16>, %k: tensor<2x4x9xbf16>, %v: tensor<2x9x5xbf16>) -> (tensor<2x8x5xbf16>) {
  %p = tw.matmul %q, %k : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s = tw.cast %p : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %m = tw.max %s over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %mb = tw.broadcast %m dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %d = tw.sub %s, %mb : tensor<2x8x9xf32>
  %x = tw.exp %d : tensor<2x8x9xf32>
  %t = tw.sum %x over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y = tw.div %x, %tb : tensor<2x8x9xf32>
  %w = tw.cast %y : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %r = tw.matmul %w, %v : (tensor<2x8x9xbf16>, tensor<2x9x5xbf16>) -> tensor<2x8x5xbf16>
  func.return %r : tensor<2x8x5xbf16>
}

// -----

// What else the softmax makes is stored by the same kernel.
// CHECK-LABEL: @keeps_the_sum
// CHECK: %{{.*}}, %{{.*}} = tk.kernel [2, 8, 5, 9, 4] {{.*}} -> (tensor<2x8xf32>, tensor<2x8x5xbf16>)
// CHECK-NOT: tk.kernel
func.func @keeps_the_sum(%q: tensor<2x8x4xbf16>, %k: tensor<2x4x9xbf16>, %v: tensor<2x9x5xbf16>) -> (tensor<2x8x5xbf16>, tensor<2x8xf32>) {
  %p = tw.matmul %q, %k : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s = tw.cast %p : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %m = tw.max %s over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %mb = tw.broadcast %m dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %d = tw.sub %s, %mb : tensor<2x8x9xf32>
  %x = tw.exp %d : tensor<2x8x9xf32>
  %t = tw.sum %x over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y = tw.div %x, %tb : tensor<2x8x9xf32>
  %w = tw.cast %y : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %r = tw.matmul %w, %v : (tensor<2x8x9xbf16>, tensor<2x9x5xbf16>) -> tensor<2x8x5xbf16>
  %g = tw.log %t : tensor<2x8xf32>
  %l = tw.add %g, %m : tensor<2x8xf32>
  func.return %r, %l : tensor<2x8x5xbf16>, tensor<2x8xf32>
}

// -----

// Heads that are part of the batch of both products, and an axis of their own where a mask is added: the last
// product has them apart as well, though what else is stored has them together.
// CHECK-LABEL: @heads_in_the_batch
// CHECK: %{{.*}}, %{{.*}} = tk.kernel [2, 3, 8, 5, 9, 4] {{.*}} -> (tensor<6x8xf32>, tensor<6x8x5xbf16>)
// CHECK-NOT: tk.kernel
func.func @heads_in_the_batch(%q: tensor<6x8x4xbf16>, %k: tensor<6x4x9xbf16>, %v: tensor<6x9x5xbf16>, %mask: tensor<2x8x9xbf16>) -> (tensor<6x8x5xbf16>, tensor<6x8xf32>) {
  %p = tw.matmul %q, %k : (tensor<6x8x4xbf16>, tensor<6x4x9xbf16>) -> tensor<6x8x9xbf16>
  %h = tw.reshape %p : tensor<6x8x9xbf16> -> tensor<2x3x8x9xbf16>
  %mh = tw.broadcast %mask dims [0, 2, 3] : tensor<2x8x9xbf16> -> tensor<2x3x8x9xbf16>
  %a = tw.add %h, %mh : tensor<2x3x8x9xbf16>
  %f = tw.reshape %a : tensor<2x3x8x9xbf16> -> tensor<6x8x9xbf16>
  %s = tw.cast %f : tensor<6x8x9xbf16> -> tensor<6x8x9xf32>
  %m = tw.max %s over [2] : tensor<6x8x9xf32> -> tensor<6x8xf32>
  %mb = tw.broadcast %m dims [0, 1] : tensor<6x8xf32> -> tensor<6x8x9xf32>
  %d = tw.sub %s, %mb : tensor<6x8x9xf32>
  %x = tw.exp %d : tensor<6x8x9xf32>
  %t = tw.sum %x over [2] : tensor<6x8x9xf32> -> tensor<6x8xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<6x8xf32> -> tensor<6x8x9xf32>
  %y = tw.div %x, %tb : tensor<6x8x9xf32>
  %w = tw.cast %y : tensor<6x8x9xf32> -> tensor<6x8x9xbf16>
  %r = tw.matmul %w, %v : (tensor<6x8x9xbf16>, tensor<6x9x5xbf16>) -> tensor<6x8x5xbf16>
  func.return %r, %t : tensor<6x8x5xbf16>, tensor<6x8xf32>
}

// -----

// CHECK-LABEL: @weights_are_read
// CHECK-COUNT-3: tk.kernel
// REMARK: not chained: its weights have other readers
func.func @weights_are_read(%q: tensor<2x8x4xbf16>, %k: tensor<2x4x9xbf16>, %v: tensor<2x9x5xbf16>) -> (tensor<2x8x5xbf16>, tensor<2x8x9xbf16>) {
  %p = tw.matmul %q, %k : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s = tw.cast %p : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %m = tw.max %s over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %mb = tw.broadcast %m dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %d = tw.sub %s, %mb : tensor<2x8x9xf32>
  %x = tw.exp %d : tensor<2x8x9xf32>
  %t = tw.sum %x over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y = tw.div %x, %tb : tensor<2x8x9xf32>
  %w = tw.cast %y : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %r = tw.matmul %w, %v : (tensor<2x8x9xbf16>, tensor<2x9x5xbf16>) -> tensor<2x8x5xbf16>
  func.return %r, %w : tensor<2x8x5xbf16>, tensor<2x8x9xbf16>
}

// -----

// Steps know no sums yet, which weights are divided by.
// CHECK-LABEL: @weights_are_stored_in_f32
// CHECK-COUNT-3: tk.kernel
// REMARK: not chained: together they are no chain that tiles can walk
func.func @weights_are_stored_in_f32(%q: tensor<2x8x4xbf16>, %k: tensor<2x4x9xbf16>, %v: tensor<2x9x5xbf16>) -> (tensor<2x8x5xbf16>, tensor<2x8x9xf32>) {
  %p = tw.matmul %q, %k : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s = tw.cast %p : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %m = tw.max %s over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %mb = tw.broadcast %m dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %d = tw.sub %s, %mb : tensor<2x8x9xf32>
  %x = tw.exp %d : tensor<2x8x9xf32>
  %t = tw.sum %x over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y = tw.div %x, %tb : tensor<2x8x9xf32>
  %w = tw.cast %y : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %r = tw.matmul %w, %v : (tensor<2x8x9xbf16>, tensor<2x9x5xbf16>) -> tensor<2x8x5xbf16>
  %z = tw.add %y, %y : tensor<2x8x9xf32>
  func.return %r, %z : tensor<2x8x5xbf16>, tensor<2x8x9xf32>
}

// -----

// CHECK-LABEL: @scores_are_read
// CHECK-COUNT-3: tk.kernel
// REMARK: not chained: its scores have other readers
func.func @scores_are_read(%q: tensor<2x8x4xbf16>, %k: tensor<2x4x9xbf16>, %v: tensor<2x9x5xbf16>) -> (tensor<2x8x5xbf16>, tensor<2x8x9xbf16>) {
  %p = tw.matmul %q, %k : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s = tw.cast %p : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %m = tw.max %s over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %mb = tw.broadcast %m dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %d = tw.sub %s, %mb : tensor<2x8x9xf32>
  %x = tw.exp %d : tensor<2x8x9xf32>
  %t = tw.sum %x over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y = tw.div %x, %tb : tensor<2x8x9xf32>
  %w = tw.cast %y : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %r = tw.matmul %w, %v : (tensor<2x8x9xbf16>, tensor<2x9x5xbf16>) -> tensor<2x8x5xbf16>
  func.return %r, %p : tensor<2x8x5xbf16>, tensor<2x8x9xbf16>
}

// -----

// CHECK-LABEL: @wide_heads
// CHECK-COUNT-3: tk.kernel
// REMARK: not chained: a program cannot hold axes that are symbolic, of one element, or of more than 256
func.func @wide_heads(%q: tensor<2x8x257xbf16>, %k: tensor<2x257x9xbf16>, %v: tensor<2x9x5xbf16>) -> (tensor<2x8x5xbf16>) {
  %p = tw.matmul %q, %k : (tensor<2x8x257xbf16>, tensor<2x257x9xbf16>) -> tensor<2x8x9xbf16>
  %s = tw.cast %p : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %m = tw.max %s over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %mb = tw.broadcast %m dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %d = tw.sub %s, %mb : tensor<2x8x9xf32>
  %x = tw.exp %d : tensor<2x8x9xf32>
  %t = tw.sum %x over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y = tw.div %x, %tb : tensor<2x8x9xf32>
  %w = tw.cast %y : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %r = tw.matmul %w, %v : (tensor<2x8x9xbf16>, tensor<2x9x5xbf16>) -> tensor<2x8x5xbf16>
  func.return %r : tensor<2x8x5xbf16>
}

// -----

// Products of one row or column are no matrix products, but sums of rows.
// CHECK-LABEL: @one_row
// CHECK-COUNT-2: tk.kernel
// CHECK-NOT: tk.factors
func.func @one_row(%q: tensor<2x1x4xbf16>, %k: tensor<2x4x9xbf16>, %v: tensor<2x9x5xbf16>) -> (tensor<2x1x5xbf16>) {
  %p = tw.matmul %q, %k : (tensor<2x1x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x1x9xbf16>
  %s = tw.cast %p : tensor<2x1x9xbf16> -> tensor<2x1x9xf32>
  %m = tw.max %s over [2] : tensor<2x1x9xf32> -> tensor<2x1xf32>
  %mb = tw.broadcast %m dims [0, 1] : tensor<2x1xf32> -> tensor<2x1x9xf32>
  %d = tw.sub %s, %mb : tensor<2x1x9xf32>
  %x = tw.exp %d : tensor<2x1x9xf32>
  %t = tw.sum %x over [2] : tensor<2x1x9xf32> -> tensor<2x1xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x1xf32> -> tensor<2x1x9xf32>
  %y = tw.div %x, %tb : tensor<2x1x9xf32>
  %w = tw.cast %y : tensor<2x1x9xf32> -> tensor<2x1x9xbf16>
  %r = tw.matmul %w, %v : (tensor<2x1x9xbf16>, tensor<2x9x5xbf16>) -> tensor<2x1x5xbf16>
  func.return %r : tensor<2x1x5xbf16>
}

// -----

// CHECK-LABEL: @one_column
// CHECK-COUNT-2: tk.kernel
func.func @one_column(%q: tensor<2x8x4xbf16>, %k: tensor<2x4x1xbf16>, %v: tensor<2x1x5xbf16>) -> (tensor<2x8x5xbf16>) {
  %p = tw.matmul %q, %k : (tensor<2x8x4xbf16>, tensor<2x4x1xbf16>) -> tensor<2x8x1xbf16>
  %s = tw.cast %p : tensor<2x8x1xbf16> -> tensor<2x8x1xf32>
  %m = tw.max %s over [2] : tensor<2x8x1xf32> -> tensor<2x8xf32>
  %mb = tw.broadcast %m dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x1xf32>
  %d = tw.sub %s, %mb : tensor<2x8x1xf32>
  %x = tw.exp %d : tensor<2x8x1xf32>
  %t = tw.sum %x over [2] : tensor<2x8x1xf32> -> tensor<2x8xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x1xf32>
  %y = tw.div %x, %tb : tensor<2x8x1xf32>
  %w = tw.cast %y : tensor<2x8x1xf32> -> tensor<2x8x1xbf16>
  %r = tw.matmul %w, %v : (tensor<2x8x1xbf16>, tensor<2x1x5xbf16>) -> tensor<2x8x5xbf16>
  func.return %r : tensor<2x8x5xbf16>
}

// -----

// Weights that are not proportional to exponentials of what was maximised need all of a row at once.
// CHECK-LABEL: @not_a_softmax
// CHECK-COUNT-3: tk.kernel
// REMARK: not chained: its weights are no softmax
func.func @not_a_softmax(%q: tensor<2x8x4xbf16>, %k: tensor<2x4x9xbf16>, %v: tensor<2x9x5xbf16>) -> (tensor<2x8x5xbf16>) {
  %p = tw.matmul %q, %k : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s = tw.cast %p : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %m = tw.max %s over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %mb = tw.broadcast %m dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y = tw.sub %s, %mb : tensor<2x8x9xf32>
  %w = tw.cast %y : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %r = tw.matmul %w, %v : (tensor<2x8x9xbf16>, tensor<2x9x5xbf16>) -> tensor<2x8x5xbf16>
  func.return %r : tensor<2x8x5xbf16>
}

// -----

// A smallest score is nothing that tiles carry along.
// CHECK-LABEL: @not_a_chain
// CHECK-COUNT-3: tk.kernel
// REMARK: not chained: together they are no chain that tiles can walk
func.func @not_a_chain(%q: tensor<2x8x4xbf16>, %k: tensor<2x4x9xbf16>, %v: tensor<2x9x5xbf16>) -> (tensor<2x8x5xbf16>) {
  %p = tw.matmul %q, %k : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s = tw.cast %p : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %m = tw.max %s over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %mb = tw.broadcast %m dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %d = tw.sub %s, %mb : tensor<2x8x9xf32>
  %x = tw.exp %d : tensor<2x8x9xf32>
  %t = tw.sum %x over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %n = tw.min %s over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %u = tw.add %t, %n : tensor<2x8xf32>
  %tb = tw.broadcast %u dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y = tw.div %x, %tb : tensor<2x8x9xf32>
  %w = tw.cast %y : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %r = tw.matmul %w, %v : (tensor<2x8x9xbf16>, tensor<2x9x5xbf16>) -> tensor<2x8x5xbf16>
  func.return %r : tensor<2x8x5xbf16>
}

// -----

// A write in place stands between them.
// CHECK-LABEL: @cannot_move
// CHECK-COUNT-3: tk.kernel
// REMARK: not chained: an op with effects stands between them
func.func @cannot_move(%q: tensor<2x8x4xbf16>, %k: tensor<2x4x9xbf16>, %v: tensor<2x9x5xbf16>, %z: tensor<2x8xf32>) -> tensor<2x8x5xbf16> {
  %p = tw.matmul %q, %k : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s = tw.cast %p : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %m = tw.max %s over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %mb = tw.broadcast %m dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %d = tw.sub %s, %mb : tensor<2x8x9xf32>
  %x = tw.exp %d : tensor<2x8x9xf32>
  %t = tw.sum %x over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y = tw.div %x, %tb : tensor<2x8x9xf32>
  %w = tw.cast %y : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  tw.write %m into %z : tensor<2x8xf32>
  %r = tw.matmul %w, %v : (tensor<2x8x9xbf16>, tensor<2x9x5xbf16>) -> tensor<2x8x5xbf16>
  func.return %r : tensor<2x8x5xbf16>
}

// -----

// Dropout: exponentials that it leaves out are 0 in the second sum alone, which is raised as a whole.
// CHECK-LABEL: @dropped
// CHECK: tk.kernel [2, 8, 5, 9, 4]
// CHECK: %[[E:.*]] = math.exp
// CHECK: %[[T:.*]] = tk.reduce add %[[E]] over [3] : f32
// CHECK: %[[N:.*]] = tk.random
// CHECK: %[[K:.*]] = arith.cmpf oge, %[[N]],
// CHECK: %[[L:.*]] = arith.select %[[K]], %[[E]], %{{.*}} : f32
// CHECK: %[[P:.*]] = arith.mulf %[[L]],
// CHECK: %[[O:.*]] = tk.reduce add %[[P]] over [3] {tk.factors = bf16} : f32
// CHECK: %[[Q:.*]] = arith.divf %[[O]],
// CHECK: arith.mulf %[[Q]],
// CHECK-NOT: tk.kernel
func.func @dropped(%seed: tensor<i64>, %q: tensor<2x8x4xbf16>, %k: tensor<2x4x9xbf16>, %v: tensor<2x9x5xbf16>) -> tensor<2x8x5xbf16> {
  %p = tw.matmul %q, %k : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s = tw.cast %p : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %m = tw.max %s over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %mb = tw.broadcast %m dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %d = tw.sub %s, %mb : tensor<2x8x9xf32>
  %x = tw.exp %d : tensor<2x8x9xf32>
  %t = tw.sum %x over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y = tw.div %x, %tb : tensor<2x8x9xf32>
  %h = tw.cast %y rounded : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %n = tw.rng_uniform %seed offset "0" : tensor<i64> -> tensor<2x8x9xf32>
  %rate = tw.full 0.5 : f32 -> tensor<2x8x9xf32>
  %kept = tw.compare ge %n, %rate : tensor<2x8x9xf32> -> tensor<2x8x9xi1>
  %two = tw.full 2.0 : bf16 -> tensor<2x8x9xbf16>
  %raised = tw.mul %h, %two : tensor<2x8x9xbf16>
  %zero = tw.full 0.0 : bf16 -> tensor<2x8x9xbf16>
  %w = tw.select %kept, %raised, %zero : tensor<2x8x9xi1>, tensor<2x8x9xbf16>
  %r = tw.matmul %w, %v : (tensor<2x8x9xbf16>, tensor<2x9x5xbf16>) -> tensor<2x8x5xbf16>
  func.return %r : tensor<2x8x5xbf16>
}

// -----

// So are weights with factors of their own.
// CHECK-LABEL: @gated
// CHECK: tk.kernel [2, 8, 5, 9, 4]
// CHECK: %[[E:.*]] = math.exp
// CHECK: %[[G:.*]] = tk.load %{{.*}}[d0, d1, d3]
// CHECK: %[[L:.*]] = arith.mulf %[[E]], %[[G]]
// CHECK: arith.mulf %[[L]],
// CHECK-NOT: tk.kernel
func.func @gated(%gate: tensor<2x8x9xf32>, %q: tensor<2x8x4xbf16>, %k: tensor<2x4x9xbf16>, %v: tensor<2x9x5xbf16>) -> tensor<2x8x5xbf16> {
  %p = tw.matmul %q, %k : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s = tw.cast %p : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %m = tw.max %s over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %mb = tw.broadcast %m dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %d = tw.sub %s, %mb : tensor<2x8x9xf32>
  %x = tw.exp %d : tensor<2x8x9xf32>
  %t = tw.sum %x over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y = tw.div %x, %tb : tensor<2x8x9xf32>
  %g = tw.mul %y, %gate : tensor<2x8x9xf32>
  %w = tw.cast %g : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %r = tw.matmul %w, %v : (tensor<2x8x9xbf16>, tensor<2x9x5xbf16>) -> tensor<2x8x5xbf16>
  func.return %r : tensor<2x8x5xbf16>
}

// -----

// What a softmax is added to is nothing that scales it.
// CHECK-LABEL: @shifted
// CHECK-COUNT-3: tk.kernel
// REMARK: not chained: its weights are no softmax
func.func @shifted(%gate: tensor<2x8x9xf32>, %q: tensor<2x8x4xbf16>, %k: tensor<2x4x9xbf16>, %v: tensor<2x9x5xbf16>) -> tensor<2x8x5xbf16> {
  %p = tw.matmul %q, %k : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s = tw.cast %p : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %m = tw.max %s over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %mb = tw.broadcast %m dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %d = tw.sub %s, %mb : tensor<2x8x9xf32>
  %x = tw.exp %d : tensor<2x8x9xf32>
  %t = tw.sum %x over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y = tw.div %x, %tb : tensor<2x8x9xf32>
  %g = tw.add %y, %gate : tensor<2x8x9xf32>
  %w = tw.cast %g : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %r = tw.matmul %w, %v : (tensor<2x8x9xbf16>, tensor<2x9x5xbf16>) -> tensor<2x8x5xbf16>
  func.return %r : tensor<2x8x5xbf16>
}

// -----

// Exponentials of a row whose maximum is infinite are NaN: those that are stored count from it, not from 0.
// CHECK-LABEL: @keeps_exponentials
// CHECK-NOT: math.absf
// CHECK: tk.reduce max
// CHECK-NOT: math.absf
// CHECK: func.return
// REMARK: not chained: it stores what is not divided by the sum of its weights
func.func @keeps_exponentials(%q: tensor<2x8x4xbf16>, %k: tensor<2x4x9xbf16>, %v: tensor<2x9x5xbf16>) -> (tensor<2x8x5xbf16>, tensor<2x8x9xf32>, tensor<2x8x9xf32>) {
  %p = tw.matmul %q, %k : (tensor<2x8x4xbf16>, tensor<2x4x9xbf16>) -> tensor<2x8x9xbf16>
  %s = tw.cast %p : tensor<2x8x9xbf16> -> tensor<2x8x9xf32>
  %m = tw.max %s over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %mb = tw.broadcast %m dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %d = tw.sub %s, %mb : tensor<2x8x9xf32>
  %x = tw.exp %d : tensor<2x8x9xf32>
  %t = tw.sum %x over [2] : tensor<2x8x9xf32> -> tensor<2x8xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x9xf32>
  %y = tw.div %x, %tb : tensor<2x8x9xf32>
  %w = tw.cast %y : tensor<2x8x9xf32> -> tensor<2x8x9xbf16>
  %r = tw.matmul %w, %v : (tensor<2x8x9xbf16>, tensor<2x9x5xbf16>) -> tensor<2x8x5xbf16>
  func.return %r, %x, %d : tensor<2x8x5xbf16>, tensor<2x8x9xf32>, tensor<2x8x9xf32>
}
