// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse{column=128},dce' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse{column=128}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse{column=128}' --split-input-file --verify-locations
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse{column=128}' --split-input-file --check-semantics

// A softmax of columns, each of which a program holds.

// CHECK-LABEL: @columns_that_are_held
// CHECK:      tk.kernel [2, 128, 5] ins(%x : tensor<2x128x5xf32>) -> (tensor<2x128x5xf32>)
// CHECK:      tk.reduce max %{{.*}} over [1]
// CHECK:      tk.reduce add %{{.*}} over [1]
// CHECK-NOT:  tk.kernel
func.func @columns_that_are_held(%x: tensor<2x128x5xf32>) -> tensor<2x128x5xf32> {
  %m = tw.max %x over [1] : tensor<2x128x5xf32> -> tensor<2x5xf32>
  %b = tw.broadcast %m dims [0, 2] : tensor<2x5xf32> -> tensor<2x128x5xf32>
  %d = tw.sub %x, %b : tensor<2x128x5xf32>
  %e = tw.exp %d : tensor<2x128x5xf32>
  %s = tw.sum %e over [1] : tensor<2x128x5xf32> -> tensor<2x5xf32>
  %c = tw.broadcast %s dims [0, 2] : tensor<2x5xf32> -> tensor<2x128x5xf32>
  %r = tw.div %e, %c : tensor<2x128x5xf32>
  func.return %r : tensor<2x128x5xf32>
}

// -----

// A program that holds a tile reads it once, whichever way its neighbours lie.

// CHECK-LABEL: @rows_of_one_and_columns_of_another
// CHECK-COUNT-1: tk.kernel
// CHECK-NOT:  tk.kernel
func.func @rows_of_one_and_columns_of_another(%x: tensor<128x128xf32>) -> tensor<128xf32> {
  %e = tw.exp %x : tensor<128x128xf32>
  %r = tw.sum %e over [1] : tensor<128x128xf32> -> tensor<128xf32>
  %c = tw.sum %x over [0] : tensor<128x128xf32> -> tensor<128xf32>
  %s = tw.add %c, %r : tensor<128xf32>
  func.return %s : tensor<128xf32>
}

// -----

// CHECK-LABEL: @longer_columns
// CHECK-COUNT-2: = tk.kernel
// REMARK: it is a reduction; its reduction runs across rows, which would be walked twice with a stride
func.func @longer_columns(%x: tensor<2x129x5xf32>) -> tensor<2x129x5xf32> {
  %s = tw.sum %x over [1] : tensor<2x129x5xf32> -> tensor<2x5xf32>
  %b = tw.broadcast %s dims [0, 2] : tensor<2x5xf32> -> tensor<2x129x5xf32>
  %d = tw.div %x, %b : tensor<2x129x5xf32>
  func.return %d : tensor<2x129x5xf32>
}
