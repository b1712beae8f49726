// RUN: tilewright-opt %s -p split-scatters --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p split-scatters,coalesce-axes --split-input-file | filecheck %s --check-prefix=AXES
// RUN: tilewright-opt %s -p "split-scatters{early=true}" --split-input-file | filecheck %s --check-prefix=EARLY

// Both launches of the kernel; each of the two functions has the buffers and axes that it needs. The check stays with
// the positions.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:  th.launch @put_fill() into(%x) : () into(memref<36xf32>) loc("m.py":3:0)
// CHECK-NEXT:  th.launch @put(%i, %v) into(%x) : (memref<6xi64>, memref<24xf32>) into(memref<36xf32>) loc("m.py":3:0)
// CHECK-NEXT:  th.launch @put_fill() into(%y)
// CHECK-NEXT:  th.launch @put(%i, %v) into(%y)
// CHECK-NEXT:  return
// CHECK:       tk.func @put_fill [9, 4] (%{{.*}}: memref<36xf32>{{.*}}) {
// CHECK-NEXT:    %[[ZERO:.*]] = arith.constant 0.0
// CHECK-NEXT:    tk.store %[[ZERO]], %{{.*}}[d0*4 + d1]
// CHECK-NEXT:  } loc("m.py":4:0)
// CHECK-NEXT:  tk.func @put [4, 6] (%at: memref<6xi64>{{.*}}, %w: memref<24xf32>{{.*}}, %o: memref<36xf32>{{.*}}) {
// CHECK-NEXT:    tk.load %at[d1]
// CHECK-NOT:     tk.store %{{.*}}, %o[d0*4 + d1]
// CHECK:         tk.assert
// CHECK:         tk.store %{{.*}}, %o[d0 + i0*4](%{{.*}}) combine add
// AXES-LABEL:  func.func @main
// AXES:        tk.func @put_fill [36] (
// AXES:        tk.func @put [4, 6] (
func.func @main(%x: memref<36xf32>, %y: memref<36xf32>, %i: memref<6xi64>, %v: memref<24xf32>) {
  th.launch @put(%i, %v) into(%x) : (memref<6xi64>, memref<24xf32>) into (memref<36xf32>) loc("m.py":3:0)
  th.launch @put(%i, %v) into(%y) : (memref<6xi64>, memref<24xf32>) into (memref<36xf32>)
  func.return
}
tk.func @put [9, 4, 6] (%at: memref<6xi64>, %w: memref<24xf32>, %o: memref<36xf32>) {
  %0 = arith.constant 0.0 : f32
  tk.store %0, %o[d0*4 + d1] : f32, memref<36xf32>
  %1 = tk.load %at[d2] : memref<6xi64> -> i64
  %2 = arith.constant 9 : i64
  %3 = arith.cmpi ult, %1, %2 : i64
  tk.assert %3 "index out of range" : i1
  %4 = arith.index_cast %1 : i64 to index
  %5 = tk.load %w[d2*4 + d1] : memref<24xf32> -> f32
  tk.store %5, %o[d1 + i0*4](%4) combine add : f32, memref<36xf32>
} loc("m.py":4:0)

// -----

// What is filled from another buffer reads it; two buffers are filled at once, and what is stored to a third
// one stays with the scatter. A name that is taken is not taken again.
// CHECK-LABEL: func.func @several
// CHECK-NEXT:  th.launch @put_fill_1(%x) into(%o, %p) : (memref<9xf32>) into(memref<9xf32>, memref<9xf32>)
// CHECK-NEXT:  th.launch @put(%i, %v) into(%o, %p, %q) :
// CHECK:       tk.func @put_fill_1 [9]
// CHECK-COUNT-2: tk.store %{{.*}}, %{{.*}}[d0] :
// CHECK:       tk.func @put [6]
// CHECK:         tk.store %{{.*}}, %{{.*}}[i0](%{{.*}}) combine add
// CHECK:         tk.store %{{.*}}, %{{.*}}[i0](%{{.*}}) combine add
// CHECK:         tk.store %{{.*}}, %{{.*}}[d0]
func.func @several(%x: memref<9xf32>, %i: memref<6xi64>, %v: memref<6xf32>, %o: memref<9xf32>, %p: memref<9xf32>, %q: memref<6xf32>) {
  th.launch @put(%x, %i, %v) into(%o, %p, %q) : (memref<9xf32>, memref<6xi64>, memref<6xf32>) into (memref<9xf32>, memref<9xf32>, memref<6xf32>)
  func.return
}
tk.func @put_fill [1] (%o: memref<1xf32>) {
  %0 = arith.constant 0.0 : f32
  tk.store %0, %o[0] : f32, memref<1xf32>
}
tk.func @put [9, 6] (%x: memref<9xf32>, %at: memref<6xi64>, %w: memref<6xf32>, %o: memref<9xf32>, %p: memref<9xf32>, %q: memref<6xf32>) {
  %0 = tk.load %x[d0] : memref<9xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<9xf32>
  tk.store %0, %p[d0] : f32, memref<9xf32>
  %1 = tk.load %at[d1] : memref<6xi64> -> i64
  %2 = arith.index_cast %1 : i64 to index
  %3 = tk.load %w[d1] : memref<6xf32> -> f32
  tk.store %3, %o[i0](%2) combine add : f32, memref<9xf32>
  tk.store %3, %p[i0](%2) combine add : f32, memref<9xf32>
  tk.store %3, %q[d1] : f32, memref<6xf32>
}

// -----

// Targets of one scatter, each with an axis of its own, are filled by launches of their own: one would walk the
// product of their sizes. The third is filled along an axis that the first has, too.
// CHECK-LABEL: func.func @targets_of_their_own
// CHECK-NEXT:  th.launch @put_fill() into(%o, %q)
// CHECK-NEXT:  th.launch @put_fill_1(%x) into(%p)
// CHECK-NEXT:  th.launch @put(%i, %v) into(%o, %p, %q) :
// AXES-LABEL:  func.func @targets_of_their_own
// AXES:        tk.func @put_fill [9, 4] (
// AXES:        tk.func @put_fill_1 [28] (
// AXES:        tk.func @put [4, 6] (
func.func @targets_of_their_own(%x: memref<28xf32>, %i: memref<6xi64>, %v: memref<24xf32>, %o: memref<36xf32>, %p: memref<28xf32>, %q: memref<9xf32>) {
  th.launch @put(%x, %i, %v) into(%o, %p, %q) : (memref<28xf32>, memref<6xi64>, memref<24xf32>) into (memref<36xf32>, memref<28xf32>, memref<9xf32>)
  func.return
}
tk.func @put [9, 4, 6, 7] (%x: memref<28xf32>, %at: memref<6xi64>, %w: memref<24xf32>, %o: memref<36xf32>, %p: memref<28xf32>, %q: memref<9xf32>) {
  %0 = arith.constant 0.0 : f32
  tk.store %0, %o[d0*4 + d1] : f32, memref<36xf32>
  %1 = tk.load %x[d3*4 + d1] : memref<28xf32> -> f32
  tk.store %1, %p[d3*4 + d1] : f32, memref<28xf32>
  tk.store %0, %q[d0] : f32, memref<9xf32>
  %2 = tk.load %at[d2] : memref<6xi64> -> i64
  %3 = arith.index_cast %2 : i64 to index
  %4 = tk.load %w[d2*4 + d1] : memref<24xf32> -> f32
  tk.store %4, %o[d1 + i0*4](%3) combine add : f32, memref<36xf32>
  tk.store %4, %p[d1 + i0*4](%3) combine add : f32, memref<28xf32>
  tk.store %4, %q[i0](%3) combine add : f32, memref<9xf32>
}

// -----

// Nothing is filled: `drop-self-copies` was here, or nothing scatters.
// CHECK-LABEL: func.func @nothing_to_fill
// CHECK-NEXT:  th.launch @put(%x, %i)
// CHECK-NEXT:  th.launch @copy(%x)
// CHECK-NEXT:  return
// CHECK-NOT:   _fill
func.func @nothing_to_fill(%x: memref<9xf32>, %i: memref<6xi64>, %o: memref<9xf32>) {
  th.launch @put(%x, %i) into(%x) : (memref<9xf32>, memref<6xi64>) into (memref<9xf32>)
  th.launch @copy(%x) into(%o) : (memref<9xf32>) into (memref<9xf32>)
  func.return
}
tk.func @put [9, 6] (%x: memref<9xf32>, %at: memref<6xi64>, %o: memref<9xf32>) {
  %0 = arith.constant 1.0 : f32
  %1 = tk.load %at[d1] : memref<6xi64> -> i64
  %2 = arith.index_cast %1 : i64 to index
  tk.store %0, %o[i0](%2) combine add : f32, memref<9xf32>
}
tk.func @copy [9] (%x: memref<9xf32>, %o: memref<9xf32>) {
  %0 = tk.load %x[d0] : memref<9xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<9xf32>
}

// -----

// Before launches are grouped: zeros are stored by a launch of their own, which may then be anywhere before. The
// copy of an input, of which the output may be the memory, stays where it is.
// EARLY-LABEL: func.func @zeros_and_a_copy
// EARLY-NEXT:  th.launch @put_fill() into(%o) : () into(memref<36xf32>)
// EARLY-NEXT:  th.launch @put(%x, %i, %v) into(%o, %p) :
// EARLY-NEXT:  return
// EARLY:       tk.func @put_fill [9, 4] (%{{.*}}: memref<36xf32>{{.*}}) {
// EARLY-NEXT:    %[[ZERO:.*]] = arith.constant 0.0
// EARLY-NEXT:    tk.store %[[ZERO]], %{{.*}}[d0*4 + d1]
// EARLY-NEXT:  }
// EARLY:       tk.func @put [4, 6, 7] ({{.*}}) attributes {tk.inplace = [array<i64: 0, 1>]} {
// EARLY-NEXT:    %[[COPY:.*]] = tk.load %x[d0 + d2*4]
// EARLY-NEXT:    tk.store %[[COPY]], %p[d0 + d2*4]
// EARLY-NEXT:    tk.load %at[d1]
// EARLY:         tk.store %{{.*}}, %o[d0 + i0*4](%{{.*}}) combine add
// CHECK-LABEL: func.func @zeros_and_a_copy
// CHECK-NEXT:  th.launch @put_fill() into(%o)
// CHECK-NEXT:  th.launch @put_fill_1(%x) into(%p)
// CHECK-NEXT:  th.launch @put(%i, %v) into(%o, %p)
// CHECK:       tk.func @put [4, 6] ({{.*}}memref<28xf32>{{.*}}) {
func.func @zeros_and_a_copy(%x: memref<28xf32>, %i: memref<6xi64>, %v: memref<24xf32>, %o: memref<36xf32>, %p: memref<28xf32>) {
  th.launch @put(%x, %i, %v) into(%o, %p) : (memref<28xf32>, memref<6xi64>, memref<24xf32>) into (memref<36xf32>, memref<28xf32>)
  func.return
}
tk.func @put [9, 4, 6, 7] (%x: memref<28xf32>, %at: memref<6xi64>, %w: memref<24xf32>, %o: memref<36xf32>, %p: memref<28xf32>) attributes {tk.inplace = [array<i64: 0, 1>]} {
  %0 = arith.constant 0.0 : f32
  tk.store %0, %o[d0*4 + d1] : f32, memref<36xf32>
  %1 = tk.load %x[d3*4 + d1] : memref<28xf32> -> f32
  tk.store %1, %p[d3*4 + d1] : f32, memref<28xf32>
  %2 = tk.load %at[d2] : memref<6xi64> -> i64
  %3 = arith.index_cast %2 : i64 to index
  %4 = tk.load %w[d2*4 + d1] : memref<24xf32> -> f32
  tk.store %4, %o[d1 + i0*4](%3) combine add : f32, memref<36xf32>
  tk.store %4, %p[d1 + i0*4](%3) combine add : f32, memref<28xf32>
}

// -----

// What is computed of an input that cannot be its buffer is filled early, too. The other fill stays, and its input
// may be its buffer as before, whatever its number is now.
// EARLY-LABEL: func.func @computed
// EARLY-NEXT:  th.launch @put_fill(%x) into(%o) : (memref<9xf32>) into(memref<9xf32>)
// EARLY-NEXT:  th.launch @put(%y, %i) into(%o, %p) :
// EARLY:       tk.func @put_fill [9]
// EARLY-NEXT:    tk.load
// EARLY-NEXT:    arith.negf
// EARLY-NEXT:    tk.store
// EARLY-NEXT:  }
// EARLY:       tk.func @put [9, 6] ({{.*}}) attributes {tk.inplace = [array<i64: 0, 1>]} {
// CHECK-LABEL: func.func @computed
// CHECK-NEXT:  th.launch @put_fill(%x, %y) into(%o, %p)
// CHECK-NEXT:  th.launch @put(%i) into(%o, %p)
// CHECK:       tk.func @put [6] (%{{.*}}: memref<6xi64>{{.*}}, %{{.*}}: memref<9xf32>{{.*}}, %{{.*}}: memref<9xf32>{{.*}}) {
func.func @computed(%x: memref<9xf32>, %y: memref<9xf32>, %i: memref<6xi64>, %o: memref<9xf32>, %p: memref<9xf32>) {
  th.launch @put(%x, %y, %i) into(%o, %p) : (memref<9xf32>, memref<9xf32>, memref<6xi64>) into (memref<9xf32>, memref<9xf32>)
  func.return
}
tk.func @put [9, 6] (%x: memref<9xf32>, %y: memref<9xf32>, %at: memref<6xi64>, %o: memref<9xf32>, %p: memref<9xf32>) attributes {tk.inplace = [array<i64: 1, 1>]} {
  %0 = tk.load %x[d0] : memref<9xf32> -> f32
  %1 = arith.negf %0 : f32
  tk.store %1, %o[d0] : f32, memref<9xf32>
  %2 = tk.load %y[d0] : memref<9xf32> -> f32
  tk.store %2, %p[d0] : f32, memref<9xf32>
  %3 = tk.load %at[d1] : memref<6xi64> -> i64
  %4 = arith.index_cast %3 : i64 to index
  %5 = arith.constant 1.0 : f32
  tk.store %5, %o[i0](%4) combine add : f32, memref<9xf32>
  tk.store %5, %p[i0](%4) combine add : f32, memref<9xf32>
}
