// RUN: tilewright-opt %s -p widen-scatters,dce --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p widen-scatters --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p 'widen-scatters{deterministic=true}' --split-input-file | filecheck %s --check-prefix=FIXED
// RUN: tilewright-opt %s -p 'widen-scatters{halves=bf16}' --split-input-file | filecheck %s --check-prefix=HALVES
// RUN: tilewright-opt %s -p 'widen-scatters{halves=bf16}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=ADDED

// Fewer rows than the table has: each position has a place, and those of one row share that of one of them.
// CHECK-LABEL: @few_rows
// CHECK: %[[N:.*]] = tw.iota dim 0 start "0" step "1" -> tensor<6xi64>
// CHECK: %[[W:.*]] = tw.scatter %[[N]] into %{{.*}}[%i] dims [0] at 0 : (tensor<199999xi64>,
// CHECK: %[[G:.*]] = tw.gather %[[W]][%i] dims [0] at 0 :
// CHECK: %[[Z:.*]] = tw.full 0.0{{.*}} : f32 -> tensor<6x64xf32>
// CHECK: %[[V:.*]] = tw.cast %v : tensor<6x64xbf16> -> tensor<6x64xf32>
// CHECK: %[[S:.*]] = tw.scatter_add %[[V]] into %[[Z]][%[[G]]] dims [0] at 0 strict :
// CHECK: %[[P:.*]] = tw.gather %[[S]][%[[G]]] dims [0] at 0 strict :
// CHECK: %[[T:.*]] = tw.gather %t[%i] dims [0] at 0 :
// CHECK: %[[O:.*]] = tw.cast %[[T]] : tensor<6x64xbf16> -> tensor<6x64xf32>
// CHECK: %[[A:.*]] = tw.add %[[O]], %[[P]] : tensor<6x64xf32>
// CHECK: %[[H:.*]] = tw.cast %[[A]] : tensor<6x64xf32> -> tensor<6x64xbf16>
// CHECK: tw.scatter %[[H]] into %t[%i] dims [0] at 0 : (tensor<199999x64xbf16>,
// FIXED-LABEL: @few_rows
// FIXED-NEXT: tw.scatter_add
// HALVES-LABEL: @few_rows
// HALVES-NEXT: tw.scatter_add
// HALVES-NEXT: return
// ADDED: its halves are added in memory
func.func @few_rows(%t: tensor<199999x64xbf16>, %v: tensor<6x64xbf16>, %i: tensor<6xi64>) -> tensor<199999x64xbf16> {
  %r = tw.scatter_add %v into %t[%i] dims [0] at 0 : (tensor<199999x64xbf16>, tensor<6x64xbf16>, tensor<6xi64>) -> tensor<199999x64xbf16>
  func.return %r : tensor<199999x64xbf16>
}

// -----

// Nothing is read of zeros; two positions, of several dimensions, between others.
// CHECK-LABEL: @zeros
// CHECK: tw.reshape %{{.*}} : tensor<6xi64> -> tensor<2x3xi64>
// CHECK: tw.scatter %{{.*}} into %{{.*}}[%j, %i] dims [0, 1] at 0 strict : (tensor<500x900xi64>,
// CHECK: tw.scatter_add %{{.*}} into %{{.*}}[%{{.*}}] dims [1] at 1 strict : (tensor<70x6xf32>, tensor<70x2x3xf32>, tensor<2x3xi64>)
// CHECK-NOT: tw.add
// CHECK: tw.scatter %{{.*}} into %{{.*}}[%j, %i] dims [0, 2] at 1 strict :
func.func @zeros(%v: tensor<70x2x3xf16>, %i: tensor<2x3xi64>, %j: tensor<2x3xi64>) -> tensor<500x70x900xf16> {
  %t = tw.full 0.0 : f16 -> tensor<500x70x900xf16>
  %r = tw.scatter_add %v into %t[%j, %i] dims [0, 2] at 1 strict : (tensor<500x70x900xf16>, tensor<70x2x3xf16>, tensor<2x3xi64>, tensor<2x3xi64>) -> tensor<500x70x900xf16>
  func.return %r : tensor<500x70x900xf16>
}

// -----

// As many numbers as the target has, or more: all of it is cast.
// CHECK-LABEL: @all_rows
// CHECK: %[[T:.*]] = tw.cast %t : tensor<3x4xf16> -> tensor<3x4xf32>
// CHECK: %[[V:.*]] = tw.cast %v : tensor<6x4xf16> -> tensor<6x4xf32>
// CHECK: %[[R:.*]] = tw.scatter_add %[[V]] into %[[T]][%i] dims [0] at 0 :
// CHECK: tw.cast %[[R]] : tensor<3x4xf32> -> tensor<3x4xf16>
// CHECK: tw.scatter_along %{{.*}} reduce max : (tensor<3x4xf32>, tensor<6x4xi64>, tensor<6x4xf32>)
func.func @all_rows(%t: tensor<3x4xf16>, %v: tensor<6x4xf16>, %i: tensor<6xi64>, %j: tensor<6x4xi64>) -> (tensor<3x4xf16>, tensor<3x4xf16>) {
  %r = tw.scatter_add %v into %t[%i] dims [0] at 0 : (tensor<3x4xf16>, tensor<6x4xf16>, tensor<6xi64>) -> tensor<3x4xf16>
  %s = tw.scatter_along %t, %j, %v dim 0 reduce max : (tensor<3x4xf16>, tensor<6x4xi64>, tensor<6x4xf16>) -> tensor<3x4xf16>
  func.return %r, %s : tensor<3x4xf16>, tensor<3x4xf16>
}

// -----

// A small target is, too, as is one whose size is not known.
// CHECK-LABEL: @small
// CHECK: tw.scatter_add {{.*}} : (tensor<99x4xf32>,
// CHECK: tw.scatter_add {{.*}} : (tensor<?x4xf32
func.func @small(%t: tensor<99x4xbf16>, %v: tensor<6x4xbf16>, %i: tensor<6xi64>, %u: tensor<?x4xbf16, #tw.shape<"s0, 4">>, %n: index {tw.symbol = "s0"}) -> (tensor<99x4xbf16>, tensor<?x4xbf16, #tw.shape<"s0, 4">>) {
  %r = tw.scatter_add %v into %t[%i] dims [0] at 0 : (tensor<99x4xbf16>, tensor<6x4xbf16>, tensor<6xi64>) -> tensor<99x4xbf16>
  %s = tw.scatter_add %v into %u[%i] dims [0] at 0 : (tensor<?x4xbf16, #tw.shape<"s0, 4">>, tensor<6x4xbf16>, tensor<6xi64>) -> tensor<?x4xbf16, #tw.shape<"s0, 4">>
  func.return %r, %s : tensor<99x4xbf16>, tensor<?x4xbf16, #tw.shape<"s0, 4">>
}

// -----

// CHECK-LABEL: @few_along
// CHECK-NEXT: tw.scatter_along
// REMARK: not combined in f32: it has fewer numbers than the target, all of which would be cast
func.func @few_along(%t: tensor<9x4xf16>, %v: tensor<6x4xf16>, %j: tensor<6x4xi64>) -> tensor<9x4xf16> {
  %s = tw.scatter_along %t, %j, %v dim 0 reduce add : (tensor<9x4xf16>, tensor<6x4xi64>, tensor<6x4xf16>) -> tensor<9x4xf16>
  func.return %s : tensor<9x4xf16>
}

// -----

// Numbers of 32 bits, products, what replaces, and nothing at all stay.
// CHECK-LABEL: @others
// CHECK-NEXT: tw.scatter_add
// CHECK-NEXT: tw.scatter_along {{.*}} reduce mul
// CHECK-NEXT: tw.scatter_along {{.*}} reduce none
// CHECK-NEXT: tw.scatter_add
// CHECK-NEXT: return
func.func @others(%t: tensor<3x4xf32>, %v: tensor<6x4xf32>, %i: tensor<6xi64>, %h: tensor<3x4xf16>, %w: tensor<6x4xf16>, %j: tensor<6x4xi64>, %e: tensor<0x4xf16>, %k: tensor<0xi64>) -> (tensor<3x4xf32>, tensor<3x4xf16>, tensor<3x4xf16>, tensor<3x4xf16>) {
  %r = tw.scatter_add %v into %t[%i] dims [0] at 0 : (tensor<3x4xf32>, tensor<6x4xf32>, tensor<6xi64>) -> tensor<3x4xf32>
  %s = tw.scatter_along %h, %j, %w dim 0 reduce mul : (tensor<3x4xf16>, tensor<6x4xi64>, tensor<6x4xf16>) -> tensor<3x4xf16>
  %u = tw.scatter_along %h, %j, %w dim 0 reduce none : (tensor<3x4xf16>, tensor<6x4xi64>, tensor<6x4xf16>) -> tensor<3x4xf16>
  %n = tw.scatter_add %e into %h[%k] dims [0] at 0 : (tensor<3x4xf16>, tensor<0x4xf16>, tensor<0xi64>) -> tensor<3x4xf16>
  func.return %r, %s, %u, %n : tensor<3x4xf32>, tensor<3x4xf16>, tensor<3x4xf16>, tensor<3x4xf16>
}

// -----

// Sums of sums are one, rounded once; so is the sum of three.

// CHECK-LABEL: @sums_of_sums
// CHECK: %[[A:.*]] = tw.scatter_along
// CHECK: %[[B:.*]] = tw.scatter_add {{.*}} into %[[A]]
// CHECK: %[[C:.*]] = tw.scatter_add {{.*}} into %[[B]]
// CHECK: %[[R:.*]] = tw.cast %[[C]] : tensor<3x4xf32> -> tensor<3x4xbf16>
// CHECK-NOT: tw.add
// CHECK: return %[[R]]
// FIXED-LABEL: @sums_of_sums
// FIXED: tw.add
func.func @sums_of_sums(%v: tensor<6x4xbf16>, %i: tensor<6xi64>, %w: tensor<6x4xbf16>, %j: tensor<6x4xi64>) -> tensor<3x4xbf16> {
  %z = tw.full 0.0 : bf16 -> tensor<3x4xbf16>
  %a = tw.scatter_add %v into %z[%i] dims [0] at 0 : (tensor<3x4xbf16>, tensor<6x4xbf16>, tensor<6xi64>) -> tensor<3x4xbf16>
  %b = tw.scatter_along %z, %j, %w dim 0 reduce add : (tensor<3x4xbf16>, tensor<6x4xi64>, tensor<6x4xbf16>) -> tensor<3x4xbf16>
  %c = tw.scatter_add %w into %z[%i] dims [0] at 0 : (tensor<3x4xbf16>, tensor<6x4xbf16>, tensor<6xi64>) -> tensor<3x4xbf16>
  %s = tw.add %b, %a : tensor<3x4xbf16>
  %r = tw.add %s, %c : tensor<3x4xbf16>
  func.return %r : tensor<3x4xbf16>
}

// -----

// A sum that others read is rounded, as is one of two that begin with something; extremes are no sums.

// CHECK-LABEL: @sums_apart
// CHECK-COUNT-3: tw.add
func.func @sums_apart(%t: tensor<3x4xbf16>, %v: tensor<6x4xbf16>, %i: tensor<6xi64>, %j: tensor<6x4xi64>) -> (tensor<3x4xbf16>, tensor<3x4xbf16>, tensor<3x4xbf16>, tensor<3x4xbf16>) {
  %z = tw.full 0.0 : bf16 -> tensor<3x4xbf16>
  %a = tw.scatter_add %v into %z[%i] dims [0] at 0 : (tensor<3x4xbf16>, tensor<6x4xbf16>, tensor<6xi64>) -> tensor<3x4xbf16>
  %b = tw.scatter_add %v into %z[%i] dims [0] at 0 : (tensor<3x4xbf16>, tensor<6x4xbf16>, tensor<6xi64>) -> tensor<3x4xbf16>
  %r = tw.add %a, %b : tensor<3x4xbf16>
  %c = tw.scatter_add %v into %t[%i] dims [0] at 0 : (tensor<3x4xbf16>, tensor<6x4xbf16>, tensor<6xi64>) -> tensor<3x4xbf16>
  %d = tw.scatter_add %v into %t[%i] dims [0] at 0 : (tensor<3x4xbf16>, tensor<6x4xbf16>, tensor<6xi64>) -> tensor<3x4xbf16>
  %s = tw.add %c, %d : tensor<3x4xbf16>
  %e = tw.scatter_add %v into %z[%i] dims [0] at 0 : (tensor<3x4xbf16>, tensor<6x4xbf16>, tensor<6xi64>) -> tensor<3x4xbf16>
  %f = tw.scatter_along %z, %j, %v dim 0 reduce max : (tensor<3x4xbf16>, tensor<6x4xi64>, tensor<6x4xbf16>) -> tensor<3x4xbf16>
  %u = tw.add %e, %f : tensor<3x4xbf16>
  func.return %r, %s, %u, %a : tensor<3x4xbf16>, tensor<3x4xbf16>, tensor<3x4xbf16>, tensor<3x4xbf16>
}

// -----

// Rows may be fewer: what is moved for their positions is little; of a large target they stay.

// CHECK-LABEL: @few_rows_along
// CHECK: tw.scatter_along {{.*}} : (tensor<9x4xf32>, tensor<6x4xi64>, tensor<6x4xf32>)
// CHECK: tw.scatter_along {{.*}} : (tensor<9x4xbf16>, tensor<6x4xi64>, tensor<6x4xbf16>)
// CHECK: tw.scatter_along {{.*}} : (tensor<9x4xbf16>, tensor<6x4xi64>, tensor<6x4xbf16>)
// CHECK: tw.scatter_along {{.*}} : (tensor<2999999x4xbf16>
// CHECK-NEXT: return
// HALVES-LABEL: @few_rows_along
// HALVES: tw.scatter_along {{.*}} reduce add : (tensor<9x4xbf16>
// HALVES-NOT: xf32
// ADDED: its halves are added in memory
// ADDED: not combined in f32
func.func @few_rows_along(%t: tensor<9x4xbf16>, %l: tensor<2999999x4xbf16>, %v: tensor<6x4xbf16>, %i: tensor<6xi64>, %j: tensor<6x4xi64>) -> (tensor<9x4xbf16>, tensor<9x4xbf16>, tensor<9x4xbf16>, tensor<2999999x4xbf16>) {
  %b = tw.broadcast %i dims [0] : tensor<6xi64> -> tensor<6x4xi64>
  %s = tw.broadcast %j dims [0, 1] : tensor<6x4xi64> -> tensor<6x4xi64>
  %0 = tw.scatter_along %t, %b, %v dim 0 reduce add : (tensor<9x4xbf16>, tensor<6x4xi64>, tensor<6x4xbf16>) -> tensor<9x4xbf16>
  %1 = tw.scatter_along %t, %s, %v dim 0 reduce add : (tensor<9x4xbf16>, tensor<6x4xi64>, tensor<6x4xbf16>) -> tensor<9x4xbf16>
  %2 = tw.scatter_along %t, %b, %v dim 0 reduce max : (tensor<9x4xbf16>, tensor<6x4xi64>, tensor<6x4xbf16>) -> tensor<9x4xbf16>
  %3 = tw.scatter_along %l, %b, %v dim 0 reduce add : (tensor<2999999x4xbf16>, tensor<6x4xi64>, tensor<6x4xbf16>) -> tensor<2999999x4xbf16>
  func.return %0, %1, %2, %3 : tensor<9x4xbf16>, tensor<9x4xbf16>, tensor<9x4xbf16>, tensor<2999999x4xbf16>
}

// -----

// Where they meet often, halves are not added in memory; nor are those of another type, nor extremes.

// HALVES-LABEL: @meet_often
// HALVES: tw.scatter_add {{.*}} : (tensor<3x4xf32>
// HALVES: tw.scatter_along {{.*}} reduce add : (tensor<3x4xf32>
// HALVES: tw.scatter_add {{.*}} : (tensor<9x4xf32>
// HALVES: tw.scatter_along {{.*}} reduce max : (tensor<6x4xf32>
func.func @meet_often(%t: tensor<3x4xbf16>, %v: tensor<6x4xbf16>, %i: tensor<6xi64>, %j: tensor<6x4xi64>, %h: tensor<9x4xf16>, %w: tensor<6x4xf16>, %x: tensor<6x4xbf16>) -> (tensor<3x4xbf16>, tensor<3x4xbf16>, tensor<9x4xf16>, tensor<6x4xbf16>) {
  %0 = tw.scatter_add %v into %t[%i] dims [0] at 0 : (tensor<3x4xbf16>, tensor<6x4xbf16>, tensor<6xi64>) -> tensor<3x4xbf16>
  %1 = tw.scatter_along %t, %j, %v dim 0 reduce add : (tensor<3x4xbf16>, tensor<6x4xi64>, tensor<6x4xbf16>) -> tensor<3x4xbf16>
  %2 = tw.scatter_add %w into %h[%i] dims [0] at 0 : (tensor<9x4xf16>, tensor<6x4xf16>, tensor<6xi64>) -> tensor<9x4xf16>
  %3 = tw.scatter_along %x, %j, %v dim 0 reduce max : (tensor<6x4xbf16>, tensor<6x4xi64>, tensor<6x4xbf16>) -> tensor<6x4xbf16>
  func.return %0, %1, %2, %3 : tensor<3x4xbf16>, tensor<3x4xbf16>, tensor<9x4xf16>, tensor<6x4xbf16>
}

// -----

// Sums that are one are added up in f32, of three as well; one that is added to something else is not.

// HALVES-LABEL: @sums_of_few
// HALVES: %[[A:.*]] = tw.scatter_along {{.*}} : (tensor<9x40xf32>
// HALVES: %[[B:.*]] = tw.scatter_add {{.*}} into %[[A]]
// HALVES: %[[C:.*]] = tw.scatter_add {{.*}} into %[[B]]
// HALVES: %[[R:.*]] = tw.cast %[[C]] : tensor<9x40xf32> -> tensor<9x40xbf16>
// HALVES: %[[S:.*]] = tw.scatter_add {{.*}} : (tensor<9x40xbf16>
// HALVES: %[[T:.*]] = tw.add %[[S]], %t
// HALVES: return %[[R]], %[[T]]
func.func @sums_of_few(%t: tensor<9x40xbf16>, %v: tensor<6x40xbf16>, %i: tensor<6xi64>, %w: tensor<6x40xbf16>, %j: tensor<6x40xi64>) -> (tensor<9x40xbf16>, tensor<9x40xbf16>) {
  %z = tw.full 0.0 : bf16 -> tensor<9x40xbf16>
  %c = tw.scatter_add %w into %z[%i] dims [0] at 0 : (tensor<9x40xbf16>, tensor<6x40xbf16>, tensor<6xi64>) -> tensor<9x40xbf16>
  %a = tw.scatter_add %v into %z[%i] dims [0] at 0 : (tensor<9x40xbf16>, tensor<6x40xbf16>, tensor<6xi64>) -> tensor<9x40xbf16>
  %b = tw.scatter_along %z, %j, %w dim 0 reduce add : (tensor<9x40xbf16>, tensor<6x40xi64>, tensor<6x40xbf16>) -> tensor<9x40xbf16>
  %s = tw.add %b, %a : tensor<9x40xbf16>
  %r = tw.add %s, %c : tensor<9x40xbf16>
  %d = tw.scatter_add %w into %z[%i] dims [0] at 0 : (tensor<9x40xbf16>, tensor<6x40xbf16>, tensor<6xi64>) -> tensor<9x40xbf16>
  %u = tw.add %d, %t : tensor<9x40xbf16>
  func.return %r, %u : tensor<9x40xbf16>, tensor<9x40xbf16>
}

// -----

// Of short rows, of numbers at positions, and of parts of columns, eager mode rounds the sum alone.

// HALVES-LABEL: @short_rows
// HALVES: tw.scatter_add {{.*}} : (tensor<9x32xf32>
// HALVES: tw.scatter_add {{.*}} : (tensor<9x33xbf16>
// HALVES: tw.scatter_add {{.*}} : (tensor<9xf32>
// HALVES: tw.scatter_add {{.*}} : (tensor<40x9xf32>
func.func @short_rows(%s: tensor<6x32xbf16>, %l: tensor<6x33xbf16>, %n: tensor<6xbf16>, %c: tensor<40x6xbf16>, %i: tensor<6xi64>) -> (tensor<9x32xbf16>, tensor<9x33xbf16>, tensor<9xbf16>, tensor<40x9xbf16>) {
  %zs = tw.full 0.0 : bf16 -> tensor<9x32xbf16>
  %0 = tw.scatter_add %s into %zs[%i] dims [0] at 0 : (tensor<9x32xbf16>, tensor<6x32xbf16>, tensor<6xi64>) -> tensor<9x32xbf16>
  %zl = tw.full 0.0 : bf16 -> tensor<9x33xbf16>
  %1 = tw.scatter_add %l into %zl[%i] dims [0] at 0 : (tensor<9x33xbf16>, tensor<6x33xbf16>, tensor<6xi64>) -> tensor<9x33xbf16>
  %zn = tw.full 0.0 : bf16 -> tensor<9xbf16>
  %2 = tw.scatter_add %n into %zn[%i] dims [0] at 0 : (tensor<9xbf16>, tensor<6xbf16>, tensor<6xi64>) -> tensor<9xbf16>
  %zc = tw.full 0.0 : bf16 -> tensor<40x9xbf16>
  %3 = tw.scatter_add %c into %zc[%i] dims [1] at 1 : (tensor<40x9xbf16>, tensor<40x6xbf16>, tensor<6xi64>) -> tensor<40x9xbf16>
  func.return %0, %1, %2, %3 : tensor<9x32xbf16>, tensor<9x33xbf16>, tensor<9xbf16>, tensor<40x9xbf16>
}

// -----

// A large sum of f32 that is rounded; not one that is read as it is, nor one onto something.

// CHECK-LABEL: @rounded
// CHECK: %[[Z:.*]] = tw.full 0.0{{.*}} : bf16 -> tensor<199999x64xbf16>
// CHECK: %[[S:.*]] = tw.scatter_add {{.*}} : (tensor<6x64xf32>
// CHECK: %[[P:.*]] = tw.gather %[[S]]
// CHECK: %[[H:.*]] = tw.cast %[[P]] : tensor<6x64xf32> -> tensor<6x64xbf16>
// CHECK: %[[A:.*]] = tw.scatter %[[H]] into %[[Z]][%i]
// CHECK: %[[B:.*]] = tw.scatter_add %v {{.*}} : (tensor<199999x64xf32>
// CHECK: %[[C:.*]] = tw.cast %[[B]]
// CHECK: %[[D:.*]] = tw.scatter_add %v into %t[%i]
// CHECK: %[[E:.*]] = tw.cast %[[D]]
// CHECK: return %[[A]], %[[B]], %[[C]], %[[E]]
func.func @rounded(%t: tensor<199999x64xf32>, %v: tensor<6x64xf32>, %i: tensor<6xi64>) -> (tensor<199999x64xbf16>, tensor<199999x64xf32>, tensor<199999x64xbf16>, tensor<199999x64xbf16>) {
  %z = tw.full 0.0 : f32 -> tensor<199999x64xf32>
  %0 = tw.scatter_add %v into %z[%i] dims [0] at 0 : (tensor<199999x64xf32>, tensor<6x64xf32>, tensor<6xi64>) -> tensor<199999x64xf32>
  %1 = tw.cast %0 : tensor<199999x64xf32> -> tensor<199999x64xbf16>
  %2 = tw.scatter_add %v into %z[%i] dims [0] at 0 : (tensor<199999x64xf32>, tensor<6x64xf32>, tensor<6xi64>) -> tensor<199999x64xf32>
  %3 = tw.cast %2 : tensor<199999x64xf32> -> tensor<199999x64xbf16>
  %4 = tw.scatter_add %v into %t[%i] dims [0] at 0 : (tensor<199999x64xf32>, tensor<6x64xf32>, tensor<6xi64>) -> tensor<199999x64xf32>
  %5 = tw.cast %4 : tensor<199999x64xf32> -> tensor<199999x64xbf16>
  func.return %1, %2, %3, %5 : tensor<199999x64xbf16>, tensor<199999x64xf32>, tensor<199999x64xbf16>, tensor<199999x64xbf16>
}
