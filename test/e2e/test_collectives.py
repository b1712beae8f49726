"""What several processes compute together: collectives run where the program says, and are waited for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import collective_cases
import pytest
import torch.distributed

_GLOO = torch.distributed.is_available() and torch.distributed.is_gloo_available()
pytestmark = pytest.mark.skipif(not _GLOO, reason="this torch has no gloo, by which processes meet")


@pytest.fixture(scope="module", params=["cpu_openmp", "gpu_emulated"])
def outcomes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[str]]:
    """What became of each case that is asked for in the two processes."""
    folder = tmp_path_factory.mktemp("processes")
    asked = {
        str(item.callspec.params["name"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path
    }
    script, environment = Path(collective_cases.__file__), {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}
    command = [sys.executable, str(script)]
    running = [
        subprocess.Popen(
            [*command, str(rank), str(folder), request.param, *sorted(asked)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        said = [process.communicate(timeout=300)[0] for process in running]
    finally:
        for process in running:
            process.kill()
    assert [process.returncode for process in running] == [0, 0], "\n".join(said)
    found = [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]
    return {name: [one[name] for one in found] for name in asked}


@pytest.mark.parametrize("name", collective_cases.CASES)
def test_two_processes(name: str, outcomes: dict[str, list[str]]) -> None:
    assert outcomes[name] == ["", ""], "\n".join(outcomes[name])
