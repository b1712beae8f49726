// RUN: tilewright-opt %s -p 'schedule-gpu' --split-input-file | filecheck %s

// Little parts of a group make its programs no larger than four warps, unless registers of fewer have no room for
// what the parts load.

// CHECK: tk.group @needs_more {{.*}} attributes {tk.warps = 8 : i64
// CHECK: tk.func @little {{.*}} tk.warps = 8 : i64
tk.group @needs_more (%x: memref<150994944xbf16>, %f: memref<1024xf32>, %o: memref<4096xf32>, %y: memref<262144xf32>, %z: memref<262144xf32>) {
  tk.part @little(%x, %f, %o)
  tk.part @large(%y, %z)
}
tk.func @little [64, 516] (%x: memref<150994944xbf16>, %f: memref<1024xf32>, %o: memref<4096xf32>) {
  %0 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2] : memref<150994944xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 4194304] : memref<150994944xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 8388608] : memref<150994944xbf16> -> bf16
  %5 = arith.extf %4 : bf16 to f32
  %6 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 12582912] : memref<150994944xbf16> -> bf16
  %7 = arith.extf %6 : bf16 to f32
  %8 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 16777216] : memref<150994944xbf16> -> bf16
  %9 = arith.extf %8 : bf16 to f32
  %10 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 20971520] : memref<150994944xbf16> -> bf16
  %11 = arith.extf %10 : bf16 to f32
  %12 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 25165824] : memref<150994944xbf16> -> bf16
  %13 = arith.extf %12 : bf16 to f32
  %14 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 29360128] : memref<150994944xbf16> -> bf16
  %15 = arith.extf %14 : bf16 to f32
  %16 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 33554432] : memref<150994944xbf16> -> bf16
  %17 = arith.extf %16 : bf16 to f32
  %18 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 37748736] : memref<150994944xbf16> -> bf16
  %19 = arith.extf %18 : bf16 to f32
  %20 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 41943040] : memref<150994944xbf16> -> bf16
  %21 = arith.extf %20 : bf16 to f32
  %22 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 46137344] : memref<150994944xbf16> -> bf16
  %23 = arith.extf %22 : bf16 to f32
  %24 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 50331648] : memref<150994944xbf16> -> bf16
  %25 = arith.extf %24 : bf16 to f32
  %26 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 54525952] : memref<150994944xbf16> -> bf16
  %27 = arith.extf %26 : bf16 to f32
  %28 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 58720256] : memref<150994944xbf16> -> bf16
  %29 = arith.extf %28 : bf16 to f32
  %30 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 62914560] : memref<150994944xbf16> -> bf16
  %31 = arith.extf %30 : bf16 to f32
  %32 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 67108864] : memref<150994944xbf16> -> bf16
  %33 = arith.extf %32 : bf16 to f32
  %34 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 71303168] : memref<150994944xbf16> -> bf16
  %35 = arith.extf %34 : bf16 to f32
  %36 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 75497472] : memref<150994944xbf16> -> bf16
  %37 = arith.extf %36 : bf16 to f32
  %38 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 79691776] : memref<150994944xbf16> -> bf16
  %39 = arith.extf %38 : bf16 to f32
  %40 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 83886080] : memref<150994944xbf16> -> bf16
  %41 = arith.extf %40 : bf16 to f32
  %42 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 88080384] : memref<150994944xbf16> -> bf16
  %43 = arith.extf %42 : bf16 to f32
  %44 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 92274688] : memref<150994944xbf16> -> bf16
  %45 = arith.extf %44 : bf16 to f32
  %46 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 96468992] : memref<150994944xbf16> -> bf16
  %47 = arith.extf %46 : bf16 to f32
  %48 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 100663296] : memref<150994944xbf16> -> bf16
  %49 = arith.extf %48 : bf16 to f32
  %50 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 104857600] : memref<150994944xbf16> -> bf16
  %51 = arith.extf %50 : bf16 to f32
  %52 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 109051904] : memref<150994944xbf16> -> bf16
  %53 = arith.extf %52 : bf16 to f32
  %54 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 113246208] : memref<150994944xbf16> -> bf16
  %55 = arith.extf %54 : bf16 to f32
  %56 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 117440512] : memref<150994944xbf16> -> bf16
  %57 = arith.extf %56 : bf16 to f32
  %58 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 121634816] : memref<150994944xbf16> -> bf16
  %59 = arith.extf %58 : bf16 to f32
  %60 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 125829120] : memref<150994944xbf16> -> bf16
  %61 = arith.extf %60 : bf16 to f32
  %62 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 130023424] : memref<150994944xbf16> -> bf16
  %63 = arith.extf %62 : bf16 to f32
  %64 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 134217728] : memref<150994944xbf16> -> bf16
  %65 = arith.extf %64 : bf16 to f32
  %66 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 138412032] : memref<150994944xbf16> -> bf16
  %67 = arith.extf %66 : bf16 to f32
  %68 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 142606336] : memref<150994944xbf16> -> bf16
  %69 = arith.extf %68 : bf16 to f32
  %70 = tk.load %x[d0*1032 + (d1 floordiv 129)*129 + (d1 mod 129)*2 + 146800640] : memref<150994944xbf16> -> bf16
  %71 = arith.extf %70 : bf16 to f32
  %s1 = arith.addf %1, %3 : f32
  %s2 = arith.addf %s1, %5 : f32
  %s3 = arith.addf %s2, %7 : f32
  %s4 = arith.addf %s3, %9 : f32
  %s5 = arith.addf %s4, %11 : f32
  %s6 = arith.addf %s5, %13 : f32
  %s7 = arith.addf %s6, %15 : f32
  %s8 = arith.addf %s7, %17 : f32
  %s9 = arith.addf %s8, %19 : f32
  %s10 = arith.addf %s9, %21 : f32
  %s11 = arith.addf %s10, %23 : f32
  %s12 = arith.addf %s11, %25 : f32
  %s13 = arith.addf %s12, %27 : f32
  %s14 = arith.addf %s13, %29 : f32
  %s15 = arith.addf %s14, %31 : f32
  %s16 = arith.addf %s15, %33 : f32
  %s17 = arith.addf %s16, %35 : f32
  %s18 = arith.addf %s17, %37 : f32
  %s19 = arith.addf %s18, %39 : f32
  %s20 = arith.addf %s19, %41 : f32
  %s21 = arith.addf %s20, %43 : f32
  %s22 = arith.addf %s21, %45 : f32
  %s23 = arith.addf %s22, %47 : f32
  %s24 = arith.addf %s23, %49 : f32
  %s25 = arith.addf %s24, %51 : f32
  %s26 = arith.addf %s25, %53 : f32
  %s27 = arith.addf %s26, %55 : f32
  %s28 = arith.addf %s27, %57 : f32
  %s29 = arith.addf %s28, %59 : f32
  %s30 = arith.addf %s29, %61 : f32
  %s31 = arith.addf %s30, %63 : f32
  %s32 = arith.addf %s31, %65 : f32
  %s33 = arith.addf %s32, %67 : f32
  %s34 = arith.addf %s33, %69 : f32
  %s35 = arith.addf %s34, %71 : f32
  %a = tk.load %f[d1] : memref<1024xf32> -> f32
  %c = math.cos %a : f32
  %p = arith.mulf %s35, %c : f32
  %r = tk.reduce add %p over [1] : f32
  tk.store %r, %o[d0] : f32, memref<4096xf32>
}
tk.func @large [262144] (%y: memref<262144xf32>, %z: memref<262144xf32>) {
  %0 = tk.load %y[d0] : memref<262144xf32> -> f32
  %1 = arith.negf %0 : f32
  tk.store %1, %z[d0] : f32, memref<262144xf32>
}

// -----

// CHECK: tk.group @needs_no_more {{.*}} attributes {tk.warps = 4 : i64
// CHECK: tk.func @little {{.*}} tk.warps = 16 : i64
tk.group @needs_no_more (%x: memref<50176xf32>, %o: memref<256xf32>, %y: memref<262144xf32>, %z: memref<262144xf32>) {
  tk.part @little(%x, %o)
  tk.part @large(%y, %z)
}
tk.func @little [256, 196] (%x: memref<50176xf32>, %o: memref<256xf32>) {
  %0 = tk.load %x[d0 + d1*256] : memref<50176xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<256xf32>
}
tk.func @large [262144] (%y: memref<262144xf32>, %z: memref<262144xf32>) {
  %0 = tk.load %y[d0] : memref<262144xf32> -> f32
  %1 = arith.negf %0 : f32
  tk.store %1, %z[d0] : f32, memref<262144xf32>
}
