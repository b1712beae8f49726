// RUN: tilewright-opt %s -p canonicalize --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p canonicalize --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// CHECK-LABEL: @folds_identities
func.func @folds_identities(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  // CHECK-NEXT: func.return %x
  %one = tw.full 1.0 : f32 -> tensor<4x3xf32>
  %zero = tw.full 0.0 : f32 -> tensor<4x3xf32>
  %minus_zero = tw.full -0.0 : f32 -> tensor<4x3xf32>
  %a = tw.mul %x, %one : tensor<4x3xf32>
  %b = tw.sub %a, %zero : tensor<4x3xf32>
  %c = tw.add %minus_zero, %b : tensor<4x3xf32>
  %d = tw.div %c, %one : tensor<4x3xf32>
  %e = tw.pow %d, %one : tensor<4x3xf32>
  %f = tw.neg %e : tensor<4x3xf32>
  %g = tw.neg %f : tensor<4x3xf32>
  %h = tw.maximum %g, %g : tensor<4x3xf32>
  func.return %h : tensor<4x3xf32>
}

// -----

// CHECK-LABEL: @keeps_what_nan_and_minus_zero_tell_apart
func.func @keeps_what_nan_and_minus_zero_tell_apart(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK: tw.mul %x
  // CHECK-NEXT: tw.add %x
  // CHECK-NEXT: tw.sub %x, %x
  %zero = tw.full 0.0 : f32 -> tensor<4xf32>
  %a = tw.mul %x, %zero : tensor<4xf32>
  %b = tw.add %x, %zero : tensor<4xf32>
  %c = tw.sub %x, %x : tensor<4xf32>
  func.return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Integers wrap around, floats are rounded.
// CHECK-LABEL: @subtracts_what_was_added
func.func @subtracts_what_was_added(%x: tensor<4xi64>, %y: tensor<4xi64>, %u: tensor<4xf32>, %v: tensor<4xf32>) -> (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>, tensor<4xf32>) {
  // CHECK:      %[[N:.*]] = tw.sub %x, %{{.*}} : tensor<4xi64>
  // CHECK:      %[[F:.*]] = tw.sub %{{.*}}, %u : tensor<4xf32>
  // CHECK-NEXT: func.return %x, %y, %[[N]], %[[F]]
  %s = tw.add %x, %y : tensor<4xi64>
  %a = tw.sub %s, %y : tensor<4xi64>
  %b = tw.sub %s, %x : tensor<4xi64>
  %n = tw.sub %x, %s : tensor<4xi64>
  %t = tw.add %u, %v : tensor<4xf32>
  %f = tw.sub %t, %u : tensor<4xf32>
  func.return %a, %b, %n, %f : tensor<4xi64>, tensor<4xi64>, tensor<4xi64>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @folds_integer_zero
func.func @folds_integer_zero(%x: tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>) {
  // CHECK-NEXT: %[[Z:.*]] = tw.full 0 : i64
  // CHECK-NEXT: func.return %x, %[[Z]]
  %zero = tw.full 0 : i64 -> tensor<4xi64>
  %a = tw.add %x, %zero : tensor<4xi64>
  %b = tw.mul %x, %zero : tensor<4xi64>
  func.return %a, %b : tensor<4xi64>, tensor<4xi64>
}

// -----

// CHECK-LABEL: @drops_signs_under_abs
func.func @drops_signs_under_abs(%x: tensor<4xi8>, %y: tensor<4xui8>) -> (tensor<4xi8>, tensor<4xui8>) {
  // CHECK-NEXT: %[[A:.*]] = tw.abs %x
  // CHECK-NEXT: %[[N:.*]] = tw.neg %y
  // CHECK-NEXT: func.return %[[A]], %[[N]]
  %a = tw.neg %x : tensor<4xi8>
  %b = tw.abs %a : tensor<4xi8>
  %c = tw.neg %y : tensor<4xui8>
  %d = tw.abs %c : tensor<4xui8>
  func.return %b, %d : tensor<4xi8>, tensor<4xui8>
}

// -----

// CHECK-LABEL: @strengthens_constants
func.func @strengthens_constants(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-DAG: %[[Q:.*]] = tw.full 2.500000e-01 : f32
  // CHECK-DAG: tw.mul %x, %[[Q]] : tensor<4xf32> loc("m.py":7:3)
  // CHECK-DAG: tw.mul %x, %x : tensor<4xf32>
  // CHECK-DAG: tw.reciprocal %x : tensor<4xf32>
  // CHECK-DAG: %[[T:.*]] = tw.full 3.000000e+00 : f32
  // CHECK-DAG: tw.div %x, %[[T]]
  %four = tw.full 4.0 : f32 -> tensor<4xf32>
  %two = tw.full 2.0 : f32 -> tensor<4xf32>
  %three = tw.full 3.0 : f32 -> tensor<4xf32>
  %minus_one = tw.full -1.0 : f32 -> tensor<4xf32>
  %a = tw.div %x, %four : tensor<4xf32> loc("m.py":7:3)
  %b = tw.pow %x, %two : tensor<4xf32>
  %c = tw.pow %x, %minus_one : tensor<4xf32>
  %d = tw.div %x, %three : tensor<4xf32>
  func.return %a, %b, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Of a number of that base alone, and of floats.
// CHECK-LABEL: @powers_of_two
func.func @powers_of_two(%x: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) {
  // CHECK-DAG: %[[THREE:.*]] = tw.full 3.000000e+00 : f32
  // CHECK-DAG: tw.exp2 %x : tensor<4xf32> loc("m.py":8:3)
  // CHECK-DAG: tw.pow %[[THREE]], %x : tensor<4xf32>
  // CHECK-DAG: tw.pow %{{.*}}, %i : tensor<4xi32>
  %two = tw.full 2.0 : f32 -> tensor<4xf32>
  %three = tw.full 3.0 : f32 -> tensor<4xf32>
  %whole = tw.full 2 : i32 -> tensor<4xi32>
  %a = tw.pow %two, %x : tensor<4xf32> loc("m.py":8:3)
  %b = tw.pow %three, %x : tensor<4xf32>
  %c = tw.pow %whole, %i : tensor<4xi32>
  func.return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>
}

// -----

// CHECK-LABEL: @merges_casts_that_lose_nothing
func.func @merges_casts_that_lose_nothing(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xf16>, tensor<4xf32>) {
  // CHECK-NEXT: %[[H:.*]] = tw.cast %x : tensor<4xbf16> -> tensor<4xf16>
  // CHECK-NEXT: %[[N:.*]] = tw.cast %y : tensor<4xf32> -> tensor<4xbf16>
  // CHECK-NEXT: %[[W:.*]] = tw.cast %[[N]] : tensor<4xbf16> -> tensor<4xf32>
  // CHECK-NEXT: func.return %x, %[[H]], %[[W]]
  %a = tw.cast %x : tensor<4xbf16> -> tensor<4xf32>
  %b = tw.cast %a : tensor<4xf32> -> tensor<4xbf16>
  %c = tw.cast %a : tensor<4xf32> -> tensor<4xf16>
  %d = tw.cast %y : tensor<4xf32> -> tensor<4xbf16>
  %e = tw.cast %d : tensor<4xbf16> -> tensor<4xf32>
  func.return %b, %c, %e : tensor<4xbf16>, tensor<4xf16>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @keeps_a_rounding_that_is_asked_for
func.func @keeps_a_rounding_that_is_asked_for(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (tensor<4xf16>, tensor<4xf32>) {
  // CHECK-NEXT: %[[H:.*]] = tw.cast %x rounded : tensor<4xbf16> -> tensor<4xf16>
  // CHECK-NEXT: %[[N:.*]] = tw.cast %y rounded : tensor<4xf32> -> tensor<4xbf16>
  // CHECK-NEXT: %[[W:.*]] = tw.cast %[[N]] : tensor<4xbf16> -> tensor<4xf32>
  // CHECK-NEXT: func.return %[[H]], %[[W]]
  %a = tw.cast %x : tensor<4xbf16> -> tensor<4xf32>
  %c = tw.cast %a rounded : tensor<4xf32> -> tensor<4xf16>
  %d = tw.cast %y rounded : tensor<4xf32> -> tensor<4xbf16>
  %e = tw.cast %d : tensor<4xbf16> -> tensor<4xf32>
  func.return %c, %e : tensor<4xf16>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @chooses_at_compile_time
func.func @chooses_at_compile_time(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[S:.*]] = tw.select %c, %y, %x
  // CHECK-NEXT: func.return %x, %y, %[[S]]
  %t = tw.full true -> tensor<4xi1>
  %n = tw.logical_not %c : tensor<4xi1>
  %a = tw.select %t, %x, %y : tensor<4xi1>, tensor<4xf32>
  %b = tw.select %c, %y, %y : tensor<4xi1>, tensor<4xf32>
  %d = tw.select %n, %x, %y : tensor<4xi1>, tensor<4xf32>
  func.return %a, %b, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @folds_bits
func.func @folds_bits(%x: tensor<4xi1>, %y: tensor<4xui8>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xui8>) {
  // CHECK-NEXT: %[[N:.*]] = tw.logical_not %x
  // CHECK-NEXT: func.return %x, %[[N]], %y
  %t = tw.full true -> tensor<4xi1>
  %m = tw.full 255 : ui8 -> tensor<4xui8>
  %a = tw.and %x, %t : tensor<4xi1>
  %b = tw.xor %x, %t : tensor<4xi1>
  %c = tw.and %y, %m : tensor<4xui8>
  func.return %a, %b, %c : tensor<4xi1>, tensor<4xi1>, tensor<4xui8>
}

// -----

// CHECK-LABEL: @computes_constants
func.func @computes_constants() -> (tensor<?xf32, #tw.shape<"s0">>, tensor<3xi64>, tensor<2x2xi64>, tensor<4xbf16>) {
  // CHECK-DAG: tw.full 3.000000e+00 : f32 -> tensor<?xf32, #tw.shape<"s0">>
  // CHECK-DAG: tw.constant dense<[11, 12, 13]> : tensor<3xi64>
  // CHECK-DAG: tw.constant dense<{{.*}}1, 3{{.*}}2, 4{{.*}}> : tensor<2x2xi64>
  // CHECK-DAG: tw.full 1.000980e-01 : bf16 -> tensor<4xbf16>
  %a = tw.full 1.0 : f32 -> tensor<?xf32, #tw.shape<"s0">>
  %b = tw.full 2.0 : f32 -> tensor<?xf32, #tw.shape<"s0">>
  %c = tw.add %a, %b : tensor<?xf32, #tw.shape<"s0">>
  %d = tw.constant dense<[1, 2, 3]> : tensor<3xi64>
  %e = tw.full 10 : i64 -> tensor<3xi64>
  %f = tw.add %d, %e : tensor<3xi64>
  %g = tw.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
  %h = tw.transpose %g by [1, 0] : tensor<2x2xi64> -> tensor<2x2xi64>
  %i = tw.full 0.1 : f32 -> tensor<4xf32>
  %j = tw.cast %i : tensor<4xf32> -> tensor<4xbf16>
  func.return %c, %f, %h, %j : tensor<?xf32, #tw.shape<"s0">>, tensor<3xi64>, tensor<2x2xi64>, tensor<4xbf16>
}

// -----

// CHECK-LABEL: @leaves_division_by_zero_to_run_time
// CHECK: tw.floor_div
// REMARK: tw.floor_div at {{.*}}: it would fail at run time, and has to do so there
func.func @leaves_division_by_zero_to_run_time() -> tensor<3xi64> {
  %a = tw.full 1 : i64 -> tensor<3xi64>
  %b = tw.full 0 : i64 -> tensor<3xi64>
  %c = tw.floor_div %a, %b : tensor<3xi64>
  func.return %c : tensor<3xi64>
}

// -----

// CHECK-LABEL: @leaves_symbolic_literals
// CHECK: tw.add
// REMARK: tw.add at {{.*}}: an operand is an expression of symbolic sizes
func.func @leaves_symbolic_literals() -> tensor<3xi64> {
  %a = tw.full "s0" -> tensor<3xi64>
  %c = tw.add %a, %a : tensor<3xi64>
  func.return %c : tensor<3xi64>
}

// -----

// CHECK-LABEL: @leaves_large_constants
// CHECK: tw.broadcast
// REMARK: tw.broadcast at {{.*}}: the constant would have more than 256 elements
func.func @leaves_large_constants() -> tensor<200x2xi64> {
  %a = tw.constant dense<[1, 2]> : tensor<2xi64>
  %b = tw.broadcast %a dims [1] : tensor<2xi64> -> tensor<200x2xi64>
  func.return %b : tensor<200x2xi64>
}

// -----

// CHECK-LABEL: @leaves_views_that_share_memory
// CHECK:      %[[S:.*]] = tw.slice
// CHECK-NEXT: tw.reshape %[[S]]
// CHECK-NEXT: %[[F:.*]] = tw.constant dense<[3, 4]>
// CHECK-NEXT: return %{{.*}}, %{{.*}}, %[[F]]
// REMARK: tw.slice at {{.*}}: it is returned, and another result is a view of the same memory
func.func @leaves_views_that_share_memory() -> (tensor<2x1xi64> {tw.memory = 0 : i64},
    tensor<4xi64> {tw.memory = 0 : i64}, tensor<2xi64> {tw.memory = 1 : i64}) {
  %a = tw.constant dense<[1, 2, 3, 4]> : tensor<4xi64>
  %b = tw.slice %a starts "0" steps "1" : tensor<4xi64> -> tensor<2xi64>
  %c = tw.reshape %b : tensor<2xi64> -> tensor<2x1xi64>
  %d = tw.slice %a starts "2" steps "1" : tensor<4xi64> -> tensor<2xi64>
  func.return %c, %a, %d : tensor<2x1xi64>, tensor<4xi64>, tensor<2xi64>
}

// -----

// CHECK-LABEL: @leaves_infinite_constants
// CHECK: tw.div
// REMARK: tw.div at {{.*}}: the constant would hold infinities or NaN, which dense text cannot spell
func.func @leaves_infinite_constants() -> tensor<2xf32> {
  %a = tw.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = tw.constant dense<[0.0, 2.0]> : tensor<2xf32>
  %c = tw.div %a, %b : tensor<2xf32>
  func.return %c : tensor<2xf32>
}

// -----

// CHECK-LABEL: @folds_reductions
func.func @folds_reductions(%x: tensor<4x1x3xf32>, %b: tensor<4x3xi1>) -> (tensor<4x3xf32>, tensor<f32>, tensor<4xi1>) {
  // CHECK-NEXT: %[[R:.*]] = tw.reshape %x : tensor<4x1x3xf32> -> tensor<4x3xf32>
  // CHECK-NEXT: %[[S:.*]] = tw.sum %x over [0, 1, 2] : tensor<4x1x3xf32> -> tensor<f32>
  // CHECK-NEXT: %[[A:.*]] = tw.any %b over [1]
  // CHECK-NEXT: func.return %[[R]], %[[S]], %[[A]]
  %a = tw.max %x over [1] : tensor<4x1x3xf32> -> tensor<4x3xf32>
  %c = tw.sum %x over [0, 1] : tensor<4x1x3xf32> -> tensor<3xf32>
  %d = tw.sum %c over [0] : tensor<3xf32> -> tensor<f32>
  %e = tw.max %b over [1] : tensor<4x3xi1> -> tensor<4xi1>
  func.return %a, %d, %e : tensor<4x3xf32>, tensor<f32>, tensor<4xi1>
}

// -----

// CHECK-LABEL: @keeps_shared_inner_reduction
// CHECK: tw.sum %x over [0]
// CHECK-NEXT: tw.sum %{{.*}} over [0]
func.func @keeps_shared_inner_reduction(%x: tensor<4x3xf32>) -> (tensor<3xf32>, tensor<f32>) {
  %a = tw.sum %x over [0] : tensor<4x3xf32> -> tensor<3xf32>
  %b = tw.sum %a over [0] : tensor<3xf32> -> tensor<f32>
  func.return %a, %b : tensor<3xf32>, tensor<f32>
}

// -----

// CHECK-LABEL: @keeps_effects
// CHECK: tw.rng_seed
// CHECK-NEXT: tw.rng_seed
// CHECK-NEXT: tw.aten "aten::relu_"
func.func @keeps_effects(%x: tensor<4xf32>) {
  %a = tw.rng_seed : tensor<i64>
  %b = tw.rng_seed : tensor<i64>
  tw.aten "aten::relu_"(%x) {args = [#tw.arg<0>], mutates = array<i64: 0>} : (tensor<4xf32>) -> ()
  func.return
}

// -----

// CHECK-LABEL: @keeps_effects_without_elements
// CHECK: tw.aten "aten::relu_"
func.func @keeps_effects_without_elements(%x: tensor<4xf32>) -> tensor<0xf32> {
  %r = tw.aten "aten::relu_"(%x) {args = [#tw.arg<0>], mutates = array<i64: 0>} : (tensor<4xf32>) -> (tensor<0xf32>)
  func.return %r : tensor<0xf32>
}

// -----

// Integers of 64 bits are more than a float of 32 tells apart.
// CHECK-LABEL: @keeps_a_cast_of_integers_that_rounds
// CHECK-NEXT: %[[F:.*]] = tw.cast %x
// CHECK-NEXT: %[[R:.*]] = tw.cast %[[F]]
// CHECK-NEXT: func.return %[[R]]
func.func @keeps_a_cast_of_integers_that_rounds(%x: tensor<4xi64>) -> tensor<4xi64> {
  %0 = tw.cast %x : tensor<4xi64> -> tensor<4xf32>
  %1 = tw.cast %0 : tensor<4xf32> -> tensor<4xi64>
  func.return %1 : tensor<4xi64>
}

// -----

// CHECK-LABEL: @nothing_can_fail_on_no_elements
// CHECK-NEXT:  %[[R:.*]] = tw.full 0 : i64 -> tensor<0xi64>
// CHECK-NEXT:  %[[S:.*]] = tw.full 0 : i64 -> tensor<i64>
// CHECK-NEXT:  return %[[R]], %[[S]]
func.func @nothing_can_fail_on_no_elements(%x: tensor<0xi64>, %y: tensor<i64>) -> (tensor<0xi64>, tensor<i64>) {
  %z = tw.broadcast %y dims [] : tensor<i64> -> tensor<0xi64>
  %r = tw.floor_div %x, %z : tensor<0xi64>
  %s = tw.sum %r over [0] : tensor<0xi64> -> tensor<i64>
  func.return %r, %s : tensor<0xi64>, tensor<i64>
}

// -----

// CHECK-LABEL: @a_constant_of_no_elements
// CHECK-NEXT:  %[[C:.*]] = tw.full 0.000000e+00 : f32 -> tensor<0xf32>
// CHECK-NEXT:  return %[[C]]
func.func @a_constant_of_no_elements() -> tensor<0xf32> {
  %c = tw.constant dense<> : tensor<0xf32>
  func.return %c : tensor<0xf32>
}

// -----

// CHECK-LABEL: @division_of_one_element_stays
// CHECK-NEXT:  tw.floor_div %x, %y
func.func @division_of_one_element_stays(%x: tensor<1xi64>, %y: tensor<1xi64>) -> tensor<1xi64> {
  %r = tw.floor_div %x, %y : tensor<1xi64>
  func.return %r : tensor<1xi64>
}

// -----

// CHECK-LABEL: @keeps_a_border_of_another_value
// CHECK-NEXT:  %[[X:.*]] = tw.full 2.0
// CHECK-NEXT:  %[[P:.*]] = tw.pad %[[X]] low "1" high "2" value 3.0
// CHECK-NEXT:  %[[F:.*]] = tw.full 2.000000e+00 : f32 -> tensor<6xf32>
// CHECK-NEXT:  return %[[P]], %[[F]]
func.func @keeps_a_border_of_another_value() -> (tensor<6xf32>, tensor<6xf32>) {
  %x = tw.full 2.0 : f32 -> tensor<3xf32>
  %p = tw.pad %x low "1" high "2" value 3.0 : f32 : tensor<3xf32> -> tensor<6xf32>
  %q = tw.pad %x low "1" high "2" value 2.0 : f32 : tensor<3xf32> -> tensor<6xf32>
  func.return %p, %q : tensor<6xf32>, tensor<6xf32>
}

// -----

// REMARK: tw.broadcast at {{.*}}: a size is symbolic
// CHECK-LABEL: @keeps_a_constant_that_repeats_so_many_times
// CHECK-NEXT:  %[[C:.*]] = tw.constant
// CHECK-NEXT:  %[[B:.*]] = tw.broadcast %[[C]] dims [1]
// CHECK-NEXT:  return %[[B]]
func.func @keeps_a_constant_that_repeats_so_many_times() -> tensor<?x3xi64, #tw.shape<"s0, 3">> {
  %c = tw.constant dense<[1, 2, 3]> : tensor<3xi64>
  %b = tw.broadcast %c dims [1] : tensor<3xi64> -> tensor<?x3xi64, #tw.shape<"s0, 3">>
  func.return %b : tensor<?x3xi64, #tw.shape<"s0, 3">>
}

// -----

// Nothing is summed, but of how many columns of nothing is not known here.
// REMARK: tw.sum at {{.*}}: a size is symbolic
// CHECK-LABEL: @keeps_a_sum_of_nothing_of_symbolic_size
// CHECK: tw.sum
func.func @keeps_a_sum_of_nothing_of_symbolic_size() -> tensor<i64> {
  %x = tw.full 3 : i64 -> tensor<0x?xi64, #tw.shape<"0, s1">>
  %0 = tw.sum %x over [0, 1] : tensor<0x?xi64, #tw.shape<"0, s1">> -> tensor<i64>
  func.return %0 : tensor<i64>
}

// -----

// CHECK-LABEL: @keeps_casts_that_lose_digits_or_signs
// CHECK-COUNT-4: tw.cast
func.func @keeps_casts_that_lose_digits_or_signs(%x: tensor<4xf64>, %y: tensor<4xui8>) -> (tensor<4xf64>, tensor<4xf32>) {
  %0 = tw.cast %x : tensor<4xf64> -> tensor<4xf32>
  %1 = tw.cast %0 : tensor<4xf32> -> tensor<4xf64>
  %2 = tw.cast %y : tensor<4xui8> -> tensor<4xi8>
  %3 = tw.cast %2 : tensor<4xi8> -> tensor<4xf32>
  func.return %1, %3 : tensor<4xf64>, tensor<4xf32>
}

// -----

// The plan of blocks that attention without a mask has: which blocks of rows see the only block of keys.
// CHECK-LABEL: @literals_that_are_scattered_sorted_and_counted
// CHECK-NEXT:  %[[C:.*]] = tw.full 1 : i32 -> tensor<1xi32>
// CHECK-NEXT:  %[[S:.*]] = tw.constant dense<[5, 4, 0, 0]> : tensor<4xi64>
// CHECK-NEXT:  %[[I:.*]] = tw.constant dense<[2, 3, 0, 1]> : tensor<4xi64>
// CHECK-NEXT:  return %[[C]], %[[S]], %[[I]]
func.func @literals_that_are_scattered_sorted_and_counted() -> (tensor<1xi32>, tensor<4xi64>, tensor<4xi64>) {
  %one = tw.iota dim 0 start "1" step "7" -> tensor<1xi32>
  %t = tw.full 0 : i64 -> tensor<4xi64>
  %v = tw.constant dense<[4, 5]> : tensor<2xi64>
  %i = tw.constant dense<[-1, 2]> : tensor<2xi64>
  %s = tw.scatter %v into %t[%i] dims [0] at 0 : (tensor<4xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<4xi64>
  %q, %p = tw.sort %s dim 0 descending : tensor<4xi64> -> tensor<4xi64>, tensor<4xi64>
  func.return %one, %q, %p : tensor<1xi32>, tensor<4xi64>, tensor<4xi64>
}

// -----

// CHECK-LABEL: @a_literal_size_that_is_a_symbol
// CHECK-NEXT:  %[[C:.*]] = tw.full "s0*2" -> tensor<1xi64>
// CHECK-NEXT:  return %[[C]]
func.func @a_literal_size_that_is_a_symbol(%x: tensor<?xf32, #tw.shape<"s0">>) -> tensor<1xi64> {
  %i = tw.iota dim 0 start "s0*2" step "1" -> tensor<1xi64>
  func.return %i : tensor<1xi64>
}

// -----

// Sums of floats depend on their order.
// REMARK: tw.cumsum at {{.*}}: the constant would have more than 256 elements
// CHECK-LABEL: @keeps_what_is_not_exact_or_large
// CHECK:  tw.sum
// CHECK:  tw.cumsum
func.func @keeps_what_is_not_exact_or_large() -> (tensor<f32>, tensor<300xi64>) {
  %f = tw.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf32>
  %a = tw.sum %f over [0] : tensor<3xf32> -> tensor<f32>
  %n = tw.full 1 : i64 -> tensor<300xi64>
  %c = tw.cumsum %n dim 0 : tensor<300xi64>
  func.return %a, %c : tensor<f32>, tensor<300xi64>
}

// -----

// CHECK-LABEL: @bits_of_what_bits_stand_for
// CHECK-NEXT:  return %{{.*}}, %{{.*}} : tensor<4xi8>, tensor<4xi8>
func.func @bits_of_what_bits_stand_for(%x: tensor<4xi8>, %y: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>) {
  %a = tw.decode_float8 %x from "e4m3fn" : tensor<4xi8> -> tensor<4xf32>
  %b = tw.encode_float8 %a to "e4m3fn" clamped : tensor<4xf32> -> tensor<4xi8>
  %c = tw.decode_float8 %y from "e5m2fnuz" : tensor<4xi8> -> tensor<4xf32>
  %d = tw.encode_float8 %c to "e5m2fnuz" : tensor<4xf32> -> tensor<4xi8>
  func.return %b, %d : tensor<4xi8>, tensor<4xi8>
}

// -----

// Of another kind, and of one with several patterns for what is no number.
// CHECK-LABEL: @keeps_bits_that_change
// CHECK-COUNT-2: tw.encode_float8
func.func @keeps_bits_that_change(%x: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>) {
  %a = tw.decode_float8 %x from "e5m2" : tensor<4xi8> -> tensor<4xf32>
  %b = tw.encode_float8 %a to "e4m3fn" clamped : tensor<4xf32> -> tensor<4xi8>
  %c = tw.encode_float8 %a to "e5m2" : tensor<4xf32> -> tensor<4xi8>
  func.return %b, %c : tensor<4xi8>, tensor<4xi8>
}
