"""docs/faults.md from the results."""

from __future__ import annotations

from collections.abc import Sequence

from fault import Fault
from results import Result, Results

_HEAD = """# Injected bugs

<!-- Written by `make faults`; test/faults holds the bugs. -->

Each line of the tables is a bug that was put into a copy of the sources, as one changed line, and the first
test that failed. What caught a bug before is asked first (`test/faults/caught.json` remembers it), or a test
that `--ask` names; then lit files of the pass, executed by the interpreter before and after the pass, then by
lit; then pytest files of that part; then all others.

    make faults                                           # those without a result
    .venv/bin/python test/faults/run.py --only write-order --again
    .venv/bin/python test/faults/run.py --reach lit       # only what takes seconds
    .venv/bin/python test/faults/run.py --again --reach asked   # do the tests named here still catch theirs?
    .venv/bin/python test/faults/run.py --verify          # these tests pass without any bug
    .venv/bin/python test/faults/run.py --report          # writes this page

"""


def page(faults: Sequence[Fault], results: Results) -> str:
    """The page; bugs without a result are listed as such."""
    found = {fault.name: results.of(fault) for fault in faults}
    tried = [r for r in found.values() if r is not None]
    caught = sum(r.caught for r in tried)
    missed = sum(r.stage == "all" for r in tried if not r.caught)
    still = len(tried) - caught - missed
    share = f" ({100 * caught / len(tried):.0f} %)" if tried else ""
    lines = [
        f"**Of {len(faults)} bugs {len(tried)} were tried: {caught}{share} are caught, {missed} missed by "
        f"every test, {still} are open (they pass the few tests near them that were asked). "
        f"{len(faults) - len(tried)} are not tried.**"
    ]
    parts: dict[str, list[Fault]] = {}
    for fault in faults:
        parts.setdefault(_part(fault), []).append(fault)
    for part, members in parts.items():
        lines += ["", f"## {part}", "", "| bug | in | caught by |", "|---|---|---|"]
        lines += [_row(fault, found[fault.name]) for fault in members]
    return _HEAD + "\n".join(lines) + "\n"


def _part(fault: Fault) -> str:
    return "/".join(fault.file.split("/")[:2]) if fault.file.count("/") > 1 else fault.file.split("/")[0]


def _row(fault: Fault, result: Result | None) -> str:
    by = _caught_by(result)
    return f"| `{fault.name}`: {fault.bug} | `{fault.file.split('/')[-1]}` | {by} |"


def _caught_by(result: Result | None) -> str:
    if result is None:
        return "not tried"
    if result.caught:
        return f"`{_test(result.test)}`"
    return "**nothing**" if result.stage == "all" else "open: only some tests near it were asked"


def _test(name: str) -> str:
    return name.removeprefix("test/").replace("|", "\\|")
