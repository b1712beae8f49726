"""What can go wrong between a scheduled module and a loaded library."""

from __future__ import annotations

from tilewright.dialects.diagnostics import CannotCompile, TilewrightError


class NoCppLowering(CannotCompile):
    """An op that has no row in the C++ tables."""

    code = "TW2101"
    what = "cpu_openmp cannot lower `{op}`"
    why = "{reason}"
    fix = "run the CPU pipeline first (tilewright-opt -p ...), or add a row to targets/cpu_openmp/rules.py"


class NotScheduled(TilewrightError):
    """A kernel whose loops are still implicit."""

    code = "TW2102"
    what = "cpu_openmp got kernel @{name} without explicit loops"
    why = "only a `tk.func ... scheduled` says in which order to compute"
    fix = "run schedule-cpu and apply-schedule first"


class NoCompiler(CannotCompile):
    """No C++ compiler on this machine."""

    code = "TW2103"
    what = "no C++ compiler was found"
    why = "looked for {looked_for}"
    fix = "install one (Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++; conda: gxx), or set CXX"


class CompilerFailed(TilewrightError):
    """The C++ compiler rejected our source, crashed or was killed."""

    code = "TW2104"
    what = "{compiler} {how}"
    why = "{output}"
    fix = "{advice}"


class CacheUnwritable(TilewrightError):
    """Neither the cache folder nor a temporary one can be written."""

    code = "TW2105"
    what = "cannot write the compile cache {folder}"
    why = "{reason}"
    fix = "free some space there, or set TILEWRIGHT_CACHE_DIR (or XDG_CACHE_HOME) to a writable folder"


class LibraryUnloadable(TilewrightError):
    """The compiled library does not load, or libtorch lacks what it needs."""

    code = "TW2106"
    what = "cannot load the compiled graph {file}"
    why = "{reason}"
    fix = "use torch 2.11 to 2.13; delete {folder} if it came from another machine"
