// RUN: tilewright-opt %s -p share-heads,dce --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p share-heads,dce --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p share-heads{calls=true},dce --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=CALLS-REMARK
// RUN: tilewright-opt %s -p share-heads{calls=true},dce --split-input-file | filecheck %s --check-prefix=CALLS

// CHECK-LABEL: @forward
// CHECK-NEXT: %[[O:.*]], %[[L:.*]] = tw.attention %q, %k, %k mask %m causal scale 5.000000e-01 dropout 0.000000e+00 : (tensor<1x6x5x4xf32>, tensor<1x2x7x4xf32>, tensor<1x2x7x4xf32>, tensor<5x7xi1>) -> (tensor<1x6x5x4xf32>, tensor<1x6x5xf32>) loc("m.py":3:0)
// CHECK-NEXT: return %[[O]], %[[L]]
func.func @forward(%q: tensor<1x6x5x4xf32>, %k: tensor<1x2x7x4xf32>, %m: tensor<5x7xi1>)
    -> (tensor<1x6x5x4xf32>, tensor<1x6x5xf32>) {
  %e = tw.broadcast %k dims [0, 1, 3, 4] : tensor<1x2x7x4xf32> -> tensor<1x2x3x7x4xf32>
  %ks = tw.reshape %e : tensor<1x2x3x7x4xf32> -> tensor<1x6x7x4xf32>
  %o, %l = tw.attention %q, %ks, %ks mask %m causal scale 0.5 dropout 0.0
    : (tensor<1x6x5x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x7x4xf32>, tensor<5x7xi1>)
      -> (tensor<1x6x5x4xf32>, tensor<1x6x5xf32>) loc("m.py":3:0)
  func.return %o, %l : tensor<1x6x5x4xf32>, tensor<1x6x5xf32>
}

// -----

// A result of its own type, and numbers that say which weights are dropped.
// CHECK-LABEL: @dropped
// CHECK-NEXT: tw.attention %q, %k, %k scale 5.000000e-01 dropout 1.000000e-01 seed %s : (tensor<1x2x5x4xf16>, tensor<1x1x7x4xf16>, tensor<1x1x7x4xf16>, tensor<2xi64>) -> (tensor<1x2x5x4xf32>, tensor<1x2x5xf32>)
func.func @dropped(%q: tensor<1x2x5x4xf16>, %k: tensor<1x1x7x4xf16>, %s: tensor<2xi64>) -> tensor<1x2x5x4xf32> {
  %e = tw.broadcast %k dims [0, 1, 3, 4] : tensor<1x1x7x4xf16> -> tensor<1x1x2x7x4xf16>
  %ks = tw.reshape %e : tensor<1x1x2x7x4xf16> -> tensor<1x2x7x4xf16>
  %o, %l = tw.attention %q, %ks, %ks scale 0.5 dropout 0.1 seed %s
    : (tensor<1x2x5x4xf16>, tensor<1x2x7x4xf16>, tensor<1x2x7x4xf16>, tensor<2xi64>)
      -> (tensor<1x2x5x4xf32>, tensor<1x2x5xf32>)
  func.return %o : tensor<1x2x5x4xf32>
}

// -----

// Rows stand between batch and heads, and what is repeated has a dimension of one for it; so do the sums.
// CHECK-LABEL: @heads_inside
// CHECK-NEXT: %[[FLAT:.*]] = tw.reshape %k : tensor<1x7x2x1x4xf32> -> tensor<1x7x2x4xf32> loc("m.py":3:0)
// CHECK-NEXT: %[[K:.*]] = tw.transpose %[[FLAT]] by [0, 2, 1, 3] : tensor<1x7x2x4xf32> -> tensor<1x2x7x4xf32>
// CHECK-NEXT: %[[V:.*]] = tw.transpose %v by [0, 2, 1, 3]
// CHECK-NEXT: %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = tw.attention_backward %q, %[[K]], %[[V]], %q, %q, %l scale 5.000000e-01 : {{.*}} -> (tensor<1x6x5x4xf32>, tensor<1x2x7x4xf32>, tensor<1x2x7x4xf32>)
// CHECK-NEXT: %[[SK:.*]] = tw.transpose %[[DK]] by [0, 2, 1, 3] : tensor<1x2x7x4xf32> -> tensor<1x7x2x4xf32> loc("m.py":5:0)
// CHECK-NEXT: %[[SV:.*]] = tw.transpose %[[DV]] by [0, 2, 1, 3]
// CHECK-NEXT: return %[[DQ]], %[[SK]], %[[SV]]
func.func @heads_inside(%q: tensor<1x6x5x4xf32>, %k: tensor<1x7x2x1x4xf32>, %v: tensor<1x7x2x4xf32>,
    %l: tensor<1x6x5xf32>) -> (tensor<1x6x5x4xf32>, tensor<1x7x2x4xf32>, tensor<1x7x2x4xf32>) {
  %e = tw.broadcast %k dims [0, 1, 2, 3, 4] : tensor<1x7x2x1x4xf32> -> tensor<1x7x2x3x4xf32>
  %f = tw.reshape %e : tensor<1x7x2x3x4xf32> -> tensor<1x7x6x4xf32>
  %ks = tw.transpose %f by [0, 2, 1, 3] : tensor<1x7x6x4xf32> -> tensor<1x6x7x4xf32>
  %h = tw.broadcast %v dims [0, 1, 2, 4] : tensor<1x7x2x4xf32> -> tensor<1x7x2x3x4xf32>
  %i = tw.reshape %h : tensor<1x7x2x3x4xf32> -> tensor<1x7x6x4xf32>
  %vs = tw.transpose %i by [0, 2, 1, 3] : tensor<1x7x6x4xf32> -> tensor<1x6x7x4xf32>
  %dq, %dk, %dv = tw.attention_backward %q, %ks, %vs, %q, %q, %l scale 0.5
    : (tensor<1x6x5x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x5x4xf32>,
       tensor<1x6x5x4xf32>, tensor<1x6x5xf32>)
      -> (tensor<1x6x5x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x7x4xf32>) loc("m.py":3:0)
  %a = tw.transpose %dk by [0, 2, 1, 3] : tensor<1x6x7x4xf32> -> tensor<1x7x6x4xf32>
  %b = tw.reshape %a : tensor<1x7x6x4xf32> -> tensor<1x7x2x3x4xf32>
  %c = tw.sum %b over [3] : tensor<1x7x2x3x4xf32> -> tensor<1x7x2x4xf32> loc("m.py":5:0)
  %x = tw.transpose %dv by [0, 2, 1, 3] : tensor<1x6x7x4xf32> -> tensor<1x7x6x4xf32>
  %y = tw.reshape %x : tensor<1x7x6x4xf32> -> tensor<1x7x2x3x4xf32>
  %z = tw.sum %y over [3] : tensor<1x7x2x3x4xf32> -> tensor<1x7x2x4xf32>
  func.return %dq, %c, %z : tensor<1x6x5x4xf32>, tensor<1x7x2x4xf32>, tensor<1x7x2x4xf32>
}

// -----

// One head for all needs no reshape; a batch of one may be missing, and be summed as well.
// CHECK-LABEL: @one_head
// CHECK-NEXT: %[[V:.*]] = tw.reshape %v : tensor<7x4xf32> -> tensor<1x1x7x4xf32>
// CHECK-NEXT: %{{.*}}, %[[DK:.*]], %[[DV:.*]] = tw.attention_backward %q, %k, %[[V]], {{.*}} -> (tensor<1x6x5x4xf32>, tensor<1x1x7x4xf32>, tensor<1x1x7x4xf32>)
// CHECK-NEXT: %[[S:.*]] = tw.reshape %[[DK]] : tensor<1x1x7x4xf32> -> tensor<1x7x4xf32>
// CHECK-NEXT: %[[T:.*]] = tw.reshape %[[DV]] : tensor<1x1x7x4xf32> -> tensor<7x4xf32>
// CHECK-NEXT: return %[[S]], %[[T]]
func.func @one_head(%q: tensor<1x6x5x4xf32>, %k: tensor<1x1x7x4xf32>, %v: tensor<7x4xf32>, %l: tensor<1x6x5xf32>)
    -> (tensor<1x7x4xf32>, tensor<7x4xf32>) {
  %ks = tw.broadcast %k dims [0, 1, 2, 3] : tensor<1x1x7x4xf32> -> tensor<1x6x7x4xf32>
  %vs = tw.broadcast %v dims [2, 3] : tensor<7x4xf32> -> tensor<1x6x7x4xf32>
  %dq, %dk, %dv = tw.attention_backward %q, %ks, %vs, %q, %q, %l scale 0.5
    : (tensor<1x6x5x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x5x4xf32>,
       tensor<1x6x5x4xf32>, tensor<1x6x5xf32>)
      -> (tensor<1x6x5x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x7x4xf32>)
  %s = tw.sum %dk over [1] : tensor<1x6x7x4xf32> -> tensor<1x7x4xf32>
  %t = tw.sum %dv over [0, 1] : tensor<1x6x7x4xf32> -> tensor<7x4xf32>
  func.return %s, %t : tensor<1x7x4xf32>, tensor<7x4xf32>
}

// -----

// Repeated behind the heads, then between: the last digits of a head's number stay together.
// CHECK-LABEL: @turned_while_apart
// CHECK-NEXT: %[[A:.*]] = tw.reshape %k : tensor<7x2x4xf32> -> tensor<7x2x1x4xf32>
// CHECK-NEXT: %[[B:.*]] = tw.transpose %[[A]] by [1, 2, 0, 3] : tensor<7x2x1x4xf32> -> tensor<2x1x7x4xf32>
// CHECK-NEXT: %[[C:.*]] = tw.reshape %[[B]] : tensor<2x1x7x4xf32> -> tensor<1x2x7x4xf32>
// CHECK: tw.attention %q, %[[C]],
func.func @turned_while_apart(%q: tensor<1x6x5x4xf32>, %k: tensor<7x2x4xf32>) -> tensor<1x6x5x4xf32> {
  %e = tw.broadcast %k dims [0, 1, 3] : tensor<7x2x4xf32> -> tensor<7x2x3x4xf32>
  %f = tw.transpose %e by [1, 2, 0, 3] : tensor<7x2x3x4xf32> -> tensor<2x3x7x4xf32>
  %ks = tw.reshape %f : tensor<2x3x7x4xf32> -> tensor<1x6x7x4xf32>
  %o, %l = tw.attention %q, %ks, %ks scale 0.5 dropout 0.0
    : (tensor<1x6x5x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x7x4xf32>)
      -> (tensor<1x6x5x4xf32>, tensor<1x6x5xf32>)
  func.return %o : tensor<1x6x5x4xf32>
}

// -----

// Three copies of each row lie in heads of seven: these differ in what they read.
// CHECK-LABEL: @apart_from_rows
// CHECK: tw.attention %q, %ks, %ks
func.func @apart_from_rows(%q: tensor<1x6x5x4xf32>, %k: tensor<14x4xf32>) -> tensor<1x6x5x4xf32> {
  %e = tw.broadcast %k dims [0, 2] : tensor<14x4xf32> -> tensor<14x3x4xf32>
  %ks = tw.reshape %e : tensor<14x3x4xf32> -> tensor<1x6x7x4xf32>
  %o, %l = tw.attention %q, %ks, %ks scale 0.5 dropout 0.0
    : (tensor<1x6x5x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x7x4xf32>)
      -> (tensor<1x6x5x4xf32>, tensor<1x6x5xf32>)
  func.return %o : tensor<1x6x5x4xf32>
}

// -----

// CHECK-LABEL: @single_gradients
// CHECK: tw.attention_backward %q, %ks, %ks
// REMARK: heads are not shared: gradients of single heads are read
func.func @single_gradients(%q: tensor<1x6x5x4xf32>, %k: tensor<1x2x7x4xf32>, %l: tensor<1x6x5xf32>)
    -> (tensor<1x2x7x4xf32>, tensor<1x6x7x4xf32>) {
  %e = tw.broadcast %k dims [0, 1, 3, 4] : tensor<1x2x7x4xf32> -> tensor<1x2x3x7x4xf32>
  %ks = tw.reshape %e : tensor<1x2x3x7x4xf32> -> tensor<1x6x7x4xf32>
  %dq, %dk, %dv = tw.attention_backward %q, %ks, %ks, %q, %q, %l scale 0.5
    : (tensor<1x6x5x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x5x4xf32>,
       tensor<1x6x5x4xf32>, tensor<1x6x5xf32>)
      -> (tensor<1x6x5x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x7x4xf32>)
  %h = tw.reshape %dk : tensor<1x6x7x4xf32> -> tensor<1x2x3x7x4xf32>
  %s = tw.sum %h over [2] : tensor<1x2x3x7x4xf32> -> tensor<1x2x7x4xf32>
  func.return %s, %dv : tensor<1x2x7x4xf32>, tensor<1x6x7x4xf32>
}

// -----

// Sums over heads that are not equal.
// CHECK-LABEL: @other_sums
// CHECK: tw.attention_backward %q, %ks, %ks
func.func @other_sums(%q: tensor<1x6x5x4xf32>, %k: tensor<1x2x7x4xf32>, %l: tensor<1x6x5xf32>)
    -> (tensor<1x3x7x4xf32>, tensor<1x3x7x4xf32>) {
  %e = tw.broadcast %k dims [0, 1, 3, 4] : tensor<1x2x7x4xf32> -> tensor<1x2x3x7x4xf32>
  %ks = tw.reshape %e : tensor<1x2x3x7x4xf32> -> tensor<1x6x7x4xf32>
  %dq, %dk, %dv = tw.attention_backward %q, %ks, %ks, %q, %q, %l scale 0.5
    : (tensor<1x6x5x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x5x4xf32>,
       tensor<1x6x5x4xf32>, tensor<1x6x5xf32>)
      -> (tensor<1x6x5x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x7x4xf32>)
  %h = tw.reshape %dk : tensor<1x6x7x4xf32> -> tensor<1x2x3x7x4xf32>
  %s = tw.sum %h over [1] : tensor<1x2x3x7x4xf32> -> tensor<1x3x7x4xf32>
  %i = tw.reshape %dv : tensor<1x6x7x4xf32> -> tensor<1x2x3x7x4xf32>
  %t = tw.sum %i over [1] : tensor<1x2x3x7x4xf32> -> tensor<1x3x7x4xf32>
  func.return %s, %t : tensor<1x3x7x4xf32>, tensor<1x3x7x4xf32>
}

// -----

// Sums over pairs, where three in a row are equal.
// CHECK-LABEL: @other_pairs
// CHECK: tw.attention_backward %q, %ks, %ks
func.func @other_pairs(%q: tensor<1x6x5x4xf32>, %k: tensor<1x2x7x4xf32>, %l: tensor<1x6x5xf32>)
    -> (tensor<1x3x7x4xf32>, tensor<1x3x7x4xf32>) {
  %e = tw.broadcast %k dims [0, 1, 3, 4] : tensor<1x2x7x4xf32> -> tensor<1x2x3x7x4xf32>
  %ks = tw.reshape %e : tensor<1x2x3x7x4xf32> -> tensor<1x6x7x4xf32>
  %dq, %dk, %dv = tw.attention_backward %q, %ks, %ks, %q, %q, %l scale 0.5
    : (tensor<1x6x5x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x5x4xf32>,
       tensor<1x6x5x4xf32>, tensor<1x6x5xf32>)
      -> (tensor<1x6x5x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x7x4xf32>)
  %h = tw.reshape %dk : tensor<1x6x7x4xf32> -> tensor<1x3x2x7x4xf32>
  %s = tw.sum %h over [2] : tensor<1x3x2x7x4xf32> -> tensor<1x3x7x4xf32>
  %i = tw.reshape %dv : tensor<1x6x7x4xf32> -> tensor<1x3x2x7x4xf32>
  %t = tw.sum %i over [2] : tensor<1x3x2x7x4xf32> -> tensor<1x3x7x4xf32>
  func.return %s, %t : tensor<1x3x7x4xf32>, tensor<1x3x7x4xf32>
}

// -----

// All heads again and again, not each of them: their places are others.
// CHECK-LABEL: @tiled
// CHECK: tw.attention %q, %ks, %ks
func.func @tiled(%q: tensor<1x6x5x4xf32>, %k: tensor<1x2x7x4xf32>) -> tensor<1x6x5x4xf32> {
  %e = tw.broadcast %k dims [0, 2, 3, 4] : tensor<1x2x7x4xf32> -> tensor<1x3x2x7x4xf32>
  %ks = tw.reshape %e : tensor<1x3x2x7x4xf32> -> tensor<1x6x7x4xf32>
  %o, %l = tw.attention %q, %ks, %ks scale 0.5 dropout 0.0
    : (tensor<1x6x5x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x7x4xf32>)
      -> (tensor<1x6x5x4xf32>, tensor<1x6x5xf32>)
  func.return %o : tensor<1x6x5x4xf32>
}

// -----

// CHECK-LABEL: @keys_alone
// CHECK: tw.attention %q, %ks, %v
// REMARK: heads are not shared: only its keys or only its values are repeated
func.func @keys_alone(%q: tensor<1x6x5x4xf32>, %k: tensor<1x2x7x4xf32>, %v: tensor<1x6x7x4xf32>) -> tensor<1x6x5x4xf32> {
  %e = tw.broadcast %k dims [0, 1, 3, 4] : tensor<1x2x7x4xf32> -> tensor<1x2x3x7x4xf32>
  %ks = tw.reshape %e : tensor<1x2x3x7x4xf32> -> tensor<1x6x7x4xf32>
  %o, %l = tw.attention %q, %ks, %v scale 0.5 dropout 0.0
    : (tensor<1x6x5x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x7x4xf32>)
      -> (tensor<1x6x5x4xf32>, tensor<1x6x5xf32>)
  func.return %o : tensor<1x6x5x4xf32>
}

// -----

// CHECK-LABEL: @other_groups
// CHECK: tw.attention %q, %ks, %vs
// REMARK: heads are not shared: keys are repeated 3 times, values 2 times
func.func @other_groups(%q: tensor<1x6x5x4xf32>, %k: tensor<1x2x7x4xf32>, %v: tensor<1x3x7x4xf32>) -> tensor<1x6x5x4xf32> {
  %e = tw.broadcast %k dims [0, 1, 3, 4] : tensor<1x2x7x4xf32> -> tensor<1x2x3x7x4xf32>
  %ks = tw.reshape %e : tensor<1x2x3x7x4xf32> -> tensor<1x6x7x4xf32>
  %f = tw.broadcast %v dims [0, 1, 3, 4] : tensor<1x3x7x4xf32> -> tensor<1x3x2x7x4xf32>
  %vs = tw.reshape %f : tensor<1x3x2x7x4xf32> -> tensor<1x6x7x4xf32>
  %o, %l = tw.attention %q, %ks, %vs scale 0.5 dropout 0.0
    : (tensor<1x6x5x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x7x4xf32>)
      -> (tensor<1x6x5x4xf32>, tensor<1x6x5xf32>)
  func.return %o : tensor<1x6x5x4xf32>
}

// -----

// What else is repeated stays so.
// CHECK-LABEL: @elements
// CHECK-NEXT: %[[E:.*]] = tw.broadcast %k dims [0, 1, 3, 4] : tensor<1x2x7x1xf32> -> tensor<1x2x1x7x4xf32>
// CHECK-NEXT: %[[K:.*]] = tw.reshape %[[E]] : tensor<1x2x1x7x4xf32> -> tensor<1x2x7x4xf32>
// CHECK: tw.attention %q, %[[K]],
func.func @elements(%q: tensor<1x6x5x4xf32>, %k: tensor<1x2x7x1xf32>) -> tensor<1x6x5x4xf32> {
  %e = tw.broadcast %k dims [0, 1, 3, 4] : tensor<1x2x7x1xf32> -> tensor<1x2x3x7x4xf32>
  %ks = tw.reshape %e : tensor<1x2x3x7x4xf32> -> tensor<1x6x7x4xf32>
  %o, %l = tw.attention %q, %ks, %ks scale 0.5 dropout 0.0
    : (tensor<1x6x5x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x7x4xf32>)
      -> (tensor<1x6x5x4xf32>, tensor<1x6x5xf32>)
  func.return %o : tensor<1x6x5x4xf32>
}

// -----

// CHECK-LABEL: @doubles
// CHECK: tw.attention %q, %ks, %ks
// CALLS-LABEL: @doubles
// CALLS: tw.attention %q, %k, %k
func.func @doubles(%q: tensor<1x6x5x4xf64>, %k: tensor<1x2x7x4xf64>) -> tensor<1x6x5x4xf64> {
  %e = tw.broadcast %k dims [0, 1, 3, 4] : tensor<1x2x7x4xf64> -> tensor<1x2x3x7x4xf64>
  %ks = tw.reshape %e : tensor<1x2x3x7x4xf64> -> tensor<1x6x7x4xf64>
  %o, %l = tw.attention %q, %ks, %ks scale 0.5 dropout 0.0
    : (tensor<1x6x5x4xf64>, tensor<1x6x7x4xf64>, tensor<1x6x7x4xf64>)
      -> (tensor<1x6x5x4xf64>, tensor<1x6x5xf64>)
  func.return %o : tensor<1x6x5x4xf64>
}

// -----

// CHECK-LABEL: @gradients_of_halves
// CHECK: tw.attention_backward %q, %k, %k
// CALLS-REMARK: heads are not shared: a library would round each sum of their gradients
// CALLS-LABEL: @gradients_of_halves
// CALLS: tw.attention_backward %q, %ks, %ks
func.func @gradients_of_halves(%q: tensor<1x6x5x4xf16>, %k: tensor<1x2x7x4xf16>, %l: tensor<1x6x5xf32>)
    -> tensor<1x6x5x4xf16> {
  %e = tw.broadcast %k dims [0, 1, 3, 4] : tensor<1x2x7x4xf16> -> tensor<1x2x3x7x4xf16>
  %ks = tw.reshape %e : tensor<1x2x3x7x4xf16> -> tensor<1x6x7x4xf16>
  %dq, %dk, %dv = tw.attention_backward %q, %ks, %ks, %q, %q, %l scale 0.5
    : (tensor<1x6x5x4xf16>, tensor<1x6x7x4xf16>, tensor<1x6x7x4xf16>, tensor<1x6x5x4xf16>,
       tensor<1x6x5x4xf16>, tensor<1x6x5xf32>)
      -> (tensor<1x6x5x4xf16>, tensor<1x6x7x4xf16>, tensor<1x6x7x4xf16>)
  func.return %dq : tensor<1x6x5x4xf16>
}
