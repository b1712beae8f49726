"""Values, dtypes and devices that a kernel cannot take: an error with id and place, or ATen, visibly."""

import logging
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._dynamo.exc import BackendCompilerFailed
from torch.nn import functional

import tilewright
from tilewright.frontend.runtime import aten_runtime
from tilewright.targets import registry

HERE = __file__


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()
    aten_runtime.forget_warnings()


def compiled(f: Callable[..., Any]) -> Callable[..., Any]:
    return torch.compile(f, backend="mlir")


def same(f: Callable[..., Any], *args: Any) -> None:
    torch.testing.assert_close(compiled(f)(*args), f(*args))


INDEXED: dict[str, tuple[Callable[..., Tensor], int]] = {
    "gather": (lambda x, i: torch.gather(x, 0, i.expand(1, 4)), 3),
    "embedding": (lambda x, i: functional.embedding(i, x) + 1, 3),
    "embedding, negative": (lambda x, i: functional.embedding(i, x) + 1, -1),
    "index_select": (lambda x, i: torch.index_select(x, 0, i[0]) * 2, 3),
    "index_select, negative": (lambda x, i: torch.index_select(x, 0, i[0]) * 2, -2),
    "take": (lambda x, i: torch.take(x, i) - 1, 12),
    "index": (lambda x, i: x[i] + 1, -4),
    "cross_entropy": (lambda x, i: functional.cross_entropy(x[:1], i[0]), 4),
    "gather of a few": (lambda x, i: torch.gather(x.repeat(1, 4).exp(), 1, i.expand(3, 1)), 16),
    "scatter into zeros": (lambda x, i: torch.zeros(3, 4).scatter(1, i.expand(3, 1), 2.0) * x, -1),
}


@pytest.mark.parametrize("name", INDEXED)
def test_indices_out_of_range(name: str) -> None:
    f, bad = INDEXED[name]
    run, x, good = compiled(f), torch.randn(3, 4), torch.tensor([[1]])
    torch.testing.assert_close(run(x, good), f(x, good))
    with pytest.raises(IndexError, match="TW2114: index out of range") as caught:
        run(x, torch.tensor([[bad]]))
    assert isinstance(caught.value, tilewright.TilewrightError)
    assert f"where: {HERE}:" in str(caught.value)
    assert "fix:" in str(caught.value)
    assert "or below -size" in str(caught.value)  # -1 is the last element of x[i]
    torch.testing.assert_close(run(x, good), f(x, good))  # the graph is as good as before


DIVIDED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "floor_divide": lambda a, b: a // b,
    "trunc_divide": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "remainder": lambda a, b: a % b,
    "fmod": torch.fmod,
}


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
@pytest.mark.parametrize("name", DIVIDED)
def test_integer_division_by_zero(name: str, dtype: torch.dtype) -> None:
    run = compiled(DIVIDED[name])
    a, b = torch.arange(1, 20).to(dtype), torch.ones(19, dtype=dtype)
    b[17] = 0
    with pytest.raises(ZeroDivisionError, match=r"TW2114: division by zero\n  where: "):
        run(a, b)
    with pytest.raises(RuntimeError):  # what eager raises
        run(a, b)


FALLEN_BACK: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {
    "svd": (lambda x: torch.linalg.svdvals(x) + 1, (torch.randn(4, 3),), "aten::_linalg_svd"),
    "fft": (lambda x: torch.fft.rfft(x).abs() * 2, (torch.randn(4, 8),), "aten::_fft_r2c"),
    "complex": (lambda x: x.sqrt() + 1, (torch.randn(4, dtype=torch.complex64),), "aten::sqrt"),
    "float8": (
        lambda x: x.to(torch.float8_e8m0fnu).to(torch.float32) * 2,
        (torch.randn(4, 8),),
        "prims::convert_element_type",
    ),
    "long sort": (lambda x: x.sort().values * 2, (torch.randn(20000),), "aten::sort"),
}


@pytest.mark.parametrize("name", FALLEN_BACK)
def test_operators_without_a_row_run_through_aten_visibly(name: str) -> None:
    f, args, callee = FALLEN_BACK[name]
    found = tilewright.explain(f, *args)
    torch.testing.assert_close(found.result, f(*args))
    (graph,) = found.graphs
    assert graph.by_aten is None
    (fallback,) = [fallback for fallback in graph.fallbacks if fallback.op == callee][:1]
    assert fallback.place.startswith(HERE)
    assert fallback.code in ("TW1101", "TW1102", "TW1103")
    assert str(fallback) in str(found)


NO_ELEMENT_TYPE: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "torch.complex128 has": (torch.sin, (torch.randn(4, dtype=torch.complex128),)),
    "torch.uint16 has": (lambda x: x.to(torch.int32), (torch.ones(4, dtype=torch.uint16),)),
    "torch.complex64 and torch.complex128 have": (
        lambda x, y: torch.cat([x, y]),
        (torch.randn(4, dtype=torch.complex64), torch.randn(4, dtype=torch.complex128)),
    ),
}


@pytest.mark.parametrize("text", NO_ELEMENT_TYPE)
def test_dtypes_that_the_ir_lacks_are_named(text: str) -> None:
    f, args = NO_ELEMENT_TYPE[text]
    found = tilewright.explain(f, *args)
    torch.testing.assert_close(found.result, f(*args))
    ((fallback,),) = [graph.fallbacks for graph in found.graphs]
    assert (fallback.code, fallback.reason) == ("TW1103", f"{text} no element type in the IR")


def test_a_fallback_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    def f(x: Tensor) -> Tensor:
        return torch.linalg.slogdet(x)[1] + 1

    with caplog.at_level(logging.WARNING, "tilewright.fallback"):
        same(f, torch.eye(3) * 2)
        same(lambda x: f(x) + 1, torch.eye(3) * 2)
    assert len([r for r in caplog.records if "slogdet" in r.getMessage()]) <= 1


@pytest.mark.skipif(
    torch.__version__ < "2.12", reason="torch 2.11 leaves them to Python: its trace knows no such tensors"
)
def test_quantised_tensors_run_the_graph_by_aten() -> None:
    def f(x: Tensor) -> Tensor:
        return torch.quantize_per_tensor(x, 0.1, 0, torch.qint8).dequantize() + 1

    with pytest.warns(aten_runtime.RunsByAten, match=r"TW1006(.|\n)*qint8"):
        same(f, torch.randn(4))


def test_graph_inputs_without_a_plain_memory() -> None:
    from torch.fx import GraphModule, symbolic_trace

    from tilewright.frontend.errors import UnsupportedInput
    from tilewright.frontend.fx.fx_import import import_fx

    gm = symbolic_trace(torch.nn.Identity())
    assert isinstance(gm, GraphModule)
    with pytest.raises(
        UnsupportedInput, match=r"TW1005: graph input `input_1` is a torch\.sparse_coo tensor"
    ):
        import_fx(gm, [torch.eye(3).to_sparse()])


def test_sparse_tensors() -> None:
    x = torch.randn(3, 2)
    torch.testing.assert_close(
        compiled(lambda s, x: torch.sparse.mm(s, x) + 1)(torch.eye(3).to_sparse(), x), x + 1
    )
    torch.testing.assert_close(compiled(lambda s, x: s @ x * 2)(torch.eye(3).to_sparse_csr(), x), x * 2)


def test_devices() -> None:
    with pytest.warns(aten_runtime.RunsByAten, match="TW1009: no target compiles for device `meta`"):
        result = compiled(lambda x: (x * 2).sum(0))(torch.randn(3, 4, device="meta"))
    assert result.shape == (4,)
    with pytest.raises(Exception, match="device"):  # Dynamo's own error
        compiled(lambda x, y: x + y)(torch.randn(3), torch.randn(3, device="meta"))


def test_a_target_of_another_device_runs_by_aten_or_is_an_error() -> None:
    misplaced("gpu_triton", "TW2068")


def test_a_missing_target_runs_by_aten_or_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry._TABLE, "added", {})  # pyright: ignore[reportPrivateUsage]
    registry.register_target(registry.Target(name="gone", build="a_package_that_nobody_has:build"))
    misplaced("gone", "TW1007")


def misplaced(target: str, code: str) -> None:
    """A graph that this target cannot take."""

    def f(x: Tensor) -> Tensor:
        return x.sin() + 2

    x = torch.randn(5)
    with pytest.raises(BackendCompilerFailed, match=code):
        torch.compile(f, backend="mlir", options={"target": target, "fallback": False})(x)
    torch._dynamo.reset()
    with pytest.warns(aten_runtime.RunsByAten, match=code):
        torch.testing.assert_close(torch.compile(f, backend="mlir", options={"target": target})(x), f(x))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"freze": True}, "TW1001: unknown option `freze`(.|\n)*did you mean `freeze`"),
        ({"freeze": "yes"}, "TW1002: option `freeze` cannot be 'yes'"),
        ({"target": "cpu"}, "TW1002: option `target`"),
    ],
)
def test_options(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(BackendCompilerFailed, match=expected):
        torch.compile(torch.sin, backend="mlir", options=options)(torch.ones(2))


def test_mode() -> None:
    with pytest.raises(
        BackendCompilerFailed, match=r"TW1003: unknown mode `max-autotun`(.|\n)*`max-autotune`"
    ):
        torch.compile(torch.sin, backend="mlir", mode="max-autotun")(torch.ones(2))


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_empty_batches(rows: int) -> None:
    linear = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2)
    )
    same(linear, torch.randn(rows, 4))
    convolution = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU()
    ).eval()
    same(convolution, torch.randn(rows, 3, 8, 8))
    same(lambda q: functional.scaled_dot_product_attention(q, q, q), torch.randn(rows, 2, 5, 8))
    same(lambda x: (x.sum(), x.prod(), x.sum(0)), torch.randn(rows, 5))


def test_extremes_of_nothing_raise_what_eager_raises() -> None:
    with pytest.raises(RuntimeError, match=r"max\(\)"):
        compiled(lambda x: x.max())(torch.randn(0))


def test_no_memory() -> None:
    """A plan that wants more than there is: an error, and the process lives."""
    from tilewright.targets.native.errors import OutOfMemory, call_error

    error = call_error(2113, "the arena of temporaries", "model.py:3", "not enough memory")
    assert isinstance(error, OutOfMemory)
    assert isinstance(error, MemoryError)
    x = torch.empty(1).expand(1 << 46)
    with pytest.raises(MemoryError, match="TW2113"):
        compiled(lambda x: x + 1)(x)


@pytest.mark.filterwarnings("error::tilewright.frontend.runtime.aten_runtime.RunsByAten")
def test_sizes_that_no_expression_says() -> None:
    """Of nothing else: Python computes them, and the rest is compiled."""

    def f(x: Tensor) -> Tensor:
        return x.new_ones(int(math.sqrt(x.shape[0]))) + 1

    run = torch.compile(f, backend="mlir", dynamic=True)
    for count in (9, 25):
        torch.testing.assert_close(run(torch.randn(count)), f(torch.randn(count)))


def test_arguments_that_the_ir_cannot_hold() -> None:
    def f(x: Tensor) -> Tensor:
        return (x + 1) ** (1 + 2j)

    found = tilewright.explain(f, torch.randn(4))
    (graph,) = found.graphs
    assert graph.by_aten is None
    assert [(f.code, f.op) for f in graph.fallbacks] == [("TW1104", "aten::pow.Tensor_Scalar")]
    same(f, torch.randn(4))


def test_an_op_that_does_not_cover_these_arguments() -> None:
    function, args, _ = FALLEN_BACK["long sort"]
    found = tilewright.explain(function, *args)
    assert {f.code for g in found.graphs for f in g.fallbacks} == {"TW1102"}


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
@pytest.mark.parametrize("which", ["mm", "linear", "bias"])
@pytest.mark.filterwarnings("ignore:TW1")
def test_products_of_several_dtypes_are_refused_as_in_eager_mode(which: str, target: str) -> None:
    """Tracing lets them pass."""
    x, w, bias = torch.randn(2, 3), torch.randn(4, 3), torch.randn(4)
    given: dict[str, Callable[[], Tensor]] = {
        "mm": lambda: torch.mm(x, w.t().long()),
        "linear": lambda: torch.nn.functional.linear(x.double(), w),
        "bias": lambda: torch.nn.functional.linear(x, w, bias.double()),
    }
    torch._dynamo.reset()
    with pytest.raises(RuntimeError) as eager:
        given[which]()
    with pytest.raises(RuntimeError) as ours:
        torch.compile(given[which], backend="mlir", options={"target": target})()
    assert str(eager.value) in str(ours.value)
