"""Which results of a graph are made outside of it, as views of others of its tensors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, cast

import torch
from torch.fx import Node
from torch.fx.node import map_arg

from tilewright.dialects.index_expr import product

from ..joint.joint_nodes import is_tensor, is_view, written_arguments
from ..torch_internals import COPY, tracing_context
from .dtypes import encode
from .strides import layout_of
from .symbols import Symbols


@dataclass(frozen=True)
class Base:
    """What a result is a view of: argument `index` of the graph or, where `of_output`, its output `index`."""

    index: int
    of_output: bool
    read_as: torch.dtype | None = None
    """The dtype that the result reads the memory as, where that is another one."""
    inside: Node | None = None
    """A tensor of the graph that is no output, in place of an argument or output."""
    update: int | None = None
    """The output that is written to argument `index` after the graph ran."""


def storage_of(fake: torch.Tensor) -> int:
    """What tells the memory of one traced tensor from that of another."""
    return fake.untyped_storage()._cdata  # pyright: ignore[reportPrivateUsage]


def made_anew() -> Mapping[int, Base]:
    """The outputs of the forward graph being compiled that only lend their sizes, strides and offset.

    Where the sizes of a view are symbolic, AOTAutograd knows no other way to make it of the caller's tensor.
    """
    context = tracing_context()
    known = context.fw_metadata if context is not None else None
    if known is None or any(
        type(each).__name__ != "PlainTensorMeta"  # a tensor of several, which have other numbers
        for each in (*known.subclass_inp_meta, *known.subclass_fw_graph_out_meta)
    ):
        return {}
    first, count = known.num_mutated_inp_runtime_indices, len(known.output_info)
    updates = {place: i for i, place in enumerate(known.mutated_inp_runtime_indices)}
    found: dict[int, Base] = {}
    for i, info in enumerate(known.output_info):
        kind = info.output_type.name
        if kind == "alias_of_input":
            found[first + i] = Base(info.base_idx, False, update=updates.get(info.base_idx))
        elif kind.startswith("alias_of_intermediate"):
            beyond = 0 if kind.endswith("base_is_user_output") else count
            found[first + i] = Base(first + beyond + info.base_idx, True)
    return {i: base for i, base in found.items() if not (base.of_output and base.index in found)}


def of_arguments(
    outputs: Sequence[Any], placeholders: Sequence[Node], views: Mapping[int, Base], visible: int
) -> Mapping[int, Base]:
    """The outputs that are views of arguments, and of which.

    Eager mode copies nothing for them, and programs see that the first `visible` outputs share memory with
    what they gave. The others would only keep it alive, so that these are views where they are most of it:
    the pieces of one gradient. What the graph writes to an argument is no view of what was given, and
    `views` are views already.
    """
    written = written_arguments(placeholders)
    known = {node: i for i, node in enumerate(placeholders) if node not in written and is_tensor(node)}
    found = {
        i: Base(known[viewed], False)
        for i, output in enumerate(outputs)
        if i not in views and is_tensor(output) and (viewed := _viewed(output)) in known
        if storage_of(_fake(output)) == storage_of(_fake(viewed))
    }
    room = unused_room(outputs[i] for i in found)
    return {i: b for i, b in found.items() if i < visible or room.get(storage_of(_fake(outputs[i])), 1) <= 0}


def unused_room(outputs: Iterable[Node]) -> dict[int, int]:
    """Bytes of the traced memory of results that none of them uses, less those that they use.

    Not for memory of unknown size.
    """
    room: dict[int, int] = {}
    for node in dict.fromkeys(outputs):
        fake = _fake(node)
        shape = (*zip(fake.shape, fake.stride(), strict=True), (fake.untyped_storage().nbytes(), 1))
        if all(type(n) is int for pair in shape for n in pair):
            *elements, (size, _) = shape
            once = prod(n for n, stride in elements if stride != 0)
            key = storage_of(fake)
            room[key] = room.get(key, size) - 2 * once * fake.element_size()
    return room


def sharing(
    outputs: Sequence[Any], apart: Collection[int], views: Mapping[int, Base], symbols: Symbols, visible: int
) -> Mapping[int, Base]:
    """The outputs in which elements of other outputs are, and of which tensor they are views.

    What is written to one of them is read from the others (`y[1:]` beside `y`): this must not depend on what
    passes do, which may compute a view by itself. It is so for the first `visible` outputs, which programs
    see, and for those that read memory as another dtype (`y.view(torch.int32)` beside `y`). The base is the
    first output that is all of that memory, or a tensor of the graph that is. Memory in `apart` is not that
    of outputs; `views` are views already.
    """
    groups: dict[int, dict[int, Node]] = {}
    for i, output in enumerate(outputs):
        fake = output.meta.get("val") if isinstance(output, Node) and i not in views else None
        if isinstance(fake, torch.Tensor) and storage_of(fake) not in apart:
            groups.setdefault(storage_of(fake), {})[i] = output
    found: dict[int, Base] = {}
    for group in groups.values():
        if len({encode(_fake(node)).dtype for node in group.values()}) == 1:
            group = {i: node for i, node in group.items() if i < visible}
            if not _may_overlap([_fake(node) for node in dict.fromkeys(group.values())]):
                continue
        found |= _views(group, symbols)
    return found


def _views(group: Mapping[int, Node], symbols: Symbols) -> Mapping[int, Base]:
    """What is a view of what among outputs of one memory."""
    base = next((i for i, node in group.items() if _is_whole(_fake(node), symbols)), None)
    if base is not None:
        others = {i: node for i, node in group.items() if node is not group[base]}
        dtype = _fake(group[base]).dtype
        return {i: Base(base, True, _unless(dtype, node)) for i, node in others.items()}
    whole = _whole_behind(next(iter(group.values())), symbols)
    if whole is None:
        return {}
    dtype = encode(_fake(whole)).dtype
    return {i: Base(-1, False, _unless(dtype, node), whole) for i, node in group.items()}


def _whole_behind(node: Node, symbols: Symbols) -> Node | None:
    """The tensor that `node` is a view of and that is all of its memory."""
    storage = storage_of(_fake(node))
    while not _is_whole(_fake(node), symbols):
        tensors = filter(is_tensor, node.all_input_nodes)
        viewed = next((arg for arg in tensors if storage_of(_fake(arg)) == storage), None)
        if viewed is None:
            return None
        node = viewed
    return node


def _unless(dtype: torch.dtype, node: Node) -> torch.dtype | None:
    """The dtype of `node` unless it is that one."""
    return None if _fake(node).dtype == dtype else _fake(node).dtype


def shown_of(output: Node, argument: torch.Tensor, update: Node | None) -> torch.Tensor | None:
    """What an output shows of an argument: itself, unless the graph or its caller (`update`) writes to that.

    It is traced as a view of what is written there, then, which may lie otherwise: of the argument the same
    views are taken. None where the output is no view of that, or the argument has no such views.
    """
    if storage_of(_fake(output)) == storage_of(argument):
        return _fake(output)
    views, written = list[Node](), output
    while written is not update and not _is_written(written, argument):
        if (viewed := _viewed_by(written)) is None:
            return None
        views.append(written)
        written = viewed
    shown: Any = argument
    with cast("Any", argument).fake_mode:
        try:
            for view in reversed(views):
                args, named = map_arg((view.args[1:], view.kwargs), _fake)
                shown = cast("Callable[..., Any]", view.target)(shown, *args, **named)
        except (RuntimeError, ValueError):  # that cannot be viewed so
            return None
    return shown if shown.shape == _fake(output).shape else None


def _is_written(node: Node, argument: torch.Tensor) -> bool:
    """Whether this is what the graph writes to an argument."""
    return any(
        user.target is COPY
        and user.args[1] is node
        and storage_of(_fake(cast("Node", user.args[0]))) == storage_of(argument)
        for user in node.users
    )


def _fake(node: Node) -> torch.Tensor:
    return node.meta["val"]


def _viewed(node: Node) -> Node:
    """What `node` is a view of, as far as operators say so, which do nothing but to view."""
    while (viewed := _viewed_by(node)) is not None:
        node = viewed
    return node


def _viewed_by(node: Node) -> Node | None:
    """What `node` is a view of, by one operator; None if it is none."""
    viewed = node.args[0] if is_view(node) else None
    return viewed if isinstance(viewed, Node) else None


def _may_overlap(fakes: Sequence[torch.Tensor]) -> bool:
    """False where tensors of one memory begin behind each other's last elements."""
    ranges: list[tuple[int, int]] = []
    for fake in fakes:
        first, sizes, strides = fake.storage_offset(), fake.shape, fake.stride()
        if any(type(n) is torch.SymInt for n in (first, *sizes, *strides)):
            return len(fakes) > 1
        if 0 not in sizes:
            reach = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
            ranges.append((int(first), int(first) + reach))
    ranges.sort()
    return any(last >= begin for (_, last), (begin, _) in pairwise(ranges))


def _is_whole(fake: torch.Tensor, symbols: Symbols) -> bool:
    """Whether the elements are all of the memory, in some order of dimensions."""
    known = (fake.untyped_storage().nbytes(), fake.storage_offset(), *fake.shape, *fake.stride())
    if not all(symbols.knows(n) for n in known if type(n) is torch.SymInt):
        return False
    layout = layout_of(fake, symbols)
    nbytes, offset = symbols.exprs(known[:2])
    return offset.constant == 0 and layout.is_dense and product(layout.sizes) * fake.element_size() == nbytes
