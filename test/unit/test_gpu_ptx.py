"""Which loops of PTX ptxas may write out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_gpu_compile import BOTH

from tilewright.targets.gpu_triton.architectures import architecture
from tilewright.targets.gpu_triton.compiler import compile_kernel, triton_version
from tilewright.targets.gpu_triton.ptx import with_product_loops

KEPT = '\t.pragma "nounroll";\n'
NESTED = """$L__BB0_1:                              // an outer loop
{outer}\tld.global.b32 %r1, [%rd1];
$L__BB0_2:
{inner}\t{what}
\t@%p1 bra $L__BB0_2;
\t@%p2 bra $L__BB0_1;
$L__BB0_3:
{sum}\tadd.f32 %r1, %r1, %r2;
\t@!%p3 bra.uni $L__BB0_3;
\t{after}
\t@%p4 bra $L__BB0_4;
\t{after}
$L__BB0_4:
\tret;
"""


def text(what: str, after: str = "ret;", *, kept: bool = False) -> str:
    """One loop in another, a loop that sums, and a branch that goes forward."""
    pragma = KEPT if kept else ""
    return NESTED.format(outer=pragma, inner=pragma, sum="", what=what, after=after)


WGMMA = "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%r1}, %rd1, %rd2, %p3, 1, 1, 0, 1;"
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r1}, {%r2}, {%r3}, {%r1};"


@pytest.mark.parametrize(
    ("target", "product"),
    [("sm_80", MMA), ("sm_90", WGMMA), ("sm_90", MMA)],
    ids=["mma", "wgmma", "few_rows"],
)
def test_loops_around_products_are_kept(target: str, product: str) -> None:
    made = with_product_loops(text(product, after=product), architecture(target).tensor_core)
    assert made == text(product, after=product, kept=True)


@pytest.mark.parametrize(
    "what", ["fma.rn.f32 %r1, %r2, %r3, %r1;", "ld.global.v4.b32 {%r1}, [%rd1];"], ids=["sum", "load"]
)
def test_other_loops_are_ptxas_own_matter(what: str) -> None:
    """Several loads at a time are faster."""
    assert with_product_loops(text(what), architecture("sm_90").tensor_core) == text(what)


@pytest.mark.skipif(not triton_version(), reason="triton is not installed")
@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_loops_of_products_stay_loops(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of eight steps; ptxas writes them out where it may. Triton's hooks are as they were."""
    from tilewright.targets.gpu_triton import triton_compiler

    kept = compile_kernel(BOTH.text, BOTH.kernels[1], target, cache_dir=tmp_path / "kept")
    assert len(re.findall("nounroll", kept.assembly)) == 1
    assert triton_compiler.triton.knobs.runtime.add_stages_inspection_hook is None
    monkeypatch.setattr(triton_compiler, "with_product_loops", lambda text, product: text)
    written_out = compile_kernel(BOTH.text, BOTH.kernels[1], target, cache_dir=tmp_path / "out")
    assert "nounroll" not in written_out.assembly
    assert len(kept.image) < 0.8 * len(written_out.image)
