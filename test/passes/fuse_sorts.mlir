// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,dce,fuse,dce --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse{far=true},dce' --split-input-file | filecheck %s --check-prefix=FAR
// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,dce,fuse,dce --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// What makes the keys joins a sort, and what reads what is sorted, also where it sums along the rows.
// CHECK-LABEL: @around
// CHECK: tk.kernel [4, 6]
// CHECK: math.exp
// CHECK: tk.sort %{{.*}} along 1 descending : f32
// CHECK: tk.reduce add %{{.*}} over [1]
// CHECK: arith.divf
// CHECK-NOT: tk.kernel
func.func @around(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xi64>) {
  %e = tw.exp %x : tensor<4x6xf32>
  %v, %i = tw.sort %e dim 1 descending : tensor<4x6xf32> -> tensor<4x6xf32>, tensor<4x6xi64>
  %s = tw.sum %v over [1] : tensor<4x6xf32> -> tensor<4xf32>
  %b = tw.broadcast %s dims [0] : tensor<4xf32> -> tensor<4x6xf32>
  %r = tw.div %v, %b : tensor<4x6xf32>
  func.return %r, %i : tensor<4x6xf32>, tensor<4x6xi64>
}

// -----

// Sums along the columns do not: their loop would have to be inside of the other one, and around it.
// CHECK-LABEL: @across
// CHECK-COUNT-2: = tk.kernel
// REMARK: both reduce, over different axes
func.func @across(%x: tensor<4x6xf32>) -> tensor<6xf32> {
  %v, %i = tw.sort %x dim 1 : tensor<4x6xf32> -> tensor<4x6xf32>, tensor<4x6xi64>
  %s = tw.sum %v over [0] : tensor<4x6xf32> -> tensor<6xf32>
  func.return %s : tensor<6xf32>
}

// -----

// Nor does what reads the first ones, of which there are fewer than the rows have, where loops walk all.
// CHECK-LABEL: @of_the_first
// CHECK-COUNT-2: = tk.kernel
func.func @of_the_first(%x: tensor<4x6xf32>) -> tensor<4x2xf32> {
  %v, %i = tw.sort %x dim 1 : tensor<4x6xf32> -> tensor<4x2xf32>, tensor<4x2xi64>
  %r = tw.exp %v : tensor<4x2xf32>
  func.return %r : tensor<4x2xf32>
}

// -----

// Running sums would take the lanes of a loop from all that is in it; a tile has none to lose.
// CHECK-LABEL: @running
// CHECK-COUNT-2: = tk.kernel
// REMARK: a scan stays alone
// FAR-LABEL: @running
// FAR: tk.kernel
// FAR: tk.sort %{{.*}} along 1 : f32
// FAR: tk.scan add %{{.*}} along 1 : f32
// FAR-NOT: tk.kernel
func.func @running(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %v, %i = tw.sort %x dim 1 : tensor<4x6xf32> -> tensor<4x6xf32>, tensor<4x6xi64>
  %c = tw.cumsum %v dim 1 : tensor<4x6xf32>
  func.return %c : tensor<4x6xf32>
}

// -----

// Every position is wanted, no value: none is stored.
// CHECK-LABEL: @positions
// FAR-LABEL: @positions
// CHECK: tk.kernel [4, 6] ins(%x : tensor<4x6xf32>) -> (tensor<4x6xi64>)
// CHECK: %{{.*}}, %[[I:.*]] = tk.sort
// CHECK-NEXT: %[[W:.*]] = arith.extsi %[[I]]
// CHECK-NEXT: tk.store %[[W]], %{{.*}} : i64, tensor<4x6xi64>
func.func @positions(%x: tensor<4x6xf32>) -> tensor<4x6xi64> {
  %v, %i = tw.sort %x dim 1 : tensor<4x6xf32> -> tensor<4x6xf32>, tensor<4x6xi64>
  func.return %i : tensor<4x6xi64>
}
