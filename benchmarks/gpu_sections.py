"""What `benchmarks.gpu` measures: sections of items, each of which stands for itself."""

from __future__ import annotations

import copy
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention
from torch.utils._pytree import tree_leaves

from benchmarks import models, numerics
from benchmarks.gpu_bench import COMPARED, Bench, Row, compiled
from benchmarks.gpu_classes import CLASSES, KernelClass, bytes_moved
from benchmarks.timing import Spread, geomean

MODELS = ("bert", "gpt2", "vit", "resnet50", "mlp-mixer", "unet")
TUNED = ("gelu", "softmax", "layer-norm", "sum-columns", "matmul", "matmul-epilogue", "attention")
GEMMS = ((4096, 4096, 4096), (8192, 1024, 4096), (512, 8192, 2048), (16, 4096, 4096))
PROFILED = ("eager", "mlir", "inductor")
HEADS = ((8, 16, 1024, 64), (4, 16, 4096, 128))

Items = Iterator[tuple[str, Callable[[], Row]]]


class Module(nn.Module):
    """A function as a module, which the float64 rule takes."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Tensor) -> Any:
        return self.function(*args)


# Correctness


def without_tf32() -> AbstractContextManager[None]:
    """Convolutions of f32 are judged as such.

    torch allows them TF32 by default, and which of its algorithms cuDNN then takes depends on sizes and on
    the order of dimensions, not on who calls it.
    """
    return torch.backends.cudnn.flags(enabled=True, allow_tf32=False)


def correctness(bench: Bench) -> Items:
    """Every class of kernel and every demo model, forward and its gradients, by the float64 rule."""
    for each in CLASSES:
        for dtype in (torch.float32, torch.bfloat16) if each.floats else (torch.float32,):
            yield f"{each.name} {_name(dtype)}", lambda e=each, d=dtype: _judged(bench, e, d)
    for name in MODELS:
        yield f"model {name}", lambda n=name: asdict(_forward(*_tiny(bench, n)))
        yield f"model {name} gradients", lambda n=name: asdict(_gradients(*_tiny(bench, n)))
    for each in CLASSES:
        if each.differentiable:
            yield f"{each.name} gradients", lambda e=each: _judged(bench, e, torch.float32, gradients=True)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _tiny(bench: Bench, name: str) -> tuple[nn.Module, tuple[Tensor, ...]]:
    case = models.load(name, "tiny", 2, "f32")
    return case.model.to(bench.device), bench.put(case.inputs)


def _judged(bench: Bench, each: KernelClass, dtype: torch.dtype, *, gradients: bool = False) -> Row:
    torch.manual_seed(0)
    inputs = bench.put(each.make(1 << 14, dtype))
    return asdict((_gradients if gradients else _forward)(Module(each.run), inputs))


def _forward(model: nn.Module, inputs: tuple[Tensor, ...]) -> numerics.Verdict:
    with without_tf32():
        return numerics.check_model(compiled(model), model, inputs)


def _gradients(model: nn.Module, inputs: tuple[Tensor, ...]) -> numerics.Verdict:
    """Of the mean square of all results, for parameters and inputs."""
    wide, widened = copy.deepcopy(model).double(), tuple(map(_double, inputs))
    with numerics.Widen():
        truth = _slopes(wide, wide, widened)
    with without_tf32():
        return numerics.judge(_slopes(compiled(model), model, inputs), _slopes(model, model, inputs), truth)


def _double(tensor: Tensor) -> Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor


def _slopes(run: Callable[..., Any], model: nn.Module, inputs: tuple[Tensor, ...]) -> list[Tensor]:
    leaves = [x.detach().requires_grad_(x.is_floating_point()) for x in inputs]
    loss = _loss(run(*leaves))
    wanted = [*model.parameters(), *(x for x in leaves if x.requires_grad)]
    found = torch.autograd.grad(loss, wanted, allow_unused=True)
    return [gradient for gradient in found if gradient is not None]


def _loss(result: Any) -> Tensor:
    floats = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor) and leaf.requires_grad]
    return torch.stack([leaf.float().square().mean() for leaf in floats]).sum()


# Kernels


def bandwidth(bench: Bench) -> Items:
    """Memory-bound classes in f32: bytes per second as a fraction of those of a copy, nothing cached."""
    elements = 1 << 14 if bench.small else 1 << 26
    for each in CLASSES:
        if each.kind in ("elementwise", "reduction", "norm"):
            yield each.name, lambda e=each: _fraction(bench, e, elements)


def _fraction(bench: Bench, each: KernelClass, elements: int) -> Row:
    with bench.device:
        inputs = each.make(elements, torch.float32)
    run = compiled(each.run)
    moved = bytes_moved(inputs, each.run(*inputs))
    source = torch.randn(max(1, moved // 8), device=bench.device)
    target = torch.empty_like(source)
    contenders = {
        "copy": lambda: target.copy_(source),
        "mlir": lambda: run(*inputs),
        "eager": lambda: each.run(*inputs),
    }
    found = bench.compare(contenders, flush=True)
    speed = moved / found.seconds("mlir")
    return {**found.compiled("mlir", "copy", "eager"), "GB/s": round(speed / 1e9, 1)}


def gemm(bench: Bench) -> Items:
    """bf16 products, bare and with an epilogue, against cuBLAS (eager) and TorchInductor.

    Bare ones that are large are cuBLAS's by default (`leave-products`), so our kernel is timed for itself.
    """
    for m, n, k in [(64, 32, 48)] if bench.small else GEMMS:
        yield f"{m}x{n}x{k}", lambda m=m, n=n, k=k: _gemm(bench, m, n, k)


def _gemm(bench: Bench, m: int, n: int, k: int) -> Row:
    a, b, bias = (torch.randn(*s, device=bench.device).bfloat16() for s in ((m, k), (k, n), (n,)))

    def epilogue(a: Tensor, b: Tensor, bias: Tensor) -> Tensor:
        return gelu(a @ b + bias)

    def bare(a: Tensor, b: Tensor) -> Tensor:
        return a @ b

    ours, fused, theirs = compiled(bare), compiled(epilogue), compiled(epilogue, "inductor")
    contenders = {
        "cuBLAS": lambda: torch.matmul(a, b),
        "mlir": lambda: ours(a, b),
        "eager with epilogue": lambda: epilogue(a, b, bias),
        "mlir with epilogue": lambda: fused(a, b, bias),
        "inductor with epilogue": lambda: theirs(a, b, bias),
    }
    if bench.on_gpu:  # that pipeline is none of CPUs
        own = compiled(bare, "mlir-products")
        contenders["our kernel"] = lambda: own(a, b)
    found = bench.compare(contenders, flush=True)
    flops = 2 * m * n * k / found.seconds("cuBLAS")
    return {
        "bare": found.compiled("mlir", "cuBLAS"),
        **({"our kernel": found.compiled("our kernel", "cuBLAS")} if bench.on_gpu else {}),
        "with epilogue": found.compiled(
            "mlir with epilogue", "eager with epilogue", "inductor with epilogue", "cuBLAS"
        ),
        "inductor with epilogue": found.compiled("inductor with epilogue"),
        "cuBLAS TFLOP/s": round(flops / 1e12, 1),
    }


def attention(bench: Bench) -> Items:
    """bf16 attention, forward and with its gradients, against SDPA's kernels (eager)."""
    for shape in [(1, 2, 32, 16)] if bench.small else HEADS:
        for causal in (False, True):
            name = f"{'x'.join(map(str, shape))}{' causal' if causal else ''}"
            yield name, lambda s=shape, c=causal: _attention(bench, s, c)


def _attention(bench: Bench, shape: tuple[int, ...], causal: bool) -> Row:
    q, k, v = (torch.randn(*shape, device=bench.device).bfloat16().requires_grad_() for _ in range(3))
    slope = torch.randn_like(q)

    def eager(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return scaled_dot_product_attention(q, k, v, is_causal=causal)

    run = compiled(eager)
    with torch.no_grad():
        forward = bench.compare({"mlir": lambda: run(q, k, v), "eager": lambda: eager(q, k, v)}, flush=True)
    steps = {
        "mlir": lambda: torch.autograd.grad(run(q, k, v), (q, k, v), slope),
        "eager": lambda: torch.autograd.grad(eager(q, k, v), (q, k, v), slope),
    }
    training = bench.compare(steps, flush=True)
    return {"forward": forward.compiled("mlir", "eager"), "training": training.compiled("mlir", "eager")}


def overhead(bench: Bench) -> Items:
    """Microseconds of the processor per call of graphs whose kernels take no time."""

    def chain(x: Tensor) -> Tensor:
        for _ in range(10):
            x = torch.softmax(x.t().contiguous(), -1)  # a kernel each
        return x

    for name, function in (("one kernel", lambda x: x + 1), ("ten kernels", chain)):
        yield f"{name}, eager", lambda f=function: _cpu(bench, f)
        for backend in COMPARED:
            yield f"{name}, {backend}", lambda f=function, b=backend: _cpu(bench, compiled(f, b))


def _cpu(bench: Bench, run: Callable[[Tensor], Tensor]) -> Row:
    x = torch.randn(32, 32, device=bench.device)
    for _ in range(10):
        run(x)
    if bench.prepares:
        return {}
    rounds: list[float] = []
    for _ in range(30):
        bench.wait()
        start = time.perf_counter()
        for _ in range(20):  # few enough that no queue of launches fills up
            run(x)
        rounds.append((time.perf_counter() - start) / 20 * 1e6)
    spread = Spread.of(rounds)
    return {"us": [round(n, 2) for n in (spread.median, spread.low, spread.high)]}


# Models


KINDS = (("inference", "bf16"), ("training", "bf16"), ("training", "f32"))


def end_to_end(bench: Bench) -> Items:
    """Models, batch 8, inference and training, against eager and TorchInductor."""
    for kind, dtype in KINDS[:2] if bench.small else KINDS:
        for name in MODELS[:1] if bench.small else MODELS:
            yield (
                f"{name} {kind} {dtype}",
                lambda n=name, k=kind, d=dtype: _model(bench, n, k == "training", d),
            )


def _model(bench: Bench, name: str, training: bool, dtype: str) -> Row:
    scale = "tiny" if bench.small else "bench"
    case = models.load(name, scale, 8, dtype, training=training)
    model, inputs = case.model.to(bench.device), bench.put(case.inputs)

    def call(run: Callable[..., Any]) -> Callable[[], object]:
        return (lambda: _step(run, model, inputs)) if training else (lambda: run(*inputs))

    runs = {"eager": model, **{backend: compiled(model, backend) for backend in COMPARED}}
    with torch.set_grad_enabled(training):
        contenders = {backend: call(run) for backend, run in runs.items()}
        found = bench.compare(contenders, flush=False, seconds=1.0)
        work = {
            backend: bench.kernels(contenders[backend]) for backend in PROFILED if backend not in found.errors
        }
    theirs = ("eager", "inductor", "inductor-graphs")
    rows = {
        backend: found.compiled(backend, *(theirs if backend.startswith("mlir") else ())) for backend in runs
    }
    return {backend: {**row, **work.get(backend, {})} for backend, row in rows.items()}


def _step(run: Callable[..., Any], model: nn.Module, inputs: tuple[Tensor, ...]) -> None:
    _loss(run(*inputs)).backward()
    model.zero_grad(set_to_none=True)


def cold(bench: Bench) -> Items:
    """Seconds until the first result of bert, in a new process with empty caches."""
    for backend in ("mlir", "inductor"):
        yield backend, lambda b=backend: _cold(bench, b)


def _cold(bench: Bench, backend: str) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        names = ("TILEWRIGHT_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
        variables = [f"{name}={folder}/{name}" for name in names]
        scale = "tiny" if bench.small else "bench"
        command = ["env", *variables, sys.executable, "-c", _FIRST_CALL, str(bench.device), backend, scale]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
        if done.returncode != 0:
            raise RuntimeError(f"status {done.returncode}: {done.stderr.strip()[-300:]}")
        return {"seconds": float(done.stdout.split()[-1])}


_FIRST_CALL = """
import sys, time, torch
from benchmarks import models
from benchmarks.gpu_bench import compiled
device, backend, scale = sys.argv[1:]
case = models.load("bert", scale, 8, "f32")
model, inputs = case.model.to(device), [x.to(device) for x in case.inputs]
with torch.no_grad():
    model(*inputs)
    start = time.perf_counter()
    compiled(model, backend)(*inputs)
    if device != "cpu":
        torch.cuda.synchronize()
print(time.perf_counter() - start)
"""


def tuned(bench: Bench) -> Items:
    """How much faster kernels are whose configuration was chosen on the device."""
    for each in CLASSES:
        if each.name in TUNED:
            yield each.name, lambda e=each: _tuned(bench, e)


def _tuned(bench: Bench, each: KernelClass) -> Row:
    with bench.device:
        inputs = each.make(1 << (12 if bench.small else 24), torch.bfloat16)
    plain, chosen = compiled(each.run), compiled(each.run, "mlir-tuned")
    contenders = {"tuned": lambda: chosen(*inputs), "default": lambda: plain(*inputs)}
    return bench.compare(contenders, flush=True).compiled("tuned", "default")


# All


@dataclass(frozen=True)
class Section:
    """Items, and how much of the time is theirs."""

    items: Callable[[Bench], Items]
    share: int
    processes: int = 1
    """How many may run at once: where nothing is timed."""
    prepared: bool = False
    """Whether what is timed comes from caches, which several processes fill beforehand."""


SECTIONS: Mapping[str, Section] = {
    "correctness": Section(correctness, 80, processes=8),
    "bandwidth": Section(bandwidth, 60),
    "gemm": Section(gemm, 35),
    "attention": Section(attention, 40),
    "overhead": Section(overhead, 25),
    "end_to_end": Section(end_to_end, 230, prepared=True),
    "cold": Section(cold, 60),
    "tuned": Section(tuned, 40),
}


def summary(found: Mapping[str, Mapping[str, Row]]) -> Row:
    """A line or two per section: what to look at first."""
    lines: Row = {}
    if "correctness" in found:
        rows = {name: row for name, row in found["correctness"].items() if "left out" not in row}
        lines["right"] = f"{sum(bool(row.get('ok')) for row in rows.values())} of {len(rows)}"
        lines["wrong"] = {
            name: row.get("why", row.get("error")) for name, row in rows.items() if not row.get("ok")
        }
    for kind in ("elementwise", "reduction", "norm"):
        rows = [found.get("bandwidth", {}).get(each.name, {}) for each in CLASSES if each.kind == kind]
        _geomean(lines, f"bandwidth: {kind} over copy", (row.get("over copy") for row in rows))
    for section, what, over in (
        ("gemm", "bare", "over cuBLAS"),
        ("gemm", "with epilogue", "over eager with epilogue"),
        ("gemm", "with epilogue", "over inductor with epilogue"),
        ("attention", "forward", "over eager"),
        ("attention", "training", "over eager"),
        *(
            ("end_to_end", ours, f"over {theirs}")
            for ours in ("mlir", "mlir-graphs")
            for theirs in ("eager", "inductor", "inductor-graphs")
        ),
    ):
        rows = found.get(section, {}).values()
        _geomean(lines, f"{section}: {what} {over}", (row.get(what, {}).get(over) for row in rows))
    tuned_rows = found.get("tuned", {}).values()
    _geomean(lines, "tuned: over default", (row.get("over default") for row in tuned_rows))
    return lines


def _geomean(lines: Row, name: str, spreads: Iterator[list[float] | None]) -> None:
    medians = [spread[0] for spread in spreads if spread]
    if medians:
        lines[name] = f"{geomean(medians):.3g} of {len(medians)}"
