tk.func @k [64, 33] (%x: memref<2112xbf16>, %o: memref<2112xbf16>) scheduled {
  tk.for 0 = "0" to "64" step 64 parallel {
    tk.for 1 = "0" to "33" step 64 masked {
      %0 = tk.load %x[d0*33 + d1] lanes 0, 1 {tk.descriptor} : memref<2112xbf16> -> vector<64x64xbf16> loc("m.py":4:0)
      tk.store %0, %o[d0*33 + d1] lanes 0, 1 : vector<64x64xbf16>, memref<2112xbf16>
    }
  }
}
