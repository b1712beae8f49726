// RUN: tilewright-opt %s -p decompose --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p decompose --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// CHECK-LABEL: @average_reduces_windows
// CHECK-NEXT: %[[P:.*]] = tw.pad %x low "0, 0, 1, 1" high "0, 0, 1, 1" value 0.000000e+00 : f32
// CHECK-NEXT: %[[W:.*]] = tw.window %[[P]] dims [2, 3] sizes [3, 3] strides [2, 2] dilation [1, 1]
// CHECK-NEXT: tw.sum %[[W]] over [4, 5]
func.func @average_reduces_windows(%x: tensor<2x4x7x9xf32>) -> tensor<2x4x4x5xf32> {
  %r = tw.aten "aten::avg_pool2d"(%x) {args = [#tw.arg<0>, [3 : i64, 3 : i64], [2 : i64, 2 : i64], [1 : i64, 1 : i64]]} : (tensor<2x4x7x9xf32>) -> tensor<2x4x4x5xf32>
  func.return %r : tensor<2x4x4x5xf32>
}

// -----

// CHECK-LABEL: @average_divides_the_sum
// CHECK:      %[[S:.*]] = tw.sum %{{.*}} over [4, 5]
// CHECK-NEXT: %[[N:.*]] = tw.full 6.000000e+00 : f32
// CHECK-NEXT: tw.div %[[S]], %[[N]]
func.func @average_divides_the_sum(%x: tensor<2x4x6x9xf32>) -> tensor<2x4x3x3xf32> {
  %r = tw.aten "aten::_adaptive_avg_pool2d"(%x) {args = [#tw.arg<0>, [3 : i64, 3 : i64]]} : (tensor<2x4x6x9xf32>) -> tensor<2x4x3x3xf32>
  func.return %r : tensor<2x4x3x3xf32>
}

// -----

// Along the first dimension windows have 2, 3, 3, 3, 3 and 2 elements.

// CHECK-LABEL: @windows_of_different_sizes
// CHECK:      %[[S:.*]] = tw.sum %{{.*}} over [4, 5]
// CHECK:      %[[A:.*]] = tw.constant dense<[2.000000e+00, 3.000000e+00, 3.000000e+00, 3.000000e+00, 3.000000e+00, 2.000000e+00]>
// CHECK-NEXT: tw.broadcast %[[A]] dims [2]
// CHECK:      %[[B:.*]] = tw.constant dense<[2.000000e+00, 3.000000e+00, 2.000000e+00]>
// CHECK-NEXT: %[[E:.*]] = tw.broadcast %[[B]] dims [3]
// CHECK-NEXT: %[[N:.*]] = tw.mul %{{.*}}, %[[E]]
// CHECK-NEXT: tw.div %[[S]], %[[N]]
func.func @windows_of_different_sizes(%x: tensor<2x4x6x3xf32>) -> tensor<2x4x6x3xf32> {
  %r = tw.aten "aten::avg_pool2d"(%x) {args = [#tw.arg<0>, [3 : i64, 3 : i64], [1 : i64, 1 : i64], [1 : i64, 1 : i64], false, false]} : (tensor<2x4x6x3xf32>) -> tensor<2x4x6x3xf32>
  func.return %r : tensor<2x4x6x3xf32>
}

// -----

// What ceil_mode adds at the end never counts, the padding on both sides does.

// CHECK-LABEL: @padding_counts_and_what_lies_beyond_does_not
// CHECK: tw.constant dense<[3.000000e+00, 3.000000e+00, 3.000000e+00, 2.000000e+00]> : tensor<4xf32>
func.func @padding_counts_and_what_lies_beyond_does_not(%x: tensor<2x9x3xf32>) -> tensor<2x4x1xf32> {
  %r = tw.aten "aten::avg_pool2d"(%x) {args = [#tw.arg<0>, [3 : i64, 3 : i64], [3 : i64, 3 : i64], [1 : i64, 0 : i64], true, true]} : (tensor<2x9x3xf32>) -> tensor<2x4x1xf32>
  func.return %r : tensor<2x4x1xf32>
}

// -----

// CHECK-LABEL: @three_dimensions
// CHECK: tw.window %{{.*}} dims [1, 2, 3] sizes [2, 2, 2]
// CHECK-NEXT: tw.sum %{{.*}} over [4, 5, 6]
func.func @three_dimensions(%x: tensor<2x4x6x8xf32>) -> tensor<2x2x3x4xf32> {
  %r = tw.aten "aten::avg_pool3d"(%x) {args = [#tw.arg<0>, [2 : i64, 2 : i64, 2 : i64]]} : (tensor<2x4x6x8xf32>) -> tensor<2x2x3x4xf32>
  func.return %r : tensor<2x2x3x4xf32>
}

// -----

// CHECK-LABEL: @keeps_windows_of_unknown_sizes
// CHECK:      tw.aten
// REMARK:     tw.aten at {{.*}}: not decomposed: the numbers of elements of its windows depend on a symbol
func.func @keeps_windows_of_unknown_sizes(%x: tensor<2x?x3xf32, #tw.shape<"2, s0, 3">>) -> tensor<2x?x3xf32, #tw.shape<"2, s0, 3">> {
  %r = tw.aten "aten::avg_pool2d"(%x) {args = [#tw.arg<0>, [3 : i64, 3 : i64], [1 : i64, 1 : i64], [1 : i64, 1 : i64], false, false]} : (tensor<2x?x3xf32, #tw.shape<"2, s0, 3">>) -> tensor<2x?x3xf32, #tw.shape<"2, s0, 3">>
  func.return %r : tensor<2x?x3xf32, #tw.shape<"2, s0, 3">>
}

// -----

// CHECK-LABEL: @keeps_uneven_adaptive_windows
// CHECK:      tw.aten
// REMARK:     tw.aten at {{.*}}: not decomposed: 4 windows do not divide 6 elements
func.func @keeps_uneven_adaptive_windows(%x: tensor<2x4x6x8xf32>) -> tensor<2x4x4x4xf32> {
  %r = tw.aten "aten::_adaptive_avg_pool2d"(%x) {args = [#tw.arg<0>, [4 : i64, 4 : i64]]} : (tensor<2x4x6x8xf32>) -> tensor<2x4x4x4xf32>
  func.return %r : tensor<2x4x4x4xf32>
}

// -----

// CHECK-LABEL: @keeps_a_last_window_of_unknown_size
// CHECK:      tw.aten
// REMARK:     tw.aten at {{.*}}: not decomposed: the last window depends on a symbol
func.func @keeps_a_last_window_of_unknown_size(%x: tensor<2x4x?x8xf32, #tw.shape<"2, 4, s0, 8">>) -> tensor<2x4x?x4xf32, #tw.shape<"2, 4, s1, 4">> {
  %r = tw.aten "aten::avg_pool2d"(%x) {args = [#tw.arg<0>, [2 : i64, 2 : i64], [2 : i64, 2 : i64], [0 : i64, 0 : i64], true]} : (tensor<2x4x?x8xf32, #tw.shape<"2, 4, s0, 8">>) -> tensor<2x4x?x4xf32, #tw.shape<"2, 4, s1, 4">>
  func.return %r : tensor<2x4x?x4xf32, #tw.shape<"2, 4, s1, 4">>
}

// -----

// CHECK-LABEL: @keeps_sizes_of_another_name
// CHECK:      tw.aten
// REMARK:     tw.aten at {{.*}}: not decomposed: its sizes are written differently
func.func @keeps_sizes_of_another_name(%x: tensor<2x4x?x8xf32, #tw.shape<"2, 4, s0, 8">>) -> tensor<2x4x?x4xf32, #tw.shape<"2, 4, s1, 4">> {
  %r = tw.aten "aten::avg_pool2d"(%x) {args = [#tw.arg<0>, [2 : i64, 2 : i64]]} : (tensor<2x4x?x8xf32, #tw.shape<"2, 4, s0, 8">>) -> tensor<2x4x?x4xf32, #tw.shape<"2, 4, s1, 4">>
  func.return %r : tensor<2x4x?x4xf32, #tw.shape<"2, 4, s1, 4">>
}

// CHECK-LABEL: @windows_of_a_symbol
// CHECK-NEXT: tw.aten "aten::avg_pool2d"
// REMARK: not decomposed: its windows depend on a symbol
func.func @windows_of_a_symbol(%x: tensor<2x4x?x9xf32, #tw.shape<"2, 4, s0, 9">>, %s0: index {tw.symbol = "s0"}) -> tensor<2x4x1x3xf32> {
  %r = tw.aten "aten::avg_pool2d"(%x) {args = [#tw.arg<0>, [#tw.size<"s0">, 3 : i64]]} : (tensor<2x4x?x9xf32, #tw.shape<"2, 4, s0, 9">>) -> tensor<2x4x1x3xf32>
  func.return %r : tensor<2x4x1x3xf32>
}
