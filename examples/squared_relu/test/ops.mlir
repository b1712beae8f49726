// RUN: tilewright-opt %s | tilewright-opt | filecheck %s
// RUN: tilewright-opt %s --print-generic | tilewright-opt | filecheck %s

// CHECK-LABEL: @roundtrip
// CHECK-NEXT: %{{.*}} = sq.squared_relu %x scale 5.000000e-01 : f64 : tensor<8x?xf32, #tw.shape<"8, s0">>
func.func @roundtrip(%x: tensor<8x?xf32, #tw.shape<"8, s0">>, %s0: index {tw.symbol = "s0"})
    -> tensor<8x?xf32, #tw.shape<"8, s0">> {
  %r = sq.squared_relu %x scale 0.5 : f64 : tensor<8x?xf32, #tw.shape<"8, s0">>
  func.return %r : tensor<8x?xf32, #tw.shape<"8, s0">>
}
