"""What a plan does, op by op, on flat arrays: the arena's overlaps included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ..arrays import Array
from ..index_expr import parse_exprs
from ..semantics import Args, Machine, NoCallback, Results, semantics
from ..tk.group import GroupOp
from ..tk.kernels import FuncOp
from ..tk.semantics import run_func, run_group
from ..tw.aten import ArgAttr
from ..types import bytes_of, element_type_of
from .calls import CallOp, ExternOp, LaunchOp, TritonLaunchOp
from .control_flow import ControlOp
from .memory import AllocOp, ArenaOp, BufferOp, ConstantOp, DataOp, EmptyOp, FreeOp, ViewOp
from .types import element_of_handle

KERNELS = "th.kernels"
"""In `Machine.state`: the functions of the module, and their groups, by name."""
LAUNCH = "th.launch"
"""In `Machine.state`, optional: runs a kernel, `(name, buffers, symbols)`, in place of the interpreter."""
_POISON = 0x7FFF
"""This pattern, repeated, is NaN in every float type and large in every integer type."""
_WIDEST = 8
"""The arena is enlarged by this factor, so that every element type fits its wider stand-in."""


@dataclass(frozen=True)
class Strided:
    """A tensor in memory: flat array, offset, sizes and strides in elements."""

    data: Array
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def array(self, xp: Any) -> Array:
        """The tensor as an array that shares the memory."""
        if hasattr(xp, "Tensor"):
            return xp.as_strided(
                self.data, self.sizes, self.strides, self.data.storage_offset() + self.offset
            )
        width = self.data.itemsize
        source = self.data[self.offset :] if 0 not in self.sizes else self.data[:0]
        steps = [stride * width for stride in self.strides]
        return xp.lib.stride_tricks.as_strided(source, self.sizes, steps)


def of_array(value: Array) -> Strided:
    """A row-major tensor with the elements of `value`."""
    sizes = tuple(int(n) for n in value.shape)
    strides: list[int] = []
    step = 1
    for n in reversed(sizes):
        strides.append(step)
        step *= n
    return Strided(value.reshape(-1), 0, sizes, tuple(reversed(strides)))


def _exprs(text: StringAttr, machine: Machine) -> tuple[int, ...]:
    return tuple(machine.sizes(parse_exprs(text.data)))


def _fresh(machine: Machine, count: int, element: Attribute) -> Array:
    """Undefined contents: a value that shows where it is read."""
    dtype = machine.arrays.dtype(element)
    return _poison(machine, count * machine.xp.full([1], 0, dtype=dtype).itemsize).view(dtype)


def _poison(machine: Machine, size: int) -> Array:
    """So many bytes that nobody wrote, of which every eight belong together."""
    words = machine.arrays.full([-(-size // 8) * 4], _POISON, machine.xp.int16)
    return words.view(machine.xp.uint8)[:size]


@semantics(AllocOp)
def run_alloc(op: AllocOp, args: Args, machine: Machine) -> Results:
    return (_fresh(machine, _exprs(op.size, machine)[0], element_type_of(op.result)),)


@semantics(ArenaOp)
def run_arena(op: ArenaOp, args: Args, machine: Machine) -> Results:
    size = _exprs(op.size, machine)[0] * _WIDEST
    return (_poison(machine, size),)


@semantics(BufferOp)
def run_buffer(op: BufferOp, args: Args, machine: Machine) -> Results:
    (offset,), (count,) = _exprs(op.offset, machine), _exprs(op.size, machine)
    element = element_type_of(op.result)
    if offset * _WIDEST + count * bytes_of(element) * _WIDEST > args[0].shape[0]:
        raise IndexError(f"{op.name} at {offset} with {count} elements leaves the arena")
    dtype = machine.arrays.dtype(element)
    width = machine.xp.full([1], 0, dtype=dtype).itemsize
    start = offset * _WIDEST
    return (args[0][start : start + count * width].view(dtype),)


@semantics(EmptyOp)
def run_empty(op: EmptyOp, args: Args, machine: Machine) -> Results:
    sizes, strides = _exprs(op.sizes, machine), _exprs(op.strides, machine)
    count = 0 if 0 in sizes else 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    data = _fresh(machine, count, element_type_of(op.result))
    layouts = machine.state.setdefault("th.layouts", {})
    layouts[op.result] = Strided(data, 0, sizes, strides)
    return (data,)


@semantics(ConstantOp)
def run_constant(op: ConstantOp, args: Args, machine: Machine) -> Results:
    assert isinstance(op.value, DenseIntOrFPElementsAttr)
    element = element_type_of(op.result)
    values = machine.arrays.asarray(list(op.value.get_values()), machine.arrays.dtype(element))
    return (machine.arrays.store(values, element),)


@semantics(ViewOp)
def run_view(op: ViewOp, args: Args, machine: Machine) -> Results:
    (offset,), sizes, strides = (
        _exprs(op.offset, machine),
        _exprs(op.sizes, machine),
        _exprs(op.strides, machine),
    )
    source = args[0]
    if isinstance(source, Strided):
        return (Strided(source.data, source.offset + offset, sizes, strides),)
    return (Strided(source, offset, sizes, strides),)


@semantics(DataOp)
def run_data(op: DataOp, args: Args, machine: Machine) -> Results:
    (count,) = _exprs(op.size, machine)
    start = args[0].offset
    return (args[0].data[start : start + count],)


@semantics(FreeOp)
def run_free(op: FreeOp, args: Args, machine: Machine) -> Results:
    data = args[0].data
    data[...] = _poison(machine, data.shape[0] * data.itemsize).view(data.dtype)
    return ()


@semantics(LaunchOp)
def run_launch(op: LaunchOp, args: Args, machine: Machine) -> Results:
    name = op.kernel.string_value()
    functions: Mapping[str, FuncOp | GroupOp] = machine.state[KERNELS]
    function = functions[name]
    values = machine.sizes(op.symbol_values)
    symbols = {var: n for e, n in zip(function.symbols.exprs, values, strict=True) for var in e.variables()}
    if (launch := machine.state.get(LAUNCH)) is not None:
        launch(name, args, symbols)
    elif isinstance(function, GroupOp):
        run_group(function, functions, args, symbols, machine)
    else:
        run_func(function, args, symbols, machine)
    return ()


@semantics(CallOp)
def run_call(op: CallOp, args: Args, machine: Machine) -> Results:
    """The results are brought into the layout that the op states, as the targets do."""
    if machine.aten is None:
        raise NoCallback(op, name="aten")
    return as_stated(op, machine.aten(op, [arg.array(machine.xp) for arg in args]), machine)


def as_stated(op: CallOp | ControlOp, arrays: Sequence[Array], machine: Machine) -> list[Strided]:
    """Copies in the layouts that the op states."""
    results: list[Strided] = []
    for i, array in enumerate(arrays):
        sizes, strides = _exprs(op.sizes.data[i], machine), _exprs(op.strides.data[i], machine)
        count = 0 if 0 in sizes else 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
        result = Strided(_fresh(machine, count, element_of_handle(op.outs[i].type)), 0, sizes, strides)
        result.array(machine.xp)[...] = array
        results.append(result)
    return results


# Out-variants: the matrix products are computed here, others by the callback

_PRODUCTS = ("aten::mm.out", "aten::bmm.out", "aten::addmm.out", "aten::baddbmm.out")


@semantics(ExternOp)
def run_extern(op: ExternOp, args: Args, machine: Machine) -> Results:
    arrays = [arg.array(machine.xp) for arg in args]
    outs = arrays[len(op.ins) :]
    callee = op.callee.data
    if callee in _PRODUCTS:
        element = element_of_handle(op.outs[0].type)
        with machine.quiet():
            outs[0][...] = machine.arrays.store(_product(op, arrays, machine), element)
    elif callee == "aten::randint.low_out" and machine.draw_seed is not None:
        for place in product(*map(range, outs[0].shape)):
            outs[0][place] = machine.draw_seed()
    else:
        _write_by_callback(op, arrays, outs, machine)
    return ()


def _product(op: ExternOp, arrays: Sequence[Array], machine: Machine) -> Array:
    """`beta` times the first of three tensors plus `alpha` times the product of the others, or of two."""
    dtype = machine.arrays.compute_dtype(element_of_handle(op.outs[0].type))
    given = [arg for arg in op.args if isinstance(arg, ArgAttr)][:-1]
    *added, lhs, rhs = (machine.arrays.cast(arrays[arg.index.data], dtype) for arg in given)
    if not added:
        return machine.xp.matmul(lhs, rhs)
    beta, alpha = (arg.value.data for arg in op.args.data[3:5] if isinstance(arg, FloatAttr | IntegerAttr))
    return beta * added[0] + alpha * machine.xp.matmul(lhs, rhs)


@semantics(TritonLaunchOp)
def run_triton(op: TritonLaunchOp, args: Args, machine: Machine) -> Results:
    arrays = [arg.array(machine.xp) for arg in args]
    _write_by_callback(op, arrays, arrays[len(op.ins) :], machine)
    return ()


def _write_by_callback(
    op: Operation, arrays: Sequence[Array], outs: Sequence[Array], machine: Machine
) -> None:
    if machine.aten is None:
        raise NoCallback(op, name="aten")
    for out, value in zip(outs, machine.aten(op, arrays), strict=True):
        out[...] = value


def layout_of(value: SSAValue, machine: Machine) -> Strided | None:
    """The tensor that a `th.empty` made."""
    return machine.state.get("th.layouts", {}).get(value)
