"""Finds the pass, then the one rewrite, that makes a module fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.registry import new_context
from tilewright.passes.manager import module_text, parse_pipeline, run_pipeline
from tilewright.passes.rewrite import Remark, RewriteCount, counting_rewrites

Fails = Callable[[ModuleOp], bool]


@dataclass(frozen=True)
class GuiltyRewrite:
    """The first rewrite after which a module fails."""

    number: int
    """Counted from 1; 0 stands for what the pass does apart from rewrites that are counted."""
    total: int
    what: Remark | None
    before: str
    """The module with the rewrites before this one."""
    after: str | None
    """The module with this rewrite as well; None where the rewrite itself fails."""

    def __str__(self) -> str:
        if self.what is None:
            return f"what the pass does before the first of its {self.total} rewrites"
        return f"rewrite {self.number} of {self.total}: {self.what}"


class _Trial:
    """Runs one pass with a limited number of rewrites on copies of a module."""

    def __init__(self, spec: str, module: ModuleOp, fails: Fails) -> None:
        self.passes = parse_pipeline(spec)
        self.module = module
        self.fails = fails

    def run(self, limit: int | None) -> tuple[ModuleOp | None, RewriteCount]:
        """The module after `limit` rewrites; None where the pass raises."""
        copy = self.module.clone()
        with counting_rewrites(limit) as count:
            try:
                run_pipeline(new_context(), copy, self.passes)
            except Exception:  # a crash is what is being looked for
                return None, count
        return copy, count

    def is_bad(self, limit: int | None) -> bool:
        module, _ = self.run(limit)
        if module is None:
            return True
        return self.fails(module)


def bisect_rewrites(spec: str, module: ModuleOp, fails: Fails) -> GuiltyRewrite | None:
    """The rewrite of pass `spec` that makes `module` fail; None where the pass counts none.

    `fails` judges the module after the pass; a pass that raises counts as a failure.
    """
    trial = _Trial(spec, module, fails)
    _, count = trial.run(None)
    total = count.done
    if total == 0:
        return None
    if trial.is_bad(0):
        return GuiltyRewrite(0, total, None, module_text(module), None)
    good, bad = 0, total
    while bad - good > 1:
        middle = (good + bad) // 2
        if trial.is_bad(middle):
            bad = middle
        else:
            good = middle
    last_good, _ = trial.run(good)
    first_bad, count = trial.run(bad)
    assert last_good is not None
    after = None if first_bad is None else module_text(first_bad)
    return GuiltyRewrite(bad, total, count.last, module_text(last_good), after)
