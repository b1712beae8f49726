// RUN: tilewright-translate %s --to cpp | filecheck %s

// Vector types are declared once, for all functions.
// CHECK:      #include "prelude_math.h"
// CHECK-NOT:  prelude_host.h
// CHECK:      typedef tw::vec<f32, 16> f32x16;

// A parallel loop, a whole vector in it and a tail of five lanes.
// CHECK-LABEL: static void exponential(f32* a0, f32* a1) {
// CHECK-NEXT:    #pragma omp parallel for schedule(static)
// CHECK-NEXT:    for (i64 d0 = 0; d0 < 64; d0 += 16) {
// CHECK-NEXT:      // m.py:3
// CHECK-NEXT:      const f32x16 v2 = tw::load<16>(a0 + d0);
// CHECK-NEXT:      // m.py:4
// CHECK-NEXT:      const f32x16 v3 = tw::exp(v2);
// CHECK-NEXT:      tw::store(a1 + d0, v3);
// CHECK-NEXT:    }
// CHECK-NEXT:    {
// CHECK-NEXT:      {{.*}} const i64 d0 = 64;
// CHECK-NEXT:      const f32x16 v4 = tw::load_first<16>(a0 + d0, 5);
// CHECK-NEXT:      const i32x16 v5 = tw::first_lanes<i32x16>(5);
// CHECK-NEXT:      const f32x16 v6 = tw::select(v5, v4, v4);
// CHECK-NEXT:      tw::store_first(a1 + d0, v6, 5);
tk.func @exponential [69] (%a: memref<69xf32>, %o: memref<69xf32>) scheduled {
  tk.for 0 = "0" to "64" step 16 parallel {
    %0 = tk.load %a[d0] lanes 0 : memref<69xf32> -> vector<16xf32> loc("m.py":3:0)
    %1 = math.exp %0 : vector<16xf32> loc("m.py":4:0)
    tk.store %1, %o[d0] lanes 0 : vector<16xf32>, memref<69xf32> loc("m.py":4:0)
  }
  tk.tail 0 = "64" count "5" {
    %0 = tk.load %a[d0] lanes 0 : memref<69xf32> -> vector<16xf32>
    %m = tk.active : vector<16xi1>
    %1 = arith.select %m, %0, %0 : vector<16xi1>, vector<16xf32>
    tk.store %1, %o[d0] lanes 0 : vector<16xf32>, memref<69xf32>
  }
}

// Symbols are arguments; a carried value has one name before, in and after the loops.
// CHECK-LABEL: static void total(f32* a0, f32* a1, i64 s0) {
// CHECK:         const f32x8 c2 = tw::splat<f32x8>(0.0f);
// CHECK-NEXT:    f32x8 acc3 = c2;
// CHECK-NEXT:    #pragma GCC unroll 4
// CHECK-NEXT:    for (i64 d0 = 0; d0 < s0 - (s0 % 8); d0 += 8) {
// CHECK:           acc3 = v5;
// CHECK:         f32x8 acc6 = acc3;
// CHECK-NEXT:    if (const i64 n0_7 = (s0 % 8); n0_7 > 0) {
// CHECK-NEXT:      {{.*}} const i64 d0 = s0 - (s0 % 8);
// CHECK-NEXT:      const f32x8 v8 = tw::load_first<8>(a0 + d0, n0_7);
// CHECK:         const f32 v10 = tw::across_add(acc6);
// CHECK-NEXT:    a1[0] = v10;
tk.func @total [s0] (%a: memref<?xf32>, %o: memref<1xf32>) symbols [s0] scheduled {
  %z = arith.constant dense<0.0> : vector<8xf32>
  %s = tk.for 0 = "0" to "s0 - (s0 mod 8)" step 8 unroll 4 iter(%acc = %z : vector<8xf32>) {
    %0 = tk.load %a[d0] lanes 0 : memref<?xf32> -> vector<8xf32>
    %1 = arith.addf %acc, %0 : vector<8xf32>
    tk.yield %1 : vector<8xf32>
  }
  %t = tk.tail 0 = "s0 - (s0 mod 8)" count "s0 mod 8" iter(%acc = %s : vector<8xf32>) {
    %0 = tk.load %a[d0] lanes 0 : memref<?xf32> -> vector<8xf32>
    %1 = arith.addf %acc, %0 : vector<8xf32>
    tk.yield %1 : vector<8xf32>
  }
  %r = vector.reduction <add>, %t : vector<8xf32> into f32
  tk.store %r, %o[0] : f32, memref<1xf32>
}

// Gathers: positions that were narrow stay so; a scalar, lanes and vectors together; masked; no linear subscript.
// CHECK-LABEL: static void gathers(f32* a0, i32* a1, bool* a2, f32* a3, i64 s0) {
// CHECK:         const i64x4 [[J:v[0-9]+]] = tw::convert<i64x4>([[I:v[0-9]+]]);
// CHECK-NEXT:    const f32x4 v{{[0-9]+}} = tw::gather_at<4>(a0, d0 * 5, [[I]] + tw::iota<tw::vec<i32, 4>>(0, (i32)(5)), 4, tw::every_lane{});
// CHECK-NEXT:    const i32x4 [[M:v[0-9]+]] = tw::load<4>(a2 + d0);
// CHECK-NEXT:    const f32x4 v{{[0-9]+}} = tw::select([[M]], tw::gather_at<4>(a0, 1, [[I]], 4, [[M]]), v{{[0-9]+}});
// CHECK-NEXT:    const f32x4 v{{[0-9]+}} = tw::gather<4>(a0, 4, [&](int l) { return tw::max_of<i64>(3, [[J]][l]); }, tw::every_lane{});
// CHECK-NEXT:    const f32x4 v{{[0-9]+}} = tw::gather_at<4>(a3, s0, [[J]] * (i64)(s0), 4, tw::every_lane{});
tk.func @gathers [8] (%a: memref<64xf32>, %i: memref<8xi32>, %m: memref<8xi1>, %b: memref<?xf32>) symbols [s0] scheduled {
  tk.for 0 = "0" to "8" step 4 {
    %0 = tk.load %i[d0] lanes 0 : memref<8xi32> -> vector<4xi32>
    %1 = arith.index_cast %0 : vector<4xi32> to vector<4xindex>
    %2 = tk.load %a[d0*5 + i0](%1) lanes 0 : memref<64xf32> -> vector<4xf32>
    %3 = tk.load %m[d0] lanes 0 : memref<8xi1> -> vector<4xi1>
    %4 = tk.load %a[i0 + 1](%1) if %3 else %2 lanes 0 : memref<64xf32> -> vector<4xf32>
    %5 = tk.load %a[max(i0, 3)](%1) lanes 0 : memref<64xf32> -> vector<4xf32>
    %6 = tk.load %b[i0*s0 + s0](%1) lanes 0 : memref<?xf32> -> vector<4xf32>
  }
}

// Accesses: one element for all lanes, strided, gathered, masked, added.
// CHECK-LABEL: static void accesses(
// CHECK:         const f32x4 v4 = tw::splat_memory<4>(a0[d0 * 4]);
// CHECK-NEXT:    const f32x4 v5 = tw::load_strided<4, 2>(a0 + d1 * 2, 4);
// CHECK-NEXT:    const i64x4 v6 = tw::load<4>(a1 + d1);
// CHECK-NEXT:    const i64x4 v7 = tw::convert<i64x4>(v6);
// CHECK-NEXT:    const f32x4 v8 = tw::gather_at<4>(a0, 1, tw::convert<tw::vec<i32, 4>>(v7) * (i32)(2), 4, tw::every_lane{});
// CHECK-NEXT:    const i32x4 v9 = tw::load<4>(a2 + d1);
// CHECK-NEXT:    const f32x4 v10 = tw::select(v9, tw::load_masked<4>(a0 + d1, v9, 4), v4);
// CHECK-NEXT:    tw::scatter_combine<tw::Add, true, 4>(a3, v10, 4, [&](int l) { return v7[l]; }, [&](int l) { return v9[l] != 0; });
// CHECK-NEXT:    const i64x4 v11 = tw::iota<i64x4>(d1 * 3 + 1, 3);
tk.func @accesses [4, 8] (%a: memref<64xf32>, %i: memref<8xi64>, %m: memref<8xi1>, %o: memref<64xf32>) scheduled {
  tk.for 0 = "0" to "4" step 1 parallel if "0" {
    tk.for 1 = "0" to "8" step 4 {
      %0 = tk.load %a[d0*4] lanes 1 : memref<64xf32> -> vector<4xf32>
      %1 = tk.load %a[d1*2] lanes 1 : memref<64xf32> -> vector<4xf32>
      %2 = tk.load %i[d1] lanes 1 : memref<8xi64> -> vector<4xi64>
      %3 = arith.index_cast %2 : vector<4xi64> to vector<4xindex>
      %4 = tk.load %a[i0*2 + 1](%3) lanes 1 : memref<64xf32> -> vector<4xf32>
      %5 = tk.load %m[d1] lanes 1 : memref<8xi1> -> vector<4xi1>
      %6 = tk.load %a[d1] if %5 else %0 lanes 1 : memref<64xf32> -> vector<4xf32>
      tk.store %6, %o[i0](%3) if %5 combine add lanes 1 : vector<4xf32>, memref<64xf32>
      %7 = tk.index "d1*3 + 1" lanes 1 : vector<4xi64>
    }
  }
}

// Neighbours are added as whole vectors, unless other threads may add there; one mask for all lanes is a branch.
// CHECK-LABEL: static void adds(
// CHECK:         if (v4) tw::combine_whole<tw::Add>(a1 + d1 + v3 * 20, v5);
// CHECK-NEXT:    if (v4) tw::store(a1 + d1, v5);
// CHECK-NEXT:    tw::scatter_combine<tw::Add, true, 4>(a1, v5, 4, [&](int l) { return (d1 + l) + v3 * 20; }, tw::every_lane{});
// CHECK:         tw::combine_first<tw::Add>(a1 + d1 + v3 * 20, v6, 2);
// CHECK:         tw::combine_to<tw::Add, false>(&a1[0], v7);
// CHECK-NEXT:    tw::combine_to<tw::Add, true>(&a1[0], v7);
tk.func @adds [4, 20] (%a: memref<64xbf16>, %o: memref<64xbf16>, %m: memref<4xi1>) scheduled {
  tk.for 0 = "0" to "4" step 1 parallel {
    %i = tk.index "d0" : index
    %b = tk.load %m[d0] : memref<4xi1> -> i1
    tk.for 1 = "0" to "16" step 4 {
      %0 = tk.load %a[d1] lanes 1 : memref<64xbf16> -> vector<4xbf16>
      tk.store %0, %o[i0*20 + d1](%i) if %b combine add lanes 1 {tk.alone} : vector<4xbf16>, memref<64xbf16>
      tk.store %0, %o[d1] if %b lanes 1 : vector<4xbf16>, memref<64xbf16>
      tk.store %0, %o[i0*20 + d1](%i) combine add lanes 1 : vector<4xbf16>, memref<64xbf16>
    }
    tk.tail 1 = "16" count "2" {
      %1 = tk.load %a[d1] lanes 1 : memref<64xbf16> -> vector<4xbf16>
      tk.store %1, %o[i0*20 + d1](%i) combine add lanes 1 {tk.alone} : vector<4xbf16>, memref<64xbf16>
    }
    %2 = tk.load %a[0] : memref<64xbf16> -> bf16
    tk.store %2, %o[0] combine add {tk.alone} : bf16, memref<64xbf16>
    tk.store %2, %o[0] combine add : bf16, memref<64xbf16>
  }
}

// Scalars: numbers are spelled in place, i1 is bool in memory, bf16 is converted; scratch and checks.
// CHECK-LABEL: static void scalars(bf16* a0, bool* a1, i8* a2, tw::KernelError* error) {
// CHECK:         alignas(64) f32 m3[8];
// CHECK-NEXT:    tw::Scratch<f32> m4_memory(20000);
// CHECK:           const bf16 v5 = a0[d0];
// CHECK-NEXT:      const f32 v6 = tw::from_bf16(v5);
// CHECK-NEXT:      const f32 v7 = tw::opaque(v6) + 1.5f;
// CHECK-NEXT:      m3[d0] = v7;
// CHECK-NEXT:      const bool v8 = tw::mask(v7 > (-2.0f));
// CHECK-NEXT:      a1[d0] = v8;
// CHECK-NEXT:      // m.py:9
// CHECK-NEXT:      if (__builtin_expect(!v8, false)) error->raise(0);
// CHECK-NEXT:      const i8 v9 = tw::convert<i8>(v8);
// CHECK-NEXT:      a2[d0] = v9;
tk.func @scalars [8] (%a: memref<8xbf16>, %o: memref<8xi1>, %p: memref<8xui8>) scheduled {
  %c = arith.constant 1.5 : f32
  %d = arith.constant -2.0 : f32
  %s = tk.local "8" : memref<8xf32>
  %l = tk.local "20000" : memref<20000xf32>
  tk.for 0 = "0" to "8" step 1 {
    %0 = tk.load %a[d0] : memref<8xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = arith.addf %1, %c : f32
    tk.store %2, %s[d0] : f32, memref<8xf32>
    %3 = arith.cmpf ogt, %2, %d : f32
    tk.store %3, %o[d0] : i1, memref<8xi1>
    tk.assert %3 "index out of range" : i1 loc("m.py":9:0)
    %4 = arith.extui %3 : i1 to i8
    tk.store %4, %p[d0] : i8, memref<8xui8>
  }
}

// Dot products of pairs: neighbours by one load, groups apart from each other one by one.
// CHECK-LABEL: static void dots(bf16* a0, bf16* a1, f32* a2) {
// CHECK:           const u16x8 v{{[0-9]+}} = tw::load<8>(a0 + d0 * 2);
// CHECK-NEXT:      const u16x2 v{{[0-9]+}} = tw::load<2>(a1 + d0);
// CHECK-NEXT:      const f32x4 [[R:v[0-9]+]] = tw::dot({{.*}}, {{.*}}, {{.*}});
// CHECK-NEXT:      const bf16 [[S:v[0-9]+]] = a1[d0];
// CHECK-NEXT:      const u16x8 v{{[0-9]+}} = tw::gather<8>(a0, 8, [&](int l) { return (d0 + l / 2) * 4 + l % 2; }, tw::every_lane{});
// CHECK-NEXT:      const f32x4 v{{[0-9]+}} = tw::dot([[R]], {{.*}}, tw::vec<u16, 2>{[[S]].bits, [[S]].bits});
tk.func @dots [4] (%a: memref<16xbf16>, %b: memref<8xbf16>, %o: memref<4xf32>) scheduled {
  %c = arith.constant dense<0.0> : vector<4xf32>
  tk.for 0 = "0" to "4" step 4 {
    %0 = tk.load %a[d0*2] lanes 0 group 2 : memref<16xbf16> -> vector<8xbf16>
    %1 = tk.load %b[d0] group 2 : memref<8xbf16> -> vector<2xbf16>
    %2 = tk.dot %c, %0 by (%1) : vector<4xf32>, vector<8xbf16>, vector<2xbf16>
    %3 = tk.load %b[d0] : memref<8xbf16> -> bf16
    %4 = tk.load %a[d0*4] lanes 0 group 2 : memref<16xbf16> -> vector<8xbf16>
    %5 = tk.dot %2, %4 by (%3, %3) : vector<4xf32>, vector<8xbf16>, bf16, bf16
    tk.store %5, %o[d0] lanes 0 : vector<4xf32>, memref<4xf32>
  }
}

// A rectangle of 16 by `d2` elements, from its corner.
// CHECK-LABEL: static void turned(bf16* a0, bf16* a1) {
// CHECK-NEXT:    for (i64 d2 = 0; d2 < 8; d2 += 1) {
// CHECK-NEXT:      // m.py:7
// CHECK-NEXT:      tw::turn(a0 + d2 + 32, 16, a1 + d2 * 36, 32, 16, d2);
tk.func @turned [8, 16, 8] (%a: memref<1024xbf16>, %o: memref<1024xbf16>) scheduled {
  tk.for 2 = "0" to "8" step 1 {
    tk.turn %a[d0 + d1*16] into %o[d0*32 + d1 + d2*4 - 2] over 0 = "d2" count "16", 1 = "2" count "d2" : memref<1024xbf16>, memref<1024xbf16> loc("m.py":7:0)
  }
}
