"""What expressions are made of: axes, symbols and gather indices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Var:
    """An axis (`kind` "d"), a symbol ("s") or a gather index ("i").

    There is one object for each, so that sums are looked up without a call of Python for each hash.
    """

    kind: str
    index: int

    def __new__(cls, kind: str, index: int) -> Var:
        if (found := _VARIABLES.get((kind, index))) is not None:
            return found
        made = object.__new__(cls)
        object.__setattr__(made, "kind", kind)
        object.__setattr__(made, "index", index)
        return _VARIABLES.setdefault((kind, index), made)  # another thread's, if that was earlier

    def __reduce__(self) -> tuple[Any, ...]:
        return (Var, (self.kind, self.index))

    def __str__(self) -> str:
        return f"{self.kind}{self.index}"

    def key(self) -> tuple[object, ...]:
        return (0, "dis".index(self.kind), self.index)


_VARIABLES: dict[tuple[str, int], Var] = {}
