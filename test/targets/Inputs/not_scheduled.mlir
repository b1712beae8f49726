tk.func @k [8] (%a: memref<8xf32>, %o: memref<8xf32>) {
  %0 = tk.load %a[d0] : memref<8xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<8xf32>
} loc("m.py":2:0)
