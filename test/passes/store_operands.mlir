// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,dce,store-operands --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,dce,store-operands,bufferize --split-input-file | filecheck %s --check-prefix=PLAN
// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,dce,store-operands --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,dce,store-operands --split-input-file --verify-locations

// Heads become rows of two products; a kernel reads them where they are then.

// CHECK-LABEL: @heads
// CHECK:      %r = tk.kernel [2, 8, 3] ins(%x : tensor<2x8x3xf32>) -> (tensor<8x6xf32>)
// CHECK:      tk.store %{{.*}}, %{{.*}}[d1, d0*3 + d2] : f32, tensor<8x6xf32>
// CHECK-NOT:  tw.reshape
// CHECK:      tw.matmul %r, %w :
// CHECK-NEXT: %[[T:.*]] = tw.transpose %r by [1, 0] : tensor<8x6xf32> -> tensor<6x8xf32>
// CHECK-NEXT: tw.matmul %[[T]], %v
// CHECK-NEXT: %n = tk.kernel [2, 8, 3] ins(%r : tensor<8x6xf32>)
// CHECK:      tk.load %{{.*}}[d1, d0*3 + d2] : tensor<8x6xf32>
// PLAN-LABEL: @heads
// PLAN-NOT:   @copy
// PLAN:       func.return
func.func @heads(%x: tensor<2x8x3xf32>, %w: tensor<6x4xf32>, %v: tensor<8x5xf32>) -> (tensor<8x4xf32>, tensor<6x5xf32>, tensor<2x8x3xf32>) {
  %r = tw.exp %x : tensor<2x8x3xf32>
  %t = tw.transpose %r by [1, 0, 2] : tensor<2x8x3xf32> -> tensor<8x2x3xf32>
  %s = tw.reshape %t : tensor<8x2x3xf32> -> tensor<8x6xf32>
  %m = tw.matmul %s, %w : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %u = tw.transpose %s by [1, 0] : tensor<8x6xf32> -> tensor<6x8xf32>
  %p = tw.matmul %u, %v : (tensor<6x8xf32>, tensor<8x5xf32>) -> tensor<6x5xf32>
  %n = tw.neg %r : tensor<2x8x3xf32>
  func.return %m, %p, %n : tensor<8x4xf32>, tensor<6x5xf32>, tensor<2x8x3xf32>
}

// -----

// CHECK-LABEL: @symbols
// CHECK:      tk.kernel [2, s0, 3] ins(%x : {{.*}}) -> (tensor<?x6xf32, #tw.shape<"s0, 6">>)
// CHECK:      tk.store %{{.*}}, %{{.*}}[d1, d0*3 + d2] :
func.func @symbols(%s0: index {tw.symbol = "s0"}, %x: tensor<2x?x3xf32, #tw.shape<"2, s0, 3">>, %w: tensor<6x4xf32>) -> tensor<?x4xf32, #tw.shape<"s0, 4">> {
  %r = tw.exp %x : tensor<2x?x3xf32, #tw.shape<"2, s0, 3">>
  %t = tw.transpose %r by [1, 0, 2] : tensor<2x?x3xf32, #tw.shape<"2, s0, 3">> -> tensor<?x2x3xf32, #tw.shape<"s0, 2, 3">>
  %s = tw.reshape %t : tensor<?x2x3xf32, #tw.shape<"s0, 2, 3">> -> tensor<?x6xf32, #tw.shape<"s0, 6">>
  %m = tw.matmul %s, %w : (tensor<?x6xf32, #tw.shape<"s0, 6">>, tensor<6x4xf32>) -> tensor<?x4xf32, #tw.shape<"s0, 4">>
  func.return %m : tensor<?x4xf32, #tw.shape<"s0, 4">>
}

// -----

// A reshape that is a view anyway.

// CHECK-LABEL: @nothing_is_copied
// CHECK:      tk.kernel [8, 2, 3] ins(%x : tensor<8x2x3xf32>) -> (tensor<8x2x3xf32>)
// CHECK:      tw.reshape
func.func @nothing_is_copied(%x: tensor<8x2x3xf32>, %w: tensor<6x4xf32>) -> tensor<8x4xf32> {
  %r = tw.exp %x : tensor<8x2x3xf32>
  %s = tw.reshape %r : tensor<8x2x3xf32> -> tensor<8x6xf32>
  %m = tw.matmul %s, %w : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  func.return %m : tensor<8x4xf32>
}

// -----

// REMARK: tk.kernel at {{.*}}: a view of its result is copied: it would not store along rows
// CHECK-LABEL: @columns
// CHECK:      tw.reshape
func.func @columns(%x: tensor<8x3x2xf32>, %w: tensor<6x4xf32>) -> tensor<8x4xf32> {
  %r = tw.exp %x : tensor<8x3x2xf32>
  %t = tw.transpose %r by [0, 2, 1] : tensor<8x3x2xf32> -> tensor<8x2x3xf32>
  %s = tw.reshape %t : tensor<8x2x3xf32> -> tensor<8x6xf32>
  %m = tw.matmul %s, %w : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  func.return %m : tensor<8x4xf32>
}

// -----

// REMARK: tk.kernel at {{.*}}: a view of its result is copied: other ops read the result as it is
// CHECK-LABEL: @also_returned
// CHECK:      tw.reshape
func.func @also_returned(%x: tensor<2x8x3xf32>, %w: tensor<6x4xf32>) -> (tensor<8x4xf32>, tensor<2x8x3xf32>) {
  %r = tw.exp %x : tensor<2x8x3xf32>
  %t = tw.transpose %r by [1, 0, 2] : tensor<2x8x3xf32> -> tensor<8x2x3xf32>
  %s = tw.reshape %t : tensor<8x2x3xf32> -> tensor<8x6xf32>
  %m = tw.matmul %s, %w : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  func.return %m, %r : tensor<8x4xf32>, tensor<2x8x3xf32>
}

// -----

// A result that has strides already; what a library returns is no kernel's.

// REMARK: tk.kernel at {{.*}}: a view of its result is copied: its kernel cannot store it
// CHECK-LABEL: @not_stored_so
// CHECK:      tk.kernel
// CHECK-COUNT-2: tw.reshape
func.func @not_stored_so(%x: tensor<2x8x3xf32>, %y: tensor<2x8x2xf32>, %z: tensor<2x2x3xf32>, %w: tensor<6x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %r = tw.exp %x {tw.strides = ["3, 6, 1"]} : tensor<2x8x3xf32>
  %t = tw.transpose %r by [1, 0, 2] : tensor<2x8x3xf32> -> tensor<8x2x3xf32>
  %s = tw.reshape %t : tensor<8x2x3xf32> -> tensor<8x6xf32>
  %m = tw.matmul %s, %w : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %a = tw.matmul %y, %z : (tensor<2x8x2xf32>, tensor<2x2x3xf32>) -> tensor<2x8x3xf32>
  %b = tw.transpose %a by [1, 0, 2] : tensor<2x8x3xf32> -> tensor<8x2x3xf32>
  %c = tw.reshape %b : tensor<8x2x3xf32> -> tensor<8x6xf32>
  %n = tw.matmul %c, %w : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  func.return %m, %n : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// Heads of a new row go behind those of a cache, and are stored there: strides alone would not say where.

// CHECK-LABEL: @joined
// CHECK:      %r = tk.kernel [7, 4, 3] ins(%x : tensor<7x12xf32>) -> (tensor<1x4x1x3xf32>)
// CHECK:      tk.store %{{.*}}, %{{.*}}[0, d1, 0, d2] : f32, tensor<1x4x1x3xf32>
// CHECK-NOT:  tw.reshape
// CHECK:      tw.concat %c, %r dim 2
// PLAN-LABEL: @joined
// PLAN:       th.launch @copy
// PLAN-NOT:   th.launch @copy
// PLAN:       func.return
func.func @joined(%x: tensor<7x12xf32>, %c: tensor<1x4x5x3xf32>) -> tensor<1x4x6x3xf32> {
  %r = tw.sum %x over [0] : tensor<7x12xf32> -> tensor<12xf32>
  %s = tw.reshape %r : tensor<12xf32> -> tensor<1x1x4x3xf32>
  %t = tw.transpose %s by [0, 2, 1, 3] : tensor<1x1x4x3xf32> -> tensor<1x4x1x3xf32>
  %j = tw.concat %c, %t dim 2 : (tensor<1x4x5x3xf32>, tensor<1x4x1x3xf32>) -> tensor<1x4x6x3xf32>
  func.return %j : tensor<1x4x6x3xf32>
}

// -----

// Strides say where rows go: the kernel stores them in their place as it is.

// CHECK-LABEL: @joined_by_strides
// CHECK:      tk.kernel [7, 12] ins(%x : tensor<7x12xf32>) -> (tensor<12xf32>)
// PLAN-LABEL: @joined_by_strides
// PLAN:       th.launch @copy
// PLAN-NOT:   th.launch @copy
// PLAN:       func.return
func.func @joined_by_strides(%x: tensor<7x12xf32>, %c: tensor<5x4x3xf32>) -> tensor<6x4x3xf32> {
  %r = tw.sum %x over [0] : tensor<7x12xf32> -> tensor<12xf32>
  %s = tw.reshape %r : tensor<12xf32> -> tensor<1x4x3xf32>
  %j = tw.concat %c, %s dim 0 : (tensor<5x4x3xf32>, tensor<1x4x3xf32>) -> tensor<6x4x3xf32>
  func.return %j : tensor<6x4x3xf32>
}

// -----

// What others read, too; what would lie across rows.

// REMARK: tk.kernel at {{.*}}: a view of its result is copied: it would not store along rows
// CHECK-LABEL: @joined_otherwise
// CHECK:      tk.kernel [7, 12] ins(%x : tensor<7x12xf32>) -> (tensor<12xf32>)
// CHECK:      tk.kernel [7, 12] ins(%y : tensor<7x12xf32>) -> (tensor<12xf32>)
func.func @joined_otherwise(%x: tensor<7x12xf32>, %y: tensor<7x12xf32>, %c: tensor<1x4x5x3xf32>)
    -> (tensor<1x4x6x3xf32>, tensor<12xf32>, tensor<1x4x6x3xf32>) {
  %r = tw.sum %x over [0] : tensor<7x12xf32> -> tensor<12xf32>
  %s = tw.reshape %r : tensor<12xf32> -> tensor<1x4x1x3xf32>
  %n = tw.neg %r : tensor<12xf32>
  %j = tw.concat %c, %s dim 2 : (tensor<1x4x5x3xf32>, tensor<1x4x1x3xf32>) -> tensor<1x4x6x3xf32>
  %a = tw.sum %y over [0] : tensor<7x12xf32> -> tensor<12xf32>
  %b = tw.reshape %a : tensor<12xf32> -> tensor<1x3x1x4xf32>
  %t = tw.transpose %b by [0, 3, 2, 1] : tensor<1x3x1x4xf32> -> tensor<1x4x1x3xf32>
  %k = tw.concat %c, %t dim 2 : (tensor<1x4x5x3xf32>, tensor<1x4x1x3xf32>) -> tensor<1x4x6x3xf32>
  func.return %j, %n, %k : tensor<1x4x6x3xf32>, tensor<12xf32>, tensor<1x4x6x3xf32>
}

// -----

// Batches and heads are one dimension of what is stored, and none of its place: rows stay rows all the same.

// CHECK-LABEL: @batches_of_heads
// CHECK:      %r = tk.kernel [2, 4, 8, 3] ins(%x : tensor<8x8x3xf32>) -> (tensor<2x8x12xf32>)
// CHECK:      tk.store %{{.*}}, %{{.*}}[d0, d2, d1*3 + d3] : f32, tensor<2x8x12xf32>
// CHECK:      %j = tw.concat %r, %y dim 2
// PLAN-LABEL: @batches_of_heads
// PLAN:       th.launch @copy
// PLAN-NOT:   th.launch @copy
// PLAN:       func.return
func.func @batches_of_heads(%x: tensor<8x8x3xf32>, %y: tensor<2x8x12xf32>) -> tensor<2x8x24xf32> {
  %r = tw.exp %x : tensor<8x8x3xf32>
  %s = tw.reshape %r : tensor<8x8x3xf32> -> tensor<2x4x8x3xf32>
  %t = tw.transpose %s by [0, 2, 1, 3] : tensor<2x4x8x3xf32> -> tensor<2x8x4x3xf32>
  %u = tw.reshape %t : tensor<2x8x4x3xf32> -> tensor<2x8x12xf32>
  %j = tw.concat %u, %y dim 2 : (tensor<2x8x12xf32>, tensor<2x8x12xf32>) -> tensor<2x8x24xf32>
  func.return %j : tensor<2x8x24xf32>
}

// -----

// A chain of products has tiles, which it stores along either side; other kernels store along their rows.

// REMARK: tk.kernel at {{.*}}: a view of its result is copied: it would not store along rows
// CHECK-LABEL: @columns_of_tiles
// CHECK:      %c = tk.kernel [2, 2, 16, 16, 8, 8] {{.*}} -> (tensor<2x16x16xf32>)
// CHECK:      tk.store %{{.*}}, %{{.*}}[d0, d2, d1*8 + d5] : f32, tensor<2x16x16xf32>
// CHECK:      tk.kernel [4, 8, 16] {{.*}} -> (tensor<4x8x16xf32>)
func.func @columns_of_tiles(%q: tensor<4x16x8xf32>, %w: tensor<4x8x16xf32>) -> tensor<2x16x32xf32> {
  %c = tk.kernel [4, 16, 16, 8, 8] ins(%q : tensor<4x16x8xf32>) -> (tensor<4x8x16xf32>) {
  ^bb0(%i: tensor<4x16x8xf32>, %o: tensor<4x8x16xf32>):
    %0 = tk.load %i[d0, d1, d3] : tensor<4x16x8xf32> -> f32
    %1 = tk.load %i[d0, d2, d3] : tensor<4x16x8xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    %3 = tk.reduce add %2 over [3] : f32
    %4 = tk.load %i[d0, d2, d4] : tensor<4x16x8xf32> -> f32
    %5 = arith.mulf %3, %4 : f32
    %6 = tk.reduce add %5 over [2] : f32
    tk.store %6, %o[d0, d4, d1] : f32, tensor<4x8x16xf32>
  }
  %b = tw.reshape %c : tensor<4x8x16xf32> -> tensor<2x2x8x16xf32>
  %t = tw.transpose %b by [0, 3, 1, 2] : tensor<2x2x8x16xf32> -> tensor<2x16x2x8xf32>
  %s = tw.reshape %t : tensor<2x16x2x8xf32> -> tensor<2x16x16xf32>
  %e = tw.exp %w : tensor<4x8x16xf32>
  %d = tw.reshape %e : tensor<4x8x16xf32> -> tensor<2x2x8x16xf32>
  %u = tw.transpose %d by [0, 3, 1, 2] : tensor<2x2x8x16xf32> -> tensor<2x16x2x8xf32>
  %v = tw.reshape %u : tensor<2x16x2x8xf32> -> tensor<2x16x16xf32>
  %j = tw.concat %s, %v dim 2 : (tensor<2x16x16xf32>, tensor<2x16x16xf32>) -> tensor<2x16x32xf32>
  func.return %j : tensor<2x16x32xf32>
}

// -----

// Rows that are dealt out to two; of those that are dealt out to eight, too little is read at once.

// CHECK-LABEL: @dealt_out
// CHECK: %[[A:.*]] = tk.kernel {{.*}} -> (tensor<4x6x8xf32>)
// CHECK: %[[B:.*]] = tk.kernel {{.*}} -> (tensor<6x64xf32>)
// CHECK: %[[R:.*]] = tw.reshape %[[B]]
// CHECK: %[[T:.*]] = tw.transpose %[[R]]
// CHECK: %[[S:.*]] = tw.reshape %[[T]] : tensor<2x8x3x8xf32> -> tensor<16x3x8xf32>
// CHECK: tw.aten "aten::round"(%[[A]])
// CHECK: tw.aten "aten::round"(%[[S]])
func.func @dealt_out(%x: tensor<12x16xf32>, %y: tensor<6x64xf32>) -> (tensor<4x6x8xf32>, tensor<16x3x8xf32>) {
  %a = tk.kernel [12, 16] ins(%x : tensor<12x16xf32>) -> (tensor<12x16xf32>) {
  ^bb0(%i: tensor<12x16xf32>, %o: tensor<12x16xf32>):
    %0 = tk.load %i[d0, d1] : tensor<12x16xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<12x16xf32>
  }
  %b = tw.reshape %a : tensor<12x16xf32> -> tensor<6x2x8x2xf32>
  %c = tw.transpose %b by [1, 3, 0, 2] : tensor<6x2x8x2xf32> -> tensor<2x2x6x8xf32>
  %d = tw.reshape %c : tensor<2x2x6x8xf32> -> tensor<4x6x8xf32>
  %e = tk.kernel [6, 64] ins(%y : tensor<6x64xf32>) -> (tensor<6x64xf32>) {
  ^bb0(%i: tensor<6x64xf32>, %o: tensor<6x64xf32>):
    %0 = tk.load %i[d0, d1] : tensor<6x64xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<6x64xf32>
  }
  %f = tw.reshape %e : tensor<6x64xf32> -> tensor<3x2x8x8xf32>
  %g = tw.transpose %f by [1, 3, 0, 2] : tensor<3x2x8x8xf32> -> tensor<2x8x3x8xf32>
  %h = tw.reshape %g : tensor<2x8x3x8xf32> -> tensor<16x3x8xf32>
  %k = tw.aten "aten::round"(%d) {args = [#tw.arg<0>], returns = array<i64: 0>} : (tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %l = tw.aten "aten::round"(%h) {args = [#tw.arg<0>], returns = array<i64: 0>} : (tensor<16x3x8xf32>) -> tensor<16x3x8xf32>
  func.return %k, %l : tensor<4x6x8xf32>, tensor<16x3x8xf32>
}
