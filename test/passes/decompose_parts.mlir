// RUN: tilewright-opt %s -p 'decompose{sorts=8}' --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p 'decompose{sorts=8}' --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// CHECK-LABEL: @first_of_parts
// CHECK-NEXT: %[[P:.*]] = tw.reshape %x : tensor<2x24xf32> -> tensor<2x3x8xf32> loc("m.py":4:0)
// CHECK-NEXT: %[[V:.*]], %[[I:.*]] = tw.sort %[[P]] dim 2 descending : tensor<2x3x8xf32> -> tensor<2x3x2xf32>, tensor<2x3x2xi64> loc("m.py":4:0)
// CHECK-NEXT: %[[F:.*]] = tw.reshape %[[V]] : tensor<2x3x2xf32> -> tensor<2x6xf32>
// CHECK-NEXT: %[[B:.*]] = tw.reshape %[[I]] : tensor<2x3x2xi64> -> tensor<2x6xi64>
// CHECK-NEXT: %[[W:.*]], %[[J:.*]] = tw.sort %[[F]] dim 1 descending : tensor<2x6xf32> -> tensor<2x2xf32>, tensor<2x2xi64>
// CHECK-NEXT: %[[K:.*]] = tw.full 2 : i64
// CHECK-NEXT: %[[P:.*]] = tw.floor_div %[[J]], %[[K]]
// CHECK-NEXT: %[[L:.*]] = tw.full 8 : i64
// CHECK-NEXT: %[[S:.*]] = tw.mul %[[P]], %[[L]]
// CHECK-NEXT: %[[G:.*]] = tw.gather_along %[[B]], %[[J]] dim 1
// CHECK-NEXT: %[[R:.*]] = tw.add %[[S]], %[[G]]
// CHECK-NEXT: func.return %[[W]], %[[R]]
func.func @first_of_parts(%x: tensor<2x24xf32>) -> (tensor<2x2xf32>, tensor<2x2xi64>) {
  %v, %i = tw.sort %x dim 1 descending : tensor<2x24xf32> -> tensor<2x2xf32>, tensor<2x2xi64> loc("m.py":4:0)
  func.return %v, %i : tensor<2x2xf32>, tensor<2x2xi64>
}

// What pads the last part comes last: of numbers that rise, no number.
// CHECK-LABEL: @pads_the_last_part
// CHECK-NEXT: %[[X:.*]] = tw.pad %x low "0, 0" high "1, 0" value 0x7fc00000 : f32 : tensor<17x3xf32> -> tensor<18x3xf32>
// CHECK-NEXT: tw.reshape %[[X]] : tensor<18x3xf32> -> tensor<3x6x3xf32>
// CHECK-NEXT: tw.sort {{.*}} dim 1 : tensor<3x6x3xf32> -> tensor<3x1x3xf32>
// CHECK: tw.sort {{.*}} dim 0 : tensor<3x3xf32> -> tensor<1x3xf32>
// CHECK: tw.pad %y low "0" high "1" value -32768 : i16
// CHECK: tw.pad %z low "0" high "1" value 255 : ui8
// CHECK: tw.pad %b low "0" high "1" value true
func.func @pads_the_last_part(%x: tensor<17x3xf32>, %y: tensor<9xi16>, %z: tensor<9xui8>, %b: tensor<9xi1>) -> (tensor<1x3xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) {
  %v0, %i0 = tw.sort %x dim 0 : tensor<17x3xf32> -> tensor<1x3xf32>, tensor<1x3xi64>
  %v1, %i1 = tw.sort %y dim 0 descending : tensor<9xi16> -> tensor<1xi16>, tensor<1xi64>
  %v2, %i2 = tw.sort %z dim 0 : tensor<9xui8> -> tensor<1xui8>, tensor<1xi64>
  %v3, %i3 = tw.sort %b dim 0 : tensor<9xi1> -> tensor<1xi1>, tensor<1xi64>
  func.return %i0, %i1, %i2, %i3 : tensor<1x3xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>
}

// Of ten parts of eight twenty are left, of these three parts six.
// CHECK-LABEL: @first_of_parts_of_what_is_first
// CHECK: tw.sort {{.*}} : tensor<10x8xi32> -> tensor<10x2xi32>
// CHECK: tw.sort {{.*}} : tensor<3x7xi32> -> tensor<3x2xi32>
// CHECK: tw.sort {{.*}} : tensor<6xi32> -> tensor<2xi32>
// CHECK-NOT: tw.sort
func.func @first_of_parts_of_what_is_first(%x: tensor<80xi32>) -> (tensor<2xi32>, tensor<2xi64>) {
  %v, %i = tw.sort %x dim 0 : tensor<80xi32> -> tensor<2xi32>, tensor<2xi64>
  func.return %v, %i : tensor<2xi32>, tensor<2xi64>
}

// CHECK-LABEL: @leaves_short_rows_and_many_elements
// CHECK-NEXT: tw.sort %x dim 0 : tensor<8xf32>
// CHECK-NEXT: tw.aten "aten::sort.stable"(%y)
// REMARK: tw.sort at {{.*}}: sorted by ATen: rows of 16 elements are more than a kernel takes
func.func @leaves_short_rows_and_many_elements(%x: tensor<8xf32>, %y: tensor<16xf32>) -> (tensor<2xi64>, tensor<3xi64>) {
  %v, %i = tw.sort %x dim 0 : tensor<8xf32> -> tensor<2xf32>, tensor<2xi64>
  %w, %j = tw.sort %y dim 0 : tensor<16xf32> -> tensor<3xf32>, tensor<3xi64>
  func.return %i, %j : tensor<2xi64>, tensor<3xi64>
}
