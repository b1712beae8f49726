"""Everything that is claimed of the GPU target, measured: `python -m benchmarks.gpu --json results.json`.

One command, under 8 minutes on one GPU. Sections run in the order of their worth until the time
is spent; what was left out says so. With `--device cpu` all sections run small on the
CPU, which shows that this script works, and nothing else.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click
import torch
from torch import Tensor, nn

from benchmarks import models, numerics
from benchmarks.gpu_classes import CLASSES, KernelClass, bytes_moved
from benchmarks.machine import describe
from benchmarks.timing import geomean

MODELS = ("bert", "gpt2", "vit", "resnet50", "mlp-mixer", "unet")
BACKENDS: Mapping[str, Mapping[str, Any]] = {
    "mlir": {"backend": "mlir"},
    "mlir-graphs": {"backend": "mlir", "mode": "reduce-overhead"},
    "inductor": {"backend": "inductor"},
    "inductor-graphs": {"backend": "inductor", "mode": "reduce-overhead"},
    "mlir-tuned": {"backend": "mlir", "mode": "max-autotune-no-cudagraphs"},
}
COMPARED = ("mlir", "mlir-graphs", "inductor", "inductor-graphs")
TUNED = ("gelu", "softmax", "layer-norm", "sum-columns", "matmul", "matmul-epilogue", "attention")
GEMMS = ((4096, 4096, 4096), (8192, 1024, 4096), (512, 8192, 2048), (16, 4096, 4096))
HEADS = ((8, 16, 1024, 64), (4, 16, 4096, 128))


@dataclass
class Bench:
    """Where and how long to measure, and what was found."""

    device: torch.device
    deadline: float
    small: bool
    found: dict[str, Any] = field(default_factory=dict[str, Any])

    def left(self) -> float:
        return self.deadline - time.monotonic()

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def tried(self, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """As `outcome`, while there is time."""
        return outcome(measure) if self.left() > 0 else {"left out": "no time"}

    def put(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        return tuple(tensor.to(self.device) for tensor in tensors)

    def seconds(self, call: Callable[[], object], least: float = 0.05) -> float:
        """Median seconds of one call, over rounds of many calls without a wait between them."""
        for _ in range(3):
            call()
        self.wait()
        start = time.perf_counter()
        call()
        self.wait()
        count = max(1, int(least / 5 / max(time.perf_counter() - start, 1e-6)))
        return statistics.median(self._round(call, count) for _ in range(5))

    def _round(self, call: Callable[[], object], count: int) -> float:
        if self.device.type != "cuda":
            start = time.perf_counter()
            for _ in range(count):
                call()
            return (time.perf_counter() - start) / count
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        for _ in range(count):
            call()
        last.record()
        last.synchronize()
        return first.elapsed_time(last) / 1000 / count


def compiled(function: Any, backend: str = "mlir") -> Any:
    torch._dynamo.reset()
    return torch.compile(function, **BACKENDS[backend])


def outcome(measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What `measure` found, or the error that it ended with: one failure stops nothing else."""
    try:
        return measure()
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        return {"error": f"{type(error).__name__}: {lines[0]}"[:300]}


class _Module(nn.Module):
    """A function as a module, which the float64 rule takes."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Tensor) -> Any:
        return self.function(*args)


# Sections


def correctness(bench: Bench) -> dict[str, Any]:
    """Every class of kernel and every demo model, forward, by the float64 rule."""
    found: dict[str, Any] = {}
    for each in CLASSES:
        for dtype in (torch.float32, torch.bfloat16) if each.floats else (torch.float32,):
            torch.manual_seed(0)
            inputs = bench.put(each.make(1 << 14, dtype))
            name = f"{each.name} {str(dtype).removeprefix('torch.')}"
            found[name] = bench.tried(lambda each=each, inputs=inputs: _judged(_Module(each.run), inputs))
    for name in MODELS:
        case = models.load(name, "tiny", 2, "f32")
        model, inputs = case.model.to(bench.device), bench.put(case.inputs)
        found[f"model {name}"] = bench.tried(lambda model=model, inputs=inputs: _judged(model, inputs))
    found["wrong"] = sorted(k for k, v in found.items() if not v.get("ok") and "left out" not in v)
    return found


def _judged(model: nn.Module, inputs: tuple[Tensor, ...]) -> dict[str, Any]:
    return asdict(numerics.check_model(compiled(model), model, inputs))


def bandwidth(bench: Bench) -> dict[str, Any]:
    """Bytes per second of memory-bound classes, as a fraction of those of a copy."""
    elements = 1 << 14 if bench.small else 1 << 27
    copy = _copy(bench, elements * 4)
    found: dict[str, Any] = {"copy_bytes_per_second": copy}
    for each in CLASSES:
        if each.kind in ("elementwise", "reduction", "norm"):
            found[each.name] = bench.tried(lambda each=each: _fraction(bench, each, elements // 4, copy))
    for kind in ("elementwise", "reduction", "norm"):
        rows = [found[e.name].get("fraction_of_copy") for e in CLASSES if e.kind == kind]
        found[f"{kind} geomean"] = geomean([row for row in rows if row])
    return found


def _copy(bench: Bench, size: int) -> float:
    """Bytes per second."""
    x = torch.empty(size, dtype=torch.uint8, device=bench.device)
    y = torch.empty_like(x)
    return 2 * size / bench.seconds(lambda: y.copy_(x))


def _fraction(bench: Bench, each: KernelClass, elements: int, copy: float) -> dict[str, Any]:
    inputs = bench.put(each.make(elements, torch.float32))
    run = compiled(each.run)
    moved = bytes_moved(inputs, run(*inputs))
    speed = moved / bench.seconds(lambda: run(*inputs))
    eager = moved / bench.seconds(lambda: each.run(*inputs))
    return {"fraction_of_copy": speed / copy, "eager_fraction": eager / copy, "bytes": moved}


def gemm(bench: Bench) -> dict[str, Any]:
    """bf16 products, bare and with an epilogue, against cuBLAS (eager)."""
    found: dict[str, Any] = {}
    for m, n, k in [(64, 32, 48)] if bench.small else GEMMS:
        a, b = (torch.randn(*s, device=bench.device).bfloat16() for s in ((m, k), (k, n)))
        bias = torch.randn(n, device=bench.device).bfloat16()
        found[f"{m}x{n}x{k}"] = bench.tried(lambda a=a, b=b, bias=bias: _gemm(bench, a, b, bias))
    return found


def _gemm(bench: Bench, a: Tensor, b: Tensor, bias: Tensor) -> dict[str, Any]:
    def epilogue(a: Tensor, b: Tensor, bias: Tensor) -> Tensor:
        return torch.nn.functional.gelu(a @ b + bias)

    bare, fused = compiled(torch.matmul), compiled(epilogue)
    library = bench.seconds(lambda: torch.matmul(a, b))
    return {
        "over_cublas": library / bench.seconds(lambda: bare(a, b)),
        "epilogue_over_eager": bench.seconds(lambda: epilogue(a, b, bias))
        / (with_epilogue := bench.seconds(lambda: fused(a, b, bias))),
        "epilogue_over_bare_cublas": library / with_epilogue,
        "cublas_flops": 2 * a.shape[0] * a.shape[1] * b.shape[1] / library,
    }


def attention(bench: Bench) -> dict[str, Any]:
    """bf16 attention, forward and backward, against SDPA's kernels (eager)."""
    found: dict[str, Any] = {}
    for shape in [(1, 2, 32, 16)] if bench.small else HEADS:
        for causal in (False, True):
            name = f"{'x'.join(map(str, shape))}{' causal' if causal else ''}"
            found[name] = bench.tried(lambda shape=shape, causal=causal: _attention(bench, shape, causal))
    return found


def _attention(bench: Bench, shape: tuple[int, ...], causal: bool) -> dict[str, Any]:
    q, k, v = (torch.randn(*shape, device=bench.device).bfloat16().requires_grad_() for _ in range(3))

    def eager(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    def step(run: Callable[..., Tensor]) -> None:
        run(q, k, v).sum().backward()

    run = compiled(eager)
    with torch.no_grad():
        forward = bench.seconds(lambda: eager(q, k, v)) / bench.seconds(lambda: run(q, k, v))
    return {
        "forward": forward,
        "training": bench.seconds(lambda: step(eager)) / bench.seconds(lambda: step(run)),
    }


def overhead(bench: Bench) -> dict[str, Any]:
    """Microseconds of the CPU per call of graphs whose kernels take no time."""

    def chain(x: Tensor) -> Tensor:
        for _ in range(10):
            x = torch.softmax(x.t().contiguous(), -1)  # a kernel each
        return x

    x = torch.randn(32, 32, device=bench.device)
    found: dict[str, Any] = {}
    for name, function in (("one kernel", lambda x: x + 1), ("ten kernels", chain)):
        for backend in COMPARED:
            key = f"{name}, {backend}"
            found[key] = bench.tried(
                lambda f=function, b=backend: {"microseconds": _cpu(bench, compiled(f, b), x)}
            )
        found[f"{name}, eager"] = {"microseconds": _cpu(bench, function, x)}
    return found


def _cpu(bench: Bench, run: Callable[[Tensor], Tensor], x: Tensor) -> float:
    for _ in range(10):
        run(x)
    rounds: list[float] = []
    for _ in range(20):
        bench.wait()
        start = time.perf_counter()
        for _ in range(20):  # few enough that no queue of launches fills up
            run(x)
        rounds.append((time.perf_counter() - start) / 20)
    return min(rounds) * 1e6


def end_to_end(bench: Bench) -> dict[str, Any]:
    """Models: inference in bf16 and training in f32, ratios of seconds to those of eager."""
    found: dict[str, Any] = {}
    for name in MODELS[:1] if bench.small else MODELS:
        for training in (False, True):
            key = f"{name} {'training' if training else 'inference'}"
            if bench.left() < 20:
                found[key] = {"left out": "no time"}
                continue
            found[key] = bench.tried(lambda name=name, training=training: _model(bench, name, training))
    for over in ("eager", "inductor", "inductor-graphs"):
        for ours in ("mlir", "mlir-graphs"):
            pairs = [(r.get(over), r.get(ours)) for r in found.values()]
            ratios = [a / b for a, b in pairs if isinstance(a, float) and isinstance(b, float)]
            found[f"{ours} over {over}, geomean"] = geomean(ratios)
    return found


def _model(bench: Bench, name: str, training: bool) -> dict[str, Any]:
    """Milliseconds of a call (or step), by backend."""
    scale, dtype = ("tiny" if bench.small else "bench"), ("f32" if training else "bf16")
    case = models.load(name, scale, 8, dtype, training=training)
    model, inputs = case.model.to(bench.device), bench.put(case.inputs)
    found: dict[str, Any] = {}
    for backend in ("eager", *COMPARED):
        run = model if backend == "eager" else compiled(model, backend)
        call = (lambda run=run: _step(run, model, inputs)) if training else (lambda run=run: run(*inputs))
        with torch.set_grad_enabled(training):
            timed = bench.tried(lambda call=call: {"ms": bench.seconds(call) * 1000})
        found[backend] = timed.get("ms") or timed.get("error") or "left out"
    return found


def _step(run: Callable[..., Any], model: nn.Module, inputs: tuple[Tensor, ...]) -> None:
    result = run(*inputs)
    leaves = torch.utils._pytree.tree_leaves(result)
    sum(leaf.float().square().mean() for leaf in leaves if leaf.is_floating_point()).backward()
    model.zero_grad(set_to_none=True)


def cold(bench: Bench) -> dict[str, Any]:
    """Seconds until the first result of a model, in a new process with empty caches."""
    return {backend: bench.tried(lambda b=backend: _cold(bench, b)) for backend in ("mlir", "inductor")}


def _cold(bench: Bench, backend: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        names = ("TILEWRIGHT_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
        variables = [f"{name}={folder}/{name}" for name in names]
        command = ["env", *variables, sys.executable, "-c", _FIRST_CALL, str(bench.device), backend]
        done = subprocess.run(
            [*command, "tiny" if bench.small else "bench"],
            capture_output=True,
            text=True,
            check=False,
            timeout=max(60.0, bench.left()),
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip().splitlines()[-1])
        return {"seconds": float(done.stdout.split()[-1])}


def tuned(bench: Bench) -> dict[str, Any]:
    """How much faster kernels are whose configuration was chosen on the device."""
    found: dict[str, Any] = {}
    for each in CLASSES:
        if each.name in TUNED:
            found[each.name] = bench.tried(lambda each=each: _tuned(bench, each))
    return found


def _tuned(bench: Bench, each: KernelClass) -> dict[str, Any]:
    inputs = bench.put(each.make(1 << (12 if bench.small else 24), torch.bfloat16))
    plain, chosen = compiled(each.run), compiled(each.run, "mlir-tuned")
    start = time.perf_counter()
    chosen(*inputs)
    bench.wait()
    seconds = time.perf_counter() - start
    return {
        "default_over_tuned": bench.seconds(lambda: plain(*inputs)) / bench.seconds(lambda: chosen(*inputs)),
        "compile_seconds": seconds,
    }


_FIRST_CALL = """
import sys, time, torch
from benchmarks import models
from benchmarks.gpu import BACKENDS
device, backend, scale = sys.argv[1:]
case = models.load("bert", scale, 8, "f32")
model, inputs = case.model.to(device), [x.to(device) for x in case.inputs]
with torch.no_grad():
    model(*inputs)
    start = time.perf_counter()
    torch.compile(model, **BACKENDS[backend])(*inputs)
    if device != "cpu":
        torch.cuda.synchronize()
print(time.perf_counter() - start)
"""

SECTIONS: Mapping[str, Callable[[Bench], dict[str, Any]]] = {
    "correctness": correctness,
    "bandwidth": bandwidth,
    "gemm": gemm,
    "attention": attention,
    "overhead": overhead,
    "cold": cold,
    "end_to_end": end_to_end,
    "tuned": tuned,
}


@click.command(help=__doc__)
@click.option("--device", default="cuda:0", show_default=True)
@click.option("--seconds", default=450.0, show_default=True, help="Stop beginning new sections after this.")
@click.option("--sections", default=",".join(SECTIONS), show_default=True)
@click.option(
    "--json", "path", type=click.Path(path_type=Path), default=None, help="Where to write the results."
)
def main(device: str, seconds: float, sections: str, path: Path | None) -> None:
    where = torch.device(device)
    if where.type == "cuda" and not torch.cuda.is_available():
        raise click.ClickException("there is no CUDA device; --device cpu only tries out the script")
    bench = Bench(where, time.monotonic() + seconds, small=where.type == "cpu")
    found: dict[str, Any] = {"machine": describe(), "device": device}
    if where.type == "cuda":
        found["gpu"] = torch.cuda.get_device_name(where)
    for name in sections.split(","):
        start = time.monotonic()
        rows = SECTIONS[name](bench) if bench.left() > 0 else {"left out": "no time"}
        found[name] = {**rows, "seconds": round(time.monotonic() - start, 1)}
        click.echo(json.dumps({name: found[name]}, indent=1))
        if path is not None:
            path.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
