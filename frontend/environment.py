"""The one file that reads environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Environment:
    """What the process environment says about compilation."""

    dump: Path | None
    """TILEWRIGHT_DUMP: write every graph's IR after each pass into this folder."""
    report: Path | None
    """TILEWRIGHT_REPORT: write a page about every compile into this folder (and cache none)."""
    cache: Path
    """TILEWRIGHT_CACHE_DIR: where compiled code is kept between processes."""
    verify_each: bool
    """TILEWRIGHT_VERIFY: verify the module after each pass."""
    variables: Mapping[str, str]
    """All of them, for the C++ compiler (CXX, PATH)."""


def gpu_stand_in(variables: Mapping[str, str]) -> str:
    """TILEWRIGHT_GPU_STAND_IN: a library that stands for libcuda, and CPU tensors for a device's (tests)."""
    return variables.get("TILEWRIGHT_GPU_STAND_IN", "")


def assembler(variables: Mapping[str, str]) -> str:
    """What Triton runs instead of the ptxas that it brings along, and what changes when that is replaced.

    TorchInductor sets TRITON_PTXAS_PATH in the processes that use it.
    """
    found: list[str] = []
    for name in ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"):
        if path := variables.get(name):
            status = os.stat(path) if os.path.exists(path) else None
            found.append(f"{name}={path} {status and (status.st_mtime_ns, status.st_size)}")
    return " ".join(found)


def read_environment(variables: Mapping[str, str] = os.environ) -> Environment:
    """Read the variables; called once per compile, so that tests may change them."""
    dump = variables.get("TILEWRIGHT_DUMP", "")
    report = variables.get("TILEWRIGHT_REPORT", "")
    cache = variables.get("TILEWRIGHT_CACHE_DIR", "")
    base = variables.get("XDG_CACHE_HOME", "") or str(Path.home() / ".cache")
    return Environment(
        dump=Path(dump) if dump else None,
        report=Path(report) if report else None,
        cache=Path(cache) if cache else Path(base) / "tilewright",
        verify_each=variables.get("TILEWRIGHT_VERIFY", "") not in ("", "0"),
        variables=variables,
    )
