"""What generated C++ declares by hand, against the headers that torch and triton bring along."""

from __future__ import annotations

import ast
import ctypes
import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tilewright.frontend.fx.dtypes import ELEMENTS
from tilewright.targets.gpu_triton import driver, timing
from tilewright.targets.gpu_triton import launch as gpu_launch
from tilewright.targets.native import launch
from tilewright.targets.native.host_calls import DTYPES, element_name
from tilewright.targets.native.shims import SHIMS

TARGETS = Path(launch.__file__).parents[1]
SHIM_HEADERS = Path(torch.__file__).parent / "include/torch/csrc/inductor/aoti_torch"

_SAME: Mapping[str, str] = {
    "int64_t": "i64",
    "int32_t": "i32",
    "int": "i32",
    "unsigned int": "u32",
    "uint8_t": "u8",
    "size_t": "usize",
    "double": "f64",
    "AtenTensorHandle": "Handle",
    "CUDAGuardHandle": "void*",
    "CUdevice": "i32",
    "CUcontext": "void*",
    "CUstream": "void*",
    "CUfunction": "void*",
    "CUresult": "i32",
    "CUstreamCaptureStatus": "i32",
    "cuuint64_t": "u64",
}


def canonical(parameter: str, *, named: bool) -> str:
    """`const int64_t* sizes_ptr` -> `i64*`: without const and without the name."""
    words = re.sub(r"\bconst\b|/\*.*?\*/|\*", " ", parameter).split()
    base = " ".join(words[:-1] if named and len(words) > 1 else words)
    return _SAME.get(base, base) + "*" * parameter.count("*")


def declared(headers: Sequence[Path], pattern: str) -> dict[str, list[str]]:
    """C functions of headers: their parameters' types."""
    found: dict[str, list[str]] = {}
    for header in headers:
        text = re.sub(r"//[^\n]*", "", header.read_text())
        for name, parameters in re.findall(pattern, text):
            split = [part for part in parameters.split(",") if part.strip() not in ("", "void")]
            found[name] = [canonical(part, named=True) for part in split]
    return found


def table(file: str, name: str) -> dict[str, list[str]]:
    """The rows of an X-macro: `X(cuCtxSetCurrent, void*)`."""
    text = (TARGETS / file).read_text()
    body = re.search(rf"#define {name}\(X\)((?:.*\\\n)*.*\n)", text)
    assert body is not None, name
    rows = re.findall(r"X\((\w+), ([^)]*)\)", body[1])
    return {row: [canonical(part, named=False) for part in types.split(",")] for row, types in rows}


@pytest.fixture(scope="module")
def shims() -> dict[str, list[str]]:
    found = declared(sorted(SHIM_HEADERS.rglob("*.h")), r"AOTITorchError\s+(aoti_torch_\w+)\(([^)]*)\)")
    assert len(found) > 500
    return found


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("native/prelude_abi.h", "TW_TORCH_FUNCTIONS"),
        ("gpu_triton/prelude_cuda.h", "TW_CUDA_TORCH_FUNCTIONS"),
    ],
)
def test_functions_of_libtorch(shims: dict[str, list[str]], file: str, name: str) -> None:
    rows = table(file, name)
    assert rows
    assert {row: shims[row] for row in rows} == rows


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_operators_of_libtorch(shims: dict[str, list[str]], device: str) -> None:
    """Rows that this torch does not export are never called: `exports` looks first."""
    checked = 0
    for shim in SHIMS.values():
        symbol = shim.symbol.replace("_cpu_", f"_{device}_", 1)
        if symbol in shims:
            assert shims[symbol] == [canonical(part, named=False) for part in shim.declaration.split(",")]
            checked += 1
        else:
            assert device == "cuda" or not launch.exports(symbol), f"{symbol} has no declaration"
    assert checked > 30


def test_numbers_of_libtorch() -> None:
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib/libtorch_cpu.so"))
    names = {element_name(element): str(dtype).removeprefix("torch.") for dtype, element in ELEMENTS.items()}
    assert DTYPES == {name: getattr(library, f"aoti_torch_dtype_{names[name]}")() for name in names}
    assert gpu_launch._CUDA == library.aoti_torch_device_type_cuda()
    ui8 = re.search(r"UI8 = (\d+);", (TARGETS / "gpu_triton/prelude_cuda.h").read_text())
    assert ui8 is not None
    assert int(ui8[1]) == DTYPES["ui8"]


@pytest.fixture(scope="module")
def cuda_h() -> Path:
    triton = find_spec("triton")
    if triton is None or triton.origin is None:
        pytest.skip("triton, which brings cuda.h along, is not installed")
    return Path(triton.origin).parent / "backends" / "nvidia" / "include" / "cuda.h"


def test_functions_of_the_driver(cuda_h: Path) -> None:
    rows = table("gpu_triton/prelude_cuda.h", "TW_DRIVER_FUNCTIONS")
    found = declared([cuda_h], r"CUresult CUDAAPI (\w+)\(([^)]*)\)")
    assert "cuLaunchKernel" in rows
    assert {row: found[row] for row in rows} == rows


def test_functions_of_the_driver_have_no_newer_version(cuda_h: Path) -> None:
    """`cuda.h` renames some functions (`#define cuMemHostGetDevicePointer ..._v2`): libcuda's names count.

    (13.0 renames cuEventElapsedTime, too; the first one stays, and does for events that were recorded.)
    """
    renamed = dict(re.findall(r"#define (cu\w+) +(cu\w+_v\d+)\b", cuda_h.read_text()))
    called = table("gpu_triton/prelude_cuda.h", "TW_DRIVER_FUNCTIONS").keys()
    text = "".join(Path(module.__file__).read_text() for module in (driver, timing))
    by_name = set(re.findall(r"library\.(cu\w+)|\"(cu[A-Z]\w+)\"", text))
    exported = cuda_h.read_text()
    for name in sorted({*called, *(a or b for a, b in by_name)} - {"cuEventElapsedTime"}):
        assert name not in renamed, f"{renamed.get(name)} is meant"
        assert re.search(rf"CUresult CUDAAPI {name.removesuffix('_v2')}\(", exported), name


def called_from_python(module: ModuleType) -> list[tuple[str, int | None]]:
    """Functions of libcuda that a module calls, and with how many arguments; None with a starred one."""
    assert module.__file__ is not None
    found: list[tuple[str, int | None]] = []
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name, args = node.func.attr, node.args
        if name == "call" and isinstance(args[0], ast.Constant):
            name, args = str(args[0].value), args[1:]
        if name.startswith("cu"):
            starred = any(isinstance(arg, ast.Starred) for arg in args)
            found.append((name, None if starred else len(args)))
    return found


@pytest.mark.parametrize("module", [driver, timing])
def test_functions_of_the_driver_called_from_python(cuda_h: Path, module: ModuleType) -> None:
    known = declared([cuda_h], r"CUresult CUDAAPI (\w+)\(([^)]*)\)")
    calls = called_from_python(module)
    assert len(calls) > 8
    for name, count in calls:
        parameters = known.get(name) or known[name.removesuffix("_v2")]
        assert count in (None, len(parameters)), name


NUMBERS = [
    (driver, "_CORES", "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT"),
    (timing, "_L2_BYTES", "CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE"),
    (timing, "_NON_BLOCKING", "CU_STREAM_NON_BLOCKING"),
    (driver, "_PREFER_SHARED", "CU_FUNC_CACHE_PREFER_SHARED"),
    (driver, "_BAD_IMAGE", "CUDA_ERROR_INVALID_IMAGE"),
    (driver, "_NO_BINARY", "CUDA_ERROR_NO_BINARY_FOR_GPU"),
    (driver, "_BAD_PTX", "CUDA_ERROR_INVALID_PTX"),
    (driver, "_NEWER_PTX", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
    (driver, "_OUT_OF_MEMORY", "CUDA_ERROR_OUT_OF_MEMORY"),
    (driver, "_MAJOR", "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR"),
    (driver, "_MINOR", "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR"),
    (driver, "_SHARED_OPTIN", "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
    (driver, "_MAX_DYNAMIC_SHARED", "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES"),
    (driver, "_PORTABLE_AND_MAPPED", "CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP"),
]


def number(cuda_h: Path, name: str) -> int:
    """Of an enumerator or of a macro."""
    found = re.search(rf"\b{name}(?: *= *| +)(0x\w+|\d+)\b", cuda_h.read_text())
    assert found is not None, name
    return int(found[1], 0)


@pytest.mark.parametrize(("module", "ours", "theirs"), NUMBERS)
def test_numbers_of_the_driver(cuda_h: Path, module: ModuleType, ours: str, theirs: str) -> None:
    assert getattr(module, ours) == sum(number(cuda_h, name) for name in theirs.split(" | "))


def test_every_number_of_the_driver_is_compared() -> None:
    constants = [name for name, value in vars(driver).items() if isinstance(value, int) and name[0] == "_"]
    assert sorted(constants) == sorted(ours for module, ours, _ in NUMBERS if module is driver)
