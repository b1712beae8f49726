"""Each ATen row against eager: odd sizes, strides, empty tensors, dtypes; on the reference runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from tilewright.frontend.compile import Record, compile_captured
from tilewright.frontend.environment import read_environment
from tilewright.frontend.options import make_options

Function = Callable[..., Any]

UNARY: dict[str, Function] = {
    name: getattr(torch, name)
    for name in (
        "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh tanh"
        " asinh acosh atanh erf sigmoid floor ceil round trunc neg abs sign isnan isinf relu"
    ).split()
}
ELEMENTWISE: dict[str, Function] = {
    "add": lambda x, y: x + y,
    "add_alpha": lambda x, y: torch.add(x, y, alpha=3),
    "sub": lambda x, y: x - y,
    "sub_from_number": lambda x, y: 2 - x,
    "mul": lambda x, y: x * y,
    "mul_fraction": lambda x, y: x * 0.3,
    "div": lambda x, y: x / y,
    "div_floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "div_trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "floor_divide_number": lambda x, y: x // 2,
    "remainder": lambda x, y: x % y,
    "fmod": torch.fmod,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "eq": lambda x, y: x == y,
    "lt_fraction": lambda x, y: x < 0.5,
    "ge": lambda x, y: x >= y,
    "where": lambda x, y: torch.where(x > 1, x, y),
    "where_number": lambda x, y: torch.where(x > 1, x, 2.5),
    "clamp": lambda x, y: x.clamp(-1, 1),
    "clamp_min": lambda x, y: x.clamp(min=0.25),
    "pow2": lambda x, y: x**2,
    "pow3": lambda x, y: x**3,
    "number_to_the": lambda x, y: 2**x,
    "logical": lambda x, y: (x > 0) & (y > 1) | ~(x > y),
    "logical_and": torch.logical_and,
    "mixed_types": lambda x, y: x + y.to(torch.float64),
    "rank0": lambda x, y: x * torch.tensor(2.0, dtype=torch.float64),
    "broadcast": lambda x, y: x[:, :1] + y[:1],
    "to_int": lambda x, y: x.to(torch.int32) + y.to(torch.int64),
    "to_bool": lambda x, y: x.bool(),
}
FLOATS: dict[str, Function] = {
    "atan2": torch.atan2,
    "copysign": torch.copysign,
    "pow": lambda x, y: x.abs() ** y,
    "pow_half": lambda x, y: x.abs() ** 0.5,
    "pow_minus_one": lambda x, y: x**-1,
    "lerp": lambda x, y: torch.lerp(x, y, 0.3),
    "addcmul": lambda x, y: torch.addcmul(x, x, y, value=0.5),
    "gelu": lambda x, y: F.gelu(x),
    "gelu_tanh": lambda x, y: F.gelu(x, approximate="tanh"),
    "silu": lambda x, y: F.silu(x),
    "softplus": lambda x, y: F.softplus(x),
    "elu": lambda x, y: F.elu(x),
    "hardswish": lambda x, y: F.hardswish(x),
    "leaky_relu": lambda x, y: F.leaky_relu(x, 0.1),
    "softmax": lambda x, y: F.softmax(x, -1),
    "log_softmax": lambda x, y: F.log_softmax(x, 0),
    "layer_norm": lambda x, y: F.layer_norm(x, (5,)),
    "logsumexp": lambda x, y: torch.logsumexp(x, 1),
    "mean": lambda x, y: x.mean(),
    "mean_dim": lambda x, y: x.mean(0, keepdim=True),
    "var": lambda x, y: x.var(1),
    "std_all": lambda x, y: x.std(),
    "var_mean": lambda x, y: torch.var_mean(x, 0, correction=0),
    "norm": lambda x, y: torch.linalg.vector_norm(x, dim=1),
    "matmul": lambda x, y: x @ y.T,
    "addmm": lambda x, y: torch.addmm(x[:, 0], x, y.T) if x.shape[0] else x,
    "addmm_scaled": lambda x, y: torch.addmm(x @ y.T, x, y.T, beta=0.5, alpha=2),
    "bmm": lambda x, y: torch.bmm(x[None].expand(2, -1, -1), y.T[None].expand(2, -1, -1)),
    "mv": lambda x, y: x @ y.sum(0),
}
VIEWS: dict[str, Function] = {
    "reshape": lambda x, y: x.reshape(-1),
    "permute": lambda x, y: x.permute(1, 0).contiguous(),
    "slice": lambda x, y: x[1:, ::2] * 1,
    "slice_negative": lambda x, y: x[:, -2:] + 0,
    "select": lambda x, y: x[:, -1] + 0,
    "unsqueeze": lambda x, y: x[:, None] + y[None],
    "squeeze": lambda x, y: x[:, :1].squeeze(1) + 0,
    "cat": lambda x, y: torch.cat([x, y, x[:, :0]], 1),
    "stack": lambda x, y: torch.stack([x, y], 1),
    "split": lambda x, y: [part + 0 for part in x.split([2, 3], 1)],
    "chunk": lambda x, y: [part + 0 for part in x.chunk(2, 1)],
    "unbind": lambda x, y: [part + 0 for part in x.unbind(1)],
    "pad": lambda x, y: F.pad(x, (1, 2, 0, 1), value=3),
    "pad_negative": lambda x, y: F.pad(x, (-1, 2)),
    "flip": lambda x, y: x.flip(0, 1),
    "roll": lambda x, y: x.roll(2, 1),
    "repeat": lambda x, y: x.repeat(2, 3),
    "tile_rank": lambda x, y: x.repeat(2, 1, 1),
    "diagonal": lambda x, y: x.diagonal(1) + 0,
    "diagonal_scatter": lambda x, y: torch.diagonal_scatter(x, x.diagonal(1) * 2, 1),
    "diagonal_scatter_turned": lambda x, y: torch.diagonal_scatter(
        x.expand(2, -1, -1), y.diagonal(-1, 1, 0).expand(2, -1), -1, 2, 1
    ),
    "unfold": lambda x, y: x.unfold(1, 3, 2) + 0,
    "tril": lambda x, y: x.tril(1),
    "triu": lambda x, y: x.triu(),
    "assign_slice": lambda x, y: _assigned(x, (slice(None), slice(1, 3)), 7),
    "assign_step": lambda x, y: _assigned(x, (slice(None), slice(0, None, 2)), 7),
    "assign_column": lambda x, y: _assigned(x, (slice(None), 2), y[:, 0]),
    "expand_result": lambda x, y: (x[:, :1] * 2).expand(-1, 4),
    "transposed_result": lambda x, y: (x * 2).T,
    "same_twice": lambda x, y: (lambda z: (z, z, z.clone()))(x * 2),
    "input_back": lambda x, y: (x, x.clone(), None, 3),
    "sum": lambda x, y: x.sum(),
    "sum_dim": lambda x, y: x.sum((0,), keepdim=True),
    "cumsum": lambda x, y: x.cumsum(1),
    "amax": lambda x, y: x.amax(1),
    "max_dim": lambda x, y: torch.max(x, 1),
    "argmin": lambda x, y: x.argmin(1, keepdim=True),
    "argmax_all": lambda x, y: x.argmax(),
    "prod": lambda x, y: x.prod(1),
    "any": lambda x, y: (x > 1).any(1),
    "all": lambda x, y: x.all(),
    "index": lambda x, y: x[:, torch.tensor([0, 3, -1])],
    "index_two": lambda x, y: x[torch.tensor([[0], [1]]), torch.tensor([0, 3])],
    "index_select": lambda x, y: x.index_select(1, torch.tensor([4, 0])),
    "gather": lambda x, y: x.gather(1, torch.tensor([[0, 2], [1, 1], [4, 0]])),
    "scatter": lambda x, y: x.scatter(1, torch.tensor([[0, 2], [1, 3]]), y),
    "scatter_number": lambda x, y: x.scatter(1, torch.tensor([[0], [1], [4]]), 9),
    "scatter_add": lambda x, y: x.scatter_add(1, torch.tensor([[0, 0], [1, 1]]), y),
    "index_add": lambda x, y: x.index_add(1, torch.tensor([0, 0]), y[:, :2]),
    "index_put": lambda x, y: x.index_put((torch.tensor([0, 2]), torch.tensor([1, 1])), y[0, :2]),
    "masked_fill": lambda x, y: x.masked_fill(x > y, 5),
    "assign_mask": lambda x, y: _assigned(x, x > y, 5),
    "embedding": lambda x, y: F.embedding(torch.tensor([[0, 2], [1, 1]]), x),
    "one_hot": lambda x, y: F.one_hot(torch.tensor([0, 2]), 4),
    "arange": lambda x, y: torch.arange(2, 11, 3) + x.shape[0],
    "arange_fraction": lambda x, y: torch.arange(0.5, 3.0, 0.4),
    "linspace": lambda x, y: torch.linspace(0, 1, 5),
    "full": lambda x, y: torch.full((2, 3), 1.5) + torch.ones(3) + torch.zeros(2, 1),
    "full_like": lambda x, y: torch.full_like(x, 3),
    "eye": lambda x, y: torch.eye(3, 4),
    "eye of 300": lambda x, y: torch.eye(300, dtype=torch.int32) + torch.eye(2, 300, dtype=torch.int32)[0],
    "constant": lambda x, y: x + torch.tensor([1, 2, 3, 4, 5], dtype=x.dtype),
}
DTYPES = (torch.float32, torch.bfloat16, torch.float64, torch.float16, torch.int64, torch.int32, torch.uint8)


def _assigned(x: Tensor, where: Any, value: Any) -> Tensor:
    result = x.clone()
    result[where] = value
    return result


def compiled(function: Function, *args: Any, dynamic: bool = False) -> tuple[Any, Record]:
    """What `function` gives when it is imported and interpreted."""
    torch._dynamo.reset()
    record = Record()
    options = make_options({"target": "reference"})

    def backend(gm: Any, inputs: Any) -> Any:
        return compile_captured(gm, inputs, options, read_environment(), record)

    return torch.compile(function, backend=backend, dynamic=dynamic, fullgraph=True)(*args), record


def tensors(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in tensors(item)] if isinstance(value, list | tuple) else [value]


def compare(got: Any, want: Any, name: str) -> None:
    for a, b in zip(tensors(got), tensors(want), strict=True):
        if not isinstance(b, Tensor):
            assert a == b, name
            continue
        assert (a.dtype, a.shape) == (b.dtype, b.shape), name
        low = b.dtype in (torch.bfloat16, torch.float16)
        close = {"rtol": 2e-2, "atol": 2e-2} if low else {}
        torch.testing.assert_close(a, b, equal_nan=True, msg=lambda text: f"{name}: {text}", **close)


def check(function: Function, *args: Any, dynamic: bool = False) -> Record:
    got, record = compiled(function, *args, dynamic=dynamic)
    compare(got, function(*args), "result")
    return record


def operands(dtype: torch.dtype, rows: int = 3) -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    if dtype.is_floating_point:
        return torch.randn(rows, 5).to(dtype), torch.randn(rows, 5).to(dtype) + 2
    return torch.randint(0, 9, (rows, 5)).to(dtype), torch.randint(1, 5, (rows, 5)).to(dtype)


def native(record: Record) -> list[str]:
    return [str(f) for _, graph in record.graphs for f in graph.fallbacks]


def check_all(functions: dict[str, Function], *args: Any, dynamic: bool = False) -> None:
    """All functions in one graph (compiling is the slow part); none may fall back."""
    got, record = compiled(lambda *xs: [f(*xs) for f in functions.values()], *args, dynamic=dynamic)
    for (name, function), value in zip(functions.items(), got, strict=True):
        compare(value, function(*args), name)
    assert not native(record)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_unary(dtype: torch.dtype) -> None:
    check_all({name: (lambda x, y, f=f: f(x)) for name, f in UNARY.items()}, *operands(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_elementwise(dtype: torch.dtype) -> None:
    check_all(ELEMENTWISE, *operands(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_float_functions(dtype: torch.dtype) -> None:
    check_all(FLOATS, *operands(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_views_reductions_and_indexing(dtype: torch.dtype) -> None:
    check_all(VIEWS, *operands(dtype))


@pytest.mark.parametrize("functions", [ELEMENTWISE, VIEWS, FLOATS])
def test_strided_operands(functions: dict[str, Function]) -> None:
    x, y = operands(torch.float32, 10)
    check_all(functions, x.T[:, ::2].T[:3], y[::3][:3].T.contiguous().T)


def test_empty_operands() -> None:
    views = {name: VIEWS[name] for name in ("sum", "sum_dim", "any", "cat", "reshape", "permute", "pad")}
    check_all(ELEMENTWISE | views, torch.empty(0, 5), torch.empty(0, 5))


@pytest.mark.parametrize("shape", [(3, 0, 4), (0,), (2, 3, 0), (2, 0, 0, 3)], ids=str)
@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
def test_strides_of_empty_results(shape: tuple[int, ...], target: str) -> None:
    """A size of 0 counts as 1 in them."""

    def function(x: Tensor) -> tuple[Tensor, ...]:
        return x.exp(), torch.cat([x, x], 0), x.sum(0), x.new_ones(shape), x[None] + x

    compiled = torch.compile(function, backend="mlir", options={"target": target})
    for got, want in zip(compiled(torch.empty(shape)), function(torch.empty(shape)), strict=True):
        assert (got.shape, got.stride()) == (want.shape, want.stride())


def test_symbolic_sizes() -> None:
    check_all(ELEMENTWISE, *operands(torch.float32, 7), dynamic=True)


BY_THEMSELVES = ("expand_result", "transposed_result", "same_twice", "input_back", "sum", "diagonal_scatter")


@pytest.mark.parametrize("name", BY_THEMSELVES)
def test_results_by_themselves(name: str) -> None:
    assert not native(check(VIEWS[name], *operands(torch.float32)))


DYNAMIC: dict[str, Function] = {
    "reshape": lambda x: x.reshape(x.shape[0] // 2, 2, -1).sum(1),
    "mean_of_size": lambda x: x / x.shape[0] + x.numel() / 8 * x,
    "size_back": lambda x: (x * 2, x.shape[0] + 1),
    "arange": lambda x: torch.arange(x.shape[0]) * x[:, 0],
    "pad_to": lambda x: F.pad(x, (0, x.shape[0])),
    "slice": lambda x: x[1 : x.shape[0] - 1] * 2,
    "expand_result": lambda x: (x[:1] * 2).expand(x.shape[0], -1),
    "transposed_result": lambda x: (x * 2).T,
    "cat": lambda x: torch.cat([x, x * 2]),
    "full": lambda x: torch.full((x.shape[0],), x.shape[0]) + 1,
    "var": lambda x: x.var(0),
}


def test_sizes_flow_symbolically() -> None:
    check_all(DYNAMIC, torch.randn(6, 5), dynamic=True)


def test_an_operator_without_a_row_is_recorded_with_its_place() -> None:
    record = check(lambda x: torch.linalg.qr(x), torch.randn(4, 6))
    (line,) = native(record)
    assert line.startswith("TW1101: aten::linalg_qr at ")
    assert "test_aten_ops.py:" in line


def test_input_mutation_is_a_write() -> None:
    def function(x: Tensor) -> Tensor:
        x.add_(1)
        return x * 2

    x = torch.zeros(3)
    got, _ = compiled(function, x)
    assert x.tolist() == [1, 1, 1]
    assert got.tolist() == [2, 2, 2]


def test_results_are_fresh_memory() -> None:
    x = torch.ones(3)
    (a, b), _ = compiled(lambda x: (x.clone(), x.clone()), x)
    a.add_(1)
    assert x.tolist() == b.tolist() == [1, 1, 1]


@pytest.mark.parametrize("order", [1, 2])
def test_dropout_keeps_the_expected_share(order: int) -> None:
    torch.manual_seed(order)
    got, record = compiled(lambda x: F.dropout(x, 0.25), torch.ones(100, 100))
    assert not native(record)
    assert abs((got == 0).float().mean().item() - 0.25) < 0.02
    assert torch.all((got == 0) | (got == 1 / 0.75))
