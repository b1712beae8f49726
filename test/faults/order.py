"""Which tests are asked first about a bug in some file: those that are nearest to it, and quick."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fault import Fault

SEMANTIC = "test/unit/test_lit_keeps_meaning.py::test_passes_keep_the_meaning_of_their_lit_inputs"

LIT: Mapping[str, Sequence[str]] = {
    "passes/tensor/fold": ("passes/canonicalize",),
    "dialects/lossless": ("passes/canonicalize",),
    "passes/tensor/reshape": ("passes/simplify_views", "passes/canonicalize"),
    "passes/tensor/decompose": ("passes/decompose", "passes/decompose_pooling"),
    "passes/tensor/pieces": ("passes/join_pieces",),
    "passes/tensor/zero_signs": ("passes/join_pieces",),
    "passes/tensor/one_place": ("passes/join_pieces", "passes/scatter_slices"),
    "passes/layout/frozen": ("passes/hoist_frozen", "passes/pack_weights"),
    "passes/layout/packed_convolutions": ("passes/pack_convolutions",),
    "passes/layout/worth_turning": ("passes/channels_last",),
    "passes/layout/permute": ("passes/sink_transposes",),
    "passes/kernels/ranges": ("passes/narrow_integers",),
    "passes/kernels/one_axis": ("passes/coalesce_axes", "passes/flatten_axes"),
    "passes/kernels/": (
        "passes/absorb_views",
        "passes/fuse",
        "passes/convert_tw_to_tk",
        "passes/apply_schedule",
    ),
    "passes/memory/": ("passes/bufferize", "passes/store_views", "passes/absorb_views"),
    "passes/fusion/match": ("passes/fuse", "passes/fuse_siblings"),
    "passes/fusion/merge": ("passes/fuse", "passes/fuse_siblings"),
    "passes/fusion/join": ("passes/recompute_products", "passes/chain_products"),
    "passes/products/row_sums": ("passes/recompute_products",),
    "passes/fusion/inline": ("passes/fuse", "passes/convert_concats"),
    "passes/lowering/lower_concat": ("passes/convert_concats",),
    "passes/lowering/lower_scatter": ("passes/convert_scatters",),
    "passes/lowering/": ("passes/convert_tw_to_tk", "passes/convert_products"),
    "passes/fusion/": ("passes/fuse", "passes/absorb_views"),
    "passes/products/": ("passes/chain_products", "passes/recompute_products"),
    "passes/reductions/": ("passes/split_reductions", "passes/sum_at_source", "passes/store_statistics"),
    "passes/host/kernel_key": ("passes/dedupe_kernels",),
    "passes/host/plan": ("passes/plan_memory",),
    "passes/host/liveness": ("passes/plan_memory",),
    "passes/host/launch_order": ("passes/group_launches",),
    "passes/host/inplace": ("passes/bufferize", "passes/bufferize_in_place"),
    "passes/host/stored_last": ("passes/bufferize_in_place",),
    "passes/host/": ("passes/bufferize", "passes/plan_memory"),
    "passes/schedule/loops/tile": ("passes/apply_schedule", "passes/schedule_gpu"),
    "passes/schedule/offsets": ("passes/schedule_gpu",),
    "passes/schedule/tiles/tile": ("passes/apply_schedule", "passes/schedule_gpu"),
    "passes/schedule/tiles/chain": ("passes/apply_schedule_chains",),
    "passes/schedule/loops/contract": ("passes/schedule_contraction", "passes/schedule_convolution"),
    "passes/schedule/collisions": ("passes/schedule_cpu_scatters",),
    "passes/schedule/": ("passes/apply_schedule", "passes/schedule_cpu"),
    "dialects/index_expr/": ("passes/absorb_views", "passes/coalesce_axes", "passes/flatten_axes"),
    "targets/cpu_openmp/": ("targets/cpu_kernels", "targets/cpu_host"),
    "targets/native/": ("targets/cpu_host", "targets/cpu_kernels"),
    "targets/gpu_triton/": ("targets/gpu_kernels",),
}
"""Lit files by how a source file's path begins; a pass has its own as well."""

_GPU = (
    "unit/test_triton_text",
    "unit/test_triton_graphs",
    "unit/test_gpu_host",
    "unit/test_cuda_graphs",
    "e2e/test_gpu_emulated",
    "e2e/test_gpu_on_stand_in",
)
_KERNELS = ("unit/test_tk_schedule", "unit/test_cpu_kernels", "unit/test_half_products")
_LOWERED = ("unit/test_lowerings", "unit/test_tw_passes", "e2e/test_op_matrix", "e2e/test_special_values")
PYTEST: Mapping[str, Sequence[str]] = {
    "passes/tensor/": ("unit/test_tw_passes", "e2e/test_special_values", "e2e/test_op_matrix"),
    "passes/layout/channels": ("e2e/test_gpu_channels_last",),
    "passes/layout/turn": ("e2e/test_gpu_channels_last",),
    "passes/layout/": ("unit/test_tw_passes", "unit/test_half_products", "e2e/test_convolutions"),
    "passes/kernels/": (*_LOWERED, *_KERNELS),
    "passes/kernels/ranges": ("unit/test_ranges",),
    "passes/lowering/": _LOWERED,
    "passes/fusion/": _LOWERED,
    "passes/products/": (*_LOWERED, *_GPU),
    "passes/reductions/": (*_LOWERED, *_GPU),
    "passes/functions/": (*_KERNELS, *_GPU),
    "passes/memory/": ("unit/test_th_plan", "e2e/test_aliasing", "e2e/test_aten_ops"),
    "passes/host/": ("unit/test_th_plan", "unit/test_th_random", "e2e/test_aliasing", "e2e/test_aten_ops"),
    "passes/schedule/": _KERNELS,
    "passes/schedule/blocks": _GPU,
    "passes/schedule/tiles/": _GPU,
    "passes/schedule/tiles/chain": ("e2e/test_gpu_attention",),
    "passes/schedule/loops/turned": ("unit/test_cpu_turns",),
    "dialects/index_expr/": ("unit/test_index_expr", *_KERNELS),
    "targets/cpu_openmp/": (
        "unit/test_cpu_lanes",
        "unit/test_cpu_kernels",
        "unit/test_cpu_math",
        "unit/test_half_products",
    ),
    "targets/native/": (
        "unit/test_cpu_lanes",
        "unit/test_cpu_launch",
        "unit/test_cpu_kernels",
        "e2e/test_aten_ops",
    ),
    "targets/gpu_triton/": _GPU,
    "frontend/decompositions/windows": ("e2e/test_windows",),
    "frontend/aten/": (
        "e2e/test_aten_rows",
        "e2e/test_aten_ops",
        "unit/test_frontend_import",
        "e2e/test_opinfo_sample",
    ),
    "targets/linalg/": ("unit/test_linalg_export",),
    "targets/native/store": ("unit/test_store",),
    "frontend/cache/cache_key": ("e2e/test_warm_start",),
    "frontend/runtime/cuda_graphs": ("unit/test_cuda_graphs",),
    "frontend/fx/kept_results": ("unit/test_kept_results", "e2e/test_gpu_on_stand_in"),
    "frontend/fx/symbols": ("e2e/test_dynamic_shapes",),
    "frontend/": (
        "unit/test_frontend_import",
        "e2e/test_aliasing",
        "e2e/test_bad_input_calls",
        "e2e/test_training_steps",
        "e2e/test_bad_input_values",
    ),
}
"""Tests by how a source file's path begins, the longest beginning first."""

_SLOW = ("test_gpu.py", "test_packaging.py", "test_tutorials.py", "test_lsp.py", "test_faults.py")
"""Not asked at all: they need a GPU or build things, or are about this list."""


def lit_files(root: Path, fault: Fault) -> list[str]:
    """The lit files of the pass, and of those that use its helpers."""
    own = [f"passes/{Path(fault.file).stem}"]
    found = [f"test/{name}.mlir" for name in (*own, *_by_prefix(LIT, fault.file))]
    return [name for name in dict.fromkeys(found) if (root / name).exists()]


def semantic_tests(files: Sequence[str]) -> list[str]:
    """The same files, run by the interpreter before and after their passes."""
    return [f"{SEMANTIC}[{Path(name).stem}]" for name in files if name.startswith("test/passes/")]


def near_tests(root: Path, fault: Fault) -> list[str]:
    """The pytest files that are about this part: that of its name first."""
    own = f"unit/test_{Path(fault.file).stem}"
    found = [f"test/{name}.py" for name in (own, *_by_prefix(PYTEST, fault.file))]
    return [name for name in found if (root / name).exists()]


def other_tests(root: Path, asked: Sequence[str]) -> list[str]:
    """Every other pytest file but the slow ones."""
    paths = [*(root / "test/unit").glob("test_*.py"), *(root / "test/e2e").glob("test_*.py")]
    names = sorted(str(path.relative_to(root)) for path in paths if path.name not in _SLOW)
    return [name for name in names if name not in asked]


def _by_prefix(table: Mapping[str, Sequence[str]], file: str) -> Iterator[str]:
    prefixes = sorted((p for p in table if file.startswith(p)), key=len, reverse=True)
    return iter(dict.fromkeys(name for prefix in prefixes for name in table[prefix]))
