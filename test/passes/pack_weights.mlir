// RUN: tilewright-opt %s -p pack-weights --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p pack-weights --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p "pack-weights{vector-bits=256}" --split-input-file | filecheck %s --check-prefix=AVX2

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

// CHECK-LABEL: @keeps_odd_columns
// CHECK:      tw.matmul
// REMARK:     tw.matmul at {{.*}}: not packed: 97 columns are no whole number of 16-lane vectors
func.func @keeps_odd_columns(%x: tensor<37x64xf32>, %w: tensor<64x97xf32> {tw.frozen}) -> tensor<37x97xf32> {
  %m = tw.matmul %x, %w : (tensor<37x64xf32>, tensor<64x97xf32>) -> tensor<37x97xf32>
  func.return %m : tensor<37x97xf32>
}

// -----

// CHECK-LABEL: @keeps_halves
// CHECK:      tw.matmul
// REMARK:     tw.matmul at {{.*}}: not packed: only products of f32 matrices have register tiles
func.func @keeps_halves(%x: tensor<37x64xbf16>, %w: tensor<64x96xbf16> {tw.frozen}) -> tensor<37x96xbf16> {
  %m = tw.matmul %x, %w : (tensor<37x64xbf16>, tensor<64x96xbf16>) -> tensor<37x96xbf16>
  func.return %m : tensor<37x96xbf16>
}
