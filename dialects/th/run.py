"""Runs a plan on arrays: the reference that compiled plans are judged against."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import IndexType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ..arrays import Array, Arrays
from ..index_expr import Expr, Var, parse_exprs
from ..interpreter import NoEntry, WrongArgument, bind_symbols, functions_of, run_block
from ..semantics import FUNCTIONS, Machine
from ..tk.group import GroupOp
from ..tk.kernels import FuncOp as KernelFunction
from ..types import element_type_of
from .memory import EmptyOp
from .semantics import KERNELS, Strided, layout_of


def run_plan(
    module: ModuleOp,
    args: Sequence[Any],
    xp: Any,
    float64: bool = False,
    *,
    aten: Callable[[Operation, Sequence[Array]], Sequence[Array]] | None = None,
    draw_seed: Callable[[], int] | None = None,
    symbols: Mapping[Var, int] | None = None,
    observe: Callable[[Operation, Sequence[Any]], None] | None = None,
    state: Mapping[str, Any] | None = None,
    entry: str = "main",
) -> list[Any]:
    """Run `@entry`; arguments have their logical shapes, and get what the plan writes to them.

    `aten` executes a `th.call`, a `th.triton`, or a `th.extern` that is not a matrix product, on arrays;
    for the latter two it returns the new contents of `outs`. `symbols` and `observe` are as in `interpret`.
    `state` is for what an op's semantics look up in the machine, such as `th.semantics.LAUNCH`.
    """
    functions = functions_of(module)
    function = functions.get(entry)
    if function is None:
        raise NoEntry(module, name=entry)
    machine = Machine(Arrays(xp, float64=float64), dict(symbols or {}), aten, draw_seed, observe)
    machine.state.update(state or {})
    machine.state[FUNCTIONS] = functions
    machine.state[KERNELS] = {
        f.sym_name.data: f for f in module.ops if isinstance(f, KernelFunction | GroupOp)
    }
    return run_plan_function(function, args, machine)


def run_plan_function(function: FuncOp, args: Sequence[Any], machine: Machine) -> list[Any]:
    """The results of one function of the plan; arguments get what it writes to them."""
    xp, block = machine.xp, function.body.block
    bind_symbols(function, args, machine)
    values: dict[SSAValue, Any] = {}
    tensors: dict[SSAValue, Strided] = {}
    for parameter, arg in zip(block.args, args, strict=True):
        if isinstance(parameter.type, IndexType):
            values[parameter] = int(arg)
            continue
        tensors[parameter] = _argument(function, parameter, arg, machine)
        values[parameter] = tensors[parameter].data
    results = run_block(block, values, machine)
    ret = block.last_op
    assert isinstance(ret, ReturnOp)
    found = [_result(v, r, tensors, machine) for v, r in zip(ret.arguments, results, strict=True)]
    for parameter, tensor in tensors.items():
        assert isinstance(parameter, BlockArgument)
        args[parameter.index][...] = machine.arrays.cast(tensor.array(xp), args[parameter.index].dtype)
    return found


def _argument(function: FuncOp, parameter: BlockArgument, arg: Array, machine: Machine) -> Strided:
    """The argument in memory of its own, with the layout that the plan was made for."""
    given = function.arg_attrs.data[parameter.index].data if function.arg_attrs is not None else None
    if given is not None and "th.sizes" in given:
        sizes = tuple(machine.sizes(_exprs(given["th.sizes"])))
        strides = tuple(machine.sizes(_exprs(given.get("th.strides"))))
    else:  # no layout: the buffer as it lies
        sizes, strides = tuple(arg.shape), (1,)
    if tuple(arg.shape) != sizes:
        raise WrongArgument(function, index=parameter.index, actual=list(arg.shape), expected=list(sizes))
    element = element_type_of(parameter)
    count = 0 if 0 in sizes else 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    tensor = Strided(machine.arrays.full([count], 0, machine.arrays.dtype(element)), 0, sizes, strides)
    once = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in strides)  # repeated elements
    tensor.array(machine.xp)[once] = machine.arrays.store(arg, element)[once]
    return tensor


def _exprs(text: Attribute | None) -> tuple[Expr, ...]:
    assert isinstance(text, StringAttr), "arguments of a plan carry th.sizes and th.strides"
    return parse_exprs(text.data)


def _result(value: SSAValue, result: Any, tensors: dict[SSAValue, Strided], machine: Machine) -> Any:
    """A copy, so that what is returned does not change with the arguments."""
    if isinstance(value.owner, EmptyOp):
        result = layout_of(value, machine)
    elif value in tensors:
        result = tensors[value]
    return machine.arrays.copy(result.array(machine.xp)) if isinstance(result, Strided) else result
