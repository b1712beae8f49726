"""Kernels that users wrote, as a graph launches them: their texts, and what a launch hands over.

    th.triton <"add", 4, 3, "..."> grid "4, 1, 1" (%x, %y) into(%o) {
      args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, 1000 : i32, "256"]}

is a kernel with the parameters `*fp32, *fp32, *fp32, i32` and the constant 256. Launches with the same text,
types and promises share one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, ModuleOp, Signedness, StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from tilewright.dialects.index_expr import ONE
from tilewright.dialects.th.calls import TritonLaunchOp
from tilewright.dialects.th.memory import ViewOp
from tilewright.dialects.th.types import element_of_handle, expr_of
from tilewright.dialects.tw.aten import ArgAttr, SizeAttr
from tilewright.dialects.tw.triton import ConfigAttr, JitAttr
from tilewright.dialects.types import bytes_of

from .kernel import GivenText, Parameter, TritonKernel
from .spelling import pointer

_ALIGNED = 16


def given_kernels(module: ModuleOp, taken: Sequence[str]) -> dict[TritonLaunchOp, TritonKernel]:
    """The kernel of each launch of a user's function; `taken` are names of other kernels."""
    found: dict[TritonLaunchOp, TritonKernel] = {}
    known: dict[TritonKernel, TritonKernel] = {}
    names = set(taken)
    for op in module.walk():
        if not isinstance(op, TritonLaunchOp):
            continue
        kernel = kernel_of_launch(op, op.configurations[0])
        if kernel not in known:
            name, number = kernel.function, 0
            while name in names:
                number += 1
                name = f"{kernel.function}_{number}"
            names.add(name)
            known[kernel] = replace(kernel, name=name)
        found[op] = known[kernel]
    return found


def kernel_of_launch(op: TritonLaunchOp, configuration: ConfigAttr) -> TritonKernel:
    """The kernel of a launch, launched in this way."""
    elements = [element_of_handle(value.type) for value in op.operands]
    aligned = list(map(_is_aligned, op.operands))
    return kernel_of(op.kernel_in(configuration), configuration.args.data, elements, aligned)


def handed_over(args: Sequence[Attribute]) -> list[Attribute]:
    """What a launch hands over, parameter by parameter: buffers and numbers, without the constants."""
    return [arg for arg in args if not isinstance(arg, StringAttr)]


def kernel_of(
    jit: JitAttr, args: Sequence[Attribute], elements: Sequence[Attribute], aligned: Sequence[bool]
) -> TritonKernel:
    """The kernel that `args` ask for, named like the function.

    Of each operand `elements` has the type, and `aligned` says whether its address is divisible by 16.
    """
    order = jit.parameters_of_function
    given = list(zip(order, args, strict=True))
    parameters = [_parameter(name, arg, elements, aligned) for name, arg in given]
    return TritonKernel(
        name=jit.function.data,
        parameters=tuple(p for p in parameters if p is not None),
        grid=(ONE, ONE, ONE),  # each launch has its own
        warps=jit.warps.data,
        stages=jit.stages.data,
        checks=False,
        given=GivenText(
            text=jit.text.data,
            constants=tuple((name, arg.data) for name, arg in given if isinstance(arg, StringAttr)),
            order=order,
        ),
        function=jit.function.data,
    )


def _parameter(
    name: str, arg: Attribute, elements: Sequence[Attribute], aligned: Sequence[bool]
) -> Parameter | None:
    match arg:
        case ArgAttr():
            number = arg.index.data
            return Parameter(name, _pointer(elements[number]), aligned[number])
        case SizeAttr():
            return Parameter(name, "i32", aligned=not arg.expr() % _ALIGNED)
        case IntegerAttr():
            kind = str(arg.type)
            return Parameter(name, kind, aligned=kind != "i1" and arg.value.data % _ALIGNED == 0)
        case FloatAttr():
            return Parameter(name, "fp32", aligned=False)
        case _:
            return None


def _pointer(element: Attribute) -> str:
    """Of an element without a sign `*u8`: what the user's text does depends on it."""
    if isa(element, IntegerType) and element.signedness.data == Signedness.UNSIGNED:
        return f"*u{element.width.data}"
    return pointer(element)


def _is_aligned(value: SSAValue) -> bool:
    """Whether an address is divisible by 16 for all sizes: buffers begin so, views may stand within them."""
    owner = value.owner
    if not isinstance(owner, ViewOp):
        return True
    offset = expr_of(owner.name, "offset", owner.offset) * bytes_of(element_of_handle(value.type))
    return not offset % _ALIGNED and (not isinstance(owner.source.owner, ViewOp) or _is_aligned(owner.source))
