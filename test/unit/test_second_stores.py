"""A kernel stores once more what it stores, and operands are changed all at once, and views go with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from kernels_harness import kernels_of, run
from tk_harness import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from tilewright.dialects.tk.access import StoreOp
from tilewright.passes.host.second_stores import store_of, stored_again, take_operands, viewed
from tilewright.passes.memory.views import behind

X, T, F = "tensor<4x6xf32>", "tensor<6x4xf32>", "tensor<24xf32>"
PLAIN = f'tk.store %1, %o[d0, d1] : f32, {X} loc("m.py":5:1)'


def module_of(views: str = "", returned: str = "%y", types: str = X, store: str = PLAIN) -> ModuleOp:
    """A kernel that makes `%y` and `%z`, views of these, and what is returned."""
    return parse(f"""func.func @main(%x: {X}) -> ({types}) {{
      %y, %z = tk.kernel [4, 6] ins(%x : {X}) -> ({X}, {X}) attributes {{tk.name = "two"}} {{
      ^bb0(%a: {X}, %o: {X}, %p: {X}):
        %0 = tk.load %a[d0, d1] : {X} -> f32
        %1 = math.exp %0 : f32 loc("m.py":4:1)
        {store}
        tk.store %0, %p[3 - d0, d1] : f32, {X}
      }} loc("m.py":3:1)
      {views}
      func.return {returned} : {types}
    }}""")


def values_of(module: ModuleOp) -> dict[str | None, SSAValue]:
    return {result.name_hint: result for op in module.walk() for result in op.results}


def return_of(module: ModuleOp) -> ReturnOp:
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    ret = function.body.block.last_op
    assert isinstance(ret, ReturnOp)
    return ret


def ops_of(module: ModuleOp) -> list[str]:
    return [op.name.partition(".")[2] for op in module.walk() if op.name.startswith("tw.")]


@pytest.mark.parametrize("name", ["y", "z"])
def test_the_same_numbers_are_stored_again(name: str) -> None:
    module = module_of(returned="%y, %z", types=f"{X}, {X}")
    before = run(module)["yz".index(name)]
    again = stored_again(values_of(module)[name])
    return_of(module).operands[0] = again
    module.verify()
    np.testing.assert_array_equal(run(module)[0], before)


def test_a_kernel_that_stores_again_is_otherwise_as_it_was() -> None:
    module = module_of(returned="%y, %z", types=f"{X}, {X}")
    (before,), y, z = kernels_of(module), values_of(module)["y"], values_of(module)["z"]
    again = stored_again(y)
    (kernel,) = kernels_of(module)
    assert kernel is not before
    assert list(kernel.results) == [y, z, again]
    assert again.name_hint == "y"
    assert list(return_of(module).operands) == [y, z]
    assert (str(kernel.location), str(kernel.attributes["tk.name"])) == ('loc("m.py":3:1)', '"two"')
    stores = [op for op in kernel.body.block.ops if isinstance(op, StoreOp)]
    assert [kernel.destinations.index(store.buffer) for store in stores] == [0, 2, 1]
    assert str(stores[1].location) == 'loc("m.py":5:1)'


def test_it_is_stored_any_number_of_times() -> None:
    module = module_of()
    y = values_of(module)["y"]
    values = [stored_again(y), stored_again(y)]
    values.append(stored_again(values[0]))
    (kernel,) = kernels_of(module)
    assert [values.index(value) for value in kernel.results[2:]] == [0, 1, 2]
    return_of(module).operands[0] = values[-1]
    module.verify()
    np.testing.assert_array_equal(run(module)[0], run(module_of())[0])


NO_STORE = {
    "masked": f"%m = arith.cmpf olt, %0, %1 : f32 tk.store %1, %o[d0, d1] if %m : f32, {X}",
    "twice": f"{PLAIN} tk.store %0, %o[d0, 5 - d1] : f32, {X}",
    "added up": f"tk.store %1, %o[d0, d1] combine add : f32, {X}",
    "where an index says": f'%i = tk.index "d0" : index tk.store %1, %o[i0, d1](%i) : f32, {X}',
}


def test_a_plain_store_is_found() -> None:
    store = store_of(values_of(module_of())["y"])
    assert store is not None
    assert store.buffer.name_hint == "o"


@pytest.mark.parametrize("store", NO_STORE.values(), ids=NO_STORE)
def test_there_is_no_one_plain_store(store: str) -> None:
    module = module_of(store=store)
    assert store_of(values_of(module)["y"]) is None


TURNED = f"%t = tw.transpose %y by [1, 0] : {X} -> {T}\n"
FLAT = f"%f = tw.reshape %t : {T} -> {F}\n"
VIEWS: Mapping[str, tuple[str, str, str]] = {
    "nothing": ("", "%y", X),
    "one view": (TURNED, "%t", T),
    "two views": (TURNED + FLAT, "%f", F),
    "a part": (
        f'{TURNED}%s = tw.slice %t starts "1, 0" steps "2, 1" : {T} -> tensor<3x4xf32>',
        "%s",
        "tensor<3x4xf32>",
    ),
}


@pytest.mark.parametrize(("views", "name", "type_"), VIEWS.values(), ids=VIEWS)
def test_views_are_those_of_another_value(views: str, name: str, type_: str) -> None:
    module = module_of(views, name, type_)
    wanted, ret = run(module), return_of(module)
    root, between = behind(ret.operands[0])
    again = stored_again(root)
    made = viewed(again, between, ret)
    assert behind(made)[0] is again
    assert len(behind(made)[1]) == len(between)
    take_operands(ret, [made])
    module.verify()
    np.testing.assert_array_equal(run(module)[0], wanted[0])


TAKEN: Mapping[str, tuple[str, str, str, Sequence[int], Sequence[str]]] = {
    # views, what is returned, of which these become `%z`; the views that stay
    "nobody reads it": (TURNED, "%t", T, [0], []),
    "nor what it is a view of": (TURNED + FLAT, "%f", F, [0], []),
    "it is returned twice": (TURNED, "%t, %t", f"{T}, {T}", [0, 1], []),
    "it is still returned": (TURNED, "%t, %t", f"{T}, {T}", [0], ["transpose"]),
    "a view of it is returned": (TURNED + FLAT, "%t, %f", f"{T}, {F}", [0], ["transpose", "reshape"]),
    "what it is a view of is returned": (TURNED + FLAT, "%f, %t", f"{F}, {T}", [0], ["transpose"]),
    "both go, the view last": (TURNED + FLAT, "%t, %f", f"{T}, {F}", [0, 1], []),
    "both go, the view first": (TURNED + FLAT, "%f, %t", f"{F}, {T}", [0, 1], []),
    "a kernel's result stays": ("", "%y", X, [0], []),
    "what is no view of all elements": (
        f"%r = tw.reverse %y dims [0] : {X} -> {X}\n%t = tw.transpose %r by [1, 0] : {X} -> {T}",
        "%t",
        T,
        [0],
        ["reverse"],
    ),
}


@pytest.mark.parametrize(("views", "returned", "types", "chosen", "left"), TAKEN.values(), ids=TAKEN)
def test_views_that_nobody_reads_go(
    views: str, returned: str, types: str, chosen: Sequence[int], left: Sequence[str]
) -> None:
    module = module_of(views, returned, types)
    ret, z = return_of(module), values_of(module)["z"]
    new = [z if i in chosen else value for i, value in enumerate(ret.operands)]
    take_operands(ret, new)
    assert list(ret.operands) == new
    assert ops_of(module) == left
    assert len(kernels_of(module)) == 1
