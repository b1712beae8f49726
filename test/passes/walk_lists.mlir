// RUN: tilewright-opt %s -p walk-lists,dce --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p walk-lists --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// The list is looked through where its table was read; nobody reads the table any more.
// CHECK-LABEL: @one_list
// CHECK-NEXT: %[[R:.*]] = tk.kernel [64, 4, 64, 4, 6] ins(%q, %k, %v, %l, %c : {{.*}})
// CHECK: %[[A:.*]] = arith.cmpi sge
// CHECK: %[[N:.*]] = tk.index "d4" : i64
// CHECK: %[[C0:.*]] = tk.load %{{.*}}[(d0 floordiv 16)] : tensor<4xi32> -> i32
// CHECK: %[[C:.*]] = arith.extsi %[[C0]] : i32 to i64
// CHECK: %[[IN:.*]] = arith.cmpi slt, %[[N]], %[[C]] : i64
// CHECK: %[[AT:.*]] = arith.index_cast %[[N]] : i64 to index
// CHECK: %[[E0:.*]] = tk.load %{{.*}}[(d0 floordiv 16), i0](%[[AT]]) if %[[IN]] else %{{.*}} : tensor<4x6xi32> -> i32
// CHECK: %[[E:.*]] = arith.extsi %[[E0]] : i32 to i64
// CHECK: %[[HERE:.*]] = tk.index "(d2 floordiv 16)" : i64
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[E]], %[[HERE]] : i64
// CHECK: %[[BOTH:.*]] = arith.andi %[[SAME]], %[[IN]] : i1
// CHECK: %[[LISTED:.*]] = tk.reduce or %[[BOTH]] over [4] {tk.distinct} : i1
// CHECK: %[[W:.*]] = arith.andi %[[A]], %[[LISTED]] : i1
// CHECK: arith.select %[[W]]
// CHECK: return %[[R]]
func.func @one_list(%q: tensor<64x4xbf16>, %k: tensor<64x4xbf16>, %v: tensor<64x4xbf16>, %c: tensor<4xi32>, %l: tensor<4x6xi32>, %m: tensor<4x6xi32>, %g: tensor<4x8xi1>) -> tensor<64x4xf32> {
  %t = tk.kernel [4, 8, 6] ins(%c, %l : tensor<4xi32>, tensor<4x6xi32>) -> (tensor<4x8xi1>) {
  ^bb0(%count: tensor<4xi32>, %list: tensor<4x6xi32>, %o: tensor<4x8xi1>):
    %0 = tk.load %list[d0, d2] : tensor<4x6xi32> -> i32
    %1 = arith.extsi %0 : i32 to i64
    %2 = tk.index "d1" : i64
    %3 = arith.cmpi eq, %1, %2 : i64
    %4 = tk.index "d2" : i64
    %5 = tk.load %count[d0] : tensor<4xi32> -> i32
    %6 = arith.extsi %5 : i32 to i64
    %7 = arith.cmpi slt, %4, %6 : i64
    %8 = arith.andi %3, %7 : i1
    %9 = tk.reduce or %8 over [2] : i1
    tk.store %9, %o[d0, d1] : i1, tensor<4x8xi1>
  }
  %r = tk.kernel [64, 4, 64, 4] ins(%q, %k, %v, %t : tensor<64x4xbf16>, tensor<64x4xbf16>, tensor<64x4xbf16>, tensor<4x8xi1>) -> (tensor<64x4xf32>) {
  ^bb0(%qs: tensor<64x4xbf16>, %ks: tensor<64x4xbf16>, %vs: tensor<64x4xbf16>, %ts: tensor<4x8xi1>, %o: tensor<64x4xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tk.load %qs[d0, d3] : tensor<64x4xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %ks[d2, d3] : tensor<64x4xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [3] {tk.factors = bf16} : f32
    %i = tk.index "d0" : i64
    %j = tk.index "d2" : i64
    %a = arith.cmpi sge, %i, %j : i64
    %b = tk.load %ts[d0 floordiv 16, d2 floordiv 16] : tensor<4x8xi1> -> i1
    %w = arith.andi %a, %b : i1
    %6 = arith.select %w, %5, %zero : f32
    %7 = tk.load %vs[d2, d1] : tensor<64x4xbf16> -> bf16
    %8 = arith.extf %7 : bf16 to f32
    %9 = arith.mulf %6, %8 : f32
    %10 = tk.reduce add %9 over [2] {tk.factors = bf16} : f32
    tk.store %10, %o[d0, d1] : f32, tensor<64x4xf32>
  }
  func.return %r : tensor<64x4xf32>
}

// -----

// Of two lists the second one begins where the first one ends.
// CHECK-LABEL: @two_lists
// CHECK-NEXT: %[[R:.*]] = tk.kernel [64, 4, 64, 4, 12] ins(%q, %k, %v, %l, %c, %m : {{.*}})
// CHECK: %[[N:.*]] = tk.index "d4" : i64
// CHECK: %[[IN:.*]] = arith.cmpi slt, %[[N]], %[[C:.*]] : i64
// CHECK: %[[E0:.*]] = tk.load %{{.*}} if %[[IN]] else
// CHECK: %[[FIRST:.*]] = arith.extsi %[[E0]]
// CHECK: %[[REST:.*]] = arith.subi %[[N]], %[[C]] : i64
// CHECK: %[[UP:.*]] = arith.cmpi slt, %[[REST]], %[[C]] : i64
// CHECK: %[[LOW:.*]] = arith.cmpi sge, %[[N]], %[[C]] : i64
// CHECK: %[[THEN:.*]] = arith.andi %[[LOW]], %[[UP]] : i1
// CHECK: %[[AT:.*]] = arith.index_cast %[[REST]]
// CHECK: %[[E1:.*]] = tk.load %{{.*}}[(d0 floordiv 16), i0](%[[AT]]) if %[[THEN]] else
// CHECK: %[[SECOND:.*]] = arith.extsi %[[E1]]
// CHECK: %[[E:.*]] = arith.select %[[THEN]], %[[SECOND]], %[[FIRST]] : i64
// CHECK: %[[ALL:.*]] = arith.addi %[[C]], %[[C]] : i64
// CHECK: arith.cmpi eq, %[[E]]
// CHECK: arith.cmpi slt, %[[N]], %[[ALL]]
// CHECK: tk.reduce or %{{.*}} over [4] {tk.distinct} : i1
func.func @two_lists(%q: tensor<64x4xbf16>, %k: tensor<64x4xbf16>, %v: tensor<64x4xbf16>, %c: tensor<4xi32>, %l: tensor<4x6xi32>, %m: tensor<4x6xi32>, %g: tensor<4x8xi1>) -> tensor<64x4xf32> {
  %t = tk.kernel [4, 8, 6] ins(%c, %l, %m : tensor<4xi32>, tensor<4x6xi32>, tensor<4x6xi32>) -> (tensor<4x8xi1>) {
  ^bb0(%count: tensor<4xi32>, %list: tensor<4x6xi32>, %more: tensor<4x6xi32>, %o: tensor<4x8xi1>):
    %0 = tk.load %list[d0, d2] : tensor<4x6xi32> -> i32
    %1 = arith.extsi %0 : i32 to i64
    %2 = tk.index "d1" : i64
    %3 = arith.cmpi eq, %1, %2 : i64
    %4 = tk.index "d2" : i64
    %5 = tk.load %count[d0] : tensor<4xi32> -> i32
    %6 = arith.extsi %5 : i32 to i64
    %7 = arith.cmpi slt, %4, %6 : i64
    %8 = arith.andi %3, %7 : i1
    %9 = tk.reduce or %8 over [2] : i1
    %10 = tk.load %more[d0, d2] : tensor<4x6xi32> -> i32
    %11 = arith.extsi %10 : i32 to i64
    %12 = arith.cmpi eq, %11, %2 : i64
    %13 = arith.andi %12, %7 : i1
    %14 = tk.reduce or %13 over [2] : i1
    %15 = arith.ori %9, %14 : i1
    tk.store %15, %o[d0, d1] : i1, tensor<4x8xi1>
  }
  %r = tk.kernel [64, 4, 64, 4] ins(%q, %k, %v, %t : tensor<64x4xbf16>, tensor<64x4xbf16>, tensor<64x4xbf16>, tensor<4x8xi1>) -> (tensor<64x4xf32>) {
  ^bb0(%qs: tensor<64x4xbf16>, %ks: tensor<64x4xbf16>, %vs: tensor<64x4xbf16>, %ts: tensor<4x8xi1>, %o: tensor<64x4xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tk.load %qs[d0, d3] : tensor<64x4xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %ks[d2, d3] : tensor<64x4xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [3] {tk.factors = bf16} : f32
    %i = tk.index "d0" : i64
    %j = tk.index "d2" : i64
    %a = arith.cmpi sge, %i, %j : i64
    %b = tk.load %ts[d0 floordiv 16, d2 floordiv 16] : tensor<4x8xi1> -> i1
      %6 = arith.select %b, %5, %zero : f32
    %7 = tk.load %vs[d2, d1] : tensor<64x4xbf16> -> bf16
    %8 = arith.extf %7 : bf16 to f32
    %9 = arith.mulf %6, %8 : f32
    %10 = tk.reduce add %9 over [2] {tk.factors = bf16} : f32
    tk.store %10, %o[d0, d1] : f32, tensor<64x4xf32>
  }
  func.return %r : tensor<64x4xf32>
}

// -----

// What is visible may be outside of the table.
// CHECK-LABEL: @either_is_enough
// CHECK-NOT: tk.distinct
func.func @either_is_enough(%q: tensor<64x4xbf16>, %k: tensor<64x4xbf16>, %v: tensor<64x4xbf16>, %c: tensor<4xi32>, %l: tensor<4x6xi32>, %m: tensor<4x6xi32>, %g: tensor<4x8xi1>) -> tensor<64x4xf32> {
  %t = tk.kernel [4, 8, 6] ins(%c, %l : tensor<4xi32>, tensor<4x6xi32>) -> (tensor<4x8xi1>) {
  ^bb0(%count: tensor<4xi32>, %list: tensor<4x6xi32>, %o: tensor<4x8xi1>):
    %0 = tk.load %list[d0, d2] : tensor<4x6xi32> -> i32
    %1 = arith.extsi %0 : i32 to i64
    %2 = tk.index "d1" : i64
    %3 = arith.cmpi eq, %1, %2 : i64
    %4 = tk.index "d2" : i64
    %5 = tk.load %count[d0] : tensor<4xi32> -> i32
    %6 = arith.extsi %5 : i32 to i64
    %7 = arith.cmpi slt, %4, %6 : i64
    %8 = arith.andi %3, %7 : i1
    %9 = tk.reduce or %8 over [2] : i1
    tk.store %9, %o[d0, d1] : i1, tensor<4x8xi1>
  }
  %r = tk.kernel [64, 4, 64, 4] ins(%q, %k, %v, %t : tensor<64x4xbf16>, tensor<64x4xbf16>, tensor<64x4xbf16>, tensor<4x8xi1>) -> (tensor<64x4xf32>) {
  ^bb0(%qs: tensor<64x4xbf16>, %ks: tensor<64x4xbf16>, %vs: tensor<64x4xbf16>, %ts: tensor<4x8xi1>, %o: tensor<64x4xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tk.load %qs[d0, d3] : tensor<64x4xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %ks[d2, d3] : tensor<64x4xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [3] {tk.factors = bf16} : f32
    %i = tk.index "d0" : i64
    %j = tk.index "d2" : i64
    %a = arith.cmpi sge, %i, %j : i64
    %b = tk.load %ts[d0 floordiv 16, d2 floordiv 16] : tensor<4x8xi1> -> i1
    %w = arith.ori %a, %b : i1
    %6 = arith.select %w, %5, %zero : f32
    %7 = tk.load %vs[d2, d1] : tensor<64x4xbf16> -> bf16
    %8 = arith.extf %7 : bf16 to f32
    %9 = arith.mulf %6, %8 : f32
    %10 = tk.reduce add %9 over [2] {tk.factors = bf16} : f32
    tk.store %10, %o[d0, d1] : f32, tensor<64x4xf32>
  }
  func.return %r : tensor<64x4xf32>
}

// -----

// A table that is given was made of no list.
// CHECK-LABEL: @given
// CHECK-NOT: tk.distinct
func.func @given(%q: tensor<64x4xbf16>, %k: tensor<64x4xbf16>, %v: tensor<64x4xbf16>, %c: tensor<4xi32>, %l: tensor<4x6xi32>, %m: tensor<4x6xi32>, %g: tensor<4x8xi1>) -> tensor<64x4xf32> {
  %r = tk.kernel [64, 4, 64, 4] ins(%q, %k, %v, %g : tensor<64x4xbf16>, tensor<64x4xbf16>, tensor<64x4xbf16>, tensor<4x8xi1>) -> (tensor<64x4xf32>) {
  ^bb0(%qs: tensor<64x4xbf16>, %ks: tensor<64x4xbf16>, %vs: tensor<64x4xbf16>, %ts: tensor<4x8xi1>, %o: tensor<64x4xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tk.load %qs[d0, d3] : tensor<64x4xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %ks[d2, d3] : tensor<64x4xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [3] {tk.factors = bf16} : f32
    %i = tk.index "d0" : i64
    %j = tk.index "d2" : i64
    %a = arith.cmpi sge, %i, %j : i64
    %b = tk.load %ts[d0 floordiv 16, d2 floordiv 16] : tensor<4x8xi1> -> i1
      %6 = arith.select %b, %5, %zero : f32
    %7 = tk.load %vs[d2, d1] : tensor<64x4xbf16> -> bf16
    %8 = arith.extf %7 : bf16 to f32
    %9 = arith.mulf %6, %8 : f32
    %10 = tk.reduce add %9 over [2] {tk.factors = bf16} : f32
    tk.store %10, %o[d0, d1] : f32, tensor<64x4xf32>
  }
  func.return %r : tensor<64x4xf32>
}

// -----

// Lists of blocks of rows say nothing to who goes along columns.
// CHECK-LABEL: @along_the_other_axis
// CHECK-NOT: tk.distinct
func.func @along_the_other_axis(%q: tensor<64x4xbf16>, %k: tensor<64x4xbf16>, %v: tensor<64x4xbf16>, %c: tensor<4xi32>, %l: tensor<4x6xi32>, %m: tensor<4x6xi32>, %g: tensor<4x8xi1>) -> tensor<64x4xf32> {
  %t = tk.kernel [4, 8, 6] ins(%c, %l : tensor<4xi32>, tensor<4x6xi32>) -> (tensor<4x8xi1>) {
  ^bb0(%count: tensor<4xi32>, %list: tensor<4x6xi32>, %o: tensor<4x8xi1>):
    %0 = tk.load %list[d0, d2] : tensor<4x6xi32> -> i32
    %1 = arith.extsi %0 : i32 to i64
    %2 = tk.index "d1" : i64
    %3 = arith.cmpi eq, %1, %2 : i64
    %4 = tk.index "d2" : i64
    %5 = tk.load %count[d0] : tensor<4xi32> -> i32
    %6 = arith.extsi %5 : i32 to i64
    %7 = arith.cmpi slt, %4, %6 : i64
    %8 = arith.andi %3, %7 : i1
    %9 = tk.reduce or %8 over [2] : i1
    tk.store %9, %o[d0, d1] : i1, tensor<4x8xi1>
  }
  %r = tk.kernel [64, 4, 64, 4] ins(%q, %k, %v, %t : tensor<64x4xbf16>, tensor<64x4xbf16>, tensor<64x4xbf16>, tensor<4x8xi1>) -> (tensor<64x4xf32>) {
  ^bb0(%qs: tensor<64x4xbf16>, %ks: tensor<64x4xbf16>, %vs: tensor<64x4xbf16>, %ts: tensor<4x8xi1>, %o: tensor<64x4xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tk.load %qs[d0, d3] : tensor<64x4xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %ks[d2, d3] : tensor<64x4xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [3] {tk.factors = bf16} : f32
    %i = tk.index "d0" : i64
    %j = tk.index "d2" : i64
    %a = arith.cmpi sge, %i, %j : i64
    %b = tk.load %ts[d2 floordiv 16, d0 floordiv 16] : tensor<4x8xi1> -> i1
      %6 = arith.select %b, %5, %zero : f32
    %7 = tk.load %vs[d2, d1] : tensor<64x4xbf16> -> bf16
    %8 = arith.extf %7 : bf16 to f32
    %9 = arith.mulf %6, %8 : f32
    %10 = tk.reduce add %9 over [2] {tk.factors = bf16} : f32
    tk.store %10, %o[d0, d1] : f32, tensor<64x4xf32>
  }
  func.return %r : tensor<64x4xf32>
}

// -----

// CHECK-LABEL: @small_blocks
// CHECK-NOT: tk.distinct
// REMARK: no walk along listed blocks: its blocks are no multiples of 16 rows and columns
func.func @small_blocks(%q: tensor<64x4xbf16>, %k: tensor<64x4xbf16>, %v: tensor<64x4xbf16>, %c: tensor<4xi32>, %l: tensor<4x6xi32>, %m: tensor<4x6xi32>, %g: tensor<4x8xi1>) -> tensor<64x4xf32> {
  %t = tk.kernel [4, 8, 6] ins(%c, %l : tensor<4xi32>, tensor<4x6xi32>) -> (tensor<4x8xi1>) {
  ^bb0(%count: tensor<4xi32>, %list: tensor<4x6xi32>, %o: tensor<4x8xi1>):
    %0 = tk.load %list[d0, d2] : tensor<4x6xi32> -> i32
    %1 = arith.extsi %0 : i32 to i64
    %2 = tk.index "d1" : i64
    %3 = arith.cmpi eq, %1, %2 : i64
    %4 = tk.index "d2" : i64
    %5 = tk.load %count[d0] : tensor<4xi32> -> i32
    %6 = arith.extsi %5 : i32 to i64
    %7 = arith.cmpi slt, %4, %6 : i64
    %8 = arith.andi %3, %7 : i1
    %9 = tk.reduce or %8 over [2] : i1
    tk.store %9, %o[d0, d1] : i1, tensor<4x8xi1>
  }
  %r = tk.kernel [64, 4, 64, 4] ins(%q, %k, %v, %t : tensor<64x4xbf16>, tensor<64x4xbf16>, tensor<64x4xbf16>, tensor<4x8xi1>) -> (tensor<64x4xf32>) {
  ^bb0(%qs: tensor<64x4xbf16>, %ks: tensor<64x4xbf16>, %vs: tensor<64x4xbf16>, %ts: tensor<4x8xi1>, %o: tensor<64x4xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tk.load %qs[d0, d3] : tensor<64x4xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %ks[d2, d3] : tensor<64x4xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [3] {tk.factors = bf16} : f32
    %i = tk.index "d0" : i64
    %j = tk.index "d2" : i64
    %a = arith.cmpi sge, %i, %j : i64
    %b = tk.load %ts[d0 floordiv 16, d2 floordiv 18] : tensor<4x8xi1> -> i1
      %6 = arith.select %b, %5, %zero : f32
    %7 = tk.load %vs[d2, d1] : tensor<64x4xbf16> -> bf16
    %8 = arith.extf %7 : bf16 to f32
    %9 = arith.mulf %6, %8 : f32
    %10 = tk.reduce add %9 over [2] {tk.factors = bf16} : f32
    tk.store %10, %o[d0, d1] : f32, tensor<64x4xf32>
  }
  func.return %r : tensor<64x4xf32>
}

// -----

// CHECK-LABEL: @rows_have_lists
// CHECK-NOT: tk.distinct
// REMARK: no walk along listed blocks: its blocks are no multiples of 16 rows and columns
func.func @rows_have_lists(%q: tensor<64x4xbf16>, %k: tensor<64x4xbf16>, %v: tensor<64x4xbf16>, %c: tensor<4xi32>, %l: tensor<4x6xi32>, %m: tensor<4x6xi32>, %g: tensor<4x8xi1>) -> tensor<64x4xf32> {
  %t = tk.kernel [4, 8, 6] ins(%c, %l : tensor<4xi32>, tensor<4x6xi32>) -> (tensor<4x8xi1>) {
  ^bb0(%count: tensor<4xi32>, %list: tensor<4x6xi32>, %o: tensor<4x8xi1>):
    %0 = tk.load %list[d0, d2] : tensor<4x6xi32> -> i32
    %1 = arith.extsi %0 : i32 to i64
    %2 = tk.index "d1" : i64
    %3 = arith.cmpi eq, %1, %2 : i64
    %4 = tk.index "d2" : i64
    %5 = tk.load %count[d0] : tensor<4xi32> -> i32
    %6 = arith.extsi %5 : i32 to i64
    %7 = arith.cmpi slt, %4, %6 : i64
    %8 = arith.andi %3, %7 : i1
    %9 = tk.reduce or %8 over [2] : i1
    tk.store %9, %o[d0, d1] : i1, tensor<4x8xi1>
  }
  %r = tk.kernel [64, 4, 64, 4] ins(%q, %k, %v, %t : tensor<64x4xbf16>, tensor<64x4xbf16>, tensor<64x4xbf16>, tensor<4x8xi1>) -> (tensor<64x4xf32>) {
  ^bb0(%qs: tensor<64x4xbf16>, %ks: tensor<64x4xbf16>, %vs: tensor<64x4xbf16>, %ts: tensor<4x8xi1>, %o: tensor<64x4xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tk.load %qs[d0, d3] : tensor<64x4xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %ks[d2, d3] : tensor<64x4xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [3] {tk.factors = bf16} : f32
    %i = tk.index "d0" : i64
    %j = tk.index "d2" : i64
    %a = arith.cmpi sge, %i, %j : i64
    %b = tk.load %ts[d0 mod 4, d2 floordiv 16] : tensor<4x8xi1> -> i1
      %6 = arith.select %b, %5, %zero : f32
    %7 = tk.load %vs[d2, d1] : tensor<64x4xbf16> -> bf16
    %8 = arith.extf %7 : bf16 to f32
    %9 = arith.mulf %6, %8 : f32
    %10 = tk.reduce add %9 over [2] {tk.factors = bf16} : f32
    tk.store %10, %o[d0, d1] : f32, tensor<64x4xf32>
  }
  func.return %r : tensor<64x4xf32>
}

// -----

// CHECK-LABEL: @lists_change_on_the_way
// CHECK-NOT: tk.distinct
// REMARK: no walk along listed blocks: lists change on the way
func.func @lists_change_on_the_way(%q: tensor<64x4xbf16>, %k: tensor<64x4xbf16>, %v: tensor<64x4xbf16>, %c: tensor<4xi32>, %l: tensor<4x6xi32>, %m: tensor<4x6xi32>, %g: tensor<4x8xi1>) -> tensor<64x4xf32> {
  %t = tk.kernel [4, 8, 6] ins(%c, %l : tensor<4xi32>, tensor<4x6xi32>) -> (tensor<4x8xi1>) {
  ^bb0(%count: tensor<4xi32>, %list: tensor<4x6xi32>, %o: tensor<4x8xi1>):
    %0 = tk.load %list[d0, d2] : tensor<4x6xi32> -> i32
    %1 = arith.extsi %0 : i32 to i64
    %2 = tk.index "d1" : i64
    %3 = arith.cmpi eq, %1, %2 : i64
    %4 = tk.index "d2" : i64
    %5 = tk.load %count[d0] : tensor<4xi32> -> i32
    %6 = arith.extsi %5 : i32 to i64
    %7 = arith.cmpi slt, %4, %6 : i64
    %8 = arith.andi %3, %7 : i1
    %9 = tk.reduce or %8 over [2] : i1
    tk.store %9, %o[d0, d1] : i1, tensor<4x8xi1>
  }
  %r = tk.kernel [64, 4, 64, 4] ins(%q, %k, %v, %t : tensor<64x4xbf16>, tensor<64x4xbf16>, tensor<64x4xbf16>, tensor<4x8xi1>) -> (tensor<64x4xf32>) {
  ^bb0(%qs: tensor<64x4xbf16>, %ks: tensor<64x4xbf16>, %vs: tensor<64x4xbf16>, %ts: tensor<4x8xi1>, %o: tensor<64x4xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tk.load %qs[d0, d3] : tensor<64x4xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %ks[d2, d3] : tensor<64x4xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [3] {tk.factors = bf16} : f32
    %i = tk.index "d0" : i64
    %j = tk.index "d2" : i64
    %a = arith.cmpi sge, %i, %j : i64
    %b = tk.load %ts[d2 floordiv 16, d2 floordiv 16] : tensor<4x8xi1> -> i1
      %6 = arith.select %b, %5, %zero : f32
    %7 = tk.load %vs[d2, d1] : tensor<64x4xbf16> -> bf16
    %8 = arith.extf %7 : bf16 to f32
    %9 = arith.mulf %6, %8 : f32
    %10 = tk.reduce add %9 over [2] {tk.factors = bf16} : f32
    tk.store %10, %o[d0, d1] : f32, tensor<64x4xf32>
  }
  func.return %r : tensor<64x4xf32>
}

// -----

// CHECK-LABEL: @several_batches
// CHECK-NOT: tk.distinct
// REMARK: no walk along listed blocks: its chain goes along several batches
func.func @several_batches(%q: tensor<64x4xbf16>, %k: tensor<3x64x4xbf16>, %v: tensor<3x64x4xbf16>, %c: tensor<4xi32>, %l: tensor<4x6xi32>, %m: tensor<4x6xi32>, %g: tensor<4x8xi1>) -> tensor<64x4xf32> {
  %t = tk.kernel [4, 8, 6] ins(%c, %l : tensor<4xi32>, tensor<4x6xi32>) -> (tensor<4x8xi1>) {
  ^bb0(%count: tensor<4xi32>, %list: tensor<4x6xi32>, %o: tensor<4x8xi1>):
    %0 = tk.load %list[d0, d2] : tensor<4x6xi32> -> i32
    %1 = arith.extsi %0 : i32 to i64
    %2 = tk.index "d1" : i64
    %3 = arith.cmpi eq, %1, %2 : i64
    %4 = tk.index "d2" : i64
    %5 = tk.load %count[d0] : tensor<4xi32> -> i32
    %6 = arith.extsi %5 : i32 to i64
    %7 = arith.cmpi slt, %4, %6 : i64
    %8 = arith.andi %3, %7 : i1
    %9 = tk.reduce or %8 over [2] : i1
    tk.store %9, %o[d0, d1] : i1, tensor<4x8xi1>
  }
  %r = tk.kernel [64, 4, 3, 64, 4] ins(%q, %k, %v, %t : tensor<64x4xbf16>, tensor<3x64x4xbf16>, tensor<3x64x4xbf16>, tensor<4x8xi1>) -> (tensor<64x4xf32>) {
  ^bb0(%qs: tensor<64x4xbf16>, %ks: tensor<3x64x4xbf16>, %vs: tensor<3x64x4xbf16>, %ts: tensor<4x8xi1>, %o: tensor<64x4xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tk.load %qs[d0, d4] : tensor<64x4xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %ks[d2, d3, d4] : tensor<3x64x4xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
    %i = tk.index "d0" : i64
    %j = tk.index "d3" : i64
    %a = arith.cmpi sge, %i, %j : i64
    %b = tk.load %ts[d0 floordiv 16, d3 floordiv 16] : tensor<4x8xi1> -> i1
      %6 = arith.select %b, %5, %zero : f32
    %7 = tk.load %vs[d2, d3, d1] : tensor<3x64x4xbf16> -> bf16
    %8 = arith.extf %7 : bf16 to f32
    %9 = arith.mulf %6, %8 : f32
    %10 = tk.reduce add %9 over [2, 3] {tk.factors = bf16} : f32
    tk.store %10, %o[d0, d1] : f32, tensor<64x4xf32>
  }
  func.return %r : tensor<64x4xf32>
}

// -----

// CHECK-LABEL: @checked
// CHECK-NOT: tk.distinct
// REMARK: no walk along listed blocks: something is stored or checked in each block
func.func @checked(%q: tensor<64x4xbf16>, %k: tensor<64x4xbf16>, %v: tensor<64x4xbf16>, %c: tensor<4xi32>, %l: tensor<4x6xi32>, %m: tensor<4x6xi32>, %g: tensor<4x8xi1>) -> tensor<64x4xf32> {
  %t = tk.kernel [4, 8, 6] ins(%c, %l : tensor<4xi32>, tensor<4x6xi32>) -> (tensor<4x8xi1>) {
  ^bb0(%count: tensor<4xi32>, %list: tensor<4x6xi32>, %o: tensor<4x8xi1>):
    %0 = tk.load %list[d0, d2] : tensor<4x6xi32> -> i32
    %1 = arith.extsi %0 : i32 to i64
    %2 = tk.index "d1" : i64
    %3 = arith.cmpi eq, %1, %2 : i64
    %4 = tk.index "d2" : i64
    %5 = tk.load %count[d0] : tensor<4xi32> -> i32
    %6 = arith.extsi %5 : i32 to i64
    %7 = arith.cmpi slt, %4, %6 : i64
    %8 = arith.andi %3, %7 : i1
    %9 = tk.reduce or %8 over [2] : i1
    tk.store %9, %o[d0, d1] : i1, tensor<4x8xi1>
  }
  %r = tk.kernel [64, 4, 64, 4] ins(%q, %k, %v, %t : tensor<64x4xbf16>, tensor<64x4xbf16>, tensor<64x4xbf16>, tensor<4x8xi1>) -> (tensor<64x4xf32>) {
  ^bb0(%qs: tensor<64x4xbf16>, %ks: tensor<64x4xbf16>, %vs: tensor<64x4xbf16>, %ts: tensor<4x8xi1>, %o: tensor<64x4xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tk.load %qs[d0, d3] : tensor<64x4xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %ks[d2, d3] : tensor<64x4xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [3] {tk.factors = bf16} : f32
    %i = tk.index "d0" : i64
    %j = tk.index "d2" : i64
    %a = arith.cmpi sge, %i, %j : i64
    %b = tk.load %ts[d0 floordiv 16, d2 floordiv 16] : tensor<4x8xi1> -> i1
    tk.assert %a "index out of range" : i1
    %6 = arith.select %b, %5, %zero : f32
    %7 = tk.load %vs[d2, d1] : tensor<64x4xbf16> -> bf16
    %8 = arith.extf %7 : bf16 to f32
    %9 = arith.mulf %6, %8 : f32
    %10 = tk.reduce add %9 over [2] {tk.factors = bf16} : f32
    tk.store %10, %o[d0, d1] : f32, tensor<64x4xf32>
  }
  func.return %r : tensor<64x4xf32>
}

// -----

// Before the end of a list is not what this asks.
// CHECK-LABEL: @from_the_end_of_the_list
// CHECK-NOT: tk.distinct
func.func @from_the_end_of_the_list(%q: tensor<64x4xbf16>, %k: tensor<64x4xbf16>, %v: tensor<64x4xbf16>, %c: tensor<4xi32>, %l: tensor<4x6xi32>, %m: tensor<4x6xi32>, %g: tensor<4x8xi1>) -> tensor<64x4xf32> {
  %t = tk.kernel [4, 8, 6] ins(%c, %l : tensor<4xi32>, tensor<4x6xi32>) -> (tensor<4x8xi1>) {
  ^bb0(%count: tensor<4xi32>, %list: tensor<4x6xi32>, %o: tensor<4x8xi1>):
    %0 = tk.load %list[d0, d2] : tensor<4x6xi32> -> i32
    %1 = arith.extsi %0 : i32 to i64
    %2 = tk.index "d1" : i64
    %3 = arith.cmpi eq, %1, %2 : i64
    %4 = tk.index "d2" : i64
    %5 = tk.load %count[d0] : tensor<4xi32> -> i32
    %6 = arith.extsi %5 : i32 to i64
    %7 = arith.cmpi sge, %4, %6 : i64
    %8 = arith.andi %3, %7 : i1
    %9 = tk.reduce or %8 over [2] : i1
    tk.store %9, %o[d0, d1] : i1, tensor<4x8xi1>
  }
  %r = tk.kernel [64, 4, 64, 4] ins(%q, %k, %v, %t : tensor<64x4xbf16>, tensor<64x4xbf16>, tensor<64x4xbf16>, tensor<4x8xi1>) -> (tensor<64x4xf32>) {
  ^bb0(%qs: tensor<64x4xbf16>, %ks: tensor<64x4xbf16>, %vs: tensor<64x4xbf16>, %ts: tensor<4x8xi1>, %o: tensor<64x4xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tk.load %qs[d0, d3] : tensor<64x4xbf16> -> bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = tk.load %ks[d2, d3] : tensor<64x4xbf16> -> bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = tk.reduce add %4 over [3] {tk.factors = bf16} : f32
    %i = tk.index "d0" : i64
    %j = tk.index "d2" : i64
    %a = arith.cmpi sge, %i, %j : i64
    %b = tk.load %ts[d0 floordiv 16, d2 floordiv 16] : tensor<4x8xi1> -> i1
      %6 = arith.select %b, %5, %zero : f32
    %7 = tk.load %vs[d2, d1] : tensor<64x4xbf16> -> bf16
    %8 = arith.extf %7 : bf16 to f32
    %9 = arith.mulf %6, %8 : f32
    %10 = tk.reduce add %9 over [2] {tk.factors = bf16} : f32
    tk.store %10, %o[d0, d1] : f32, tensor<64x4xf32>
  }
  func.return %r : tensor<64x4xf32>
}
