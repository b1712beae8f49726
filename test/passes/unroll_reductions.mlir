// RUN: tilewright-opt %s -p unroll-reductions --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p unroll-reductions --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// CHECK-LABEL: tk.func @terms_a_row_apart [64, 128, 1]
// CHECK-NEXT: %[[A:.*]] = tk.load %x[d0*384 + d1]
// CHECK-NEXT: %[[B:.*]] = tk.load %x[d0*384 + d1 + 128]
// CHECK-NEXT: %[[C:.*]] = tk.load %x[d0*384 + d1 + 256] : memref<24576xf32> -> f32 loc("m.py":1:0)
// CHECK-NEXT: %[[AB:.*]] = arith.addf %[[A]], %[[B]] fastmath<contract> : f32 loc("m.py":2:0)
// CHECK-NEXT: %[[ALL:.*]] = arith.addf %[[AB]], %[[C]] fastmath<contract> : f32 loc("m.py":2:0)
// CHECK-NEXT: tk.store %[[ALL]], %o[d0*128 + d1]
tk.func @terms_a_row_apart [64, 128, 3] (%x: memref<24576xf32>, %o: memref<8192xf32>) {
  %0 = tk.load %x[d0*384 + d1 + d2*128] : memref<24576xf32> -> f32 loc("m.py":1:0)
  %1 = tk.reduce add %0 over [2] : f32 loc("m.py":2:0)
  tk.store %1, %o[d0*128 + d1] : f32, memref<8192xf32>
}

// A window that hangs over the edge; what all of its terms need is computed once.
// CHECK-LABEL: tk.func @a_window_and_where_its_maximum_is [8, 1]
// CHECK: tk.load %w[d0]
// CHECK-NOT: tk.load %w
// CHECK: tk.load %x[d0*2 - 1]
// CHECK: tk.load %x[d0*2]
// CHECK: tk.load %x[d0*2 + 1]
// CHECK-NOT: tk.load %x
// CHECK-NOT: tk.reduce
// CHECK: tk.store %{{.*}}, %o[d0]
// CHECK: tk.store %{{.*}}, %p[d0]
tk.func @a_window_and_where_its_maximum_is [8, 3] (%x: memref<16xf32>, %w: memref<8xf32>, %o: memref<8xf32>, %p: memref<8xi64>) {
  %w0 = tk.load %w[d0] : memref<8xf32> -> f32
  %low = arith.constant -1.0 : f32
  %zero = arith.constant 0 : i64
  %place = tk.index "d0*2 + d1 - 1" : i64
  %inside = arith.cmpi sge, %place, %zero : i64
  %0 = tk.load %x[d0*2 + d1 - 1] if %inside else %low : memref<16xf32> -> f32
  %1 = arith.mulf %0, %w0 : f32
  %m = tk.reduce max %1 over [1] : f32
  tk.store %m, %o[d0] : f32, memref<8xf32>
  %is = arith.cmpf oeq, %1, %m : f32
  %far = arith.constant 99 : i64
  %here = arith.select %is, %place, %far : i64
  %first = tk.reduce min %here over [1] : i64
  tk.store %first, %p[d0] : i64, memref<8xi64>
}

// Lanes would be four elements of 4 bytes apart.
// CHECK-LABEL: tk.func @rows_of_a_few [64, 4]
// CHECK: tk.reduce add
// REMARK: tk.func at {{.*}}: lanes would load elements that are far apart
tk.func @rows_of_a_few [64, 4] (%x: memref<256xf32>, %o: memref<64xf32>) {
  %0 = tk.load %x[d0*4 + d1] : memref<256xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<64xf32>
}

// Of bytes they are near enough.
// CHECK-LABEL: tk.func @rows_of_a_few_bytes [64, 1]
// CHECK-NOT: tk.reduce
tk.func @rows_of_a_few_bytes [64, 4] (%x: memref<256xi8>, %o: memref<64xi8>) {
  %0 = tk.load %x[d0*4 + d1] : memref<256xi8> -> i8
  %1 = tk.reduce max %0 over [1] : i8
  tk.store %1, %o[d0] : i8, memref<64xi8>
}

// What stands at a loaded position, or is the same for all lanes, decides nothing.
// CHECK-LABEL: tk.func @no_place_along_lanes [64, 1]
// CHECK-NOT: tk.reduce
tk.func @no_place_along_lanes [64, 3] (%x: memref<64xf32>, %i: memref<3xi64>, %o: memref<64xf32>) {
  %n = tk.load %i[d1] : memref<3xi64> -> i64
  %p = arith.index_cast %n : i64 to index
  %0 = tk.load %x[i0](%p) : memref<64xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<64xf32>
}

// CHECK-LABEL: tk.func @one_result [1, 4]
// CHECK: tk.reduce add
// REMARK: tk.func at {{.*}}: it has one result
tk.func @one_result [1, 4] (%x: memref<4xf32>, %o: memref<1xf32>) {
  %0 = tk.load %x[d1] : memref<4xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<1xf32>
}

// CHECK-LABEL: tk.func @ten_terms [64, 10]
// CHECK: tk.reduce add
tk.func @ten_terms [64, 10] (%x: memref<640xf32>, %o: memref<64xf32>) {
  %0 = tk.load %x[d1*64 + d0] : memref<640xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<64xf32>
}

// CHECK-LABEL: tk.func @of_unknown_number [64, s0]
// CHECK: tk.reduce add
tk.func @of_unknown_number [64, s0] (%x: memref<?xf32>, %o: memref<64xf32>) symbols [s0] {
  %0 = tk.load %x[d1*64 + d0] : memref<?xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<64xf32>
}

// The terms are stored, too: the axis stays.
// CHECK-LABEL: tk.func @terms_that_are_stored [64, 3]
// CHECK: tk.reduce add
tk.func @terms_that_are_stored [64, 3] (%x: memref<192xf32>, %y: memref<192xf32>, %o: memref<64xf32>) {
  %0 = tk.load %x[d1*64 + d0] : memref<192xf32> -> f32
  tk.store %0, %y[d1*64 + d0] : f32, memref<192xf32>
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<64xf32>
}
