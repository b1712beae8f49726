// RUN: tilewright-opt %s -p slice-early --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p slice-early --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Half of a shuffle's channels.
// CHECK-LABEL: @second_half
func.func @second_half(%x: tensor<2x3x2x5xf32>) -> tensor<2x3x5xf32> {
  // CHECK-NEXT: %[[T:.*]] = tw.transpose %x by [0, 2, 1, 3]
  // CHECK:      %[[P:.*]] = tw.slice %[[T]] starts "0, 1, 0, 0" steps "1, 1, 1, 1" : tensor<2x2x3x5xf32> -> tensor<2x1x3x5xf32> loc("m.py":7:0)
  // CHECK-NEXT: %[[R:.*]] = tw.reshape %[[P]] : tensor<2x1x3x5xf32> -> tensor<2x3x5xf32> loc("m.py":7:0)
  // CHECK-NEXT: return %[[R]]
  %t = tw.transpose %x by [0, 2, 1, 3] : tensor<2x3x2x5xf32> -> tensor<2x2x3x5xf32>
  %r = tw.reshape %t : tensor<2x2x3x5xf32> -> tensor<2x6x5xf32>
  %s = tw.slice %r starts "0, 3, 0" steps "1, 1, 1" : tensor<2x6x5xf32> -> tensor<2x3x5xf32> loc("m.py":7:0)
  func.return %s : tensor<2x3x5xf32>
}

// -----

// Two of four, of three dimensions; another dimension is split.
// CHECK-LABEL: @middle_of_three
func.func @middle_of_three(%x: tensor<6x3x4x2xf32>) -> tensor<2x3x12xf32> {
  // CHECK:      tw.slice %{{.*}} starts "0, 1, 0, 0" steps "1, 1, 1, 1" : tensor<6x4x3x2xf32> -> tensor<6x2x3x2xf32>
  // CHECK-NEXT: tw.reshape %{{.*}} : tensor<6x2x3x2xf32> -> tensor<2x3x12xf32>
  %t = tw.transpose %x by [0, 2, 1, 3] : tensor<6x3x4x2xf32> -> tensor<6x4x3x2xf32>
  %r = tw.reshape %t : tensor<6x4x3x2xf32> -> tensor<2x3x24xf32>
  %s = tw.slice %r starts "0, 0, 6" steps "1, 1, 1" : tensor<2x3x24xf32> -> tensor<2x3x12xf32>
  func.return %s : tensor<2x3x12xf32>
}

// -----

// CHECK-LABEL: @symbols_elsewhere
func.func @symbols_elsewhere(%x: tensor<?x3x2xf32, #tw.shape<"s0, 3, 2">>) -> tensor<?x3xf32, #tw.shape<"s0, 3">> {
  // CHECK:      tw.slice %{{.*}} starts "0, 1, 0" steps "1, 1, 1" : tensor<?x2x3xf32, #tw.shape<"s0, 2, 3">> -> tensor<?x1x3xf32, #tw.shape<"s0, 1, 3">>
  %t = tw.transpose %x by [0, 2, 1] : tensor<?x3x2xf32, #tw.shape<"s0, 3, 2">> -> tensor<?x2x3xf32, #tw.shape<"s0, 2, 3">>
  %r = tw.reshape %t : tensor<?x2x3xf32, #tw.shape<"s0, 2, 3">> -> tensor<?x6xf32, #tw.shape<"s0, 6">>
  %s = tw.slice %r starts "0, 3" steps "1, 1" : tensor<?x6xf32, #tw.shape<"s0, 6">> -> tensor<?x3xf32, #tw.shape<"s0, 3">>
  func.return %s : tensor<?x3xf32, #tw.shape<"s0, 3">>
}

// -----

// What is merged begins with a dimension of one, and is no row-major argument's, but a part of one.
// CHECK-LABEL: @part_of_rows
func.func @part_of_rows(%x: tensor<1x2x4xf32>) -> tensor<3xf32> {
  // CHECK-NEXT: %[[A:.*]] = tw.slice %x
  // CHECK-NEXT: %[[P:.*]] = tw.slice %[[A]] starts "0, 1, 0" steps "1, 1, 1" : tensor<1x2x3xf32> -> tensor<1x1x3xf32>
  // CHECK-NEXT: tw.reshape %[[P]] : tensor<1x1x3xf32> -> tensor<3xf32>
  %a = tw.slice %x starts "0, 0, 1" steps "1, 1, 1" : tensor<1x2x4xf32> -> tensor<1x2x3xf32>
  %r = tw.reshape %a : tensor<1x2x3xf32> -> tensor<6xf32>
  %s = tw.slice %r starts "3" steps "1" : tensor<6xf32> -> tensor<3xf32>
  func.return %s : tensor<3xf32>
}

// -----

// CHECK-LABEL: @parts_of_an_index
// REMARK: tw.slice at {{.*}}: it takes no whole indices of the first dimension that is merged
func.func @parts_of_an_index(%x: tensor<3x2xf32>) -> (tensor<2xf32>, tensor<3xf32>) {
  // CHECK-COUNT-2: tw.slice %{{.*}} : tensor<6xf32>
  %t = tw.transpose %x by [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  %r = tw.reshape %t : tensor<2x3xf32> -> tensor<6xf32>
  %s = tw.slice %r starts "3" steps "1" : tensor<6xf32> -> tensor<2xf32>
  %u = tw.transpose %x by [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  %v = tw.reshape %u : tensor<2x3xf32> -> tensor<6xf32>
  %w = tw.slice %v starts "1" steps "1" : tensor<6xf32> -> tensor<3xf32>
  func.return %s, %w : tensor<2xf32>, tensor<3xf32>
}

// -----

// CHECK-LABEL: @every_other
// REMARK: tw.slice at {{.*}}: it takes parts of several dimensions, or not all in between
func.func @every_other(%x: tensor<3x2xf32>) -> tensor<3xf32> {
  // CHECK: tw.slice %{{.*}} starts "0" steps "2" : tensor<6xf32>
  %t = tw.transpose %x by [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  %r = tw.reshape %t : tensor<2x3xf32> -> tensor<6xf32>
  %s = tw.slice %r starts "0" steps "2" : tensor<6xf32> -> tensor<3xf32>
  func.return %s : tensor<3xf32>
}

// -----

// Slices of what a reshape does not copy, or copies for others too, stay.
// CHECK-LABEL: @others
// REMARK: tw.slice at {{.*}}: its source is copied for others, too
func.func @others(%x: tensor<3x2xf32>, %y: tensor<2x3xf32>) -> (tensor<3xf32>, tensor<6xf32>, tensor<3xf32>) {
  // CHECK-COUNT-2: tw.slice %{{.*}} starts "3" steps "1" : tensor<6xf32>
  %t = tw.transpose %x by [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  %r = tw.reshape %t : tensor<2x3xf32> -> tensor<6xf32>
  %s = tw.slice %r starts "3" steps "1" : tensor<6xf32> -> tensor<3xf32>
  %u = tw.reshape %y : tensor<2x3xf32> -> tensor<6xf32>
  %v = tw.slice %u starts "3" steps "1" : tensor<6xf32> -> tensor<3xf32>
  func.return %s, %r, %v : tensor<3xf32>, tensor<6xf32>, tensor<3xf32>
}
