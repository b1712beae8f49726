"""A graph compiled to a native library, as plain data that any process can load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.parser import ModuleParser
from tilewright.targets.native.unit import Unit
from tilewright.targets.registry import code

from .call import Run


@dataclass(frozen=True)
class NativeCode:
    """Implements `Code`: the C++ text is kept, and finds its library by its hash."""

    unit: Unit
    recipe: str
    """`module:function` of `(environment variables) -> Recipe`: how this machine builds it."""
    pooled: bool
    setup: ModuleOp | str | None
    """`@setup`, what is derived from frozen parameters; text in another process."""

    def load(self, cache_folder: Path, environment: Mapping[str, str]) -> Run:
        """The function; its library is built where the cache has none."""
        from tilewright.targets.native.launch import load_unit

        compiled = load_unit(
            self.unit,
            recipe=code(self.recipe)(environment),
            cache_dir=cache_folder,
            environment=environment,
            pooled=self.pooled,
        )
        if self.setup is None:
            return compiled.call
        from .frozen import with_setup

        return with_setup(compiled.call, module_of(self.setup), compiled.prober)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "setup": None if self.setup is None else text_of(self.setup)}


def text_of(setup: ModuleOp | str) -> str:
    from tilewright.passes.manager import module_text

    return setup if isinstance(setup, str) else module_text(setup)


def module_of(setup: ModuleOp | str) -> ModuleOp:
    if isinstance(setup, ModuleOp):
        return setup

    from tilewright.dialects.registry import new_context

    return ModuleParser(new_context(), setup, "setup.mlir").parse_module()
