"""Triton kernels of the user's in compiled functions, executed by the emulator from their own text."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import pytest
import reported
import torch
from emulated_gpu import EmulatedGpu
from torch import Tensor
from torch.fx import GraphModule
from torch.library import triton_op, wrap_triton
from user_kernels import EMULATED, reason, run, seen_by_dynamo

import tilewright
from tilewright.frontend.cache.cache_key import graph_key
from tilewright.frontend.environment import read_environment
from tilewright.frontend.errors import Unsupported
from tilewright.frontend.fx.triton_text import _Text
from tilewright.frontend.options import make_options
from tilewright.frontend.report.render import data

triton = pytest.importorskip("triton")
tl: Any = pytest.importorskip("triton.language")

__all__ = ["seen_by_dynamo"]

SCALE: Any = tl.constexpr(1.5)


@triton.jit
def scaled(value):
    return value * SCALE


def scaled_twice(value):
    return value * SCALE * 2


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, scaled(tl.load(x + i, mask=inside)) + tl.load(y + i, mask=inside), mask=inside)


@triton.jit
def row_sums(x, out, step, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + row * step + i, mask=i < columns, other=0.0))
    tl.store(out + row, total)


@triton.jit
def accumulate(x, out, n, weight, doubled: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    value = tl.load(x + i, mask=inside) * weight
    if doubled:
        value = value * 2
    tl.store(out + i, tl.load(out + i, mask=inside) + value, mask=inside)


@triton.jit
def strided_copy(x, out, rows, columns, x0, x1, out0, out1, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    value = tl.load(x + r * x0 + c * x1, mask=c < columns)
    tl.store(out + r * out0 + c * out1, value + 1, mask=c < columns)


def added(x: Tensor, y: Tensor) -> Tensor:
    out = torch.empty_like(x)
    n = x.numel()
    add_kernel[(triton.cdiv(n, 64),)](x, y, out, n, BLOCK=64)
    return out


@pytest.mark.parametrize("n", [1, 63, 64, 1000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_between_other_operators(n: int, dtype: torch.dtype) -> None:
    def f(x: Tensor, y: Tensor) -> Tensor:
        return torch.relu(added(x + 1, y)) * 2

    x, y = torch.randn(n).to(dtype), torch.randn(n).to(dtype)
    wide = ((x + 1).double() * 1.5).to(torch.float64 if dtype == torch.float64 else torch.float32).to(dtype)
    torch.testing.assert_close(run(f, x, y), torch.relu(wide + y) * 2)


def test_it_is_reported_as_a_kernel() -> None:
    x, y = torch.randn(100), torch.randn(100)
    (graph,) = tilewright.explain(added, x, y, options=EMULATED).graphs
    assert graph.kernels == {"add_kernel": 1}
    assert not graph.library_calls
    (step,) = data(reported.recorded(added, x, y, **EMULATED))["graphs"][0]["steps"]
    assert (step["name"], step["kind"], step["bytes"]) == ("add_kernel", "kernel", 3 * 400)


def test_sizes_that_change() -> None:
    compiled = torch.compile(added, backend="mlir", options={**EMULATED, "fallback": False}, dynamic=True)
    for n in (10, 64, 130, 1024):
        x, y = torch.randn(n), torch.randn(n)
        torch.testing.assert_close(compiled(x, y), x * 1.5 + y)


def test_an_argument_is_written_in_place() -> None:
    def f(x: Tensor, out: Tensor) -> Tensor:
        accumulate[(2,)](x * 3, out, 100, 0.5, True, BLOCK=64)
        return out.sum()

    x, out = torch.randn(100), torch.randn(100)
    wanted = out + x * 3
    total = run(f, x, out)
    torch.testing.assert_close(out, wanted)
    torch.testing.assert_close(total, wanted.sum())


def test_what_is_read_later_is_kept() -> None:
    def f(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        before = y * 2
        after = before.clone()
        accumulate[(1,)](x, after, 64, 2.0, False, BLOCK=64)
        return before + 1, after

    x, y = torch.randn(64), torch.randn(64)
    before, after = run(f, x, y)
    torch.testing.assert_close(before, y * 2 + 1)
    torch.testing.assert_close(after, y * 2 + x * 2)


def test_a_kernel_that_reads_what_it_writes_elsewhere() -> None:
    """The operand that is read must not be the memory that is updated."""

    def f(x: Tensor) -> tuple[Tensor, Tensor]:
        out = x.clone()
        accumulate[(1,)](x, out, 64, 1.0, False, BLOCK=64)
        x.copy_(out)
        return out, x + 1

    x = torch.randn(64)
    wanted = x * 2
    out, more = run(f, x)
    torch.testing.assert_close(out, wanted)
    torch.testing.assert_close(x, wanted)
    torch.testing.assert_close(more, wanted + 1)


OFFSET: tl.constexpr = 3
KIND: Any = tl.constexpr(tl.float32)


@triton.jit
def typed(x, out, n: tl.int64, one: tl.int32, same, BLOCK: tl.constexpr, KINDS: tl.constexpr = (1, 2)):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n).to(KIND) + OFFSET
    tl.store(out + i, value * one + same + KINDS[1] + n.dtype.primitive_bitwidth, mask=i < n)


def test_annotations_defaults_and_constants() -> None:
    """Numbers have the types that annotations say; one that is 1 is no constant then."""

    def f(x: Tensor) -> Tensor:
        out = torch.empty(x.shape)
        typed[(1,)](x, out, x.numel(), 1, 7, BLOCK=64)
        return out

    x = torch.randn(50).half()
    torch.testing.assert_close(run(f, x), x.float() + 3 + 7 + 2 + 64)
    with pytest.raises(Exception, match="`n` of type i64 is given s0"):  # which would be one of 32 bits
        run(f, x, dynamic=True)


def moved(x: Tensor, out: Tensor) -> Tensor:
    rows, columns = x.shape
    strides = (*x.stride(), *out.stride())
    strided_copy[(rows,)](x, out, rows, columns, *strides, BLOCK=triton.next_power_of_2(columns))
    return out


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("how", ["rows", "columns", "view", "computed", "part"])
def test_strides(how: str, dynamic: bool) -> None:
    """A kernel is given strides: what lies otherwise once it is compiled is brought into that order."""

    def f(x: Tensor) -> Tensor:
        match how:
            case "rows":
                return moved(x, torch.empty_like(x))
            case "columns":
                return moved(x, torch.empty(x.shape[1], x.shape[0]).t())
            case "view":
                return moved(x.t(), torch.empty(x.shape[1], x.shape[0]))
            case "computed":
                return moved(x.t().exp(), torch.empty(x.shape[1], x.shape[0])) * 2
            case _:
                return moved(x[1:, 2:], torch.empty(x.shape[0] - 1, x.shape[1] - 2))

    x = torch.randn(5, 9)
    wanted = {
        "rows": x + 1,
        "columns": x + 1,
        "view": x.t() + 1,
        "computed": (x.t().exp() + 1) * 2,
        "part": x[1:, 2:] + 1,
    }[how]
    found = run(f, x, dynamic=dynamic)
    torch.testing.assert_close(found, wanted)
    if how == "columns":
        assert found.stride() == (1, 5)


def test_a_slice_is_written() -> None:
    def f(x: Tensor) -> Tensor:
        out = torch.zeros(4, 10)
        moved(x, out[:, 3:7])
        return out

    x = torch.randn(4, 4)
    wanted = torch.zeros(4, 10)
    wanted[:, 3:7] = x + 1
    torch.testing.assert_close(run(f, x), wanted)


def test_a_function_of_autograd() -> None:
    class Sums(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.columns = x.shape[1]
            out = torch.empty(x.shape[0])
            row_sums[(x.shape[0],)](x, out, x.stride(0), x.shape[1], BLOCK=16)
            return out

        @staticmethod
        def backward(ctx: Any, *grads: Tensor) -> Tensor:
            (grad,) = grads
            return grad[:, None].expand(-1, ctx.columns)

    def f(x: Tensor) -> Tensor:
        return Sums.apply(x * x).exp().sum()

    x = torch.randn(6, 10, requires_grad=True)
    (found,) = torch.autograd.grad(run(f, x), x)
    (wanted,) = torch.autograd.grad((x * x).sum(1).exp().sum(), x)
    torch.testing.assert_close(found, wanted)


def test_the_meaning_is_checked() -> None:
    """Passes are held to what `tw.triton` means, as for any op."""

    def f(x: Tensor, y: Tensor) -> Tensor:
        return added(x, y).sum()

    x, y = torch.randn(100), torch.randn(100)
    torch.testing.assert_close(run(f, x, y, check="each-pass"), (x * 1.5 + y).sum())


def test_on_the_stand_in(gpu: EmulatedGpu) -> None:
    """The host function launches the kernel itself, with the arguments in its order, between ours."""

    def f(x: Tensor, y: Tensor, out: Tensor) -> Tensor:
        accumulate[(2,)](x.exp(), out, 100, 0.5, False, BLOCK=64)
        return torch.relu(added(x, y)) + out

    x, y, out = torch.randn(100), torch.randn(100), torch.randn(100)
    wanted = torch.relu(x * 1.5 + y) + (out + x.exp() * 0.5)
    torch.testing.assert_close(run(f, x, y, out, target="gpu_triton"), wanted)
    assert len(gpu.launched()) == 4
    assert {"accumulate", "add_kernel"} <= set(gpu.launched())
    grids = {launch.name.partition(":")[2]: launch.grid for launch in gpu.driver.launches()}
    assert grids["accumulate"] == (2, 1, 1)
    assert grids["add_kernel"] == (2, 1, 1)


def test_an_address_that_is_odd(gpu: EmulatedGpu) -> None:
    """Machine code relies on addresses that 16 divides: a view that starts elsewhere is told to Triton."""

    def f(x: Tensor) -> Tensor:
        return moved(x[:, 1:], torch.empty(4, 7))

    x = torch.randn(4, 8)
    torch.testing.assert_close(run(f, x, target="gpu_triton"), x[:, 1:] + 1)
    (kernel,) = (k for k in gpu.units[0].kernels if k.given is not None)
    aligned = {parameter.name: parameter.aligned for parameter in kernel.parameters}
    assert aligned == {"x": False, "out": True, "rows": False, "columns": False, "x0": False, "out0": False}


def _key() -> str:
    """What a later process must have in common to take the code of `added`."""
    graphs: list[GraphModule] = []

    def captured(gm: GraphModule, inputs: Any) -> Any:
        graphs.append(gm)
        raise RuntimeError("captured")

    torch._dynamo.reset()
    with pytest.raises(Exception, match="captured"):
        torch.compile(added, backend=captured)(torch.randn(9), torch.randn(9))
    return graph_key(graphs[0], (), make_options({"target": "gpu_triton"}), read_environment({}))


def test_texts_of_kernels_are_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = _key()
    assert _key() == before
    monkeypatch.setitem(globals(), "SCALE", tl.constexpr(2.5))
    changed = _key()
    assert changed != before
    monkeypatch.setitem(globals(), "scaled", triton.jit(scaled_twice))
    assert _key() not in (before, changed)


def test_an_operator_with_a_kernel() -> None:
    """torch.library.triton_op, of which torch.compile sees the inside."""

    @triton_op("tilewright_test::added", mutates_args={})
    def operator(x: Tensor, y: Tensor) -> Tensor:
        out = torch.empty_like(x)
        wrap_triton(add_kernel)[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)
        return out

    x, y = torch.randn(100), torch.randn(100)
    found = run(lambda x, y: torch.relu(operator(x * 2, y)), x, y)
    torch.testing.assert_close(found, torch.relu(x * 3 + y))


def test_two_things_of_one_name() -> None:
    """Functions of two modules may call helpers of one name, which one text cannot hold."""
    names = {**globals(), "scaled": triton.jit(scaled_twice)}
    other = triton.jit(add_kernel.fn)
    other.fn = FunctionType(add_kernel.fn.__code__, names, "other")
    text = _Text()
    text.meet("add_kernel", add_kernel)
    with pytest.raises(Unsupported, match="two things that it uses are called `scaled`"):
        text.meet("other", other)


# What is left to Triton in Python, with the reason


def test_a_global_that_no_text_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SCALE", object())
    assert "no constant that a text can hold" in reason(added, torch.randn(9), torch.randn(9))


def test_cpus_launch_no_triton() -> None:
    with pytest.raises(Exception, match="TW2108"):
        run(added, torch.randn(9), torch.randn(9), target="cpu_openmp")
