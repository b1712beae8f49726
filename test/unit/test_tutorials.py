"""docs/tutorials: every file of a page is written, every command run, every output compared."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def matches(shown: str, actual: str) -> bool:
    """Byte for byte; a line of three dots stands for any lines."""
    parts = [re.escape(part) for part in re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)]
    return re.fullmatch(r"(?:.*\n)*?".join(parts), actual) is not None


def commands(block: str) -> list[tuple[str, str]]:
    """Each command of a console block with the output below it."""
    found = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    assert found, block
    return found


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_every_block_does_what_the_page_says(page: Path, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT / "test" / "importroot")]),
        "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONWARNINGS": "ignore",
    }
    ran = 0
    for language, title, content in BLOCK.findall(page.read_text()):
        if title:
            (tmp_path / title).write_text(content)
            continue
        assert language == "console", f"a block of {language} that nothing runs"
        for command, shown in commands(content):
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            assert matches(shown, done.stdout), f"{page.name}: $ {command}\n{done.stdout}"
            ran += 1
    assert ran >= 2


def test_all_pages_are_there() -> None:
    assert [page.stem for page in PAGES] == ["first-op", "first-pass", "first-target", "other-mlir"]


@pytest.mark.parametrize(
    ("shown", "actual", "same"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\n", "a\nb\n", False),
        ("a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("a\n...\n", "a\n", True),
        ("a\n...\nd\n", "a\nb\n", False),
        ("", "a\n", False),
    ],
)
def test_outputs_are_compared_to_the_byte(shown: str, actual: str, same: bool) -> None:
    assert matches(shown, actual) == same
