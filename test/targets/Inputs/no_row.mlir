tk.func @k [8] (%a: memref<8xi32>, %o: memref<8xi32>) scheduled {
  tk.for 0 = "0" to "8" step 1 {
    %0 = tk.load %a[d0] : memref<8xi32> -> i32
    %1 = math.ctpop %0 : i32 loc("m.py":3:0)
    tk.store %1, %o[d0] : i32, memref<8xi32>
  }
}
