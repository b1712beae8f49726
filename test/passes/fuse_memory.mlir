// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse{far=true},dce' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse,dce' --split-input-file | filecheck %s --check-prefix=CACHE

// What nobody else reads is computed again for each of nine windows, where it would go to a GPU's memory; in a
// cache the positions of a border cost more.
// CHECK-LABEL: @windows_of_a_border
// CHECK-COUNT-1: = tk.kernel
// CHECK-NOT: tk.kernel
// CACHE-LABEL: @windows_of_a_border
// CACHE-COUNT-2: = tk.kernel
func.func @windows_of_a_border(%x: tensor<64x112xf32>) -> tensor<64x56xf32> {
  %p = tk.kernel [64, 113] ins(%x : tensor<64x112xf32>) -> (tensor<64x113xf32>) {
  ^bb0(%a: tensor<64x112xf32>, %o: tensor<64x113xf32>):
    %zero = arith.constant 0 : i64
    %end = arith.constant 112 : i64
    %low = arith.constant 0xFF800000 : f32
    %0 = tk.index "d1 - 1" : i64
    %1 = arith.cmpi sge, %0, %zero : i64
    %2 = arith.cmpi slt, %0, %end : i64
    %3 = arith.andi %1, %2 : i1
    %4 = tk.load %a[d0, d1 - 1] if %3 else %low : tensor<64x112xf32> -> f32
    tk.store %4, %o[d0, d1] : f32, tensor<64x113xf32>
  }
  %r = tk.kernel [64, 56, 3] ins(%p : tensor<64x113xf32>) -> (tensor<64x56xf32>) {
  ^bb0(%a: tensor<64x113xf32>, %o: tensor<64x56xf32>):
    %0 = tk.load %a[d0, d1*2 + d2] : tensor<64x113xf32> -> f32
    %1 = tk.reduce max %0 over [2] : f32
    tk.store %1, %o[d0, d1] : f32, tensor<64x56xf32>
  }
  func.return %r : tensor<64x56xf32>
}

// -----

// An exponential for each element of long windows costs more than its place in memory.
// CHECK-LABEL: @long_windows_of_exponentials
// CHECK-COUNT-2: = tk.kernel
func.func @long_windows_of_exponentials(%x: tensor<64x127xf32>) -> tensor<64x64xf32> {
  %p = tk.kernel [64, 127] ins(%x : tensor<64x127xf32>) -> (tensor<64x127xf32>) {
  ^bb0(%a: tensor<64x127xf32>, %o: tensor<64x127xf32>):
    %0 = tk.load %a[d0, d1] : tensor<64x127xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<64x127xf32>
  }
  %r = tk.kernel [64, 64, 64] ins(%p : tensor<64x127xf32>) -> (tensor<64x64xf32>) {
  ^bb0(%a: tensor<64x127xf32>, %o: tensor<64x64xf32>):
    %0 = tk.load %a[d0, d1 + d2] : tensor<64x127xf32> -> f32
    %1 = tk.reduce max %0 over [2] : f32
    tk.store %1, %o[d0, d1] : f32, tensor<64x64xf32>
  }
  func.return %r : tensor<64x64xf32>
}

// -----

// A table of sines need not be launched where each reader waits for its own memory longer than sines take.
// CHECK-LABEL: @no_launch_for_a_table
// CHECK-COUNT-2: math.sin
// CHECK-NOT: = tk.kernel [64]
// CACHE-LABEL: @no_launch_for_a_table
// CACHE-COUNT-1: math.sin
// CACHE-NOT: math.sin
func.func @no_launch_for_a_table(%t: tensor<64xf32>, %x: tensor<512x64xf32>, %y: tensor<4x256x64xf32>)
    -> (tensor<512x64xf32>, tensor<4x256x64xf32>) {
  %s = tw.sin %t : tensor<64xf32>
  %b = tw.broadcast %s dims [1] : tensor<64xf32> -> tensor<512x64xf32>
  %u = tw.mul %x, %b : tensor<512x64xf32>
  %c = tw.broadcast %s dims [2] : tensor<64xf32> -> tensor<4x256x64xf32>
  %v = tw.mul %y, %c : tensor<4x256x64xf32>
  func.return %u, %v : tensor<512x64xf32>, tensor<4x256x64xf32>
}

// -----

// It is launched anyway: someone else reads the table.
// CHECK-LABEL: @table_in_memory
// CACHE-LABEL: @table_in_memory
// CHECK-COUNT-1: math.sin
// CHECK-NOT: math.sin
func.func @table_in_memory(%t: tensor<64xf32>, %x: tensor<512x64xf32>) -> (tensor<64xf32>, tensor<512x64xf32>) {
  %s = tw.sin %t : tensor<64xf32>
  %b = tw.broadcast %s dims [1] : tensor<64xf32> -> tensor<512x64xf32>
  %u = tw.mul %x, %b : tensor<512x64xf32>
  func.return %s, %u : tensor<64xf32>, tensor<512x64xf32>
}

// -----

// Sums of a few numbers are written out where they are read at several places.
// CHECK-LABEL: @writes_sums_out
// CHECK:      tk.kernel [16, 64]
// CHECK-COUNT-6: tk.load
// CHECK-NOT:  tk.load
// CHECK-NOT:  tk.kernel
// CACHE-LABEL: @writes_sums_out
// CACHE-COUNT-2: = tk.kernel
func.func @writes_sums_out(%x: tensor<16x3x64xf32>) -> tensor<16x64xf32> {
  %s = tw.sum %x over [1] : tensor<16x3x64xf32> -> tensor<16x64xf32>
  %r = tw.reverse %s dims [1] : tensor<16x64xf32> -> tensor<16x64xf32>
  %a = tw.add %s, %r : tensor<16x64xf32>
  func.return %a : tensor<16x64xf32>
}

// -----

// A sum of few joins a reduction of rows, which keeps it as well: its terms are written out.
// CHECK-LABEL: @sums_of_few_in_rows
// CHECK:      tk.kernel [16, 64] ins(%x : tensor<16x3x64xf32>) -> (tensor<16x64xf32>, tensor<16xf32>)
// CHECK-COUNT-3: tk.load
// CHECK-NOT:  tk.load
// CHECK:      tk.reduce max {{.*}} over [1]
// CHECK-NOT:  tk.kernel
// CACHE-LABEL: @sums_of_few_in_rows
// CACHE-COUNT-2: = tk.kernel
func.func @sums_of_few_in_rows(%x: tensor<16x3x64xf32>) -> (tensor<16x64xf32>, tensor<16xf32>) {
  %s = tw.sum %x over [1] : tensor<16x3x64xf32> -> tensor<16x64xf32>
  %m = tw.max %s over [1] : tensor<16x64xf32> -> tensor<16xf32>
  func.return %s, %m : tensor<16x64xf32>, tensor<16xf32>
}

// -----

// CHECK-LABEL: @sums_of_many_apart_from_rows
// CHECK-COUNT-2: = tk.kernel
func.func @sums_of_many_apart_from_rows(%x: tensor<16x10x64xf32>) -> (tensor<16x64xf32>, tensor<16xf32>) {
  %s = tw.sum %x over [1] : tensor<16x10x64xf32> -> tensor<16x64xf32>
  %m = tw.max %s over [1] : tensor<16x64xf32> -> tensor<16xf32>
  func.return %s, %m : tensor<16x64xf32>, tensor<16xf32>
}

// -----

// CHECK-LABEL: @keeps_sums_of_many
// CHECK-COUNT-2: = tk.kernel
func.func @keeps_sums_of_many(%x: tensor<16x10x64xf32>) -> tensor<16x64xf32> {
  %s = tw.sum %x over [1] : tensor<16x10x64xf32> -> tensor<16x64xf32>
  %r = tw.reverse %s dims [1] : tensor<16x64xf32> -> tensor<16x64xf32>
  %a = tw.add %s, %r : tensor<16x64xf32>
  func.return %a : tensor<16x64xf32>
}

// -----

// CHECK-LABEL: @keeps_sums_that_others_read
// CHECK-COUNT-2: = tk.kernel
func.func @keeps_sums_that_others_read(%x: tensor<16x3x64xf32>) -> (tensor<16x64xf32>, tensor<16x64xf32>) {
  %s = tw.sum %x over [1] : tensor<16x3x64xf32> -> tensor<16x64xf32>
  %r = tw.reverse %s dims [1] : tensor<16x64xf32> -> tensor<16x64xf32>
  %a = tw.add %s, %r : tensor<16x64xf32>
  func.return %a, %s : tensor<16x64xf32>, tensor<16x64xf32>
}

// -----

// What its one reader computes again is not stored any more; the sum of many is.
// CHECK-LABEL: @stores_what_is_read
// CHECK:      tk.kernel [16, 64, 10] ins(%x : tensor<16x10x64xf32>) -> (tensor<16x64xf32>)
// CHECK:      tk.kernel
func.func @stores_what_is_read(%x: tensor<16x10x64xf32>) -> tensor<16x32xf32> {
  %s, %t = tk.kernel [16, 64, 10] ins(%x : tensor<16x10x64xf32>) -> (tensor<16x64xf32>, tensor<16x64xf32>) {
  ^bb0(%a: tensor<16x10x64xf32>, %o: tensor<16x64xf32>, %p: tensor<16x64xf32>):
    %0 = tk.load %a[d0, d2, d1] : tensor<16x10x64xf32> -> f32
    %1 = tk.reduce add %0 over [2] : f32
    tk.store %1, %o[d0, d1] : f32, tensor<16x64xf32>
    %2 = tk.load %a[d0, 0, d1] : tensor<16x10x64xf32> -> f32
    %3 = arith.negf %2 : f32
    tk.store %3, %p[d0, d1] : f32, tensor<16x64xf32>
  }
  %r = tw.slice %s starts "0, 0" steps "1, 2" : tensor<16x64xf32> -> tensor<16x32xf32>
  %q = tw.slice %t starts "0, 0" steps "1, 2" : tensor<16x64xf32> -> tensor<16x32xf32>
  %u = tw.add %r, %q : tensor<16x32xf32>
  func.return %u : tensor<16x32xf32>
}

// -----

// All that read sums of a few numbers compute them, where these are little beside what is read.
// CHECK-LABEL: @writes_sums_out_for_all
// CHECK:      tk.kernel [16, 64]
// CHECK-COUNT-3: tk.load
// CHECK:      tk.reduce max
// CHECK:      tk.kernel [16, 64]
// CHECK-COUNT-3: tk.load
// CHECK:      tk.reduce max
// CHECK-NOT:  tk.kernel
// CACHE-LABEL: @writes_sums_out_for_all
// CACHE-COUNT-3: = tk.kernel
func.func @writes_sums_out_for_all(%x: tensor<16x3x64xf32>) -> (tensor<16xf32>, tensor<64xf32>) {
  %s = tw.sum %x over [1] : tensor<16x3x64xf32> -> tensor<16x64xf32>
  %a = tw.max %s over [1] : tensor<16x64xf32> -> tensor<16xf32>
  %b = tw.max %s over [0] : tensor<16x64xf32> -> tensor<64xf32>
  func.return %a, %b : tensor<16xf32>, tensor<64xf32>
}

// -----

// An axis of one point keeps nothing apart: the columns of both are reduced by one kernel.
// CHECK-LABEL: @drops_axes_of_one
// CHECK:      tk.kernel [16, 64]
// CHECK:      tk.store {{.*}}[d0, 0]
// CHECK-NOT:  tk.kernel
func.func @drops_axes_of_one(%x: tensor<16x1x64xf32>) -> tensor<16x1xf32> {
  %e = tw.exp %x : tensor<16x1x64xf32>
  %a = tw.sum %e over [2] : tensor<16x1x64xf32> -> tensor<16x1xf32>
  func.return %a : tensor<16x1xf32>
}

// -----

// Sums of each row and each column's number are computed where they are reduced, by both readers: nothing of all
// pairs is stored beside the row maxima, however large it is, since the readers read no more for it.
// CHECK-LABEL: @pairs_of_rows_and_columns
// CHECK: %[[M:.*]] = tk.kernel [64, 2048] ins(%{{.*}} : tensor<64x2048xf32>) -> (tensor<64xf32>)
// CHECK: tk.kernel [64, 16384] ins(%[[M]], %t : tensor<64xf32>, tensor<16384xf32>) -> (tensor<64xf32>)
// CHECK-NOT: tk.kernel
// CACHE-LABEL: @pairs_of_rows_and_columns
// CACHE: -> (tensor<64x16384xf32>
func.func @pairs_of_rows_and_columns(%x: tensor<64x2048xf32>, %t: tensor<16384xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %m = tw.max %x over [1] : tensor<64x2048xf32> -> tensor<64xf32>
  %b = tw.broadcast %m dims [0] : tensor<64xf32> -> tensor<64x16384xf32>
  %c = tw.broadcast %t dims [1] : tensor<16384xf32> -> tensor<64x16384xf32>
  %p = tw.add %b, %c : tensor<64x16384xf32>
  %n = tw.max %p over [1] : tensor<64x16384xf32> -> tensor<64xf32>
  %r = tw.broadcast %n dims [0] : tensor<64xf32> -> tensor<64x16384xf32>
  %d = tw.sub %p, %r : tensor<64x16384xf32>
  %e = tw.exp %d : tensor<64x16384xf32>
  %s = tw.sum %e over [1] : tensor<64x16384xf32> -> tensor<64xf32>
  func.return %m, %s : tensor<64xf32>, tensor<64xf32>
}

// -----

// Sums that one reader must have from memory are stored.
// CHECK-LABEL: @pairs_that_are_returned
// CHECK: -> (tensor<64x16384xf32>
func.func @pairs_that_are_returned(%m: tensor<64xf32>, %t: tensor<16384xf32>) -> (tensor<64x16384xf32>, tensor<64xf32>) {
  %b = tw.broadcast %m dims [0] : tensor<64xf32> -> tensor<64x16384xf32>
  %c = tw.broadcast %t dims [1] : tensor<16384xf32> -> tensor<64x16384xf32>
  %p = tw.add %b, %c : tensor<64x16384xf32>
  %n = tw.max %p over [1] : tensor<64x16384xf32> -> tensor<64xf32>
  func.return %p, %n : tensor<64x16384xf32>, tensor<64xf32>
}

// -----

// Wide differences are stored, since the caller wants them. What sums their squares reads what they are made of, which is
// half as much. Through a cache they are read.
// CHECK-LABEL: @more_to_read_than_its_sources
// CHECK:      %[[T:.*]] = tk.kernel [1024, 64] ins(%x, %m :
// CHECK:      tk.reduce
// CHECK:      %d, %r = tk.kernel [1024, 64] ins(%x, %m, %[[T]] :
// CHECK-NOT:  tk.kernel
// CACHE-LABEL: @more_to_read_than_its_sources
// CACHE:      %d, %q = tk.kernel [1024, 64] ins(%x, %m :
// CACHE:      tk.kernel [1024, 64] ins(%q :
// CACHE:      %r = tk.kernel [1024, 64] ins(%d,
func.func @more_to_read_than_its_sources(%x: tensor<1024x64xbf16>, %m: tensor<64xf32>) -> (tensor<1024x64xf32>, tensor<1024x64xf32>) {
  %c = tw.cast %x : tensor<1024x64xbf16> -> tensor<1024x64xf32>
  %b = tw.broadcast %m dims [1] : tensor<64xf32> -> tensor<1024x64xf32>
  %d = tw.sub %c, %b : tensor<1024x64xf32>
  %q = tw.mul %d, %d : tensor<1024x64xf32>
  %t = tw.sum %q over [0] : tensor<1024x64xf32> -> tensor<64xf32>
  %u = tw.broadcast %t dims [1] : tensor<64xf32> -> tensor<1024x64xf32>
  %r = tw.mul %d, %u : tensor<1024x64xf32>
  func.return %d, %r : tensor<1024x64xf32>, tensor<1024x64xf32>
}
