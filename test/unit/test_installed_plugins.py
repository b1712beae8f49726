"""Plug-ins of installed packages, by their entry points, in processes of their own."""

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest


def install(folder: Path, name: str, points: str, code: str) -> None:
    """A package as pip leaves it."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(dedent(points))
    (folder / f"{name}.py").write_text(dedent(code))


PASSES = """
from xdsl.dialects.builtin import StringAttr
import tilewright

def plain(ctx, module):
    "Mark the module."
    module.attributes["plain"] = StringAttr("yes")

@tilewright.register_pass("decorated")
def decorated(ctx, module, *, text: str = "yes"):
    "Mark the module, too."
    module.attributes["decorated"] = StringAttr(text)
"""
POINTS = "[tilewright.passes]\nplain = pkg:plain\ndecorated = pkg:decorated\n"


def opt(folder: Path, *arguments: str, module: str = "builtin.module {}") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tilewright.frontend.tools.opt_tool", *arguments]
    path = f"{folder}:{Path(__file__).parents[1] / 'importroot'}"
    environment = {"PYTHONPATH": path, "PATH": ""}
    return subprocess.run(command, input=module, capture_output=True, text=True, env=environment, check=False)


def test_passes_of_an_installed_package_run_by_name(tmp_path: Path) -> None:
    install(tmp_path, "pkg", POINTS, PASSES)
    done = opt(tmp_path, "-p", "plain,decorated{text=t}")
    assert done.returncode == 0, done.stderr
    assert 'plain = "yes"' in done.stdout
    assert 'decorated = "t"' in done.stdout
    listed = opt(tmp_path, "--list-passes")
    assert "Mark the module, too." in listed.stdout


@pytest.mark.parametrize(
    ("points", "code", "passes", "message"),
    [
        ("[tilewright.passes]\nx = pkg:gone\n", "", "x", "TW3911: the plug-in `x`"),
        ("[tilewright.passes]\nx = pkg:f\n", "1 / 0", "x", "ZeroDivisionError"),
        ("[tilewright.passes]\nx = pkg:f\n", "f = 3", "x", "neither a ModulePass class nor a function"),
        ("[tilewright.passes]\ncse = pkg:f\n", "", "cse", "TW3907: a pass named `cse` exists already"),
        ("[tilewright.passes]\nx = pkg:f\n", "", "y", "TW3901: no pass is named `y`"),
        ("[tilewright.dialects]\ntw = pkg:f\n", "", "cse", "TW3907: a dialect named `tw` exists already"),
    ],
)
def test_broken_packages_are_named(tmp_path: Path, points: str, code: str, passes: str, message: str) -> None:
    install(tmp_path, "pkg", points, code)
    done = opt(tmp_path, "-p", passes)
    assert done.returncode == 1
    assert message in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    if "TW3911" in message:
        assert "uninstall the package pkg 1.0" in done.stderr


def test_a_broken_package_does_not_hide_the_passes_of_others(tmp_path: Path) -> None:
    install(tmp_path, "pkg", "[tilewright.passes]\nbroken = pkg:gone\n", "")
    listed = opt(tmp_path, "--list-passes")
    assert listed.returncode == 1
    assert "broken\n    TW3911: the plug-in `broken`" in listed.stdout
    assert listed.stdout.index("broken\n") < listed.stdout.index("verify-upstream\n")


WITH_DIALECT = """
import tilewright
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition

@irdl_op_definition
class MarkOp(IRDLOperation):
    name = "mine.mark"
    assembly_format = "attr-dict"

MINE = tilewright.register_dialect(Dialect("mine", [MarkOp], []))
"""


def test_a_module_may_register_what_its_entry_point_names(tmp_path: Path) -> None:
    install(tmp_path, "pkg", "[tilewright.dialects]\nmine = pkg:MINE\n", WITH_DIALECT)
    for arguments in ([], ["--load", "pkg"]):
        done = opt(tmp_path, *arguments, module="builtin.module { mine.mark }")
        assert "mine.mark" in done.stdout, done.stderr


def test_tools_without_plug_ins_do_not_load_the_metadata_of_packages(tmp_path: Path) -> None:
    program = "import sys; from tilewright.dialects.registry import new_context; new_context()\n"
    program += "print('importlib.metadata' in sys.modules)"

    def loads_metadata() -> str:
        path = f"{tmp_path}:{Path(__file__).parents[1] / 'importroot'}"
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env={"PYTHONPATH": path}, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert loads_metadata() == "False"
    install(tmp_path, "pkg", POINTS, PASSES)
    assert loads_metadata() == "True"


def test_two_packages_with_one_name_clash(tmp_path: Path) -> None:
    install(tmp_path, "pkg", "[tilewright.passes]\nx = pkg:f\n", "def f(ctx, module): ...")
    install(tmp_path, "qkg", "[tilewright.passes]\nx = qkg:f\n", "def f(ctx, module): ...")
    done = opt(tmp_path, "-p", "x")
    assert "TW3907: a pass named `x` exists already" in done.stderr
    assert "pkg:f of the package pkg 1.0, and qkg:f of the package qkg 1.0" in done.stderr


def test_the_fingerprint_changes_with_an_installed_file(tmp_path: Path) -> None:
    def fingerprint() -> str:
        program = "from tilewright.passes import registry; from tilewright.dialects import plugins\n"
        path = f"{tmp_path}:{Path(__file__).parents[1] / 'importroot'}"
        done = subprocess.run(
            [sys.executable, "-c", program + "print(plugins.fingerprint())"],
            env={"PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    assert fingerprint() == ""
    install(tmp_path, "pkg", POINTS, PASSES)
    first = fingerprint()
    assert first == fingerprint()
    (tmp_path / "pkg.py").write_text(PASSES + "# changed\n")
    assert fingerprint() not in ("", first)
