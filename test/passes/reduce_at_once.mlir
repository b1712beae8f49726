// RUN: tilewright-opt %s -p reduce-at-once --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p reduce-at-once --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p reduce-at-once --split-input-file --check-semantics

// What is done with the number stays behind it.

// CHECK-LABEL: @parts_of_columns
// CHECK:      %[[S:.*]] = tk.kernel [16, 512] ins(%p, %f : tensor<16x512xf32>, tensor<1xf32>) -> (tensor<1xbf16>) attributes {tk.name = "sum-mul"} {
// CHECK:        %[[V:.*]] = tk.load %{{.*}}[d0, d1] : tensor<16x512xf32> -> f32
// CHECK-NEXT:   %[[T:.*]] = tk.reduce add %[[V]] over [0, 1] : f32 loc("m.py":3:0)
// CHECK-NEXT:   %[[F:.*]] = tk.load %{{.*}}[0] : tensor<1xf32> -> f32
// CHECK-NEXT:   %[[M:.*]] = arith.mulf %[[T]], %[[F]] : f32 loc("m.py":4:0)
// CHECK-NEXT:   %[[H:.*]] = arith.truncf %[[M]]
// CHECK-NEXT:   tk.store %[[H]], %{{.*}}[0]
// CHECK-NEXT: } loc("m.py":4:0)
// CHECK-NEXT: return %[[S]]
func.func @parts_of_columns(%p: tensor<16x512xf32>, %f: tensor<1xf32>) -> tensor<1xbf16> {
  %c = tk.kernel [16, 512] ins(%p : tensor<16x512xf32>) -> (tensor<512xf32>) attributes {tk.name = "sum"} {
  ^bb0(%a: tensor<16x512xf32>, %o: tensor<512xf32>):
    %0 = tk.load %a[d0, d1] : tensor<16x512xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32 loc("m.py":3:0)
    tk.store %1, %o[d1] : f32, tensor<512xf32>
  }
  %s = tk.kernel [512] ins(%c, %f : tensor<512xf32>, tensor<1xf32>) -> (tensor<1xbf16>) attributes {tk.name = "mul"} {
  ^bb0(%a: tensor<512xf32>, %b: tensor<1xf32>, %o: tensor<1xbf16>):
    %0 = tk.load %a[d0] : tensor<512xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    %2 = tk.load %b[0] : tensor<1xf32> -> f32
    %3 = arith.mulf %1, %2 : f32 loc("m.py":4:0)
    %4 = arith.truncf %3 : f32 to bf16
    tk.store %4, %o[0] : bf16, tensor<1xbf16>
  } loc("m.py":4:0)
  func.return %s : tensor<1xbf16>
}

// -----

// Two of one kernel become two of one kernel, and what needs the first of them waits for both.

// CHECK-LABEL: @several
// CHECK:      %[[S:.*]], %[[T:.*]] = tk.kernel [16, 512] ins(%p, %q :
// CHECK-COUNT-2: tk.reduce max %{{.*}} over [0, 1] : f32
// CHECK:      %[[V:.*]] = tw.reshape %[[S]]
// CHECK-NEXT: return %[[V]], %[[T]]
func.func @several(%p: tensor<16x512xf32>, %q: tensor<16x512xf32>) -> (tensor<1xf32>, tensor<f32>) {
  %c, %d = tk.kernel [16, 512] ins(%p, %q : tensor<16x512xf32>, tensor<16x512xf32>) -> (tensor<512xf32>, tensor<512xf32>) {
  ^bb0(%a: tensor<16x512xf32>, %b: tensor<16x512xf32>, %o: tensor<512xf32>, %r: tensor<512xf32>):
    %0 = tk.load %a[d0, d1] : tensor<16x512xf32> -> f32
    %1 = tk.reduce max %0 over [0] : f32
    tk.store %1, %o[d1] : f32, tensor<512xf32>
    %2 = tk.load %b[d0, d1] : tensor<16x512xf32> -> f32
    %3 = tk.reduce max %2 over [0] : f32
    tk.store %3, %r[d1] : f32, tensor<512xf32>
  }
  %s = tk.kernel [512] ins(%c : tensor<512xf32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<512xf32>, %o: tensor<f32>):
    %0 = tk.load %a[d0] : tensor<512xf32> -> f32
    %1 = tk.reduce max %0 over [0] : f32
    tk.store %1, %o[] : f32, tensor<f32>
  }
  %v = tw.reshape %s : tensor<f32> -> tensor<1xf32>
  %t = tk.kernel [512] ins(%d : tensor<512xf32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<512xf32>, %o: tensor<f32>):
    %0 = tk.load %a[d0] : tensor<512xf32> -> f32
    %1 = tk.reduce max %0 over [0] : f32
    tk.store %1, %o[] : f32, tensor<f32>
  }
  func.return %v, %t : tensor<1xf32>, tensor<f32>
}

// -----

// The columns are a result as well.

// CHECK-LABEL: @read_elsewhere
// CHECK-COUNT-2: = tk.kernel
// REMARK: tk.kernel at {{.*}}: not reduced at once: something else reads the numbers between
func.func @read_elsewhere(%p: tensor<16x512xf32>) -> (tensor<f32>, tensor<512xf32>) {
  %c = tk.kernel [16, 512] ins(%p : tensor<16x512xf32>) -> (tensor<512xf32>) {
  ^bb0(%a: tensor<16x512xf32>, %o: tensor<512xf32>):
    %0 = tk.load %a[d0, d1] : tensor<16x512xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[d1] : f32, tensor<512xf32>
  }
  %s = tk.kernel [512] ins(%c : tensor<512xf32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<512xf32>, %o: tensor<f32>):
    %0 = tk.load %a[d0] : tensor<512xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[] : f32, tensor<f32>
  }
  func.return %s, %c : tensor<f32>, tensor<512xf32>
}

// -----

// The largest of sums, a sum of their squares, and a sum of what is made of them are something else.

// CHECK-LABEL: @another_kind
// CHECK-COUNT-2: = tk.kernel
func.func @another_kind(%p: tensor<16x512xf32>) -> tensor<f32> {
  %c = tk.kernel [16, 512] ins(%p : tensor<16x512xf32>) -> (tensor<512xf32>) {
  ^bb0(%a: tensor<16x512xf32>, %o: tensor<512xf32>):
    %0 = tk.load %a[d0, d1] : tensor<16x512xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[d1] : f32, tensor<512xf32>
  }
  %s = tk.kernel [512] ins(%c : tensor<512xf32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<512xf32>, %o: tensor<f32>):
    %0 = tk.load %a[d0] : tensor<512xf32> -> f32
    %1 = tk.reduce max %0 over [0] : f32
    tk.store %1, %o[] : f32, tensor<f32>
  }
  func.return %s : tensor<f32>
}

// -----

// CHECK-LABEL: @squares
// CHECK-COUNT-2: = tk.kernel
func.func @squares(%p: tensor<16x512xf32>) -> tensor<f32> {
  %c = tk.kernel [16, 512] ins(%p : tensor<16x512xf32>) -> (tensor<512xf32>) {
  ^bb0(%a: tensor<16x512xf32>, %o: tensor<512xf32>):
    %0 = tk.load %a[d0, d1] : tensor<16x512xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[d1] : f32, tensor<512xf32>
  }
  %s = tk.kernel [512] ins(%c : tensor<512xf32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<512xf32>, %o: tensor<f32>):
    %0 = tk.load %a[d0] : tensor<512xf32> -> f32
    %1 = arith.mulf %0, %0 : f32
    %2 = tk.reduce add %1 over [0] : f32
    tk.store %2, %o[] : f32, tensor<f32>
  }
  func.return %s : tensor<f32>
}

// -----

// CHECK-LABEL: @multiplied
// CHECK-COUNT-2: = tk.kernel
func.func @multiplied(%p: tensor<16x512xf32>) -> tensor<f32> {
  %c = tk.kernel [16, 512] ins(%p : tensor<16x512xf32>) -> (tensor<512xf32>) {
  ^bb0(%a: tensor<16x512xf32>, %o: tensor<512xf32>):
    %0 = tk.load %a[d0, d1] : tensor<16x512xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    %2 = arith.mulf %1, %1 : f32
    tk.store %2, %o[d1] : f32, tensor<512xf32>
  }
  %s = tk.kernel [512] ins(%c : tensor<512xf32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<512xf32>, %o: tensor<f32>):
    %0 = tk.load %a[d0] : tensor<512xf32> -> f32
    %2 = tk.reduce add %0 over [0] : f32
    tk.store %2, %o[] : f32, tensor<f32>
  }
  func.return %s : tensor<f32>
}

// -----

// Rows are less their own sums; with all of them at once, what is subtracted would be the sum of all.

// CHECK-LABEL: @of_what_sums_left
// CHECK-COUNT-2: = tk.kernel
func.func @of_what_sums_left(%p: tensor<16x24xf32>) -> tensor<f32> {
  %c = tk.kernel [16, 24] ins(%p : tensor<16x24xf32>) -> (tensor<16xf32>) {
  ^bb0(%a: tensor<16x24xf32>, %o: tensor<16xf32>):
    %0 = tk.load %a[d0, d1] : tensor<16x24xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    %2 = arith.subf %0, %1 : f32
    %3 = arith.mulf %2, %2 : f32
    %4 = tk.reduce add %3 over [1] : f32
    tk.store %4, %o[d0] : f32, tensor<16xf32>
  }
  %s = tk.kernel [16] ins(%c : tensor<16xf32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<16xf32>, %o: tensor<f32>):
    %0 = tk.load %a[d0] : tensor<16xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[] : f32, tensor<f32>
  }
  func.return %s : tensor<f32>
}

// -----

// A sum of each row, of which there are several, is left: one of all columns would be another one.

// CHECK-LABEL: @rows_of_columns
// CHECK-COUNT-2: = tk.kernel
func.func @rows_of_columns(%p: tensor<16x8x64xf32>) -> tensor<8xf32> {
  %c = tk.kernel [16, 8, 64] ins(%p : tensor<16x8x64xf32>) -> (tensor<8x64xf32>) {
  ^bb0(%a: tensor<16x8x64xf32>, %o: tensor<8x64xf32>):
    %0 = tk.load %a[d0, d1, d2] : tensor<16x8x64xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[d1, d2] : f32, tensor<8x64xf32>
  }
  %s = tk.kernel [8, 64] ins(%c : tensor<8x64xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<8x64xf32>, %o: tensor<8xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x64xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    tk.store %1, %o[d0] : f32, tensor<8xf32>
  }
  func.return %s : tensor<8xf32>
}

// -----

// Some of the columns are not all of them, and two sums that lie side by side not one.

// CHECK-LABEL: @some_columns
// CHECK-COUNT-2: = tk.kernel
func.func @some_columns(%p: tensor<16x512xf32>) -> tensor<f32> {
  %c = tk.kernel [16, 512] ins(%p : tensor<16x512xf32>) -> (tensor<512xf32>) {
  ^bb0(%a: tensor<16x512xf32>, %o: tensor<512xf32>):
    %0 = tk.load %a[d0, d1] : tensor<16x512xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[d1] : f32, tensor<512xf32>
  }
  %s = tk.kernel [100] ins(%c : tensor<512xf32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<512xf32>, %o: tensor<f32>):
    %0 = tk.load %a[d0] : tensor<512xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[] : f32, tensor<f32>
  }
  func.return %s : tensor<f32>
}

// -----

// CHECK-LABEL: @side_by_side
// CHECK-COUNT-2: = tk.kernel
func.func @side_by_side(%p: tensor<16x256xf32>) -> tensor<f32> {
  %c = tk.kernel [16, 256] ins(%p : tensor<16x256xf32>) -> (tensor<512xf32>) {
  ^bb0(%a: tensor<16x256xf32>, %o: tensor<512xf32>):
    %0 = tk.load %a[d0, d1] : tensor<16x256xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[d1] : f32, tensor<512xf32>
    %2 = arith.mulf %0, %0 : f32
    %3 = tk.reduce add %2 over [0] : f32
    tk.store %3, %o[d1 + 256] : f32, tensor<512xf32>
  }
  %s = tk.kernel [512] ins(%c : tensor<512xf32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<512xf32>, %o: tensor<f32>):
    %0 = tk.load %a[d0] : tensor<512xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[] : f32, tensor<f32>
  }
  func.return %s : tensor<f32>
}

// -----

// One of the columns is read by itself.

// CHECK-LABEL: @one_of_them
// CHECK-COUNT-2: = tk.kernel
func.func @one_of_them(%p: tensor<16x512xf32>) -> tensor<f32> {
  %c = tk.kernel [16, 512] ins(%p : tensor<16x512xf32>) -> (tensor<512xf32>) {
  ^bb0(%a: tensor<16x512xf32>, %o: tensor<512xf32>):
    %0 = tk.load %a[d0, d1] : tensor<16x512xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[d1] : f32, tensor<512xf32>
  }
  %s = tk.kernel [512] ins(%c : tensor<512xf32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<512xf32>, %o: tensor<f32>):
    %0 = tk.load %a[d0] : tensor<512xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    %2 = tk.load %a[3] : tensor<512xf32> -> f32
    %3 = arith.mulf %1, %2 : f32
    tk.store %3, %o[] : f32, tensor<f32>
  }
  func.return %s : tensor<f32>
}

// -----

// What is made with another of the numbers can not be made beside it.

// CHECK-LABEL: @one_by_the_other
// CHECK-COUNT-3: = tk.kernel
// REMARK: tk.kernel at {{.*}}: not reduced at once: one of the numbers is made with another
func.func @one_by_the_other(%p: tensor<16x512xf32>) -> tensor<f32> {
  %c, %d = tk.kernel [16, 512] ins(%p : tensor<16x512xf32>) -> (tensor<512xf32>, tensor<512xf32>) {
  ^bb0(%a: tensor<16x512xf32>, %o: tensor<512xf32>, %r: tensor<512xf32>):
    %0 = tk.load %a[d0, d1] : tensor<16x512xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[d1] : f32, tensor<512xf32>
    %2 = arith.mulf %0, %0 : f32
    %3 = tk.reduce add %2 over [0] : f32
    tk.store %3, %r[d1] : f32, tensor<512xf32>
  }
  %s = tk.kernel [512] ins(%c : tensor<512xf32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<512xf32>, %o: tensor<f32>):
    %0 = tk.load %a[d0] : tensor<512xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    tk.store %1, %o[] : f32, tensor<f32>
  }
  %t = tk.kernel [512] ins(%d, %s : tensor<512xf32>, tensor<f32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<512xf32>, %b: tensor<f32>, %o: tensor<f32>):
    %0 = tk.load %a[d0] : tensor<512xf32> -> f32
    %1 = tk.reduce add %0 over [0] : f32
    %2 = tk.load %b[] : tensor<f32> -> f32
    %3 = arith.mulf %1, %2 : f32
    tk.store %3, %o[] : f32, tensor<f32>
  }
  func.return %t : tensor<f32>
}
