"""Results share memory with arguments and with each other exactly where eager's do."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
import torch
from emulated_gpu import EmulatedGpu, compiled

X = torch.arange(24.0).reshape(4, 6)
Program = Callable[[torch.Tensor], tuple[torch.Tensor, ...]]


def storages(values: tuple[torch.Tensor, ...]) -> list[int]:
    """For each value the position of the first that shares its memory."""
    pointers = [value.untyped_storage().data_ptr() for value in values]
    return [pointers.index(pointer) for pointer in pointers]


def twice(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x.exp()
    return y, y


def halves(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x.exp()
    return y[:, :3], y[:, 3:].t(), y + 1


def parts_of_a_product(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x * 1
    return y[1:], y, x * 2


def parts_of_a_clone(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y, z = x.clone(), x.clone()
    return y[1:], y[:3].t(), z.view(6, 4), z.view(-1)[3:]


def parts_of_a_literal(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    return y[0], y[1], x + y.sum(), y.t()


def parts_of_equals(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y, z = x.exp(), x.exp()
    return y[1:], y, z, z[2:]


def every_other(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x.exp()
    return y[:, ::2], y[:, 1::2]


def another_dtype(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x + 1
    return y.view(torch.uint8)[1:, ::2], y.t(), y.view(torch.int64), y.view(torch.float64)[1], y[2], y


def another_dtype_and_order(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x.t() + 1
    return y.view(torch.int32), y, y[1:].view(torch.int32)


def of(make: Program, *views: Callable[[torch.Tensor], torch.Tensor]) -> Program:
    """Views of what is made, which passes may compute without it."""

    def program(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        (y,) = make(x)
        return tuple(view(y) for view in views)

    return program


COMPUTED: dict[str, Program] = {
    "ones": of(lambda x: (torch.ones_like(x),), lambda y: y.t(), lambda y: y),
    "ones_in_two_shapes": of(lambda x: (torch.ones_like(x),), lambda y: y.t(), lambda y: y.view(-1)),
    "a_power_of_zero": of(lambda x: (x**0,), lambda y: y[1:], lambda y: y[:, 2], lambda y: y[:3]),
    "a_piece_of_a_concatenation": of(lambda x: (torch.cat([x, x + 1]),), lambda y: y[:4], lambda y: y),
    "pieces_that_overlap": of(lambda x: (torch.cat([x, x + 1]),), lambda y: y[:5], lambda y: y[3:]),
    "a_copy_of_a_repetition": of(lambda x: (x.repeat(2, 1, 1),), lambda y: y, lambda y: y[0]),
    "columns_of_a_repetition": of(lambda x: (x[:, :1].repeat(1, 6),), lambda y: y, lambda y: y.t()),
    "rows_of_a_reversal": of(lambda x: (x.flip(0),), lambda y: y, lambda y: y[:2]),
    "gathered_rows": of(lambda x: (x[torch.tensor([2, 0, 1])],), lambda y: y, lambda y: y[1:]),
    "windows": of(lambda x: (x.exp().view(-1),), lambda y: y, lambda y: y.unfold(0, 3, 4)),
    "a_diagonal": of(lambda x: (x.exp(),), lambda y: y.diagonal(), lambda y: y),
    "complex_numbers": of(lambda x: (torch.complex(x, x + 1),), lambda y: y[1:], lambda y: y[:2, 1:]),
    "complex_numbers_as_pairs": of(
        lambda x: (torch.complex(x, x + 1),), lambda y: torch.view_as_real(y)[1:], lambda y: y[:2]
    ),
}
CASES: dict[str, Program] = {
    **COMPUTED,
    "clone": lambda x: (x.clone(), x.exp(), x.exp(), x.exp().clone()),
    "argument": lambda x: (x, x.t(), x + 1),
    "clone_of_view": lambda x: (x.t().clone(), x.t().contiguous(), x.contiguous()),
    "cast_to_same": lambda x: (x.float().clone(), x.to(torch.float32)),
    "no_ops": lambda x: (x + 0, x * 1, x.exp().view(-1).view(4, 6)),
    "twice": twice,
    "halves": halves,
    "every_other": every_other,
    "parts_of_a_product": parts_of_a_product,
    "parts_of_a_clone": parts_of_a_clone,
    "parts_of_a_literal": parts_of_a_literal,
    "parts_of_equals": parts_of_equals,
    "another_dtype": another_dtype,
    "another_dtype_and_order": another_dtype_and_order,
    "another_dtype_of_parts": lambda x: ((x + 1)[1:].view(torch.int32), (x + 2).view(torch.int16)),
    "most": lambda x: (x.exp()[1:, 1:],),
}


@pytest.mark.parametrize("name", CASES)
def test_results_alias_as_in_eager(name: str) -> None:
    torch._dynamo.reset()
    x, y = X.clone(), X.clone()
    with torch.no_grad():
        found = torch.compile(CASES[name], backend="mlir")(x)
        expected = CASES[name](y)
    assert storages((x, *found)) == storages((y, *expected))
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b)
        assert a.stride() == b.stride()
    for a, b in zip(found, expected, strict=True):  # what a user may do next must not show elsewhere
        a.mul_(2)
        b.mul_(2)
    for a, b in zip((x, *found), (y, *expected), strict=True):
        torch.testing.assert_close(a, b)


def test_a_view_of_little_is_copied() -> None:
    """What would keep a large tensor alive for a few elements gets memory of its own."""
    torch._dynamo.reset()
    column = torch.compile(lambda x: x.exp()[:, 2], backend="mlir")(X.clone())
    torch.testing.assert_close(column, X.exp()[:, 2])
    assert column.untyped_storage().nbytes() == column.numel() * column.element_size()


def test_windows_that_overlap_are_copied() -> None:
    """A kernel writes each element of its result: none may be another one's."""
    torch._dynamo.reset()
    windows = torch.compile(lambda x: x.exp().unfold(1, 3, 1), backend="mlir")(X.clone() / 10)
    assert windows.is_contiguous()
    torch.testing.assert_close(windows.mul_(2), 2 * (X / 10).exp().unfold(1, 3, 1))


def test_the_views_of_one_product_are_saved_as_views() -> None:
    """Query, key and value are kept for the backward graph without copies, and have the right gradients."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    weight, x = torch.randn(96, 32, dtype=torch.float64), torch.randn(2, 5, 32, dtype=torch.float64)
    saved: list[torch.Tensor] = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        saved.append(tensor)
        return tensor

    def attend(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        q, k, v = (x @ weight.t()).view(2, 5, 3, 4, 8).permute(2, 0, 3, 1, 4).unbind(0)
        return torch.nn.functional.scaled_dot_product_attention(q, k, v).sin().sum()

    gradients: list[torch.Tensor] = []
    for function in (attend, torch.compile(attend, backend="mlir")):
        w = weight.clone().requires_grad_()
        saved.clear()
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
            loss = function(x, w)
        gradients.append(*torch.autograd.grad(loss, w))
    torch.testing.assert_close(*gradients)
    assert sum(tensor.untyped_storage().nbytes() == 3 * x.untyped_storage().nbytes() for tensor in saved) == 3


def grown(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    x.add_(1)
    return x[:, x.shape[1] // 2 :], x.sum()


def parts(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x * 2
    return y[: x.shape[0] // 2].t(), y[:, x.shape[1] // 2 :], y


SYMBOLIC: dict[str, Callable[[torch.Tensor], tuple[torch.Tensor, ...]]] = {
    "first_half": lambda x: (x[:, : x.shape[1] // 2], x + 1),
    "second_half": lambda x: (x[x.shape[0] // 2 :],),
    "transposed": lambda x: (x[1 : x.shape[0] // 2, x.shape[1] // 2 :].t(),),
    "repeated": lambda x: (x[:, : x.shape[1] // 2, None].expand(-1, -1, 3),),
    "chunks": lambda x: x.chunk(2, 1),
    "of_a_changed_argument": grown,
    "of_a_result": parts,
}


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", SYMBOLIC)
def test_views_of_symbolic_sizes_hold_what_eager_views_hold(name: str, grad: bool) -> None:
    """AOTAutograd makes them anew, of the argument or result, by the strides and the offset of ours."""
    torch._dynamo.reset()
    compiled = torch.compile(SYMBOLIC[name], backend="mlir", dynamic=True)
    for rows, columns in ((4, 6), (6, 10)):
        leaf = torch.arange(1.0 * rows * columns).reshape(rows, columns).requires_grad_(grad)
        x, y = leaf.clone(), leaf.clone()
        with torch.set_grad_enabled(grad):
            found, expected = compiled(x), SYMBOLIC[name](y)
        assert torch.equal(x, y)
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a, b)
        for a, b in zip(found, expected, strict=True):
            assert (a._base is x) == (b._base is y)
        if grad:
            ours, theirs = (
                torch.autograd.grad([v.square().sum() for v in r], leaf) for r in (found, expected)
            )
            torch.testing.assert_close(ours, theirs)


PIECES: dict[str, Program] = {
    "halves": lambda x: (*x.chunk(2, 1), x.sin()),
    "one_of_three": lambda x: (x.cos(), x.view(4, 3, 2).unbind(1)[2].t()),
    "uneven": lambda x: (x.split([1, 3], 0)[1], x.cos(), x.split([5, 1], 1)[0].t()[2:]),
    "columns": lambda x: (x * 2, *x.unbind(1)[1:3]),
    "repeated": lambda x: (x * 2, x.chunk(2)[1][:, None].expand(-1, 3, -1)),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.complex64])
@pytest.mark.parametrize("name", PIECES)
def test_pieces_of_an_argument_are_views_of_it(name: str, dtype: torch.dtype) -> None:
    """AOTAutograd does not make several views of one operator anew; an argument begins anywhere."""
    torch._dynamo.reset()
    run = torch.compile(PIECES[name], backend="mlir")
    for offset in (0, 3, 24):
        x = torch.arange(1.0, 49.0).to(dtype)[offset : offset + 24].reshape(4, 6).requires_grad_()
        y = x.detach().requires_grad_()
        found, expected = run(x), PIECES[name](y)
        assert storages((x, *found)) == storages((y, *expected))
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a, b)
            assert (a.stride(), a.storage_offset()) == (b.stride(), b.storage_offset())
        ours, theirs = (
            torch.autograd.grad(sum((v * v).abs().sum() for v in r), leaf)
            for r, leaf in ((found, x), (expected, y))
        )
        torch.testing.assert_close(ours, theirs)


def test_pieces_of_a_changed_argument_hold_what_eager_pieces_hold() -> None:
    """What the graph writes to an argument at its end is no view of what it was given."""

    def program(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        first, second = y.chunk(2, 1)
        old = second.sin()
        y.add_(1)
        return x * first, second, old

    torch._dynamo.reset()
    leaf, y, z = X.clone()[:, :3].requires_grad_(), X.clone(), X.clone()
    found, expected = torch.compile(program, backend="mlir")(leaf, y), program(leaf, z)
    for a, b in zip((y, *found), (z, *expected), strict=True):
        torch.testing.assert_close(a, b)


def part_changed_then_reshaped(x: torch.Tensor) -> torch.Tensor:
    x[..., 0].zero_()
    return x.reshape(x.shape[-1], -1)


def changed_then_reshaped(x: torch.Tensor) -> torch.Tensor:
    x.mul_(2)
    return x.view(x.shape[1], 1, -1)[1:]


@pytest.mark.parametrize("program", [part_changed_then_reshaped, changed_then_reshaped])
def test_views_of_a_changed_argument_with_gaps_are_views_of_it(
    program: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    """Of symbolic sizes: torch makes them of the argument, where strides and offset of the result say."""
    torch._dynamo.reset()
    run = torch.compile(program, backend="mlir", dynamic=True)
    for size in (3, 4):
        x, y = (torch.arange(8.0 * size).view(4, size, 2)[1:, ..., 1] for _ in range(2))
        found, expected = run(x), program(y)
        assert (found.stride(), found.storage_offset()) == (expected.stride(), expected.storage_offset())
        assert found.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        assert torch.equal(found, expected)
        assert torch.equal(x, y)


CHANGED_BY_VIEWS: dict[str, Program] = {
    "turned": lambda x: (x.T.mul_(2), x.T[1:], x.view(-1)),
    "with_new_axes": lambda x: (x[None, ..., None].add_(1), x[1:, :, None]),
    "part_with_new_axes": lambda x: (x[None, ..., None][..., 2:, :].add_(1), x.T),
    "column": lambda x: (x[:, 1].neg_(), x.T),
    "row_of_all": lambda x: (x.view(-1)[2:].mul_(2), x.view(6, 4).T),
}


@pytest.mark.parametrize("name", CHANGED_BY_VIEWS)
def test_views_of_an_argument_that_is_changed_by_way_of_views(name: str) -> None:
    """What is written to it is a view of what the graph computes, which no result is a view of."""
    program = CHANGED_BY_VIEWS[name]
    for dynamic, grad in product((False, True), repeat=2):
        torch._dynamo.reset()
        x, y = (X.clone().requires_grad_(grad).clone() for _ in range(2))
        found, expected = torch.compile(program, backend="mlir", dynamic=dynamic)(x), program(y)
        assert storages((x, *found)) == storages((y, *expected))
        for a, b in zip((x, *found), (y, *expected), strict=True):
            assert torch.equal(a, b)
            assert (a.stride(), a.storage_offset()) == (b.stride(), b.storage_offset())


def test_gradients_of_joined_tensors_are_pieces_of_one() -> None:
    """Nothing is computed for them, as in eager mode; one of a few elements does not keep the rest alive."""

    def joined(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        return torch.cat([a, b.t(), c], 1)

    torch._dynamo.reset()
    tensors = [torch.randn(4, 3).requires_grad_(), torch.randn(2, 4).requires_grad_(), torch.randn(4, 1)]
    given = torch.randn(4, 6)
    ours, theirs = (
        torch.autograd.grad(run(*tensors), tensors[:2], given)
        for run in (torch.compile(joined, backend="mlir"), joined)
    )
    assert storages((given, *ours)) == storages((given, *theirs)) == [0, 0, 0]
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b)
    column = torch.randn(4, 1).requires_grad_()
    few = torch.compile(lambda x: torch.cat([x, X], 1), backend="mlir")
    (gradient,) = torch.autograd.grad(few(column), column, given := torch.randn(4, 7))
    torch.testing.assert_close(gradient, given[:, :1])
    assert gradient.untyped_storage().nbytes() == gradient.nbytes


def test_nothing_is_computed_for_a_view_of_an_argument() -> None:
    from tilewright.frontend.explain import explain

    assert explain(lambda x: (x[:, 1:].t(), x[::2]), X.clone()).kernels == 0


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("view", [lambda y: y, lambda y: y[:2], lambda y: y.t()])
def test_views_of_a_clone_are_no_views_of_the_argument(
    view: Callable[[torch.Tensor], torch.Tensor], training: bool
) -> None:
    """Changed in place, they would change it."""

    def program(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x.clone()
        return view(y), y[2:]

    torch._dynamo.reset()
    x = X.clone().requires_grad_(training)
    found = torch.compile(program, backend="mlir")(x)
    assert x.untyped_storage().data_ptr() not in {y.untyped_storage().data_ptr() for y in found}
    for a, b in zip(found, program(x), strict=True):
        torch.testing.assert_close(a, b)
        assert a.stride() == b.stride()


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", COMPUTED)
def test_results_beside_gradients_alias_as_in_eager(name: str, dynamic: bool) -> None:
    """Of a graph that keeps tensors for its gradient; the views are made of what needs none."""

    def program(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x.sin() * y, *COMPUTED[name](y))

    torch._dynamo.reset()
    run = torch.compile(program, backend="mlir", dynamic=dynamic)
    y, leaf = X.clone(), (X / 9).requires_grad_()
    found, expected = run(leaf, y), program(leaf, y)
    assert storages(found) == storages(expected)
    for a, b in zip(found[1:], expected[1:], strict=True):
        a.mul_(2)
        b.mul_(2)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b)
    ours, theirs = (torch.autograd.grad(r[0].square().sum(), leaf) for r in (found, expected))
    torch.testing.assert_close(ours, theirs)


def test_views_of_a_gpu_alias_as_in_eager(gpu: EmulatedGpu) -> None:
    for name, program in COMPUTED.items():
        if "complex" not in name:  # ATen makes these, which has no such device
            torch._dynamo.reset()  # several are one function to Dynamo
            x, y = X.clone(), X.clone()
            found, expected = compiled(program)(x), program(y)
            assert storages((x, *found)) == storages((y, *expected)), name
            for a, b in zip(found, expected, strict=True):
                torch.testing.assert_close(a, b)
