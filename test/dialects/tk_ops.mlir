// RUN: tilewright-opt %s | tilewright-opt | filecheck %s
// RUN: tilewright-opt %s --print-generic | tilewright-opt | filecheck %s
// RUN: tilewright-opt %s --print-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: func.func @kernels
// CHECK: %r, %q, %c, %p = tk.kernel [8, s0] ins(%x, %j : tensor<8x?xf32, #tw.shape<"8, s0">>, tensor<8xi64>)
// CHECK-NEXT: ^bb0(%a: tensor<8x?xf32
// CHECK: tk.load %a[d0, d1] : tensor<8x?xf32, #tw.shape<"8, s0">> -> f32
// CHECK: tk.load %a[i0, d1](%{{.*}}) if %{{.*}} else %{{.*}} : tensor<8x?xf32, #tw.shape<"8, s0">> -> f32
// CHECK: tk.reduce add %{{.*}} over [1] : f32
// CHECK: %{{.*}}, %{{.*}} = tk.argreduce max %{{.*}} at %{{.*}} over [1] : f32
// CHECK: %{{.*}}, %{{.*}}, %{{.*}} = tk.moments %{{.*}}, %{{.*}}, %{{.*}} over [1] : f32
// CHECK-NEXT: %{{.*}}, %{{.*}} = tk.sumexp %{{.*}}, %{{.*}} over [1] : f32
// CHECK: tk.scan add %{{.*}} along 1 : f32
// CHECK-NEXT: tk.scan linear %{{.*}} by %{{.*}} along 1 : f32
// CHECK: tk.random %{{.*}}, %{{.*}} : f32
// CHECK: tk.store %{{.*}}, %{{.*}}[d0, d1] after (%{{.*}}, %{{.*}}) : f32, tensor<8x?xf32, #tw.shape<"8, s0">>
// CHECK: tk.store %{{.*}}, %{{.*}}[d0, i0](%{{.*}}) over [0, 1] if %{{.*}} combine add : f32, tensor<8x?xf32, #tw.shape<"8, s0">>
// GENERIC: "tk.kernel"(%x, %j) <{sizes = #tk.map<"8, s0">}>
// GENERIC: "tk.load"(%a) <{map = #tk.map<"d0, d1">, operandSegmentSizes = array<i32: 1, 0, 0, 0>}>
// GENERIC: "tk.reduce"(%{{.*}}) <{kind = "add", axes = array<i64: 1>}> : (f32) -> f32
func.func @kernels(%x: tensor<8x?xf32, #tw.shape<"8, s0">>, %j: tensor<8xi64>, %s0: index) {
  %r, %q, %c, %p = tk.kernel [8, s0] ins(%x, %j : tensor<8x?xf32, #tw.shape<"8, s0">>, tensor<8xi64>)
      -> (tensor<8x?xf32, #tw.shape<"8, s0">>, tensor<8xf32>, tensor<8x?xf32, #tw.shape<"8, s0">>, tensor<8xi64>) {
  ^bb0(%a: tensor<8x?xf32, #tw.shape<"8, s0">>, %b: tensor<8xi64>, %o0: tensor<8x?xf32, #tw.shape<"8, s0">>,
       %o1: tensor<8xf32>, %o2: tensor<8x?xf32, #tw.shape<"8, s0">>, %o3: tensor<8xi64>):
    %0 = tk.load %a[d0, d1] : tensor<8x?xf32, #tw.shape<"8, s0">> -> f32
    %1 = tk.load %b[d0] : tensor<8xi64> -> i64
    %2 = arith.index_cast %1 : i64 to index
    %i = tk.index "s0 - d1" : i64
    %z = arith.constant 0.0 : f32
    %k = arith.constant 7 : i64
    %m = arith.cmpi slt, %i, %k : i64
    %3 = tk.load %a[i0, d1](%2) if %m else %z : tensor<8x?xf32, #tw.shape<"8, s0">> -> f32
    %4 = arith.addf %0, %3 : f32
    %s = tk.reduce add %4 over [1] : f32
    %mx, %ix = tk.argreduce max %4 at %i over [1] : f32
    %ms, %mq, %mn = tk.moments %4, %4, %4 over [1] : f32
    %em, %es = tk.sumexp %4, %4 over [1] : f32
    %sa = tk.scan add %4 along 1 : f32
    %sc = tk.scan linear %sa by %4 along 1 : f32
    %rr = tk.random %k, %i : f32
    tk.store %sc, %o0[d0, d1] after (%s, %ix) : f32, tensor<8x?xf32, #tw.shape<"8, s0">>
    tk.store %s, %o1[d0] : f32, tensor<8xf32>
    tk.store %rr, %o2[d0, i0](%2) over [0, 1] if %m combine add : f32, tensor<8x?xf32, #tw.shape<"8, s0">>
    tk.store %ix, %o3[d0] : i64, tensor<8xi64>
  }
  func.return
}

// CHECK-LABEL: tk.func @scheduled [8, s0] (%a: memref<?xf32>, %o: memref<8xf32>) symbols [s0] scheduled attributes {x = 1 : i64}
// CHECK: tk.for 0 = "0" to "8" step 1 parallel if "s0 - 100" {
// CHECK-NEXT: tk.local "s0" : memref<?xf32>
// CHECK-NEXT: %acc = tk.for 1 = "0" to "s0 - (s0 mod 4)" step 4 unroll 2 iter(%p = %zv : vector<4xf32>) {
// CHECK-NEXT: tk.load %a[d0*s0 + d1] lanes 1 : memref<?xf32> -> vector<4xf32>
// CHECK-NEXT: tk.index "d1" lanes 1 : vector<4xi64>
// CHECK-NEXT: arith.sitofp %{{.*}} : vector<4xi64> to vector<4xf32>
// CHECK-NEXT: arith.cmpf olt, %{{.*}}, %{{.*}} : vector<4xf32>
// CHECK-NEXT: arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<4xi1>, vector<4xf32>
// CHECK-NEXT: tk.store %{{.*}}, %{{.*}}[d1] lanes 1 : vector<4xf32>, memref<?xf32>
// CHECK: tk.yield %{{.*}} : vector<4xf32>
// CHECK: tk.tail 1 = "s0 - (s0 mod 4)" count "(s0 mod 4)" iter(%{{.*}} = %acc : vector<4xf32>) {
// CHECK: tk.active : vector<4xi1>
tk.func @scheduled [8, s0] (%a: memref<?xf32>, %o: memref<8xf32>) symbols [s0] scheduled attributes {x = 1 : i64} {
  %z = arith.constant 0.0 : f32
  %zv = vector.broadcast %z : f32 to vector<4xf32>
  tk.for 0 = "0" to "8" step 1 parallel if "s0 - 100" {
    %t = tk.local "s0" : memref<?xf32>
    %acc = tk.for 1 = "0" to "s0 - (s0 mod 4)" step 4 unroll 2 iter(%p = %zv : vector<4xf32>) {
      %0 = tk.load %a[d0*s0 + d1] lanes 1 : memref<?xf32> -> vector<4xf32>
      %i = tk.index "d1" lanes 1 : vector<4xi64>
      %f = arith.sitofp %i : vector<4xi64> to vector<4xf32>
      %c = arith.cmpf olt, %f, %0 : vector<4xf32>
      %q = arith.select %c, %f, %0 : vector<4xi1>, vector<4xf32>
      tk.store %q, %t[d1] lanes 1 : vector<4xf32>, memref<?xf32>
      %1 = arith.addf %0, %p : vector<4xf32>
      tk.yield %1 : vector<4xf32>
    }
    %all = tk.tail 1 = "s0 - (s0 mod 4)" count "(s0 mod 4)" iter(%p = %acc : vector<4xf32>) {
      %0 = tk.load %a[d0*s0 + d1] lanes 1 : memref<?xf32> -> vector<4xf32>
      %m = tk.active : vector<4xi1>
      %1 = arith.select %m, %0, %p : vector<4xi1>, vector<4xf32>
      tk.yield %1 : vector<4xf32>
    }
    %sum = vector.reduction <add>, %all : vector<4xf32> into f32
    tk.store %sum, %o[d0] : f32, memref<8xf32>
  }
}

// CHECK-LABEL: tk.func @turned
// CHECK: tk.turn %a[d2*s0 + d0*8 + d1] into %{{.*}}[d1*4 + d2] over 1 = "0" count "8", 2 = "4" count "min(-d0 + s0, 4)" : memref<?xbf16>, memref<64xbf16>
tk.func @turned [8, s0] (%a: memref<?xbf16>) symbols [s0] scheduled {
  tk.for 0 = "0" to "8" step 1 {
    %t = tk.local "64" : memref<64xbf16>
    tk.turn %a[d0*8 + d2*s0 + d1] into %t[d1*4 + d2] over 1 = "0" count "8", 2 = "4" count "min(4, s0 - d0)" : memref<?xbf16>, memref<64xbf16>
  }
}

// Bounds that data say: blocks of 8 that are listed, two steps of 4 each.
// CHECK-LABEL: tk.func @listed
// CHECK: tk.for 2 = "0" to "i0*2"(%count) step 1 iter(%a = %zv : vector<4xf32>) {
// CHECK: tk.for 1 = "i0*8 + (d2 mod 2)*4" to "60"(%block) step 4 once masked iter(%p = %a : vector<4xf32>) {
tk.func @listed [8, 60] (%n: memref<8xindex>, %list: memref<32xindex>, %x: memref<60xf32>, %o: memref<8xf32>) scheduled {
  %z = arith.constant 0.0 : f32
  %zv = vector.broadcast %z : f32 to vector<4xf32>
  tk.for 0 = "0" to "8" step 1 parallel {
    %count = tk.load %n[d0] : memref<8xindex> -> index
    %all = tk.for 2 = "0" to "i0*2"(%count) step 1 iter(%a = %zv : vector<4xf32>) {
      %block = tk.load %list[d0*4 + d2 floordiv 2] : memref<32xindex> -> index
      %part = tk.for 1 = "i0*8 + (d2 mod 2)*4" to "60"(%block) step 4 once masked iter(%p = %a : vector<4xf32>) {
        %v = tk.load %x[d1] lanes 1 : memref<60xf32> -> vector<4xf32>
        %s = arith.addf %p, %v : vector<4xf32>
        tk.yield %s : vector<4xf32>
      }
      tk.yield %part : vector<4xf32>
    }
    %r = tk.collapse add %all dims [0] : vector<4xf32> -> f32
    tk.store %r, %o[d0] : f32, memref<8xf32>
  }
}

// CHECK-LABEL: tk.func @shared
// CHECK: tk.share %{{.*}} : vector<4x8xf32>
tk.func @shared [4, 8] (%x: memref<32xf32>, %o: memref<32xf32>) scheduled {
  tk.for 0 = "0" to "4" step 4 parallel {
    tk.for 1 = "0" to "8" step 8 parallel {
      %0 = tk.load %x[d0*8 + d1] lanes 0, 1 : memref<32xf32> -> vector<4x8xf32>
      %1 = tk.share %0 : vector<4x8xf32>
      tk.store %1, %o[d0*8 + d1] lanes 0, 1 : vector<4x8xf32>, memref<32xf32>
    }
  }
}
