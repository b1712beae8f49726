"""What the figures were measured on; nothing that names the machine or its user."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_VECTORS = ("avx512_bf16", "avx512f", "avx2", "asimd")


def describe() -> dict[str, str]:
    """Processor, memory, compiler and versions."""
    return {
        "processor": f"{_cpu_field('model name') or platform.machine()}, {os.cpu_count()} cores",
        "vectors": ", ".join(flag for flag in _VECTORS if flag in (_cpu_field("flags") or "").split()),
        "memory": _memory(),
        "compiler": _first_line([os.environ.get("CXX", "g++"), "--version"]),
        "python": platform.python_version(),
        "torch": _version("torch"),
        "transformers": _version("transformers"),
        "tilewright": f"{_version('tilewright')} at {_first_line(['git', 'rev-parse', '--short', 'HEAD'])}",
    }


def _cpu_field(name: str) -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), None)


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    except (OSError, ValueError):
        return "unknown"


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "none"
    return done.stdout.splitlines()[0]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
