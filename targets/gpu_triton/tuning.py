"""The choice among the configurations that `schedule-gpu{candidates=true}` names."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.utils.hints import isa

from tilewright.dialects.diagnostics import TilewrightError
from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import bytes_of
from tilewright.passes.manager import module_text, run_pipeline
from tilewright.passes.rewrite import counting_rewrites, note, without_remarks
from tilewright.passes.schedule.apply_schedule import ApplySchedulePass
from tilewright.passes.schedule.blocks import BLOCKS, CANDIDATES, DESCRIPTORS, PRODUCT

from .choosing import Choice, Chooser, Trial, first_line
from .emit import emit_unit

Candidate = DictionaryAttr


@dataclass(frozen=True)
class Tuner(Chooser):
    """Decides about the functions of a module."""

    only: Container[str] | None = None
    """The functions to decide about; others stay as they are."""

    def __call__(self, module: ModuleOp, passes: Sequence[ModulePass] = (ApplySchedulePass(),)) -> None:
        """Put the best configuration of each function in its place; `passes` come next, of which the first
        is `apply-schedule`, and what is compiled and timed has gone through them all."""
        subjects: list[_Function] = []
        for func in [op for op in module.ops if isinstance(op, FuncOp) and CANDIDATES in op.attributes]:
            if self.only is not None and func.sym_name.data not in self.only:
                del func.attributes[CANDIDATES]
            else:
                subjects.append(_Function(func, passes, self))
        self.decide(subjects)


@dataclass(frozen=True)
class _Function:
    """A function that has `tk.candidates`."""

    func: FuncOp
    passes: Sequence[ModulePass]
    tuner: Tuner

    @property
    def title(self) -> str:
        return "autotune" if self.tuner.only is None else "scheduled again"

    @property
    def fills(self) -> bool:
        return PRODUCT not in self.func.attributes

    def identity(self) -> Sequence[str]:
        copy = self.func.clone()
        copy.properties["sym_name"] = StringAttr("k")
        return [self.title, *map(str, self.passes), module_text(copy, locations=False)]

    def trials(self) -> tuple[list[Trial], dict[int, str]]:
        """Passes may fail on what is not the default."""
        trials, dropped = list[Trial](), dict[int, str]()
        for number, candidate in enumerate(_candidates(self.func)):
            try:
                trials.append(self._trial(number, candidate))
            except TilewrightError as error:
                if number == 0:
                    raise
                dropped[number] = first_line(error)
        return trials, dropped

    def _trial(self, number: int, candidate: Candidate) -> Trial:
        copy = self.func.clone()
        copy.attributes.update(candidate.data)
        module = ModuleOp([copy])
        with counting_rewrites(), without_remarks():  # these are no part of the compile
            run_pipeline(new_context(), module, self.passes)
        unit = emit_unit(module)
        kernel = unit.kernels[0]
        task = self.tuner.job(unit.text, kernel)
        return Trial(number, _name_of(candidate), kernel, task, buffer_sizes(self.func))

    def take(self, choice: Choice) -> None:
        self.func.attributes.update(_candidates(self.func)[choice.number].data)
        del self.func.attributes[CANDIDATES]
        note(self.func, choice.why)


def _candidates(func: FuncOp) -> Sequence[Candidate]:
    found = func.attributes[CANDIDATES]
    assert isa(found, ArrayAttr[DictionaryAttr]), found
    return found.data


def _name_of(candidate: Candidate) -> str:
    flat = [n for n in _integers(candidate.data[BLOCKS])]
    (warps,), (stages,) = (_integers(candidate.data[name]) for name in ("tk.warps", "tk.stages"))
    blocks = "x".join(str(n) for n in flat[1::2])
    described = ", by descriptor" if DESCRIPTORS in candidate.data else ""
    return f"blocks {blocks}, {warps} warps, {stages} stages{described}"


def _integers(attribute: Attribute) -> list[int]:
    """The numbers of an integer or of an array of them."""
    if isa(attribute, DenseArrayBase[IntegerType]):
        return list(attribute.get_values())
    assert isa(attribute, IntegerAttr), attribute
    return [attribute.value.data]


def buffer_sizes(func: FuncOp) -> list[int] | None:
    """Bytes of each buffer; None where a size is only known at run time."""
    found: list[int] = []
    for arg in func.body.block.args:
        if not isa(arg.type, MemRefType):
            return None
        count = 1
        for size in arg.type.get_shape():
            count *= size
        if count < 0 or func.symbols.exprs:
            return None
        found.append(count * bytes_of(arg.type.element_type))
    return found
