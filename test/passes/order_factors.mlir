// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse{hold-back=true tile=128 far=true},order-factors{tile=1}' --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse{hold-back=true tile=128 far=true},order-factors{tile=1}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Filters, of which rows of images multiply the channels last: a copy has these side by side.
// CHECK-LABEL: @filters
// CHECK:       %[[F:.*]] = tk.kernel [64, 2, 2, 64] ins(%w : tensor<64x64x2x2xbf16>)
// CHECK:       tk.load %{{.*}}[d0, d3, d1, d2] : {{.*}} loc("m.py":7:0)
// CHECK-NEXT:  tk.store %{{.*}}, %{{.*}}[d0, d1, d2, d3]
// CHECK:       tk.kernel [512, 64, 2, 2, 64] ins(%x, %[[F]] : tensor<512x256xbf16>, tensor<64x2x2x64xbf16>)
// CHECK:       tk.load %{{.*}}[d1, d2, d3, d4] : tensor<64x2x2x64xbf16>
func.func @filters(%x: tensor<512x256xbf16>, %w: tensor<64x64x2x2xbf16>) -> tensor<512x64xbf16> {
  %t = tw.transpose %w by [2, 3, 1, 0] : tensor<64x64x2x2xbf16> -> tensor<2x2x64x64xbf16>
  %m = tw.reshape %t : tensor<2x2x64x64xbf16> -> tensor<256x64xbf16>
  %r = tw.matmul %x, %m : (tensor<512x256xbf16>, tensor<256x64xbf16>) -> tensor<512x64xbf16> loc("m.py":7:0)
  func.return %r : tensor<512x64xbf16>
}

// -----

// Few rows read them as they lie: a launch, and to copy them, takes longer.
// CHECK-LABEL: @few_rows
// CHECK-COUNT-1: tk.kernel
// CHECK-NOT:     tk.kernel
// REMARK: a factor stays as it lies: a copy costs {{[0-9]+}} more than it saves
func.func @few_rows(%x: tensor<4x256xbf16>, %w: tensor<64x64x2x2xbf16>) -> tensor<4x64xbf16> {
  %t = tw.transpose %w by [2, 3, 1, 0] : tensor<64x64x2x2xbf16> -> tensor<2x2x64x64xbf16>
  %m = tw.reshape %t : tensor<2x2x64x64xbf16> -> tensor<256x64xbf16>
  %r = tw.matmul %x, %m : (tensor<4x256xbf16>, tensor<256x64xbf16>) -> tensor<4x64xbf16>
  func.return %r : tensor<4x64xbf16>
}

// -----

// So do small filters, of whatever many rows: no launch is saved by them.
// CHECK-LABEL: @small_filters
// CHECK-COUNT-1: tk.kernel
// CHECK-NOT:     tk.kernel
// REMARK: a factor stays as it lies: copies save {{[0-9]+}}
func.func @small_filters(%x: tensor<64x64xbf16>, %w: tensor<32x16x2x2xbf16>) -> tensor<64x32xbf16> {
  %t = tw.transpose %w by [2, 3, 1, 0] : tensor<32x16x2x2xbf16> -> tensor<2x2x16x32xbf16>
  %m = tw.reshape %t : tensor<2x2x16x32xbf16> -> tensor<64x32xbf16>
  %r = tw.matmul %x, %m : (tensor<64x64xbf16>, tensor<64x32xbf16>) -> tensor<64x32xbf16>
  func.return %r : tensor<64x32xbf16>
}

// -----

// The gradient of filters: an image is read in its own order, and the small result stored in another one.
// CHECK-LABEL: @gradient_of_filters
// CHECK:       tk.kernel [32, 2, 2, 64, 512]
// CHECK:       tk.load %{{.*}}[d4, d1, d2, d3] : tensor<512x2x2x64xbf16>
// CHECK:       tk.reduce add %{{.*}} over [4] {tk.factors = bf16}
// CHECK:       tk.store %{{.*}}, %{{.*}}[d0, d1*2 + d2 + d3*4]
func.func @gradient_of_filters(%g: tensor<512x32xbf16>, %x: tensor<512x2x2x64xbf16>) -> tensor<32x64x2x2xbf16> {
  %a = tw.transpose %g by [1, 0] : tensor<512x32xbf16> -> tensor<32x512xbf16>
  %t = tw.transpose %x by [0, 3, 1, 2] : tensor<512x2x2x64xbf16> -> tensor<512x64x2x2xbf16>
  %b = tw.reshape %t : tensor<512x64x2x2xbf16> -> tensor<512x256xbf16>
  %m = tw.matmul %a, %b : (tensor<32x512xbf16>, tensor<512x256xbf16>) -> tensor<32x256xbf16>
  %r = tw.reshape %m : tensor<32x256xbf16> -> tensor<32x64x2x2xbf16>
  func.return %r : tensor<32x64x2x2xbf16>
}

// -----

// A kernel that casts them stores them in that order: the sum of filters, read by another one, stays as it is.
// CHECK-LABEL: @casts
// CHECK:       %[[F:.*]] = tk.kernel [64, 2, 2, 64] ins(%f : tensor<64x64x2x2xf32>) -> (tensor<64x2x2x64xbf16>)
// CHECK:       arith.truncf
// CHECK:       tk.kernel [512, 64, 2, 2, 64] ins(%x, %[[F]] :
// CHECK-NOT:   tk.kernel
func.func @casts(%x: tensor<512x256xbf16>, %f: tensor<64x64x2x2xf32>) -> tensor<512x64xbf16> {
  %n = tw.cast %f : tensor<64x64x2x2xf32> -> tensor<64x64x2x2xbf16>
  %t = tw.transpose %n by [2, 3, 1, 0] : tensor<64x64x2x2xbf16> -> tensor<2x2x64x64xbf16>
  %m = tw.reshape %t : tensor<2x2x64x64xbf16> -> tensor<256x64xbf16>
  %r = tw.matmul %x, %m : (tensor<512x256xbf16>, tensor<256x64xbf16>) -> tensor<512x64xbf16>
  func.return %r : tensor<512x64xbf16>
}

// -----

// So are those that are returned as well: they are stored twice, then.
// CHECK-LABEL: @returned
// CHECK:       %[[N:.*]] = tk.kernel [64, 64, 2, 2] ins(%f : tensor<64x64x2x2xf32>)
// CHECK:       %[[F:.*]] = tk.kernel [64, 2, 2, 64] ins(%[[N]] :
// CHECK:       tk.kernel [512, 64, 2, 2, 64] ins(%x, %[[F]] :
func.func @returned(%x: tensor<512x256xbf16>, %f: tensor<64x64x2x2xf32>) -> (tensor<512x64xbf16>, tensor<64x64x2x2xbf16>) {
  %n = tw.cast %f : tensor<64x64x2x2xf32> -> tensor<64x64x2x2xbf16>
  %t = tw.transpose %n by [2, 3, 1, 0] : tensor<64x64x2x2xbf16> -> tensor<2x2x64x64xbf16>
  %m = tw.reshape %t : tensor<2x2x64x64xbf16> -> tensor<256x64xbf16>
  %r = tw.matmul %x, %m : (tensor<512x256xbf16>, tensor<256x64xbf16>) -> tensor<512x64xbf16>
  func.return %r, %n : tensor<512x64xbf16>, tensor<64x64x2x2xbf16>
}

// -----

// Products that walk a factor in one order read one copy. Each keeps its own place.
// CHECK-LABEL: @two_readers
// CHECK:       %[[F:.*]] = tk.kernel [64, 2, 2, 64] ins(%w : tensor<64x64x2x2xbf16>)
// CHECK:       tk.load %{{.*}}[d0, d3, d1, d2] : {{.*}} loc("m.py":7:0)
// CHECK:       tk.kernel [512, 64, 2, 2, 64] ins(%x, %[[F]] :
// CHECK:       tk.load %{{.*}}[d1, d2, d3, d4] : tensor<64x2x2x64xbf16> -> bf16 loc("m.py":7:0)
// CHECK:       tk.kernel [256, 64, 2, 2, 64] ins(%y, %[[F]] :
// CHECK:       tk.load %{{.*}}[d1, d2, d3, d4] : tensor<64x2x2x64xbf16> -> bf16 loc("m.py":8:0)
// CHECK-NOT:   tk.kernel
func.func @two_readers(%x: tensor<512x256xbf16>, %y: tensor<256x256xbf16>, %w: tensor<64x64x2x2xbf16>) -> (tensor<512x64xbf16>, tensor<256x64xbf16>) {
  %t = tw.transpose %w by [2, 3, 1, 0] : tensor<64x64x2x2xbf16> -> tensor<2x2x64x64xbf16>
  %m = tw.reshape %t : tensor<2x2x64x64xbf16> -> tensor<256x64xbf16>
  %r = tw.matmul %x, %m : (tensor<512x256xbf16>, tensor<256x64xbf16>) -> tensor<512x64xbf16> loc("m.py":7:0)
  %s = tw.matmul %y, %m : (tensor<256x256xbf16>, tensor<256x64xbf16>) -> tensor<256x64xbf16> loc("m.py":8:0)
  func.return %r, %s : tensor<512x64xbf16>, tensor<256x64xbf16>
}

// -----

// It is stored in their order where it is cast, if nothing else reads it.
// CHECK-LABEL: @cast_for_two
// CHECK:       %[[F:.*]] = tk.kernel [64, 2, 2, 64] ins(%f : tensor<64x64x2x2xf32>) -> (tensor<64x2x2x64xbf16>)
// CHECK:       arith.truncf
// CHECK:       tk.kernel [512, 64, 2, 2, 64] ins(%x, %[[F]] :
// CHECK:       tk.kernel [256, 64, 2, 2, 64] ins(%y, %[[F]] :
// CHECK-NOT:   tk.kernel
func.func @cast_for_two(%x: tensor<512x256xbf16>, %y: tensor<256x256xbf16>, %f: tensor<64x64x2x2xf32>) -> (tensor<512x64xbf16>, tensor<256x64xbf16>) {
  %n = tw.cast %f : tensor<64x64x2x2xf32> -> tensor<64x64x2x2xbf16>
  %t = tw.transpose %n by [2, 3, 1, 0] : tensor<64x64x2x2xbf16> -> tensor<2x2x64x64xbf16>
  %m = tw.reshape %t : tensor<2x2x64x64xbf16> -> tensor<256x64xbf16>
  %r = tw.matmul %x, %m : (tensor<512x256xbf16>, tensor<256x64xbf16>) -> tensor<512x64xbf16>
  %s = tw.matmul %y, %m : (tensor<256x256xbf16>, tensor<256x64xbf16>) -> tensor<256x64xbf16>
  func.return %r, %s : tensor<512x64xbf16>, tensor<256x64xbf16>
}

// -----

// What another product walks in another order is a copy of its own.
// CHECK-LABEL: @two_orders
// CHECK:       %[[F:.*]] = tk.kernel [64, 2, 2, 64] ins(%w :
// CHECK:       tk.load %{{.*}}[d0, d3, d1, d2]
// CHECK:       tk.kernel [512, 64, 2, 2, 64] ins(%x, %[[F]] :
// CHECK:       %[[G:.*]] = tk.kernel [64, 2, 2, 64] ins(%w :
// CHECK:       tk.load %{{.*}}[d0, d3, d2, d1]
// CHECK:       tk.kernel [512, 64, 2, 2, 64] ins(%y, %[[G]] :
func.func @two_orders(%x: tensor<512x256xbf16>, %y: tensor<512x256xbf16>, %w: tensor<64x64x2x2xbf16>) -> (tensor<512x64xbf16>, tensor<512x64xbf16>) {
  %t = tw.transpose %w by [2, 3, 1, 0] : tensor<64x64x2x2xbf16> -> tensor<2x2x64x64xbf16>
  %m = tw.reshape %t : tensor<2x2x64x64xbf16> -> tensor<256x64xbf16>
  %u = tw.transpose %w by [3, 2, 1, 0] : tensor<64x64x2x2xbf16> -> tensor<2x2x64x64xbf16>
  %n = tw.reshape %u : tensor<2x2x64x64xbf16> -> tensor<256x64xbf16>
  %r = tw.matmul %x, %m : (tensor<512x256xbf16>, tensor<256x64xbf16>) -> tensor<512x64xbf16>
  %s = tw.matmul %y, %n : (tensor<512x256xbf16>, tensor<256x64xbf16>) -> tensor<512x64xbf16>
  func.return %r, %s : tensor<512x64xbf16>, tensor<512x64xbf16>
}

// -----

// Four rows are too few for a copy, as above; those of two products are not.
// CHECK-LABEL: @few_rows_twice
// CHECK:       %[[F:.*]] = tk.kernel [64, 2, 2, 64] ins(%w :
// CHECK:       tk.kernel [4, 64, 2, 2, 64] ins(%x, %[[F]] :
// CHECK:       tk.kernel [4, 64, 2, 2, 64] ins(%y, %[[F]] :
func.func @few_rows_twice(%x: tensor<4x256xbf16>, %y: tensor<4x256xbf16>, %w: tensor<64x64x2x2xbf16>, %z: tensor<512x256xbf16>, %v: tensor<64x64x2x2xbf16>) -> (tensor<4x64xbf16>, tensor<4x64xbf16>, tensor<512x64xbf16>) {
  %t = tw.transpose %w by [2, 3, 1, 0] : tensor<64x64x2x2xbf16> -> tensor<2x2x64x64xbf16>
  %m = tw.reshape %t : tensor<2x2x64x64xbf16> -> tensor<256x64xbf16>
  %u = tw.transpose %v by [2, 3, 1, 0] : tensor<64x64x2x2xbf16> -> tensor<2x2x64x64xbf16>
  %n = tw.reshape %u : tensor<2x2x64x64xbf16> -> tensor<256x64xbf16>
  %r = tw.matmul %x, %m : (tensor<4x256xbf16>, tensor<256x64xbf16>) -> tensor<4x64xbf16>
  %s = tw.matmul %y, %m : (tensor<4x256xbf16>, tensor<256x64xbf16>) -> tensor<4x64xbf16>
  %q = tw.matmul %z, %n : (tensor<512x256xbf16>, tensor<256x64xbf16>) -> tensor<512x64xbf16>
  func.return %r, %s, %q : tensor<4x64xbf16>, tensor<4x64xbf16>, tensor<512x64xbf16>
}

// -----

// Neighbours along the sum, as weights of torch have them, or along columns, are read as they lie, and sizes
// that nobody knows.
// CHECK-LABEL: @left_alone
// CHECK-COUNT-3: tk.reduce add
// CHECK-NOT:     tk.kernel
func.func @left_alone(%x: tensor<512x256xbf16>, %w: tensor<64x256xbf16>, %v: tensor<256x64xbf16>, %d: tensor<64x?x2x2xbf16, #tw.shape<"64, s0, 2, 2">>, %y: tensor<512x?xbf16, #tw.shape<"512, s0*4">>, %s0: index {tw.symbol = "s0"}) -> (tensor<512x64xbf16>, tensor<512x64xbf16>, tensor<512x64xbf16>) {
  %t = tw.transpose %w by [1, 0] : tensor<64x256xbf16> -> tensor<256x64xbf16>
  %r = tw.matmul %x, %t : (tensor<512x256xbf16>, tensor<256x64xbf16>) -> tensor<512x64xbf16>
  %s = tw.matmul %x, %v : (tensor<512x256xbf16>, tensor<256x64xbf16>) -> tensor<512x64xbf16>
  %dt = tw.transpose %d by [2, 3, 1, 0] : tensor<64x?x2x2xbf16, #tw.shape<"64, s0, 2, 2">> -> tensor<2x2x?x64xbf16, #tw.shape<"2, 2, s0, 64">>
  %dm = tw.reshape %dt : tensor<2x2x?x64xbf16, #tw.shape<"2, 2, s0, 64">> -> tensor<?x64xbf16, #tw.shape<"s0*4, 64">>
  %z = tw.matmul %y, %dm : (tensor<512x?xbf16, #tw.shape<"512, s0*4">>, tensor<?x64xbf16, #tw.shape<"s0*4, 64">>) -> tensor<512x64xbf16>
  func.return %r, %s, %z : tensor<512x64xbf16>, tensor<512x64xbf16>, tensor<512x64xbf16>
}
