"""hoist-frozen: what depends on parameters only is computed once, not in every call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.tw import view
from tilewright.dialects.types import numel_of

from ..rewrite import insert_arguments, may_rewrite, skip
from ..setup import SETUP
from .frozen import LARGEST, frozen_arguments, frozen_values

_VIEWS = (view.ReshapeOp, view.TransposeOp, view.BroadcastOp, view.SliceOp)


@dataclass(frozen=True)
class HoistFrozenPass(ModulePass):
    """Move ops that depend on frozen arguments only from `@main` to `@setup`.

    Before:
        func.func @main(%x: tensor<8x64xf32>, %w: tensor<64x96xf32> {tw.frozen}) -> ... {
          %p = tw.pack %w width 48 : tensor<64x96xf32> -> tensor<2x64x48xf32>
          %r = tw.packed_matmul %x, %p ...
    After:
        func.func @main(%x: tensor<8x64xf32>, %w: tensor<64x96xf32> {tw.frozen},
                        %p: tensor<2x64x48xf32> {tw.derived = 0}) -> ... {
          %r = tw.packed_matmul %x, %p ...
        }
        func.func @setup(%w: tensor<64x96xf32> {tw.argument = 1}) -> tensor<2x64x48xf32> {
          %p = tw.pack %w width 48 ...

    The caller runs `@setup` again when a parameter's memory or version changes. Views of
    arguments stay: they cost nothing.
    """

    name = "hoist-frozen"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in list(op.ops):
            if isinstance(function, FuncOp) and function.sym_name.data == "main" and function.body.blocks:
                if exports := _exports(function):
                    op.body.block.add_op(_hoist(function, exports))


def _exports(function: FuncOp) -> list[SSAValue]:
    """Values to be computed in @setup that @main still needs, in order."""
    frozen = {value for value, has_parameter in frozen_values(function).items() if has_parameter}
    moving = {v for v in frozen if isinstance(v.owner, Operation) and not isinstance(v.owner, _VIEWS)}
    needed: list[SSAValue] = []
    for op in function.body.block.ops:
        for value in op.results:
            if value not in moving or not _has_reader_in_main(value, moving):
                continue
            if (numel_of(value) or 0) > LARGEST:
                skip(op, f"not hoisted: {numel_of(value)} elements would be kept for ever")
            elif may_rewrite(op, "hoisted"):
                needed.append(value)
    return needed


def _has_reader_in_main(value: SSAValue, moving: set[SSAValue]) -> bool:
    """True where some reader, perhaps through views, is not itself hoisted."""
    for use in value.uses:
        if any(r in moving for r in use.operation.results):
            continue
        if not isinstance(use.operation, _VIEWS):
            return True
        if any(_has_reader_in_main(r, moving) for r in use.operation.results):
            return True
    return False


def _hoist(main: FuncOp, exports: Sequence[SSAValue]) -> FuncOp:
    """Build @setup, and make its results arguments of @main."""
    ops = _closure(main.body.block, exports)
    used = {operand for op in ops for operand in op.operands}
    arguments = [a for a in frozen_arguments(main) if a in used]
    block = Block(arg_types=[a.type for a in arguments])
    values: dict[SSAValue, SSAValue] = dict(zip(arguments, block.args, strict=True))
    for op in ops:
        block.add_op(op.clone(values))
    block.add_op(ReturnOp(*(values[v] for v in exports)))
    for old, new in zip(arguments, block.args, strict=True):
        new.name_hint = old.name_hint
    numbers: dict[SSAValue, int] = {a: i for i, a in enumerate(main.body.block.args)}
    positions = [numbers[a] for a in arguments]
    attrs = [DictionaryAttr({"tw.argument": IntegerAttr(p, i64)}) for p in positions]
    types = ([a.type for a in arguments], [v.type for v in exports])
    _add_arguments(main, exports)
    return FuncOp(SETUP, types, Region(block), arg_attrs=ArrayAttr(attrs))


def _closure(block: Block, values: Sequence[SSAValue]) -> list[Operation]:
    """The ops that compute `values`, in order."""
    wanted = set(values)
    found: list[Operation] = []
    for op in reversed(list(block.ops)):
        if any(r in wanted for r in op.results):
            wanted.update(op.operands)
            found.append(op)
    return found[::-1]


def _add_arguments(main: FuncOp, exports: Sequence[SSAValue]) -> None:
    """Replace `exports` by new trailing arguments; what computed them is left dead."""
    block = main.body.block
    attrs = list(main.arg_attrs.data) if main.arg_attrs is not None else []
    attrs += [DictionaryAttr({})] * (len(block.args) - len(attrs))
    arguments = insert_arguments(block, len(block.args), [value.type for value in exports])
    for number, (value, argument) in enumerate(zip(exports, arguments, strict=True)):
        argument.name_hint = value.name_hint
        value.replace_all_uses_with(argument)
        attrs.append(DictionaryAttr({"tw.derived": IntegerAttr(number, i64)}))
    main.properties["arg_attrs"] = ArrayAttr(attrs)
    main.properties["function_type"] = FunctionType.from_lists(
        [a.type for a in block.args], list(main.function_type.outputs)
    )
