// The whole way from tensors to C++, every stage verified.
// RUN: tilewright-opt %s --pipeline=cpu --verify-locations --print-debuginfo -o %t.mlir
// RUN: filecheck %s --input-file %t.mlir
// RUN: tilewright-translate --to=cpp %t.mlir | filecheck %s --check-prefix=CPP
// RUN: rm -rf %t.dump && tilewright-opt %s --pipeline=cpu --dump %t.dump -o /dev/null
// RUN: ls %t.dump | filecheck %s --check-prefix=STAGES
// RUN: tilewright-opt %t.dump/04-decompose.mlir -p simplify-views --print-debuginfo > %t.again.mlir
// RUN: diff %t.again.mlir %t.dump/05-simplify-views.mlir
// RUN: not tilewright-translate --to=cobol %t.mlir 2>&1 | filecheck %s --check-prefix=LANGUAGE
// RUN: not tilewright-translate --to=cpp %t.missing 2>&1 | filecheck %s --check-prefix=MISSING

// CHECK-LABEL: func.func @main
// CHECK: th.extern "aten::mm.out"
// CHECK: th.launch
// CHECK: tk.func
// CHECK: tk.for 0 =
// CHECK: math.exp {{.*}} : vector<

// CPP: tw_main

// STAGES: 00-input.mlir
// STAGES-NEXT: 01-canonicalize.mlir
// STAGES: apply-schedule.mlir

// LANGUAGE: TW3901: no output language is named `cobol`
// LANGUAGE: fix: the output language names are: cpp

// MISSING: TW1901: cannot read {{.*}}.missing
func.func @main(%x: tensor<8x128xf32> {tw.name = "x"}, %w: tensor<64x128xf32>) -> tensor<8x64xf32> {
  %0 = tw.exp %x : tensor<8x128xf32> loc("m.py":1:1)
  %t = tw.transpose %w by [1, 0] : tensor<64x128xf32> -> tensor<128x64xf32> loc("m.py":2:1)
  %m = tw.matmul %0, %t : (tensor<8x128xf32>, tensor<128x64xf32>) -> tensor<8x64xf32> loc("m.py":3:1)
  %s = tw.sigmoid %m : tensor<8x64xf32> loc("m.py":4:1)
  %r = tw.mul %m, %s : tensor<8x64xf32> loc("m.py":5:1)
  func.return %r : tensor<8x64xf32>
}
