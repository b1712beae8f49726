"""Tables of names that other packages may add to: passes, dialects, lowering rows, targets.

One mechanism for all of them. A table knows its own entries, what was added in this process
(`add`, behind decorators such as `register_pass`), and the entry points of installed packages:

    [project.entry-points."tilewright.passes"]
    my-pass = "my_package.passes:MyPass"

An entry point is imported when its name is first used. Two entries of one name are an error.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import CodeType
from typing import Any, Generic, Protocol, TypeVar

from .diagnostics import BrokenPlugin, RegistrationClash, UnknownName

T = TypeVar("T")


class _Hash(Protocol):
    def update(self, data: bytes, /) -> None: ...


@dataclass(frozen=True)
class Plugin:
    """An entry point of an installed package."""

    group: str
    name: str
    where: str
    """`module:attribute`"""
    package: str
    """Name and version of the package that declares it."""

    def __str__(self) -> str:
        return f"{self.where} of the package {self.package}"

    def declares(self, item: object) -> bool:
        """Whether this entry point stands for `item`, which its module adds by a decorator or call, too."""
        if ":".join(definition(item)) == self.where:
            return True
        spec = getattr(sys.modules.get(self.where.partition(":")[0]), "__spec__", None)
        return bool(getattr(spec, "_initializing", False))  # the module is being imported

    def load(self) -> object:
        """Import it; raises BrokenPlugin."""
        try:
            return load(self.where)
        except Exception as error:
            raise self.broken(f"{type(error).__name__}: {error}") from error

    def digest(self) -> str:
        """Of everything that decides what this plug-in does."""
        return (
            f"{self.where} {self.package} {_package_digest(self.where.partition('.')[0].partition(':')[0])}"
        )

    def broken(self, reason: str) -> BrokenPlugin:
        return BrokenPlugin(name=self.name, group=self.group, owner=self, package=self.package, reason=reason)


def load(where: str) -> Any:
    """The object at `module:attribute`."""
    module, _, attribute = where.partition(":")
    return getattr(import_module(module), attribute)


def _declares_plugins(folder: str) -> bool:
    """Whether some package in a folder of sys.path may have entry points for us; archives may."""
    if os.path.isfile(folder):
        return True
    try:
        names = [n for n in os.listdir(folder or ".") if n.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return False
    return any(_mentions_us(os.path.join(folder, name, "entry_points.txt")) for name in names)


def _mentions_us(file: str) -> bool:
    try:
        with open(file, "rb") as stream:
            return b"[tilewright." in stream.read()
    except OSError:
        return False


@cache
def _installed() -> Mapping[str, tuple[Plugin, ...]]:
    """The plug-ins of every installed package by group, in the order of their names."""
    if not any(map(_declares_plugins, sys.path)):
        return {}
    from importlib.metadata import entry_points  # 50 ms, which tools without plug-ins do not pay

    found: dict[str, set[Plugin]] = {}
    points = entry_points()
    for group in sorted(g for g in points.groups if g.startswith("tilewright.")):
        for point in points.select(group=group):
            package = "?" if point.dist is None else f"{point.dist.name} {point.dist.version}"
            # A package that is installed twice on sys.path is listed twice.
            found.setdefault(group, set()).add(Plugin(group, point.name, point.value, package))
    order = {g: sorted(all_, key=lambda p: (p.name, p.package, p.where)) for g, all_ in found.items()}
    return {group: tuple(plugins) for group, plugins in order.items()}


@dataclass
class Table(Generic[T]):
    """Name -> thing, for one kind of thing."""

    kind: str
    """What one entry is, in error messages: `pass`."""
    group: str
    """The entry point group, `tilewright.passes`."""
    own: Mapping[str, str | T]
    """The entries of this project: `module:attribute`, or the thing itself."""
    accept: Callable[[str, object], T]
    """Checks and adapts what an entry point of that name gave; raises TypeError with the reason."""
    added: dict[str, T] = field(default_factory=dict[str, T])
    """Entries that were added in this process."""
    _loaded: dict[str, T] = field(default_factory=dict[str, T])
    _plugins: Mapping[str, Plugin] | None = None

    def __post_init__(self) -> None:
        TABLES.append(self)

    def add(self, name: str, item: T) -> None:
        """Add an entry; the same definition may be added again (a reloaded module, a notebook cell)."""
        plugin = self.installed().get(name)
        owner = None if plugin is not None and plugin.declares(item) else self._owner(name, self.installed())
        known = self.added.get(name)
        if owner is None and known is not None and definition(known) != definition(item):
            owner = ".".join(definition(known))
        if owner is not None:
            raise RegistrationClash(kind=self.kind, name=name, owner=owner)
        self.added[name] = item

    def installed(self) -> Mapping[str, Plugin]:
        """The entry points of this group; raises RegistrationClash where two share a name."""
        if self._plugins is None:
            found: dict[str, Plugin] = {}
            for plugin in _installed().get(self.group, ()):
                owner = self._owner(plugin.name, found)
                if owner is not None:
                    raise RegistrationClash(kind=self.kind, name=plugin.name, owner=f"{owner}, and {plugin}")
                found[plugin.name] = plugin
            self._plugins = found
        return self._plugins

    def _owner(self, name: str, installed: Mapping[str, Plugin]) -> str | None:
        """Who has taken the name, in words."""
        own = self.own.get(name)
        if own is not None:
            return own if isinstance(own, str) else f"a {self.kind} of tilewright"
        return str(installed[name]) if name in installed else None

    def find(self, name: str) -> T | None:
        """The entry, imported if it has to be; None where there is none."""
        if name in self.added:
            return self.added[name]
        if name not in self._loaded:
            item = self._load(name)
            if item is None:
                return None
            self._loaded[name] = item
        return self._loaded[name]

    def _load(self, name: str) -> T | None:
        plugin = self.installed().get(name)  # first: a package that takes one of our names is told so
        own = self.own.get(name)
        if own is not None:
            return load(own) if isinstance(own, str) else own
        if plugin is None:
            return None
        item = plugin.load()
        if name in self.added:  # by a decorator
            return self.added[name]
        try:
            return self.accept(name, item)
        except TypeError as error:
            raise plugin.broken(str(error)) from error

    def get(self, name: str) -> T:
        """The entry; raises UnknownName."""
        found = self.find(name)
        if found is None:
            raise unknown_name(self.kind, name, self.names())
        return found

    def names(self) -> list[str]:
        """Every name that `get` knows, sorted."""
        return sorted({*self.own, *self.added, *self.installed()})


TABLES: list[Table[Any]] = []
"""All tables of this process, as they were made."""


def fingerprint() -> str:
    """A digest of all plug-ins, installed and added: it belongs into the keys of caches.

    Empty where there are none. What was added by a file is told apart by the text of that file, an
    installed package by the texts of its Python files, so that editing a plug-in changes the digest.
    """
    # Every group: the table of an installed one may belong to a module that is not imported yet.
    parts = [f"{p.group} {p.name} {p.digest()}" for plugins in _installed().values() for p in plugins]
    for table in sorted(TABLES, key=lambda table: table.group):
        parts += [f"{table.group} {n} {source_digest(item)}" for n, item in sorted(table.added.items())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest() if parts else ""


def added_by() -> Mapping[str, Sequence[str]]:
    """Module -> the names of what it added in this process, as `pass my-pass`; both sorted."""
    found: dict[str, list[str]] = {}
    for table in TABLES:
        for name, item in table.added.items():
            for module in _adders(item):
                found.setdefault(module, []).append(f"{table.kind} {name}")
    return {module: sorted(names) for module, names in sorted(found.items())}


def _adders(item: object) -> list[str]:
    """The modules that define an entry; instances (of Dialect, Target) are looked for by identity.

    The ops of a dialect may come from several modules, each of which registers its own.
    """
    if hasattr(item, "__qualname__"):
        return [definition(item)[0]]
    holders = [n for n, m in sorted(sys.modules.items()) if any(v is item for v in vars(m).values())]
    ops: Iterable[object] = getattr(item, "operations", ())
    found = dict.fromkeys([*holders[:1], *(definition(op)[0] for op in ops)])
    return list(found) or [definition(item)[0]]


def source_digest(item: object) -> str:
    """A digest of where something was defined: its file, or its own code where there is no file."""
    module, name = definition(item)
    path = getattr(sys.modules.get(module), "__file__", None)
    digest = hashlib.sha256(f"{module}:{name}".encode())
    if path is not None and Path(path).is_file():
        digest.update(Path(path).read_bytes())
    else:
        _add_code(digest, item)
    return digest.hexdigest()


def _add_code(digest: _Hash, item: object) -> None:
    """The byte code behind a function or class of a notebook or a prompt."""
    code: CodeType | None = getattr(item, "__code__", None)
    if code is not None:
        digest.update(code.co_code)
        for constant in code.co_consts:
            digest.update(marshal.dumps(constant))
    elif isinstance(item, type):
        for name in sorted(vars(item)):
            _add_code(digest, vars(item)[name])


@cache
def _package_digest(package: str) -> str:
    """The names and texts of all Python files of an importable top-level package or module."""
    spec = find_spec(package)
    digest = hashlib.sha256()
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    files = [path for folder in folders for path in sorted(Path(folder).rglob("*.py"))]
    if spec is not None and not folders and spec.origin is not None:
        files = [Path(spec.origin)]
    for path in files:
        digest.update(f"{path.name}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def definition(item: object) -> tuple[str, str]:
    """Where something was defined; instances answer for their class."""
    named = item if hasattr(item, "__qualname__") else type(item)
    return str(named.__module__), str(getattr(named, "__qualname__", named))


def unknown_name(kind: str, name: str, known: list[str]) -> UnknownName:
    """The error that proposes the nearest known name."""
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean `{near[0]}`?" if near else "nothing similar is registered"
    return UnknownName(kind=kind, name=name, hint=hint, known=", ".join(known))
