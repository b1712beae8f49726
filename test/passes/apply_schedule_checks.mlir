// RUN: tilewright-opt %s -p apply-schedule --split-input-file | filecheck %s

// A check outside of a loop that may be empty holds where it is.
// CHECK-LABEL: tk.func @may_be_empty
// CHECK: %[[OK:.*]] = arith.cmpi ne
// CHECK-NEXT: %[[N:.*]] = tk.index "s0*s1" : i64
// CHECK-NEXT: %[[E:.*]] = arith.cmpi eq, %[[N]], %{{.*}} : i64
// CHECK-NEXT: %[[C:.*]] = arith.ori %[[OK]], %[[E]] : i1
// CHECK-NEXT: tk.assert %[[C]] "division by zero" : i1
// CHECK: tk.for
tk.func @may_be_empty [s0, 4, s1] (%o: memref<?xi64>) symbols [s0, s1] {
  %z = arith.constant 0 : i64
  %n = tk.index "s0" : i64
  %ok = arith.cmpi ne, %n, %z : i64
  tk.assert %ok "division by zero" : i1
  tk.store %n, %o[d0*(s1*4) + d1*s1 + d2] : i64, memref<?xi64>
}

// -----

// Of axes that it runs over itself nothing has to be said, nor of those that have points.
// CHECK-LABEL: tk.func @in_its_loop
// CHECK: tk.for 0
// CHECK-NOT: arith.ori
// CHECK: tk.assert
tk.func @in_its_loop [s0, 4] (%x: memref<?xi64>, %o: memref<?xi64>) symbols [s0] {
  %z = arith.constant 0 : i64
  %n = tk.load %x[d0] : memref<?xi64> -> i64
  %ok = arith.cmpi ne, %n, %z : i64
  tk.assert %ok "division by zero" : i1
  tk.store %n, %o[d0*4 + d1] : i64, memref<?xi64>
}
