"""Every pass that changes a module counts what it does, so that `bisect` can take it apart."""

from __future__ import annotations

import pytest

from tilewright.dialects.registry import new_context
from tilewright.frontend.check.bisection import bisect_rewrites
from tilewright.frontend.tools.tool_io import parse_module
from tilewright.passes.manager import module_text, parse_pipeline, run_pipeline, verify_module
from tilewright.passes.rewrite import counting_rewrites
from tilewright.targets.registry import pipeline

IMAGE, FILTER, OUT = "tensor<1x16x8x8xf32>", "tensor<32x16x3x3xf32>", "tensor<1x32x6x6xf32>"
GEOMETRY = "strides [1, 1] padding [0, 0] dilation [1, 1] output_padding [0, 0] groups 1"
TEXT = f"""
func.func @main(
  %x: {IMAGE} {{tw.name = "x"}}, %w: {FILTER} {{tw.name = "w", tw.frozen}},
  %a: tensor<4x8xf32> {{tw.name = "a"}}, %m: tensor<8x8xf32> {{tw.name = "m", tw.frozen}}
) -> ({OUT}, tensor<4x8xf32>, tensor<4x8xf32>) {{
  %c = tw.convolution %x, %w {GEOMETRY} : ({IMAGE}, {FILTER}) -> {OUT}
  %e = tw.exp %c : {OUT}
  %t = tw.transpose %m by [1, 0] : tensor<8x8xf32> -> tensor<8x8xf32>
  %p = tw.matmul %a, %t : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %q = tw.exp %p : tensor<4x8xf32>
  %r = tw.matmul %q, %t : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %s = tw.exp %r : tensor<4x8xf32>
  func.return %e, %q, %s : {OUT}, tensor<4x8xf32>, tensor<4x8xf32>
}}
"""


@pytest.mark.parametrize("target", ["cpu", "gpu_triton"])
def test_every_pass_that_changes_something_counts_it(target: str) -> None:
    module, silent = parse_module(new_context(), TEXT, "test"), list[str]()
    for pass_ in parse_pipeline(",".join(pipeline(target))):
        before = module_text(module)
        with counting_rewrites() as count:
            run_pipeline(new_context(), module, [pass_])
        if module_text(module) != before and count.done == 0:
            silent.append(pass_.name)
    assert silent == []


GROUP = """
tk.group @both (%x: memref<64xf32>, %y: memref<262144xf32>) {
  tk.part @little(%x)
  tk.part @large(%y)
}
tk.func @little [64] (%x: memref<64xf32>) {
  %0 = tk.load %x[d0] : memref<64xf32> -> f32
  %1 = arith.negf %0 : f32
  tk.store %1, %x[d0] : f32, memref<64xf32>
}
tk.func @large [262144] (%y: memref<262144xf32>) {
  %0 = tk.load %y[d0] : memref<262144xf32> -> f32
  %1 = arith.negf %0 : f32
  tk.store %1, %y[d0] : f32, memref<262144xf32>
}
"""


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_a_group_is_scheduled_before_all_its_parts_are(limit: int) -> None:
    module = parse_module(new_context(), GROUP, "test")
    with counting_rewrites(limit) as count:
        run_pipeline(new_context(), module, parse_pipeline("schedule-gpu"))
    verify_module(module)
    assert (count.done, module_text(module).count("tk.blocks")) == (limit, limit)


WHOLE = ["hoist-frozen", "pack-convolutions", "dedupe-kernels", "bufferize", "plan-memory", "schedule-cpu"]


@pytest.mark.parametrize("name", WHOLE)
def test_the_passes_of_whole_functions_are_taken_apart(name: str) -> None:
    """The first rewrite of the pass is called bad: bisecting names it, and the module before it is whole."""
    module = parse_module(new_context(), TEXT, "test")
    passes = parse_pipeline(",".join(pipeline("cpu")))
    place = [pass_.name for pass_ in passes].index(name)
    run_pipeline(new_context(), module, passes[:place])
    untouched = module.clone()
    with counting_rewrites(0):
        run_pipeline(new_context(), untouched, [passes[place]])
    verify_module(untouched)
    clean = module_text(untouched)
    found = bisect_rewrites(str(passes[place]), module, lambda changed: module_text(changed) != clean)
    assert found is not None
    assert found.what is not None
    assert (found.number, found.before) == (1, clean)
