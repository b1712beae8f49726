// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half scatters=any},absorb-views,dce,fuse{hold_back=true far=true},scatter-at-source' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half scatters=any},absorb-views,dce,fuse{hold_back=true far=true},scatter-at-source' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half scatters=any},absorb-views,dce,fuse{hold_back=true far=true},scatter-at-source{max-ops=9}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=OPS
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half scatters=any},absorb-views,dce,fuse{hold_back=true far=true},scatter-at-source{max-inputs=2}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=INPUTS
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half scatters=any},absorb-views,dce,fuse{hold_back=true far=true},scatter-at-source' --split-input-file --verify-locations
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half scatters=any},absorb-views,dce,fuse{hold_back=true far=true},scatter-at-source' --split-input-file --check-semantics

// Rows that are reduced as well: nothing else reads them, so they are not written.

// OPS: tk.kernel at {{.*}}: not scattered where it is made: one kernel would have more than 9 ops
// INPUTS: tk.kernel at {{.*}}: not scattered where it is made: one kernel would read more than 2 tensors
// CHECK-LABEL: @rows
// CHECK:      tk.kernel [9, 4, 6] ins(%x, %t, %i : tensor<6x4xf32>, tensor<9x4xf32>, tensor<6xi64>) -> (tensor<9x4xf32>)
// CHECK:      %[[X:.*]] = tk.load %{{.*}}[d2, d1]
// CHECK:      tk.reduce add %[[X]] over [1]
// CHECK:      %[[Y:.*]] = arith.subf
// CHECK:      tk.store %{{.*}}, %[[O:.*]][d0, d1]
// CHECK:      tk.store %[[Y]], %[[O]][i0, d1](%{{.*}}) over [2] if %{{.*}} combine add
// CHECK-NOT:  tk.kernel
func.func @rows(%x: tensor<6x4xf32>, %t: tensor<9x4xf32>, %i: tensor<6xi64>) -> tensor<9x4xf32> {
  %s = tw.sum %x over [1] : tensor<6x4xf32> -> tensor<6xf32>
  %b = tw.broadcast %s dims [0] : tensor<6xf32> -> tensor<6x4xf32>
  %y = tw.sub %x, %b : tensor<6x4xf32>
  %r = tw.scatter_add %y into %t[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<6x4xf32>, tensor<6xi64>) -> tensor<9x4xf32>
  func.return %r : tensor<9x4xf32>
}

// -----

// What others read, too, is written, and not read again by either of two scatters. Places are those of two axes.

// CHECK-LABEL: @beside_other_readers
// CHECK:      %y, %{{.*}}, %{{.*}} = tk.kernel {{.*}} -> (tensor<6x4xf32>, tensor<9x4xf32>, tensor<4x3x5xf32>)
// CHECK:      tk.store %[[Y:.*]], %{{.*}} : f32, tensor<6x4xf32>
// CHECK:      tk.store %[[Y]], %{{.*}}[i0, d{{.*}}](%{{.*}}) {{.*}} combine add : f32, tensor<9x4xf32>
// CHECK:      %[[S:.*]] = math.sin %[[Y]]
// CHECK:      tk.store %[[S]], %{{.*}}[d{{.*}}, i0, i1](%{{.*}}, %{{.*}}) {{.*}} combine any : f32, tensor<4x3x5xf32>
// CHECK:      tw.matmul %y
func.func @beside_other_readers(%x: tensor<6x4xf32>, %t: tensor<9x4xf32>, %u: tensor<4x3x5xf32>, %i: tensor<6xi64>, %j: tensor<2x3xi64>, %k: tensor<2x3xi64>, %w: tensor<4x2xf32>) -> (tensor<9x4xf32>, tensor<4x3x5xf32>, tensor<6x2xf32>) {
  %s = tw.sum %x over [1] : tensor<6x4xf32> -> tensor<6xf32>
  %b = tw.broadcast %s dims [0] : tensor<6xf32> -> tensor<6x4xf32>
  %y = tw.sub %x, %b : tensor<6x4xf32>
  %r = tw.scatter_add %y into %t[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<6x4xf32>, tensor<6xi64>) -> tensor<9x4xf32>
  %z = tw.sin %y : tensor<6x4xf32>
  %v = tw.reshape %z : tensor<6x4xf32> -> tensor<2x3x4xf32>
  %q = tw.scatter %v into %u[%j, %k] dims [1, 2] at 0 : (tensor<4x3x5xf32>, tensor<2x3x4xf32>, tensor<2x3xi64>, tensor<2x3xi64>) -> tensor<4x3x5xf32>
  %m = tw.matmul %y, %w : (tensor<6x4xf32>, tensor<4x2xf32>) -> tensor<6x2xf32>
  func.return %r, %q, %m : tensor<9x4xf32>, tensor<4x3x5xf32>, tensor<6x2xf32>
}

// -----

// What is scattered is made of rows and of what they are reduced to: both are walked at once.

// CHECK-LABEL: @of_reduced_rows
// CHECK:      = tk.kernel [9, 4, 6] ins(%x, %t, %i : tensor<6x4xf32>, tensor<9x4xf32>, tensor<6xi64>) -> (tensor<6xf32>, tensor<9x4xf32>)
// CHECK:      tk.reduce add %{{.*}} over [1]
// CHECK:      tk.store %{{.*}}, %{{.*}}[i0, d1](%{{.*}}) combine add
// CHECK-NOT:  tk.kernel
func.func @of_reduced_rows(%x: tensor<6x4xf32>, %t: tensor<9x4xf32>, %i: tensor<6xi64>) -> (tensor<6xf32>, tensor<9x4xf32>) {
  %s = tk.kernel [6, 4] ins(%x : tensor<6x4xf32>) -> (tensor<6xf32>) {
  ^bb0(%a: tensor<6x4xf32>, %o: tensor<6xf32>):
    %0 = tk.load %a[d0, d1] : tensor<6x4xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    tk.store %1, %o[d0] : f32, tensor<6xf32>
  }
  %r = tk.kernel [9, 4, 6] ins(%x, %s, %t, %i : tensor<6x4xf32>, tensor<6xf32>, tensor<9x4xf32>, tensor<6xi64>) -> (tensor<9x4xf32>) {
  ^bb0(%a: tensor<6x4xf32>, %b: tensor<6xf32>, %c: tensor<9x4xf32>, %at: tensor<6xi64>, %o: tensor<9x4xf32>):
    %0 = tk.load %c[d0, d1] : tensor<9x4xf32> -> f32
    tk.store %0, %o[d0, d1] : f32, tensor<9x4xf32>
    %1 = tk.load %at[d2] : tensor<6xi64> -> i64
    %n = arith.constant 9 : i64
    %z = arith.constant 0 : i64
    %ok = arith.cmpi ult, %1, %n : i64
    tk.assert %ok "index out of range" : i1
    %p = arith.select %ok, %1, %z : i64
    %2 = arith.index_cast %p : i64 to index
    %3 = tk.load %a[d2, d1] : tensor<6x4xf32> -> f32
    %4 = tk.load %b[d2] : tensor<6xf32> -> f32
    %5 = arith.subf %3, %4 : f32
    tk.store %5, %o[i0, d1](%2) combine add : f32, tensor<9x4xf32>
  }
  func.return %s, %r : tensor<6xf32>, tensor<9x4xf32>
}

// -----

// REMARK: tk.kernel at {{.*}}: not scattered where it is made: each of its elements is scattered several times
// CHECK-LABEL: @several_times
// CHECK-COUNT-2: = tk.kernel
func.func @several_times(%x: tensor<4x70xf32>, %t: tensor<9x4xf32>, %i: tensor<6xi64>) -> tensor<9x4xf32> {
  %s = tw.sum %x over [1] : tensor<4x70xf32> -> tensor<4xf32>
  %b = tw.broadcast %s dims [1] : tensor<4xf32> -> tensor<6x4xf32>
  %r = tw.scatter_add %b into %t[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<6x4xf32>, tensor<6xi64>) -> tensor<9x4xf32>
  func.return %r : tensor<9x4xf32>
}

// -----

// Of two kernels that reduce along different axes one scatters what both make.

// REMARK: tk.kernel at {{.*}}: not scattered where it is made: the scatter reduces, too
// CHECK-LABEL: @of_two
// CHECK-COUNT-2: = tk.kernel
// CHECK-NOT:     = tk.kernel
func.func @of_two(%x: tensor<6x4xf32>, %y: tensor<6x4xf32>, %t: tensor<9x4xf32>, %i: tensor<6xi64>) -> tensor<9x4xf32> {
  %s = tw.sum %x over [1] : tensor<6x4xf32> -> tensor<6xf32>
  %b = tw.broadcast %s dims [0] : tensor<6xf32> -> tensor<6x4xf32>
  %c = tw.sub %x, %b : tensor<6x4xf32>
  %d = tw.sum %y over [0] : tensor<6x4xf32> -> tensor<4xf32>
  %e = tw.broadcast %d dims [1] : tensor<4xf32> -> tensor<6x4xf32>
  %f = tw.sub %y, %e : tensor<6x4xf32>
  %g = tw.mul %c, %f : tensor<6x4xf32>
  %r = tw.scatter_add %g into %t[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<6x4xf32>, tensor<6xi64>) -> tensor<9x4xf32>
  func.return %r : tensor<9x4xf32>
}

// -----

// REMARK: tk.kernel at {{.*}}: not scattered where it is made: a product makes it
// CHECK-LABEL: @of_a_product
// CHECK-COUNT-2: = tk.kernel
func.func @of_a_product(%x: tensor<6x8xbf16>, %y: tensor<8x4xbf16>, %t: tensor<9x4xbf16>, %i: tensor<6xi64>) -> tensor<9x4xbf16> {
  %m = tw.matmul %x, %y : (tensor<6x8xbf16>, tensor<8x4xbf16>) -> tensor<6x4xbf16>
  %r = tw.scatter %m into %t[%i] dims [0] at 0 : (tensor<9x4xbf16>, tensor<6x4xbf16>, tensor<6xi64>) -> tensor<9x4xbf16>
  func.return %r : tensor<9x4xbf16>
}

// -----

// What is scanned or sorted is there once whole rows are.

// CHECK-LABEL: @of_a_scan
// CHECK: %[[R:.*]] = tk.kernel [9, 4, 6] ins(%x, %t, %i
// CHECK: %[[C:.*]] = tk.scan add %{{.*}} along 1
// CHECK: tk.store %[[C]], %{{.*}}[i0, d1](%{{.*}}) over [2] if %{{.*}} combine add
// CHECK: return %[[R]]
func.func @of_a_scan(%x: tensor<6x4xf32>, %t: tensor<9x4xf32>, %i: tensor<6xi64>) -> tensor<9x4xf32> {
  %c = tw.cumsum %x dim 1 : tensor<6x4xf32>
  %r = tw.scatter_add %c into %t[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<6x4xf32>, tensor<6xi64>) -> tensor<9x4xf32>
  func.return %r : tensor<9x4xf32>
}

// -----

// CHECK-LABEL: @of_a_sort
// CHECK: %[[R:.*]] = tk.kernel [6, 4, 4] ins(%x, %t
// CHECK: %[[S:.*]], %[[P:.*]] = tk.sort
// CHECK: tk.store %[[S]], %{{.*}}[d0, i0](%{{.*}}) over [2] if %{{.*}} combine any
// CHECK: return %[[R]]
func.func @of_a_sort(%x: tensor<6x4xf32>, %t: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %v, %i = tw.sort %x dim 1 : tensor<6x4xf32> -> tensor<6x4xf32>, tensor<6x4xi64>
  %r = tw.scatter_along %t, %i, %v dim 1 reduce none : (tensor<6x4xf32>, tensor<6x4xi64>, tensor<6x4xf32>) -> tensor<6x4xf32>
  func.return %r : tensor<6x4xf32>
}

// -----

// REMARK: tk.kernel at {{.*}}: not scattered where it is made: its kernel reduces few long rows, in parts
// CHECK-LABEL: @of_long_rows
// CHECK-COUNT-2: = tk.kernel
func.func @of_long_rows(%x: tensor<2x65536xf32>, %t: tensor<9xf32>, %i: tensor<2xi64>) -> tensor<9xf32> {
  %s = tw.sum %x over [1] : tensor<2x65536xf32> -> tensor<2xf32>
  %r = tw.scatter_add %s into %t[%i] dims [0] at 0 : (tensor<9xf32>, tensor<2xf32>, tensor<2xi64>) -> tensor<9xf32>
  func.return %r : tensor<9xf32>
}

// -----

// Of an argument that changes nothing is read in the kernel that changes it, and nothing behind it.

// REMARK: tk.kernel at {{.*}}: not scattered where it is made: its kernel reads what the scatter changes, which could not be done in place
// CHECK-LABEL: @of_what_changes
// CHECK-COUNT-2: = tk.kernel
func.func @of_what_changes(%t: tensor<6x4xf32>, %i: tensor<6xi64>) {
  %s = tw.sum %t over [1] : tensor<6x4xf32> -> tensor<6xf32>
  %b = tw.broadcast %s dims [0] : tensor<6xf32> -> tensor<6x4xf32>
  %y = tw.sub %t, %b : tensor<6x4xf32>
  %r = tw.scatter_add %y into %t[%i] dims [0] at 0 : (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
  tw.write %r into %t : tensor<6x4xf32>
  func.return
}

// -----

// REMARK: tk.kernel at {{.*}}: not scattered where it is made: what the scatter changes is read by others, which would come later
// CHECK-LABEL: @read_between
// CHECK-COUNT-2: = tk.kernel
func.func @read_between(%x: tensor<6x4xf32>, %t: tensor<4x4xf32>, %i: tensor<6xi64>) -> tensor<6x4xf32> {
  %s = tw.sum %x over [1] : tensor<6x4xf32> -> tensor<6xf32>
  %b = tw.broadcast %s dims [0] : tensor<6xf32> -> tensor<6x4xf32>
  %y = tw.sub %x, %b : tensor<6x4xf32>
  %m = tw.matmul %y, %t : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %r = tw.scatter_add %y into %t[%i] dims [0] at 0 : (tensor<4x4xf32>, tensor<6x4xf32>, tensor<6xi64>) -> tensor<4x4xf32>
  tw.write %r into %t : tensor<4x4xf32>
  func.return %m : tensor<6x4xf32>
}

// -----

// What is scattered is made of what another kernel reads as well: it is read once.

// CHECK-LABEL: @read_beside
// CHECK:      %{{.*}}, %{{.*}} = tk.kernel {{.*}} ins(%x, {{.*}} -> (tensor<6x4xf32>, tensor<9x4xf32>)
// CHECK:      %[[X:.*]] = tk.load %{{.*}}[d{{.*}}, d{{.*}}] : tensor<6x4xf32>
// CHECK:      tk.store %{{.*}}, %{{.*}} : f32, tensor<6x4xf32>
// CHECK:      math.sin %[[X]]
// CHECK:      combine add : f32, tensor<9x4xf32>
// CHECK-NOT:  tk.kernel
func.func @read_beside(%x: tensor<6x4xf32>, %t: tensor<9x4xf32>, %i: tensor<6xi64>) -> (tensor<6x4xf32>, tensor<9x4xf32>) {
  %e = tw.exp %x : tensor<6x4xf32>
  %s = tw.sin %x : tensor<6x4xf32>
  %r = tw.scatter_add %s into %t[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<6x4xf32>, tensor<6xi64>) -> tensor<9x4xf32>
  func.return %e, %r : tensor<6x4xf32>, tensor<9x4xf32>
}

// -----

// Each row is read for two choices, which both kernels go through by the same list. Of two lists nobody knows
// that they are one.

// CHECK-LABEL: @read_for_choices
// CHECK:      %{{.*}}, %{{.*}} = tk.kernel [9, 4, 6, 2] ins(
// CHECK-COUNT-1: tk.load %{{.*}}[d2, d1] : tensor<6x4xf32>
// CHECK:      tk.reduce add %{{.*}} over [1]
// CHECK:      combine add : f32, tensor<9x4xf32>
// CHECK-NOT:  tk.kernel
// CHECK-LABEL: @read_for_other_choices
// CHECK-COUNT-2: tk.kernel
// REMARK: tk.kernel at {{.*}}: not scattered where it is read: it is read along other axes
func.func @read_for_choices(%x: tensor<6x4xf32>, %y: tensor<9x4xf32>, %w: tensor<6x2xf32>, %t: tensor<9x4xf32>, %i: tensor<12xi64>) -> (tensor<6x2xf32>, tensor<9x4xf32>) {
  %b = tw.broadcast %x dims [0, 2] : tensor<6x4xf32> -> tensor<6x2x4xf32>
  %g = tw.gather %y[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<12xi64>) -> tensor<12x4xf32>
  %h = tw.reshape %g : tensor<12x4xf32> -> tensor<6x2x4xf32>
  %m = tw.mul %b, %h : tensor<6x2x4xf32>
  %s = tw.sum %m over [2] : tensor<6x2x4xf32> -> tensor<6x2xf32>
  %v = tw.broadcast %w dims [0, 1] : tensor<6x2xf32> -> tensor<6x2x4xf32>
  %u = tw.mul %b, %v : tensor<6x2x4xf32>
  %f = tw.reshape %u : tensor<6x2x4xf32> -> tensor<12x4xf32>
  %r = tw.scatter_add %f into %t[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<12x4xf32>, tensor<12xi64>) -> tensor<9x4xf32>
  func.return %s, %r : tensor<6x2xf32>, tensor<9x4xf32>
}
func.func @read_for_other_choices(%x: tensor<6x4xf32>, %y: tensor<9x4xf32>, %w: tensor<6x2xf32>, %t: tensor<9x4xf32>, %i: tensor<12xi64>, %j: tensor<12xi64>) -> (tensor<6x2xf32>, tensor<9x4xf32>) {
  %b = tw.broadcast %x dims [0, 2] : tensor<6x4xf32> -> tensor<6x2x4xf32>
  %g = tw.gather %y[%j] dims [0] at 0 : (tensor<9x4xf32>, tensor<12xi64>) -> tensor<12x4xf32>
  %h = tw.reshape %g : tensor<12x4xf32> -> tensor<6x2x4xf32>
  %m = tw.mul %b, %h : tensor<6x2x4xf32>
  %s = tw.sum %m over [2] : tensor<6x2x4xf32> -> tensor<6x2xf32>
  %v = tw.broadcast %w dims [0, 1] : tensor<6x2xf32> -> tensor<6x2x4xf32>
  %u = tw.mul %b, %v : tensor<6x2x4xf32>
  %f = tw.reshape %u : tensor<6x2x4xf32> -> tensor<12x4xf32>
  %r = tw.scatter_add %f into %t[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<12x4xf32>, tensor<12xi64>) -> tensor<9x4xf32>
  func.return %s, %r : tensor<6x2xf32>, tensor<9x4xf32>
}

// -----

// Rows from the second one on: elements of the two have no loop in common.

// REMARK: tk.kernel at {{.*}}: not scattered where it is read: it is read along other axes
// CHECK-LABEL: @read_elsewhere
// CHECK-COUNT-2: tk.kernel
func.func @read_elsewhere(%x: tensor<6x4xf32>, %t: tensor<9x4xf32>, %i: tensor<5xi64>) -> (tensor<6x4xf32>, tensor<9x4xf32>) {
  %e = tw.exp %x : tensor<6x4xf32>
  %v = tw.slice %x starts "1, 0" steps "1, 1" : tensor<6x4xf32> -> tensor<5x4xf32>
  %s = tw.sin %v : tensor<5x4xf32>
  %r = tw.scatter_add %s into %t[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<9x4xf32>
  func.return %e, %r : tensor<6x4xf32>, tensor<9x4xf32>
}

// -----

// What is little beside what a kernel walks is no reason to share its loops.

// CHECK-LABEL: @little_is_read
// CHECK-COUNT-2: tk.kernel
func.func @little_is_read(%x: tensor<4xf32>, %y: tensor<6x4xf32>, %t: tensor<9xf32>, %i: tensor<4xi64>) -> (tensor<6x4xf32>, tensor<9xf32>) {
  %b = tw.broadcast %x dims [1] : tensor<4xf32> -> tensor<6x4xf32>
  %e = tw.add %b, %y : tensor<6x4xf32>
  %s = tw.sin %x : tensor<4xf32>
  %r = tw.scatter_add %s into %t[%i] dims [0] at 0 : (tensor<9xf32>, tensor<4xf32>, tensor<4xi64>) -> tensor<9xf32>
  func.return %e, %r : tensor<6x4xf32>, tensor<9xf32>
}

// -----

// Sums of rows are there at any place only once all are summed.

// REMARK: tk.kernel at {{.*}}: not scattered where it is read: what it makes of it is read, too
// CHECK-LABEL: @makes_what_is_read
// CHECK-COUNT-2: tk.kernel
func.func @makes_what_is_read(%x: tensor<6x16xf32>, %j: tensor<6xi64>, %t: tensor<9x16xf32>, %i: tensor<6xi64>) -> tensor<9x16xf32> {
  %e = tw.sum %x over [1] : tensor<6x16xf32> -> tensor<6xf32>
  %g = tw.gather %e[%j] dims [0] at 0 : (tensor<6xf32>, tensor<6xi64>) -> tensor<6xf32>
  %b = tw.broadcast %g dims [0] : tensor<6xf32> -> tensor<6x16xf32>
  %s = tw.mul %x, %b : tensor<6x16xf32>
  %r = tw.scatter_add %s into %t[%i] dims [0] at 0 : (tensor<9x16xf32>, tensor<6x16xf32>, tensor<6xi64>) -> tensor<9x16xf32>
  func.return %r : tensor<9x16xf32>
}
