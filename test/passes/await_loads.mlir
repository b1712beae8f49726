// RUN: tilewright-opt %s -p await-loads --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p await-loads --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p 'await-loads{lanes=64}' --split-input-file | filecheck %s --check-prefix=WIDE

// Two warps, of which one would do: what may be where %x is waits. Of warps of 64 lanes four would do for %large.
// CHECK-LABEL: @few
// CHECK:       tk.store %{{.*}}, %o[d0] lanes 0 {tk.awaits} : vector<32xf32>, memref<32xf32> loc("m.py":3:0)
// CHECK-NEXT:  tk.store %{{.*}}, %s[0] : f32, memref<1xf32>
tk.func @few [32] (%x: memref<32xf32>, %s: memref<1xf32>, %o: memref<32xf32>) scheduled attributes {tk.inplace = [array<i64: 0, 1>], tk.warps = 2 : i64} {
  tk.for 0 = "0" to "32" step 32 {
    %0 = tk.load %x[d0] lanes 0 : memref<32xf32> -> vector<32xf32>
    %1 = tk.collapse add %0 dims [0] : vector<32xf32> -> f32
    %2 = arith.negf %0 : vector<32xf32>
    tk.store %2, %o[d0] lanes 0 : vector<32xf32>, memref<32xf32> loc("m.py":3:0)
    tk.store %1, %s[0] : f32, memref<1xf32>
  }
}

// -----

// REMARK: tk.store{{.*}}each thread has elements of its own
// CHECK-LABEL: @large
// CHECK-NOT:   tk.awaits
// WIDE-LABEL:  @large
// WIDE:        tk.awaits
tk.func @large [64] (%x: memref<64xf32>, %s: memref<1xf32>, %o: memref<64xf32>) scheduled attributes {tk.inplace = [array<i64: 0, 1>], tk.warps = 2 : i64} {
  tk.for 0 = "0" to "64" step 64 {
    %0 = tk.load %x[d0] lanes 0 : memref<64xf32> -> vector<64xf32>
    %1 = tk.collapse add %0 dims [0] : vector<64xf32> -> f32
    %2 = arith.negf %0 : vector<64xf32>
    tk.store %2, %o[d0] lanes 0 : vector<64xf32>, memref<64xf32>
    tk.store %1, %s[0] : f32, memref<1xf32>
  }
}

// -----

// One warp, one store, nothing in place.
// REMARK: tk.func{{.*}}the threads of one warp load together
// REMARK: tk.func{{.*}}all that it loads leads to one store
// CHECK-LABEL: @one_warp
// CHECK-NOT:   tk.awaits
tk.func @one_warp [16] (%x: memref<16xf32>, %s: memref<1xf32>, %o: memref<16xf32>) scheduled attributes {tk.inplace = [array<i64: 0, 1>], tk.warps = 1 : i64} {
  tk.for 0 = "0" to "16" step 16 {
    %0 = tk.load %x[d0] lanes 0 : memref<16xf32> -> vector<16xf32>
    %1 = tk.collapse add %0 dims [0] : vector<16xf32> -> f32
    tk.store %0, %o[d0] lanes 0 : vector<16xf32>, memref<16xf32>
    tk.store %1, %s[0] : f32, memref<1xf32>
  }
}
tk.func @one_store [16] (%x: memref<16xf32>, %o: memref<16xf32>) scheduled attributes {tk.inplace = [array<i64: 0, 0>], tk.warps = 4 : i64} {
  tk.for 0 = "0" to "16" step 16 {
    %0 = tk.load %x[d0] lanes 0 : memref<16xf32> -> vector<16xf32>
    tk.store %0, %o[d0] lanes 0 : vector<16xf32>, memref<16xf32>
  }
}
tk.func @apart [16] (%x: memref<16xf32>, %o: memref<16xf32>, %p: memref<16xf32>) scheduled attributes {tk.warps = 4 : i64} {
  tk.for 0 = "0" to "16" step 16 {
    %0 = tk.load %x[d0] lanes 0 : memref<16xf32> -> vector<16xf32>
    tk.store %0, %o[d0] lanes 0 : vector<16xf32>, memref<16xf32>
    tk.store %0, %p[d0] lanes 0 : vector<16xf32>, memref<16xf32>
  }
}

// -----

// A part of a group has the group's warps.
// CHECK-LABEL: @small_part
// CHECK:       tk.store %{{.*}}, %o[d0] lanes 0 {tk.awaits}
// CHECK-NEXT:  tk.store %{{.*}}, %s[0] : f32, memref<1xf32>
tk.func @small_part [16] (%x: memref<16xf32>, %s: memref<1xf32>, %o: memref<16xf32>) scheduled attributes {tk.inplace = [array<i64: 0, 1>], tk.warps = 1 : i64} {
  tk.for 0 = "0" to "16" step 16 {
    %0 = tk.load %x[d0] lanes 0 : memref<16xf32> -> vector<16xf32>
    %1 = tk.collapse add %0 dims [0] : vector<16xf32> -> f32
    tk.store %0, %o[d0] lanes 0 : vector<16xf32>, memref<16xf32>
    tk.store %1, %s[0] : f32, memref<1xf32>
  }
}
tk.group @group (%x: memref<16xf32>, %s: memref<1xf32>, %o: memref<16xf32>, %y: memref<16xf32>, %t: memref<1xf32>, %p: memref<16xf32>) attributes {tk.warps = 4 : i64} {
  tk.part @small_part(%x, %s, %o)
  tk.part @small_part(%y, %t, %p)
}

// -----

// What is stored in another order, too, goes from warp to warp, and may be taken from one that loaded late.
// CHECK-LABEL: @turned
// CHECK:       tk.store %{{.*}}, %o[d0*5 + d1] lanes 0, 1 {tk.awaits} : vector<4x8xf32>, memref<15xf32>
// CHECK-NEXT:  tk.store %{{.*}}, %t[d0 + d1*3] lanes 0, 1 : vector<4x8xf32>, memref<15xf32>
tk.func @turned [3, 5] (%a: memref<15xf32>, %o: memref<15xf32>, %t: memref<15xf32>) scheduled attributes {tk.inplace = [array<i64: 0, 0>], tk.warps = 4 : i64} {
  tk.for 0 = "0" to "3" step 4 masked { tk.for 1 = "0" to "5" step 8 masked {
    %0 = tk.load %a[d0*5 + d1] lanes 0, 1 : memref<15xf32> -> vector<4x8xf32>
    tk.store %0, %o[d0*5 + d1] lanes 0, 1 : vector<4x8xf32>, memref<15xf32>
    tk.store %0, %t[d0 + d1*3] lanes 0, 1 : vector<4x8xf32>, memref<15xf32>
  } }
}
