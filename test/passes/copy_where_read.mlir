// RUN: tilewright-opt %s -p copy-where-read --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p copy-where-read --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p copy-where-read,bufferize --split-input-file | filecheck %s --check-prefix=PLAN
// RUN: tilewright-opt %s -p copy-where-read --split-input-file --print-debuginfo | filecheck %s --check-prefix=LOC
// RUN: tilewright-opt %s -p copy-where-read --split-input-file --check-semantics -o /dev/null

// CHECK-LABEL: @transpose_of_an_argument
// CHECK:      %y, %[[C:.*]] = tk.kernel [8, 6] ins(%x : tensor<8x6xf32>) -> (tensor<8x6xf32>, tensor<8x6xf32>)
// CHECK:      %[[X:.*]] = tk.load %{{.*}}[d0, d1]
// CHECK-NEXT: tk.store %[[X]], %{{.*}}[d0, d1]
// CHECK:      %[[T:.*]] = tw.transpose %[[C]] by [1, 0]
// CHECK:      return %y, %[[T]]
// LOC:        tk.store {{.*}} loc("m.py":4:0)
// PLAN-LABEL: func.func @transpose_of_an_argument
// PLAN-COUNT-1: th.launch
// PLAN-NOT:   th.launch
// PLAN:       tk.store {{.*}}[d0 + d1*8]
func.func @transpose_of_an_argument(%x: tensor<8x6xf32>) -> (tensor<8x6xf32>, tensor<6x8xf32>) {
  %y = tk.kernel [8, 6] ins(%x : tensor<8x6xf32>) -> (tensor<8x6xf32>) {
  ^bb0(%a: tensor<8x6xf32>, %o: tensor<8x6xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x6xf32> -> f32 loc("m.py":4:0)
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<8x6xf32>
  }
  %t = tw.transpose %x by [1, 0] : tensor<8x6xf32> -> tensor<6x8xf32>
  func.return %y, %t : tensor<8x6xf32>, tensor<6x8xf32>
}

// -----

// What a library makes, read by columns; returned twice as one memory, and once as another.

// CHECK-LABEL: @product
// CHECK:      %[[M:.*]] = tw.matmul
// CHECK:      %y, %[[C:.*]], %[[D:.*]] = tk.kernel [6, 8]
// CHECK:      tk.store %{{.*}}, %{{.*}}[d1, d0]
// CHECK:      tk.store %{{.*}}, %{{.*}}[d1, d0]
// CHECK-DAG:  %[[T:.*]] = tw.transpose %[[C]]
// CHECK-DAG:  %[[U:.*]] = tw.transpose %[[D]]
// CHECK:      return %y, %{{.*}}, %{{.*}}, %{{.*}}
func.func @product(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>)
    -> (tensor<6x8xf32>, tensor<6x8xf32> {tw.memory = 1 : i64}, tensor<6x8xf32> {tw.memory = 1 : i64}, tensor<6x8xf32> {tw.memory = 2 : i64}) {
  %m = tw.matmul %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %y = tk.kernel [6, 8] ins(%m : tensor<8x6xf32>) -> (tensor<6x8xf32>) {
  ^bb0(%a: tensor<8x6xf32>, %o: tensor<6x8xf32>):
    %0 = tk.load %a[d1, d0] : tensor<8x6xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<6x8xf32>
  }
  %t = tw.transpose %m by [1, 0] : tensor<8x6xf32> -> tensor<6x8xf32>
  func.return %y, %t, %t, %t : tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>
}

// -----

// No kernel reads it, one holds its rows for their sums, and one reads half of it.

// CHECK-LABEL: @nobody_has_each_once
// CHECK:      tk.kernel [8, 6] ins(%y : tensor<8x6xf32>) -> (tensor<8xf32>)
// CHECK:      tk.kernel [4, 6] ins(%z : tensor<8x6xf32>) -> (tensor<4x6xf32>)
// REMARK:     func.return at {{.*}}: a result is copied alone: no kernel has each of its elements once (3x)
func.func @nobody_has_each_once(%x: tensor<8x6xf32>, %y: tensor<8x6xf32>, %z: tensor<8x6xf32>)
    -> (tensor<8xf32>, tensor<4x6xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>) {
  %s = tk.kernel [8, 6] ins(%y : tensor<8x6xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<8x6xf32>, %o: tensor<8xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x6xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    tk.store %1, %o[d0] : f32, tensor<8xf32>
  }
  %h = tk.kernel [4, 6] ins(%z : tensor<8x6xf32>) -> (tensor<4x6xf32>) {
  ^bb0(%a: tensor<8x6xf32>, %o: tensor<4x6xf32>):
    %0 = tk.load %a[d0*2, d1] : tensor<8x6xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<4x6xf32>
  }
  %t = tw.transpose %x by [1, 0] : tensor<8x6xf32> -> tensor<6x8xf32>
  %u = tw.transpose %y by [1, 0] : tensor<8x6xf32> -> tensor<6x8xf32>
  %v = tw.transpose %z by [1, 0] : tensor<8x6xf32> -> tensor<6x8xf32>
  func.return %s, %h, %t, %u, %v : tensor<8xf32>, tensor<4x6xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>
}

// -----

// Half of it is returned; what a kernel stores is no argument's.

// CHECK-LABEL: @part
// CHECK:      %y = tk.kernel [8, 6] ins(%x : tensor<8x6xf32>) -> (tensor<8x6xf32>)
// REMARK:     func.return at {{.*}}: a result is copied alone: it is part of a tensor, or repeats some
func.func @part(%x: tensor<8x6xf32>) -> (tensor<8x6xf32>, tensor<8x3xf32>, tensor<6x8xf32>) {
  %y = tk.kernel [8, 6] ins(%x : tensor<8x6xf32>) -> (tensor<8x6xf32>) {
  ^bb0(%a: tensor<8x6xf32>, %o: tensor<8x6xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x6xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<8x6xf32>
  }
  %h = tw.slice %x starts "0, 3" steps "1, 1" : tensor<8x6xf32> -> tensor<8x3xf32>
  %t = tw.transpose %y by [1, 0] : tensor<8x6xf32> -> tensor<6x8xf32>
  func.return %y, %h, %t : tensor<8x6xf32>, tensor<8x3xf32>, tensor<6x8xf32>
}

// -----

// A kernel that scatters to where %x is, perhaps, would read what other programs have changed.

// CHECK-LABEL: @scattered_meanwhile
// CHECK:      %y = tk.kernel [8, 6, 2]
// REMARK:     func.return at {{.*}}: a result is copied alone: no kernel has each of its elements once
func.func @scattered_meanwhile(%x: tensor<8x6xf32>, %i: tensor<2xi64>) -> (tensor<8x6xf32>, tensor<6x8xf32>) {
  %y = tk.kernel [8, 6, 2] ins(%x, %i : tensor<8x6xf32>, tensor<2xi64>) -> (tensor<8x6xf32>) {
  ^bb0(%a: tensor<8x6xf32>, %at: tensor<2xi64>, %o: tensor<8x6xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x6xf32> -> f32
    tk.store %0, %o[d0, d1] : f32, tensor<8x6xf32>
    %1 = arith.constant 1.0 : f32
    %2 = tk.load %at[d2] : tensor<2xi64> -> i64
    %3 = arith.index_cast %2 : i64 to index
    tk.store %1, %o[i0, d1](%3) : f32, tensor<8x6xf32>
  }
  %t = tw.transpose %x by [1, 0] : tensor<8x6xf32> -> tensor<6x8xf32>
  func.return %y, %t : tensor<8x6xf32>, tensor<6x8xf32>
}
