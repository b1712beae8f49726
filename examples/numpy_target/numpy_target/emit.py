"""A module to text: each kernel as a function over its whole iteration space, the plan as `main(args, aten)`.

In a kernel a value is an array with one dimension per axis, of size 1 where it does not vary.
bf16 values are rounded float32; in memory they are uint16.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import FloatAttr, IndexType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation

from tilewright.dialects.index_expr import Expr, Var, parse_exprs
from tilewright.dialects.tk.kernels import FuncOp as KernelOp
from tilewright.dialects.types import element_type

from . import NoNumpyText

HEADER = """import numpy as np
import torch
from numpy_target.runtime import *
"""
WIDTHS = {f"f{n}": f"float{n}" for n in (16, 32, 64)} | {f"i{n}": f"int{n}" for n in (8, 16, 32, 64)}
TORCH = {**WIDTHS, "i1": "bool", "ui8": "uint8", "bf16": "bfloat16"}
STORED = {**WIDTHS, "i1": "bool", "ui8": "uint8", "bf16": "uint16", "index": "int64"}
VALUES = {**STORED, "bf16": "float32"}

SAME = "ceil cos cosh exp exp2 expm1 floor log log10 log1p log2 sin sinh sqrt tan tanh trunc".split()
ROWS = {f"math.{name}": f"np.{name}({{0}})" for name in SAME}
ROWS |= {f"math.a{name}": f"np.arc{name}({{0}})" for name in "cos cosh sin sinh tan tanh".split()}
ROWS |= {f"tk.call {name}": f"np.{name}({{0}}, {{1}})" for name in ("fmod", "fmax", "fmin", "hypot")}
TEXT = """
addf {0} + {1}; addi {0} + {1}; subf {0} - {1}; subi {0} - {1}; mulf {0} * {1}; muli {0} * {1};
divf {0} / {1}; andi {0} & {1}; ori {0} | {1}; xori {0} ^ {1}; shli {0} << {1}; shrsi {0} >> {1};
remsi np.fmod({0}, {1}); maximumf np.maximum({0}, {1}); minimumf np.minimum({0}, {1}); negf -{0};
maxsi np.maximum({0}, {1}); minsi np.minimum({0}, {1}); divsi ({0} - np.fmod({0}, {1})) // {1};
select np.where({0}, {1}, {2}); extf {0}; truncf {0}; extsi {0}; sitofp {0}; trunci {0}; index_cast {0};
fptosi np.trunc({0}); extui unsigned({0}); uitofp unsigned({0}); math.absf np.abs({0}); math.absi np.abs({0});
math.erf erf({0}); math.roundeven np.round({0}); math.rsqrt 1 / np.sqrt({0}); math.atan2 np.arctan2({0}, {1});
math.copysign np.copysign({0}, {1}); math.powf np.power({0}, {1}); math.ipowi integer_power({0}, {1});
tk.random uniform({0}, {1})"""
for name, _, text in (row.strip().partition(" ") for row in TEXT.split(";")):
    ROWS[name if "." in name else f"arith.{name}"] = text
NOT_ON_BITS = ("arith.addi", "arith.subi", "arith.muli", "arith.extsi", "arith.sitofp")
ORDER = ["{0} < {1}", "{0} <= {1}", "{0} > {1}", "{0} >= {1}"]
INTEGERS = ["{0} == {1}", "{0} != {1}", *ORDER]
INTEGERS += [row.format("unsigned({0})", "unsigned({1})") for row in ORDER]
FLOATS = (
    "({0} == {0}) & False;{0} == {1};{0} > {1};{0} >= {1};{0} < {1};{0} <= {1};({0} < {1}) | ({0} > {1});"
)
FLOATS += "({0} == {0}) & ({1} == {1});~(({0} < {1}) | ({0} > {1}));~({0} <= {1});~({0} < {1});~({0} >= {1});"
FLOATS += "~({0} > {1});{0} != {1};({0} != {0}) | ({1} != {1});({0} == {0}) | True"
UFUNCS = {"add": "add", "mul": "multiply", "max": "maximum", "min": "minimum", "and": "bitwise_and"} | {
    "logaddexp": "logaddexp"
}


def emit(module: ModuleOp) -> str:
    """The text of a lowered module."""
    parts = [HEADER]
    for op in module.ops:
        if isinstance(op, KernelOp | FuncOp):
            parts.append("\n".join((Kernel(op) if isinstance(op, KernelOp) else Plan(op)).lines))
    return "\n\n".join([*parts, ""])


def expression(expr: Expr) -> str:
    """An index expression as Python."""
    signs = {"floordiv": "np.floor_divide", "mod": "np.mod", "max": "np.maximum", "min": "np.minimum"}

    def atom(a: Any) -> str:
        return str(a) if isinstance(a, Var) else f"{signs[a.name]}({expression(a.lhs)}, {expression(a.rhs)})"

    return "(" + " + ".join(["0", *(" * ".join([str(c), *map(atom, m)]) for m, c in expr.terms)]) + ")"


def numbers(text: StringAttr) -> str:
    return "(" + "".join(f"{expression(e)}, " for e in parse_exprs(text.data)) + ")"


def element(value: Any) -> str:
    return str(value.type.element if value.type.name == "th.tensor" else element_type(value.type))


class Writer:
    """Lines of one function, and the names of its values."""

    def __init__(self, head: str, block: Any) -> None:
        self.names: dict[Any, str] = {}
        self.lines = [f"def {head}("]

    def name(self, value: Any) -> str:
        return self.names.setdefault(value, f"v{len(self.names)}")

    def put(self, op: Any, text: str) -> None:
        results = ", ".join(map(self.name, op.results))
        self.lines.append(f"    {results} = {text}" if results else f"    {text}")


class Kernel(Writer):
    """Writes a kernel: each op is a line."""

    def __init__(self, function: Any) -> None:
        if function.scheduled is not None:
            raise NoNumpyText(function, reason="its loops are explicit: stop before schedule-cpu")
        super().__init__(f"kernel_{function.sym_name.data}", function.body.block)
        self.ones = [1] * len(function.space)
        symbols = [str(var) for expr in function.symbols.exprs for var in expr.variables()]
        self.lines[0] += ", ".join([*map(self.name, function.body.block.args), *symbols]) + "):"
        self.lines.append(f"    sizes, failures = [{', '.join(map(expression, function.space))}], []")
        for axis in range(len(self.ones)):
            shape = [*self.ones[:axis], -1, *self.ones[axis + 1 :]]
            self.lines.append(f"    d{axis} = np.arange(sizes[{axis}]).reshape({shape})")
        for op in function.body.block.ops:
            self.put(op, self.text(op, [self.names[operand] for operand in op.operands]))
        self.lines.append("    finish(failures)")

    def text(self, op: Any, args: Sequence[str]) -> str:
        match op.name:
            case "tk.load":
                count = 1 + len(op.dynamic)
                rest = ", ".join(args[count:] or ("True", "0"))
                type_ = VALUES[element(op.result)]
                return f"load({args[0]}, {self.place(op, args[1:count])}, {rest}, np.{type_}, {self.ones})"
            case "tk.store":
                count = 2 + len(op.dynamic)
                update = f"np.{UFUNCS[op.combine.data]}" if op.combine is not None else "None"
                rest = f"{[*args[count:], 'True'][0]}, {args[0]}, {update}"
                return f"store({args[1]}, {self.place(op, args[2:count])}, {rest})"
            case "tk.reduce" | "tk.argreduce" | "tk.scan":
                axes = (op.along,) if op.name == "tk.scan" else tuple(op.over)
                ufunc = UFUNCS.get(op.kind.data, "bitwise_or")
                return f"{op.name[3:]}(np.{ufunc}, {', '.join(args)}, {axes}, sizes)"
            case "tk.assert":
                return f"failures.append(({args[0]}, {op.message.data!r}, sizes))"
            case _:
                type_, text = element(op.results[0]), self.scalar(op).format(*args)
                text = f"({text}) & 1" if op.name == "arith.trunci" and type_ == "i1" else text
                return (
                    f"rounded({text})"
                    if type_ == "bf16"
                    else f"np.asarray({text}).astype(np.{VALUES[type_]})"
                )

    def place(self, op: Any, dynamic: Sequence[str]) -> str:
        """The one subscript, with the gathered indices `i0, i1, ...` bound."""
        bound = ", ".join(f"i{n}={name}" for n, name in enumerate(dynamic))
        return f"(lambda {bound}: {expression(op.map.exprs[0])})()"

    def scalar(self, op: Any) -> str:
        match op.name:
            case "arith.constant":
                value = op.value.value.data
                text = f"float('{value!r}')" if isinstance(op.value, FloatAttr) else repr(value)
                return f"np.full({self.ones}, {text})"
            case "arith.cmpf":
                return FLOATS.split(";")[op.predicate.value.data]
            case "arith.cmpi":
                return INTEGERS[op.predicate.value.data]
            case "tk.index":
                return f"np.full({self.ones}, 0) + {expression(op.expr)}"
            case name:
                row = ROWS.get(f"tk.call {op.callee.data}" if name == "tk.call" else name)
        if row is None or (name in NOT_ON_BITS and element(op.operands[0]) == "i1"):
            raise NoNumpyText(op, reason="it has no row")
        return row


class Plan(Writer):
    """Writes `main`: each op is a line."""

    def __init__(self, main: FuncOp) -> None:
        super().__init__("main", main.body.block)
        self.lines[0] += "args, aten):"
        self.calls = {op: n for n, op in enumerate(library_calls(main))}
        for argument in main.body.block.args:
            attributes = main.arg_attrs.data[argument.index].data if main.arg_attrs is not None else {}
            if isinstance(symbol := attributes.get("tw.symbol"), StringAttr):
                self.lines.append(f"    {symbol.data} = args[{argument.index}]")
            elif not isinstance(argument.type, IndexType):
                self.lines.append(f"    {self.name(argument)} = flat(args[{argument.index}])")
        for op in main.body.block.ops:
            if op.name not in PLAN:
                raise NoNumpyText(op, reason="it is no op of a host plan")
            self.put(op, PLAN[op.name](self, op))

    def view(self, value: Any, op: Any, offset: str) -> str:
        layout = f"{offset}, {numbers(op.sizes)}, {numbers(op.strides)}, torch.{TORCH[element(op.result)]}"
        return f"view({self.name(value)}, {layout})"

    def result(self, value: Any) -> str:
        if isinstance(value, BlockArgument):
            return f"args[{value.index}]"
        return self.view(value, value.owner, "(0,)") if value.owner.name == "th.empty" else self.name(value)

    def launch(self, op: Any) -> str:
        arguments = [*map(self.name, op.operands), *map(expression, op.symbol_values)]
        return f"kernel_{op.kernel.string_value()}({', '.join(arguments)})"

    def aten(self, op: Any) -> str:
        return f"aten({self.calls[op]}, [{', '.join(map(self.name, op.operands))}])"

    def call(self, op: Any) -> str:
        layouts = [f"({numbers(n)}, {numbers(s)})" for n, s in zip(op.sizes, op.strides, strict=True)]
        return f"placed({self.aten(op)}, [{', '.join(layouts)}])" + "[0]" * (len(layouts) == 1)


def library_calls(main: FuncOp) -> list[Operation]:
    """What `aten(n, ...)` runs, in the order of n."""
    return [op for op in main.body.block.ops if op.name in ("th.extern", "th.call")]


def _made(how: str, op: Any) -> str:
    return f"flat(torch.{how}, dtype=torch.{TORCH[element(op.result)]}))"


def _part(p: Plan, op: Any) -> str:
    type_ = f"np.{STORED[element(op.result)]}"
    size = f"{numbers(op.size)}[0] * np.dtype({type_}).itemsize"
    return f"{p.name(op.arena)}[{numbers(op.offset)}[0] :][: {size}].view({type_})"


PLAN: Mapping[str, Callable[[Plan, Any], str]] = {
    "th.arena": lambda p, op: f"np.empty({numbers(op.size)}, np.uint8)",
    "th.buffer": _part,
    "th.empty": lambda p, op: _made(f"empty_strided({numbers(op.sizes)}, {numbers(op.strides)}", op),
    "th.constant": lambda p, op: _made(f"tensor({list(op.value.get_values())}", op),
    "th.view": lambda p, op: p.view(op.source, op, numbers(op.offset)),
    "th.data": lambda p, op: f"flat({p.name(op.source)})",
    "th.free": lambda p, op: f"del {p.name(op.source)}",
    "th.launch": Plan.launch,
    "th.extern": Plan.aten,
    "th.call": Plan.call,
    "func.return": lambda p, op: f"return [{', '.join(map(p.result, op.operands))}]",
}
