"""`make fuzz`: random graphs and programs for so many minutes, going on where the last run ended.

python test/fuzz/run.py --minutes 10 --folder build/fuzz

build/fuzz/next.json            the next seed of each kind
build/fuzz/graph-1040/          a find: module.mlir, reduced.mlir, error.txt
build/fuzz/program-77/          program.py, error.txt; so for the other kinds
build/fuzz/cache                compiled code
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks.numerics

from check_graph import Find, check_graph
from check_kernels import check_kernels
from check_program import check_program
from check_typed import check_typed
from compositions import random_composition
from families import random_graph
from networks import LARGE, random_network
from programs import random_program
from typed_programs import random_typed_program

from benchmarks.gpu_static import TARGETS
from tilewright.frontend.check.errors import WrongCode
from tilewright.frontend.check.failure import Oracle
from tilewright.frontend.reduce.reducer import Reducer, parse, readable_text
from tilewright.passes.manager import module_text, parse_pipeline
from tilewright.passes.pipeline import pipeline_text


def fuzz_graph(seed: int, folder: Path) -> Find | None:
    if seed % 2:
        return check_graph(random_graph(seed), compiled=None, budget=0.5, pipeline="gpu")
    return check_graph(random_graph(seed), compiled=folder / "cache", budget=0.5)


def fuzz_program(seed: int, folder: Path) -> Find | None:
    return check_program(random_program(seed), "gpu_emulated" if seed % 2 else "auto")


def fuzz_composition(seed: int, folder: Path) -> Find | None:
    return check_program(random_composition(seed), "gpu_emulated" if seed % 3 else "auto")


def fuzz_network(seed: int, folder: Path) -> Find | None:
    return check_program(random_network(seed), "gpu_emulated" if seed % 4 else "auto")


def fuzz_kernels(seed: int, folder: Path) -> Find | None:
    return check_kernels(random_network(seed, LARGE), TARGETS[seed % len(TARGETS)], folder / "cache")


def fuzz_typed(seed: int, folder: Path) -> Find | None:
    return check_typed(random_typed_program(seed), "gpu_emulated" if seed % 2 else "auto")


KINDS: dict[str, Callable[[int, Path], Find | None]] = {
    "graph": fuzz_graph,
    "program": fuzz_program,
    "composition": fuzz_composition,
    "typed": fuzz_typed,
    "network": fuzz_network,
    "kernels": fuzz_kernels,
}


@click.command()
@click.option("--minutes", default=10.0, show_default=True, help="how long, of the clock")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/fuzz"), show_default=True)
@click.option("--seed", type=int, help="only this seed of --kind, without touching next.json")
@click.option("--kind", type=click.Choice(list(KINDS)), help="only these")
def main(minutes: float, folder: Path, seed: int | None, kind: str | None) -> None:
    """Run random graphs and programs through the compiler; exit status 1 if something was found."""
    folder.mkdir(parents=True, exist_ok=True)
    kinds = [kind] if kind else list(KINDS)
    if seed is not None:
        raise SystemExit(any([_one(name, seed, folder) for name in kinds]))
    state = folder / "next.json"
    following = json.loads(state.read_text()) if state.exists() else {}
    end, finds, done = time.monotonic() + minutes * 60, 0, 0
    while time.monotonic() < end:
        for name in kinds:
            number = following.get(name, 0)
            finds += _one(name, number, folder)
            following[name] = number + 1
            state.write_text(json.dumps(following))
            done += 1
    print(f"{done} tried, {finds} found; {time.process_time():.0f} CPU seconds; next seeds {following}")
    raise SystemExit(finds > 0)


def _one(name: str, seed: int, folder: Path) -> bool:
    find = KINDS[name](seed, folder)
    if find is None:
        return False
    place = folder / f"{name}-{seed}"
    place.mkdir(exist_ok=True)
    (place / "error.txt").write_text(find.message + "\n")
    (place / ("module.mlir" if name == "graph" else "program.py")).write_text(find.text)
    if name == "graph" and (reduced := _reduced(find)) is not None:
        (place / "reduced.mlir").write_text(reduced)
    print(f"{name} {seed}: {find.message.splitlines()[0]}  ({place})", flush=True)
    return True


def _reduced(find: Find) -> str | None:
    """The module shrunk, where it fails as it did: after a pass, or compiled."""
    oracle = Oracle(parse_pipeline(pipeline_text(find.pipeline)), compiled=find.kind == WrongCode.__name__)
    module = parse(find.text)
    failure = oracle.failure(module)
    if failure is None:
        return None
    reducer = Reducer(lambda m: (found := oracle.failure(m)) is not None and found.kind == failure.kind)
    return readable_text(reducer.reduce(module)) or module_text(module)


if __name__ == "__main__":
    main()
