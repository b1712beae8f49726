// RUN: tilewright-opt %s -p group-launches --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p 'group-launches{parameters=7}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Elementwise work on several lengths is one function of the length, counted in sixteens where these divide it;
// a length that is alone stays as it is. The launch goes to the place of the first one, and what it writes is
// named before that. What reads that, and writes what was read, comes after it.
// CHECK-LABEL: func.func @sizes
// CHECK-NEXT:  %[[C:.*]] = th.alloc "77"
// CHECK-NEXT:  th.launch @neg_group(%x, %p, %z) into(%y, %q, %[[C]]) : (memref<64xf32>, memref<128xf32>, memref<77xf32>) into(memref<64xf32>, memref<128xf32>, memref<77xf32>) loc("m.py":3:0)
// CHECK-NEXT:  th.launch @neg_2(%[[C]]) into(%z)
// CHECK-NEXT:  return
// CHECK:       tk.func @neg_of_any_size [s0*16] (%a: memref<?xf32>{{.*}}, %o: memref<?xf32>{{.*}}) symbols [s0] attributes {tk.most = 128 : i64} {
// CHECK-NEXT:    tk.load %a[d0] : memref<?xf32> -> f32
// CHECK-NOT:   tk.func @neg [
// CHECK:       tk.func @neg_2 [7, 11]
// CHECK:       tk.group @neg_group (%[[X:.*]]: memref<64xf32>{{.*}}, %[[P:.*]]: memref<128xf32>{{.*}}, %[[Z:.*]]: memref<77xf32>{{.*}}, %[[Y:.*]]: memref<64xf32>{{.*}}, %[[Q:.*]]: memref<128xf32>{{.*}}, %[[W:.*]]: memref<77xf32>{{.*}}) {
// CHECK-NEXT:    tk.part @neg_of_any_size(%[[X]], %[[Y]]) symbols [4] loc("m.py":3:0)
// CHECK-NEXT:    tk.part @neg_of_any_size(%[[P]], %[[Q]]) symbols [8] loc("m.py":3:0)
// CHECK-NEXT:    tk.part @neg_2(%[[Z]], %[[W]]) loc("m.py":3:0)
// CHECK-NEXT:  } loc("m.py":3:0)
// REMARK: th.launch at loc("m.py":5:0): not launched with those before: they are as much as one launch may be
func.func @sizes(%x: memref<64xf32>, %y: memref<64xf32>, %p: memref<128xf32>, %q: memref<128xf32>, %z: memref<77xf32>) {
  th.launch @neg(%x) into(%y) : (memref<64xf32>) into (memref<64xf32>) loc("m.py":3:0)
  th.launch @neg_1(%p) into(%q) : (memref<128xf32>) into (memref<128xf32>) loc("m.py":4:0)
  %c = th.alloc "77" : memref<77xf32>
  th.launch @neg_2(%z) into(%c) : (memref<77xf32>) into (memref<77xf32>) loc("m.py":5:0)
  th.launch @neg_2(%c) into(%z) : (memref<77xf32>) into (memref<77xf32>) loc("m.py":6:0)
  func.return
}
tk.func @neg [64] (%a: memref<64xf32>, %o: memref<64xf32>) {
  %0 = tk.load %a[d0] : memref<64xf32> -> f32
  %1 = arith.negf %0 : f32
  tk.store %1, %o[d0] : f32, memref<64xf32>
}
tk.func @neg_1 [8, 16] (%a: memref<128xf32>, %o: memref<128xf32>) {
  %0 = tk.load %a[d0*16 + d1] : memref<128xf32> -> f32
  %1 = arith.negf %0 : f32
  tk.store %1, %o[d0*16 + d1] : f32, memref<128xf32>
}
tk.func @neg_2 [7, 11] (%a: memref<77xf32>, %o: memref<77xf32>) {
  %0 = tk.load %a[d0*11 + d1] : memref<77xf32> -> f32
  %1 = arith.negf %0 : f32
  tk.store %1, %o[d0*11 + d1] : f32, memref<77xf32>
}

// -----

// Two halves of one buffer are apart; all of it, which a third one reads, is not, and what that reads may not be
// written before. Symbols of the launches are those of the group, equal ones being one. What writes no element is
// left out.
// CHECK-LABEL: func.func @halves
// CHECK-NEXT:  th.launch @low_group(%x, %s) into(%y, %t) symbols "s0*2" : (memref<4xf32>, memref<?xf32>) into(memref<8xf32>, memref<?xf32>)
// CHECK-NEXT:  th.launch @all(%y) into(%x)
// CHECK-NEXT:  return
// CHECK-NOT:   @nothing
// CHECK:       tk.group @low_group (%[[X:.*]]: memref<4xf32>{{.*}}, %[[S:.*]]: memref<?xf32>{{.*}}, %[[Y:.*]]: memref<8xf32>{{.*}}, %[[T:.*]]: memref<?xf32>{{.*}}) symbols [s0] {
// CHECK-NEXT:    tk.part @low(%[[X]], %[[Y]])
// CHECK-NEXT:    tk.part @high(%[[X]], %[[Y]])
// CHECK-NEXT:    tk.part @long(%[[S]], %[[T]]) symbols [s0]
func.func @halves(%x: memref<4xf32>, %y: memref<8xf32>, %e: memref<0xf32>, %s: memref<?xf32> {th.sizes = "s0*2", th.strides = "1"}, %t: memref<?xf32> {th.sizes = "s0*2", th.strides = "1"}) {
  th.launch @low(%x) into(%y) : (memref<4xf32>) into (memref<8xf32>)
  th.launch @high(%x) into(%y) : (memref<4xf32>) into (memref<8xf32>)
  th.launch @all(%y) into(%x) : (memref<8xf32>) into (memref<4xf32>)
  th.launch @nothing(%x) into(%e) : (memref<4xf32>) into (memref<0xf32>)
  th.launch @long(%s) into(%t) symbols "s0*2" : (memref<?xf32>) into (memref<?xf32>)
  func.return
}
tk.func @low [4] (%a: memref<4xf32>, %o: memref<8xf32>) {
  %0 = tk.load %a[d0] : memref<4xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<8xf32>
}
tk.func @high [4] (%a: memref<4xf32>, %o: memref<8xf32>) {
  %0 = tk.load %a[d0] : memref<4xf32> -> f32
  %1 = arith.negf %0 : f32
  tk.store %1, %o[d0 + 4] : f32, memref<8xf32>
}
tk.func @all [4] (%a: memref<8xf32>, %o: memref<4xf32>) {
  %0 = tk.load %a[d0*2] : memref<8xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<4xf32>
}
tk.func @nothing [0] (%a: memref<4xf32>, %o: memref<0xf32>) {
  %0 = tk.load %a[0] : memref<4xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<0xf32>
}
tk.func @long [s0] (%a: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {
  %0 = tk.load %a[d0] : memref<?xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<?xf32>
}

// -----

// Parts of each row are apart, whatever the number of rows is; columns that reach into others are not.
// CHECK-LABEL: func.func @columns
// CHECK-NEXT:  th.launch @first_group(%x) into(%y) symbols "s0"
// CHECK-NEXT:  th.launch @middle(%x) into(%y) symbols "s0"
// CHECK-NEXT:  return
// CHECK:       tk.group @first_group
// CHECK-NEXT:    tk.part @first
// CHECK-NEXT:    tk.part @last
func.func @columns(%x: memref<?xf32> {th.sizes = "s0", th.strides = "1"}, %y: memref<?xf32> {th.sizes = "s0, 7", th.strides = "7, 1"}) {
  th.launch @first(%x) into(%y) symbols "s0" : (memref<?xf32>) into (memref<?xf32>)
  th.launch @last(%x) into(%y) symbols "s0" : (memref<?xf32>) into (memref<?xf32>)
  th.launch @middle(%x) into(%y) symbols "s0" : (memref<?xf32>) into (memref<?xf32>)
  func.return
}
tk.func @first [s0, 3] (%a: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {
  %0 = tk.load %a[d0] : memref<?xf32> -> f32
  tk.store %0, %o[d0*7 + d1] : f32, memref<?xf32>
}
tk.func @last [s0, 4] (%a: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {
  %0 = tk.load %a[d0] : memref<?xf32> -> f32
  tk.store %0, %o[d0*7 + d1 + 3] : f32, memref<?xf32>
}
tk.func @middle [s0, 2] (%a: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {
  %0 = tk.load %a[d0] : memref<?xf32> -> f32
  tk.store %0, %o[d0*7 + d1 + 2] : f32, memref<?xf32>
}

// -----

// What a library's function writes is written before it is read, and what it reads stays as long. Around it,
// launches of two layers are the same two groups.
// CHECK-LABEL: func.func @around_a_call
// CHECK-NEXT:  th.launch @half_group() into(%x, %w)
// CHECK-NEXT:  th.view
// CHECK-NEXT:  th.view
// CHECK-NEXT:  th.view
// CHECK-NEXT:  th.extern "aten::mm.out"
// CHECK-NEXT:  th.launch @half_group() into(%y, %v)
// CHECK-NEXT:  return
func.func @around_a_call(%x: memref<4xf32>, %y: memref<4xf32>, %w: memref<6xf32>, %v: memref<6xf32>) {
  th.launch @half(%x) into(%x) : (memref<4xf32>) into (memref<4xf32>)
  %a = th.view %x offset "0" sizes "2, 2" strides "2, 1" : memref<4xf32> -> !th.tensor<f32>
  %b = th.view %v offset "0" sizes "2, 2" strides "2, 1" : memref<6xf32> -> !th.tensor<f32>
  %c = th.view %y offset "0" sizes "2, 2" strides "2, 1" : memref<4xf32> -> !th.tensor<f32>
  th.extern "aten::mm.out"(%a, %b) into(%c) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>]} : (!th.tensor<f32>, !th.tensor<f32>) into (!th.tensor<f32>)
  th.launch @half(%y) into(%y) : (memref<4xf32>) into (memref<4xf32>)
  th.launch @half_1(%v) into(%v) : (memref<6xf32>) into (memref<6xf32>)
  th.launch @half_1(%w) into(%w) : (memref<6xf32>) into (memref<6xf32>)
  func.return
}
tk.func @half [4] (%a: memref<4xf32>, %o: memref<4xf32>) {
  %0 = tk.load %a[d0] : memref<4xf32> -> f32
  %1 = arith.constant 0.5 : f32
  %2 = arith.mulf %0, %1 : f32
  tk.store %2, %o[d0] : f32, memref<4xf32>
}
tk.func @half_1 [6] (%a: memref<6xf32>, %o: memref<6xf32>) {
  %0 = tk.load %a[d0] : memref<6xf32> -> f32
  %1 = arith.constant 0.5 : f32
  %2 = arith.mulf %0, %1 : f32
  tk.store %2, %o[d0] : f32, memref<6xf32>
}

// -----

// A reduction of rows, turned tiles and elementwise work that are large want other programs each; what is small
// goes with any.
// CHECK-LABEL: func.func @kinds
// CHECK-NEXT:  th.launch @copy_group(%x) into(%y, %z)
// CHECK-NEXT:  th.launch @sum(%x) into(%r)
// CHECK-NEXT:  return
func.func @kinds(%x: memref<65536xf32>, %y: memref<65536xf32>, %r: memref<256xf32>, %z: memref<3xf32>) {
  th.launch @copy(%x) into(%y) : (memref<65536xf32>) into (memref<65536xf32>)
  th.launch @sum(%x) into(%r) : (memref<65536xf32>) into (memref<256xf32>)
  th.launch @few(%x) into(%z) : (memref<65536xf32>) into (memref<3xf32>)
  func.return
}
tk.func @copy [65536] (%a: memref<65536xf32>, %o: memref<65536xf32>) {
  %0 = tk.load %a[d0] : memref<65536xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<65536xf32>
}
tk.func @sum [256, 256] (%a: memref<65536xf32>, %o: memref<256xf32>) {
  %0 = tk.load %a[d0*256 + d1] : memref<65536xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<256xf32>
}
tk.func @few [3, 5] (%a: memref<65536xf32>, %o: memref<3xf32>) {
  %0 = tk.load %a[d0*5 + d1] : memref<65536xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<3xf32>
}

// -----

// CHECK-LABEL: func.func @alone
// CHECK-NEXT:  th.launch @put
// CHECK-NEXT:  th.launch @product
// CHECK-NEXT:  th.launch @done
// CHECK-NEXT:  th.launch @chain
// CHECK-NEXT:  return
// CHECK-NOT:   tk.group
// REMARK: th.launch at loc("m.py":7:0): launched alone: it stores at positions that it loads, or combines what it stores
// REMARK: th.launch at loc("m.py":9:0): launched alone: it is a product, no little one
// REMARK: th.launch at loc("m.py":10:0): launched alone: its loops are explicit already
// REMARK: th.launch at loc("m.py":11:0): launched alone: it is a chain of products
func.func @alone(%x: memref<4xf32>, %i: memref<4xi64>, %y: memref<4xf32>, %w: memref<4xf32>, %v: memref<4xf32>, %q: memref<960xf32>, %k: memref<1152xf32>, %p: memref<1280xf32>) {
  th.launch @put(%x, %i) into(%y) : (memref<4xf32>, memref<4xi64>) into (memref<4xf32>) loc("m.py":7:0)
  th.launch @product(%x, %x) into(%w) : (memref<4xf32>, memref<4xf32>) into (memref<4xf32>) loc("m.py":9:0)
  th.launch @done(%x) into(%v) : (memref<4xf32>) into (memref<4xf32>) loc("m.py":10:0)
  th.launch @chain(%q, %k) into(%p) : (memref<960xf32>, memref<1152xf32>) into (memref<1280xf32>) loc("m.py":11:0)
  func.return
}
tk.func @put [4] (%a: memref<4xf32>, %i: memref<4xi64>, %o: memref<4xf32>) {
  %0 = tk.load %a[d0] : memref<4xf32> -> f32
  %1 = tk.load %i[d0] : memref<4xi64> -> i64
  %2 = arith.constant 3 : i64
  %3 = arith.andi %1, %2 : i64
  %4 = arith.index_cast %3 : i64 to index
  tk.store %0, %o[i0](%4) combine add : f32, memref<4xf32>
}
tk.func @product [2, 2, 1025] (%a: memref<4xf32>, %b: memref<4xf32>, %o: memref<4xf32>) {
  %0 = tk.load %a[d0*2 + (d2 mod 2)] : memref<4xf32> -> f32
  %1 = tk.load %b[d1 + (d2 mod 2)*2] : memref<4xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [2] : f32
  tk.store %3, %o[d0*2 + d1] : f32, memref<4xf32>
}
tk.func @chain [40, 32, 48, 24] (%q: memref<960xf32>, %k: memref<1152xf32>, %o: memref<1280xf32>) {
  %0 = tk.load %q[d0*24 + d3] : memref<960xf32> -> f32
  %1 = tk.load %k[d2*24 + d3] : memref<1152xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  %4 = math.tanh %3 : f32
  %5 = tk.load %k[d2*24 + (d1 mod 24)] : memref<1152xf32> -> f32
  %6 = arith.mulf %4, %5 : f32
  %7 = tk.reduce add %6 over [2] : f32
  tk.store %7, %o[d0*32 + d1] : f32, memref<1280xf32>
}
tk.func @done [4] (%a: memref<4xf32>, %o: memref<4xf32>) scheduled {
  tk.for 0 = "0" to "4" step 1 {
    %0 = tk.load %a[d0] : memref<4xf32> -> f32
    tk.store %0, %o[d0] : f32, memref<4xf32>
  }
}

// -----

// Little products share, with whatever else is small; large work would have fewer programs at once beside them.
// CHECK-LABEL: func.func @little_products
// CHECK-NEXT:  th.launch @weights_group(%g, %x, %w) into(%o, %d, %b)
// CHECK-NEXT:  th.launch @large(%l) into(%m)
// CHECK-NEXT:  th.launch @wide(%l, %m) into(%n)
// CHECK-NEXT:  return
// CHECK:       tk.group @weights_group
// CHECK-NEXT:    tk.part @weights
// CHECK-NEXT:    tk.part @below
// CHECK-NEXT:    tk.part @bias
// CHECK-NEXT:  }
// REMARK: th.launch at loc("m.py":15:0): launched alone: it is a product, no little one
func.func @little_products(%g: memref<512xbf16>, %x: memref<256xbf16>, %w: memref<2048xbf16>, %o: memref<2048xbf16>, %d: memref<256xbf16>, %b: memref<64xbf16>, %l: memref<1048576xbf16>, %m: memref<1048576xbf16>, %n: memref<1048576xbf16>) {
  th.launch @weights(%g, %x) into(%o) : (memref<512xbf16>, memref<256xbf16>) into (memref<2048xbf16>) loc("m.py":12:0)
  th.launch @below(%g, %w) into(%d) : (memref<512xbf16>, memref<2048xbf16>) into (memref<256xbf16>) loc("m.py":13:0)
  th.launch @bias(%g) into(%b) : (memref<512xbf16>) into (memref<64xbf16>) loc("m.py":14:0)
  th.launch @large(%l) into(%m) : (memref<1048576xbf16>) into (memref<1048576xbf16>) loc("m.py":11:0)
  th.launch @wide(%l, %m) into(%n) : (memref<1048576xbf16>, memref<1048576xbf16>) into (memref<1048576xbf16>) loc("m.py":15:0)
  func.return
}
tk.func @large [1048576] (%a: memref<1048576xbf16>, %o: memref<1048576xbf16>) {
  %0 = tk.load %a[d0] : memref<1048576xbf16> -> bf16
  tk.store %0, %o[d0] : bf16, memref<1048576xbf16>
}
tk.func @weights [64, 32, 8] (%g: memref<512xbf16>, %x: memref<256xbf16>, %o: memref<2048xbf16>) {
  %0 = tk.load %g[d0 + d2*64] : memref<512xbf16> -> bf16
  %1 = tk.load %x[d1 + d2*32] : memref<256xbf16> -> bf16
  %2 = arith.extf %0 : bf16 to f32
  %3 = arith.extf %1 : bf16 to f32
  %4 = arith.mulf %2, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  %6 = arith.truncf %5 : f32 to bf16
  tk.store %6, %o[d0*32 + d1] : bf16, memref<2048xbf16>
}
tk.func @below [8, 32, 64] (%g: memref<512xbf16>, %w: memref<2048xbf16>, %o: memref<256xbf16>) {
  %0 = tk.load %g[d0*64 + d2] : memref<512xbf16> -> bf16
  %1 = tk.load %w[d1 + d2*32] : memref<2048xbf16> -> bf16
  %2 = arith.extf %0 : bf16 to f32
  %3 = arith.extf %1 : bf16 to f32
  %4 = arith.mulf %2, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  %6 = arith.truncf %5 : f32 to bf16
  tk.store %6, %o[d0*32 + d1] : bf16, memref<256xbf16>
}
tk.func @bias [64, 8] (%g: memref<512xbf16>, %o: memref<64xbf16>) {
  %0 = tk.load %g[d0 + d1*64] : memref<512xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.reduce add %1 over [1] : f32
  %3 = arith.truncf %2 : f32 to bf16
  tk.store %3, %o[d0] : bf16, memref<64xbf16>
}
tk.func @wide [1024, 1024, 1024] (%a: memref<1048576xbf16>, %b: memref<1048576xbf16>, %o: memref<1048576xbf16>) {
  %0 = tk.load %a[d0*1024 + d2] : memref<1048576xbf16> -> bf16
  %1 = tk.load %b[d1*1024 + d2] : memref<1048576xbf16> -> bf16
  %2 = arith.extf %0 : bf16 to f32
  %3 = arith.extf %1 : bf16 to f32
  %4 = arith.mulf %2, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  %6 = arith.truncf %5 : f32 to bf16
  tk.store %6, %o[d0*1024 + d1] : bf16, memref<1048576xbf16>
}

// -----

// Nobody waits for the sum of the first layer: it runs with that of the second. Where a call reads it, or writes
// what it reads, it stays where it is.
// CHECK-LABEL: func.func @comes_down
// CHECK:       th.extern "aten::mm.out"
// CHECK-NEXT:  th.launch @sum_group(%x, %y) into(%p, %q)
// CHECK-NEXT:  return
func.func @comes_down(%x: memref<4xf32>, %y: memref<4xf32>, %p: memref<2xf32>, %q: memref<2xf32>) {
  %a = th.view %x offset "0" sizes "2, 2" strides "2, 1" : memref<4xf32> -> !th.tensor<f32>
  %b = th.view %y offset "0" sizes "2, 2" strides "2, 1" : memref<4xf32> -> !th.tensor<f32>
  th.launch @sum(%x) into(%p) : (memref<4xf32>) into (memref<2xf32>)
  th.extern "aten::mm.out"(%a, %a) into(%b) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>]} : (!th.tensor<f32>, !th.tensor<f32>) into (!th.tensor<f32>)
  th.launch @sum(%y) into(%q) : (memref<4xf32>) into (memref<2xf32>)
  func.return
}
// CHECK-LABEL: func.func @is_read
// CHECK:       th.launch @sum(%x) into(%p)
// CHECK:       th.extern "aten::mm.out"
// CHECK-NEXT:  th.launch @sum(%y) into(%q)
func.func @is_read(%x: memref<4xf32>, %y: memref<4xf32>, %p: memref<2xf32>, %q: memref<2xf32>) {
  %a = th.view %p offset "0" sizes "2, 1" strides "1, 1" : memref<2xf32> -> !th.tensor<f32>
  %c = th.view %p offset "0" sizes "1, 2" strides "2, 1" : memref<2xf32> -> !th.tensor<f32>
  %b = th.view %y offset "0" sizes "2, 2" strides "2, 1" : memref<4xf32> -> !th.tensor<f32>
  th.launch @sum(%x) into(%p) : (memref<4xf32>) into (memref<2xf32>)
  th.extern "aten::mm.out"(%a, %c) into(%b) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>]} : (!th.tensor<f32>, !th.tensor<f32>) into (!th.tensor<f32>)
  th.launch @sum(%y) into(%q) : (memref<4xf32>) into (memref<2xf32>)
  func.return
}
// CHECK-LABEL: func.func @is_overwritten
// CHECK:       th.launch @sum(%x) into(%p)
// CHECK:       th.extern "aten::mm.out"
// CHECK-NEXT:  th.launch @sum(%x) into(%q)
func.func @is_overwritten(%x: memref<4xf32>, %y: memref<4xf32>, %p: memref<2xf32>, %q: memref<2xf32>) {
  %a = th.view %y offset "0" sizes "2, 2" strides "2, 1" : memref<4xf32> -> !th.tensor<f32>
  %b = th.view %x offset "0" sizes "2, 2" strides "2, 1" : memref<4xf32> -> !th.tensor<f32>
  th.launch @sum(%x) into(%p) : (memref<4xf32>) into (memref<2xf32>)
  th.extern "aten::mm.out"(%a, %a) into(%b) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>]} : (!th.tensor<f32>, !th.tensor<f32>) into (!th.tensor<f32>)
  th.launch @sum(%x) into(%q) : (memref<4xf32>) into (memref<2xf32>)
  func.return
}
tk.func @sum [2, 2] (%a: memref<4xf32>, %o: memref<2xf32>) {
  %0 = tk.load %a[d0*2 + d1] : memref<4xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<2xf32>
}

// -----

// CHECK-LABEL: func.func @scans
// CHECK-NEXT:  th.launch @running_group(%x) into(%y, %z)
// CHECK-NEXT:  return
func.func @scans(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) {
  th.launch @running(%x) into(%y) : (memref<4xf32>) into (memref<4xf32>)
  th.launch @copy(%x) into(%z) : (memref<4xf32>) into (memref<4xf32>)
  func.return
}
tk.func @running [4] (%a: memref<4xf32>, %o: memref<4xf32>) {
  %0 = tk.load %a[d0] : memref<4xf32> -> f32
  %1 = tk.scan add %0 along 0 : f32
  tk.store %1, %o[d0] : f32, memref<4xf32>
}
tk.func @copy [4] (%a: memref<4xf32>, %o: memref<4xf32>) {
  %0 = tk.load %a[d0] : memref<4xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<4xf32>
}
