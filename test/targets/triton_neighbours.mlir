// RUN: tilewright-translate %s --to=triton | filecheck %s

// Places of elements, four for each lane and a mask that counts them; what is no group keeps its own.

// CHECK-LABEL: def boxes(a0, a1, s0):
// CHECK:      d0 = tl.program_id(0) * 128
// CHECK-NEXT: x0 = d0 + tl.arange(0, 128)
// CHECK-NEXT: m0 = x0 < s0
// CHECK-NEXT: x0_each4 = d0 * 4 + tl.arange(0, 512)
// CHECK-NEXT: m0_each4 = x0_each4 < s0 * 4
// CHECK-NEXT: v2 = tl.load(a0 + x0_each4, mask=m0_each4, other=0.0)
// CHECK-NEXT: v3, v4 = tl.split(tl.reshape(v2, [256, 2]))
// CHECK-NEXT: v5, v6 = tl.split(tl.reshape(v3, [128, 2]))
// CHECK-NEXT: v7, v8 = tl.split(tl.reshape(v4, [128, 2]))
// CHECK:      tl.store(a1 + x0, {{.*}}, mask=m0)
tk.func @boxes [s0] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0] scheduled attributes {tk.warps = 4 : i64, tk.stages = 1 : i64, tk.index = 32 : i64} {
  tk.for 0 = "0" to "s0" step 128 masked parallel {
    %0 = tk.load %x[d0*4] lanes 0 group 4 : memref<?xf32> -> vector<512xf32>
    %1, %2 = tk.deinterleave %0 : vector<512xf32> -> vector<256xf32>, vector<256xf32>
    %3, %4 = tk.deinterleave %1 : vector<256xf32> -> vector<128xf32>, vector<128xf32>
    %5, %6 = tk.deinterleave %2 : vector<256xf32> -> vector<128xf32>, vector<128xf32>
    %7 = arith.subf %4, %3 : vector<128xf32>
    %8 = arith.subf %6, %5 : vector<128xf32>
    %9 = arith.mulf %7, %8 : vector<128xf32>
    tk.store %9, %o[d0] lanes 0 : vector<128xf32>, memref<?xf32>
  }
}

// Rows with gaps between them: runs of 64 pairs are runs of 128 elements.

// CHECK-LABEL: def turned(a0, a1):
// CHECK:      x0_each2 = d0 * 2 + tl.arange(0, 1024)
// CHECK-NOT:  x0 =
// CHECK:      tl.load(a0 + ((x0_each2 // 128) * 256 + (x0_each2 % 128) + 4))
// CHECK-NEXT: v3, v4 = tl.split(tl.reshape(v2, [512, 2]))
// CHECK-NEXT: tl.store(a1 + x0_each2, tl.interleave(v4, v3))
tk.func @turned [4096] (%x: memref<16384xbf16>, %o: memref<8192xbf16>) scheduled attributes {tk.warps = 4 : i64, tk.stages = 1 : i64, tk.index = 32 : i64} {
  tk.for 0 = "0" to "4096" step 512 parallel {
    %0 = tk.load %x[(d0 floordiv 64)*256 + (d0 mod 64)*2 + 4] lanes 0 group 2 : memref<16384xbf16> -> vector<1024xbf16>
    %1, %2 = tk.deinterleave %0 : vector<1024xbf16> -> vector<512xbf16>, vector<512xbf16>
    %3 = tk.interleave %2, %1 : vector<512xbf16>, vector<512xbf16> -> vector<1024xbf16>
    tk.store %3, %o[d0*2] lanes 0 group 2 : vector<1024xbf16>, memref<8192xbf16>
  }
}
