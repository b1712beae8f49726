"""Attention as a `tk.func`: the chained products that tests of schedules look at."""

from __future__ import annotations

from tk_harness import parse

from tilewright.dialects.tk.kernels import FuncOp


def attention(mask: str, rows: int, keys: int) -> FuncOp:
    """f32, heads of 8 elements: rows (axis 0), columns of the result (1), of the scores (2), and keys (3).

    `mask` defines `%seen`, of the i64 positions `%row` and `%key`, `%twenty` or `%m`, a buffer of booleans of
    each row and key; scores are -inf where it is false.
    """
    func = parse(f"""tk.func @f [{rows}, 8, 8, {keys}] (%q: memref<{rows * 8}xf32>,
        %k: memref<{keys * 8}xf32>, %v: memref<{keys * 8}xf32>,
        %m: memref<{rows * keys}xi1>, %o: memref<{rows * 8}xf32>) {{
      %row = tk.index "d0" : i64
      %key = tk.index "d3" : i64
      %twenty = arith.constant 20 : i64
      {mask}
      %low = arith.constant 0xFF800000 : f32
      %zero = arith.constant 0.0 : f32
      %0 = tk.load %q[d0*8 + d2] : memref<{rows * 8}xf32> -> f32
      %1 = tk.load %k[d3*8 + d2] : memref<{keys * 8}xf32> -> f32
      %2 = arith.mulf %0, %1 : f32
      %3 = tk.reduce add %2 over [2] : f32
      %4 = arith.select %seen, %3, %low : f32
      %5 = tk.reduce max %4 over [3] : f32
      %6 = arith.cmpf oeq, %5, %low : f32
      %7 = arith.select %6, %zero, %5 : f32
      %8 = arith.subf %4, %7 : f32
      %9 = math.exp %8 : f32
      %10 = tk.reduce add %9 over [3] : f32
      %11 = tk.load %v[d3*8 + d1] : memref<{keys * 8}xf32> -> f32
      %12 = arith.mulf %9, %11 : f32
      %13 = tk.reduce add %12 over [3] : f32
      %14 = arith.divf %13, %10 : f32
      tk.store %14, %o[d0*8 + d1] : f32, memref<{rows * 8}xf32>
    }}""").body.block.first_op
    assert isinstance(func, FuncOp)
    return func
