// RUN: tilewright-opt %s -p sum-in-chains --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p sum-in-chains --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p sum-in-chains --split-input-file --check-semantics -o /dev/null

// The gradient of queries takes the sums of its rows along; that of keys, which goes along the rows, reads them.
// CHECK-LABEL: @rows_of_a_gradient
func.func @rows_of_a_gradient(%q: tensor<32x16xf32>, %k: tensor<48x16xf32>, %v: tensor<48x8xf32>, %g: tensor<32x8xf32>, %o: tensor<32x8xf32>) -> (tensor<32x16xf32>, tensor<48x16xf32>) {
  // CHECK: %[[S:.*]], %[[Q:.*]] = tk.kernel [32, 16, 48, 16, 8] ins(%g, %o, %q, %k, %v
  // CHECK: %[[T:.*]] = tk.reduce add %{{.*}} over [4]
  // CHECK-NEXT: tk.store %[[T]], %{{.*}}[d0]
  // CHECK: arith.subf %{{.*}}, %[[T]]
  // CHECK: tk.reduce add %{{.*}} over [2]
  // CHECK: tk.kernel [48, 16, 32, 16, 8] ins(%q, %k, %v, %g, %[[S]]
  // CHECK-NOT: tk.kernel
  %t = tk.kernel [32, 8] ins(%g, %o : tensor<32x8xf32>, tensor<32x8xf32>) -> (tensor<32xf32>) {
  ^bb0(%a: tensor<32x8xf32>, %b: tensor<32x8xf32>, %r: tensor<32xf32>):
    %0 = tk.load %a[d0, d1] : tensor<32x8xf32> -> f32
    %1 = tk.load %b[d0, d1] : tensor<32x8xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    %3 = tk.reduce add %2 over [1] : f32
    tk.store %3, %r[d0] : f32, tensor<32xf32>
  }
  %gq = tk.kernel [32, 16, 48, 16, 8] ins(%q, %k, %v, %g, %t : tensor<32x16xf32>, tensor<48x16xf32>, tensor<48x8xf32>, tensor<32x8xf32>, tensor<32xf32>) -> (tensor<32x16xf32>) {
  ^bb0(%a: tensor<32x16xf32>, %b: tensor<48x16xf32>, %c: tensor<48x8xf32>, %d: tensor<32x8xf32>, %e: tensor<32xf32>, %r: tensor<32x16xf32>):
    %0 = tk.load %a[d0, d3] : tensor<32x16xf32> -> f32
    %1 = tk.load %b[d2, d3] : tensor<48x16xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    %3 = tk.reduce add %2 over [3] : f32
    %4 = tk.load %d[d0, d4] : tensor<32x8xf32> -> f32
    %5 = tk.load %c[d2, d4] : tensor<48x8xf32> -> f32
    %6 = arith.mulf %4, %5 : f32
    %7 = tk.reduce add %6 over [4] : f32
    %8 = tk.load %e[d0] : tensor<32xf32> -> f32
    %9 = arith.subf %7, %8 : f32
    %10 = arith.mulf %3, %9 : f32
    %11 = tk.load %b[d2, d1] : tensor<48x16xf32> -> f32
    %12 = arith.mulf %10, %11 : f32
    %13 = tk.reduce add %12 over [2] : f32
    tk.store %13, %r[d0, d1] : f32, tensor<32x16xf32>
  }
  %gk = tk.kernel [48, 16, 32, 16, 8] ins(%q, %k, %v, %g, %t : tensor<32x16xf32>, tensor<48x16xf32>, tensor<48x8xf32>, tensor<32x8xf32>, tensor<32xf32>) -> (tensor<48x16xf32>) {
  ^bb0(%a: tensor<32x16xf32>, %b: tensor<48x16xf32>, %c: tensor<48x8xf32>, %d: tensor<32x8xf32>, %e: tensor<32xf32>, %r: tensor<48x16xf32>):
    %0 = tk.load %a[d2, d3] : tensor<32x16xf32> -> f32
    %1 = tk.load %b[d0, d3] : tensor<48x16xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    %3 = tk.reduce add %2 over [3] : f32
    %4 = tk.load %d[d2, d4] : tensor<32x8xf32> -> f32
    %5 = tk.load %c[d0, d4] : tensor<48x8xf32> -> f32
    %6 = arith.mulf %4, %5 : f32
    %7 = tk.reduce add %6 over [4] : f32
    %8 = tk.load %e[d2] : tensor<32xf32> -> f32
    %9 = arith.subf %7, %8 : f32
    %10 = arith.mulf %3, %9 : f32
    %11 = tk.load %a[d2, d1] : tensor<32x16xf32> -> f32
    %12 = arith.mulf %10, %11 : f32
    %13 = tk.reduce add %12 over [2] : f32
    tk.store %13, %r[d0, d1] : f32, tensor<48x16xf32>
  }
  func.return %gq, %gk : tensor<32x16xf32>, tensor<48x16xf32>
}

// -----

// Nothing of what is summed is read by the chain; nor does a program hold rows of 7.
// CHECK-LABEL: @keeps_sums_of_something_else
// CHECK-COUNT-3: = tk.kernel
// REMARK-DAG: rows are summed elsewhere: the chain reads nothing of what they are of
// REMARK-DAG: rows are summed elsewhere: its programs hold no such rows
func.func @keeps_sums_of_something_else(%q: tensor<32x16xf32>, %k: tensor<48x16xf32>, %v: tensor<48x8xf32>, %o: tensor<32x16xf32>, %p: tensor<32x7xf32>) -> tensor<32x8xf32> {
  %t = tk.kernel [32, 16] ins(%o : tensor<32x16xf32>) -> (tensor<32xf32>) {
  ^bb0(%a: tensor<32x16xf32>, %r: tensor<32xf32>):
    %0 = tk.load %a[d0, d1] : tensor<32x16xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    tk.store %1, %r[d0] : f32, tensor<32xf32>
  }
  %s = tk.kernel [32, 7] ins(%p : tensor<32x7xf32>) -> (tensor<32xf32>) {
  ^bb0(%a: tensor<32x7xf32>, %r: tensor<32xf32>):
    %0 = tk.load %a[d0, d1] : tensor<32x7xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    tk.store %1, %r[d0] : f32, tensor<32xf32>
  }
  %u = tk.kernel [32, 8, 48, 16] ins(%q, %k, %v, %t, %s : tensor<32x16xf32>, tensor<48x16xf32>, tensor<48x8xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<32x8xf32>) {
  ^bb0(%a: tensor<32x16xf32>, %b: tensor<48x16xf32>, %c: tensor<48x8xf32>, %d: tensor<32xf32>, %e: tensor<32xf32>, %r: tensor<32x8xf32>):
    %0 = tk.load %a[d0, d3] : tensor<32x16xf32> -> f32
    %1 = tk.load %b[d2, d3] : tensor<48x16xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    %3 = tk.reduce add %2 over [3] : f32
    %4 = tk.load %d[d0] : tensor<32xf32> -> f32
    %5 = tk.load %e[d0] : tensor<32xf32> -> f32
    %6 = arith.subf %3, %4 : f32
    %7 = arith.mulf %6, %5 : f32
    %8 = tk.load %c[d2, d1] : tensor<48x8xf32> -> f32
    %9 = arith.mulf %7, %8 : f32
    %10 = tk.reduce add %9 over [2] : f32
    tk.store %10, %r[d0, d1] : f32, tensor<32x8xf32>
  }
  func.return %u : tensor<32x8xf32>
}

// -----

// Of the rows along which it goes, it would need each sum for every column.
// CHECK-LABEL: @keeps_sums_along_the_chain
// CHECK-COUNT-2: = tk.kernel
// REMARK: rows are summed elsewhere: the chain goes along the rows
func.func @keeps_sums_along_the_chain(%q: tensor<32x16xf32>, %k: tensor<48x16xf32>, %v: tensor<48x8xf32>, %g: tensor<32x8xf32>, %o: tensor<32x8xf32>) -> tensor<48x16xf32> {
  %t = tk.kernel [32, 8] ins(%g, %o : tensor<32x8xf32>, tensor<32x8xf32>) -> (tensor<32xf32>) {
  ^bb0(%a: tensor<32x8xf32>, %b: tensor<32x8xf32>, %r: tensor<32xf32>):
    %0 = tk.load %a[d0, d1] : tensor<32x8xf32> -> f32
    %1 = tk.load %b[d0, d1] : tensor<32x8xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    %3 = tk.reduce add %2 over [1] : f32
    tk.store %3, %r[d0] : f32, tensor<32xf32>
  }
  %gk = tk.kernel [48, 16, 32, 16, 8] ins(%q, %k, %v, %g, %t : tensor<32x16xf32>, tensor<48x16xf32>, tensor<48x8xf32>, tensor<32x8xf32>, tensor<32xf32>) -> (tensor<48x16xf32>) {
  ^bb0(%a: tensor<32x16xf32>, %b: tensor<48x16xf32>, %c: tensor<48x8xf32>, %d: tensor<32x8xf32>, %e: tensor<32xf32>, %r: tensor<48x16xf32>):
    %0 = tk.load %a[d2, d3] : tensor<32x16xf32> -> f32
    %1 = tk.load %b[d0, d3] : tensor<48x16xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    %3 = tk.reduce add %2 over [3] : f32
    %4 = tk.load %d[d2, d4] : tensor<32x8xf32> -> f32
    %5 = tk.load %c[d0, d4] : tensor<48x8xf32> -> f32
    %6 = arith.mulf %4, %5 : f32
    %7 = tk.reduce add %6 over [4] : f32
    %8 = tk.load %e[d2] : tensor<32xf32> -> f32
    %9 = arith.subf %7, %8 : f32
    %10 = arith.mulf %3, %9 : f32
    %11 = tk.load %a[d2, d1] : tensor<32x16xf32> -> f32
    %12 = arith.mulf %10, %11 : f32
    %13 = tk.reduce add %12 over [2] : f32
    tk.store %13, %r[d0, d1] : f32, tensor<48x16xf32>
  }
  func.return %gk : tensor<48x16xf32>
}
