// RUN: tilewright-opt %s -p bufferize --split-input-file | filecheck %s

// What a scatter adds to may be computed where it lies, and so goes to the argument itself.

// CHECK-LABEL: func.func @into_the_argument
// CHECK-NEXT: th.launch @adds(%x, %i, %v) into(%x)
// CHECK: tk.func @adds [4, 3] {{.*}} attributes {tk.inplace = [array<i64: 0, 0>]}
func.func @into_the_argument(%x: tensor<4xf32>, %i: tensor<3xi64>, %v: tensor<3xf32>) {
  %0 = tk.kernel [4, 3] ins(%x, %i, %v : tensor<4xf32>, tensor<3xi64>, tensor<3xf32>) -> (tensor<4xf32>) attributes {tk.name = "adds"} {
  ^bb0(%a: tensor<4xf32>, %at: tensor<3xi64>, %w: tensor<3xf32>, %o: tensor<4xf32>):
    %2 = tk.load %a[d0] : tensor<4xf32> -> f32
    tk.store %2, %o[d0] : f32, tensor<4xf32>
    %4 = tk.load %at[d1] : tensor<3xi64> -> i64
    %5 = arith.index_cast %4 : i64 to index
    %6 = tk.load %w[d1] : tensor<3xf32> -> f32
    tk.store %6, %o[i0](%5) combine add : f32, tensor<4xf32>
  }
  tw.write %0 into %x : tensor<4xf32>
  func.return
}

// -----

// A view of the argument is its memory: pages of a cache, seen as slots.

// CHECK-LABEL: func.func @into_a_view_of_the_argument
// CHECK-NEXT: th.launch @puts(%x, %i, %v) into(%x)
// CHECK-NEXT: return
func.func @into_a_view_of_the_argument(%x: tensor<2x3xf32>, %i: tensor<4xi64>, %v: tensor<4xf32>) {
  %0 = tk.kernel [2, 3, 4] ins(%x, %i, %v : tensor<2x3xf32>, tensor<4xi64>, tensor<4xf32>) -> (tensor<6xf32>) attributes {tk.name = "puts"} {
  ^bb0(%a: tensor<2x3xf32>, %at: tensor<4xi64>, %w: tensor<4xf32>, %o: tensor<6xf32>):
    %2 = tk.load %a[d0, d1] : tensor<2x3xf32> -> f32
    tk.store %2, %o[d0*3 + d1] : f32, tensor<6xf32>
    %4 = tk.load %at[d2] : tensor<4xi64> -> i64
    %5 = arith.index_cast %4 : i64 to index
    %6 = tk.load %w[d2] : tensor<4xf32> -> f32
    tk.store %6, %o[i0](%5) over [2] combine any : f32, tensor<6xf32>
  }
  %1 = tw.reshape %0 : tensor<6xf32> -> tensor<2x3xf32>
  tw.write %1 into %x : tensor<2x3xf32>
  func.return
}

// -----

// The old value is needed later.

// CHECK-LABEL: func.func @read_later
// CHECK: %[[O:.*]] = th.alloc "4"
// CHECK-NEXT: th.launch @adds(%x, %i) into(%[[O]])
func.func @read_later(%x: tensor<4xf32>, %i: tensor<3xi64>) -> tensor<4xf32> {
  %0 = tk.kernel [4, 3] ins(%x, %i : tensor<4xf32>, tensor<3xi64>) -> (tensor<4xf32>) attributes {tk.name = "adds"} {
  ^bb0(%a: tensor<4xf32>, %at: tensor<3xi64>, %o: tensor<4xf32>):
    %2 = tk.load %a[d0] : tensor<4xf32> -> f32
    tk.store %2, %o[d0] : f32, tensor<4xf32>
    %4 = tk.load %at[d1] : tensor<3xi64> -> i64
    %5 = arith.index_cast %4 : i64 to index
    %6 = arith.constant 1.0 : f32
    tk.store %6, %o[i0](%5) combine add : f32, tensor<4xf32>
  }
  %1 = tk.kernel [4] ins(%x : tensor<4xf32>) -> (tensor<4xf32>) attributes {tk.name = "neg"} {
  ^bb0(%a: tensor<4xf32>, %o: tensor<4xf32>):
    %2 = tk.load %a[d0] : tensor<4xf32> -> f32
    %3 = arith.negf %2 : f32
    tk.store %3, %o[d0] : f32, tensor<4xf32>
  }
  tw.write %0 into %x : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

// What is added comes from the old value, of which the loop of the additions would read sums.

// CHECK-LABEL: func.func @adds_itself
// CHECK: %[[O:.*]] = th.alloc "4"
// CHECK-NEXT: th.launch @adds(%x, %i) into(%[[O]])
// CHECK: tk.func @adds [4, 4] ({{.*}}) {
func.func @adds_itself(%x: tensor<4xf32>, %i: tensor<4xi64>) {
  %0 = tk.kernel [4, 4] ins(%x, %i : tensor<4xf32>, tensor<4xi64>) -> (tensor<4xf32>) attributes {tk.name = "adds"} {
  ^bb0(%a: tensor<4xf32>, %at: tensor<4xi64>, %o: tensor<4xf32>):
    %2 = tk.load %a[d0] : tensor<4xf32> -> f32
    tk.store %2, %o[d0] : f32, tensor<4xf32>
    %4 = tk.load %at[d1] : tensor<4xi64> -> i64
    %5 = arith.index_cast %4 : i64 to index
    %6 = arith.negf %2 : f32
    tk.store %6, %o[i0](%5) combine add : f32, tensor<4xf32>
  }
  tw.write %0 into %x : tensor<4xf32>
  func.return
}

// -----

// So do positions, and with them the check, which runs in the last loop.

// CHECK: tk.func @checks [4, 4] ({{.*}}) {
func.func @checked_by_the_old_value(%x: tensor<4xi64>) -> tensor<4xi64> {
  %0 = tk.kernel [4, 4] ins(%x : tensor<4xi64>) -> (tensor<4xi64>) attributes {tk.name = "checks"} {
  ^bb0(%a: tensor<4xi64>, %o: tensor<4xi64>):
    %2 = tk.load %a[d0] : tensor<4xi64> -> i64
    tk.store %2, %o[d0] : i64, tensor<4xi64>
    %3 = arith.constant 4 : i64
    %4 = arith.cmpi ult, %2, %3 : i64
    tk.assert %4 "index out of range" : i1
    %5 = arith.constant 0 : index
    tk.store %3, %o[i0](%5) combine add : i64, tensor<4xi64>
  }
  func.return %0 : tensor<4xi64>
}

// -----

// The copy is transposed.

// CHECK: tk.func @turns [2, 2, 1] ({{.*}}) {
func.func @transposed_copy(%x: tensor<2x2xf32>, %i: tensor<1xi64>) -> tensor<2x2xf32> {
  %0 = tk.kernel [2, 2, 1] ins(%x, %i : tensor<2x2xf32>, tensor<1xi64>) -> (tensor<2x2xf32>) attributes {tk.name = "turns"} {
  ^bb0(%a: tensor<2x2xf32>, %at: tensor<1xi64>, %o: tensor<2x2xf32>):
    %2 = tk.load %a[d1, d0] : tensor<2x2xf32> -> f32
    tk.store %2, %o[d0, d1] : f32, tensor<2x2xf32>
    %4 = tk.load %at[d2] : tensor<1xi64> -> i64
    %5 = arith.index_cast %4 : i64 to index
    %6 = arith.constant 1.0 : f32
    tk.store %6, %o[i0, d1](%5) combine add : f32, tensor<2x2xf32>
  }
  func.return %0 : tensor<2x2xf32>
}

// -----

// One after the other, both where the argument lies; nobody reads the first result after the second scatter.

// CHECK-LABEL: func.func @twice_into_the_argument
// CHECK: th.launch @put(%x, %i) into(%x)
// CHECK: th.launch @put_1(%x, %j) into(%x)
// CHECK-NOT: th.launch
// CHECK-LABEL: func.func @read_after_the_second
// CHECK: th.launch @put_2(%x, %i) into(%[[T:.*]]) :
// CHECK: th.launch @put_3(%[[T]], %j) into(%x)
builtin.module {
  func.func @twice_into_the_argument(%x: tensor<4xf32>, %i: tensor<1xi64>, %j: tensor<1xi64>) {
    %0 = tk.kernel [4, 1] ins(%x, %i : tensor<4xf32>, tensor<1xi64>) -> (tensor<4xf32>) attributes {tk.name = "put"} {
    ^bb0(%a: tensor<4xf32>, %at: tensor<1xi64>, %o: tensor<4xf32>):
      %2 = tk.load %a[d0] : tensor<4xf32> -> f32
      tk.store %2, %o[d0] : f32, tensor<4xf32>
      %4 = tk.load %at[d1] : tensor<1xi64> -> i64
      %5 = arith.index_cast %4 : i64 to index
      %6 = arith.constant 1.0 : f32
      tk.store %6, %o[i0](%5) combine add : f32, tensor<4xf32>
    }
    %1 = tk.kernel [4, 1] ins(%0, %j : tensor<4xf32>, tensor<1xi64>) -> (tensor<4xf32>) attributes {tk.name = "put"} {
    ^bb0(%a: tensor<4xf32>, %at: tensor<1xi64>, %o: tensor<4xf32>):
      %2 = tk.load %a[d0] : tensor<4xf32> -> f32
      tk.store %2, %o[d0] : f32, tensor<4xf32>
      %4 = tk.load %at[d1] : tensor<1xi64> -> i64
      %5 = arith.index_cast %4 : i64 to index
      %6 = arith.constant 1.0 : f32
      tk.store %6, %o[i0](%5) combine add : f32, tensor<4xf32>
    }
    tw.write %1 into %x : tensor<4xf32>
    func.return
  }
  func.func @read_after_the_second(%x: tensor<4xf32>, %i: tensor<1xi64>, %j: tensor<1xi64>) -> tensor<4xf32> {
    %0 = tk.kernel [4, 1] ins(%x, %i : tensor<4xf32>, tensor<1xi64>) -> (tensor<4xf32>) attributes {tk.name = "put"} {
    ^bb0(%a: tensor<4xf32>, %at: tensor<1xi64>, %o: tensor<4xf32>):
      %2 = tk.load %a[d0] : tensor<4xf32> -> f32
      tk.store %2, %o[d0] : f32, tensor<4xf32>
      %4 = tk.load %at[d1] : tensor<1xi64> -> i64
      %5 = arith.index_cast %4 : i64 to index
      %6 = arith.constant 1.0 : f32
      tk.store %6, %o[i0](%5) combine add : f32, tensor<4xf32>
    }
    %1 = tk.kernel [4, 1] ins(%0, %j : tensor<4xf32>, tensor<1xi64>) -> (tensor<4xf32>) attributes {tk.name = "put"} {
    ^bb0(%a: tensor<4xf32>, %at: tensor<1xi64>, %o: tensor<4xf32>):
      %2 = tk.load %a[d0] : tensor<4xf32> -> f32
      tk.store %2, %o[d0] : f32, tensor<4xf32>
      %4 = tk.load %at[d1] : tensor<1xi64> -> i64
      %5 = arith.index_cast %4 : i64 to index
      %6 = arith.constant 1.0 : f32
      tk.store %6, %o[i0](%5) combine add : f32, tensor<4xf32>
    }
    tw.write %1 into %x : tensor<4xf32>
    %3 = tk.kernel [4] ins(%0 : tensor<4xf32>) -> (tensor<4xf32>) attributes {tk.name = "exp"} {
    ^bb0(%a: tensor<4xf32>, %o: tensor<4xf32>):
      %2 = tk.load %a[d0] : tensor<4xf32> -> f32
      %4 = math.exp %2 : f32
      tk.store %4, %o[d0] : f32, tensor<4xf32>
    }
    func.return %3 : tensor<4xf32>
  }
}

// -----

// The same kernel makes what it adds, of rows that it reduces, and stores that, too.

// CHECK-LABEL: func.func @made_where_it_is_added
// CHECK: th.launch @adds(%x, %i, %v) into(%x, %{{.*}})
// CHECK: tk.func @adds [4, 2, 3] {{.*}} attributes {tk.inplace = [array<i64: 0, 0>]}
func.func @made_where_it_is_added(%x: tensor<4x2xf32>, %i: tensor<3xi64>, %v: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %0, %1 = tk.kernel [4, 2, 3] ins(%x, %i, %v : tensor<4x2xf32>, tensor<3xi64>, tensor<3x2xf32>) -> (tensor<4x2xf32>, tensor<3x2xf32>) attributes {tk.name = "adds"} {
  ^bb0(%a: tensor<4x2xf32>, %at: tensor<3xi64>, %w: tensor<3x2xf32>, %o: tensor<4x2xf32>, %p: tensor<3x2xf32>):
    %2 = tk.load %w[d2, d1] : tensor<3x2xf32> -> f32
    %3 = tk.reduce add %2 over [1] : f32
    %4 = arith.subf %2, %3 : f32
    tk.store %4, %p[d2, d1] : f32, tensor<3x2xf32>
    %5 = tk.load %a[d0, d1] : tensor<4x2xf32> -> f32
    tk.store %5, %o[d0, d1] : f32, tensor<4x2xf32>
    %6 = tk.load %at[d2] : tensor<3xi64> -> i64
    %7 = arith.index_cast %6 : i64 to index
    tk.store %4, %o[i0, d1](%7) combine add : f32, tensor<4x2xf32>
  }
  tw.write %0 into %x : tensor<4x2xf32>
  func.return %1 : tensor<3x2xf32>
}

// -----

// Another result needs the old value, too, or the copy is of what is reduced.

// CHECK-LABEL: func.func @two_need_it
// CHECK: tk.func @twice [4, 3] ({{.*}}) {
// CHECK: tk.func @reduced [4, 3] ({{.*}}) {
func.func @two_need_it(%x: tensor<4xf32>, %y: tensor<4x3xf32>, %i: tensor<3xi64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x3xf32>) {
  %0, %1 = tk.kernel [4, 3] ins(%x, %i : tensor<4xf32>, tensor<3xi64>) -> (tensor<4xf32>, tensor<4xf32>) attributes {tk.name = "twice"} {
  ^bb0(%a: tensor<4xf32>, %at: tensor<3xi64>, %o: tensor<4xf32>, %p: tensor<4xf32>):
    %2 = tk.load %a[d0] : tensor<4xf32> -> f32
    tk.store %2, %o[d0] : f32, tensor<4xf32>
    %3 = arith.negf %2 : f32
    tk.store %3, %p[d0] : f32, tensor<4xf32>
    %4 = tk.load %at[d1] : tensor<3xi64> -> i64
    %5 = arith.index_cast %4 : i64 to index
    tk.store %3, %o[i0](%5) combine add : f32, tensor<4xf32>
  }
  %2 = tk.kernel [4, 3] ins(%y, %i : tensor<4x3xf32>, tensor<3xi64>) -> (tensor<4x3xf32>) attributes {tk.name = "reduced"} {
  ^bb0(%a: tensor<4x3xf32>, %at: tensor<3xi64>, %o: tensor<4x3xf32>):
    %3 = tk.load %a[d0, d1] : tensor<4x3xf32> -> f32
    %4 = tk.reduce add %3 over [1] : f32
    %5 = arith.subf %3, %4 : f32
    tk.store %5, %o[d0, d1] : f32, tensor<4x3xf32>
    %6 = tk.load %at[d1] : tensor<3xi64> -> i64
    %7 = arith.index_cast %6 : i64 to index
    %8 = arith.constant 1.0 : f32
    tk.store %8, %o[d0, i0](%7) combine add : f32, tensor<4x3xf32>
  }
  func.return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4x3xf32>
}
