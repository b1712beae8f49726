// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: th.control: kind is "if", expected one of cond, while, scan
th.control "if" [@f]() carrying 0 over 0 sizes [] strides [] : () -> ()

// -----

// CHECK: th.control: cond of 1 functions, expected 2
th.control "cond" [@f]() carrying 0 over 0 sizes [] strides [] : () -> ()

// -----

// CHECK: th.control: while of 1 results carries 0
%x = "test.op"() : () -> !th.tensor<f32>
%r = th.control "while" [@f, @g](%x) carrying 0 over 0 sizes ["4"] strides ["1"] : (!th.tensor<f32>) -> (!th.tensor<f32>)

// -----

// CHECK: th.control: scan of 1 operands scans 0
%x = "test.op"() : () -> !th.tensor<f32>
%r = th.control "scan" [@f](%x) carrying 0 over 0 sizes ["4"] strides ["1"] : (!th.tensor<f32>) -> (!th.tensor<f32>)

// -----

// CHECK: th.control: 1 results but 2 strides
%x = "test.op"() : () -> !th.tensor<f32>
%r = th.control "scan" [@f](%x) carrying 0 over 1 sizes ["4"] strides ["1", "1"] : (!th.tensor<f32>) -> (!th.tensor<f32>)
