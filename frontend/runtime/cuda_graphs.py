"""`mode="reduce-overhead"`: a graph's launches are recorded once and replayed as one CUDA graph.

A recording holds for certain sizes and certain addresses. What may change between calls is
decided by looking, since AOTAutograd cannot tell for saved tensors: an argument that stood at one
address in the calls before the recording is used where it stands (parameters, and in a backward
graph what a recorded forward graph saved); any other is copied to memory of the recording.

Nothing that the caller can see differs from calls without recordings:

- Results live in memory of the recording, which the next replay overwrites. Where a result of
  the last replay is still alive, the call runs without the recording: no tensor ever changes
  under its owner. (torch's cudagraph trees overwrite it and raise when it is read.) Such a result is
  handed out as a copy from then on, so that `y = f(x)` in a loop has each but that one call replayed.
- An argument that the graph writes to must stand at its address, or the call runs without.
- Other sizes, or an argument that has moved, lead to another recording, up to MOST of them.
- What cannot be recorded (an operation that waits for the device, say) never is again.

Each reason is logged once per graph, to `tilewright.cuda_graphs`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from threading import Lock
from typing import Any, Protocol

import torch

from ..torch_internals import copy_each, raw_stream
from .call import Run

LOGGER = logging.getLogger("tilewright.cuda_graphs")
MOST = 8
"""Recordings of one graph; each has memory of its own."""
_WARM = 2
"""Calls before a recording: kernels are loaded, libraries have their workspaces, addresses are compared."""

_MOST_COPIED = 64 << 20
"""Bytes of results that are handed out as copies; a copy of more may take longer than launches do."""
_QUIET = 3
"""Replays after which copied arguments that have not moved count as staying."""


class Recorder(Protocol):
    """What records and replays on one device."""

    def possible(self) -> str:
        """Why nothing can be recorded or replayed just now; empty where it can."""
        ...

    def record(self, run: Run, args: Sequence[Any]) -> tuple[Callable[[], None], Sequence[Any]]:
        """(what replays `run(args)`, the results, which each replay writes anew); runs nothing yet."""
        ...


@dataclass
class _Recording:
    """One recorded call."""

    addresses: tuple[int, ...]
    """Of the arguments that are used where they stand; 0 for others."""
    memory: Mapping[int, torch.Tensor]
    """The others, as far as they are tensors: where the recording reads what a call gives."""
    replay: Callable[[], None]
    results: Sequence[Any]
    uses: tuple[int, ...]
    """Of each result's memory, by the recording alone."""
    last: tuple[int, ...]
    """Addresses of the arguments of the last replay that were copied."""
    quiet: int = 0
    """So many replays, one after the other, at the same addresses."""

    def __post_init__(self) -> None:
        self._stay = _picker([i for i, address in enumerate(self.addresses) if address])
        self._standing = self._stay(self.addresses)
        self.given = _picker(list(self.memory))
        """Of a call's arguments those to copy."""

    def moved(self, args: Sequence[Any]) -> list[int]:
        """The arguments that are not where the recording uses them."""
        if _where(self._stay(args)) == self._standing:
            return []
        return [i for i, address in enumerate(self.addresses) if address and args[i].data_ptr() != address]

    def copy(self, args: Sequence[Any]) -> None:
        """Hand a call's arguments to the recording, by one launch where they are alike."""
        if len(self.memory) > 1:
            copy_each([*self.memory.values()], self.given(args))
        else:
            for i, there in self.memory.items():
                there.copy_(args[i])

    def alive(self) -> list[int]:
        """The results of the last replay that somebody still holds."""
        pairs = zip(self.results, self.uses, strict=True)
        return [i for i, (result, uses) in enumerate(pairs) if _uses(result) > uses]


@dataclass
class _Sizes:
    """What is known about calls with certain sizes."""

    seen: int = 0
    addresses: tuple[int, ...] = ()
    """Of the arguments that stood at one address so far; 0 for others."""
    moved: set[int] = field(default_factory=set[int])
    """Arguments that did not stay where a recording used them: they are copied from then on."""
    recording: _Recording | None = None
    copied: frozenset[int] = frozenset()
    """Results that are handed out as copies."""

    def keep(self, alive: Sequence[int], results: Sequence[Any]) -> None:
        """Have copies made of results that outlive the next call: small ones, each with memory of its own."""
        copied = self.copied | {*alive}
        tensors = [results[i] for i in sorted(copied)]
        shared = any(_shares(r, other) for r in tensors for other in results if r is not other)
        size = sum(r.numel() * r.element_size() for r in tensors)
        if size <= _MOST_COPIED and not shared and not any(map(_repeats, tensors)):
            self.copied = copied

    def stay(self, addresses: Sequence[int]) -> None:
        """Take these addresses for those of arguments that stay, but for those that have moved before."""
        self.addresses = tuple(0 if i in self.moved else a for i, a in enumerate(addresses))


@dataclass
class Recorded:
    """`run`, replayed where that is safe."""

    run: Run
    written: frozenset[int]
    recorder: Recorder
    check: Callable[[], None] = lambda: None
    """Raises what a kernel of an earlier call has reported."""
    fixed: bool = False
    """Whether sizes and strides are the same in each call: guards see to it where none is a symbol."""
    counts: dict[str, int] = field(default_factory=dict[str, int])
    """How many calls went which way: `replayed`, or the reason why not."""
    _known: dict[tuple[object, ...], _Sizes] = field(default_factory=dict[tuple[object, ...], _Sizes])
    _recordings: int = 0
    _never: str = ""
    _lock: Lock = field(default_factory=Lock)

    def __call__(self, args: list[Any]) -> Sequence[Any]:
        if not self._lock.acquire(blocking=False):
            return self._plain(args, "another thread is in the graph")
        try:
            reason = self._never or self.recorder.possible()
            if reason:
                return self._plain(args, reason)
            return self._call(args)
        finally:
            self._lock.release()

    def _plain(self, args: list[Any], reason: str) -> Sequence[Any]:
        if reason not in self.counts:
            LOGGER.info("a call runs without its CUDA graph: %s", reason)
        self.counts[reason] = self.counts.get(reason, 0) + 1
        return self.run(args)

    def _call(self, args: list[Any]) -> Sequence[Any]:
        key = () if self.fixed else _sizes(args)
        if (known := self._known.get(key)) is None:
            known = self._known[key] = _Sizes()
        recording = known.recording
        if recording is None:
            return self._watched(known, _addresses(args), args)
        if moved := recording.moved(args):
            known.moved.update(moved)
            known.stay(recording.addresses)
            return self._new(known, args)
        if alive := recording.alive():
            known.keep(alive, recording.results)
            return self._plain(args, "a result of its last call is still alive")
        if self._settled(recording, args) and self._recordings < MOST:
            known.stay(_addresses(args))
            if known.addresses != recording.addresses:
                return self._new(known, args)
        return self._replay(known, recording, args)

    def _watched(self, known: _Sizes, addresses: tuple[int, ...], args: list[Any]) -> Sequence[Any]:
        known.stay(_common(known.addresses, addresses) if known.seen else addresses)
        known.seen += 1
        if known.seen <= _WARM:
            return self._plain(args, "its arguments are being watched")
        return self._new(known, args)

    @staticmethod
    def _settled(recording: _Recording, args: Sequence[Any]) -> bool:
        """Whether copied arguments have stood still for a while (a recorded forward graph saved them)."""
        addresses = _where(recording.given(args))
        recording.quiet = recording.quiet + 1 if addresses == recording.last else 0
        recording.last = addresses
        return recording.quiet == _QUIET

    def _new(self, known: _Sizes, args: list[Any]) -> Sequence[Any]:
        known.recording = None
        writes = [i for i in self.written if isinstance(args[i], torch.Tensor) and not known.addresses[i]]
        if writes:
            return self._plain(args, f"it writes to argument {writes[0]}, which moves from call to call")
        if self._recordings == MOST:
            return self._plain(args, f"it has {MOST} recordings already")
        if repeats := [i for i, arg in enumerate(args) if not known.addresses[i] and _repeats(arg)]:
            return self._plain(args, f"argument {repeats[0]} is expanded, and moves from call to call")
        return self._record(known, args)

    def _record(self, known: _Sizes, args: list[Any]) -> Sequence[Any]:
        memory = [
            _copy(arg) if isinstance(arg, torch.Tensor) and not known.addresses[i] else arg
            for i, arg in enumerate(args)
        ]
        # Tensors that stay are not kept alive: only their addresses count, and are compared in each call.
        held = {i: m for i, m in enumerate(memory) if isinstance(m, torch.Tensor) and not known.addresses[i]}
        try:
            replay, results = self.recorder.record(self.run, memory)
        except Exception as error:
            self._never = f"it cannot be recorded: {error}"
            return self._plain(args, self._never)
        if any(_shares(result, arg) for result in results for arg in memory):
            self._never = "a result is one of its arguments, or shares memory with one"
            return self._plain(args, self._never)
        del memory
        self._recordings += 1
        last = _where([args[i] for i in held])
        recording = known.recording = _Recording(
            known.addresses, held, replay, results, tuple(map(_uses, results)), last
        )
        return self._replay(known, recording, args)

    def _replay(self, known: _Sizes, recording: _Recording, args: list[Any]) -> Sequence[Any]:
        self.check()
        recording.copy(args)
        recording.replay()
        args.clear()
        self.counts["replayed"] = self.counts.get("replayed", 0) + 1
        return tuple(_handed(r, copied=i in known.copied) for i, r in enumerate(recording.results))


def recorded(
    run: Run, device: int, written: Sequence[int], check: Callable[[], None], *, fixed: bool
) -> Recorded:
    """`run`, replayed by the driver where that is safe."""
    return Recorded(run, frozenset(written), CudaRecorder(device), check, fixed)


class CudaRecorder:
    """Records with torch.cuda."""

    def __init__(self, device: int) -> None:
        self._device = torch.device("cuda", device)
        self._last: tuple[int, Any] | None = None
        """The stream of the last replay, as the driver and as torch name it."""

    def possible(self) -> str:
        if torch.cuda.is_current_stream_capturing():
            return "its stream is recording already"
        return ""

    def record(self, run: Run, args: Sequence[Any]) -> tuple[Callable[[], None], Sequence[Any]]:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.device(self._device):
            torch.cuda.synchronize()
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                results = tuple(run(list(args)))

        def replay() -> None:
            self._in_order()
            graph.replay()

        def replay_there() -> None:
            if torch.cuda.current_device() == self._device.index:
                return replay()  # to enter a device takes longer than to replay
            with torch.cuda.device(self._device):
                replay()

        return replay_there, results

    def _in_order(self) -> None:
        """Replays share memory: one on another stream waits for the last."""
        now = raw_stream(self._device.index)
        if self._last is not None and self._last[0] == now:
            return
        stream = torch.cuda.current_stream()
        if self._last is not None:
            stream.wait_stream(self._last[1])
        self._last = (now, stream)


def _picker(numbers: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """What takes these of a list."""
    if len(numbers) > 1:
        return itemgetter(*numbers)
    return lambda items: tuple(items[i] for i in numbers)


def _where(tensors: Sequence[torch.Tensor]) -> tuple[int, ...]:
    return tuple(map(torch.Tensor.data_ptr, tensors))


def _sizes(args: Sequence[Any]) -> tuple[object, ...]:
    """What a recording is made for, but for addresses."""
    return tuple((arg.shape, arg.stride()) if isinstance(arg, torch.Tensor) else arg for arg in args)


def _addresses(args: Sequence[Any]) -> tuple[int, ...]:
    """Of tensors; 0 for others."""
    return tuple(arg.data_ptr() if isinstance(arg, torch.Tensor) else 0 for arg in args)


def _common(before: Sequence[int], now: Sequence[int]) -> tuple[int, ...]:
    return tuple(a if a == b else 0 for a, b in zip(before, now, strict=True))


def _repeats(arg: Any) -> bool:
    """Whether elements of a tensor share memory, so that it cannot be copied as it is."""
    if not isinstance(arg, torch.Tensor):
        return False
    return any(n > 1 and stride == 0 for n, stride in zip(arg.shape, arg.stride(), strict=True))


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    """The same in memory of its own."""
    memory = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)
    return memory.copy_(tensor)


def _handed(result: Any, *, copied: bool) -> Any:
    """A result as the caller gets it."""
    if not isinstance(result, torch.Tensor):
        return result
    return _copy(result) if copied else result.detach()


def _uses(result: Any) -> int:
    """How many tensors hold the memory of a result."""
    if not isinstance(result, torch.Tensor):
        return 0
    storage = result.untyped_storage()
    return torch._C._storage_Use_Count(storage._cdata)  # pyright: ignore


def _shares(result: Any, arg: Any) -> bool:
    if not isinstance(result, torch.Tensor) or not isinstance(arg, torch.Tensor):
        return False
    return result.untyped_storage()._cdata == arg.untyped_storage()._cdata  # pyright: ignore
