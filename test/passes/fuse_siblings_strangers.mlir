// RUN: tilewright-opt %s -p "convert-tw-to-tk{products=half},absorb-views,fuse-siblings{strangers=true}" --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p "convert-tw-to-tk,absorb-views,fuse-siblings" --split-input-file | filecheck %s --check-prefix=APART

// CHECK-LABEL: @share_a_launch
// CHECK:       %{{.*}}, %{{.*}} = tk.kernel [64, 8] ins(%x, %y : tensor<64x8xf32>, tensor<64x8xf32>)
// CHECK-NOT:   tk.kernel
// APART-LABEL: @share_a_launch
// APART-COUNT-2: tk.kernel
func.func @share_a_launch(%x: tensor<64x8xf32>, %y: tensor<64x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = tw.sum %x over [0] : tensor<64x8xf32> -> tensor<8xf32>
  %b = tw.sum %y over [0] : tensor<64x8xf32> -> tensor<8xf32>
  func.return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: @other_axes
// CHECK-COUNT-2: tk.kernel [8, 8]
func.func @other_axes(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = tw.sum %x over [0] : tensor<8x8xf32> -> tensor<8xf32>
  %b = tw.sum %y over [1] : tensor<8x8xf32> -> tensor<8xf32>
  func.return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: @other_space
// CHECK:       tk.kernel [8]
// CHECK:       tk.kernel [9]
func.func @other_space(%x: tensor<8xf32>, %y: tensor<9xf32>) -> (tensor<8xf32>, tensor<9xf32>) {
  %a = tw.exp %x : tensor<8xf32>
  %b = tw.exp %y : tensor<9xf32>
  func.return %a, %b : tensor<8xf32>, tensor<9xf32>
}

// -----

// CHECK-LABEL: @one_reads_the_other
// CHECK-COUNT-2: tk.kernel [8]
func.func @one_reads_the_other(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = tw.exp %x : tensor<8xf32>
  %b = tw.neg %a : tensor<8xf32>
  func.return %b : tensor<8xf32>
}

// -----

// Tiles of products are scheduled one product at a time.
// CHECK-LABEL: @products
// CHECK-COUNT-2: tk.kernel [8, 8, 8]
func.func @products(%x: tensor<8x8xbf16>, %y: tensor<8x8xbf16>, %z: tensor<8x8xbf16>) -> (tensor<8x8xbf16>, tensor<8x8xbf16>) {
  %a = tw.matmul %x, %y : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %b = tw.matmul %z, %y : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  func.return %a, %b : tensor<8x8xbf16>, tensor<8x8xbf16>
}
