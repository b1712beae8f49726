// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse{hold-back=true tile=128 far=true},dce' --split-input-file | filecheck %s

// Keys turned by halves, as positions do it: the depth of heads is multiplied by tiles and stays one axis,
// which subscripts divide.

// CHECK-LABEL: @turned_keys
// CHECK:       tk.kernel [1, 2, 32, 64, 128, 64]
// CHECK:       tk.load %{{.*}}[0, d1, d4, -(d5 floordiv 32) + 1, (d5 mod 32)]
// CHECK:       tk.reduce add %{{.*}} over [5] {tk.factors = bf16}
// CHECK:       tk.reduce max %{{.*}} over [4]
// CHECK-NOT:   tk.kernel
func.func @turned_keys(%q: tensor<1x2x32x64xbf16>, %k: tensor<1x2x128x2x32xbf16>) -> tensor<1x2x32x64xbf16> {
  %n = tw.neg %k : tensor<1x2x128x2x32xbf16>
  %f = tw.reverse %n dims [3] : tensor<1x2x128x2x32xbf16> -> tensor<1x2x128x2x32xbf16>
  %t = tw.reshape %f : tensor<1x2x128x2x32xbf16> -> tensor<1x2x128x64xbf16>
  %e = tw.exp %t : tensor<1x2x128x64xbf16>
  %o, %l = tw.attention %q, %e, %t scale 0.125 dropout 0.0 : (tensor<1x2x32x64xbf16>, tensor<1x2x128x64xbf16>, tensor<1x2x128x64xbf16>) -> (tensor<1x2x32x64xbf16>, tensor<1x2x32xf32>)
  func.return %o : tensor<1x2x32x64xbf16>
}

// -----

// Where rows are summed, they become two axes, and nothing is divided.

// CHECK-LABEL: @sums_of_turned_keys
// CHECK:       tk.kernel [128, 2, 32]
// CHECK:       tk.load %{{.*}}[d0, -d1 + 1, d2]
// CHECK:       tk.reduce add %{{.*}} over [1, 2]
func.func @sums_of_turned_keys(%k: tensor<128x2x32xf32>) -> tensor<128xf32> {
  %n = tw.neg %k : tensor<128x2x32xf32>
  %f = tw.reverse %n dims [1] : tensor<128x2x32xf32> -> tensor<128x2x32xf32>
  %t = tw.reshape %f : tensor<128x2x32xf32> -> tensor<128x64xf32>
  %e = tw.exp %t : tensor<128x64xf32>
  %s = tw.sum %e over [1] : tensor<128x64xf32> -> tensor<128xf32>
  func.return %s : tensor<128xf32>
}
