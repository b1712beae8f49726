"""The fuzzer: seeds repeat, sound compilers pass, and a planted bug is found and reduced."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))

import check_graph as graphs
from check_program import check_program
from families import random_graph
from programs import random_program

from tilewright.frontend.tool_io import load_passes
from tilewright.passes.manager import module_text


def test_a_seed_gives_the_same_graph_and_program() -> None:
    assert [module_text(random_graph(s)) for s in range(20)] == [
        module_text(random_graph(s)) for s in range(20)
    ]
    assert random_program(3) == random_program(3) != random_program(4)


def test_graphs_have_ops_of_every_family() -> None:
    found = {op.name for seed in range(400) for op in random_graph(seed).walk()}
    families = {"tw.sum", "tw.select", "tw.cast", "tw.slice", "tw.concat", "tw.gather", "tw.scatter"}
    families |= {"tw.write", "tw.matmul", "tw.convolution", "tw.window", "tw.rng_uniform", "tw.argmax"}
    assert families - found == set()


@pytest.mark.parametrize("seed", [0, 3, 8, 11])
def test_random_graphs_keep_their_meaning(seed: int) -> None:
    assert graphs.check_graph(random_graph(seed), compiled=None, budget=0.05) is None


def test_a_wrong_pass_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    load_passes(str(Path(__file__).parents[1] / "tools/Inputs/add_as_mul.py"))
    monkeypatch.setattr(graphs, "pipeline_text", lambda target: "canonicalize,add-as-mul,hoist-frozen")
    finds = [graphs.check_graph(random_graph(seed), compiled=None, budget=0.05) for seed in range(30)]
    kinds = {find.kind for find in finds if find is not None}
    assert kinds == {"ChangedMeaning"}


def test_a_random_program_runs_and_agrees() -> None:
    text = "import torch\n\n\ndef inputs():\n    return (torch.ones(3), torch.ones(3))\n\n\n"
    assert check_program(text + "def program(a, b):\n    a.mul_(2)\n    return (a + b,)\n") is None
