"""One entry per `tw` op: torch functions whose graphs hold it, and the dtypes they are for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

Function = Callable[[Tensor, Tensor], Any]
FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
SIGNED = (torch.int64, torch.int32, torch.int16, torch.int8)
INTEGERS = (*SIGNED, torch.uint8)
BOOL = (torch.bool,)
NUMBERS = (*FLOATS, *INTEGERS)
ANY = (*NUMBERS, *BOOL)
BITS = (*INTEGERS, *BOOL)


@dataclass(frozen=True)
class Case:
    """`op` is what the imported graph must hold."""

    op: str
    function: Function
    dtypes: tuple[torch.dtype, ...]
    number: int = 0

    def __str__(self) -> str:
        return f"{self.op}#{self.number}"


def _unary(function: Callable[[Tensor], Any]) -> Function:
    return lambda x, y: function(x)


def _picked(x: Tensor) -> Tensor:
    """Indices along dimension 0, negative ones among them."""
    return torch.tensor([2, 0, -1, 2], dtype=torch.int64)


def _along(x: Tensor) -> Tensor:
    return torch.tensor([2, 0], dtype=torch.int64).reshape(2, 1, 1).expand(2, x.shape[1], x.shape[2])


_ROUNDED = {name: getattr(torch, name) for name in ("floor", "ceil", "round", "trunc")}
_FLOAT_FUNCTIONS = (
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh tanh"
    " asinh acosh atanh erf erfc lgamma sigmoid"
).split()
_TABLE: tuple[tuple[str, tuple[torch.dtype, ...], tuple[Function, ...]], ...] = (
    *((name, FLOATS, (_unary(getattr(torch, name)),)) for name in _FLOAT_FUNCTIONS),
    *((name, FLOATS, (_unary(function),)) for name, function in _ROUNDED.items()),
    *((name, NUMBERS, (_unary(getattr(torch, name)),)) for name in ("neg", "abs", "sign")),
    *((name, FLOATS, (_unary(getattr(torch, name)),)) for name in ("isnan", "isinf")),
    ("logical_not", ANY, (_unary(torch.logical_not),)),
    ("bitwise_not", BITS, (_unary(torch.bitwise_not),)),
    ("add", NUMBERS, (torch.add, lambda x, y: torch.add(x, y, alpha=3), lambda x, y: x + 2)),
    ("sub", NUMBERS, (torch.sub, lambda x, y: 2 - x)),
    ("mul", NUMBERS, (torch.mul, lambda x, y: x * 3)),
    ("div", FLOATS, (torch.div, lambda x, y: x / 3, lambda x, y: torch.div(x, y, rounding_mode="trunc"))),
    ("floor_div", NUMBERS, (lambda x, y: torch.div(x, y, rounding_mode="floor"), lambda x, y: x // 3)),
    ("trunc_div", INTEGERS, (lambda x, y: torch.div(x, y, rounding_mode="trunc"),)),
    ("fmod", NUMBERS, (torch.fmod,)),
    ("remainder", NUMBERS, (torch.remainder, lambda x, y: x % 3)),
    ("pow", NUMBERS, (lambda x, y: torch.pow(x.abs(), y.abs()),)),
    ("maximum", ANY, (torch.maximum,)),
    ("minimum", ANY, (torch.minimum,)),
    ("fmax", ANY, (torch.fmax,)),
    ("fmin", ANY, (torch.fmin,)),
    ("hypot", FLOATS, (torch.hypot,)),
    ("nextafter", (torch.float32, torch.float64), (torch.nextafter,)),
    ("atan2", FLOATS, (torch.atan2,)),
    ("copysign", FLOATS, (torch.copysign,)),
    ("and", BITS, (torch.bitwise_and,)),
    ("or", BITS, (torch.bitwise_or,)),
    ("xor", BITS, (torch.bitwise_xor,)),
    ("shift_left", INTEGERS, (lambda x, y: torch.bitwise_left_shift(x, y.abs()), lambda x, y: x << 2)),
    ("shift_right", INTEGERS, (lambda x, y: torch.bitwise_right_shift(x, y.abs()), lambda x, y: x >> 2)),
    ("compare", ANY, tuple(getattr(torch, name) for name in ("eq", "ne", "lt", "le", "gt", "ge"))),
    ("select", ANY, (lambda x, y: torch.where(x > y, x, y), lambda x, y: x.masked_fill(x == y, 1))),
    ("cast", ANY, tuple(lambda x, y, t=t: x.to(t) for t in ANY)),
    ("full", ANY, (lambda x, y: torch.full_like(x, 1),)),
    ("constant", ANY, (lambda x, y: x == torch.tensor([1, 0, 1, 1, 0]).to(x.dtype)[0],)),
    ("iota", ANY, (lambda x, y: torch.arange(3, 40, 7).to(x.dtype),)),
    ("reshape", ANY, (lambda x, y: x.reshape(-1), lambda x, y: x[None] == y)),
    ("transpose", ANY, (lambda x, y: x.permute(2, 0, 1) == y.permute(2, 0, 1),)),
    ("broadcast", ANY, (lambda x, y: x[:1] == y, lambda x, y: x.sum() == y)),
    ("slice", ANY, (lambda x, y: x[1:, ::2] == y[1:, ::2], lambda x, y: x[..., -2:].clone())),
    ("reverse", ANY, (lambda x, y: x.flip(0, 2),)),
    ("concat", ANY, (lambda x, y: torch.cat([x, y, x[:1]], 0), lambda x, y: torch.stack([x, y], -1))),
    ("pad", ANY, (lambda x, y: F.pad(x, (1, 2, 0, 1), value=1),)),
    ("sum", NUMBERS, (_unary(torch.sum), lambda x, y: x.sum((0, 2)), lambda x, y: x.sum(-1, keepdim=True))),
    ("prod", NUMBERS, (lambda x, y: x.prod(-1),)),
    ("max", ANY, (_unary(torch.amax), lambda x, y: x.amax(1))),
    ("min", ANY, (_unary(torch.amin), lambda x, y: x.amin((0, 1)))),
    ("any", ANY, (_unary(torch.any), lambda x, y: x.any(1))),
    ("all", ANY, (_unary(torch.all), lambda x, y: x.all(-1, keepdim=True))),
    ("argmax", NUMBERS, (_unary(torch.argmax), lambda x, y: x.argmax(1))),
    ("argmin", NUMBERS, (_unary(torch.argmin), lambda x, y: x.argmin(-1, keepdim=True))),
    ("cumsum", NUMBERS, (lambda x, y: x.cumsum(0), lambda x, y: x.cumsum(-1))),
    ("cumprod", NUMBERS, (lambda x, y: x.cumprod(0), lambda x, y: x.cumprod(-1))),
    ("cummax", ANY, (lambda x, y: x.cummax(0), lambda x, y: x.cummax(-1))),
    ("cummin", ANY, (lambda x, y: x.cummin(0), lambda x, y: x.cummin(-1))),
    ("logcumsumexp", FLOATS, (lambda x, y: x.logcumsumexp(0), lambda x, y: x.logcumsumexp(-1))),
    ("gather", ANY, (lambda x, y: x[_picked(x)], lambda x, y: x[:, torch.tensor([[0], [1]])])),
    ("gather_along", ANY, (lambda x, y: x.gather(0, _along(x)),)),
    ("scatter", ANY, (lambda x, y: x.index_put((torch.tensor([2, 0]),), y[:2]),)),
    (
        "scatter_add",
        NUMBERS,
        (lambda x, y: x.index_put((torch.tensor([2, 0, 2]),), y[torch.tensor([0, 1, 1])], accumulate=True),),
    ),
    (
        "scatter_along",
        NUMBERS,
        (lambda x, y: x.scatter(0, _along(x), y[:2]), lambda x, y: x.scatter_add(0, _along(x), y[:2])),
    ),
    ("matmul", NUMBERS, (lambda x, y: x @ y.transpose(1, 2), lambda x, y: x[0].mm(y[0].T))),
    ("convolution", FLOATS, (lambda x, y: F.conv1d(x, y[:2, :, :3], padding=1),)),
    (
        "attention",
        FLOATS,
        (
            lambda x, y: F.scaled_dot_product_attention(x[None], y[None], y[None]),
            lambda x, y: F.scaled_dot_product_attention(x[None], y[None], y[None], is_causal=True),
            lambda x, y: F.scaled_dot_product_attention(
                x[None], y[None], y[None], attn_mask=x @ y.transpose(1, 2)
            ),
        ),
    ),
)
CASES = tuple(
    Case(f"tw.{op}", function, dtypes, number)
    for op, dtypes, functions in _TABLE
    for number, function in enumerate(functions)
)

# Ops that no ATen operator becomes: a later pass makes them, or they stand for an effect.
ELSEWHERE = {
    "tw.triton": "test_user_kernels.py::test_between_other_operators",
    "tw.update": "test_updating_operators.py::test_results_and_arguments",
    "tw.window": "test_module_ops",
    "tw.pack": "test_module_ops",
    "tw.packed_matmul": "test_module_ops",
    "tw.pack_filter": "test_module_ops",
    "tw.packed_convolution": "test_module_ops",
    "tw.moments": "test_module_ops",
    "tw.sort": "test_module_ops",
    "tw.attention_backward": "test_gpu_attention.py::test_gradients",
    "tw.attention_query_grad": "test_gpu_attention.py::test_gradients",
    "tw.attention_key_grad": "test_gpu_attention.py::test_gradients",
    "tw.decode_float8": "test_gpu_narrow_products.py::test_every_pattern_of_bits",
    "tw.encode_float8": "test_gpu_narrow_products.py::test_conversions_to_8_bits",
    **dict.fromkeys(
        ("tw.cond", "tw.while", "tw.scan"), "test_control_flow.py::test_one_compile_for_all_sizes_and_choices"
    ),
    "tw.linear_scan": "test_associative_scans.py::test_associative_scans_of_linear_recurrences_are_scans",
    "tw.bitcast": "test_bits.py::test_reads_bits",
    "tw.rng_uniform": "test_module_ops",
    "tw.rng_normal": "test_module_ops",
    "tw.rng_seed": "test_random_numbers_follow_the_seed",
    "tw.write": "test_writes_into_arguments",
    "tw.aten": "test_an_operation_without_a_row",
}
