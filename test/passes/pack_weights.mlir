// RUN: tilewright-opt %s -p pack-weights --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p pack-weights --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p "pack-weights{vector-bits=256}" --split-input-file | filecheck %s --check-prefix=AVX2
// RUN: tilewright-opt %s -p "pack-weights{bf16-dot=true}" --split-input-file | filecheck %s --check-prefix=DOT

// CHECK-LABEL: @packs_a_transposed_parameter
// CHECK:      %[[T:.*]] = tw.transpose %w
// CHECK-NEXT: %[[P:.*]] = tw.pack %[[T]] width 48 : tensor<64x96xf32> -> tensor<2x64x48xf32> loc("m.py":3:0)
// CHECK-NEXT: tw.packed_matmul %x, %[[P]] bias %b {{.*}} loc("m.py":3:0)
// AVX2:       tw.pack %{{.*}} width 24
func.func @packs_a_transposed_parameter(%x: tensor<37x64xf32>, %w: tensor<96x64xf32> {tw.frozen}, %b: tensor<96xf32>) -> tensor<37x96xf32> {
  %wt = tw.transpose %w by [1, 0] : tensor<96x64xf32> -> tensor<64x96xf32>
  %m = tw.matmul %x, %wt bias %b : (tensor<37x64xf32>, tensor<64x96xf32>, tensor<96xf32>) -> tensor<37x96xf32> loc("m.py":3:0)
  func.return %m : tensor<37x96xf32>
}

// -----

// CHECK-LABEL: @keeps_what_may_change
// CHECK:      tw.matmul
func.func @keeps_what_may_change(%x: tensor<37x64xf32>, %w: tensor<64x96xf32>) -> tensor<37x96xf32> {
  %m = tw.matmul %x, %w : (tensor<37x64xf32>, tensor<64x96xf32>) -> tensor<37x96xf32>
  func.return %m : tensor<37x96xf32>
}

// -----

// CHECK-LABEL: @pads_odd_columns
// CHECK:      %[[W:.*]] = tw.pad %w low "0, 0" high "0, 15" value 0.{{.*}} -> tensor<64x112xf32>
// CHECK-NEXT: %[[B:.*]] = tw.pad %b low "0" high "15" value 0.{{.*}} -> tensor<112xf32>
// CHECK-NEXT: %[[P:.*]] = tw.pack %[[W]] width 16
// CHECK-NEXT: %[[M:.*]] = tw.packed_matmul %x, %[[P]] bias %[[B]] {{.*}} -> tensor<37x112xf32>
// CHECK-NEXT: tw.slice %[[M]] starts "0, 0" steps "1, 1" : tensor<37x112xf32> -> tensor<37x97xf32>
func.func @pads_odd_columns(%x: tensor<37x64xf32>, %w: tensor<64x97xf32> {tw.frozen}, %b: tensor<97xf32> {tw.frozen}) -> tensor<37x97xf32> {
  %m = tw.matmul %x, %w bias %b : (tensor<37x64xf32>, tensor<64x97xf32>, tensor<97xf32>) -> tensor<37x97xf32>
  func.return %m : tensor<37x97xf32>
}

// -----

// Where few columns are wasted, the panels are as wide as they can be.
// CHECK-LABEL: @pads_to_wide_panels
// CHECK:      tw.pad %w low "0, 0" high "0, 8" value 0.{{.*}} -> tensor<64x1008xf32>
// CHECK-NEXT: tw.pack %{{.*}} width 48
func.func @pads_to_wide_panels(%x: tensor<37x64xf32>, %w: tensor<64x1000xf32> {tw.frozen}) -> tensor<37x1000xf32> {
  %m = tw.matmul %x, %w : (tensor<37x64xf32>, tensor<64x1000xf32>) -> tensor<37x1000xf32>
  func.return %m : tensor<37x1000xf32>
}

// -----

// CHECK-LABEL: @keeps_few_columns
// CHECK:      tw.matmul
// REMARK:     tw.matmul at {{.*}}: not packed: 7 columns are too few for 16-lane vectors
func.func @keeps_few_columns(%x: tensor<37x64xf32>, %w: tensor<64x7xf32> {tw.frozen}) -> tensor<37x7xf32> {
  %m = tw.matmul %x, %w : (tensor<37x64xf32>, tensor<64x7xf32>) -> tensor<37x7xf32>
  func.return %m : tensor<37x7xf32>
}

// -----

// Without instructions for pairs of bf16: the left operand is widened, the right one stays narrow.
// CHECK-LABEL: @widens_the_left_of_halves
// CHECK:      %[[X:.*]] = tw.cast %x : tensor<37x64xbf16> -> tensor<37x64xf32> loc("m.py":4:0)
// CHECK-NEXT: %[[B:.*]] = tw.cast %b : tensor<96xbf16> -> tensor<96xf32>
// CHECK-NEXT: %[[P:.*]] = tw.pack %w width 48 : tensor<64x96xbf16> -> tensor<2x64x48xbf16>
// CHECK-NEXT: %[[M:.*]] = tw.packed_matmul %[[X]], %[[P]] bias %[[B]] : (tensor<37x64xf32>, tensor<2x64x48xbf16>, tensor<96xf32>) -> tensor<37x96xf32>
// CHECK-NEXT: tw.cast %[[M]] {tw.mark} : tensor<37x96xf32> -> tensor<37x96xbf16>
// DOT-LABEL:  @widens_the_left_of_halves
// DOT:        %[[P:.*]] = tw.pack %w width 48 group 2 : tensor<64x96xbf16> -> tensor<2x32x48x2xbf16>
// DOT-NEXT:   tw.packed_matmul %x, %[[P]] bias %b {tw.mark} : (tensor<37x64xbf16>, tensor<2x32x48x2xbf16>, tensor<96xbf16>) -> tensor<37x96xbf16>
func.func @widens_the_left_of_halves(%x: tensor<37x64xbf16>, %w: tensor<64x96xbf16> {tw.frozen}, %b: tensor<96xbf16>) -> tensor<37x96xbf16> {
  %m = tw.matmul %x, %w bias %b {tw.mark} : (tensor<37x64xbf16>, tensor<64x96xbf16>, tensor<96xbf16>) -> tensor<37x96xbf16> loc("m.py":4:0)
  func.return %m : tensor<37x96xbf16>
}

// -----

// DOT-LABEL: @pads_odd_sums
// DOT:      %[[X:.*]] = tw.pad %x low "0, 0" high "0, 1" value 0.{{.*}} -> tensor<5x34xbf16>
// DOT-NEXT: %[[W:.*]] = tw.pad %w low "0, 0" high "1, 0" value 0.{{.*}} -> tensor<34x16xbf16>
// DOT-NEXT: %[[P:.*]] = tw.pack %[[W]] width 16 group 2
// DOT-NEXT: tw.packed_matmul %[[X]], %[[P]]
func.func @pads_odd_sums(%x: tensor<5x33xbf16>, %w: tensor<33x16xbf16> {tw.frozen}) -> tensor<5x16xbf16> {
  %m = tw.matmul %x, %w : (tensor<5x33xbf16>, tensor<33x16xbf16>) -> tensor<5x16xbf16>
  func.return %m : tensor<5x16xbf16>
}

// -----

// DOT-LABEL: @has_no_pairs_of_f16
// DOT:      tw.cast %x : tensor<5x33xf16> -> tensor<5x33xf32>
// DOT-NEXT: tw.pack %w width 16 : tensor<33x16xf16> -> tensor<1x33x16xf16>
func.func @has_no_pairs_of_f16(%x: tensor<5x33xf16>, %w: tensor<33x16xf16> {tw.frozen}) -> tensor<5x16xf16> {
  %m = tw.matmul %x, %w : (tensor<5x33xf16>, tensor<33x16xf16>) -> tensor<5x16xf16>
  func.return %m : tensor<5x16xf16>
}

// -----

// CHECK-LABEL: @keeps_doubles
// CHECK:      tw.matmul
// REMARK:     tw.matmul at {{.*}}: not packed: only products of f32 and half matrices have register tiles
func.func @keeps_doubles(%x: tensor<37x64xf64>, %w: tensor<64x96xf64> {tw.frozen}) -> tensor<37x96xf64> {
  %m = tw.matmul %x, %w : (tensor<37x64xf64>, tensor<64x96xf64>) -> tensor<37x96xf64>
  func.return %m : tensor<37x96xf64>
}

// -----

// CHECK-LABEL: @keeps_what_is_too_large
// CHECK:      tw.matmul
// REMARK:     tw.matmul at {{.*}}: not packed: 134217728 elements would be kept for ever
func.func @keeps_what_is_too_large(%x: tensor<3x1024xf32>, %w: tensor<1024x131072xf32> {tw.frozen}) -> tensor<3x131072xf32> {
  %m = tw.matmul %x, %w : (tensor<3x1024xf32>, tensor<1024x131072xf32>) -> tensor<3x131072xf32>
  func.return %m : tensor<3x131072xf32>
}

// -----

// Whole vectors are never padded for a wider panel: what reads the result could not be fused.

// CHECK-LABEL: @needs_no_padding
// CHECK-NOT:  tw.pad
// CHECK:      tw.pack %w width 64
// CHECK-NOT:  tw.slice
func.func @needs_no_padding(%x: tensor<5x64xf32>, %w: tensor<64x2048xf32> {tw.frozen}) -> tensor<5x2048xf32> {
  %m = tw.matmul %x, %w : (tensor<5x64xf32>, tensor<64x2048xf32>) -> tensor<5x2048xf32>
  func.return %m : tensor<5x2048xf32>
}
