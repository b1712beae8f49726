"""What a device allows: facts that blocks of products are chosen by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Units = Literal["warp", "group", "core"]
"""Whose matrix units are: a warp's have factors and sums in its registers (`mma`, `mfma`); those of a group
of four warps read factors from shared memory (`wgmma`); a core's also have memory for sums (`tcgen05`)."""


@dataclass(frozen=True)
class Limits:
    """What the device allows, and which precision the user does."""

    tf32: bool
    shared: int
    """KiB of shared memory per program."""
    cores: int
    """Multiprocessors, each of which wants a program."""
    descriptors: bool = False
    """Blocks of memory can be brought by tensor descriptor."""
    units: Units = "warp"
    lanes: int = 32
    """Threads of a warp."""

    @property
    def from_shared(self) -> bool:
        """Whether matrix units read factors from shared memory: registers hold nothing but sums."""
        return self.units != "warp"

    @property
    def sums_apart(self) -> bool:
        """Whether matrix units have memory for sums, which a program reads at once, all of its tile."""
        return self.units == "core"

    @property
    def of_groups(self) -> bool:
        """Whether four warps together multiply 64 rows, with sums in their registers."""
        return self.units == "group"
