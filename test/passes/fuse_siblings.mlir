// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,fuse-siblings --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,fuse-siblings --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p "convert-tw-to-tk,absorb-views,fuse-siblings{max-ops=2}" --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=SMALL
// RUN: tilewright-opt %s -p "convert-tw-to-tk{scatters=any},absorb-views,dce,fuse{far=true},fuse-siblings{scatters=true}" --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=SCATTER
// RUN: tilewright-opt %s -p "convert-tw-to-tk,absorb-views,fuse-siblings{reach=1}" --split-input-file | filecheck %s --check-prefix=NEAR
// RUN: tilewright-opt %s -p "convert-tw-to-tk,absorb-views,fuse-siblings{scans=true}" --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=TILES

// CHECK-LABEL: @reads_once
// CHECK:      %{{.*}}, %{{.*}} = tk.kernel [64, 8] ins(%x : tensor<64x8xf32>)
// CHECK:      %[[X:.*]] = tk.load
// CHECK:      tk.reduce add %[[X]] over [0]
// CHECK-NOT:  tk.load
// CHECK:      tk.reduce max %[[X]] over [0]
// SMALL:      not fused with a sibling kernel: more than 2 ops
func.func @reads_once(%x: tensor<64x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = tw.sum %x over [0] : tensor<64x8xf32> -> tensor<8xf32>
  %b = tw.max %x over [0] : tensor<64x8xf32> -> tensor<8xf32>
  func.return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: @different_reductions
// CHECK-COUNT-2: tk.kernel
// REMARK:     not fused with a sibling kernel: both reduce, over different axes
func.func @different_reductions(%x: tensor<8x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = tw.sum %x over [0] : tensor<8x8xf32> -> tensor<8xf32>
  %b = tw.max %x over [1] : tensor<8x8xf32> -> tensor<8xf32>
  func.return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// The second reads %x where the first does, and the first's result elsewhere.

// CHECK-LABEL: @one_reads_the_other_turned
// CHECK-COUNT-2: tk.kernel
func.func @one_reads_the_other_turned(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %a = tw.exp %x : tensor<8x8xf32>
  %t = tw.transpose %a by [1, 0] : tensor<8x8xf32> -> tensor<8x8xf32>
  %b = tw.sub %x, %t : tensor<8x8xf32>
  func.return %a, %b : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// CHECK-LABEL: @dependent
// CHECK-COUNT-2: tk.kernel
// REMARK:     not fused with a sibling kernel: another path leads from it to the consumer
func.func @dependent(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %a = tw.exp %x : tensor<8x8xf32>
  %m = tw.matmul %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = tw.add %x, %m : tensor<8x8xf32>
  func.return %b : tensor<8x8xf32>
}

// -----

// CHECK-LABEL: @small_tensor
// CHECK-COUNT-2: tk.kernel
func.func @small_tensor(%x: tensor<8xf32>, %y: tensor<8x8xf32>, %z: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %b = tw.broadcast %x dims [1] : tensor<8xf32> -> tensor<8x8xf32>
  %a = tw.add %y, %b : tensor<8x8xf32>
  %c = tw.add %z, %b : tensor<8x8xf32>
  func.return %a, %c : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Both gather the same rows, which are few, but each point reads elsewhere. Rows of other positions are others.

// CHECK-LABEL: @gathered
// CHECK-NEXT:  %{{.*}}, %{{.*}} = tk.kernel [64, 8] ins(%i, %x : tensor<64xi64>, tensor<5x8xf32>)
// CHECK-NOT:   tk.kernel
// CHECK:       return
// CHECK-LABEL: @gathered_elsewhere
// CHECK-COUNT-2: tk.kernel [64, 8]
func.func @gathered(%i: tensor<64xi64>, %x: tensor<5x8xf32>) -> (tensor<64x8xf32>, tensor<64x8xf32>) {
  %a = tk.kernel [64, 8] ins(%i, %x : tensor<64xi64>, tensor<5x8xf32>) -> (tensor<64x8xf32>) {
  ^bb0(%i0: tensor<64xi64>, %x0: tensor<5x8xf32>, %o: tensor<64x8xf32>):
    %0 = tk.load %i0[d0] : tensor<64xi64> -> i64
    %1 = arith.index_cast %0 : i64 to index
    %2 = tk.load %x0[i0, d1](%1) : tensor<5x8xf32> -> f32
    %3 = math.exp %2 : f32
    tk.store %3, %o[d0, d1] : f32, tensor<64x8xf32>
  }
  %b = tk.kernel [64, 8] ins(%i, %x : tensor<64xi64>, tensor<5x8xf32>) -> (tensor<64x8xf32>) {
  ^bb0(%i0: tensor<64xi64>, %x0: tensor<5x8xf32>, %o: tensor<64x8xf32>):
    %0 = tk.load %i0[d0] : tensor<64xi64> -> i64
    %1 = arith.index_cast %0 : i64 to index
    %2 = tk.load %x0[i0, d1](%1) : tensor<5x8xf32> -> f32
    %3 = math.absf %2 : f32
    tk.store %3, %o[d0, d1] : f32, tensor<64x8xf32>
  }
  func.return %a, %b : tensor<64x8xf32>, tensor<64x8xf32>
}
func.func @gathered_elsewhere(%i: tensor<64xi64>, %j: tensor<64xi64>, %x: tensor<5x8xf32>) -> (tensor<64x8xf32>, tensor<64x8xf32>) {
  %a = tk.kernel [64, 8] ins(%i, %x : tensor<64xi64>, tensor<5x8xf32>) -> (tensor<64x8xf32>) {
  ^bb0(%i0: tensor<64xi64>, %x0: tensor<5x8xf32>, %o: tensor<64x8xf32>):
    %0 = tk.load %i0[d0] : tensor<64xi64> -> i64
    %1 = arith.index_cast %0 : i64 to index
    %2 = tk.load %x0[i0, d1](%1) : tensor<5x8xf32> -> f32
    %3 = math.exp %2 : f32
    tk.store %3, %o[d0, d1] : f32, tensor<64x8xf32>
  }
  %b = tk.kernel [64, 8] ins(%j, %x : tensor<64xi64>, tensor<5x8xf32>) -> (tensor<64x8xf32>) {
  ^bb0(%i0: tensor<64xi64>, %x0: tensor<5x8xf32>, %o: tensor<64x8xf32>):
    %0 = tk.load %i0[d0] : tensor<64xi64> -> i64
    %1 = arith.index_cast %0 : i64 to index
    %2 = tk.load %x0[i0, d1](%1) : tensor<5x8xf32> -> f32
    %3 = math.absf %2 : f32
    tk.store %3, %o[d0, d1] : f32, tensor<64x8xf32>
  }
  func.return %a, %b : tensor<64x8xf32>, tensor<64x8xf32>
}

// -----

// One op stands between the two kernels: too far for reach=1.

// CHECK-LABEL: @farther_apart
// CHECK:      %{{.*}}, %{{.*}} = tk.kernel [64, 8] ins(%x : tensor<64x8xf32>)
// NEAR-LABEL: @farther_apart
// NEAR:       %{{[^,]*}} = tk.kernel [64, 8] ins(%x : tensor<64x8xf32>)
// NEAR:       tk.kernel [4, 4] ins(%y
// NEAR:       %{{[^,]*}} = tk.kernel [64, 8] ins(%x : tensor<64x8xf32>)
func.func @farther_apart(%x: tensor<64x8xf32>, %y: tensor<4x4xf32>)
    -> (tensor<8xf32>, tensor<4x4xf32>, tensor<8xf32>) {
  %a = tw.sum %x over [0] : tensor<64x8xf32> -> tensor<8xf32>
  %c = tw.exp %y : tensor<4x4xf32>
  %b = tw.max %x over [0] : tensor<64x8xf32> -> tensor<8xf32>
  func.return %a, %c, %b : tensor<8xf32>, tensor<4x4xf32>, tensor<8xf32>
}

// -----

// Both read %x at its own subscripts, the second one less of it.

// CHECK-LABEL: @one_reads_less
// CHECK:       tk.kernel [8, 8]
// CHECK:       tk.kernel [6, 8]
func.func @one_reads_less(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<6x8xf32>) {
  %a = tw.exp %x : tensor<8x8xf32>
  %s = tw.slice %x starts "0, 0" steps "1, 1" : tensor<8x8xf32> -> tensor<6x8xf32>
  %b = tw.tanh %s : tensor<6x8xf32>
  func.return %a, %b : tensor<8x8xf32>, tensor<6x8xf32>
}

// -----

// Nobody reads the second result of the first kernel, which two masked stores write: both go.

// CHECK-LABEL: @unread_and_stored_in_parts
// CHECK-NEXT:  %{{.*}}, %{{.*}} = tk.kernel [64, 8] ins(%x : tensor<64x8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
// CHECK-NOT:   if %
func.func @unread_and_stored_in_parts(%x: tensor<64x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a, %u = tk.kernel [64, 8] ins(%x : tensor<64x8xf32>) -> (tensor<8xf32>, tensor<64x8xi64>) {
  ^bb0(%p: tensor<64x8xf32>, %o: tensor<8xf32>, %q: tensor<64x8xi64>):
    %0 = tk.load %p[d0, d1] : tensor<64x8xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[d1] : f32, tensor<8xf32>
    %2 = tk.index "d0" : i64
    %3 = tk.index "d1" : i64
    %4 = arith.cmpi slt, %2, %3 : i64
    %5 = arith.cmpi sge, %2, %3 : i64
    tk.store %2, %q[d0, d1] if %4 : i64, tensor<64x8xi64>
    tk.store %3, %q[d0, d1] if %5 : i64, tensor<64x8xi64>
  }
  %b = tw.max %x over [0] : tensor<64x8xf32> -> tensor<8xf32>
  func.return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// What one sums, the other one stores with its dimensions exchanged: tiles that turn have no room for sums.

// CHECK-LABEL: @summed_and_turned
// CHECK-COUNT-2: tk.kernel [64, 8]
// REMARK: not fused with a sibling kernel: one sums what the other one stores turned
func.func @summed_and_turned(%x: tensor<64x8xf32>) -> (tensor<8xf32>, tensor<8x64xf32>) {
  %a = tw.sum %x over [0] : tensor<64x8xf32> -> tensor<8xf32>
  %b = tw.exp %x : tensor<64x8xf32>
  %c = tw.transpose %b by [1, 0] : tensor<64x8xf32> -> tensor<8x64xf32>
  func.return %a, %c : tensor<8xf32>, tensor<8x64xf32>
}

// -----

// One that also stores it as it lies joins, and so do two that turn.

// CHECK-LABEL: @summed_and_stored_both_ways
// CHECK-COUNT-1: tk.kernel [64, 8]
// CHECK-NOT: tk.kernel
func.func @summed_and_stored_both_ways(%x: tensor<64x8xf32>)
    -> (tensor<8xf32>, tensor<64x8xf32>, tensor<8x64xf32>) {
  %a = tw.sum %x over [0] : tensor<64x8xf32> -> tensor<8xf32>
  %b = tw.exp %x : tensor<64x8xf32>
  %c = tw.transpose %b by [1, 0] : tensor<64x8xf32> -> tensor<8x64xf32>
  func.return %a, %b, %c : tensor<8xf32>, tensor<64x8xf32>, tensor<8x64xf32>
}

// CHECK-LABEL: @both_turned
// CHECK-COUNT-1: tk.kernel [64, 8]
// CHECK-NOT: tk.kernel
func.func @both_turned(%x: tensor<64x8xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %a = tw.tanh %x : tensor<64x8xf32>
  %b = tw.exp %x : tensor<64x8xf32>
  %c = tw.transpose %a by [1, 0] : tensor<64x8xf32> -> tensor<8x64xf32>
  %d = tw.transpose %b by [1, 0] : tensor<64x8xf32> -> tensor<8x64xf32>
  func.return %c, %d : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

// What computes elements walks them as the one does that sums parts of them.
// CHECK-LABEL: @parts
// CHECK: tk.kernel [4, 8] ins(%x : tensor<32xf32>) -> (tensor<4xf32>, tensor<32xf32>)
// CHECK: %[[E:.*]] = tk.load %{{.*}}[d0*8 + d1]
// CHECK: tk.reduce add %[[E]] over [1]
// CHECK: tk.store %{{.*}}, %{{.*}}[d0*8 + d1]
// CHECK-NOT: tk.kernel
func.func @parts(%x: tensor<32xf32>) -> (tensor<4xf32>, tensor<32xf32>) {
  %s = tk.kernel [4, 8] ins(%x : tensor<32xf32>) -> (tensor<4xf32>) {
  ^bb0(%a: tensor<32xf32>, %o: tensor<4xf32>):
    %0 = tk.load %a[d0*8 + d1] : tensor<32xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    tk.store %1, %o[d0] : f32, tensor<4xf32>
  }
  %e = tk.kernel [32] ins(%x : tensor<32xf32>) -> (tensor<32xf32>) {
  ^bb0(%a: tensor<32xf32>, %o: tensor<32xf32>):
    %0 = tk.load %a[d0] : tensor<32xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0] : f32, tensor<32xf32>
  }
  func.return %s, %e : tensor<4xf32>, tensor<32xf32>
}

// -----

// Not where it would read others of them at once, and then it stays as it was; nor do sums of all join parts.
// CHECK-LABEL: @other_places
// CHECK: tk.kernel [4, 8]
// CHECK: tk.kernel [32] ins(%x : tensor<32xf32>) -> (tensor<32xf32>)
// CHECK: tk.load %{{.*}}[-d0 + 31]
// CHECK: tk.kernel [32] ins(%x : tensor<32xf32>) -> (tensor<f32>)
// CHECK: tk.reduce add %{{.*}} over [0]
func.func @other_places(%x: tensor<32xf32>) -> (tensor<4xf32>, tensor<32xf32>, tensor<f32>) {
  %s = tk.kernel [4, 8] ins(%x : tensor<32xf32>) -> (tensor<4xf32>) {
  ^bb0(%a: tensor<32xf32>, %o: tensor<4xf32>):
    %0 = tk.load %a[d0*8 + d1] : tensor<32xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    tk.store %1, %o[d0] : f32, tensor<4xf32>
  }
  %e = tk.kernel [32] ins(%x : tensor<32xf32>) -> (tensor<32xf32>) {
  ^bb0(%a: tensor<32xf32>, %o: tensor<32xf32>):
    %0 = tk.load %a[-d0 + 31] : tensor<32xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<32xf32>
  }
  %t = tk.kernel [32] ins(%x : tensor<32xf32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<32xf32>, %o: tensor<f32>):
    %0 = tk.load %a[d0] : tensor<32xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[] : f32, tensor<f32>
  }
  func.return %s, %e, %t : tensor<4xf32>, tensor<32xf32>, tensor<f32>
}

// -----

// Nor where there would be one part: both stay as they were.
// CHECK-LABEL: @one_part
// CHECK: tk.kernel [4, 1, 1, 8]
// CHECK: tk.kernel [4, 8] ins(%x : tensor<4x8xf32>)
// CHECK: tk.load %{{.*}}[d0, d1]
func.func @one_part(%x: tensor<4x8xf32>) -> (tensor<4x1x1x8xf32>, tensor<4x8xf32>) {
  %s = tk.kernel [4, 1, 1, 8] ins(%x : tensor<4x8xf32>) -> (tensor<4x1x1x8xf32>) {
  ^bb0(%a: tensor<4x8xf32>, %o: tensor<4x1x1x8xf32>):
    %0 = tk.load %a[d0, d3] : tensor<4x8xf32> -> f32
    %1 = math.tanh %0 : f32
    tk.store %1, %o[d0, d1, d2, d3] : f32, tensor<4x1x1x8xf32>
  }
  %e = tk.kernel [4, 8] ins(%x : tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  ^bb0(%a: tensor<4x8xf32>, %o: tensor<4x8xf32>):
    %0 = tk.load %a[d0, d1] : tensor<4x8xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<4x8xf32>
  }
  func.return %s, %e : tensor<4x1x1x8xf32>, tensor<4x8xf32>
}

// -----

// One kernel walks the list for both targets, with any combination; a target that lacks one of the axes has a kernel
// of its own.
// SCATTER:       not fused with a sibling kernel: one reads what the other one changes in place
// SCATTER-LABEL: @of_one_list
// SCATTER:       %{{.*}}, %{{.*}} = tk.kernel [9, 4, 12] ins(%i, %v : tensor<12xi64>, tensor<12x4xf32>)
// SCATTER:       combine add
// SCATTER:       combine max
// SCATTER:       tk.kernel [9, 12] ins(%i, %w
// CHECK-LABEL:   @of_one_list
// CHECK-COUNT-3: tk.kernel
func.func @of_one_list(%i: tensor<12xi64>, %v: tensor<12x4xf32>, %w: tensor<12xf32>) -> (tensor<9x4xf32>, tensor<9x4xf32>, tensor<9xf32>) {
  %zero = tw.full 0.0 : f32 -> tensor<9x4xf32>
  %none = tw.full 0.0 : f32 -> tensor<9xf32>
  %at = tw.broadcast %i dims [0] : tensor<12xi64> -> tensor<12x4xi64>
  %a = tw.scatter_along %zero, %at, %v dim 0 reduce add : (tensor<9x4xf32>, tensor<12x4xi64>, tensor<12x4xf32>) -> tensor<9x4xf32>
  %b = tw.scatter_along %zero, %at, %v dim 0 reduce max : (tensor<9x4xf32>, tensor<12x4xi64>, tensor<12x4xf32>) -> tensor<9x4xf32>
  %c = tw.scatter_along %none, %i, %w dim 0 reduce add : (tensor<9xf32>, tensor<12xi64>, tensor<12xf32>) -> tensor<9xf32>
  func.return %a, %b, %c : tensor<9x4xf32>, tensor<9x4xf32>, tensor<9xf32>
}

// -----

// What the first one adds to is read by the second one, at any place.
// SCATTER-LABEL: @changed_in_place
// SCATTER-COUNT-3: tk.kernel
func.func @changed_in_place(%x: tensor<12xf32>, %i: tensor<12xi64>) -> (tensor<12xf32>, tensor<12xf32>) {
  %y = tw.cumsum %x dim 0 : tensor<12xf32>
  %zero = tw.full 0.0 : f32 -> tensor<12xf32>
  %a = tw.scatter_along %y, %i, %x dim 0 reduce add : (tensor<12xf32>, tensor<12xi64>, tensor<12xf32>) -> tensor<12xf32>
  %g = tw.gather_along %y, %i dim 0 : (tensor<12xf32>, tensor<12xi64>) -> tensor<12xf32>
  %b = tw.scatter_along %zero, %i, %g dim 0 reduce add : (tensor<12xf32>, tensor<12xi64>, tensor<12xf32>) -> tensor<12xf32>
  func.return %a, %b : tensor<12xf32>, tensor<12xf32>
}

// -----

// -----

// Columns are summed by a kernel that walks rows, as the other one does; loops would not store both ways.

// CHECK-LABEL: @sums_of_a_transpose
// CHECK-COUNT-2: tk.kernel
// TILES-LABEL: @sums_of_a_transpose
// TILES:      tk.kernel [8, 4] ins(%x : tensor<8x4xf32>) -> (tensor<8xf32>, tensor<8x4xf32>)
// TILES:      %[[X:.*]] = tk.load %{{.*}}[d0, d1]
// TILES:      tk.reduce add %[[X]] over [1]
// TILES-NOT:  tk.load
// TILES:      return
func.func @sums_of_a_transpose(%x: tensor<8x4xf32>) -> (tensor<8xf32>, tensor<8x4xf32>) {
  %t = tw.transpose %x by [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  %s = tw.sum %t over [0] : tensor<4x8xf32> -> tensor<8xf32>
  %e = tw.exp %x : tensor<8x4xf32>
  func.return %s, %e : tensor<8xf32>, tensor<8x4xf32>
}

// -----

// The first walks the columns of one tensor, and what it reads beside that goes along.

// TILES-LABEL: @three_axes
// TILES:      tk.kernel [2, 3, 4] ins(%x, %y : tensor<2x3x4xf32>, tensor<3x4x2xf32>) -> (tensor<3x4x2xf32>, tensor<2x3x4xf32>)
// TILES:      tk.load %{{.*}}[d0, d1, d2] : tensor<2x3x4xf32>
// TILES:      tk.load %{{.*}}[d1, d2, d0] : tensor<3x4x2xf32>
// TILES:      tk.store {{.*}}[d1, d2, d0]
func.func @three_axes(%x: tensor<2x3x4xf32>, %y: tensor<3x4x2xf32>) -> (tensor<3x4x2xf32>, tensor<2x3x4xf32>) {
  %t = tw.transpose %x by [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %a = tw.mul %t, %y : tensor<3x4x2xf32>
  %e = tw.exp %x : tensor<2x3x4xf32>
  func.return %a, %e : tensor<3x4x2xf32>, tensor<2x3x4xf32>
}

// -----

// One reads the columns from their end.

// TILES-LABEL: @columns_from_the_end
// TILES-COUNT-2: tk.kernel
func.func @columns_from_the_end(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) -> (tensor<4x8xf32>, tensor<8x4xf32>) {
  %e = tw.exp %x : tensor<4x8xf32>
  %f = tw.reverse %x dims [1] : tensor<4x8xf32> -> tensor<4x8xf32>
  %t = tw.transpose %f by [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %m = tw.mul %t, %y : tensor<8x4xf32>
  func.return %e, %m : tensor<4x8xf32>, tensor<8x4xf32>
}

// -----

// Tiles that hold sums over rows and over columns make elements beside them.

// CHECK-LABEL: @beside_two_sums
// CHECK-COUNT-2: tk.kernel
// REMARK:     not fused with a sibling kernel: it reduces over different axes
// TILES-LABEL: @beside_two_sums
// TILES:      tk.kernel [8, 4] ins(%x : tensor<8x4xf32>) -> (tensor<8xf32>, tensor<4xf32>, tensor<8x4xf32>)
// TILES:      tk.load
// TILES-NOT:  tk.load
// TILES:      return
func.func @beside_two_sums(%x: tensor<8x4xf32>) -> (tensor<8xf32>, tensor<4xf32>, tensor<8x4xf32>) {
  %r, %c = tk.kernel [8, 4] ins(%x : tensor<8x4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<8x4xf32>, %o: tensor<8xf32>, %p: tensor<4xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x4xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    tk.store %1, %o[d0] : f32, tensor<8xf32>
    %2 = tk.reduce add %0 over [0] : f32
    tk.store %2, %p[d1] : f32, tensor<4xf32>
  }
  %e = tw.exp %x : tensor<8x4xf32>
  func.return %r, %c, %e : tensor<8xf32>, tensor<4xf32>, tensor<8x4xf32>
}
