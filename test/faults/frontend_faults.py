"""Bugs in the rows that import ATen operations, and around a compiled graph."""

from __future__ import annotations

from fault import Fault

_A, _F = "frontend/aten/", "frontend/"

FAULTS = (
    Fault(
        "variance-correction",
        _A + "reduction.py",
        "index_expr.maximum(count_of(x, axes) - int(correction), 0)",
        "index_expr.maximum(count_of(x, axes), 0)",
        "the correction of a variance is ignored",
    ),
    Fault(
        "mean-axes",
        _A + "reduction.py",
        "DivOp(total, b.full(count_of(x, axes), element_of(x), result))",
        "DivOp(total, b.full(count_of(x, range(len(sizes_of(x)))), element_of(x), result))",
        "a mean divides by the number of all elements",
    ),
    Fault(
        "norm-of-one",
        _A + "reduction.py",
        "return b.cast(reduce(b, SumOp, b.emit(AbsOp(x)), axes, b.sizes), b.element)",
        "return b.cast(reduce(b, SumOp, x, axes, b.sizes), b.element)",
        "the norm of order 1 does not take absolute values",
    ),
    Fault(
        "slice-scatter-rest",
        _A + "view.py",
        "parts.append(take(b, x, d, first + count, rest))",
        "parts.append(take(b, x, d, first, rest))",
        "what stands behind a replaced slice is read from its start",
    ),
    Fault(
        "triu-diagonal",
        _A + "view.py",
        '"aten.triu.default": _triangle("ge")',
        '"aten.triu.default": _triangle("gt")',
        "the upper triangle loses its diagonal",
    ),
    Fault(
        "diagonal-offset",
        _A + "view.py",
        "IotaOp(i64, count, 0, max(-offset, 0), 1)",
        "IotaOp(i64, count, 0, max(offset, 0), 1)",
        "a diagonal above the main one starts in the wrong row",
    ),
    Fault(
        "pad-sides",
        _A + "view.py",
        "low[d], high[d] = as_expr(pads[2 * i]), as_expr(pads[2 * i + 1])",
        "high[d], low[d] = as_expr(pads[2 * i]), as_expr(pads[2 * i + 1])",
        "padding before and behind are exchanged",
    ),
    Fault(
        "repeat-order",
        _A + "view.py",
        "pairs += [as_expr(count), size]",
        "pairs += [size, as_expr(count)]",
        "repetitions and sizes are exchanged",
    ),
    Fault(
        "index-apart",
        _A + "indexing.py",
        "return tensors, dims, dims[0] if adjacent else 0",
        "return tensors, dims, dims[0]",
        "the result of indices that are not neighbours has its dimensions in the wrong order",
    ),
    Fault(
        "index-put-accumulate",
        _A + "indexing.py",
        "op = ScatterAddOp if accumulate else ScatterOp",
        "op = ScatterOp",
        "index_put overwrites where it should accumulate",
    ),
    Fault(
        "embedding-padding",
        _A + "indexing.py",
        "    if padding >= 0:\n",
        "    if padding > 0:\n",
        "the row of padding index 0 gets a gradient",
    ),
    Fault(
        "addmm-beta",
        _A + "linalg.py",
        "b.broadcast(_scaled(b, bias, beta), sizes)",
        "b.broadcast(bias, sizes)",
        "beta of addmm is ignored",
    ),
    Fault(
        "attention-causal",
        _A + "attention.py",
        "mask, scale=_scale(query, scale), is_causal=is_causal)",
        "mask, scale=_scale(query, scale), is_causal=False)",
        "attention sees what comes later",
    ),
    Fault(
        "normal-stream",
        _A + "creation.py",
        "seed, offset = b.random(product(b.sizes) * 2)",
        "seed, offset = b.random(product(b.sizes))",
        "what is drawn after normal numbers repeats half of their counters",
    ),
    Fault(
        "randint-range",
        _A + "creation.py",
        "b.full(float(last - first), f32, b.sizes)",
        "b.full(float(last - first - 1), f32, b.sizes)",
        "the largest random integer never comes up",
    ),
    Fault(
        "rsub-order",
        _A + "elementwise.py",
        "return arithmetic(b, binary.SubOp, y, x)",
        "return arithmetic(b, binary.SubOp, x, y)",
        "rsub subtracts the other way round",
    ),
    Fault(
        "sub-alpha-order",
        _A + "elementwise.py",
        "b.cast(b.emit(op(operands[0], scaled)), b.element)",
        "b.cast(b.emit(op(scaled, operands[0])), b.element)",
        "x - alpha * y has the wrong sign",
    ),
    Fault(
        "lerp-weight",
        _A + "elementwise.py",
        "binary.MulOp(w, b.emit(binary.SubOp(end, start)))",
        "binary.MulOp(w, b.emit(binary.SubOp(start, end)))",
        "lerp goes away from its end",
    ),
    Fault(
        "freeze-written",
        _F + "boundary.py",
        "if i < len(placeholders) and placeholders[i] not in written)",
        "if i < len(placeholders))",
        "a parameter that the graph writes is taken for constant",
    ),
    Fault(
        "stale-parameters",
        _F + "frozen.py",
        "state = (*[p.data_ptr() for p in parameters], *map(version, parameters))",
        "state = (*[p.data_ptr() for p in parameters],)",
        "a parameter changed in place by an optimizer is not packed anew",
    ),
    Fault(
        "stale-memory",
        _F + "frozen.py",
        "and state == last.state and last.probe() == last.print:",
        "and state == last.state:",
        "a parameter written through `.data` is not packed anew",
    ),
    Fault(
        "owned-results",
        _F + "boundary.py",
        "if self._sharers[_storage(fake)] == 1:",
        "if self._sharers[_storage(fake)] < 1:",
        "a clone that is returned may be the input itself",
    ),
)
