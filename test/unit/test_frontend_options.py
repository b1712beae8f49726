"""Options: unknown names are refused with the nearest valid one; every field says what it does."""

from __future__ import annotations

import inspect
import re
from collections import OrderedDict
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tilewright.frontend.environment import read_environment
from tilewright.frontend.errors import BadOptionValue, UnknownMode, UnknownOption
from tilewright.frontend.options import MODES, Options, make_options, options_of_target
from tilewright.targets.registry import target


def test_defaults() -> None:
    assert make_options() == make_options({}, "default") == Options()


def test_unknown_option_names_the_nearest() -> None:
    with pytest.raises(UnknownOption, match=r"TW1001: unknown option `freez`(.|\n)*did you mean `freeze`\?"):
        make_options({"freez": True})


def test_unknown_mode_names_the_nearest() -> None:
    with pytest.raises(UnknownMode, match=r"TW1003(.|\n)*did you mean `max-autotune`"):
        make_options(None, "max-autotunee")


@pytest.mark.parametrize(
    "options",
    [
        {"freeze": 1},
        {"target": "fpga"},
        {"target": Path("cpu_openmp")},
        {"cache_dir": None},
        {"insert": ["dce"]},
        {"insert": {"after:fuse": "dce"}},
    ],
)
def test_bad_values(options: dict[str, object]) -> None:
    with pytest.raises(BadOptionValue, match="TW1002"):
        make_options(options)


@pytest.mark.parametrize("options", [["a"], [], "target=cpu_openmp", 3])
def test_options_are_a_mapping(options: Any) -> None:
    with pytest.raises(BadOptionValue, match=r"TW1002: option `options` cannot be(.|\n)*a mapping"):
        make_options(options)


@pytest.mark.parametrize("name", [3, None, ("freeze",)])
def test_names_that_are_no_texts(name: Any) -> None:
    with pytest.raises(UnknownOption, match="TW1001"):
        make_options({name: True})
    with pytest.raises(UnknownMode, match="TW1003"):
        make_options(None, [name])  # pyright: ignore[reportArgumentType]


def test_paths_and_any_mapping() -> None:
    insert = OrderedDict([("after:fuse", ("dce",))])
    found = make_options({"dump": Path("/d"), "cache_dir": Path("/c"), "insert": insert})
    assert found == make_options({"dump": "/d", "cache_dir": "/c", "insert": {"after:fuse": ("dce",)}})
    assert make_options(MappingProxyType({"target_options": insert})).target_options == dict(insert)
    with pytest.raises(BadOptionValue, match="a str or a path"):
        make_options({"dump": 3})


def test_options_of_targets_say_so() -> None:
    known = target("gpu_triton").options
    assert known
    with pytest.raises(BadOptionValue, match="option `target_options: "):
        options_of_target(target("gpu_triton"), dict.fromkeys(known, None))


def test_modes_are_sets_of_options() -> None:
    assert not make_options({"freeze": False}, "max-autotune").freeze
    for mode, chosen in MODES.items():
        assert all(getattr(make_options(None, mode), name) == value for name, value in chosen.items())


def test_every_field_has_a_doc_line() -> None:
    source = inspect.getsource(Options)
    for field in fields(Options):
        assert re.search(rf'    {field.name}: .*\n    """.+"""', source), field.name


def test_environment() -> None:
    found = read_environment(
        {"TILEWRIGHT_DUMP": "/d", "TILEWRIGHT_CACHE_DIR": "/c", "TILEWRIGHT_VERIFY": "1"}
    )
    assert (found.dump, found.cache, found.verify_each) == (Path("/d"), Path("/c"), True)
    assert read_environment({"XDG_CACHE_HOME": "/x"}).cache == Path("/x/tilewright")
