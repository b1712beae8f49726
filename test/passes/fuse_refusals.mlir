// RUN: tilewright-opt %s -p fuse,dce --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p fuse --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// A check would fail for what the mask leaves out.
// CHECK-LABEL: @checks_read_under_a_mask
// CHECK-COUNT-2: = tk.kernel
// REMARK: it checks indices and is read under a mask; it is read under a mask or at gathered positions
func.func @checks_read_under_a_mask(%x: tensor<4xi64>) -> tensor<6xi64> {
  %p = tk.kernel [4] ins(%x : tensor<4xi64>) -> (tensor<4xi64>) {
  ^bb0(%a: tensor<4xi64>, %o: tensor<4xi64>):
    %end = arith.constant 9 : i64
    %0 = tk.load %a[d0] : tensor<4xi64> -> i64
    %1 = arith.cmpi slt, %0, %end : i64
    tk.assert %1 "index out of range" : i1
    tk.store %0, %o[d0] : i64, tensor<4xi64>
  }
  %r = tk.kernel [6] ins(%p : tensor<4xi64>) -> (tensor<6xi64>) {
  ^bb0(%a: tensor<4xi64>, %o: tensor<6xi64>):
    %zero = arith.constant 0 : i64
    %end = arith.constant 4 : i64
    %0 = tk.index "d0" : i64
    %1 = arith.cmpi slt, %0, %end : i64
    %2 = tk.load %a[d0] if %1 else %zero : tensor<4xi64> -> i64
    tk.store %2, %o[d0] : i64, tensor<6xi64>
  }
  func.return %r : tensor<6xi64>
}

// -----

// CHECK-LABEL: @written_in_two_parts
// CHECK-COUNT-2: = tk.kernel
// REMARK: it is not written by one plain store; the producer writes in several parts
func.func @written_in_two_parts(%x: tensor<4xf32>) -> tensor<8xf32> {
  %p = tk.kernel [4] ins(%x : tensor<4xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<4xf32>, %o: tensor<8xf32>):
    %0 = tk.load %a[d0] : tensor<4xf32> -> f32
    %1 = arith.negf %0 : f32
    tk.store %0, %o[d0] : f32, tensor<8xf32>
    tk.store %1, %o[d0 + 4] : f32, tensor<8xf32>
  }
  %r = tk.kernel [8] ins(%p : tensor<8xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>, %o: tensor<8xf32>):
    %0 = tk.load %a[d0] : tensor<8xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0] : f32, tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}

// -----

// Every second place: where an element comes from is not solved.
// CHECK-LABEL: @written_with_gaps
// CHECK-COUNT-2: = tk.kernel
// REMARK: its store cannot be inverted; the producer's store cannot be inverted
func.func @written_with_gaps(%x: tensor<8xf32>) -> tensor<8xf32> {
  %p = tk.kernel [4] ins(%x : tensor<8xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>, %o: tensor<8xf32>):
    %0 = tk.load %a[d0] : tensor<8xf32> -> f32
    tk.store %0, %o[2*d0] : f32, tensor<8xf32>
  }
  %r = tk.kernel [8] ins(%p : tensor<8xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>, %o: tensor<8xf32>):
    %0 = tk.load %a[d0] : tensor<8xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0] : f32, tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}

// -----

// A sum up to each element is not known before the elements are walked over.
// CHECK-LABEL: @running_sums
// CHECK-COUNT-2: = tk.kernel
// REMARK: it is a reduction; a scan stays alone
func.func @running_sums(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %p = tk.kernel [4, 8] ins(%x : tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  ^bb0(%a: tensor<4x8xf32>, %o: tensor<4x8xf32>):
    %0 = tk.load %a[d0, d1] : tensor<4x8xf32> -> f32
    %1 = tk.scan add %0 along 1 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<4x8xf32>
  }
  %r = tk.kernel [4, 8] ins(%p : tensor<4x8xf32>) -> (tensor<4xf32>) {
  ^bb0(%a: tensor<4x8xf32>, %o: tensor<4xf32>):
    %0 = tk.load %a[d0, d1] : tensor<4x8xf32> -> f32
    %1 = tk.reduce max %0 over [1] : f32
    tk.store %1, %o[d0] : f32, tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// -----

// CHECK-LABEL: @sums_read_at_every_second_row
// CHECK-COUNT-2: = tk.kernel
// REMARK: it is a reduction; it is read with a stride or an offset
func.func @sums_read_at_every_second_row(%x: tensor<8x5xf32>) -> tensor<4xf32> {
  %p = tk.kernel [8, 5] ins(%x : tensor<8x5xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<8x5xf32>, %o: tensor<8xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x5xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    tk.store %1, %o[d0] : f32, tensor<8xf32>
  }
  %r = tk.kernel [4] ins(%p : tensor<8xf32>) -> (tensor<4xf32>) {
  ^bb0(%a: tensor<8xf32>, %o: tensor<4xf32>):
    %0 = tk.load %a[d0*2] : tensor<8xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// -----

// Both of a row and a column: no axes of the consumer are where each sum is made.
// CHECK-LABEL: @sums_read_both_ways
// CHECK-COUNT-2: = tk.kernel
// REMARK: it is a reduction; it is read at several positions
func.func @sums_read_both_ways(%x: tensor<4x4x5xf32>) -> tensor<4x4xf32> {
  %p = tk.kernel [4, 4, 5] ins(%x : tensor<4x4x5xf32>) -> (tensor<4x4xf32>) {
  ^bb0(%a: tensor<4x4x5xf32>, %o: tensor<4x4xf32>):
    %0 = tk.load %a[d0, d1, d2] : tensor<4x4x5xf32> -> f32
    %1 = tk.reduce add %0 over [2] : f32
    tk.store %1, %o[d0, d1] : f32, tensor<4x4xf32>
  }
  %r = tk.kernel [4, 4] ins(%p : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
  ^bb0(%a: tensor<4x4xf32>, %o: tensor<4x4xf32>):
    %0 = tk.load %a[d0, d1] : tensor<4x4xf32> -> f32
    %1 = tk.load %a[d1, d0] : tensor<4x4xf32> -> f32
    %2 = arith.subf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<4x4xf32>
  }
  func.return %r : tensor<4x4xf32>
}
