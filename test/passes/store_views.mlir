// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,dce,store-views --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,dce,store-views,bufferize --split-input-file | filecheck %s --check-prefix=PLAN
// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,dce,store-views --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,dce,store-views --split-input-file --verify-locations

// Halves of rows, each contiguous where it is returned; a reader of the whole finds it there.

// CHECK-LABEL: @halves
// CHECK:      %r = tk.kernel [8, 2, 3] ins(%x : tensor<8x6xf32>) -> (tensor<2x8x3xf32>)
// CHECK:      tk.load %{{.*}}[d0, d1*3 + d2] : tensor<8x6xf32>
// CHECK:      tk.store %{{.*}}, %{{.*}}[d1, d0, d2] : f32, tensor<2x8x3xf32>
// CHECK:      %a = tw.slice %r
// CHECK-NEXT: %b = tw.slice %r
// CHECK-NEXT: %n = tk.kernel [8, 2, 3] ins(%r : tensor<2x8x3xf32>)
// CHECK:      tk.load %{{.*}}[d1, d0, d2] : tensor<2x8x3xf32>
// CHECK:      tk.store %{{.*}}, %{{.*}}[d0, d1*3 + d2] : f32, tensor<8x6xf32>
// CHECK:      func.return %a, %b, %n
// PLAN-LABEL: @halves
// PLAN:       %[[R:.*]] = th.empty sizes "2, 8, 3" strides "24, 3, 1"
// PLAN:       th.view %[[R]] offset "0" sizes "1, 8, 3" strides "24, 3, 1"
// PLAN:       th.view %[[R]] offset "24" sizes "1, 8, 3" strides "24, 3, 1"
// PLAN-NOT:   @copy
func.func @halves(%x: tensor<8x6xf32>) -> (tensor<1x8x3xf32>, tensor<1x8x3xf32>, tensor<8x6xf32>) {
  %r = tw.exp %x : tensor<8x6xf32>
  %s = tw.reshape %r : tensor<8x6xf32> -> tensor<8x2x3xf32>
  %t = tw.transpose %s by [1, 0, 2] : tensor<8x2x3xf32> -> tensor<2x8x3xf32>
  %a = tw.slice %t starts "0, 0, 0" steps "1, 1, 1" : tensor<2x8x3xf32> -> tensor<1x8x3xf32>
  %b = tw.slice %t starts "1, 0, 0" steps "1, 1, 1" : tensor<2x8x3xf32> -> tensor<1x8x3xf32>
  %n = tw.neg %r : tensor<8x6xf32>
  func.return %a, %b, %n : tensor<1x8x3xf32>, tensor<1x8x3xf32>, tensor<8x6xf32>
}

// -----

// Views after the parts count; sizes may be symbols; a kernel may read a part.

// CHECK-LABEL: @symbols
// CHECK:      tk.kernel [s0, 2, 3] ins(%x : {{.*}}) -> (tensor<2x?x3xf32, #tw.shape<"2, s0, 3">>)
// CHECK:      tk.kernel [s0, 3] ins(%r : {{.*}})
// CHECK:      tk.load %{{.*}}[1, d0, d1]
// PLAN-LABEL: @symbols
// PLAN-NOT:   @copy
// PLAN:       func.return
func.func @symbols(%s0: index {tw.symbol = "s0"}, %x: tensor<?x6xf32, #tw.shape<"s0, 6">>) -> (tensor<?xf32, #tw.shape<"s0*3">>, tensor<?x3xf32, #tw.shape<"s0, 3">>, tensor<?x3xf32, #tw.shape<"s0, 3">>) {
  %r = tw.exp %x : tensor<?x6xf32, #tw.shape<"s0, 6">>
  %s = tw.reshape %r : tensor<?x6xf32, #tw.shape<"s0, 6">> -> tensor<?x2x3xf32, #tw.shape<"s0, 2, 3">>
  %t = tw.transpose %s by [1, 0, 2] : tensor<?x2x3xf32, #tw.shape<"s0, 2, 3">> -> tensor<2x?x3xf32, #tw.shape<"2, s0, 3">>
  %a = tw.slice %t starts "0, 0, 0" steps "1, 1, 1" : tensor<2x?x3xf32, #tw.shape<"2, s0, 3">> -> tensor<1x?x3xf32, #tw.shape<"1, s0, 3">>
  %f = tw.reshape %a : tensor<1x?x3xf32, #tw.shape<"1, s0, 3">> -> tensor<?xf32, #tw.shape<"s0*3">>
  %b = tw.slice %t starts "1, 0, 0" steps "1, 1, 1" : tensor<2x?x3xf32, #tw.shape<"2, s0, 3">> -> tensor<1x?x3xf32, #tw.shape<"1, s0, 3">>
  %g = tw.reshape %b : tensor<1x?x3xf32, #tw.shape<"1, s0, 3">> -> tensor<?x3xf32, #tw.shape<"s0, 3">>
  %n = tw.neg %g : tensor<?x3xf32, #tw.shape<"s0, 3">>
  func.return %f, %g, %n : tensor<?xf32, #tw.shape<"s0*3">>, tensor<?x3xf32, #tw.shape<"s0, 3">>, tensor<?x3xf32, #tw.shape<"s0, 3">>
}

// -----

// Parts of rows that have the strides of rows are views as it is.

// CHECK-LABEL: @strided
// CHECK:      tk.kernel [8, 6]
// CHECK:      tw.reshape
func.func @strided(%x: tensor<8x6xf32>) -> (tensor<8x1x3xf32> {tw.strides = "6, 3, 1"}) {
  %r = tw.exp %x : tensor<8x6xf32>
  %s = tw.reshape %r : tensor<8x6xf32> -> tensor<8x2x3xf32>
  %a = tw.slice %s starts "0, 0, 0" steps "1, 1, 1" : tensor<8x2x3xf32> -> tensor<8x1x3xf32>
  func.return %a : tensor<8x1x3xf32>
}

// -----

// CHECK-LABEL: @no_shape
// CHECK:      tk.kernel [8, 6]
// CHECK:      tw.slice %r
// REMARK:     tk.kernel {{.*}}: parts are copied to be returned: no one shape suits them
func.func @no_shape(%x: tensor<8x6xf32>) -> (tensor<8x3xf32>, tensor<8x3xf32>) {
  %r = tw.exp %x : tensor<8x6xf32>
  %a = tw.slice %r starts "0, 0" steps "1, 1" : tensor<8x6xf32> -> tensor<8x3xf32>
  %b = tw.slice %r starts "0, 2" steps "1, 1" : tensor<8x6xf32> -> tensor<8x3xf32>
  func.return %a, %b : tensor<8x3xf32>, tensor<8x3xf32>
}

// -----

// CHECK-LABEL: @read_by_a_library
// CHECK:      %r = tk.kernel [8, 6]
// CHECK:      tw.matmul %r, %y
// REMARK:     tk.kernel {{.*}}: parts are copied to be returned: other ops read the result as it is
func.func @read_by_a_library(%x: tensor<8x6xf32>, %y: tensor<6x5xf32>) -> (tensor<1x8x3xf32>, tensor<1x8x3xf32>, tensor<8x5xf32>) {
  %r = tw.exp %x : tensor<8x6xf32>
  %s = tw.reshape %r : tensor<8x6xf32> -> tensor<8x2x3xf32>
  %t = tw.transpose %s by [1, 0, 2] : tensor<8x2x3xf32> -> tensor<2x8x3xf32>
  %a = tw.slice %t starts "0, 0, 0" steps "1, 1, 1" : tensor<2x8x3xf32> -> tensor<1x8x3xf32>
  %b = tw.slice %t starts "1, 0, 0" steps "1, 1, 1" : tensor<2x8x3xf32> -> tensor<1x8x3xf32>
  %m = tw.matmul %r, %y : (tensor<8x6xf32>, tensor<6x5xf32>) -> tensor<8x5xf32>
  func.return %a, %b, %m : tensor<1x8x3xf32>, tensor<1x8x3xf32>, tensor<8x5xf32>
}

// -----

// An axis along which sums run on stays one.

// CHECK-LABEL: @scanned
// CHECK:      tk.kernel [8, 6]
// CHECK:      tw.transpose
// REMARK:     tk.kernel {{.*}}: parts are copied to be returned: its kernel cannot store them so
func.func @scanned(%x: tensor<8x6xf32>) -> tensor<1x8x3xf32> {
  %r = tw.cumsum %x dim 1 : tensor<8x6xf32>
  %s = tw.reshape %r : tensor<8x6xf32> -> tensor<8x2x3xf32>
  %t = tw.transpose %s by [1, 0, 2] : tensor<8x2x3xf32> -> tensor<2x8x3xf32>
  %a = tw.slice %t starts "0, 0, 0" steps "1, 1, 1" : tensor<2x8x3xf32> -> tensor<1x8x3xf32>
  func.return %a : tensor<1x8x3xf32>
}

// -----

// A whole whose strides are none of rows: the gradient of a weight of 4 x 6 x 2 patches, channels last.

// CHECK-LABEL: @whole
// CHECK:      %r = tk.kernel [4, 6, 2] ins(%x : tensor<4x12xf32>) -> (tensor<4x6x2xf32>)
// CHECK:      tk.load %{{.*}}[d0, d1*2 + d2] : tensor<4x12xf32>
// CHECK:      tk.store %{{.*}}, %{{.*}}[d0, d1, d2] : f32, tensor<4x6x2xf32>
// CHECK-NOT:  tw.reshape
// CHECK:      func.return %r : tensor<4x6x2xf32>
// PLAN-LABEL: @whole
// PLAN:       th.empty sizes "4, 6, 2" strides "12, 1, 6"
// PLAN-NOT:   @copy
func.func @whole(%x: tensor<4x12xf32>) -> (tensor<4x6x2xf32> {tw.strides = "12, 1, 6"}) {
  %r = tw.exp %x : tensor<4x12xf32>
  %s = tw.reshape %r : tensor<4x12xf32> -> tensor<4x6x2xf32>
  func.return %s : tensor<4x6x2xf32>
}

// -----

// What lies beside a patch comes between its rows; only the first reshape is stored.

// CHECK-LABEL: @patches
// CHECK:      %r = tk.kernel [3, 2, 5] ins(%x : tensor<6x5xf32>) -> (tensor<3x2x5xf32>)
// CHECK:      %t = tw.transpose %r by [0, 2, 1]
// CHECK-NEXT: %f = tw.reshape %t : tensor<3x5x2xf32> -> tensor<3x10xf32>
// PLAN-LABEL: @patches
// PLAN:       th.empty sizes "3, 2, 5" strides "10, 1, 2"
// PLAN-NOT:   @copy
func.func @patches(%x: tensor<6x5xf32>) -> tensor<3x10xf32> {
  %r = tw.exp %x : tensor<6x5xf32>
  %s = tw.reshape %r : tensor<6x5xf32> -> tensor<3x2x5xf32>
  %t = tw.transpose %s by [0, 2, 1] : tensor<3x2x5xf32> -> tensor<3x5x2xf32>
  %f = tw.reshape %t : tensor<3x5x2xf32> -> tensor<3x10xf32>
  func.return %f : tensor<3x10xf32>
}

// -----

// A whole whose strides the kernel can store without another shape stays.

// CHECK-LABEL: @turned
// CHECK:      tk.kernel [4, 6]
// CHECK:      tw.transpose %r
// PLAN-LABEL: @turned
// PLAN:       th.empty sizes "4, 6" strides "1, 4"
// PLAN-NOT:   @copy
func.func @turned(%x: tensor<4x6xf32>) -> tensor<6x4xf32> {
  %r = tw.exp %x : tensor<4x6xf32>
  %t = tw.transpose %r by [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  func.return %t : tensor<6x4xf32>
}

// -----

// CHECK-LABEL: @whole_read_by_a_library
// PLAN-LABEL: @whole_read_by_a_library
// CHECK:      %r = tk.kernel [4, 12]
// CHECK:      tw.matmul %r, %y
// REMARK:     tk.kernel {{.*}}: it is copied to be returned: other ops read the result as it is
func.func @whole_read_by_a_library(%x: tensor<4x12xf32>, %y: tensor<12x5xf32>) -> (tensor<4x6x2xf32> {tw.strides = "12, 1, 6"}, tensor<4x5xf32>) {
  %r = tw.exp %x : tensor<4x12xf32>
  %s = tw.reshape %r : tensor<4x12xf32> -> tensor<4x6x2xf32>
  %m = tw.matmul %r, %y : (tensor<4x12xf32>, tensor<12x5xf32>) -> tensor<4x5xf32>
  func.return %s, %m : tensor<4x6x2xf32>, tensor<4x5xf32>
}

// -----

// CHECK-LABEL: @whole_scanned
// CHECK:      tk.kernel [4, 12]
// CHECK:      tw.reshape
// REMARK:     tk.kernel {{.*}}: it is copied to be returned: its kernel cannot store it so
func.func @whole_scanned(%x: tensor<4x12xf32>) -> (tensor<4x6x2xf32> {tw.strides = "12, 1, 6"}) {
  %r = tw.cumsum %x dim 1 : tensor<4x12xf32>
  %s = tw.reshape %r : tensor<4x12xf32> -> tensor<4x6x2xf32>
  func.return %s : tensor<4x6x2xf32>
}

// -----

// Two results of other shapes have one place: the second is copied.

// CHECK-LABEL: @two_wholes
// CHECK:      tk.kernel [4, 12]
// CHECK-NEXT: ^bb0
func.func @two_wholes(%x: tensor<4x12xf32>) -> (tensor<4x6x2xf32> {tw.strides = "12, 1, 6"}, tensor<4x12xf32>) {
  %r = tw.exp %x : tensor<4x12xf32>
  %s = tw.reshape %r : tensor<4x12xf32> -> tensor<4x6x2xf32>
  func.return %s, %r : tensor<4x6x2xf32>, tensor<4x12xf32>
}

// -----

// What is returned from its end is stored from its end.

// CHECK-LABEL: @from_the_end
// CHECK:      %[[R:.*]] = tk.kernel [8, 6] ins(%x : tensor<8x6xf32>) -> (tensor<8x6xf32>)
// CHECK:      tk.scan add
// CHECK-NEXT: tk.store %{{.*}}, %{{.*}}[d0, -d1 + 5]
// CHECK:      func.return %[[R]]
func.func @from_the_end(%x: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %s = tw.cumsum %x dim 1 : tensor<8x6xf32>
  %r = tw.reverse %s dims [1] : tensor<8x6xf32> -> tensor<8x6xf32>
  func.return %r : tensor<8x6xf32>
}

// -----

// Not where it is returned as it is, too.

// REMARK: tk.kernel at {{.*}}: it is copied to be returned: other ops read the result as it is
// CHECK-LABEL: @from_both_ends
// CHECK:      tk.store %{{.*}}, %{{.*}}[d0, d1]
// CHECK:      tw.reverse
func.func @from_both_ends(%x: tensor<8x6xf32>, %w: tensor<6x2xf32>) -> (tensor<8x6xf32>, tensor<8x2xf32>) {
  %s = tw.cumsum %x dim 1 : tensor<8x6xf32>
  %r = tw.reverse %s dims [1] : tensor<8x6xf32> -> tensor<8x6xf32>
  %m = tw.matmul %s, %w : (tensor<8x6xf32>, tensor<6x2xf32>) -> tensor<8x2xf32>
  func.return %r, %m : tensor<8x6xf32>, tensor<8x2xf32>
}
