"""`make faults`: put deliberate bugs into a copy of the tree, one at a time, and see which test notices.

python test/faults/run.py                    # all that have no result yet in build/faults
python test/faults/run.py --only write-order --only fuse-part --again
python test/faults/run.py --ask write-order=test/e2e/test_aliasing.py::test_swapped
python test/faults/run.py --report           # writes docs/faults.md and caught.json from the results

Several of these may run at once: each takes the next bug that nobody has. The test that caught the bug before
(caught.json, beside this file) comes first, then lit files of the touched pass, then the same files executed,
then tests of the part, then all others; the first failure ends it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parent))

from fault import Fault
from faults import FAULTS
from report import page
from results import Memory, Results
from trial import REACHES, Trial, copy_tree, sound

ROOT = Path(__file__).parents[2]
MEMORY = Path(__file__).with_name("caught.json")


@click.command()
@click.option("--folder", type=click.Path(path_type=Path), default=ROOT / "build/faults", help="results")
@click.option("--only", multiple=True, help="only these bugs")
@click.option("--again", is_flag=True, help="also those that have a result")
@click.option("--ask", multiple=True, metavar="BUG=TEST", help="ask this test first")
@click.option("--reach", type=click.Choice(REACHES), default="all", show_default=True, help="how far to look")
@click.option("--minutes", default=20.0, show_default=True, help="CPU time at most, per bug")
@click.option("--verify", is_flag=True, help="run the tests that caught something without any bug")
@click.option("--report", is_flag=True, help="write docs/faults.md")
def main(
    folder: Path,
    only: tuple[str, ...],
    again: bool,
    ask: tuple[str, ...],
    reach: str,
    minutes: float,
    verify: bool,
    report: bool,
) -> None:
    """Try bugs; exit status 1 if one is not caught."""
    memory = Memory(MEMORY)
    results = Results(folder, memory)
    chosen = [fault for fault in FAULTS if not only or fault.name in only]
    if unknown := set(only) - {fault.name for fault in FAULTS}:
        raise click.BadParameter(f"no such bug: {', '.join(sorted(unknown))}")
    if report:
        (ROOT / "docs/faults.md").write_text(page(FAULTS, results))
        memory.write(FAULTS, results)
        return
    with tempfile.TemporaryDirectory(prefix="tilewright-faults-") as place:
        tree, cache = copy_tree(ROOT, Path(place)), folder.resolve() / "cache"
        if verify:
            raise SystemExit(
                not sound(tree, [r.test for f in FAULTS if (r := results.of(f)) and r.caught], cache)
            )
        trial = Trial(tree, reach=reach, cpu_seconds=minutes * 60, cache=cache)
        _run(chosen, results, trial, again, [tuple(pair.split("=", 1)) for pair in ask])
    missed = [fault.name for fault in chosen if (r := results.of(fault)) is not None and not r.caught]
    print(f"not caught: {', '.join(missed) or 'none'}")
    raise SystemExit(bool(missed))


def _run(
    chosen: list[Fault], results: Results, trial: Trial, again: bool, ask: Sequence[tuple[str, ...]]
) -> None:
    for fault in sorted(chosen, key=lambda fault: fault.digest):  # of every part some, whenever it ends
        if not again and results.of(fault) is not None:
            continue
        with results.claim(fault) as mine:
            if mine:
                first = [test for name, test in ask if name == fault.name]
                result = trial.of(fault, [*first, *results.memory.test(fault)])
                results.put(fault, result)
                print(f"{fault.name}: {result.test or 'NOT CAUGHT'} ({result.seconds:.0f} s)", flush=True)


if __name__ == "__main__":
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    main()
