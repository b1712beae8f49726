"""A kernel stores a view of its result, which is as it was; what cannot be stored so leaves no trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from kernels_harness import kernels_of, run
from tk_harness import parse
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.dominance import verify_dominance
from tilewright.dialects.index_expr import format_exprs, parse_exprs
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.types import tensor_type
from tilewright.passes.host.stored_views import other_readers, store_view
from tilewright.passes.memory.views import behind
from tilewright.passes.rewrite import counting_rewrites

EXP = "%1 = math.exp %0 : f32 tk.store %1, %o[{at}] : f32, {x}"


def typed(sizes: str) -> str:
    return str(tensor_type(f32, parse_exprs(sizes)))


def module_of(
    sizes: str,
    views: Sequence[str],
    readers: str = "",
    returned: Mapping[str, str] | None = None,
    body: str = EXP,
    note: str = "",
) -> ModuleOp:
    """A kernel of such a body makes `%v0`; `%v1` and so on are views, as in `by [1, 0] : 6, 4` or `: 24`.

    `returned` are more values than the last view, and their sizes.
    """
    x, lines, shape = typed(sizes), list[str](), sizes
    for number, view in enumerate(views, start=1):
        how, _, new = view.rpartition(": ")
        name = "transpose" if how else "reshape"
        lines.append(f"%v{number} = tw.{name} %v{number - 1} {how} : {typed(shape)} -> {typed(new)}")
        shape = new
    values = {f"%v{len(views)}": shape, **(returned or {})}
    types = ", ".join(map(typed, values.values()))
    at = ", ".join(f"d{axis}" for axis in range(len(parse_exprs(sizes))))
    text = f"""func.func @main(%s0: index {{tw.symbol = "s0"}}, %x: {x}) -> ({types}) {{
      %v0 = tk.kernel [{sizes}] ins(%x : {x}) -> ({x}) {note} {{
      ^bb0(%a: {x}, %o: {x}):
        %0 = tk.load %a[{at}] : {x} -> f32
        {body.format(at=at, x=x)}
      }} loc("m.py":3:1)
      {chr(10).join(lines)}
      {readers}
      func.return {", ".join(values)} : {types}
    }}"""
    return parse(text)


def reader(name: str, source: str, sizes: str, at: str) -> str:
    """A kernel that negates what lies in `source`, the value and its sizes, at `at`."""
    value, shape = source.split(" of ")
    return f"""%{name} = tk.kernel [{sizes}] ins({value} : {typed(shape)}) -> ({typed(sizes)}) {{
      ^bb0(%a: {typed(shape)}, %o: {typed(sizes)}):
        %0 = tk.load %a[{at}] : {typed(shape)} -> f32
        %1 = arith.negf %0 : f32
        tk.store %1, %o[{", ".join(f"d{n}" for n in range(len(parse_exprs(sizes))))}] : f32, {typed(sizes)}
      }}"""


def last_view(module: ModuleOp) -> tuple[SSAValue, list[Operation]]:
    """The kernel's result and the views, the first one first."""
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    ret = function.body.block.last_op
    assert ret is not None
    root, views = behind(ret.operands[0])
    return root, views[::-1]


def views_of(module: ModuleOp) -> list[str]:
    return [op.name.partition(".")[2] for op in module.walk() if op.name.startswith("tw.")]


def store_of(module: ModuleOp) -> str:
    """The space of the first kernel, and where it stores."""
    kernel = kernels_of(module)[0]
    (store,) = (op for op in kernel.body.block.ops if isinstance(op, StoreOp))
    return f"{format_exprs(kernel.space)} -> {format_exprs(store.subscripts)}"


STORED: Mapping[str, tuple[str, Sequence[str], str]] = {
    # the sizes, views, and how the last one is stored
    "turned": ("4, 6", ["by [1, 0] : 6, 4"], "4, 6 -> d1, d0"),
    "of more dimensions": ("4, 6", [": 4, 2, 3"], "4, 2, 3 -> d0, d1, d2"),
    "of fewer dimensions": ("4, 6", [": 24"], "4, 6 -> d0*6 + d1"),
    "turned around": ("2, 3, 4", ["by [2, 0, 1] : 4, 2, 3"], "2, 3, 4 -> d2, d0, d1"),
    "heads in rows": ("2, 8, 3", ["by [1, 0, 2] : 8, 2, 3", ": 8, 6"], "2, 8, 3 -> d1, d0*3 + d2"),
    "rows in heads": (
        "8, 6",
        [": 8, 2, 3", "by [1, 0, 2] : 2, 8, 3", ": 2, 24"],
        "8, 2, 3 -> d1, d0*3 + d2",
    ),
    "with a dimension of one": ("4, 6", [": 4, 1, 6", "by [1, 2, 0] : 1, 6, 4"], "4, 6 -> 0, d1, d0"),
    "of no dimension": ("1, 1", [": "], "1, 1 -> "),
    "of a size that the run knows": (
        "s0, 6",
        [": s0, 2, 3", "by [1, 0, 2] : 2, s0, 3"],
        "s0, 2, 3 -> d1, d0, d2",
    ),
    "empty": ("0, 6", ["by [1, 0] : 6, 0"], "0, 6 -> d1, d0"),
}


@pytest.mark.parametrize(("sizes", "views", "stored"), STORED.values(), ids=STORED)
def test_a_view_is_stored(sizes: str, views: Sequence[str], stored: str) -> None:
    module = module_of(sizes, views)
    before = run(module)
    assert store_view(*last_view(module))
    module.verify()
    assert store_of(module) == stored
    assert not views_of(module)
    np.testing.assert_array_equal(run(module)[0], before[0])


HEADS = ["by [1, 0, 2] : 8, 2, 3", ": 8, 6"]
READERS: Mapping[str, tuple[str, str, str]] = {
    # a kernel, its result's sizes, and where it now loads
    "the result": (reader("k", "%v0 of 2, 8, 3", "2, 8, 3", "d0, d1, d2"), "2, 8, 3", "d1, d0*3 + d2"),
    "a view before the last": (
        reader("k", "%v1 of 8, 2, 3", "8, 2, 3", "d0, d1, d2"),
        "8, 2, 3",
        "d0, d1*3 + d2",
    ),
    "the view": (reader("k", "%v2 of 8, 6", "8, 6", "d0, d1"), "8, 6", "d0, d1"),
    "backwards": (reader("k", "%v0 of 2, 8, 3", "2, 8, 3", "d0, 7 - d1, d2"), "2, 8, 3", "7 - d1, d0*3 + d2"),
}


@pytest.mark.parametrize(("kernel", "sizes", "loaded"), READERS.values(), ids=READERS)
def test_kernels_read_it_where_it_is(kernel: str, sizes: str, loaded: str) -> None:
    module = module_of("2, 8, 3", HEADS, kernel, {"%k": sizes})
    before = run(module)
    root, views = last_view(module)
    assert not other_readers(root, views)
    assert store_view(root, views)
    module.verify()
    assert not views_of(module)
    (load, *_) = kernels_of(module)[1].body.block.ops
    assert format_exprs(parse_exprs(loaded)) == load.properties["map"].text.data  # pyright: ignore
    for made, wanted in zip(run(module), before, strict=True):
        np.testing.assert_array_equal(made, wanted)


def brought_forward(module: ModuleOp) -> ModuleOp:
    """With the second kernel right behind the first."""
    first, second = kernels_of(module)
    block = first.parent
    assert block is not None
    second.detach()
    block.insert_op_after(second, first)
    module.verify()
    return module


def test_a_kernel_that_stands_before_the_views_reads_it_where_it_is() -> None:
    kernel = reader("k", "%v0 of 2, 8, 3", "2, 8, 3", "d0, d1, d2")
    module = brought_forward(module_of("2, 8, 3", HEADS, kernel, {"%k": "2, 8, 3"}))
    before = run(module)
    assert store_view(*last_view(module))
    module.verify()
    assert not views_of(module)
    for made, wanted in zip(run(module), before, strict=True):
        np.testing.assert_array_equal(made, wanted)


def test_a_kernel_that_is_not_to_be_rewritten_reads_views_of_it() -> None:
    kernel = reader("k", "%v0 of 2, 8, 3", "2, 8, 3", "d0, d1, d2")
    module = brought_forward(module_of("2, 8, 3", HEADS, kernel, {"%k": "2, 8, 3"}))
    before, (first, second) = run(module), kernels_of(module)
    with counting_rewrites(limit=1):
        assert store_view(*last_view(module))
    verify_dominance(module)
    root, between = behind(second.operands[0])
    assert root is first.results[0]
    assert [op.name for op in between] == ["tw.transpose", "tw.reshape"]
    assert {op.location for op in between} == {first.location}
    for made, wanted in zip(run(module), before, strict=True):
        np.testing.assert_array_equal(made, wanted)


def test_views_of_the_view_stay() -> None:
    module = module_of("2, 8, 3", [*HEADS, "by [1, 0] : 6, 8"])
    before, (root, views) = run(module), last_view(module)
    assert store_view(root, views[:2])
    assert views_of(module) == ["transpose"]
    np.testing.assert_array_equal(run(module)[0], before[0])


def test_the_kernel_keeps_its_place_and_its_name() -> None:
    module = module_of("4, 6", ["by [1, 0] : 6, 4"])
    (kernel,) = kernels_of(module)
    assert store_view(*last_view(module))
    assert kernels_of(module) == [kernel]
    assert (kernel.results[0].name_hint, str(kernel.location)) == ("v0", 'loc("m.py":3:1)')


SCAN = "%1 = tk.scan add %0 along 1 : f32 tk.store %1, %o[{at}] : f32, {x}"
LEFT: Mapping[str, tuple[str, Sequence[str], str, str]] = {
    # the sizes, views, the kernel's body and what is said of it
    "an axis that is scanned would be split": ("4, 6", [": 4, 2, 3", "by [1, 0, 2] : 2, 4, 3"], SCAN, ""),
    "an axis of unknown size would be split": ("4, s0*6", [": 4*s0, 6"], SCAN, ""),
    "it has strides": ("4, 6", ["by [1, 0] : 6, 4"], EXP, 'attributes {tw.strides = ["1, 4"]}'),
    "its store is masked": (
        "4, 6",
        ["by [1, 0] : 6, 4"],
        "%m = arith.constant true tk.store %0, %o[{at}] if %m : f32, {x}",
        "",
    ),
}


@pytest.mark.parametrize(("sizes", "views", "body", "note"), LEFT.values(), ids=LEFT)
def test_what_cannot_be_stored_so_leaves_no_trace(
    sizes: str, views: Sequence[str], body: str, note: str
) -> None:
    module = module_of(sizes, views, body=body, note=note)
    is_left_alone(module)


def test_a_rewrite_that_is_not_to_be_applied_leaves_no_trace() -> None:
    with counting_rewrites(limit=0):
        is_left_alone(module_of("4, 6", [": 4, 2, 3", "by [1, 0, 2] : 2, 4, 3"]))


def is_left_alone(module: ModuleOp) -> None:
    text, (root, views) = str(module), last_view(module)
    assert not store_view(root, views)
    assert str(module) == text
    for value in (root, *(view.results[0] for view in views)):
        assert all(use.operation.parent is not None for use in value.uses)


RETURNED: Mapping[str, tuple[str, Mapping[str, str], bool]] = {
    "nobody": ("", {}, False),
    "the result is returned": ("", {"%v0": "2, 8, 3"}, True),
    "a view before the last is returned": ("", {"%v1": "8, 2, 3"}, True),
    "an op reads the result": (f"%n = tw.exp %v0 : {typed('2, 8, 3')}", {"%n": "2, 8, 3"}, True),
    "an op reads the last view": (f"%n = tw.exp %v2 : {typed('8, 6')}", {"%n": "8, 6"}, False),
    "another view reads the result": (
        f"%n = tw.reshape %v0 : {typed('2, 8, 3')} -> {typed('48')}",
        {"%n": "48"},
        True,
    ),
    "a kernel reads the result": (
        reader("n", "%v0 of 2, 8, 3", "2, 8, 3", "d0, d1, d2"),
        {"%n": "2, 8, 3"},
        False,
    ),
}


@pytest.mark.parametrize(("readers", "returned", "found"), RETURNED.values(), ids=RETURNED)
def test_who_else_reads_it(readers: str, returned: Mapping[str, str], found: bool) -> None:
    assert other_readers(*last_view(module_of("2, 8, 3", HEADS, readers, returned))) == found
