// RUN: tilewright-opt %s -p 'convert-tw-to-tk{concats=true}' --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{concats=true},fuse,dce' --split-input-file | filecheck %s --check-prefix=FUSED
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{concats=true}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p convert-tw-to-tk --split-input-file | filecheck %s --check-prefix=PIECES

// Each element reads the piece that it lies in; without the option concatenations stay.
// CHECK-LABEL: @joins_three_pieces
// CHECK:         tk.kernel [3, 7] ins(%x, %y, %z :
// CHECK:         %[[AT:.*]] = tk.index "d1"
// CHECK:         %[[LAST:.*]] = arith.cmpi sge, %[[AT]]
// CHECK:         tk.load %{{.*}}[d0, 0] if %[[LAST]] else
// CHECK:         %[[BEFORE:.*]] = arith.cmpi slt, %[[AT]]
// CHECK:         %[[MIDDLE:.*]] = arith.andi %{{.*}}, %[[BEFORE]]
// CHECK:         tk.load %{{.*}}[d0, d1 - 2] if %[[MIDDLE]] else
// CHECK:         arith.select %[[BEFORE]]
// CHECK:         %[[FIRST:.*]] = arith.cmpi slt, %[[AT]]
// CHECK:         tk.load %{{.*}}[d0, d1] if %[[FIRST]] else
// CHECK:         arith.select %[[FIRST]], %{{.*}} : f32 loc("m.py":3:0)
// PIECES-LABEL: @joins_three_pieces
// PIECES:         tw.concat
func.func @joins_three_pieces(%x: tensor<3x2xf32>, %y: tensor<3x4xf32>, %z: tensor<3x1xf32>) -> tensor<3x7xf32> {
  %r = tw.concat %x, %y, %z dim 1 : (tensor<3x2xf32>, tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x7xf32> loc("m.py":3:0)
  func.return %r : tensor<3x7xf32>
}

// -----

// A piece among pieces of one number is read where it lies, and the number is what others are.
// CHECK-LABEL: @pads
// CHECK:         tk.kernel [3, 9] ins(%x : tensor<3x4xf32>)
// CHECK:         %[[FROM:.*]] = arith.cmpi sge
// CHECK:         %[[TO:.*]] = arith.cmpi slt
// CHECK:         %[[IN:.*]] = arith.andi %[[FROM]], %[[TO]]
// CHECK:         %[[R:.*]] = tk.load %{{.*}}[d0, d1 - 2] if %[[IN]] else %{{.*}} :
// CHECK-NEXT:    tk.store %[[R]]
func.func @pads(%x: tensor<3x4xf32>) -> tensor<3x9xf32> {
  %a = tw.full 7.000000e+00 : f32 -> tensor<3x2xf32>
  %b = tw.full 7.000000e+00 : f32 -> tensor<3x3xf32>
  %r = tw.concat %a, %x, %b dim 1 : (tensor<3x2xf32>, tensor<3x4xf32>, tensor<3x3xf32>) -> tensor<3x9xf32>
  func.return %r : tensor<3x9xf32>
}

// -----

// Numbers that differ, if only by their sign, are pieces of their own; so is one of halves that would be rounded.
// CHECK-LABEL: @pads_with_two_numbers
// CHECK-COUNT-2: arith.select
// CHECK:         tk.store
// CHECK-COUNT-2: tk.load {{.*}} if
func.func @pads_with_two_numbers(%x: tensor<4xf32>, %y: tensor<4xbf16>) -> (tensor<6xf32>, tensor<5xbf16>) {
  %a = tw.full 0.000000e+00 : f32 -> tensor<1xf32>
  %b = tw.full -0.000000e+00 : f32 -> tensor<1xf32>
  %r = tw.concat %a, %x, %b dim 0 : (tensor<1xf32>, tensor<4xf32>, tensor<1xf32>) -> tensor<6xf32>
  %c = tw.full 1.000000e-01 : bf16 -> tensor<1xbf16>
  %s = tw.concat %c, %y dim 0 : (tensor<1xbf16>, tensor<4xbf16>) -> tensor<5xbf16>
  func.return %r, %s : tensor<6xf32>, tensor<5xbf16>
}

// -----

// What computes the pieces and what reads the result are one kernel with it.
// FUSED-LABEL: @turns_halves
// FUSED-NEXT:    tk.kernel [8, 64] ins(%x : tensor<8x64xbf16>)
// FUSED-NOT:     tk.kernel
func.func @turns_halves(%x: tensor<8x64xbf16>) -> tensor<8x64xbf16> {
  %a = tk.kernel [8, 32] ins(%x : tensor<8x64xbf16>) -> (tensor<8x32xbf16>) {
  ^bb0(%s: tensor<8x64xbf16>, %o: tensor<8x32xbf16>):
    %0 = tk.load %s[d0, d1 + 32] : tensor<8x64xbf16> -> bf16
    %1 = arith.negf %0 : bf16
    tk.store %1, %o[d0, d1] : bf16, tensor<8x32xbf16>
  }
  %b = tk.kernel [8, 32] ins(%x : tensor<8x64xbf16>) -> (tensor<8x32xbf16>) {
  ^bb0(%s: tensor<8x64xbf16>, %o: tensor<8x32xbf16>):
    %0 = tk.load %s[d0, d1] : tensor<8x64xbf16> -> bf16
    tk.store %0, %o[d0, d1] : bf16, tensor<8x32xbf16>
  }
  %c = tw.concat %a, %b dim 1 : (tensor<8x32xbf16>, tensor<8x32xbf16>) -> tensor<8x64xbf16>
  %r = tw.mul %c, %x : tensor<8x64xbf16>
  func.return %r : tensor<8x64xbf16>
}

// -----

// FUSED-LABEL: @joins_pieces_of
// CHECK-LABEL: @joins_pieces_of_symbolic_length
// CHECK:         tk.load %{{.*}}[d0 - s0, d1] if %{{.*}} else
func.func @joins_pieces_of_symbolic_length(%x: tensor<?x4xf32, #tw.shape<"s0, 4">>, %y: tensor<2x4xf32>, %s0: index {tw.symbol = "s0"}) -> tensor<?x4xf32, #tw.shape<"s0 + 2, 4">> {
  %r = tw.concat %x, %y dim 0 : (tensor<?x4xf32, #tw.shape<"s0, 4">>, tensor<2x4xf32>) -> tensor<?x4xf32, #tw.shape<"s0 + 2, 4">>
  func.return %r : tensor<?x4xf32, #tw.shape<"s0 + 2, 4">>
}

// -----

// A sum writes its own part of the result, which a kernel that joins would read again.
// CHECK-LABEL: @keeps_what_is_computed_in_place
// CHECK:         tw.concat
// REMARK: tw.concat at {{.*}}: joined piece by piece: one is computed where it belongs
func.func @keeps_what_is_computed_in_place(%x: tensor<3x12xf32>, %y: tensor<4xf32>) -> tensor<7xf32> {
  %s = tw.sum %x over [1] : tensor<3x12xf32> -> tensor<3xf32>
  %r = tw.concat %s, %y dim 0 : (tensor<3xf32>, tensor<4xf32>) -> tensor<7xf32>
  func.return %r : tensor<7xf32>
}

// -----

// CHECK-LABEL: @keeps_what_a_library_writes
// CHECK:         tw.concat
func.func @keeps_what_a_library_writes(%x: tensor<2x8xf32>, %w: tensor<8x3xf32>, %y: tensor<2x4xf32>) -> tensor<2x7xf32> {
  %p = tw.matmul %x, %w : (tensor<2x8xf32>, tensor<8x3xf32>) -> tensor<2x3xf32>
  %r = tw.concat %p, %y dim 1 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
  func.return %r : tensor<2x7xf32>
}

// -----

// What computes with the result reads a sum that is little of it where that is, and the rest where it was: in
// place each element of the rest would be copied first. A sum that is most of it is written in place.
// CHECK-LABEL: @joins_a_little_sum_that_is_computed_with
// CHECK-NOT:     tw.concat
// CHECK-LABEL: @keeps_a_large_sum_that_is_computed_with
// CHECK:         tw.concat
// FUSED-LABEL: @joins_a_little_sum_that_is_computed_with
// FUSED:         tk.reduce
// FUSED:         tk.kernel [2, 9]
// FUSED-NOT:     tk.kernel
// FUSED-LABEL: @keeps_a_large_sum_that_is_computed_with
func.func @joins_a_little_sum_that_is_computed_with(%x: tensor<2x8x12xf32>, %y: tensor<2x9xf32>) -> tensor<2x9xf32> {
  %s = tw.sum %x over [1, 2] : tensor<2x8x12xf32> -> tensor<2xf32>
  %v = tw.reshape %s : tensor<2xf32> -> tensor<2x1xf32>
  %z = tw.full 0.000000e+00 : f32 -> tensor<2x8xf32>
  %r = tw.concat %v, %z dim 1 : (tensor<2x1xf32>, tensor<2x8xf32>) -> tensor<2x9xf32>
  %a = tw.add %r, %y : tensor<2x9xf32>
  func.return %a : tensor<2x9xf32>
}
func.func @keeps_a_large_sum_that_is_computed_with(%x: tensor<2x8x12xf32>, %y: tensor<2x9xf32>) -> tensor<2x9xf32> {
  %s = tw.sum %x over [2] : tensor<2x8x12xf32> -> tensor<2x8xf32>
  %z = tw.full 0.000000e+00 : f32 -> tensor<2x1xf32>
  %r = tw.concat %s, %z dim 1 : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x9xf32>
  %a = tw.add %r, %y : tensor<2x9xf32>
  func.return %a : tensor<2x9xf32>
}

// -----

// A sum of few elements is no kernel of its own: `fuse` writes its terms out where the pieces are joined.
// CHECK-LABEL: @joins_a_sum_of_few
// CHECK-NOT:     tw.concat
// CHECK:         func.return
func.func @joins_a_sum_of_few(%x: tensor<4x3xf32>) -> tensor<4x2xf32> {
  %s = tw.sum %x over [1] : tensor<4x3xf32> -> tensor<4xf32>
  %e = tw.exp %s : tensor<4xf32>
  %a = tw.reshape %s : tensor<4xf32> -> tensor<4x1xf32>
  %b = tw.reshape %e : tensor<4xf32> -> tensor<4x1xf32>
  %r = tw.concat %a, %b dim 1 : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x2xf32>
  func.return %r : tensor<4x2xf32>
}

// -----

// A sum that others read, too, is written twice (`duplicate-results`).
// CHECK-LABEL: @keeps_a_sum_with_other_readers
// CHECK:         tw.concat
// REMARK: tw.concat at {{.*}}: joined piece by piece: one is computed where it belongs
func.func @keeps_a_sum_with_other_readers(%x: tensor<3x12xf32>, %y: tensor<4xf32>) -> (tensor<7xf32>, tensor<3xf32>) {
  %s = tw.sum %x over [1] : tensor<3x12xf32> -> tensor<3xf32>
  %r = tw.concat %s, %y dim 0 : (tensor<3xf32>, tensor<4xf32>) -> tensor<7xf32>
  func.return %r, %s : tensor<7xf32>, tensor<3xf32>
}

// -----

// What is computed to be joined twice is written twice; what others read is read here again.
// CHECK-LABEL: @keeps_what_is_joined_twice
// CHECK-COUNT-2: tw.concat
// CHECK-LABEL: @joins_what_others_read
// CHECK-NOT:     tw.concat
func.func @keeps_what_is_joined_twice(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %s = tw.exp %x : tensor<4xf32>
  %t = tw.exp %y : tensor<4xf32>
  %a = tw.concat %s, %t dim 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %b = tw.concat %s, %y dim 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  func.return %a, %b : tensor<8xf32>, tensor<8xf32>
}
func.func @joins_what_others_read(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %s = tw.exp %x : tensor<4xf32>
  %a = tw.concat %s, %y dim 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %t = tw.log %s : tensor<4xf32>
  func.return %a, %t : tensor<8xf32>, tensor<4xf32>
}

// -----

// A kernel may read the pieces where they are, of which one is in memory for others.
// CHECK-LABEL: @joins_a_sum_with_other_readers
// CHECK-NOT:     tw.concat
func.func @joins_a_sum_with_other_readers(%x: tensor<3x12xf32>, %y: tensor<4xf32>) -> (tensor<7xf32>, tensor<3xf32>) {
  %s = tw.sum %x over [1] : tensor<3x12xf32> -> tensor<3xf32>
  %r = tw.concat %s, %y dim 0 : (tensor<3xf32>, tensor<4xf32>) -> tensor<7xf32>
  %e = tw.exp %r : tensor<7xf32>
  func.return %e, %s : tensor<7xf32>, tensor<3xf32>
}

// -----

// Steps of a recurrence are written by the kernel that computes each once; a kernel of the whole would compute
// the first one at every element. Where few elements of a piece lie side by side it does.
// CHECK-LABEL: @keeps_steps
// CHECK:         tw.concat
// CHECK-LABEL: @joins_steps_of_single_elements
// CHECK-NOT:     tw.concat
// CHECK-LABEL: @joins_steps_that_are_read
// CHECK-NOT:     tw.concat
// CHECK-LABEL: @joins_steps_of_different_sizes
// CHECK-NOT:     tw.concat
// CHECK-LABEL: @joins_what_shares_nothing
// CHECK-NOT:     tw.concat
// REMARK: tw.concat at {{.*}}: joined piece by piece: they are computed of the same
func.func @keeps_steps(%x: tensor<1x16xf32>) -> tensor<3x16xf32> {
  %a = tw.exp %x : tensor<1x16xf32>
  %b = tw.exp %a : tensor<1x16xf32>
  %c = tw.exp %b : tensor<1x16xf32>
  %r = tw.concat %a, %b, %c dim 0 : (tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<3x16xf32>
  func.return %r : tensor<3x16xf32>
}
func.func @joins_steps_of_single_elements(%x: tensor<16x1xf32>) -> tensor<16x2xf32> {
  %a = tw.exp %x : tensor<16x1xf32>
  %b = tw.exp %a : tensor<16x1xf32>
  %r = tw.concat %a, %b dim 1 : (tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x2xf32>
  func.return %r : tensor<16x2xf32>
}
func.func @joins_steps_that_are_read(%x: tensor<1x16xf32>) -> (tensor<2x16xf32>, tensor<2x16xf32>) {
  %a = tw.exp %x : tensor<1x16xf32>
  %b = tw.exp %a : tensor<1x16xf32>
  %r = tw.concat %a, %b dim 0 : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<2x16xf32>
  %e = tw.exp %r : tensor<2x16xf32>
  func.return %r, %e : tensor<2x16xf32>, tensor<2x16xf32>
}
func.func @joins_steps_of_different_sizes(%x: tensor<16xf32>) -> tensor<48xf32> {
  %a = tw.exp %x : tensor<16xf32>
  %s = tw.concat %a, %x dim 0 : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  %b = tw.exp %s : tensor<32xf32>
  %r = tw.concat %a, %b dim 0 : (tensor<16xf32>, tensor<32xf32>) -> tensor<48xf32>
  func.return %r : tensor<48xf32>
}
func.func @joins_what_shares_nothing(%x: tensor<1x16xf32>) -> tensor<2x16xf32> {
  %a = tw.exp %x : tensor<1x16xf32>
  %b = tw.neg %x : tensor<1x16xf32>
  %r = tw.concat %a, %b dim 0 : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<2x16xf32>
  func.return %r : tensor<2x16xf32>
}

// -----

// CHECK-LABEL: @keeps_many_pieces
// CHECK:         tw.concat
// REMARK: tw.concat at {{.*}}: joined piece by piece: it has more than 8
func.func @keeps_many_pieces(%y: tensor<2xf32>) -> tensor<18xf32> {
  %x = tw.exp %y : tensor<2xf32>
  %r = tw.concat %x, %x, %x, %x, %x, %x, %x, %x, %x dim 0 : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<18xf32>
  func.return %r : tensor<18xf32>
}

// -----

// Nobody computes what is given: each piece would be copied.
// CHECK-LABEL: @joins_many_arguments
// CHECK-NOT:     tw.concat
func.func @joins_many_arguments(%x: tensor<2xf32>, %z: tensor<1x2xf32>) -> tensor<18xf32> {
  %y = tw.reshape %z : tensor<1x2xf32> -> tensor<2xf32>
  %r = tw.concat %x, %y, %x, %x, %x, %x, %x, %x, %x dim 0 : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<18xf32>
  func.return %r : tensor<18xf32>
}

// -----

// A product wants its factors in memory: what a norm makes is written there.
// CHECK-LABEL: @keeps_factors
// CHECK:         tw.concat
func.func @keeps_factors(%x: tensor<4x12xbf16>, %w: tensor<24x5xbf16>) -> tensor<4x5xbf16> {
  %m = tw.max %x over [1] : tensor<4x12xbf16> -> tensor<4xbf16>
  %b = tw.broadcast %m dims [0] : tensor<4xbf16> -> tensor<4x12xbf16>
  %n = tw.sub %x, %b : tensor<4x12xbf16>
  %c = tw.concat %n, %x dim 1 : (tensor<4x12xbf16>, tensor<4x12xbf16>) -> tensor<4x24xbf16>
  %r = tw.matmul %c, %w : (tensor<4x24xbf16>, tensor<24x5xbf16>) -> tensor<4x5xbf16>
  func.return %r : tensor<4x5xbf16>
}
