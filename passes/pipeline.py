"""The pass order, as data, per target. A new pass gets its place here."""

from __future__ import annotations

from collections.abc import Mapping

TENSOR: tuple[str, ...] = (
    "canonicalize",
    "cse",
    "dce",
    "decompose",
    "simplify-views",
    "slice-gathers",
    "canonicalize",
    "fold-biases",
    "merge-products",
    "gather-early",
    "select-scatters",
    "cse",
    "join-pieces",
    "fold-one-hot-sums",
    "scatter-onto-addends",
    "share-heads",
    "write-slices",
)
"""tw to tw: what every target shares."""

KERNELS: tuple[str, ...] = (
    "convert-tw-to-tk",
    "absorb-views",
    "dce",
    "fuse",
    "fuse-siblings",
    "dce",
    "store-views",
    "store-operands",
    "slice-early",
    "duplicate-results",
    "store-last",
    "bufferize",
    "dedupe-kernels",
    "plan-memory",
    "drop-self-copies",
    "coalesce-axes",
)
"""tw to outlined, unscheduled tk and a th plan."""

FREEZE: tuple[str, ...] = (
    "pack-weights",
    "pack-convolutions",
    "sink-transposes",
    "simplify-views",
    "cse",
    "hoist-frozen",
    "dce",
)
"""Splits off `@setup`, which runs once per version of the parameters."""

LONGEST_SORT: Mapping[str, int] = {"cpu": 16384, "gpu": 2048}
"""Elements of a row that a kernel sorts; of 64 bits each, a quarter. A program of a GPU holds them."""

SELECTED: Mapping[str, int] = {"cpu": 1, "gpu": 8}
"""Numbers that are scattered to each row of a constant, at most, of which elements are chosen by position."""

HELD_ROW = 8192
"""Elements of a row that a program of a GPU holds while it is read several times."""

SHORT_SCAN = 4
"""Elements that a scan has, at most, where a kernel of a GPU computes each again for those behind it."""

PRODUCTS = 4
"""Products of halves that one kernel of a GPU adds up."""

_TENSOR_CPU = {
    "decompose": f"decompose{{sorts={LONGEST_SORT['cpu']}}}",
    "share-heads": "share-heads{calls=true}",
}
_KERNELS_CPU = {"convert-tw-to-tk": "convert-tw-to-tk{products=vectors scatters=all attention=rows}"}

_FUSED, _AFTER_FUSION = KERNELS.index("fuse") + 1, KERNELS.index("duplicate-results")
_TENSOR_GPU = {
    "merge-products": f"merge-products{{apart={PRODUCTS}}}",
    "decompose": f"decompose{{moments={HELD_ROW} sorts={LONGEST_SORT['gpu']} scans={SHORT_SCAN}}}",
    "select-scatters": f"select-scatters{{numbers={SELECTED['gpu']}}}",
}
_COLUMN = 512
"""Elements of a column that a program of a GPU holds."""
_FUSION_GPU = {
    "fuse": f"fuse{{hold_back=true tile=128 far=true column={_COLUMN} max_ops=512}}",
    "fuse-siblings": "fuse-siblings{scans=true scatters=true}",
}
_DECOMPOSED = TENSOR.index("decompose") + 1
_GPU: tuple[str, ...] = (
    *(_TENSOR_GPU.get(name, name) for name in TENSOR[:_DECOMPOSED]),
    "simplify-views",
    "channels-last",
    "decompose-convolutions",
    *(_TENSOR_GPU.get(name, name) for name in TENSOR[_DECOMPOSED:]),
    "scatter-slices",
    "pick-places",
    "distribute-weights",
    f"reduce-rows-first{{column={_COLUMN}}}",
    "align-reductions",
    "widen-scatters",
    "draw-together",
    "split-attention",
    "split-keys",
    "convert-tw-to-tk{products=half concats=true scatters=any}",
    "turn-filters",
    *KERNELS[1 : _FUSED - 1],
    "merge-scatters",
    "fold-rows",
    _FUSION_GPU["fuse"],
    "drop-checks",
    "chain-products",
    "recompute-products",
    "widen-scores",
    "sum-chains",
    "sum-in-chains",
    "walk-lists",
    "sum-in-products",
    f"reduce-small{{most={HELD_ROW}}}",
    "sum-at-source",
    "scatter-at-source",
    "reduce-at-source",
    _FUSION_GPU["fuse-siblings"],
    "reduce-at-once",
    f"store-statistics{{column={_COLUMN}}}",
    "compute-where-read",
    "leave-products",
    "accumulate-products",
    *KERNELS[_FUSED + 1 : _AFTER_FUSION],
    "order-factors",
    "reduce-online",
    "split-reductions",
    f"join-products{{most={PRODUCTS}}}",
    "duplicate-results{turned=true}",
    "copy-where-read",
    "copy-together",
    "store-last",
    "bufferize{once=true}",
    "split-scatters{early=true}",
    "dedupe-kernels{unit=16}",
    "unroll-reductions",
    "group-launches",
    *KERNELS[KERNELS.index("plan-memory") : -1],
    "split-scatters",
    KERNELS[-1],
    "unroll-neighbours",
    "flatten-axes",
    "split-lanes",
    "unpack-factors",
    "expand-float8",
    "narrow-integers",
    "fold-positions",
    "reduce-online",
    "exp-to-exp2",
    "split-head-dims",
    "schedule-gpu",
    "apply-schedule",
    "interleave-factors",
    "share-turned-loads",
    "share-draws",
    "group-neighbours",
    "await-loads",
)
"""Libraries have no equal for matrix products of f32; those of halves fuse with what surrounds them."""

PIPELINES: Mapping[str, tuple[str, ...]] = {
    "cpu": (
        *(_TENSOR_CPU.get(name, name) for name in TENSOR),
        "call-scaled-products",
        *FREEZE,
        *(_KERNELS_CPU.get(name, name) for name in KERNELS[:_FUSED]),
        "drop-checks",
        "chain-products{calls=true}",
        "dce",
        "walk-lists",
        *KERNELS[_FUSED:],
        "expand-float8",
        "widen-scans",
        "narrow-integers",
        "fold-positions",
        "schedule-cpu",
        "apply-schedule",
    ),
    "gpu": _GPU,
}


def pipeline_text(target: str) -> str:
    """The pipeline of a target as `-p` takes it."""
    return ",".join(PIPELINES[target])
