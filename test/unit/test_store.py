"""The store of compiled artefacts: whole or nothing, whatever happens to it."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tilewright.targets.native.errors import CacheUnwritable
from tilewright.targets.native.store import MANIFEST, Store, is_whole, open_store

KEY = "3f" + "0" * 38


def writes(text: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / "a.txt").write_text(text)
        (folder / "b.bin").write_bytes(text.encode())

    return write


def test_what_was_made_is_found(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.find(KEY) is None
    made = store.make(KEY, "text", writes("hello"))
    assert made == store.find(KEY) == tmp_path / "3f" / KEY
    (entry,) = store.entries()
    assert (entry.key, entry.kind) == (KEY, "text")
    assert entry.size > 10


@pytest.mark.parametrize("damage", ["change", "remove", "add", "manifest", "empty manifest"])
def test_damage_is_found_and_removed(tmp_path: Path, damage: str) -> None:
    store = Store(tmp_path)
    folder = store.make(KEY, "text", writes("hello"))
    match damage:
        case "change":
            (folder / "a.txt").write_text("hellO")
        case "remove":
            (folder / "b.bin").unlink()
        case "add":
            (folder / "c").touch()
        case "manifest":
            (folder / MANIFEST).unlink()
        case _:
            (folder / MANIFEST).write_text("")
    assert not is_whole(folder)
    assert store.find(KEY) is None
    assert not folder.exists()
    assert is_whole(store.make(KEY, "text", writes("hello")))


def test_a_maker_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fails(folder: Path) -> None:
        (folder / "a.txt").write_text("half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Store(tmp_path).make(KEY, "text", fails)
    assert [file for file in tmp_path.rglob("*") if not file.is_dir()] == []
    assert list(Store(tmp_path).entries()) == []


def test_of_several_makers_the_first_wins(tmp_path: Path) -> None:
    barrier = threading.Barrier(4)
    made: list[Path] = []

    def make() -> None:
        def write(folder: Path) -> None:
            barrier.wait()
            writes("same")(folder)

        made.append(Store(tmp_path).make(KEY, "text", write))

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 4
    assert len(set(made)) == 1
    assert is_whole(made[0])
    assert len(list(made[0].parent.iterdir())) == 1


def test_what_a_dead_process_left_goes_after_an_hour(tmp_path: Path) -> None:
    old, young = tmp_path / "3f" / ".making-old", tmp_path / "3f" / ".making-young"
    old.mkdir(parents=True)
    young.mkdir()
    os.utime(old, (0, 0))
    assert Store(tmp_path).remove_abandoned() == 1
    assert young.exists()
    assert not old.exists()


def test_a_folder_that_cannot_be_written_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.warns(UserWarning, match="TW2105"):
        store = open_store(blocked / "cache")
    assert store.root.parent == tmp_path
    monkeypatch.setattr("tempfile.tempdir", str(blocked))
    with pytest.raises(CacheUnwritable, match="TW21"):
        open_store(blocked / "other")
