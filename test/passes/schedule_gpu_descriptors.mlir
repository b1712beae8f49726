// RUN: tilewright-opt %s -p 'schedule-gpu{descriptors=true units=core cores=1}' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'schedule-gpu{descriptors=true units=core cores=1},apply-schedule' --split-input-file | filecheck %s --check-prefix=APPLY
// RUN: tilewright-opt %s -p 'schedule-gpu{cores=1}' --split-input-file | filecheck %s --check-prefix=LACKS
// RUN: tilewright-opt %s -p 'schedule-gpu{descriptors=true units=core cores=1 candidates=true}' --split-input-file | filecheck %s --check-prefix=OTHERS
// RUN: tilewright-opt %s -p 'schedule-gpu{cores=1 candidates=true}' --split-input-file | filecheck %s --check-prefix=LACKS
// RUN: tilewright-opt %s -p 'schedule-gpu{descriptors=true units=core cores=1}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// No descriptors where the device lacks them.
// LACKS-NOT: tk.descriptor

// Both factors, one row-major and one column-major; what is left of both in the last step is zero. By pointers is
// another choice, and other blocks are by descriptor, too.
// CHECK-LABEL: tk.func @both
// CHECK-SAME: tk.product = "ieee", tk.descriptors = array<i64: 0, 1>}
// APPLY-LABEL: tk.func @both
// APPLY-SAME: attributes {tk.warps = 8 : i64, tk.stages = 3 : i64, tk.index = 32 : i64, tk.swizzle = 8 : i64}
// APPLY: tk.for 2 = "0" to "2001" step 64 masked
// APPLY-NEXT: tk.load %a[d0*2008 + d2] lanes 0, 2 {tk.descriptor} : memref<4016000xbf16> -> vector<128x64xbf16>
// APPLY-NEXT: tk.load %b[d1*2008 + d2] lanes 2, 1 {tk.descriptor} : memref<4112384xbf16> -> vector<64x128xbf16>
// OTHERS-LABEL: tk.func @both
// OTHERS-SAME: tk.candidates = [{tk.blocks = array<i64: 0, 128, 1, 128, 2, 64>{{[^}]*}}tk.stages = 3 : i64{{[^}]*}}tk.descriptors = array<i64: 0, 1>},
// OTHERS-SAME: {tk.blocks = array<i64: 0, 256, 1, 128, 2, 64>{{[^}]*}}tk.descriptors = array<i64: 0, 1>},
// OTHERS-SAME: {tk.blocks = array<i64: 0, 128, 1, 128, 2, 64>{{[^}]*}}tk.stages = 3 : i64{{[^}]*}}tk.product = "ieee"},
// OTHERS-SAME: {tk.blocks = array<i64: 0, 128, 1, 128, 2, 64>{{[^}]*}}tk.stages = 4 : i64{{[^}]*}}tk.product = "ieee"}]
tk.func @both [2000, 2048, 2001] (%a: memref<4016000xbf16>, %b: memref<4112384xbf16>, %o: memref<4096000xbf16>) {
  %0 = tk.load %a[d0*2008 + d2] : memref<4016000xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d1*2008 + d2] : memref<4112384xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  %6 = arith.truncf %5 : f32 to bf16
  tk.store %6, %o[d0*2048 + d1] : bf16, memref<4096000xbf16>
}

// -----

// Batches and rows of a size that the run knows, strides that it knows to be multiples of 16 bytes. A vector along the
// sum and what is read after the sum are by pointers, and keep nothing else from descriptors.
// CHECK-LABEL: tk.func @batches
// CHECK-SAME: tk.descriptors = array<i64: 0, 1>}
// APPLY-LABEL: tk.func @batches
// APPLY: tk.load %a[d0*s0*4096 + d1*4096 + d3] lanes 1, 3 {tk.descriptor} : memref<?xf16>
// APPLY-NEXT: arith.extf
// APPLY-NEXT: tk.load %v[d3] lanes 1, 3 : memref<4096xf32>
// APPLY: tk.load %b[d0*524288 + d2 + d3*128 + 32] lanes 3, 2 {tk.descriptor} : memref<?xf16>
// APPLY: tk.load %c[d1*64 + d2] lanes 1, 2 : memref<?xf32>
tk.func @batches [s1, s0, 64, 4096] (%a: memref<?xf16>, %b: memref<?xf16>, %v: memref<4096xf32>, %c: memref<?xf32>, %o: memref<?xf32>) symbols [s0, s1] {
  %0 = tk.load %a[d0*s0*4096 + d1*4096 + d3] : memref<?xf16> -> f16
  %1 = arith.extf %0 : f16 to f32
  %2 = tk.load %v[d3] : memref<4096xf32> -> f32
  %3 = arith.mulf %1, %2 : f32
  %4 = tk.load %b[d0*524288 + d2 + d3*128 + 32] : memref<?xf16> -> f16
  %5 = arith.extf %4 : f16 to f32
  %6 = arith.mulf %3, %5 : f32
  %7 = tk.reduce add %6 over [3] {tk.factors = f16} : f32
  %8 = tk.load %c[d1*64 + d2] : memref<?xf32> -> f32
  %9 = arith.addf %7, %8 : f32
  tk.store %9, %o[d0*s0*64 + d1*64 + d2] : f32, memref<?xf32>
}

// -----

// A stride that is the run's, of so many times 16 bytes.
// CHECK-LABEL: tk.func @stride_of_the_run
// CHECK-SAME: tk.descriptors = array<i64: 0, 1>}
tk.func @stride_of_the_run [s0*64, 64, 2048] (%a: memref<?xbf16>, %b: memref<131072xbf16>, %o: memref<?xf32>) symbols [s0] {
  %0 = tk.load %a[d0 + d2*s0*64] : memref<?xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d1*2048 + d2] : memref<131072xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  tk.store %5, %o[d0*64 + d1] : f32, memref<?xf32>
}

// -----

// Few steps do not pay for descriptors, as far as one can say untimed: they are another choice.
// CHECK-LABEL: tk.func @short_sum
// CHECK-NOT: tk.descriptors
// REMARK: tk.func at {{.*}}: by pointers, not by tensor descriptor: its sum is not known to have 32 steps
// APPLY-LABEL: tk.func @short_sum
// APPLY-NOT: tk.descriptor
// OTHERS-LABEL: tk.func @short_sum
// OTHERS-SAME: tk.candidates = [{tk.blocks = array<i64: 0, 128, 1, 128, 2, 64>{{[^}]*}}tk.product = "ieee"},
// OTHERS-SAME: {tk.blocks = array<i64: 0, 128, 1, 128, 2, 64>{{[^}]*}}tk.stages = 3 : i64{{[^}]*}}tk.descriptors = array<i64: 0, 1>},
// OTHERS-SAME: {tk.blocks = array<i64: 0, 128, 1, 128, 2, 64>{{[^}]*}}tk.stages = 4 : i64{{[^}]*}}tk.descriptors = array<i64: 0, 1>}]
tk.func @short_sum [2048, 2048, 768] (%a: memref<1572864xbf16>, %b: memref<1572864xbf16>, %o: memref<4194304xbf16>) {
  %0 = tk.load %a[d0*768 + d2] : memref<1572864xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d2*2048 + d1] : memref<1572864xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  %6 = arith.truncf %5 : f32 to bf16
  tk.store %6, %o[d0*2048 + d1] : bf16, memref<4194304xbf16>
}

// -----

// Small blocks do not, either.
// CHECK-LABEL: tk.func @small_blocks
// CHECK-NOT: tk.descriptors
// REMARK: tk.func at {{.*}}: by pointers, not by tensor descriptor: blocks of 128 x 32 are small
// OTHERS-LABEL: tk.func @small_blocks
// OTHERS-SAME: tk.descriptors = array<i64: 0, 1>}]
tk.func @small_blocks [2048, 32, 2048] (%a: memref<4194304xbf16>, %b: memref<65536xbf16>, %o: memref<65536xf32>) {
  %0 = tk.load %a[d0*2048 + d2] : memref<4194304xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d2*32 + d1] : memref<65536xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  tk.store %5, %o[d0*32 + d1] : f32, memref<65536xf32>
}

// -----

// One factor that no descriptor brings: by default none is, and the other one is another choice.
// CHECK-LABEL: tk.func @odd_rows
// CHECK-NOT: tk.descriptors
// REMARK: tk.load at {{.*}}: by pointers, not by tensor descriptor: rows of 2049 elements are not known to be multiples of 16 bytes
// OTHERS-LABEL: tk.func @odd_rows
// OTHERS: tk.descriptors = array<i64: 1>}
tk.func @odd_rows [64, 64, 2049] (%a: memref<131136xbf16>, %b: memref<131136xbf16>, %o: memref<4096xf32>) {
  %0 = tk.load %a[d0*2049 + d2] : memref<131136xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d2*64 + d1] : memref<131136xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  tk.store %5, %o[d0*64 + d1] : f32, memref<4096xf32>
}

// -----

// CHECK-LABEL: tk.func @masked_and_spread
// CHECK-NOT: tk.descriptors
// REMARK: tk.load at {{.*}}: by pointers, not by tensor descriptor: it has a mask or a gather index of its own
// REMARK: tk.load at {{.*}}: by pointers, not by tensor descriptor: no dimension has stride 1
// OTHERS-LABEL: tk.func @masked_and_spread
// OTHERS-NOT: tk.descriptors
tk.func @masked_and_spread [64, 64, 2048] (%a: memref<131072xbf16>, %b: memref<262144xbf16>, %o: memref<4096xf32>) {
  %z = arith.constant 0.0 : bf16
  %c = arith.constant 100 : i64
  %i = tk.index "d2 - d0" : i64
  %m = arith.cmpi slt, %i, %c : i64
  %0 = tk.load %a[d0*2048 + d2] if %m else %z : memref<131072xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d2*128 + d1*2] : memref<262144xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  tk.store %5, %o[d0*64 + d1] : f32, memref<4096xf32>
}

// -----

// OTHERS-LABEL: tk.func @uneven_and_off
// CHECK-LABEL: tk.func @uneven_and_off
// CHECK-NOT: tk.descriptors
// REMARK: tk.load at {{.*}}: by pointers, not by tensor descriptor: its steps along d0 are not all of one length
// REMARK: tk.load at {{.*}}: by pointers, not by tensor descriptor: a block is not known to begin at a multiple of 16 bytes
tk.func @uneven_and_off [64, 64, 2048] (%a: memref<1048576xbf16>, %b: memref<131076xbf16>, %o: memref<4096xf32>) {
  %0 = tk.load %a[(d0 floordiv 8)*65536 + (d0 mod 8)*2048 + d2] : memref<1048576xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d2*64 + d1 + 4] : memref<131076xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  tk.store %5, %o[d0*64 + d1] : f32, memref<4096xf32>
}

// -----

// CHECK-LABEL: tk.func @backwards_and_windows
// CHECK-NOT: tk.descriptors
// REMARK: tk.load at {{.*}}: by pointers, not by tensor descriptor: rows -2048 elements apart may run backwards
// REMARK: tk.load at {{.*}}: by pointers, not by tensor descriptor: rows 8 elements apart may overlap
tk.func @backwards_and_windows [64, 64, 2048] (%a: memref<131072xbf16>, %b: memref<16440xbf16>, %o: memref<4096xf32>) {
  %0 = tk.load %a[d2 - d0*2048 + 129024] : memref<131072xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d2*8 + d1] : memref<16440xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  tk.store %5, %o[d0*64 + d1] : f32, memref<4096xf32>
}

// -----

// CHECK-LABEL: tk.func @sum_of_the_run
// CHECK-NOT: tk.descriptors
// REMARK: tk.load at {{.*}}: by pointers, not by tensor descriptor: the program loops along d2, which may have no place, or 2**31 and more
// REMARK: tk.load at {{.*}}: by pointers, not by tensor descriptor: rows of s0 elements are not known to be multiples of 16 bytes
tk.func @sum_of_the_run [64, 64, s0] (%a: memref<?xbf16>, %b: memref<?xbf16>, %o: memref<4096xf32>) symbols [s0] {
  %0 = tk.load %a[d0 + d2*64] : memref<?xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d1*s0 + d2] : memref<?xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  tk.store %5, %o[d0*64 + d1] : f32, memref<4096xf32>
}

// -----

// Bytes that are turned into numbers: descriptors are of floats.
// CHECK-LABEL: tk.func @bytes
// CHECK-NOT: tk.descriptors
// REMARK: tk.load at {{.*}}: by pointers, not by tensor descriptor: its elements are i8
tk.func @bytes [64, 64, 2048] (%a: memref<131072xi8>, %b: memref<131072xbf16>, %o: memref<4096xf32>) {
  %0 = tk.load %a[d0*2048 + d2] : memref<131072xi8> -> i8
  %1 = arith.sitofp %0 : i8 to f32
  %2 = tk.load %b[d2*64 + d1] : memref<131072xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
  tk.store %5, %o[d0*64 + d1] : f32, memref<4096xf32>
}
