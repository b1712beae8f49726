"""Machine code of a kernel, and what can be told from it without running it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .architectures import Architecture, architecture


@dataclass(frozen=True)
class Binary:
    """One kernel, compiled for one architecture."""

    architecture: str
    entry: str
    """The name to look up in the image."""
    image: bytes
    """cubin or hsaco."""
    assembly: str
    """PTX or AMDGCN text."""
    warps: int
    shared: int
    """Bytes of shared memory of one program."""
    scratch: int
    """Bytes of global memory that each program needs, passed as the argument after the kernel's own."""
    scratch_alignment: int
    registers: int
    """Registers of one thread."""
    spills: int
    """Bytes (CUDA) or registers (HIP) that did not fit and went to memory."""
    stages_left_out: int = 0
    """Of those that were asked for: shared memory had no room for them."""

    @property
    def facts(self) -> Architecture:
        return architecture(self.architecture)

    @property
    def threads(self) -> int:
        """Threads of one program: the block size of a launch."""
        return self.warps * self.facts.warp

    @property
    def occupancy(self) -> float:
        """The fraction of a multiprocessor's threads that can be resident at once."""
        return self.facts.occupancy(self.registers, self.shared, self.warps)

    @property
    def misfit(self) -> str:
        """Why it takes more shared memory than there is, or did as it was scheduled; empty where it fits."""
        if self.shared > self.facts.shared_per_block:
            return f"{self.shared} bytes of shared memory of {self.facts.shared_per_block}"
        return "its stages take too much shared memory" if self.stages_left_out else ""

    @property
    def fault(self) -> str:
        """Why it should be another one; empty where nothing is wrong."""
        return self.misfit or (f"spills {self.spills}" if self.spills else "")

    @property
    def described(self) -> str:
        """What it takes of a multiprocessor, and what did not fit."""
        parts = [
            f"{self.registers} registers",
            f"{self.shared} bytes of shared memory",
            f"occupancy {self.occupancy:.2f}",
        ]
        if self.spills:
            parts.append(f"spills {self.spills}")
        if self.stages_left_out:
            parts.append(f"{self.stages_left_out} stages less than scheduled, which had no room")
        return ", ".join(parts)

    @property
    def wide_loads(self) -> int:
        """Instructions that read 128 bits or more per lane."""
        return len(re.findall(self.facts.wide_load, self.assembly))

    @property
    def wide_stores(self) -> int:
        return len(re.findall(self.facts.wide_store, self.assembly))

    @property
    def loads(self) -> int:
        """All instructions that read global memory."""
        return len(
            re.findall(r"ld\.global|cp\.async\.c|cp\.async\.bulk|(?:global|buffer|flat)_load_", self.assembly)
        )

    @property
    def tensor_core(self) -> int:
        """Instructions that multiply blocks."""
        return len(re.findall(self.facts.tensor_core, self.assembly))


def resources_of_ptxas(log: str) -> tuple[int, int]:
    """Registers and spilled bytes, from what `ptxas -v` says."""
    registers = re.search(r"Used (\d+) registers", log)
    assert registers is not None, log
    spilled = sum(int(n) for n in re.findall(r"(\d+) bytes spill (?:stores|loads)", log))
    return int(registers[1]), spilled


def resources_of_amdgcn(assembly: str) -> tuple[int, int]:
    """Vector registers (those for sums of matrix units are among them) and spilled ones, from the notes.

    Scalars spill into lanes of vector registers, which are among the registers counted. Where a kernel has
    scratch memory, they may be there, and count as spilled.
    """

    def note(name: str) -> int:
        found = re.search(rf"\.{name}:\s*(\d+)", assembly)
        return int(found[1]) if found else 0

    scalars = note("sgpr_spill_count") if note("private_segment_fixed_size") else 0
    return note("vgpr_count"), note("vgpr_spill_count") + scalars
