// RUN: tilewright-opt %s -p drop-checks --split-input-file --print-debuginfo | filecheck %s

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

// -----

// A number is not zero, nor minus one: what is loaded is divided by it without a check.
// CHECK-LABEL: @divided_by_a_number
// CHECK: %[[S:.*]] = arith.constant 64 : i32
// CHECK-NEXT: %[[V:.*]] = tk.load
// CHECK-NEXT: %[[Q:.*]] = arith.divsi %[[V]], %[[S]]
// CHECK-NEXT: tk.store %[[Q]]
func.func @divided_by_a_number(%x: tensor<8xi32>) -> tensor<8xi32> {
  %r = tk.kernel [8] ins(%x : tensor<8xi32>) -> (tensor<8xi32>) {
  ^bb0(%a: tensor<8xi32>, %o: tensor<8xi32>):
    %s = arith.constant 64 : i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %minus = arith.constant -1 : i32
    %0 = tk.load %a[d0] : tensor<8xi32> -> i32
    %1 = arith.cmpi ne, %s, %zero : i32
    tk.assert %1 "division by zero" : i1
    %2 = arith.select %1, %s, %one : i32
    %3 = arith.cmpi eq, %2, %minus : i32
    %4 = arith.select %3, %one, %2 : i32
    %5 = arith.divsi %0, %4 : i32
    tk.store %5, %o[d0] : i32, tensor<8xi32>
  }
  func.return %r : tensor<8xi32>
}

// -----

// CHECK-LABEL: @divided_by_what_is_loaded
// CHECK: arith.cmpi ne
// CHECK: tk.assert
// CHECK: arith.cmpi eq
func.func @divided_by_what_is_loaded(%x: tensor<8xi32>) -> tensor<8xi32> {
  %r = tk.kernel [8] ins(%x : tensor<8xi32>) -> (tensor<8xi32>) {
  ^bb0(%a: tensor<8xi32>, %o: tensor<8xi32>):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %minus = arith.constant -1 : i32
    %0 = tk.load %a[d0] : tensor<8xi32> -> i32
    %1 = arith.cmpi ne, %0, %zero : i32
    tk.assert %1 "division by zero" : i1
    %2 = arith.select %1, %0, %one : i32
    %3 = arith.cmpi eq, %2, %minus : i32
    %4 = arith.select %3, %one, %2 : i32
    %5 = arith.divsi %0, %4 : i32
    tk.store %5, %o[d0] : i32, tensor<8xi32>
  }
  func.return %r : tensor<8xi32>
}

// -----

// A position may be a number of the axis, and is none beyond; it may be where another one is.
// CHECK-LABEL: @positions_that_are_or_are_not_equal
// CHECK: arith.cmpi ne, %{{.*}}, %last
// CHECK-NEXT: arith.cmpi eq
// CHECK-NEXT: arith.andi
// CHECK-NEXT: tk.store
// CHECK: func.return
func.func @positions_that_are_or_are_not_equal(%x: tensor<8x8xi1>) -> tensor<8x8xi1> {
  %r = tk.kernel [8, 8] ins(%x : tensor<8x8xi1>) -> (tensor<8x8xi1>) {
  ^bb0(%a: tensor<8x8xi1>, %o: tensor<8x8xi1>):
    %last = arith.constant 7 : i64
    %beyond = arith.constant 8 : i64
    %0 = tk.index "d0" : i64
    %1 = tk.index "d1" : i64
    %2 = tk.load %a[d0, d1] : tensor<8x8xi1> -> i1
    tk.assert %2 "false" : i1
    %3 = arith.cmpi ne, %0, %last : i64
    %4 = arith.cmpi ne, %0, %beyond : i64
    %5 = arith.cmpi eq, %0, %1 : i64
    %6 = arith.andi %3, %4 : i1
    %7 = arith.andi %5, %6 : i1
    tk.store %7, %o[d0, d1] : i1, tensor<8x8xi1>
  }
  func.return %r : tensor<8x8xi1>
}

// -----

// Where a resized image is read: half of each position, between 0 and 3, wraps nowhere and is in range.
// CHECK-LABEL: @resized
// CHECK: %[[P:.*]] = arith.fptosi
// CHECK-NOT: arith.cmpi
// CHECK: %[[I:.*]] = arith.index_cast %[[P]]
// CHECK-NEXT: tk.load %a[i0](%[[I]])
func.func @resized(%x: tensor<4xf32>) -> tensor<8xf32> {
  %r = tk.kernel [8] ins(%x : tensor<4xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<4xf32>, %o: tensor<8xf32>):
    %zero = arith.constant 0 : i64
    %four = arith.constant 4 : i64
    %none = arith.constant 0.0 : f32
    %half = arith.constant 0.5 : f32
    %0 = tk.index "d0" : i64
    %1 = arith.sitofp %0 : i64 to f32
    %2 = arith.mulf %1, %half : f32
    %3 = arith.subf %2, %half : f32
    %4 = arith.maximumf %3, %none : f32
    %5 = arith.fptosi %4 : f32 to i64
    %6 = arith.cmpi slt, %5, %zero : i64
    %7 = arith.addi %5, %four : i64
    %8 = arith.select %6, %7, %5 : i64
    %9 = arith.cmpi ult, %8, %four : i64
    tk.assert %9 "index out of range" : i1
    %10 = arith.select %9, %8, %zero : i64
    %11 = arith.index_cast %10 : i64 to index
    %12 = tk.load %a[i0](%11) : tensor<4xf32> -> f32
    tk.store %12, %o[d0] : f32, tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}

// -----

// Of as many positions as might be, the last ones are beyond.
// CHECK-LABEL: @resized_too_far
// CHECK: tk.assert
func.func @resized_too_far(%x: tensor<4xf32>) -> tensor<8xf32> {
  %r = tk.kernel [8] ins(%x : tensor<4xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<4xf32>, %o: tensor<8xf32>):
    %zero = arith.constant 0 : i64
    %three = arith.constant 3 : i64
    %half = arith.constant 0.5 : f32
    %0 = tk.index "d0" : i64
    %1 = arith.sitofp %0 : i64 to f32
    %2 = arith.mulf %1, %half : f32
    %3 = arith.fptosi %2 : f32 to i64
    %4 = arith.cmpi ult, %3, %three : i64
    tk.assert %4 "index out of range" : i1
    %5 = arith.select %4, %3, %zero : i64
    %6 = arith.index_cast %5 : i64 to index
    %7 = tk.load %a[i0](%6) : tensor<4xf32> -> f32
    tk.store %7, %o[d0] : f32, tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}

// -----

// What is clamped lies between two numbers, whatever floats made of it.
// CHECK-LABEL: @clamped
// CHECK-NOT: tk.assert
// CHECK: tk.load %{{.*}}[i0 + 1](
func.func @clamped(%x: tensor<9xf32>, %i: tensor<8xf32>) -> tensor<8xf32> {
  %r = tk.kernel [8] ins(%x, %i : tensor<9xf32>, tensor<8xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<9xf32>, %b: tensor<8xf32>, %o: tensor<8xf32>):
    %zero = arith.constant 0 : i32
    %seven = arith.constant 7 : i32
    %nine = arith.constant 8 : i64
    %0 = tk.load %b[d0] : tensor<8xf32> -> f32
    %1 = arith.fptosi %0 : f32 to i32
    %2 = arith.maxsi %zero, %1 : i32
    %3 = arith.minsi %seven, %2 : i32
    %4 = arith.extsi %3 : i32 to i64
    %5 = arith.cmpi ult, %4, %nine : i64
    tk.assert %5 "index out of range" : i1
    %6 = arith.index_cast %4 : i64 to index
    %7 = tk.load %a[i0 + 1](%6) : tensor<9xf32> -> f32
    tk.store %7, %o[d0] : f32, tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}

// -----

// Bounded on one side only.
// CHECK-LABEL: @not_clamped
// CHECK: tk.assert
func.func @not_clamped(%x: tensor<9xf32>, %i: tensor<8xi64>) -> tensor<8xf32> {
  %r = tk.kernel [8] ins(%x, %i : tensor<9xf32>, tensor<8xi64>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<9xf32>, %b: tensor<8xi64>, %o: tensor<8xf32>):
    %zero = arith.constant 0 : i64
    %nine = arith.constant 9 : i64
    %0 = tk.load %b[d0] : tensor<8xi64> -> i64
    %1 = arith.maxsi %zero, %0 : i64
    %5 = arith.cmpi ult, %1, %nine : i64
    tk.assert %5 "index out of range" : i1
    %6 = arith.index_cast %1 : i64 to index
    %7 = tk.load %a[i0](%6) : tensor<9xf32> -> f32
    tk.store %7, %o[d0] : f32, tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}

// -----

// A stack of two, of which the first is read: nothing is to be checked, and one load is left.
// CHECK-LABEL: @known_masks
// CHECK: ^bb0
// CHECK-NEXT: %[[V:.*]] = tk.load %{{.*}}[d0, 0] : tensor<8x2xf32> -> f32 loc("m.py":3:0)
// CHECK-NEXT: tk.store %[[V]]
func.func @known_masks(%x: tensor<8x2xf32>, %y: tensor<8x2xf32>) -> tensor<8xf32> {
  %r = tk.kernel [8] ins(%x, %y : tensor<8x2xf32>, tensor<8x2xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<8x2xf32>, %b: tensor<8x2xf32>, %o: tensor<8xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tk.index "0" : i64
    %1 = arith.constant 1 : i64
    %2 = arith.cmpi slt, %0, %1 : i64
    %3 = arith.cmpi sge, %0, %1 : i64
    %4 = tk.load %a[d0, 0] if %2 else %zero : tensor<8x2xf32> -> f32 loc("m.py":3:0)
    %5 = tk.load %b[d0, 1] if %3 else %zero : tensor<8x2xf32> -> f32
    %6 = arith.select %2, %4, %5 : f32
    tk.store %6, %o[d0] : f32, tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}

// -----

// Places of a table of 16 that are made of bits; they are not made bytes and widened again.
// CHECK-LABEL: @nibbles
// CHECK-NOT: tk.assert
// CHECK-NOT: arith.trunci
// CHECK:     arith.select %{{.*}} : i32
// CHECK-NOT: arith.trunci
// CHECK:     tk.load %{{.*}}[i0](%{{.*}}) : tensor<16xf32> -> f32
func.func @nibbles(%t: tensor<16xf32>, %q: tensor<8xui8>) -> tensor<8x2xf32> {
  %r = tk.kernel [8, 2] ins(%t, %q : tensor<16xf32>, tensor<8xui8>) -> (tensor<8x2xf32>) {
  ^bb0(%a: tensor<16xf32>, %b: tensor<8xui8>, %o: tensor<8x2xf32>):
    %four = arith.constant 4 : i32
    %mask = arith.constant 15 : i32
    %sixteen = arith.constant 16 : i64
    %one = arith.constant 1 : i64
    %0 = tk.load %b[d0] : tensor<8xui8> -> i8
    %1 = arith.extui %0 : i8 to i32
    %2 = arith.shrsi %1, %four : i32
    %3 = arith.trunci %2 : i32 to i8
    %4 = arith.extui %3 : i8 to i32
    %5 = arith.andi %1, %mask : i32
    %6 = arith.trunci %5 : i32 to i8
    %7 = arith.extui %6 : i8 to i32
    %8 = tk.index "d1" : i64
    %9 = arith.cmpi slt, %8, %one : i64
    %10 = arith.select %9, %7, %4 : i32
    %11 = arith.extsi %10 : i32 to i64
    %12 = arith.cmpi ult, %11, %sixteen : i64
    tk.assert %12 "index out of range" : i1
    %13 = arith.index_cast %11 : i64 to index
    %14 = tk.load %a[i0](%13) : tensor<16xf32> -> f32
    tk.store %14, %o[d0, d1] : f32, tensor<8x2xf32>
  }
  func.return %r : tensor<8x2xf32>
}

// -----

// Five bits are places of 32; nine bits do not fit a byte; a byte that is unsigned may be more than a signed one.
// CHECK-LABEL: @too_many_bits
// CHECK: tk.assert
// CHECK: %[[N:.*]] = arith.trunci
// CHECK: arith.extui %[[N]]
// CHECK: %[[B:.*]] = arith.trunci
// CHECK: arith.extsi %[[B]]
func.func @too_many_bits(%t: tensor<16xf32>, %q: tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>, tensor<8xi32>) {
  %r, %s, %u = tk.kernel [8] ins(%t, %q : tensor<16xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>, tensor<8xi32>) {
  ^bb0(%a: tensor<16xf32>, %b: tensor<8xi32>, %o: tensor<8xf32>, %p: tensor<8xi32>, %v: tensor<8xi32>):
    %mask = arith.constant 15 : i32
    %nine = arith.constant 511 : i32
    %byte = arith.constant 255 : i32
    %sixteen = arith.constant 16 : i64
    %0 = tk.load %b[d0] : tensor<8xi32> -> i32
    %five = arith.constant 31 : i32
    %1 = arith.andi %0, %five : i32
    %2 = arith.extsi %1 : i32 to i64
    %3 = arith.cmpi ult, %2, %sixteen : i64
    tk.assert %3 "index out of range" : i1
    %four = arith.andi %0, %mask : i32
    %4 = arith.index_cast %four : i32 to index
    %5 = tk.load %a[i0](%4) : tensor<16xf32> -> f32
    tk.store %5, %o[d0] : f32, tensor<8xf32>
    %6 = arith.andi %0, %nine : i32
    %7 = arith.trunci %6 : i32 to i8
    %8 = arith.extui %7 : i8 to i32
    tk.store %8, %p[d0] : i32, tensor<8xi32>
    %9 = arith.andi %0, %byte : i32
    %10 = arith.trunci %9 : i32 to i8
    %11 = arith.extsi %10 : i8 to i32
    tk.store %11, %v[d0] : i32, tensor<8xi32>
  }
  func.return %r, %s, %u : tensor<8xf32>, tensor<8xi32>, tensor<8xi32>
}
