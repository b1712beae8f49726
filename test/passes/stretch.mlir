// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,dce,fuse,dce --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse{far=true},dce' --split-input-file | filecheck %s --check-prefix=FAR
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse{far=true},dce' --split-input-file --check-semantics

// Parts of rows are read in the kernel that has the rows: what is beside them is neither stored nor summed,
// and of other tensors nothing is loaded there.
// CHECK-LABEL: @a_part
// CHECK-COUNT-2: = tk.kernel
// FAR-LABEL: @a_part
// FAR: tk.kernel [4, 16] ins(%x, %w :
// FAR: %[[I:.*]] = tk.index "d1" : i64
// FAR: %[[P:.*]] = arith.subi %[[I]], %{{.*}} : i64
// FAR-DAG: %[[B:.*]] = arith.cmpi slt, %[[P]], %{{.*}} : i64
// FAR-DAG: %[[A:.*]] = arith.cmpi sge, %[[P]], %{{.*}} : i64
// FAR: %[[IN:.*]] = arith.andi %[[A]], %[[B]] : i1
// FAR: %[[W:.*]] = tk.load %{{.*}}[d1 - 2] if %[[IN]] else %{{.*}} : tensor<13xf32> -> f32
// FAR: %[[V:.*]] = arith.mulf %{{.*}}, %[[W]] : f32
// FAR: %[[S:.*]] = arith.select %[[IN]], %[[V]], %{{.*}} : f32
// FAR: %[[R:.*]] = tk.reduce add %[[S]] over [1] : f32
// FAR: tk.store %{{.*}}, %{{.*}}[d0, d1 - 2] if %[[IN]] : f32, tensor<4x13xf32>
// FAR-NOT: tk.kernel
func.func @a_part(%x: tensor<4x16xf32>, %w: tensor<13xf32>) -> tensor<4x13xf32> {
  %v, %i = tw.sort %x dim 1 : tensor<4x16xf32> -> tensor<4x16xf32>, tensor<4x16xi64>
  %t = tw.slice %v starts "0, 2" steps "1, 1" : tensor<4x16xf32> -> tensor<4x13xf32>
  %wb = tw.broadcast %w dims [1] : tensor<13xf32> -> tensor<4x13xf32>
  %m = tw.mul %t, %wb : tensor<4x13xf32>
  %s = tw.sum %m over [1] : tensor<4x13xf32> -> tensor<4xf32>
  %b = tw.broadcast %s dims [0] : tensor<4xf32> -> tensor<4x13xf32>
  %r = tw.div %m, %b : tensor<4x13xf32>
  func.return %r : tensor<4x13xf32>
}

// -----

// Scans start with the row: what comes before a part would be in all that follows.
// FAR-LABEL: @scans_of_parts
// FAR-COUNT-2: = tk.kernel
// FAR-LABEL: @scans_of_first_parts
// FAR: tk.kernel [4, 16]
// FAR: tk.scan add %{{.*}} along 1
// FAR: tk.store %{{.*}}[d0, d1] if
// FAR-NOT: tk.kernel
func.func @scans_of_parts(%x: tensor<4x16xf32>) -> tensor<4x13xf32> {
  %v, %i = tw.sort %x dim 1 : tensor<4x16xf32> -> tensor<4x16xf32>, tensor<4x16xi64>
  %t = tw.slice %v starts "0, 2" steps "1, 1" : tensor<4x16xf32> -> tensor<4x13xf32>
  %c = tw.cumsum %t dim 1 : tensor<4x13xf32>
  func.return %c : tensor<4x13xf32>
}

// -----

func.func @scans_of_first_parts(%x: tensor<4x16xf32>) -> tensor<4x13xf32> {
  %v, %i = tw.sort %x dim 1 : tensor<4x16xf32> -> tensor<4x13xf32>, tensor<4x13xi64>
  %c = tw.cumsum %v dim 1 : tensor<4x13xf32>
  func.return %c : tensor<4x13xf32>
}

// -----

// Places of extremes count what stands before them; two parts are no part; there are rows that no program holds.
// FAR-LABEL: @places_in_parts
// FAR-COUNT-2: = tk.kernel
func.func @places_in_parts(%x: tensor<4x16xf32>) -> tensor<4xi64> {
  %v, %i = tw.sort %x dim 1 : tensor<4x16xf32> -> tensor<4x13xf32>, tensor<4x13xi64>
  %e = tw.abs %v : tensor<4x13xf32>
  %a = tw.argmax %e dim 1 : tensor<4x13xf32> -> tensor<4xi64>
  func.return %a : tensor<4xi64>
}

// -----

// FAR-LABEL: @neighbours
// FAR-COUNT-2: = tk.kernel
func.func @neighbours(%x: tensor<4x16xf32>) -> tensor<4x15xf32> {
  %v, %i = tw.sort %x dim 1 : tensor<4x16xf32> -> tensor<4x16xf32>, tensor<4x16xi64>
  %a = tw.slice %v starts "0, 1" steps "1, 1" : tensor<4x16xf32> -> tensor<4x15xf32>
  %b = tw.slice %v starts "0, 0" steps "1, 1" : tensor<4x16xf32> -> tensor<4x15xf32>
  %d = tw.sub %a, %b : tensor<4x15xf32>
  func.return %d : tensor<4x15xf32>
}

// -----

// FAR-LABEL: @long_rows
// FAR-COUNT-2: = tk.kernel
func.func @long_rows(%x: tensor<1x2049xf32>) -> tensor<1x13xf32> {
  %v = tw.cumsum %x dim 1 : tensor<1x2049xf32>
  %t = tw.slice %v starts "0, 2" steps "1, 1" : tensor<1x2049xf32> -> tensor<1x13xf32>
  %e = tw.exp %t : tensor<1x13xf32>
  func.return %e : tensor<1x13xf32>
}

// -----

// Two readers of two parts: the rows are stored for one of them anyway.
// CHECK-LABEL: @parts_for_others
// FAR-LABEL: @parts_for_others
// FAR: tk.kernel [4, 16]
// FAR: tk.kernel [4, 8]
// FAR: tk.kernel [4, 7]
func.func @parts_for_others(%x: tensor<4x16xf32>) -> (tensor<4x8xf32>, tensor<4x7xf32>) {
  %v, %i = tw.sort %x dim 1 : tensor<4x16xf32> -> tensor<4x16xf32>, tensor<4x16xi64>
  %a = tw.slice %v starts "0, 0" steps "1, 1" : tensor<4x16xf32> -> tensor<4x8xf32>
  %b = tw.slice %v starts "0, 9" steps "1, 1" : tensor<4x16xf32> -> tensor<4x7xf32>
  %e = tw.exp %a : tensor<4x8xf32>
  %f = tw.sin %b : tensor<4x7xf32>
  func.return %e, %f : tensor<4x8xf32>, tensor<4x7xf32>
}
