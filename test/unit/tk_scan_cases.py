"""Kernels that scan or sort, with buffers to run them on."""

from __future__ import annotations

from tk_harness import Case


def _scan(combine: str, axis: int) -> Case:
    return Case(
        f"""tk.func @f [5, 19] (%x: memref<95xf32>, %o: memref<95xf32>) {{
          %0 = tk.load %x[d0*19 + d1] : memref<95xf32> -> f32
          %1 = tk.scan {combine} %0 along {axis} : f32
          tk.store %1, %o[d0*19 + d1] : f32, memref<95xf32>
        }}""",
        ("f32 95", "f32 95 = 0"),
    )


def _linear_scan(axis: int, rows: str = "5", length: str = "19") -> Case:
    """Also of rows of any length, which no tile holds."""
    size = f"{length}*{rows}" if "s0" in (rows, length) else 95
    memory = "memref<?xf32>" if isinstance(size, str) else "memref<95xf32>"
    return Case(
        f"""tk.func @f [{rows}, {length}] (%x: {memory}, %f: {memory}, %o: {memory})
              {"symbols [s0]" if isinstance(size, str) else ""} {{
          %0 = tk.load %x[d0*{length} + d1] : {memory} -> f32
          %1 = tk.load %f[d0*{length} + d1] : {memory} -> f32
          %2 = tk.scan linear %0 by %1 along {axis} : f32
          tk.store %2, %o[d0*{length} + d1] : f32, {memory}
        }}""",
        (f"f32 {size}", f"f32 {size}", f"f32 {size} = 0"),
        {"s0": 37} if isinstance(size, str) else {},
    )


def _sort(element: str, length: int, order: str = "") -> Case:
    """Values and positions; behind the first ones, where there are such, zeros."""
    kept, size = (length, 5 * length) if "first" not in order else (int(order.split()[-1]), 5 * length)
    values = f"memref<{size}x{element}>"
    return Case(
        f"""tk.func @f [5, {length}] (%x: {values}, %o: {values}, %p: memref<{size}xi32>) {{
          %0 = tk.load %x[d0*{length} + d1] : {values} -> {element}
          %1, %2 = tk.sort %0 along 1 {order} : {element}
          %3 = tk.index "d1" : i64
          %4 = arith.constant {kept} : i64
          %5 = arith.cmpi slt, %3, %4 : i64
          tk.store %1, %o[d0*{length} + d1] if %5 : {element}, {values}
          tk.store %2, %p[d0*{length} + d1] if %5 : i32, memref<{size}xi32>
        }}""",
        (f"{element} {size}{' < 40' * (element[0] == 'i')}", f"{element} {size} = 0", f"i32 {size} = 0"),
    )


CASES = {
    "cumsum": _scan("add", 1),
    "logcumsumexp": _scan("logaddexp", 1),
    "cumsum_of_columns": _scan("add", 0),
    "linear_scan": _linear_scan(1),
    "linear_scan_of_columns": _linear_scan(0),
    "linear_scan_of_any_rows": _linear_scan(1, length="s0"),
    "linear_scan_of_any_columns": _linear_scan(0, rows="s0"),
    "sort_few": _sort("f32", 5, "descending"),
    "sort_by_ranks": _sort("f64", 37),
    "sort_by_bytes": _sort("f32", 70, "descending"),
    "sort_by_eight_bytes": _sort("i64", 70),
    "sort_the_first": _sort("i32", 100, "first 3"),
}
