"""What the CPU can do, as it says itself: nothing is compiled to find out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_V2 = frozenset(("cx16", "popcnt", "sse4_1", "sse4_2", "ssse3"))
_V3 = frozenset(("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"))
_V4 = frozenset(("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"))
_LIMITS: Mapping[str, frozenset[str]] = {"default": _V2, "avx2": _V2 | _V3}


@dataclass(frozen=True)
class Isa:
    """An instruction set: what passes plan for, and what the C++ compiler is told."""

    vector_bits: int
    bf16_dot: bool
    """Whether one instruction adds products of bf16 pairs to f32 lanes."""
    flags: tuple[str, ...]

    @property
    def facts(self) -> Mapping[str, int | bool]:
        """Values of pass options, by the name of the field: a pass takes those that it has."""
        return {"vector_bits": self.vector_bits, "bf16_dot": self.bf16_dot}


def machine_isa(environment: Mapping[str, str]) -> Isa:
    """That of this CPU, or less where ATEN_CPU_CAPABILITY (`default`, `avx2`) asks ATen for less."""
    machine = os.uname().machine
    if machine in ("aarch64", "arm64"):
        return Isa(128, False, ("-mcpu=native",))
    if machine != "x86_64":
        return Isa(128, False, ())
    features = _cpu_features()
    limit = _LIMITS.get(environment.get("ATEN_CPU_CAPABILITY", "").lower())
    return x86_isa(features if limit is None else features & limit)


def machine_facts(environment: Mapping[str, str]) -> Mapping[str, int | bool]:
    """What passes are told about this CPU."""
    return machine_isa(environment).facts


def x86_isa(features: frozenset[str]) -> Isa:
    """The x86-64 level that has these features; AVX-512 at its full width."""
    if features >= _V4 | _V3:
        dot = "avx512_bf16" in features
        flags = ("-march=x86-64-v4", "-mprefer-vector-width=512")
        return Isa(512, dot, (*flags, "-mavx512bf16") if dot else flags)
    if features >= _V3:
        return Isa(256, False, ("-march=x86-64-v3",))
    return Isa(128, False, ("-march=x86-64-v2",) if features >= _V2 else ())


@cache
def _cpu_features() -> frozenset[str]:
    """The list of the kernel."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    line = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return frozenset(line.partition(":")[2].split())
