// RUN: tilewright-translate %s --to=triton -p coalesce-axes,flatten-axes,schedule-gpu,apply-schedule | filecheck %s

// What is read once is written inside of what reads it, in the order of the ops: (x - m) * r + b.
// CHECK-LABEL: def normalized(
// CHECK: v4 = tl.load(a0 + x0).to(tl.float32)
// CHECK-NEXT: v5 = tl.load(a1)
// CHECK-NEXT: v6 = tl.load(a2)
// CHECK-NEXT: tl.store(a3 + x0, ((v4 - v5) * v6 + 0.5).to(tl.bfloat16))
tk.func @normalized [1024] (%x: memref<1024xbf16>, %m: memref<1xf32>, %r: memref<1xf32>, %o: memref<1024xbf16>) {
  %b = arith.constant 5.000000e-01 : f32
  %0 = tk.load %x[d0] : memref<1024xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %m[0] : memref<1xf32> -> f32
  %3 = tk.load %r[0] : memref<1xf32> -> f32
  %4 = arith.subf %1, %2 : f32
  %5 = arith.mulf %4, %3 : f32
  %6 = arith.addf %5, %b : f32
  %7 = arith.truncf %6 : f32 to bf16
  tk.store %7, %o[d0] : bf16, memref<1024xbf16>
}

// Parentheses stay where another order would round otherwise.
// CHECK-LABEL: def right_first(
// CHECK: tl.store(a2 + x0, v3 - (v3 - v4))
tk.func @right_first [1024] (%x: memref<1024xf32>, %y: memref<1024xf32>, %o: memref<1024xf32>) {
  %0 = tk.load %x[d0] : memref<1024xf32> -> f32
  %1 = tk.load %y[d0] : memref<1024xf32> -> f32
  %2 = arith.subf %0, %1 : f32
  %3 = arith.subf %0, %2 : f32
  tk.store %3, %o[d0] : f32, memref<1024xf32>
}

// What is read twice has a name.
// CHECK-LABEL: def twice(
// CHECK: v3 = libdevice.exp(v2)
// CHECK-NEXT: tl.store(a1 + x0, v3 * v3)
tk.func @twice [1024] (%x: memref<1024xf32>, %o: memref<1024xf32>) {
  %0 = tk.load %x[d0] : memref<1024xf32> -> f32
  %1 = math.exp %0 : f32
  %2 = arith.mulf %1, %1 : f32
  tk.store %2, %o[d0] : f32, memref<1024xf32>
}

// So has what another op comes after that is not inside of the same: nothing is computed later or earlier.
// CHECK-LABEL: def apart(
// CHECK: v3 = libdevice.exp(v2)
// CHECK-NEXT: v4 = libdevice.sin(v2)
// CHECK-NEXT: tl.store(a1 + x0, v3)
// CHECK-NEXT: tl.store(a1 + (x0 + 1024), v4)
tk.func @apart [1024] (%x: memref<1024xf32>, %o: memref<2048xf32>) {
  %0 = tk.load %x[d0] : memref<1024xf32> -> f32
  %1 = math.exp %0 : f32
  %2 = math.sin %0 : f32
  tk.store %1, %o[d0] : f32, memref<2048xf32>
  tk.store %2, %o[d0 + 1024] : f32, memref<2048xf32>
}

// And what stands at another of the user's lines, whose comment it would lose.
// CHECK-LABEL: def places(
// CHECK: # model.py:2
// CHECK: v3 = libdevice.exp(v2)
// CHECK-NEXT: # model.py:3
// CHECK-NEXT: tl.store(a1 + x0, libdevice.sin(v3))
tk.func @places [1024] (%x: memref<1024xf32>, %o: memref<1024xf32>) {
  %0 = tk.load %x[d0] : memref<1024xf32> -> f32 loc("model.py":2:0)
  %1 = math.exp %0 : f32 loc("model.py":2:0)
  %2 = math.sin %1 : f32 loc("model.py":3:0)
  tk.store %2, %o[d0] : f32, memref<1024xf32> loc("model.py":3:0)
} loc("model.py":1:0)

// Lines stay readable.
// CHECK-LABEL: def long(
// CHECK: v3 = libdevice.sqrt(libdevice.exp(libdevice.sin(libdevice.cos(v2))))
// CHECK-NEXT: tl.store(a1 + x0, _tanh(v3))
tk.func @long [1024] (%x: memref<1024xf32>, %o: memref<1024xf32>) {
  %0 = tk.load %x[d0] : memref<1024xf32> -> f32
  %1 = math.cos %0 : f32
  %2 = math.sin %1 : f32
  %3 = math.exp %2 : f32
  %4 = math.sqrt %3 : f32
  %5 = math.tanh %4 : f32
  tk.store %5, %o[d0] : f32, memref<1024xf32>
}

// What a graph's arguments are called is a comment.
// CHECK-LABEL: def copied(
// CHECK-NEXT: # [1024]
// CHECK-NEXT: # a0: layer.weight
func.func @main(%x: memref<1024xf32> {tw.name = "layer.weight"}) -> memref<1024xf32> {
  %o = th.empty sizes "1024" strides "1" : memref<1024xf32>
  th.launch @copied(%x) into(%o) : (memref<1024xf32>) into (memref<1024xf32>)
  func.return %o : memref<1024xf32>
}
tk.func @copied [1024] (%x: memref<1024xf32>, %o: memref<1024xf32>) {
  %0 = tk.load %x[d0] : memref<1024xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<1024xf32>
}

// A value that is repeated twice, and does not stay inside, has one name wherever it is read.
// CHECK-LABEL: def repeated_twice(
// CHECK: [[X:v[0-9]+]] = tl.load(a0)
// CHECK-NEXT: [[E:v[0-9]+]] = libdevice.exp([[X]])
// CHECK-NEXT: [[Y:v[0-9]+]] = tl.load(a1 + (x0 * 64 + x1))
// CHECK-NEXT: tl.store(a2 + (x0 * 64 + x1), [[Y]] * [[E]])
tk.func @repeated_twice [16, 64] (%x: memref<1xf32>, %y: memref<1024xf32>, %o: memref<1024xf32>) scheduled {
  tk.for 0 = "0" to "16" step 16 parallel {
    tk.for 1 = "0" to "64" step 64 parallel {
      %0 = tk.load %x[0] : memref<1xf32> -> f32
      %1 = math.exp %0 : f32
      %2 = vector.broadcast %1 : f32 to vector<1x64xf32>
      %3 = vector.broadcast %2 : vector<1x64xf32> to vector<16x64xf32>
      %4 = tk.load %y[d0*64 + d1] lanes 0, 1 : memref<1024xf32> -> vector<16x64xf32>
      %5 = arith.mulf %4, %3 : vector<16x64xf32>
      tk.store %5, %o[d0*64 + d1] lanes 0, 1 : vector<16x64xf32>, memref<1024xf32>
    }
  }
}
