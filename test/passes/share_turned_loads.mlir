// RUN: tilewright-opt %s -p 'share-turned-loads{units=group}' --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p share-turned-loads --split-input-file | filecheck %s --check-prefix=OFF

// Without matrix units that read shared memory either way round, nothing changes.
// OFF-NOT: tk.transpose

// Rows that a later product takes are loaded first; the earlier one has them turned.
// CHECK-LABEL: tk.func @gradients
// CHECK:       %[[ROWS:.*]] = tk.load %a[d0*128 + d2] lanes 0, 2 : memref<1024xbf16> -> vector<16x128xbf16> loc("m.py":2:1)
// CHECK-NEXT:  %[[TURNED:.*]] = tk.transpose %[[ROWS]] : vector<16x128xbf16> -> vector<128x16xbf16> loc("m.py":1:1)
// CHECK-NEXT:  tk.mma %{{.*}}, %{{.*}}, %[[TURNED]] precision "ieee"
// CHECK-NOT:   tk.load %a
// CHECK:       tk.mma %{{.*}}, %{{.*}}, %[[ROWS]] precision "ieee"
tk.func @gradients [16, 128, 128] (%a: memref<1024xbf16>, %b: memref<1024xbf16>, %o: memref<16384xf32>) scheduled attributes {tk.warps = 4 : i64, tk.stages = 1 : i64, tk.index = 32 : i64} {
  %s, %p, %r, %t = "test.op"() : () -> (vector<32x16xf32>, vector<32x128xbf16>, vector<32x128xf32>, vector<32x16xbf16>)
  tk.for 1 = "0" to "128" step 128 {
    tk.for 2 = "0" to "128" step 128 {
      tk.for 0 = "0" to "16" step 16 {
        %0 = tk.load %a[d0*128 + d1] lanes 1, 0 : memref<1024xbf16> -> vector<128x16xbf16> loc("m.py":1:1)
        %1 = tk.mma %s, %p, %0 precision "ieee" : vector<32x16xf32>, vector<32x128xbf16>, vector<128x16xbf16> -> vector<32x16xf32>
        %2 = tk.load %a[d0*128 + d2] lanes 0, 2 : memref<1024xbf16> -> vector<16x128xbf16> loc("m.py":2:1)
        %3 = tk.mma %r, %t, %2 precision "ieee" : vector<32x128xf32>, vector<32x16xbf16>, vector<16x128xbf16> -> vector<32x128xf32>
        "test.op"(%1, %3) : (vector<32x16xf32>, vector<32x128xf32>) -> ()
      }
    }
  }
}

// -----

// Another buffer.
// CHECK-LABEL: tk.func @other_buffer
// CHECK-NOT: tk.transpose
tk.func @other_buffer [16, 128, 128] (%a: memref<1024xbf16>, %b: memref<1024xbf16>, %o: memref<16384xf32>) scheduled attributes {tk.warps = 4 : i64, tk.stages = 1 : i64, tk.index = 32 : i64} {
  %s, %p, %r, %t = "test.op"() : () -> (vector<32x16xf32>, vector<32x128xbf16>, vector<32x128xf32>, vector<32x16xbf16>)
  tk.for 1 = "0" to "128" step 128 {
    tk.for 2 = "0" to "128" step 128 {
      tk.for 0 = "0" to "16" step 16 {
        %0 = tk.load %a[d0*128 + d1] lanes 1, 0 : memref<1024xbf16> -> vector<128x16xbf16> loc("m.py":1:1)
        %1 = tk.mma %s, %p, %0 precision "ieee" : vector<32x16xf32>, vector<32x128xbf16>, vector<128x16xbf16> -> vector<32x16xf32>
        %2 = tk.load %b[d0*128 + d2] lanes 0, 2 : memref<1024xbf16> -> vector<16x128xbf16> loc("m.py":2:1)
        %3 = tk.mma %r, %t, %2 precision "ieee" : vector<32x128xf32>, vector<32x16xbf16>, vector<16x128xbf16> -> vector<32x128xf32>
        "test.op"(%1, %3) : (vector<32x16xf32>, vector<32x128xf32>) -> ()
      }
    }
  }
}

// -----

// Other elements.
// CHECK-LABEL: tk.func @other_place
// CHECK-NOT: tk.transpose
tk.func @other_place [16, 128, 128] (%a: memref<1024xbf16>, %b: memref<1024xbf16>, %o: memref<16384xf32>) scheduled attributes {tk.warps = 4 : i64, tk.stages = 1 : i64, tk.index = 32 : i64} {
  %s, %p, %r, %t = "test.op"() : () -> (vector<32x16xf32>, vector<32x128xbf16>, vector<32x128xf32>, vector<32x16xbf16>)
  tk.for 1 = "0" to "128" step 128 {
    tk.for 2 = "0" to "128" step 128 {
      tk.for 0 = "0" to "16" step 16 {
        %0 = tk.load %a[d0*128 + d1] lanes 1, 0 : memref<1024xbf16> -> vector<128x16xbf16> loc("m.py":1:1)
        %1 = tk.mma %s, %p, %0 precision "ieee" : vector<32x16xf32>, vector<32x128xbf16>, vector<128x16xbf16> -> vector<32x16xf32>
        %2 = tk.load %a[d0*128 + d2 + 64] lanes 0, 2 : memref<1024xbf16> -> vector<16x128xbf16> loc("m.py":2:1)
        %3 = tk.mma %r, %t, %2 precision "ieee" : vector<32x128xf32>, vector<32x16xbf16>, vector<16x128xbf16> -> vector<32x128xf32>
        "test.op"(%1, %3) : (vector<32x16xf32>, vector<32x128xf32>) -> ()
      }
    }
  }
}

// -----

// What stays would have its rows apart in memory.
// CHECK-LABEL: tk.func @rows_apart
// CHECK-NOT: tk.transpose
tk.func @rows_apart [16, 128, 128] (%a: memref<1024xbf16>, %b: memref<1024xbf16>, %o: memref<16384xf32>) scheduled attributes {tk.warps = 4 : i64, tk.stages = 1 : i64, tk.index = 32 : i64} {
  %s, %p, %r, %t = "test.op"() : () -> (vector<32x16xf32>, vector<32x128xbf16>, vector<32x128xf32>, vector<32x16xbf16>)
  tk.for 1 = "0" to "128" step 128 {
    tk.for 2 = "0" to "128" step 128 {
      tk.for 0 = "0" to "16" step 16 {
        %0 = tk.load %a[d0 + d1*16] lanes 1, 0 : memref<1024xbf16> -> vector<128x16xbf16> loc("m.py":1:1)
        %1 = tk.mma %s, %p, %0 precision "ieee" : vector<32x16xf32>, vector<32x128xbf16>, vector<128x16xbf16> -> vector<32x16xf32>
        %2 = tk.load %a[d0 + d2*16] lanes 0, 2 : memref<1024xbf16> -> vector<16x128xbf16> loc("m.py":2:1)
        %3 = tk.mma %r, %t, %2 precision "ieee" : vector<32x128xf32>, vector<32x16xbf16>, vector<16x128xbf16> -> vector<32x128xf32>
        "test.op"(%1, %3) : (vector<32x16xf32>, vector<32x128xf32>) -> ()
      }
    }
  }
}

// -----

// One of them goes on along the axis.
// CHECK-LABEL: tk.func @two_blocks
// CHECK-NOT: tk.transpose
tk.func @two_blocks [16, 128, 128] (%a: memref<1024xbf16>, %b: memref<1024xbf16>, %o: memref<16384xf32>) scheduled attributes {tk.warps = 4 : i64, tk.stages = 1 : i64, tk.index = 32 : i64} {
  %s, %p, %r, %t = "test.op"() : () -> (vector<32x16xf32>, vector<32x128xbf16>, vector<32x128xf32>, vector<32x16xbf16>)
  tk.for 1 = "0" to "256" step 128 {
    tk.for 2 = "0" to "128" step 128 {
      tk.for 0 = "0" to "16" step 16 {
        %0 = tk.load %a[d0*128 + d1] lanes 1, 0 : memref<1024xbf16> -> vector<128x16xbf16> loc("m.py":1:1)
        %1 = tk.mma %s, %p, %0 precision "ieee" : vector<32x16xf32>, vector<32x128xbf16>, vector<128x16xbf16> -> vector<32x16xf32>
        %2 = tk.load %a[d0*128 + d2] lanes 0, 2 : memref<1024xbf16> -> vector<16x128xbf16> loc("m.py":2:1)
        %3 = tk.mma %r, %t, %2 precision "ieee" : vector<32x128xf32>, vector<32x16xbf16>, vector<16x128xbf16> -> vector<32x128xf32>
        "test.op"(%1, %3) : (vector<32x16xf32>, vector<32x128xf32>) -> ()
      }
    }
  }
}

// -----

// One of them hangs over.
// CHECK-LABEL: tk.func @hangs_over
// CHECK-NOT: tk.transpose
tk.func @hangs_over [16, 128, 128] (%a: memref<1024xbf16>, %b: memref<1024xbf16>, %o: memref<16384xf32>) scheduled attributes {tk.warps = 4 : i64, tk.stages = 1 : i64, tk.index = 32 : i64} {
  %s, %p, %r, %t = "test.op"() : () -> (vector<32x16xf32>, vector<32x128xbf16>, vector<32x128xf32>, vector<32x16xbf16>)
  tk.for 1 = "0" to "100" step 128 masked {
    tk.for 2 = "0" to "128" step 128 {
      tk.for 0 = "0" to "16" step 16 {
        %0 = tk.load %a[d0*128 + d1] lanes 1, 0 : memref<1024xbf16> -> vector<128x16xbf16> loc("m.py":1:1)
        %1 = tk.mma %s, %p, %0 precision "ieee" : vector<32x16xf32>, vector<32x128xbf16>, vector<128x16xbf16> -> vector<32x16xf32>
        %2 = tk.load %a[d0*128 + d2] lanes 0, 2 : memref<1024xbf16> -> vector<16x128xbf16> loc("m.py":2:1)
        %3 = tk.mma %r, %t, %2 precision "ieee" : vector<32x128xf32>, vector<32x16xbf16>, vector<16x128xbf16> -> vector<32x128xf32>
        "test.op"(%1, %3) : (vector<32x16xf32>, vector<32x128xf32>) -> ()
      }
    }
  }
}

// -----

// What is loaded is stored in between.
// CHECK-LABEL: tk.func @stored
// CHECK-NOT: tk.transpose
tk.func @stored [16, 128, 128] (%a: memref<1024xbf16>, %b: memref<1024xbf16>, %o: memref<16384xf32>) scheduled attributes {tk.warps = 4 : i64, tk.stages = 1 : i64, tk.index = 32 : i64} {
  %s, %p, %r, %t = "test.op"() : () -> (vector<32x16xf32>, vector<32x128xbf16>, vector<32x128xf32>, vector<32x16xbf16>)
  tk.for 1 = "0" to "128" step 128 {
    tk.for 2 = "0" to "128" step 128 {
      tk.for 0 = "0" to "16" step 16 {
        %0 = tk.load %a[d0*128 + d1] lanes 1, 0 : memref<1024xbf16> -> vector<128x16xbf16> loc("m.py":1:1)
        %1 = tk.mma %s, %p, %0 precision "ieee" : vector<32x16xf32>, vector<32x128xbf16>, vector<128x16xbf16> -> vector<32x16xf32>
        %2 = tk.load %a[d0*128 + d2] lanes 0, 2 : memref<1024xbf16> -> vector<16x128xbf16> loc("m.py":2:1)
        %3 = tk.mma %r, %t, %2 precision "ieee" : vector<32x128xf32>, vector<32x16xbf16>, vector<16x128xbf16> -> vector<32x128xf32>
        %z = "test.op"() : () -> vector<16x128xbf16>
        tk.store %z, %a[d0*128 + d2] lanes 0, 2 : vector<16x128xbf16>, memref<1024xbf16>
        "test.op"(%1, %3) : (vector<32x16xf32>, vector<32x128xf32>) -> ()
      }
    }
  }
}
