"""Programs that two processes run together, in eager mode and compiled; `test_collectives.py` starts them.

    python collective_cases.py RANK FOLDER TARGET

writes what became of each, "" or the error, to `FOLDER/RANK.json`.
"""

from __future__ import annotations

import json
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

Compile = Callable[..., Any]
CASES: dict[str, Callable[[int, Compile], None]] = {}
BEGIN: Any = torch.ops._c10d_functional.all_reduce


def case(function: Callable[[int, Compile], None]) -> Callable[[int, Compile], None]:
    CASES[function.__name__] = function
    return function


def same(program: Callable[..., Any], compiled: Callable[..., Any], *inputs: Any) -> None:
    torch.testing.assert_close(compiled(*inputs), program(*inputs))


def meets_eager(program: Callable[..., Any], compile_: Compile, rank: int, *inputs: Any) -> None:
    """One process runs the compiled program while the other one runs it in eager mode."""
    expected = program(*inputs)
    call = compile_(program, fullgraph=True) if rank else program
    torch.testing.assert_close(call(*inputs), expected)


@case
def each_kind(rank: int, compile_: Compile) -> None:
    group = dist.group.WORLD

    def program(x: Tensor) -> tuple[Tensor, ...]:
        gathered = funcol.all_gather_tensor(x.sin(), 0, group)
        scattered = funcol.reduce_scatter_tensor(gathered * 2, "sum", 0, group)
        turned = funcol.all_to_all_single(x + 1, None, None, group)
        largest = funcol.all_reduce(x * 2, "max", group)
        first = funcol.broadcast(x.cos(), 0, group)
        return gathered.sum(0), scattered + turned, largest.relu() + 1, first * 3

    same(program, compile_(program, fullgraph=True), torch.randn(4, 7))


@case
def large(rank: int, compile_: Compile) -> None:
    """What is read too early shows: nobody has written it yet."""
    group = dist.group.WORLD

    def program(x: Tensor) -> tuple[Tensor, Tensor]:
        total = funcol.all_reduce(x * 2, "sum", group)
        return total + 1, funcol.all_gather_tensor(total.t().contiguous(), 0, group).sum(0)

    same(program, compile_(program, fullgraph=True), torch.randint(-9, 9, (1024, 2048)).float())


@case
def in_place(rank: int, compile_: Compile) -> None:
    def program(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = x * 2
        dist.all_reduce(y)
        parts = [torch.empty_like(y) for _ in range(2)]
        dist.all_gather(parts, y)
        out = torch.empty(y.shape[0] * 2, y.shape[1])
        dist.all_gather_into_tensor(out, y + 1)
        return y + 1, torch.cat(parts) * 2, out

    same(program, compile_(program), torch.randn(4, 7))


@case
def several_at_once(rank: int, compile_: Compile) -> None:
    group = dist.group.WORLD

    def program(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        a, b = funcol.all_reduce_coalesced([x * 2, y + 1], "sum", group)
        c, d = funcol.all_gather_into_tensor_coalesced([a, b], group)
        return a + 1, b, c * 2, d

    same(program, compile_(program, fullgraph=True), torch.randn(5, 7), torch.randn(4))


@case
def equal_ones(rank: int, compile_: Compile) -> None:
    """Processes meet as often as the program says, though one result is another, or nobody reads it."""
    group = dist.group.WORLD

    def program(x: Tensor) -> Tensor:
        first = funcol.all_reduce(x, "sum", group)
        funcol.all_reduce(x[0] + 1, "sum", group)
        return first + funcol.all_reduce(x, "sum", group)

    meets_eager(program, compile_, rank, torch.randn(5, 7))


@case
def gradients(rank: int, compile_: Compile) -> None:
    group = dist.group.WORLD

    def program(x: Tensor) -> Tensor:
        y = funcol.all_gather_tensor_autograd(x.sin(), 0, group)
        return funcol.reduce_scatter_tensor_autograd(y * y, "sum", 0, group)

    x = torch.randn(4, 7)
    given = [x.clone().requires_grad_() for _ in range(2)]
    results = [run(t) for run, t in zip((program, compile_(program, fullgraph=True)), given, strict=True)]
    for result in results:
        (result * result).sum().backward()
    torch.testing.assert_close(results[1], results[0])
    torch.testing.assert_close(given[1].grad, given[0].grad)


@case
def begun_outside(rank: int, compile_: Compile) -> None:
    def program(flying: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        return funcol.wait_tensor(flying) * 2 + 1, x.sin() + 1

    compiled, x = compile_(program, fullgraph=True), torch.randn(1024, 1024)
    expected = program(BEGIN(x, "sum", "0"), x)
    for _ in range(2):
        with funcol.allow_inflight_collective_as_graph_input_ctx():
            flying = BEGIN(x, "sum", "0")
        torch.testing.assert_close(compiled(flying, x), expected)


@case
def order_beside_data(rank: int, compile_: Compile) -> None:
    """One that needs nothing of what data decide still comes after one that does."""
    group = dist.group.WORLD

    def program(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        count = (x > 0).nonzero()[:, 0].float().sum().reshape(1)
        late = funcol.all_reduce(count.expand(6).clone(), "sum", group)
        return late, funcol.all_reduce(y * 2, "max", group) + 1

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        meets_eager(program, compile_, rank, torch.randn(5, 7), torch.randn(6))


@case
def experts(rank: int, compile_: Compile) -> None:
    """Rows travel to the process of their expert, as many as data say."""
    group = dist.group.WORLD

    def program(x: Tensor, scores: Tensor, w: Tensor) -> Tensor:
        to = scores.argmax(-1)
        order = to.argsort(stable=True)
        ours = torch.stack([(to == 0).sum(), (to == 1).sum()])
        theirs = funcol.all_to_all_single(ours, None, None, group)
        sent, received = ours.tolist(), theirs.tolist()
        for count in (*sent, *received):
            torch._check_is_size(count)
        rows = funcol.all_to_all_single(x[order], received, sent, group)
        back = funcol.all_to_all_single((rows @ w).relu(), sent, received, group)
        return torch.zeros_like(x).index_copy(0, order, back) + x

    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        same(program, compile_(program), torch.randn(10, 8), torch.randn(10, 2), torch.randn(8, 8))


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.gelu(self.up(x)))


def trained(call: Callable[..., Any], model: nn.Module, x: Tensor) -> list[Tensor]:
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    losses: list[Tensor] = []
    for step in range(3):
        loss = (call(x + step) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    return losses


def same_training(make: Callable[[], nn.Module], compile_: Compile, rank: int) -> None:
    x = torch.randn(8, 16) + rank
    plain, ours = make(), make()
    torch.testing.assert_close(trained(compile_(ours), ours, x), trained(plain, plain, x))


@case
def data_parallel(rank: int, compile_: Compile) -> None:
    same_training(lambda: DistributedDataParallel(Perceptron()), compile_, rank)


@case
def sharded(rank: int, compile_: Compile) -> None:
    mesh = init_device_mesh("cpu", (2,))

    def make() -> nn.Module:
        model = Perceptron()
        for layer in (model.up, model.down, model):
            fully_shard(layer, mesh=mesh)
        return model

    same_training(make, compile_, rank)


@case
def tensor_parallel(rank: int, compile_: Compile) -> None:
    mesh = init_device_mesh("cpu", (2,))
    plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
    torch.manual_seed(0)  # of one input
    same_training(lambda: parallelize_module(Perceptron(), mesh, plan), compile_, 0)


@case
def distributed_tensors(rank: int, compile_: Compile) -> None:
    mesh = init_device_mesh("cpu", (2,))

    def program(x: Tensor, w: Tensor) -> Tensor:
        return F.layer_norm((x @ w).softmax(-1), [4]).sum()

    compiled = compile_(program)
    for rows in (8, 12, 16):
        torch.manual_seed(1)
        values, found = (torch.randn(rows, 6), torch.randn(6, 4)), []
        for call in (program, compiled):
            x = distribute_tensor(values[0], mesh, [Shard(0)]).requires_grad_()
            w = distribute_tensor(values[1], mesh, [Replicate()]).requires_grad_()
            loss = call(x, w)
            loss.backward()
            found.append([tensor.full_tensor().detach() for tensor in (loss, x.grad, w.grad)])
        torch.testing.assert_close(found[1], found[0])


def main(arguments: Sequence[str]) -> None:
    rank, folder = int(arguments[0]), Path(arguments[1])
    compile_ = partial(torch.compile, backend="mlir", options={"target": arguments[2]})
    torch.set_num_threads(1)
    meet = f"file://{folder}/meet"
    dist.init_process_group("gloo", meet, timedelta(minutes=2), rank=rank, world_size=2)
    warnings.filterwarnings("error", message="TW")
    outcomes: dict[str, str] = {}
    for name in arguments[3:]:
        torch.manual_seed(rank)
        try:
            CASES[name](rank, compile_)
            outcomes[name] = ""
        except Exception:
            outcomes[name] = traceback.format_exc()
        (folder / f"{rank}.json").write_text(json.dumps(outcomes))
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1:])
