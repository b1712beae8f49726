// RUN: tilewright-opt %s -p fold-rows --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p fold-rows --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p fold-rows --split-input-file --check-semantics -o %t
// RUN: tilewright-opt %s -p 'fold-rows{kernels=0}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=FEW

// FEW: its rows are not folded: more than 0 kernels make rows with it
// FEW-LABEL: @halves
// FEW: tk.kernel [3, 32]
// FEW: tk.kernel [3, 32]
// CHECK-LABEL: @halves
// CHECK: %[[S:.*]] = tk.kernel [3, 16] ins(%x : tensor<3x32xf32>
// CHECK: %[[A:.*]] = tk.load %{{.*}}[d0, d1] : tensor<3x32xf32> -> f32 loc("m.py":1:0)
// CHECK-NEXT: %[[B:.*]] = tk.load %{{.*}}[d0, d1 + 16] : tensor<3x32xf32> -> f32 loc("m.py":1:0)
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[A]], %[[A]] : f32
// CHECK-NEXT: %[[Q:.*]] = arith.mulf %[[B]], %[[B]] : f32
// CHECK-NEXT: %[[T:.*]] = arith.addf %[[P]], %[[Q]] {{.*}}: f32
// CHECK-NEXT: tk.reduce add %[[T]] over [1] : f32 loc("m.py":2:0)
// CHECK: %[[Y:.*]] = tk.kernel [3, 16] ins(%x, %[[S]] : {{.*}}) -> (tensor<3x16xf32>)
// CHECK: tk.load %{{.*}}[d0, d1] : tensor<3x32xf32> -> f32
// CHECK: %[[Z:.*]] = tk.kernel [3, 16] ins(%x, %[[S]] : {{.*}}) -> (tensor<3x16xf32>)
// CHECK: tk.load %{{.*}}[d0, d1 + 16] : tensor<3x32xf32> -> f32
// CHECK: tk.kernel [3, 16] ins(%[[Y]], %[[Z]] : tensor<3x16xf32>, tensor<3x16xf32>) -> (tensor<3x16xf32>)
// CHECK: tk.load %{{.*}}[d0, d1] : tensor<3x16xf32>
// CHECK: tk.load %{{.*}}[d0, d1] : tensor<3x16xf32>
// CHECK-NOT: tk.kernel [3, 32]
func.func @halves(%x: tensor<3x32xf32>) -> tensor<3x16xf32> {
  %s = tk.kernel [3, 32] ins(%x : tensor<3x32xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3x32xf32>, %o: tensor<3xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x32xf32> -> f32 loc("m.py":1:0)
    %1 = arith.mulf %0, %0 : f32
    %2 = tk.reduce add %1 over [1] : f32 loc("m.py":2:0)
    tk.store %2, %o[d0] : f32, tensor<3xf32>
  }
  %y = tk.kernel [3, 32] ins(%x, %s : tensor<3x32xf32>, tensor<3xf32>) -> (tensor<3x32xf32>) {
  ^bb0(%a: tensor<3x32xf32>, %b: tensor<3xf32>, %o: tensor<3x32xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x32xf32> -> f32
    %1 = tk.load %b[d0] : tensor<3xf32> -> f32
    %2 = arith.divf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<3x32xf32>
  }
  %r = tk.kernel [3, 16] ins(%y : tensor<3x32xf32>) -> (tensor<3x16xf32>) {
  ^bb0(%a: tensor<3x32xf32>, %o: tensor<3x16xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x32xf32> -> f32
    %1 = tk.load %a[d0, d1 + 16] : tensor<3x32xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<3x16xf32>
  }
  func.return %r : tensor<3x16xf32>
}

// -----

// Every second element, of rows that are turned and scaled behind an axis of one point.
// CHECK-LABEL: @pairs
// CHECK: tk.kernel [3, 2, 8] ins(%x
// CHECK: tk.load %{{.*}}[d0, d1, d2*2] : tensor<3x2x16xf32>
// CHECK: tk.load %{{.*}}[d0, d1, d2*2 + 1] : tensor<3x2x16xf32>
// CHECK: tk.reduce max
// CHECK: tk.kernel [2, 8, 3] ins({{.*}}) -> (tensor<2x8x3xf32>)
// CHECK: tk.load %{{.*}}[d2, d0, d1*2] : tensor<3x2x16xf32>
// CHECK: tk.load %{{.*}}[d1*2] : tensor<16xf32>
// CHECK: tk.kernel [2, 8, 3] ins({{.*}}) -> (tensor<2x8x3xf32>)
// CHECK: tk.load %{{.*}}[d2, d0, d1*2 + 1] : tensor<3x2x16xf32>
// CHECK: tk.load %{{.*}}[d1*2 + 1] : tensor<16xf32>
// CHECK: tk.kernel [3, 2, 8, 1] ins({{.*}} : tensor<2x8x3xf32>, tensor<2x8x3xf32>)
// CHECK: tk.load %{{.*}}[d1, d2, d0] : tensor<2x8x3xf32>
// CHECK: tk.load %{{.*}}[d1, d2, d0] : tensor<2x8x3xf32>
func.func @pairs(%x: tensor<3x2x16xf32>, %w: tensor<16xf32>) -> tensor<3x2x8x1xf32> {
  %s = tk.kernel [3, 2, 16] ins(%x : tensor<3x2x16xf32>) -> (tensor<3x2xf32>) {
  ^bb0(%a: tensor<3x2x16xf32>, %o: tensor<3x2xf32>):
    %0 = tk.load %a[d0, d1, d2] : tensor<3x2x16xf32> -> f32
    %1 = tk.reduce max %0 over [2] : f32
    tk.store %1, %o[d0, d1] : f32, tensor<3x2xf32>
  }
  %t = tk.kernel [3, 2, 1] ins(%s : tensor<3x2xf32>) -> (tensor<3x2x1xf32>) {
  ^bb0(%a: tensor<3x2xf32>, %o: tensor<3x2x1xf32>):
    %0 = tk.load %a[d0, d1 + d2] : tensor<3x2xf32> -> f32
    %1 = arith.negf %0 : f32
    tk.store %1, %o[d0, d1, d2] : f32, tensor<3x2x1xf32>
  }
  %y = tk.kernel [2, 16, 3] ins(%x, %t, %w : tensor<3x2x16xf32>, tensor<3x2x1xf32>, tensor<16xf32>) -> (tensor<2x16x3xf32>) {
  ^bb0(%a: tensor<3x2x16xf32>, %b: tensor<3x2x1xf32>, %c: tensor<16xf32>, %o: tensor<2x16x3xf32>):
    %0 = tk.load %a[d2, d0, d1] : tensor<3x2x16xf32> -> f32
    %1 = tk.load %b[d2, d0, 0] : tensor<3x2x1xf32> -> f32
    %2 = tk.load %c[d1] : tensor<16xf32> -> f32
    %3 = arith.addf %0, %1 : f32
    %4 = arith.mulf %3, %2 : f32
    tk.store %4, %o[d0, d1, d2] : f32, tensor<2x16x3xf32>
  }
  %r = tk.kernel [3, 2, 8, 1] ins(%y : tensor<2x16x3xf32>) -> (tensor<3x2x8x1xf32>) {
  ^bb0(%a: tensor<2x16x3xf32>, %o: tensor<3x2x8x1xf32>):
    %0 = tk.load %a[d1, d2*2 + d3, d0] : tensor<2x16x3xf32> -> f32
    %1 = tk.load %a[d1, d2*2 + d3 + 1, d0] : tensor<2x16x3xf32> -> f32
    %2 = arith.subf %0, %1 : f32
    tk.store %2, %o[d0, d1, d2, d3] : f32, tensor<3x2x8x1xf32>
  }
  func.return %r : tensor<3x2x8x1xf32>
}

// -----

// What is read whole, too, is made so.
// REMARK: its rows are not folded: func.return reads whole rows
// CHECK-LABEL: @also_whole
// CHECK: tk.kernel [3, 16]
// CHECK-NOT: d1 + 8
// CHECK: tk.kernel [3, 16]
func.func @also_whole(%x: tensor<3x16xf32>) -> (tensor<3x8xf32>, tensor<3x16xf32>) {
  %s = tk.kernel [3, 16] ins(%x : tensor<3x16xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3x16xf32>, %o: tensor<3xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x16xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    tk.store %1, %o[d0] : f32, tensor<3xf32>
  }
  %y = tk.kernel [3, 16] ins(%x, %s : tensor<3x16xf32>, tensor<3xf32>) -> (tensor<3x16xf32>) {
  ^bb0(%a: tensor<3x16xf32>, %b: tensor<3xf32>, %o: tensor<3x16xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x16xf32> -> f32
    %1 = tk.load %b[d0] : tensor<3xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<3x16xf32>
  }
  %r = tk.kernel [3, 8] ins(%y : tensor<3x16xf32>) -> (tensor<3x8xf32>) {
  ^bb0(%a: tensor<3x16xf32>, %o: tensor<3x8xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x16xf32> -> f32
    %1 = tk.load %a[d0, d1 + 8] : tensor<3x16xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<3x8xf32>
  }
  func.return %r, %y : tensor<3x8xf32>, tensor<3x16xf32>
}

// -----

// The first quarter and what follows are no equal parts.
// REMARK: its rows are not folded: elements of rows are read in another order
// CHECK-LABEL: @unequal
// CHECK: tk.kernel [3, 32]
// CHECK: tk.kernel [3, 32]
func.func @unequal(%x: tensor<3x32xf32>) -> (tensor<3x8xf32>, tensor<3x24xf32>) {
  %s = tk.kernel [3, 32] ins(%x : tensor<3x32xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3x32xf32>, %o: tensor<3xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x32xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    tk.store %1, %o[d0] : f32, tensor<3xf32>
  }
  %y = tk.kernel [3, 32] ins(%x, %s : tensor<3x32xf32>, tensor<3xf32>) -> (tensor<3x32xf32>) {
  ^bb0(%a: tensor<3x32xf32>, %b: tensor<3xf32>, %o: tensor<3x32xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x32xf32> -> f32
    %1 = tk.load %b[d0] : tensor<3xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<3x32xf32>
  }
  %r = tk.kernel [3, 8] ins(%y : tensor<3x32xf32>) -> (tensor<3x8xf32>) {
  ^bb0(%a: tensor<3x32xf32>, %o: tensor<3x8xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x32xf32> -> f32
    tk.store %0, %o[d0, d1] : f32, tensor<3x8xf32>
  }
  %q = tk.kernel [3, 24] ins(%y : tensor<3x32xf32>) -> (tensor<3x24xf32>) {
  ^bb0(%a: tensor<3x32xf32>, %o: tensor<3x24xf32>):
    %0 = tk.load %a[d0, d1 + 8] : tensor<3x32xf32> -> f32
    tk.store %0, %o[d0, d1] : f32, tensor<3x24xf32>
  }
  func.return %r, %q : tensor<3x8xf32>, tensor<3x24xf32>
}

// -----

// Half of each row is not read.
// REMARK: its rows are not folded: the slices are no equal parts of rows
// CHECK-LABEL: @not_all
// CHECK: tk.kernel [3, 32]
// CHECK: tk.kernel [3, 32]
func.func @not_all(%x: tensor<3x32xf32>) -> tensor<3x8xf32> {
  %s = tk.kernel [3, 32] ins(%x : tensor<3x32xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3x32xf32>, %o: tensor<3xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x32xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    tk.store %1, %o[d0] : f32, tensor<3xf32>
  }
  %y = tk.kernel [3, 32] ins(%x, %s : tensor<3x32xf32>, tensor<3xf32>) -> (tensor<3x32xf32>) {
  ^bb0(%a: tensor<3x32xf32>, %b: tensor<3xf32>, %o: tensor<3x32xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x32xf32> -> f32
    %1 = tk.load %b[d0] : tensor<3xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<3x32xf32>
  }
  %r = tk.kernel [3, 8] ins(%y : tensor<3x32xf32>) -> (tensor<3x8xf32>) {
  ^bb0(%a: tensor<3x32xf32>, %o: tensor<3x8xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x32xf32> -> f32
    %1 = tk.load %a[d0, d1 + 8] : tensor<3x32xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<3x8xf32>
  }
  func.return %r : tensor<3x8xf32>
}

// -----

// REMARK: how long its rows are depends on a symbol
// CHECK-LABEL: @of_any_length
// CHECK: tk.kernel [3, s0]
func.func @of_any_length(%x: tensor<3x?xf32, #tw.shape<"3, s0">>, %s0: index {tw.symbol = "s0"}) -> tensor<3xf32> {
  %s = tk.kernel [3, s0] ins(%x : tensor<3x?xf32, #tw.shape<"3, s0">>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3x?xf32, #tw.shape<"3, s0">>, %o: tensor<3xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x?xf32, #tw.shape<"3, s0">> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    tk.store %1, %o[d0] : f32, tensor<3xf32>
  }
  func.return %s : tensor<3xf32>
}

// -----

// Behind a mean stands a reduction of what is made with it, as for a variance: both go by slices, of which the
// second reads each by itself.
// CHECK-LABEL: @two_reductions
// CHECK: %[[S:.*]] = tk.kernel [3, 16] ins(%x : tensor<3x32xf32>) -> (tensor<3xf32>)
// CHECK: tk.reduce add
// CHECK: %[[Y:.*]] = tk.kernel [3, 16] ins(%x, %[[S]] : {{.*}}) -> (tensor<3x16xf32>)
// CHECK: %[[Z:.*]] = tk.kernel [3, 16] ins(%x, %[[S]] : {{.*}}) -> (tensor<3x16xf32>)
// CHECK: tk.load %{{.*}}[d0, d1 + 16] : tensor<3x32xf32> -> f32
// CHECK: %[[M:.*]] = tk.kernel [3, 16] ins(%[[Y]], %[[Z]] : {{.*}}) -> (tensor<3xf32>)
// CHECK: tk.load %{{.*}}[d0, d1] : tensor<3x16xf32> -> f32
// CHECK: tk.load %{{.*}}[d0, d1] : tensor<3x16xf32> -> f32
// CHECK: tk.reduce max
// CHECK: tk.kernel [3, 16] ins(%[[M]], %[[Y]], %[[Z]] :
// CHECK-NOT: tk.kernel [3, 32]
func.func @two_reductions(%x: tensor<3x32xf32>) -> tensor<3x16xf32> {
  %s = tk.kernel [3, 32] ins(%x : tensor<3x32xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3x32xf32>, %o: tensor<3xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x32xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    tk.store %1, %o[d0] : f32, tensor<3xf32>
  }
  %y = tk.kernel [3, 32] ins(%x, %s : tensor<3x32xf32>, tensor<3xf32>) -> (tensor<3x32xf32>) {
  ^bb0(%a: tensor<3x32xf32>, %b: tensor<3xf32>, %o: tensor<3x32xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x32xf32> -> f32
    %1 = tk.load %b[d0] : tensor<3xf32> -> f32
    %2 = arith.subf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<3x32xf32>
  }
  %m = tk.kernel [3, 32] ins(%y : tensor<3x32xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3x32xf32>, %o: tensor<3xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x32xf32> -> f32
    %1 = tk.reduce max %0 over [1] : f32
    tk.store %1, %o[d0] : f32, tensor<3xf32>
  }
  %r = tk.kernel [3, 16] ins(%y, %m : tensor<3x32xf32>, tensor<3xf32>) -> (tensor<3x16xf32>) {
  ^bb0(%a: tensor<3x32xf32>, %b: tensor<3xf32>, %o: tensor<3x16xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x32xf32> -> f32
    %1 = tk.load %a[d0, d1 + 16] : tensor<3x32xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    %3 = tk.load %b[d0] : tensor<3xf32> -> f32
    %4 = arith.subf %2, %3 : f32
    tk.store %4, %o[d0, d1] : f32, tensor<3x16xf32>
  }
  func.return %r : tensor<3x16xf32>
}

// -----

// Sums of columns of what is made read whole rows.
// REMARK: its rows are not folded: tk.kernel reads whole rows
// CHECK-LABEL: @sums_of_columns
// CHECK: tk.kernel [3, 32]
// CHECK: tk.kernel [3, 32]
// CHECK: tk.kernel [3, 32]
func.func @sums_of_columns(%x: tensor<3x32xf32>) -> (tensor<3x16xf32>, tensor<32xf32>) {
  %s = tk.kernel [3, 32] ins(%x : tensor<3x32xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3x32xf32>, %o: tensor<3xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x32xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    tk.store %1, %o[d0] : f32, tensor<3xf32>
  }
  %y = tk.kernel [3, 32] ins(%x, %s : tensor<3x32xf32>, tensor<3xf32>) -> (tensor<3x32xf32>) {
  ^bb0(%a: tensor<3x32xf32>, %b: tensor<3xf32>, %o: tensor<3x32xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x32xf32> -> f32
    %1 = tk.load %b[d0] : tensor<3xf32> -> f32
    %2 = arith.subf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<3x32xf32>
  }
  %m = tk.kernel [3, 32] ins(%y : tensor<3x32xf32>) -> (tensor<32xf32>) {
  ^bb0(%a: tensor<3x32xf32>, %o: tensor<32xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x32xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[d1] : f32, tensor<32xf32>
  }
  %r = tk.kernel [3, 16] ins(%y : tensor<3x32xf32>) -> (tensor<3x16xf32>) {
  ^bb0(%a: tensor<3x32xf32>, %o: tensor<3x16xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x32xf32> -> f32
    %1 = tk.load %a[d0, d1 + 16] : tensor<3x32xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<3x16xf32>
  }
  func.return %r, %m : tensor<3x16xf32>, tensor<32xf32>
}
