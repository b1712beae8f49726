"""A fixed part of `make sweep`: torch's own samples of a few operators, judged as the sweep judges them."""

from __future__ import annotations

import opinfo
import pytest

SAMPLE = {
    "float32": "add fmax gather hypot lgamma unfold masked_fill cumsum scatter_add std",
    "int64": "floor_divide gather tril_indices bitwise_or amax index_select",
    "bool": "bitwise_or any where cat",
}


@pytest.mark.parametrize("dtype", SAMPLE)
def test_samples_of_torch(dtype: str) -> None:
    names = SAMPLE[dtype].split()
    found = {f.op: f for f in opinfo.sweep(f"^({'|'.join(names)})$", [dtype], "cpu_openmp", 4)}
    assert set(names) <= {op.partition(".")[0] for op in found}
    assert [f for f in found.values() if f.status != "ok"] == []
