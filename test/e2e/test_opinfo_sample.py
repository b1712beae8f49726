"""A fixed part of `make sweep`: torch's own samples of a few operators, judged as the sweep judges them."""

from __future__ import annotations

import pytest
from changed_inputs import CHANGES
from opinfo import How, sweep

SAMPLE = {
    "float32": "add fmax gather hypot lgamma unfold masked_fill cumsum scatter_add std",
    "int64": "floor_divide gather tril_indices bitwise_or amax index_select",
    "bool": "bitwise_or any where cat",
}


@pytest.mark.parametrize("dtype", SAMPLE)
def test_samples_of_torch(dtype: str) -> None:
    names = SAMPLE[dtype].split()
    found = {f.op: f for f in sweep(f"^({'|'.join(names)})$", [dtype], How(samples=4))}
    assert set(names) <= {op.partition(".")[0] for op in found}
    assert [f for f in found.values() if f.status != "ok"] == []


@pytest.mark.parametrize("dynamic", [False, True])
def test_gradients_of_samples(dynamic: bool) -> None:
    found = list(
        sweep(
            "^(tanh|softmax|gather|std|addmm)$", ["float32"], How(samples=3, gradients=True, dynamic=dynamic)
        )
    )
    assert len(found) >= 5
    assert [f for f in found if f.status != "ok"] == []


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
def test_changed_samples(target: str) -> None:
    found = list(
        sweep("^(add|amax|softmax|cat)$", ["float32"], How(target, samples=2, inputs=tuple(CHANGES)))
    )
    assert len(found) >= 4
    assert [f for f in found if f.status != "ok"] == []
