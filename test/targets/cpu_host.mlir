// RUN: tilewright-translate %s --to cpp | filecheck %s

// CHECK:      #include "prelude_math.h"
// CHECK-NEXT: #include "prelude_host.h"

// CHECK:      static const tw::Place PLACES[] = {
// CHECK:        {"aten::addmm.out", "model.py:4"},
// CHECK:      static tw::Error (*aoti_torch_cpu_addmm_out)(Handle, Handle, Handle, Handle, f64, f64);
// CHECK-NEXT: static tw::Error (*aoti_torch_cpu_sort)(Handle, i64, i32, Handle*, Handle*);

// CHECK-LABEL: static PyObject* tw_main(PyObject* self, PyObject* inputs) {
// CHECK-NEXT:    tw::Call<4> call(self, inputs, PLACES);
// CHECK-NEXT:    if (!call.has_inputs(3)) return nullptr;
// CHECK-NEXT:    f32* const x0 = (f32*)call.data(0);  // x
// CHECK-NEXT:    {{.*}} const i64 s0 = call.integer(1);
// CHECK-NEXT:    if (call.bad_input || PyErr_Occurred()) return nullptr;
// CHECK-NEXT:    call.release_gil();

// The arena and a buffer in it.
// CHECK-NEXT:    char* const arena1 = call.arena(s0 * 64);
// CHECK-NEXT:    if (!arena1) return call.out_of_memory({{[0-9]+}});
// CHECK-NEXT:    f32* const b2 = (f32*)(arena1 + (s0 * 64));

// A result, and a kernel that writes it.
// CHECK-NEXT:    const i64 L0[] = {s0, 4, 4, 1};
// CHECK-NEXT:    if (!call.empty(0, 2, L0, L0 + 2, 6, {{.*}})) return call.out_of_memory({{[0-9]+}});
// CHECK-NEXT:    f32* const b3 = (f32*)(call.owned[0].data);
// CHECK-NEXT:    k(x0, b3, s0, &call.error);
// CHECK-NEXT:    if (call.error.place >= 0) return call.kernel_failed();

// A library call through a C function: handles are made where they are first needed.
// CHECK-NEXT:    static const i64 L1[] = {4, 4, 4, 1};
// CHECK-NEXT:    const Handle t4 = call.view(0, ((char*)x0 + 8), 2, L1, L1 + 2, 6, true);
// CHECK:         const Handle t5 = call.view(1, b3, 2, L0, L0 + 2, 6, false);
// CHECK:         if (aoti_torch_cpu_addmm_out(t5, t5, t5, t4, 1, 0.5)) return call.aten_failed({{[0-9]}});

// Two results of which the second one is dropped.
// CHECK-NEXT:    if (aoti_torch_cpu_sort(t4, 1, 0, &call.owned[1].handle, &call.owned[2].handle)) return
// CHECK-NEXT:    if (!call.adopt(1, call.owned[1].handle, 2, L1, L1 + 2, 6)) return call.unexpected(
// CHECK-NEXT:    if (!call.adopt(2, call.owned[2].handle, 2, L1, L1 + 2, 4)) return call.unexpected(
// CHECK-NEXT:    call.drop(2);

// A call through Python gets the symbolic number and the layout that is expected.
// CHECK-NEXT:    const Handle q{{[0-9]+}}_tensors[] = {call.owned[1].handle};
// CHECK-NEXT:    const i64 q{{[0-9]+}}_integers[] = {s0 + 1, 4, 4, 4, 1};
// CHECK-NEXT:    if (!call.fallback(0, {{.*}}, 1, {{.*}}, 5, 3, 1)) return nullptr;  // aten::roll

// A new tensor, an alias of it, an argument and a number.
// CHECK-NEXT:    call.hold_gil();
// CHECK-NEXT:    static const i64 L2[] = {3, 1};
// CHECK-NEXT:    PyObject* items[] = {call.result(0), call.alias(call.result(3), 1, 1, L2, L2 + 1), call.input(2), PyLong_FromLongLong(s0)};
// CHECK-NEXT:    return call.results(items, 4);

tk.func @k [4] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0] scheduled {
  %0 = arith.constant true
  tk.assert %0 "index out of range" : i1
}

func.func @main(%x: memref<?xf32> {tw.name = "x"}, %s0: index {tw.symbol = "s0"}, %y: memref<4xf32>)
    -> (memref<?xf32>, !th.tensor<f32>, memref<4xf32>, index) {
  %arena = th.arena "s0*64" : memref<?xi8>
  %b = th.buffer %arena at "s0*64" size "4" : memref<4xf32>
  %o = th.empty sizes "s0, 4" strides "4, 1" : memref<?xf32>
  th.launch @k(%x) into(%o) symbols "s0" : (memref<?xf32>) into (memref<?xf32>)
  %t = th.view %x offset "2" sizes "4, 4" strides "4, 1" : memref<?xf32> -> !th.tensor<f32>
  %u = th.view %o offset "0" sizes "s0, 4" strides "4, 1" : memref<?xf32> -> !th.tensor<f32>
  th.extern "aten::addmm.out"(%t) into(%u)
    {args = [#tw.arg<1>, #tw.arg<1>, #tw.arg<0>, 1 : i64, 0.5, #tw.arg<1>]}
    : (!th.tensor<f32>) into (!th.tensor<f32>) loc("model.py":4:0)
  %v, %i = th.call "aten::sort"(%t) sizes ["4, 4", "4, 4"] strides ["4, 1", "4, 1"]
    {args = [#tw.arg<0>, 1 : i64, false]} : (!th.tensor<f32>) -> (!th.tensor<f32>, !th.tensor<i64>)
  th.free %i : !th.tensor<i64>
  %r = th.call "aten::roll"(%v) sizes ["4, 4"] strides ["4, 1"]
    {args = [#tw.arg<0>, [#tw.size<"s0 + 1">], [0 : i64]]} : (!th.tensor<f32>) -> (!th.tensor<f32>)
  %w = th.view %r offset "1" sizes "3" strides "1" : !th.tensor<f32> -> !th.tensor<f32>
  func.return %o, %w, %y, %s0 : memref<?xf32>, !th.tensor<f32>, memref<4xf32>, index
}
