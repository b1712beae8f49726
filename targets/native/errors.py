"""What can go wrong between a scheduled module and a loaded library, and in its calls.

Errors of calls are also what eager raises (IndexError, RuntimeError, ...).
"""

from __future__ import annotations

from tilewright.dialects.diagnostics import CannotCompile, TilewrightError, UserMistake


class NoHostLowering(CannotCompile):
    """An op that cannot stand in a host plan, or an argument that no call can pass."""

    code = "TW2107"
    what = "cannot write the host code of `{op}`"
    why = "{reason}"
    fix = "run the target's whole pipeline (tilewright-opt --pipeline=...): only ops of `th` stand in a plan"


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


class CacheUnwritable(UserMistake):
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


class WrongArguments(TilewrightError, TypeError):
    """The native function was not given the list of tensors and sizes that it takes."""

    code = "TW2110"
    what = "{what}"
    why = "{why}"
    fix = "call what torch.compile returned; the native function takes what AOTAutograd passes"


class AtenFailed(TilewrightError, RuntimeError):
    """An operation that ATen runs raised an error."""

    code = "TW2111"
    what = "{what} failed"
    why = "{why}"
    fix = "correct the arguments of this operation; eager mode raises the same"


class UnexpectedResult(TilewrightError, RuntimeError):
    """ATen gave a result of another shape or dtype than tracing foretold."""

    code = "TW2112"
    what = "{what} failed"
    why = "{why}"
    fix = "report this operator: what it returns differs from what tracing foretold"


class OutOfMemory(TilewrightError, MemoryError):
    """No memory for temporaries or results."""

    code = "TW2113"
    what = "no memory for {what}"
    why = "{why}"
    fix = "use smaller batches, or free memory: the compiled graph's `trim()` returns what it keeps"


class FailedCheck(TilewrightError, RuntimeError):
    """A kernel found a value that it cannot work with."""

    code = "TW2114"
    what = "{what}"
    why = "{why}"
    fix = "correct the values that reach this line; eager mode checks them, too"


class IndexOutOfRange(FailedCheck, IndexError):
    """An index outside of the tensor (of gather, embedding, index_select, take, x[i], ...)."""


class DivisionByZero(FailedCheck, ZeroDivisionError):
    """An integer divided by zero."""


OUT_OF_RANGE = (
    "an index is not below the size of its dimension, or below -size, "
    "or negative where none counts from the end (gather, index_select, embedding)"
)

CHECKS = {
    "index out of range": (IndexOutOfRange, OUT_OF_RANGE),
    "division by zero": (DivisionByZero, "an integer has no quotient by zero"),
}
"""Message of `tk.assert` -> what it raises, and why."""

CALL_ERRORS: dict[int, type[TilewrightError]] = {
    int(error.code.removeprefix("TW")): error
    for error in (WrongArguments, AtenFailed, UnexpectedResult, OutOfMemory, FailedCheck)
}


def call_error(code: int, what: str, where: str, why: str) -> TilewrightError:
    """The error that a native function reports by its number."""
    if what in CHECKS:
        error, reason = CHECKS[what]
        why = f"{reason}; {why}" if why else reason
    else:
        error = CALL_ERRORS[code]
    return error(where=where or None, what=what, why=why or "a check of the model failed")


class UnknownOperator(TilewrightError):
    """A call of an operator that this process does not have."""

    code = "TW2119"
    what = "torch has no operator `{callee}`"
    why = "{reason}"
    fix = "{fix}"


def unknown_operator(callee: str) -> UnknownOperator:
    """The error, which knows the operators that the frontend makes."""
    if callee.startswith("tilewright::"):
        reason = "it stands for a call bound to Python functions, or on a dtype that the IR lacks"
        fix = "run it in the process that compiled the graph: no other has it"
    else:
        reason = "nothing has registered it here"
        fix = "import the package that does"
    return UnknownOperator(callee=callee, reason=reason, fix=fix)
