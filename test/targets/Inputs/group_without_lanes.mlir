tk.func @k [8] (%a: memref<16xi32>, %o: memref<16xi32>) scheduled {
  tk.for 0 = "0" to "8" step 1 {
    %0 = tk.load %a[d0*2] group 2 : memref<16xi32> -> vector<2xi32> loc("m.py":3:0)
    tk.store %0, %o[d0*2] group 2 : vector<2xi32>, memref<16xi32> loc("m.py":4:0)
  }
}
