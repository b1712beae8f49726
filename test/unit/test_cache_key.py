"""What tells one constant of a graph from another, in the names of kept code; and which sources count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.fx import symbolic_trace

from tilewright.frontend.cache.cache_key import source_files, tensor_digest
from tilewright.frontend.cache.operator_sources import NoSource, operators_in

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


_OPERATOR = """
def fake(x):
    return x.new_empty(x.shape)

def register(torch, library, tags=()):
    library.define("scale(Tensor x) -> Tensor", tags=tags)
    torch.library.register_fake("cached::scale", fake, lib=library)
"""


def _described(text: str, file: str, tags: Any = ()) -> list[str]:
    """What the key has of a graph with an operator that `text` defines."""
    names: dict[str, Any] = {}
    exec(compile(text, file, "exec"), names)
    with torch.library._scoped_library("cached", "DEF") as library:
        names["register"](torch, library, tags)
        return list(operators_in(symbolic_trace(lambda x: torch.ops.cached.scale.default(x.sin()))))


def test_operators_of_users_count(tmp_path: Path) -> None:
    """By their schemas, tags and files: a fake, or a gradient, may be another one."""
    file = tmp_path / "operators.py"
    file.write_text(_OPERATOR)
    first = _described(_OPERATOR, str(file))
    assert first == _described(_OPERATOR, str(file))
    assert first != _described(_OPERATOR, str(file), torch.Tag.flexible_layout)
    changed = _OPERATOR.replace("x.shape", "x.shape[:1]")
    file.write_text(changed)
    assert first != _described(changed, str(file))
    assert not list(operators_in(symbolic_trace(lambda x: torch.ops.aten.sin.default(x))))


def test_an_operator_in_no_file_is_not_kept() -> None:
    with pytest.raises(
        NoSource, match=r"`cached\.scale\.default` is defined in no file, but in <a notebook>"
    ):
        _described(_OPERATOR, "<a notebook>")
