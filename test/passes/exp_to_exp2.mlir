// RUN: tilewright-opt %s -p exp-to-exp2 --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p exp-to-exp2,schedule-gpu,apply-schedule --split-input-file | filecheck %s --check-prefix=APPLY
// RUN: tilewright-opt %s -p exp-to-exp2,schedule-cpu,apply-schedule --split-input-file | filecheck %s --check-prefix=ROWS
// RUN: tilewright-opt %s -p exp-to-exp2 --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// The maximum is that of scores as they come; who else reads it gets it scaled.
// CHECK-LABEL: tk.func @scaled
// CHECK:      %[[S:.*]] = tk.reduce add {{.*}} over [4]
// CHECK-NOT:  arith.mulf %[[S]]
// CHECK:      %[[M:.*]] = tk.reduce max %[[S]] over [3]
// CHECK:      %[[K:.*]] = arith.constant 0.180336878 : f32
// CHECK:      %[[L:.*]] = arith.constant -0.180336878 : f32
// CHECK:      %[[NONE:.*]] = arith.cmpf oeq, %[[M]], %{{.*}} : f32
// CHECK:      %[[G:.*]] = arith.select %[[NONE]], %{{.*}}, %[[M]] : f32
// CHECK:      %[[AWAY:.*]] = arith.mulf %[[G]], %[[L]] : f32
// CHECK:      %[[T:.*]] = arith.mulf %[[M]], %{{.*}} : f32
// CHECK:      arith.cmpf oeq, %[[T]],
// CHECK:      %[[D:.*]] = math.fma %[[S]], %[[K]], %[[AWAY]] : f32
// CHECK-NEXT: %[[E:.*]] = math.exp2 %[[D]] : f32
// CHECK-NEXT: tk.reduce add %[[E]] over [3]
// CHECK-NOT:  math.exp
// CHECK:      arith.addf %{{.*}}, %{{.*}} : f32
tk.func @scaled [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %w: memref<262144xf32>, %l: memref<3072xf32>, %o: memref<196608xf32>, %p: memref<3072xf32>) {
  %q0 = tk.load %q[d0*32768 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %q1 = arith.extf %q0 : bf16 to f32
  %k0 = tk.load %k[d0*32768 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %k1 = arith.extf %k0 : bf16 to f32
  %m = arith.mulf %q1, %k1 : f32
  %s = tk.reduce add %m over [4] {tk.factors = bf16} : f32
  %z = arith.constant 0.000000e+00 : f32
  %n = arith.constant 0xFF800000 : f32
  %c = arith.constant 1.250000e-01 : f32
  %x = arith.mulf %s, %c : f32
  %top = tk.reduce max %x over [3] : f32
  %none = arith.cmpf oeq, %top, %n : f32
  %g = arith.select %none, %z, %top : f32
  %d = arith.subf %x, %g : f32
  %e = math.exp %d : f32
  %sum = tk.reduce add %e over [3] : f32
  %v0 = tk.load %v[d0*32768 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %v1 = arith.extf %v0 : bf16 to f32
  %pv = arith.mulf %e, %v1 : f32
  %r = tk.reduce add %pv over [3] {tk.factors = bf16} : f32
  %y = arith.divf %r, %sum : f32
  tk.store %y, %o[d0*32768 + d1*64 + d2] : f32, memref<196608xf32>
  %log = math.log %sum : f32
  %lse = arith.addf %log, %g : f32
  tk.store %lse, %p[d0*512 + d1] : f32, memref<3072xf32>
}

// -----

// Hidden scores are -inf before and after they are scaled: blocks that nobody sees are still left out.
// CHECK-LABEL: tk.func @hidden
// CHECK:      %[[S:.*]] = tk.reduce add {{.*}} over [4]
// CHECK:      %[[X:.*]] = arith.select %{{.*}}, %[[S]], %{{.*}} : f32
// CHECK-NEXT: tk.reduce max %[[X]] over [3]
// CHECK:      math.fma %[[X]],
// CHECK-NEXT: math.exp2
// ROWS-LABEL: tk.func @hidden
// ROWS:      %[[LESS:.*]] = arith.subf
// ROWS-NEXT: %[[RATE:.*]] = arith.mulf %[[LESS]], %{{.*}} : vector<16xf32>
// ROWS-NEXT: math.exp2 %[[RATE]] : vector<16xf32>
// APPLY-LABEL: tk.func @hidden
// APPLY:      tk.for 3 = "min(512, d1)" to "min(512, d1 + 128)"
// APPLY:      %[[LESS:.*]] = arith.subf
// APPLY-NEXT: %[[RATE:.*]] = arith.mulf %[[LESS]], %{{.*}} : vector<128x1xf32>
// APPLY-NEXT: math.exp2 %[[RATE]] : vector<128x1xf32>
// APPLY-NOT:  math.exp %
tk.func @hidden [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %w: memref<262144xf32>, %l: memref<3072xf32>, %o: memref<196608xf32>, %p: memref<3072xf32>) {
  %q0 = tk.load %q[d0*32768 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %q1 = arith.extf %q0 : bf16 to f32
  %k0 = tk.load %k[d0*32768 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %k1 = arith.extf %k0 : bf16 to f32
  %m = arith.mulf %q1, %k1 : f32
  %s = tk.reduce add %m over [4] {tk.factors = bf16} : f32
  %z = arith.constant 0.000000e+00 : f32
  %n = arith.constant 0xFF800000 : f32
  %c = arith.constant 1.250000e-01 : f32
  %i = tk.index "d1" : i64
  %j = tk.index "d3" : i64
  %seen = arith.cmpi sle, %j, %i : i64
  %h = arith.mulf %s, %c : f32
  %x = arith.select %seen, %h, %n : f32
  %top = tk.reduce max %x over [3] : f32
  %none = arith.cmpf oeq, %top, %n : f32
  %g = arith.select %none, %z, %top : f32
  %d = arith.subf %x, %g : f32
  %e = math.exp %d : f32
  %sum = tk.reduce add %e over [3] : f32
  %v0 = tk.load %v[d0*32768 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %v1 = arith.extf %v0 : bf16 to f32
  %pv = arith.mulf %e, %v1 : f32
  %r = tk.reduce add %pv over [3] {tk.factors = bf16} : f32
  %y = arith.divf %r, %sum : f32
  tk.store %y, %o[d0*32768 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// What divides is what multiplies; the maximum of scores is divided, so that it is the very maximum of quotients.
// CHECK-LABEL: tk.func @divided
// CHECK-NOT:  arith.divf
// CHECK:      %[[S:.*]] = tk.reduce add {{.*}} over [4]
// CHECK-NOT:  arith.divf
// CHECK:      %[[M:.*]] = tk.reduce max %[[S]] over [3]
// CHECK:      arith.constant 0.180336878 : f32
// CHECK:      arith.divf %[[M]], %{{.*}} : f32
tk.func @divided [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %w: memref<262144xf32>, %l: memref<3072xf32>, %o: memref<196608xf32>, %p: memref<3072xf32>) {
  %q0 = tk.load %q[d0*32768 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %q1 = arith.extf %q0 : bf16 to f32
  %k0 = tk.load %k[d0*32768 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %k1 = arith.extf %k0 : bf16 to f32
  %m = arith.mulf %q1, %k1 : f32
  %s = tk.reduce add %m over [4] {tk.factors = bf16} : f32
  %z = arith.constant 0.000000e+00 : f32
  %n = arith.constant 0xFF800000 : f32
  %c = arith.constant 8.000000e+00 : f32
  %x = arith.divf %s, %c : f32
  %top = tk.reduce max %x over [3] : f32
  %none = arith.cmpf oeq, %top, %n : f32
  %g = arith.select %none, %z, %top : f32
  %d = arith.subf %x, %g : f32
  %e = math.exp %d : f32
  %sum = tk.reduce add %e over [3] : f32
  %v0 = tk.load %v[d0*32768 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %v1 = arith.extf %v0 : bf16 to f32
  %pv = arith.mulf %e, %v1 : f32
  %r = tk.reduce add %pv over [3] {tk.factors = bf16} : f32
  %y = arith.divf %r, %sum : f32
  tk.store %y, %o[d0*32768 + d1*64 + d2] : f32, memref<196608xf32>
  %log = math.log %sum : f32
  %lse = arith.addf %log, %g : f32
  tk.store %lse, %p[d0*512 + d1] : f32, memref<3072xf32>
}

// -----

// The least number of the type times log2(e) is -inf: a row of these alone would be NaN.
// CHECK-LABEL: tk.func @added
// CHECK:      %[[X:.*]] = arith.addf
// CHECK:      tk.reduce max %[[X]] over [3]
// CHECK:      %[[D:.*]] = arith.subf %[[X]],
// CHECK-NEXT: %[[K:.*]] = arith.constant 1.44269502 : f32
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[D]], %[[K]] : f32
// CHECK-NEXT: math.exp2 %[[P]] : f32
// APPLY-LABEL: tk.func @added
// APPLY-NOT:  math.exp %
tk.func @added [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %w: memref<262144xf32>, %l: memref<3072xf32>, %o: memref<196608xf32>, %p: memref<3072xf32>) {
  %q0 = tk.load %q[d0*32768 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %q1 = arith.extf %q0 : bf16 to f32
  %k0 = tk.load %k[d0*32768 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %k1 = arith.extf %k0 : bf16 to f32
  %m = arith.mulf %q1, %k1 : f32
  %s = tk.reduce add %m over [4] {tk.factors = bf16} : f32
  %z = arith.constant 0.000000e+00 : f32
  %n = arith.constant 0xFF800000 : f32
  %c = arith.constant 1.250000e-01 : f32
  %h = arith.mulf %s, %c : f32
  %a = tk.load %w[d1*512 + d3] : memref<262144xf32> -> f32
  %x = arith.addf %h, %a : f32
  %top = tk.reduce max %x over [3] : f32
  %none = arith.cmpf oeq, %top, %n : f32
  %g = arith.select %none, %z, %top : f32
  %d = arith.subf %x, %g : f32
  %e = math.exp %d : f32
  %sum = tk.reduce add %e over [3] : f32
  %v0 = tk.load %v[d0*32768 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %v1 = arith.extf %v0 : bf16 to f32
  %pv = arith.mulf %e, %v1 : f32
  %r = tk.reduce add %pv over [3] {tk.factors = bf16} : f32
  %y = arith.divf %r, %sum : f32
  tk.store %y, %o[d0*32768 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// So would scores that are finite.
// CHECK-LABEL: tk.func @large_factor
// APPLY-LABEL: tk.func @large_factor
// CHECK:      %[[X:.*]] = arith.mulf %s, %{{.*}} : f32
// CHECK:      tk.reduce max %[[X]] over [3]
// CHECK:      arith.subf
// CHECK-NOT:  math.fma
tk.func @large_factor [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %w: memref<262144xf32>, %l: memref<3072xf32>, %o: memref<196608xf32>, %p: memref<3072xf32>) {
  %q0 = tk.load %q[d0*32768 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %q1 = arith.extf %q0 : bf16 to f32
  %k0 = tk.load %k[d0*32768 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %k1 = arith.extf %k0 : bf16 to f32
  %m = arith.mulf %q1, %k1 : f32
  %s = tk.reduce add %m over [4] {tk.factors = bf16} : f32
  %z = arith.constant 0.000000e+00 : f32
  %n = arith.constant 0xFF800000 : f32
  %c = arith.constant 1.000000e+00 : f32
  %x = arith.mulf %s, %c : f32
  %top = tk.reduce max %x over [3] : f32
  %none = arith.cmpf oeq, %top, %n : f32
  %g = arith.select %none, %z, %top : f32
  %d = arith.subf %x, %g : f32
  %e = math.exp %d : f32
  %sum = tk.reduce add %e over [3] : f32
  %v0 = tk.load %v[d0*32768 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %v1 = arith.extf %v0 : bf16 to f32
  %pv = arith.mulf %e, %v1 : f32
  %r = tk.reduce add %pv over [3] {tk.factors = bf16} : f32
  %y = arith.divf %r, %sum : f32
  tk.store %y, %o[d0*32768 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// The largest of these is not what the largest becomes.
// CHECK-LABEL: tk.func @negative_factor
// CHECK:      arith.subf
// CHECK-NOT:  math.fma
tk.func @negative_factor [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %w: memref<262144xf32>, %l: memref<3072xf32>, %o: memref<196608xf32>, %p: memref<3072xf32>) {
  %q0 = tk.load %q[d0*32768 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %q1 = arith.extf %q0 : bf16 to f32
  %k0 = tk.load %k[d0*32768 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %k1 = arith.extf %k0 : bf16 to f32
  %m = arith.mulf %q1, %k1 : f32
  %s = tk.reduce add %m over [4] {tk.factors = bf16} : f32
  %z = arith.constant 0.000000e+00 : f32
  %n = arith.constant 0xFF800000 : f32
  %c = arith.constant -1.250000e-01 : f32
  %x = arith.mulf %s, %c : f32
  %top = tk.reduce max %x over [3] : f32
  %none = arith.cmpf oeq, %top, %n : f32
  %g = arith.select %none, %z, %top : f32
  %d = arith.subf %x, %g : f32
  %e = math.exp %d : f32
  %sum = tk.reduce add %e over [3] : f32
  %v0 = tk.load %v[d0*32768 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %v1 = arith.extf %v0 : bf16 to f32
  %pv = arith.mulf %e, %v1 : f32
  %r = tk.reduce add %pv over [3] {tk.factors = bf16} : f32
  %y = arith.divf %r, %sum : f32
  tk.store %y, %o[d0*32768 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// A number that is loaded for each row is brought to base two.
// CHECK-LABEL: tk.func @log_sum_exp
// CHECK:      %[[G:.*]] = tk.load %{{.*}}[d0*512 + d1]
// CHECK:      %[[AWAY:.*]] = arith.mulf %[[G]], %{{.*}} : f32
// CHECK:      %[[D:.*]] = math.fma %{{.*}}, %{{.*}}, %[[AWAY]] : f32
// CHECK-NEXT: math.exp2 %[[D]] : f32
tk.func @log_sum_exp [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %w: memref<262144xf32>, %l: memref<3072xf32>, %o: memref<196608xf32>, %p: memref<3072xf32>) {
  %q0 = tk.load %q[d0*32768 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %q1 = arith.extf %q0 : bf16 to f32
  %k0 = tk.load %k[d0*32768 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %k1 = arith.extf %k0 : bf16 to f32
  %m = arith.mulf %q1, %k1 : f32
  %s = tk.reduce add %m over [4] {tk.factors = bf16} : f32
  %n = arith.constant 0xFF800000 : f32
  %c = arith.constant 1.250000e-01 : f32
  %x = arith.mulf %s, %c : f32
  %g = tk.load %l[d0*512 + d1] : memref<3072xf32> -> f32
  %d = arith.subf %x, %g : f32
  %e = math.exp %d : f32
  %v0 = tk.load %v[d0*32768 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %v1 = arith.extf %v0 : bf16 to f32
  %pv = arith.mulf %e, %v1 : f32
  %r = tk.reduce add %pv over [3] {tk.factors = bf16} : f32
  tk.store %r, %o[d0*32768 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// Products of f32 keep all places.
// CHECK-LABEL: tk.func @f32
// CHECK:      math.exp %
// REMARK: its exponentials stay: it multiplies more than halves
tk.func @f32 [6, 512, 64, 512, 64] (%q: memref<196608xf32>, %k: memref<196608xf32>, %v: memref<196608xf32>, %w: memref<262144xf32>, %l: memref<3072xf32>, %o: memref<196608xf32>, %p: memref<3072xf32>) {
  %q0 = tk.load %q[d0*32768 + d1*64 + d4] : memref<196608xf32> -> f32
  %k0 = tk.load %k[d0*32768 + d3*64 + d4] : memref<196608xf32> -> f32
  %m = arith.mulf %q0, %k0 : f32
  %s = tk.reduce add %m over [4] : f32
  %z = arith.constant 0.000000e+00 : f32
  %n = arith.constant 0xFF800000 : f32
  %c = arith.constant 1.250000e-01 : f32
  %x = arith.mulf %s, %c : f32
  %top = tk.reduce max %x over [3] : f32
  %none = arith.cmpf oeq, %top, %n : f32
  %g = arith.select %none, %z, %top : f32
  %d = arith.subf %x, %g : f32
  %e = math.exp %d : f32
  %sum = tk.reduce add %e over [3] : f32
  %v0 = tk.load %v[d0*32768 + d3*64 + d2] : memref<196608xf32> -> f32
  %pv = arith.mulf %e, %v0 : f32
  %r = tk.reduce add %pv over [3] : f32
  %y = arith.divf %r, %sum : f32
  tk.store %y, %o[d0*32768 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// What is no chain of products waits for memory anyway.
// CHECK-LABEL: tk.func @softmax
// CHECK:      math.exp %
tk.func @softmax [64, 512] (%x: memref<32768xbf16>, %o: memref<32768xf32>) {
  %0 = tk.load %x[d0*512 + d1] : memref<32768xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.reduce max %1 over [1] : f32
  %3 = arith.subf %1, %2 : f32
  %4 = math.exp %3 : f32
  %5 = tk.reduce add %4 over [1] : f32
  %6 = arith.divf %4, %5 : f32
  tk.store %6, %o[d0*512 + d1] : f32, memref<32768xf32>
}
