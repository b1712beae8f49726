// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse{hold_back=true tile=128},sum-in-products' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse{hold_back=true tile=128},sum-in-products' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Too large to be executed here. Tiles have as many rows as leave enough programs.

// CHECK-LABEL: @rows_of_a_tile
// CHECK:      tk.kernel [128, 256, 128, 64]
// CHECK:      tk.kernel [128, 64, 64, 64]
// CHECK:      tk.kernel [128, 32, 32, 64]
func.func @rows_of_a_tile(%x: tensor<32768x64xbf16>, %y: tensor<4096x64xbf16>, %z: tensor<1024x64xbf16>, %w: tensor<64x128xbf16>) -> (tensor<32768x128xbf16>, tensor<128xf32>, tensor<4096x128xbf16>, tensor<128xf32>, tensor<1024x128xbf16>, tensor<128xf32>) {
  %m = tw.matmul %x, %w : (tensor<32768x64xbf16>, tensor<64x128xbf16>) -> tensor<32768x128xbf16>
  %f = tw.cast %m : tensor<32768x128xbf16> -> tensor<32768x128xf32>
  %s = tw.sum %f over [0] : tensor<32768x128xf32> -> tensor<128xf32>
  %n = tw.matmul %y, %w : (tensor<4096x64xbf16>, tensor<64x128xbf16>) -> tensor<4096x128xbf16>
  %g = tw.cast %n : tensor<4096x128xbf16> -> tensor<4096x128xf32>
  %t = tw.sum %g over [0] : tensor<4096x128xf32> -> tensor<128xf32>
  %o = tw.matmul %z, %w : (tensor<1024x64xbf16>, tensor<64x128xbf16>) -> tensor<1024x128xbf16>
  %h = tw.cast %o : tensor<1024x128xbf16> -> tensor<1024x128xf32>
  %u = tw.sum %h over [0] : tensor<1024x128xf32> -> tensor<128xf32>
  func.return %m, %s, %n, %t, %o, %u : tensor<32768x128xbf16>, tensor<128xf32>, tensor<4096x128xbf16>, tensor<128xf32>, tensor<1024x128xbf16>, tensor<128xf32>
}

// -----

// A library multiplies where much is to be added for each element; where memory is waited for it does not.

// REMARK: what it makes is reduced elsewhere: a library multiplies
// CHECK-LABEL: @of_a_library
// CHECK:      tk.kernel [8192, 512, 2048] {{.*}} -> (tensor<8192x512xbf16>)
// CHECK:      tk.kernel [512, 256, 128, 512] {{.*}} -> (tensor<256x512xf32>, tensor<32768x512xbf16>)
func.func @of_a_library(%x: tensor<8192x2048xbf16>, %w: tensor<2048x512xbf16>, %y: tensor<32768x512xbf16>, %v: tensor<512x512xbf16>) -> (tensor<8192x512xbf16>, tensor<512xf32>, tensor<32768x512xbf16>, tensor<512xf32>) {
  %m = tw.matmul %x, %w : (tensor<8192x2048xbf16>, tensor<2048x512xbf16>) -> tensor<8192x512xbf16>
  %f = tw.cast %m : tensor<8192x512xbf16> -> tensor<8192x512xf32>
  %s = tw.sum %f over [0] : tensor<8192x512xf32> -> tensor<512xf32>
  %n = tw.matmul %y, %v : (tensor<32768x512xbf16>, tensor<512x512xbf16>) -> tensor<32768x512xbf16>
  %g = tw.cast %n : tensor<32768x512xbf16> -> tensor<32768x512xf32>
  %t = tw.sum %g over [0] : tensor<32768x512xf32> -> tensor<512xf32>
  func.return %m, %s, %n, %t : tensor<8192x512xbf16>, tensor<512xf32>, tensor<32768x512xbf16>, tensor<512xf32>
}

// -----

// A long sum of few tiles is summed in parts itself.

// REMARK: what it makes is reduced elsewhere: it is summed in parts itself
// CHECK-LABEL: @long_sum
// CHECK-NOT:  tk.of_tile
func.func @long_sum(%x: tensor<128x16384xbf16>, %w: tensor<16384x128xbf16>) -> (tensor<128x128xbf16>, tensor<128xf32>) {
  %m = tw.matmul %x, %w : (tensor<128x16384xbf16>, tensor<16384x128xbf16>) -> tensor<128x128xbf16>
  %f = tw.cast %m : tensor<128x128xbf16> -> tensor<128x128xf32>
  %s = tw.sum %f over [0] : tensor<128x128xf32> -> tensor<128xf32>
  func.return %m, %s : tensor<128x128xbf16>, tensor<128xf32>
}
