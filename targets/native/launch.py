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
from .errors import LibraryUnloadable, UnexpectedResult, call_error, unknown_operator
from .fallback import Argument, Dtype, Fallback, Integer, Operand
from .unit import Unit

_TORCH_LIB = Path(torch.__file__).parent / "lib"

DTYPES: Mapping[str, torch.dtype] = {
    "f64": torch.float64,
    "f32": torch.float32,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "ui8": torch.uint8,
    "i1": torch.bool,
}


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
    call: Callable[[list[Any]], tuple[Any, ...]]
    """The builtin function itself, the fastest way to call."""
    native: ctypes.PyDLL

    def __call__(self, inputs: list[Any]) -> tuple[Any, ...]:
        return self.call(inputs)

    def trim(self) -> int:
        """Give the memory that is kept between calls back to the system; returns its bytes."""
        return self.native.tw_trim(self.call.__self__)  # pyright: ignore

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
    plan = unit.plan
    assert plan is not None, "the module has no @main"
    native = _open(library)
    addresses, constants = on.constants(plan.constants)
    table = (ctypes.c_void_p * max(len(addresses), 1))(*addresses)
    fallbacks = tuple(_python_call(f, on.device) for f in plan.fallbacks)
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
    try:
        function = native.tw_new(ctypes.byref(setup))
    except ImportError as error:
        reason = f"libtorch {torch.__version__} has no {error}"
        raise LibraryUnloadable(file=library, folder=library.parent, reason=reason) from error
    return CompiledGraph(unit.text, library, function, native)


@cache
def _open(library: Path) -> ctypes.PyDLL:
    """The library with its two functions typed; it stays loaded."""
    try:
        native = ctypes.PyDLL(str(library))
    except OSError as error:
        raise LibraryUnloadable(file=library, folder=library.parent, reason=str(error)) from error
    native.tw_new.restype = ctypes.py_object
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


# Calls through Python


def _python_call(fallback: Fallback, device: torch.device) -> Callable[..., tuple[torch.Tensor, ...]]:
    """The function for `fallback`: (tensors..., integers...) -> results as planned, on `device`."""
    overload = resolve(fallback.callee)
    arguments = overload._schema.arguments
    keyword_only = [argument.name for argument in arguments if argument.kwarg_only]
    positional = len(arguments) - len(keyword_only)
    split = fallback.tensors
    # What makes tensors from nothing makes them on the CPU unless it is told. Plans name no device.
    told = {"device": device} if device.type != "cpu" and "device" in keyword_only else {}

    def call(*given: Any) -> tuple[torch.Tensor, ...]:
        tensors, integers = given[:split], given[split:]
        args = [_value(arg, tensors, integers) for arg in fallback.args]
        named = {**dict(zip(keyword_only, args[positional:], strict=False)), **told}
        try:
            made = overload(*args[:positional], **named)
        except Exception as error:
            error.add_note(f"TW2111: {fallback.callee} failed\n  where: {fallback.where or 'unknown'}")
            raise
        return _conform(made, fallback, integers, device)

    return call


def resolve(callee: str) -> Any:
    """`aten::mm.out` -> torch.ops.aten.mm.out."""
    namespace, _, rest = callee.partition("::")
    name, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, namespace), name, None)
    found = getattr(packet, overload or "default", None)
    if found is None:
        raise unknown_operator(callee)
    return found


def _value(arg: Argument, tensors: Sequence[torch.Tensor], integers: Sequence[int]) -> Any:
    match arg:
        case Operand():
            return tensors[arg.index]
        case Integer():
            return integers[arg.index]
        case Dtype():
            return DTYPES[arg.name]
        case tuple():
            return [_value(item, tensors, integers) for item in arg]
        case _:
            return arg


def _conform(
    made: Any, fallback: Fallback, integers: Sequence[int], device: torch.device
) -> tuple[torch.Tensor, ...]:
    """The results with the planned strides; another dtype, size or type of device is an error."""
    if not fallback.results:
        return ()
    made = (made,) if isinstance(made, torch.Tensor) else made
    tensors = [value for value in made if isinstance(value, torch.Tensor)]  # numbers were known before
    results: list[torch.Tensor] = []
    if len(tensors) < len(fallback.results):
        raise RuntimeError(
            f"TW2112: {fallback.callee} failed\n  where: {fallback.where or 'unknown'}\n"
            f"  why:   it returned {len(tensors)} tensors, the graph was compiled for {len(fallback.results)}"
        )
    for tensor, planned in zip(tensors, fallback.results, strict=False):
        middle = planned.first + planned.rank
        sizes, strides = integers[planned.first : middle], integers[middle : middle + planned.rank]
        if tensor.dim() == 0 and tensor.device.type == "cpu":
            tensor = tensor.to(device)  # ATen leaves some scalars of GPU functions on the CPU (seeds)
        asked = (tuple(sizes), DTYPES[planned.element], device.type)
        if (tuple(tensor.shape), tensor.dtype, tensor.device.type) != asked:
            found = f"{tensor.dtype} {list(tensor.shape)} on {tensor.device.type}"
            wanted = f"{DTYPES[planned.element]} {list(sizes)} on {device.type}"
            why = f"it returned {found}, the graph was compiled for {wanted}"
            raise UnexpectedResult(where=fallback.where or None, what=fallback.callee, why=why)
        fits = _same_strides(tensor, strides) and (device.type == "cpu" or tensor.data_ptr() % 16 == 0)
        results.append(tensor if fits else _restrided(tensor, strides))
    return tuple(results)


def _same_strides(tensor: torch.Tensor, strides: Sequence[int]) -> bool:
    if tensor.numel() == 0:
        return True
    return all(n == 1 or a == b for n, a, b in zip(tensor.shape, tensor.stride(), strides, strict=True))


def _restrided(tensor: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    copy = torch.empty_strided(tuple(tensor.shape), tuple(strides), dtype=tensor.dtype, device=tensor.device)
    return copy.copy_(tensor)
