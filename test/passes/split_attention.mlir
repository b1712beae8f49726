// RUN: tilewright-opt %s -p split-attention --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p split-attention --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// The sums of the rows once, in f32; then the gradients of rows of queries, and those of rows of keys.
// CHECK-LABEL: @halves
// CHECK-NEXT: %[[G:.*]] = tw.cast %g : tensor<1x2x5x4xbf16> -> tensor<1x2x5x4xf32> loc("m.py":3:0)
// CHECK-NEXT: %[[O:.*]] = tw.cast %o
// CHECK-NEXT: %[[P:.*]] = tw.mul %[[G]], %[[O]]
// CHECK-NEXT: %[[D:.*]] = tw.sum %[[P]] over [3] : tensor<1x2x5x4xf32> -> tensor<1x2x5xf32>
// CHECK-NEXT: %[[DQ:.*]] = tw.attention_query_grad %q, %k, %v, %g, %l, %[[D]] mask %m causal scale {{.*}} -> tensor<1x2x5x3xbf16>
// CHECK-NEXT: %[[DK:.*]], %[[DV:.*]] = tw.attention_key_grad %q, %k, %v, %g, %l, %[[D]] mask %m causal scale {{.*}} -> (tensor<1x2x7x3xbf16>, tensor<1x2x7x4xbf16>)
// CHECK-NEXT: return %[[DQ]], %[[DK]], %[[DV]]
func.func @halves(%q: tensor<1x2x5x3xbf16>, %k: tensor<1x2x7x3xbf16>, %v: tensor<1x2x7x4xbf16>,
    %g: tensor<1x2x5x4xbf16>, %o: tensor<1x2x5x4xbf16>, %l: tensor<1x2x5xf32>, %m: tensor<5x7xi1>)
    -> (tensor<1x2x5x3xbf16>, tensor<1x2x7x3xbf16>, tensor<1x2x7x4xbf16>) {
  %dq, %dk, %dv = tw.attention_backward %q, %k, %v, %g, %o, %l mask %m causal scale 0.5
    : (tensor<1x2x5x3xbf16>, tensor<1x2x7x3xbf16>, tensor<1x2x7x4xbf16>, tensor<1x2x5x4xbf16>,
       tensor<1x2x5x4xbf16>, tensor<1x2x5xf32>, tensor<5x7xi1>)
      -> (tensor<1x2x5x3xbf16>, tensor<1x2x7x3xbf16>, tensor<1x2x7x4xbf16>) loc("m.py":3:0)
  func.return %dq, %dk, %dv : tensor<1x2x5x3xbf16>, tensor<1x2x7x3xbf16>, tensor<1x2x7x4xbf16>
}

// -----

// Three heads of queries share one of keys: each has its own gradients, and they are summed as wide ones.
// CHECK-LABEL: @shared_heads
// CHECK: %[[DK:.*]], %[[DV:.*]] = tw.attention_key_grad {{.*}} -> (tensor<1x6x7x4xf16>, tensor<1x6x7x4xf16>)
// CHECK: %[[GROUPS:.*]] = tw.reshape %[[DK]] : tensor<1x6x7x4xf16> -> tensor<1x2x3x7x4xf16>
// CHECK: %[[WIDE:.*]] = tw.cast %[[GROUPS]] : tensor<1x2x3x7x4xf16> -> tensor<1x2x3x7x4xf32>
// CHECK: %[[SUM:.*]] = tw.sum %[[WIDE]] over [2] : tensor<1x2x3x7x4xf32> -> tensor<1x2x7x4xf32>
// CHECK: tw.cast %[[SUM]] : tensor<1x2x7x4xf32> -> tensor<1x2x7x4xf16>
// CHECK: tw.reshape %[[DV]]
func.func @shared_heads(%q: tensor<1x6x5x4xf16>, %k: tensor<1x2x7x4xf16>, %l: tensor<1x6x5xf32>)
    -> (tensor<1x2x7x4xf16>, tensor<1x2x7x4xf16>) {
  %dq, %dk, %dv = tw.attention_backward %q, %k, %k, %q, %q, %l scale 0.5
    : (tensor<1x6x5x4xf16>, tensor<1x2x7x4xf16>, tensor<1x2x7x4xf16>, tensor<1x6x5x4xf16>,
       tensor<1x6x5x4xf16>, tensor<1x6x5xf32>)
      -> (tensor<1x6x5x4xf16>, tensor<1x2x7x4xf16>, tensor<1x2x7x4xf16>)
  func.return %dk, %dv : tensor<1x2x7x4xf16>, tensor<1x2x7x4xf16>
}

// -----

// Of one kernel where programs are enough: 32 batches, each with 2 blocks of 64 keys of 2 heads.
// CHECK-LABEL: @summed_where_they_are_made
// CHECK: %[[DK:.*]], %[[DV:.*]] = tw.attention_key_grad {{.*}} -> (tensor<32x2x65x4xf16>, tensor<32x2x65x4xf16>) loc("m.py":3:0)
// CHECK-NEXT: return %[[DK]], %[[DV]]
func.func @summed_where_they_are_made(%q: tensor<32x6x5x4xf16>, %k: tensor<32x2x65x4xf16>, %l: tensor<32x6x5xf32>)
    -> (tensor<32x2x65x4xf16>, tensor<32x2x65x4xf16>) {
  %dq, %dk, %dv = tw.attention_backward %q, %k, %k, %q, %q, %l scale 0.5
    : (tensor<32x6x5x4xf16>, tensor<32x2x65x4xf16>, tensor<32x2x65x4xf16>, tensor<32x6x5x4xf16>,
       tensor<32x6x5x4xf16>, tensor<32x6x5xf32>)
      -> (tensor<32x6x5x4xf16>, tensor<32x2x65x4xf16>, tensor<32x2x65x4xf16>) loc("m.py":3:0)
  func.return %dk, %dv : tensor<32x2x65x4xf16>, tensor<32x2x65x4xf16>
}

// -----

// 12 batches: too few where three heads are left; programs of two heads of queries are enough.
// CHECK-LABEL: @summed_in_part
// CHECK: %[[DK:.*]], %[[DV:.*]] = tw.attention_key_grad {{.*}} -> (tensor<12x6x65x4xf16>, tensor<12x6x65x4xf16>)
// CHECK: tw.reshape %[[DK]] : tensor<12x6x65x4xf16> -> tensor<12x3x2x65x4xf16>
func.func @summed_in_part(%q: tensor<12x12x5x4xf16>, %k: tensor<12x3x65x4xf16>, %l: tensor<12x12x5xf32>)
    -> tensor<12x3x65x4xf16> {
  %dq, %dk, %dv = tw.attention_backward %q, %k, %k, %q, %q, %l scale 0.5
    : (tensor<12x12x5x4xf16>, tensor<12x3x65x4xf16>, tensor<12x3x65x4xf16>, tensor<12x12x5x4xf16>,
       tensor<12x12x5x4xf16>, tensor<12x12x5xf32>)
      -> (tensor<12x12x5x4xf16>, tensor<12x3x65x4xf16>, tensor<12x3x65x4xf16>)
  func.return %dk : tensor<12x3x65x4xf16>
}

// -----

// CHECK-LABEL: @doubles
// CHECK-NEXT: tw.attention_backward
// CHECK-NEXT: return
// REMARK: left to a library: no matrix unit takes f64
func.func @doubles(%q: tensor<1x2x5x4xf64>, %l: tensor<1x2x5xf64>) -> tensor<1x2x5x4xf64> {
  %dq, %dk, %dv = tw.attention_backward %q, %q, %q, %q, %q, %l scale 0.5
    : (tensor<1x2x5x4xf64>, tensor<1x2x5x4xf64>, tensor<1x2x5x4xf64>, tensor<1x2x5x4xf64>,
       tensor<1x2x5x4xf64>, tensor<1x2x5xf64>)
      -> (tensor<1x2x5x4xf64>, tensor<1x2x5x4xf64>, tensor<1x2x5x4xf64>)
  func.return %dq : tensor<1x2x5x4xf64>
}

// -----

// CHECK-LABEL: @one_key
// CHECK-NEXT: tw.attention_backward
// REMARK: left to a library: one of its sides has no more than one element
func.func @one_key(%q: tensor<1x2x5x4xf32>, %k: tensor<1x2x1x4xf32>, %l: tensor<1x2x5xf32>) -> tensor<1x2x5x4xf32> {
  %dq, %dk, %dv = tw.attention_backward %q, %k, %k, %q, %q, %l scale 0.5
    : (tensor<1x2x5x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x5x4xf32>,
       tensor<1x2x5x4xf32>, tensor<1x2x5xf32>)
      -> (tensor<1x2x5x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>)
  func.return %dq : tensor<1x2x5x4xf32>
}

// -----

// CHECK-LABEL: @wide_heads
// CHECK: tw.attention_query_grad
// CHECK: tw.attention_key_grad
func.func @wide_heads(%q: tensor<1x1x5x128xf32>, %l: tensor<1x1x5xf32>)
    -> (tensor<1x1x5x128xf32>, tensor<1x1x5x128xf32>) {
  %dq, %dk, %dv = tw.attention_backward %q, %q, %q, %q, %q, %l scale 0.5
    : (tensor<1x1x5x128xf32>, tensor<1x1x5x128xf32>, tensor<1x1x5x128xf32>, tensor<1x1x5x128xf32>,
       tensor<1x1x5x128xf32>, tensor<1x1x5xf32>)
      -> (tensor<1x1x5x128xf32>, tensor<1x1x5x128xf32>, tensor<1x1x5x128xf32>)
  func.return %dq, %dk : tensor<1x1x5x128xf32>, tensor<1x1x5x128xf32>
}

// -----

// CHECK-LABEL: @deep_heads
// CHECK-NEXT: tw.attention_backward
// REMARK: left to a library: heads are symbolic or have more than 128 elements
func.func @deep_heads(%q: tensor<1x1x5x160xf32>, %l: tensor<1x1x5xf32>) -> tensor<1x1x5x160xf32> {
  %dq, %dk, %dv = tw.attention_backward %q, %q, %q, %q, %q, %l scale 0.5
    : (tensor<1x1x5x160xf32>, tensor<1x1x5x160xf32>, tensor<1x1x5x160xf32>, tensor<1x1x5x160xf32>,
       tensor<1x1x5x160xf32>, tensor<1x1x5xf32>)
      -> (tensor<1x1x5x160xf32>, tensor<1x1x5x160xf32>, tensor<1x1x5x160xf32>)
  func.return %dq : tensor<1x1x5x160xf32>
}

// -----

// Both get the seed.
// CHECK-LABEL: @dropout
// CHECK: tw.attention_query_grad %q, %q, %q, %q, %l, %{{.*}} scale {{.*}} dropout 2.500000e-01 seed %s :
// CHECK: tw.attention_key_grad %q, %q, %q, %q, %l, %{{.*}} scale {{.*}} dropout 2.500000e-01 seed %s :
func.func @dropout(%q: tensor<1x2x5x4xf32>, %l: tensor<1x2x5xf32>, %s: tensor<2xi64>)
    -> (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>) {
  %dq, %dk, %dv = tw.attention_backward %q, %q, %q, %q, %q, %l scale 0.5 dropout 0.25 seed %s
    : (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>,
       tensor<1x2x5x4xf32>, tensor<1x2x5xf32>, tensor<2xi64>)
      -> (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>)
  func.return %dq, %dk : tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>
}
