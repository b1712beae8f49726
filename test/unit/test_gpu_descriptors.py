"""Products by tensor descriptor: what the text computes, what it compiles to, and the memory it needs."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import stand_in
import torch
from cpu_harness import parse
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.utils.hints import isa

from tilewright.dialects.index_expr import ONE, Var, as_expr
from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.passes.manager import parse_pipeline, run_pipeline, verify_hook
from tilewright.passes.schedule.blocks import CANDIDATES, DESCRIPTORS
from tilewright.targets.gpu_triton import launch as gpu
from tilewright.targets.gpu_triton.architectures import architecture
from tilewright.targets.gpu_triton.compiler import compile_kernel, triton_version
from tilewright.targets.gpu_triton.driver import KernelCode
from tilewright.targets.gpu_triton.emit import emit_unit
from tilewright.targets.gpu_triton.emulate import Emulator
from tilewright.targets.gpu_triton.host import emit_host_unit
from tilewright.targets.gpu_triton.kernel import Parameter, TritonKernel, TritonUnit

needs_triton = pytest.mark.skipif(not triton_version(), reason="triton is not installed")


@dataclass(frozen=True)
class Product:
    """`batches x m x n`, sums of `k` products; in memory rows go on to a multiple of 16 bytes and 8 more."""

    m: int = 71
    n: int = 53
    k: int = 97
    batches: int = 1
    turned: str = ""
    """`a` and `b` that are contiguous along the other axis."""
    tight: str = ""
    """Those of `a` and `b` whose rows follow each other at once."""
    rows: str = ""
    """A symbol for `m`."""
    dtype: torch.dtype = torch.bfloat16
    factor: str = ""
    """What is done with each element of `a`."""
    skip: int = 0
    """Elements in front of `b`."""

    @property
    def element(self) -> str:
        return {torch.bfloat16: "bf16", torch.float16: "f16", torch.float32: "f32"}[self.dtype]

    def shape(self, name: str) -> tuple[int, int]:
        """Rows and columns as they lie in memory, without padding."""
        rows, columns = (self.m, self.k) if name == "a" else (self.k, self.n)
        return (columns, rows) if name in self.turned else (rows, columns)

    def stride(self, name: str) -> int:
        columns = self.shape(name)[1]
        return columns if name in self.tight else -(-columns // 8) * 8 + 8

    def text(self) -> str:
        m, element = self.rows or str(self.m), self.element
        sizes = {"a": ("d1", "d3"), "b": ("d3", "d2")}
        subscripts: dict[str, str] = {}
        for name, (row, column) in sizes.items():
            outer, inner = (column, row) if name in self.turned else (row, column)
            rows = self.shape(name)[0] if name == "b" or not self.rows else self.rows
            batch = f"d0*{rows}*{self.stride(name)}"
            subscripts[name] = f"{batch} + {outer}*{self.stride(name)} + {inner}"
        widen = "arith.extf" if element != "f32" else ""
        a, b = ("%a1", "%b1") if widen else ("%a0", "%b0")
        wide = (lambda v: f"%{v}1 = arith.extf %{v}0 : {element} to f32") if widen else (lambda v: "")
        left = f"%f = {self.factor} {a} : f32" if self.factor else ""
        factors = f" {{tk.factors = {element}}}" if widen else ""
        return f"""
tk.func @f [{self.batches}, {m}, {self.n}, {self.k}] (%a: memref<?x{element}>, %b: memref<?x{element}>,
    %o: memref<?xf32>) symbols [{self.rows}] {{
  %a0 = tk.load %a[{subscripts["a"]}] : memref<?x{element}> -> {element}
  {wide("a")}
  {left}
  %b0 = tk.load %b[{subscripts["b"]} + {self.skip}] : memref<?x{element}> -> {element}
  {wide("b")}
  %p = arith.mulf {"%f" if left else a}, {b} : f32
  %s = tk.reduce add %p over [3]{factors} : f32
  tk.store %s, %o[d0*{m}*{self.n} + d1*{self.n} + d2] : f32, memref<?xf32>
}}"""

    def factors(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Memory of `a` and `b`, NaN in the padding; and what they are as matrices, in float64."""
        torch.manual_seed(0)
        memory: list[torch.Tensor] = []
        meant: list[torch.Tensor] = []
        for name in "ab":
            rows, columns = self.shape(name)
            whole = torch.full((self.batches, rows, self.stride(name)), float("nan"), dtype=self.dtype)
            whole[:, :, :columns] = torch.randn(self.batches, rows, columns)
            matrix = whole[:, :, :columns].double()
            meant.append(matrix.mT if name in self.turned else matrix)
            front = torch.full((self.skip if name == "b" else 0,), float("nan"), dtype=self.dtype)
            memory.append(torch.cat([front, whole.flatten()]))
        return memory[0], memory[1], meant[0], meant[1]


def scheduled(
    product: Product, *, described: bool = True, number: int = 0, shared: int = 227
) -> tuple[ModuleOp, TritonUnit]:
    """With the candidate of that number among those that are by descriptor, or are not."""
    context, module = new_context(), parse(product.text())
    options = f"descriptors=true shared={shared} candidates=true tf32={str(product.element == 'f32').lower()}"
    passes = f"coalesce-axes,flatten-axes,schedule-gpu{{{options}}}"
    run_pipeline(context, module, parse_pipeline(passes), hooks=[verify_hook()])
    (func,) = [op for op in module.ops if isinstance(op, FuncOp)]
    named = func.attributes.pop(CANDIDATES)
    assert isa(named, ArrayAttr[DictionaryAttr])
    func.attributes.pop(DESCRIPTORS, None)
    func.attributes.update([c for c in named if (DESCRIPTORS in c.data) == described][number].data)
    run_pipeline(context, module, parse_pipeline("apply-schedule"), hooks=[verify_hook()])
    return module, emit_unit(module)


PRODUCTS = {
    "row_major": Product(),
    "turned_right": Product(turned="b"),
    "turned_left": Product(turned="a"),
    "turned_both": Product(turned="ab"),
    "batches": Product(batches=3, n=24, k=40, tight="ab"),
    "rows_of_the_run": Product(rows="s0", turned="b"),
    "batched_rows_of_the_run": Product(rows="s0", batches=2, m=35),
    "in_the_middle": Product(skip=8),
    "computed": Product(factor="math.absf"),
    "not_zero_beyond_the_end": Product(factor="math.cos"),
    "of_f16": Product(dtype=torch.float16),
    "of_f32": Product(dtype=torch.float32),
    "few": Product(m=9, n=8, k=2001),
}


def check(product: Product, unit: TritonUnit) -> None:
    """Run the text on CPU tensors, and compare with float64."""
    a, b, left, right = product.factors()
    if product.factor:
        applied = {"math.absf": torch.abs, "math.cos": torch.cos}[product.factor](left)
        left = applied.float().to(product.dtype).double()
    result = torch.full((product.batches * product.m * product.n,), float("nan"))
    sizes = [product.m] if product.rows else []
    symbols = {Var("s", 0): product.m} if product.rows else {}
    Emulator(unit).launch("f", [a, b, result, *sizes], symbols)
    expected = left @ right
    tolerance = 5e-2 if product.dtype == torch.float32 else 1e-3 if product.factor == "math.cos" else 1e-4
    torch.testing.assert_close(
        result.double().reshape(expected.shape), expected, rtol=tolerance, atol=tolerance
    )


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("name", PRODUCTS)
def test_text_computes_the_product(name: str, number: int) -> None:
    """Odd sizes; what lies beyond them in memory is NaN."""
    product = PRODUCTS[name]
    _, unit = scheduled(product, number=number)
    assert unit.text.count("make_tensor_descriptor") == 2, unit.text
    assert unit.text.count("tl.load(") == 0
    check(product, unit)


def test_one_factor_by_pointers() -> None:
    """Rows of 97 elements are for no descriptor, those of the other factor are."""
    product = Product(tight="a")
    _, unit = scheduled(product)
    assert unit.text.count("make_tensor_descriptor") == 1
    assert unit.text.count("tl.load(") == 1
    check(product, unit)


LARGE = {
    "row_major": Product(m=500, n=768, k=2048),
    "turned_right": Product(m=500, n=768, k=2048, turned="b", rows="s0"),
    "turned_left": Product(m=512, n=768, k=2001, turned="a", batches=4),
    "computed": Product(m=500, n=768, k=2048, factor="math.absf", dtype=torch.float16),
}
_FETCH = r"cp\.async\.bulk\.tensor\.2d\.shared"


@needs_triton
@pytest.mark.parametrize("target", ["sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("name", LARGE)
def test_machine_code_fetches_blocks(name: str, target: str, tmp_path: Path) -> None:
    """No lane loads what a descriptor brings; descriptors take 128 bytes of each program's memory."""
    assert architecture(target).descriptors
    _, unit = scheduled(LARGE[name], shared=architecture(target).shared_per_block // 1024)
    binary = compile_kernel(unit.text, unit.kernels[0], target, cache_dir=tmp_path)
    assert re.search(_FETCH, binary.assembly)
    assert not re.search(r"ld\.global|cp\.async\.c[ag]", binary.assembly)
    assert binary.spills == 0
    assert 0 < binary.shared <= architecture(target).shared_per_block
    assert binary.tensor_core > 0
    assert binary.scratch == 2 * 128
    assert binary.scratch_alignment <= 512, "what torch's caching allocator aligns memory to"


@needs_triton
def test_without_descriptors_nothing_is_fetched(tmp_path: Path) -> None:
    _, unit = scheduled(LARGE["row_major"], described=False)
    assert "make_tensor_descriptor" not in unit.text
    binary = compile_kernel(unit.text, unit.kernels[0], "sm_90", cache_dir=tmp_path)
    assert not re.search(_FETCH, binary.assembly)
    assert binary.scratch == 0


def test_the_table_says_who_has_descriptors() -> None:
    having = [
        name
        for name in ("sm_80", "sm_89", "sm_90", "sm_100", "sm_120", "gfx942")
        if architecture(name).facts["descriptors"]
    ]
    assert having == ["sm_90", "sm_100", "sm_120"]


HOST = """
tk.func @f [8] (%a: memref<8xbf16>, %o: memref<8xf32>) scheduled {}
func.func @main(%a: memref<8xbf16> {th.sizes = "8", th.strides = "1", tw.name = "a"}) -> (memref<8xf32>) {
  %o = th.empty sizes "8" strides "1" : memref<8xf32>
  th.launch @f(%a) into(%o) symbols "" : (memref<8xbf16>) into (memref<8xf32>)
  func.return %o : memref<8xf32>
}
"""


def test_each_program_has_memory_for_its_descriptors(tmp_path: Path) -> None:
    """What a launch hands over behind the kernel's own parameters can be written for every program."""
    driver = stand_in.build(tmp_path)
    programs, scratch = 6000, 256
    found: list[int] = []

    def work(name: str, grid: tuple[int, int, int], parameters: Any) -> None:
        address = stand_in.pointer(parameters, 2)
        found.append(address)
        ctypes.memset(address, 0xFF, scratch * grid[0])
        ctypes.memset(stand_in.pointer(parameters, 1), 0, 32)

    driver.reset()
    driver.work(work)
    buffers = (Parameter("a0", "*bf16", True), Parameter("a1", "*fp32", True))
    kernel = TritonKernel("f", buffers, (as_expr(programs), ONE, ONE), 8, 3, checks=False)
    unit, libraries = TritonUnit("", (kernel,)), gpu.Libraries(stand_in=str(driver.path))
    graph = gpu.load_unit(
        emit_host_unit(parse(HOST), unit, libraries.exports, libraries.shims),
        [KernelCode(b"f 4", "f", 256, 0, scratch, "sm_90")],
        checks=(),
        wait=False,
        device=0,
        libraries=libraries,
        cache_dir=tmp_path,
    )
    (result,) = graph([torch.ones(8, dtype=torch.bfloat16)])
    assert torch.equal(result, torch.zeros(8))
    assert [launch.grid[0] for launch in driver.launches()] == [programs]
    assert found[0] != 0
    assert driver.raised == []
