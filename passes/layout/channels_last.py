"""channels-last: libraries convolve images whose channels are neighbours in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, TensorType, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import Expr, format_exprs, row_major_strides
from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tw.aten import AtenOp
from tilewright.dialects.tw.base import STRIDES, int_array
from tilewright.dialects.tw.linalg import ConvolutionOp
from tilewright.dialects.tw.view import TransposeOp
from tilewright.dialects.types import element_type_of, sizes_of

from ..driver import apply_rules
from ..memory.layouts import dense, inverse, transposed
from ..memory.memory_order import layout_of
from ..memory.result_memory import FREE, ORDER, result_attributes
from ..memory.views import is_written
from ..rewrite import location_of, may_rewrite, skip
from ..tensor.convolution_gradients import GRADIENT, IMAGE, OF_IMAGE, computes_gradients, number_of, returned
from ..tensor.fold_views import transpose_chain
from .permute import Perm
from .sink_transposes import sink_transposes
from .worth_turning import why_not

_RANKS = (4, 5)
"""Of images and volumes."""


@dataclass(frozen=True)
class ChannelsLastPass(ModulePass):
    """Have images that libraries convolve, and what lies between, with their channels last in memory.

    Before:
        %r = tw.convolution %x, %w ... : (tensor<2x8x5x5xbf16>, ...) -> tensor<2x16x5x5xbf16>
        %e = tw.exp %r : tensor<2x16x5x5xbf16>
        %s = tw.convolution %e, %v ... : (tensor<2x16x5x5xbf16>, ...) -> tensor<2x4x5x5xbf16>
    After:
        %r = tw.convolution %x, %w ... {tw.strides = ["400, 1, 80, 16"]} : ...
        %l = tw.transpose %r by [0, 2, 3, 1] : tensor<2x16x5x5xbf16> -> tensor<2x5x5x16xbf16>
        %e = tw.exp %l : tensor<2x5x5x16xbf16>
        %t = tw.transpose %e by [0, 3, 1, 2] : tensor<2x5x5x16xbf16> -> tensor<2x16x5x5xbf16>
        %s = tw.convolution %t, %v ... {tw.strides = ["100, 1, 20, 4"]} : ...

    Matrix units of GPUs multiply rows of channels. A library that is given other images turns them in
    launches of its own, before and after. So each convolution and each gradient of one reads images, and
    returns them, in this order; what lies between computes in it, too, where that takes fewer transposes than
    it saves (`sink-transposes`). Arguments that lie so already are read so, and results whose strides nobody
    asked for (`tw.free`: what the backward pass is given) are stored so.

    Nothing changes in f64, without `channels_last`, which a target says, and in graphs that were found slower
    so (`passes/layout/worth_turning.py`): with groups of several channels, which libraries do slowly in this
    order; for training also where the channels of a convolution become half as many or less, or are few
    everywhere. Nor where all convolutions are of channels each for itself, which no matrix unit multiplies,
    and no caller has images so.
    """

    name = "channels-last"

    channels_last: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op) if self.channels_last else ():
            found = [inner for inner in function.body.block.ops if _is_turnable(inner)]
            if found and (why := why_not(function, found, asked=_asks(function))) is not None:
                for inner in found:
                    skip(inner, f"its image stays as it is: {why}")
                continue
            turned = [inner for inner in found if may_rewrite(inner, "its channels come last")]
            if turned:
                _Turning(function).run(turned)


def is_turned(op: Operation) -> bool:
    """Whether `op` is a convolution, or the gradients of one, whose images this pass turned."""
    return _image_of(op) is not None and op.attributes.get(STRIDES) == _orders(op)


def _orders(op: Operation) -> ArrayAttr[StringAttr]:
    return ArrayAttr([_strides_attr(result) for result in op.results])


def _image_of(op: Operation) -> SSAValue | None:
    """The image of a convolution, or of one whose gradients `op` computes; None of other ops."""
    if isinstance(op, ConvolutionOp) or computes_gradients(op):
        return op.operands[number_of(op, IMAGE)]
    return None


def _is_turnable(op: Operation) -> bool:
    """Whether `op` is one of which a library knows both orders."""
    if (image := _image_of(op)) is None:
        return False
    if element_type_of(image) != f64 and _is_image(image):
        return True
    skip(op, "its image stays as it is: libraries know one order of f64, and of one dimension")
    return False


def to_the_end(rank: int) -> Perm:
    """The transpose that brings channels to the end."""
    return (0, *range(2, rank), 1)


@dataclass
class _Turning:
    """One function, of which images are turned."""

    function: FuncOp
    seeds: list[Operation] = field(default_factory=list[Operation])
    """The transposes that bring channels back, behind what has them last."""

    @property
    def block(self) -> Block:
        return self.function.body.block

    def run(self, convolutions: Sequence[Operation]) -> None:
        self._arguments()
        for op in convolutions:
            self._convolution(op)
        results = self._results()
        sink_transposes(self.block, frozenset(self.seeds))
        apply_rules(self.function, {TransposeOp: (transpose_chain,)}, ChannelsLastPass.name)
        self._store_results(results)

    def _arguments(self) -> None:
        """Arguments that lie turned are read so."""
        first = self.block.first_op
        assert first is not None
        for arg in self.block.args:
            if _is_image(arg) and lies_turned(arg) and not _is_written(arg):
                self._turn_behind(arg, first)

    def _convolution(self, op: Operation) -> None:
        """The filters stay as they are: `turn-filters` brings them to the order of images."""
        arguments = (IMAGE,) if isinstance(op, ConvolutionOp) else (GRADIENT, IMAGE)
        for number in {number_of(op, argument): None for argument in arguments}:
            self._turn_before(op, number)
        op.attributes[STRIDES] = _orders(op)
        after = op.next_op
        assert after is not None
        numbers = returned(op) if computes_gradients(op) else (OF_IMAGE,)
        for number, result in zip(numbers, op.results, strict=True):
            if number == OF_IMAGE:
                self._turn_behind(result, after)

    def _turn_before(self, op: Operation, number: int) -> None:
        """Let `op` read an operand through what has it turned."""
        op.operands[number] = self._turned(op.operands[number], op).result

    def _turn_behind(self, value: SSAValue, before: Operation) -> None:
        """Let all that reads `value` read what has it turned."""
        uses = list(value.uses)
        back = self._turned(value, before)
        for use in uses:
            use.operation.operands[use.index] = back.result
        self.seeds.append(back)

    def _turned(self, value: SSAValue, before: Operation) -> TransposeOp:
        """`value`, brought back from where its channels come last."""
        perm = to_the_end(len(sizes_of(value)))
        turned = TransposeOp(value, perm)
        back = TransposeOp(turned.result, inverse(perm))
        for new in (turned, back):
            new.location = location_of(value)
            self.block.insert_op_before(new, before)
        return back

    def _results(self) -> list[int]:
        """Results that may be stored turned, or must be, which are returned through what has them so."""
        ret = self.block.last_op
        assert isinstance(ret, ReturnOp)
        found = [
            number
            for number, attributes in enumerate(result_attributes(self.function))
            if _is_image(value := ret.operands[number])
            and (FREE in attributes or _must_be_turned(value, attributes))
        ]
        for number in found:
            self._turn_before(ret, number)
        return found

    def _store_results(self, found: Sequence[int]) -> None:
        """Those that are computed turned are stored so."""
        attributes, ret = result_attributes(self.function), self.block.last_op
        assert ret is not None
        for number in found:
            value = ret.operands[number]
            if FREE in attributes[number] and _is_computed_turned(value):
                attributes[number][STRIDES] = _strides_attr(value)
                attributes[number][ORDER] = int_array(to_the_end(len(sizes_of(value))))
        if found:
            self.function.properties["res_attrs"] = ArrayAttr(map(DictionaryAttr, attributes))


def _asks(function: FuncOp) -> bool:
    """Whether a caller has images whose channels come last, or wants them so."""
    block = function.body.block
    ret = block.last_op
    assert ret is not None
    wanted = zip(ret.operands, result_attributes(function), strict=True)
    given = any(_is_image(arg) and lies_turned(arg) for arg in block.args)
    return given or any(_is_image(value) and _must_be_turned(value, a) for value, a in wanted)


def _must_be_turned(value: SSAValue, attributes: dict[str, Attribute]) -> bool:
    return attributes.get(STRIDES) == _strides_attr(value)


def _is_written(arg: SSAValue) -> bool:
    """Whether an op changes an argument, which it names."""
    calls = (use.operation for use in arg.uses if isinstance(use.operation, AtenOp))
    return is_written(arg) or any(call.mutates is not None for call in calls)


def _is_image(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and len(sizes_of(value)) in _RANKS


def _strides(value: SSAValue) -> tuple[Expr, ...]:
    """The strides of what has its channels last in memory; of what is no image, those of rows."""
    sizes = sizes_of(value)
    if len(sizes) not in _RANKS:
        return row_major_strides(sizes)
    perm = to_the_end(len(sizes))
    return transposed(dense(tuple(sizes[d] for d in perm)), inverse(perm)).strides


def _strides_attr(value: SSAValue) -> StringAttr:
    return StringAttr(format_exprs(_strides(value)))


def lies_turned(value: SSAValue) -> bool:
    """Whether an argument, or what a library returns, has its channels last in memory, and there alone."""
    layout = layout_of(value)
    return not layout.is_dense and layout.strides == _strides(value)


def _is_computed_turned(value: SSAValue) -> bool:
    """Whether a result is computed with its channels last."""
    owner = value.owner
    if isinstance(owner, TransposeOp):
        return ints(owner.perm) == inverse(to_the_end(len(sizes_of(value))))
    return lies_turned(value)
