// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse,sum-at-source{programs=2}' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse,sum-at-source{programs=2}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse,sum-at-source{programs=2}' --split-input-file --verify-locations
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse,sum-at-source{programs=2}' --split-input-file --check-semantics

// Rows that something else reads too; what is done with the sum is done with the sum of the parts.

// CHECK-LABEL: @bias
// CHECK:      %e, %[[P:.*]] = tk.kernel [3, 2, 64] ins(%x : tensor<128x3xf32>) -> (tensor<128x3xf32>, tensor<3x2xf32>)
// CHECK:      %[[E:.*]] = math.exp
// CHECK:      tk.store %[[E]], %{{.*}}[d1*64 + d2, d0]
// CHECK:      %[[S:.*]] = tk.reduce add %[[E]] over [2]
// CHECK:      tk.store %[[S]], %{{.*}}[d0, d1]
// CHECK:      tk.kernel [3, 2] ins(%[[P]], %b :
// CHECK:      tk.reduce add %{{.*}} over [1]
// CHECK:      arith.mulf
// CHECK:      tk.store %{{.*}}, %{{.*}}[d0]
func.func @bias(%x: tensor<128x3xf32>, %w: tensor<3x5xf32>, %b: tensor<3xf32>) -> (tensor<128x5xf32>, tensor<3xf32>) {
  %e = tw.exp %x : tensor<128x3xf32>
  %m = tw.matmul %e, %w : (tensor<128x3xf32>, tensor<3x5xf32>) -> tensor<128x5xf32>
  %s = tw.sum %e over [0] : tensor<128x3xf32> -> tensor<3xf32>
  %r = tw.mul %s, %b : tensor<3xf32>
  func.return %m, %r : tensor<128x5xf32>, tensor<3xf32>
}

// -----

// Parts of many columns are stored along rows, whichever axis the sum had first.

// CHECK-LABEL: @many_columns
// CHECK:      %e, %[[P:.*]] = tk.kernel [2, 64, 512] ins(%x : tensor<128x512xf32>) -> (tensor<128x512xf32>, tensor<2x512xf32>)
// CHECK:      tk.reduce add %{{.*}} over [1]
// CHECK:      tk.kernel [2, 512] ins(%[[P]], %b :
func.func @many_columns(%x: tensor<128x512xf32>, %w: tensor<512x5xf32>, %b: tensor<512xf32>) -> (tensor<128x5xf32>, tensor<512xf32>) {
  %e = tw.exp %x : tensor<128x512xf32>
  %m = tw.matmul %e, %w : (tensor<128x512xf32>, tensor<512x5xf32>) -> tensor<128x5xf32>
  %s = tw.sum %e over [0] : tensor<128x512xf32> -> tensor<512xf32>
  %r = tw.mul %s, %b : tensor<512xf32>
  func.return %m, %r : tensor<128x5xf32>, tensor<512xf32>
}

// -----

// Each row is reduced as well, and two sums are of the same parts. Rows are those of two axes, of which the
// last one that parts divide is cut: here the first, of which one part has all.

// CHECK-LABEL: @norm
// CHECK:      tk.kernel [8, 65, 3] ins({{.*}}) -> (tensor<8x65x3xf32>, tensor<65x3xf32>, tensor<65x3xf32>)
// CHECK:      tk.reduce add %{{.*}} over [2]
// CHECK:      tk.reduce add %{{.*}} over [0]
// CHECK:      tk.reduce add %{{.*}} over [0]
// CHECK:      tk.kernel [65, 3] ins(
// CHECK:      tk.reduce add %{{.*}} over [0]
// CHECK:      tk.kernel [65, 3] ins(
// CHECK:      tk.reduce add %{{.*}} over [0]
func.func @norm(%x: tensor<8x65x3xf32>, %g: tensor<8x65x3xf32>, %w: tensor<3x5xf32>) -> (tensor<520x5xf32>, tensor<3xf32>, tensor<3xf32>) {
  %p = tw.mul %g, %x : tensor<8x65x3xf32>
  %s = tw.sum %p over [2] : tensor<8x65x3xf32> -> tensor<8x65xf32>
  %sb = tw.broadcast %s dims [0, 1] : tensor<8x65xf32> -> tensor<8x65x3xf32>
  %d = tw.sub %g, %sb : tensor<8x65x3xf32>
  %f = tw.reshape %d : tensor<8x65x3xf32> -> tensor<520x3xf32>
  %m = tw.matmul %f, %w : (tensor<520x3xf32>, tensor<3x5xf32>) -> tensor<520x5xf32>
  %a = tw.sum %d over [0, 1] : tensor<8x65x3xf32> -> tensor<3xf32>
  %q = tw.mul %d, %x : tensor<8x65x3xf32>
  %c = tw.sum %q over [0, 1] : tensor<8x65x3xf32> -> tensor<3xf32>
  func.return %m, %a, %c : tensor<520x5xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// Axes of size 1 are no obstacle.

// CHECK-LABEL: @unit_axis
// CHECK:      tk.kernel [2, 64, 3, 1] ins({{.*}}) -> (tensor<128x1x3xf32>, tensor<2x3xf32>)
// CHECK:      tk.reduce add %{{.*}} over [1]
func.func @unit_axis(%x: tensor<128x1x3xf32>, %w: tensor<3x5xf32>) -> (tensor<128x5xf32>, tensor<3xf32>) {
  %e = tw.exp %x : tensor<128x1x3xf32>
  %f = tw.reshape %e : tensor<128x1x3xf32> -> tensor<128x3xf32>
  %m = tw.matmul %f, %w : (tensor<128x3xf32>, tensor<3x5xf32>) -> tensor<128x5xf32>
  %s = tw.sum %f over [0] : tensor<128x3xf32> -> tensor<3xf32>
  func.return %m, %s : tensor<128x5xf32>, tensor<3xf32>
}

// -----

// REMARK: tk.kernel at {{.*}}: not summed where the rows are made: no number of rows divides them into enough parts, which hold few enough
// CHECK-LABEL: @prime
// CHECK:      tk.kernel [131, 3] ins(%x
// CHECK:      tk.kernel [131, 3] ins(%e
func.func @prime(%x: tensor<131x3xf32>, %w: tensor<3x5xf32>) -> (tensor<131x5xf32>, tensor<3xf32>) {
  %e = tw.exp %x : tensor<131x3xf32>
  %m = tw.matmul %e, %w : (tensor<131x3xf32>, tensor<3x5xf32>) -> tensor<131x5xf32>
  %s = tw.sum %e over [0] : tensor<131x3xf32> -> tensor<3xf32>
  func.return %m, %s : tensor<131x5xf32>, tensor<3xf32>
}

// -----

// A program goes along the rows of its part: one of 4096 elements at a time. Parts are large enough for that to be few.

// CHECK-LABEL: @long_rows
// CHECK:      %[[E:.*]], %[[P:.*]] = tk.kernel [4, 32, 4096] ins({{.*}}) -> (tensor<128x4096xf32>, tensor<4x4096xf32>)
// CHECK:      tk.reduce add %{{.*}} over [2]
// CHECK:      tk.reduce add %{{.*}} over [1]
// CHECK:      tk.kernel [4, 4096] ins(%[[P]] :
func.func @long_rows(%x: tensor<128x4096xf32>, %w: tensor<4096x5xf32>) -> (tensor<128x5xf32>, tensor<4096xf32>) {
  %s = tw.sum %x over [1] : tensor<128x4096xf32> -> tensor<128xf32>
  %sb = tw.broadcast %s dims [0] : tensor<128xf32> -> tensor<128x4096xf32>
  %e = tw.sub %x, %sb : tensor<128x4096xf32>
  %m = tw.matmul %e, %w : (tensor<128x4096xf32>, tensor<4096x5xf32>) -> tensor<128x5xf32>
  %r = tw.sum %e over [0] : tensor<128x4096xf32> -> tensor<4096xf32>
  func.return %m, %r : tensor<128x5xf32>, tensor<4096xf32>
}

// -----

// No power of two divides their number; steps along them are of any length.

// CHECK-LABEL: @odd_number_of_long_rows
// CHECK:      tk.kernel [5, 15, 4096] ins({{.*}}) -> (tensor<75x4096xf32>, tensor<5x4096xf32>)
func.func @odd_number_of_long_rows(%x: tensor<75x4096xf32>, %w: tensor<4096x5xf32>) -> (tensor<75x5xf32>, tensor<4096xf32>) {
  %s = tw.sum %x over [1] : tensor<75x4096xf32> -> tensor<75xf32>
  %sb = tw.broadcast %s dims [0] : tensor<75xf32> -> tensor<75x4096xf32>
  %e = tw.sub %x, %sb : tensor<75x4096xf32>
  %m = tw.matmul %e, %w : (tensor<75x4096xf32>, tensor<4096x5xf32>) -> tensor<75x5xf32>
  %r = tw.sum %e over [0] : tensor<75x4096xf32> -> tensor<4096xf32>
  func.return %m, %r : tensor<75x5xf32>, tensor<4096xf32>
}

// -----

// Rows that are too long for one to stay beside the sums.

// REMARK: tk.kernel at {{.*}}: not summed where the rows are made: no number of rows divides them into enough parts, which hold few enough
// CHECK-LABEL: @too_long_rows
// CHECK:      tk.kernel [20, 16384] ins(%x
// CHECK:      tk.kernel [20, 16384] ins(%e
func.func @too_long_rows(%x: tensor<20x16384xf32>, %w: tensor<16384x5xf32>) -> (tensor<20x5xf32>, tensor<16384xf32>) {
  %s = tw.sum %x over [1] : tensor<20x16384xf32> -> tensor<20xf32>
  %sb = tw.broadcast %s dims [0] : tensor<20xf32> -> tensor<20x16384xf32>
  %e = tw.sub %x, %sb : tensor<20x16384xf32>
  %m = tw.matmul %e, %w : (tensor<20x16384xf32>, tensor<16384x5xf32>) -> tensor<20x5xf32>
  %r = tw.sum %e over [0] : tensor<20x16384xf32> -> tensor<16384xf32>
  func.return %m, %r : tensor<20x5xf32>, tensor<16384xf32>
}

// -----

// REMARK: tk.kernel at {{.*}}: not summed where the rows are made: it reduces along what is summed
// CHECK-LABEL: @all_reduced_before
// CHECK:      tk.kernel [128, 3]
// CHECK:      tk.kernel [128, 3]
func.func @all_reduced_before(%x: tensor<128x3xf32>, %w: tensor<3x5xf32>) -> (tensor<128x5xf32>, tensor<3xf32>, tensor<f32>) {
  %e = tw.exp %x : tensor<128x3xf32>
  %m = tw.matmul %e, %w : (tensor<128x3xf32>, tensor<3x5xf32>) -> tensor<128x5xf32>
  %a = tw.sum %e over [0, 1] : tensor<128x3xf32> -> tensor<f32>
  %r = tw.sum %e over [0] : tensor<128x3xf32> -> tensor<3xf32>
  func.return %m, %r, %a : tensor<128x5xf32>, tensor<3xf32>, tensor<f32>
}

// -----

// Running sums are kernels of their own.

// REMARK: tk.kernel at {{.*}}: not summed where the rows are made: it scans or scatters
// CHECK-LABEL: @scanned_before
// CHECK:      tk.kernel [128, 3] ins(%x
// CHECK:      tk.scan
// CHECK:      tk.kernel [128, 3] ins(%e
// CHECK:      tk.reduce add %{{.*}} over [0]
func.func @scanned_before(%x: tensor<128x3xf32>, %w: tensor<3x5xf32>) -> (tensor<128x5xf32>, tensor<3xf32>) {
  %e = tw.cumsum %x dim 1 : tensor<128x3xf32>
  %m = tw.matmul %e, %w : (tensor<128x3xf32>, tensor<3x5xf32>) -> tensor<128x5xf32>
  %s = tw.sum %e over [0] : tensor<128x3xf32> -> tensor<3xf32>
  func.return %m, %s : tensor<128x5xf32>, tensor<3xf32>
}

// -----

// REMARK: tk.kernel at {{.*}}: not summed where the rows are made: one of its axes is not read
// CHECK-LABEL: @over_an_axis_of_its_own
// CHECK:      tk.kernel [128, 3, 10] ins(%x
// CHECK:      tk.kernel [128, 3] ins(%e
func.func @over_an_axis_of_its_own(%x: tensor<128x3x10xf32>, %w: tensor<3x5xf32>) -> (tensor<128x5xf32>, tensor<3xf32>) {
  %e = tw.sum %x over [2] : tensor<128x3x10xf32> -> tensor<128x3xf32>
  %m = tw.matmul %e, %w : (tensor<128x3xf32>, tensor<3x5xf32>) -> tensor<128x5xf32>
  %s = tw.sum %e over [0] : tensor<128x3xf32> -> tensor<3xf32>
  func.return %m, %s : tensor<128x5xf32>, tensor<3xf32>
}

// -----

// Sums of few elements are written out for it.

// CHECK-LABEL: @over_few_of_its_own
// CHECK:      %e, %[[P:.*]] = tk.kernel [2, 64, 3, 1] ins(%x : tensor<128x3x7xf32>) -> (tensor<128x3xf32>, tensor<2x3xf32>)
// CHECK-COUNT-6: arith.addf
// CHECK:      tk.reduce add %{{.*}} over [1]
// CHECK:      tk.kernel [2, 3] ins(%[[P]]
func.func @over_few_of_its_own(%x: tensor<128x3x7xf32>, %w: tensor<3x5xf32>) -> (tensor<128x5xf32>, tensor<3xf32>) {
  %e = tw.sum %x over [2] : tensor<128x3x7xf32> -> tensor<128x3xf32>
  %m = tw.matmul %e, %w : (tensor<128x3xf32>, tensor<3x5xf32>) -> tensor<128x5xf32>
  %s = tw.sum %e over [0] : tensor<128x3xf32> -> tensor<3xf32>
  func.return %m, %s : tensor<128x5xf32>, tensor<3xf32>
}

// -----

// Images of which the channels come last: three rows of 14 pixels are a part.

// CHECK-LABEL: @rows_of_images
// CHECK:      %e, %[[P:.*]] = tk.kernel [2, 2, 3, 14, 512] ins(%x : tensor<2x6x14x512xf32>) -> (tensor<2x6x14x512xf32>, tensor<2x2x512xf32>)
// CHECK:      tk.store %{{.*}}, %{{.*}}[d0, d1*3 + d2, d3, d4]
// CHECK:      tk.reduce add %{{.*}} over [2, 3]
// CHECK:      tk.kernel [2, 2, 512] ins(%[[P]]
// CHECK:      tk.reduce add %{{.*}} over [0, 1]
func.func @rows_of_images(%x: tensor<2x6x14x512xf32>) -> (tensor<2x6x14x512xf32>, tensor<512xf32>) {
  %e = tw.exp %x : tensor<2x6x14x512xf32>
  %s = tw.sum %e over [0, 1, 2] : tensor<2x6x14x512xf32> -> tensor<512xf32>
  func.return %e, %s : tensor<2x6x14x512xf32>, tensor<512xf32>
}

// -----

// Of an image of seven rows each is a part.

// CHECK-LABEL: @single_rows_of_images
// CHECK:      %e, %[[P:.*]] = tk.kernel [2, 7, 12, 512] ins(%x : tensor<2x7x12x512xf32>) -> (tensor<2x7x12x512xf32>, tensor<2x7x512xf32>)
// CHECK:      tk.reduce add %{{.*}} over [2]
// CHECK:      tk.kernel [2, 7, 512] ins(%[[P]]
func.func @single_rows_of_images(%x: tensor<2x7x12x512xf32>) -> (tensor<2x7x12x512xf32>, tensor<512xf32>) {
  %e = tw.exp %x : tensor<2x7x12x512xf32>
  %s = tw.sum %e over [0, 1, 2] : tensor<2x7x12x512xf32> -> tensor<512xf32>
  func.return %e, %s : tensor<2x7x12x512xf32>, tensor<512xf32>
}

// -----

// Between the two stands what needs the rows and is needed for the sum. Sums of rows are none of columns.

// REMARK: tk.kernel at {{.*}}: not summed where the rows are made: another path leads from it to the consumer
// CHECK-LABEL: @another_path
// CHECK:      tk.kernel [128, 3]
// CHECK:      tw.matmul
// CHECK:      tk.kernel [128, 3]
// CHECK:      tk.reduce add %{{.*}} over [0]
// CHECK:      tk.kernel [3, 3] ins(%w
// CHECK:      tk.reduce add %{{.*}} over [1]
func.func @another_path(%x: tensor<128x3xf32>, %w: tensor<3x3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %e = tw.exp %x : tensor<128x3xf32>
  %m = tw.matmul %e, %w : (tensor<128x3xf32>, tensor<3x3xf32>) -> tensor<128x3xf32>
  %p = tw.mul %e, %m : tensor<128x3xf32>
  %s = tw.sum %p over [0] : tensor<128x3xf32> -> tensor<3xf32>
  %a = tw.sum %w over [1] : tensor<3x3xf32> -> tensor<3xf32>
  func.return %s, %a : tensor<3xf32>, tensor<3xf32>
}

// -----

// A product of ours that reads the rows as well leaves the sum to what makes them; it is no sum of columns itself.
// CHECK-LABEL: @rows_of_a_product
// CHECK:      %e, %[[P:.*]] = tk.kernel [2, 64, 3] ins(%x : tensor<128x3xf32>) -> (tensor<128x3xbf16>, tensor<2x3xf32>)
// CHECK:      tk.reduce add %{{.*}} over [1] : f32
// CHECK:      tk.kernel [3, 5, 128] ins(%e, %y :
// CHECK:      tk.kernel [2, 3] ins(%[[P]] :
func.func @rows_of_a_product(%x: tensor<128x3xf32>, %y: tensor<128x5xbf16>) -> (tensor<3x5xf32>, tensor<3xf32>) {
  %e = tk.kernel [128, 3] ins(%x : tensor<128x3xf32>) -> (tensor<128x3xbf16>) {
  ^bb0(%a: tensor<128x3xf32>, %o: tensor<128x3xbf16>):
    %0 = tk.load %a[d0, d1] : tensor<128x3xf32> -> f32
    %1 = math.exp %0 : f32
    %2 = arith.truncf %1 : f32 to bf16
    tk.store %2, %o[d0, d1] : bf16, tensor<128x3xbf16>
  }
  %m = tk.kernel [3, 5, 128] ins(%e, %y : tensor<128x3xbf16>, tensor<128x5xbf16>) -> (tensor<3x5xf32>) {
  ^bb0(%a: tensor<128x3xbf16>, %b: tensor<128x5xbf16>, %o: tensor<3x5xf32>):
    %0 = tk.load %a[d2, d0] : tensor<128x3xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %b[d2, d1] : tensor<128x5xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
    tk.store %5, %o[d0, d1] : f32, tensor<3x5xf32>
  }
  %s = tk.kernel [128, 3] ins(%e : tensor<128x3xbf16>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<128x3xbf16>, %o: tensor<3xf32>):
    %0 = tk.load %a[d0, d1] : tensor<128x3xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.reduce add %1 over [0] : f32
    tk.store %2, %o[d1] : f32, tensor<3xf32>
  }
  func.return %m, %s : tensor<3x5xf32>, tensor<3xf32>
}

// -----

// Small images, all of one in a part: then nothing is left to be summed.

// CHECK-LABEL: @whole_images
// CHECK:      tk.kernel [4, 2, 2, 128] ins(%x : tensor<4x2x2x128xf32>) -> (tensor<4x128xf32>, tensor<4x128xf32>)
// CHECK:      tk.reduce add %{{.*}} over [1, 2]
// CHECK:      tk.reduce add %{{.*}} over [1, 2]
// CHECK:      tk.kernel [4, 128] ins(
// CHECK-NOT:  tk.reduce
// CHECK:      return
func.func @whole_images(%x: tensor<4x2x2x128xf32>) -> (tensor<4x128xf32>, tensor<4x128xf32>) {
  %s = tw.sum %x over [1, 2] : tensor<4x2x2x128xf32> -> tensor<4x128xf32>
  %e = tw.exp %x : tensor<4x2x2x128xf32>
  %t = tw.sum %e over [1, 2] : tensor<4x2x2x128xf32> -> tensor<4x128xf32>
  %r = tw.sin %t : tensor<4x128xf32>
  func.return %s, %r : tensor<4x128xf32>, tensor<4x128xf32>
}

// -----

// No kernel makes the rows: one that reads them, and reduces each, sums their columns, though it comes later.

// CHECK-LABEL: @rows_that_another_reads
// CHECK:      %y, %[[P:.*]] = tk.kernel [2, 64, 3] ins({{.*}}) -> (tensor<128x3xf32>, tensor<2x3xf32>)
// CHECK:      tk.reduce add %{{.*}} over [2]
// CHECK:      tk.reduce add %{{.*}} over [1]
// CHECK:      tk.kernel [2, 3] ins(%[[P]] :
// CHECK:      tk.reduce add %{{.*}} over [0]
func.func @rows_that_another_reads(%x: tensor<128x3xf32>, %g: tensor<128x3xf32>) -> (tensor<3xf32>, tensor<128x3xf32>) {
  %p = tw.mul %g, %x : tensor<128x3xf32>
  %s = tw.sum %p over [0] : tensor<128x3xf32> -> tensor<3xf32>
  %q = tw.mul %g, %x : tensor<128x3xf32>
  %t = tw.sum %q over [1] : tensor<128x3xf32> -> tensor<128xf32>
  %b = tw.broadcast %t dims [0] : tensor<128xf32> -> tensor<128x3xf32>
  %y = tw.sub %g, %b : tensor<128x3xf32>
  func.return %s, %y : tensor<3xf32>, tensor<128x3xf32>
}

// -----

// One number for each row lies along what is summed, and serves all columns: the rows are read once for both.

// CHECK-LABEL: @rows_times_numbers
// CHECK:      tk.kernel [2, 64, 3] ins({{.*}}) -> (tensor<128xf32>, tensor<2x3xf32>)
// CHECK-COUNT-1: tk.load %{{.*}}[d0*64 + d1, d2] : tensor<128x3xf32>
// CHECK:      tk.reduce add %{{.*}} over [2]
// CHECK:      tk.load %{{.*}}[d0*64 + d1] : tensor<128xf32>
// CHECK:      tk.reduce add %{{.*}} over [1]
// CHECK:      tk.kernel [2, 3]
func.func @rows_times_numbers(%x: tensor<128x3xf32>, %v: tensor<128xf32>, %w: tensor<3xf32>) -> (tensor<128xf32>, tensor<3xf32>) {
  %c = tw.broadcast %w dims [1] : tensor<3xf32> -> tensor<128x3xf32>
  %q = tw.mul %x, %c : tensor<128x3xf32>
  %t = tw.sum %q over [1] : tensor<128x3xf32> -> tensor<128xf32>
  %b = tw.broadcast %v dims [0] : tensor<128xf32> -> tensor<128x3xf32>
  %p = tw.mul %x, %b : tensor<128x3xf32>
  %s = tw.sum %p over [0] : tensor<128x3xf32> -> tensor<3xf32>
  func.return %t, %s : tensor<128xf32>, tensor<3xf32>
}

// -----

// REMARK: tk.kernel at {{.*}}: not summed where the rows are read: it reduces along what is summed
// CHECK-LABEL: @read_along_what_is_summed
// CHECK:      tk.kernel [128, 3] ins(%x : tensor<128x3xf32>) -> (tensor<3xf32>)
// CHECK:      tk.kernel [128, 3] ins(%x : tensor<128x3xf32>) -> (tensor<f32>)
func.func @read_along_what_is_summed(%x: tensor<128x3xf32>) -> (tensor<3xf32>, tensor<f32>) {
  %s = tw.sum %x over [0] : tensor<128x3xf32> -> tensor<3xf32>
  %m = tw.max %x over [0, 1] : tensor<128x3xf32> -> tensor<f32>
  func.return %s, %m : tensor<3xf32>, tensor<f32>
}

// -----

// What the sum reads beside is more than what both read.

// CHECK-LABEL: @reads_more_beside
// CHECK:      tk.kernel [128, 3] ins({{.*}}) -> (tensor<3xf64>)
func.func @reads_more_beside(%x: tensor<128x3xf32>, %v: tensor<128x3xf64>, %w: tensor<128x3xf32>) -> (tensor<3xf64>, tensor<128x3xf32>) {
  %c = tw.cast %x : tensor<128x3xf32> -> tensor<128x3xf64>
  %p = tw.mul %v, %c : tensor<128x3xf64>
  %s = tw.sum %p over [0] : tensor<128x3xf64> -> tensor<3xf64>
  %y = tw.mul %x, %w : tensor<128x3xf32>
  func.return %s, %y : tensor<3xf64>, tensor<128x3xf32>
}

// -----

// The other reader needs the largest of each column itself.

// CHECK-LABEL: @read_with_its_result
// CHECK:      %[[M:.*]] = tk.kernel [128, 3] ins(%x : tensor<128x3xf32>) -> (tensor<3xf32>)
// CHECK:      tk.reduce max %{{.*}} over [0]
// CHECK:      tk.kernel [128, 3] ins(%x, %[[M]] :
func.func @read_with_its_result(%x: tensor<128x3xf32>) -> (tensor<128x3xf32>) {
  %m = tw.max %x over [0] : tensor<128x3xf32> -> tensor<3xf32>
  %b = tw.broadcast %m dims [1] : tensor<3xf32> -> tensor<128x3xf32>
  %y = tw.sub %x, %b : tensor<128x3xf32>
  func.return %y : tensor<128x3xf32>
}

// -----

// Its columns first, as where a sum was rounded: it walks the rows as the other does.

// CHECK-LABEL: @columns_first
// CHECK:      %y, %[[P:.*]] = tk.kernel [2, 64, 3] ins({{.*}}) -> (tensor<128x3xbf16>, tensor<2x3xf32>)
// CHECK:      tk.kernel [2, 3] ins(%[[P]] :
func.func @columns_first(%x: tensor<128x3xbf16>) -> (tensor<3xbf16>, tensor<128x3xbf16>) {
  %w = tw.cast %x : tensor<128x3xbf16> -> tensor<128x3xf32>
  %c = tw.sum %w over [0] : tensor<128x3xf32> -> tensor<3xf32>
  %s = tw.cast %c : tensor<3xf32> -> tensor<3xbf16>
  %v = tw.cast %x : tensor<128x3xbf16> -> tensor<128x3xf32>
  %t = tw.sum %v over [1] : tensor<128x3xf32> -> tensor<128xf32>
  %b = tw.broadcast %t dims [0] : tensor<128xf32> -> tensor<128x3xf32>
  %d = tw.sub %v, %b : tensor<128x3xf32>
  %y = tw.cast %d : tensor<128x3xf32> -> tensor<128x3xbf16>
  func.return %s, %y : tensor<3xbf16>, tensor<128x3xbf16>
}

// -----

// What reads the sum, and stands before that kernel, moves behind it with the sum.

// CHECK-LABEL: @read_before_the_rows_are
// CHECK:      %e, %[[P:.*]] = tk.kernel [2, 64, 3] ins(%x : tensor<128x3xf32>) -> (tensor<128x3xf32>, tensor<2x3xf32>)
// CHECK:      %[[S:.*]] = tk.kernel [2, 3] ins(%[[P]] :
// CHECK:      tw.reshape %[[S]]
// CHECK-NOT:  tk.kernel
func.func @read_before_the_rows_are(%x: tensor<128x3xf32>) -> (tensor<1x3xf32>, tensor<128x3xf32>) {
  %s = tw.sum %x over [0] : tensor<128x3xf32> -> tensor<3xf32>
  %v = tw.reshape %s : tensor<3xf32> -> tensor<1x3xf32>
  %e = tw.exp %x : tensor<128x3xf32>
  func.return %v, %e : tensor<1x3xf32>, tensor<128x3xf32>
}

// -----

// Rows that the other kernel stores with their dimensions exchanged: its tiles turn, and have no room for sums.

// CHECK-LABEL: @read_and_stored_turned
// CHECK:      %s = tk.kernel [128, 64] ins(%x : tensor<128x64xf32>) -> (tensor<64xf32>)
// CHECK:      %e = tk.kernel [128, 64] ins(%x : tensor<128x64xf32>) -> (tensor<128x64xf32>)
// CHECK-NOT:  tk.kernel
// REMARK: tk.kernel at {{.*}}: not summed where the rows are read: they are stored turned there
func.func @read_and_stored_turned(%x: tensor<128x64xf32>) -> (tensor<64xf32>, tensor<64x128xf32>) {
  %s = tw.sum %x over [0] : tensor<128x64xf32> -> tensor<64xf32>
  %e = tw.exp %x : tensor<128x64xf32>
  %t = tw.transpose %e by [1, 0] : tensor<128x64xf32> -> tensor<64x128xf32>
  func.return %s, %t : tensor<64xf32>, tensor<64x128xf32>
}

// -----

// The first sum finds no kernel that reads its rows until another sum, whose kernel reads them, joins one.

// CHECK-LABEL: @by_way_of_another
// CHECK:      %e, %{{.*}}, %{{.*}} = tk.kernel [2, 64, 3]
// CHECK:      tk.reduce add %{{.*}} over [1]
// CHECK:      tk.reduce add %{{.*}} over [1]
// CHECK:      tk.kernel [2, 3]
// CHECK:      tk.kernel [2, 3]
func.func @by_way_of_another(%x: tensor<128x3xf32>, %y: tensor<128x3xf32>, %z: tensor<128x3xf32>, %w: tensor<3x5xf32>) -> (tensor<3xf32>, tensor<128x5xf32>, tensor<3xf32>) {
  %a = tw.sum %x over [0] : tensor<128x3xf32> -> tensor<3xf32>
  %e = tw.mul %y, %z : tensor<128x3xf32>
  %m = tw.matmul %e, %w : (tensor<128x3xf32>, tensor<3x5xf32>) -> tensor<128x5xf32>
  %p = tw.mul %y, %x : tensor<128x3xf32>
  %b = tw.sum %p over [0] : tensor<128x3xf32> -> tensor<3xf32>
  func.return %a, %m, %b : tensor<3xf32>, tensor<128x5xf32>, tensor<3xf32>
}

// -----

// Of few elements, 128 for each of two programs, a kernel that computes them sums all of them, too; but not where
// it reduces them otherwise.

// CHECK-LABEL: @few_are_left_to_siblings
// CHECK:      tk.kernel [64, 3] ins(%x : tensor<64x3xf32>) -> (tensor<3xf32>)
// CHECK:      tk.kernel [64, 3] ins(%x : tensor<64x3xf32>) -> (tensor<64x3xf32>)
// CHECK:      return
// CHECK-LABEL: @few_beside_sums_of_rows
// CHECK:      tk.kernel [2, 32, 3]
// REMARK: tk.kernel at {{.*}}: not summed in parts where the rows are read: few programs do both whole
func.func @few_are_left_to_siblings(%x: tensor<64x3xf32>) -> (tensor<3xf32>, tensor<64x3xf32>) {
  %s = tw.sum %x over [0] : tensor<64x3xf32> -> tensor<3xf32>
  %e = tw.exp %x : tensor<64x3xf32>
  func.return %s, %e : tensor<3xf32>, tensor<64x3xf32>
}
func.func @few_beside_sums_of_rows(%x: tensor<64x3xf32>) -> (tensor<3xf32>, tensor<64xf32>) {
  %s = tw.sum %x over [0] : tensor<64x3xf32> -> tensor<3xf32>
  %t = tw.sum %x over [1] : tensor<64x3xf32> -> tensor<64xf32>
  func.return %s, %t : tensor<3xf32>, tensor<64xf32>
}
