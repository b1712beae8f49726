// RUN: tilewright-opt %s -p 'dedupe-kernels{unit=16}' | filecheck %s

// Offsets that differ by multiples of the unit are symbols of so many elements; others stay as they are.

// CHECK-LABEL: @draws
// CHECK-NEXT: th.launch @draw(%seed) into(%y) symbols "0"
// CHECK-NEXT: th.launch @draw(%seed) into(%y) symbols "2"
// CHECK-NEXT: th.launch @draw_2(%seed) into(%y)
// CHECK: tk.func @draw [4] (%s: memref<1xi64>, %o: memref<4xf32>) symbols [s0] {
// CHECK: tk.index "d0 + s0*16 + 3"
// CHECK: tk.func @draw_2 [4] (%s: memref<1xi64>, %o: memref<4xf32>) {
// CHECK: tk.index "d0 + 4"
func.func @draws(%seed: memref<1xi64>, %y: memref<4xf32>) {
  th.launch @draw(%seed) into (%y) : (memref<1xi64>) into (memref<4xf32>)
  th.launch @draw_1(%seed) into (%y) : (memref<1xi64>) into (memref<4xf32>)
  th.launch @draw_2(%seed) into (%y) : (memref<1xi64>) into (memref<4xf32>)
  func.return
}
tk.func @draw [4] (%s: memref<1xi64>, %o: memref<4xf32>) {
  %0 = tk.load %s[0] : memref<1xi64> -> i64
  %1 = tk.index "d0 + 3" : i64
  %2 = tk.random %0, %1 : f32
  tk.store %2, %o[d0] : f32, memref<4xf32>
}
tk.func @draw_1 [4] (%s: memref<1xi64>, %o: memref<4xf32>) {
  %1 = tk.index "d0 + 35" : i64
  %0 = tk.load %s[0] : memref<1xi64> -> i64
  %2 = tk.random %0, %1 : f32
  tk.store %2, %o[d0] : f32, memref<4xf32>
}
tk.func @draw_2 [4] (%s: memref<1xi64>, %o: memref<4xf32>) {
  %0 = tk.load %s[0] : memref<1xi64> -> i64
  %1 = tk.index "d0 + 4" : i64
  %2 = tk.random %0, %1 : f32
  tk.store %2, %o[d0] : f32, memref<4xf32>
}
