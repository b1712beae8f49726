// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse{far=true},fuse-siblings{scans=true},dce' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse{far=true},fuse-siblings{scans=true}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// What is made of running sums, and of all that is summed along the same rows.
// CHECK-LABEL: @around
// CHECK: tk.kernel [4, 6]
// CHECK: tk.reduce add %{{.*}} over [1]
// CHECK: tk.scan add %{{.*}} along 1 : f32
// CHECK: tk.reduce max %{{.*}} over [1]
// CHECK-NOT: tk.kernel
func.func @around(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>) {
  %s = tw.sum %x over [1] : tensor<4x6xf32> -> tensor<4xf32>
  %b = tw.broadcast %s dims [0] : tensor<4xf32> -> tensor<4x6xf32>
  %d = tw.div %x, %b : tensor<4x6xf32>
  %c = tw.cumsum %d dim 1 : tensor<4x6xf32>
  %e = tw.exp %c : tensor<4x6xf32>
  %m = tw.max %e over [1] : tensor<4x6xf32> -> tensor<4xf32>
  func.return %e, %m : tensor<4x6xf32>, tensor<4xf32>
}

// -----

// Down columns, too: nothing is walked again for what reads each running sum once.
// CHECK-LABEL: @down_columns
// CHECK: tk.kernel [100, 40]
// CHECK: tk.scan add %{{.*}} along 0 : f32
// CHECK-NEXT: arith.mulf
// CHECK-NOT: tk.kernel
func.func @down_columns(%x: tensor<100x40xf32>) -> tensor<100x40xf32> {
  %c = tw.cumsum %x dim 0 : tensor<100x40xf32>
  %r = tw.mul %c, %x : tensor<100x40xf32>
  func.return %r : tensor<100x40xf32>
}

// -----

// Two that read one tensor, where neither reads the other.
// CHECK-LABEL: @beside_each_other
// CHECK: tk.kernel [4, 6]
// CHECK: tk.scan
// CHECK: tk.reduce
// CHECK-NOT: tk.kernel
func.func @beside_each_other(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>) {
  %c = tw.cumsum %x dim 1 : tensor<4x6xf32>
  %m = tw.max %x over [1] : tensor<4x6xf32> -> tensor<4xf32>
  func.return %c, %m : tensor<4x6xf32>, tensor<4xf32>
}

// -----

// Sums of few long rows are summed in parts, by more programs than there are rows.
// CHECK-LABEL: @few_long_rows
// CHECK-COUNT-2: = tk.kernel
// REMARK: a scan of 5 long rows cannot be split as what reduces them can
func.func @few_long_rows(%x: tensor<5x20000xf32>) -> tensor<5xf32> {
  %c = tw.cumsum %x dim 1 : tensor<5x20000xf32>
  %s = tw.max %c over [1] : tensor<5x20000xf32> -> tensor<5xf32>
  func.return %s : tensor<5xf32>
}

// -----

// What is scanned along columns is not there yet where rows are summed.
// CHECK-LABEL: @other_axes
// CHECK-COUNT-2: = tk.kernel
// REMARK: both reduce, over different axes
func.func @other_axes(%x: tensor<4x6xf32>) -> tensor<4xf32> {
  %c = tw.cumsum %x dim 0 : tensor<4x6xf32>
  %s = tw.sum %c over [1] : tensor<4x6xf32> -> tensor<4xf32>
  func.return %s : tensor<4xf32>
}
