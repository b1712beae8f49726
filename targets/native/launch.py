"""Load a compiled graph into this process: the shared part of the targets that imports torch."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from .build import Recipe, build, default_cache_dir
from .errors import LibraryUnloadable, call_error
from .fallback import Control
from .host_writer import HostPlan
from .launch_calls import Called, control_call, python_call
from .unit import Unit

_TORCH_LIB = Path(torch.__file__).parent / "lib"


class _Setup(ctypes.Structure):
    """`tw::Setup`, field by field."""

    _fields_ = (
        ("libtorch", ctypes.c_void_p),
        ("tensor_data", ctypes.c_void_p),
        ("wrap_tensor", ctypes.c_void_p),
        ("constants", ctypes.c_void_p),
        ("fallbacks", ctypes.py_object),
        ("restride", ctypes.py_object),
        ("failed", ctypes.py_object),
        ("tensor_type", ctypes.py_object),
        ("parameter_type", ctypes.py_object),
        ("pooled", ctypes.c_int64),
        ("device_type", ctypes.c_int64),
        ("device_index", ctypes.c_int64),
        ("device", ctypes.c_void_p),
        ("keep", ctypes.py_object),
    )


@dataclass(frozen=True)
class PoolCounters:
    """Bytes that wait for reuse, and how many blocks were reused and made."""

    idle_bytes: int
    reused: int
    made: int


@dataclass(frozen=True)
class CompiledGraph:
    """A graph as one native function: a list of inputs to a tuple of results (boxed: the list is emptied)."""

    source: str
    library: Path
    call: Called
    """The builtin function itself, the fastest way to call."""
    native: ctypes.PyDLL
    functions: tuple[Called, ...]
    """Those of the graph that `call` calls."""

    def __call__(self, inputs: list[Any]) -> tuple[Any, ...]:
        return self.call(inputs)

    def trim(self) -> int:
        """Give the memory that is kept between calls back to the system; returns its bytes."""
        return sum(self.native.tw_trim(call.__self__) for call in (self.call, *self.functions))  # pyright: ignore

    def prober(self, tensors: Sequence[torch.Tensor]) -> Callable[[], int]:
        """A function whose result changes when the memory of `tensors` was written (sampled); keeps them."""
        count = len(tensors)
        data = (ctypes.c_void_p * count)(*(t.data_ptr() for t in tensors))
        sizes = (ctypes.c_int64 * count)(*(_span(t) for t in tensors))
        native, kept = self.native.tw_probe, tuple(tensors)
        return lambda: native(data, sizes, len(kept))

    def watch(self, clock: ctypes.Array[ctypes.c_uint64] | None) -> None:
        """Add the nanoseconds of each of the plan's `ranges` to `clock` in every call; None for no longer."""
        self.native.tw_watch(self.call.__self__, clock)  # pyright: ignore

    def pool(self) -> PoolCounters:
        """How the memory of large results was obtained so far."""
        counters = (ctypes.c_int64 * 3)()
        self.native.tw_pool(counters)
        return PoolCounters(*counters)


def _span(tensor: torch.Tensor) -> int:
    """Bytes from the first to the last element."""
    if tensor.numel() == 0:
        return 0
    steps = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    return (steps + 1) * tensor.element_size()


@cache
def _libtorch() -> ctypes.CDLL:
    return ctypes.CDLL(str(_TORCH_LIB / "libtorch_cpu.so"))


@cache
def exports(symbol: str) -> bool:
    """Whether libtorch has the C function."""
    return hasattr(_libtorch(), symbol)


@cache
def openmp_library() -> Path | None:
    """The OpenMP runtime that torch has loaded, to be shared; None where it ships none."""
    return next(iter(sorted(_TORCH_LIB.glob("libgomp*.so*"))), None)


def _failed(code: int, what: str, where: str, why: str) -> None:
    raise call_error(code, what, where, why)


@dataclass(frozen=True)
class Place:
    """The device of a graph, and what its calls need there."""

    device: torch.device
    number: int = 0
    """Of the type of device, as libtorch counts."""
    index: int = -1
    """Which of them; -1 for the current one."""
    library: Callable[[], ctypes.CDLL] = _libtorch
    """Where libtorch's C functions are found."""
    state: ctypes.Structure | None = None
    """What the emitted code of this target reads besides `tw::Setup`."""
    failed: Callable[[int, str, str, str], None] = _failed
    """Raises the error of this code: (code, what, where, why)."""

    def constants(self, values: Sequence[bytes]) -> tuple[Sequence[int], object]:
        """Their addresses on this device, and what keeps them there."""
        if self.device.type == "cpu":
            return [_address(value) for value in values], values
        made = [torch.frombuffer(bytearray(v or b"\0"), dtype=torch.uint8).to(self.device) for v in values]
        return [tensor.data_ptr() for tensor in made], made


def _address(data: bytes) -> int:
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


CPU = Place(torch.device("cpu"))


def load_unit(
    unit: Unit,
    *,
    recipe: Recipe,
    cache_dir: Path | None = None,
    environment: Mapping[str, str] | None = None,
    pooled: bool = True,
    on: Place = CPU,
) -> CompiledGraph:
    """Compile and load a unit, which perhaps is in the cache already.

    With `pooled`, memory of large results is reused once the caller drops them; the storage
    of such a result cannot be resized.
    """
    given = os.environ if environment is None else environment
    folder = default_cache_dir(given) if cache_dir is None else cache_dir
    library = build(unit.text, recipe=recipe, cache_dir=folder, environment=given, openmp=openmp_library())
    return bind(unit, library, pooled=pooled, on=on)


def bind(unit: Unit, library: Path, *, pooled: bool = True, on: Place = CPU) -> CompiledGraph:
    """The callable of a library that was built from `unit`."""
    assert unit.plan is not None, "the module has no @main"
    native, plans = _open(library), {**unit.functions, "": unit.plan}
    made: dict[str, Called] = {}

    def function(name: str) -> Called:
        if name not in made:
            calls = [
                control_call(f, [function(inner) for inner in f.functions], on.device)
                if isinstance(f, Control)
                else python_call(f, on.device)
                for f in plans[name].fallbacks
            ]
            number = list(unit.functions).index(name) + 1 if name else 0
            try:
                made[name] = _new(native, plans[name], number, tuple(calls), pooled=pooled, on=on)
            except ImportError as error:
                reason = f"libtorch {torch.__version__} has no {error}"
                raise LibraryUnloadable(file=library, folder=library.parent, reason=reason) from error
        return made[name]

    call = function("")
    return CompiledGraph(unit.text, library, call, native, tuple(f for name, f in made.items() if name))


def _new(
    native: ctypes.PyDLL,
    plan: HostPlan,
    number: int,
    fallbacks: tuple[Callable[..., Any], ...],
    *,
    pooled: bool,
    on: Place,
) -> Called:
    """One host function of a library."""
    addresses, constants = on.constants(plan.constants)
    table = (ctypes.c_void_p * max(len(addresses), 1))(*addresses)
    setup = _Setup(
        on.library()._handle,
        _data_address(),
        _wrap_address(),
        ctypes.addressof(table),
        fallbacks,
        _restride,
        on.failed,
        torch.Tensor,
        torch.nn.Parameter,
        int(pooled),
        on.number,
        on.index,
        None if on.state is None else ctypes.addressof(on.state),
        (fallbacks, table, constants, on),
    )
    return native.tw_new(ctypes.byref(setup), number)


@cache
def _open(library: Path) -> ctypes.PyDLL:
    """The library with its two functions typed; it stays loaded."""
    try:
        native = ctypes.PyDLL(str(library))
    except OSError as error:
        raise LibraryUnloadable(file=library, folder=library.parent, reason=str(error)) from error
    native.tw_new.restype = ctypes.py_object
    native.tw_new.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    native.tw_trim.restype = ctypes.c_int64
    native.tw_probe.restype = ctypes.c_uint64
    native.tw_probe.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    native.tw_watch.restype = None
    native.tw_watch.argtypes = [ctypes.py_object, ctypes.c_void_p]
    native.tw_trim.argtypes = [ctypes.py_object]
    return native


@cache
def _data_address() -> int:
    """C function from a Tensor object to its data pointer."""
    return torch._C._dynamo.guards._torchinductor_pyobject_tensor_data_ptr  # pyright: ignore


@cache
def _wrap_address() -> int:
    """`THPVariable_Wrap(at::TensorBase const&)`: C++ tensor to Python object."""
    python = ctypes.CDLL(str(_TORCH_LIB / "libtorch_python.so"))
    wrap = python._Z16THPVariable_WrapRKN2at10TensorBaseE
    address = ctypes.cast(wrap, ctypes.c_void_p).value
    assert address is not None
    return address


def _restride(base: torch.Tensor, offset: int, *layout: int) -> torch.Tensor:
    """An alias of `base` from its element `offset` on: sizes, then strides."""
    rank = len(layout) // 2
    with torch.no_grad():
        return base.as_strided(layout[:rank], layout[rank:], base.storage_offset() + offset)
