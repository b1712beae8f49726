// RUN: tilewright-opt %s -p apply-schedule --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: @vectors_with_a_tail [19]
// CHECK-SAME: scheduled {
// CHECK-NEXT: tk.for 0 = "0" to "16" step 4 parallel if "5" {
// CHECK-NEXT: %[[V:.*]] = tk.load %x[d0] lanes 0 : memref<19xf32> -> vector<4xf32>
// CHECK-NEXT: %[[E:.*]] = math.exp %[[V]] : vector<4xf32>
// CHECK-NEXT: tk.store %[[E]], %o[d0] lanes 0
// CHECK-NEXT: }
// CHECK-NEXT: tk.tail 0 = "16" count "3" {
tk.func @vectors_with_a_tail [19] (%x: memref<19xf32>, %o: memref<19xf32>)
    attributes {tk.vector = array<i64: 0, 4>, tk.parallel = array<i64: 1>, tk.worth = #tk.map<"5">} {
  %0 = tk.load %x[d0] : memref<19xf32> -> f32
  %1 = math.exp %0 : f32
  tk.store %1, %o[d0] : f32, memref<19xf32>
}

// -----

// What does not depend on an axis stays outside of its loop.

// CHECK-LABEL: @hoists_by_construction
// CHECK: tk.for 0 = "0" to "3" step 1 {
// CHECK-NEXT: %[[S:.*]] = tk.load %s[d0] : memref<3xf32> -> f32
// CHECK-NEXT: %[[E:.*]] = math.exp %[[S]] : f32
// CHECK-NEXT: tk.for 1 = "0" to "8" step 4 {
// CHECK-NEXT: %[[V:.*]] = tk.load %x[d0*8 + d1] lanes 1
// CHECK-NEXT: %[[B:.*]] = vector.broadcast %[[E]] : f32 to vector<4xf32>
// CHECK-NEXT: arith.mulf %[[V]], %[[B]] : vector<4xf32>
tk.func @hoists_by_construction [3, 8] (%x: memref<24xf32>, %s: memref<3xf32>, %o: memref<24xf32>)
    attributes {tk.vector = array<i64: 1, 4>} {
  %0 = tk.load %x[d0*8 + d1] : memref<24xf32> -> f32
  %1 = tk.load %s[d0] : memref<3xf32> -> f32
  %2 = math.exp %1 : f32
  %3 = arith.mulf %0, %2 : f32
  tk.store %3, %o[d0*8 + d1] : f32, memref<24xf32>
}

// -----

// CHECK-LABEL: @masks_the_tail_of_a_sum
// CHECK: %[[Z:.*]] = vector.broadcast %{{.*}} : f32 to vector<4xf32>
// CHECK: %[[A:.*]] = tk.for 0 = "0" to "s0 - (s0 mod 4)" step 4 iter(%{{.*}} = %[[Z]] : vector<4xf32>) {
// CHECK: %[[T:.*]] = tk.tail 0 = "s0 - (s0 mod 4)" count "(s0 mod 4)" iter(%{{.*}} = %[[A]] : vector<4xf32>) {
// CHECK-NEXT: %[[V:.*]] = tk.load
// CHECK-NEXT: %[[M:.*]] = tk.active : vector<4xi1>
// CHECK-NEXT: arith.select %[[M]], %[[V]], %[[Z]]
// CHECK: %[[S:.*]] = vector.reduction <add>, %[[T]] : vector<4xf32> into f32
// CHECK-NEXT: tk.store %[[S]], %o[0]
tk.func @masks_the_tail_of_a_sum [s0] (%x: memref<?xf32>, %o: memref<1xf32>) symbols [s0]
    attributes {tk.vector = array<i64: 0, 4>} {
  %0 = tk.load %x[d0] : memref<?xf32> -> f32
  %1 = tk.reduce add %0 over [0] : f32
  tk.store %1, %o[0] : f32, memref<1xf32>
}

// -----

// One loop per level of reductions; what is marked lives in scratch between them.

// CHECK-LABEL: @keeps_marked_values
// CHECK: tk.for 0 = "0" to "3" step 1 {
// CHECK-NEXT: %[[L:.*]] = tk.local "8" : memref<8xf32>
// CHECK: %[[SUM:.*]] = tk.for 1 = "0" to "8" step 1 iter
// CHECK: %[[E:.*]] = math.exp
// CHECK: tk.store %[[E]], %[[L]][d1] : f32, memref<8xf32>
// CHECK: tk.for 1 = "0" to "8" step 1 {
// CHECK-NEXT: %[[R:.*]] = tk.load %[[L]][d1] : memref<8xf32> -> f32
// CHECK-NEXT: arith.divf %[[R]], %[[SUM]] : f32
tk.func @keeps_marked_values [3, 8] (%x: memref<24xf32>, %o: memref<24xf32>) {
  %0 = tk.load %x[d0*8 + d1] : memref<24xf32> -> f32
  %1 = math.exp %0 {tk.keep} : f32
  %2 = tk.reduce add %1 over [1] : f32
  %3 = arith.divf %1, %2 : f32
  tk.store %3, %o[d0*8 + d1] : f32, memref<24xf32>
}

// -----

// CHECK-LABEL: @keeps_nothing_that_only_its_own_sum_reads
// CHECK-NOT: tk.local
tk.func @keeps_nothing_that_only_its_own_sum_reads [3, 8] (%x: memref<24xf32>, %o: memref<24xf32>) {
  %0 = tk.load %x[d0*8 + d1] : memref<24xf32> -> f32
  %1 = math.exp %0 {tk.keep} : f32
  %2 = tk.reduce add %1 over [1] : f32
  %3 = arith.divf %0, %2 : f32
  tk.store %3, %o[d0*8 + d1] : f32, memref<24xf32>
}

// -----

// Scratch has no place for every lane of an outer vector.

// CHECK-LABEL: @computes_again_below_an_outer_vector
// CHECK-NOT: tk.local
// CHECK-COUNT-2: math.exp {{.*}} : vector<4xf32>
tk.func @computes_again_below_an_outer_vector [3, 8] (%x: memref<24xf32>, %o: memref<24xf32>)
    attributes {tk.vector = array<i64: 0, 4>} {
  %0 = tk.load %x[d0*8 + d1] : memref<24xf32> -> f32
  %1 = math.exp %0 {tk.keep} : f32
  %2 = tk.reduce add %1 over [1] : f32
  %3 = arith.divf %1, %2 : f32
  tk.store %3, %o[d0*8 + d1] : f32, memref<24xf32>
}

// -----

// CHECK-LABEL: @computes_unmarked_values_again
// CHECK-NOT: tk.local
// CHECK-COUNT-2: math.exp
tk.func @computes_unmarked_values_again [3, 8] (%x: memref<24xf32>, %o: memref<24xf32>) {
  %0 = tk.load %x[d0*8 + d1] : memref<24xf32> -> f32
  %1 = math.exp %0 : f32
  %2 = tk.reduce add %1 over [1] : f32
  %3 = arith.divf %1, %2 : f32
  tk.store %3, %o[d0*8 + d1] : f32, memref<24xf32>
}

// -----

// Lanes along an outer axis: one accumulator per column, the loop over rows inside.

// CHECK-LABEL: @sums_columns_in_lanes
// CHECK: tk.for 1 = "0" to "8" step 4 {
// CHECK-NEXT: %{{.*}}, %{{.*}} = tk.for 0 = "0" to "6" step 2 iter
// CHECK: tk.load %x[d0*8 + d1] lanes 1
// CHECK: tk.load %x[d0*8 + d1 + 8] lanes 1
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<4xf32>
// CHECK: tk.store %{{.*}}, %o[d1] lanes 1
tk.func @sums_columns_in_lanes [6, 8] (%x: memref<48xf32>, %o: memref<8xf32>)
    attributes {tk.vector = array<i64: 1, 4>, tk.unroll = array<i64: 2>} {
  %0 = tk.load %x[d0*8 + d1] : memref<48xf32> -> f32
  %1 = tk.reduce add %0 over [0] : f32
  tk.store %1, %o[d1] : f32, memref<8xf32>
}

// -----

// CHECK-LABEL: @fuses_parallel_axes
// CHECK: tk.for 3 = "0" to "6" step 1 parallel {
// CHECK-NEXT: tk.for 2 = "0" to "4" step 1 {
// CHECK-NEXT: tk.load %x[d2 + (d3 floordiv 3)*100 + (d3 mod 3)*20]
tk.func @fuses_parallel_axes [2, 3, 4] (%x: memref<200xf32>, %o: memref<24xf32>)
    attributes {tk.parallel = array<i64: 2>} {
  %0 = tk.load %x[d0*100 + d1*20 + d2] : memref<200xf32> -> f32
  tk.store %0, %o[d0*12 + d1*4 + d2] : f32, memref<24xf32>
}

// -----

// Axes 2 and 3 walk over tiles; the last tile of axis 0 is smaller.

// CHECK-LABEL: @cuts_tiles
// CHECK: tk.for 2 = "0" to "10" step 4 parallel {
// CHECK-NEXT: tk.for 3 = "0" to "8" step 4 {
// CHECK-NEXT: tk.for 0 = "d2" to "d2 + min(-d2 + 10, 4)" step 1 {
// CHECK-NEXT: tk.for 1 = "d3" to "d3 + 4" step 4 {
// CHECK-NEXT: tk.load %x[d0 + d1*10] lanes 1
tk.func @cuts_tiles [10, 8] (%x: memref<80xf32>, %o: memref<80xf32>)
    attributes {tk.tiles = array<i64: 0, 4, 1, 4>, tk.order = array<i64: 2, 3, 0, 1>,
                tk.vector = array<i64: 1, 4>, tk.parallel = array<i64: 1>} {
  %0 = tk.load %x[d0 + d1*10] : memref<80xf32> -> f32
  tk.store %0, %o[d0*8 + d1] : f32, memref<80xf32>
}

// -----

// What strides along the lanes goes by way of scratch of the tile: a load before its loops, a store after them.

// CHECK-LABEL: @turns_tiles
// CHECK: tk.for 2 = "0" to "10" step 4 parallel {
// CHECK-NEXT: tk.for 3 = "0" to "8" step 4 {
// CHECK-NEXT: %[[A:.*]] = tk.local "16" : memref<16xui8>
// CHECK-NEXT: tk.turn %x[d0 + d1*10] into %[[A]][d0*4 + d1 - d2*4 - d3] over 0 = "d2" count "min(-d2 + 10, 4)", 1 = "d3" count "4"
// CHECK-NEXT: %[[B:.*]] = tk.local "16" : memref<16xi8>
// CHECK-NEXT: tk.for 0 = "d2" to "d2 + min(-d2 + 10, 4)" step 1 {
// CHECK-NEXT: tk.for 1 = "d3" to "d3 + 4" step 4 {
// CHECK-NEXT: %[[Y:.*]] = tk.load %y[d0*8 + d1] lanes 1
// CHECK-NEXT: %[[X:.*]] = tk.load %[[A]][d0*4 + d1 - d2*4 - d3] lanes 1 : memref<16xui8> -> vector<4xi8>
// CHECK-NEXT: %[[S:.*]] = arith.addi %[[X]], %[[Y]]
// CHECK-NEXT: tk.store %[[S]], %[[B]][d0*4 + d1 - d2*4 - d3] lanes 1
// CHECK-NEXT: tk.store %[[S]], %p[d0*8 + d1] lanes 1
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: tk.turn %[[B]][d0*4 + d1 - d2*4 - d3] into %o[d0 + d1*10] over 1 = "d3" count "4", 0 = "d2" count "min(-d2 + 10, 4)"
// CHECK-NEXT: }
tk.func @turns_tiles [10, 8] (%x: memref<80xui8>, %y: memref<80xi8>, %o: memref<80xi8>, %p: memref<80xi8>)
    attributes {tk.tiles = array<i64: 0, 4, 1, 4>, tk.order = array<i64: 2, 3, 0, 1>, tk.turn = array<i64: 0>,
                tk.vector = array<i64: 1, 4>, tk.parallel = array<i64: 1>} {
  %0 = tk.load %x[d0 + d1*10] : memref<80xui8> -> i8
  %1 = tk.load %y[d0*8 + d1] : memref<80xi8> -> i8
  %2 = arith.addi %0, %1 : i8
  tk.store %2, %o[d0 + d1*10] : i8, memref<80xi8>
  tk.store %2, %p[d0*8 + d1] : i8, memref<80xi8>
}

// -----

// The other axis, a stride of 0 and a mask: not by way of scratch.

// CHECK-LABEL: @leaves_other_accesses
// CHECK-NOT: tk.turn
tk.func @leaves_other_accesses [10, 8] (%x: memref<160xf32>, %m: memref<8xi1>, %o: memref<80xf32>)
    attributes {tk.turn = array<i64: 0>, tk.vector = array<i64: 1, 4>} {
  %z = arith.constant 0.0 : f32
  %c = tk.load %m[d1] : memref<8xi1> -> i1
  %0 = tk.load %x[d0 + d1*10] if %c else %z : memref<160xf32> -> f32
  %1 = tk.load %x[d0*2 + d1*20] : memref<160xf32> -> f32
  %2 = tk.load %x[d0] : memref<160xf32> -> f32
  %3 = arith.addf %0, %1 : f32
  %4 = arith.addf %3, %2 : f32
  tk.store %4, %o[d0*8 + d1] : f32, memref<80xf32>
}

// -----

// CHECK-LABEL: @sums_rows_into_an_array
// CHECK: %[[A:.*]] = tk.local "8" : memref<8xf32>
// CHECK-NEXT: tk.for 1 = "0" to "8" step 4 {
// CHECK-NEXT: tk.store %{{.*}}, %[[A]][d1] lanes 1
// CHECK: tk.for 0 = "0" to "6" step 2 {
// CHECK-NEXT: tk.for 1 = "0" to "8" step 4 {
// CHECK-NEXT: %[[X:.*]] = tk.load %x[d0*8 + d1] lanes 1
// CHECK-NEXT: %[[Y:.*]] = tk.load %x[d0*8 + d1 + 8] lanes 1
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[X]], %[[Y]] fastmath<contract> : vector<4xf32>
// CHECK-NEXT: %[[O:.*]] = tk.load %[[A]][d1] lanes 1
// CHECK-NEXT: %[[N:.*]] = arith.addf %[[O]], %[[S]] fastmath<contract> : vector<4xf32>
// CHECK-NEXT: tk.store %[[N]], %[[A]][d1] lanes 1
tk.func @sums_rows_into_an_array [6, 8] (%x: memref<48xf32>, %o: memref<8xf32>)
    attributes {tk.vector = array<i64: 1, 4>, tk.unroll = array<i64: 2>, tk.arrays} {
  %0 = tk.load %x[d0*8 + d1] : memref<48xf32> -> f32
  %1 = tk.reduce add %0 over [0] : f32
  tk.store %1, %o[d1] : f32, memref<8xf32>
}

// -----

// Each part by itself, then the parts in order.

// CHECK-LABEL: @sums_in_parts
// CHECK: %[[L:.*]] = tk.local "3" : memref<3xf32>
// CHECK-NEXT: tk.for 1 = "0" to "10" step 4 parallel {
// CHECK-NEXT: %[[S:.*]] = tk.for 0 = "d1" to "d1 + min(-d1 + 10, 4)" step 1 iter
// CHECK: tk.store %[[S]], %[[L]][(d1 floordiv 4)] : f32, memref<3xf32>
// CHECK: %[[T:.*]] = tk.for 2 = "0" to "3" step 1 iter
// CHECK-NEXT: tk.load %[[L]][d2]
// CHECK: tk.store %[[T]], %o[0]
tk.func @sums_in_parts [10] (%x: memref<10xf32>, %o: memref<1xf32>)
    attributes {tk.tiles = array<i64: 0, 4>, tk.order = array<i64: 1, 0>, tk.parallel = array<i64: 1>} {
  %0 = tk.load %x[d0] : memref<10xf32> -> f32
  %1 = tk.reduce add %0 over [0] : f32
  tk.store %1, %o[0] : f32, memref<1xf32>
}

// -----

// Sums of opposite directions get nests of their own.

// CHECK-LABEL: @splits_opposite_reductions
// CHECK: tk.for 0 = "0" to "3" step 1 {
// CHECK: tk.for 1 = "0" to "8" step 1 iter
// CHECK: tk.for 1 = "0" to "8" step 1 {
// CHECK: tk.for 0 = "0" to "3" step 1 iter
tk.func @splits_opposite_reductions [3, 8] (%x: memref<24xf32>, %r: memref<3xf32>, %c: memref<8xf32>) {
  %0 = tk.load %x[d0*8 + d1] : memref<24xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  %2 = tk.reduce add %0 over [0] : f32
  tk.store %1, %r[d0] : f32, memref<3xf32>
  tk.store %2, %c[d1] : f32, memref<8xf32>
}

// -----

// True is larger than false, although it is -1 where a sign counts.
// CHECK-LABEL: @position_of_the_first_true
// CHECK: arith.cmpi ugt, %{{.*}} : vector<4xi1>
// CHECK: vector.reduction <or>, %{{.*}} : vector<4xi1> into i1
tk.func @position_of_the_first_true [3, 9] (%x: memref<27xi1>, %o: memref<3xi64>)
    attributes {tk.order = array<i64: 0, 1>, tk.vector = array<i64: 1, 4>} {
  %0 = tk.load %x[d0*9 + d1] : memref<27xi1> -> i1
  %1 = tk.index "d1" : i64
  %2, %3 = tk.argreduce max %0 at %1 over [1] : i1
  tk.store %3, %o[d0] : i64, memref<3xi64>
}

// -----

// A block that does not cover its axis is a loop, whose sums are carried.
// CHECK-LABEL: @two_steps_of_a_block
// CHECK: tk.for 1 = "0" to "6" step 4 masked iter(
tk.func @two_steps_of_a_block [8, 6] (%x: memref<48xf32>, %o: memref<8xf32>)
    attributes {tk.blocks = array<i64: 0, 2, 1, 4>, tk.grid = 1 : i64} {
  %0 = tk.load %x[d0*6 + d1] : memref<48xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<8xf32>
}

// -----

// CHECK: TW3401: apply-schedule finds no loop order for `tk.store`
// CHECK: why: it depends on a reduction over one axis and on one whose result varies over that axis
// CHECK: fix: keep the two reductions in separate kernels
tk.func @refuses_both_directions_in_one_value [3, 8] (%x: memref<24xf32>, %o: memref<24xf32>) {
  %0 = tk.load %x[d0*8 + d1] : memref<24xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  %2 = tk.reduce add %0 over [0] : f32
  %3 = arith.addf %1, %2 : f32
  tk.store %3, %o[d0*8 + d1] : f32, memref<24xf32>
}
