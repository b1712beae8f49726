// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse{far=true},dce' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse,dce' --split-input-file | filecheck %s --check-prefix=NEAR
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse{far=true}' --split-input-file --verify-locations
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse{far=true}' --split-input-file --check-semantics

// A running sum from the end of what is kept as well: what makes it walks backwards, too. Caches are walked
// as they were.

// CHECK-LABEL: @from_the_end
// CHECK:      tk.kernel [4, 6]
// CHECK:      %[[X:.*]] = tk.load %{{.*}}[d0, -d1 + 5]
// CHECK:      %[[E:.*]] = math.sinh %[[X]]
// CHECK-NEXT: tk.store %[[E]], %{{.*}}[d0, -d1 + 5]
// CHECK-NEXT: %[[S:.*]] = tk.scan add %[[E]] along 1
// CHECK-NEXT: tk.store %[[S]], %{{.*}}[d0, d1]
// CHECK-NOT:  tk.kernel
// NEAR-LABEL: @from_the_end
// NEAR-COUNT-2: = tk.kernel
func.func @from_the_end(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %e = tw.sinh %x : tensor<4x6xf32>
  %r = tw.reverse %e dims [1] : tensor<4x6xf32> -> tensor<4x6xf32>
  %s = tw.cumsum %r dim 1 : tensor<4x6xf32>
  func.return %e, %s : tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// What scans does not turn; what reads it does.

// CHECK-LABEL: @the_reader_turns
// CHECK:      tk.kernel [4, 6]
// CHECK:      %[[S:.*]] = tk.scan add %{{.*}} along 1
// CHECK-NEXT: tk.store %[[S]], %{{.*}}[d0, d1]
// CHECK:      tk.store %{{.*}}, %{{.*}}[d0, -d1 + 5]
// CHECK-NOT:  tk.kernel
func.func @the_reader_turns(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %s = tw.cumsum %x dim 1 : tensor<4x6xf32>
  %r = tw.reverse %s dims [1] : tensor<4x6xf32> -> tensor<4x6xf32>
  %e = tw.exp %r : tensor<4x6xf32>
  func.return %s, %e : tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// Two that scan in opposite orders are two.

// CHECK-LABEL: @both_scan
// CHECK-COUNT-2: = tk.kernel
func.func @both_scan(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %s = tw.cumsum %x dim 1 : tensor<4x6xf32>
  %r = tw.reverse %s dims [1] : tensor<4x6xf32> -> tensor<4x6xf32>
  %t = tw.cumsum %r dim 1 : tensor<4x6xf32>
  func.return %s, %t : tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// So are those of which one reads the other from both ends.

// CHECK-LABEL: @from_both_ends
// CHECK-COUNT-2: = tk.kernel
func.func @from_both_ends(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %e = tw.sinh %x : tensor<4x6xf32>
  %r = tw.reverse %e dims [1] : tensor<4x6xf32> -> tensor<4x6xf32>
  %p = tw.mul %e, %r : tensor<4x6xf32>
  %s = tw.cumsum %p dim 1 : tensor<4x6xf32>
  func.return %e, %s : tensor<4x6xf32>, tensor<4x6xf32>
}
