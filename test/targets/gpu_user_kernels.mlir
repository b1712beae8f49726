// RUN: tilewright-translate %s --to=triton | filecheck %s
// RUN: not tilewright-translate %s --to=cpp 2>&1 | filecheck %s --check-prefix=CPU

// A user's kernel has its own text, which follows ours, once.

// CHECK:      import triton
// CHECK-NEXT: import triton.language as tl
// CHECK:      import triton
// CHECK-NEXT: from triton import language as tl
// CHECK:      @triton.jit
// CHECK-NEXT: def double(x, out, n, B: tl.constexpr):
// CHECK-NEXT:     i = tl.program_id(0) * B + tl.arange(0, B)
// CHECK-NEXT:     tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
// CHECK-NOT:  def double

// CPU:      TW2108: cpu_openmp cannot launch the Triton kernel `double`
// CPU-NEXT:   where: loc("model.py":7:0)
// CPU-NEXT:   why:   Triton compiles for GPUs
// CPU-NEXT:   fix:   move the tensors to a GPU; `options={'target': 'gpu_emulated'}` executes the kernel on the CPU
func.func @main(%x: memref<512xf32> {th.sizes = "512", th.strides = "1"}) -> memref<512xf32> {
  %r = th.empty sizes "512" strides "1" : memref<512xf32>
  %a = th.view %x offset "0" sizes "512" strides "1" : memref<512xf32> -> !th.tensor<f32>
  %o = th.view %r offset "0" sizes "512" strides "1" : memref<512xf32> -> !th.tensor<f32>
  th.triton <"double", 4, 3, "import triton\0Afrom triton import language as tl\0A\0A\0A@triton.jit\0Adef double(x, out, n, B: tl.constexpr):\0A    i = tl.program_id(0) * B + tl.arange(0, B)\0A    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)\0A"> grid "4, 1, 1" (%a) into(%o) {args = [#tw.arg<0>, #tw.arg<1>, 512 : i32, "128"]} : (!th.tensor<f32>) into (!th.tensor<f32>) loc("model.py":7:0)
  th.triton <"double", 4, 3, "import triton\0Afrom triton import language as tl\0A\0A\0A@triton.jit\0Adef double(x, out, n, B: tl.constexpr):\0A    i = tl.program_id(0) * B + tl.arange(0, B)\0A    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)\0A"> grid "4, 1, 1" (%o) into(%o) {args = [#tw.arg<0>, #tw.arg<1>, 512 : i32, "128"]} : (!th.tensor<f32>) into (!th.tensor<f32>) loc("model.py":8:0)
  func.return %r : memref<512xf32>
}
