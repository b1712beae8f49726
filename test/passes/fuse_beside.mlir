// RUN: tilewright-opt %s -p 'fuse{far=true},dce' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'fuse,dce' --split-input-file | filecheck %s --check-prefix=NEAR
// RUN: tilewright-opt %s -p 'fuse{far=true},dce' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p 'fuse{far=true},dce' --split-input-file --check-semantics
// RUN: tilewright-opt %s -p 'fuse{far=true},dce' --split-input-file --verify-locations

// What is read at other places than it is made is stored. What is little work from that is not: differences
// are stored, their opposites are not. On CPUs all go through a cache.
// CHECK-LABEL: @opposites_are_not_stored
// CHECK:       %[[S:.*]] = tk.kernel [8, 64] ins(%x :{{.*}}) -> (tensor<8x64xf32>)
// CHECK:       %[[R:.*]] = tk.kernel [8, 63] ins(%[[S]] :
// CHECK-DAG:   tk.load %{{.*}}[d0, d1] :
// CHECK-DAG:   tk.load %{{.*}}[d0, d1 + 1] :
// CHECK:       arith.negf
// CHECK-NOT:   tk.kernel
// NEAR-LABEL:  @opposites_are_not_stored
// NEAR:        -> (tensor<8x64xf32>, tensor<8x64xf32>)
func.func @opposites_are_not_stored(%x: tensor<8x64xf32>) -> tensor<8x63xf32> {
  %s = tk.kernel [8, 64] ins(%x : tensor<8x64xf32>) -> (tensor<8x64xf32>) {
  ^bb0(%a: tensor<8x64xf32>, %o: tensor<8x64xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x64xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    %2 = arith.subf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<8x64xf32>
  }
  %n = tk.kernel [8, 64] ins(%s : tensor<8x64xf32>) -> (tensor<8x64xf32>) {
  ^bb0(%a: tensor<8x64xf32>, %o: tensor<8x64xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x64xf32> -> f32
    %1 = arith.negf %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<8x64xf32>
  }
  %r = tk.kernel [8, 63] ins(%s, %n : tensor<8x64xf32>, tensor<8x64xf32>) -> (tensor<8x63xf32>) {
  ^bb0(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>, %o: tensor<8x63xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x64xf32> -> f32
    %1 = tk.load %b[d0, d1 + 1] : tensor<8x64xf32> -> f32
    %2 = arith.addf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<8x63xf32>
  }
  func.return %r : tensor<8x63xf32>
}

// -----

// One kernel makes two products of a difference, of which one is read at other places: that is made there.
// CHECK-LABEL: @made_of_inputs_instead
// CHECK-COUNT-2: tk.kernel {{.*}} -> (tensor<8x{{.*}}xf32>)
// CHECK-NOT:   tk.kernel
func.func @made_of_inputs_instead(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x63xf32>) {
  %p, %q = tk.kernel [8, 64] ins(%x, %y : tensor<8x64xf32>, tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  ^bb0(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>, %o: tensor<8x64xf32>, %u: tensor<8x64xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x64xf32> -> f32
    %1 = tk.load %b[d0, d1] : tensor<8x64xf32> -> f32
    %2 = arith.subf %0, %1 : f32
    %3 = arith.mulf %2, %0 : f32
    tk.store %3, %o[d0, d1] : f32, tensor<8x64xf32>
    %4 = arith.mulf %2, %1 : f32
    %5 = arith.mulf %4, %4 : f32
    %6 = arith.mulf %5, %5 : f32
    tk.store %6, %u[d0, d1] : f32, tensor<8x64xf32>
  }
  %r = tk.kernel [8, 63] ins(%q, %x, %y : tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) -> (tensor<8x63xf32>) {
  ^bb0(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>, %c: tensor<8x64xf32>, %o: tensor<8x63xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x64xf32> -> f32
    %1 = tk.load %a[d0, d1 + 1] : tensor<8x64xf32> -> f32
    %2 = tk.load %b[d0, d1] : tensor<8x64xf32> -> f32
    %3 = tk.load %c[d0, d1] : tensor<8x64xf32> -> f32
    %4 = arith.addf %0, %1 : f32
    %5 = arith.addf %4, %2 : f32
    %6 = arith.addf %5, %3 : f32
    tk.store %6, %o[d0, d1] : f32, tensor<8x63xf32>
  }
  func.return %p, %r : tensor<8x64xf32>, tensor<8x63xf32>
}

// -----

// Opposites are stored where a matrix product reads them: each would be turned once for each of its rows.
// CHECK-LABEL: @stored_for_a_product
// CHECK:       -> (tensor<8x64xf32>, tensor<8x64xf32>)
// CHECK:       tk.kernel [8, 256, 64]
// REMARK:      not fused with the kernel of {{.*}}: it is stored anyway, and a product reads rows of it faster; the consumer's iteration space is larger
func.func @stored_for_a_product(%x: tensor<8x64xf32>, %w: tensor<64x256xf32>) -> (tensor<8x64xf32>, tensor<8x256xf32>) {
  %s, %n = tk.kernel [8, 64] ins(%x : tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  ^bb0(%a: tensor<8x64xf32>, %o: tensor<8x64xf32>, %u: tensor<8x64xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x64xf32> -> f32
    %1 = math.sin %0 : f32
    tk.store %1, %o[d0, d1] : f32, tensor<8x64xf32>
    %2 = arith.negf %1 : f32
    tk.store %2, %u[d0, d1] : f32, tensor<8x64xf32>
  }
  %r = tk.kernel [8, 256, 64] ins(%n, %w : tensor<8x64xf32>, tensor<64x256xf32>) -> (tensor<8x256xf32>) {
  ^bb0(%a: tensor<8x64xf32>, %b: tensor<64x256xf32>, %o: tensor<8x256xf32>):
    %0 = tk.load %a[d0, d2] : tensor<8x64xf32> -> f32
    %1 = tk.load %b[d2, d1] : tensor<64x256xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    %3 = tk.reduce add %2 over [2] : f32
    tk.store %3, %o[d0, d1] : f32, tensor<8x256xf32>
  }
  func.return %s, %r : tensor<8x64xf32>, tensor<8x256xf32>
}

// -----

// What two kernels read at other places is stored: none of them alone keeps it out of memory.
// CHECK-LABEL: @read_by_two
// CHECK:       -> (tensor<8x64xf32>, tensor<8x64xf32>)
// REMARK:      not fused with the kernel of {{.*}}: recomputing it costs
func.func @read_by_two(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x63xf32>, tensor<8x62xf32>) {
  %p, %q = tk.kernel [8, 64] ins(%x, %y : tensor<8x64xf32>, tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  ^bb0(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>, %o: tensor<8x64xf32>, %u: tensor<8x64xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x64xf32> -> f32
    %1 = tk.load %b[d0, d1] : tensor<8x64xf32> -> f32
    %2 = math.sin %1 : f32
    %3 = arith.mulf %2, %0 : f32
    tk.store %3, %o[d0, d1] : f32, tensor<8x64xf32>
    %4 = math.exp %2 : f32
    tk.store %4, %u[d0, d1] : f32, tensor<8x64xf32>
  }
  %r = tk.kernel [8, 63] ins(%q : tensor<8x64xf32>) -> (tensor<8x63xf32>) {
  ^bb0(%a: tensor<8x64xf32>, %o: tensor<8x63xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x64xf32> -> f32
    %1 = tk.load %a[d0, d1 + 1] : tensor<8x64xf32> -> f32
    %2 = arith.addf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<8x63xf32>
  }
  %s = tk.kernel [8, 62] ins(%q : tensor<8x64xf32>) -> (tensor<8x62xf32>) {
  ^bb0(%a: tensor<8x64xf32>, %o: tensor<8x62xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x64xf32> -> f32
    %1 = tk.load %a[d0, d1 + 2] : tensor<8x64xf32> -> f32
    %2 = arith.addf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<8x62xf32>
  }
  func.return %p, %r, %s : tensor<8x64xf32>, tensor<8x63xf32>, tensor<8x62xf32>
}

// -----

// Zeros around zeros: one choice is left where each kernel had its own.
// CHECK-LABEL: @chosen_once
// CHECK:       tk.kernel [10]
// CHECK-COUNT-1: arith.select
// CHECK-NOT:   arith.select
func.func @chosen_once(%x: tensor<4xf32>) -> tensor<10xf32> {
  %p = tk.kernel [8] ins(%x : tensor<4xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<4xf32>, %o: tensor<8xf32>):
    %zero = arith.constant 0.0 : f32
    %end = arith.constant 4 : i64
    %at = tk.index "d0" : i64
    %in = arith.cmpi slt, %at, %end : i64
    %0 = tk.load %a[d0] if %in else %zero : tensor<4xf32> -> f32
    %1 = arith.addf %0, %0 : f32
    %2 = arith.select %in, %1, %zero : f32
    tk.store %2, %o[d0] : f32, tensor<8xf32>
  }
  %r = tk.kernel [10] ins(%p : tensor<8xf32>) -> (tensor<10xf32>) {
  ^bb0(%a: tensor<8xf32>, %o: tensor<10xf32>):
    %zero = arith.constant 0.0 : f32
    %start = arith.constant 2 : i64
    %at = tk.index "d0" : i64
    %in = arith.cmpi sge, %at, %start : i64
    %0 = tk.load %a[d0 - 2] if %in else %zero : tensor<8xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<10xf32>
  }
  func.return %r : tensor<10xf32>
}

// -----

// A choice between other values stays: the outer alternative is not the inner one.
// CHECK-LABEL: @chosen_twice
// CHECK-COUNT-2: arith.select
func.func @chosen_twice(%x: tensor<4xf32>, %m: tensor<4xi1>, %n: tensor<4xi1>) -> tensor<4xf32> {
  %r = tk.kernel [4] ins(%x, %m, %n : tensor<4xf32>, tensor<4xi1>, tensor<4xi1>) -> (tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xi1>, %c: tensor<4xi1>, %o: tensor<4xf32>):
    %zero = arith.constant 0.0 : f32
    %minus = arith.constant -0.0 : f32
    %0 = tk.load %a[d0] : tensor<4xf32> -> f32
    %1 = tk.load %b[d0] : tensor<4xi1> -> i1
    %2 = tk.load %c[d0] : tensor<4xi1> -> i1
    %3 = arith.select %1, %0, %zero : f32
    %4 = arith.select %2, %3, %minus : f32
    tk.store %4, %o[d0] : f32, tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// -----

// Of what is stored and of an input that the reader has anyway: multiples are not stored.
// CHECK-LABEL: @multiples_are_not_stored
// CHECK:       %[[S:.*]] = tk.kernel [4096, 64] ins(%x :{{.*}}) -> (tensor<4096x64xf32>)
// CHECK:       tk.kernel [4096, 63] ins(%[[S]], %y :
// CHECK:       arith.mulf
// CHECK-NOT:   tk.kernel
func.func @multiples_are_not_stored(%x: tensor<4096x64xf32>, %y: tensor<4096x64xf32>) -> tensor<4096x63xf32> {
  %s, %n = tk.kernel [4096, 64] ins(%x, %y : tensor<4096x64xf32>, tensor<4096x64xf32>) -> (tensor<4096x64xf32>, tensor<4096x64xf32>) {
  ^bb0(%a: tensor<4096x64xf32>, %b: tensor<4096x64xf32>, %o: tensor<4096x64xf32>, %p: tensor<4096x64xf32>):
    %0 = tk.load %a[d0, d1] : tensor<4096x64xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    %2 = arith.subf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<4096x64xf32>
    %3 = tk.load %b[d0, d1] : tensor<4096x64xf32> -> f32
    %4 = arith.mulf %2, %3 : f32
    tk.store %4, %p[d0, d1] : f32, tensor<4096x64xf32>
  }
  %r = tk.kernel [4096, 63] ins(%s, %n, %y : tensor<4096x64xf32>, tensor<4096x64xf32>, tensor<4096x64xf32>) -> (tensor<4096x63xf32>) {
  ^bb0(%a: tensor<4096x64xf32>, %b: tensor<4096x64xf32>, %c: tensor<4096x64xf32>, %o: tensor<4096x63xf32>):
    %0 = tk.load %a[d0, d1] : tensor<4096x64xf32> -> f32
    %1 = tk.load %b[d0, d1 + 1] : tensor<4096x64xf32> -> f32
    %2 = arith.addf %0, %1 : f32
    %3 = tk.load %c[d0, d1] : tensor<4096x64xf32> -> f32
    %4 = arith.addf %2, %3 : f32
    tk.store %4, %o[d0, d1] : f32, tensor<4096x63xf32>
  }
  func.return %r : tensor<4096x63xf32>
}

// -----

// Where two inputs would be read for it, a result that is returned, too, is read.
// CHECK-LABEL: @stored_for_two
// CHECK:       -> (tensor<4096x64xf32>, tensor<4096x64xf32>)
func.func @stored_for_two(%x: tensor<4096x64xf32>, %y: tensor<4096x64xf32>, %z: tensor<4096x64xf32>)
    -> (tensor<4096x63xf32>, tensor<4096x64xf32>) {
  %s, %n = tk.kernel [4096, 64] ins(%x, %y, %z : tensor<4096x64xf32>, tensor<4096x64xf32>, tensor<4096x64xf32>)
      -> (tensor<4096x64xf32>, tensor<4096x64xf32>) {
  ^bb0(%a: tensor<4096x64xf32>, %b: tensor<4096x64xf32>, %c: tensor<4096x64xf32>, %o: tensor<4096x64xf32>, %p: tensor<4096x64xf32>):
    %0 = tk.load %a[d0, d1] : tensor<4096x64xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    %2 = arith.subf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<4096x64xf32>
    %3 = tk.load %b[d0, d1] : tensor<4096x64xf32> -> f32
    %4 = arith.mulf %2, %3 : f32
    %5 = tk.load %c[d0, d1] : tensor<4096x64xf32> -> f32
    %6 = arith.mulf %4, %5 : f32
    tk.store %6, %p[d0, d1] : f32, tensor<4096x64xf32>
  }
  %r = tk.kernel [4096, 63] ins(%s, %n : tensor<4096x64xf32>, tensor<4096x64xf32>) -> (tensor<4096x63xf32>) {
  ^bb0(%a: tensor<4096x64xf32>, %b: tensor<4096x64xf32>, %o: tensor<4096x63xf32>):
    %0 = tk.load %a[d0, d1] : tensor<4096x64xf32> -> f32
    %1 = tk.load %b[d0, d1 + 1] : tensor<4096x64xf32> -> f32
    %2 = arith.addf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<4096x63xf32>
  }
  func.return %r, %n : tensor<4096x63xf32>, tensor<4096x64xf32>
}

// -----

// What a GPU moves in less time than a kernel needs to begin is read, too.
// CHECK-LABEL: @small_multiples
// CHECK:       -> (tensor<8x64xf32>, tensor<8x64xf32>)
func.func @small_multiples(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x63xf32> {
  %s, %n = tk.kernel [8, 64] ins(%x, %y : tensor<8x64xf32>, tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  ^bb0(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>, %o: tensor<8x64xf32>, %p: tensor<8x64xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x64xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    %2 = arith.subf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<8x64xf32>
    %3 = tk.load %b[d0, d1] : tensor<8x64xf32> -> f32
    %4 = arith.mulf %2, %3 : f32
    tk.store %4, %p[d0, d1] : f32, tensor<8x64xf32>
  }
  %r = tk.kernel [8, 63] ins(%s, %n, %y : tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) -> (tensor<8x63xf32>) {
  ^bb0(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>, %c: tensor<8x64xf32>, %o: tensor<8x63xf32>):
    %0 = tk.load %a[d0, d1] : tensor<8x64xf32> -> f32
    %1 = tk.load %b[d0, d1 + 1] : tensor<8x64xf32> -> f32
    %2 = arith.addf %0, %1 : f32
    %3 = tk.load %c[d0, d1] : tensor<8x64xf32> -> f32
    %4 = arith.addf %2, %3 : f32
    tk.store %4, %o[d0, d1] : f32, tensor<8x63xf32>
  }
  func.return %r : tensor<8x63xf32>
}
