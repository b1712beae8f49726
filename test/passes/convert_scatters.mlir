// RUN: tilewright-opt %s -p 'convert-tw-to-tk{scatters=all}' --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{scatters=all}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p convert-tw-to-tk --split-input-file | filecheck %s --check-prefix=CALLS
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{scatters=any}' --split-input-file | filecheck %s --check-prefix=ANY
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{scatters=any}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=TYPE
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{scatters=any deterministic=true}' --split-input-file | filecheck %s --check-prefix=FIXED
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{scatters=any halves=bf16}' --split-input-file | filecheck %s --check-prefix=HALVES

// The target is copied, then rows are added where their positions are good; without the option scatters stay.
// CHECK-LABEL: @adds_rows
// CHECK:         tk.kernel [9, 4, 6] ins(%t, %v, %i :
// CHECK:         %[[J:.*]] = tk.load %{{.*}}[d2] : tensor<6xi64> -> i64
// CHECK:         %[[ZERO:.*]] = arith.constant 0 : i64
// CHECK:         %[[SIZE:.*]] = arith.constant 9 : i64
// CHECK:         %[[NEGATIVE:.*]] = arith.cmpi slt, %[[J]], %[[ZERO]]
// CHECK:         %[[END:.*]] = arith.addi %[[J]], %[[SIZE]]
// CHECK:         %[[AT:.*]] = arith.select %[[NEGATIVE]], %[[END]], %[[J]]
// CHECK:         %[[INSIDE:.*]] = arith.cmpi ult, %[[AT]], %[[SIZE]]
// CHECK:         tk.assert %[[INSIDE]] "index out of range"
// CHECK:         %[[SAFE:.*]] = arith.select %[[INSIDE]], %[[AT]], %[[ZERO]]
// CHECK:         %[[ROW:.*]] = arith.index_cast %[[SAFE]]
// CHECK:         %[[OLD:.*]] = tk.load %{{.*}}[d0, d1] : tensor<9x4xf32> -> f32
// CHECK:         tk.store %[[OLD]], %[[O:.*]][d0, d1] :
// CHECK:         %[[V:.*]] = tk.load %{{.*}}[d2, d1] : tensor<6x4xf32> -> f32
// CHECK:         tk.store %[[V]], %[[O]][i0, d1](%[[ROW]]) over [2] if %[[INSIDE]] combine add : f32, tensor<9x4xf32> loc("m.py":3:0)
// CALLS-LABEL: @adds_rows
// CALLS:         tw.scatter_add
// ANY-LABEL:  @adds_rows
// ANY-NEXT:     tk.kernel [9, 4, 6] ins(%t, %v, %i :
// FIXED-LABEL: @adds_rows
// FIXED-NEXT:    tw.scatter_add
func.func @adds_rows(%t: tensor<9x4xf32>, %v: tensor<6x4xf32>, %i: tensor<6xi64>) -> tensor<9x4xf32> {
  %r = tw.scatter_add %v into %t[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<6x4xf32>, tensor<6xi64>) -> tensor<9x4xf32> loc("m.py":3:0)
  func.return %r : tensor<9x4xf32>
}

// -----

// Negative positions are as bad as too large ones; halves are stored as they are.
// CHECK-LABEL: @strict_replaces
// CHECK:         tk.kernel [9, 4, 6]
// CHECK-NOT:     arith.addi
// CHECK:         %[[V:.*]] = tk.load %{{.*}}[d0, d2] : tensor<9x6xbf16> -> bf16
// CHECK:         tk.store %[[V]], %{{.*}}[d0, i0](%{{.*}}) over [2] if %{{.*}} : bf16, tensor<9x4xbf16>
// Threads of a GPU do so at once, so that any value may remain.
// ANY-LABEL:  @strict_replaces
// ANY:          tk.store %{{.*}}, %{{.*}}[d0, i0](%{{.*}}) over [2] if %{{.*}} combine any : bf16, tensor<9x4xbf16>
func.func @strict_replaces(%t: tensor<9x4xbf16>, %v: tensor<9x6xbf16>, %i: tensor<6xi64>) -> tensor<9x4xbf16> {
  %r = tw.scatter %v into %t[%i] dims [1] at 1 strict : (tensor<9x4xbf16>, tensor<9x6xbf16>, tensor<6xi64>) -> tensor<9x4xbf16>
  func.return %r : tensor<9x4xbf16>
}

// -----

// Two indices, whose shape stands last among the values.
// CHECK-LABEL: @two_positions
// CHECK:         tk.kernel [5, 7, 9, 2, 3]
// CHECK:         %[[IN:.*]] = arith.andi
// CHECK:         tk.load %{{.*}}[d1, d3, d4] : tensor<7x2x3xf32> -> f32
// CHECK:         tk.store %{{.*}}, %{{.*}}[i0, d1, i1](%{{.*}}, %{{.*}}) over [3, 4] if %[[IN]] combine add
func.func @two_positions(%t: tensor<5x7x9xf32>, %v: tensor<7x2x3xf32>, %i: tensor<2x3xi64>, %j: tensor<2x3xi64>) -> tensor<5x7x9xf32> {
  %r = tw.scatter_add %v into %t[%j, %i] dims [0, 2] at 1 : (tensor<5x7x9xf32>, tensor<7x2x3xf32>, tensor<2x3xi64>, tensor<2x3xi64>) -> tensor<5x7x9xf32>
  func.return %r : tensor<5x7x9xf32>
}

// -----

// An axis is shared where the index is as large as the target.
// CHECK-LABEL: @along_one
// CHECK:         tk.kernel [5, 7, 3, 2]
// CHECK:         tk.load %{{.*}}[d2, d3] : tensor<3x2xi64> -> i64
// CHECK:         tk.store %{{.*}}, %{{.*}}[d2, i0](%{{.*}}) over [2, 3] if %{{.*}} : f32
// CHECK:         tk.kernel [5, 7, 2]
// CHECK:         tk.load %{{.*}}[d0, d2] : tensor<5x2xi64> -> i64
// CHECK:         tk.store %{{.*}}, %{{.*}}[d0, i0](%{{.*}}) over [2] if %{{.*}} combine add : f32
// ANY-LABEL:  @along_one
// ANY:          tk.kernel [5, 7, 3, 2]
// ANY:          tk.kernel [5, 7, 2]
func.func @along_one(%t: tensor<5x7xf32>, %i: tensor<3x2xi64>, %v: tensor<3x2xf32>, %j: tensor<5x2xi64>, %w: tensor<5x2xf32>) -> tensor<5x7xf32> {
  %r = tw.scatter_along %t, %i, %v dim 1 reduce none : (tensor<5x7xf32>, tensor<3x2xi64>, tensor<3x2xf32>) -> tensor<5x7xf32>
  %s = tw.scatter_along %r, %j, %w dim 1 reduce add : (tensor<5x7xf32>, tensor<5x2xi64>, tensor<5x2xf32>) -> tensor<5x7xf32>
  func.return %s : tensor<5x7xf32>
}

// -----

// REMARK: tw.scatter_add at {{.*}}: no kernel: nothing can be written to a target without elements
// CHECK-LABEL: @nothing_to_write_to
// CHECK:         tw.scatter_add
func.func @nothing_to_write_to(%t: tensor<0x4xf32>, %v: tensor<6x4xf32>, %i: tensor<6xi64>) -> tensor<0x4xf32> {
  %r = tw.scatter_add %v into %t[%i] dims [0] at 0 : (tensor<0x4xf32>, tensor<6x4xf32>, tensor<6xi64>) -> tensor<0x4xf32>
  func.return %r : tensor<0x4xf32>
}

// -----

// Some devices add some halves in memory, of which none takes extremes there.
// TYPE: tw.scatter_add at {{.*}}: no kernel: devices do not combine elements of bf16 by `add` in memory
// ANY-LABEL: @halves
// ANY-NEXT:    tw.scatter_add
// HALVES-LABEL: @halves
// HALVES:        tk.store {{.*}} combine add : bf16, tensor<9x4xbf16>
// HALVES:        tw.scatter_along {{.*}} reduce max
// HALVES:        tw.scatter_add {{.*}} : (tensor<9x4xf16>
func.func @halves(%t: tensor<9x4xbf16>, %v: tensor<6x4xbf16>, %i: tensor<6xi64>, %j: tensor<6x4xi64>, %h: tensor<9x4xf16>, %w: tensor<6x4xf16>) -> (tensor<9x4xbf16>, tensor<9x4xbf16>, tensor<9x4xf16>) {
  %r = tw.scatter_add %v into %t[%i] dims [0] at 0 : (tensor<9x4xbf16>, tensor<6x4xbf16>, tensor<6xi64>) -> tensor<9x4xbf16>
  %s = tw.scatter_along %t, %j, %v dim 0 reduce max : (tensor<9x4xbf16>, tensor<6x4xi64>, tensor<6x4xbf16>) -> tensor<9x4xbf16>
  %u = tw.scatter_add %w into %h[%i] dims [0] at 0 : (tensor<9x4xf16>, tensor<6x4xf16>, tensor<6xi64>) -> tensor<9x4xf16>
  func.return %r, %s, %u : tensor<9x4xbf16>, tensor<9x4xbf16>, tensor<9x4xf16>
}

// -----

// Extremes are combined in memory; products are no operation there.
// CHECK-LABEL: @extremes
// CHECK:         tk.store {{.*}} combine max : i32, tensor<9x4xi32>
// CHECK:         tk.store {{.*}} combine min : f32, tensor<9x4xf32>
// CHECK:         tk.store {{.*}} combine mul : i32, tensor<9x4xi32>
// TYPE: tw.scatter_along at {{.*}}: no kernel: devices do not combine elements of i32 by `mul` in memory
// ANY-LABEL: @extremes
// ANY:         tk.store {{.*}} combine max : i32, tensor<9x4xi32>
// ANY:         tk.store {{.*}} combine min : f32, tensor<9x4xf32>
// ANY:         tw.scatter_along {{.*}} reduce mul
func.func @extremes(%t: tensor<9x4xi32>, %f: tensor<9x4xf32>, %i: tensor<6x4xi64>, %v: tensor<6x4xi32>, %w: tensor<6x4xf32>) -> (tensor<9x4xi32>, tensor<9x4xf32>, tensor<9x4xi32>) {
  %r = tw.scatter_along %t, %i, %v dim 0 reduce max : (tensor<9x4xi32>, tensor<6x4xi64>, tensor<6x4xi32>) -> tensor<9x4xi32>
  %s = tw.scatter_along %f, %i, %w dim 0 reduce min : (tensor<9x4xf32>, tensor<6x4xi64>, tensor<6x4xf32>) -> tensor<9x4xf32>
  %u = tw.scatter_along %t, %i, %v dim 0 reduce mul : (tensor<9x4xi32>, tensor<6x4xi64>, tensor<6x4xi32>) -> tensor<9x4xi32>
  func.return %r, %s, %u : tensor<9x4xi32>, tensor<9x4xf32>, tensor<9x4xi32>
}
