// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse{hold_back=true tile=128},sum-in-products{programs=1}' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse{hold_back=true tile=128},sum-in-products{programs=1}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse{hold_back=true tile=128},sum-in-products{programs=1}' --split-input-file --verify-locations
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse{hold_back=true tile=128},sum-in-products{programs=1}' --split-input-file --check-semantics

// The gradient of a bias: what a product makes is read no more to be summed, and what is done with the sum is
// done with the sum of the parts. What is stored is summed: rounded.

// CHECK-LABEL: @bias
// CHECK:      %[[P:.*]], %m = tk.kernel [32, 2, 32, 16] ins(%x, %w :
// CHECK:      %[[Y:.*]] = tk.reduce add %{{.*}} over [3] {tk.factors = bf16}
// CHECK:      %[[H:.*]] = arith.truncf %[[Y]] {tk.rounded} : f32 to bf16
// CHECK:      tk.store %[[H]], %{{.*}}[d1*32 + d2, d0] : bf16, tensor<64x32xbf16>
// CHECK:      %[[M:.*]] = arith.extf %[[H]]
// CHECK:      %[[S:.*]] = tk.reduce add %[[M]] over [2] {tk.of_tile}
// CHECK:      tk.store %[[S]], %{{.*}}[d1, d0] : f32, tensor<2x32xf32>
// CHECK:      %r = tk.kernel [32, 2] ins(%[[P]], %b :
// CHECK:      tk.reduce add %{{.*}} over [1] : f32
// CHECK-NOT:  tk.kernel
func.func @bias(%x: tensor<64x16xbf16>, %w: tensor<16x32xbf16>, %b: tensor<32xf32>) -> (tensor<64x32xbf16>, tensor<32xf32>) {
  %m = tw.matmul %x, %w : (tensor<64x16xbf16>, tensor<16x32xbf16>) -> tensor<64x32xbf16>
  %f = tw.cast %m : tensor<64x32xbf16> -> tensor<64x32xf32>
  %s = tw.sum %f over [0] : tensor<64x32xf32> -> tensor<32xf32>
  %r = tw.mul %s, %b : tensor<32xf32>
  func.return %m, %r : tensor<64x32xbf16>, tensor<32xf32>
}

// -----

// Statistics over rows of pixels of which the product has three axes; nobody else wants their number of each part.

// CHECK-LABEL: @norm
// CHECK:      %[[S:.*]], %[[Q:.*]], %m = tk.kernel [32, 2, 64, 16] ins(%x, %w : tensor<2x8x8x16xbf16>
// CHECK:      tk.load %{{.*}}[d1, (d2 floordiv 8), (d2 mod 8), d3]
// CHECK:      tk.moments %{{.*}} over [2] {tk.of_tile}
// CHECK:      %a, %q = tk.kernel [32, 2] ins(%[[S]], %[[Q]] :
// CHECK:      %[[N:.*]] = arith.constant 6.400000e+01 : f32
// CHECK:      tk.moments %{{.*}}, %{{.*}}, %[[N]] over [1] : f32
// CHECK-NOT:  tk.kernel
func.func @norm(%x: tensor<2x8x8x16xbf16>, %w: tensor<16x32xbf16>) -> (tensor<2x8x8x32xbf16>, tensor<32xf32>, tensor<32xf32>) {
  %f = tw.reshape %x : tensor<2x8x8x16xbf16> -> tensor<128x16xbf16>
  %m = tw.matmul %f, %w : (tensor<128x16xbf16>, tensor<16x32xbf16>) -> tensor<128x32xbf16>
  %y = tw.reshape %m : tensor<128x32xbf16> -> tensor<2x8x8x32xbf16>
  %e = tw.cast %y : tensor<2x8x8x32xbf16> -> tensor<2x8x8x32xf32>
  %a, %q = tw.moments %e over [0, 1, 2] : tensor<2x8x8x32xf32> -> tensor<32xf32>
  func.return %y, %a, %q : tensor<2x8x8x32xbf16>, tensor<32xf32>, tensor<32xf32>
}

// -----

// What the gradient of a norm sums: two sums at once, one of them with a tensor that the product does not read.

// CHECK-LABEL: @norm_gradient
// CHECK:      %[[P:.*]], %[[Q:.*]], %m = tk.kernel [32, 2, 32, 16] ins(%g, %w, %x :
// CHECK:      tk.reduce add %{{.*}} over [2] {tk.of_tile}
// CHECK:      tk.reduce add %{{.*}} over [2] {tk.of_tile}
// CHECK:      %s, %t = tk.kernel [32, 2] ins(%[[P]], %[[Q]] :
// CHECK-NOT:  tk.kernel
func.func @norm_gradient(%g: tensor<64x16xbf16>, %w: tensor<16x32xbf16>, %x: tensor<64x32xbf16>) -> (tensor<64x32xbf16>, tensor<32xf32>, tensor<32xf32>) {
  %m = tw.matmul %g, %w : (tensor<64x16xbf16>, tensor<16x32xbf16>) -> tensor<64x32xbf16>
  %f = tw.cast %m : tensor<64x32xbf16> -> tensor<64x32xf32>
  %c = tw.cast %x : tensor<64x32xbf16> -> tensor<64x32xf32>
  %p = tw.mul %f, %c : tensor<64x32xf32>
  %s = tw.sum %f over [0] : tensor<64x32xf32> -> tensor<32xf32>
  %t = tw.sum %p over [0] : tensor<64x32xf32> -> tensor<32xf32>
  func.return %m, %s, %t : tensor<64x32xbf16>, tensor<32xf32>, tensor<32xf32>
}

// -----

// Columns, and nothing else of the product, whose rounding nobody asks for.

// CHECK-LABEL: @columns
// CHECK-NOT:  arith.truncf
// CHECK:      %[[P:.*]] = tk.kernel [16, 2, 32, 32] ins(%x, %w : {{.*}}) -> (tensor<2x16xf32>)
// CHECK:      tk.reduce max %{{.*}} over [2] {tk.of_tile}
// CHECK:      %s = tk.kernel [16, 2] ins(%[[P]] :
// CHECK-NOT:  tk.kernel
func.func @columns(%x: tensor<16x32xbf16>, %w: tensor<32x64xbf16>) -> tensor<16xf32> {
  %m = tw.matmul %x, %w : (tensor<16x32xbf16>, tensor<32x64xbf16>) -> tensor<16x64xbf16>
  %f = tw.cast %m : tensor<16x64xbf16> -> tensor<16x64xf32>
  %s = tw.max %f over [1] : tensor<16x64xf32> -> tensor<16xf32>
  func.return %s : tensor<16xf32>
}

// -----

// Matrices of a batch, each of them by itself.

// CHECK-LABEL: @batch
// CHECK:      %[[P:.*]], %m = tk.kernel [3, 32, 3, 32, 16] ins(%x, %w :
// CHECK:      tk.reduce add %{{.*}} over [3] {tk.of_tile}
// CHECK:      tk.kernel [3, 32, 3] ins(%[[P]] :
func.func @batch(%x: tensor<3x96x16xbf16>, %w: tensor<3x16x32xbf16>) -> (tensor<3x96x32xbf16>, tensor<3x32xf32>) {
  %m = tw.matmul %x, %w : (tensor<3x96x16xbf16>, tensor<3x16x32xbf16>) -> tensor<3x96x32xbf16>
  %f = tw.cast %m : tensor<3x96x32xbf16> -> tensor<3x96x32xf32>
  %s = tw.sum %f over [1] : tensor<3x96x32xf32> -> tensor<3x32xf32>
  func.return %m, %s : tensor<3x96x32xbf16>, tensor<3x32xf32>
}

// -----

// Of many rows the last tile may have fewer; others are masked.

// CHECK-LABEL: @last_tile
// CHECK:      %[[P:.*]], %e = tk.kernel [32, 5, 128, 16] ins(%x, %w : {{.*}}) -> (tensor<5x32xf32>, tensor<520x32xbf16>)
// CHECK:      %[[I:.*]] = arith.cmpi slt
// CHECK:      tk.load %{{.*}}[d1*128 + d2, d3] if %[[I]]
// CHECK:      tk.store %{{.*}}, %{{.*}}[d1*128 + d2, d0] if %[[I]]
// CHECK:      arith.select %[[I]]
// CHECK:      tk.reduce add %{{.*}} over [2] {tk.of_tile}
// CHECK:      tk.kernel [32, 5] ins(%[[P]] :
func.func @last_tile(%x: tensor<520x16xbf16>, %w: tensor<16x32xbf16>) -> (tensor<520x32xbf16>, tensor<32xf32>) {
  %m = tw.matmul %x, %w : (tensor<520x16xbf16>, tensor<16x32xbf16>) -> tensor<520x32xbf16>
  %e = tw.exp %m : tensor<520x32xbf16>
  %f = tw.cast %e : tensor<520x32xbf16> -> tensor<520x32xf32>
  %s = tw.sum %f over [0] : tensor<520x32xf32> -> tensor<32xf32>
  func.return %e, %s : tensor<520x32xbf16>, tensor<32xf32>
}

// -----

// Left alone: rows that make no whole tiles, or only one.

// REMARK: not reduced where a product makes it: 72 make no whole tiles
// REMARK: not reduced where a product makes it: 32 make no whole tiles
// CHECK-LABEL: @odd_rows
// CHECK-NOT:  tk.of_tile
func.func @odd_rows(%x: tensor<72x16xbf16>, %y: tensor<32x16xbf16>, %w: tensor<16x32xbf16>) -> (tensor<72x32xbf16>, tensor<32xf32>, tensor<32x32xbf16>, tensor<32xf32>) {
  %m = tw.matmul %x, %w : (tensor<72x16xbf16>, tensor<16x32xbf16>) -> tensor<72x32xbf16>
  %f = tw.cast %m : tensor<72x32xbf16> -> tensor<72x32xf32>
  %s = tw.sum %f over [0] : tensor<72x32xf32> -> tensor<32xf32>
  %n = tw.matmul %y, %w : (tensor<32x16xbf16>, tensor<16x32xbf16>) -> tensor<32x32xbf16>
  %g = tw.cast %n : tensor<32x32xbf16> -> tensor<32x32xf32>
  %t = tw.sum %g over [0] : tensor<32x32xf32> -> tensor<32xf32>
  func.return %m, %s, %n, %t : tensor<72x32xbf16>, tensor<32xf32>, tensor<32x32xbf16>, tensor<32xf32>
}

// -----

// Sums over all of it, or over a batch as well: a tile has no part of those.

// REMARK: not reduced where a product makes it: neither all rows nor all columns are reduced
// CHECK-LABEL: @all
// CHECK-NOT:  tk.of_tile
func.func @all(%x: tensor<2x64x16xbf16>, %w: tensor<2x16x32xbf16>) -> (tensor<2x64x32xbf16>, tensor<32xf32>) {
  %m = tw.matmul %x, %w : (tensor<2x64x16xbf16>, tensor<2x16x32xbf16>) -> tensor<2x64x32xbf16>
  %f = tw.cast %m : tensor<2x64x32xbf16> -> tensor<2x64x32xf32>
  %s = tw.sum %f over [0, 1] : tensor<2x64x32xf32> -> tensor<32xf32>
  func.return %m, %s : tensor<2x64x32xbf16>, tensor<32xf32>
}

// -----

// Each element meets several others: there is one store of it for all of them.

// REMARK: not reduced where a product makes it: it is read again and again
// CHECK-LABEL: @again
// CHECK-NOT:  tk.of_tile
func.func @again(%x: tensor<64x16xbf16>, %w: tensor<16x32xbf16>, %t: tensor<64x5xf32>) -> (tensor<64x32xbf16>, tensor<32x5xf32>) {
  %m = tw.matmul %x, %w : (tensor<64x16xbf16>, tensor<16x32xbf16>) -> tensor<64x32xbf16>
  %f = tw.cast %m : tensor<64x32xbf16> -> tensor<64x32xf32>
  %a = tw.broadcast %f dims [0, 1] : tensor<64x32xf32> -> tensor<64x32x5xf32>
  %b = tw.broadcast %t dims [0, 2] : tensor<64x5xf32> -> tensor<64x32x5xf32>
  %c = tw.add %a, %b : tensor<64x32x5xf32>
  %s = tw.max %c over [0] : tensor<64x32x5xf32> -> tensor<32x5xf32>
  func.return %m, %s : tensor<64x32xbf16>, tensor<32x5xf32>
}

// -----

// What runs along the rows on its way goes along all of them, and a tile scans nothing.

// CHECK-LABEL: @running
// CHECK-NOT:  tk.of_tile
func.func @running(%x: tensor<64x16xbf16>, %w: tensor<16x64xbf16>) -> tensor<64xf32> {
  %m = tw.matmul %x, %w : (tensor<64x16xbf16>, tensor<16x64xbf16>) -> tensor<64x64xbf16>
  %s = tk.kernel [64, 64] ins(%m : tensor<64x64xbf16>) -> (tensor<64xf32>) {
  ^bb0(%a: tensor<64x64xbf16>, %o: tensor<64xf32>):
    %0 = tk.load %a[d0, d1] : tensor<64x64xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.scan add %1 along 1 : f32
    %3 = tk.reduce add %2 over [1] : f32
    tk.store %3, %o[d0] : f32, tensor<64xf32>
  }
  func.return %s : tensor<64xf32>
}

// -----

// Three other tensors.

// REMARK: not reduced where a product makes it: 3 tiles would be read beside
// CHECK-LABEL: @much_beside
// CHECK-NOT:  tk.of_tile
func.func @much_beside(%g: tensor<64x16xbf16>, %w: tensor<16x32xbf16>, %x: tensor<64x32xbf16>, %y: tensor<64x32xbf16>, %z: tensor<64x32xbf16>) -> (tensor<64x32xbf16>, tensor<32xf32>) {
  %m = tw.matmul %g, %w : (tensor<64x16xbf16>, tensor<16x32xbf16>) -> tensor<64x32xbf16>
  %a = tw.mul %m, %x : tensor<64x32xbf16>
  %b = tw.mul %a, %y : tensor<64x32xbf16>
  %c = tw.mul %b, %z : tensor<64x32xbf16>
  %f = tw.cast %c : tensor<64x32xbf16> -> tensor<64x32xf32>
  %s = tw.sum %f over [0] : tensor<64x32xf32> -> tensor<32xf32>
  func.return %m, %s : tensor<64x32xbf16>, tensor<32xf32>
}

// -----

// A kernel that reduces each row reads all of it anyway, and sums its columns as well (`sum-at-source`).

// REMARK: not reduced where a product makes it: another kernel reads all that it does
// CHECK-LABEL: @rows_too
// CHECK-NOT:  tk.of_tile
func.func @rows_too(%x: tensor<64x16xbf16>, %w: tensor<16x32xbf16>) -> (tensor<64x32xbf16>, tensor<64x32xf32>, tensor<32xf32>) {
  %m = tw.matmul %x, %w : (tensor<64x16xbf16>, tensor<16x32xbf16>) -> tensor<64x32xbf16>
  %f = tw.cast %m : tensor<64x32xbf16> -> tensor<64x32xf32>
  %t = tw.sum %f over [1] : tensor<64x32xf32> -> tensor<64xf32>
  %u = tw.broadcast %t dims [0] : tensor<64xf32> -> tensor<64x32xf32>
  %v = tw.sub %f, %u : tensor<64x32xf32>
  %s = tw.sum %f over [0] : tensor<64x32xf32> -> tensor<32xf32>
  func.return %m, %v, %s : tensor<64x32xbf16>, tensor<64x32xf32>, tensor<32xf32>
}

// -----

// Rows and columns: a tile has parts of one of them. The first is taken, and the other reads what that made.

// REMARK: not reduced where a product makes it: neither all rows nor all columns are reduced
// CHECK-LABEL: @rows_and_columns
// CHECK:      %[[P:.*]], %m = tk.kernel [32, 2, 32, 16] ins(%x, %w :
// CHECK:      tk.reduce add %{{.*}} over [2] {tk.of_tile}
// CHECK-NOT:  tk.of_tile
// CHECK:      tk.kernel [64, 32] ins(%m :
func.func @rows_and_columns(%x: tensor<64x16xbf16>, %w: tensor<16x32xbf16>) -> (tensor<64x32xbf16>, tensor<32xf32>, tensor<64xf32>) {
  %m = tw.matmul %x, %w : (tensor<64x16xbf16>, tensor<16x32xbf16>) -> tensor<64x32xbf16>
  %f = tw.cast %m : tensor<64x32xbf16> -> tensor<64x32xf32>
  %s = tw.sum %f over [0] : tensor<64x32xf32> -> tensor<32xf32>
  %t = tw.sum %f over [1] : tensor<64x32xf32> -> tensor<64xf32>
  func.return %m, %s, %t : tensor<64x32xbf16>, tensor<32xf32>, tensor<64xf32>
}

// -----

// A sum of what the largest of all is subtracted from: of a tile it is another one.

// CHECK-LABEL: @largest_first
// CHECK-NOT:  tk.of_tile
func.func @largest_first(%x: tensor<64x16xbf16>, %w: tensor<16x32xbf16>) -> (tensor<64x32xbf16>, tensor<32xf32>) {
  %m = tw.matmul %x, %w : (tensor<64x16xbf16>, tensor<16x32xbf16>) -> tensor<64x32xbf16>
  %f = tw.cast %m : tensor<64x32xbf16> -> tensor<64x32xf32>
  %a = tw.max %f over [0] : tensor<64x32xf32> -> tensor<32xf32>
  %b = tw.broadcast %a dims [1] : tensor<32xf32> -> tensor<64x32xf32>
  %d = tw.sub %f, %b : tensor<64x32xf32>
  %e = tw.exp %d : tensor<64x32xf32>
  %s = tw.sum %e over [0] : tensor<64x32xf32> -> tensor<32xf32>
  func.return %m, %s : tensor<64x32xbf16>, tensor<32xf32>
}

// -----

// Matrix units do not make so few columns.

// REMARK: what it makes is reduced elsewhere: matrix units do not make it
// CHECK-LABEL: @narrow
// CHECK-NOT:  tk.of_tile
func.func @narrow(%x: tensor<64x16xbf16>, %w: tensor<16x8xbf16>) -> (tensor<64x8xbf16>, tensor<8xf32>) {
  %m = tw.matmul %x, %w : (tensor<64x16xbf16>, tensor<16x8xbf16>) -> tensor<64x8xbf16>
  %f = tw.cast %m : tensor<64x8xbf16> -> tensor<64x8xf32>
  %s = tw.sum %f over [0] : tensor<64x8xf32> -> tensor<8xf32>
  func.return %m, %s : tensor<64x8xbf16>, tensor<8xf32>
}

// -----

// Rows whose number only the run knows.

// CHECK-LABEL: @symbolic
// CHECK:      %[[P:.*]], %m = tk.kernel [32, ((s0 + 127) floordiv 128), 128, 16] ins(%x, %w :
// CHECK:      tk.store %{{.*}}, %{{.*}}[d1*128 + d2, d0] if
// CHECK:      tk.reduce add %{{.*}} over [2] {tk.of_tile}
// CHECK:      %s = tk.kernel [32, ((s0 + 127) floordiv 128)] ins(%[[P]] :
func.func @symbolic(%x: tensor<?x16xbf16, #tw.shape<"s0, 16">>, %w: tensor<16x32xbf16>, %s0: index {tw.symbol = "s0"}) -> (tensor<?x32xbf16, #tw.shape<"s0, 32">>, tensor<32xf32>) {
  %m = tw.matmul %x, %w : (tensor<?x16xbf16, #tw.shape<"s0, 16">>, tensor<16x32xbf16>) -> tensor<?x32xbf16, #tw.shape<"s0, 32">>
  %f = tw.cast %m : tensor<?x32xbf16, #tw.shape<"s0, 32">> -> tensor<?x32xf32, #tw.shape<"s0, 32">>
  %s = tw.sum %f over [0] : tensor<?x32xf32, #tw.shape<"s0, 32">> -> tensor<32xf32>
  func.return %m, %s : tensor<?x32xbf16, #tw.shape<"s0, 32">>, tensor<32xf32>
}

// -----

// Whether matrix units make it, or a library, only the run would know.

// REMARK: what it makes is reduced elsewhere: sizes are symbolic
// CHECK-LABEL: @symbolic_sum
// CHECK-NOT:  tk.of_tile
func.func @symbolic_sum(%x: tensor<64x?xbf16, #tw.shape<"64, s0">>, %w: tensor<?x32xbf16, #tw.shape<"s0, 32">>, %s0: index {tw.symbol = "s0"}) -> (tensor<64x32xbf16>, tensor<32xf32>) {
  %m = tw.matmul %x, %w : (tensor<64x?xbf16, #tw.shape<"64, s0">>, tensor<?x32xbf16, #tw.shape<"s0, 32">>) -> tensor<64x32xbf16>
  %f = tw.cast %m : tensor<64x32xbf16> -> tensor<64x32xf32>
  %s = tw.sum %f over [0] : tensor<64x32xf32> -> tensor<32xf32>
  func.return %m, %s : tensor<64x32xbf16>, tensor<32xf32>
}
