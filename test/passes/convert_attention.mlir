// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half}' --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p convert-tw-to-tk --split-input-file | filecheck %s --check-prefix=LIBRARY

// Scores, their maximum over keys, the sum of exponentials, and the product with the values.
// CHECK-LABEL: @causal_with_shared_heads
// CHECK: tk.kernel [2, 6, 8, 16, s0, 32]
// CHECK: %[[Q:.*]] = tk.load %{{.*}}[d0, d1, d2, d5] : tensor<2x6x8x32xbf16> -> bf16 loc("m.py":3:0)
// CHECK: tk.load %{{.*}}[d0, (d1 floordiv 3), d4, d5]
// CHECK: tk.reduce add %{{.*}} over [5] {tk.factors = bf16}
// CHECK: tk.index "d4"
// CHECK: tk.index "d2"
// CHECK: arith.cmpi sle
// CHECK: tk.reduce max %{{.*}} over [4]
// CHECK: tk.reduce add %{{.*}} over [4] : f32
// CHECK: tk.load %{{.*}}[d0, (d1 floordiv 3), d4, d3]
// CHECK: tk.reduce add %{{.*}} over [4] {tk.factors = bf16}
// CHECK: tk.store %{{.*}}, %{{.*}}[d0, d1, d2, d3]
// CHECK: tk.store %{{.*}}, %{{.*}}[d0, d1, d2] : f32
// LIBRARY-LABEL: @causal_with_shared_heads
// LIBRARY: tw.attention
func.func @causal_with_shared_heads(%s0: index {tw.symbol = "s0"}, %q: tensor<2x6x8x32xbf16>,
    %k: tensor<2x2x?x32xbf16, #tw.shape<"2, 2, s0, 32">>, %v: tensor<2x2x?x16xbf16, #tw.shape<"2, 2, s0, 16">>)
    -> (tensor<2x6x8x16xbf16>, tensor<2x6x8xf32>) {
  %o, %l = tw.attention %q, %k, %v causal scale 0.125 dropout 0.0 : (tensor<2x6x8x32xbf16>,
    tensor<2x2x?x32xbf16, #tw.shape<"2, 2, s0, 32">>, tensor<2x2x?x16xbf16, #tw.shape<"2, 2, s0, 16">>)
    -> (tensor<2x6x8x16xbf16>, tensor<2x6x8xf32>) loc("m.py":3:0)
  func.return %o, %l : tensor<2x6x8x16xbf16>, tensor<2x6x8xf32>
}

// -----

// CHECK-LABEL: @mask_of_heads
// CHECK: tk.load %{{.*}}[0, d1, 0, d4] : tensor<1x3x1x9xi1> -> i1
// CHECK-NEXT: arith.select
func.func @mask_of_heads(%q: tensor<2x3x8x32xf32>, %k: tensor<2x3x9x32xf32>, %v: tensor<2x3x9x32xf32>,
    %m: tensor<1x3x1x9xi1>) -> tensor<2x3x8x32xf32> {
  %o, %l = tw.attention %q, %k, %v mask %m scale 0.125 dropout 0.0 : (tensor<2x3x8x32xf32>,
    tensor<2x3x9x32xf32>, tensor<2x3x9x32xf32>, tensor<1x3x1x9xi1>) -> (tensor<2x3x8x32xf32>, tensor<2x3x8xf32>)
  func.return %o : tensor<2x3x8x32xf32>
}

// -----

// CHECK-LABEL: @one_row
// CHECK: tw.attention
// REMARK: left to a library: one of its sides has no more than one element
func.func @one_row(%q: tensor<2x3x1x32xf32>, %k: tensor<2x3x9x32xf32>) -> tensor<2x3x1x32xf32> {
  %o, %l = tw.attention %q, %k, %k scale 0.125 dropout 0.0 : (tensor<2x3x1x32xf32>,
    tensor<2x3x9x32xf32>, tensor<2x3x9x32xf32>) -> (tensor<2x3x1x32xf32>, tensor<2x3x1xf32>)
  func.return %o : tensor<2x3x1x32xf32>
}

// -----

// CHECK-LABEL: @doubles
// CHECK: tw.attention
// REMARK: left to a library: no matrix unit takes f64
func.func @doubles(%q: tensor<2x3x8x32xf64>) -> tensor<2x3x8x32xf64> {
  %o, %l = tw.attention %q, %q, %q scale 0.125 dropout 0.0 : (tensor<2x3x8x32xf64>,
    tensor<2x3x8x32xf64>, tensor<2x3x8x32xf64>) -> (tensor<2x3x8x32xf64>, tensor<2x3x8xf64>)
  func.return %o : tensor<2x3x8x32xf64>
}

// -----

// CHECK-LABEL: @deep_heads
// CHECK: tw.attention
// REMARK: left to a library: heads are symbolic or have more than 256 elements
func.func @deep_heads(%q: tensor<2x3x8x320xf32>) -> tensor<2x3x8x320xf32> {
  %o, %l = tw.attention %q, %q, %q scale 0.125 dropout 0.0 : (tensor<2x3x8x320xf32>,
    tensor<2x3x8x320xf32>, tensor<2x3x8x320xf32>) -> (tensor<2x3x8x320xf32>, tensor<2x3x8xf32>)
  func.return %o : tensor<2x3x8x320xf32>
}

// -----

// The scores again, and what the log of their sums makes of them; a row that sees nothing (-inf) adds nothing.
// CHECK-LABEL: @gradient_of_queries
// CHECK: tk.kernel [2, 6, 8, 32, s0, 32, 16]
// CHECK: %[[S:.*]] = tk.reduce add %{{.*}} over [5] {tk.factors = bf16}
// CHECK: %[[T:.*]] = tk.load %{{.*}}[d0, d1, d2] : tensor<2x6x8xf32> -> f32
// CHECK: arith.cmpf oeq, %[[T]]
// CHECK: %[[P:.*]] = math.exp
// CHECK: tk.load %{{.*}}[d0, (d1 floordiv 3), d4, d6]
// CHECK: %[[G:.*]] = tk.reduce add %{{.*}} over [6] {tk.factors = bf16}
// CHECK: %[[D:.*]] = arith.subf %[[G]], %{{.*}}
// CHECK-NEXT: %[[I:.*]] = arith.mulf %[[P]], %[[D]]
// CHECK: tk.load %{{.*}}[d0, (d1 floordiv 3), d4, d3]
// CHECK: tk.reduce add %{{.*}} over [4] {tk.factors = bf16}
// CHECK: tk.store %{{.*}}, %{{.*}}[d0, d1, d2, d3]
// LIBRARY-LABEL: @gradient_of_queries
// LIBRARY: tw.attention_query_grad
func.func @gradient_of_queries(%s0: index {tw.symbol = "s0"}, %q: tensor<2x6x8x32xbf16>, %g: tensor<2x6x8x16xbf16>,
    %k: tensor<2x2x?x32xbf16, #tw.shape<"2, 2, s0, 32">>, %v: tensor<2x2x?x16xbf16, #tw.shape<"2, 2, s0, 16">>,
    %l: tensor<2x6x8xf32>, %d: tensor<2x6x8xf32>) -> tensor<2x6x8x32xbf16> {
  %r = tw.attention_query_grad %q, %k, %v, %g, %l, %d causal scale 0.125 : (tensor<2x6x8x32xbf16>,
    tensor<2x2x?x32xbf16, #tw.shape<"2, 2, s0, 32">>, tensor<2x2x?x16xbf16, #tw.shape<"2, 2, s0, 16">>,
    tensor<2x6x8x16xbf16>, tensor<2x6x8xf32>, tensor<2x6x8xf32>) -> tensor<2x6x8x32xbf16>
  func.return %r : tensor<2x6x8x32xbf16>
}

// -----

// Along rows of queries, which see a key from its own number on; both results from one kernel.
// CHECK-LABEL: @gradients_of_keys
// CHECK: tk.kernel [2, 3, 9, 32, 16, 8, 32, 16]
// CHECK: tk.reduce add %{{.*}} over [6] : f32
// CHECK: tk.load %{{.*}}[d0, d1, d5, d2] : tensor<2x3x8x9xf32> -> f32
// CHECK: tk.index "d2"
// CHECK: tk.index "d5"
// CHECK: arith.cmpi sle
// CHECK: tk.reduce add %{{.*}} over [5] : f32
// CHECK: tk.reduce add %{{.*}} over [7] : f32
// CHECK: tk.reduce add %{{.*}} over [5] : f32
// CHECK: tk.store %{{.*}}, %{{.*}}[d0, d1, d2, d3]
// CHECK: tk.store %{{.*}}, %{{.*}}[d0, d1, d2, d4]
func.func @gradients_of_keys(%q: tensor<2x3x8x32xf32>, %g: tensor<2x3x8x16xf32>, %k: tensor<2x3x9x32xf32>,
    %v: tensor<2x3x9x16xf32>, %l: tensor<2x3x8xf32>, %m: tensor<2x3x8x9xf32>)
    -> (tensor<2x3x9x32xf32>, tensor<2x3x9x16xf32>) {
  %dk, %dv = tw.attention_key_grad %q, %k, %v, %g, %l, %l mask %m causal scale 0.125 : (tensor<2x3x8x32xf32>,
    tensor<2x3x9x32xf32>, tensor<2x3x9x16xf32>, tensor<2x3x8x16xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>,
    tensor<2x3x8x9xf32>) -> (tensor<2x3x9x32xf32>, tensor<2x3x9x16xf32>)
  func.return %dk, %dv : tensor<2x3x9x32xf32>, tensor<2x3x9x16xf32>
}

// -----

// CHECK-LABEL: @deep_gradient
// CHECK: tw.attention_query_grad
// REMARK: left to a library: heads are symbolic or have more than 128 elements
func.func @deep_gradient(%q: tensor<2x3x8x160xf16>, %l: tensor<2x3x8xf32>) -> tensor<2x3x8x160xf16> {
  %r = tw.attention_query_grad %q, %q, %q, %q, %l, %l scale 0.125 : (tensor<2x3x8x160xf16>, tensor<2x3x8x160xf16>,
    tensor<2x3x8x160xf16>, tensor<2x3x8x160xf16>, tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8x160xf16>
  func.return %r : tensor<2x3x8x160xf16>
}

// -----

// A weight is dropped after its sum was taken; the position of a weight among all is the counter.
// CHECK-LABEL: @dropout
// CHECK: tk.kernel [2, 3, 8, 16, 9, 32]
// CHECK: %[[W:.*]] = math.exp
// CHECK: %[[TOTAL:.*]] = tk.reduce add %[[W]] over [4] : f32
// CHECK: %[[AT:.*]] = tk.index "d0*216 + d1*72 + d2*9 + d4" : i64
// CHECK: %[[FIRST:.*]] = tk.load %{{.*}}[1] : tensor<2xi64> -> i64
// CHECK: %[[FOURS:.*]] = arith.andi %[[FIRST]], %{{.*}} : i64
// CHECK: %[[COUNTER:.*]] = arith.addi %[[AT]], %[[FOURS]] : i64
// CHECK: %[[SEED:.*]] = tk.load %{{.*}}[0] : tensor<2xi64> -> i64
// CHECK: %[[DRAWN:.*]] = tk.random %[[SEED]], %[[COUNTER]] : f32
// CHECK: %[[KEPT:.*]] = arith.cmpf oge, %[[DRAWN]], %{{.*}} : f32
// CHECK: %[[LEFT:.*]] = arith.select %[[KEPT]], %[[W]], %{{.*}} : f32
// CHECK: arith.mulf %[[LEFT]], %{{.*}} : f32
// CHECK: %[[R:.*]] = arith.divf
// CHECK: arith.mulf %[[R]], %{{.*}} : f32
// LIBRARY-LABEL: @dropout
// LIBRARY: tw.attention
func.func @dropout(%q: tensor<2x3x8x32xf32>, %k: tensor<2x3x9x32xf32>, %v: tensor<2x3x9x16xf32>, %s: tensor<2xi64>)
    -> tensor<2x3x8x16xf32> {
  %o, %l = tw.attention %q, %k, %v scale 0.125 dropout 0.25 seed %s : (tensor<2x3x8x32xf32>,
    tensor<2x3x9x32xf32>, tensor<2x3x9x16xf32>, tensor<2xi64>) -> (tensor<2x3x8x16xf32>, tensor<2x3x8xf32>)
  func.return %o : tensor<2x3x8x16xf32>
}

// -----

// The gradient of what was dropped is dropped; that of the values takes the weights that were left.
// CHECK-LABEL: @gradients_with_dropout
// CHECK: %[[P:.*]] = math.exp
// CHECK: tk.index "d0*216 + d1*72 + d2 + d5*9" : i64
// CHECK: %[[DRAWN:.*]] = tk.random
// CHECK: %[[KEPT:.*]] = arith.cmpf oge, %[[DRAWN]]
// CHECK: arith.select %[[KEPT]], %[[P]], %{{.*}} : f32
// CHECK: %[[G:.*]] = tk.reduce add %{{.*}} over [7] : f32
// CHECK: %[[RAISED:.*]] = arith.mulf %[[G]], %{{.*}} : f32
// CHECK: %[[LEFT:.*]] = arith.select %{{.*}}, %[[RAISED]], %{{.*}} : f32
// CHECK: %[[D:.*]] = arith.subf %[[LEFT]], %{{.*}} : f32
// CHECK: arith.mulf %[[P]], %[[D]] : f32
func.func @gradients_with_dropout(%q: tensor<2x3x8x32xf32>, %g: tensor<2x3x8x16xf32>, %k: tensor<2x3x9x32xf32>,
    %v: tensor<2x3x9x16xf32>, %l: tensor<2x3x8xf32>, %s: tensor<2xi64>)
    -> (tensor<2x3x9x32xf32>, tensor<2x3x9x16xf32>) {
  %dk, %dv = tw.attention_key_grad %q, %k, %v, %g, %l, %l scale 0.125 dropout 0.25 seed %s : (tensor<2x3x8x32xf32>,
    tensor<2x3x9x32xf32>, tensor<2x3x9x16xf32>, tensor<2x3x8x16xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>,
    tensor<2xi64>) -> (tensor<2x3x9x32xf32>, tensor<2x3x9x16xf32>)
  func.return %dk, %dv : tensor<2x3x9x32xf32>, tensor<2x3x9x16xf32>
}
