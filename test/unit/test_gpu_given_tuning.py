"""Configurations of users' kernels: what is timed, and with which arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tilewright.dialects.index_expr import Var
from tilewright.dialects.registry import new_context
from tilewright.dialects.th.calls import TritonLaunchOp
from tilewright.frontend.tools.tool_io import parse_module
from tilewright.passes.rewrite import Remark, remarks_to
from tilewright.targets.gpu_triton import compiler
from tilewright.targets.gpu_triton.binary import Binary
from tilewright.targets.gpu_triton.choosing import Argument, Chooser
from tilewright.targets.gpu_triton.given_tuning import choose_given
from tilewright.targets.gpu_triton.kernel import TritonKernel

MODULE = """
func.func @NAME(%x: memref<?xf32> {th.sizes = "s0", th.strides = "1"}, %s0: index {tw.symbol = "s0"})
    -> memref<?xf32> {
  %r = th.empty sizes "s0" strides "1" : memref<?xf32>
  %a = th.view %x offset "0" sizes "s0" strides "1" : memref<?xf32> -> !th.tensor<f32>
  %o = th.view %r offset "0" sizes "s0" strides "1" : memref<?xf32> -> !th.tensor<f32>
  th.triton KERNEL grid "((s0 + 63) floordiv 64), 1, 1" (%a) into(%o) {
    args = [#tw.arg<0>, #tw.arg<1>, #tw.size<"s0">, 0.5 : f32, 1 : i1, 1099511627776 : i64, "64"],
    candidates = [#tw.config<
      8, 1, "((s0 + 127) floordiv 128), 1, 1",
      [#tw.arg<0>, #tw.arg<1>, #tw.size<"s0">, 2.0 : f32, 1 : i1, 1099511627776 : i64, "128"]
    >]} : (!th.tensor<f32>) into (!th.tensor<f32>)
  func.return %r : memref<?xf32>
}
"""
KERNEL = '<"f", 4, 3, "@triton.jit\\0Adef f(x, out, n, weight, doubled, far, BLOCK):\\0A    pass\\0A">'
BINARY = Binary("sm_90", "f", b"f", "", 4, 0, 0, 1, 32, 0)


@dataclass
class Timed:
    """Launches that were timed; those of 8 warps are the fastest."""

    folder: Path
    launches: list[tuple[TritonKernel, Sequence[Argument]]] = field(
        default_factory=list[tuple[TritonKernel, Sequence[Argument]]]
    )

    def clock(self, kernel: TritonKernel, binary: Binary, arguments: Sequence[Argument]) -> float:
        self.launches.append((kernel, arguments))
        return 1e-6 / binary.warps

    def choose(self, size: int, name: str = "main") -> tuple[TritonLaunchOp, str]:
        """What is launched, and why, where `s0` is usually `size`."""
        text = MODULE.replace("KERNEL", KERNEL).replace("NAME", name)
        module, remarks = parse_module(new_context(), text, "module.mlir"), list[Remark]()
        with remarks_to(remarks.append):
            choose_given(module, Chooser("sm_90", "H", self.folder, 0, self.clock), {Var("s", 0): size})
        (op,) = [op for op in module.walk() if isinstance(op, TritonLaunchOp)]
        assert op.candidates is None
        return op, remarks[-1].why


@pytest.fixture
def timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Timed:
    monkeypatch.setattr(compiler, "stored", lambda task, folder: None)
    monkeypatch.setattr(compiler, "compile_job", lambda task, folder: replace(BINARY, warps=task.warps))
    return Timed(tmp_path)


def test_arguments_are_those_of_usual_sizes(timed: Timed) -> None:
    op, why = timed.choose(1000)
    expected = "autotune: 1 of 0-1, weight 2.0, BLOCK 128, 8 warps, 1 stages (0: 0.2 us, 1: 0.1 us)"
    assert why == expected
    assert (op.kernel.warps.data, op.kernel.stages.data, op.grid.data) == (
        8,
        1,
        "((s0 + 127) floordiv 128), 1, 1",
    )
    grids = [[size.constant for size in kernel.grid] for kernel, _ in timed.launches]
    assert grids == [[16, 1, 1], [8, 1, 1]]
    for (_, arguments), weight in zip(timed.launches, (0.5, 2.0), strict=True):
        *buffers, n, given, doubled, far = arguments
        assert buffers == [4000, 4000]
        assert isinstance(n, ctypes.c_int32)
        assert isinstance(given, ctypes.c_float)
        assert isinstance(doubled, ctypes.c_bool)
        assert isinstance(far, ctypes.c_int64)
        assert (n.value, given.value, doubled.value, far.value) == (1000, weight, True, 1 << 40)


def test_choices_are_kept_for_usual_sizes(timed: Timed) -> None:
    for size, launches in ((1000, 2), (1000, 2), (2000, 4)):
        timed.choose(size)
        assert len(timed.launches) == launches


def test_symbols_of_other_functions_are_unknown(timed: Timed) -> None:
    _, why = timed.choose(1000, name="body")
    assert "sizes are only known at run time" in why
    assert not timed.launches
