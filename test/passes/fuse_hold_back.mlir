// RUN: tilewright-opt %s -p "convert-tw-to-tk{products=half},absorb-views,fuse{hold-back=true},dce" --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p "convert-tw-to-tk{products=half},absorb-views,fuse,dce" --split-input-file | filecheck %s --check-prefix=AT-ONCE
// RUN: tilewright-opt %s -p "convert-tw-to-tk{products=half},absorb-views,dce,fuse{hold-back=true tile=128 far=true},dce" --split-input-file | filecheck %s --check-prefix=TILE
// RUN: tilewright-opt %s -p "convert-tw-to-tk{products=half},absorb-views,fuse{hold-back=true tile=128},dce" --split-input-file | filecheck %s --check-prefix=NEAR

// The norm reads the product's halves, not floats that the product wrote for it.
// CHECK-LABEL: @norm_behind_product
// CHECK:       %[[P:.*]] = tk.kernel [32, 64, 16] {{.*}} -> (tensor<32x64xbf16>)
// CHECK:       tk.kernel [32, 64] ins(%[[P]] : tensor<32x64xbf16>) -> (tensor<32xf32>)
// AT-ONCE-LABEL: @norm_behind_product
// AT-ONCE:     tk.kernel [32, 64, 16] {{.*}} -> (tensor<32x64xbf16>, tensor<32x64xf32>)
func.func @norm_behind_product(%x: tensor<32x16xbf16>, %y: tensor<16x64xbf16>) -> (tensor<32x64xbf16>, tensor<32xf32>) {
  %p = tw.matmul %x, %y : (tensor<32x16xbf16>, tensor<16x64xbf16>) -> tensor<32x64xbf16>
  %f = tw.cast %p : tensor<32x64xbf16> -> tensor<32x64xf32>
  %s = tw.sum %f over [1] : tensor<32x64xf32> -> tensor<32xf32>
  func.return %p, %s : tensor<32x64xbf16>, tensor<32xf32>
}

// -----

// What is summed to floats is no wider than its terms: they join the sum, and not the product.
// CHECK-LABEL: @sums_of_what_reads_a_product
// CHECK:       %[[P:.*]] = tk.kernel [32, 64, 16] {{.*}} -> (tensor<32x64xbf16>)
// CHECK:       tk.kernel [32, 64] ins(%[[P]], %z : {{.*}}) -> (tensor<64xf32>)
// CHECK:       tk.kernel [64]
// CHECK-NOT:   tk.kernel
func.func @sums_of_what_reads_a_product(%x: tensor<32x16xbf16>, %y: tensor<16x64xbf16>, %z: tensor<32x64xbf16>)
    -> (tensor<32x64xbf16>, tensor<f32>) {
  %p = tw.matmul %x, %y : (tensor<32x16xbf16>, tensor<16x64xbf16>) -> tensor<32x64xbf16>
  %t = tw.mul %p, %z : tensor<32x64xbf16>
  %f = tw.cast %t : tensor<32x64xbf16> -> tensor<32x64xf32>
  %s = tw.sum %f over [0] : tensor<32x64xf32> -> tensor<64xf32>
  %r = tw.sum %s over [0] : tensor<64xf32> -> tensor<f32>
  func.return %p, %r : tensor<32x64xbf16>, tensor<f32>
}

// -----

// What takes the place of the product's result joins it at once.
// CHECK-LABEL: @epilogue
// CHECK:       tk.kernel [32, 64, 16] {{.*}} -> (tensor<32x64xbf16>)
// CHECK:       math.tanh
// CHECK-NOT:   tk.kernel
func.func @epilogue(%x: tensor<32x16xbf16>, %y: tensor<16x64xbf16>) -> tensor<32x64xbf16> {
  %p = tw.matmul %x, %y : (tensor<32x16xbf16>, tensor<16x64xbf16>) -> tensor<32x64xbf16>
  %t = tw.tanh %p : tensor<32x64xbf16>
  func.return %t : tensor<32x64xbf16>
}

// -----

// What waited and found no other kernel joins the product in the end.
// CHECK-LABEL: @joins_in_the_end
// CHECK:       %{{.*}}, %[[T:.*]] = tk.kernel [32, 64, 16] {{.*}} -> (tensor<32x64xbf16>, tensor<32x64xbf16>)
// CHECK:       tk.kernel [32, 8, 64]
// CHECK-NOT:   tk.kernel
func.func @joins_in_the_end(%x: tensor<32x16xbf16>, %y: tensor<16x64xbf16>, %z: tensor<64x8xbf16>)
    -> (tensor<32x64xbf16>, tensor<32x8xbf16>) {
  %p = tw.matmul %x, %y : (tensor<32x16xbf16>, tensor<16x64xbf16>) -> tensor<32x64xbf16>
  %t = tw.tanh %p : tensor<32x64xbf16>
  %q = tw.matmul %t, %z : (tensor<32x64xbf16>, tensor<64x8xbf16>) -> tensor<32x8xbf16>
  func.return %p, %q : tensor<32x64xbf16>, tensor<32x8xbf16>
}

// -----

// Tiles take the factors as they were: widening is no work. Anything beyond that is.
// CHECK-LABEL: @widened_factors
// CHECK: tk.kernel [64, 64, 64] ins(%{{.*}}, %b :
// CHECK: tk.load %{{.*}}[d0, d2] : tensor<64x64xf32> -> f32
// CHECK: tk.load %{{.*}}[d1, d2] : tensor<64x64xbf16> -> bf16
func.func @widened_factors(%a: tensor<64x64xbf16>, %b: tensor<64x64xbf16>) -> tensor<64x64xf32> {
  %x = tk.kernel [64, 64] ins(%a : tensor<64x64xbf16>) -> (tensor<64x64xf32>) {
  ^bb0(%0: tensor<64x64xbf16>, %1: tensor<64x64xf32>):
    %2 = tk.load %0[d0, d1] : tensor<64x64xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = math.exp %3 : f32
    tk.store %4, %1[d0, d1] : f32, tensor<64x64xf32>
  }
  %y = tk.kernel [64, 64] ins(%b : tensor<64x64xbf16>) -> (tensor<64x64xf32>) {
  ^bb0(%0: tensor<64x64xbf16>, %1: tensor<64x64xf32>):
    %2 = tk.load %0[d0, d1] : tensor<64x64xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    tk.store %3, %1[d0, d1] : f32, tensor<64x64xf32>
  }
  %r = tk.kernel [64, 64, 64] ins(%x, %y : tensor<64x64xf32>, tensor<64x64xf32>) -> (tensor<64x64xf32>) {
  ^bb0(%0: tensor<64x64xf32>, %1: tensor<64x64xf32>, %2: tensor<64x64xf32>):
    %3 = tk.load %0[d0, d2] : tensor<64x64xf32> -> f32
    %4 = tk.load %1[d1, d2] : tensor<64x64xf32> -> f32
    %5 = arith.mulf %3, %4 : f32
    %6 = tk.reduce add %5 over [2] {tk.factors = bf16} : f32
    tk.store %6, %2[d0, d1] : f32, tensor<64x64xf32>
  }
  func.return %r : tensor<64x64xf32>
}

// -----

// Few rows take each weight once: it is widened where it is multiplied. Many would widen it again and again.
// Where results stay in a cache, it is widened once for few rows, too.
// TILE-LABEL: @widened_weights
// TILE: tk.kernel [64, 64, 64] ins(%x, %w :
// TILE-NOT: tk.kernel
// TILE: return
// TILE-LABEL: @widened_again_and_again
// TILE: tk.kernel [64, 64] ins(%w :
// TILE: tk.kernel [8192, 64, 64]
// NEAR-LABEL: @widened_weights
// NEAR: tk.kernel [64, 64] ins(%w :
// NEAR: tk.kernel [64, 64, 64]
func.func @widened_weights(%x: tensor<64x64xbf16>, %w: tensor<64x64xi8>) -> tensor<64x64xbf16> {
  %0 = tw.cast %w : tensor<64x64xi8> -> tensor<64x64xbf16>
  %1 = tw.matmul %x, %0 : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  func.return %1 : tensor<64x64xbf16>
}

func.func @widened_again_and_again(%x: tensor<8192x64xbf16>, %w: tensor<64x64xi8>) -> tensor<8192x64xbf16> {
  %0 = tw.cast %w : tensor<64x64xi8> -> tensor<64x64xbf16>
  %1 = tw.matmul %x, %0 : (tensor<8192x64xbf16>, tensor<64x64xbf16>) -> tensor<8192x64xbf16>
  func.return %1 : tensor<8192x64xbf16>
}

// -----

// As many bytes come as go: the product reads what was computed.
// TILE-LABEL: @computed_factor
// TILE: tk.kernel [256, 64] ins(%x, %y :
// TILE: tk.kernel [256, 4096, 64]
func.func @computed_factor(%x: tensor<256x64xbf16>, %y: tensor<256x64xbf16>, %w: tensor<64x4096xbf16>) -> tensor<256x4096xbf16> {
  %0 = tw.add %x, %y : tensor<256x64xbf16>
  %1 = tw.matmul %0, %w : (tensor<256x64xbf16>, tensor<64x4096xbf16>) -> tensor<256x4096xbf16>
  func.return %1 : tensor<256x4096xbf16>
}

// -----

// Tiles take 8-bit floats as they are.
// CHECK-LABEL: @decoded_factors
// CHECK: tk.kernel [8192, 64, 64] ins(%x, %w :
// CHECK-NOT: tk.kernel
func.func @decoded_factors(%x: tensor<8192x64xi8>, %w: tensor<64x64xi8>) -> tensor<8192x64xf32> {
  %0 = tw.decode_float8 %x from "e4m3fn" : tensor<8192x64xi8> -> tensor<8192x64xf32>
  %1 = tw.decode_float8 %w from "e4m3fn" : tensor<64x64xi8> -> tensor<64x64xf32>
  %2 = tw.matmul %0, %1 : (tensor<8192x64xf32>, tensor<64x64xf32>) -> tensor<8192x64xf32>
  func.return %2 : tensor<8192x64xf32>
}

// -----

// What only widens waits for the product that takes the narrow elements: they are stored, not the wide ones.

// CHECK-LABEL: @stores_bytes
// CHECK: %m, %q = tk.kernel [8, 16] ins(%x {{.*}} -> (tensor<8xf32>, tensor<8x16xi8>)
// CHECK: tk.kernel [8, 4, 16] ins(%q, %w : tensor<8x16xi8>, tensor<16x4xi8>)
// AT-ONCE-LABEL: @stores_bytes
// AT-ONCE: tk.kernel [8, 16] {{.*}} tensor<8x16xf32>)
func.func @stores_bytes(%x: tensor<8x16xf32>, %w: tensor<16x4xi8>) -> tensor<8x4xf32> {
  %m = tw.max %x over [1] : tensor<8x16xf32> -> tensor<8xf32>
  %b = tw.broadcast %m dims [0] : tensor<8xf32> -> tensor<8x16xf32>
  %d = tw.div %x, %b : tensor<8x16xf32>
  %q = tw.encode_float8 %d to "e4m3fn" : tensor<8x16xf32> -> tensor<8x16xi8>
  %f = tw.decode_float8 %q from "e4m3fn" : tensor<8x16xi8> -> tensor<8x16xf32>
  %g = tw.decode_float8 %w from "e4m3fn" : tensor<16x4xi8> -> tensor<16x4xf32>
  %r = tw.matmul %f, %g : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  func.return %r : tensor<8x4xf32>
}

// -----

// A sum of windows reads halves that are stored, not floats within padding that are a little work more.

// TILE-LABEL: @sums_windows_of_halves
// TILE: %[[H:.*]] = tk.kernel [64, 64] {{.*}} -> (tensor<64x64xbf16>)
// TILE: tk.kernel [64, 64, 3, 3] ins(%[[H]] : tensor<64x64xbf16>)
// TILE: tk.load {{.*}} if
func.func @sums_windows_of_halves(%x: tensor<64x64xbf16>) -> tensor<64x64xf32> {
  %0 = tw.exp %x : tensor<64x64xbf16>
  %1 = tw.tanh %0 : tensor<64x64xbf16>
  %2 = tw.cast %1 : tensor<64x64xbf16> -> tensor<64x64xf32>
  %3 = tw.full 9.0 : f32 -> tensor<64x64xf32>
  %4 = tw.div %2, %3 : tensor<64x64xf32>
  %5 = tw.pad %4 low "1, 1" high "1, 1" value 0.0 : f32 : tensor<64x64xf32> -> tensor<66x66xf32>
  %6 = tw.window %5 dims [0, 1] sizes [3, 3] strides [1, 1] dilation [1, 1] : tensor<66x66xf32> -> tensor<64x64x3x3xf32>
  %7 = tw.sum %6 over [2, 3] : tensor<64x64x3x3xf32> -> tensor<64x64xf32>
  func.return %7 : tensor<64x64xf32>
}

// -----

// What is more work than that is done once, and stored without the padding.

// TILE-LABEL: @sums_windows_of_floats
// TILE: %[[F:.*]] = tk.kernel [64, 64] {{.*}} -> (tensor<64x64xf32>)
// TILE: tk.kernel [64, 64, 3, 3] ins(%[[F]] : tensor<64x64xf32>)
func.func @sums_windows_of_floats(%x: tensor<64x64xbf16>) -> tensor<64x64xf32> {
  %0 = tw.exp %x : tensor<64x64xbf16>
  %1 = tw.tanh %0 : tensor<64x64xbf16>
  %2 = tw.cast %1 : tensor<64x64xbf16> -> tensor<64x64xf32>
  %3 = tw.exp %2 : tensor<64x64xf32>
  %4 = tw.sin %3 : tensor<64x64xf32>
  %5 = tw.pad %4 low "1, 1" high "1, 1" value 0.0 : f32 : tensor<64x64xf32> -> tensor<66x66xf32>
  %6 = tw.window %5 dims [0, 1] sizes [3, 3] strides [1, 1] dilation [1, 1] : tensor<66x66xf32> -> tensor<64x64x3x3xf32>
  %7 = tw.sum %6 over [2, 3] : tensor<64x64x3x3xf32> -> tensor<64x64xf32>
  func.return %7 : tensor<64x64xf32>
}
