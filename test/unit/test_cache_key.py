"""What tells one constant of a graph from another, in the names of kept code; and which sources count."""

from __future__ import annotations

from pathlib import Path

import torch

from tilewright.frontend.cache.cache_key import source_files, tensor_digest

COUNTS = torch.arange(12)


def test_parts_of_one_tensor_differ() -> None:
    """Each lies in the memory of all of them."""
    parts = [COUNTS[i : i + 3] for i in range(0, 12, 3)]
    assert len({tensor_digest(part) for part in parts}) == 4
    assert tensor_digest(parts[1]) == tensor_digest(torch.arange(3, 6))


def test_layouts_differ() -> None:
    square = COUNTS[:9].view(3, 3)
    assert tensor_digest(square + square.t()) != tensor_digest((square + square.t()).t())


def test_one_element_with_any_stride() -> None:
    one = torch.empty_strided((1,), (3,), dtype=torch.int64).fill_(7)
    assert tensor_digest(one) == tensor_digest(one.clone(memory_format=torch.preserve_format))
    assert tensor_digest(one) != tensor_digest(one + 1)


def test_every_source_file_counts() -> None:
    """Other sources may compile the same graph to other code, headers included."""
    root = Path(__file__).parents[2]
    layers = [root / layer for layer in ("dialects", "passes", "targets", "frontend")]
    expected = {
        str(p.relative_to(root)) for layer in layers for e in ("py", "h") for p in layer.rglob(f"*.{e}")
    }
    assert len(expected) > 500
    found = dict(source_files())
    assert set(found) == expected
    assert all(file.is_file() for file in found.values())
