// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,dce --split-input-file | filecheck %s

// CHECK-LABEL: @composes_reshape_transpose_broadcast
// CHECK-NEXT: tk.kernel [2, 12, 4] ins(%x, %b : tensor<8x12xf32>, tensor<4xf32>)
// CHECK:      tk.load %{{.*}}[d0*4 + d2, d1] : tensor<8x12xf32>
// CHECK:      tk.load %{{.*}}[d2] : tensor<4xf32>
func.func @composes_reshape_transpose_broadcast(%x: tensor<8x12xf32>, %b: tensor<4xf32>) -> tensor<2x12x4xf32> {
  %r = tw.reshape %x : tensor<8x12xf32> -> tensor<2x4x12xf32>
  %t = tw.transpose %r by [0, 2, 1] : tensor<2x4x12xf32> -> tensor<2x12x4xf32>
  %bb = tw.broadcast %b dims [2] : tensor<4xf32> -> tensor<2x12x4xf32>
  %a = tw.add %t, %bb : tensor<2x12x4xf32>
  func.return %a : tensor<2x12x4xf32>
}

// -----

// CHECK-LABEL: @splits_axes_instead_of_dividing
// CHECK-NEXT: tk.kernel [2, 4, 3, 4]
// CHECK:      tk.load %{{.*}}[d0, d1*3 + d2, d3]
// CHECK:      tk.store %{{.*}}, %{{.*}}[d0, d1, d2*4 + d3]
func.func @splits_axes_instead_of_dividing(%x: tensor<2x12x4xf32>) -> tensor<2x4x12xf32> {
  %q = tw.reshape %x : tensor<2x12x4xf32> -> tensor<2x4x12xf32>
  %e = tw.exp %q : tensor<2x4x12xf32>
  func.return %e : tensor<2x4x12xf32>
}

// -----

// CHECK-LABEL: @splits_symbolic_axes
// CHECK:      tk.kernel [s0, 3, 4]
// CHECK:      tk.load %{{.*}}[d0, d1, d2]
// CHECK:      tk.reduce add %{{.*}} over [0, 1]
func.func @splits_symbolic_axes(%x: tensor<?x3x4xf32, #tw.shape<"s0, 3, 4">>, %s0: index {tw.symbol = "s0"}) -> tensor<4xf32> {
  %q = tw.reshape %x : tensor<?x3x4xf32, #tw.shape<"s0, 3, 4">> -> tensor<?x4xf32, #tw.shape<"s0*3, 4">>
  %e = tw.sum %q over [0] : tensor<?x4xf32, #tw.shape<"s0*3, 4">> -> tensor<4xf32>
  func.return %e : tensor<4xf32>
}

// -----

// CHECK-LABEL: @reads_slices_backwards
// CHECK:      tk.load %{{.*}}[-d0*2 + 7] : tensor<9xf32>
func.func @reads_slices_backwards(%x: tensor<9xf32>) -> tensor<3xf32> {
  %s = tw.slice %x starts "3" steps "2" : tensor<9xf32> -> tensor<3xf32>
  %r = tw.reverse %s dims [0] : tensor<3xf32> -> tensor<3xf32>
  %e = tw.exp %r : tensor<3xf32>
  func.return %e : tensor<3xf32>
}

// -----

// CHECK-LABEL: @keeps_divisions_that_no_split_removes
// CHECK:      tk.kernel [15]
// CHECK:      tk.load %{{.*}}[(d0 floordiv 6), (d0 mod 6)]
func.func @keeps_divisions_that_no_split_removes(%x: tensor<5x6xf32>) -> tensor<15xf32> {
  %q = tw.reshape %x : tensor<5x6xf32> -> tensor<30xf32>
  %s = tw.slice %q starts "0" steps "1" : tensor<30xf32> -> tensor<15xf32>
  %e = tw.exp %s : tensor<15xf32>
  func.return %e : tensor<15xf32>
}

// -----

// CHECK-LABEL: @keeps_views_that_library_ops_read
// CHECK:      tw.transpose
// CHECK:      tw.matmul
// CHECK:      tk.load %{{.*}}[d1, d0] : tensor<3x4xf32>
func.func @keeps_views_that_library_ops_read(%x: tensor<3x4xf32>) -> (tensor<3x3xf32>, tensor<4x3xf32>) {
  %t = tw.transpose %x by [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %m = tw.matmul %x, %t : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
  %e = tw.exp %t : tensor<4x3xf32>
  func.return %m, %e : tensor<3x3xf32>, tensor<4x3xf32>
}

// -----

// An axis that is read backwards cannot be split by what divides it: the division stays.

// CHECK-LABEL: @reversed_reshape
// CHECK-NEXT: tk.kernel [12] ins(%x : tensor<3x4xf32>)
// CHECK: tk.load {{.*}}[((-d0 + 11) floordiv 4), ((-d0 + 11) mod 4)]
func.func @reversed_reshape(%x: tensor<3x4xf32>) -> tensor<12xf32> {
  %f = tw.reshape %x : tensor<3x4xf32> -> tensor<12xf32>
  %r = tw.reverse %f dims [0] : tensor<12xf32> -> tensor<12xf32>
  %n = tw.exp %r : tensor<12xf32>
  func.return %n : tensor<12xf32>
}

// -----

// CHECK-LABEL: @repeats_what_is_there_once
// CHECK-NEXT: tk.kernel [3, 4] ins(%x : tensor<3x1xf32>)
// CHECK: tk.load {{.*}}[d0, 0]
func.func @repeats_what_is_there_once(%x: tensor<3x1xf32>) -> tensor<3x4xf32> {
  %b = tw.broadcast %x dims [0, 1] : tensor<3x1xf32> -> tensor<3x4xf32>
  %e = tw.exp %b : tensor<3x4xf32>
  func.return %e : tensor<3x4xf32>
}

// -----

// Nobody reads all of what is repeated: the part is copied, not the whole.

// CHECK-LABEL: @rolls_what_is_returned
// CHECK-NEXT: %[[R:.*]] = tk.kernel [8, 4] ins(%x : tensor<8x4xf32>)
// CHECK: tk.load {{.*}}[((d0 + 3) mod 8), d1]
// CHECK: func.return %[[R]]
func.func @rolls_what_is_returned(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %b = tw.broadcast %x dims [1, 2] : tensor<8x4xf32> -> tensor<2x8x4xf32>
  %t = tw.reshape %b : tensor<2x8x4xf32> -> tensor<16x4xf32>
  %r = tw.slice %t starts "3, 0" steps "1, 1" : tensor<16x4xf32> -> tensor<8x4xf32>
  func.return %r : tensor<8x4xf32>
}

// -----

// A copy before that repeats nothing, as of windows that are put back together, is absorbed, too.
// CHECK-LABEL: @rolls_what_was_turned
// CHECK-NEXT: %[[R:.*]] = tk.kernel [12, 5] ins(%x : tensor<5x12xf32>) -> (tensor<12x5xf32>)
// CHECK: tk.load %{{.*}}[{{.*}}mod{{.*}}] : tensor<5x12xf32> -> f32
// CHECK: return %[[R]]
func.func @rolls_what_was_turned(%x: tensor<5x12xf32>) -> tensor<12x5xf32> {
  %t = tw.transpose %x by [1, 0] : tensor<5x12xf32> -> tensor<12x5xf32>
  %w = tw.reshape %t : tensor<12x5xf32> -> tensor<1x60xf32>
  %b = tw.broadcast %w dims [0, 1] : tensor<1x60xf32> -> tensor<2x60xf32>
  %d = tw.reshape %b : tensor<2x60xf32> -> tensor<24x5xf32>
  %s = tw.slice %d starts "7, 0" steps "1, 1" : tensor<24x5xf32> -> tensor<12x5xf32>
  func.return %s : tensor<12x5xf32>
}

// -----

// CHECK-LABEL: @leaves_parts_of_views
// CHECK-NEXT: tw.broadcast
// CHECK-NEXT: tw.slice
// CHECK-NEXT: tw.transpose
// CHECK-NEXT: tw.reshape
// CHECK-NEXT: tw.slice
// CHECK-NEXT: func.return
func.func @leaves_parts_of_views(%x: tensor<8x4xf32>) -> (tensor<2x3x4xf32>, tensor<16xf32>) {
  %b = tw.broadcast %x dims [1, 2] : tensor<8x4xf32> -> tensor<2x8x4xf32>
  %r = tw.slice %b starts "0, 1, 0" steps "1, 1, 1" : tensor<2x8x4xf32> -> tensor<2x3x4xf32>
  %t = tw.transpose %x by [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  %f = tw.reshape %t : tensor<4x8xf32> -> tensor<32xf32>
  %p = tw.slice %f starts "16" steps "1" : tensor<32xf32> -> tensor<16xf32>
  func.return %r, %p : tensor<2x3x4xf32>, tensor<16xf32>
}

// -----

// A part that is returned without gaps is all that is computed.

// CHECK-LABEL: @copies_a_part_that_is_returned
// CHECK:      %[[E:.*]] = tk.kernel [6, 5]
// CHECK:      %[[R:.*]] = tk.kernel [6, 3] ins(%[[E]] : tensor<6x5xf32>)
// CHECK:      tk.load {{.*}}[d0, d1 + 1]
// CHECK:      func.return %[[R]]
func.func @copies_a_part_that_is_returned(%x: tensor<6x5xf32>) -> tensor<6x3xf32> {
  %e = tw.exp %x : tensor<6x5xf32>
  %s = tw.slice %e starts "0, 1" steps "1, 1" : tensor<6x5xf32> -> tensor<6x3xf32>
  func.return %s : tensor<6x3xf32>
}

// -----

// CHECK-LABEL: @leaves_a_part_that_is_returned_with_gaps
// CHECK:      %[[S:.*]] = tw.slice
// CHECK-NEXT: func.return %[[S]]
func.func @leaves_a_part_that_is_returned_with_gaps(%x: tensor<6x5xf32>) -> (tensor<6x3xf32> {tw.strides = "5, 1"}) {
  %e = tw.exp %x : tensor<6x5xf32>
  %s = tw.slice %e starts "0, 1" steps "1, 1" : tensor<6x5xf32> -> tensor<6x3xf32>
  func.return %s : tensor<6x3xf32>
}

// -----

// Kernels can store several parts of a whole one behind the other.

// CHECK-LABEL: @leaves_parts_of_one_whole
// CHECK:      %[[A:.*]] = tw.slice
// CHECK:      %[[B:.*]] = tw.slice
// CHECK-NEXT: func.return %[[A]], %[[B]]
func.func @leaves_parts_of_one_whole(%x: tensor<6x5xf32>) -> (tensor<6x3xf32>, tensor<6x2xf32>) {
  %e = tw.exp %x : tensor<6x5xf32>
  %a = tw.slice %e starts "0, 0" steps "1, 1" : tensor<6x5xf32> -> tensor<6x3xf32>
  %b = tw.slice %e starts "0, 3" steps "1, 1" : tensor<6x5xf32> -> tensor<6x2xf32>
  func.return %a, %b : tensor<6x3xf32>, tensor<6x2xf32>
}

// -----

// Windows in rows, which no strides are, are stored once for all that read them in memory.

// CHECK-LABEL: @copies_windows
// CHECK:      %[[P:.*]] = tk.kernel [4, 9]
// CHECK:      %[[W:.*]] = tk.kernel [4, 7, 3] ins(%[[P]] : tensor<4x9xf32>) -> (tensor<28x3xf32>)
// CHECK:      tk.load {{.*}}[d0, d1 + d2] : tensor<4x9xf32> -> f32
// CHECK:      tk.store {{.*}}[d0*7 + d1, d2]
// CHECK:      %[[T:.*]] = tw.transpose %[[W]]
// CHECK:      tw.matmul %[[T]], %[[W]]
// CHECK:      func.return %[[W]],
func.func @copies_windows(%x: tensor<4x7xf32>) -> (tensor<28x3xf32>, tensor<3x3xf32>) {
  %p = tw.pad %x low "0, 1" high "0, 1" value 0.0 : f32 : tensor<4x7xf32> -> tensor<4x9xf32>
  %w = tw.window %p dims [1] sizes [3] strides [1] dilation [1] : tensor<4x9xf32> -> tensor<4x7x3xf32>
  %r = tw.reshape %w : tensor<4x7x3xf32> -> tensor<28x3xf32>
  %t = tw.transpose %r by [1, 0] : tensor<28x3xf32> -> tensor<3x28xf32>
  %m = tw.matmul %t, %r : (tensor<3x28xf32>, tensor<28x3xf32>) -> tensor<3x3xf32>
  func.return %r, %m : tensor<28x3xf32>, tensor<3x3xf32>
}

// -----

// CHECK-LABEL: @leaves_what_kernels_can_store_in_order
// CHECK:      tk.kernel [2, 3, 4]
// CHECK:      tw.transpose
// CHECK-NEXT: tw.reshape
// CHECK-NEXT: tw.transpose
// CHECK-NEXT: tw.matmul
func.func @leaves_what_kernels_can_store_in_order(%x: tensor<2x3x4xf32>) -> tensor<6x6xf32> {
  %e = tw.exp %x : tensor<2x3x4xf32>
  %t = tw.transpose %e by [1, 0, 2] : tensor<2x3x4xf32> -> tensor<3x2x4xf32>
  %r = tw.reshape %t : tensor<3x2x4xf32> -> tensor<6x4xf32>
  %u = tw.transpose %r by [1, 0] : tensor<6x4xf32> -> tensor<4x6xf32>
  %m = tw.matmul %r, %u : (tensor<6x4xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
  func.return %m : tensor<6x6xf32>
}

// -----

// Of an argument a result may be a copy of a copy: then a kernel makes one.

// CHECK-LABEL: @copies_once
// CHECK-NEXT: %[[R:.*]] = tk.kernel [{{.*}}] ins(%x : tensor<4x6xf32>) -> (tensor<4x6xf32>)
// CHECK:      func.return %[[R]]
func.func @copies_once(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %a = tw.transpose %x by [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  %b = tw.reshape %a : tensor<6x4xf32> -> tensor<8x3xf32>
  %c = tw.transpose %b by [1, 0] : tensor<8x3xf32> -> tensor<3x8xf32>
  %d = tw.reshape %c : tensor<3x8xf32> -> tensor<4x6xf32>
  func.return %d : tensor<4x6xf32>
}

// -----

// One copy is as good as another, and others may read it.

// CHECK-LABEL: @leaves_an_argument_in_another_order
// CHECK-NEXT: tw.transpose
// CHECK-NEXT: %[[R:.*]] = tw.reshape
// CHECK-NEXT: tw.matmul %[[R]],
// CHECK-NEXT: func.return %[[R]],
func.func @leaves_an_argument_in_another_order(%x: tensor<2x3x4xf32>, %y: tensor<4x5xf32>) -> (tensor<6x4xf32>, tensor<6x5xf32>) {
  %t = tw.transpose %x by [1, 0, 2] : tensor<2x3x4xf32> -> tensor<3x2x4xf32>
  %r = tw.reshape %t : tensor<3x2x4xf32> -> tensor<6x4xf32>
  %m = tw.matmul %r, %y : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  func.return %r, %m : tensor<6x4xf32>, tensor<6x5xf32>
}

// -----

// What lies in another order than it is written is read as it lies, whatever views stand between.
// CHECK-LABEL: @in_the_order_of_memory(
// CHECK-NEXT: %[[X:.*]] = tw.transpose %x by [0, 2, 1] : tensor<2x4x6xf32> -> tensor<2x6x4xf32>
// CHECK-NEXT: %[[R:.*]] = tw.convolution
// CHECK-NEXT: %[[L:.*]] = tw.transpose %[[R]] by [0, 2, 3, 1] : tensor<2x4x2x3xf32> -> tensor<2x2x3x4xf32>
// CHECK: tk.kernel [2, 4, 2, 3] ins(%[[X]], %[[L]] : tensor<2x6x4xf32>, tensor<2x2x3x4xf32>)
// CHECK:      tk.load %{{.*}}[d0, d2*3 + d3, d1] : tensor<2x6x4xf32>
// CHECK:      tk.load %{{.*}}[d0, d2, d3, d1] : tensor<2x2x3x4xf32>
func.func @in_the_order_of_memory(%x: tensor<2x4x6xf32> {tw.strides = "24, 1, 4"}, %y: tensor<2x5x2x3xf32>, %w: tensor<4x5x1x1xf32>) -> tensor<2x4x6xf32> {
  %r = tw.convolution %y, %w strides [1, 1] padding [0, 0] dilation [1, 1] output_padding [0, 0] groups 1 {tw.strides = ["24, 1, 12, 4"]} : (tensor<2x5x2x3xf32>, tensor<4x5x1x1xf32>) -> tensor<2x4x2x3xf32>
  %f = tw.reshape %r : tensor<2x4x2x3xf32> -> tensor<2x4x6xf32>
  %a = tw.add %x, %f : tensor<2x4x6xf32>
  func.return %a : tensor<2x4x6xf32>
}

// -----

// Not what has gaps, or repeats: no transpose shows it without.
// CHECK-LABEL: @with_gaps(
// CHECK: tk.kernel [4, 6] ins(%x, %y : tensor<4x6xf32>, tensor<4x6xf32>)
func.func @with_gaps(%x: tensor<4x6xf32> {tw.strides = "1, 5"}, %y: tensor<4x6xf32> {tw.strides = "0, 1"}) -> tensor<4x6xf32> {
  %a = tw.add %x, %y : tensor<4x6xf32>
  func.return %a : tensor<4x6xf32>
}

// -----

// What is repeated along the dimension that is looked up is read without the index, which is checked still.
// CHECK-LABEL: @looks_nothing_up_in_what_is_repeated
// CHECK-NEXT: tk.kernel [5, 4] ins({{.*}} : tensor<4xf32>, tensor<5xi64>)
// CHECK: tk.assert
// CHECK: tk.load %{{[0-9]+}}[d1] : tensor<4xf32> -> f32
func.func @looks_nothing_up_in_what_is_repeated(%x: tensor<4xf32>, %i: tensor<5xi64>) -> tensor<5x4xf32> {
  %b = tw.broadcast %x dims [1] : tensor<4xf32> -> tensor<9x4xf32>
  %r = tw.gather %b[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
  func.return %r : tensor<5x4xf32>
}
