// RUN: tilewright-opt %s -p 'sum-in-products{programs=1}' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'sum-in-products{programs=1}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p 'sum-in-products{programs=1}' --split-input-file --check-semantics

// What another kernel that is taken reduces to is there when all tiles are done: who reads it comes later.

// REMARK: not reduced where a product makes it: it reads what is reduced there
// CHECK-LABEL: @in_turn
// CHECK:      tk.reduce max %{{.*}} over [2] {tk.of_tile}
// CHECK-NOT:  tk.of_tile
// CHECK:      tk.reduce add %{{.*}} over [1] : f32
func.func @in_turn(%m: tensor<64x16xbf16>, %w: tensor<16x32xbf16>) -> (tensor<64x32xbf16>, tensor<32xf32>, tensor<32xf32>) {
  %y = tk.kernel [64, 32, 16] ins(%m, %w : tensor<64x16xbf16>, tensor<16x32xbf16>) -> (tensor<64x32xbf16>) {
  ^bb0(%a: tensor<64x16xbf16>, %b: tensor<16x32xbf16>, %o: tensor<64x32xbf16>):
    %0 = tk.load %a[d0, d2] : tensor<64x16xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %b[d2, d1] : tensor<16x32xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
    %6 = arith.truncf %5 : f32 to bf16
    tk.store %6, %o[d0, d1] : bf16, tensor<64x32xbf16>
  }
  %l = tk.kernel [32, 64] ins(%y : tensor<64x32xbf16>) -> (tensor<32xf32>) {
  ^bb0(%a: tensor<64x32xbf16>, %o: tensor<32xf32>):
    %0 = tk.load %a[d1, d0] : tensor<64x32xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.reduce max %1 over [1] : f32
    tk.store %2, %o[d0] : f32, tensor<32xf32>
  }
  %s = tk.kernel [32, 64] ins(%y, %l : tensor<64x32xbf16>, tensor<32xf32>) -> (tensor<32xf32>) {
  ^bb0(%a: tensor<64x32xbf16>, %b: tensor<32xf32>, %o: tensor<32xf32>):
    %0 = tk.load %a[d1, d0] : tensor<64x32xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %b[d0] : tensor<32xf32> -> f32
    %3 = arith.subf %1, %2 : f32
    %4 = math.exp %3 : f32
    %5 = tk.reduce add %4 over [1] : f32
    tk.store %5, %o[d0] : f32, tensor<32xf32>
  }
  func.return %y, %l, %s : tensor<64x32xbf16>, tensor<32xf32>, tensor<32xf32>
}
