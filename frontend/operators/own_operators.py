"""Operators of ours, registered with torch: graphs may call them wherever ATen has none that says as much."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

from ..torch_internals import find_operator
from . import dropout_operators, random_operators, scan_operators

NAMESPACE = "tilewright"
_OPERATORS = (*random_operators.OPERATORS, *scan_operators.OPERATORS, *dropout_operators.OPERATORS)
_LIBRARY: list[Any] = []


@cache
def operators() -> dict[str, Any]:
    """The operators by name, registered with torch."""
    api: Any = torch.library
    library = api.Library(NAMESPACE, "FRAGMENT")
    _LIBRARY.append(library)
    found: dict[str, Any] = {}
    for schema, run, fake, tags in _OPERATORS:
        name = schema.partition("(")[0]
        library.define(schema, tags=(torch.Tag.pt2_compliant_tag, *tags))
        library.impl(name, run, "CompositeExplicitAutograd")
        api.register_fake(f"{NAMESPACE}::{name}", fake, lib=library)
        found[name] = find_operator(f"{NAMESPACE}::{name}")
    return found
