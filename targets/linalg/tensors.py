"""Tensor ops that are no kernels: views, joins, constants, matrix products."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.arith import AddfOp, AddiOp
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Operation

from tilewright.dialects.index_expr import ZERO, Expr, product
from tilewright.dialects.tw import creation, linalg, view
from tilewright.dialects.tw.creation import as_element
from tilewright.dialects.types import element_type_of, is_float, is_half, scalar_type, sizes_of

from .generic import Operand, generic
from .writer import Writer, literal, spell, tensor

Write = Callable[[Writer, Operation, Sequence[str]], str]


def _constant(w: Writer, op: Operation, args: Sequence[str]) -> str:
    assert isinstance(op, creation.ConstantOp)
    element = element_type_of(op.result)
    numbers = [literal(as_element(v, op.result.type), element) for v in op.value.get_values()]  # pyright: ignore
    shape = [n.constant or 0 for n in sizes_of(op.result)]
    text = numbers[0] if op.repeats else _nested(numbers, shape)
    return w.value(f"arith.constant dense<{text}> : {spell(op.result.type)}")


def _nested(numbers: Sequence[str], shape: Sequence[int]) -> str:
    if 0 in shape:
        return ""
    if not shape:
        return numbers[0]
    step = len(numbers) // shape[0]
    return f"[{', '.join(_nested(numbers[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0]))}]"


def _slice(w: Writer, op: Operation, args: Sequence[str]) -> str:
    assert isinstance(op, view.SliceOp)
    starts, steps = view.starts_and_steps(op)
    if _is_empty(sizes_of(op.result)):  # upstream refuses an offset at the end, even to take nothing
        return w.empty(element_type_of(op.result), sizes_of(op.result))
    window = _window(w, starts, sizes_of(op.result), steps)
    source, result = spell(op.source.type), spell(op.result.type)
    return w.value(f"tensor.extract_slice {args[0]}{window} : {source} to {result}")


def _is_empty(sizes: Sequence[Expr]) -> bool:
    return any(n.constant == 0 for n in sizes)


def _window(w: Writer, starts: Sequence[Expr], sizes: Sequence[Expr], steps: Sequence[Expr | int]) -> str:
    lists = [[w.size(e) if isinstance(e, Expr) else str(e) for e in part] for part in (starts, sizes, steps)]
    return " ".join(f"[{', '.join(part)}]" for part in lists)


def _concat(w: Writer, op: Operation, args: Sequence[str]) -> str:
    assert isinstance(op, view.ConcatOp)
    sizes, dim = sizes_of(op.result), op.dim.value.data
    type_, start = spell(op.result.type), ZERO
    joined = w.empty(element_type_of(op.result), sizes)
    for name, value in zip(args, op.inputs, strict=True):
        part = sizes_of(value)
        if _is_empty(part):
            continue
        starts = [start if d == dim else ZERO for d in range(len(sizes))]
        window = _window(w, starts, part, [1] * len(sizes))
        joined = w.value(
            f"tensor.insert_slice {name} into {joined}{window} : {spell(value.type)} into {type_}"
        )
        start = start + part[dim]
    return joined


def _reshape(w: Writer, op: Operation, args: Sequence[str]) -> str:
    """Through one dimension, which is what two row-major shapes always share."""
    assert isinstance(op, view.ReshapeOp)
    source, result = sizes_of(op.source), sizes_of(op.result)
    if source == result:
        return args[0]
    element = element_type_of(op.result)
    flat = _collapsed(w, args[0], element, source)
    have, want = (tensor(element, [_visible(s)]) for s in (source, result))
    if have != want:
        flat = w.value(f"tensor.cast {flat} : {have} to {want}")
    if len(result) == 1:
        return flat
    if not result:
        return w.value(f"tensor.collapse_shape {flat} [] : {want} into {tensor(element, ())}")
    groups = f"[[{', '.join(map(str, range(len(result))))}]]"
    shape = ", ".join(w.size(n) for n in result)
    return w.value(
        f"tensor.expand_shape {flat} {groups} output_shape [{shape}] : {want} into {tensor(element, result)}"
    )


def _visible(sizes: Sequence[Expr]) -> Expr:
    """The element count where every size is known; a size that is not makes the count unknown too."""
    unknown = next((n for n in sizes if n.constant is None), None)
    return product(sizes) if unknown is None else unknown


def _collapsed(w: Writer, name: str, element: Attribute, sizes: Sequence[Expr]) -> str:
    if len(sizes) == 1:
        return name
    flat = tensor(element, [_visible(sizes)])
    if not sizes:
        return w.value(f"tensor.expand_shape {name} [] output_shape [1] : {tensor(element, ())} into {flat}")
    groups = f"[[{', '.join(map(str, range(len(sizes))))}]]"
    return w.value(f"tensor.collapse_shape {name} {groups} : {tensor(element, sizes)} into {flat}")


def _matmul(w: Writer, op: Operation, args: Sequence[str]) -> str:
    """Half types are summed in f32 and rounded once, after the bias."""
    assert isinstance(op, linalg.MatmulOp)
    element, sizes = scalar_type(element_type_of(op.result)), sizes_of(op.result)
    sums = f32 if is_half(element) else element
    total = w.filled(w.constant(0, sums), sums, sizes)
    if (name := {2: "matmul", 3: "batch_matmul"}.get(len(sizes))) is not None:
        given = f"{args[0]}, {args[1]} : {spell(op.lhs.type)}, {spell(op.rhs.type)}"
        type_ = tensor(sums, sizes)
        total = w.value(f"linalg.{name} ins({given}) outs({total} : {type_}) -> {type_}")
    else:
        total = _contraction(w, op, args, sums, total)
    if op.bias is None and sums == element:
        return total
    return _finished(w, op, total, sums, args[2:])


def _contraction(w: Writer, op: linalg.MatmulOp, args: Sequence[str], sums: Attribute, init: str) -> str:
    *batch, rows, depth = sizes_of(op.lhs)
    columns, n = sizes_of(op.rhs)[-1], len(batch)
    lead, element = range(n), scalar_type(element_type_of(op.lhs))
    lhs = Operand(args[0], element, sizes_of(op.lhs), (*lead, n, n + 2))
    rhs = Operand(args[1], element, sizes_of(op.rhs), (*lead, n + 2, n + 1))
    out = Operand(init, sums, sizes_of(op.result), (*lead, n, n + 1))
    kind = "f" if is_float(sums) else "i"

    def body(values: Sequence[str]) -> Sequence[str]:
        a, b, old = values
        if sums != element:
            extend = "arith.extf" if is_float(sums) else "arith.extsi"
            a, b = (w.value(f"{extend} {v} : {spell(element)} to {spell(sums)}") for v in (a, b))
        term = w.value(f"arith.mul{kind} {a}, {b} : {spell(sums)}")
        return [w.value(f"arith.add{kind} {old}, {term} : {spell(sums)}")]

    return generic(w, (*batch, rows, columns, depth), [n + 2], [lhs, rhs], [out], body)[0]


def _finished(w: Writer, op: linalg.MatmulOp, total: str, sums: Attribute, bias: Sequence[str]) -> str:
    """Add the bias, then round."""
    element, sizes = scalar_type(element_type_of(op.result)), sizes_of(op.result)
    every = tuple(range(len(sizes)))
    ins = [Operand(total, sums, sizes, every), *(Operand(b, element, sizes[-1:], every[-1:]) for b in bias)]
    out = Operand(w.empty(element, sizes), element, sizes, every)

    def body(values: Sequence[str]) -> Sequence[str]:
        result, *terms = values[:-1]
        for term in terms:
            wide = term
            if sums != element:
                wide = w.value(f"arith.extf {term} : {spell(element)} to {spell(sums)}")
            add = AddfOp.name if is_float(sums) else AddiOp.name
            result = w.value(f"{add} {result}, {wide} : {spell(sums)}")
        if sums != element:
            result = w.value(f"arith.truncf {result} : {spell(sums)} to {spell(element)}")
        return [result]

    return generic(w, sizes, [], ins, [out], body)[0]


TENSOR_OPS: Mapping[type[Operation], Write] = {
    creation.ConstantOp: _constant,
    view.SliceOp: _slice,
    view.ConcatOp: _concat,
    view.ReshapeOp: _reshape,
    linalg.MatmulOp: _matmul,
}
