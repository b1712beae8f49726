// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse,dce' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse,dce' --split-input-file --verify-locations
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse,dce' --split-input-file --check-semantics
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse,dce' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Rows of a batch, of which only the run knows how many there are, are rows of a matrix.

// CHECK-LABEL: @two_symbols
// CHECK: tk.kernel [s0, s1, 32, 16] ins(%x, %w, %y :
// CHECK: tk.reduce add
// CHECK: tk.load %{{.*}}[d0*s1 + d1, d2]
// CHECK: tk.store %{{.*}}, %{{.*}}[d0*s1 + d1, d2]
// CHECK-NOT: tk.kernel
func.func @two_symbols(%x: tensor<?x?x16xbf16, #tw.shape<"s0, s1, 16">>, %w: tensor<16x32xbf16>, %y: tensor<?x32xbf16, #tw.shape<"s0*s1, 32">>, %s0: index {tw.symbol = "s0"}, %s1: index {tw.symbol = "s1"}) -> tensor<?x32xbf16, #tw.shape<"s0*s1, 32">> {
  %f = tw.reshape %x : tensor<?x?x16xbf16, #tw.shape<"s0, s1, 16">> -> tensor<?x16xbf16, #tw.shape<"s0*s1, 16">>
  %m = tw.matmul %f, %w : (tensor<?x16xbf16, #tw.shape<"s0*s1, 16">>, tensor<16x32xbf16>) -> tensor<?x32xbf16, #tw.shape<"s0*s1, 32">>
  %r = tw.mul %m, %y : tensor<?x32xbf16, #tw.shape<"s0*s1, 32">>
  func.return %r : tensor<?x32xbf16, #tw.shape<"s0*s1, 32">>
}

// -----

// Which rows of two batches are one is not known: the sizes may be others.

// REMARK: not fused with the kernel of {{.*}}; its axes are divided unevenly
// CHECK-LABEL: @others
// CHECK: tk.kernel [s0, s1, 4]
// CHECK: tk.kernel [s1, s0, 4]
func.func @others(%x: tensor<?x?x4xf32, #tw.shape<"s0, s1, 4">>, %y: tensor<?x?x4xf32, #tw.shape<"s1, s0, 4">>, %s0: index {tw.symbol = "s0"}, %s1: index {tw.symbol = "s1"}) -> (tensor<?x4xf32, #tw.shape<"s0*s1, 4">>, tensor<?x?x4xf32, #tw.shape<"s1, s0, 4">>) {
  %e = tw.exp %x : tensor<?x?x4xf32, #tw.shape<"s0, s1, 4">>
  %f = tw.reshape %e : tensor<?x?x4xf32, #tw.shape<"s0, s1, 4">> -> tensor<?x4xf32, #tw.shape<"s0*s1, 4">>
  %g = tw.reshape %f : tensor<?x4xf32, #tw.shape<"s0*s1, 4">> -> tensor<?x?x4xf32, #tw.shape<"s1, s0, 4">>
  %h = tw.add %g, %y : tensor<?x?x4xf32, #tw.shape<"s1, s0, 4">>
  func.return %f, %h : tensor<?x4xf32, #tw.shape<"s0*s1, 4">>, tensor<?x?x4xf32, #tw.shape<"s1, s0, 4">>
}
