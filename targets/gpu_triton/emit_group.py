"""One `tk.group` as one Triton function, whose programs are those of its parts.

    tk.group @steps (%a: memref<4096xf32>, %b: memref<64xf32>, %c: memref<?xf32>) symbols [s0] {
      tk.part @step(%a) symbols [256]
      tk.part @step(%b) symbols [4]
      tk.part @fill(%c) symbols [s0]
    }

becomes

    @triton.jit
    def steps(a0, a1, a2, s0):
        program = tl.program_id(0)
        if program < 5:
            v0, v1, v2 = tl.full([], 0, tl.int32), a0, tl.full([], 256, tl.int32)
            if program >= 4:
                v0, v1, v2 = tl.full([], 4, tl.int32), a1, tl.full([], 4, tl.int32)
            _part_step(v1, v2, program - v0)
        else:
            _part_fill(a2, s0, program - 5)

Parts of one function that follow each other share a call, so that machine code has it once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import ONE, ZERO, Bounds, Expr, Var
from tilewright.dialects.tk.attributes import launch_number
from tilewright.dialects.tk.group import GroupOp, PartOp
from tilewright.dialects.types import element_type
from tilewright.passes.schedule.offsets import is_small

from ..native.text import place
from .emit_kernel import Emitted, part_name
from .kernel import Parameter, TritonKernel
from .spelling import comment, enclosed, expression, identifier, pointer

_AT_ONCE = 8
"""Parts that share a call: each takes instructions to choose arguments, which all programs execute."""
_INDENT = "    "


def emit_group(group: GroupOp, kernels: Mapping[str, Emitted]) -> Emitted:
    """The Triton function of `group`; `kernels` are its parts by name."""
    writer = _Writer(group, kernels)
    name = identifier(group.sym_name.data)
    names = [p.name for p in writer.parameters] + (["failure"] if writer.checks else [])
    head = ["@triton.jit", f"def {name}({', '.join(names)}):"]
    head.append(f"{_INDENT}{comment(f'{len(group.parts)} parts {place(group.location)}'.rstrip())}")
    lines, total = writer.body()
    kernel = TritonKernel(
        name=name,
        parameters=tuple(writer.parameters),
        grid=(total, ONE, ONE),
        warps=launch_number(group, "tk.warps"),
        stages=launch_number(group, "tk.stages"),
        checks=writer.checks,
    )
    return Emitted("\n".join([*head, *lines]), frozenset(writer.helpers), kernel)


@dataclass
class _Writer:
    group: GroupOp
    kernels: Mapping[str, Emitted]
    helpers: set[str] = field(default_factory=set[str])
    chosen: int = 0

    def __post_init__(self) -> None:
        called = [self._kernel(part) for part in self.group.parts]
        self.checks = any(kernel.checks for kernel in called)
        wide = any(p.type == "i64" for kernel in called for p in kernel.parameters)
        self.type = "i64" if wide else "i32"
        """Of symbols, and of what is counted with them."""
        given = [
            (value, parameter)
            for part, kernel in zip(self.group.parts, called, strict=True)
            for value, parameter in zip(part.arguments, kernel.parameters, strict=False)
        ]
        contested = {value for value, parameter in given if parameter.contested}
        large = {value for value, parameter in given if not parameter.small}
        self.names: dict[SSAValue, str] = {}
        self.parameters: list[Parameter] = []
        for i, argument in enumerate(self.group.body.block.args):
            name, type_ = f"a{i}", pointer(element_type(argument.type))
            self.names[argument] = name
            self.parameters.append(
                Parameter(
                    name,
                    type_,
                    aligned=True,
                    contested=argument in contested,
                    small=is_small(argument) and argument not in large,
                )
            )
        self.symbols: dict[Var, str] = {}
        for symbol in self.group.symbols.exprs:
            self.symbols.update((var, str(symbol)) for var in symbol.variables())
            self.parameters.append(Parameter(str(symbol), self.type, aligned=False))

    def _kernel(self, part: PartOp) -> TritonKernel:
        return self.kernels[part.kernel.string_value()].kernel

    def body(self) -> tuple[list[str], Expr]:
        """The lines, and how many programs there are."""
        runs = self._runs()
        lines, total, end = ["program = tl.program_id(0)"], ZERO, "0"
        starts: list[list[str]] = []
        for run in runs:
            starts.append([end])
            for part in run:
                programs = self._programs(part)
                total = total + programs
                if total.constant is not None:
                    end = str(total.constant)
                else:
                    last, end = end, f"e{len(lines) - 1}"
                    lines.append(f"{end} = {'' if last == '0' else f'{last} + '}{self._text(programs)}")
                starts[-1].append(end)
        for number, (run, at) in enumerate(zip(runs, starts, strict=True)):
            inside = self._calls(run, at[:-1])
            if len(runs) == 1:
                lines += inside
                continue
            word = "if" if not number else "elif"
            lines.append("else:" if number == len(runs) - 1 else f"{word} program < {at[-1]}:")
            lines += [_INDENT + line for line in inside]
        return [_INDENT + line for line in (lines if runs else ["pass"])], total

    def _runs(self) -> list[list[PartOp]]:
        """Parts of one function, so many at a time; not those that have nothing to do."""
        by_kernel: dict[str, list[PartOp]] = {}
        for part in self.group.parts:
            if self._programs(part).constant == 0:
                continue
            by_kernel.setdefault(part.kernel.string_value(), []).append(part)
        return [
            parts[i : i + _AT_ONCE] for parts in by_kernel.values() for i in range(0, len(parts), _AT_ONCE)
        ]

    def _programs(self, part: PartOp) -> Expr:
        kernel = self._kernel(part)
        symbols = [p for p in kernel.parameters if not p.type.startswith("*")]
        values = {_var(p.name): value for p, value in zip(symbols, part.symbol_values, strict=True)}
        return kernel.grid[0].substitute(values)

    def _calls(self, run: Sequence[PartOp], starts: Sequence[str]) -> list[str]:
        """The call of the function of a run, with the arguments of that part which the program belongs to."""
        pairs = zip(run, starts, strict=True)
        given = [(self._full(at, self.type), *self._arguments(part)) for part, at in pairs]
        columns: list[tuple[str, ...]] = list(zip(*given, strict=True))
        varied = list(dict.fromkeys(column for column in columns if len(set(column)) > 1))
        names = {column: self._fresh() for column in varied}
        lines: list[str] = []
        for number, values in enumerate(zip(*varied, strict=True)):
            chosen = f"{', '.join(names.values())} = {', '.join(values)}"
            if number:
                lines.append(f"if program >= {starts[number]}:")
            lines.append(_INDENT + chosen if number else chosen)
        first, *rest = [names.get(column, column[0]) for column in columns]
        before = first if columns[0] in names else starts[0]
        number_in_part = "program" if before == "0" else f"program - {before}"
        if self.type == "i64" and before != "0":
            number_in_part = f"({number_in_part}).to(tl.int32)"
        kernel = self._kernel(run[0])
        arguments = [*rest, *(["failure"] if kernel.checks else []), number_in_part]
        self.helpers |= self.kernels[run[0].kernel.string_value()].helpers
        lines.append(f"{part_name(run[0].kernel.string_value())}({', '.join(arguments)})")
        return lines

    def _fresh(self) -> str:
        """A name that no other call has: in Triton both sides of a branch give it one type."""
        self.chosen += 1
        return f"v{self.chosen - 1}"

    def _arguments(self, part: PartOp) -> list[str]:
        parameters = self._kernel(part).parameters[len(part.arguments) :]
        pairs = zip(part.symbol_values, parameters, strict=True)
        values = [self._number(value, parameter.type) for value, parameter in pairs]
        return [*(self.names[value] for value in part.arguments), *values]

    def _number(self, value: Expr, type_: str) -> str:
        text = self._full(self._operand(value), type_)
        return text if type_ == self.type or value.constant is not None else f"{text}.to(tl.int{type_[1:]})"

    def _full(self, text: str, type_: str) -> str:
        """A number, which is no literal: each of those would have a type of its own."""
        return f"tl.full([], {text}, tl.int{type_[1:]})" if text.isdigit() else text

    def _text(self, value: Expr) -> str:
        return expression(value, self.symbols, Bounds(()), self.helpers)

    def _operand(self, value: Expr) -> str:
        return enclosed(self._text(value))


def _var(name: str) -> Var:
    return Var(name[0], int(name[1:]))
