// RUN: tilewright-opt %s -p bufferize,plan-memory,drop-self-copies --split-input-file | filecheck %s

// Users' Triton kernels: what they are given lies as it was traced, and they write where a result is wanted.

// CHECK-LABEL: @new_result
// CHECK-NEXT:    %r = th.empty sizes "4, 6" strides "6, 1" : memref<24xf32>
// CHECK-NEXT:    %0 = th.view %x offset "0" sizes "4, 6" strides "6, 1"
// CHECK-NEXT:    %1 = th.view %r offset "0" sizes "4, 6" strides "6, 1"
// CHECK-NEXT:    th.triton <"f", {{.*}}> grid "4, 1, 1"(%0) into(%1) {args = [#tw.arg<0>, #tw.arg<1>, 24 : i32]}
// CHECK-NEXT:    func.return %r
func.func @new_result(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = tw.triton <"f", 4, 3, "@triton.jit\0Adef f(x, out, n):\0A    pass"> grid "4, 1, 1" (%x) {args = [#tw.arg<0>, #tw.arg<1>, 24 : i32], inits = array<i64: -1>, strides = ["6, 1"]} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  func.return %r : tensor<4x6xf32>
}

// -----

// An argument that is updated: nothing is copied.

// CHECK-LABEL: @argument
// CHECK-NOT:     th.launch
// CHECK:         th.triton <"f", {{.*}}(%{{.*}}) into(%{{.*}})
// CHECK-NOT:     th.launch
func.func @argument(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) {
  %r = tw.triton <"f", 4, 3, "@triton.jit\0Adef f(x, out, n):\0A    pass"> grid "4, 1, 1" (%x, %y) {args = [#tw.arg<0>, #tw.arg<2>, 24 : i32], inits = array<i64: 1>, strides = ["6, 1", "6, 1"]} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  tw.write %r into %y : tensor<4x6xf32>
  func.return
}

// -----

// It is read as well, by another parameter: the kernel must not write to what it reads.

// CHECK-LABEL: @argument_that_is_read
// CHECK:         th.launch @copy(%x) into(%{{.*}})
// CHECK:         th.triton <"f"
// CHECK:         th.launch @copy_1(%{{.*}}) into(%x)
func.func @argument_that_is_read(%x: tensor<4x6xf32>) {
  %r = tw.triton <"f", 4, 3, "@triton.jit\0Adef f(x, out, n):\0A    pass"> grid "4, 1, 1" (%x) {args = [#tw.arg<0>, #tw.arg<1>, 24 : i32], inits = array<i64: 0>, strides = ["6, 1"]} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  tw.write %r into %x : tensor<4x6xf32>
  func.return
}

// -----

// The old value is returned: it stays what it was.

// CHECK-LABEL: @argument_that_is_returned
// CHECK:         th.launch @copy(%y) into(%{{.*}})
// CHECK:         th.triton <"f"
func.func @argument_that_is_returned(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %r = tw.triton <"f", 4, 3, "@triton.jit\0Adef f(x, out, n):\0A    pass"> grid "4, 1, 1" (%x, %y) {args = [#tw.arg<0>, #tw.arg<2>, 24 : i32], inits = array<i64: 1>, strides = ["6, 1", "6, 1"]} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  func.return %y, %r : tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// A temporary that dies here is updated where it is.

// CHECK-LABEL: @temporary
// CHECK:         th.launch @exp(%x) into(%r)
// CHECK-NEXT:    %{{.*}} = th.view %r
// CHECK-NEXT:    th.triton <"f", {{.*}}> grid "4, 1, 1"() into(%{{.*}}) {args = ["0", #tw.arg<0>, 24 : i32], candidates = [#tw.config<8, 1, "2, 1, 1", ["1", #tw.arg<0>, 24 : i32]>]}
// CHECK-NEXT:    func.return %r
func.func @temporary(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %e = tk.kernel [4, 6] ins(%x : tensor<4x6xf32>) -> (tensor<4x6xf32>) attributes {tk.name = "exp"} {
  ^bb0(%a: tensor<4x6xf32>, %o: tensor<4x6xf32>):
    %0 = tk.load %a[d0, d1] : tensor<4x6xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<4x6xf32>
  }
  %r = tw.triton <"f", 4, 3, "@triton.jit\0Adef f(x, out, n):\0A    pass"> grid "4, 1, 1" (%e) {args = ["0", #tw.arg<1>, 24 : i32], candidates = [#tw.config<8, 1, "2, 1, 1", ["1", #tw.arg<1>, 24 : i32]>], inits = array<i64: 0>, strides = ["6, 1"]} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  func.return %r : tensor<4x6xf32>
}

// -----

// Traced in columns, both: the operand lies so, and the result, which is wanted in rows, is copied.

// CHECK-LABEL: @columns
// CHECK-NOT:     th.launch
// CHECK:         th.view %x offset "0" sizes "6, 4" strides "1, 6"
// CHECK:         th.triton <"f"
// CHECK-NEXT:    th.launch @copy(%{{.*}}) into(%r)
func.func @columns(%x: tensor<4x6xf32>) -> tensor<6x4xf32> {
  %t = tw.transpose %x by [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  %r = tw.triton <"f", 4, 3, "@triton.jit\0Adef f(x, out, n):\0A    pass"> grid "4, 1, 1" (%t) {args = [#tw.arg<0>, #tw.arg<1>, 24 : i32], inits = array<i64: -1>, strides = ["1, 6"], tw.strides = ["1, 6"]} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  func.return %r : tensor<6x4xf32>
}

// -----

// Traced in rows, which are columns now: copied before.

// CHECK-LABEL: @rows
// CHECK:         th.launch @copy(%x) into(%[[ROWS:.*]]) :
// CHECK:         th.view %[[ROWS]] offset "0" sizes "6, 4" strides "4, 1"
// CHECK:         th.triton <"f"
// CHECK-NOT:     th.launch
func.func @rows(%x: tensor<4x6xf32>) -> tensor<6x4xf32> {
  %t = tw.transpose %x by [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  %r = tw.triton <"f", 4, 3, "@triton.jit\0Adef f(x, out, n):\0A    pass"> grid "4, 1, 1" (%t) {args = [#tw.arg<0>, #tw.arg<1>, 24 : i32], inits = array<i64: -1>, strides = ["4, 1"]} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  func.return %r : tensor<6x4xf32>
}

// -----

// The same of a temporary, which dies there: its turned copy is not the temporary itself.

// CHECK-LABEL: @turned_temporary
// CHECK:         th.launch @exp(%x) into(%[[E:.*]]) :
// CHECK-NOT:     th.launch @copy(%[[E]]) into(%[[E]])
// CHECK:         th.triton <"f"
// CHECK:         tk.func @copy [6, 4] (%from: memref<24xf32>, %to: memref<24xf32>) {
func.func @turned_temporary(%x: tensor<4x6xf32>) -> tensor<6x4xf32> {
  %e = tk.kernel [4, 6] ins(%x : tensor<4x6xf32>) -> (tensor<4x6xf32>) attributes {tk.name = "exp"} {
  ^bb0(%a: tensor<4x6xf32>, %o: tensor<4x6xf32>):
    %0 = tk.load %a[d0, d1] : tensor<4x6xf32> -> f32
    %1 = math.exp %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<4x6xf32>
  }
  %t = tw.transpose %e by [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  %r = tw.triton <"f", 4, 3, "@triton.jit\0Adef f(x, out, n):\0A    pass"> grid "4, 1, 1" (%t) {args = [#tw.arg<0>, #tw.arg<1>, 24 : i32], inits = array<i64: -1>, strides = ["4, 1"]} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  func.return %r : tensor<6x4xf32>
}

// -----

// Two updates of an argument, one after the other, by a kernel and by an operator: nothing is copied.

// CHECK-LABEL: @one_after_the_other
// CHECK-NOT:     th.launch
// CHECK:         %[[Y:.*]] = th.view %y
// CHECK:         th.triton <"f", {{.*}}(%{{.*}}) into(%[[Y]])
// CHECK-NEXT:    th.extern "my::put"(%{{.*}}) into(%[[Y]]) {args = [#tw.arg<1>, [#tw.arg<0>], "name"]}
// CHECK-NEXT:    func.return
func.func @one_after_the_other(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) {
  %r = tw.triton <"f", 4, 3, "@triton.jit\0Adef f(x, out, n):\0A    pass"> grid "4, 1, 1" (%x, %y) {args = [#tw.arg<0>, #tw.arg<2>, 24 : i32], inits = array<i64: 1>, strides = ["6, 1", "6, 1"]} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = tw.update "my::put"(%x, %r) {args = [#tw.arg<2>, [#tw.arg<0>], "name"], inits = array<i64: 1>, strides = ["6, 1", "6, 1"]} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  tw.write %s into %y : tensor<4x6xf32>
  func.return
}

// -----

// The first update is returned as well: the second one begins with a copy.

// CHECK-LABEL: @between_updates
// CHECK:         th.launch @copy(%y) into(%r)
// CHECK:         th.extern "my::put"
// CHECK:         th.launch @copy{{.*}}(%r) into(%y)
// CHECK:         th.extern "my::put"
func.func @between_updates(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = tw.update "my::put"(%x, %y) {args = [#tw.arg<2>, #tw.arg<0>], inits = array<i64: 1>, strides = ["6, 1", "6, 1"]} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = tw.update "my::put"(%x, %r) {args = [#tw.arg<2>, #tw.arg<0>], inits = array<i64: 1>, strides = ["6, 1", "6, 1"]} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  tw.write %s into %y : tensor<4x6xf32>
  func.return %r : tensor<4x6xf32>
}

// -----

// An operator that is given a part of an argument, and the rest of a column, which is copied.

// CHECK-LABEL: @part_of_an_argument
// CHECK:         th.launch @copy(%x) into(%[[C:[0-9a-z_]+]])
// CHECK:         %[[X:.*]] = th.view %[[C]] offset "0" sizes "4" strides "1"
// CHECK:         %[[Y:.*]] = th.view %y offset "6" sizes "4" strides "1"
// CHECK-NEXT:    th.extern "my::put"(%[[X]]) into(%[[Y]]) {args = [#tw.arg<1>, #tw.arg<0>]}
// CHECK-NEXT:    func.return
func.func @part_of_an_argument(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) {
  %v = tw.slice %x starts "0, 2" steps "1, 1" : tensor<4x6xf32> -> tensor<4x1xf32>
  %c = tw.reshape %v : tensor<4x1xf32> -> tensor<4xf32>
  %r = tw.update "my::put"(%c, %y) {args = [#tw.arg<3>, #tw.arg<0>], inits = array<i64: 1>, parts = [#tw.part<0, "6", "4", "1">], strides = ["1", "6, 1"]} : (tensor<4xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  tw.write %r into %y : tensor<4x6xf32>
  func.return
}

// -----

// What an operator returns besides is a tensor of its own.

// CHECK-LABEL: @returns_as_well
// CHECK-NOT:     th.launch
// CHECK:         %[[Y:.*]] = th.view %y
// CHECK-NEXT:    %[[S:.*]] = th.call "my::step"(%{{.*}}, %[[Y]]) sizes ["4"] strides ["1"] {args = [#tw.arg<1>, #tw.arg<0>]}
// CHECK-NEXT:    func.return %[[S]] : !th.tensor<f32>
func.func @returns_as_well(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4xf32> {
  %r, %s = tw.update "my::step"(%x, %y) {args = [#tw.arg<2>, #tw.arg<0>], inits = array<i64: 1>, strides = ["6, 1", "6, 1"]} : (tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>)
  tw.write %r into %y : tensor<4x6xf32>
  func.return %s : tensor<4xf32>
}
