// For CPUs: the forward pass is a kernel where its rows fill lanes; gradients stay with a library.
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{attention=rows}' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{attention=rows}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// CHECK-LABEL: @enough_rows
// CHECK:       tk.kernel [2, 3, 16, 8, 9, 8]
// CHECK-NOT:   tw.attention
func.func @enough_rows(%q: tensor<2x3x16x8xf32>, %k: tensor<2x3x9x8xf32>) -> tensor<2x3x16x8xf32> {
  %o, %l = tw.attention %q, %k, %k causal scale 0.125 dropout 0.0 : (tensor<2x3x16x8xf32>, tensor<2x3x9x8xf32>,
    tensor<2x3x9x8xf32>) -> (tensor<2x3x16x8xf32>, tensor<2x3x16xf32>)
  func.return %o : tensor<2x3x16x8xf32>
}

// -----

// CHECK-LABEL: @few_rows
// CHECK:       tw.attention
func.func @few_rows(%q: tensor<2x3x15x8xf32>, %k: tensor<2x3x9x8xf32>) -> tensor<2x3x15x8xf32> {
  %o, %l = tw.attention %q, %k, %k scale 0.125 dropout 0.0 : (tensor<2x3x15x8xf32>, tensor<2x3x9x8xf32>,
    tensor<2x3x9x8xf32>) -> (tensor<2x3x15x8xf32>, tensor<2x3x15xf32>)
  func.return %o : tensor<2x3x15x8xf32>
}

// -----

// CHECK-LABEL: @double
// CHECK:       tw.attention
// REMARK:      tw.attention{{.*}}left to a library: no matrix unit takes f64
func.func @double(%q: tensor<2x3x16x8xf64>, %k: tensor<2x3x9x8xf64>) -> tensor<2x3x16x8xf64> {
  %o, %l = tw.attention %q, %k, %k scale 0.125 dropout 0.0 : (tensor<2x3x16x8xf64>, tensor<2x3x9x8xf64>,
    tensor<2x3x9x8xf64>) -> (tensor<2x3x16x8xf64>, tensor<2x3x16xf64>)
  func.return %o : tensor<2x3x16x8xf64>
}

// -----

// CHECK-LABEL: @gradients
// CHECK:       tw.attention_backward
func.func @gradients(%q: tensor<2x3x16x8xf32>, %l: tensor<2x3x16xf32>) -> tensor<2x3x16x8xf32> {
  %dq, %dk, %dv = tw.attention_backward %q, %q, %q, %q, %q, %l scale 0.125 : (tensor<2x3x16x8xf32>,
    tensor<2x3x16x8xf32>, tensor<2x3x16x8xf32>, tensor<2x3x16x8xf32>, tensor<2x3x16x8xf32>, tensor<2x3x16xf32>)
    -> (tensor<2x3x16x8xf32>, tensor<2x3x16x8xf32>, tensor<2x3x16x8xf32>)
  func.return %dq : tensor<2x3x16x8xf32>
}
