// RUN: tilewright-opt %s -p 'schedule-gpu{cores=1}' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'schedule-gpu{cores=1},apply-schedule' --split-input-file | filecheck %s --check-prefix=APPLY

// A program holds whole rows; inactive lanes come last, whichever the order.
// CHECK-LABEL: tk.func @rows
// CHECK-SAME:  tk.blocks = array<i64: 0, 32, 1, 64>, tk.grid = 1 : i64, tk.warps = 8
// APPLY-LABEL: tk.func @rows
// APPLY: %[[NAN:.*]] = arith.constant 0x7fc00000 : f32
// APPLY: %[[PAD:.*]] = vector.broadcast %[[NAN]] : f32 to vector<32x64xf32>
// APPLY: %[[X:.*]] = arith.select %{{.*}}, %{{.*}}, %[[PAD]] : vector<32x64xi1>, vector<32x64xf32>
// APPLY: %{{.*}}, %{{.*}} = tk.arrange %[[X]] dim 1 : vector<32x64xf32>
tk.func @rows [512, 37] (%x: memref<18944xf32>, %o: memref<18944xf32>) {
  %0 = tk.load %x[d0*37 + d1] : memref<18944xf32> -> f32
  %1, %2 = tk.sort %0 along 1 : f32
  tk.store %1, %o[d0*37 + d1] : f32, memref<18944xf32>
}

// -----

// A row of a product of sizes that divides needs no mask.
// CHECK-LABEL: tk.func @descending
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 2048>, tk.grid = 1 : i64, tk.warps = 8
// APPLY-LABEL: tk.func @descending
// APPLY-NOT: tk.active
// APPLY: %{{.*}}, %{{.*}} = tk.arrange %{{.*}} dim 0 descending : vector<2048xi64>
tk.func @descending [512, 2048] (%x: memref<1048576xi64>, %o: memref<1048576xi64>) {
  %0 = tk.load %x[d0*2048 + d1] : memref<1048576xi64> -> i64
  %1, %2 = tk.sort %0 along 1 descending : i64
  tk.store %1, %o[d0*2048 + d1] : i64, memref<1048576xi64>
}

// -----

// Columns are whole, too; as few of them as one program has room for.
// CHECK-LABEL: tk.func @columns
// CHECK-SAME:  tk.blocks = array<i64: 1, 4, 0, 512>, tk.grid = 1 : i64, tk.warps = 8
// APPLY-LABEL: tk.func @columns
// APPLY: %[[LOW:.*]] = arith.constant -9223372036854775808 : i64
// APPLY: vector.broadcast %[[LOW]] : i64 to vector<512x4xi64>
// APPLY: %{{.*}}, %{{.*}} = tk.arrange %{{.*}} dim 0 descending : vector<512x4xi64>
tk.func @columns [511, 2048] (%x: memref<1046528xi64>, %o: memref<1046528xi64>) {
  %0 = tk.load %x[d0*2048 + d1] : memref<1046528xi64> -> i64
  %1, %2 = tk.sort %0 along 0 descending : i64
  tk.store %1, %o[d0*2048 + d1] : i64, memref<1046528xi64>
}
