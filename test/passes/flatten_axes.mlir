// RUN: tilewright-opt %s -p flatten-axes --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p flatten-axes --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// CHECK-LABEL: tk.func @one_axis_of_parallel_ones [280]
// CHECK-NEXT: tk.load %x[d0]
// CHECK-NEXT: tk.load %b[(((d0 floordiv 7)) mod 5)]
// CHECK: tk.store %{{.*}}, %o[d0]
tk.func @one_axis_of_parallel_ones [8, 5, 7] (%x: memref<280xf32>, %b: memref<5xf32>, %o: memref<280xf32>) {
  %0 = tk.load %x[d0*35 + d1*7 + d2] : memref<280xf32> -> f32
  %1 = tk.load %b[d1] : memref<5xf32> -> f32
  %2 = arith.addf %0, %1 : f32
  tk.store %2, %o[d0*35 + d1*7 + d2] : f32, memref<280xf32>
}

// -----

// The flat axis follows memory, whatever the order of the axes.
// CHECK-LABEL: tk.func @in_the_order_of_memory [12]
// CHECK-NEXT: tk.load %x[d0]
// CHECK: tk.load %b[(d0 mod 3)]
tk.func @in_the_order_of_memory [3, 4] (%x: memref<12xf32>, %b: memref<3xf32>, %o: memref<12xf32>) {
  %0 = tk.load %x[d1*3 + d0] : memref<12xf32> -> f32
  %1 = tk.load %b[d0] : memref<3xf32> -> f32
  %2 = arith.addf %0, %1 : f32
  tk.store %2, %o[d1*3 + d0] : f32, memref<12xf32>
}

// -----

// CHECK-LABEL: tk.func @reduced_axes_apart [5, 24]
// CHECK: tk.load %x[d0*6 + (d1 floordiv 6)*30 + (d1 mod 6)]
// CHECK: tk.reduce add %{{.*}} over [1]
tk.func @reduced_axes_apart [4, 5, 6] (%x: memref<120xf32>, %o: memref<5xf32>) {
  %0 = tk.load %x[d0*30 + d1*6 + d2] : memref<120xf32> -> f32
  %1 = tk.reduce add %0 over [0, 2] : f32
  tk.store %1, %o[d1] : f32, memref<5xf32>
}

// -----

// So do those along which two stores go.
// CHECK-LABEL: tk.func @keeps_axes_of_two_stores [100, 70]
// CHECK:      tk.store %{{.*}}, %o[d0*70 + d1]
// CHECK:      tk.store %{{.*}}, %p[d0 + d1*100]
tk.func @keeps_axes_of_two_stores [100, 70] (%x: memref<7000xf32>, %o: memref<7000xf32>, %p: memref<7000xf32>) {
  %0 = tk.load %x[d0*70 + d1] : memref<7000xf32> -> f32
  tk.store %0, %o[d0*70 + d1] : f32, memref<7000xf32>
  tk.store %0, %p[d0 + d1*100] : f32, memref<7000xf32>
}

// Two axes of a transpose stay; the third is the slowest.
// CHECK-LABEL: tk.func @keeps_transposed_axes [3, 70, 100]
// CHECK-NEXT: tk.load %x[d0*7000 + d1 + d2*70]
// CHECK-NEXT: tk.store %{{.*}}, %o[d0*7000 + d1*100 + d2]
tk.func @keeps_transposed_axes [3, 100, 70] (%x: memref<21000xf32>, %o: memref<21000xf32>) {
  %0 = tk.load %x[d0*7000 + d1*70 + d2] : memref<21000xf32> -> f32
  tk.store %0, %o[d0*7000 + d2*100 + d1] : f32, memref<21000xf32>
}

// -----

// Rows of a product are flattened, its columns and its sum are not mixed with them.
// CHECK-LABEL: tk.func @roles_of_a_product [24, 5, 7]
// CHECK: tk.load %a[d0*7 + d2]
// CHECK: tk.load %b[d1 + d2*5]
// CHECK: tk.reduce add %{{.*}} over [2]
tk.func @roles_of_a_product [4, 6, 5, 7] (%a: memref<168xf32>, %b: memref<35xf32>, %o: memref<120xf32>) {
  %0 = tk.load %a[d0*42 + d1*7 + d3] : memref<168xf32> -> f32
  %1 = tk.load %b[d3*5 + d2] : memref<35xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  tk.store %3, %o[d0*30 + d1*5 + d2] : f32, memref<120xf32>
}

// -----

// A factor may repeat along some of what is summed: the sum is one axis all the same.
// CHECK-LABEL: tk.func @repeated_factor [24, 5, 14]
// CHECK: tk.load %a[d0*7 + (d2 floordiv 2)]
// CHECK: tk.load %b[d1*14 + d2]
// CHECK: tk.reduce add %{{.*}} over [2]
tk.func @repeated_factor [4, 6, 5, 7, 2] (%a: memref<168xf32>, %b: memref<70xf32>, %o: memref<120xf32>) {
  %0 = tk.load %a[d0*42 + d1*7 + d3] : memref<168xf32> -> f32
  %1 = tk.load %b[d2*14 + d3*2 + d4] : memref<70xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3, 4] : f32
  tk.store %3, %o[d0*30 + d1*5 + d2] : f32, memref<120xf32>
}

// -----

// Sums of either factor alone are no product: nothing that is summed belongs to both.
// CHECK-LABEL: tk.func @sums_apart [20, 6]
tk.func @sums_apart [4, 5, 3, 2] (%a: memref<12xf32>, %b: memref<10xf32>, %o: memref<20xf32>) {
  %0 = tk.load %a[d0*3 + d2] : memref<12xf32> -> f32
  %1 = tk.load %b[d1*2 + d3] : memref<10xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [2, 3] : f32
  tk.store %3, %o[d0*5 + d1] : f32, memref<20xf32>
}

// -----

// A store that does not run over an axis keeps that axis apart.
// CHECK-LABEL: tk.func @effects_keep_axes_apart [4, 6]
// REMARK: tk.func at {{.*}}: no two axes have one role
tk.func @effects_keep_axes_apart [4, 6] (%x: memref<24xf32>, %p: memref<4xf32>, %o: memref<24xf32>) {
  %0 = tk.load %p[d0] : memref<4xf32> -> f32
  tk.store %0, %p[d0] : f32, memref<4xf32>
  %1 = tk.load %x[d0*6 + d1] : memref<24xf32> -> f32
  tk.store %1, %o[d0*6 + d1] : f32, memref<24xf32>
}

// -----

// What adds one number runs over axes that nothing else names; they keep their number.
// CHECK-LABEL: tk.func @flattens_what_a_store_runs_over [15]
// CHECK: tk.store %{{.*}}, %o[0] over [0] combine add
tk.func @flattens_what_a_store_runs_over [3, 5] (%o: memref<4xf32>) {
  %0 = arith.constant 1.0 : f32
  tk.store %0, %o[0] over [0, 1] combine add : f32, memref<4xf32>
}

// -----

// CHECK-LABEL: tk.func @one_axis_of_a_store_stays_apart [4, 6]
// CHECK: tk.store %{{.*}}, %o[d0] over [1] combine add
// REMARK: tk.func at {{.*}}: no two axes have one role
tk.func @one_axis_of_a_store_stays_apart [4, 6] (%x: memref<24xf32>, %o: memref<24xf32>) {
  %0 = tk.load %x[d0*6 + d1] : memref<24xf32> -> f32
  tk.store %0, %o[d0*6 + d1] : f32, memref<24xf32>
  %1 = arith.constant 1.0 : f32
  tk.store %1, %o[d0] over [1] combine add : f32, memref<24xf32>
}

// -----

// One sum over both axes; what it is added to has one of them, so that it would be added four times.
// CHECK-LABEL: tk.func @reduced_axis_of_a_store_stays_apart [4, 6]
// CHECK: tk.store %{{.*}}, %o[d1] combine add
// REMARK: tk.func at {{.*}}: no two axes have one role
tk.func @reduced_axis_of_a_store_stays_apart [4, 6] (%x: memref<24xf32>, %o: memref<6xf32>) {
  %0 = tk.load %x[d0*6 + d1] : memref<24xf32> -> f32
  %1 = tk.reduce add %0 over [0, 1] : f32
  tk.store %1, %o[d1] combine add : f32, memref<6xf32>
}

// -----

// What is stored again is stored.
// CHECK-LABEL: tk.func @reduced_axes_of_a_plain_store [24]
// CHECK: tk.store %{{.*}}, %o[(d0 mod 6)]
tk.func @reduced_axes_of_a_plain_store [4, 6] (%x: memref<24xf32>, %o: memref<6xf32>) {
  %0 = tk.load %x[d0*6 + d1] : memref<24xf32> -> f32
  %1 = tk.reduce add %0 over [0, 1] : f32
  tk.store %1, %o[d1] : f32, memref<6xf32>
}

// -----

// CHECK-LABEL: tk.func @empty_axes_stay [7, 0]
// CHECK-NEXT: tk.load %x[d1]
// REMARK: tk.func at {{.*}}: an axis has no elements, and what is divided by its size has no value
tk.func @empty_axes_stay [7, 0] (%x: memref<0xf32>, %o: memref<0xf32>) {
  %0 = tk.load %x[d1] : memref<0xf32> -> f32
  tk.store %0, %o[d1] : f32, memref<0xf32>
}

// -----

// A transpose of merged axes is one, too: what was merged into an axis lies side by side in runs.
// CHECK-LABEL: tk.func @transposed_runs [4096, 196]
tk.func @transposed_runs [4096, 196] (%x: memref<802816xf32>, %o: memref<802816xf32>) {
  %0 = tk.load %x[(d0 floordiv 512)*100352 + (d0 mod 512) + d1*512] : memref<802816xf32> -> f32
  tk.store %0, %o[d0*196 + d1] : f32, memref<802816xf32>
}
