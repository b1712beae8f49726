// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse,reduce-small{most=512}' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse,reduce-small{most=512}' --split-input-file --remarks -o /dev/null 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse,reduce-small{most=512}' --split-input-file --verify-locations
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse,reduce-small{max_inputs=1}' --split-input-file --remarks -o /dev/null 2>&1 | filecheck %s --check-prefix=INPUTS
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse,reduce-small{max_ops=2}' --split-input-file --remarks -o /dev/null 2>&1 | filecheck %s --check-prefix=OPS

// The mean of what each row is reduced to.
// INPUTS: tk.kernel at {{.*}}: not reduced where each row is: one kernel would read too many tensors
// OPS:    tk.kernel at {{.*}}: not reduced where each row is: one kernel would have more than 2 ops
// CHECK-LABEL: @mean_of_rows
// CHECK:      tk.kernel [16, 32] ins(%x : tensor<16x32xf32>) -> (tensor<f32>)
// CHECK:      %[[M:.*]] = tk.reduce max %{{.*}} over [1] : f32
// CHECK:      %[[S:.*]] = tk.reduce add %{{.*}} over [1] : f32
// CHECK:      tk.reduce add %{{.*}} over [0] : f32
// CHECK-NOT:  tk.kernel
// CHECK:      return
func.func @mean_of_rows(%x: tensor<16x32xf32>) -> tensor<f32> {
  %m = tw.max %x over [1] : tensor<16x32xf32> -> tensor<16xf32>
  %b = tw.broadcast %m dims [0] : tensor<16xf32> -> tensor<16x32xf32>
  %d = tw.sub %x, %b : tensor<16x32xf32>
  %e = tw.exp %d : tensor<16x32xf32>
  %s = tw.sum %e over [1] : tensor<16x32xf32> -> tensor<16xf32>
  %l = tw.log %s : tensor<16xf32>
  %r = tw.sum %l over [0] : tensor<16xf32> -> tensor<f32>
  func.return %r : tensor<f32>
}

// -----

// Columns of rows that are normalised, of which others are stored as well.
// CHECK-LABEL: @columns_of_rows
// CHECK:      tk.kernel [16, 32] ins(%x : tensor<16x32xf32>) -> (tensor<16x32xf32>, tensor<32xf32>)
// CHECK:      tk.reduce add %{{.*}} over [1] : f32
// CHECK:      tk.reduce add %{{.*}} over [0] : f32
// CHECK-NOT:  tk.kernel
func.func @columns_of_rows(%x: tensor<16x32xf32>) -> (tensor<16x32xf32>, tensor<32xf32>) {
  %s = tw.sum %x over [1] : tensor<16x32xf32> -> tensor<16xf32>
  %b = tw.broadcast %s dims [0] : tensor<16xf32> -> tensor<16x32xf32>
  %d = tw.sub %x, %b : tensor<16x32xf32>
  %r = tw.sum %d over [0] : tensor<16x32xf32> -> tensor<32xf32>
  func.return %d, %r : tensor<16x32xf32>, tensor<32xf32>
}

// -----

// A sum of columns is reduced likewise.
// CHECK-LABEL: @largest_of_columns
// CHECK:      tk.kernel [32, 16] ins(
// CHECK:      tk.reduce add %{{.*}} over [1] : f32
// CHECK:      tk.reduce max %{{.*}} over [0] : f32
// CHECK-NOT:  tk.kernel
func.func @largest_of_columns(%x: tensor<16x32xf32>) -> tensor<f32> {
  %s = tw.sum %x over [0] : tensor<16x32xf32> -> tensor<32xf32>
  %r = tw.max %s over [0] : tensor<32xf32> -> tensor<f32>
  func.return %r : tensor<f32>
}

// -----

// REMARK: tk.kernel at {{.*}}: not reduced where each row is: one program would hold 544 elements
// CHECK-LABEL: @too_many
// CHECK-COUNT-2: tk.kernel
func.func @too_many(%x: tensor<17x32xf32>) -> tensor<f32> {
  %m = tw.max %x over [1] : tensor<17x32xf32> -> tensor<17xf32>
  %r = tw.sum %m over [0] : tensor<17xf32> -> tensor<f32>
  func.return %r : tensor<f32>
}

// -----

// REMARK: tk.kernel at {{.*}}: not reduced where each row is: one program would hold an unknown number of elements
// CHECK-LABEL: @unknown
// CHECK-COUNT-2: tk.kernel
func.func @unknown(%x: tensor<16x?xf32, #tw.shape<"16, s0">>) -> tensor<f32> {
  %m = tw.max %x over [1] : tensor<16x?xf32, #tw.shape<"16, s0">> -> tensor<16xf32>
  %r = tw.sum %m over [0] : tensor<16xf32> -> tensor<f32>
  func.return %r : tensor<f32>
}

// -----

// One of the two that make rows takes the sum; a program that held those of both would hold each beside each.
// CHECK-LABEL: @rows_of_two
// CHECK-COUNT-2: tk.kernel
// CHECK-NOT:  tk.kernel
func.func @rows_of_two(%x: tensor<16x32xf32>, %y: tensor<16x16x32xf32>) -> tensor<f32> {
  %m = tw.max %x over [1] : tensor<16x32xf32> -> tensor<16xf32>
  %n = tw.max %y over [1, 2] : tensor<16x16x32xf32> -> tensor<16xf32>
  %p = tw.mul %m, %n : tensor<16xf32>
  %r = tw.sum %p over [0] : tensor<16xf32> -> tensor<f32>
  func.return %r : tensor<f32>
}

// -----

// REMARK: tk.kernel at {{.*}}: not reduced where each row is: no row is reduced there, or by a product
// CHECK-LABEL: @of_a_product
// CHECK-COUNT-2: tk.kernel
func.func @of_a_product(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) -> tensor<4xf32> {
  %m = tk.kernel [8, 4, 16] ins(%x, %w : tensor<8x16xf32>, tensor<16x4xf32>) -> (tensor<8x4xf32>) {
  ^bb0(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>, %o: tensor<8x4xf32>):
    %0 = tk.load %a[d0, d2] : tensor<8x16xf32> -> f32
    %1 = tk.load %b[d2, d1] : tensor<16x4xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    %3 = tk.reduce add %2 over [2] : f32
    tk.store %3, %o[d0, d1] : f32, tensor<8x4xf32>
  }
  %r = tw.sum %m over [0] : tensor<8x4xf32> -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

// REMARK: tk.kernel at {{.*}}: not reduced where each row is: it scans or scatters
// CHECK-LABEL: @of_running_sums
// CHECK-COUNT-2: tk.kernel
func.func @of_running_sums(%x: tensor<16x32xf32>) -> tensor<32xf32> {
  %m = tk.kernel [16, 32] ins(%x : tensor<16x32xf32>) -> (tensor<16x32xf32>) {
  ^bb0(%a: tensor<16x32xf32>, %o: tensor<16x32xf32>):
    %0 = tk.load %a[d0, d1] : tensor<16x32xf32> -> f32
    %1 = tk.scan add %0 along 1 : f32
    %2 = tk.reduce max %1 over [1] : f32
    %3 = arith.addf %1, %2 : f32
    tk.store %3, %o[d0, d1] : f32, tensor<16x32xf32>
  }
  %r = tw.sum %m over [0] : tensor<16x32xf32> -> tensor<32xf32>
  func.return %r : tensor<32xf32>
}

// -----

// REMARK: tk.kernel at {{.*}}: not reduced where each row is: both reduce, over the same axes
// CHECK-LABEL: @over_the_same_axes
// CHECK-COUNT-2: tk.kernel
func.func @over_the_same_axes(%x: tensor<16x32xf32>) -> tensor<32xf32> {
  %m = tk.kernel [16, 32] ins(%x : tensor<16x32xf32>) -> (tensor<16x32xf32>) {
  ^bb0(%a: tensor<16x32xf32>, %o: tensor<16x32xf32>):
    %0 = tk.load %a[d0, d1] : tensor<16x32xf32> -> f32
    %1 = tk.reduce max %0 over [0, 1] : f32
    %2 = arith.subf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<16x32xf32>
  }
  %r = tk.kernel [16, 32] ins(%m : tensor<16x32xf32>) -> (tensor<32xf32>) {
  ^bb0(%a: tensor<16x32xf32>, %o: tensor<32xf32>):
    %0 = tk.load %a[d0, d1] : tensor<16x32xf32> -> f32
    %1 = tk.reduce mul %0 over [0] : f32
    tk.store %1, %o[d1] : f32, tensor<32xf32>
  }
  func.return %r : tensor<32xf32>
}
