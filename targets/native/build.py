"""C++ text to a shared library: compiler, flags, and everything that determines the result."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from .errors import CompilerFailed, NoCompiler
from .store import open_store

HERE = Path(__file__).resolve().parent
LIBRARY = "graph.so"
VERSION = "2"
"""Raised when cached libraries of older versions must not be used."""

_SEARCHED = ("g++", "clang++", "c++")
_MAX_OUTPUT = 4000
_PROGRAM_KILLED = ("signal terminated program", "unable to execute command: Killed", "failed due to signal")
"""What g++ and clang++, which live on, say of a compiler proper that a signal ended."""

FLAGS: Sequence[str] = (
    "-std=c++17",
    "-O2",
    "-shared",
    "-fPIC",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-strict-aliasing",
    "-fwrapv",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
    "-fvisibility=hidden",
    "-Wno-psabi",
)
"""`-ffast-math` is not among them: NaN, infinities, signed zeros and order of sums are kept."""


@dataclass(frozen=True)
class Recipe:
    """What a target adds to every build: flags of its own, and folders of headers besides this one."""

    flags: tuple[str, ...] = ()
    headers: tuple[Path, ...] = ()

    @property
    def folders(self) -> tuple[Path, ...]:
        return (HERE, *self.headers)


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler and what identifies it."""

    command: tuple[str, ...]
    identity: str

    @property
    def is_clang(self) -> bool:
        return "clang" in self.identity

    @property
    def openmp(self) -> str:
        """The flag for OpenMP.

        clang calls a runtime of its own, which torch does not bring along: the library would not
        load. Told of GNU's, clang makes loops of one thread.
        """
        return "-fopenmp=libgomp" if self.is_clang else "-fopenmp"


def find_compiler(environment: Mapping[str, str]) -> Compiler:
    """CXX, then the usual names on PATH; raises NoCompiler."""
    named = shlex.split(environment.get("CXX", ""))
    path = environment.get("PATH")
    candidates = [named] if named else [[name] for name in _SEARCHED]
    for words in candidates:
        found = shutil.which(words[0], path=path)
        if found is not None:
            return _identified((found, *words[1:]), *_stamp(found))
    looked_for = f"CXX={shlex.join(named)}" if named else ", ".join(_SEARCHED) + " on PATH"
    raise NoCompiler(looked_for=looked_for)


def _stamp(path: str) -> tuple[int, int]:
    """What changes when the compiler is replaced."""
    status = os.stat(path)
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=16)
def _identified(command: tuple[str, ...], modified: int, size: int) -> Compiler:
    """The real path and its stamp: asking for `--version` would start the compiler every time."""
    real = os.path.realpath(command[0])
    return Compiler(command, f"{real} {modified} {size} {' '.join(command[1:])}")


@lru_cache(maxsize=8)
def _headers_digest(folders: tuple[Path, ...]) -> bytes:
    digest = hashlib.sha256()
    for folder in folders:
        for header in sorted(folder.glob("*.h")):
            digest.update(header.name.encode() + b"\0" + header.read_bytes())
    return digest.digest()


def cache_key(source: str, compiler: Compiler, flags: Sequence[str], folders: tuple[Path, ...]) -> str:
    """Everything that determines the library."""
    digest = hashlib.sha256(_headers_digest(folders))
    for part in (VERSION, compiler.identity, "\0".join(flags), source):
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:40]


def default_cache_dir(environment: Mapping[str, str]) -> Path:
    """TILEWRIGHT_CACHE_DIR, else `tilewright` in XDG_CACHE_HOME, else in ~/.cache."""
    if given := environment.get("TILEWRIGHT_CACHE_DIR"):
        return Path(given)
    base = environment.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "tilewright"


def build(
    source: str,
    *,
    recipe: Recipe,
    cache_dir: Path,
    environment: Mapping[str, str],
    openmp: Path | None = None,
) -> Path:
    """The library of `source`, from the cache or compiled; `openmp` is the runtime to link."""
    compiler = find_compiler(environment)
    flags = [*FLAGS, compiler.openmp, *recipe.flags, *(f"-I{folder}" for folder in recipe.folders)]
    key = cache_key(source, compiler, [*flags, str(openmp or "")], recipe.folders)
    store = open_store(cache_dir)
    entry = store.find(key)
    if entry is None:
        link = ("-nostdlib", str(openmp), "-lm", "-lc", "-lgcc") if openmp else ()
        entry = store.make(key, "library", lambda work: _compile(source, work, compiler, flags, link))
    return entry / LIBRARY


def _compile(
    source: str, folder: Path, compiler: Compiler, flags: Sequence[str], link: Sequence[str]
) -> None:
    text, library = folder / "graph.cpp", folder / LIBRARY
    text.write_text(source)
    run_compiler([*compiler.command, *flags, str(text), "-o", str(library), *link])
    if not library.exists():
        name, how = compiler.command[0], f"succeeded, and wrote no {LIBRARY}"
        raise CompilerFailed(compiler=name, how=how, output="nothing was printed", advice="check CXX")


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run`, which at an interrupt may leave a process behind that it started just then."""
    pipe = subprocess.PIPE
    with ThreadPoolExecutor(1) as starter:  # where no interrupt comes in between
        starting = starter.submit(
            subprocess.Popen[str], command, stdout=pipe, stderr=pipe, text=True, errors="replace"
        )
        try:
            output, errors = starting.result().communicate()
        except BaseException:
            with starting.result() as process:
                process.kill()
            raise
    return subprocess.CompletedProcess(command, starting.result().returncode, output, errors)


def run_compiler(command: Sequence[str]) -> None:
    """Raises CompilerFailed with the compiler's output where it does not succeed."""
    try:
        done = _run(command)
    except OSError as error:
        raise CompilerFailed(
            compiler=command[0], how="could not be started", output=str(error), advice="check CXX"
        ) from error
    if done.returncode == 0:
        return
    output = (done.stderr or done.stdout or "no output").strip()[:_MAX_OUTPUT]
    killed = done.returncode < 0 or any(words in output for words in _PROGRAM_KILLED)
    how, advice = f"failed with status {done.returncode}", "report this with TILEWRIGHT_DUMP=dir"
    if killed:
        name = signal.Signals(-done.returncode).name if done.returncode < 0 else "a signal"
        how, advice = f"was killed by {name}", "free memory (it may have run out), then try again"
    raise CompilerFailed(compiler=command[0], how=how, output=output, advice=advice)
