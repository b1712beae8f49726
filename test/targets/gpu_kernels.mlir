// RUN: tilewright-translate %s --to=triton -p coalesce-axes,flatten-axes,schedule-gpu,apply-schedule | filecheck %s

// Helpers stand in the module once, and only those that are called.
// CHECK: import triton
// CHECK-NEXT: import triton.language as tl
// CHECK-NEXT: from triton.language.extra import libdevice
// CHECK: def _maximum(a, b):
// CHECK-NEXT: return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
// CHECK-NOT: def _minimum

// CHECK: def _shared(x):
// CHECK-NEXT: # All of x.
// CHECK: return tl.where((tl.arange(0, x.shape[0]) >= 0)[:, None], x, 0.0)

// Extremes of floats in memory: bits are compared as integers, where the value is better or no number.
// CHECK: def _atomic_max_32(pointer, value, mask):
// CHECK: mask = mask & ((value > old) | (value != value))
// CHECK-NEXT: bits = tl.where(value != value, 2147483647, value.to(tl.int32, bitcast=True))
// CHECK: tl.atomic_max(signed, bits, mask=mask & (bits >= 0), sem="relaxed")
// CHECK-NEXT: tl.atomic_min(unsigned, bits.to(tl.uint32, bitcast=True), mask=mask & (bits < 0), sem="relaxed")
// CHECK-NOT: def _atomic_max_64
// CHECK: def _atomic_min_64(pointer, value, mask):
// CHECK: mask = mask & ((value < old) | (value != value))

// No mask where blocks divide the extent; half types compute in f32; the user's line is a comment.
// CHECK: @triton.jit
// CHECK-NEXT: def gelu(a0, a1):
// CHECK-NEXT: # [1048576] model.py:7
// CHECK-NEXT: d0 = tl.program_id(0) * 1024
// CHECK-NEXT: x0 = d0 + tl.arange(0, 1024)
// CHECK-NEXT: # model.py:8
// CHECK-NEXT: v2 = tl.load(a0 + x0).to(tl.float32)
// CHECK-NEXT: tl.store(a1 + x0, (libdevice.erf(v2) * 0.5).to(tl.bfloat16))
tk.func @gelu [1024, 1024] (%x: memref<1048576xbf16>, %o: memref<1048576xbf16>) {
  %half = arith.constant 5.000000e-01 : f32
  %0 = tk.load %x[d0*1024 + d1] : memref<1048576xbf16> -> bf16 loc("model.py":8:0)
  %1 = arith.extf %0 : bf16 to f32 loc("model.py":8:0)
  %2 = math.erf %1 : f32 loc("model.py":8:0)
  %3 = arith.mulf %2, %half : f32 loc("model.py":8:0)
  %4 = arith.truncf %3 : f32 to bf16 loc("model.py":8:0)
  tk.store %4, %o[d0*1024 + d1] : bf16, memref<1048576xbf16> loc("model.py":8:0)
} loc("model.py":7:0)

// A held row, masked; rows of one program beside it.
// CHECK: def softmax(a0, a1):
// CHECK: d0 = tl.program_id(0) * 2
// CHECK-NEXT: x0 = d0 + tl.arange(0, 2)[:, None]
// CHECK-NEXT: x1 = tl.arange(0, 1024)[None, :]
// CHECK-NEXT: m1 = x1 < 1000
// CHECK-NEXT: v2 = tl.load(a0 + (x0 * 1000 + x1), mask=m1, other=0.0)
// CHECK-NEXT: v3 = tl.reduce(tl.where(m1, v2, float("-inf")), 1, _maximum, keep_dims=True)
// CHECK-NEXT: v4 = libdevice.exp(v2 - v3)
// CHECK-NEXT: v5 = v4 / tl.sum(tl.where(m1, v4, 0.0), 1, keep_dims=True)
// CHECK-NEXT: tl.store(a1 + (x0 * 1000 + x1), v5, mask=m1)
tk.func @softmax [4096, 1000] (%x: memref<4096000xf32>, %o: memref<4096000xf32>) {
  %0 = tk.load %x[d0*1000 + d1] : memref<4096000xf32> -> f32
  %1 = tk.reduce max %0 over [1] : f32
  %2 = arith.subf %0, %1 : f32
  %3 = math.exp %2 : f32
  %4 = tk.reduce add %3 over [1] : f32
  %5 = arith.divf %3, %4 : f32
  tk.store %5, %o[d0*1000 + d1] : f32, memref<4096000xf32>
}

// A symbolic row: offsets have 64 bits, the carried tile has a type from the start.
// CHECK: def row_sum(a0, a1, s0):
// CHECK: d0 = tl.program_id(0).to(tl.int64)
// CHECK-NEXT: acc{{[0-9]+}} = tl.full([8192], 0.0, tl.float32)
// CHECK-NEXT: for d1 in range(0, s0, 8192):
// CHECK-NEXT: x1 = d1 + tl.arange(0, 8192).to(tl.int64)
// CHECK-NEXT: m1 = x1 < s0
// CHECK: tl.store(a1 + d0, tl.sum(acc{{[0-9]+}}, 0))
tk.func @row_sum [64, s0] (%x: memref<?xf32>, %o: memref<64xf32>) symbols [s0] {
  %0 = tk.load %x[d0*s0 + d1] : memref<?xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<64xf32>
}

// Groups of row blocks, so that columns stay in the cache.
// CHECK: def product(a0, a1, a2):
// CHECK: p = tl.program_id(0)
// CHECK-NEXT: first = p // (8 * 16) * 8
// CHECK-NEXT: high = tl.minimum(16 - first, 8)
// CHECK-NEXT: b0 = first + p % (8 * 16) % high
// CHECK-NEXT: b1 = p % (8 * 16) // high
// CHECK-NEXT: d0 = b0 * 128
// CHECK-NEXT: d1 = b1 * 128
// CHECK: for d2 in range(0, 1000, 64):
// CHECK: tl.load(a0 + (x0 * 1000 + x2_12), mask=m2_12, other=0.0)
// CHECK: tl.load(a1 + (x1 + x2 * 2048), mask=m2, other=0.0)
// CHECK-NEXT: [[ACC:acc[0-9]+]] = tl.dot(v{{[0-9]+}}, v{{[0-9]+}}, [[ACC]])
tk.func @product [2048, 2048, 1000] (%a: memref<2048000xf16>, %b: memref<2048000xf16>, %o: memref<4194304xf32>) {
  %0 = tk.load %a[d0*1000 + d2] : memref<2048000xf16> -> f16
  %1 = arith.extf %0 : f16 to f32
  %2 = tk.load %b[d2*2048 + d1] : memref<2048000xf16> -> f16
  %3 = arith.extf %2 : f16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  tk.store %5, %o[d0*2048 + d1] : f32, memref<4194304xf32>
}

// What a tile reduces of its rows is stored by the program of the part.
// CHECK: def sums_of_tiles(a0, a1, a2, a3):
// CHECK: p = tl.program_id(0)
// CHECK-NEXT: first = p // (8 * 4) * 8
// CHECK: x1 = tl.arange(0, 64)[:, None]
// CHECK: tl.store(a3 + (d0 * 128 + x2), tl.sum({{acc[0-9]+}}, 0, keep_dims=True))
tk.func @sums_of_tiles [128, 8, 64, 32] (%a: memref<16384xf16>, %b: memref<4096xf16>, %o: memref<65536xf16>, %s: memref<1024xf32>) {
  %0 = tk.load %a[d1*2048 + d2*32 + d3] : memref<16384xf16> -> f16
  %1 = arith.extf %0 : f16 to f32
  %2 = tk.load %b[d3*128 + d0] : memref<4096xf16> -> f16
  %3 = arith.extf %2 : f16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [3] {tk.factors = f16} : f32
  %6 = arith.truncf %5 : f32 to f16
  tk.store %6, %o[d1*8192 + d2*128 + d0] : f16, memref<65536xf16>
  %7 = tk.reduce add %5 over [2] {tk.of_tile} : f32
  tk.store %7, %s[d1*128 + d0] : f32, memref<1024xf32>
}

// A factor that costs much is made by all threads together.
// CHECK: def shared(a0, a1, a2):
// CHECK: [[LEFT:v[0-9]+]] = _shared(libdevice.exp(v{{[0-9]+}}).to(tl.float16))
// CHECK: tl.dot([[LEFT]], v{{[0-9]+}}, acc{{[0-9]+}})
tk.func @shared [64, 32, 128] (%a: memref<8192xf16>, %b: memref<4096xf16>, %o: memref<2048xf32>) {
  %0 = tk.load %a[d0*128 + d2] : memref<8192xf16> -> f16
  %1 = arith.extf %0 : f16 to f32
  %2 = math.exp %1 : f32
  %3 = arith.truncf %2 : f32 to f16
  %4 = arith.extf %3 : f16 to f32
  %5 = tk.load %b[d2*32 + d1] : memref<4096xf16> -> f16
  %6 = arith.extf %5 : f16 to f32
  %7 = arith.mulf %4, %6 : f32
  %8 = tk.reduce add %7 over [2] : f32
  tk.store %8, %o[d0*32 + d1] : f32, memref<2048xf32>
}

// i8 are summed in i32; 8-bit floats stand as i8 in memory, and a step's sums are added in f32.
// CHECK: def integers(a0, a1, a2):
// CHECK: [[ACC:acc[0-9]+]] = tl.full([64, 128], 0, tl.int32)
// CHECK: [[A:v[0-9]+]] = tl.load(a0 + {{.*}}, other=0)
// CHECK-NEXT: [[B:v[0-9]+]] = tl.load(a1 + {{.*}}, other=0)
// CHECK-NEXT: tl.dot([[A]], [[B]], [[ACC]], out_dtype=tl.int32)
tk.func @integers [1024, 1024, 1000] (%a: memref<1024000xi8>, %b: memref<1024000xi8>, %o: memref<1048576xi32>) {
  %0 = tk.load %a[d0*1000 + d2] : memref<1024000xi8> -> i8
  %1 = arith.extsi %0 : i8 to i32
  %2 = tk.load %b[d2*1024 + d1] : memref<1024000xi8> -> i8
  %3 = arith.extsi %2 : i8 to i32
  %4 = arith.muli %1, %3 : i32
  %5 = tk.reduce add %4 over [2] {tk.factors = i8} : i32
  tk.store %5, %o[d0*1024 + d1] : i32, memref<1048576xi32>
}

// CHECK: def floats_of_8_bits(a0, a1, a2):
// CHECK: [[X:v[0-9]+]] = tl.load(a0 + {{.*}}).to(tl.float8e4nv, bitcast=True)
// CHECK: [[Y:v[0-9]+]] = tl.load(a1 + {{.*}}).to(tl.float8e5, bitcast=True)
// CHECK-NEXT: tl.dot([[X]], [[Y]], acc{{[0-9]+}}, max_num_imprecise_acc=128)
tk.func @floats_of_8_bits [1024, 1024, 1000] (%a: memref<1024000xi8>, %b: memref<1024000xi8>, %o: memref<1048576xf32>) {
  %0 = tk.load %a[d0*1000 + d2] : memref<1024000xi8> -> i8
  %1 = arith.bitcast %0 : i8 to f8E4M3FN
  %2 = arith.extf %1 : f8E4M3FN to f32
  %3 = tk.load %b[d2*1024 + d1] : memref<1024000xi8> -> i8
  %4 = arith.bitcast %3 : i8 to f8E5M2
  %5 = arith.extf %4 : f8E5M2 to f32
  %6 = arith.mulf %2, %5 : f32
  %7 = tk.reduce add %6 over [2] {tk.factors = f16} : f32
  tk.store %7, %o[d0*1024 + d1] : f32, memref<1048576xf32>
}

// Gather indices are narrowed to the width of offsets; a check writes its number, of active lanes only.
// CHECK: def gather(a0, a1, a2, failure):
// CHECK: v3 = tl.load(a0 + x0, mask=m0, other=0)
// CHECK-NEXT: v4 = v3.to(tl.uint64, bitcast=True) < 50
// CHECK-NEXT: v5 = tl.load(a1 + tl.where(v4, v3, 0).to(tl.int32), mask=m0, other=0.0)
// CHECK-NEXT: v6 = tl.where(m0, v4, True)
// CHECK-NEXT: tl.store(failure + tl.zeros([128], tl.int32), 1, mask=v6 == 0)
// CHECK-NEXT: tl.store(a2 + x0, v5, mask=m0)
tk.func @gather [1000] (%i: memref<1000xi64>, %x: memref<50xf32>, %o: memref<1000xf32>) {
  %zero = arith.constant 0 : i64
  %limit = arith.constant 50 : i64
  %0 = tk.load %i[d0] : memref<1000xi64> -> i64
  %1 = arith.cmpi ult, %0, %limit : i64
  tk.assert %1 "index out of range" : i1
  %2 = arith.select %1, %0, %zero : i64
  %3 = arith.index_cast %2 : i64 to index
  %4 = tk.load %x[i0](%3) : memref<50xf32> -> f32
  tk.store %4, %o[d0] : f32, memref<1000xf32>
}

// Extremes of floats are functions, of integers one operation.
// CHECK: def extremes(a0, a1, a2, a3, a4, a5):
// CHECK: _atomic_max_32(a3 + v{{.*}}.to(tl.int32), v{{.*}}, m0)
// CHECK: _atomic_min_64(a4 + v{{.*}}.to(tl.int32), v{{.*}}, m0)
// CHECK: tl.atomic_max(a5 + v{{.*}}.to(tl.int32), v{{.*}}, mask=m0, sem="relaxed")
tk.func @extremes [1000] (%i: memref<1000xi64>, %x: memref<1000xf32>, %y: memref<1000xf64>, %a: memref<50xf32>, %b: memref<50xf64>, %c: memref<50xi64>) {
  %0 = tk.load %i[d0] : memref<1000xi64> -> i64
  %1 = arith.index_cast %0 : i64 to index
  %2 = tk.load %x[d0] : memref<1000xf32> -> f32
  tk.store %2, %a[i0](%1) combine max : f32, memref<50xf32>
  %3 = tk.load %y[d0] : memref<1000xf64> -> f64
  tk.store %3, %b[i0](%1) combine min : f64, memref<50xf64>
  tk.store %0, %c[i0](%1) combine max : i64, memref<50xi64>
}

// Words of Python are no names of functions.
// CHECK: def k_lambda(a0):
// CHECK-NEXT: # []
// CHECK-NEXT: tl.store(a0, tl.full([], 1.0, tl.float32))
tk.func @lambda [] (%o: memref<1xf32>) {
  %0 = arith.constant 1.0 : f32
  tk.store %0, %o[0] : f32, memref<1xf32>
}

// -----

// Positions in a padded window have 32 bits, although they begin below 0; differences that 32 bits do not hold have 64.

// CHECK-LABEL: def positions(
// CHECK: v1 = (x0 * 2 - 1).to(tl.int64)
// CHECK: v2 = x0.to(tl.int64) * 3000000000 - 1
tk.func @positions [1000] (%o: memref<2000xi64>) scheduled attributes {tk.index = 32 : i64} {
  tk.for 0 = "0" to "1000" step 128 masked parallel {
    %0 = tk.index "d0*2 - 1" lanes 0 : vector<128xi64>
    %1 = tk.index "d0*3000000000 - 1" lanes 0 : vector<128xi64>
    tk.store %0, %o[d0] lanes 0 : vector<128xi64>, memref<2000xi64>
    tk.store %1, %o[d0 + 1000] lanes 0 : vector<128xi64>, memref<2000xi64>
  }
}

// -----

// Nobody knows how large symbols are: only what they are added to has 32 bits.

// CHECK-LABEL: def counters(
// CHECK: tl.store(a0 + x0, (x0 + 5).to(tl.int64) + s0.to(tl.int64) * 16, mask=m0)
tk.func @counters [1000] (%o: memref<1000xi64>) symbols [s0] scheduled attributes {tk.index = 32 : i64} {
  tk.for 0 = "0" to "1000" step 128 masked parallel {
    %0 = tk.index "d0 + s0*16 + 5" lanes 0 : vector<128xi64>
    tk.store %0, %o[d0] lanes 0 : vector<128xi64>, memref<1000xi64>
  }
}

// -----

// Each number is a word of a block, or four neighbours in a row or a column are.

// CHECK-LABEL: def draws(
// CHECK: tl.store(a1 + x1, _random_row(v2, v{{[0-9]+}}))
// CHECK: tl.store(a1 + (x1 + 16), _random(v2, v{{[0-9]+}}))
// CHECK: v{{[0-9]+}} = _random_along(v2, (x0 * 16 + x1_12).to(tl.int64))
// CHECK: tl.store({{.*}}, _random_down(v2, (x0 + x1_12 * 16).to(tl.int64)))
tk.func @draws [16, 16] (%s: memref<1xi64>, %o: memref<1024xf32>) scheduled attributes {tk.index = 32 : i64} {
  tk.for 0 = "0" to "16" step 16 parallel {
    tk.for 1 = "0" to "16" step 16 {
      %seed = tk.load %s[0] : memref<1xi64> -> i64
      %0 = tk.index "d1" lanes 1 : vector<16xi64>
      %1 = tk.random %seed, %0 {tk.quads = 0 : i64} : vector<16xf32>
      tk.store %1, %o[d1] lanes 1 : vector<16xf32>, memref<1024xf32>
      %2 = tk.random %seed, %0 : vector<16xf32>
      tk.store %2, %o[d1 + 16] lanes 1 : vector<16xf32>, memref<1024xf32>
      %3 = tk.index "d0*16 + d1" lanes 0, 1 : vector<16x16xi64>
      %4 = tk.random %seed, %3 {tk.quads = 1 : i64} : vector<16x16xf32>
      tk.store %4, %o[d0*16 + d1 + 256] lanes 0, 1 : vector<16x16xf32>, memref<1024xf32>
      %5 = tk.index "d0 + d1*16" lanes 0, 1 : vector<16x16xi64>
      %6 = tk.random %seed, %5 {tk.quads = 0 : i64} : vector<16x16xf32>
      tk.store %6, %o[d0*16 + d1 + 512] lanes 0, 1 : vector<16x16xf32>, memref<1024xf32>
    }
  }
}

// Whether a number is one is asked once; a call in a call has no parentheses of its own, and of int32 are positions anyway.
// CHECK: def numbers(a0, a1):
// CHECK: v2 = tl.load(a0 + ((x0 // 4) % 8), mask=m0, other=0.0)
// CHECK-NEXT: tl.store(a1 + x0, (v2 != v2) & (x0 < 64), mask=m0)
tk.func @numbers [100] (%a: memref<8xf32>, %o: memref<100xi1>) {
  %n = arith.constant 64 : i32
  %0 = tk.load %a[(d0 floordiv 4) mod 8] : memref<8xf32> -> f32
  %1 = arith.cmpf uno, %0, %0 : f32
  %2 = tk.index "d0" : i32
  %3 = arith.cmpi slt, %2, %n : i32
  %4 = arith.andi %1, %3 : i1
  tk.store %4, %o[d0] : i1, memref<100xi1>
}
