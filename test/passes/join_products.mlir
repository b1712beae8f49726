// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse{hold-back=true tile=128 far=true},join-products' --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse{hold-back=true tile=128 far=true},join-products' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse{hold-back=true tile=128 far=true},join-products' --split-input-file --check-semantics -o /dev/null
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse{hold-back=true tile=128 far=true},join-products,bufferize,plan-memory,flatten-axes,schedule-gpu,apply-schedule' --split-input-file | filecheck %s --check-prefix=TILES

// Sums of other lengths: each has an axis of its own, and what is added comes behind the products.
// CHECK-LABEL: @added
// CHECK:       tk.kernel [64, 48, 16, 32] ins(%y, %w, %x, %v, %r
// CHECK:       %[[B:.*]] = tk.reduce add %{{.*}} over [3] {tk.factors = bf16} : f32 loc("m.py":8:0)
// CHECK:       %[[A:.*]] = tk.reduce add %{{.*}} over [2] {tk.factors = bf16} : f32 loc("m.py":7:0)
// CHECK:       %[[S:.*]] = arith.addf %[[A]], %[[B]] : f32
// CHECK:       arith.addf %[[S]], %{{.*}} : f32
// CHECK-NOT:   tk.kernel
// The second loop goes on from the tile of the first one.
// TILES-LABEL: tk.func @matmul_add
// TILES:       %[[Z:.*]] = vector.broadcast
// TILES:       %[[T:.*]] = tk.for 2 = "0" to "16" step 16 iter({{.*}} = %[[Z]] : vector<32x32xf32>)
// TILES:       tk.mma
// TILES:       %[[U:.*]] = tk.for 3 = "0" to "32" step 32 iter({{.*}} = %[[T]] : vector<32x32xf32>)
// TILES:       tk.mma
// TILES:       arith.addf %[[U]], %{{.*}} : vector<32x32xf32>
func.func @added(%x: tensor<64x16xbf16>, %v: tensor<16x48xbf16>, %y: tensor<64x32xbf16>, %w: tensor<32x48xbf16>, %r: tensor<64x48xbf16>) -> tensor<64x48xbf16> {
  %a = tw.matmul %x, %v : (tensor<64x16xbf16>, tensor<16x48xbf16>) -> tensor<64x48xbf16> loc("m.py":7:0)
  %b = tw.matmul %y, %w : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16> loc("m.py":8:0)
  %c = tw.add %a, %r : tensor<64x48xbf16>
  %s = tw.add %c, %b : tensor<64x48xbf16>
  func.return %s : tensor<64x48xbf16>
}

// -----

// A gate, and what it lets through, which is stored as well.
// CHECK-LABEL: @gated
// CHECK:       %a, %s = tk.kernel [64, 48, 32, 32] ins(%x, %v, %w
// CHECK-NOT:   tk.kernel
func.func @gated(%x: tensor<64x32xbf16>, %v: tensor<32x48xbf16>, %w: tensor<32x48xbf16>) -> (tensor<64x48xbf16>, tensor<64x48xbf16>) {
  %a = tw.matmul %x, %v : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
  %b = tw.matmul %x, %w : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
  %g = tw.sigmoid %b : tensor<64x48xbf16>
  %s = tw.mul %g, %a : tensor<64x48xbf16>
  func.return %s, %a : tensor<64x48xbf16>, tensor<64x48xbf16>
}

// -----

// Three tiles of sums, none of which goes on from another, would be held beside each other.
// CHECK-LABEL: @three_tiles
// CHECK-COUNT-2: tk.kernel
// CHECK-NOT:     tk.kernel
// REMARK: not one kernel with a product that it reads: 3 tiles of sums would be held
func.func @three_tiles(%x: tensor<64x32xbf16>, %u: tensor<32x48xbf16>, %v: tensor<32x48xbf16>, %w: tensor<32x48xbf16>) -> tensor<64x48xbf16> {
  %a = tw.matmul %x, %u : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
  %b = tw.matmul %x, %v : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
  %c = tw.matmul %x, %w : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
  %m = tw.mul %a, %b : tensor<64x48xbf16>
  %s = tw.mul %m, %c : tensor<64x48xbf16>
  func.return %s : tensor<64x48xbf16>
}

// -----

// Another kernel makes, of the one product, what the other one reads.
// CHECK-LABEL: @another_path
// CHECK-COUNT-4: tk.kernel
// CHECK-NOT:     tk.kernel
// REMARK: not one kernel with a product that it reads: another path leads from it to the consumer
func.func @another_path(%x: tensor<64x32xbf16>, %u: tensor<32x48xbf16>, %w: tensor<64x48xbf16>) -> tensor<64x48xbf16> {
  %a = tw.matmul %x, %u : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
  %m = tw.max %a over [0] : tensor<64x48xbf16> -> tensor<48xbf16>
  %l = tw.broadcast %m dims [1] : tensor<48xbf16> -> tensor<64x48xbf16>
  %p = tw.mul %w, %l : tensor<64x48xbf16>
  %t = tw.transpose %w by [1, 0] : tensor<64x48xbf16> -> tensor<48x64xbf16>
  %q = tw.matmul %p, %t : (tensor<64x48xbf16>, tensor<48x64xbf16>) -> tensor<64x64xbf16>
  %b = tw.matmul %q, %w : (tensor<64x64xbf16>, tensor<64x48xbf16>) -> tensor<64x48xbf16>
  %s = tw.add %a, %b : tensor<64x48xbf16>
  func.return %s : tensor<64x48xbf16>
}

// -----

// What is read is turned: rows of the one are columns of the other, and so are its tiles.
// CHECK-LABEL: @turned
// CHECK:       tk.kernel [48, 48, 16, 32]
// CHECK-NOT:   tk.kernel
func.func @turned(%x: tensor<48x16xbf16>, %v: tensor<16x48xbf16>, %y: tensor<48x32xbf16>, %w: tensor<32x48xbf16>) -> tensor<48x48xbf16> {
  %a = tw.matmul %x, %v : (tensor<48x16xbf16>, tensor<16x48xbf16>) -> tensor<48x48xbf16>
  %b = tw.matmul %y, %w : (tensor<48x32xbf16>, tensor<32x48xbf16>) -> tensor<48x48xbf16>
  %t = tw.transpose %a by [1, 0] : tensor<48x48xbf16> -> tensor<48x48xbf16>
  %s = tw.add %t, %b : tensor<48x48xbf16>
  func.return %s : tensor<48x48xbf16>
}

// -----

// A product of a product is no sum of tiles; products of f32 are a library's.
// CHECK-LABEL: @chained
// CHECK-COUNT-2: tk.kernel
// CHECK-NOT:     tk.kernel
func.func @chained(%x: tensor<64x32xbf16>, %v: tensor<32x48xbf16>, %w: tensor<48x48xbf16>) -> tensor<64x48xbf16> {
  %a = tw.matmul %x, %v : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
  %b = tw.matmul %a, %w : (tensor<64x48xbf16>, tensor<48x48xbf16>) -> tensor<64x48xbf16>
  func.return %b : tensor<64x48xbf16>
}

// -----

// Each batch would make it again.
// CHECK-LABEL: @of_all_batches
// CHECK-COUNT-2: tk.kernel
// CHECK-NOT:     tk.kernel
// REMARK: not one kernel with a product that it reads: a tile does not sum one after the other
func.func @of_all_batches(%x: tensor<8x64x32xbf16>, %v: tensor<8x32x48xbf16>, %y: tensor<64x32xbf16>, %w: tensor<32x48xbf16>) -> tensor<8x64x48xbf16> {
  %a = tw.matmul %y, %w : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
  %b = tw.matmul %x, %v : (tensor<8x64x32xbf16>, tensor<8x32x48xbf16>) -> tensor<8x64x48xbf16>
  %l = tw.broadcast %a dims [1, 2] : tensor<64x48xbf16> -> tensor<8x64x48xbf16>
  %s = tw.add %l, %b : tensor<8x64x48xbf16>
  func.return %s : tensor<8x64x48xbf16>
}

// -----

// Five are more than are compiled as one.
// CHECK-LABEL: @five
// CHECK-COUNT-2: tk.kernel
// CHECK-NOT:     tk.kernel
// REMARK: not one kernel with a product that it reads: there would be 5 products
func.func @five(%x: tensor<64x32xbf16>, %w: tensor<5x32x48xbf16>) -> tensor<64x48xbf16> {
  %s0 = tw.slice %w starts "0, 0, 0" steps "1, 1, 1" : tensor<5x32x48xbf16> -> tensor<1x32x48xbf16>
  %w0 = tw.reshape %s0 : tensor<1x32x48xbf16> -> tensor<32x48xbf16>
  %p0 = tw.matmul %x, %w0 : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
  %s1 = tw.slice %w starts "1, 0, 0" steps "1, 1, 1" : tensor<5x32x48xbf16> -> tensor<1x32x48xbf16>
  %w1 = tw.reshape %s1 : tensor<1x32x48xbf16> -> tensor<32x48xbf16>
  %p1 = tw.matmul %x, %w1 : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
  %s2 = tw.slice %w starts "2, 0, 0" steps "1, 1, 1" : tensor<5x32x48xbf16> -> tensor<1x32x48xbf16>
  %w2 = tw.reshape %s2 : tensor<1x32x48xbf16> -> tensor<32x48xbf16>
  %p2 = tw.matmul %x, %w2 : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
  %s3 = tw.slice %w starts "3, 0, 0" steps "1, 1, 1" : tensor<5x32x48xbf16> -> tensor<1x32x48xbf16>
  %w3 = tw.reshape %s3 : tensor<1x32x48xbf16> -> tensor<32x48xbf16>
  %p3 = tw.matmul %x, %w3 : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
  %s4 = tw.slice %w starts "4, 0, 0" steps "1, 1, 1" : tensor<5x32x48xbf16> -> tensor<1x32x48xbf16>
  %w4 = tw.reshape %s4 : tensor<1x32x48xbf16> -> tensor<32x48xbf16>
  %p4 = tw.matmul %x, %w4 : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
  %a1 = tw.add %p0, %p1 : tensor<64x48xbf16>
  %a2 = tw.add %a1, %p2 : tensor<64x48xbf16>
  %a3 = tw.add %a2, %p3 : tensor<64x48xbf16>
  %a4 = tw.add %a3, %p4 : tensor<64x48xbf16>
  func.return %a4 : tensor<64x48xbf16>
}

// -----

// The first rows alone are read, and made in the rows of the reader.
// CHECK-LABEL: @of_first_rows
// CHECK:       tk.kernel [32, 48, 32, 16] ins(%x, %v, %y, %w
// CHECK-NOT:   tk.kernel
func.func @of_first_rows(%x: tensor<64x16xbf16>, %v: tensor<16x48xbf16>, %y: tensor<32x32xbf16>, %w: tensor<32x48xbf16>) -> tensor<32x48xbf16> {
  %a = tw.matmul %x, %v : (tensor<64x16xbf16>, tensor<16x48xbf16>) -> tensor<64x48xbf16>
  %h = tw.slice %a starts "0, 0" steps "1, 1" : tensor<64x48xbf16> -> tensor<32x48xbf16>
  %b = tw.matmul %y, %w : (tensor<32x32xbf16>, tensor<32x48xbf16>) -> tensor<32x48xbf16>
  %s = tw.add %b, %h : tensor<32x48xbf16>
  func.return %s : tensor<32x48xbf16>
}

// -----

// Others read all rows, of which the reader's tiles would store the first ones.
// CHECK-LABEL: @of_first_rows_kept
// CHECK-COUNT-2: tk.kernel
// CHECK-NOT:     tk.kernel
// REMARK: not one kernel with a product that it reads: all of it is stored, and only a part of it is read here
func.func @of_first_rows_kept(%x: tensor<64x16xbf16>, %v: tensor<16x48xbf16>, %y: tensor<32x32xbf16>, %w: tensor<32x48xbf16>) -> (tensor<32x48xbf16>, tensor<64x48xbf16>) {
  %a = tw.matmul %x, %v : (tensor<64x16xbf16>, tensor<16x48xbf16>) -> tensor<64x48xbf16>
  %h = tw.slice %a starts "0, 0" steps "1, 1" : tensor<64x48xbf16> -> tensor<32x48xbf16>
  %b = tw.matmul %y, %w : (tensor<32x32xbf16>, tensor<32x48xbf16>) -> tensor<32x48xbf16>
  %s = tw.add %b, %h : tensor<32x48xbf16>
  func.return %s, %a : tensor<32x48xbf16>, tensor<64x48xbf16>
}
