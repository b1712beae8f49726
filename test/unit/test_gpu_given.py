"""Users' Triton kernels as the GPU target takes them: parameters, machine code, names."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from xdsl.dialects.builtin import FloatAttr, IntAttr, IntegerAttr, StringAttr, f32, i1, i32, i64
from xdsl.ir import Attribute

from tilewright.dialects.index_expr import sym
from tilewright.dialects.registry import new_context
from tilewright.dialects.tw.aten import ArgAttr, SizeAttr
from tilewright.dialects.tw.triton import JitAttr
from tilewright.dialects.types import ELEMENT_TYPES
from tilewright.frontend.tools.tool_io import parse_module
from tilewright.targets.gpu_triton.architectures import ARCHITECTURES
from tilewright.targets.gpu_triton.compile_errors import KernelRefused
from tilewright.targets.gpu_triton.compiler import compile_kernel, compile_unit, job
from tilewright.targets.gpu_triton.given import given_kernels, kernel_of
from tilewright.targets.gpu_triton.kernel import TritonKernel, TritonUnit

TEXT = """import triton
from triton import language as tl

@triton.jit
def scaled(x, BLOCK: tl.constexpr, out, n, step, weight, doubled):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i * step, mask=i < n) * weight
    value = tl.where(doubled, value * 2, value)
    tl.store(out + i, value, mask=i < n)
"""
JIT = JitAttr(StringAttr("scaled"), IntAttr(4), IntAttr(3), StringAttr(TEXT))


def scaled(
    *, n: Attribute, step: Attribute, element: str = "f32", aligned: bool = True, text: str = TEXT
) -> TritonKernel:
    args = [
        ArgAttr(IntAttr(0)),
        StringAttr("1024"),
        ArgAttr(IntAttr(1)),
        n,
        step,
        FloatAttr(0.5, f32),
        IntegerAttr(1, i1),
    ]
    elements = [ELEMENT_TYPES[element], ELEMENT_TYPES["f32"]]
    jit = JitAttr(JIT.function, JIT.warps, JIT.stages, StringAttr(text))
    return kernel_of(jit, args, elements, [aligned, True])


def test_parameters() -> None:
    kernel = scaled(n=SizeAttr.of(sym(0) * 64), step=IntegerAttr(7, i64), element="ui8", aligned=False)
    assert [(p.name, p.type, p.aligned) for p in kernel.parameters] == [
        ("x", "*u8", False),
        ("out", "*fp32", True),
        ("n", "i32", True),
        ("step", "i64", False),
        ("weight", "fp32", False),
        ("doubled", "i1", False),
    ]
    assert kernel.given is not None
    assert kernel.given.constants == (("BLOCK", "1024"),)
    assert kernel.given.order == ("x", "BLOCK", "out", "n", "step", "weight", "doubled")


@pytest.mark.parametrize("element", ["bf16", "f16", "f64", "i64", "i16", "i8", "i1"])
def test_pointers(element: str) -> None:
    kernel = scaled(n=IntegerAttr(512, i32), step=StringAttr("1"), element=element)
    wanted = {"bf16": "*bf16", "f16": "*fp16", "f64": "*fp64"}
    assert kernel.parameters[0].type == wanted.get(element, f"*{element}")


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100", "gfx942"])
def test_machine_code(target: str, tmp_path: Path) -> None:
    """A step of 1 is a constant and addresses are aligned: loads and stores are of 128 bits."""
    pytest.importorskip("triton")
    kernel = scaled(n=SizeAttr.of(sym(0) * 64), step=StringAttr("1"))
    binary = compile_kernel("", kernel, target, cache_dir=tmp_path)
    assert binary.warps == 4
    assert binary.spills == 0
    wide = "ld.global.v4" if ARCHITECTURES[target].backend == "cuda" else "_load_dwordx4"
    assert wide in binary.assembly
    if ARCHITECTURES[target].backend == "cuda":
        taken = re.findall(r"\.param \.(\w+) ", binary.assembly)
        assert taken == ["u64", "u64", "u32", "f32", "u8", "u64", "u64"], "and scratch memory, twice"
    if ARCHITECTURES[target].backend == "cuda":  # an AMD GPU loads as much from any address
        odd = scaled(n=SizeAttr.of(sym(0) * 64), step=StringAttr("1"), aligned=False)
        assert wide not in compile_kernel("", odd, target, cache_dir=tmp_path).assembly


def test_what_determines_the_code() -> None:
    first = scaled(n=IntegerAttr(512, i32), step=StringAttr("1"))
    others = [
        scaled(n=IntegerAttr(500, i32), step=StringAttr("1")),
        scaled(n=IntegerAttr(512, i32), step=StringAttr("2")),
        scaled(n=IntegerAttr(512, i32), step=StringAttr("1"), aligned=False),
        scaled(n=IntegerAttr(512, i32), step=StringAttr("1"), text=TEXT.replace("* 2", "* 3")),
        replace(first, warps=8),
    ]
    keys = {job("", kernel, "sm_90").key for kernel in (first, *others)}
    assert len(keys) == 1 + len(others)
    same = scaled(n=IntegerAttr(1024, i32), step=StringAttr("1"), text=TEXT + "# a comment\n")
    assert job("", same, "sm_90").key == job("", first, "sm_90").key


def test_a_text_that_triton_refuses(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    kernel = scaled(n=IntegerAttr(512, i32), step=StringAttr("1"), text=TEXT.replace("* weight", "* nothing"))
    with pytest.raises(KernelRefused, match="nothing is not defined"):
        compile_kernel("", kernel, "sm_90", cache_dir=tmp_path)


MODULE = """
func.func @main(%x: memref<512xf32> {th.sizes = "512", th.strides = "1"}) -> memref<512xf32> {
  %r = th.empty sizes "512" strides "1" : memref<512xf32>
  %t = th.alloc "512" : memref<512xf32>
  %a = th.view %x offset "0" sizes "512" strides "1" : memref<512xf32> -> !th.tensor<f32>
  %b = th.view %x offset "1" sizes "511" strides "1" : memref<512xf32> -> !th.tensor<f32>
  %c = th.view %t offset "0" sizes "512" strides "1" : memref<512xf32> -> !th.tensor<f32>
  %o = th.view %r offset "0" sizes "512" strides "1" : memref<512xf32> -> !th.tensor<f32>
  th.triton KERNEL grid "1, 1, 1" (%a) into(%c) {args = [#tw.arg<0>, #tw.arg<1>]}
    : (!th.tensor<f32>) into (!th.tensor<f32>)
  th.triton KERNEL grid "2, 1, 1" (%b) into(%o) {args = [#tw.arg<0>, #tw.arg<1>]}
    : (!th.tensor<f32>) into (!th.tensor<f32>)
  th.triton KERNEL grid "4, 1, 1" (%c) into(%o) {args = [#tw.arg<0>, #tw.arg<1>]}
    : (!th.tensor<f32>) into (!th.tensor<f32>)
  func.return %r : memref<512xf32>
}
"""
KERNEL = '<"add", 4, 3, "@triton.jit\\0Adef add(x, out):\\0A    pass\\0A">'


def test_launches_that_ask_for_the_same_share_a_kernel() -> None:
    module = parse_module(new_context(), MODULE.replace("KERNEL", KERNEL), "module.mlir")
    found = list(given_kernels(module, ["add"]).values())
    assert [kernel.name for kernel in found] == ["add_1", "add_2", "add_1"]  # `add` is a kernel of ours
    assert [kernel.parameters[0].aligned for kernel in found] == [True, False, True]


def test_all_of_a_unit(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    kernel = replace(scaled(n=IntegerAttr(512, i32), step=StringAttr("1")), name="scaled_1")
    unit = TritonUnit("", (kernel,))
    assert set(compile_unit(unit, "sm_90", cache_dir=tmp_path)) == {"scaled_1"}
    assert unit.listing.count("def scaled") == 1
