"""Which tests test/long_tests.txt leaves to `make test-long`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from zlib import crc32

TEXT = (Path(__file__).parents[1] / "long_tests.txt").read_text()
LINES = [line for line in TEXT.splitlines() if line and line[0] != "#"]


def long_tests(nodes: Collection[str]) -> set[str]:
    """Those of these node ids."""
    named: list[str] = []
    counted: list[tuple[re.Pattern[str], int]] = []
    for line in LINES:
        name, _, kept = line.partition(" but ")
        pattern = re.escape(f"test/{name}").replace(r"\*", ".*")
        if kept:
            counted.append((re.compile(pattern), int(kept)))
        else:
            named.append(pattern)
    whole = re.compile("|".join(named))
    long = {node for node in nodes if whole.fullmatch(node)}
    others = sorted((node for node in nodes if node not in long), key=lambda node: crc32(node.encode()))
    seen = Counter[tuple[str, int]]()
    for node in others:
        line = next((i for i in reversed(range(len(counted))) if counted[i][0].fullmatch(node)), None)
        if line is None:
            continue
        function = node.partition("[")[0]
        seen[function, line] += 1
        if seen[function, line] > counted[line][1]:
            long.add(node)
    return long
