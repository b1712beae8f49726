"""When memory of a plan is in use, and which of it serves one value after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from tk_harness import parse
from xdsl.dialects.func import FuncOp

from tilewright.dialects.th.memory import AllocOp
from tilewright.passes.host.liveness import bytes_needed, last_uses, lifetimes, memory_blocks

TENSOR = "!th.tensor<f32>"
IN_PLACE = {"f": [(0, 0)], "g": [(0, 0), (1, 0)], "h": [(0, 0), (0, 1)], "k": [(0, 1), (1, 0)]}
"""Of kernels: which input may be where which result is."""


def plan(*lines: str) -> FuncOp:
    """A plan of these ops, the arguments of which are `%x` and `%y`, of 64 floats:

    a = alloc 64        o = empty s0*64       h = alloc 8 bf16
    t = view a          d = data t
    t = call            u = scan t
    f x y > a o         return o
    """
    types = dict.fromkeys("xy", "memref<64xf32>")
    text = [_op(line, types) for line in lines]
    returned = [types[name] for line in lines for name in line.split()[1:] if line.startswith("return")]
    module = parse(f"""func.func @main(%x: {types["x"]}, %y: {types["y"]}) -> ({", ".join(returned)}) {{
      {chr(10).join(text)}
      {"func.return" * (not returned)}
    }}
    func.func @same(%t: {TENSOR}) -> {TENSOR} {{
      func.return %t : {TENSOR}
    }}""")
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    return function


def _op(line: str, types: dict[str, str]) -> str:
    first, *words = line.split()
    if words[:1] == ["="]:
        return _made(first, words[1], words[2:], types)
    if first == "return":
        return f"func.return {_values(words, types)}"
    split = words.index(">")
    (read, read_types), (made, made_types) = (
        _values(names, types).split(" : ") for names in (words[:split], words[split + 1 :])
    )
    return f"th.launch @{first}({read}) into ({made}) : ({read_types}) into ({made_types})"


def _made(name: str, op: str, words: Sequence[str], types: dict[str, str]) -> str:
    if op in ("alloc", "empty"):
        size, element = words[0], words[1] if len(words) > 1 else "f32"
        types[name] = f"memref<{size if size.isdigit() else '?'}x{element}>"
        sizes = f'"{size}"' if op == "alloc" else f'sizes "{size}" strides "1"'
        return f"%{name} = th.{op} {sizes} : {types[name]}"
    source = f"%{words[0]}" if words else ""
    before = types[words[0]] if words else ""
    types[name] = "memref<64xf32>" if op == "data" else TENSOR
    sizes = 'sizes ["64"] strides ["1"]'
    rest = {
        "view": f'th.view {source} offset "0" sizes "64" strides "1" : {before} -> {TENSOR}',
        "data": f'th.data {source} size "64" : {before} -> memref<64xf32>',
        "call": f'th.call "aten::rand"() {sizes} {{args = []}} : () -> ({TENSOR})',
        "scan": f'th.control "scan" [@same]({source}) carrying 0 over 1 {sizes} : ({before}) -> ({TENSOR})',
    }
    return f"%{name} = {rest[op]}"


def _values(names: Sequence[str], types: Mapping[str, str]) -> str:
    return f"{', '.join(f'%{name}' for name in names)} : {', '.join(types[name] for name in names)}"


def lives(function: FuncOp) -> dict[str | None, tuple[int, int]]:
    return {value.name_hint: (life.start, life.end) for value, life in lifetimes(function).items()}


def blocks(*lines: str) -> list[str]:
    """Of each stretch of memory: whose it is, when, how much, and the result that takes its place."""
    function = plan(*lines)
    found = memory_blocks(function, lifetimes(function), IN_PLACE)
    return [
        f"{' '.join(str(a.result.name_hint) for a in block.members)}: {block.life.start}-{block.life.end}, "
        f"{block.bytes}{f', {block.result.result.name_hint}' if block.result else ''}"
        for block in found
    ]


def test_memory_lives_from_its_first_to_its_last_use() -> None:
    function = plan("a = alloc 64", "b = alloc 64", "n x > a", "n a > b", "n x > y", "n b a > y", "n b > y")
    assert lives(function) == {"a": (2, 5), "b": (3, 6)}


def test_results_live_to_the_end() -> None:
    assert lives(plan("o = empty 64", "n x > o", "n x > y", "return o")) == {"o": (1, 3)}


def test_views_are_uses_of_what_they_view_once_they_are_read() -> None:
    function = plan(
        "a = alloc 64",
        "t = view a",
        "d = data t",
        "u = view t",
        "n x > a",
        "n x > y",
        "n d > y",
        "v = scan u",
    )
    assert lives(function) == {"a": (4, 7), "v": (7, 7)}


def test_arguments_and_what_nobody_touches_have_no_life() -> None:
    assert (
        lives(plan("a = alloc 64", "o = empty 64", "t = view a", "v = view x", "e = data v", "n e > y")) == {}
    )


def test_what_calls_make_lives_from_the_call_on() -> None:
    assert lives(plan("t = call", "u = call", "d = data t", "n d > y", "v = scan u")) == {
        "t": (0, 3),
        "u": (1, 4),
        "v": (4, 4),
    }


@pytest.mark.parametrize(
    ("size", "expected"),
    [("64", "256"), ("64 bf16", "128"), ("s0*64 f64", "s0*512"), ("3 i1", "3"), ("0", "0")],
)
def test_bytes(size: str, expected: str) -> None:
    alloc = plan(f"a = alloc {size}").body.block.first_op
    assert isinstance(alloc, AllocOp)
    assert str(bytes_needed(alloc)) == expected


BLOCKS = {
    "an input that dies": (
        ("a = alloc 64", "b = alloc 64", "n x > a", "f a > b", "n b > y"),
        ["a b: 2-4, 256"],
    ),
    "one after the other": (
        (*(f"{name} = alloc 64" for name in "abc"), "n x > a", "f a > b", "f b > c", "n c > y"),
        ["a b c: 3-6, 256"],
    ),
    "the first of two": (
        (*(f"{name} = alloc 64" for name in "abc"), "n x > a", "n x > b", "g a b > c", "n c > y"),
        ["a c: 3-6, 256", "b: 4-5, 256"],
    ),
    "the second of two, as the first is read later": (
        (*(f"{name} = alloc 64" for name in "abc"), "n x > a", "n x > b", "g a b > c", "n c a > y"),
        ["a: 3-6, 256", "b c: 4-6, 256"],
    ),
    "for the first of two": (
        (*(f"{name} = alloc 64" for name in "abc"), "n x > a", "h a > b c", "n b c > y"),
        ["a b: 3-5, 256", "c: 4-5, 256"],
    ),
    "both, crosswise": (
        (*(f"{name} = alloc 64" for name in "abcd"), "n x > a b", "k a b > c d", "n c d > y"),
        ["a d: 4-6, 256", "b c: 4-6, 256"],
    ),
    "of one number of bytes that only the run knows": (
        ("a = alloc s0*64", "b = alloc s0*64", "n x > a", "f a > b", "n b > y"),
        ["a b: 2-4, s0*256"],
    ),
    "where the result is": (
        ("a = alloc 64", "b = alloc 64", "o = empty 64", "n x > a", "f a > b", "f b > o", "return o"),
        ["a b: 3-5, 256, o"],
    ),
    "where a view of it was": (
        ("a = alloc 64", "b = alloc 64", "t = view a", "v = scan t", "f a > b", "n b > y"),
        ["a b: 3-5, 256"],
    ),
    "nobody touches it": (("a = alloc 64", "b = alloc 64", "n x > a", "n a > y"), ["a: 2-3, 256"]),
}
APART = {
    "it is read later": (
        ("a = alloc 64", "b = alloc 64", "n x > a", "f a > b", "n a b > y"),
        ["a: 2-4, 256", "b: 3-4, 256"],
    ),
    "it is read later through a view": (
        ("a = alloc 64", "t = view a", "b = alloc 64", "n x > a", "f a > b", "v = scan t", "n b > y"),
        ["a: 3-5, 256", "b: 4-6, 256"],
    ),
    "the other is in use before": (
        ("a = alloc 64", "b = alloc 64", "n x > a b", "f a > b", "n b > y"),
        ["a: 2-3, 256", "b: 2-4, 256"],
    ),
    "it is read twice": (
        ("a = alloc 64", "b = alloc 64", "n x > a", "f a a > b", "n b > y"),
        ["a: 2-3, 256", "b: 3-4, 256"],
    ),
    "it is read under another name": (
        ("a = alloc 64", "t = view a", "d = data t", "b = alloc 64", "n x > a", "f a d > b", "n b > y"),
        ["a: 4-5, 256", "b: 5-6, 256"],
    ),
    "no such kernel": (
        ("a = alloc 64", "b = alloc 64", "n x > a", "n a > b", "n b > y"),
        ["a: 2-3, 256", "b: 3-4, 256"],
    ),
    "another size": (
        ("a = alloc 64", "b = alloc 8", "n x > a", "f a > b", "n b > y"),
        ["a: 2-3, 256", "b: 3-4, 32"],
    ),
    "another size that only the run knows": (
        ("a = alloc s0*64", "b = alloc s0*8", "n x > a", "f a > b", "n b > y"),
        ["a: 2-3, s0*256", "b: 3-4, s0*32"],
    ),
    "another type": (
        ("a = alloc 64", "b = alloc 64 i32", "n x > a", "f a > b", "n b > y"),
        ["a: 2-3, 256", "b: 3-4, 256"],
    ),
    "an argument": (("b = alloc 64", "f x > b", "f b > y"), ["b: 1-2, 256"]),
    "a result of another size": (
        ("a = alloc s0*64", "o = empty s0*8", "n x > a", "f a > o", "return o"),
        ["a: 2-3, s0*256"],
    ),
    "a result that is in use before": (
        ("a = alloc 64", "o = empty 64", "n x > a o", "f a > o", "return o"),
        ["a: 2-3, 256"],
    ),
    "what a call made": (
        ("t = call", "d = data t", "b = alloc 64", "f d > b", "n b > y"),
        ["b: 3-4, 256"],
    ),
}


@pytest.mark.parametrize(("lines", "expected"), BLOCKS.values(), ids=BLOCKS)
def test_memory_serves_one_after_the_other(lines: Sequence[str], expected: list[str]) -> None:
    assert blocks(*lines) == expected


@pytest.mark.parametrize(("lines", "expected"), APART.values(), ids=APART)
def test_memory_is_not_shared(lines: Sequence[str], expected: list[str]) -> None:
    assert blocks(*lines) == expected


def test_what_calls_made_is_used_for_the_last_time() -> None:
    function = plan(
        "t = call", "u = call", "v = call", "d = data u", "w = view t", "n d > y", "r = scan w", "n x > y",
        "a = alloc 64", "n x > a", "return v",
    )  # fmt: skip
    ops = list(function.body.block.ops)
    found = [(ops.index(op), value.name_hint) for op, value in last_uses(function, lifetimes(function))]
    assert found == [(5, "u"), (6, "t"), (6, "r")]
