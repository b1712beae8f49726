// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse,leave-products{least=100}' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half},absorb-views,dce,fuse,leave-products{least=100}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Weights are stored by column, as torch's linear layers have them; batches of rows are rows.
// CHECK-LABEL: @linear
// CHECK-NEXT: %[[A:.*]] = tw.reshape %x : tensor<2x4x6xbf16> -> tensor<8x6xbf16>
// CHECK-NEXT: %[[B:.*]] = tw.transpose %w by [1, 0]
// CHECK-NEXT: %[[M:.*]] = tw.matmul %[[A]], %[[B]] bias %b
// CHECK-NEXT: tw.reshape %[[M]] : tensor<8x5xbf16> -> tensor<2x4x5xbf16>
// CHECK-NOT: tk.kernel
func.func @linear(%x: tensor<2x4x6xbf16>, %w: tensor<5x6xbf16>, %b: tensor<5xbf16>) -> tensor<2x4x5xbf16> {
  %0 = tw.transpose %w by [1, 0] : tensor<5x6xbf16> -> tensor<6x5xbf16>
  %1 = tw.reshape %x : tensor<2x4x6xbf16> -> tensor<8x6xbf16>
  %2 = tw.matmul %1, %0 bias %b : (tensor<8x6xbf16>, tensor<6x5xbf16>, tensor<5xbf16>) -> tensor<8x5xbf16>
  %3 = tw.reshape %2 : tensor<8x5xbf16> -> tensor<2x4x5xbf16>
  func.return %3 : tensor<2x4x5xbf16>
}

// -----

// CHECK-LABEL: @batches
// CHECK-NEXT: tw.matmul %a, %b : (tensor<3x4x6xf16>, tensor<3x6x5xf16>) -> tensor<3x4x5xf16>
// CHECK-NOT: tk.kernel
func.func @batches(%a: tensor<3x4x6xf16>, %b: tensor<3x6x5xf16>) -> tensor<3x4x5xf16> {
  %0 = tw.matmul %a, %b : (tensor<3x4x6xf16>, tensor<3x6x5xf16>) -> tensor<3x4x5xf16>
  func.return %0 : tensor<3x4x5xf16>
}

// -----

// A weight's gradient.
// CHECK-LABEL: @gradient
// CHECK: %[[A:.*]] = tw.transpose %{{.*}} by [1, 0] : tensor<8x5xbf16> -> tensor<5x8xbf16>
// CHECK: tw.matmul %[[A]], %{{.*}} : (tensor<5x8xbf16>, tensor<8x6xbf16>) -> tensor<5x6xbf16>
// CHECK-NOT: tk.kernel
func.func @gradient(%g: tensor<2x4x5xbf16>, %x: tensor<8x6xbf16>) -> tensor<5x6xbf16> {
  %0 = tw.reshape %g : tensor<2x4x5xbf16> -> tensor<8x5xbf16>
  %1 = tw.transpose %0 by [1, 0] : tensor<8x5xbf16> -> tensor<5x8xbf16>
  %2 = tw.matmul %1, %x : (tensor<5x8xbf16>, tensor<8x6xbf16>) -> tensor<5x6xbf16>
  func.return %2 : tensor<5x6xbf16>
}

// -----

// A result that is stored by column is the product of the factors turned, in the other order.
// CHECK-LABEL: @by_column
// CHECK: %[[A:.*]] = tw.transpose %{{.*}} by [1, 0] : tensor<6x5xbf16> -> tensor<5x6xbf16>
// CHECK: %[[B:.*]] = tw.transpose %{{.*}} by [1, 0] : tensor<4x6xbf16> -> tensor<6x4xbf16>
// CHECK: tw.matmul %[[A]], %[[B]] : (tensor<5x6xbf16>, tensor<6x4xbf16>) -> tensor<5x4xbf16>
// CHECK-NOT: tk.kernel
func.func @by_column(%a: tensor<4x6xbf16>, %b: tensor<6x5xbf16>) -> tensor<5x4xbf16> {
  %0 = tk.kernel [4, 5, 6] ins(%a, %b : tensor<4x6xbf16>, tensor<6x5xbf16>) -> (tensor<5x4xbf16>) {
  ^bb0(%1: tensor<4x6xbf16>, %2: tensor<6x5xbf16>, %3: tensor<5x4xbf16>):
    %4 = tk.load %1[d0, d2] : tensor<4x6xbf16> -> bf16
    %5 = arith.extf %4 : bf16 to f32
    %6 = tk.load %2[d2, d1] : tensor<6x5xbf16> -> bf16
    %7 = arith.extf %6 : bf16 to f32
    %8 = arith.mulf %5, %7 : f32
    %9 = tk.reduce add %8 over [2] {tk.factors = bf16} : f32
    %10 = arith.truncf %9 : f32 to bf16
    tk.store %10, %3[d1, d0] : bf16, tensor<5x4xbf16>
  }
  func.return %0 : tensor<5x4xbf16>
}

// -----

// CHECK-LABEL: @epilogue
// CHECK: tk.kernel
// REMARK: tk.kernel at {{.*}}: its product has neighbours in the kernel
func.func @epilogue(%a: tensor<4x6xbf16>, %b: tensor<6x5xbf16>) -> tensor<4x5xbf16> {
  %0 = tw.matmul %a, %b : (tensor<4x6xbf16>, tensor<6x5xbf16>) -> tensor<4x5xbf16>
  %1 = tw.exp %0 : tensor<4x5xbf16>
  func.return %1 : tensor<4x5xbf16>
}

// -----

// The sum goes along heads and their elements, which do not lie beside each other.
// CHECK-LABEL: @heads
// CHECK: tk.kernel
// REMARK-NEXT: tk.kernel at {{.*}}: a factor of its product, or what it stores, is no dense matrix
func.func @heads(%x: tensor<3x4x2xbf16>, %w: tensor<6x5xbf16>) -> tensor<4x5xbf16> {
  %0 = tw.transpose %x by [1, 0, 2] : tensor<3x4x2xbf16> -> tensor<4x3x2xbf16>
  %1 = tw.reshape %0 : tensor<4x3x2xbf16> -> tensor<4x6xbf16>
  %2 = tw.matmul %1, %w : (tensor<4x6xbf16>, tensor<6x5xbf16>) -> tensor<4x5xbf16>
  func.return %2 : tensor<4x5xbf16>
}

// -----

// A part of a tensor is no dense matrix.
// CHECK-LABEL: @slice
// CHECK: tk.kernel
// REMARK-NEXT: tk.kernel at {{.*}}: a factor of its product, or what it stores, is no dense matrix
func.func @slice(%x: tensor<4x12xbf16>, %w: tensor<6x5xbf16>) -> tensor<4x5xbf16> {
  %0 = tw.slice %x starts "0, 6" steps "1, 1" : tensor<4x12xbf16> -> tensor<4x6xbf16>
  %1 = tw.matmul %0, %w : (tensor<4x6xbf16>, tensor<6x5xbf16>) -> tensor<4x5xbf16>
  func.return %1 : tensor<4x5xbf16>
}

// -----

// Widened factors have a product of f32, which a library would multiply as such.
// CHECK-LABEL: @widened
// CHECK: tk.kernel
// REMARK-NEXT: tk.kernel at {{.*}}: its product has neighbours in the kernel
func.func @widened(%a: tensor<4x6xbf16>, %b: tensor<6x5xbf16>) -> tensor<4x5xf32> {
  %0 = tw.cast %a : tensor<4x6xbf16> -> tensor<4x6xf32>
  %1 = tw.cast %b : tensor<6x5xbf16> -> tensor<6x5xf32>
  %2 = tw.matmul %0, %1 : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  func.return %2 : tensor<4x5xf32>
}

// -----

// Small ones, and those of unknown sizes, stay.
// CHECK-LABEL: @small
// CHECK-COUNT-2: tk.kernel
// REMARK-NOT: tk.kernel at
func.func @small(%a: tensor<4x4xbf16>, %b: tensor<4x4xbf16>, %c: tensor<?x6xbf16, #tw.shape<"s0, 6">>, %d: tensor<6x5xbf16>)
    -> (tensor<4x4xbf16>, tensor<?x5xbf16, #tw.shape<"s0, 5">>) {
  %0 = tw.matmul %a, %b : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
  %1 = tw.matmul %c, %d : (tensor<?x6xbf16, #tw.shape<"s0, 6">>, tensor<6x5xbf16>) -> tensor<?x5xbf16, #tw.shape<"s0, 5">>
  func.return %0, %1 : tensor<4x4xbf16>, tensor<?x5xbf16, #tw.shape<"s0, 5">>
}
