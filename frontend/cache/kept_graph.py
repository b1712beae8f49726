"""Compiled graphs as AOTAutograd's cache keeps them, so that a later process skips tracing and passes.

torch looks an entry up by Dynamo's graph, its inputs, torch's settings and our key (cache_key.py).
A hit unpickles a `KeptGraph`, whose code finds its library by content. Parameters are no
part of an entry: what is derived from them is derived, and guarded, in each process.
"""

from __future__ import annotations

import hashlib
import logging
import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from torch._dynamo.utils import counters
from torch._functorch._aot_autograd.autograd_cache import (
    BypassAOTAutogradCache,
    FXGraphCacheMiss,
    should_use_local_autograd_cache,
)
from torch._functorch._aot_autograd.schemas import SerializableAOTDispatchCompiler
from torch._inductor.output_code import OutputCode
from torch.fx import GraphModule

from tilewright.targets.native.store import Store, open_store

from ..environment import Environment, read_environment
from ..fx.graph import Boundary
from ..operators.own_operators import NAMESPACE, operators
from ..options import Options
from ..runtime.call import Boxed, make_call, no_work
from ..runtime.code import Code
from ..runtime.compiling import Compiled, Compiling
from ..runtime.request import Request
from ..torch_internals import guards_of_floats, keep_saved_tensors
from .cache_key import ATTRIBUTE, Unkept, backward_token, graph_key

LOGGER = logging.getLogger("tilewright.cache")
COUNTERS = "tilewright"
"""Ours among torch._dynamo.utils.counters: graph_compiled, graph_loaded, graph_not_kept."""
_FILE = "graph"


Import = Callable[[GraphModule, Sequence[Any]], Compiling]
"""Imports an ATen graph."""


def key_of(gm: GraphModule, names: Sequence[str], options: Options, environment: Environment) -> str | None:
    """Our part of the key, brought into torch's; None where this graph is not looked up."""
    if not should_use_local_autograd_cache():
        return None
    try:
        key = graph_key(gm, names, options, environment)
    except Unkept as reason:
        _not_kept(str(reason))
        return None
    setattr(gm, ATTRIBUTE, key)
    return key


def _not_kept(reason: str) -> None:
    counters[COUNTERS]["graph_not_kept"] += 1
    LOGGER.info("not cached: %s", reason)


def keeping(
    import_: Import, request: Request, key: str, begun: list[Compiling]
) -> SerializableAOTDispatchCompiler:
    """What AOTAutograd calls to compile a graph where its results are cached; `begun` is what it began with.

    The backward graph is compiled when it is first called. Its passes run at once where compilers are at
    work on the forward graph, which could only be waited for.
    """
    cache_dir, before = request.options.cache_dir, guards_of_floats()

    def compile_now(gm: GraphModule, inputs: Sequence[Any]) -> OutputCode:
        compiling = import_(gm, inputs)
        compiling.begin()
        begun.append(compiling)
        return KeptGraph(compiling, cache_dir, before)

    def compile_later(gm: GraphModule, inputs: Sequence[Any]) -> OutputCode:
        keep_saved_tensors()
        token, compiling = _token(gm, inputs, key), import_(gm, inputs)
        if any(each.busy for each in begun):
            with suppress(Exception):  # the call raises it
                compiling.lower()
        return KeptBackward(token, cache_dir, compiling)

    chosen = compile_later if request.kind == "backward" else compile_now
    return SerializableAOTDispatchCompiler(OutputCode, chosen)  # pyright: ignore[reportArgumentType]


def _token(gm: GraphModule, inputs: Sequence[Any], key: str) -> str:
    try:
        return backward_token(gm, inputs, key)
    except Unkept as reason:
        _not_kept(str(reason))
        return ""


@dataclass(frozen=True)
class Kept:
    """What is pickled."""

    boundary: Boundary
    code: Code | None
    cache_dir: str
    """The option; "" for what the environment says."""

    @staticmethod
    def of(compiled: Compiled, cache_dir: str) -> Kept:
        """Raises Unkept."""
        if compiled.boundary is None or compiled.reason:
            raise Unkept(compiled.reason)
        return Kept(compiled.boundary, compiled.code, cache_dir)

    def load(self) -> Boxed:
        """The boxed function, in this process."""
        from ..runtime.fallback import report

        environment = read_environment()
        folder = Path(self.cache_dir) if self.cache_dir else environment.cache
        report(self.boundary.fallbacks)
        if any(fallback.op.startswith(f"{NAMESPACE}::") for fallback in self.boundary.fallbacks):
            operators()  # tracing makes them known, which did not happen here
        run = no_work if self.code is None else self.code.load(folder, environment.variables)
        counters[COUNTERS]["graph_loaded"] += 1
        return make_call(self.boundary, run)

    def to_bytes(self) -> bytes:
        """With a checksum, so that a damaged entry is a miss."""
        data = pickle.dumps((self.boundary, self.code, self.cache_dir))
        return hashlib.sha256(data).digest() + data

    @staticmethod
    def from_bytes(content: bytes) -> Kept:
        """Raises ValueError where a bit has changed."""
        digest, data = content[:32], content[32:]
        if hashlib.sha256(data).digest() != digest:
            raise ValueError("the checksum of a compiled graph is wrong")
        return Kept(*pickle.loads(data))


class _Code(OutputCode):
    """What both kinds share: a function, called as AOTAutograd does."""

    def __init__(self, call: Boxed) -> None:
        super().__init__()
        self._call = call
        self._boxed_call = True

    def __call__(self, inputs: Sequence[Any]) -> Any:
        return self._call(inputs)  # pyright: ignore[reportArgumentType]

    def __copy__(self) -> _Code:
        return self  # torch copies because Inductor's code changes when it is prepared

    def set_triton_bundle(self, triton_bundle: Any) -> None:
        """Kernels of Inductor; there are none."""


class KeptGraph(_Code):
    """An inference or forward graph; its compilers may be at work until it is written or called."""

    def __init__(self, compiling: Compiling, cache_dir: str, float_guards: int) -> None:
        super().__init__(self._first_call)
        self._compiling, self._cache_dir = compiling, cache_dir
        self._float_guards = float_guards
        """Those of TorchDynamo, which it makes in every process."""
        self._kept: Kept | None = None
        counters[COUNTERS]["graph_compiled"] += 1

    def _first_call(self, args: list[Any]) -> Sequence[Any]:
        self._call = self._compiling.finish().call
        return self._call(args)

    def prepare_for_serialization(self) -> None:
        """Called before an entry is written, when all its graphs are imported.

        torch keeps the guards of sizes with an entry, but not those of floats: were one kept whose float
        became a constant, another value of the float would find it.
        """
        try:
            self._kept = Kept.of(self._compiling.finish(), self._cache_dir)
            if guards_of_floats() > self._float_guards:
                raise Unkept("a float of the program is a constant of the graph")
        except Unkept as reason:
            _not_kept(str(reason))
            raise BypassAOTAutogradCache(str(reason)) from reason

    def post_compile(self, example_inputs: Any, constants: Any, graph_kwargs: Any) -> None:
        """Called after an entry was read."""
        assert self._kept is not None
        self._call = self._kept.load()

    def __getstate__(self) -> bytes:
        assert self._kept is not None
        return self._kept.to_bytes()

    def __setstate__(self, content: bytes) -> None:
        super().__init__(_not_loaded)
        self._kept = Kept.from_bytes(content)


def _not_loaded(args: list[Any]) -> Sequence[Any]:
    raise AssertionError("torch calls post_compile first")


class KeptBackward(_Code):
    """A backward graph, which is compiled when it is first called and then stored under `token`.

    AOTAutograd writes the entry of both graphs when the forward graph is compiled; a program
    that never calls the backward graph does not pay for it.
    """

    def __init__(self, token: str, cache_dir: str, compiling: Compiling | None) -> None:
        super().__init__(self._first_call)
        self._token = token
        self._cache_dir = cache_dir
        self._compiling = compiling
        self._lock = Lock()

    def _first_call(self, args: list[Any]) -> Sequence[Any]:
        with self._lock:
            if self._compiling is not None:
                compiled = self._compiling.finish()
                self._store(compiled)
                self._call, self._compiling = compiled.call, None
        return self._call(args)

    def _store(self, compiled: Compiled) -> None:
        counters[COUNTERS]["graph_compiled"] += 1
        try:
            content = Kept.of(compiled, self._cache_dir).to_bytes()
        except Unkept as reason:
            _not_kept(str(reason))
            return
        store = _store_of(self._cache_dir)
        if self._token and store.find(self._token) is None:
            store.make(self._token, "graph", lambda folder: _write(folder, content))

    def prepare_for_serialization(self) -> None:
        """Called before the entry of both graphs is written."""
        if not self._token:
            raise BypassAOTAutogradCache("the backward graph has no name")

    def post_compile(self, example_inputs: Any, constants: Any, graph_kwargs: Any) -> None:
        """Load what the first call of some process stored; a miss where none did."""
        folder = _store_of(self._cache_dir).find(self._token)
        if folder is None:
            LOGGER.info("no compiled backward graph %s: compiling again", self._token)
            raise FXGraphCacheMiss
        self._call = Kept.from_bytes((folder / _FILE).read_bytes()).load()

    def __getstate__(self) -> tuple[str, str]:
        return self._token, self._cache_dir

    def __setstate__(self, state: tuple[str, str]) -> None:
        self.__init__(*state, None)


def _store_of(cache_dir: str) -> Store:
    """The store of that option; "" for what the environment says."""
    return open_store(Path(cache_dir) if cache_dir else read_environment().cache)


def _write(folder: Path, content: bytes) -> None:
    (folder / _FILE).write_bytes(content)
