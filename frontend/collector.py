"""The garbage collector during a compile."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Generator[None, None, None]:
    """A compile makes few cycles and many objects: each full collection would cost 0.1 s or more.

    The same holds for the imports that the first compile begins with.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def collector_off() -> None:
    """For a process of one command: what it makes ends with it, so nothing is looked through, nor at exit."""
    gc.disable()
    atexit.register(gc.freeze)
