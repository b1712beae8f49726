// RUN: tilewright-opt %s -p 'convert-tw-to-tk{scatters=all},duplicate-results' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{scatters=all},duplicate-results,bufferize' --split-input-file | filecheck %s --check-prefix=PLAN
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{scatters=all},duplicate-results' --split-input-file --print-debuginfo | filecheck %s --check-prefix=LOC
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{scatters=all},duplicate-results' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{scatters=all},duplicate-results{turned=true},bufferize' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=TURNED

// A result that is returned as well: one launch stores both, nothing is copied.

// CHECK-LABEL: @returned
// LOC:        tk.store {{.*}}[d0] {{.*}} loc("m.py":3:0)
// LOC-NEXT:   tk.store {{.*}}[d0] {{.*}} loc("m.py":3:0)
// CHECK:      %a, %a_1 = tk.kernel [8] ins(%x : tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<8xf32>, %[[O:.*]]: tensor<8xf32>, %[[P:.*]]: tensor<8xf32>):
// CHECK:      tk.store %[[V:.*]], %[[O]][d0]
// CHECK-NEXT: tk.store %[[V]], %[[P]][d0]
// CHECK:      tw.concat %a_1, %b dim 0
// CHECK:      func.return %a, %{{.*}}
// PLAN-LABEL: @returned
// PLAN-COUNT-2: th.launch
// PLAN-NOT:   th.launch
// PLAN:       func.return
func.func @returned(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<16xf32>) {
  %a = tw.exp %x : tensor<8xf32> loc("m.py":3:0)
  %b = tw.neg %x : tensor<8xf32>
  %c = tw.concat %a, %b dim 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  func.return %a, %c : tensor<8xf32>, tensor<16xf32>
}

// -----

// Views between the two are made of the second result; those that nobody reads go.

// CHECK-LABEL: @through_views
// CHECK:      %a, %a_1 = tk.kernel
// CHECK:      %b = tk.kernel
// CHECK:      %[[R:.*]] = tw.reshape %a_1 : tensor<8x4xf32> -> tensor<8x1x4xf32>
// CHECK-NEXT: %[[T:.*]] = tw.transpose %[[R]] by [1, 0, 2]
// CHECK-NEXT: tw.concat %[[T]], %y dim 2
// PLAN-LABEL: @through_views
// PLAN:       th.launch @{{.*}} into({{.*}}, {{.*}})
// PLAN:       th.launch
// PLAN:       th.launch @copy
// PLAN-NOT:   th.launch
// PLAN:       func.return
func.func @through_views(%x: tensor<8x4xf32>, %y: tensor<1x8x3xf32>) -> (tensor<8x4xf32>, tensor<1x8x7xf32>) {
  %a = tw.exp %x : tensor<8x4xf32>
  %r = tw.reshape %a : tensor<8x4xf32> -> tensor<8x1x4xf32>
  %t = tw.transpose %r by [1, 0, 2] : tensor<8x1x4xf32> -> tensor<1x8x4xf32>
  %b = tw.neg %a : tensor<8x4xf32>
  %c = tw.concat %t, %y dim 2 : (tensor<1x8x4xf32>, tensor<1x8x3xf32>) -> tensor<1x8x7xf32>
  func.return %b, %c : tensor<8x4xf32>, tensor<1x8x7xf32>
}

// -----

// Sizes may be symbols. A result may go into two concatenations: the first is where it is computed.

// CHECK-LABEL: @two_concats
// CHECK:      %a, %a_1 = tk.kernel [s0, 4]
// CHECK:      tw.concat %a, %y dim 0
// CHECK:      tw.concat %y, %a_1 dim 0
// PLAN-LABEL: @two_concats
// PLAN-COUNT-3: th.launch
// PLAN-NOT:   th.launch
// PLAN:       func.return
func.func @two_concats(%x: tensor<?x4xf32, #tw.shape<"s0, 4">>, %y: tensor<3x4xf32>) -> (tensor<?x4xf32, #tw.shape<"s0 + 3, 4">>, tensor<?x4xf32, #tw.shape<"s0 + 3, 4">>) {
  %a = tw.exp %x : tensor<?x4xf32, #tw.shape<"s0, 4">>
  %c = tw.concat %a, %y dim 0 : (tensor<?x4xf32, #tw.shape<"s0, 4">>, tensor<3x4xf32>) -> tensor<?x4xf32, #tw.shape<"s0 + 3, 4">>
  %d = tw.concat %y, %a dim 0 : (tensor<3x4xf32>, tensor<?x4xf32, #tw.shape<"s0, 4">>) -> tensor<?x4xf32, #tw.shape<"s0 + 3, 4">>
  func.return %c, %d : tensor<?x4xf32, #tw.shape<"s0 + 3, 4">>, tensor<?x4xf32, #tw.shape<"s0 + 3, 4">>
}

// -----

// Nobody else reads it: it is computed where it belongs.

// CHECK-LABEL: @read_once
// CHECK-NOT:  tk.kernel {{.*}} -> (tensor<8x2xf32>, tensor<8x2xf32>)
// CHECK:      func.return
func.func @read_once(%x: tensor<8x2xf32>) -> tensor<8x4xf32> {
  %a = tw.exp %x : tensor<8x2xf32>
  %c = tw.concat %a, %x dim 1 : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x4xf32>
  func.return %c : tensor<8x4xf32>
}

// -----

// Another reader reads the part of the concatenation, which is contiguous.

// CHECK-LABEL: @contiguous
// CHECK-NOT:  tk.kernel {{.*}} -> (tensor<8xf32>, tensor<8xf32>)
// CHECK:      func.return
func.func @contiguous(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<16xf32>) {
  %a = tw.exp %x : tensor<8xf32>
  %b = tw.neg %a : tensor<8xf32>
  %c = tw.concat %a, %b dim 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %d = tw.neg %b : tensor<8xf32>
  func.return %d, %c : tensor<8xf32>, tensor<16xf32>
}

// -----

// Columns of rows of seven elements are no view of three by four.

// CHECK-LABEL: @no_view
// CHECK-NOT:  tk.kernel {{.*}} -> (tensor<3x4xf32>, tensor<3x4xf32>)
// REMARK:     tw.concat {{.*}}: a part is copied: what reshapes it would move elements
func.func @no_view(%x: tensor<3x4xf32>, %y: tensor<6x5xf32>) -> (tensor<3x4xf32>, tensor<6x7xf32>) {
  %a = tw.exp %x : tensor<3x4xf32>
  %r = tw.reshape %a : tensor<3x4xf32> -> tensor<6x2xf32>
  %c = tw.concat %r, %y dim 1 : (tensor<6x2xf32>, tensor<6x5xf32>) -> tensor<6x7xf32>
  func.return %a, %c : tensor<3x4xf32>, tensor<6x7xf32>
}

// -----

// What is no kernel's result is copied.

// CHECK-LABEL: @argument
// CHECK-NEXT: tw.concat %x, %x dim 0
func.func @argument(%x: tensor<8xf32>) -> tensor<16xf32> {
  %c = tw.concat %x, %x dim 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  func.return %c : tensor<16xf32>
}

// -----

// Two results that share no memory: one launch stores both.

// CHECK-LABEL: @returned_twice
// CHECK:      %a, %a_1 = tk.kernel [8]
// CHECK:      %[[R:.*]] = tw.reshape %a_1 : tensor<8xf32> -> tensor<2x4xf32>
// CHECK-NEXT: func.return %a, %[[R]]
// PLAN-LABEL: @returned_twice
// PLAN:       th.launch @exp(%x) into(%{{.*}}, %{{.*}})
// PLAN-NOT:   th.launch
// PLAN:       func.return
func.func @returned_twice(%x: tensor<8xf32>) -> (tensor<8xf32> {tw.memory = 0 : i64}, tensor<2x4xf32> {tw.memory = 1 : i64}) {
  %a = tw.exp %x : tensor<8xf32>
  %r = tw.reshape %a : tensor<8xf32> -> tensor<2x4xf32>
  func.return %a, %r : tensor<8xf32>, tensor<2x4xf32>
}

// -----

// What may share memory shares what is stored again.

// CHECK-LABEL: @shared_by_others
// CHECK:      %a, %a_1 = tk.kernel [8]
// CHECK:      %[[R:.*]] = tw.reshape %a_1 : tensor<8xf32> -> tensor<2x4xf32>
// CHECK-NEXT: func.return %a_1, %a, %[[R]]
// PLAN-LABEL: @shared_by_others
// PLAN:       th.launch
// PLAN-NOT:   th.launch
// PLAN:       func.return
func.func @shared_by_others(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32> {tw.memory = 0 : i64}, tensor<2x4xf32>) {
  %a = tw.exp %x : tensor<8xf32>
  %r = tw.reshape %a : tensor<8xf32> -> tensor<2x4xf32>
  func.return %a, %a, %r : tensor<8xf32>, tensor<8xf32>, tensor<2x4xf32>
}

// -----

// Parts share memory with the whole of their number alone.

// CHECK-LABEL: @wholes_and_parts
// CHECK:      %a, %a_1 = tk.kernel [8]
// CHECK:      %[[B:.*]] = tw.slice %a_1
// CHECK:      func.return %{{.*}}, %a, %a_1, %[[B]]
// PLAN-LABEL: @wholes_and_parts
// PLAN:       th.launch
// PLAN-NOT:   th.launch
// PLAN:       func.return
func.func @wholes_and_parts(%x: tensor<8xf32>)
    -> (tensor<6xf32> {tw.memory = 0 : i64}, tensor<8xf32> {tw.memory = 0 : i64},
        tensor<8xf32> {tw.memory = 1 : i64}, tensor<6xf32> {tw.memory = 1 : i64}) {
  %a = tw.exp %x : tensor<8xf32>
  %v = tw.slice %a starts "2" steps "1" : tensor<8xf32> -> tensor<6xf32>
  func.return %v, %a, %a, %v : tensor<6xf32>, tensor<8xf32>, tensor<8xf32>, tensor<6xf32>
}

// -----

// Results that may all share memory do.

// CHECK-LABEL: @shared_by_all
// CHECK:      %a = tk.kernel [8]
// CHECK:      func.return %a, %a
func.func @shared_by_all(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = tw.exp %x : tensor<8xf32>
  func.return %a, %a : tensor<8xf32>, tensor<8xf32>
}

// -----

// One kernel would store along rows and along columns: tiles can.

// CHECK-LABEL: @lies_otherwise
// TURNED-LABEL: func.func @lies_otherwise
// TURNED-COUNT-1: th.launch
// TURNED-NOT: th.launch
// TURNED:     tk.store {{.*}}[d0*4 + d1]
// TURNED:     tk.store {{.*}}[d0 + d1*8]
// CHECK:      %a = tk.kernel [8, 4]
// CHECK:      func.return %a, %a
// REMARK:     func.return {{.*}}: a result is copied: it does not lie as another one of the same elements
func.func @lies_otherwise(%x: tensor<8x4xf32>) -> (tensor<8x4xf32> {tw.memory = 0 : i64}, tensor<8x4xf32> {tw.memory = 1 : i64, tw.strides = "1, 8"}) {
  %a = tw.exp %x : tensor<8x4xf32>
  func.return %a, %a : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// What holds rows for their sums would store their elements far from each other.

// TURNED-LABEL: func.func @rows_stay
// TURNED-COUNT-2: th.launch
// CHECK-LABEL: @rows_stay
// REMARK:     func.return {{.*}}: a result is copied: it does not lie as another one of the same elements
func.func @rows_stay(%x: tensor<8x4xf32>) -> (tensor<8x4xf32> {tw.memory = 0 : i64}, tensor<8x4xf32> {tw.memory = 1 : i64, tw.strides = "1, 8"}) {
  %a = tk.kernel [8, 4] ins(%x : tensor<8x4xf32>) -> (tensor<8x4xf32>) {
  ^bb0(%i: tensor<8x4xf32>, %o: tensor<8x4xf32>):
    %0 = tk.load %i[d0, d1] : tensor<8x4xf32> -> f32
    %1 = tk.reduce add %0 over [1] : f32
    %2 = arith.divf %0, %1 : f32
    tk.store %2, %o[d0, d1] : f32, tensor<8x4xf32>
  }
  func.return %a, %a : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// What is added up in memory is not stored twice.

// CHECK-LABEL: @added_up
// CHECK:      %s = tk.kernel
// CHECK:      tw.concat %s, %o dim 0
// CHECK:      func.return %s, %s
// REMARK:     tw.concat {{.*}}: a part is copied: its kernel stores it element by element where indices say
// REMARK:     func.return {{.*}}: a result is copied: its kernel stores it element by element
func.func @added_up(%o: tensor<8xf32>, %i: tensor<4xi64>, %u: tensor<4xf32>) -> (tensor<8xf32> {tw.memory = 0 : i64}, tensor<8xf32> {tw.memory = 1 : i64}, tensor<16xf32>) {
  %s = tw.scatter_add %u into %o[%i] dims [0] at 0 : (tensor<8xf32>, tensor<4xf32>, tensor<4xi64>) -> tensor<8xf32>
  %c = tw.concat %s, %o dim 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  func.return %s, %s, %c : tensor<8xf32>, tensor<8xf32>, tensor<16xf32>
}

// -----

// A view and a view of it go together.

// CHECK-LABEL: @returned_with_a_view_of_it
// CHECK:      %a, %a_1 = tk.kernel [4, 6]
// CHECK-COUNT-2: tw.transpose %a_1 by [1, 0]
// CHECK-NOT:  tw.transpose
// CHECK:      func.return %a
func.func @returned_with_a_view_of_it(%x: tensor<4x6xf32>) -> (tensor<4x6xf32> {tw.memory = 0 : i64}, tensor<2x3x4xf32> {tw.memory = 1 : i64, tw.strides = "3, 1, 6"}, tensor<6x4xf32> {tw.memory = 1 : i64, tw.strides = "1, 6"}) {
  %a = tw.exp %x : tensor<4x6xf32>
  %t = tw.transpose %a by [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  %v = tw.reshape %t : tensor<6x4xf32> -> tensor<2x3x4xf32>
  func.return %a, %v, %t : tensor<4x6xf32>, tensor<2x3x4xf32>, tensor<6x4xf32>
}
