"""Random programs on values of any type, of sizes that change, as text that runs by itself.

Every statement is run as it is drawn, on inputs of all sizes: what eager refuses is drawn again.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from typed_statements import DTYPES, typed_statement

_HEAD = """import torch
from torch.nn import functional as F

TRAINED = {trained}
DYNAMIC = {dynamic}
SIZES = {sizes}


def inputs(n, m):
    torch.manual_seed({seed})
    return ({inputs},)


def program({names}):
"""
_DTYPES = ("float32", "float32", *DTYPES)
"""Of inputs, which are float32 more often."""
_LARGEST = 4000
"""Elements of a value."""


def random_typed_program(seed: int) -> str:
    """Source of `inputs(n, m)` and `program(...)`, with the sizes to call it with."""
    rng = random.Random(seed)
    trained = rng.random() < 0.25
    sizes = _sizes(rng)
    names = ["a", "b", "c", "d"][: rng.choice((2, 3, 3, 4))]
    makers = [_input(rng) for _ in names]
    if rng.random() < 0.5:  # two that go together
        makers[1] = makers[0]
    head = _HEAD.format(
        trained=trained,
        dynamic=rng.choice((None, None, True, True, False)),
        sizes=sizes,
        seed=seed,
        inputs=", ".join(makers),
        names=", ".join(names),
    )
    spaces = _spaces(head, names, sizes)
    if not all(_is_tame(space[name]) for space in spaces for name in names):
        return random_typed_program(seed + 1_000_000_007)
    lines: list[str] = []
    if trained:
        lines = [f"{', '.join(names)} = {', '.join(f'{name} * 1' for name in names)}"]
        for space in spaces:
            exec(lines[0], space)
    wanted = rng.randint(4, 25)
    for number in range(wanted * 30):
        added = typed_statement(rng, _by_type(spaces[0], _tensors(spaces[0])), f"v{number}")
        if _runs("\n".join(added), spaces):
            lines += added
            if len(lines) >= wanted:
                break
    read = set(re.findall(r"\w+", "\n".join(line.split("=", 1)[-1] for line in lines)))
    made = _tensors(spaces[0])
    results = [
        *[name for name in made if name not in read][-5:],
        *rng.choices(made[-8:], k=rng.choice((0, 1, 2))),
    ] or made[-1:]
    text = head + "".join(f"    {line}\n" for line in [*lines, f"return {', '.join(results)},"])
    return text if not trained or _trains(text) else text.replace("TRAINED = True", "TRAINED = False")


def _trains(text: str) -> bool:
    """Whether eager can take gradients: what is written to later may be needed."""
    space: dict[str, Any] = {}
    exec(text, space)
    args = tuple(
        t.requires_grad_() if t.is_floating_point() else t for t in space["inputs"](*space["SIZES"][0])
    )
    try:
        made = space["program"](*args)
        torch.stack([t.double().sum() for t in made if t.requires_grad]).sum().backward()
    except RuntimeError:
        return False
    return True


def _sizes(rng: random.Random) -> list[tuple[int, int]]:
    n, m = rng.choice((2, 3, 4, 5, 8, 17, 33)), rng.choice((2, 3, 5, 8, 16))
    others = [
        (rng.choice((1, n + 1, n * 2, n + 3, 0)), m),
        (rng.choice((n, n + 2)), rng.choice((m + 1, m, 1, m * 2))),
    ]
    return [(n, m), *others[: rng.choice((0, 1, 1, 2))]]


def _input(rng: random.Random) -> str:
    """A tensor of some type: contiguous, permuted, a slice with steps or expanded."""
    shape = [
        rng.choice(("n", "n", "m", "m", "1", "2", "3"))
        for _ in range(rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4)))
    ]
    if rng.random() < 0.12:
        return f"torch.rand([{', '.join(shape)}]) > 0.5"
    dtype = rng.choice(_DTYPES)
    low = 0 if dtype == "uint8" else -9
    if "float" in dtype:
        text = "torch.randn([{}]).to(torch." + dtype + ")"
    else:
        text = f"torch.randint({low}, 9, [{{}}], dtype=torch.{dtype})"
    kind = rng.random()
    if kind < 0.2 and len(shape) > 1:
        order = list(range(len(shape)))
        rng.shuffle(order)
        return text.format(", ".join(shape)) + f".permute({order})"
    if kind < 0.35 and shape:
        return text.format(", ".join([*shape[:-1], shape[-1] + " * 2"])) + "[..., ::2]"
    if kind < 0.45 and shape:
        return text.format(", ".join([*shape, "2"])) + "[..., 1]"
    if kind < 0.5 and shape:
        return text.format(", ".join(["1", *shape[1:]])) + f".expand({', '.join(shape)})"
    return text.format(", ".join(shape))


def _spaces(head: str, names: Sequence[str], sizes: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    """For each pair of sizes what the program's names mean."""
    spaces: list[dict[str, Any]] = []
    for pair in sizes:
        space: dict[str, Any] = {}
        exec(head + "    pass\n", space)
        kept = {"torch": torch, "F": space["F"]}
        spaces.append({**kept, **dict(zip(names, space["inputs"](*pair), strict=True))})
    return spaces


def _by_type(space: Mapping[str, Any], names: Sequence[str]) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {"float": [], "int": [], "bool": []}
    for name in names:
        dtype = space[name].dtype
        kind = "float" if dtype.is_floating_point else "bool" if dtype == torch.bool else "int"
        kinds[kind].append(name)
    return kinds


def _runs(text: str, spaces: Sequence[dict[str, Any]]) -> bool:
    """Run a statement where it is valid for all sizes; whether it was."""
    for space in _copies(spaces):  # what fails in one must not have changed the others
        try:
            exec(text, space)
        except (RuntimeError, IndexError, ValueError, TypeError, ZeroDivisionError, NotImplementedError):
            return False
        if not all(_is_tame(v) for v in space.values() if isinstance(v, torch.Tensor)):
            return False
    for space in spaces:
        exec(text, space)
    return True


def _copies(spaces: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same values in other memory, which they share alike."""
    return [
        {**space, **dict(zip(_tensors(space), _copied([space[n] for n in _tensors(space)]), strict=True))}
        for space in spaces
    ]


def _tensors(space: Mapping[str, Any]) -> list[str]:
    return [name for name, value in space.items() if isinstance(value, torch.Tensor)]


def _copied(values: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Copies with the same strides, which share memory as the values do."""
    memory: dict[int, torch.UntypedStorage] = {}
    made: list[torch.Tensor] = []
    for value in values:
        storage = value.untyped_storage()
        copy = memory.setdefault(storage._cdata, storage.clone())
        made.append(
            torch.empty(0, dtype=value.dtype).set_(copy, value.storage_offset(), value.shape, value.stride())
        )
    return made


def _is_tame(value: torch.Tensor) -> bool:
    """Small, and of finite numbers that are far from overflow."""
    if value.numel() > _LARGEST or value.dim() > 6 or value.is_complex():
        return False
    return not value.is_floating_point() or bool((value.abs() < 1e3).all())
