// RUN: tilewright-opt %s -p drop-checks --split-input-file | filecheck %s

// A position is below the size of its axis, whatever that is.
// CHECK-LABEL: @cannot_fail
// CHECK: ^bb0
// CHECK-NEXT: %[[V:.*]] = tk.load %{{.*}}[d0]
// CHECK-NEXT: tk.store %[[V]]
func.func @cannot_fail(%x: tensor<?xi64, #tw.shape<"s0">>, %i: tensor<8xi64>) -> tensor<?xi64, #tw.shape<"s0">> {
  %r = tk.kernel [s0] ins(%x, %i : tensor<?xi64, #tw.shape<"s0">>, tensor<8xi64>) -> (tensor<?xi64, #tw.shape<"s0">>) {
  ^bb0(%a: tensor<?xi64, #tw.shape<"s0">>, %b: tensor<8xi64>, %o: tensor<?xi64, #tw.shape<"s0">>):
    %zero = arith.constant 0 : i64
    %0 = tk.index "d0" : i64
    %1 = tk.index "s0" : i64
    %2 = arith.cmpi slt, %0, %zero : i64
    %3 = arith.addi %0, %1 : i64
    %4 = arith.select %2, %3, %0 : i64
    %5 = arith.cmpi ult, %4, %1 : i64
    tk.assert %5 "index out of range" : i1
    %7 = arith.select %5, %4, %zero : i64
    %8 = arith.index_cast %7 : i64 to index
    %9 = tk.load %a[i0](%8) : tensor<?xi64, #tw.shape<"s0">> -> i64
    tk.store %9, %o[d0] : i64, tensor<?xi64, #tw.shape<"s0">>
  }
  func.return %r : tensor<?xi64, #tw.shape<"s0">>
}

// -----

// Counted from the end, the least is only known with the axis: the check stays.
// CHECK-LABEL: @from_the_end
// CHECK: tk.assert
func.func @from_the_end(%x: tensor<?xi64, #tw.shape<"s0">>, %i: tensor<8xi64>) -> tensor<?xi64, #tw.shape<"s0">> {
  %r = tk.kernel [s0] ins(%x, %i : tensor<?xi64, #tw.shape<"s0">>, tensor<8xi64>) -> (tensor<?xi64, #tw.shape<"s0">>) {
  ^bb0(%a: tensor<?xi64, #tw.shape<"s0">>, %b: tensor<8xi64>, %o: tensor<?xi64, #tw.shape<"s0">>):
    %zero = arith.constant 0 : i64
    %0 = tk.index "d0" : i64
    %1 = tk.index "s0" : i64
    %2 = arith.subi %1, %0 : i64
    %3 = arith.constant 1 : i64
    %7 = arith.subi %2, %3 : i64
    %5 = arith.cmpi sge, %7, %zero : i64
    tk.assert %5 "index out of range" : i1
    %8 = arith.index_cast %7 : i64 to index
    %9 = tk.load %a[i0](%8) : tensor<?xi64, #tw.shape<"s0">> -> i64
    tk.store %9, %o[d0] : i64, tensor<?xi64, #tw.shape<"s0">>
  }
  func.return %r : tensor<?xi64, #tw.shape<"s0">>
}

// -----

// CHECK-LABEL: @may_fail
// CHECK: tk.assert
func.func @may_fail(%x: tensor<?xi64, #tw.shape<"s0">>, %i: tensor<8xi64>) -> tensor<?xi64, #tw.shape<"s0">> {
  %r = tk.kernel [s0] ins(%x, %i : tensor<?xi64, #tw.shape<"s0">>, tensor<8xi64>) -> (tensor<?xi64, #tw.shape<"s0">>) {
  ^bb0(%a: tensor<?xi64, #tw.shape<"s0">>, %b: tensor<8xi64>, %o: tensor<?xi64, #tw.shape<"s0">>):
    %zero = arith.constant 0 : i64
    %0 = tk.index "d0" : i64
    %1 = tk.index "s0" : i64
    %2 = arith.constant 1 : i64
    %7 = arith.addi %0, %2 : i64
    %5 = arith.cmpi ult, %7, %1 : i64
    tk.assert %5 "index out of range" : i1
    %8 = arith.index_cast %7 : i64 to index
    %9 = tk.load %a[i0](%8) : tensor<?xi64, #tw.shape<"s0">> -> i64
    tk.store %9, %o[d0] : i64, tensor<?xi64, #tw.shape<"s0">>
  }
  func.return %r : tensor<?xi64, #tw.shape<"s0">>
}

// -----

// CHECK-LABEL: @loaded
// CHECK: tk.assert
// CHECK: tk.load %{{.*}}[i0]
func.func @loaded(%x: tensor<?xi64, #tw.shape<"s0">>, %i: tensor<8xi64>) -> tensor<?xi64, #tw.shape<"s0">> {
  %r = tk.kernel [s0] ins(%x, %i : tensor<?xi64, #tw.shape<"s0">>, tensor<8xi64>) -> (tensor<?xi64, #tw.shape<"s0">>) {
  ^bb0(%a: tensor<?xi64, #tw.shape<"s0">>, %b: tensor<8xi64>, %o: tensor<?xi64, #tw.shape<"s0">>):
    %zero = arith.constant 0 : i64
    %0 = tk.index "d0" : i64
    %1 = tk.index "s0" : i64
    %2 = tk.load %b[d0 mod 8] : tensor<8xi64> -> i64
    %5 = arith.cmpi ult, %2, %1 : i64
    tk.assert %5 "index out of range" : i1
    %7 = arith.select %5, %2, %zero : i64
    %8 = arith.index_cast %7 : i64 to index
    %9 = tk.load %a[i0](%8) : tensor<?xi64, #tw.shape<"s0">> -> i64
    tk.store %9, %o[d0] : i64, tensor<?xi64, #tw.shape<"s0">>
  }
  func.return %r : tensor<?xi64, #tw.shape<"s0">>
}
