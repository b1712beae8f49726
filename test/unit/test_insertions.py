"""Where passes are put into a pipeline, and what is said of places that it does not have."""

from __future__ import annotations

import pytest

from tilewright.dialects.diagnostics import UnknownPlace
from tilewright.passes.insertions import insert_passes
from tilewright.passes.manager import parse_pipeline

PIPELINE = "cse,dce,canonicalize,dce"
PLACES = {
    "before the first pass": ({"before:cse": ["fuse"]}, "fuse,cse,dce,canonicalize,dce"),
    "behind the last pass": ({"after:dce#2": ["fuse"]}, "cse,dce,canonicalize,dce,fuse"),
    "at the first of two": ({"after:dce": ["fuse"]}, "cse,dce,fuse,canonicalize,dce"),
    "in the order given": ({"before:dce": ["fuse", "fold-rows"]}, "cse,fuse,fold-rows,dce,canonicalize,dce"),
    "two names of one place": (
        {"after:cse": ["fuse"], "before:dce": ["cse"]},
        "cse,fuse,cse,dce,canonicalize,dce",
    ),
    "several passes in one text": ({"after:cse": ["dce,cse"]}, "cse,dce,cse,dce,canonicalize,dce"),
    "nowhere": ({}, PIPELINE),
}


@pytest.mark.parametrize(("places", "expected"), PLACES.values(), ids=PLACES)
def test_passes_stand_where_they_are_put(places: dict[str, list[str]], expected: str) -> None:
    found = insert_passes(parse_pipeline(PIPELINE), places)
    assert ",".join(pass_.name for pass_ in found) == expected


def test_options_of_a_pass_are_kept() -> None:
    (_, fuse) = insert_passes(parse_pipeline("cse"), {"after:cse": ["fuse{max_ops=7}"]})
    assert getattr(fuse, "max_ops", None) == 7


WRONG = {
    "before": "not written as",
    "under:cse": "not written as",
    "after:dce#x": "not written as",
    "after:dce#": "not written as",
    "after:fuse": "has no pass `fuse`",
    "after:dce#3": "holds `dce` 2 times",
    "after:dce#0": "holds `dce` 2 times",
}


@pytest.mark.parametrize(("place", "reason"), WRONG.items())
def test_a_place_that_is_none_is_an_error(place: str, reason: str) -> None:
    with pytest.raises(UnknownPlace, match="TW") as raised:
        insert_passes(parse_pipeline(PIPELINE), {place: ["cse"]})
    assert reason in str(raised.value)
    assert place in str(raised.value)


def test_an_empty_pipeline_says_so() -> None:
    with pytest.raises(UnknownPlace, match="it is empty"):
        insert_passes((), {"after:cse": ["dce"]})
