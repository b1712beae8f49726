// RUN: tilewright-opt %s -p split-reductions --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p split-reductions --split-input-file --check-semantics -o /dev/null

// Parts of unequal length: beyond the end nothing is combined. Of one value that is the largest exponent and the sum
// relative to it these are two numbers, one for each.
// CHECK-LABEL: @two_identities
// CHECK: tk.kernel [2, 64, ((s0 + 63) floordiv 64)]
// CHECK: %[[M:.*]] = arith.cmpi slt
// CHECK: %[[X:.*]] = arith.addf
// CHECK: %[[LEAST:.*]] = arith.constant 0xff800000 : f32
// CHECK: %[[A:.*]] = arith.select %[[M]], %[[X]], %[[LEAST]]
// CHECK: %[[NONE:.*]] = arith.constant 0.000000e+00 : f32 loc("m.py":2:0)
// CHECK: %[[B:.*]] = arith.select %[[M]], %[[X]], %[[NONE]] : f32 loc("m.py":2:0)
// CHECK: tk.sumexp %[[A]], %[[B]] over [2] : f32 loc("m.py":2:0)
func.func @two_identities(%x: tensor<2x?xf32, #tw.shape<"2, s0">>, %s0: index {tw.symbol = "s0"}) -> (tensor<2xf32>, tensor<2xf32>) {
  %m, %s = tk.kernel [2, s0] ins(%x : tensor<2x?xf32, #tw.shape<"2, s0">>) -> (tensor<2xf32>, tensor<2xf32>) {
  ^bb0(%a: tensor<2x?xf32, #tw.shape<"2, s0">>, %p: tensor<2xf32>, %q: tensor<2xf32>):
    %0 = tk.load %a[d0, d1] : tensor<2x?xf32, #tw.shape<"2, s0">> -> f32
    %1 = math.absf %0 : f32
    %2 = arith.negf %1 : f32
    %3 = arith.constant -1.0 : f32
    %4 = arith.addf %2, %3 : f32 loc("m.py":1:0)
    %5, %6 = tk.sumexp %4, %4 over [1] : f32 loc("m.py":2:0)
    tk.store %5, %p[d0] : f32, tensor<2xf32>
    tk.store %6, %q[d0] : f32, tensor<2xf32>
  }
  func.return %m, %s : tensor<2xf32>, tensor<2xf32>
}

// -----

// Reductions of one value have what each asks for, chosen once for those that ask for the same; what else is made
// of the value reads it as it is.
// CHECK-LABEL: @several_reductions
// CHECK: %[[M:.*]] = arith.cmpi slt
// CHECK: %[[X:.*]] = arith.subf
// CHECK: %[[A:.*]] = arith.select %[[M]], %[[X]], %{{.*}} : f32
// CHECK: tk.reduce max %[[A]] over [2]
// CHECK: %[[B:.*]] = arith.select %[[M]], %[[X]], %{{.*}} : f32
// CHECK: tk.reduce add %[[B]] over [2]
// CHECK-NEXT: arith.constant
// CHECK-NEXT: %[[N:.*]] = arith.select %[[M]], %one, %{{.*}} : f32
// CHECK-NEXT: tk.moments %[[B]], %zero, %[[N]] over [2]
// CHECK: %[[Y:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK: %[[C:.*]] = arith.select %[[M]], %[[Y]], %{{.*}} : f32
// CHECK: tk.reduce add %[[C]] over [2]
// CHECK: tk.kernel [2, {{[0-9]+}}]
func.func @several_reductions(%x: tensor<2x?xf32, #tw.shape<"2, s0">>, %n: tensor<2x?xf32, #tw.shape<"2, s0">>, %s0: index {tw.symbol = "s0"}) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %m, %s, %v, %w = tk.kernel [2, s0] ins(%x, %n : tensor<2x?xf32, #tw.shape<"2, s0">>, tensor<2x?xf32, #tw.shape<"2, s0">>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  ^bb0(%a: tensor<2x?xf32, #tw.shape<"2, s0">>, %b: tensor<2x?xf32, #tw.shape<"2, s0">>, %p: tensor<2xf32>, %q: tensor<2xf32>, %r: tensor<2xf32>, %t: tensor<2xf32>):
    %0 = tk.load %a[d0, d1] : tensor<2x?xf32, #tw.shape<"2, s0">> -> f32
    %one = arith.constant 1.0 : f32
    %zero = arith.constant 0.0 : f32
    %1 = arith.subf %0, %one : f32
    %2 = tk.reduce max %1 over [1] : f32
    %3 = tk.reduce add %1 over [1] : f32
    %4, %5, %6 = tk.moments %1, %zero, %one over [1] : f32
    %7 = arith.mulf %1, %1 : f32
    %8 = tk.reduce add %7 over [1] : f32
    tk.store %2, %p[d0] : f32, tensor<2xf32>
    tk.store %3, %q[d0] : f32, tensor<2xf32>
    tk.store %5, %r[d0] : f32, tensor<2xf32>
    tk.store %8, %t[d0] : f32, tensor<2xf32>
  }
  func.return %m, %s, %v, %w : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
