"""The host function of a CUDA graph: the plan of `th` ops as one C++ function that launches kernels.

    th.launch @k0(%x) into(%o) symbols "s0" : (memref<?xf32>) into (memref<?xf32>)

becomes, inside `tw_main`,

    {  // model.py:12
      const void* p[] = {x0, b1};
      const i32 n0 = s0;
      void* args[4] = {&p[0], &p[1], (void*)&n0};
      if (!call.launch(0, (s0 + 1023) / 1024, 1, 1, args, 3, 0)) return nullptr;
    }

The C++ holds no machine code: `launch.py` loads kernels when the function is first called, so
that both are compiled at the same time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp as MainOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, BlockArgument, SSAValue

from tilewright.dialects.index_expr import Expr, Var
from tilewright.dialects.th.calls import ExternOp, LaunchOp, TritonLaunchOp
from tilewright.dialects.th.memory import ViewOp
from tilewright.dialects.th.types import element_of_handle
from tilewright.dialects.tk.group import GroupOp
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tw.aten import ArgAttr, SizeAttr

from ..native.cpp import comment, expression, literal, scalar_type
from ..native.emit_host import emit_hosts
from ..native.host_calls import DTYPES, Available, element_name
from ..native.host_writer import HostStyle, HostWriter, exprs
from ..native.places import Places
from ..native.text import place
from ..native.unit import Unit, entry, make_unit, ranges, shim_pointers
from .given import given_kernels, handed_over
from .kernel import TritonKernel, TritonUnit


def emit_host_unit(module: ModuleOp, kernels: TritonUnit, available: Available, shims: str) -> Unit:
    """The C++ of `module`'s host functions; `shims` is the prefix of libtorch's functions on this device."""
    symbols = {op.sym_name.data: op.symbols.exprs for op in module.ops if isinstance(op, FuncOp | GroupOp)}
    places = Places()
    checks = [places.add_text(what, where) for what, where in kernels.places]

    given = given_kernels(module, [kernel.name for kernel in kernels.kernels if kernel.given is None])

    def style() -> HostStyle:
        writer = _Writer(kernels, symbols, given)
        return HostStyle(
            writer.launch,
            writer.launch_given,
            call="tw::CudaCall<{owned}> call(self, inputs, PLACES, CHECKS);",
            begin="call.begin()",
            argument=writer.argument,
            finish=writer.finish,
            shims=("aoti_torch_cpu_", shims),
        )

    host, plans = emit_hosts(module, places, available, style)
    plan = next(iter(plans.values()))
    table = f"static const int CHECKS[] = {{{', '.join(map(str, [*checks, -1]))}}};"
    opened = "if (const char* missing = tw::open_device(setup)) return tw::lacks(missing);"
    parts = [
        '#include "prelude_cuda.h"',
        places.table(),
        table,
        ranges(plan),
        shim_pointers(plan),
        host,
        entry(list(plans.values()), [opened]),
    ]
    return make_unit(parts, plans)


@dataclass
class _Copied:
    """An argument that may have to be copied because its address is odd."""

    slot: int
    view: int


@dataclass
class _Writer:
    """What CUDA calls say in their own way."""

    unit: TritonUnit
    symbols: Mapping[str, tuple[Expr, ...]]
    given: Mapping[TritonLaunchOp, TritonKernel]
    copied: dict[SSAValue, _Copied] = field(default_factory=dict[SSAValue, _Copied])

    def argument(self, w: HostWriter, arg: BlockArgument, number: int) -> None:
        """Kernels read 128 bits at once: they take no address that is not divisible by 16."""
        if not _is_launched_with(arg):
            return
        sizes, strides = self._layout(arg, number)
        layout, fixed = w.layout(sizes, strides)
        copied = self.copied[arg] = _Copied(w.own(1), w.plan.slots)
        w.plan.slots += 1
        dtype = DTYPES[element_name(element_of_handle(arg.type))]
        name = w.names[arg]
        aligned = f"{name}_aligned"
        w.line(f"void* {aligned} = (void*){name};")
        where = f"{copied.slot}, {copied.view}, {layout}, {dtype}, {'true' if fixed else 'false'}"
        failure = f"return call.out_of_memory({w.places.add_text('a copy of an argument', 'unknown')});"
        w.line(f"if (!call.align({aligned}, {where})) {failure}")
        w.names[arg] = w.pointers[arg] = aligned

    def _layout(self, arg: BlockArgument, number: int) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
        main = arg.block.parent_op()
        assert isinstance(main, MainOp)
        assert main.arg_attrs is not None
        attributes = main.arg_attrs.data[number].data
        sizes, strides = attributes["th.sizes"], attributes["th.strides"]
        assert isinstance(sizes, StringAttr)
        assert isinstance(strides, StringAttr)
        return exprs(sizes), exprs(strides)

    def launch(self, w: HostWriter, op: LaunchOp) -> None:
        name = op.kernel.string_value()
        number, kernel = next((i, k) for i, k in enumerate(self.unit.kernels) if k.name == name)
        site = w.places.add(f"the launch of kernel {name}", op.location)
        where = place(op.location)
        w.line("{" + (f"  {comment(where)}" if where else f"  // {name}"))
        args = self._arguments(w, op, kernel, site)
        values = dict(zip(_variables(self.symbols[name]), op.symbol_values, strict=True))
        grid = ", ".join(_number(e, values) for e in kernel.grid)
        w.line(f"  void* args[{len(args) + 2}] = {{{', '.join(args)}}};")
        launch = f"call.launch({number}, {grid}, args, {len(args)}, {site})"
        w.line(f"  {w.range(name, op)} if (!{launch}) return nullptr;")
        w.line("}")

    def launch_given(self, w: HostWriter, op: TritonLaunchOp) -> None:
        """A user's kernel takes addresses where tensors begin, and numbers, in its own order."""
        kernel = self.given[op]
        index = self.unit.kernels.index(kernel)
        site = w.places.add(f"the launch of kernel {kernel.name}", op.location)
        where = place(op.location)
        w.line("{" + (f"  {comment(where)}" if where else f"  // {kernel.name}"))
        args: list[str] = []
        for i, arg in enumerate(handed_over(op.args.data)):
            if isinstance(arg, ArgAttr):
                w.line(f"  const void* v{i} = {w.pointers[op.operands[arg.index.data]]};")
            elif isinstance(arg, SizeAttr):
                w.line(f"  const i64 w{i} = {expression(arg.expr())};")
                w.line(f"  if (w{i} != (i32)w{i}) return call.too_large({site});")
                w.line(f"  const i32 v{i} = (i32)w{i};")
            else:
                type_, number = _constant(arg)
                w.line(f"  const {type_} v{i} = {number};")
            args.append(f"(void*)&v{i}")
        grid = ", ".join(expression(size) for size in op.grid_sizes)
        w.line(f"  void* args[{len(args) + 2}] = {{{', '.join(args)}}};")
        launch = f"call.launch({index}, {grid}, args, {len(args)}, {site})"
        w.line(f"  {w.range(kernel.name, op)} if (!{launch}) return nullptr;")
        w.line("}")

    def _arguments(self, w: HostWriter, op: LaunchOp, kernel: TritonKernel, site: int) -> list[str]:
        """Addresses of the arguments; what they point to is declared first."""
        buffers = [w.names[v] for v in (*op.ins, *op.outs)]
        if kernel.checks:
            buffers.append("call.failure()")
        if buffers:
            w.line(f"  const void* p[] = {{{', '.join(buffers)}}};")
        symbols: list[str] = []
        first = len(op.ins) + len(op.outs)
        types = [parameter.type for parameter in kernel.parameters[first:]]
        for i, (type_, value) in enumerate(zip(types, op.symbol_values, strict=True)):
            w.line(f"  const i64 v{i} = {expression(value)};")
            if type_ == "i32":
                w.line(f"  if (v{i} != (i32)v{i}) return call.too_large({site});")
                w.line(f"  const i32 n{i} = (i32)v{i};")
            symbols.append(f"(void*)&{'n' if type_ == 'i32' else 'v'}{i}")
        pointers = [f"(void*)&p[{i}]" for i in range(len(buffers))]
        return [*pointers[:first], *symbols, *pointers[first:]]

    def finish(self, w: HostWriter) -> None:
        for arg, copied in self.copied.items():
            if any(_writes(use.operation, arg) for use in arg.uses):
                site = w.places.add_text("the copy of an argument", "unknown")
                w.line(
                    f"if (!call.write_back({copied.slot}, {copied.view})) return call.aten_failed({site});"
                )
        w.line("if (!call.finish()) return nullptr;")


def _constant(arg: Attribute) -> tuple[str, str]:
    """The C++ type of a number that is the same in all calls, and the number."""
    match arg:
        case IntegerAttr():
            return scalar_type(arg.type), literal(arg.value.data, arg.type)
        case FloatAttr():
            return scalar_type(arg.type), literal(arg.value.data, arg.type)
        case _:
            raise AssertionError(f"{arg} is no number")


def _is_launched_with(value: SSAValue) -> bool:
    """Whether a kernel takes the address of an argument, or of a view of it."""
    for use in value.uses:
        op = use.operation
        if isinstance(op, LaunchOp | TritonLaunchOp):
            return True
        if isinstance(op, ViewOp) and _is_launched_with(op.result):
            return True
    return False


def _writes(op: object, value: SSAValue) -> bool:
    """Whether `op` may write to the memory of an argument."""
    if isinstance(op, LaunchOp | ExternOp | TritonLaunchOp):
        return value in op.outs
    if isinstance(op, ViewOp):
        return any(_writes(use.operation, op.result) for use in op.result.uses)
    return not isinstance(op, ReturnOp)  # a call of ATen may write to what it is given


def _variables(symbols: tuple[Expr, ...]) -> list[Var]:
    found = [symbol.variables() for symbol in symbols]
    return [var for (var,) in found]


def _number(value: Expr, values: Mapping[Var, Expr]) -> str:
    """A size over a kernel's symbols, with the values that a launch gives them."""
    return expression(value.substitute(values))
