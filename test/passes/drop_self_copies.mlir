// RUN: tilewright-opt %s -p drop-self-copies --split-input-file | filecheck %s

// One buffer; so are two places in an arena that are the same.

// CHECK: tk.func @put
// CHECK-NEXT: %[[ONE:.*]] = arith.constant
// CHECK-NEXT: %[[I:.*]] = tk.load %at[d1]
// CHECK-NEXT: %[[P:.*]] = arith.index_cast %[[I]]
// CHECK-NEXT: tk.store %[[ONE]], %o[i0](%[[P]])
// CHECK-NEXT: }
func.func @in_place(%x: memref<4xf32>, %i: memref<2xi64>) {
  th.launch @put(%x, %i) into(%x) : (memref<4xf32>, memref<2xi64>) into (memref<4xf32>)
  %arena = th.arena "64" {th.requested = "128"} : memref<?xi8>
  %a = th.buffer %arena at "0" size "4" : memref<4xf32>
  %b = th.buffer %arena at "0" size "4" : memref<4xf32>
  th.launch @put(%a, %i) into(%b) : (memref<4xf32>, memref<2xi64>) into (memref<4xf32>)
  func.return
}
tk.func @put [4, 2] (%a: memref<4xf32>, %at: memref<2xi64>, %o: memref<4xf32>) {
  %0 = tk.load %a[d0] : memref<4xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<4xf32>
  %1 = arith.constant 1.0 : f32
  %2 = tk.load %at[d1] : memref<2xi64> -> i64
  %3 = arith.index_cast %2 : i64 to index
  tk.store %1, %o[i0](%3) : f32, memref<4xf32>
}

// -----

// Another launch of the same kernel copies: two kernels.

// CHECK-LABEL: @one_of_two
// CHECK-NEXT: th.launch @put_in_place(%x, %i) into(%x)
// CHECK-NEXT: th.launch @put(%x, %i) into(%y)
// CHECK-NEXT: th.launch @put_in_place(%y, %i) into(%y)
// CHECK: tk.func @put_in_place
// CHECK-NEXT: arith.constant
// CHECK-NEXT: tk.load %at[d1]
// CHECK: tk.func @put [
// CHECK-NEXT: %[[OLD:.*]] = tk.load %a[d0]
// CHECK-NEXT: tk.store %[[OLD]], %o[d0]
func.func @one_of_two(%x: memref<4xf32>, %y: memref<4xf32>, %i: memref<2xi64>) {
  th.launch @put(%x, %i) into(%x) : (memref<4xf32>, memref<2xi64>) into (memref<4xf32>)
  th.launch @put(%x, %i) into(%y) : (memref<4xf32>, memref<2xi64>) into (memref<4xf32>)
  th.launch @put(%y, %i) into(%y) : (memref<4xf32>, memref<2xi64>) into (memref<4xf32>)
  func.return
}
tk.func @put [4, 2] (%a: memref<4xf32>, %at: memref<2xi64>, %o: memref<4xf32>) {
  %0 = tk.load %a[d0] : memref<4xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<4xf32>
  %1 = arith.constant 1.0 : f32
  %2 = tk.load %at[d1] : memref<2xi64> -> i64
  %3 = arith.index_cast %2 : i64 to index
  tk.store %1, %o[i0](%3) : f32, memref<4xf32>
}

// -----

// Two places in the arena, and a load that has another subscript.

// CHECK: tk.func @elsewhere
// CHECK: tk.store %{{.*}}, %o[d0] : f32
// CHECK: tk.func @reversed
// CHECK: tk.store %{{.*}}, %o[d0] : f32
func.func @copies(%x: memref<16xf32>) {
  %arena = th.arena "128" {th.requested = "128"} : memref<?xi8>
  %a = th.buffer %arena at "0" size "16" : memref<16xf32>
  %b = th.buffer %arena at "64" size "16" : memref<16xf32>
  th.launch @elsewhere(%a) into(%b) : (memref<16xf32>) into (memref<16xf32>)
  th.launch @reversed(%x) into(%x) : (memref<16xf32>) into (memref<16xf32>)
  func.return
}
tk.func @elsewhere [16] (%a: memref<16xf32>, %o: memref<16xf32>) {
  %0 = tk.load %a[d0] : memref<16xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<16xf32>
  %1 = arith.constant 1.0 : f32
  tk.store %1, %o[3] combine add : f32, memref<16xf32>
}
tk.func @reversed [16] (%a: memref<16xf32>, %o: memref<16xf32>) {
  %0 = tk.load %a[-d0 + 15] : memref<16xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<16xf32>
  %1 = arith.constant 1.0 : f32
  tk.store %1, %o[3] combine add : f32, memref<16xf32>
}

// -----

// A part of a group keeps the copy: what the launch alone does without is a function of its own.
// CHECK-LABEL: func.func @part
// CHECK-NEXT:  th.launch @both_in_place(%x) into(%x, %y)
// CHECK-NEXT:  th.launch @g(%x) into(%y, %z)
// CHECK:       tk.func @both_in_place
// CHECK-NOT:     tk.store %{{.*}}, %o[
// CHECK:       tk.func @both [
// CHECK:         tk.store %{{.*}}, %o[d0]
func.func @part(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  th.launch @both(%x) into(%x, %y) : (memref<8xf32>) into (memref<8xf32>, memref<8xf32>)
  th.launch @g(%x) into(%y, %z) : (memref<8xf32>) into (memref<8xf32>, memref<8xf32>)
  func.return
}
tk.group @g (%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  tk.part @both(%x, %y, %z)
}
tk.func @both [8] (%a: memref<8xf32>, %o: memref<8xf32>, %p: memref<8xf32>) {
  %0 = tk.load %a[d0] : memref<8xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<8xf32>
  %1 = arith.negf %0 : f32
  tk.store %1, %p[d0] : f32, memref<8xf32>
}

// -----

// A kernel that does nothing else is not launched; @copy is, for another buffer, and so is a part of a group.

// CHECK-LABEL: func.func @idle
// CHECK-NEXT:  th.launch @copy(%x) into(%y)
// CHECK-NEXT:  th.launch @g(%x) into(%y)
// CHECK-NEXT:  func.return
// CHECK-NOT:   tk.func @gone
// CHECK:       tk.func @copy
// CHECK:       tk.func @grouped
func.func @idle(%x: memref<8xf32>, %y: memref<8xf32>) {
  th.launch @gone(%x) into(%x) : (memref<8xf32>) into (memref<8xf32>)
  th.launch @copy(%y) into(%y) : (memref<8xf32>) into (memref<8xf32>)
  th.launch @copy(%x) into(%y) : (memref<8xf32>) into (memref<8xf32>)
  th.launch @grouped(%x) into(%x) : (memref<8xf32>) into (memref<8xf32>)
  th.launch @g(%x) into(%y) : (memref<8xf32>) into (memref<8xf32>)
  func.return
}
tk.group @g (%x: memref<8xf32>, %y: memref<8xf32>) {
  tk.part @grouped(%x, %y)
}
tk.func @gone [8] (%a: memref<8xf32>, %o: memref<8xf32>) {
  %0 = tk.load %a[d0] : memref<8xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<8xf32>
}
tk.func @copy [8] (%a: memref<8xf32>, %o: memref<8xf32>) {
  %0 = tk.load %a[d0] : memref<8xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<8xf32>
}
tk.func @grouped [8] (%a: memref<8xf32>, %o: memref<8xf32>) {
  %0 = tk.load %a[d0] : memref<8xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<8xf32>
}

// -----

// A product is added where what it is added to lies: one tensor. Elsewhere ATen copies that.

// CHECK-LABEL: func.func @added_in_place
// CHECK:       %[[O:.*]] = th.view %b
// CHECK:       th.extern "aten::addmm.out"(%[[A:.*]], %[[B:.*]]) into(%[[O]]) {args = [#tw.arg<2>, #tw.arg<0>, #tw.arg<1>, 1 : i64, 1 : i64, #tw.arg<2>]}
// CHECK:       th.extern "aten::addmm.out"(%{{.*}}, %{{.*}}, %{{.*}}) into(%{{.*}}) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, 1 : i64, 1 : i64, #tw.arg<3>]}
// CHECK:       th.extern "aten::addmm.out"(%{{.*}}, %{{.*}}, %{{.*}}) into(%{{.*}}) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, 1 : i64, 1 : i64, #tw.arg<3>]}
func.func @added_in_place(%x: memref<8xf32>, %y: memref<16xf32>) {
  %arena = th.arena "128" {th.requested = "128"} : memref<?xi8>
  %a = th.buffer %arena at "0" size "8" : memref<8xf32>
  %b = th.buffer %arena at "0" size "8" : memref<8xf32>
  %c = th.buffer %arena at "64" size "8" : memref<8xf32>
  %s = th.view %a offset "0" sizes "2, 4" strides "4, 1" : memref<8xf32> -> !th.tensor<f32>
  %l = th.view %x offset "0" sizes "2, 4" strides "4, 1" : memref<8xf32> -> !th.tensor<f32>
  %r = th.view %y offset "0" sizes "4, 4" strides "4, 1" : memref<16xf32> -> !th.tensor<f32>
  %o = th.view %b offset "0" sizes "2, 4" strides "4, 1" : memref<8xf32> -> !th.tensor<f32>
  th.extern "aten::addmm.out"(%s, %l, %r) into(%o) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, 1 : i64, 1 : i64, #tw.arg<3>]} : (!th.tensor<f32>, !th.tensor<f32>, !th.tensor<f32>) into (!th.tensor<f32>)
  %p = th.view %c offset "0" sizes "2, 4" strides "4, 1" : memref<8xf32> -> !th.tensor<f32>
  th.extern "aten::addmm.out"(%o, %l, %r) into(%p) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, 1 : i64, 1 : i64, #tw.arg<3>]} : (!th.tensor<f32>, !th.tensor<f32>, !th.tensor<f32>) into (!th.tensor<f32>)
  %t = th.view %c offset "0" sizes "2, 4" strides "1, 2" : memref<8xf32> -> !th.tensor<f32>
  th.extern "aten::addmm.out"(%p, %l, %r) into(%t) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, 1 : i64, 1 : i64, #tw.arg<3>]} : (!th.tensor<f32>, !th.tensor<f32>, !th.tensor<f32>) into (!th.tensor<f32>)
  func.return
}
