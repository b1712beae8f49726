"""What a device allows: facts that blocks of products are chosen by."""

from __future__ import annotations

from dataclasses import dataclass


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
    from_shared: bool = False
    """Matrix units read factors from shared memory: registers hold nothing but sums."""
    sums_apart: bool = False
    """Matrix units keep sums in memory of their own, which a program reads at once, all of its tile."""
    lanes: int = 32
    """Threads of a warp."""

    @property
    def of_groups(self) -> bool:
        """Whether four warps together multiply 64 rows, with sums in their registers (`wgmma`)."""
        return self.from_shared and not self.sums_apart
