// RUN: tilewright-opt %s -p reduce-at-once | filecheck %s
// RUN: tilewright-opt %s -p reduce-at-once --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// What is called between the two sums, and needs the first, cannot wait for the second.

// CHECK-LABEL: @called_between
// CHECK-COUNT-3: = tk.kernel
// REMARK: tk.kernel at {{.*}}: not reduced at once: an op with effects stands between them
func.func private @print(tensor<f32>)
func.func @called_between(%p: tensor<16x512xf32>) -> (tensor<f32>, tensor<f32>) {
  %c, %d = tk.kernel [16, 512] ins(%p : tensor<16x512xf32>) -> (tensor<512xf32>, tensor<512xf32>) {
  ^bb0(%a: tensor<16x512xf32>, %o: tensor<512xf32>, %r: tensor<512xf32>):
    %0 = tk.load %a[d0, d1] : tensor<16x512xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[d1] : f32, tensor<512xf32>
    %2 = arith.mulf %0, %0 : f32
    %3 = tk.reduce add %2 over [0] : f32
    tk.store %3, %r[d1] : f32, tensor<512xf32>
  }
  %s = tk.kernel [512] ins(%c : tensor<512xf32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<512xf32>, %o: tensor<f32>):
    %0 = tk.load %a[d0] : tensor<512xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[] : f32, tensor<f32>
  }
  func.call @print(%s) : (tensor<f32>) -> ()
  %t = tk.kernel [512] ins(%d : tensor<512xf32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<512xf32>, %o: tensor<f32>):
    %0 = tk.load %a[d0] : tensor<512xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[] : f32, tensor<f32>
  }
  func.return %s, %t : tensor<f32>, tensor<f32>
}
