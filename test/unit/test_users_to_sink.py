"""What stands between a kernel and one that reads it: ops that may move behind both, or another path."""

from __future__ import annotations

from itertools import pairwise

import pytest
from kernels_harness import Kernel, kernels_of, module_of

from tilewright.passes.fusion.merge import users_to_sink

SQUARE = "f32 6, 6"


def copy(source: str, to: str) -> Kernel:
    return "6, 6", f"%0 = load {source}[d0, d1]\nstore %0, {to}[d0, d1]"


def total(first: str, second: str) -> Kernel:
    return "6, 6", (
        f"%0 = load {first}[d0, d1]\n%1 = load {second}[d0, d1]\n"
        "%2 = arith.addf %0, %1 : f32\nstore %2, r[d0, d1]"
    )


@pytest.mark.parametrize("links", [1, 5, 100])
def test_another_path_is_found_however_long(links: int) -> None:
    names = ["p", *(f"v{i}" for i in range(links))]
    chain = [copy(a, b) for a, b in pairwise(names)]
    kernels = [copy("x", "p"), *chain, total("p", names[-1])]
    module = module_of(dict.fromkeys(("x", *names, "r"), SQUARE), kernels, "r")
    producer, *_, consumer = kernels_of(module)
    assert users_to_sink(producer, consumer) == "another path leads from it to the consumer"


@pytest.mark.parametrize("links", [1, 100])
def test_what_needs_it_and_leads_nowhere_moves(links: int) -> None:
    names = ["p", *(f"v{i}" for i in range(links))]
    chain = [copy(a, b) for a, b in pairwise(names)]
    kernels = [copy("x", "p"), copy("x", "q"), *chain, total("p", "q")]
    module = module_of(dict.fromkeys(("x", "q", *names, "r"), SQUARE), kernels, f"r {names[-1]}")
    producer, _, *moved, consumer = kernels_of(module)
    assert users_to_sink(producer, consumer) == moved
