// RUN: tilewright-opt %s -p merge-scatters --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p merge-scatters --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p 'merge-scatters{max_inputs=3}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=LIMIT

// The positions that both read are loaded once; the first copy of the target stays, the second one goes.
// CHECK-LABEL: @adds_twice
// CHECK-NEXT:    tk.kernel [9, 6] ins(%t, %i, %v, %w : tensor<9xf32>, tensor<6xi64>, tensor<6xf32>, tensor<6xf32>) -> (tensor<9xf32>) attributes {tk.name = "scatter_add-mul-scatter_add"}
// CHECK-NEXT:    ^{{.*}}(%[[T:.*]]: tensor<9xf32> {{.*}}, %[[I:.*]]: tensor<6xi64> {{.*}}, %[[V:.*]]: tensor<6xf32> {{.*}}, %[[W:.*]]: tensor<6xf32> {{.*}}, %[[O:.*]]: tensor<9xf32> {{.*}}):
// CHECK-NEXT:    %[[OLD:.*]] = tk.load %[[T]][d0]
// CHECK-NEXT:    tk.store %[[OLD]], %[[O]][d0]
// CHECK-NEXT:    %[[J:.*]] = tk.load %[[I]][d1]
// CHECK-NEXT:    %[[AT:.*]] = arith.index_cast %[[J]]
// CHECK-NEXT:    %[[A:.*]] = tk.load %[[V]][d1]
// CHECK-NEXT:    tk.store %[[A]], %[[O]][i0](%[[AT]]) over [1] combine add : f32, tensor<9xf32> loc("m.py":3:0)
// CHECK-NEXT:    %[[B:.*]] = tk.load %[[W]][d1]
// CHECK-NEXT:    tk.store %[[B]], %[[O]][i0](%[[AT]]) over [1] combine add : f32, tensor<9xf32> loc("m.py":4:0)
// CHECK-NEXT:    } loc("m.py":4:0)
// CHECK-NEXT:    return
// LIMIT: tk.kernel at {{.*}}: not one kernel with the scatter before it: the kernel would read 4 tensors, max-inputs is 3
func.func @adds_twice(%t: tensor<9xf32>, %i: tensor<6xi64>, %v: tensor<6xf32>, %w: tensor<6xf32>) -> tensor<9xf32> {
  %s = tk.kernel [9, 6] ins(%t, %i, %v : tensor<9xf32>, tensor<6xi64>, tensor<6xf32>) -> (tensor<9xf32>) attributes {tk.name = "scatter_add"} {
  ^bb0(%a: tensor<9xf32>, %b: tensor<6xi64>, %c: tensor<6xf32>, %o: tensor<9xf32>):
    %0 = tk.load %a[d0] : tensor<9xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<9xf32>
    %1 = tk.load %b[d1] : tensor<6xi64> -> i64
    %2 = arith.index_cast %1 : i64 to index
    %3 = tk.load %c[d1] : tensor<6xf32> -> f32
    tk.store %3, %o[i0](%2) over [1] combine add : f32, tensor<9xf32> loc("m.py":3:0)
  } loc("m.py":3:0)
  %r = tk.kernel [9, 6] ins(%w, %s, %i : tensor<6xf32>, tensor<9xf32>, tensor<6xi64>) -> (tensor<9xf32>) attributes {tk.name = "mul-scatter_add"} {
  ^bb0(%c: tensor<6xf32>, %a: tensor<9xf32>, %b: tensor<6xi64>, %o: tensor<9xf32>):
    %0 = tk.load %a[d0] : tensor<9xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<9xf32>
    %1 = tk.load %b[d1] : tensor<6xi64> -> i64
    %2 = arith.index_cast %1 : i64 to index
    %3 = tk.load %c[d1] : tensor<6xf32> -> f32
    tk.store %3, %o[i0](%2) over [1] combine add : f32, tensor<9xf32> loc("m.py":4:0)
  } loc("m.py":4:0)
  func.return %r : tensor<9xf32>
}

// -----

// REMARK: tk.kernel at {{.*}}: not one kernel with the scatter before it: its result has other readers
// CHECK-LABEL: @read_between
// CHECK-COUNT-2: tk.kernel
func.func @read_between(%t: tensor<9xf32>, %i: tensor<6xi64>, %v: tensor<6xf32>) -> (tensor<9xf32>, tensor<9xf32>) {
  %s = tk.kernel [9, 6] ins(%t, %i, %v : tensor<9xf32>, tensor<6xi64>, tensor<6xf32>) -> (tensor<9xf32>) {
  ^bb0(%a: tensor<9xf32>, %b: tensor<6xi64>, %c: tensor<6xf32>, %o: tensor<9xf32>):
    %0 = tk.load %a[d0] : tensor<9xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<9xf32>
    %1 = tk.load %b[d1] : tensor<6xi64> -> i64
    %2 = arith.index_cast %1 : i64 to index
    %3 = tk.load %c[d1] : tensor<6xf32> -> f32
    tk.store %3, %o[i0](%2) over [1] combine add : f32, tensor<9xf32>
  }
  %r = tk.kernel [9, 6] ins(%s, %i, %v : tensor<9xf32>, tensor<6xi64>, tensor<6xf32>) -> (tensor<9xf32>) {
  ^bb0(%a: tensor<9xf32>, %b: tensor<6xi64>, %c: tensor<6xf32>, %o: tensor<9xf32>):
    %0 = tk.load %a[d0] : tensor<9xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<9xf32>
    %1 = tk.load %b[d1] : tensor<6xi64> -> i64
    %2 = arith.index_cast %1 : i64 to index
    %3 = tk.load %c[d1] : tensor<6xf32> -> f32
    tk.store %3, %o[i0](%2) over [1] combine add : f32, tensor<9xf32>
  }
  func.return %s, %r : tensor<9xf32>, tensor<9xf32>
}

// -----

// Sums and extremes of one place depend on their order; so does which of two values replaces.
// REMARK: tk.kernel at {{.*}}: not one kernel with the scatter before it: one combines by `add`, the other one by `max`
// REMARK: tk.kernel at {{.*}}: not one kernel with the scatter before it: one combines by `max`, the other one by `any`
// REMARK: tk.kernel at {{.*}}: not one kernel with the scatter before it: of two values for one place the later one must remain
// CHECK-LABEL: @in_order
// CHECK-COUNT-4: tk.kernel
func.func @in_order(%t: tensor<9xf32>, %i: tensor<6xi64>, %v: tensor<6xf32>) -> tensor<9xf32> {
  %s = tk.kernel [9, 6] ins(%t, %i, %v : tensor<9xf32>, tensor<6xi64>, tensor<6xf32>) -> (tensor<9xf32>) {
  ^bb0(%a: tensor<9xf32>, %b: tensor<6xi64>, %c: tensor<6xf32>, %o: tensor<9xf32>):
    %0 = tk.load %a[d0] : tensor<9xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<9xf32>
    %1 = tk.load %b[d1] : tensor<6xi64> -> i64
    %2 = arith.index_cast %1 : i64 to index
    %3 = tk.load %c[d1] : tensor<6xf32> -> f32
    tk.store %3, %o[i0](%2) over [1] combine add : f32, tensor<9xf32>
  }
  %m = tk.kernel [9, 6] ins(%s, %i, %v : tensor<9xf32>, tensor<6xi64>, tensor<6xf32>) -> (tensor<9xf32>) {
  ^bb0(%a: tensor<9xf32>, %b: tensor<6xi64>, %c: tensor<6xf32>, %o: tensor<9xf32>):
    %0 = tk.load %a[d0] : tensor<9xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<9xf32>
    %1 = tk.load %b[d1] : tensor<6xi64> -> i64
    %2 = arith.index_cast %1 : i64 to index
    %3 = tk.load %c[d1] : tensor<6xf32> -> f32
    tk.store %3, %o[i0](%2) over [1] combine max : f32, tensor<9xf32>
  }
  %p = tk.kernel [9, 6] ins(%m, %i, %v : tensor<9xf32>, tensor<6xi64>, tensor<6xf32>) -> (tensor<9xf32>) {
  ^bb0(%a: tensor<9xf32>, %b: tensor<6xi64>, %c: tensor<6xf32>, %o: tensor<9xf32>):
    %0 = tk.load %a[d0] : tensor<9xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<9xf32>
    %1 = tk.load %b[d1] : tensor<6xi64> -> i64
    %2 = arith.index_cast %1 : i64 to index
    %3 = tk.load %c[d1] : tensor<6xf32> -> f32
    tk.store %3, %o[i0](%2) over [1] combine any : f32, tensor<9xf32>
  }
  %q = tk.kernel [9, 6] ins(%p, %i, %v : tensor<9xf32>, tensor<6xi64>, tensor<6xf32>) -> (tensor<9xf32>) {
  ^bb0(%a: tensor<9xf32>, %b: tensor<6xi64>, %c: tensor<6xf32>, %o: tensor<9xf32>):
    %0 = tk.load %a[d0] : tensor<9xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<9xf32>
    %1 = tk.load %b[d1] : tensor<6xi64> -> i64
    %2 = arith.index_cast %1 : i64 to index
    %3 = arith.constant 1.0 : f32
    tk.store %3, %o[i0](%2) over [1] combine any : f32, tensor<9xf32>
  }
  func.return %q : tensor<9xf32>
}

// -----

// REMARK: tk.kernel at {{.*}}: not one kernel with the scatter before it: they walk different spaces
// CHECK-LABEL: @unequal_lists
// CHECK-COUNT-2: tk.kernel
func.func @unequal_lists(%t: tensor<9xf32>, %i: tensor<6xi64>, %v: tensor<6xf32>, %j: tensor<5xi64>, %w: tensor<5xf32>) -> tensor<9xf32> {
  %s = tk.kernel [9, 6] ins(%t, %i, %v : tensor<9xf32>, tensor<6xi64>, tensor<6xf32>) -> (tensor<9xf32>) {
  ^bb0(%a: tensor<9xf32>, %b: tensor<6xi64>, %c: tensor<6xf32>, %o: tensor<9xf32>):
    %0 = tk.load %a[d0] : tensor<9xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<9xf32>
    %1 = tk.load %b[d1] : tensor<6xi64> -> i64
    %2 = arith.index_cast %1 : i64 to index
    %3 = tk.load %c[d1] : tensor<6xf32> -> f32
    tk.store %3, %o[i0](%2) over [1] combine add : f32, tensor<9xf32>
  }
  %r = tk.kernel [9, 5] ins(%s, %j, %w : tensor<9xf32>, tensor<5xi64>, tensor<5xf32>) -> (tensor<9xf32>) {
  ^bb0(%a: tensor<9xf32>, %b: tensor<5xi64>, %c: tensor<5xf32>, %o: tensor<9xf32>):
    %0 = tk.load %a[d0] : tensor<9xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<9xf32>
    %1 = tk.load %b[d1] : tensor<5xi64> -> i64
    %2 = arith.index_cast %1 : i64 to index
    %3 = tk.load %c[d1] : tensor<5xf32> -> f32
    tk.store %3, %o[i0](%2) over [1] combine add : f32, tensor<9xf32>
  }
  func.return %r : tensor<9xf32>
}

// -----

// What the first one has made is read at other places, too, by the second one.
// CHECK-LABEL: @reads_the_sums
// CHECK-COUNT-2: tk.kernel
func.func @reads_the_sums(%t: tensor<9xf32>, %i: tensor<6xi64>, %v: tensor<6xf32>) -> tensor<9xf32> {
  %s = tk.kernel [9, 6] ins(%t, %i, %v : tensor<9xf32>, tensor<6xi64>, tensor<6xf32>) -> (tensor<9xf32>) {
  ^bb0(%a: tensor<9xf32>, %b: tensor<6xi64>, %c: tensor<6xf32>, %o: tensor<9xf32>):
    %0 = tk.load %a[d0] : tensor<9xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<9xf32>
    %1 = tk.load %b[d1] : tensor<6xi64> -> i64
    %2 = arith.index_cast %1 : i64 to index
    %3 = tk.load %c[d1] : tensor<6xf32> -> f32
    tk.store %3, %o[i0](%2) over [1] combine add : f32, tensor<9xf32>
  }
  %r = tk.kernel [9, 6] ins(%s, %i : tensor<9xf32>, tensor<6xi64>) -> (tensor<9xf32>) {
  ^bb0(%a: tensor<9xf32>, %b: tensor<6xi64>, %o: tensor<9xf32>):
    %0 = tk.load %a[d0] : tensor<9xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<9xf32>
    %1 = tk.load %b[d1] : tensor<6xi64> -> i64
    %2 = arith.index_cast %1 : i64 to index
    %3 = tk.load %a[d1] : tensor<9xf32> -> f32
    tk.store %3, %o[i0](%2) over [1] combine add : f32, tensor<9xf32>
  }
  func.return %r : tensor<9xf32>
}
