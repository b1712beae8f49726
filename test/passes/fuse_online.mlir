// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse{far=true column=8},dce' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse{column=8},dce' --split-input-file | filecheck %s --check-prefix=NEAR
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse{far=true column=8}' --split-input-file --verify-locations
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse{far=true column=8}' --split-input-file --check-semantics

// Columns that no program holds. Their maxima and the sums below these will be found in one walk, whatever
// else reads the exponentials: that kernel makes them again. Caches are walked as they were.

// CHECK-LABEL: @softmax
// CHECK:      %[[M:.*]], %[[S:.*]] = tk.kernel [2, 17, 5] ins(%x : tensor<2x17x5xf32>) -> (tensor<2x5xf32>, tensor<2x5xf32>)
// CHECK:      tk.reduce max %[[X:.*]] over [1]
// CHECK:      %[[D:.*]] = arith.subf %[[X]],
// CHECK-NEXT: %[[E:.*]] = math.exp %[[D]]
// CHECK-NEXT: tk.reduce add %[[E]] over [1]
// CHECK:      tk.kernel [2, 17, 5] ins(%x, %[[M]], %[[S]]
// CHECK:      math.exp
// CHECK-NOT:  tk.kernel
// NEAR-LABEL: @softmax
// NEAR:       tk.kernel [2, 17, 5] ins(%x : tensor<2x17x5xf32>) -> (tensor<2x5xf32>)
func.func @softmax(%x: tensor<2x17x5xf32>) -> tensor<2x17x5xf32> {
  %m = tw.max %x over [1] : tensor<2x17x5xf32> -> tensor<2x5xf32>
  %b = tw.broadcast %m dims [0, 2] : tensor<2x5xf32> -> tensor<2x17x5xf32>
  %d = tw.sub %x, %b : tensor<2x17x5xf32>
  %e = tw.exp %d : tensor<2x17x5xf32>
  %s = tw.sum %e over [1] : tensor<2x17x5xf32> -> tensor<2x5xf32>
  %c = tw.broadcast %s dims [0, 2] : tensor<2x5xf32> -> tensor<2x17x5xf32>
  %r = tw.div %e, %c : tensor<2x17x5xf32>
  func.return %r : tensor<2x17x5xf32>
}

// -----

// What is subtracted may be 0 in the place of a maximum.

// CHECK-LABEL: @finite
// CHECK:      = tk.kernel [5, 17]
// CHECK:      tk.reduce max
// CHECK:      tk.reduce add
// CHECK-NOT:  tk.kernel
func.func @finite(%x: tensor<17x5xf32>) -> tensor<5xf32> {
  %m = tw.max %x over [0] : tensor<17x5xf32> -> tensor<5xf32>
  %i = tw.full 0x7F800000 : f32 -> tensor<5xf32>
  %a = tw.abs %m : tensor<5xf32>
  %q = tw.compare eq %a, %i : tensor<5xf32> -> tensor<5xi1>
  %z = tw.full 0.0 : f32 -> tensor<5xf32>
  %f = tw.select %q, %z, %m : tensor<5xi1>, tensor<5xf32>
  %b = tw.broadcast %f dims [1] : tensor<5xf32> -> tensor<17x5xf32>
  %d = tw.sub %x, %b : tensor<17x5xf32>
  %e = tw.exp %d : tensor<17x5xf32>
  %s = tw.sum %e over [0] : tensor<17x5xf32> -> tensor<5xf32>
  %l = tw.log %s : tensor<5xf32>
  %r = tw.add %l, %f : tensor<5xf32>
  func.return %r : tensor<5xf32>
}

// -----

// Two walks over a column are two, below a minimum.

// CHECK-LABEL: @minimum
// CHECK-COUNT-2: = tk.kernel
func.func @minimum(%x: tensor<17x5xf32>) -> tensor<5xf32> {
  %m = tw.min %x over [0] : tensor<17x5xf32> -> tensor<5xf32>
  %b = tw.broadcast %m dims [1] : tensor<5xf32> -> tensor<17x5xf32>
  %d = tw.sub %b, %x : tensor<17x5xf32>
  %e = tw.exp %d : tensor<17x5xf32>
  %s = tw.sum %e over [0] : tensor<17x5xf32> -> tensor<5xf32>
  func.return %s : tensor<5xf32>
}

// -----

// So they are where something else is summed as well.

// CHECK-LABEL: @weighted
// CHECK:      = tk.kernel {{.*}} ins(%x
// CHECK:      tk.reduce max
// CHECK:      = tk.kernel
func.func @weighted(%x: tensor<17x5xf32>, %w: tensor<17x5xf32>) -> tensor<5xf32> {
  %m = tw.max %x over [0] : tensor<17x5xf32> -> tensor<5xf32>
  %b = tw.broadcast %m dims [1] : tensor<5xf32> -> tensor<17x5xf32>
  %d = tw.sub %x, %b : tensor<17x5xf32>
  %e = tw.exp %d : tensor<17x5xf32>
  %p = tw.mul %e, %w : tensor<17x5xf32>
  %s = tw.sum %p over [0] : tensor<17x5xf32> -> tensor<5xf32>
  func.return %s : tensor<5xf32>
}

// -----

// Or stored along the columns.

// CHECK-LABEL: @stored
// CHECK-COUNT-2: = tk.kernel
func.func @stored(%x: tensor<17x5xf32>) -> (tensor<5xf32>, tensor<17x5xf32>) {
  %m = tw.max %x over [0] : tensor<17x5xf32> -> tensor<5xf32>
  %b = tw.broadcast %m dims [1] : tensor<5xf32> -> tensor<17x5xf32>
  %d = tw.sub %x, %b : tensor<17x5xf32>
  func.return %m, %d : tensor<5xf32>, tensor<17x5xf32>
}

// -----

// Dimensions of one element do not make rows columns: a program walks a row twice where it is near.

// CHECK-LABEL: @unit_dimension
// CHECK-COUNT-1: = tk.kernel
// CHECK-NOT:  tk.kernel
func.func @unit_dimension(%x: tensor<2x17x1xf32>) -> tensor<2x17x1xf32> {
  %s = tw.sum %x over [1] : tensor<2x17x1xf32> -> tensor<2x1xf32>
  %b = tw.broadcast %s dims [0, 2] : tensor<2x1xf32> -> tensor<2x17x1xf32>
  %d = tw.div %x, %b : tensor<2x17x1xf32>
  func.return %d : tensor<2x17x1xf32>
}
