// RUN: tilewright-opt %s -p store-statistics --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p store-statistics --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Beside what stays, the reader makes what needs no reduction: differences from a mean.
// CHECK-LABEL: @makes_differences_again
// CHECK: %[[G:.*]] = tk.kernel [64, 48] ins(%x, %m : tensor<64x48xbf16>, tensor<48xf32>) -> (tensor<64x48xbf16>)
// CHECK: tk.kernel [64, 48] ins(%[[G]], %s, %x, %m : tensor<64x48xbf16>, tensor<48xf32>, tensor<64x48xbf16>, tensor<48xf32>)
// CHECK: arith.subf
func.func @makes_differences_again(%x: tensor<64x48xbf16>, %m: tensor<48xf32>, %s: tensor<48xf32>)
    -> (tensor<64x48xbf16>, tensor<64x48xbf16>) {
  %d, %g = tk.kernel [64, 48] ins(%x, %m : tensor<64x48xbf16>, tensor<48xf32>)
      -> (tensor<64x48xf32>, tensor<64x48xbf16>) {
  ^bb0(%a: tensor<64x48xbf16>, %b: tensor<48xf32>, %o: tensor<64x48xf32>, %p: tensor<64x48xbf16>):
    %0 = tk.load %a[d0, d1] : tensor<64x48xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %b[d1] : tensor<48xf32> -> f32
    %3 = arith.subf %1, %2 : f32
    tk.store %3, %o[d0, d1] : f32, tensor<64x48xf32>
    %4 = math.exp %3 : f32
    %5 = arith.truncf %4 : f32 to bf16
    tk.store %5, %p[d0, d1] : bf16, tensor<64x48xbf16>
  }
  %r = tk.kernel [64, 48] ins(%d, %g, %s : tensor<64x48xf32>, tensor<64x48xbf16>, tensor<48xf32>)
      -> (tensor<64x48xbf16>) {
  ^bb0(%a: tensor<64x48xf32>, %b: tensor<64x48xbf16>, %c: tensor<48xf32>, %o: tensor<64x48xbf16>):
    %0 = tk.load %a[d0, d1] : tensor<64x48xf32> -> f32
    %1 = tk.load %b[d0, d1] : tensor<64x48xbf16> -> bf16
    %2 = arith.extf %1 : bf16 to f32
    %3 = tk.load %c[d1] : tensor<48xf32> -> f32
    %4 = arith.mulf %0, %3 : f32
    %5 = arith.subf %2, %4 : f32
    %6 = arith.truncf %5 : f32 to bf16
    tk.store %6, %o[d0, d1] : bf16, tensor<64x48xbf16>
  }
  func.return %g, %r : tensor<64x48xbf16>, tensor<64x48xbf16>
}

// -----

// Halves of three tensors are read for less than what is made of these.
// CHECK-LABEL: @reads_more_than_is_stored
// CHECK: tk.kernel [64, 48] ins(%x, %y, %z : {{.*}}) -> (tensor<64x48xbf16>, tensor<64x48xbf16>)
// REMARK: what its reader can make is stored: to make it again would move 18432 bytes of 12288
func.func @reads_more_than_is_stored(%x: tensor<64x48xbf16>, %y: tensor<64x48xbf16>, %z: tensor<64x48xbf16>)
    -> (tensor<48xbf16>, tensor<64x48xbf16>) {
  %d, %g = tk.kernel [64, 48] ins(%x, %y, %z : tensor<64x48xbf16>, tensor<64x48xbf16>, tensor<64x48xbf16>)
      -> (tensor<64x48xbf16>, tensor<64x48xbf16>) {
  ^bb0(%a: tensor<64x48xbf16>, %b: tensor<64x48xbf16>, %c: tensor<64x48xbf16>, %o: tensor<64x48xbf16>,
       %p: tensor<64x48xbf16>):
    %0 = tk.load %a[d0, d1] : tensor<64x48xbf16> -> bf16
    %1 = tk.load %b[d0, d1] : tensor<64x48xbf16> -> bf16
    %2 = tk.load %c[d0, d1] : tensor<64x48xbf16> -> bf16
    %3 = arith.mulf %0, %1 : bf16
    %4 = arith.addf %3, %2 : bf16
    tk.store %4, %o[d0, d1] : bf16, tensor<64x48xbf16>
    %5 = arith.negf %4 : bf16
    tk.store %5, %p[d0, d1] : bf16, tensor<64x48xbf16>
  }
  %r = tk.kernel [48, 64] ins(%d : tensor<64x48xbf16>) -> (tensor<48xbf16>) {
  ^bb0(%a: tensor<64x48xbf16>, %o: tensor<48xbf16>):
    %0 = tk.load %a[d1, d0] : tensor<64x48xbf16> -> bf16
    %1 = tk.reduce max %0 over [1] : bf16
    tk.store %1, %o[d0] : bf16, tensor<48xbf16>
  }
  func.return %r, %g : tensor<48xbf16>, tensor<64x48xbf16>
}

// -----

// Read at several places it would be made as often.
// CHECK-LABEL: @read_at_two_places
// CHECK: tk.kernel [64] ins(%x : {{.*}}) -> (tensor<64xf32>, tensor<64xf32>)
func.func @read_at_two_places(%x: tensor<64xbf16>) -> (tensor<63xf32>, tensor<64xf32>) {
  %d, %g = tk.kernel [64] ins(%x : tensor<64xbf16>) -> (tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%a: tensor<64xbf16>, %o: tensor<64xf32>, %p: tensor<64xf32>):
    %0 = tk.load %a[d0] : tensor<64xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = arith.negf %1 : f32
    tk.store %2, %o[d0] : f32, tensor<64xf32>
    tk.store %1, %p[d0] : f32, tensor<64xf32>
  }
  %r = tk.kernel [63] ins(%d : tensor<64xf32>) -> (tensor<63xf32>) {
  ^bb0(%a: tensor<64xf32>, %o: tensor<63xf32>):
    %0 = tk.load %a[d0] : tensor<64xf32> -> f32
    %1 = tk.load %a[d0 + 1] : tensor<64xf32> -> f32
    %2 = arith.subf %0, %1 : f32
    tk.store %2, %o[d0] : f32, tensor<63xf32>
  }
  func.return %r, %g : tensor<63xf32>, tensor<64xf32>
}
