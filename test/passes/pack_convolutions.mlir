// RUN: tilewright-opt %s -p pack-convolutions --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p pack-convolutions --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p "pack-convolutions{bf16-dot=true}" --split-input-file | filecheck %s --check-prefix=DOT
// RUN: tilewright-opt %s -p "pack-convolutions{vector-bits=256}" --split-input-file | filecheck %s --check-prefix=AVX2

// CHECK-LABEL: @pads_and_packs
// CHECK:      %[[T:.*]] = tw.transpose %x by [0, 2, 3, 1]
// CHECK-NEXT: %[[P:.*]] = tw.pad %[[T]] low "0, 1, 2, 0" high "0, 1, 2, 0" value 0.000000e+00
// CHECK-NEXT: %[[F:.*]] = tw.pack_filter %w width 32 : tensor<32x8x3x5xf32> -> tensor<1x3x5x8x32xf32> loc("m.py":3:0)
// CHECK-NEXT: %[[C:.*]] = tw.packed_convolution %[[P]], %[[F]] bias %b strides [2, 1] dilation [1, 1] groups 1
// CHECK-NEXT: tw.transpose %[[C]] by [0, 3, 1, 2]
// AVX2-LABEL: @pads_and_packs
// AVX2:       tw.pack_filter %w width 16
func.func @pads_and_packs(%x: tensor<2x8x7x9xf32>, %w: tensor<32x8x3x5xf32> {tw.frozen}, %b: tensor<32xf32>) -> tensor<2x32x4x9xf32> {
  %r = tw.convolution %x, %w bias %b strides [2, 1] padding [1, 2] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x8x7x9xf32>, tensor<32x8x3x5xf32>, tensor<32xf32>) -> tensor<2x32x4x9xf32> loc("m.py":3:0)
  func.return %r : tensor<2x32x4x9xf32>
}

// -----

// CHECK-LABEL: @packs_one_dimension_without_padding
// CHECK:      tw.transpose %x by [0, 2, 1]
// CHECK-NOT:  tw.pad
// CHECK:      tw.packed_convolution
func.func @packs_one_dimension_without_padding(%x: tensor<2x8x9xf32>, %w: tensor<16x8x3xf32> {tw.frozen}) -> tensor<2x16x7xf32> {
  %r = tw.convolution %x, %w strides [1] padding [0] dilation [1] output_padding [0] groups 1 : (tensor<2x8x9xf32>, tensor<16x8x3xf32>) -> tensor<2x16x7xf32>
  func.return %r : tensor<2x16x7xf32>
}

// -----

// CHECK-LABEL: @packs_depthwise_filters_as_one_panel
// CHECK:      tw.pack_filter %w width 32 : tensor<32x1x3x3xf32> -> tensor<1x3x3x1x32xf32>
// CHECK:      tw.packed_convolution {{.*}} groups 32
func.func @packs_depthwise_filters_as_one_panel(%x: tensor<1x32x9x9xf32>, %w: tensor<32x1x3x3xf32> {tw.frozen}) -> tensor<1x32x7x7xf32> {
  %r = tw.convolution %x, %w strides [1, 1] padding [0, 0] dilation [1, 1] output_padding [0, 0] groups 32 : (tensor<1x32x9x9xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x7x7xf32>
  func.return %r : tensor<1x32x7x7xf32>
}

// -----

// CHECK-LABEL: @keeps_a_panel_within_one_group
// CHECK:      tw.pack_filter %w width 16 : tensor<32x4x3x3xf32> -> tensor<2x3x3x4x16xf32>
// CHECK:      tw.packed_convolution {{.*}} groups 2
func.func @keeps_a_panel_within_one_group(%x: tensor<1x8x9x9xf32>, %w: tensor<32x4x3x3xf32> {tw.frozen}) -> tensor<1x32x7x7xf32> {
  %r = tw.convolution %x, %w strides [1, 1] padding [0, 0] dilation [1, 1] output_padding [0, 0] groups 2 : (tensor<1x8x9x9xf32>, tensor<32x4x3x3xf32>) -> tensor<1x32x7x7xf32>
  func.return %r : tensor<1x32x7x7xf32>
}

// -----

// CHECK-LABEL: @keeps_filters_that_may_change
// CHECK:      tw.convolution
// REMARK:     tw.convolution at {{.*}}: not packed: the filter may change from call to call
func.func @keeps_filters_that_may_change(%x: tensor<2x8x9xf32>, %w: tensor<16x8x3xf32>) -> tensor<2x16x7xf32> {
  %r = tw.convolution %x, %w strides [1] padding [0] dilation [1] output_padding [0] groups 1 : (tensor<2x8x9xf32>, tensor<16x8x3xf32>) -> tensor<2x16x7xf32>
  func.return %r : tensor<2x16x7xf32>
}

// -----

// CHECK-LABEL: @keeps_transposed
// CHECK:      tw.convolution
// REMARK:     tw.convolution at {{.*}}: not packed: it is transposed
func.func @keeps_transposed(%x: tensor<2x16x7xf32>, %w: tensor<16x16x3xf32> {tw.frozen}) -> tensor<2x16x9xf32> {
  %r = tw.convolution %x, %w strides [1] padding [0] dilation [1] transposed output_padding [0] groups 1 : (tensor<2x16x7xf32>, tensor<16x16x3xf32>) -> tensor<2x16x9xf32>
  func.return %r : tensor<2x16x9xf32>
}

// -----

// Without instructions for pairs of bf16: the image is widened before it is padded, the filter stays narrow.
// CHECK-LABEL: @widens_the_image_of_halves
// CHECK:      %[[B:.*]] = tw.cast %b : tensor<16xbf16> -> tensor<16xf32>
// CHECK-NEXT: %[[T:.*]] = tw.transpose %x by [0, 2, 1]
// CHECK-NEXT: %[[X:.*]] = tw.cast %[[T]] : tensor<2x9x8xbf16> -> tensor<2x9x8xf32>
// CHECK-NEXT: %[[P:.*]] = tw.pad %[[X]] low "0, 1, 0" high "0, 1, 0" value 0.{{.*}} : f32
// CHECK-NEXT: %[[F:.*]] = tw.pack_filter %w width 16 : tensor<16x8x3xbf16> -> tensor<1x3x8x16xbf16>
// CHECK-NEXT: %[[C:.*]] = tw.packed_convolution %[[P]], %[[F]] bias %[[B]] {{.*}} : (tensor<2x11x8xf32>, tensor<1x3x8x16xbf16>, tensor<16xf32>) -> tensor<2x9x16xf32>
// CHECK-NEXT: tw.cast %[[C]] : tensor<2x9x16xf32> -> tensor<2x9x16xbf16>
// DOT-LABEL:  @widens_the_image_of_halves
// DOT:        %[[F:.*]] = tw.pack_filter %w width 16 group 2 : tensor<16x8x3xbf16> -> tensor<1x3x4x16x2xbf16>
// DOT-NEXT:   tw.packed_convolution %{{.*}}, %[[F]] bias %b {{.*}} : (tensor<2x11x8xbf16>, tensor<1x3x4x16x2xbf16>, tensor<16xbf16>) -> tensor<2x9x16xbf16>
func.func @widens_the_image_of_halves(%x: tensor<2x8x9xbf16>, %w: tensor<16x8x3xbf16> {tw.frozen}, %b: tensor<16xbf16>) -> tensor<2x16x9xbf16> {
  %r = tw.convolution %x, %w bias %b strides [1] padding [1] dilation [1] output_padding [0] groups 1 : (tensor<2x8x9xbf16>, tensor<16x8x3xbf16>, tensor<16xbf16>) -> tensor<2x16x9xbf16>
  func.return %r : tensor<2x16x9xbf16>
}

// -----

// DOT-LABEL: @pads_an_odd_number_of_channels
// DOT:      %[[W:.*]] = tw.pad %w low "0, 0, 0" high "0, 1, 0" value 0.{{.*}} -> tensor<16x6x3xbf16>
// DOT:      tw.pad %{{.*}} low "0, 1, 0" high "0, 1, 1" value 0.{{.*}} -> tensor<2x11x6xbf16>
// DOT-NEXT: tw.pack_filter %[[W]] width 16 group 2
func.func @pads_an_odd_number_of_channels(%x: tensor<2x5x9xbf16>, %w: tensor<16x5x3xbf16> {tw.frozen}) -> tensor<2x16x9xbf16> {
  %r = tw.convolution %x, %w strides [1] padding [1] dilation [1] output_padding [0] groups 1 : (tensor<2x5x9xbf16>, tensor<16x5x3xbf16>) -> tensor<2x16x9xbf16>
  func.return %r : tensor<2x16x9xbf16>
}

// -----

// Pairs would cross the groups; there are none of one channel, and none of f16.
// DOT-LABEL: @has_no_pairs_of_odd_groups
// DOT:      tw.cast %{{.*}} : tensor<1x9x6xbf16> -> tensor<1x9x6xf32>
// DOT:      tw.pack_filter %w width 16 : tensor<32x3x3xbf16> -> tensor<2x3x3x16xbf16>
func.func @has_no_pairs_of_odd_groups(%x: tensor<1x6x9xbf16>, %w: tensor<32x3x3xbf16> {tw.frozen}) -> tensor<1x32x7xbf16> {
  %r = tw.convolution %x, %w strides [1] padding [0] dilation [1] output_padding [0] groups 2 : (tensor<1x6x9xbf16>, tensor<32x3x3xbf16>) -> tensor<1x32x7xbf16>
  func.return %r : tensor<1x32x7xbf16>
}

// -----

// DOT-LABEL: @has_no_pairs_of_f16
// DOT:      tw.pack_filter %w width 16 : tensor<16x8x3xf16> -> tensor<1x3x8x16xf16>
func.func @has_no_pairs_of_f16(%x: tensor<2x8x9xf16>, %w: tensor<16x8x3xf16> {tw.frozen}) -> tensor<2x16x7xf16> {
  %r = tw.convolution %x, %w strides [1] padding [0] dilation [1] output_padding [0] groups 1 : (tensor<2x8x9xf16>, tensor<16x8x3xf16>) -> tensor<2x16x7xf16>
  func.return %r : tensor<2x16x7xf16>
}

// -----

// CHECK-LABEL: @keeps_doubles
// CHECK:      tw.convolution
// REMARK:     tw.convolution at {{.*}}: not packed: only products of f32 and halves have register tiles
func.func @keeps_doubles(%x: tensor<2x8x9xf64>, %w: tensor<16x8x3xf64> {tw.frozen}) -> tensor<2x16x7xf64> {
  %r = tw.convolution %x, %w strides [1] padding [0] dilation [1] output_padding [0] groups 1 : (tensor<2x8x9xf64>, tensor<16x8x3xf64>) -> tensor<2x16x7xf64>
  func.return %r : tensor<2x16x7xf64>
}

// -----

// CHECK-LABEL: @pads_odd_outputs
// CHECK:      %[[W:.*]] = tw.pad %w low "0, 0, 0" high "15, 0, 0" value 0.{{.*}} -> tensor<32x8x3xf32>
// CHECK-NEXT: %[[B:.*]] = tw.pad %b low "0" high "15" value 0.{{.*}} -> tensor<32xf32>
// CHECK:      %[[F:.*]] = tw.pack_filter %[[W]] width 32
// CHECK-NEXT: %[[C:.*]] = tw.packed_convolution %{{.*}}, %[[F]] bias %[[B]] {{.*}} -> tensor<2x7x32xf32>
// CHECK-NEXT: %[[S:.*]] = tw.slice %[[C]] starts "0, 0, 0" steps "1, 1, 1" : tensor<2x7x32xf32> -> tensor<2x7x17xf32>
// CHECK-NEXT: tw.transpose %[[S]] by [0, 2, 1]
func.func @pads_odd_outputs(%x: tensor<2x8x9xf32>, %w: tensor<17x8x3xf32> {tw.frozen}, %b: tensor<17xf32> {tw.frozen}) -> tensor<2x17x7xf32> {
  %r = tw.convolution %x, %w bias %b strides [1] padding [0] dilation [1] output_padding [0] groups 1 : (tensor<2x8x9xf32>, tensor<17x8x3xf32>, tensor<17xf32>) -> tensor<2x17x7xf32>
  func.return %r : tensor<2x17x7xf32>
}

// -----

// CHECK-LABEL: @keeps_few_outputs
// CHECK:      tw.convolution
// REMARK:     tw.convolution at {{.*}}: not packed: 7 outputs are too few for 16-lane vectors
func.func @keeps_few_outputs(%x: tensor<2x8x9xf32>, %w: tensor<7x8x3xf32> {tw.frozen}) -> tensor<2x7x7xf32> {
  %r = tw.convolution %x, %w strides [1] padding [0] dilation [1] output_padding [0] groups 1 : (tensor<2x8x9xf32>, tensor<7x8x3xf32>) -> tensor<2x7x7xf32>
  func.return %r : tensor<2x7x7xf32>
}

// -----

// CHECK-LABEL: @keeps_odd_groups
// CHECK:      tw.convolution
// REMARK:     tw.convolution at {{.*}}: not packed: 20 outputs in 2 groups are no whole number of 16-lane vectors each
func.func @keeps_odd_groups(%x: tensor<2x8x9xf32>, %w: tensor<20x4x3xf32> {tw.frozen}) -> tensor<2x20x7xf32> {
  %r = tw.convolution %x, %w strides [1] padding [0] dilation [1] output_padding [0] groups 2 : (tensor<2x8x9xf32>, tensor<20x4x3xf32>) -> tensor<2x20x7xf32>
  func.return %r : tensor<2x20x7xf32>
}

// -----

// Three channels: a window is a row of channels; pairs of bf16 lie along a row of a window, filled up with a zero.
// CHECK-LABEL: @reads_windows_of_few_channels
// CHECK:      %[[X:.*]] = tw.cast %x : tensor<2x3x7x9xbf16> -> tensor<2x3x7x9xf32>
// CHECK-NEXT: tw.pad %[[X]] low "0, 0, 1, 2" high "0, 0, 1, 2" value 0.{{.*}} -> tensor<2x3x9x13xf32>
// CHECK-NOT:  tw.transpose %x
// DOT-LABEL:  @reads_windows_of_few_channels
// DOT:        %[[W:.*]] = tw.pad %w low "0, 0, 0, 0" high "0, 0, 0, 1" value 0.{{.*}} -> tensor<16x3x3x6xbf16>
// DOT-NEXT:   %[[P:.*]] = tw.pad %x low "0, 0, 1, 2" high "0, 0, 1, 2" value 0.{{.*}} -> tensor<2x3x9x13xbf16>
// DOT-NEXT:   %[[S:.*]] = tw.window %[[P]] dims [3] sizes [5] strides [1] dilation [1] : tensor<2x3x9x13xbf16> -> tensor<2x3x9x9x5xbf16>
// DOT-NEXT:   %[[Z:.*]] = tw.pad %[[S]] low "0, 0, 0, 0, 0" high "0, 0, 0, 0, 1" value 0.{{.*}} -> tensor<2x3x9x9x6xbf16>
// DOT-NEXT:   %[[N:.*]] = tw.window %[[Z]] dims [2] sizes [3] strides [2] dilation [1] : tensor<2x3x9x9x6xbf16> -> tensor<2x3x4x9x6x3xbf16>
// DOT-NEXT:   %[[T:.*]] = tw.transpose %[[N]] by [0, 2, 3, 1, 5, 4]
// DOT-NEXT:   %[[I:.*]] = tw.reshape %[[T]] : tensor<2x4x9x3x3x6xbf16> -> tensor<2x4x9x54xbf16>
// DOT-NEXT:   %[[R:.*]] = tw.reshape %[[W]] : tensor<16x3x3x6xbf16> -> tensor<16x54x1x1xbf16>
// DOT-NEXT:   %[[F:.*]] = tw.pack_filter %[[R]] width 16 group 2
// DOT-NEXT:   tw.packed_convolution %[[I]], %[[F]] strides [1, 1] dilation [1, 1] groups 1 {{.*}} -> tensor<2x4x9x16xbf16>
func.func @reads_windows_of_few_channels(%x: tensor<2x3x7x9xbf16>, %w: tensor<16x3x3x5xbf16> {tw.frozen}) -> tensor<2x16x4x9xbf16> {
  %r = tw.convolution %x, %w strides [2, 1] padding [1, 2] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x3x7x9xbf16>, tensor<16x3x3x5xbf16>) -> tensor<2x16x4x9xbf16>
  func.return %r : tensor<2x16x4x9xbf16>
}

// -----

// A zero, and not the image's next column: 0 * inf is no number.
// DOT-LABEL:  @pairs_along_dilated_rows
// DOT:        %[[S:.*]] = tw.window %x dims [2] sizes [3] strides [1] dilation [2] : tensor<1x2x9xbf16> -> tensor<1x2x5x3xbf16>
// DOT-NEXT:   tw.pad %[[S]] low "0, 0, 0, 0" high "0, 0, 0, 1" {{.*}} -> tensor<1x2x5x4xbf16>
func.func @pairs_along_dilated_rows(%x: tensor<1x2x9xbf16>, %w: tensor<16x2x3xbf16> {tw.frozen}) -> tensor<1x16x5xbf16> {
  %r = tw.convolution %x, %w strides [1] padding [0] dilation [2] output_padding [0] groups 1 : (tensor<1x2x9xbf16>, tensor<16x2x3xbf16>) -> tensor<1x16x5xbf16>
  func.return %r : tensor<1x16x5xbf16>
}

// -----

// Channels-last already: its channels are neighbours.
// CHECK-LABEL: @reads_pixels_of_a_channels_last_image
// CHECK-NOT:  tw.window
// CHECK:      tw.packed_convolution
func.func @reads_pixels_of_a_channels_last_image(%x: tensor<1x9x3xf32>, %w: tensor<16x3x3xf32> {tw.frozen}) -> tensor<1x16x7xf32> {
  %t = tw.transpose %x by [0, 2, 1] : tensor<1x9x3xf32> -> tensor<1x3x9xf32>
  %e = tw.exp %t : tensor<1x3x9xf32>
  %r = tw.convolution %e, %w strides [1] padding [0] dilation [1] output_padding [0] groups 1 : (tensor<1x3x9xf32>, tensor<16x3x3xf32>) -> tensor<1x16x7xf32>
  func.return %r : tensor<1x16x7xf32>
}

// -----

// CHECK-LABEL: @reads_pixels_of_groups
// CHECK-NOT:  tw.window
// CHECK:      tw.packed_convolution {{.*}} groups 2
func.func @reads_pixels_of_groups(%x: tensor<1x4x9xf32>, %w: tensor<32x2x3xf32> {tw.frozen}) -> tensor<1x32x7xf32> {
  %r = tw.convolution %x, %w strides [1] padding [0] dilation [1] output_padding [0] groups 2 : (tensor<1x4x9xf32>, tensor<32x2x3xf32>) -> tensor<1x32x7xf32>
  func.return %r : tensor<1x32x7xf32>
}

// -----

// CHECK-LABEL: @reads_pixels_of_a_channels_last_argument
// CHECK-NOT:   tw.window
// CHECK:       tw.packed_convolution
func.func @reads_pixels_of_a_channels_last_argument(%x: tensor<1x3x9xf32> {tw.strides = "27, 1, 3"}, %w: tensor<16x3x3xf32> {tw.frozen}) -> tensor<1x16x7xf32> {
  %r = tw.convolution %x, %w strides [1] padding [0] dilation [1] output_padding [0] groups 1 : (tensor<1x3x9xf32>, tensor<16x3x3xf32>) -> tensor<1x16x7xf32>
  func.return %r : tensor<1x16x7xf32>
}
