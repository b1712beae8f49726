"""How a random graph grows: one function per op family; what the verifier refuses is dropped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import products
from graph import FAVOURITES, Graph
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntAttr,
    IntegerAttr,
    ModuleOp,
    f32,
    f64,
    i1,
    i8,
    i64,
)
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.index_expr import Expr, as_expr
from tilewright.dialects.tw import creation, indexing, reduction, view, window
from tilewright.dialects.tw.aten import ArgAttr, AtenOp
from tilewright.dialects.tw.base import TwOp
from tilewright.dialects.tw.elementwise import UNARY_OPS
from tilewright.dialects.tw.elementwise_binary import BINARY_OPS, CastOp, CompareOp, RemainderOp, SelectOp
from tilewright.dialects.tw.float8 import DecodeFloat8Op, EncodeFloat8Op
from tilewright.dialects.types import (
    ELEMENT_TYPES,
    FLOAT8,
    element_type_of,
    is_float,
    is_half,
    sizes_of,
    tensor_type,
    ui8,
)


def _unary(g: Graph) -> None:
    value = g.pick()
    _accepted(g, UNARY_OPS, value)


def _binary(g: Graph) -> None:
    lhs = g.pick()
    _accepted(g, BINARY_OPS, lhs, g.like(lhs))


def _accepted(g: Graph, kinds: Sequence[type[TwOp]], *operands: SSAValue) -> None:
    """Add the first of `kinds`, shuffled, that takes operands of this type."""
    for kind in g.random.sample(kinds, len(kinds)):
        try:
            g.add(kind(*operands))
        except VerifyException:
            continue
        return


def _compare(g: Graph) -> None:
    lhs = g.pick()
    g.add(CompareOp(lhs, g.like(lhs), g.random.choice(("eq", "ne", "lt", "le", "gt", "ge"))))


def _select(g: Graph) -> None:
    condition = g.pick(lambda v: element_type_of(v) == i1)
    on_true = g.pick(lambda v: sizes_of(v) == sizes_of(condition))
    g.add(SelectOp(condition, on_true, g.like(on_true)))


def _cast(g: Graph) -> None:
    element = ELEMENT_TYPES[g.random.choice(FAVOURITES)]
    g.add(CastOp(g.pick(), element, rounded=is_half(element) and g.random.random() < 0.5))


def _decode(g: Graph) -> None:
    g.add(DecodeFloat8Op(g.add(CastOp(g.pick(), i8)), g.random.choice(list(FLOAT8))))


def _encode(g: Graph) -> None:
    numbers = g.pick(lambda v: is_float(element_type_of(v)) and element_type_of(v) != f64)
    g.add(EncodeFloat8Op(numbers, g.random.choice(list(FLOAT8)), clamped=g.random.random() < 0.5))


def _full(g: Graph) -> None:
    like = g.pick()
    element, sizes = element_type_of(like), sizes_of(like)
    value = (
        g.random.choice([0.0, -0.0, 1.0, 2.0, 0.5, -1.5]) if is_float(element) else g.random.choice([0, 1, 2])
    )
    if element == i1:
        value = bool(value)
    if g.symbols and g.random.random() < 0.3:
        value = g.random.choice(g.symbols)
    g.add(creation.FullOp(value, element, sizes))


def _constant(g: Graph) -> None:
    element = element_type_of(g.pick())
    sizes = [g.random.choice((1, 2, 3, 5)) for _ in range(g.random.randint(0, 2))]
    numbers = [g.random.choice((-2, 0, 1, 3)) for _ in range(prod(sizes))]
    if element in (i1, ui8):
        numbers = [abs(n) % 2 for n in numbers]
    halves = [n / 2 for n in numbers] if is_float(element) else numbers
    g.add(creation.ConstantOp(DenseIntOrFPElementsAttr.from_list(tensor_type(element, sizes), halves)))


def _iota(g: Graph) -> None:
    like = g.pick(lambda v: len(sizes_of(v)) > 0)
    dim = g.random.randrange(len(sizes_of(like)))
    element = g.random.choice((i64, f32, element_type_of(like)))
    g.add(creation.IotaOp(element, sizes_of(like), dim, g.random.randint(-3, 3), g.random.choice((1, 2, -1))))


def _random(g: Graph) -> None:
    like = g.pick()
    seed = g.add(creation.RngSeedOp())
    op = g.random.choice((creation.RngUniformOp, creation.RngNormalOp))
    g.add(op(seed, sizes_of(like), g.random.choice((0, 7))))


def _reshape(g: Graph) -> None:
    value = g.pick()
    sizes = list(sizes_of(value))
    for _ in range(g.random.randint(1, 3)):
        _regroup(g, sizes)
    g.add(view.ReshapeOp(value, sizes))


def _regroup(g: Graph, sizes: list[Expr]) -> None:
    """Merge two neighbours, split one size, or add a size of 1."""
    choice = g.random.random()
    if choice < 0.45 and len(sizes) > 1:
        at = g.random.randrange(len(sizes) - 1)
        sizes[at : at + 2] = [sizes[at] * sizes[at + 1]]
    elif choice < 0.75 and sizes:
        at = g.random.randrange(len(sizes))
        n = sizes[at].constant
        if n:
            factor = g.random.choice([d for d in range(1, n + 1) if n % d == 0])
            sizes[at : at + 1] = [as_expr(factor), as_expr(n // factor)]
    else:
        sizes.insert(g.random.randint(0, len(sizes)), as_expr(1))


def _transpose(g: Graph) -> None:
    value = g.pick(lambda v: len(sizes_of(v)) > 1)
    perm = list(range(len(sizes_of(value))))
    g.random.shuffle(perm)
    g.add(view.TransposeOp(value, perm))


def _broadcast(g: Graph) -> None:
    value = g.pick(lambda v: len(sizes_of(v)) < 4)
    sizes, dims = list(sizes_of(value)), list(range(len(sizes_of(value))))
    at = g.random.randint(0, len(sizes))
    sizes.insert(at, g.random.choice([as_expr(n) for n in (1, 2, 3, 5)] + g.symbols))
    dims = [d + (d >= at) for d in dims]
    for i, d in enumerate(dims):
        if sizes_of(value)[i].constant == 1 and g.random.random() < 0.5:
            sizes[d] = as_expr(g.random.choice((2, 4)))
    g.add(view.BroadcastOp(value, sizes, dims))


def _slice(g: Graph) -> None:
    value = g.pick(lambda v: len(sizes_of(v)) > 0)
    starts, sizes, steps = [], [], []
    for n in sizes_of(value):
        if n.constant is None or g.random.random() < 0.4:
            start, size, step = as_expr(0), n, 1
        else:
            step = g.random.choice((1, 1, 2, 3))
            first = g.random.randrange(n.constant) if n.constant else 0
            start, size = (
                as_expr(first),
                as_expr(g.random.randint(0, (n.constant - first + step - 1) // step)),
            )
        starts.append(start)
        sizes.append(size)
        steps.append(step)
    g.add(view.SliceOp(value, starts, sizes, steps))


def _reverse(g: Graph) -> None:
    value = g.pick(lambda v: len(sizes_of(v)) > 0)
    rank = len(sizes_of(value))
    g.add(view.ReverseOp(value, g.random.sample(range(rank), g.random.randint(1, rank))))


def _concat(g: Graph) -> None:
    first = g.pick(lambda v: len(sizes_of(v)) > 0)
    dim = g.random.randrange(len(sizes_of(first)))

    def fits(v: SSAValue) -> bool:
        a, b = sizes_of(v), sizes_of(first)
        same = element_type_of(v) == element_type_of(first) and len(a) == len(b)
        return same and a[:dim] + a[dim + 1 :] == b[:dim] + b[dim + 1 :]

    others = [g.pick(fits) for _ in range(g.random.randint(1, 2))]
    g.add(view.ConcatOp([first, *others], dim))


def _pad(g: Graph) -> None:
    value = g.pick(lambda v: 0 < len(sizes_of(v)))
    low, high = ([g.random.choice((0, 0, 1, 2)) for _ in sizes_of(value)] for _ in range(2))
    fill = g.random.choice((0.0, 1.5)) if is_float(element_type_of(value)) else g.random.choice((0, 1))
    g.add(view.PadOp(value, low, high, bool(fill) if element_type_of(value) == i1 else fill))


def _window(g: Graph) -> None:
    value = g.pick(lambda v: 0 < len(sizes_of(v)) < 4)
    dims = sorted(
        g.random.sample(range(len(sizes_of(value))), g.random.randint(1, min(2, len(sizes_of(value)))))
    )
    sizes = [g.random.randint(1, 3) for _ in dims]
    strides = [g.random.randint(1, 3) for _ in dims]
    moved = g.add(window.WindowOp(value, dims, sizes, strides, [g.random.randint(1, 2) for _ in dims]))
    rank = len(sizes_of(moved))
    kind = g.random.choice((reduction.SumOp, reduction.MaxOp))
    g.add(kind(moved, list(range(rank - len(dims), rank))))


def _reduce(g: Graph) -> None:
    kind = g.random.choice(reduction.REDUCTION_OPS)
    floats = kind in (reduction.MomentsOp, reduction.LogcumsumexpOp, reduction.LinearScanOp)
    value = g.pick(lambda v: len(sizes_of(v)) > 0 and (not floats or is_float(element_type_of(v))))
    rank = len(sizes_of(value))
    if kind in (reduction.ArgmaxOp, reduction.ArgminOp, *reduction.CUMULATIVE_OPS):
        g.add(kind(value, g.random.randrange(rank)))
    elif kind is reduction.LinearScanOp:
        g.add(kind(value, value, g.random.randrange(rank)))
    else:
        g.add(kind(value, g.random.sample(range(rank), g.random.randint(1, rank))))


def _sort(g: Graph) -> None:
    value = g.pick(lambda v: len(sizes_of(v)) > 0)
    dim = g.random.randrange(len(sizes_of(value)))
    size, count = sizes_of(value)[dim].constant, None
    if size and g.random.random() < 0.4:
        count = as_expr(g.random.randint(1, size))
    op = indexing.SortOp(value, dim, descending=g.random.random() < 0.5, count=count)
    g.add(op)
    if is_float(element_type_of(value)):
        g.values.remove(op.indices)  # of numbers that are nearly equal, rounding decides which comes first


def _aten(g: Graph) -> None:
    """A call of ATen, of which the compiler knows no more than the type of what it returns."""
    value = g.pick(lambda v: element_type_of(v) in (f32, f64) and len(sizes_of(v)) > 0)
    dim = IntegerAttr(g.random.randrange(len(sizes_of(value))), i64)
    position = tensor_type(i64, sizes_of(value))
    name, args, results = g.random.choice(
        (
            ("aten::erfinv", [], [value.type]),
            ("aten::logcumsumexp", [dim], [value.type]),
            ("aten::cummax", [dim], [value.type, position]),
        )
    )
    op = AtenOp(name, [value], [ArgAttr(IntAttr(0)), *args], results)
    g.add(op)
    for places in op.outputs[1:]:
        g.values.remove(places)  # as those of tw.sort


def _normalise(g: Graph) -> None:
    """A reduction that meets its operand again, as norms and softmax do."""
    value = g.pick(lambda v: is_float(element_type_of(v)) and len(sizes_of(v)) > 0)
    sizes = sizes_of(value)
    axis = g.random.randrange(len(sizes))
    kind = g.random.choice((reduction.SumOp, reduction.MaxOp, reduction.MinOp))
    reduced = g.add(kind(value, [axis]))
    again = g.add(view.BroadcastOp(reduced, sizes, [d for d in range(len(sizes)) if d != axis]))
    g.add(g.random.choice(BINARY_OPS[:3])(value, again))


def _index(g: Graph, sizes: Sequence[Expr], limit: int) -> SSAValue:
    """Valid indices: positions modulo the size of the indexed dimension."""
    dim = g.random.randrange(len(sizes)) if sizes else 0
    if not sizes:
        return g.add(creation.FullOp(g.random.randrange(limit), i64, sizes))
    places = g.add(creation.IotaOp(i64, sizes, dim, g.random.randint(0, 3), g.random.choice((1, 3))))
    most = g.add(creation.FullOp(limit, i64, sizes))
    return g.add(RemainderOp(places, most))


def _gather(g: Graph) -> None:
    value = g.pick(lambda v: any(n.constant for n in sizes_of(v)))
    dims = [d for d, n in enumerate(sizes_of(value)) if n.constant]
    dim = g.random.choice(dims)
    limit = sizes_of(value)[dim].constant or 1
    shape = [as_expr(g.random.choice((1, 2, 5)))] * g.random.randint(0, 2)
    index = _index(g, shape, limit)
    if g.random.random() < 0.5:
        g.add(indexing.GatherOp(value, [index], [dim], 0 if g.random.random() < 0.5 else dim))
    else:
        sizes = list(sizes_of(value))
        sizes[dim] = as_expr(g.random.choice((1, 2, 4)))
        g.add(indexing.GatherAlongOp(value, _index(g, sizes, limit), dim))


def _scatter(g: Graph) -> None:
    target = g.pick(lambda v: any(n.constant for n in sizes_of(v)))
    sizes = sizes_of(target)
    dim = g.random.choice([d for d, n in enumerate(sizes) if n.constant])
    limit = sizes[dim].constant or 1
    count = g.random.randint(1, limit)  # different indices, so that the result is determined
    places = g.add(creation.IotaOp(i64, [count], 0, 0, 1))
    part = [*sizes[:dim], as_expr(count), *sizes[dim + 1 :]]
    values = g.add(view.SliceOp(target, [0] * len(sizes), part))
    twice = g.add(BINARY_OPS[0](values, values)) if element_type_of(target) != i1 else values
    if g.random.random() < 0.5:
        moved = [part[dim], *part[:dim], *part[dim + 1 :]]
        perm = [dim, *(d for d in range(len(sizes)) if d != dim)]
        front = g.add(view.TransposeOp(twice, perm)) if dim else twice
        assert tuple(moved) == sizes_of(front)
        op = g.random.choice((indexing.ScatterOp, indexing.ScatterAddOp))
        g.add(op(target, [places], front, [dim], 0))
    else:
        index = g.add(view.BroadcastOp(places, part, [dim]))
        g.add(indexing.ScatterAlongOp(target, index, twice, dim, g.random.choice(("none", "add"))))


FAMILIES: Sequence[tuple[int, Callable[[Graph], None]]] = (
    (14, _unary),
    (16, _binary),
    (4, _compare),
    (5, _select),
    (6, _cast),
    (1, _decode),
    (1, _encode),
    (4, _full),
    (3, _iota),
    (1, _random),
    (9, _reshape),
    (8, _transpose),
    (8, _broadcast),
    (7, _slice),
    (3, _reverse),
    (5, _concat),
    (4, _pad),
    (2, _window),
    (9, _reduce),
    (4, _sort),
    (6, _normalise),
    (4, _gather),
    (3, _scatter),
    (4, products.matmul),
    (2, products.packed_matmul),
    (2, products.convolution),
    (2, products.packed_convolution_),
    (4, products.attention_),
    (2, _constant),
    (2, _aten),
)
"""Weight, family."""


def random_graph(seed: int) -> ModuleOp:
    """A verified module with a random @main."""
    graph = Graph(seed)
    for _ in range(graph.random.choice((3, 6, 10, 16, 25))):
        grow(graph)
    return graph.finish()


def grow(graph: Graph) -> None:
    (family,) = graph.random.choices([f for _, f in FAMILIES], [weight for weight, _ in FAMILIES])
    try:
        family(graph)
    except (VerifyException, ValueError, IndexError, ZeroDivisionError, AssertionError, TypeError):
        pass  # no such op on the values that there are
