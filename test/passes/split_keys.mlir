// RUN: tilewright-opt %s -p split-keys --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p split-keys --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Four heads of queries share one of keys: they are rows of one. Of its 512 keys there are four parts, of 128 each.
// CHECK-LABEL: @shared_heads
// CHECK-NEXT: %[[Q:.*]] = tw.reshape %q : tensor<1x8x1x64xbf16> -> tensor<1x2x4x64xbf16> loc("m.py":3:0)
// CHECK-NEXT: %[[EACH:.*]] = tw.broadcast %[[Q]] dims [0, 1, 3, 4] : {{.*}} -> tensor<1x2x4x4x64xbf16>
// CHECK-NEXT: %[[QS:.*]] = tw.reshape %[[EACH]] : {{.*}} -> tensor<1x8x4x64xbf16>
// CHECK-NEXT: %[[KS:.*]] = tw.reshape %k : tensor<1x2x512x64xbf16> -> tensor<1x8x128x64xbf16>
// CHECK-NEXT: %[[VS:.*]] = tw.reshape %v : tensor<1x2x512x32xbf16> -> tensor<1x8x128x32xbf16>
// CHECK-NEXT: %[[O:.*]], %[[L:.*]] = tw.attention %[[QS]], %[[KS]], %[[VS]] scale 5.000000e-01 dropout 0.000000e+00 : {{.*}} -> (tensor<1x8x4x32xf32>, tensor<1x8x4xf32>)
// CHECK-NEXT: %[[PARTS:.*]] = tw.reshape %[[O]] : tensor<1x8x4x32xf32> -> tensor<1x2x4x4x32xf32>
// CHECK-NEXT: %[[SUMS:.*]] = tw.reshape %[[L]] : tensor<1x8x4xf32> -> tensor<1x2x4x4xf32>
// CHECK-NEXT: %[[COLUMNS:.*]] = tw.broadcast %[[SUMS]] dims [0, 1, 2, 3] : {{.*}} -> tensor<1x2x4x4x32xf32>
// CHECK-NEXT: %[[TOP:.*]] = tw.max %[[COLUMNS]] over [2]
// CHECK:      %[[W:.*]] = tw.exp
// CHECK-NEXT: %[[T:.*]] = tw.sum %[[W]] over [2]
// CHECK:      %[[P:.*]] = tw.mul %[[PARTS]], %[[W]]
// CHECK-NEXT: tw.sum %[[P]] over [2] : tensor<1x2x4x4x32xf32> -> tensor<1x2x4x32xf32>
// CHECK:      %[[R:.*]] = tw.div
// CHECK:      %[[SUM:.*]] = tw.add
// CHECK:      %[[H:.*]] = tw.reshape %[[R]] : tensor<1x2x4x32xf32> -> tensor<1x8x1x32xf32>
// CHECK-NEXT: %[[C:.*]] = tw.cast %[[H]] : tensor<1x8x1x32xf32> -> tensor<1x8x1x32xbf16>
// CHECK-NEXT: %[[S:.*]] = tw.reshape %[[SUM]] : tensor<1x2x4xf32> -> tensor<1x8x1xf32>
// CHECK-NEXT: return %[[C]], %[[S]]
func.func @shared_heads(%q: tensor<1x8x1x64xbf16>, %k: tensor<1x2x512x64xbf16>, %v: tensor<1x2x512x32xbf16>)
    -> (tensor<1x8x1x32xbf16>, tensor<1x8x1xf32>) {
  %o, %l = tw.attention %q, %k, %v scale 0.5 dropout 0.0
    : (tensor<1x8x1x64xbf16>, tensor<1x2x512x64xbf16>, tensor<1x2x512x32xbf16>)
      -> (tensor<1x8x1x32xbf16>, tensor<1x8x1xf32>) loc("m.py":3:0)
  func.return %o, %l : tensor<1x8x1x32xbf16>, tensor<1x8x1xf32>
}

// -----

// A row that is alone has zeros beside it, for tiles; masks of all heads and rows stay so.
// CHECK-LABEL: @one_row
// CHECK: %[[PAD:.*]] = tw.pad %q low "0, 0, 0, 0" high "0, 0, 1, 0"
// CHECK: %[[M:.*]] = tw.reshape %{{.*}} : tensor<1x1x1x512xi1> -> tensor<1x1x1x4x128xi1>
// CHECK: %[[T:.*]] = tw.transpose %[[M]] by [0, 1, 3, 2, 4]
// CHECK: %[[B:.*]] = tw.broadcast %[[T]] dims [0, 1, 2, 3, 4] : {{.*}} -> tensor<1x3x4x1x128xi1>
// CHECK: %[[MS:.*]] = tw.reshape %[[B]] : {{.*}} -> tensor<1x12x1x128xi1>
// CHECK: tw.attention %{{.*}} mask %[[MS]] scale
// CHECK: tw.slice %{{.*}} starts "0, 0, 0, 0" {{.*}} -> tensor<1x12x1x8xf32>
// CHECK: tw.slice %{{.*}} starts "0, 0, 0" {{.*}} -> tensor<1x12x1xf32>
func.func @one_row(%q: tensor<1x3x1x8xf16>, %k: tensor<1x3x512x8xf16>, %m1: tensor<512xi1>) -> tensor<1x3x1x8xf16> {
  %m = tw.reshape %m1 : tensor<512xi1> -> tensor<1x512xi1>
  %o, %l = tw.attention %q, %k, %k mask %m scale 0.5 dropout 0.0
    : (tensor<1x3x1x8xf16>, tensor<1x3x512x8xf16>, tensor<1x3x512x8xf16>, tensor<1x512xi1>)
      -> (tensor<1x3x1x8xf16>, tensor<1x3x1xf32>)
  func.return %o : tensor<1x3x1x8xf16>
}

// -----

// A mask for each row is one for each row of each head.
// CHECK-LABEL: @mask_of_rows
// CHECK: %[[EACH:.*]] = tw.broadcast %m dims [0, 1, 3, 4] : tensor<1x1x3x512xf16> -> tensor<1x1x2x3x512xf16>
// CHECK: %[[ROWS:.*]] = tw.reshape %[[EACH]] : {{.*}} -> tensor<1x1x6x512xf16>
// CHECK: tw.reshape %[[ROWS]] : {{.*}} -> tensor<1x1x6x4x128xf16>
func.func @mask_of_rows(%q: tensor<1x2x3x8xf16>, %k: tensor<1x1x512x8xf16>, %m: tensor<1x1x3x512xf16>) -> tensor<1x2x3x8xf16> {
  %o, %l = tw.attention %q, %k, %k mask %m scale 0.5 dropout 0.0
    : (tensor<1x2x3x8xf16>, tensor<1x1x512x8xf16>, tensor<1x1x512x8xf16>, tensor<1x1x3x512xf16>)
      -> (tensor<1x2x3x8xf16>, tensor<1x2x3xf32>)
  func.return %o : tensor<1x2x3x8xf16>
}

// -----

// Many rows fill tiles by themselves: keys that they share are there for each head, and parts are longer.
// CHECK-LABEL: @many_rows
// CHECK: tw.broadcast %k dims [0, 1, 3, 4] : tensor<1x1x2048x8xf32> -> tensor<1x1x2x2048x8xf32>
// CHECK: tw.attention {{.*}} : (tensor<1x8x40x8xf32>, tensor<1x8x512x8xf32>, tensor<1x8x512x8xf32>) -> (tensor<1x8x40x8xf32>
func.func @many_rows(%q: tensor<1x2x40x8xf32>, %k: tensor<1x1x2048x8xf32>) -> tensor<1x2x40x8xf32> {
  %o, %l = tw.attention %q, %k, %k scale 0.5 dropout 0.0
    : (tensor<1x2x40x8xf32>, tensor<1x1x2048x8xf32>, tensor<1x1x2048x8xf32>) -> (tensor<1x2x40x8xf32>, tensor<1x2x40xf32>)
  func.return %o : tensor<1x2x40x8xf32>
}

// -----

// CHECK-LABEL: @not_worth_a_launch
// CHECK-NEXT: tw.attention %q, %k, %k
func.func @not_worth_a_launch(%q: tensor<8x4x256x8xf16>, %k: tensor<8x4x256x8xf16>) -> tensor<8x4x256x8xf16> {
  %o, %l = tw.attention %q, %k, %k scale 0.5 dropout 0.0
    : (tensor<8x4x256x8xf16>, tensor<8x4x256x8xf16>, tensor<8x4x256x8xf16>) -> (tensor<8x4x256x8xf16>, tensor<8x4x256xf32>)
  func.return %o : tensor<8x4x256x8xf16>
}

// -----

// Many sequences fill a GPU without parts; keys are read once for the heads that share them.
// CHECK-LABEL: @many_sequences
// CHECK: tw.attention {{.*}} : (tensor<64x2x4x8xf16>, tensor<64x2x512x8xf16>, tensor<64x2x512x8xf16>) -> (tensor<64x2x4x8xf16>
// CHECK-NOT: tw.max
func.func @many_sequences(%q: tensor<64x8x1x8xf16>, %k: tensor<64x2x512x8xf16>) -> tensor<64x8x1x8xf16> {
  %o, %l = tw.attention %q, %k, %k scale 0.5 dropout 0.0
    : (tensor<64x8x1x8xf16>, tensor<64x2x512x8xf16>, tensor<64x2x512x8xf16>) -> (tensor<64x8x1x8xf16>, tensor<64x8x1xf32>)
  func.return %o : tensor<64x8x1x8xf16>
}

// -----

// Programs enough, but keys are widened where they are read, which no library does: two parts, so that the row
// is not alone.
// CHECK-LABEL: @narrow_keys
// CHECK: tw.attention {{.*}} : (tensor<64x8x2x8xf16>, tensor<64x8x256x8xf16>, tensor<64x8x256x8xf16>) -> (tensor<64x8x2x8xf32>
// CHECK: tw.max
func.func @narrow_keys(%q: tensor<64x4x1x8xf16>, %k: tensor<64x4x512x8xi8>, %s: tensor<64x4x512x1xf16>) -> tensor<64x4x1x8xf16> {
  %0 = tw.cast %k : tensor<64x4x512x8xi8> -> tensor<64x4x512x8xf16>
  %1 = tw.broadcast %s dims [0, 1, 2, 3] : tensor<64x4x512x1xf16> -> tensor<64x4x512x8xf16>
  %2 = tw.mul %0, %1 : tensor<64x4x512x8xf16>
  %o, %l = tw.attention %q, %2, %2 scale 0.5 dropout 0.0
    : (tensor<64x4x1x8xf16>, tensor<64x4x512x8xf16>, tensor<64x4x512x8xf16>) -> (tensor<64x4x1x8xf16>, tensor<64x4x1xf32>)
  func.return %o : tensor<64x4x1x8xf16>
}

// -----

// What is made of as much stays for a library, and few keys: a part of fewer than 128 is over too soon.
// CHECK-LABEL: @computed_keys
// CHECK: tw.attention %q, %{{.*}}, %{{.*}} {{.*}} : (tensor<64x4x1x8xf16>, tensor<64x4x512x8xf16>
// REMARK: not split: left to a library: one of its sides has no more than one element
func.func @computed_keys(%q: tensor<64x4x1x8xf16>, %k: tensor<64x4x512x8xf16>) -> tensor<64x4x1x8xf16> {
  %0 = tw.neg %k : tensor<64x4x512x8xf16>
  %o, %l = tw.attention %q, %0, %0 scale 0.5 dropout 0.0
    : (tensor<64x4x1x8xf16>, tensor<64x4x512x8xf16>, tensor<64x4x512x8xf16>) -> (tensor<64x4x1x8xf16>, tensor<64x4x1xf32>)
  func.return %o : tensor<64x4x1x8xf16>
}

// -----

// CHECK-LABEL: @few_narrow_keys
// CHECK: tw.attention %q, %{{.*}}, %{{.*}} {{.*}} : (tensor<64x4x1x8xf16>, tensor<64x4x240x8xf16>
func.func @few_narrow_keys(%q: tensor<64x4x1x8xf16>, %k: tensor<64x4x240x8xi8>) -> tensor<64x4x1x8xf16> {
  %0 = tw.cast %k : tensor<64x4x240x8xi8> -> tensor<64x4x240x8xf16>
  %o, %l = tw.attention %q, %0, %0 scale 0.5 dropout 0.0
    : (tensor<64x4x1x8xf16>, tensor<64x4x240x8xf16>, tensor<64x4x240x8xf16>) -> (tensor<64x4x1x8xf16>, tensor<64x4x1xf32>)
  func.return %o : tensor<64x4x1x8xf16>
}

// -----

// CHECK-LABEL: @enough_programs
// CHECK-NEXT: tw.attention %q, %k, %k
func.func @enough_programs(%q: tensor<8x16x40x8xf16>, %k: tensor<8x16x512x8xf16>) -> tensor<8x16x40x8xf16> {
  %o, %l = tw.attention %q, %k, %k scale 0.5 dropout 0.0
    : (tensor<8x16x40x8xf16>, tensor<8x16x512x8xf16>, tensor<8x16x512x8xf16>) -> (tensor<8x16x40x8xf16>, tensor<8x16x40xf32>)
  func.return %o : tensor<8x16x40x8xf16>
}

// -----

// Of 1000 keys the last of seven parts has eight less, which a mask hides.
// CHECK-LABEL: @odd_keys
// CHECK: %[[K:.*]] = tw.pad %k low "0, 0, 0, 0" high "0, 0, 8, 0" value 0.000000e+00 : f16
// CHECK-NEXT: tw.reshape %[[K]] : tensor<1x2x1008x8xf16> -> tensor<1x14x144x8xf16>
// CHECK: %[[ALL:.*]] = tw.full true -> tensor<1x1x1x1000xi1>
// CHECK-NEXT: %[[M:.*]] = tw.pad %[[ALL]] low "0, 0, 0, 0" high "0, 0, 0, 8" value false
// CHECK-NEXT: tw.reshape %[[M]] : tensor<1x1x1x1008xi1> -> tensor<1x1x1x7x144xi1>
// CHECK: tw.attention {{.*}} : (tensor<1x14x3x8xf16>, tensor<1x14x144x8xf16>, tensor<1x14x144x8xf16>, tensor<1x14x1x144xi1>) -> (tensor<1x14x3x8xf32>
func.func @odd_keys(%q: tensor<1x2x3x8xf16>, %k: tensor<1x2x1000x8xf16>) -> tensor<1x2x3x8xf16> {
  %o, %l = tw.attention %q, %k, %k scale 0.5 dropout 0.0
    : (tensor<1x2x3x8xf16>, tensor<1x2x1000x8xf16>, tensor<1x2x1000x8xf16>) -> (tensor<1x2x3x8xf16>, tensor<1x2x3xf32>)
  func.return %o : tensor<1x2x3x8xf16>
}

// -----

// A mask that is added hides keys by -inf; one number for all keys becomes one for each.
// CHECK-LABEL: @odd_keys_and_a_mask
// CHECK: %[[EACH:.*]] = tw.broadcast %{{.*}} dims [0, 1, 2, 3] : tensor<1x1x3x1xf16> -> tensor<1x1x3x1000xf16>
// CHECK-NEXT: tw.pad %[[EACH]] low "0, 0, 0, 0" high "0, 0, 0, 8" value 0xfc00 : f16
func.func @odd_keys_and_a_mask(%q: tensor<1x2x3x8xf16>, %k: tensor<1x2x1000x8xf16>, %m: tensor<3x1xf16>) -> tensor<1x2x3x8xf16> {
  %o, %l = tw.attention %q, %k, %k mask %m scale 0.5 dropout 0.0
    : (tensor<1x2x3x8xf16>, tensor<1x2x1000x8xf16>, tensor<1x2x1000x8xf16>, tensor<3x1xf16>) -> (tensor<1x2x3x8xf16>, tensor<1x2x3xf32>)
  func.return %o : tensor<1x2x3x8xf16>
}

// -----

// CHECK-LABEL: @causal
// CHECK-NEXT: tw.attention %q, %q, %q causal
// REMARK: not split: it asks where a key stands
func.func @causal(%q: tensor<1x2x512x8xf16>) -> tensor<1x2x512x8xf16> {
  %o, %l = tw.attention %q, %q, %q causal scale 0.5 dropout 0.0
    : (tensor<1x2x512x8xf16>, tensor<1x2x512x8xf16>, tensor<1x2x512x8xf16>) -> (tensor<1x2x512x8xf16>, tensor<1x2x512xf32>)
  func.return %o : tensor<1x2x512x8xf16>
}

// -----

// As many parts as 4096 keys would have, at most; the keys of each are counted when it runs.
// CHECK-LABEL: @symbolic_keys
// CHECK: tw.pad %k low "0, 0, 0, 0" high "0, 0, -s0 + ((s0 + 511) floordiv 512)*512, 0"
// CHECK: tw.attention {{.*}}#tw.shape<"1, 64, ((s0 + 511) floordiv 512)*16, 8">
func.func @symbolic_keys(%q: tensor<1x2x3x8xf16>, %k: tensor<1x2x?x8xf16, #tw.shape<"1, 2, s0, 8">>, %s0: index {tw.symbol = "s0"}) -> tensor<1x2x3x8xf16> {
  %o, %l = tw.attention %q, %k, %k scale 0.5 dropout 0.0
    : (tensor<1x2x3x8xf16>, tensor<1x2x?x8xf16, #tw.shape<"1, 2, s0, 8">>, tensor<1x2x?x8xf16, #tw.shape<"1, 2, s0, 8">>) -> (tensor<1x2x3x8xf16>, tensor<1x2x3xf32>)
  func.return %o : tensor<1x2x3x8xf16>
}

// -----

// CHECK-LABEL: @symbolic_rows
// CHECK-NEXT: tw.attention %q, %k, %k
// REMARK: not split: its heads or rows are of a symbolic number
func.func @symbolic_rows(%q: tensor<1x2x?x8xf16, #tw.shape<"1, 2, s0, 8">>, %k: tensor<1x2x512x8xf16>, %s0: index {tw.symbol = "s0"}) -> tensor<1x2x?x8xf16, #tw.shape<"1, 2, s0, 8">> {
  %o, %l = tw.attention %q, %k, %k scale 0.5 dropout 0.0
    : (tensor<1x2x?x8xf16, #tw.shape<"1, 2, s0, 8">>, tensor<1x2x512x8xf16>, tensor<1x2x512x8xf16>) -> (tensor<1x2x?x8xf16, #tw.shape<"1, 2, s0, 8">>, tensor<1x2x?xf32, #tw.shape<"1, 2, s0">>)
  func.return %o : tensor<1x2x?x8xf16, #tw.shape<"1, 2, s0, 8">>
}

// -----

// CHECK-LABEL: @wide_heads
// CHECK-NEXT: tw.attention %q, %k, %k
// REMARK: not split: left to a library: heads are symbolic or have more than 256 elements
func.func @wide_heads(%q: tensor<1x2x3x512xf16>, %k: tensor<1x2x512x512xf16>) -> tensor<1x2x3x512xf16> {
  %o, %l = tw.attention %q, %k, %k scale 0.5 dropout 0.0
    : (tensor<1x2x3x512xf16>, tensor<1x2x512x512xf16>, tensor<1x2x512x512xf16>) -> (tensor<1x2x3x512xf16>, tensor<1x2x3xf32>)
  func.return %o : tensor<1x2x3x512xf16>
}
