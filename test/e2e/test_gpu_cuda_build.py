"""torch's CUDA build without a GPU: torch.compile(model.cuda()) on a stand-in for the CUDA runtime."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).parent
SOURCE = HERE.parent / "gpu_stub" / "cudart.c"

pytestmark = [
    pytest.mark.skipif(torch.version.cuda is None, reason="this is not torch's CUDA build"),
    pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here: `test_gpu.py` uses it"),
]


def _build(folder: Path) -> Path:
    """The stand-in, against the headers of the runtime that torch was built for."""
    compiler = next((found for name in ("cc", "gcc") if (found := shutil.which(name))), None)
    headers = sorted(Path(torch.__file__).parents[1].glob("nvidia/*/include/cuda_runtime_api.h"))
    triton = find_spec("triton")
    if compiler is None or not headers or triton is None or triton.origin is None:
        pytest.skip("needs a C compiler, the headers of nvidia-cuda-runtime, and triton's")
    more = Path(triton.origin).parent / "backends" / "nvidia" / "include"  # crt/ is in no wheel of torch's
    library = folder / "libcuda.so.1"
    command = [compiler, "-std=gnu11", "-O1", "-shared", "-fPIC", "-I", str(headers[0].parent)]
    subprocess.run([*command, "-idirafter", str(more), str(SOURCE), "-o", str(library)], check=True)
    return library


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What each case raised: one process runs all of them, since it takes long to start."""
    library = _build(tmp_path_factory.mktemp("cuda"))
    environment = {
        **os.environ,
        "LD_PRELOAD": str(library),
        "LD_LIBRARY_PATH": str(library.parent),
        "DISABLE_ADDMM_CUDA_LT": "1",  # cuBLAS stands there, cuBLASLt does not
        "PYTHONPATH": os.pathsep.join([str(HERE.parent / "unit"), *filter(None, sys.path)]),
    }
    command = [sys.executable, str(HERE / "cuda_build_cases.py"), str(library)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_every_case_ran(outcomes: Mapping[str, str]) -> None:
    assert tuple(outcomes) == CASES


CASES = (
    "launches_on_the_current_stream",
    "a_backward_graph_in_a_thread_of_autograd",
    "products_of_halves",
    "another_device",
    "recorded_graphs",
    "one_graph_for_all_sizes",
    "many_threads",
    "scalars_of_the_cpu_and_constants",
    "what_moves_between_devices",
    "an_index_out_of_range",
    "no_memory",
)


@pytest.mark.parametrize("name", CASES)
def test_case(outcomes: Mapping[str, str], name: str) -> None:
    assert not outcomes[name], outcomes[name]
