// RUN: tilewright-opt %s -p 'schedule-gpu{cores=1}' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'schedule-gpu{cores=1},apply-schedule' --split-input-file | filecheck %s --check-prefix=APPLY
// RUN: tilewright-opt %s -p 'schedule-gpu{cores=1}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// How many rows of a part are held at once depends on how much of them is live. The gradient of a norm and of its
// weight: six values of each element stand beside each other, of which a lane would have 16.

// CHECK-LABEL: tk.func @many_live
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 4, 2, 1024>, tk.grid = 1 : i64, tk.warps = 16
// APPLY-LABEL: tk.func @many_live
// APPLY: tk.for 1 = "0" to "8" step 4 iter(%[[SUM:.*]] = %{{.*}} : vector<4x1024xf32>) {
// APPLY: tk.collapse add %{{.*}} dims [1] : vector<4x1024xf32> -> vector<4x1xf32>
// APPLY: %[[MORE:.*]] = arith.addf %[[SUM]], %{{.*}}
// APPLY: tk.yield %[[MORE]]
// REMARK: tk.func at {{.*}}: fewer of axis 1 at a time: of 8192 elements 192 bits each are live
tk.func @many_live [128, 8, 768] (%c: memref<786432xi1>, %g: memref<786432xf32>, %r: memref<1024xf32>, %x: memref<786432xf32>, %y: memref<786432xf32>, %z: memref<786432xf32>, %w: memref<768xf32>, %u: memref<786432xf32>, %o: memref<786432xf32>, %p: memref<98304xf32>) {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant -5.0e-01 : f32
  %n = arith.constant 7.68e+02 : f32
  %two = arith.constant 2.0 : f32
  %scale = arith.constant 1.25 : f32
  %0 = tk.load %c[d0*6144 + d1*768 + d2] : memref<786432xi1> -> i1
  %1 = arith.uitofp %0 : i1 to f32
  %2 = arith.mulf %1, %scale : f32
  %3 = tk.load %g[d0*6144 + d1*768 + d2] : memref<786432xf32> -> f32
  %4 = arith.mulf %3, %scale : f32
  %5 = arith.select %0, %4, %zero : f32
  %6 = tk.load %r[d0*8 + d1] : memref<1024xf32> -> f32
  %7 = arith.mulf %5, %6 : f32
  %8 = tk.load %x[d0*6144 + d1*768 + d2] : memref<786432xf32> -> f32
  %9 = tk.load %y[d0*6144 + d1*768 + d2] : memref<786432xf32> -> f32
  %10 = arith.addf %8, %9 : f32
  %11 = tk.load %z[d0*6144 + d1*768 + d2] : memref<786432xf32> -> f32
  %12 = arith.addf %10, %11 : f32
  %13 = tk.load %w[d2] : memref<768xf32> -> f32
  %14 = arith.mulf %12, %13 : f32
  %15 = arith.mulf %12, %7 : f32
  %16 = arith.mulf %14, %5 : f32
  %17 = arith.mulf %14, %6 : f32
  %18 = tk.reduce add %16 over [2] : f32
  %19 = tk.load %u[d0*6144 + d1*768 + d2] : memref<786432xf32> -> f32
  %20 = arith.addf %19, %17 : f32
  %21 = arith.mulf %18, %half : f32
  %22 = arith.mulf %6, %6 : f32
  %23 = arith.mulf %22, %6 : f32
  %24 = arith.mulf %21, %23 : f32
  %25 = arith.divf %24, %n : f32
  %26 = arith.mulf %5, %two : f32
  %27 = arith.mulf %25, %26 : f32
  %28 = arith.addf %20, %27 : f32
  %29 = arith.mulf %28, %2 : f32
  tk.store %29, %o[d0*6144 + d1*768 + d2] : f32, memref<786432xf32>
  %30 = tk.reduce add %15 over [1] : f32
  tk.store %30, %p[d0*768 + d2] : f32, memref<98304xf32>
}

// -----

// Less is live: all eight rows at once.
// CHECK-LABEL: tk.func @few_live
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 8, 2, 1024>, tk.grid = 1 : i64, tk.warps = 16
tk.func @few_live [128, 8, 768] (%x: memref<786432xf32>, %g: memref<786432xf32>, %o: memref<786432xf32>, %p: memref<98304xf32>) {
  %0 = tk.load %x[d0*6144 + d1*768 + d2] : memref<786432xf32> -> f32
  %1 = tk.load %g[d0*6144 + d1*768 + d2] : memref<786432xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [2] : f32
  %4 = arith.subf %0, %3 : f32
  tk.store %4, %o[d0*6144 + d1*768 + d2] : f32, memref<786432xf32>
  %5 = tk.reduce add %2 over [1] : f32
  tk.store %5, %p[d0*768 + d2] : f32, memref<98304xf32>
}

// -----

// What is summed along either axis is needed along it again: fewer at a time would be to load all of it twice.
// CHECK-LABEL: tk.func @needed_again
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 8, 2, 1024>, tk.grid = 1 : i64, tk.warps = 16
tk.func @needed_again [128, 8, 768] (%a: memref<786432xf32>, %b: memref<786432xf32>, %c: memref<786432xf32>, %o: memref<786432xf32>, %q: memref<786432xf32>, %r: memref<786432xf32>) {
  %0 = tk.load %a[d0*6144 + d1*768 + d2] : memref<786432xf32> -> f32
  %1 = tk.load %b[d0*6144 + d1*768 + d2] : memref<786432xf32> -> f32
  %2 = tk.load %c[d0*6144 + d1*768 + d2] : memref<786432xf32> -> f32
  %3 = arith.mulf %0, %1 : f32
  %4 = arith.mulf %1, %2 : f32
  %5 = arith.mulf %3, %4 : f32
  %6 = tk.reduce add %5 over [2] : f32
  %7 = tk.reduce add %3 over [1] : f32
  %8 = arith.subf %3, %7 : f32
  %9 = arith.subf %4, %6 : f32
  %10 = arith.mulf %0, %9 : f32
  %11 = arith.mulf %2, %8 : f32
  %12 = arith.mulf %1, %8 : f32
  tk.store %10, %o[d0*6144 + d1*768 + d2] : f32, memref<786432xf32>
  tk.store %11, %q[d0*6144 + d1*768 + d2] : f32, memref<786432xf32>
  tk.store %12, %r[d0*6144 + d1*768 + d2] : f32, memref<786432xf32>
}

// -----

// A number of f64 takes two registers: half as many as of f32 stay in a program.

// CHECK-LABEL: tk.func @half_a_row_stays
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 8192>
tk.func @half_a_row_stays [4, 8192] (%x: memref<32768xf64>, %o: memref<32768xf64>) {
  %0 = tk.load %x[d0*8192 + d1] : memref<32768xf64> -> f64
  %1 = math.absf %0 : f64
  %2 = tk.reduce max %1 over [1] : f64
  %3 = arith.divf %1, %2 : f64
  tk.store %3, %o[d0*8192 + d1] : f64, memref<32768xf64>
}

// -----

// So not these, of which those of f32 would.

// CHECK-LABEL: tk.func @a_row_is_read_again
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 2048>
tk.func @a_row_is_read_again [4, 16384] (%x: memref<65536xf64>, %o: memref<65536xf64>) {
  %0 = tk.load %x[d0*16384 + d1] : memref<65536xf64> -> f64
  %1 = math.absf %0 : f64
  %2 = tk.reduce max %1 over [1] : f64
  %3 = arith.divf %1, %2 : f64
  tk.store %3, %o[d0*16384 + d1] : f64, memref<65536xf64>
}

// -----

// Costly ones of f64 are read again where there are more than 2048.

// CHECK-LABEL: tk.func @costly_rows_are_read_again
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 2048>, tk.grid = 1 : i64, tk.warps = 8
tk.func @costly_rows_are_read_again [4, 8192] (%x: memref<32768xf64>, %o: memref<32768xf64>) {
  %0 = tk.load %x[d0*8192 + d1] : memref<32768xf64> -> f64
  %1 = math.sin %0 : f64
  %2 = tk.reduce max %1 over [1] : f64
  %3 = arith.divf %1, %2 : f64
  tk.store %3, %o[d0*8192 + d1] : f64, memref<32768xf64>
}

// -----

// Lanes have four of them, not eight, where that takes no more than eight warps.
// CHECK-LABEL: tk.func @few_costly_ones_of_each_lane
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 1024>, tk.grid = 1 : i64, tk.warps = 8
tk.func @few_costly_ones_of_each_lane [1, 1024] (%x: memref<1024xf64>, %o: memref<1024xf64>) {
  %0 = tk.load %x[d0*1024 + d1] : memref<1024xf64> -> f64
  %1 = math.sin %0 : f64
  %2 = tk.reduce max %1 over [1] : f64
  %3 = arith.subf %1, %2 : f64
  tk.store %3, %o[d0*1024 + d1] : f64, memref<1024xf64>
}

// -----

// Nor with many rows do lanes get more of them, which two rows of a program would give.
// CHECK-LABEL: tk.func @few_costly_ones_of_many_rows
// CHECK-SAME: tk.blocks = array<i64: 0, 1, 1, 1024>{{.*}}tk.warps = 8
tk.func @few_costly_ones_of_many_rows [4096, 1024] (%x: memref<4194304xf64>, %o: memref<4194304xf64>) {
  %0 = tk.load %x[d0*1024 + d1] : memref<4194304xf64> -> f64
  %1 = math.sin %0 : f64
  %2 = tk.reduce max %1 over [1] : f64
  %3 = arith.divf %1, %2 : f64
  tk.store %3, %o[d0*1024 + d1] : f64, memref<4194304xf64>
}

// -----

// Cheap ones do.
// CHECK-LABEL: tk.func @many_cheap_rows
// CHECK-SAME: tk.blocks = array<i64: 0, 2, 1, 1024>
tk.func @many_cheap_rows [4096, 1024] (%x: memref<4194304xf64>, %o: memref<4194304xf64>) {
  %0 = tk.load %x[d0*1024 + d1] : memref<4194304xf64> -> f64
  %1 = math.absf %0 : f64
  %2 = tk.reduce max %1 over [1] : f64
  %3 = arith.divf %1, %2 : f64
  tk.store %3, %o[d0*1024 + d1] : f64, memref<4194304xf64>
}

// -----

// Six exponentials beside each other leave no room for a row, one after the other they do.

// CHECK-LABEL:   tk.func @one_after_the_other
// CHECK-SAME:    tk.blocks = array<i64: 0, 1, 1, 16384>
// CHECK-COUNT-2: math.exp
// CHECK-NEXT:    arith.addf
// CHECK-NEXT:    tk.load
// CHECK-NEXT:    math.exp
// CHECK-NEXT:    arith.addf
tk.func @one_after_the_other [4, 16384] (%a: memref<65536xf32>, %b: memref<65536xf32>, %c: memref<65536xf32>, %d: memref<65536xf32>, %e: memref<65536xf32>, %f: memref<65536xf32>, %o: memref<65536xf32>) {
  %0 = tk.load %a[d0*16384 + d1] : memref<65536xf32> -> f32
  %1 = math.exp %0 : f32
  %2 = tk.load %b[d0*16384 + d1] : memref<65536xf32> -> f32
  %3 = math.exp %2 : f32
  %4 = tk.load %c[d0*16384 + d1] : memref<65536xf32> -> f32
  %5 = math.exp %4 : f32
  %6 = tk.load %d[d0*16384 + d1] : memref<65536xf32> -> f32
  %7 = math.exp %6 : f32
  %8 = tk.load %e[d0*16384 + d1] : memref<65536xf32> -> f32
  %9 = math.exp %8 : f32
  %10 = tk.load %f[d0*16384 + d1] : memref<65536xf32> -> f32
  %11 = math.exp %10 : f32
  %12 = arith.addf %1, %3 : f32
  %13 = arith.addf %12, %5 : f32
  %14 = arith.addf %13, %7 : f32
  %15 = arith.addf %14, %9 : f32
  %16 = arith.addf %15, %11 : f32
  %17 = tk.reduce max %16 over [1] : f32
  %18 = arith.divf %16, %17 : f32
  tk.store %18, %o[d0*16384 + d1] : f32, memref<65536xf32>
}

// -----

// All of them are needed again: the row is read twice.

// CHECK-LABEL: tk.func @beside_each_other
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 2048>
tk.func @beside_each_other [4, 16384] (%a: memref<65536xf32>, %b: memref<65536xf32>, %c: memref<65536xf32>, %d: memref<65536xf32>, %e: memref<65536xf32>, %f: memref<65536xf32>, %o: memref<65536xf32>) {
  %0 = tk.load %a[d0*16384 + d1] : memref<65536xf32> -> f32
  %1 = math.exp %0 : f32
  %2 = tk.load %b[d0*16384 + d1] : memref<65536xf32> -> f32
  %3 = math.exp %2 : f32
  %4 = tk.load %c[d0*16384 + d1] : memref<65536xf32> -> f32
  %5 = math.exp %4 : f32
  %6 = tk.load %d[d0*16384 + d1] : memref<65536xf32> -> f32
  %7 = math.exp %6 : f32
  %8 = tk.load %e[d0*16384 + d1] : memref<65536xf32> -> f32
  %9 = math.exp %8 : f32
  %10 = tk.load %f[d0*16384 + d1] : memref<65536xf32> -> f32
  %11 = math.exp %10 : f32
  %12 = arith.addf %1, %3 : f32
  %13 = arith.addf %12, %5 : f32
  %14 = arith.addf %13, %7 : f32
  %15 = arith.addf %14, %9 : f32
  %16 = arith.addf %15, %11 : f32
  %17 = tk.reduce max %16 over [1] : f32
  %18 = arith.mulf %17, %1 : f32
  %19 = arith.mulf %18, %3 : f32
  %20 = arith.mulf %19, %5 : f32
  %21 = arith.mulf %20, %7 : f32
  %22 = arith.mulf %21, %9 : f32
  %23 = arith.mulf %22, %11 : f32
  tk.store %23, %o[d0*16384 + d1] : f32, memref<65536xf32>
}

// -----

// Tiles that turn have eight warps for four, where functions of f64 are costly.

// CHECK-LABEL: tk.func @turned
// CHECK-SAME:  tk.blocks = array<i64: 0, 32, 1, 32>, tk.grid = 2 : i64, tk.warps = 8
tk.func @turned [64, 96] (%x: memref<6144xf64>, %y: memref<6144xf64>, %o: memref<6144xf64>) {
  %0 = tk.load %x[d0 + d1*64] : memref<6144xf64> -> f64
  %1 = tk.load %y[d0*96 + d1] : memref<6144xf64> -> f64
  %2 = math.sin %0 : f64
  %3 = arith.addf %2, %1 : f64
  tk.store %3, %o[d0*96 + d1] : f64, memref<6144xf64>
}

// -----

// Each round of Philox is done for all elements of a lane: its state is live beside them.

// CHECK-LABEL: tk.func @numbers_drawn_beside
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 2048>
tk.func @numbers_drawn_beside [4, 16384] (%x: memref<65536xf32>, %s: memref<1xi64>, %o: memref<65536xf32>) {
  %half = arith.constant 5.0e-01 : f32
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %x[d0*16384 + d1] : memref<65536xf32> -> f32
  %1 = tk.reduce max %0 over [1] : f32
  %2 = arith.subf %0, %1 : f32
  %3 = math.exp %2 : f32
  %4 = tk.reduce add %3 over [1] : f32
  %5 = arith.divf %3, %4 : f32
  %6 = tk.load %s[0] : memref<1xi64> -> i64
  %7 = tk.index "d0*16384 + d1" : i64
  %8 = tk.random %6, %7 : f32
  %9 = arith.cmpf oge, %8, %half : f32
  %10 = arith.select %9, %5, %zero : f32
  tk.store %10, %o[d0*16384 + d1] : f32, memref<65536xf32>
}

// -----

// Nothing else is live while these are drawn.

// CHECK-LABEL: tk.func @numbers_drawn_first
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 16384>
tk.func @numbers_drawn_first [4, 16384] (%x: memref<65536xf32>, %s: memref<1xi64>, %o: memref<65536xf32>) {
  %0 = tk.load %s[0] : memref<1xi64> -> i64
  %1 = tk.index "d0*16384 + d1" : i64
  %2 = tk.random %0, %1 : f32
  %3 = math.log %2 : f32
  %4 = tk.load %x[d0*16384 + d1] : memref<65536xf32> -> f32
  %5 = arith.addf %3, %4 : f32
  %6 = tk.reduce max %5 over [1] : f32
  %7 = arith.subf %5, %6 : f32
  tk.store %7, %o[d0*16384 + d1] : f32, memref<65536xf32>
}

// -----

// What is stored and scanned is stored first.

// CHECK-LABEL: tk.func @stored_before_it_is_scanned
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 16384>
// APPLY-LABEL: tk.func @stored_before_it_is_scanned
// APPLY:       %[[E:.*]] = math.exp
// APPLY-NEXT:  tk.store %[[E]], %o
// APPLY-NEXT:  %{{.*}} = tk.cumulate add %[[E]]
tk.func @stored_before_it_is_scanned [4, 16384] (%x: memref<65536xf32>, %o: memref<65536xf32>, %p: memref<65536xf32>) {
  %0 = tk.load %x[d0*16384 + d1] : memref<65536xf32> -> f32
  %1 = math.exp %0 : f32
  tk.store %1, %o[d0*16384 + d1] : f32, memref<65536xf32>
  %2 = tk.scan add %1 along 1 : f32
  tk.store %2, %p[d0*16384 + d1] : f32, memref<65536xf32>
}

// -----

// A linear recurrence goes on from what the last lane of the block before has, which decays.

// CHECK-LABEL: tk.func @linear_recurrence
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 2048>
// APPLY-LABEL: tk.func @linear_recurrence
// APPLY:       tk.for 1 = "0" to "65536" step 2048 iter(%[[BEFORE:.*]] = %{{.*}} : f32) {
// APPLY:       %[[SUMS:.*]] = tk.cumulate linear %[[X:.*]] by %[[F:.*]] dim 0 : vector<2048xf32>
// APPLY:       %[[DECAY:.*]] = tk.cumulate mul %[[F]] dim 0 : vector<2048xf32>
// APPLY:       arith.mulf %{{.*}}, %[[DECAY]] : vector<2048xf32>
// APPLY-NEXT:  %[[STATE:.*]] = arith.addf %{{.*}}, %[[SUMS]]
// APPLY:       tk.index "(d1 mod 2048)" lanes
// APPLY:       %[[ENDS:.*]] = arith.select %{{.*}}, %[[STATE]], %{{.*}}
// APPLY-NEXT:  %[[NEXT:.*]] = tk.collapse add %[[ENDS]]
// APPLY:       tk.yield %[[NEXT]] : f32
tk.func @linear_recurrence [4, 65536] (%x: memref<262144xf32>, %f: memref<262144xf32>, %o: memref<262144xf32>) {
  %0 = tk.load %x[d0*65536 + d1] : memref<262144xf32> -> f32
  %1 = tk.load %f[d0*65536 + d1] : memref<262144xf32> -> f32
  %2 = tk.scan linear %0 by %1 along 1 : f32
  tk.store %2, %o[d0*65536 + d1] : f32, memref<262144xf32>
}

// -----

// What is loaded after it may be what it writes: it waits, and both are too much beside what a scan works with.

// CHECK-LABEL: tk.func @loaded_after_it
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 2048>
// APPLY-LABEL: tk.func @loaded_after_it
// APPLY:       %[[E:.*]] = math.exp
// APPLY:       %{{.*}} = tk.cumulate add
// APPLY:       tk.store %[[E]], %o
tk.func @loaded_after_it [4, 16384] (%x: memref<65536xf32>, %y: memref<65536xf32>, %o: memref<65536xf32>, %p: memref<65536xf32>) {
  %0 = tk.load %x[d0*16384 + d1] : memref<65536xf32> -> f32
  %1 = math.exp %0 : f32
  tk.store %1, %o[d0*16384 + d1] : f32, memref<65536xf32>
  %2 = tk.load %y[d0*16384 + d1] : memref<65536xf32> -> f32
  %3 = arith.addf %1, %2 : f32
  %4 = tk.scan add %3 along 1 : f32
  tk.store %4, %p[d0*16384 + d1] : f32, memref<65536xf32>
}

// -----

// Few columns: programs have few of them, and as many rows of these at a time as lanes can ask for at once.
// CHECK-LABEL: @few_columns
// CHECK-SAME: tk.blocks = array<i64: 0, 16, 1, 256>, tk.grid = 1 : i64, tk.warps = 16
tk.func @few_columns [16, 4096] (%x: memref<65536xf32>, %o: memref<16xf32>) {
  %0 = tk.load %x[d1*16 + d0] : memref<65536xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<16xf32>
}

// -----

// Enough columns for all programs.
// CHECK-LABEL: @many_columns
// CHECK-SAME: tk.blocks = array<i64: 0, 64, 1, 32>, tk.grid = 1 : i64, tk.warps = 8
tk.func @many_columns [512, 4096] (%x: memref<2097152xf32>, %o: memref<512xf32>) {
  %0 = tk.load %x[d1*512 + d0] : memref<2097152xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<512xf32>
}

// -----

// Columns that stay have room for what is live of them, for places that no constant tells, and for what a costly
// function works with: half as many of them.
// CHECK-LABEL: @columns_of_functions
// CHECK-SAME: tk.blocks = array<i64: 0, 8, 1, 512>
tk.func @columns_of_functions [192, 512] (%x: memref<98304xf32>, %o: memref<98304xf32>) {
  %0 = tk.load %x[d0 + d1*192] : memref<98304xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  %2 = tk.load %x[d0 + ((d1 + 511) mod 512)*192] : memref<98304xf32> -> f32
  %3 = math.log1p %2 : f32
  %4 = arith.subf %0, %1 : f32
  %5 = arith.mulf %3, %4 : f32
  %6 = tk.load %x[d0 - d1*192 + 98112] : memref<98304xf32> -> f32
  %7 = math.log1p %6 : f32
  %8 = arith.mulf %3, %7 : f32
  %9 = arith.addf %8, %5 : f32
  tk.store %9, %o[d0 + d1*192] : f32, memref<98304xf32>
}

// -----

// CHECK-LABEL: @columns_of_sums
// CHECK-SAME: tk.blocks = array<i64: 0, 16, 1, 512>
tk.func @columns_of_sums [192, 512] (%x: memref<98304xf32>, %o: memref<98304xf32>) {
  %0 = tk.load %x[d0 + d1*192] : memref<98304xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  %2 = tk.load %x[d0 + ((d1 + 511) mod 512)*192] : memref<98304xf32> -> f32
  %4 = arith.subf %0, %1 : f32
  %5 = arith.mulf %2, %4 : f32
  %6 = tk.load %x[d0 - d1*192 + 98112] : memref<98304xf32> -> f32
  %8 = arith.mulf %2, %6 : f32
  %9 = arith.addf %8, %5 : f32
  tk.store %9, %o[d0 + d1*192] : f32, memref<98304xf32>
}

// -----

// Columns whose rows are looped over hold sums beside what is live of a step.
// CHECK-LABEL: @columns_and_two_sums
// CHECK-SAME: tk.blocks = array<i64: 0, 8, 1, 1, 2, 512>, tk.grid = 1 : i64, tk.warps = 8
tk.func @columns_and_two_sums [129, 4, 512] (%0: memref<516xbf16>, %1: memref<264192xbf16>, %2: memref<516xbf16>, %3: memref<512xbf16>, %4: memref<65536xbf16>, %5: memref<540672xbf16>, %6: memref<264192xbf16>, %7: memref<264192xbf16>, %8: memref<66048xf32>, %9: memref<66048xf32>) {
  %10 = tk.load %0[d0 + d1*129] : memref<516xbf16> -> bf16
  %11 = arith.extf %10 : bf16 to f32
  %12 = arith.constant 0.001953125 : f32
  %13 = arith.mulf %11, %12 : f32
  %14 = tk.load %1[d0*512 + d1*66048 + d2] : memref<264192xbf16> -> bf16
  %15 = arith.extf %14 : bf16 to f32
  %16 = tk.load %2[d0 + d1*129] : memref<516xbf16> -> bf16
  %17 = arith.extf %16 : bf16 to f32
  %18 = arith.subf %15, %17 : f32
  %19 = arith.mulf %18, %11 : f32
  %20 = tk.index "d0" : i64
  %21 = arith.constant 1 : i64
  %22 = arith.cmpi slt, %20, %21 : i64
  %23 = arith.constant 0.000000e+00 : bf16
  %24 = tk.load %4[d0*512 + d1*16384 + d2] if %22 else %23 : memref<65536xbf16> -> bf16
  %25 = tk.load %5[d0 + d1*135168 + d2*132 + 1] : memref<540672xbf16> -> bf16
  %26 = arith.extf %25 : bf16 to f32
  %27 = tk.load %6[d0 + d1*66048 + d2*129] : memref<264192xbf16> -> bf16
  %28 = arith.extf %27 : bf16 to f32
  %29 = arith.addf %26, %28 : f32
  %30 = arith.extf %24 : bf16 to f32
  %31 = arith.addf %29, %30 : f32
  %32 = tk.load %3[d2] : memref<512xbf16> -> bf16
  %33 = arith.extf %32 : bf16 to f32
  %34 = arith.mulf %31, %33 : f32
  %35 = arith.constant 5.120000e+02 : f32
  %36 = arith.mulf %34, %35 : f32
  %37 = tk.reduce add %34 over [2] : f32
  %38 = arith.mulf %34, %19 : f32
  %39 = tk.reduce add %38 over [2] : f32
  %40 = arith.mulf %19, %39 : f32
  %41 = arith.subf %36, %37 : f32
  %42 = arith.subf %41, %40 : f32
  %43 = arith.mulf %13, %42 : f32
  %44 = arith.mulf %31, %19 : f32
  %45 = arith.truncf %43 : f32 to bf16
  tk.store %45, %7[d0*512 + d1*66048 + d2] : bf16, memref<264192xbf16>
  %46 = tk.reduce add %44 over [1] : f32
  tk.store %46, %8[d0*512 + d2] : f32, memref<66048xf32>
  %47 = arith.extf %45 : bf16 to f32
  %48 = tk.reduce add %47 over [1] : f32
  tk.store %48, %9[d0*512 + d2] : f32, memref<66048xf32>
}

// -----

// Columns that are looped over: as many rows at a time as lanes have room for, with all that is summed.
// CHECK-LABEL: @columns_of_six_sums
// CHECK-SAME: tk.blocks = array<i64: 0, 8, 1, 256>, tk.grid = 1 : i64, tk.warps = 8
tk.func @columns_of_six_sums [8, 1568] (%x: memref<12544xf32>, %o0: memref<8xf32>, %o1: memref<8xf32>, %o2: memref<8xf32>, %o3: memref<8xf32>, %o4: memref<8xf32>, %o5: memref<8xf32>) {
  %0 = tk.load %x[d0 + d1*8] : memref<12544xf32> -> f32
  %1 = math.log1p %0 : f32
  %2 = math.tanh %1 : f32
  %3 = arith.mulf %1, %2 : f32
  %p0 = arith.mulf %0, %2 : f32
  %p1 = arith.mulf %1, %3 : f32
  %p2 = arith.mulf %2, %3 : f32
  %p3 = arith.mulf %3, %3 : f32
  %p4 = arith.mulf %0, %1 : f32
  %p5 = arith.mulf %1, %2 : f32
  %s0 = tk.reduce add %p0 over [1] : f32
  %s1 = tk.reduce add %p1 over [1] : f32
  %s2 = tk.reduce add %p2 over [1] : f32
  %s3 = tk.reduce add %p3 over [1] : f32
  %s4 = tk.reduce add %p4 over [1] : f32
  %s5 = tk.reduce add %p5 over [1] : f32
  tk.store %s0, %o0[d0] : f32, memref<8xf32>
  tk.store %s1, %o1[d0] : f32, memref<8xf32>
  tk.store %s2, %o2[d0] : f32, memref<8xf32>
  tk.store %s3, %o3[d0] : f32, memref<8xf32>
  tk.store %s4, %o4[d0] : f32, memref<8xf32>
  tk.store %s5, %o5[d0] : f32, memref<8xf32>
}

// -----

// CHECK-LABEL: @columns_of_two_sums
// CHECK-SAME: tk.blocks = array<i64: 0, 8, 1, 512>, tk.grid = 1 : i64, tk.warps = 16
tk.func @columns_of_two_sums [8, 1568] (%x: memref<12544xf32>, %o0: memref<8xf32>, %o1: memref<8xf32>) {
  %0 = tk.load %x[d0 + d1*8] : memref<12544xf32> -> f32
  %1 = math.log1p %0 : f32
  %2 = math.tanh %1 : f32
  %3 = arith.mulf %1, %2 : f32
  %p0 = arith.mulf %0, %2 : f32
  %p1 = arith.mulf %1, %3 : f32
  %s0 = tk.reduce add %p0 over [1] : f32
  %s1 = tk.reduce add %p1 over [1] : f32
  tk.store %s0, %o0[d0] : f32, memref<8xf32>
  tk.store %s1, %o1[d0] : f32, memref<8xf32>
}

// -----

// Rows that are gathered: what lies along the rows' own axis is their positions, and little of what is read.
// CHECK-LABEL: @gathered_rows
// CHECK-SAME: tk.blocks = array<i64: 0, 1, 1, 2, 2, 1024>, tk.grid = 2 : i64, tk.warps = 8
tk.func @gathered_rows [8, 128, 768] (%at: memref<1024xi64>, %bias: memref<1024xf32>, %x: memref<98304xf32>, %o: memref<1024xf32>) {
  %0 = tk.load %at[d0*128 + d1] : memref<1024xi64> -> i64
  %1 = arith.index_cast %0 : i64 to index
  %2 = tk.load %x[i0*768 + d2](%1) : memref<98304xf32> -> f32
  %3 = tk.load %bias[d0*128 + d1] : memref<1024xf32> -> f32
  %4 = arith.addf %2, %3 : f32
  %5 = tk.reduce max %4 over [2] : f32
  tk.store %5, %o[d0*128 + d1] : f32, memref<1024xf32>
}

// -----

// Few rows that do not stay: a step loads more of them, as nothing else waits with it.
// CHECK-LABEL: @few_long_rows
// CHECK-SAME: tk.blocks = array<i64: 0, 1, 1, 8192>, tk.grid = 1 : i64, tk.warps = 16
tk.func @few_long_rows [2, 65536] (%x: memref<131072xbf16>, %o: memref<2xf32>) {
  %0 = tk.load %x[d0*65536 + d1] : memref<131072xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.reduce add %1 over [1] : f32
  tk.store %2, %o[d0] : f32, memref<2xf32>
}

// -----

// Twice the bytes of each element, half as many of them.
// CHECK-LABEL: @few_long_rows_of_more_bytes
// CHECK-SAME: tk.blocks = array<i64: 0, 1, 1, 4096>, tk.grid = 1 : i64, tk.warps = 16
tk.func @few_long_rows_of_more_bytes [2, 65536] (%x: memref<131072xf32>, %o: memref<2xf32>) {
  %0 = tk.load %x[d0*65536 + d1] : memref<131072xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<2xf32>
}

// -----

// Many rows: the others' steps are on their way, too.
// CHECK-LABEL: @many_long_rows
// CHECK-SAME: tk.blocks = array<i64: 0, 1, 1, 2048>, tk.grid = 1 : i64, tk.warps = 8
tk.func @many_long_rows [16, 65536] (%x: memref<1048576xbf16>, %o: memref<16xf32>) {
  %0 = tk.load %x[d0*65536 + d1] : memref<1048576xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.reduce add %1 over [1] : f32
  tk.store %2, %o[d0] : f32, memref<16xf32>
}

// -----

// A program goes along the rows of its part in steps of 4096 elements, and carries the sums of their columns: eight
// warps of it leave room for another program. They are summed first: what is live then is least.
// CHECK-LABEL: tk.func @along_rows
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 2, 2, 2048>, tk.grid = 1 : i64, tk.warps = 8
// CHECK:       tk.reduce add %{{.*}} over [1]
// CHECK:       tk.reduce add %{{.*}} over [1]
// CHECK:       tk.reduce add %{{.*}} over [2]
// APPLY-LABEL: tk.func @along_rows
// APPLY:       %[[W:.*]] = tk.load %w
// APPLY:       tk.for 1 = "0" to "15" step 2 masked iter(%[[A:.*]] = %{{.*}} : vector<2x2048xf32>, %[[B:.*]] = %{{.*}} : vector<2x2048xf32>) {
// APPLY:       %[[MORE:.*]] = arith.addf %[[A]]
// APPLY:       %[[TOO:.*]] = arith.addf %[[B]]
// APPLY:       tk.collapse add %{{.*}} dims [1] : vector<2x2048xf32> -> vector<2x1xf32>
// APPLY:       tk.store %{{.*}}, %o
// APPLY:       tk.yield %[[MORE]], %[[TOO]]
tk.func @along_rows [2, 15, 2048] (%g: memref<61440xf32>, %x: memref<61440xf32>, %w: memref<2048xf32>, %o: memref<61440xf32>, %p: memref<4096xf32>, %q: memref<4096xf32>) {
  %0 = tk.load %g[d0*30720 + d1*2048 + d2] : memref<61440xf32> -> f32
  %1 = tk.load %x[d0*30720 + d1*2048 + d2] : memref<61440xf32> -> f32
  %2 = tk.load %w[d2] : memref<2048xf32> -> f32
  %3 = arith.mulf %0, %2 : f32
  %4 = tk.reduce add %3 over [2] : f32
  %5 = arith.mulf %3, %1 : f32
  %6 = tk.reduce add %5 over [2] : f32
  %7 = arith.mulf %1, %6 : f32
  %8 = arith.subf %3, %4 : f32
  %9 = arith.subf %8, %7 : f32
  tk.store %9, %o[d0*30720 + d1*2048 + d2] : f32, memref<61440xf32>
  %10 = arith.mulf %0, %1 : f32
  %11 = tk.reduce add %10 over [1] : f32
  tk.store %11, %p[d0*2048 + d2] : f32, memref<4096xf32>
  %12 = tk.reduce add %0 over [1] : f32
  tk.store %12, %q[d0*2048 + d2] : f32, memref<4096xf32>
}

// -----

// One row is a step; registers have room for all in its order.
// CHECK-LABEL: tk.func @along_few_rows_of_much
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 1, 2, 8192>, tk.grid = 1 : i64, tk.warps = 16
// CHECK:       tk.reduce add %{{.*}} over [2]
// CHECK:       tk.reduce add %{{.*}} over [1]
tk.func @along_few_rows_of_much [2, 4, 8192] (%x: memref<65536xf32>, %o: memref<65536xf32>, %p: memref<16384xf32>) {
  %0 = tk.load %x[d0*32768 + d1*8192 + d2] : memref<65536xf32> -> f32
  %1 = tk.reduce add %0 over [2] : f32
  %2 = arith.subf %0, %1 : f32
  tk.store %2, %o[d0*32768 + d1*8192 + d2] : f32, memref<65536xf32>
  %3 = tk.reduce add %2 over [1] : f32
  tk.store %3, %p[d0*8192 + d2] : f32, memref<16384xf32>
}
