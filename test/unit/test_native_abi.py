"""What generated C++ declares by hand, against the headers that torch and triton bring along."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from tilewright.targets.gpu_triton import driver, timing
from tilewright.targets.native import launch
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


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("_CORES", "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT"),
        ("_L2_BYTES", "CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE"),
        ("_NON_BLOCKING", "CU_STREAM_NON_BLOCKING"),
        ("_PREFER_SHARED", "CU_FUNC_CACHE_PREFER_SHARED"),
        ("_BAD_IMAGE", "CUDA_ERROR_INVALID_IMAGE"),
        ("_NO_BINARY", "CUDA_ERROR_NO_BINARY_FOR_GPU"),
        ("_BAD_PTX", "CUDA_ERROR_INVALID_PTX"),
        ("_NEWER_PTX", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
        ("_OUT_OF_MEMORY", "CUDA_ERROR_OUT_OF_MEMORY"),
        ("_MAJOR", "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR"),
        ("_MINOR", "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR"),
        ("_SHARED_OPTIN", "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
        ("_MAX_DYNAMIC_SHARED", "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES"),
    ],
)
def test_numbers_of_the_driver(cuda_h: Path, ours: str, theirs: str) -> None:
    found = re.search(rf"\b{theirs} *= *(0x\w+|\d+)", cuda_h.read_text())
    assert found is not None
    assert getattr(driver, ours, None) or getattr(timing, ours) == int(found[1], 0)
