// RUN: tilewright-opt %s -p plan-memory --split-input-file | filecheck %s

// Two live at a time: the third takes the place of the first.

// CHECK-LABEL: @reuses_dead_memory
// CHECK-NEXT: %arena = th.arena "512" {th.requested = "768"}
// CHECK-NEXT: %a = th.buffer %arena at "[[A:[0-9]+]]" size "64"
// CHECK: %b = th.buffer %arena at "[[B:[0-9]+]]" size "64"
// CHECK: %c = th.buffer %arena at "[[A]]" size "64"
func.func @reuses_dead_memory(%x: memref<64xf32>, %y: memref<64xf32>) {
  %a = th.alloc "64" : memref<64xf32>
  th.launch @f(%x) into (%a) : (memref<64xf32>) into (memref<64xf32>)
  %b = th.alloc "64" : memref<64xf32>
  th.launch @f(%a) into (%b) : (memref<64xf32>) into (memref<64xf32>)
  %c = th.alloc "64" : memref<64xf32>
  th.launch @f(%b) into (%c) : (memref<64xf32>) into (memref<64xf32>)
  th.launch @f(%c) into (%y) : (memref<64xf32>) into (memref<64xf32>)
  func.return
}
tk.func @f [64] (%a: memref<64xf32>, %o: memref<64xf32>) {
  %0 = tk.load %a[-d0 + 63] : memref<64xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<64xf32>
}

// -----

// CHECK-LABEL: @in_place
// CHECK-NEXT: th.arena "256" {th.requested = "768"}
// CHECK-NEXT: %a = th.buffer %arena at "0"
// CHECK: %b = th.buffer %arena at "0"
// CHECK: %c = th.buffer %arena at "0"
func.func @in_place(%x: memref<64xf32>, %y: memref<64xf32>) {
  %a = th.alloc "64" : memref<64xf32>
  th.launch @f(%x) into (%a) : (memref<64xf32>) into (memref<64xf32>)
  %b = th.alloc "64" : memref<64xf32>
  th.launch @f(%a) into (%b) : (memref<64xf32>) into (memref<64xf32>)
  %c = th.alloc "64" : memref<64xf32>
  th.launch @f(%b) into (%c) : (memref<64xf32>) into (memref<64xf32>)
  th.launch @f(%c) into (%y) : (memref<64xf32>) into (memref<64xf32>)
  func.return
}
tk.func @f [64] (%a: memref<64xf32>, %o: memref<64xf32>) attributes {tk.inplace = [array<i64: 0, 0>]} {
  %0 = tk.load %a[d0] : memref<64xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<64xf32>
}

// -----

// Not in place: the input is read later, or stands twice, the second time for another use.

// CHECK-LABEL: @not_in_place
// CHECK-NEXT: th.arena "768" {th.requested = "768"}
func.func @not_in_place(%x: memref<64xf32>, %y: memref<64xf32>) {
  %a = th.alloc "64" : memref<64xf32>
  th.launch @f(%x, %x) into (%a) : (memref<64xf32>, memref<64xf32>) into (memref<64xf32>)
  %b = th.alloc "64" : memref<64xf32>
  th.launch @f(%a, %x) into (%b) : (memref<64xf32>, memref<64xf32>) into (memref<64xf32>)
  %c = th.alloc "64" : memref<64xf32>
  th.launch @f(%b, %b) into (%c) : (memref<64xf32>, memref<64xf32>) into (memref<64xf32>)
  th.launch @f(%a, %c) into (%y) : (memref<64xf32>, memref<64xf32>) into (memref<64xf32>)
  func.return
}
tk.func @f [64] (%a: memref<64xf32>, %b: memref<64xf32>, %o: memref<64xf32>) attributes {tk.inplace = [array<i64: 0, 0>]} {
  %0 = tk.load %a[d0] : memref<64xf32> -> f32
  %1 = tk.load %b[-d0 + 63] : memref<64xf32> -> f32
  %2 = arith.addf %0, %1 : f32
  tk.store %2, %o[d0] : f32, memref<64xf32>
}

// -----

// Sizes in multiples of one symbol are packed like static ones; others have their own place.

// CHECK-LABEL: @symbolic
// CHECK-NEXT: th.arena "s1*s2*64 + s0*768 + 64"
// CHECK-NEXT: %a = th.buffer %arena at "[[A:.*]]" size "s0*64"
// CHECK: %b = th.buffer %arena at "0" size "s0*128"
// CHECK: %c = th.buffer %arena at "[[A]]" size "s0*64"
// CHECK: %d = th.buffer %arena at "s0*768" size "s1*s2"
// CHECK: %e = th.buffer %arena at "s1*s2*64 + s0*768" size "1"
func.func @symbolic(%x: memref<?xf32>) {
  %a = th.alloc "s0*64" : memref<?xf32>
  th.launch @f(%x) into (%a) : (memref<?xf32>) into (memref<?xf32>)
  %b = th.alloc "s0*128" : memref<?xf32>
  th.launch @f(%a) into (%b) : (memref<?xf32>) into (memref<?xf32>)
  %c = th.alloc "s0*64" : memref<?xf32>
  th.launch @f(%b) into (%c) : (memref<?xf32>) into (memref<?xf32>)
  %d = th.alloc "s1*s2" : memref<?xf32>
  th.launch @f(%c) into (%d) : (memref<?xf32>) into (memref<?xf32>)
  %e = th.alloc "1" : memref<1xf32>
  th.launch @g(%d) into (%e) : (memref<?xf32>) into (memref<1xf32>)
  th.launch @h(%e) into (%x) : (memref<1xf32>) into (memref<?xf32>)
  func.return
}

// -----

// What ATen made goes after its last use, a view included; what is returned stays.

// CHECK-LABEL: @frees_early
// CHECK: th.launch @f(%d) into(%o)
// CHECK-NEXT: th.free %t : !th.tensor<f32>
// CHECK-NEXT: %u = th.call
// CHECK-NOT: th.free %u
// CHECK: return %o, %v
func.func @frees_early(%x: memref<4xf32>) -> (memref<4xf32>, !th.tensor<f32>) {
  %t = th.call "aten::rand"() sizes ["4"] strides ["1"] {args = []} : () -> (!th.tensor<f32>)
  %d = th.data %t size "4" : !th.tensor<f32> -> memref<4xf32>
  %o = th.empty sizes "4" strides "1" : memref<4xf32>
  th.launch @f(%d) into (%o) : (memref<4xf32>) into (memref<4xf32>)
  %u = th.call "aten::rand"() sizes ["4"] strides ["1"] {args = []} : () -> (!th.tensor<f32>)
  %v = th.view %u offset "0" sizes "2, 2" strides "2, 1" : !th.tensor<f32> -> !th.tensor<f32>
  func.return %o, %v : memref<4xf32>, !th.tensor<f32>
}

// -----

// What a result is made of in place is computed in the result: no temporary is left.

// CHECK-LABEL: @computes_in_result
// CHECK-NEXT: %o = th.empty sizes "8, 8" strides "8, 1"
// CHECK-NEXT: %t = th.view %o
// CHECK-NEXT: th.extern "aten::exp.out"(%x) into(%t)
// CHECK-NEXT: th.launch @f(%o) into(%o)
// CHECK-NEXT: th.launch @f(%o) into(%o)
// CHECK-NEXT: return %o
func.func @computes_in_result(%x: !th.tensor<f32>) -> memref<64xf32> {
  %a = th.alloc "64" : memref<64xf32>
  %t = th.view %a offset "0" sizes "8, 8" strides "8, 1" : memref<64xf32> -> !th.tensor<f32>
  th.extern "aten::exp.out"(%x) into (%t) {args = [#tw.arg<0>, #tw.arg<1>]} : (!th.tensor<f32>) into (!th.tensor<f32>)
  %b = th.alloc "64" : memref<64xf32>
  th.launch @f(%a) into (%b) : (memref<64xf32>) into (memref<64xf32>)
  %o = th.empty sizes "8, 8" strides "8, 1" : memref<64xf32>
  th.launch @f(%b) into (%o) : (memref<64xf32>) into (memref<64xf32>)
  func.return %o : memref<64xf32>
}
tk.func @f [64] (%a: memref<64xf32>, %o: memref<64xf32>) attributes {tk.inplace = [array<i64: 0, 0>]} {
  %0 = tk.load %a[d0] : memref<64xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<64xf32>
}

// -----

// The result is written in two parts: it is in use before the kernel that could work in place.

// CHECK-LABEL: @result_in_use
// CHECK: th.arena
// CHECK: th.launch @f(%a) into(%o)
func.func @result_in_use(%x: memref<64xf32>) -> memref<64xf32> {
  %a = th.alloc "64" : memref<64xf32>
  th.launch @f(%x) into (%a) : (memref<64xf32>) into (memref<64xf32>)
  %o = th.empty sizes "64" strides "1" : memref<64xf32>
  th.launch @f(%x) into (%o) : (memref<64xf32>) into (memref<64xf32>)
  th.launch @f(%a) into (%o) : (memref<64xf32>) into (memref<64xf32>)
  func.return %o : memref<64xf32>
}
tk.func @f [64] (%a: memref<64xf32>, %o: memref<64xf32>) attributes {tk.inplace = [array<i64: 0, 0>]} {
  %0 = tk.load %a[d0] : memref<64xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<64xf32>
}

// -----

// Memory that %b took over is not free before %b is: what begins meanwhile stands elsewhere.

// CHECK-LABEL: @taken_over_until_its_last_use
// CHECK: %a = th.buffer %arena at "[[A:[0-9]+]]"
// CHECK: %b = th.buffer %arena at "[[A]]"
// CHECK-NOT: %c = th.buffer %arena at "[[A]]"
// CHECK: %c = th.buffer %arena at
func.func @taken_over_until_its_last_use(%x: memref<64xf32>, %y: memref<64xf32>, %z: memref<64xf32>) {
  %a = th.alloc "64" : memref<64xf32>
  th.launch @copy(%x) into (%a) : (memref<64xf32>) into (memref<64xf32>)
  %b = th.alloc "64" : memref<64xf32>
  th.launch @f(%a) into (%b) : (memref<64xf32>) into (memref<64xf32>)
  %c = th.alloc "64" : memref<64xf32>
  th.launch @copy(%x) into (%c) : (memref<64xf32>) into (memref<64xf32>)
  th.launch @copy(%c) into (%z) : (memref<64xf32>) into (memref<64xf32>)
  th.launch @copy(%b) into (%y) : (memref<64xf32>) into (memref<64xf32>)
  func.return
}
tk.func @f [64] (%a: memref<64xf32>, %o: memref<64xf32>) attributes {tk.inplace = [array<i64: 0, 0>]} {
  %0 = tk.load %a[d0] : memref<64xf32> -> f32
  %1 = math.exp %0 : f32
  tk.store %1, %o[d0] : f32, memref<64xf32>
}
tk.func @copy [64] (%a: memref<64xf32>, %o: memref<64xf32>) {
  %0 = tk.load %a[-d0 + 63] : memref<64xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<64xf32>
}

// -----

// A product is added where what it is added to lies, if that ends there and is no factor; and to be returned.

// CHECK-LABEL: @added_in_place
// CHECK: %b = th.buffer %arena at "[[B:[0-9]+]]"
// CHECK-NOT: %c = th.buffer %arena at "[[B]]"
// CHECK: %c = th.buffer %arena at "[[C:[0-9]+]]"
// CHECK: th.extern "aten::addmm.out"
// CHECK: %r = th.empty
// CHECK: %[[S:.*]] = th.view %r offset
// CHECK: %[[T:.*]] = th.view %r offset
// CHECK: th.extern "aten::addmm.out"(%[[S]], %{{.*}}, %{{.*}}) into(%[[T]])
// CHECK: return %r
func.func @added_in_place(%x: memref<16xf32>) -> memref<16xf32> {
  %b = th.alloc "16" : memref<16xf32>
  th.launch @copy(%x) into (%b) : (memref<16xf32>) into (memref<16xf32>)
  %c = th.alloc "16" : memref<16xf32>
  %f = th.view %b offset "0" sizes "4, 4" strides "4, 1" : memref<16xf32> -> !th.tensor<f32>
  %g = th.view %c offset "0" sizes "4, 4" strides "4, 1" : memref<16xf32> -> !th.tensor<f32>
  th.extern "aten::addmm.out"(%f, %f, %f) into(%g) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, 1 : i64, 1 : i64, #tw.arg<3>]} : (!th.tensor<f32>, !th.tensor<f32>, !th.tensor<f32>) into (!th.tensor<f32>)
  %d = th.alloc "16" : memref<16xf32>
  th.launch @copy(%c) into (%d) : (memref<16xf32>) into (memref<16xf32>)
  %s = th.view %d offset "0" sizes "4, 4" strides "4, 1" : memref<16xf32> -> !th.tensor<f32>
  %y = th.view %x offset "0" sizes "4, 4" strides "4, 1" : memref<16xf32> -> !th.tensor<f32>
  %r = th.empty sizes "4, 4" strides "4, 1" : memref<16xf32>
  %t = th.view %r offset "0" sizes "4, 4" strides "4, 1" : memref<16xf32> -> !th.tensor<f32>
  th.extern "aten::addmm.out"(%s, %y, %y) into(%t) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, 1 : i64, 1 : i64, #tw.arg<3>]} : (!th.tensor<f32>, !th.tensor<f32>, !th.tensor<f32>) into (!th.tensor<f32>)
  func.return %r : memref<16xf32>
}
tk.func @copy [16] (%a: memref<16xf32>, %o: memref<16xf32>) {
  %0 = tk.load %a[-d0 + 15] : memref<16xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<16xf32>
}
