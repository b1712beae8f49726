// RUN: tilewright-opt %s -p bufferize --split-input-file --verify-diagnostics | filecheck %s

// CHECK: TW3201: bufferize has no place for `tw.attention`
// CHECK-NEXT: where: loc("m.py":1:0)
// CHECK-NEXT: why: ATen's attention for CPUs adds its mask, and takes none of i1
// CHECK-NEXT: fix: compile it for GPUs
func.func @mask_of_booleans(%q: tensor<1x1x3x4xf32>, %m: tensor<3x3xi1>) -> tensor<1x1x3x4xf32> {
  %o, %l = tw.attention %q, %q, %q mask %m scale 1.0 dropout 0.0
    : (tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>, tensor<3x3xi1>) -> (tensor<1x1x3x4xf32>, tensor<1x1x3xf32>) loc("m.py":1:0)
  func.return %o : tensor<1x1x3x4xf32>
}

// -----

// CHECK: TW3201: bufferize has no place for `tw.attention`
// CHECK: why: ATen's attention for CPUs has heads of one width, not 4 for keys and 2 for values
func.func @heads_of_two_widths(%q: tensor<1x1x3x4xf32>, %v: tensor<1x1x3x2xf32>) -> tensor<1x1x3x2xf32> {
  %o, %l = tw.attention %q, %q, %v scale 1.0 dropout 0.0
    : (tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>, tensor<1x1x3x2xf32>) -> (tensor<1x1x3x2xf32>, tensor<1x1x3xf32>)
  func.return %o : tensor<1x1x3x2xf32>
}

// -----

// CHECK-LABEL: @mask_of_numbers
// CHECK: th.call "aten::_scaled_dot_product_flash_attention_for_cpu"
func.func @mask_of_numbers(%q: tensor<1x1x3x4xf32>, %m: tensor<3x3xf32>) -> tensor<1x1x3x4xf32> {
  %o, %l = tw.attention %q, %q, %q mask %m scale 1.0 dropout 0.0
    : (tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>, tensor<3x3xf32>) -> (tensor<1x1x3x4xf32>, tensor<1x1x3xf32>)
  func.return %o : tensor<1x1x3x4xf32>
}

// -----

// CHECK: why: ATen's attention for CPUs rounds its result to bf16, and makes none of f32
func.func @wide_result(%q: tensor<1x2x8x4xbf16>) -> tensor<1x2x8x4xf32> {
  %o, %l = tw.attention %q, %q, %q scale 0.5 dropout 0.0
    : (tensor<1x2x8x4xbf16>, tensor<1x2x8x4xbf16>, tensor<1x2x8x4xbf16>) -> (tensor<1x2x8x4xf32>, tensor<1x2x8xf32>)
  func.return %o : tensor<1x2x8x4xf32>
}
