"""What a reduction tries: each edit knows its places in a module and applies itself to some of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    SymbolRefAttr,
    UnknownLoc,
    i1,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator, SymbolOpInterface

from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.types import is_float
from tilewright.passes.kernels.scalar_builder import constant_op

Places = range
Change = Callable[[], bool]
Substitute = Callable[[Operation, SSAValue], SSAValue | None]
_NO_ATTRIBUTES = DictionaryAttr({})


@dataclass(frozen=True)
class Edit:
    """A kind of change: how many places it has, and how it changes some of them."""

    name: str
    count: Callable[[ModuleOp], int]
    apply: Callable[[ModuleOp, Places], bool]
    """Gives whether anything changed."""


def _over(name: str, places: Callable[[ModuleOp], Sequence[Change]]) -> Edit:
    """An edit whose places are changes, made in the order of the module."""

    def apply(module: ModuleOp, chosen: Places) -> bool:
        found = places(module)
        done = [found[i]() for i in reversed(chosen) if i < len(found)]
        return any(done)

    return Edit(name, lambda module: len(places(module)), apply)


# Functions


def _functions(module: ModuleOp) -> list[Change]:
    used = {
        str(attr.root_reference.data)
        for op in module.walk()
        for attr in op.properties.values()
        if isinstance(attr, SymbolRefAttr)
    }
    free = [op for op in module.ops if op.has_trait(SymbolOpInterface) and _symbol(op) not in used]
    return [lambda op=op: _erase(op) for op in free] if len(free) > 1 else []


def _symbol(op: Operation) -> str:
    return str(getattr(op.properties.get("sym_name"), "data", ""))


def _erase(op: Operation) -> bool:
    Rewriter.erase_op(op, safe_erase=False)
    return True


# Results and arguments


def _results(module: ModuleOp) -> list[Change]:
    found: list[Change] = []
    for function in list(defined_functions(module)):
        ret = function.body.block.last_op
        if isinstance(ret, ReturnOp):
            found += [lambda f=function, i=i: _drop_result(f, i) for i in range(len(ret.operands))]
    return found


def _drop_result(function: FuncOp, index: int) -> bool:
    ret = function.body.block.last_op
    assert ret is not None
    ret.operands = [v for i, v in enumerate(ret.operands) if i != index]
    attrs = function.res_attrs
    if attrs is not None:
        function.properties["res_attrs"] = ArrayAttr([a for i, a in enumerate(attrs.data) if i != index])
    return _retype(function)


def _returned(module: ModuleOp) -> list[Change]:
    """Return an operand of the op that makes a result, in place of that result."""
    found: list[Change] = []
    for function in list(defined_functions(module)):
        ret = function.body.block.last_op
        for index, value in enumerate(ret.operands if isinstance(ret, ReturnOp) else ()):
            if isinstance(value.owner, Operation):
                operands = list(dict.fromkeys(value.owner.operands))
                found += [lambda f=function, i=index, v=v: _return_instead(f, i, v) for v in operands]
    return found


def _return_instead(function: FuncOp, index: int, value: SSAValue) -> bool:
    ret = function.body.block.last_op
    assert ret is not None
    ret.operands[index] = value
    return _retype(function)


def _arguments(module: ModuleOp) -> list[Change]:
    found: list[Change] = []
    for function in list(defined_functions(module)):
        for index, arg in enumerate(function.body.block.args):
            if arg.first_use is None:
                found.append(lambda f=function, i=index: _drop_argument(f, i))
    return found


def _drop_argument(function: FuncOp, index: int) -> bool:
    block = function.body.block
    if block.args[index].first_use is not None:
        return False
    block.erase_arg(block.args[index])
    attrs = function.arg_attrs
    if attrs is not None:
        function.properties["arg_attrs"] = ArrayAttr([a for i, a in enumerate(attrs.data) if i != index])
    return _retype(function)


def _retype(function: FuncOp) -> bool:
    ret = function.body.block.last_op
    assert ret is not None
    inputs = [a.type for a in function.body.block.args]
    function.properties["function_type"] = FunctionType.from_lists(inputs, [v.type for v in ret.operands])
    return True


# Ops


def _ops(module: ModuleOp) -> list[Operation]:
    """Ops that may go: neither functions nor terminators."""
    found: list[Operation] = []
    for op in module.walk():
        inside = op.parent_op() is not None and not isinstance(op, FuncOp)
        if inside and not op.has_trait(SymbolOpInterface) and not op.has_trait(IsTerminator):
            found.append(op)
    return found


def _removal(substitute: Substitute) -> Callable[[ModuleOp], Sequence[Change]]:
    def places(module: ModuleOp) -> Sequence[Change]:
        return [lambda op=op: _remove(op, substitute) for op in _ops(module)]

    return places


def _remove(op: Operation, substitute: Substitute) -> bool:
    """Put something of the same type in the place of each result that is used."""
    for result in op.results:
        if result.first_use is None:
            continue
        value = substitute(op, result)
        if value is None or value.type != result.type:
            return False
        result.replace_all_uses_with(value)
    return _erase(op)


def _operand(op: Operation, result: SSAValue) -> SSAValue | None:
    return next((v for v in op.operands if v.type == result.type), None)


def _argument(op: Operation, result: SSAValue) -> SSAValue | None:
    """An argument of that type: one that is there, or a new one of the function."""
    block = op.parent_block()
    if block is None:
        return None
    found = next((a for a in block.args if a.type == result.type), None)
    return found if found is not None else _new_argument(block, result.type)


def _fresh(op: Operation, result: SSAValue) -> SSAValue | None:
    """A new argument of the function, also where one of that type is there."""
    block = op.parent_block()
    return None if block is None else _new_argument(block, result.type)


def _new_argument(block: Block, type_: Attribute) -> BlockArgument | None:
    function = block.parent_op()
    if not isinstance(function, FuncOp) or any(op.name.startswith("th.") for op in block.ops):
        return None
    argument = block.insert_arg(type_, len(block.args))
    if function.arg_attrs is not None:
        function.properties["arg_attrs"] = ArrayAttr([*function.arg_attrs.data, _NO_ATTRIBUTES])
    _retype(function)
    return argument


def _constant(op: Operation, result: SSAValue) -> SSAValue | None:
    """Inside a kernel: 1 of that type."""
    type_ = result.type
    if op.parent_op() is None or isinstance(op.parent_op(), FuncOp | ModuleOp):
        return None
    if not is_float(type_) and type_.name != "integer_type":
        return None
    constant = constant_op(True if type_ == i1 else 1, type_)
    constant.location = op.location
    Rewriter.insert_op(constant, InsertPoint.before(op))
    return constant.results[0]


# Attributes and locations


def _attributes(module: ModuleOp) -> list[Change]:
    found: list[Change] = []
    for op in module.walk():
        found += [lambda op=op, k=k: op.attributes.pop(k, None) is not None for k in sorted(op.attributes)]
        if isinstance(op, FuncOp):
            found += [
                lambda op=op, k=k: op.properties.pop(k, None) is not None
                for k in ("res_attrs", "arg_attrs", "sym_visibility")
                if k in op.properties
            ]
    return found


def _locations(module: ModuleOp) -> list[Change]:
    def forget(op: Operation) -> bool:
        op.location = UnknownLoc()
        return True

    return [lambda op=op: forget(op) for op in module.walk() if not isinstance(op.location, UnknownLoc)]


ALL: Sequence[Edit] = (
    _over("functions", _functions),
    _over("results", _results),
    _over("ops by an argument", _removal(_argument)),
    _over("ops by a new argument", _removal(_fresh)),
    _over("results by an operand", _returned),
    _over("ops by an operand", _removal(_operand)),
    _over("ops by a constant", _removal(_constant)),
    _over("arguments", _arguments),
    _over("attributes", _attributes),
    _over("locations", _locations),
)
"""In the order in which they are tried: what removes most comes first."""
