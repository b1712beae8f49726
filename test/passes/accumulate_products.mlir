// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,fuse,accumulate-products --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,fuse,accumulate-products --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,fuse,accumulate-products --split-input-file --print-debuginfo | filecheck %s --check-prefix=LOC
// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,fuse,accumulate-products,bufferize,plan-memory,drop-self-copies --split-input-file | filecheck %s --check-prefix=PLAN
// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,fuse,accumulate-products,bufferize,plan-memory,drop-self-copies --split-input-file --check-semantics -o /dev/null

// The second product is added to the first, where that lies.

// CHECK-LABEL: @two_products
// CHECK:      %p = tw.matmul %a, %b
// CHECK-NEXT: %[[S:.*]] = tw.aten "aten::addmm"(%p, %c, %d) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, 1.000000e+00 : f64, 1.000000e+00 : f64]}
// CHECK-NEXT: return %[[S]]
// LOC:        "aten::addmm"{{.*}} loc("m.py":2:0)
// PLAN-LABEL: func.func @two_products
// PLAN:       %[[O:.*]] = th.empty
// PLAN:       th.extern "aten::mm.out"
// PLAN:       th.extern "aten::addmm.out"(%{{.*}}, %{{.*}}) into(%{{.*}}) {args = [#tw.arg<2>, #tw.arg<0>, #tw.arg<1>, {{.*}}, #tw.arg<2>]}
// PLAN-NOT:   th.launch
// PLAN:       return %[[O]]
func.func @two_products(%a: tensor<6x4xf32>, %b: tensor<4x5xf32>, %c: tensor<6x3xf32>, %d: tensor<3x5xf32>) -> tensor<6x5xf32> {
  %p = tw.matmul %a, %b : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %q = tw.matmul %c, %d : (tensor<6x3xf32>, tensor<3x5xf32>) -> tensor<6x5xf32> loc("m.py":2:0)
  %s = tw.add %p, %q : tensor<6x5xf32>
  func.return %s : tensor<6x5xf32>
}

// -----

// An argument stays as it is: ATen copies it. What is subtracted and scaled has a factor.

// CHECK-LABEL: @onto_an_argument
// CHECK:      tw.aten "aten::addmm"(%x, %a, %b) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, 1.000000e+00 : f64, -2.000000e+00 : f64]}
// PLAN-LABEL: func.func @onto_an_argument
// PLAN:       th.extern "aten::addmm.out"(%{{.*}}, %{{.*}}, %{{.*}}) into(%{{.*}}) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, {{.*}}, #tw.arg<3>]}
func.func @onto_an_argument(%x: tensor<6x5xf64>, %a: tensor<6x4xf64>, %b: tensor<4x5xf64>) -> tensor<6x5xf64> {
  %p = tw.matmul %a, %b : (tensor<6x4xf64>, tensor<4x5xf64>) -> tensor<6x5xf64>
  %f = tw.full 2.0 : f64 -> tensor<6x5xf64>
  %m = tw.mul %p, %f : tensor<6x5xf64>
  %s = tw.sub %x, %m : tensor<6x5xf64>
  func.return %s : tensor<6x5xf64>
}

// -----

// Three terms: a tensor, a product under batches, and one of all rows.

// CHECK-LABEL: @three_terms
// CHECK:      %[[V:.*]] = tw.reshape %x : tensor<12x5xf32> -> tensor<2x6x5xf32>
// CHECK:      %[[P:.*]] = tw.aten "aten::baddbmm"(%[[V]], %a, %b)
// CHECK:      %[[W:.*]] = tw.reshape %[[P]] : tensor<2x6x5xf32> -> tensor<12x5xf32>
// CHECK:      %[[Q:.*]] = tw.aten "aten::addmm"(%[[W]], %c, %d)
// CHECK:      return %[[Q]]
func.func @three_terms(%x: tensor<12x5xf32>, %a: tensor<2x6x4xf32>, %b: tensor<2x4x5xf32>, %c: tensor<12x3xf32>, %d: tensor<3x5xf32>) -> tensor<12x5xf32> {
  %m = tw.matmul %a, %b : (tensor<2x6x4xf32>, tensor<2x4x5xf32>) -> tensor<2x6x5xf32>
  %p = tw.reshape %m : tensor<2x6x5xf32> -> tensor<12x5xf32>
  %q = tw.matmul %c, %d : (tensor<12x3xf32>, tensor<3x5xf32>) -> tensor<12x5xf32>
  %s = tw.add %p, %q : tensor<12x5xf32>
  %r = tw.add %x, %s : tensor<12x5xf32>
  func.return %r : tensor<12x5xf32>
}

// -----

// What it is added to is a factor, too: it keeps its place.

// CHECK-LABEL: @a_factor_of_its_own
// CHECK:      tw.aten "aten::addmm"
// PLAN-LABEL: func.func @a_factor_of_its_own
// PLAN:       th.extern "aten::addmm.out"(%{{.*}}, %{{.*}}, %{{.*}}) into
func.func @a_factor_of_its_own(%x: tensor<5x5xf32>) -> tensor<5x5xf32> {
  %e = tk.kernel [5, 5] ins(%x : tensor<5x5xf32>) -> (tensor<5x5xf32>) {
  ^bb0(%i: tensor<5x5xf32>, %o: tensor<5x5xf32>):
    %0 = tk.load %i[d0, d1] : tensor<5x5xf32> -> f32
    %1 = tk.reduce max %0 over [1] : f32
    %2 = arith.subf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<5x5xf32>
  }
  %p = tw.matmul %e, %e : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
  %s = tw.add %e, %p : tensor<5x5xf32>
  func.return %s : tensor<5x5xf32>
}

// -----

// Two terms are no products; or what there is to begin with has a factor.

// CHECK-LABEL: @two_others
// CHECK:      tw.matmul
// CHECK:      tk.kernel
// REMARK:     not added by a library: two of its terms are no products
// CHECK-LABEL: @scaled
// CHECK:      tk.kernel
// REMARK:     not added by a library: what it begins with has a factor
func.func @two_others(%x: tensor<6x5xf32>, %y: tensor<6x5xf32>, %a: tensor<6x4xf32>, %b: tensor<4x5xf32>) -> tensor<6x5xf32> {
  %p = tw.matmul %a, %b : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %s = tw.add %x, %y : tensor<6x5xf32>
  %t = tw.add %s, %p : tensor<6x5xf32>
  func.return %t : tensor<6x5xf32>
}
func.func @scaled(%x: tensor<6x5xf32>, %a: tensor<6x4xf32>, %b: tensor<4x5xf32>) -> tensor<6x5xf32> {
  %p = tw.matmul %a, %b : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %s = tw.sub %p, %x : tensor<6x5xf32>
  func.return %s : tensor<6x5xf32>
}

// -----

// More than a sum; a sum of which nothing is a product; a product that others read, turned, of halves, and one
// by which nothing of it would be read.

// CHECK-LABEL: @more
// CHECK-NOT:  tw.aten
// CHECK-LABEL: @no_product
// CHECK-NOT:  tw.aten
// CHECK-LABEL: @read_by_others
// CHECK-NOT:  tw.aten
// CHECK-LABEL: @turned
// CHECK-NOT:  tw.aten
// CHECK-LABEL: @halves
// CHECK-NOT:  tw.aten
// CHECK-LABEL: @nothing_of_it
// CHECK-NOT:  tw.aten
// CHECK-LABEL: @bias
// CHECK-NOT:  tw.aten
func.func @more(%x: tensor<6x5xf32>, %a: tensor<6x4xf32>, %b: tensor<4x5xf32>) -> tensor<6x5xf32> {
  %p = tw.matmul %a, %b : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %s = tw.add %x, %p : tensor<6x5xf32>
  %e = tw.exp %s : tensor<6x5xf32>
  func.return %e : tensor<6x5xf32>
}
func.func @no_product(%x: tensor<6x5xf32>, %y: tensor<6x5xf32>) -> tensor<6x5xf32> {
  %s = tw.add %x, %y : tensor<6x5xf32>
  func.return %s : tensor<6x5xf32>
}
func.func @read_by_others(%x: tensor<6x5xf32>, %a: tensor<6x4xf32>, %b: tensor<4x5xf32>) -> (tensor<6x5xf32>, tensor<6x5xf32>) {
  %p = tw.matmul %a, %b : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %s = tw.add %x, %p : tensor<6x5xf32>
  func.return %s, %p : tensor<6x5xf32>, tensor<6x5xf32>
}
func.func @turned(%x: tensor<5x6xf32>, %a: tensor<6x4xf32>, %b: tensor<4x5xf32>) -> tensor<5x6xf32> {
  %p = tw.matmul %a, %b : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %t = tw.transpose %p by [1, 0] : tensor<6x5xf32> -> tensor<5x6xf32>
  %s = tw.add %x, %t : tensor<5x6xf32>
  func.return %s : tensor<5x6xf32>
}
func.func @halves(%x: tensor<6x5xbf16>, %a: tensor<6x4xbf16>, %b: tensor<4x5xbf16>) -> tensor<6x5xbf16> {
  %p = tw.matmul %a, %b : (tensor<6x4xbf16>, tensor<4x5xbf16>) -> tensor<6x5xbf16>
  %s = tw.add %x, %p : tensor<6x5xbf16>
  func.return %s : tensor<6x5xbf16>
}
func.func @nothing_of_it(%x: tensor<6x5xf32>, %a: tensor<6x4xf32>, %b: tensor<4x5xf32>) -> tensor<6x5xf32> {
  %p = tw.matmul %a, %b : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %f = tw.full 0.0 : f32 -> tensor<6x5xf32>
  %m = tw.mul %p, %f : tensor<6x5xf32>
  %s = tw.add %x, %m : tensor<6x5xf32>
  func.return %s : tensor<6x5xf32>
}
func.func @bias(%x: tensor<6x5xf32>, %a: tensor<6x4xf32>, %b: tensor<4x5xf32>, %c: tensor<5xf32>) -> tensor<6x5xf32> {
  %p = tw.matmul %a, %b bias %c : (tensor<6x4xf32>, tensor<4x5xf32>, tensor<5xf32>) -> tensor<6x5xf32>
  %s = tw.add %x, %p : tensor<6x5xf32>
  func.return %s : tensor<6x5xf32>
}
