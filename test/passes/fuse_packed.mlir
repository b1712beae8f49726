// RUN: tilewright-opt %s -p "convert-tw-to-tk{products=half concats=true},absorb-views,dce,fuse{hold-back=true tile=128 far=true},dce" --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p "convert-tw-to-tk{products=half concats=true},absorb-views,dce,fuse{hold-back=true tile=128 far=true},dce" --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p "convert-tw-to-tk{products=half concats=true},absorb-views,dce,fuse{hold-back=true tile=128 far=true},dce" --split-input-file --check-semantics

// Weights of few bits, two of them a byte, are less to read than what they stand for: a product of few rows
// unpacks them. Both halves are read where the byte is, without a mask.
// CHECK-LABEL: @nibbles
// CHECK-COUNT-1: tk.kernel [16, 16, 32, 2] ins(%x,
// CHECK: tk.load %{{.*}}[d1, d2] : tensor<16x32xui8> -> i8
// CHECK-NOT: tk.kernel
func.func @nibbles(%x: tensor<16x64xbf16>, %q: tensor<16x32xui8>, %s: tensor<16xbf16>) -> tensor<16x16xbf16> {
  %four = tw.full 4 : ui8 -> tensor<16x32xui8>
  %mask = tw.full 15 : ui8 -> tensor<16x32xui8>
  %0 = tw.shift_right %q, %four : tensor<16x32xui8>
  %1 = tw.and %q, %mask : tensor<16x32xui8>
  %2 = tw.reshape %0 : tensor<16x32xui8> -> tensor<16x32x1xui8>
  %3 = tw.reshape %1 : tensor<16x32xui8> -> tensor<16x32x1xui8>
  %4 = tw.concat %3, %2 dim 2 : (tensor<16x32x1xui8>, tensor<16x32x1xui8>) -> tensor<16x32x2xui8>
  %5 = tw.reshape %4 : tensor<16x32x2xui8> -> tensor<16x64xui8>
  %7 = tw.cast %5 : tensor<16x64xui8> -> tensor<16x64xbf16>
  %8 = tw.broadcast %s dims [0] : tensor<16xbf16> -> tensor<16x64xbf16>
  %9 = tw.mul %7, %8 : tensor<16x64xbf16>
  %10 = tw.transpose %9 by [1, 0] : tensor<16x64xbf16> -> tensor<64x16xbf16>
  %11 = tw.matmul %x, %10 : (tensor<16x64xbf16>, tensor<64x16xbf16>) -> tensor<16x16xbf16>
  func.return %11 : tensor<16x16xbf16>
}

// -----

// Places of a table of 16, of 4 bits each, need no check, so that tiles can read it.
// CHECK-LABEL: @by_table
// CHECK-COUNT-1: tk.kernel [16, 16, 32, 2]
// CHECK-NOT: tk.kernel
func.func @by_table(%x: tensor<16x64xbf16>, %q: tensor<16x32xui8>, %s: tensor<16xbf16>, %t: tensor<16xbf16>) -> tensor<16x16xbf16> {
  %four = tw.full 4 : ui8 -> tensor<16x32xui8>
  %mask = tw.full 15 : ui8 -> tensor<16x32xui8>
  %0 = tw.shift_right %q, %four : tensor<16x32xui8>
  %1 = tw.and %q, %mask : tensor<16x32xui8>
  %2 = tw.reshape %0 : tensor<16x32xui8> -> tensor<16x32x1xui8>
  %3 = tw.reshape %1 : tensor<16x32xui8> -> tensor<16x32x1xui8>
  %4 = tw.concat %3, %2 dim 2 : (tensor<16x32x1xui8>, tensor<16x32x1xui8>) -> tensor<16x32x2xui8>
  %5 = tw.reshape %4 : tensor<16x32x2xui8> -> tensor<16x64xui8>
  %6 = tw.cast %5 : tensor<16x64xui8> -> tensor<16x64xi64>
  %7 = tw.gather %t[%6] dims [0] at 0 : (tensor<16xbf16>, tensor<16x64xi64>) -> tensor<16x64xbf16>
  %8 = tw.broadcast %s dims [0] : tensor<16xbf16> -> tensor<16x64xbf16>
  %9 = tw.mul %7, %8 : tensor<16x64xbf16>
  %10 = tw.transpose %9 by [1, 0] : tensor<16x64xbf16> -> tensor<64x16xbf16>
  %11 = tw.matmul %x, %10 : (tensor<16x64xbf16>, tensor<64x16xbf16>) -> tensor<16x16xbf16>
  func.return %11 : tensor<16x16xbf16>
}

// -----

// Of 5 bits some may be beyond it.
// CHECK-LABEL: @beyond_the_table
// CHECK: tk.kernel [16, 32, 2]
// CHECK: tk.assert
// CHECK: tk.kernel [16, 16, 64]
// REMARK: it checks what a product sums, whose tiles check nothing
func.func @beyond_the_table(%x: tensor<16x64xbf16>, %q: tensor<16x32xui8>, %s: tensor<16xbf16>, %t: tensor<16xbf16>) -> tensor<16x16xbf16> {
  %four = tw.full 4 : ui8 -> tensor<16x32xui8>
  %mask = tw.full 31 : ui8 -> tensor<16x32xui8>
  %0 = tw.shift_right %q, %four : tensor<16x32xui8>
  %1 = tw.and %q, %mask : tensor<16x32xui8>
  %2 = tw.reshape %0 : tensor<16x32xui8> -> tensor<16x32x1xui8>
  %3 = tw.reshape %1 : tensor<16x32xui8> -> tensor<16x32x1xui8>
  %4 = tw.concat %3, %2 dim 2 : (tensor<16x32x1xui8>, tensor<16x32x1xui8>) -> tensor<16x32x2xui8>
  %5 = tw.reshape %4 : tensor<16x32x2xui8> -> tensor<16x64xui8>
  %6 = tw.cast %5 : tensor<16x64xui8> -> tensor<16x64xi64>
  %7 = tw.gather %t[%6] dims [0] at 0 : (tensor<16xbf16>, tensor<16x64xi64>) -> tensor<16x64xbf16>
  %8 = tw.broadcast %s dims [0] : tensor<16xbf16> -> tensor<16x64xbf16>
  %9 = tw.mul %7, %8 : tensor<16x64xbf16>
  %10 = tw.transpose %9 by [1, 0] : tensor<16x64xbf16> -> tensor<64x16xbf16>
  %11 = tw.matmul %x, %10 : (tensor<16x64xbf16>, tensor<64x16xbf16>) -> tensor<16x16xbf16>
  func.return %11 : tensor<16x16xbf16>
}

// -----

// Many rows would unpack them again and again.
// CHECK-LABEL: @many_rows
// CHECK: tk.kernel [16, 32, 2]
// CHECK: tk.kernel [2048, 16, 64]
// REMARK: widening it in tiles costs
func.func @many_rows(%x: tensor<2048x64xbf16>, %q: tensor<16x32xui8>, %s: tensor<16xbf16>) -> tensor<2048x16xbf16> {
  %four = tw.full 4 : ui8 -> tensor<16x32xui8>
  %mask = tw.full 15 : ui8 -> tensor<16x32xui8>
  %0 = tw.shift_right %q, %four : tensor<16x32xui8>
  %1 = tw.and %q, %mask : tensor<16x32xui8>
  %2 = tw.reshape %0 : tensor<16x32xui8> -> tensor<16x32x1xui8>
  %3 = tw.reshape %1 : tensor<16x32xui8> -> tensor<16x32x1xui8>
  %4 = tw.concat %3, %2 dim 2 : (tensor<16x32x1xui8>, tensor<16x32x1xui8>) -> tensor<16x32x2xui8>
  %5 = tw.reshape %4 : tensor<16x32x2xui8> -> tensor<16x64xui8>
  %7 = tw.cast %5 : tensor<16x64xui8> -> tensor<16x64xbf16>
  %8 = tw.broadcast %s dims [0] : tensor<16xbf16> -> tensor<16x64xbf16>
  %9 = tw.mul %7, %8 : tensor<16x64xbf16>
  %10 = tw.transpose %9 by [1, 0] : tensor<16x64xbf16> -> tensor<64x16xbf16>
  %11 = tw.matmul %x, %10 : (tensor<2048x64xbf16>, tensor<64x16xbf16>) -> tensor<2048x16xbf16>
  func.return %11 : tensor<2048x16xbf16>
}
