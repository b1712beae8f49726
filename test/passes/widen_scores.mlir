// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=all},absorb-views,dce,fuse{hold_back=true},widen-scores' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=all},absorb-views,dce,fuse{hold_back=true},widen-scores' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=all},absorb-views,dce,fuse{hold_back=true},widen-scores' --split-input-file --verify-locations

// Maxima %m and sums %l of rows are given: weights, and all else that reads scores, are of what nobody rounded.
// CHECK-LABEL: @given_sums
// CHECK: %[[S:.*]] = tk.kernel [8, 9, 4] {{.*}} -> (tensor<8x9xf32>)
// CHECK: %[[P:.*]] = tk.reduce add
// CHECK-NOT: arith.truncf
// CHECK: tk.store %[[P]], %{{.*}}[d0, d1] : f32, tensor<8x9xf32>
// CHECK: tk.kernel [8, 9] ins(%[[S]], {{.*}} -> (tensor<8x9xbf16>, tensor<f32>)
// CHECK: %[[L:.*]] = tk.load %{{.*}}[d0, d1] : tensor<8x9xf32> -> f32
// CHECK-NOT: arith.extf
// CHECK: arith.subf %[[L]], %{{.*}} : f32
func.func @given_sums(%q: tensor<8x4xbf16>, %k: tensor<4x9xbf16>, %m: tensor<8x1xf32>, %l: tensor<8x1xf32>) -> (tensor<8x9xbf16>, tensor<f32>) {
  %s = tw.matmul %q, %k : (tensor<8x4xbf16>, tensor<4x9xbf16>) -> tensor<8x9xbf16>
  %x = tw.cast %s : tensor<8x9xbf16> -> tensor<8x9xf32>
  %mb = tw.broadcast %m dims [0, 1] : tensor<8x1xf32> -> tensor<8x9xf32>
  %lb = tw.broadcast %l dims [0, 1] : tensor<8x1xf32> -> tensor<8x9xf32>
  %y = tw.sub %x, %mb : tensor<8x9xf32>
  %e = tw.exp %y : tensor<8x9xf32>
  %p = tw.div %e, %lb : tensor<8x9xf32>
  %h = tw.cast %p : tensor<8x9xf32> -> tensor<8x9xbf16>
  %w = tw.mul %p, %x : tensor<8x9xf32>
  %t = tw.sum %w over [0, 1] : tensor<8x9xf32> -> tensor<f32>
  func.return %h, %t : tensor<8x9xbf16>, tensor<f32>
}

// -----

// As far as a chain stores its scores for others, too.
// CHECK-LABEL: @of_a_chain
// CHECK: tk.kernel [8, 5, 9, 4] {{.*}} -> (tensor<8x9xf32>, tensor<8x5xbf16>)
// CHECK: tk.kernel [8, 9] {{.*}} -> (tensor<f32>)
// CHECK: tk.load %{{.*}}[d0, d1] : tensor<8x9xf32> -> f32
func.func @of_a_chain(%q: tensor<8x4xbf16>, %k: tensor<9x4xbf16>, %v: tensor<9x5xbf16>, %m: tensor<8x1xf32>) -> (tensor<8x5xbf16>, tensor<f32>) {
  %s, %o = tk.kernel [8, 5, 9, 4] ins(%q, %k, %v : tensor<8x4xbf16>, tensor<9x4xbf16>, tensor<9x5xbf16>) -> (tensor<8x9xbf16>, tensor<8x5xbf16>) {
  ^bb0(%a: tensor<8x4xbf16>, %b: tensor<9x4xbf16>, %c: tensor<9x5xbf16>, %d: tensor<8x9xbf16>, %f: tensor<8x5xbf16>):
    %0 = tk.load %a[d0, d3] : tensor<8x4xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %b[d2, d3] : tensor<9x4xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [3] {tk.factors = bf16} : f32
    %6 = arith.truncf %5 : f32 to bf16
    tk.store %6, %d[d0, d2] : bf16, tensor<8x9xbf16>
    %7 = tk.load %c[d2, d1] : tensor<9x5xbf16> -> bf16
    %8 = arith.extf %7 : bf16 to f32
    %9 = arith.mulf %5, %8 : f32
    %10 = tk.reduce add %9 over [2] {tk.factors = bf16} : f32
    %11 = arith.truncf %10 : f32 to bf16
    tk.store %11, %f[d0, d1] : bf16, tensor<8x5xbf16>
  }
  %x = tw.cast %s : tensor<8x9xbf16> -> tensor<8x9xf32>
  %mb = tw.broadcast %m dims [0, 1] : tensor<8x1xf32> -> tensor<8x9xf32>
  %y = tw.sub %x, %mb : tensor<8x9xf32>
  %e = tw.exp %y : tensor<8x9xf32>
  %t = tw.sum %e over [0, 1] : tensor<8x9xf32> -> tensor<f32>
  func.return %o, %t : tensor<8x5xbf16>, tensor<f32>
}

// -----

// Weights of a softmax here: their maximum and their sum are of what is read, too.
// CHECK-LABEL: @own_sums
// CHECK: tk.kernel [8, 9, 4] {{.*}} -> (tensor<8x9xbf16>)
func.func @own_sums(%q: tensor<8x4xbf16>, %k: tensor<4x9xbf16>, %b: tensor<8x9xf32>) -> (tensor<8x9xbf16>) {
  %s = tw.matmul %q, %k : (tensor<8x4xbf16>, tensor<4x9xbf16>) -> tensor<8x9xbf16>
  %0 = tw.cast %s : tensor<8x9xbf16> -> tensor<8x9xf32>
  %x = tw.sub %0, %b : tensor<8x9xf32>
  %m = tw.max %x over [1] : tensor<8x9xf32> -> tensor<8xf32>
  %mb = tw.broadcast %m dims [0] : tensor<8xf32> -> tensor<8x9xf32>
  %y = tw.sub %x, %mb : tensor<8x9xf32>
  %e = tw.exp %y : tensor<8x9xf32>
  %l = tw.sum %e over [1] : tensor<8x9xf32> -> tensor<8xf32>
  %lb = tw.broadcast %l dims [0] : tensor<8xf32> -> tensor<8x9xf32>
  %p = tw.div %e, %lb : tensor<8x9xf32>
  %h = tw.cast %p : tensor<8x9xf32> -> tensor<8x9xbf16>
  func.return %h : tensor<8x9xbf16>
}

// -----

// CHECK-LABEL: @read_as_halves
// CHECK: tk.kernel [8, 9, 4] {{.*}} -> (tensor<8x9xbf16>)
// REMARK: its scores stay rounded: not only kernels read them
func.func @read_as_halves(%q: tensor<8x4xbf16>, %k: tensor<4x9xbf16>, %m: tensor<8x1xf32>) -> (tensor<8x9xbf16>, tensor<f32>) {
  %s = tw.matmul %q, %k : (tensor<8x4xbf16>, tensor<4x9xbf16>) -> tensor<8x9xbf16>
  %x = tw.cast %s : tensor<8x9xbf16> -> tensor<8x9xf32>
  %mb = tw.broadcast %m dims [0, 1] : tensor<8x1xf32> -> tensor<8x9xf32>
  %y = tw.sub %x, %mb : tensor<8x9xf32>
  %e = tw.exp %y : tensor<8x9xf32>
  %t = tw.sum %e over [0, 1] : tensor<8x9xf32> -> tensor<f32>
  func.return %s, %t : tensor<8x9xbf16>, tensor<f32>
}

// -----

// CHECK-LABEL: @rounded_by_the_program
// CHECK: tk.kernel [8, 9, 4] {{.*}} -> (tensor<8x9xbf16>)
// REMARK: its scores stay rounded: the program asks for that
func.func @rounded_by_the_program(%q: tensor<8x4xbf16>, %k: tensor<4x9xbf16>, %m: tensor<8x1xf32>) -> tensor<f32> {
  %s = tw.matmul %q, %k : (tensor<8x4xbf16>, tensor<4x9xbf16>) -> tensor<8x9xbf16>
  %w = tw.cast %s : tensor<8x9xbf16> -> tensor<8x9xf32>
  %2 = tw.mul %w, %w : tensor<8x9xf32>
  %h = tw.cast %2 rounded : tensor<8x9xf32> -> tensor<8x9xbf16>
  %x = tw.cast %h : tensor<8x9xbf16> -> tensor<8x9xf32>
  %mb = tw.broadcast %m dims [0, 1] : tensor<8x1xf32> -> tensor<8x9xf32>
  %y = tw.sub %x, %mb : tensor<8x9xf32>
  %e = tw.exp %y : tensor<8x9xf32>
  %t = tw.sum %e over [0, 1] : tensor<8x9xf32> -> tensor<f32>
  func.return %t : tensor<f32>
}

// -----

// Some rows alone are read, the others are far below.
// CHECK-LABEL: @read_in_part
// CHECK: tk.kernel [8, 9, 4] {{.*}} -> (tensor<8x9xbf16>)
// REMARK: its scores stay rounded: not all of them are stored, or read
func.func @read_in_part(%q: tensor<8x4xbf16>, %k: tensor<4x9xbf16>, %m: tensor<10x1xf32>) -> tensor<f32> {
  %s = tw.matmul %q, %k : (tensor<8x4xbf16>, tensor<4x9xbf16>) -> tensor<8x9xbf16>
  %x = tw.cast %s : tensor<8x9xbf16> -> tensor<8x9xf32>
  %z = tw.pad %x low "1, 0" high "1, 0" value -1000.0 : f32 : tensor<8x9xf32> -> tensor<10x9xf32>
  %mb = tw.broadcast %m dims [0, 1] : tensor<10x1xf32> -> tensor<10x9xf32>
  %y = tw.sub %z, %mb : tensor<10x9xf32>
  %e = tw.exp %y : tensor<10x9xf32>
  %t = tw.sum %e over [0, 1] : tensor<10x9xf32> -> tensor<f32>
  func.return %t : tensor<f32>
}
