// RUN: tilewright-opt %s -p bufferize --split-input-file | filecheck %s

// Attention's layout: slices, reshapes and transposes of one projection are strides.

// CHECK-LABEL: @views_are_strides
// CHECK-NEXT: %[[R:.*]] = th.empty sizes "2, 8, 8" strides "64, 8, 1" : memref<128xf32>
// CHECK-NEXT: %[[Q:.*]] = th.view %x offset "0" sizes "2, 8, 4" strides "4, 24, 1"
// CHECK-NEXT: %[[K:.*]] = th.view %x offset "8" sizes "2, 4, 8" strides "4, 1, 24"
// CHECK-NEXT: %[[O:.*]] = th.view %[[R]] offset "0" sizes "2, 8, 8" strides "64, 8, 1"
func.func @views_are_strides(%x: tensor<8x24xf32>) -> tensor<2x8x8xf32> {
  %q = tw.slice %x starts "0, 0" steps "1, 1" : tensor<8x24xf32> -> tensor<8x8xf32>
  %q2 = tw.reshape %q : tensor<8x8xf32> -> tensor<8x2x4xf32>
  %q3 = tw.transpose %q2 by [1, 0, 2] : tensor<8x2x4xf32> -> tensor<2x8x4xf32>
  %k = tw.slice %x starts "0, 8" steps "1, 1" : tensor<8x24xf32> -> tensor<8x8xf32>
  %k2 = tw.reshape %k : tensor<8x8xf32> -> tensor<8x2x4xf32>
  %k3 = tw.transpose %k2 by [1, 2, 0] : tensor<8x2x4xf32> -> tensor<2x4x8xf32>
  // CHECK-NEXT: th.extern "aten::bmm.out"(%[[Q]], %[[K]]) into(%[[O]])
  %r = tw.matmul %q3, %k3 : (tensor<2x8x4xf32>, tensor<2x4x8xf32>) -> tensor<2x8x8xf32>
  // CHECK-NEXT: return %[[R]]
  func.return %r : tensor<2x8x8xf32>
}

// -----

// CHECK-LABEL: @shared_weight_is_one_product
// CHECK: th.view %x offset "0" sizes "6, 4" strides "4, 1"
// CHECK: th.view %w offset "0" sizes "4, 6" strides "6, 1"
// CHECK: "aten::addmm.out"
// CHECK-NOT: th.launch
func.func @shared_weight_is_one_product(%x: tensor<2x3x4xf32>, %w: tensor<4x6xf32>, %b: tensor<6xf32>) -> tensor<2x3x6xf32> {
  %v = tw.broadcast %w dims [1, 2] : tensor<4x6xf32> -> tensor<2x4x6xf32>
  %r = tw.matmul %x, %v bias %b : (tensor<2x3x4xf32>, tensor<2x4x6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
  func.return %r : tensor<2x3x6xf32>
}

// -----

// A product over four dimensions needs three: operands that no strides fit are copied, alone.

// CHECK-LABEL: @copies_what_has_no_view
// CHECK: %[[C:.*]] = th.alloc "120"
// CHECK-NEXT: th.launch @copy(%x) into(%[[C]])
// CHECK: th.view %[[C]] offset "0" sizes "6, 4, 5" strides "20, 5, 1"
// CHECK: th.view %w offset "0" sizes "6, 5, 7" strides "35, 7, 1"
// CHECK: aten::bmm.out
func.func @copies_what_has_no_view(%x: tensor<3x2x4x5xf32>, %w: tensor<2x3x5x7xf32>) -> tensor<2x3x4x7xf32> {
  %t = tw.transpose %x by [1, 0, 2, 3] : tensor<3x2x4x5xf32> -> tensor<2x3x4x5xf32>
  %r = tw.matmul %t, %w : (tensor<2x3x4x5xf32>, tensor<2x3x5x7xf32>) -> tensor<2x3x4x7xf32>
  func.return %r : tensor<2x3x4x7xf32>
}

// -----

// CHECK-LABEL: @producers_write_their_slice
// CHECK-NEXT: %[[R:.*]] = th.empty sizes "2, 7" strides "7, 1" : memref<14xf32>
// CHECK-NEXT: th.launch @exp(%x) into(%[[R]])
// CHECK-NEXT: th.launch @copy(%y) into(%[[R]])
// CHECK-NEXT: return %[[R]]
// CHECK: tk.func @exp
// CHECK: tk.store {{.*}}[d0*7 + d1]
// CHECK: tk.func @copy [2, 4]
// CHECK: tk.load {{.*}}[d0*4 + d1]
// CHECK: tk.store {{.*}}[d0*7 + d1 + 3]
func.func @producers_write_their_slice(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) -> tensor<2x7xf32> {
  %e = tk.kernel [2, 3] ins(%x : tensor<2x3xf32>) -> (tensor<2x3xf32>) {
  ^bb0(%a: tensor<2x3xf32>, %o: tensor<2x3xf32>):
    %0 = tk.load %a[d0, d1] : tensor<2x3xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<2x3xf32>
  }
  %r = tw.concat %e, %y dim 1 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
  func.return %r : tensor<2x7xf32>
}

// -----

// A reshape of rows and heads would copy what is row-major, but not what lies in the slice.
// CHECK-LABEL: @heads_into_their_slice
// CHECK: %[[C:.*]] = th.empty sizes "2, 3, 16"
// CHECK-NEXT: th.launch @[[EXP:.*]](%x) into(%[[C]])
// CHECK-NEXT: th.launch @[[NEG:.*]](%x) into(%[[C]])
// CHECK-NEXT: return %[[C]]
// CHECK: tk.func @[[EXP]]
// CHECK: tk.store %{{.*}}, %{{.*}}[d0*48 + d1*4 + d2*16 + d3]
// CHECK: tk.func @[[NEG]]
// CHECK: tk.store %{{.*}}, %{{.*}}[d0*48 + d1*4 + d2*16 + d3 + 8]
func.func @heads_into_their_slice(%x: tensor<2x2x3x4xf32>) -> tensor<2x3x16xf32> {
  %0 = tk.kernel [2, 2, 3, 4] ins(%x : tensor<2x2x3x4xf32>) -> (tensor<2x2x3x4xf32>) {
  ^bb0(%a: tensor<2x2x3x4xf32>, %o: tensor<2x2x3x4xf32>):
    %v = tk.load %a[d0, d1, d2, d3] : tensor<2x2x3x4xf32> -> f32
    %e = math.exp %v : f32
    tk.store %e, %o[d0, d1, d2, d3] : f32, tensor<2x2x3x4xf32>
  }
  %1 = tk.kernel [2, 2, 3, 4] ins(%x : tensor<2x2x3x4xf32>) -> (tensor<2x2x3x4xf32>) {
  ^bb0(%a: tensor<2x2x3x4xf32>, %o: tensor<2x2x3x4xf32>):
    %v = tk.load %a[d0, d1, d2, d3] : tensor<2x2x3x4xf32> -> f32
    %e = arith.negf %v : f32
    tk.store %e, %o[d0, d1, d2, d3] : f32, tensor<2x2x3x4xf32>
  }
  %2 = tw.transpose %0 by [0, 2, 1, 3] : tensor<2x2x3x4xf32> -> tensor<2x3x2x4xf32>
  %3 = tw.reshape %2 : tensor<2x3x2x4xf32> -> tensor<2x3x8xf32>
  %4 = tw.transpose %1 by [0, 2, 1, 3] : tensor<2x2x3x4xf32> -> tensor<2x3x2x4xf32>
  %5 = tw.reshape %4 : tensor<2x3x2x4xf32> -> tensor<2x3x8xf32>
  %6 = tw.concat %3, %5 dim 2 : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x16xf32>
  func.return %6 : tensor<2x3x16xf32>
}

// -----

// The product of both is read elsewhere, as it is: its heads are copied into the slice.
// CHECK-LABEL: @heads_that_others_read
// CHECK: th.launch @[[EXP:.*]](%x) into(%[[R:.*]]) :
// CHECK: th.launch @copy{{.*}}(%[[R]]) into(%[[C:.*]]) :
// CHECK: return %[[C]], %{{.*}}
func.func @heads_that_others_read(%x: tensor<2x2x3x4xf32>, %y: tensor<2x3x8xf32>)
    -> (tensor<2x3x16xf32>, tensor<2x2x3x4xf32>) {
  %0 = tk.kernel [2, 2, 3, 4] ins(%x : tensor<2x2x3x4xf32>) -> (tensor<2x2x3x4xf32>) {
  ^bb0(%a: tensor<2x2x3x4xf32>, %o: tensor<2x2x3x4xf32>):
    %v = tk.load %a[d0, d1, d2, d3] : tensor<2x2x3x4xf32> -> f32
    %e = math.exp %v : f32
    tk.store %e, %o[d0, d1, d2, d3] : f32, tensor<2x2x3x4xf32>
  }
  %1 = tk.kernel [2, 2, 3, 4] ins(%0 : tensor<2x2x3x4xf32>) -> (tensor<2x2x3x4xf32>) {
  ^bb0(%a: tensor<2x2x3x4xf32>, %o: tensor<2x2x3x4xf32>):
    %v = tk.load %a[d0, d1, d2, d3] : tensor<2x2x3x4xf32> -> f32
    %e = arith.negf %v : f32
    tk.store %e, %o[d0, d1, d2, d3] : f32, tensor<2x2x3x4xf32>
  }
  %2 = tw.transpose %0 by [0, 2, 1, 3] : tensor<2x2x3x4xf32> -> tensor<2x3x2x4xf32>
  %3 = tw.reshape %2 : tensor<2x3x2x4xf32> -> tensor<2x3x8xf32>
  %4 = tw.concat %3, %y dim 2 : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x16xf32>
  func.return %4, %1 : tensor<2x3x16xf32>, tensor<2x2x3x4xf32>
}

// -----

// The same value twice: computed into one slice, copied to the other.

// CHECK-LABEL: @concat_with_itself
// CHECK: th.launch @exp(%x) into(%[[R:.*]]) :
// CHECK-NEXT: th.launch @copy(%[[R]]) into(%[[R]])
// CHECK: tk.func @copy [3]
// CHECK: tk.load {{.*}}[d0]
// CHECK: tk.store {{.*}}[d0 + 3]
func.func @concat_with_itself(%x: tensor<1x3xf32>) -> tensor<2x3xf32> {
  %e = tk.kernel [1, 3] ins(%x : tensor<1x3xf32>) -> (tensor<1x3xf32>) {
  ^bb0(%a: tensor<1x3xf32>, %o: tensor<1x3xf32>):
    %0 = tk.load %a[d0, d1] : tensor<1x3xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<1x3xf32>
  }
  %r = tw.concat %e, %e dim 0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  func.return %r : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: @arguments_and_views_are_returned_as_such
// CHECK-NEXT: %[[T:.*]] = th.view %x offset "0" sizes "3, 2" strides "1, 3"
// CHECK-NEXT: return %x, %[[T]], %x : memref<6xf32>, !th.tensor<f32>, memref<6xf32>
func.func @arguments_and_views_are_returned_as_such(%x: tensor<2x3xf32>)
    -> (tensor<2x3xf32>, tensor<3x2xf32> {tw.strides = "1, 3"}, tensor<2x3xf32>) {
  %t = tw.transpose %x by [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  func.return %x, %t, %x : tensor<2x3xf32>, tensor<3x2xf32>, tensor<2x3xf32>
}

// -----

// CHECK-LABEL: @owned_and_other_layouts_are_copied
// CHECK-NEXT: %[[A:.*]] = th.empty sizes "2, 3" strides "3, 1"
// CHECK-NEXT: th.launch @copy(%x) into(%[[A]])
// CHECK-NEXT: %[[B:.*]] = th.empty sizes "3, 2" strides "2, 1"
// CHECK-NEXT: th.launch @copy_1(%x) into(%[[B]])
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @owned_and_other_layouts_are_copied(%x: tensor<2x3xf32>) -> (tensor<2x3xf32> {tw.memory = 0 : i64}, tensor<3x2xf32>) {
  %t = tw.transpose %x by [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  func.return %x, %t : tensor<2x3xf32>, tensor<3x2xf32>
}

// -----

// A kernel's result is returned transposed: it is computed in the layout that the view needs.

// CHECK-LABEL: @result_layout_reaches_the_kernel
// CHECK-NEXT: %[[R:.*]] = th.empty sizes "2, 3" strides "1, 2"
// CHECK-NEXT: th.launch @exp(%x) into(%[[R]])
// CHECK-NEXT: %[[V:.*]] = th.view %[[R]] offset "0" sizes "3, 2" strides "2, 1"
// CHECK-NEXT: return %[[V]]
func.func @result_layout_reaches_the_kernel(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %e = tk.kernel [2, 3] ins(%x : tensor<2x3xf32>) -> (tensor<2x3xf32>) {
  ^bb0(%a: tensor<2x3xf32>, %o: tensor<2x3xf32>):
    %0 = tk.load %a[d0, d1] : tensor<2x3xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<2x3xf32>
  }
  %t = tw.transpose %e by [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  func.return %t : tensor<3x2xf32>
}

// -----

// CHECK-LABEL: @symbolic_sizes
// CHECK-SAME: %x: memref<?xf32> {th.sizes = "s0, 4", th.strides = "4, 1"}, %s0: index
// CHECK-NEXT: %[[R:.*]] = th.empty sizes "s0*2, 2" strides "2, 1" : memref<?xf32>
// CHECK-NEXT: th.launch @exp(%x) into(%[[R]]) symbols "s0"
// CHECK: tk.func @exp [s0*2, 2] ({{.*}}) symbols [s0]
// CHECK: tk.load {{.*}}[d0*2 + d1]
func.func @symbolic_sizes(%x: tensor<?x4xf32, #tw.shape<"s0, 4">>, %s0: index {tw.symbol = "s0"})
    -> tensor<?x2xf32, #tw.shape<"s0*2, 2">> {
  %v = tw.reshape %x : tensor<?x4xf32, #tw.shape<"s0, 4">> -> tensor<?x2xf32, #tw.shape<"s0*2, 2">>
  %e = tk.kernel [s0*2, 2] ins(%v : tensor<?x2xf32, #tw.shape<"s0*2, 2">>) -> (tensor<?x2xf32, #tw.shape<"s0*2, 2">>) {
  ^bb0(%a: tensor<?x2xf32, #tw.shape<"s0*2, 2">>, %o: tensor<?x2xf32, #tw.shape<"s0*2, 2">>):
    %0 = tk.load %a[d0, d1] : tensor<?x2xf32, #tw.shape<"s0*2, 2">> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<?x2xf32, #tw.shape<"s0*2, 2">>
  }
  func.return %e : tensor<?x2xf32, #tw.shape<"s0*2, 2">>
}

// -----

// Running statistics: the old value is read by the kernel that makes the new one, at the same place.

// CHECK-LABEL: @updates_argument_in_place
// CHECK-NEXT: th.launch @add(%m, %x) into(%m)
// CHECK-NEXT: return
func.func @updates_argument_in_place(%m: tensor<4xf32>, %x: tensor<4xf32>) {
  %n = tk.kernel [4] ins(%m, %x : tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %o: tensor<4xf32>):
    %0 = tk.load %a[d0] : tensor<4xf32> -> f32
    %1 = tk.load %b[d0] : tensor<4xf32> -> f32
    %2 = arith.addf %0, %1 : f32
    tk.store %2, %o[d0] : f32, tensor<4xf32>
  }
  tw.write %n into %m : tensor<4xf32>
  func.return
}

// -----

// Of its rows, the kernel reads what it writes, and what it does not.

// CHECK-LABEL: @updates_part_of_an_argument
// CHECK-NEXT: th.launch @mul(%m, %m) into(%m)
// CHECK-NEXT: return
// CHECK: tk.func @mul
// CHECK: tk.load %{{.*}}[d0*6 + d1 + 4]
// CHECK: tk.store %{{.*}}, %{{.*}}[d0*6 + d1]
func.func @updates_part_of_an_argument(%m: tensor<4x6xf32>) {
  %b = tw.slice %m starts "0, 4" steps "1, 1" : tensor<4x6xf32> -> tensor<4x2xf32>
  %n = tk.kernel [4, 2] ins(%m, %b : tensor<4x6xf32>, tensor<4x2xf32>) -> (tensor<4x2xf32>) attributes {tk.name = "mul"} {
  ^bb0(%a: tensor<4x6xf32>, %c: tensor<4x2xf32>, %o: tensor<4x2xf32>):
    %0 = tk.load %a[d0, d1] : tensor<4x6xf32> -> f32
    %1 = tk.load %c[d0, d1] : tensor<4x2xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<4x2xf32>
  }
  %s = tw.slice %m starts "0, 0" steps "1, 1" : tensor<4x6xf32> -> tensor<4x2xf32>
  tw.write %n into %s : tensor<4x2xf32>
  func.return
}

// -----

// The kernel reads other elements of the old value than it writes.

// CHECK-LABEL: @keeps_old_value_while_it_is_read
// CHECK-NEXT: %[[N:.*]] = th.alloc "4"
// CHECK-NEXT: th.launch @copy(%m) into(%[[N]])
// CHECK-NEXT: th.launch @copy_1(%[[N]]) into(%m)
func.func @keeps_old_value_while_it_is_read(%m: tensor<4xf32>) {
  %n = tk.kernel [4] ins(%m : tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>, %o: tensor<4xf32>):
    %0 = tk.load %a[-d0 + 3] : tensor<4xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<4xf32>
  }
  tw.write %n into %m : tensor<4xf32>
  func.return
}

// -----

// The old value is returned: it is saved before the write.

// CHECK-LABEL: @returns_old_value
// CHECK-NEXT: %[[N:.*]] = th.alloc "4"
// CHECK-NEXT: th.launch @exp(%m) into(%[[N]])
// CHECK-NEXT: %[[O:.*]] = th.empty sizes "4" strides "1"
// CHECK-NEXT: th.launch @copy(%m) into(%[[O]])
// CHECK-NEXT: th.launch @copy_1(%[[N]]) into(%m)
// CHECK-NEXT: return %[[O]]
func.func @returns_old_value(%m: tensor<4xf32>) -> tensor<4xf32> {
  %n = tk.kernel [4] ins(%m : tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>, %o: tensor<4xf32>):
    %0 = tk.load %a[d0] : tensor<4xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0] : f32, tensor<4xf32>
  }
  tw.write %n into %m : tensor<4xf32>
  func.return %m : tensor<4xf32>
}

// -----

// CHECK-LABEL: @swaps_arguments
// CHECK-NEXT: %[[A:.*]] = th.alloc "4"
// CHECK-NEXT: th.launch @copy(%a) into(%[[A]])
// CHECK-NEXT: %[[B:.*]] = th.alloc "4"
// CHECK-NEXT: th.launch @copy_1(%b) into(%[[B]])
// CHECK-NEXT: th.launch @copy_2(%[[A]]) into(%b)
// CHECK-NEXT: th.launch @copy_3(%[[B]]) into(%a)
func.func @swaps_arguments(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  tw.write %a into %b : tensor<4xf32>
  tw.write %b into %a : tensor<4xf32>
  func.return
}

// -----

// CHECK-LABEL: @reversed_operand_is_copied_for_aten
// CHECK-NEXT: %[[C:.*]] = th.alloc "4"
// CHECK-NEXT: th.launch @copy(%x) into(%[[C]])
// CHECK-NEXT: %[[V:.*]] = th.view %[[C]] offset "0" sizes "4" strides "1"
// CHECK-NEXT: %[[R:.*]] = th.call "aten::cumprod"(%[[V]]) sizes ["4"] strides ["1"] {args = [#tw.arg<0>, 0 : i64]}
// CHECK-NEXT: return %[[R]] : !th.tensor<f32>
// CHECK: tk.load {{.*}}[-d0 + 3]
func.func @reversed_operand_is_copied_for_aten(%x: tensor<4xf32>) -> tensor<4xf32> {
  %v = tw.reverse %x dims [0] : tensor<4xf32> -> tensor<4xf32>
  %r = tw.aten "aten::cumprod"(%v) {args = [#tw.arg<0>, 0 : i64]} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

// The sign of a stride is no matter of its terms: of rows of `s1 - s0` the first is no copy, the second is one.

// CHECK-LABEL: @rows_of_a_difference_are_read_from_the_front
// CHECK: th.view %x offset "0" sizes "4, -s0 + s1" strides "-s0 + s1, 1"
// CHECK: th.launch @copy
// CHECK: th.view %{{.*}} offset "0" sizes "4, -s0 + s1" strides "-s0 + s1, 1"
func.func @rows_of_a_difference_are_read_from_the_front(%x: tensor<4x?xf32, #tw.shape<"4, -s0 + s1">>,
    %s0: index {tw.symbol = "s0"}, %s1: index {tw.symbol = "s1"})
    -> (tensor<4x?xf32, #tw.shape<"4, -s0 + s1">>, tensor<4x?xf32, #tw.shape<"4, -s0 + s1">>) {
  %v = tw.reverse %x dims [0] : tensor<4x?xf32, #tw.shape<"4, -s0 + s1">> -> tensor<4x?xf32, #tw.shape<"4, -s0 + s1">>
  %r = tw.aten "aten::cumprod"(%x) {args = [#tw.arg<0>, 0 : i64]}
      : (tensor<4x?xf32, #tw.shape<"4, -s0 + s1">>) -> tensor<4x?xf32, #tw.shape<"4, -s0 + s1">>
  %t = tw.aten "aten::cumprod"(%v) {args = [#tw.arg<0>, 0 : i64]}
      : (tensor<4x?xf32, #tw.shape<"4, -s0 + s1">>) -> tensor<4x?xf32, #tw.shape<"4, -s0 + s1">>
  func.return %r, %t : tensor<4x?xf32, #tw.shape<"4, -s0 + s1">>, tensor<4x?xf32, #tw.shape<"4, -s0 + s1">>
}

// -----

// CHECK-LABEL: @kernel_reads_what_aten_returned
// CHECK: %[[U:.*]] = th.call "aten::cumprod"(%{{.*}}) sizes ["4, 2"] strides ["1, 4"]
// CHECK: %[[D:.*]] = th.data %[[U]] size "8"
// CHECK: th.launch @exp(%[[D]])
// CHECK: tk.load {{.*}}[d0 + d1*4]
func.func @kernel_reads_what_aten_returned(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %u = tw.aten "aten::cumprod"(%x) {args = [#tw.arg<0>, 0 : i64], tw.strides = ["1, 4"]} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %e = tk.kernel [4, 2] ins(%u : tensor<4x2xf32>) -> (tensor<4x2xf32>) {
  ^bb0(%a: tensor<4x2xf32>, %o: tensor<4x2xf32>):
    %0 = tk.load %a[d0, d1] : tensor<4x2xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<4x2xf32>
  }
  func.return %e : tensor<4x2xf32>
}

// -----

// CHECK-LABEL: @indexing_names_dims
// CHECK: th.call "aten::index.Tensor"(%{{.*}}, %{{.*}}) sizes ["3, 5"] strides ["5, 1"] {args = [#tw.arg<0>, [unit, #tw.arg<1>]]}
// CHECK: th.view %{{.*}} offset "0" sizes "5, 3" strides "1, 5"
func.func @indexing_names_dims(%x: tensor<3x9xf32>, %i: tensor<5xi64>) -> (tensor<5x3xf32> {tw.strides = "1, 5"}) {
  %r = tw.gather %x[%i] dims [1] at 0 : (tensor<3x9xf32>, tensor<5xi64>) -> tensor<5x3xf32>
  func.return %r : tensor<5x3xf32>
}

// -----

// CHECK-LABEL: @empty_tensors
// CHECK-NEXT: %[[R:.*]] = th.empty sizes "0, 4" strides "4, 1" : memref<0xf32>
// CHECK-NEXT: th.launch @exp(%x) into(%[[R]]) : (memref<0xf32>) into(memref<0xf32>)
func.func @empty_tensors(%x: tensor<2x0x2xf32>) -> tensor<0x4xf32> {
  %v = tw.reshape %x : tensor<2x0x2xf32> -> tensor<0x4xf32>
  %e = tk.kernel [0, 4] ins(%v : tensor<0x4xf32>) -> (tensor<0x4xf32>) {
  ^bb0(%a: tensor<0x4xf32>, %o: tensor<0x4xf32>):
    %0 = tk.load %a[d0, d1] : tensor<0x4xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<0x4xf32>
  }
  func.return %e : tensor<0x4xf32>
}

// -----

// CHECK-LABEL: @constants_and_seeds
// CHECK-NEXT: %[[C:.*]] = th.constant dense<[1, 2]> : tensor<2xi64> -> memref<2xi64>
// CHECK-NEXT: %[[S:.*]] = th.empty sizes "" strides "" : memref<1xi64>
// CHECK-NEXT: %[[V:.*]] = th.view %[[S]] offset "0" sizes "" strides ""
// CHECK-NEXT: th.extern "aten::randint.low_out"() into(%[[V]]) {args = [-9223372036854775808 : i64, 9223372036854775807 : i64, [], #tw.arg<0>]}
// CHECK-NEXT: %[[P:.*]] = th.empty sizes "2" strides "1" : memref<2xi64>
// CHECK-NEXT: %[[W:.*]] = th.view %[[P]] offset "0" sizes "2" strides "1"
// CHECK-NEXT: th.extern "aten::randint.low_out"() into(%[[W]]) {args = [-9223372036854775808 : i64, 9223372036854775807 : i64, [2 : i64], #tw.arg<0>]}
// CHECK-NEXT: %[[R:.*]] = th.empty sizes "2" strides "1"
// CHECK-NEXT: th.launch @copy(%[[C]]) into(%[[R]])
// CHECK-NEXT: return %[[S]], %[[R]], %[[P]]
func.func @constants_and_seeds() -> (tensor<i64>, tensor<2xi64>, tensor<2xi64>) {
  %c = tw.constant dense<[1, 2]> : tensor<2xi64>
  %s = tw.rng_seed : tensor<i64>
  %p = tw.rng_seed : tensor<2xi64>
  func.return %s, %c, %p : tensor<i64>, tensor<2xi64>, tensor<2xi64>
}

// -----

// A size of 0 makes the tensor empty, whatever the symbols are.

// CHECK-LABEL: @empty_with_a_symbol
// CHECK-NEXT: th.view %x offset "0" sizes "1, 0, s0*s0"
// CHECK-NEXT: return
func.func @empty_with_a_symbol(%x: tensor<1x0x?x?xf64, #tw.shape<"1, 0, s0, s0">>, %s0: index {tw.symbol = "s0"}) -> tensor<1x0x?xf64, #tw.shape<"1, 0, s0*s0">> {
  %r = tw.reshape %x : tensor<1x0x?x?xf64, #tw.shape<"1, 0, s0, s0">> -> tensor<1x0x?xf64, #tw.shape<"1, 0, s0*s0">>
  func.return %r : tensor<1x0x?xf64, #tw.shape<"1, 0, s0*s0">>
}

// -----

// Dimensions of indices that are no neighbours stand first in what ATen returns.

// CHECK-LABEL: @indices_apart_come_first
// CHECK: th.call "aten::index.Tensor"(%{{.*}}, %{{.*}}, %{{.*}}) sizes ["6, 2, 4"] strides ["8, 4, 1"] {args = [#tw.arg<0>, [unit, #tw.arg<1>, unit, #tw.arg<2>]]}
// CHECK: th.view %{{.*}} offset "0" sizes "2, 6, 4" strides "4, 8, 1"
func.func @indices_apart_come_first(%x: tensor<2x3x4x5xf32>, %i: tensor<6xi64>, %j: tensor<6xi64>) -> (tensor<2x6x4xf32> {tw.strides = "4, 8, 1"}) {
  %r = tw.gather %x[%i, %j] dims [1, 3] at 1 : (tensor<2x3x4x5xf32>, tensor<6xi64>, tensor<6xi64>) -> tensor<2x6x4xf32>
  func.return %r : tensor<2x6x4xf32>
}

// -----

// CHECK-LABEL: @scatters_add_or_replace
// CHECK: th.call "aten::index_put"({{.*}}args = [#tw.arg<0>, [#tw.arg<2>], #tw.arg<1>, true]}
// CHECK: th.call "aten::index_put"({{.*}}args = [#tw.arg<0>, [#tw.arg<2>], #tw.arg<1>, false]}
func.func @scatters_add_or_replace(%x: tensor<3x4xf32>, %v: tensor<6x4xf32>, %i: tensor<6xi64>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %a = tw.scatter_add %v into %x[%i] dims [0] at 0 : (tensor<3x4xf32>, tensor<6x4xf32>, tensor<6xi64>) -> tensor<3x4xf32>
  %b = tw.scatter %v into %x[%i] dims [0] at 0 : (tensor<3x4xf32>, tensor<6x4xf32>, tensor<6xi64>) -> tensor<3x4xf32>
  func.return %a, %b : tensor<3x4xf32>, tensor<3x4xf32>
}

// -----

// Another element type, an element that another iteration wrote over, one that a second loop reads: all need memory of their own.

// CHECK-LABEL: @in_place_where_nothing_is_lost
// CHECK: tk.func @neg [4, 4] ({{.*}}) attributes {tk.inplace = [array<i64: 0, 0>]}
// CHECK: tk.func @other_type [4, 4] ({{.*}}) {
// CHECK: tk.func @transposed [4, 4] ({{.*}}) {
// CHECK: tk.func @two_stores [4, 4] ({{.*}}) {
func.func @in_place_where_nothing_is_lost(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xi32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>) {
  %n = tk.kernel [4, 4] ins(%x : tensor<4x4xf32>) -> (tensor<4x4xf32>) attributes {tk.name = "neg"} {
  ^bb0(%a: tensor<4x4xf32>, %o: tensor<4x4xf32>):
    %0 = tk.load %a[d0, d1] : tensor<4x4xf32> -> f32
    %1 = arith.negf %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<4x4xf32>
  }
  %i = tk.kernel [4, 4] ins(%n : tensor<4x4xf32>) -> (tensor<4x4xi32>) attributes {tk.name = "other_type"} {
  ^bb0(%a: tensor<4x4xf32>, %o: tensor<4x4xi32>):
    %0 = tk.load %a[d0, d1] : tensor<4x4xf32> -> f32
    %1 = arith.fptosi %0 : f32 to i32
    tk.store %1, %o[d0, d1] : i32, tensor<4x4xi32>
  }
  %t = tk.kernel [4, 4] ins(%n : tensor<4x4xf32>) -> (tensor<4x4xf32>) attributes {tk.name = "transposed"} {
  ^bb0(%a: tensor<4x4xf32>, %o: tensor<4x4xf32>):
    %0 = tk.load %a[d1, d0] : tensor<4x4xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<4x4xf32>
  }
  %s, %m = tk.kernel [4, 4] ins(%t : tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>) attributes {tk.name = "two_stores"} {
  ^bb0(%a: tensor<4x4xf32>, %o: tensor<4x4xf32>, %p: tensor<4xf32>):
    %0 = tk.load %a[d0, d1] : tensor<4x4xf32> -> f32
    %1 = arith.negf %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<4x4xf32>
    %2 = tk.reduce max %0 over [1] : f32
    %3 = arith.subf %0, %2 : f32
    %4 = tk.reduce add %3 over [1] : f32
    tk.store %4, %p[d0] : f32, tensor<4xf32>
  }
  func.return %n, %i, %t, %s, %m : tensor<4x4xf32>, tensor<4x4xi32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>
}

// -----

// What takes memory for elements of another size finds them in order.

// CHECK-LABEL: @elements_of_another_size
// CHECK:      %[[T:.*]] = th.alloc "6"
// CHECK-NEXT: th.launch @copy(%x) into(%[[T]])
// CHECK-NEXT: %[[V:.*]] = th.view %[[T]] offset "0" sizes "3, 2" strides "2, 1"
// CHECK-NEXT: th.call "aten::view_copy.dtype"(%[[V]])
// CHECK:      %[[W:.*]] = th.view %x offset "0" sizes "2, 3" strides "3, 1"
// CHECK-NEXT: th.call "aten::view_copy.dtype"(%[[W]])
func.func @elements_of_another_size(%x: tensor<2x3xf32>) -> (tensor<3x4xi16>, tensor<2x6xi16>) {
  %t = tw.transpose %x by [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %v = tw.aten "aten::view_copy.dtype"(%t) {args = [#tw.arg<0>, i16]} : (tensor<3x2xf32>) -> tensor<3x4xi16>
  %w = tw.aten "aten::view_copy.dtype"(%x) {args = [#tw.arg<0>, i16]} : (tensor<2x3xf32>) -> tensor<2x6xi16>
  func.return %v, %w : tensor<3x4xi16>, tensor<2x6xi16>
}

// -----

// Others than ATen see operands as the program has them: in one call two copies of %x, and %x itself.

// CHECK-LABEL: @operands_lie_as_stated
// CHECK:      %[[T:.*]] = th.alloc "6"
// CHECK-NEXT: th.launch @copy(%x) into(%[[T]])
// CHECK-NEXT: %[[G:.*]] = th.alloc "11"
// CHECK-NEXT: th.launch @copy{{.*}}(%x) into(%[[G]])
// CHECK-NEXT: %[[V:.*]] = th.view %[[T]] offset "0" sizes "2, 3" strides "1, 2"
// CHECK-NEXT: %[[W:.*]] = th.view %[[G]] offset "0" sizes "2, 3" strides "6, 2"
// CHECK-NEXT: %[[X:.*]] = th.view %x offset "0" sizes "2, 3" strides "3, 1"
// CHECK-NEXT: th.call "my::op"(%[[V]], %[[W]], %[[X]], %[[X]])
func.func @operands_lie_as_stated(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %r = tw.aten "my::op"(%x, %x, %x, %x) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, #tw.arg<3>], operand_strides = ["1, 2", "6, 2", "3, 1", ""]}
      : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>
  func.return %r : tensor<2xf32>
}

// -----

// What such a call writes is where it writes it: %s is read there.

// CHECK-LABEL: @written_where_it_lies
// CHECK:      th.launch @sin(%x) into(%s)
// CHECK-NEXT: %[[T:.*]] = th.alloc "6"
// CHECK-NEXT: th.launch @copy(%s) into(%[[T]])
// CHECK-NEXT: %[[V:.*]] = th.view %[[T]] offset "0" sizes "2, 3" strides "1, 2"
// CHECK-NEXT: th.call "my::op"(%[[V]])
// CHECK:      th.launch @exp(%[[T]])
// CHECK:      tk.load {{.*}}[d0 + d1*2]
func.func @written_where_it_lies(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %s = tk.kernel [2, 3] ins(%x : tensor<2x3xf32>) -> (tensor<2x3xf32>) {
  ^bb0(%a: tensor<2x3xf32>, %o: tensor<2x3xf32>):
    %0 = tk.load %a[d0, d1] : tensor<2x3xf32> -> f32
    %1 = math.sin %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<2x3xf32>
  }
  tw.aten "my::op"(%s) {args = [#tw.arg<0>], mutates = array<i64: 0>, operand_strides = ["1, 2"]} : (tensor<2x3xf32>) -> ()
  %e = tk.kernel [2, 3] ins(%s : tensor<2x3xf32>) -> (tensor<2x3xf32>) {
  ^bb0(%a: tensor<2x3xf32>, %o: tensor<2x3xf32>):
    %0 = tk.load %a[d0, d1] : tensor<2x3xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<2x3xf32>
  }
  func.return %e : tensor<2x3xf32>
}

// -----

// Results that share memory, but not an argument's, are views of one copy where they are most of it.

// CHECK-LABEL: @views_of_one_copy
// CHECK:      %[[C:.*]] = th.empty sizes "s0*3" strides "1" : memref<?xf32>
// CHECK-NEXT: th.launch @copy(%x) into(%[[C]])
// CHECK-NEXT: %[[V:.*]] = th.view %[[C]] offset "3" sizes "s0 - 1, 3" strides "3, 1"
// CHECK-NEXT: %[[W:.*]] = th.view %[[C]] offset "0" sizes "s0, 3" strides "3, 1"
// CHECK-NEXT: return %[[V]], %[[W]], %x
func.func @views_of_one_copy(%s0: index {tw.symbol = "s0"}, %x: tensor<?x3xf32, #tw.shape<"s0, 3">>)
    -> (tensor<?x3xf32, #tw.shape<"s0 - 1, 3">> {tw.memory = 0 : i64},
        tensor<?x3xf32, #tw.shape<"s0, 3">> {tw.memory = 0 : i64}, tensor<?x3xf32, #tw.shape<"s0, 3">>) {
  %v = tw.slice %x starts "1, 0" steps "1, 1" : tensor<?x3xf32, #tw.shape<"s0, 3">> -> tensor<?x3xf32, #tw.shape<"s0 - 1, 3">>
  func.return %v, %x, %x : tensor<?x3xf32, #tw.shape<"s0 - 1, 3">>, tensor<?x3xf32, #tw.shape<"s0, 3">>, tensor<?x3xf32, #tw.shape<"s0, 3">>
}

// -----

// CHECK-LABEL: @views_of_one_constant
// CHECK:      %[[C:.*]] = th.empty sizes "4" strides "1"
// CHECK-NEXT: th.launch @copy(%{{.*}}) into(%[[C]])
// CHECK-NEXT: th.view %[[C]] offset "0"
// CHECK-NEXT: th.view %[[C]] offset "2"
// CHECK-NOT:  th.launch
func.func @views_of_one_constant() -> (tensor<2xf32> {tw.memory = 0 : i64}, tensor<2xf32> {tw.memory = 0 : i64}) {
  %c = tw.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %v = tw.slice %c starts "0" steps "1" : tensor<4xf32> -> tensor<2xf32>
  %w = tw.slice %c starts "2" steps "1" : tensor<4xf32> -> tensor<2xf32>
  func.return %v, %w : tensor<2xf32>, tensor<2xf32>
}

// -----

// Two of the nine elements: each result is a copy of its own.

// CHECK-LABEL: @views_of_little
// CHECK-COUNT-2: th.launch
// CHECK-NOT: th.view
func.func @views_of_little(%x: tensor<9xf32>) -> (tensor<2xf32> {tw.memory = 0 : i64}, tensor<2xf32> {tw.memory = 0 : i64}) {
  %v = tw.slice %x starts "0" steps "1" : tensor<9xf32> -> tensor<2xf32>
  %w = tw.slice %x starts "1" steps "1" : tensor<9xf32> -> tensor<2xf32>
  func.return %v, %w : tensor<2xf32>, tensor<2xf32>
}

// -----

// What lies otherwise than the argument is no view of a copy of it.

// CHECK-LABEL: @lies_otherwise
// CHECK-COUNT-2: th.launch
// CHECK-NOT: th.view
func.func @lies_otherwise(%x: tensor<2x3xf32>)
    -> (tensor<2x3xf32> {tw.memory = 0 : i64, tw.strides = "1, 2"}, tensor<3x2xf32> {tw.memory = 0 : i64}) {
  %t = tw.transpose %x by [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  func.return %x, %t : tensor<2x3xf32>, tensor<3x2xf32>
}

// -----

// A user may change one of two results that are equal.

// CHECK-LABEL: @each_owned_result_has_its_own_memory
// CHECK:      th.launch @copy(%e) into(%[[C:.*]]) :
// CHECK-NEXT: return %e, %[[C]] :
func.func @each_owned_result_has_its_own_memory(%x: tensor<2x3xf32>) -> (tensor<2x3xf32> {tw.memory = 0 : i64}, tensor<2x3xf32> {tw.memory = 1 : i64}) {
  %e = tk.kernel [2, 3] ins(%x : tensor<2x3xf32>) -> (tensor<2x3xf32>) attributes {tk.name = "exp"} {
  ^bb0(%a: tensor<2x3xf32>, %o: tensor<2x3xf32>):
    %0 = tk.load %a[d0, d1] : tensor<2x3xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<2x3xf32>
  }
  func.return %e, %e : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// A dimension that repeats one element has stride 0.

// CHECK-LABEL: @repeats_without_a_copy
// CHECK: th.view %w offset "0" sizes "3, 2, 5" strides "5, 0, 1"
func.func @repeats_without_a_copy(%x: tensor<3x4x2xf32>, %w: tensor<3x1x5xf32>) -> tensor<3x4x5xf32> {
  %b = tw.broadcast %w dims [0, 1, 2] : tensor<3x1x5xf32> -> tensor<3x2x5xf32>
  %r = tw.matmul %x, %b : (tensor<3x4x2xf32>, tensor<3x2x5xf32>) -> tensor<3x4x5xf32>
  func.return %r : tensor<3x4x5xf32>
}

// -----

// What is contiguous may have other sizes: a copy runs over those of the other one, and divides nothing.

// CHECK-LABEL: @copies_what_a_reshape_moves
// CHECK: tk.func @copy [3, 20, 2]
// CHECK-NEXT: %[[COPIED:.*]] = tk.load %from[d0*40 + d1 + d2*20]
// CHECK-NEXT: tk.store %[[COPIED]], %to[d0*40 + d1*2 + d2]
func.func @copies_what_a_reshape_moves(%x: tensor<3x2x4x5xf32>) -> tensor<3x40xf32> {
  %t = tw.transpose %x by [0, 2, 3, 1] : tensor<3x2x4x5xf32> -> tensor<3x4x5x2xf32>
  %r = tw.reshape %t : tensor<3x4x5x2xf32> -> tensor<3x40xf32>
  func.return %r : tensor<3x40xf32>
}

// -----

// The stride of what is dense is a product of sizes, though its terms do not show that it is positive.

// CHECK-LABEL: @views_an_argument_by_its_floor
// CHECK-NEXT: th.view %x offset "0" sizes "3, 1, ((s0 - 1) floordiv 2) + 1" strides "((s0 - 1) floordiv 2) + 1, ((s0 - 1) floordiv 2) + 1, 1"
func.func @views_an_argument_by_its_floor(%x: tensor<1x3x?xf16, #tw.shape<"1, 3, ((s0 - 1) floordiv 2) + 1">>) -> tensor<3x1x?xf16, #tw.shape<"3, 1, ((s0 - 1) floordiv 2) + 1">> {
  %t = tw.transpose %x by [1, 0, 2] : tensor<1x3x?xf16, #tw.shape<"1, 3, ((s0 - 1) floordiv 2) + 1">> -> tensor<3x1x?xf16, #tw.shape<"3, 1, ((s0 - 1) floordiv 2) + 1">>
  func.return %t : tensor<3x1x?xf16, #tw.shape<"3, 1, ((s0 - 1) floordiv 2) + 1">>
}

// -----

// The first result is stored before %b is read, so it may only take the place of %a.

// CHECK: tk.func @exp_mul [2, 3] {{.*}} attributes {tk.inplace = [array<i64: 0, 0>, array<i64: 0, 1>, array<i64: 1, 1>]}
func.func @stores_between_loads(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0, %1 = tk.kernel [2, 3] ins(%x, %y : tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) attributes {tk.name = "exp_mul"} {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %o: tensor<2x3xf32>, %p: tensor<2x3xf32>):
    %2 = tk.load %a[d0, d1] : tensor<2x3xf32> -> f32
    %3 = math.exp %2 : f32
    tk.store %3, %o[d0, d1] : f32, tensor<2x3xf32>
    %4 = tk.load %b[d0, d1] : tensor<2x3xf32> -> f32
    %5 = arith.mulf %3, %4 : f32
    tk.store %5, %p[d0, d1] : f32, tensor<2x3xf32>
  }
  func.return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// A store at loaded positions has a loop of its own, which reads %a again: %o may not take its place.

// CHECK: tk.func @scatters [4] ({{.*}}) {
func.func @loads_again_for_a_scatter(%x: tensor<4xf32>, %i: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0, %1 = tk.kernel [4] ins(%x, %i : tensor<4xf32>, tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>) attributes {tk.name = "scatters"} {
  ^bb0(%a: tensor<4xf32>, %at: tensor<4xi64>, %o: tensor<4xf32>, %p: tensor<4xf32>):
    %2 = tk.load %a[d0] : tensor<4xf32> -> f32
    %3 = arith.negf %2 : f32
    tk.store %3, %o[d0] : f32, tensor<4xf32>
    %4 = tk.load %at[d0] : tensor<4xi64> -> i64
    %5 = arith.index_cast %4 : i64 to index
    %6 = arith.constant 0.0 : f32
    tk.store %6, %p[d0] : f32, tensor<4xf32>
    tk.store %3, %p[i0](%5) combine add : f32, tensor<4xf32>
  }
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Kernels take no name that a function has.

// CHECK-LABEL: func.func @neg
// CHECK: th.launch @neg_1
// CHECK: tk.func @neg_1
func.func @neg(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = tk.kernel [4] ins(%x : tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>, %o: tensor<4xf32>):
    %0 = tk.load %a[d0] : tensor<4xf32> -> f32
    %1 = arith.negf %0 : f32
    tk.store %1, %o[d0] : f32, tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// -----

// A reshape of a transpose is no view of what is row-major; the kernel stores where the result has each element.

// CHECK-LABEL: @stores_in_the_order_of_a_reshaped_result
// CHECK-NEXT: %[[E:.*]] = th.empty sizes "3, 4" strides "1, 3" : memref<12xf32>
// CHECK-NEXT: th.launch @exp(%x) into(%[[E]])
// CHECK-NEXT: %[[R:.*]] = th.view %[[E]] offset "0" sizes "12" strides "1"
// CHECK-NEXT: return %[[R]]
// CHECK: tk.func @exp [3, 4]
// CHECK: tk.load {{.*}}[d0*4 + d1]
// CHECK: tk.store {{.*}}[d0 + d1*3]
func.func @stores_in_the_order_of_a_reshaped_result(%x: tensor<3x4xf32>) -> tensor<12xf32> {
  %e = tk.kernel [3, 4] ins(%x : tensor<3x4xf32>) -> (tensor<3x4xf32>) {
  ^bb0(%a: tensor<3x4xf32>, %o: tensor<3x4xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x4xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<3x4xf32>
  }
  %t = tw.transpose %e by [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %r = tw.reshape %t : tensor<4x3xf32> -> tensor<12xf32>
  func.return %r : tensor<12xf32>
}

// -----

// One memory has one order: who is returned first decides, the other result is a copy.

// CHECK-LABEL: @one_of_two_orders_is_copied
// CHECK-NEXT: %[[R:.*]] = th.empty sizes "3, 4" strides "4, 1" : memref<12xf32>
// CHECK-NEXT: th.launch @exp(%x) into(%[[R]])
// CHECK-NEXT: %[[S:.*]] = th.empty sizes "12" strides "1" : memref<12xf32>
// CHECK-NEXT: th.launch @copy(%[[R]]) into(%[[S]])
// CHECK-NEXT: return %[[R]], %[[S]]
func.func @one_of_two_orders_is_copied(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<12xf32>) {
  %e = tk.kernel [3, 4] ins(%x : tensor<3x4xf32>) -> (tensor<3x4xf32>) {
  ^bb0(%a: tensor<3x4xf32>, %o: tensor<3x4xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x4xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<3x4xf32>
  }
  %t = tw.transpose %e by [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %r = tw.reshape %t : tensor<4x3xf32> -> tensor<12xf32>
  func.return %e, %r : tensor<3x4xf32>, tensor<12xf32>
}

// -----

// The same, named the other way round.

// CHECK-LABEL: @the_other_of_two_orders_is_copied
// CHECK-NEXT: %[[R:.*]] = th.empty sizes "3, 4" strides "1, 3" : memref<12xf32>
// CHECK-NEXT: th.launch @exp(%x) into(%[[R]])
// CHECK-NEXT: th.view %[[R]] offset "0" sizes "12" strides "1"
// CHECK-NEXT: %[[S:.*]] = th.empty sizes "3, 4" strides "4, 1" : memref<12xf32>
// CHECK-NEXT: th.launch @copy(%[[R]]) into(%[[S]])
func.func @the_other_of_two_orders_is_copied(%x: tensor<3x4xf32>) -> (tensor<12xf32>, tensor<3x4xf32>) {
  %e = tk.kernel [3, 4] ins(%x : tensor<3x4xf32>) -> (tensor<3x4xf32>) {
  ^bb0(%a: tensor<3x4xf32>, %o: tensor<3x4xf32>):
    %0 = tk.load %a[d0, d1] : tensor<3x4xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<3x4xf32>
  }
  %t = tw.transpose %e by [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %r = tw.reshape %t : tensor<4x3xf32> -> tensor<12xf32>
  func.return %r, %e : tensor<12xf32>, tensor<3x4xf32>
}

// -----

// CHECK-LABEL: @widened_integers
// CHECK: th.extern "aten::_int_mm.out"(%{{.*}}, %{{.*}}) into
func.func @widened_integers(%x: tensor<3x4xi8>, %y: tensor<4x5xi8>) -> tensor<3x5xi32> {
  %r = tw.matmul %x, %y : (tensor<3x4xi8>, tensor<4x5xi8>) -> tensor<3x5xi32>
  func.return %r : tensor<3x5xi32>
}

// -----

// Threads of a GPU that hold the same index may check it when another one has stored.

// CHECK: tk.func @next_checked [4] {{.*}} attributes {tk.inplace = [array<i64: 1, 0>]}
func.func @checks_what_it_reads(%x: tensor<4xi64>, %y: tensor<4xi64>) -> tensor<4xi64> {
  %0 = tk.kernel [4] ins(%x, %y : tensor<4xi64>, tensor<4xi64>) -> (tensor<4xi64>) attributes {tk.name = "next_checked"} {
  ^bb0(%a: tensor<4xi64>, %b: tensor<4xi64>, %o: tensor<4xi64>):
    %1 = tk.load %a[d0] : tensor<4xi64> -> i64
    %2 = tk.load %b[d0] : tensor<4xi64> -> i64
    %3 = arith.constant 4 : i64
    %4 = arith.cmpi ult, %1, %3 : i64
    tk.assert %4 "index out of range" : i1
    %5 = arith.addi %1, %2 : i64
    tk.store %5, %o[d0] : i64, tensor<4xi64>
  }
  func.return %0 : tensor<4xi64>
}
