// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse{hold-back=true tile=128 far=true},dce' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse{hold-back=true tile=128 far=true},dce' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Programs share nothing: each block of 128 rows would compute the sines of all keys.

// CHECK-LABEL: @sines_of_keys
// CHECK:       tk.kernel [8, 4096, 64]
// CHECK:       math.sin
// CHECK:       tk.kernel [1, 8, 4096, 64, 4096, 64]
// CHECK-NOT:   math.sin
// REMARK: not fused with the kernel of {{.*}}: recomputing it costs 2540468480 and saves 138412032; it reduces over different axes
func.func @sines_of_keys(%q: tensor<1x8x4096x64xbf16>, %k: tensor<1x8x4096x64xbf16>) -> tensor<1x8x4096x64xbf16> {
  %s = tw.sin %k : tensor<1x8x4096x64xbf16>
  %o, %l = tw.attention %q, %s, %k causal scale 0.125 dropout 0.0 : (tensor<1x8x4096x64xbf16>, tensor<1x8x4096x64xbf16>, tensor<1x8x4096x64xbf16>) -> (tensor<1x8x4096x64xbf16>, tensor<1x8x4096xf32>)
  func.return %o : tensor<1x8x4096x64xbf16>
}

// -----

// Rows are read by one block each.

// CHECK-LABEL: @sines_of_rows
// CHECK-COUNT-1: tk.kernel
// CHECK-NOT:     tk.kernel
func.func @sines_of_rows(%q: tensor<1x8x4096x64xbf16>, %k: tensor<1x8x4096x64xbf16>) -> tensor<1x8x4096x64xbf16> {
  %s = tw.sin %q : tensor<1x8x4096x64xbf16>
  %o, %l = tw.attention %s, %k, %k causal scale 0.125 dropout 0.0 : (tensor<1x8x4096x64xbf16>, tensor<1x8x4096x64xbf16>, tensor<1x8x4096x64xbf16>) -> (tensor<1x8x4096x64xbf16>, tensor<1x8x4096xf32>)
  func.return %o : tensor<1x8x4096x64xbf16>
}

// -----

// What is cheap is computed again in less time than memory takes.

// CHECK-LABEL: @opposite_keys
// CHECK-COUNT-1: tk.kernel
// CHECK-NOT:     tk.kernel
func.func @opposite_keys(%q: tensor<1x8x4096x64xbf16>, %k: tensor<1x8x4096x64xbf16>) -> tensor<1x8x4096x64xbf16> {
  %s = tw.neg %k : tensor<1x8x4096x64xbf16>
  %o, %l = tw.attention %q, %s, %k causal scale 0.125 dropout 0.0 : (tensor<1x8x4096x64xbf16>, tensor<1x8x4096x64xbf16>, tensor<1x8x4096x64xbf16>) -> (tensor<1x8x4096x64xbf16>, tensor<1x8x4096xf32>)
  func.return %o : tensor<1x8x4096x64xbf16>
}

// -----

// So is anything that one block of rows reads.

// CHECK-LABEL: @sines_for_few_rows
// CHECK-COUNT-1: tk.kernel
// CHECK-NOT:     tk.kernel
func.func @sines_for_few_rows(%q: tensor<1x1x4x5xf32>, %k: tensor<1x1x6x5xf32>) -> tensor<1x1x4x5xf32> {
  %s = tw.sin %k : tensor<1x1x6x5xf32>
  %o, %l = tw.attention %q, %s, %k scale 0.25 dropout 0.0 : (tensor<1x1x4x5xf32>, tensor<1x1x6x5xf32>, tensor<1x1x6x5xf32>) -> (tensor<1x1x4x5xf32>, tensor<1x1x4xf32>)
  func.return %o : tensor<1x1x4x5xf32>
}

// -----

// A table that each of 96 parts would compute again, which takes longer than what else they read and write.

// CHECK-LABEL: @table_of_powers
// CHECK:       tk.kernel [1024, 64]
// CHECK-COUNT-3: math.powf
// CHECK-NOT:   math.powf
func.func @table_of_powers(%t: tensor<1024x64xf32>, %x: tensor<64x1024x64xbf16>, %y: tensor<32x1024x64xbf16>)
    -> (tensor<64x1024x64xbf16>, tensor<32x1024x64xbf16>) {
  %n = tw.pow %t, %t : tensor<1024x64xf32>
  %m = tw.pow %n, %t : tensor<1024x64xf32>
  %p = tw.pow %m, %t : tensor<1024x64xf32>
  %b = tw.broadcast %p dims [1, 2] : tensor<1024x64xf32> -> tensor<64x1024x64xf32>
  %v = tw.cast %x : tensor<64x1024x64xbf16> -> tensor<64x1024x64xf32>
  %u = tw.mul %v, %b : tensor<64x1024x64xf32>
  %r = tw.cast %u : tensor<64x1024x64xf32> -> tensor<64x1024x64xbf16>
  %c = tw.broadcast %p dims [1, 2] : tensor<1024x64xf32> -> tensor<32x1024x64xf32>
  %w = tw.cast %y : tensor<32x1024x64xbf16> -> tensor<32x1024x64xf32>
  %z = tw.mul %w, %c : tensor<32x1024x64xf32>
  %s = tw.cast %z : tensor<32x1024x64xf32> -> tensor<32x1024x64xbf16>
  func.return %r, %s : tensor<64x1024x64xbf16>, tensor<32x1024x64xbf16>
}

// -----

// A sine takes no longer than they do.

// CHECK-LABEL: @table_of_sines
// CHECK-NOT:     tk.kernel [1024, 64]
// CHECK-COUNT-2: math.sin
func.func @table_of_sines(%t: tensor<1024x64xf32>, %x: tensor<64x1024x64xbf16>, %y: tensor<32x1024x64xbf16>)
    -> (tensor<64x1024x64xbf16>, tensor<32x1024x64xbf16>) {
  %p = tw.sin %t : tensor<1024x64xf32>
  %b = tw.broadcast %p dims [1, 2] : tensor<1024x64xf32> -> tensor<64x1024x64xf32>
  %v = tw.cast %x : tensor<64x1024x64xbf16> -> tensor<64x1024x64xf32>
  %u = tw.mul %v, %b : tensor<64x1024x64xf32>
  %r = tw.cast %u : tensor<64x1024x64xf32> -> tensor<64x1024x64xbf16>
  %c = tw.broadcast %p dims [1, 2] : tensor<1024x64xf32> -> tensor<32x1024x64xf32>
  %w = tw.cast %y : tensor<32x1024x64xbf16> -> tensor<32x1024x64xf32>
  %z = tw.mul %w, %c : tensor<32x1024x64xf32>
  %s = tw.cast %z : tensor<32x1024x64xf32> -> tensor<32x1024x64xbf16>
  func.return %r, %s : tensor<64x1024x64xbf16>, tensor<32x1024x64xbf16>
}
