// RUN: tilewright-opt %s -p store-last --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p store-last --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p store-last --split-input-file --check-semantics -o /dev/null

// `r += x; y = softmax(r)`: the sum stands behind the maximum.
// CHECK-LABEL: @changed_and_normalized
// CHECK-NOT: tk.store %{{.*}}, %p
// CHECK: %[[H:.*]] = arith.addf
// CHECK: %[[S:.*]] = tk.reduce add
// CHECK: tk.store %{{.*}}, %q[d0, d1] :
// CHECK-NEXT: tk.store %[[H]], %p[d0, d1] after (%[[S]]) : f32, tensor<2x3xf32>
func.func @changed_and_normalized(%r: tensor<2x3xf32>, %x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %h, %y = tk.kernel [2, 3] ins(%r, %x : tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %p: tensor<2x3xf32>, %q: tensor<2x3xf32>):
    %0 = tk.load %a[d0, d1] : tensor<2x3xf32> -> f32
    %1 = tk.load %b[d0, d1] : tensor<2x3xf32> -> f32
    %2 = arith.addf %0, %1 : f32
    tk.store %2, %p[d0, d1] : f32, tensor<2x3xf32>
    %3 = tk.reduce max %2 over [1] : f32
    %4 = arith.subf %2, %3 : f32
    %5 = math.exp %4 : f32
    %6 = tk.reduce add %5 over [1] : f32
    %7 = arith.divf %5, %6 : f32
    tk.store %7, %q[d0, d1] : f32, tensor<2x3xf32>
  }
  tw.write %h into %r : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// -----

// A view of the argument is read, and a view of the result written; two extremes stand beside each other.
// CHECK-LABEL: @views_of_it
// CHECK: tk.store %{{.*}}, %q[d0, d1] :
// CHECK-NEXT: tk.store %{{.*}}, %p[d0, d1] after (%{{.*}}, %{{.*}}) : f32, tensor<2x3xf32>
func.func @views_of_it(%r: tensor<6xf32>) -> tensor<2x3xf32> {
  %v = tw.reshape %r : tensor<6xf32> -> tensor<2x3xf32>
  %h, %y = tk.kernel [2, 3] ins(%v : tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  ^bb0(%a: tensor<2x3xf32>, %p: tensor<2x3xf32>, %q: tensor<2x3xf32>):
    %0 = tk.load %a[d0, d1] : tensor<2x3xf32> -> f32
    %1 = arith.negf %0 : f32
    tk.store %1, %p[d0, d1] : f32, tensor<2x3xf32>
    %2 = tk.reduce max %0 over [1] : f32
    %3 = tk.reduce min %0 over [1] : f32
    %4 = arith.subf %0, %2 : f32
    %5 = arith.subf %4, %3 : f32
    tk.store %5, %q[d0, d1] : f32, tensor<2x3xf32>
  }
  %w = tw.reshape %h : tensor<2x3xf32> -> tensor<6xf32>
  tw.write %w into %r : tensor<6xf32>
  func.return %y : tensor<2x3xf32>
}

// -----

// What is written waits for the sum anyway; so does a kernel that does not read what it changes.
// CHECK-LABEL: @waits_already
// CHECK-NOT: after
func.func @waits_already(%r: tensor<2x3xf32>, %s: tensor<2x3xf32>) -> tensor<2xf32> {
  %h, %y = tk.kernel [2, 3] ins(%r : tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>) {
  ^bb0(%a: tensor<2x3xf32>, %p: tensor<2x3xf32>, %q: tensor<2xf32>):
    %0 = tk.load %a[d0, d1] : tensor<2x3xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    %2 = arith.divf %0, %1 : f32
    tk.store %2, %p[d0, d1] : f32, tensor<2x3xf32>
    tk.store %1, %q[d0] : f32, tensor<2xf32>
  }
  %g, %z = tk.kernel [2, 3] ins(%r : tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  ^bb0(%a: tensor<2x3xf32>, %p: tensor<2x3xf32>, %q: tensor<2x3xf32>):
    %0 = tk.load %a[d0, d1] : tensor<2x3xf32> -> f32
    tk.store %0, %p[d0, d1] : f32, tensor<2x3xf32>
    %1 = tk.reduce add %0 over [1] : f32
    %2 = arith.divf %0, %1 : f32
    tk.store %2, %q[d0, d1] : f32, tensor<2x3xf32>
  }
  tw.write %h into %r : tensor<2x3xf32>
  tw.write %g into %s : tensor<2x3xf32>
  func.return %y : tensor<2xf32>
}

// -----

// A slice of the argument is changed; what lies beside it is read as well.
// CHECK-LABEL: @a_slice_of_it
// CHECK: tk.store %{{.*}}, %p[d0, d1] after (%{{.*}}) : f32, tensor<2x3xf32>
func.func @a_slice_of_it(%r: tensor<2x6xf32>) -> tensor<2x3xf32> {
  %s = tw.slice %r starts "0, 0" steps "1, 1" : tensor<2x6xf32> -> tensor<2x3xf32>
  %t = tw.slice %r starts "0, 3" steps "1, 1" : tensor<2x6xf32> -> tensor<2x3xf32>
  %h, %y = tk.kernel [2, 3] ins(%s, %t : tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %p: tensor<2x3xf32>, %q: tensor<2x3xf32>):
    %0 = tk.load %a[d0, d1] : tensor<2x3xf32> -> f32
    %1 = tk.load %b[d0, d1] : tensor<2x3xf32> -> f32
    %2 = arith.addf %0, %1 : f32
    tk.store %2, %p[d0, d1] : f32, tensor<2x3xf32>
    %3 = tk.reduce add %2 over [1] : f32
    %4 = arith.divf %2, %3 : f32
    tk.store %4, %q[d0, d1] : f32, tensor<2x3xf32>
  }
  tw.write %h into %s : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// -----

// What a row has in common is stored when its sum is known.
// CHECK-LABEL: @a_number_of_a_row
// CHECK: %[[S:.*]] = tk.reduce add
// CHECK: tk.store %{{.*}}, %p[d0] after (%[[S]]) : f32, tensor<2xf32>
func.func @a_number_of_a_row(%r: tensor<2xf32>, %x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %h, %y = tk.kernel [2, 3] ins(%r, %x : tensor<2xf32>, tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2x3xf32>) {
  ^bb0(%a: tensor<2xf32>, %b: tensor<2x3xf32>, %p: tensor<2xf32>, %q: tensor<2x3xf32>):
    %0 = tk.load %a[d0] : tensor<2xf32> -> f32
    %1 = tk.load %b[d0, d1] : tensor<2x3xf32> -> f32
    tk.store %0, %p[d0] : f32, tensor<2xf32>
    %2 = arith.mulf %0, %1 : f32
    %3 = tk.reduce add %2 over [1] : f32
    %4 = arith.divf %2, %3 : f32
    tk.store %4, %q[d0, d1] : f32, tensor<2x3xf32>
  }
  tw.write %h into %r : tensor<2xf32>
  func.return %y : tensor<2x3xf32>
}

// -----

// Loops over rows in columns, and over columns in rows, read each for themselves.
// CHECK-LABEL: @by_rows_and_by_columns
// CHECK-NOT: after
// REMARK: tk.store at {{.*}}: no loop stores each element once, behind all that is reduced
func.func @by_rows_and_by_columns(%r: tensor<2x3xf32>) -> (tensor<2xf32>, tensor<3xf32>) {
  %h, %y, %z = tk.kernel [2, 3] ins(%r : tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>) {
  ^bb0(%a: tensor<2x3xf32>, %p: tensor<2x3xf32>, %q: tensor<2xf32>, %u: tensor<3xf32>):
    %0 = tk.load %a[d0, d1] : tensor<2x3xf32> -> f32
    %1 = arith.negf %0 : f32
    tk.store %1, %p[d0, d1] : f32, tensor<2x3xf32>
    %2 = tk.reduce add %0 over [1] : f32
    tk.store %2, %q[d0] : f32, tensor<2xf32>
    %3 = tk.reduce add %0 over [0] : f32
    tk.store %3, %u[d1] : f32, tensor<3xf32>
  }
  tw.write %h into %r : tensor<2x3xf32>
  func.return %y, %z : tensor<2xf32>, tensor<3xf32>
}

// -----

// CHECK-LABEL: @reads_at_indices
// CHECK-NOT: after
// REMARK: tw.write at {{.*}}: what it changes is read at indices
func.func @reads_at_indices(%r: tensor<2x3xf32>, %i: tensor<2xi64>) -> tensor<2x3xf32> {
  %h, %y = tk.kernel [2, 3] ins(%r, %i : tensor<2x3xf32>, tensor<2xi64>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<2xi64>, %p: tensor<2x3xf32>, %q: tensor<2x3xf32>):
    %0 = tk.load %b[d0] : tensor<2xi64> -> i64
    %1 = arith.constant 1 : i64
    %2 = arith.andi %0, %1 : i64
    %3 = arith.index_cast %2 : i64 to index
    %4 = tk.load %a[i0, d1](%3) : tensor<2x3xf32> -> f32
    tk.store %4, %p[d0, d1] : f32, tensor<2x3xf32>
    %5 = tk.reduce add %4 over [1] : f32
    %6 = arith.divf %4, %5 : f32
    tk.store %6, %q[d0, d1] : f32, tensor<2x3xf32>
  }
  tw.write %h into %r : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: @changed_in_part
// CHECK-NOT: after
// REMARK: tw.write at {{.*}}: what it changes is stored to several times, or in part
func.func @changed_in_part(%r: tensor<2x3xf32>, %x: tensor<2x2xf32>) -> tensor<2x3xf32> {
  %h, %y = tk.kernel [2, 3] ins(%r : tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  ^bb0(%a: tensor<2x3xf32>, %p: tensor<2x3xf32>, %q: tensor<2x3xf32>):
    %0 = tk.load %a[d0, d1] : tensor<2x3xf32> -> f32
    tk.store %0, %p[d0, d1] : f32, tensor<2x3xf32>
    %1 = tk.reduce add %0 over [1] : f32
    tk.store %1, %p[0, d1] combine add : f32, tensor<2x3xf32>
    %2 = arith.divf %0, %1 : f32
    tk.store %2, %q[d0, d1] : f32, tensor<2x3xf32>
  }
  tw.write %h into %r : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
