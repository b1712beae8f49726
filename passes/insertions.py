"""Passes put before or after named passes of a pipeline: `{"after:fuse": ["my-pass"]}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.passes import ModulePass

from tilewright.dialects.diagnostics import UnknownPlace

from .manager import parse_pipeline


def insert_passes(
    passes: Sequence[ModulePass], insertions: Mapping[str, Sequence[str]]
) -> tuple[ModulePass, ...]:
    """`passes` with others around some of them; raises UnknownPlace.

    A place is `before:NAME` or `after:NAME`, where NAME is a pass of the given pipeline. Of
    several passes of one name the first is meant; `after:dce#2` means the second. What is
    inserted is written as `-p` takes it, options included. Several at one place run in the
    order given.
    """
    before: dict[int, list[ModulePass]] = {}
    for place, texts in insertions.items():
        index = _position(place, passes)
        before.setdefault(index, []).extend(p for text in texts for p in parse_pipeline(text))
    found: list[ModulePass] = []
    for index in range(len(passes) + 1):
        found += before.get(index, [])
        found += passes[index : index + 1]
    return tuple(found)


def _position(place: str, passes: Sequence[ModulePass]) -> int:
    """Before which pass of the pipeline something goes."""
    side, colon, rest = place.partition(":")
    name, hash_, number = rest.partition("#")
    if not colon or side not in ("before", "after") or (hash_ and not number.isdecimal()):
        raise UnknownPlace(place=place, reason="it is not written as before:NAME, after:NAME or after:NAME#2")
    found = [i for i, p in enumerate(passes) if p.name == name]
    wanted = int(number) if hash_ else 1
    if not 1 <= wanted <= len(found):
        times = f"holds `{name}` {len(found)} times" if found else f"has no pass `{name}`"
        known = ", ".join(p.name for p in passes) or "it is empty"
        raise UnknownPlace(place=place, reason=f"the pipeline {times}: {known}")
    return found[wanted - 1] + (side == "after")
