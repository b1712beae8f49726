"""What programs do around torch.compile: optimizers, transforms, checkpoints, autocast, exports, copies."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn, optim
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

OPTIMIZERS: dict[str, Callable[[Any], optim.Optimizer]] = {
    "SGD": lambda p: optim.SGD(p, 0.1, momentum=0.9, nesterov=True),
    "AdamW": lambda p: optim.AdamW(p, 0.01),
    "Adam, amsgrad": lambda p: optim.Adam(p, 0.01, amsgrad=True),
    "RMSprop": lambda p: optim.RMSprop(p, 0.01, centered=True),
    "Adagrad": lambda p: optim.Adagrad(p, 0.1),
    "NAdam": lambda p: optim.NAdam(p),
    "RAdam": lambda p: optim.RAdam(p),
    "Rprop": lambda p: optim.Rprop(p),
}


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def compiled(function: Callable[..., Any], **how: Any) -> Any:
    return torch.compile(function, backend="mlir", **how)


@pytest.mark.parametrize("name", list(OPTIMIZERS))
def test_steps_of_an_optimizer(name: str) -> None:
    model, x = nn.Linear(4, 3), torch.randn(5, 4)
    again = copy.deepcopy(model)
    ours = OPTIMIZERS[name](again.parameters())
    steps = {model: OPTIMIZERS[name](model.parameters()).step, again: compiled(lambda: ours.step())}
    for _ in range(4):
        for each, advance in steps.items():
            each.zero_grad()
            each(x).pow(2).sum().backward()
            advance()
        torch.testing.assert_close(list(again.parameters()), list(model.parameters()))


def test_a_whole_training_step() -> None:
    """Forward, backward, clipping and the optimizer in one compiled function."""
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    again = copy.deepcopy(model)
    x, y = torch.randn(9, 4), torch.randn(9, 1)

    def step(model: nn.Module, optimizer: optim.Optimizer) -> Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        return loss.detach()

    fast, theirs, ours = compiled(step), optim.Adam(model.parameters()), optim.Adam(again.parameters())
    for _ in range(5):
        torch.testing.assert_close(fast(again, ours), step(model, theirs))
    torch.testing.assert_close(list(again.parameters()), list(model.parameters()))


def test_training_under_autocast() -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4))
    again, x = copy.deepcopy(model), torch.randn(5, 8)
    for each, run in ((model, model), (again, compiled(again))):
        with torch.autocast("cpu", torch.bfloat16):
            loss = run(x).float().pow(2).mean()
        loss.backward()
        assert each[0].weight.grad is not None
    found, wanted = ([p.grad for p in m.parameters()] for m in (again, model))
    torch.testing.assert_close(found, wanted, rtol=2e-2, atol=1e-2)


def test_autocast_inside_of_a_function() -> None:
    def function(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        with torch.autocast("cpu", torch.float16):
            y = x @ w
        return y, x @ w

    x, w = torch.randn(5, 8), torch.randn(8, 3)
    torch.testing.assert_close(compiled(function)(x, w), function(x, w))


def test_activation_checkpoints() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))

    def function(x: Tensor) -> Tensor:
        return checkpoint(model, x, use_reentrant=False).pow(2).sum()  # type: ignore[union-attr]

    x = torch.randn(4, 8, requires_grad=True)
    (wanted,) = torch.autograd.grad(function(x), x)
    (found,) = torch.autograd.grad(compiled(function)(x), x)
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
def test_attention_of_a_checkpoint(target: str) -> None:
    """It draws nothing without dropout, so that there is no state to save: nothing is run by ATen."""

    def function(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q.sin(), k, v.cos(), is_causal=True).sin()

    torch._dynamo.reset()
    run = torch.compile(
        lambda *x: checkpoint(function, *x, use_reentrant=False),
        backend="mlir",
        options={"target": target, "fallback": False},
    )
    given = [torch.randn(2, 3, 17, 8, requires_grad=True) for _ in range(3)]
    wanted = torch.autograd.grad(function(*given).sum(), given)
    torch.testing.assert_close(torch.autograd.grad(run(*given).sum(), given), wanted)


DRAWN: dict[str, Callable[[Tensor], Tensor]] = {
    "dropout": lambda x: F.dropout(x, 0.3),
    "normal": lambda x: torch.randn_like(x) * x,
    "uniform": lambda x: (torch.rand_like(x) + 1) * x,
    "exponential": lambda x: torch.empty_like(x).exponential_(2.0) * x,
    "several": lambda x: F.dropout(torch.randn_like(x) * x + torch.rand_like(x) * x, 0.3),
}


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated", "reference"])
@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)
def test_random_numbers_of_a_checkpoint(draw: Callable[[Tensor], Tensor], target: str) -> None:
    """What is linear in x has y / x as its gradient, if both passes draw the same; nothing is run by ATen."""
    torch._dynamo.reset()
    run = torch.compile(
        lambda x: checkpoint(draw, x, use_reentrant=False),
        backend="mlir",
        options={"target": target, "fallback": False},
    )
    x = (torch.rand(37, 19) + 0.5).requires_grad_()
    for _ in range(2):
        y = run(x)
        (grad,) = torch.autograd.grad(y.sum(), x)
        torch.testing.assert_close(grad * x, y)
    assert y.unique().numel() > 100
    assert not torch.equal(y, run(x)), "each call draws its own"


@pytest.mark.parametrize("name", ["uniform", "normal"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_numbers_of_a_seed_are_those_of_kernels(name: str, dtype: torch.dtype) -> None:
    """Should ATen run one of two graphs, both draw the same."""
    from tilewright.frontend.operators.own_operators import operators

    draw = operators()[name]
    seed = torch.tensor(-1234567890123)
    wanted = draw(seed, 1 << 40, (5, 33), dtype=dtype)
    found = compiled(lambda seed: draw(seed, 1 << 40, (5, 33), dtype=dtype))(seed)
    tolerance = {} if name == "normal" else {"rtol": 0, "atol": 0}
    assert found.dtype == wanted.dtype == dtype
    drawn = torch.float32 if dtype == torch.float64 else dtype  # what is wider has no more digits
    torch.testing.assert_close(found.to(drawn), wanted.to(drawn), **tolerance)


class Cubed(torch.autograd.Function):
    """A gradient of its own."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.sign() * x.abs().sqrt()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad * 3 * x


def test_autograd_functions() -> None:
    x = torch.randn(5, requires_grad=True)
    (found,) = torch.autograd.grad(compiled(lambda x: Cubed.apply(x).sum())(x), x)
    torch.testing.assert_close(found, 3 * x)


TRANSFORMS: dict[str, Callable[[Tensor], Any]] = {
    "vmap": lambda x: torch.func.vmap(lambda a, b: (a * b).sum())(x, x + 1),
    "grad": torch.func.grad(lambda x: (x.sin() * x).sum()),
    "jvp": lambda x: torch.func.jvp(lambda a: a.sin() * a, (x,), (x + 1,)),
    "jacrev": lambda x: torch.func.jacrev(lambda a: a.sin() * a)(x[0]),
    "hessian": lambda x: torch.func.hessian(lambda a: (a.sin() * a).sum())(x[0]),
}


@pytest.mark.parametrize("name", list(TRANSFORMS))
def test_transforms(name: str) -> None:
    x = torch.randn(4, 5)
    torch.testing.assert_close(compiled(TRANSFORMS[name])(x), TRANSFORMS[name](x))


def test_hooks_of_modules_and_tensors() -> None:
    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.randn(3, 4)
    model[0].register_forward_hook(lambda module, args, result: result * 2)
    torch.testing.assert_close(compiled(model)(x), model(x))
    p = torch.randn(3, requires_grad=True)
    p.register_hook(lambda grad: grad * 2)
    compiled(lambda p: (p * 3).sum())(p).backward()
    torch.testing.assert_close(p.grad, torch.full((3,), 6.0))


def test_exported_and_copied_modules() -> None:
    x = torch.randn(2, 3)
    exported = torch.export.export(nn.Linear(3, 4), (x,)).module()
    torch.testing.assert_close(compiled(exported)(x), exported(x))
    model = compiled(nn.Linear(3, 4))
    wanted = model(x)
    torch.testing.assert_close(copy.deepcopy(model)(x), wanted)
    model.load_state_dict({name: value + 1 for name, value in model.state_dict().items()})
    assert not torch.allclose(model(x), wanted)


def test_a_growing_cache() -> None:
    """Tokens one after the other, each compiled call reads what all before left."""
    embedding, head = nn.Embedding(11, 8), nn.Linear(8, 11)

    def step(ids: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
        cache = torch.cat([cache, embedding(ids[:, -1:])], 1)
        return head(cache.mean(1)).argmax(-1, keepdim=True), cache

    fast = compiled(step, dynamic=True)
    state = [(torch.tensor([[1], [2]]), torch.zeros(2, 1, 8))] * 2
    with torch.no_grad():
        for _ in range(6):
            for i, run in enumerate((fast, step)):
                ids, cache = state[i]
                new, cache = run(ids, cache)
                state[i] = torch.cat([ids, new], 1), cache
            torch.testing.assert_close(state[0], state[1])
