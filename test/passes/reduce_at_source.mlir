// RUN: tilewright-opt %s -p reduce-at-source --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p reduce-at-source --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p reduce-at-source --split-input-file --check-semantics
// RUN: tilewright-opt %s -p 'reduce-at-source{max-inputs=2}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=FEW

// Two sums of what a product reads one of: all three become one kernel. (With max-inputs=2 it would read too many.)

// CHECK-LABEL: @both_sums
// CHECK:      %[[A:.*]], %[[S:.*]], %[[T:.*]] = tk.kernel [512, 256] ins(%x, %y :
// CHECK-DAG:    tk.reduce add %{{.*}} over [0, 1] : f32 loc("m.py":3:0)
// CHECK-DAG:    tk.reduce add %{{.*}} over [0, 1] : f32 loc("m.py":4:0)
// CHECK:      tk.kernel [512, 64, 256] ins(%[[A]], %w :
// CHECK-NOT:  tk.kernel
// CHECK:      return %[[S]], %[[T]]
// FEW-COUNT-2: tk.kernel at {{.*}}: not reduced where its terms are made: one kernel would be too large
func.func @both_sums(%x: tensor<512x256xf32>, %y: tensor<512x256xf32>, %w: tensor<256x64xf32>) -> (tensor<f32>, tensor<f32>, tensor<512x64xf32>) {
  %a, %b = tk.kernel [512, 256] ins(%x, %y : tensor<512x256xf32>, tensor<512x256xf32>) -> (tensor<512x256xf32>, tensor<512x256xf32>) {
  ^bb0(%i: tensor<512x256xf32>, %j: tensor<512x256xf32>, %o: tensor<512x256xf32>, %q: tensor<512x256xf32>):
    %0 = tk.load %i[d0, d1] : tensor<512x256xf32> -> f32
    %1 = tk.load %j[d0, d1] : tensor<512x256xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<512x256xf32>
    %3 = arith.mulf %2, %1 : f32
    tk.store %3, %q[d0, d1] : f32, tensor<512x256xf32>
  }
  %s = tk.kernel [512, 256] ins(%a : tensor<512x256xf32>) -> (tensor<f32>) {
  ^bb0(%i: tensor<512x256xf32>, %o: tensor<f32>):
    %0 = tk.load %i[d0, d1] : tensor<512x256xf32> -> f32
    %1 = tk.reduce add %0 over [0, 1] : f32 loc("m.py":3:0)
    tk.store %1, %o[] : f32, tensor<f32>
  }
  %t = tk.kernel [512, 256] ins(%b : tensor<512x256xf32>) -> (tensor<f32>) {
  ^bb0(%i: tensor<512x256xf32>, %o: tensor<f32>):
    %0 = tk.load %i[d0, d1] : tensor<512x256xf32> -> f32
    %1 = tk.reduce add %0 over [0, 1] : f32 loc("m.py":4:0)
    tk.store %1, %o[] : f32, tensor<f32>
  }
  %p = tk.kernel [512, 64, 256] ins(%a, %w : tensor<512x256xf32>, tensor<256x64xf32>) -> (tensor<512x64xf32>) {
  ^bb0(%i: tensor<512x256xf32>, %j: tensor<256x64xf32>, %o: tensor<512x64xf32>):
    %0 = tk.load %i[d0, d2] : tensor<512x256xf32> -> f32
    %1 = tk.load %j[d2, d1] : tensor<256x64xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    %3 = tk.reduce add %2 over [2] : f32
    tk.store %3, %o[d0, d1] : f32, tensor<512x64xf32>
  }
  func.return %s, %t, %p : tensor<f32>, tensor<f32>, tensor<512x64xf32>
}

// -----

// Sums of a few rows are not of everything. So few elements are summed by one program, which does not make them as well.

// CHECK-LABEL: @rows_and_few
// CHECK-COUNT-4: = tk.kernel
// REMARK:       tk.kernel at {{.*}}: not reduced where its terms are made: the merged kernel would have only 1 independent rows
func.func @rows_and_few(%x: tensor<2x131072xf32>, %y: tensor<256x256xf32>) -> (tensor<2x131072xf32>, tensor<2xf32>, tensor<256x256xf32>, tensor<f32>) {
  %a = tk.kernel [2, 131072] ins(%x : tensor<2x131072xf32>) -> (tensor<2x131072xf32>) {
  ^bb0(%i: tensor<2x131072xf32>, %o: tensor<2x131072xf32>):
    %0 = tk.load %i[d0, d1] : tensor<2x131072xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<2x131072xf32>
  }
  %s = tk.kernel [2, 131072] ins(%a : tensor<2x131072xf32>) -> (tensor<2xf32>) {
  ^bb0(%i: tensor<2x131072xf32>, %o: tensor<2xf32>):
    %0 = tk.load %i[d0, d1] : tensor<2x131072xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    tk.store %1, %o[d0] : f32, tensor<2xf32>
  }
  %b = tk.kernel [256, 256] ins(%y : tensor<256x256xf32>) -> (tensor<256x256xf32>) {
  ^bb0(%i: tensor<256x256xf32>, %o: tensor<256x256xf32>):
    %0 = tk.load %i[d0, d1] : tensor<256x256xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<256x256xf32>
  }
  %t = tk.kernel [256, 256] ins(%b : tensor<256x256xf32>) -> (tensor<f32>) {
  ^bb0(%i: tensor<256x256xf32>, %o: tensor<f32>):
    %0 = tk.load %i[d0, d1] : tensor<256x256xf32> -> f32
    %1 = tk.reduce add %0 over [0, 1] : f32
    tk.store %1, %o[] : f32, tensor<f32>
  }
  func.return %a, %s, %b, %t : tensor<2x131072xf32>, tensor<2xf32>, tensor<256x256xf32>, tensor<f32>
}
