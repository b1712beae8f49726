"""What reads a result computes it again, with the same numbers; or nothing changes, and a reason is given."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import OpResult
from xdsl.parser import Parser

from tilewright.dialects.index_expr import Var
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.fusion.computed_again import compute_again, compute_instead, compute_written_out
from tilewright.passes.fusion.contents import Bodies
from tilewright.passes.fusion.worth import Memory
from tilewright.passes.rewrite import Remark, remarks_to

NEAR, FAR = Memory(1, far=False), Memory(128, far=True)
SQUARE, LARGE, ROWS = "tensor<6x6xf32>", "tensor<6x999999xf32>", 'tensor<?x6xf32, #tw.shape<"s0, 6">>'
NEGATED = "%1 = arith.negf %0 : f32"
COSTLY = "%2 = math.exp %0 : f32\n%3 = math.atan %2 : f32\n%1 = math.tanh %3 : f32"
STEPS = "".join(f"%t{i + 1} = math.tanh %t{i} : f32\n" for i in range(9))
MUCH = f"%t0 = math.tanh %0 : f32\n{STEPS}%1 = math.tanh %t9 : f32"
SUMMED = "%8 = tk.reduce add %7 over [1] : f32"


def module_of(
    type_: str,
    sizes: str,
    ops: str,
    read: str = "d0, d1",
    *,
    at: str = "d0, d1",
    last: str = "",
    beside: str = "",
) -> ModuleOp:
    """A kernel of `ops` that makes `%p`, and `%q` where something is `beside` it; and one that reads `%p`."""
    every = "d0, d1" if sizes else ""
    two = (
        f", {type_}",
        f", %c: {type_}",
        f"tk.store %{beside}, %c[{at if beside == '1' else every}] : f32, {type_}",
        ", %q",
    )
    types, argument, store, name = two if beside else [""] * 4
    text = f"""func.func @main(%x: {type_}) -> ({type_}{types}) {{
      %p{name} = tk.kernel [{sizes}] ins(%x : {type_}) -> ({type_}{types}) {{
      ^bb0(%a: {type_}, %b: {type_}{argument}):
        %0 = tk.load %a[{every}] : {type_} -> f32
        {ops}
        tk.store %1, %b[{at if sizes else every}] : f32, {type_}
        {store}
      }}
      %r = tk.kernel [{sizes}] ins(%p : {type_}) -> ({type_}) {{
      ^bb0(%a: {type_}, %o: {type_}):
        %7 = tk.load %a[{read if sizes else every}] : {type_} -> f32
        {last}
        tk.store %{8 if last else 7}, %o[{every}] : f32, {type_}
      }}
      func.return %r{name} : {type_}{types}
    }}"""
    return Parser(new_context(), text).parse_module()


def kernels(module: ModuleOp) -> tuple[OpResult, KernelOp]:
    """The first result of the first kernel, and the last kernel."""
    first, *_, last = (op for op in module.walk() if isinstance(op, KernelOp))
    return first.results[0], last


def run(module: ModuleOp, *shape: int) -> list[np.ndarray]:
    x = np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    return interpret(module, [x], np, symbols={Var("s", 0): 3})


TURNED = "%6 = tk.load %a[d1, d0] : tensor<6x6xf32> -> f32\n%8 = arith.addf %7, %6 : f32"
TWICE = module_of(SQUARE, "6, 6", MUCH, last=TURNED)
AGAIN = {
    "in order": (module_of(SQUARE, "6, 6", NEGATED), (6, 6)),
    "turned": (module_of(SQUARE, "6, 6", NEGATED, "d1, 5 - d0"), (6, 6)),
    "no rows": (module_of("tensor<0x6xf32>", "0, 6", NEGATED), (0, 6)),
    "symbols": (module_of(ROWS, "s0, 6", NEGATED, "d0, 5 - d1"), (3, 6)),
    "one number": (module_of("tensor<f32>", "", NEGATED), ()),
}


@pytest.mark.parametrize(("module", "shape"), AGAIN.values(), ids=AGAIN)
def test_it_is_computed_where_it_is_read(module: ModuleOp, shape: tuple[int, ...]) -> None:
    for memory in (NEAR, FAR):
        again = module.clone()
        value, reader = kernels(again)
        assert compute_again(value, reader, Bodies(), memory) is None
        again.verify()
        assert value.first_use is None
        np.testing.assert_equal(run(again, *shape), run(module, *shape))


def test_all_readers_compute_what_they_wait_for_memory_with() -> None:
    module = module_of(SQUARE, "6, 6", COSTLY)
    value, reader = kernels(module)
    other, block = reader.clone(), reader.parent_block()
    assert block is not None
    block.insert_op_after(other, reader)
    assert compute_again(value, reader, Bodies(), NEAR) is not None
    assert [compute_again(value, each, Bodies(), FAR) for each in (reader, other)] == [None, None]
    assert value.first_use is None


SUM, ALL = "%1 = tk.reduce add %0 over [1] : f32", "%1 = tk.reduce add %0 over [0, 1] : f32"
STAYS = "it is a reduction, or recomputing it costs more"
REFUSED = {
    # why at once, and why where somebody listens
    "a reduction": (module_of(SQUARE, "6, 6", ALL, "0, 0", at="0, 0"), STAYS, "it is a reduction"),
    "stored anyway": (
        module_of(SQUARE, "6, 6", COSTLY, beside="0"),
        STAYS,
        "recomputing it costs 1692 and saves 72",
    ),
    "twice": (TWICE, "recomputing it costs 6012 and saves 216", "recomputing it costs 6012 and saves 216"),
    "gaps": (
        module_of("tensor<12x6xf32>", "6, 6", NEGATED, at="d0*2, d1"),
        "its store cannot be inverted",
        "its store cannot be inverted",
    ),
}


@pytest.mark.parametrize(("module", "at_once", "when_heard"), REFUSED.values(), ids=REFUSED)
def test_nothing_changes_where_a_reason_is_given(module: ModuleOp, at_once: str, when_heard: str) -> None:
    text, (value, reader) = str(module), kernels(module)
    assert compute_again(value, reader, Bodies(), NEAR) == at_once
    heard: list[Remark] = []
    with remarks_to(heard.append):
        assert compute_again(value, reader, Bodies(), NEAR) == when_heard
    assert str(module) == text


INSTEAD = {
    # what is read instead
    "what is stored beside it": (module_of(SQUARE, "6, 6", NEGATED, beside="0"), FAR, "q"),
    "what its kernel reads": (module_of(SQUARE, "6, 6", NEGATED, at="d1, d0", beside="0"), FAR, "x"),
    "it, by what sums it": (
        module_of(SQUARE, "6, 6", NEGATED, at="d1, d0", last=SUMMED, beside="0"),
        FAR,
        "p",
    ),
    "it, as it is a sum": (module_of(SQUARE, "6, 6", SUM, "d0, 0", at="d0, 0", beside="0"), FAR, "p"),
    "it, as it is much work": (module_of(SQUARE, "6, 6", MUCH, at="d1, d0", beside="0"), FAR, "p"),
    "it, as it is read twice": (module_of(SQUARE, "6, 6", MUCH, last=TURNED, beside="0"), NEAR, "p"),
}


@pytest.mark.parametrize(("module", "memory", "read"), INSTEAD.values(), ids=INSTEAD)
def test_it_need_not_be_stored(module: ModuleOp, memory: Memory, read: str) -> None:
    text, before, (value, reader) = str(module), run(module, 6, 6), kernels(module)
    assert compute_instead(value, reader, Bodies(), memory) == (read != "p")
    assert [operand.name_hint for operand in reader.operands] == [read]
    assert (str(module) == text) == (read == "p")
    np.testing.assert_equal(run(module, 6, 6), before)


def test_what_others_read_is_stored_anyway() -> None:
    module = module_of(SQUARE, "6, 6", NEGATED, at="d1, d0", beside="0")
    value, reader = kernels(module)
    leave = next(op for op in module.walk() if isinstance(op, ReturnOp))
    leave.operands[1] = value
    assert not compute_instead(value, reader, Bodies(), FAR)
    assert value in reader.operands


WRITTEN_OUT = {
    "few": (module_of(SQUARE, "6, 6", SUM, "d0, 0", at="d0, 0"), True),
    "many": (module_of("tensor<6x10xf32>", "6, 10", SUM, "d0, 0", at="d0, 0"), False),
    "none": (module_of("tensor<6x0xf32>", "6, 0", SUM, "d0, 0", at="d0, 0"), False),
    "a number that only the run knows": (module_of(ROWS, "s0, 6", ALL, "0, 0", at="0, 0"), False),
    "stored, too": (module_of(SQUARE, "6, 6", SUM, "d0, 0", at="d0, 0", beside="1"), False),
}


@pytest.mark.parametrize(("module", "done"), WRITTEN_OUT.values(), ids=WRITTEN_OUT)
def test_few_terms_are_written_out(module: ModuleOp, done: bool) -> None:
    text, (value, reader) = str(module), kernels(module)
    before = run(module, 6, 6) if done else []
    assert compute_written_out(value, reader, Bodies(), FAR) == done
    assert (str(module) == text) != done
    if done:
        np.testing.assert_allclose(run(module, 6, 6), before, rtol=1e-6)
        assert not Bodies().of(reader).reduced
