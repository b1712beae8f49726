// RUN: tilewright-opt %s -p 'fuse{far=true}' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'fuse{far=true}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// What is read of an argument before some of it changes is a kernel of its own: one that did both would have to
// copy all of it.
// CHECK-LABEL: @reads_before_it_changes
// CHECK-COUNT-2: = tk.kernel
// REMARK: it reads what the scatter that reads it changes, which could not be done in place
func.func @reads_before_it_changes(%x: tensor<90xf32>, %i: tensor<1xi64>) {
  %v = tk.kernel [1] ins(%x : tensor<90xf32>) -> (tensor<1xf32>) {
  ^bb0(%a: tensor<90xf32>, %o: tensor<1xf32>):
    %0 = tk.load %a[d0 + 5] : tensor<90xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<1xf32>
  }
  %r = tk.kernel [90, 1] ins(%x, %i, %v : tensor<90xf32>, tensor<1xi64>, tensor<1xf32>) -> (tensor<90xf32>) {
  ^bb0(%a: tensor<90xf32>, %at: tensor<1xi64>, %w: tensor<1xf32>, %o: tensor<90xf32>):
    %0 = tk.load %a[d0] : tensor<90xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<90xf32>
    %1 = tk.load %at[d1] : tensor<1xi64> -> i64
    %2 = arith.index_cast %1 : i64 to index
    %3 = tk.load %w[d1] : tensor<1xf32> -> f32
    tk.store %3, %o[i0](%2) over [1] combine any : f32, tensor<90xf32>
  }
  tw.write %r into %x : tensor<90xf32>
  func.return
}

// -----

// An argument that keeps its value is copied anyway.
// CHECK-LABEL: @reads_what_stays
// CHECK-COUNT-1: = tk.kernel
// CHECK-NOT: = tk.kernel
func.func @reads_what_stays(%x: tensor<90xf32>, %i: tensor<1xi64>) -> tensor<90xf32> {
  %v = tk.kernel [1] ins(%x : tensor<90xf32>) -> (tensor<1xf32>) {
  ^bb0(%a: tensor<90xf32>, %o: tensor<1xf32>):
    %0 = tk.load %a[d0 + 5] : tensor<90xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<1xf32>
  }
  %r = tk.kernel [90, 1] ins(%x, %i, %v : tensor<90xf32>, tensor<1xi64>, tensor<1xf32>) -> (tensor<90xf32>) {
  ^bb0(%a: tensor<90xf32>, %at: tensor<1xi64>, %w: tensor<1xf32>, %o: tensor<90xf32>):
    %0 = tk.load %a[d0] : tensor<90xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<90xf32>
    %1 = tk.load %at[d1] : tensor<1xi64> -> i64
    %2 = arith.index_cast %1 : i64 to index
    %3 = tk.load %w[d1] : tensor<1xf32> -> f32
    tk.store %3, %o[i0](%2) over [1] combine any : f32, tensor<90xf32>
  }
  func.return %r : tensor<90xf32>
}
