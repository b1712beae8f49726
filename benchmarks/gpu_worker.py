"""One process of `benchmarks.gpu`: measures the items of some sections, and writes a line about each.

    {"section": "tuned", "begin": "softmax"}
    {"section": "tuned", "name": "softmax", "row": {"us": [12.1, 12.0, 12.3]}}

An item that fails is a row like others. Where its failure has left the device unusable for this process
(an illegal access does), the process ends, and another one goes on.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu_bench import Bench, Row, failure
from benchmarks.gpu_sections import SECTIONS
from tilewright.targets.gpu_triton.compiler import triton_version

LOST = 3
"""The status of a process that cannot use its device any more."""

Write = Callable[[Mapping[str, Any]], None]


def main() -> None:
    """The first argument says what to do, the second one is the file to write to."""
    job: dict[str, Any] = json.loads(sys.argv[1])
    with Path(sys.argv[2]).open("a") as file:

        def write(line: Mapping[str, Any]) -> None:
            file.write(json.dumps(line) + "\n")
            file.flush()

        device = torch.device(job["device"])
        bench = Bench(device, small=device.type == "cpu", prepares=job["prepares"])
        write({"facts": _facts(bench)})
        usable = work(bench, job, write)
        if usable:
            write({"finished": True})
    if not usable:
        os._exit(LOST)  # what would be freed hangs on the device


def _facts(bench: Bench) -> Row:
    found: Row = {"torch": torch.__version__, "triton": triton_version()}
    if bench.on_gpu:
        found |= {"gpu": torch.cuda.get_device_name(bench.device), "cuda": torch.version.cuda}
    return found


def work(bench: Bench, job: Mapping[str, Any], write: Write) -> bool:
    """The items of this part that are not done; False where the device is lost."""
    last, names = time.monotonic() + job["seconds"], job["sections"]
    for i, section in enumerate(names):
        deadline = time.monotonic() + share(names[i:], last - time.monotonic())
        items = enumerate(SECTIONS[section].items(bench))
        mine = [item for k, item in items if k % job["parts"] == job["part"]]
        for name, item in mine:
            if name in job["done"].get(section, ()):
                continue
            if time.monotonic() >= deadline:
                write({"section": section, "name": name, "row": {"left out": "no time"}})
                continue
            write({"section": section, "begin": name})
            write({"section": section, "name": name, "row": _measured(item)})
            if not _tidied(bench):
                return False
    return True


def share(sections: Sequence[str], seconds: float, first: int = 1) -> float:
    """Of the time that is left for some sections, what the first ones may take."""
    shares = [SECTIONS[name].share for name in sections]
    return seconds * sum(shares[:first]) / sum(shares)


def _measured(item: Callable[[], Row]) -> Row:
    start = time.monotonic()
    try:
        row = item()
    except Exception as error:
        row = failure(error)
    return {**row, "seconds": round(time.monotonic() - start, 1)}


def _tidied(bench: Bench) -> bool:
    """Nothing of an item is left for the next one; False where the device answers no more."""
    try:
        bench.wait()
        torch._dynamo.reset()
        gc.collect()
        if bench.on_gpu:
            torch.cuda.empty_cache()
    except Exception:
        return False
    return True
