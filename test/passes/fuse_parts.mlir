// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse{far=true},dce' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse{far=true}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse{far=true}' --split-input-file --check-semantics
// RUN: tilewright-opt %s -p 'convert-tw-to-tk,absorb-views,dce,fuse,dce' --split-input-file | filecheck %s --check-prefix=CACHE

// Parts of the sum store what they sum as they go.

// CHECK-LABEL: @kept_beside
// CHECK:       %{{.*}}, %{{.*}} = tk.kernel [512, 256] ins(%x, %y : {{.*}}) -> (tensor<512x256xf32>, tensor<f32>)
// CHECK-NOT:   tk.kernel
// CACHE-LABEL: @kept_beside
// CACHE-COUNT-2: = tk.kernel
func.func @kept_beside(%x: tensor<512x256xf32>, %y: tensor<512x256xf32>) -> (tensor<f32>, tensor<512x256xf32>) {
  %d = tw.sub %x, %y : tensor<512x256xf32>
  %e = tw.exp %d : tensor<512x256xf32>
  %q = tw.mul %e, %e : tensor<512x256xf32>
  %s = tw.sum %q over [0, 1] : tensor<512x256xf32> -> tensor<f32>
  func.return %s, %e : tensor<f32>, tensor<512x256xf32>
}

// -----

// All of this one is summed by one program, as nothing would be split.

// CHECK-LABEL: @short
// CHECK-COUNT-2: = tk.kernel
// REMARK: recomputing it costs {{[0-9]+}} and saves {{[0-9]+}}; the merged kernel would have only 1 independent rows
func.func @short(%x: tensor<256x256xf32>, %y: tensor<256x256xf32>) -> (tensor<f32>, tensor<256x256xf32>) {
  %d = tw.sub %x, %y : tensor<256x256xf32>
  %e = tw.exp %d : tensor<256x256xf32>
  %q = tw.mul %e, %e : tensor<256x256xf32>
  %s = tw.sum %q over [0, 1] : tensor<256x256xf32> -> tensor<f32>
  func.return %s, %e : tensor<f32>, tensor<256x256xf32>
}

// -----

// What another kernel reads is left for it to join.

// CHECK-LABEL: @another_reads
// CHECK:      tk.kernel [256, 512] ins(%x, %y :
// CHECK:      tk.scan
// CHECK:      tk.kernel [512, 256] ins(%q :
// CHECK:      tk.reduce
func.func @another_reads(%x: tensor<512x256xf32>, %y: tensor<512x256xf32>) -> (tensor<f32>, tensor<256x512xf32>, tensor<512x256xf32>) {
  %d = tw.sub %x, %y : tensor<512x256xf32>
  %q = tw.exp %d : tensor<512x256xf32>
  %s = tw.sum %q over [0, 1] : tensor<512x256xf32> -> tensor<f32>
  %t = tw.transpose %q by [1, 0] : tensor<512x256xf32> -> tensor<256x512xf32>
  %u = tw.cumsum %t dim 0 : tensor<256x512xf32>
  func.return %s, %u, %q : tensor<f32>, tensor<256x512xf32>, tensor<512x256xf32>
}

// -----

// One that waits for the sum can not join it: parts store what they sum for that, too.

// CHECK-LABEL: @read_after_the_sum
// CHECK:       %[[Q:.*]], %[[S:.*]] = tk.kernel [512, 256] ins(%x, %y :
// CHECK:       tk.reduce
// CHECK:       tk.kernel [512, 256] ins(%{{.*}}, %{{.*}} : tensor<{{.*}}) -> (tensor<512x256xf32>)
// CHECK-NOT:   tk.kernel
func.func @read_after_the_sum(%x: tensor<512x256xf32>, %y: tensor<512x256xf32>) -> (tensor<512x256xf32>, tensor<512x256xf32>) {
  %d = tw.sub %x, %y : tensor<512x256xf32>
  %q = tw.exp %d : tensor<512x256xf32>
  %s = tw.sum %q over [0, 1] : tensor<512x256xf32> -> tensor<f32>
  %b = tw.broadcast %s dims [] : tensor<f32> -> tensor<512x256xf32>
  %r = tw.div %q, %b : tensor<512x256xf32>
  func.return %r, %q : tensor<512x256xf32>, tensor<512x256xf32>
}

// -----

// Parts are not walked where positions are checked, or the largest is to be found.

// CHECK-LABEL: @checks
// CHECK-COUNT-2: = tk.kernel
// REMARK: recomputing it costs {{[0-9]+}} and saves {{[0-9]+}}; the merged kernel would have only 1 independent rows
func.func @checks(%x: tensor<9xf32>, %i: tensor<512x256xi64>) -> (tensor<f32>, tensor<512x256xf32>) {
  %g = tw.gather %x[%i] dims [0] at 0 : (tensor<9xf32>, tensor<512x256xi64>) -> tensor<512x256xf32>
  %s = tw.sum %g over [0, 1] : tensor<512x256xf32> -> tensor<f32>
  func.return %s, %g : tensor<f32>, tensor<512x256xf32>
}
