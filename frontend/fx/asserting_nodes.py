"""Nodes that assert facts about sizes, which Dynamo's guards have checked already; and tokens of effects."""

from __future__ import annotations

IGNORED = frozenset(
    f"aten.{name}.{overload}"
    for name, overload in (
        ("_assert_scalar", "default"),
        ("_assert_tensor_metadata", "default"),
        ("sym_constrain_range", "default"),
        ("sym_constrain_range_for_size", "default"),
        ("_assert_async", "msg"),
        ("_functional_assert_async", "msg"),
    )
) | {"prims._make_token.default", "prims._sink_tokens.default"}
