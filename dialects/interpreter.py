"""The reference interpreter: runs `@main` of a module on arrays, op by op.

Any op runs that has semantics (`dialects/semantics.py`). With `float64` every float is
f64, which gives the exact result that a compiled one is judged against.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import IndexType, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.hints import isa

from .arrays import Array, Arrays
from .diagnostics import TilewrightError
from .index_expr import Var
from .semantics import FUNCTIONS, Machine, semantics_of
from .types import element_type, sizes_of_type


class NoEntry(TilewrightError):
    """A module without a function to run."""

    code = "TW3112"
    what = "the module has no function @{name}"
    why = "the interpreter runs one function"
    fix = "name the function @{name}, or pass `entry=`"


class WrongArgument(TilewrightError):
    """An argument that does not have the type of its parameter."""

    code = "TW3113"
    what = "argument {index} of @main is {actual}, expected {expected}"
    why = "sizes are fixed by the types and by the symbols among the arguments"
    fix = "pass arrays of the declared sizes, and the symbols' values as integers"


def interpret(
    module: ModuleOp,
    args: Sequence[Any],
    xp: Any,
    float64: bool = False,
    *,
    aten: Callable[[Operation, Sequence[Array]], Sequence[Array]] | None = None,
    draw_seed: Callable[[], int] | None = None,
    symbols: Mapping[Var, int] | None = None,
    observe: Callable[[Operation, Sequence[Any]], None] | None = None,
    entry: str = "main",
) -> list[Any]:
    """Run `@entry` on `args` (arrays of `xp`; integers for index arguments).

    `aten` executes a `tw.aten` op on arrays, `draw_seed` gives `tw.rng_seed` its value,
    `symbols` gives values to symbols that are no argument, `observe` sees what each op computed.
    `tw.write` stores into the caller's arrays once everything else has run.
    """
    function = _entry(module, entry)
    machine = Machine(Arrays(xp, float64=float64), dict(symbols or {}), aten, draw_seed, observe)
    machine.state[FUNCTIONS] = functions_of(module)
    results = list(run_function(function, args, machine))
    writes = machine.state.get("writes", [])
    if writes:  # results may alias the arguments
        results = [machine.arrays.copy(r) if hasattr(r, "shape") else r for r in results]
    for target, places, value in writes:
        _store(args[target], places, value, machine)
    return results


def functions_of(module: ModuleOp) -> dict[str, FuncOp]:
    """The functions of a module by name."""
    return {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}


def run_function(function: FuncOp, args: Sequence[Any], machine: Machine) -> Sequence[Any]:
    """What `function` returns, as arrays that may share memory with `args`."""
    block = function.body.block
    bind_symbols(function, args, machine)
    values: dict[SSAValue, Any] = {}
    for index, (parameter, arg) in enumerate(zip(block.args, args, strict=True)):
        values[parameter] = _argument(function, index, parameter.type, arg, machine)
    return run_block(block, values, machine)


def _entry(module: ModuleOp, name: str) -> FuncOp:
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == name:
            return op
    raise NoEntry(module, name=name)


def bind_symbols(function: FuncOp, args: Sequence[Any], machine: Machine) -> None:
    """Give each symbol the value of the index argument that carries its name."""
    for attrs, arg in zip(function.arg_attrs or (), args, strict=False):
        if isinstance(name := attrs.data.get("tw.symbol"), StringAttr):
            machine.symbols[Var(name.data[0], int(name.data[1:]))] = int(arg)


def _argument(function: FuncOp, index: int, type_: Attribute, arg: Any, machine: Machine) -> Any:
    if isinstance(type_, IndexType):
        return int(arg)
    if not isa(type_, TensorType):
        return arg
    expected = machine.sizes(sizes_of_type(type_))
    if list(arg.shape) != expected:
        raise WrongArgument(function, index=index, actual=list(arg.shape), expected=expected)
    return machine.arrays.store(arg, element_type(type_))


def run_block(block: Block, values: dict[SSAValue, Any], machine: Machine) -> Sequence[Any]:
    """Execute the ops of `block`; gives the operands of its `func.return`."""
    for op in block.ops:
        operands = [values[operand] for operand in op.operands]
        if isinstance(op, ReturnOp):
            return operands
        results = semantics_of(op)(op, operands, machine)
        if machine.observe is not None:
            machine.observe(op, results if op.results else operands)
        for result, value in zip(op.results, results, strict=True):
            values[result] = value
    return ()


def _store(target: Any, places: Array, value: Array, machine: Machine) -> None:
    """Store at numbered elements of `target`."""
    elements = machine.arrays.copy(target).reshape(-1)
    elements[places.reshape(-1)] = machine.arrays.cast(value, target.dtype).reshape(-1)
    target[...] = elements.reshape(target.shape)
