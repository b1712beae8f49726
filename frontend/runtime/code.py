"""What a target leaves behind of a compiled graph, for this process and for later ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from .call import Run


class Code(Protocol):
    """Compiled code as plain data, which can be pickled: no tensors of the user, no handles, no IR objects.

    A target's `build` puts one into `request.trace.code`. Without it, graphs for the target are
    compiled anew in every process.
    """

    def load(self, cache_folder: Path, environment: Mapping[str, str]) -> Run:
        """The function; compiled again where `cache_folder` has lost what it needs."""
        ...
