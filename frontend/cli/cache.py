"""`tilewright cache`: what the compile cache holds, and keeping it small."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import click

from tilewright.targets.native.store import Entry, Store, is_whole

from ..environment import read_environment

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_DAY = 86_400
_EPILOG = """\b
Examples:
  tilewright cache list
  tilewright cache prune --max-size 500M --older-than 30
  tilewright cache --folder /tmp/other verify
"""


class Size(click.ParamType[int]):
    """Bytes, with K, M or G (powers of 1024) behind the number."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(r"(\d+)([KMG]?)i?B?", str(value), re.IGNORECASE)
        if match is None:
            self.fail(f"{value!r} is no size; write for example 500M or 2G", param, ctx)
        return int(match[1]) * _UNITS[match[2].upper()]


@click.group(epilog=_EPILOG)
@click.option("--folder", type=click.Path(path_type=Path), help="instead of TILEWRIGHT_CACHE_DIR or XDG's")
@click.pass_context
def command(ctx: click.Context, folder: Path | None) -> None:
    """Look at the compile cache, verify it, and remove what is damaged, old or too much."""
    root = folder or read_environment().cache
    if not root.is_dir() and (folder is not None or root.exists()):
        raise click.BadParameter(f"{root} is no folder", param_hint="--folder")
    ctx.obj = Store(root)


@command.command("list")
@click.pass_obj
def list_(store: Store) -> None:
    """Print kind, bytes, days since the last use and key of every entry."""
    now = time.time()
    for entry in store.entries():
        days = (now - entry.last_used) / _DAY if entry.kind != "damaged" else 0.0
        click.echo(f"{entry.kind:8} {entry.size:>12,} {days:8.1f} d  {entry.key}")


@command.command()
@click.pass_obj
def size(store: Store) -> None:
    """Print how many entries of each kind there are, and their bytes."""
    totals: dict[str, list[int]] = {}
    for entry in store.entries():
        count = totals.setdefault(entry.kind, [0, 0])
        count[0] += 1
        count[1] += entry.size
    for kind, (count, size) in sorted(totals.items()):
        click.echo(f"{kind:8} {count:6} entries {size:>15,} bytes")
    click.echo(
        f"{'total':8} {sum(c for c, _ in totals.values()):6} entries "
        f"{sum(s for _, s in totals.values()):>15,} bytes in {store.root}"
    )


@command.command()
@click.pass_context
def verify(ctx: click.Context) -> None:
    """Check every file against its checksum; status 1 where one is damaged (it would be built anew)."""
    store: Store = ctx.obj
    damaged = [entry for entry in store.entries() if not is_whole(entry.folder)]
    for entry in damaged:
        click.echo(f"damaged: {entry.folder}")
    click.echo(f"{len(damaged)} of {sum(1 for _ in store.entries())} entries are damaged")
    ctx.exit(1 if damaged else 0)


@command.command()
@click.option("--max-size", type=Size(), help="keep what was used last, up to so many bytes")
@click.option(
    "--older-than", type=click.FloatRange(min=0), metavar="DAYS", help="remove what was not used for so long"
)
@click.option("--all", "everything", is_flag=True, help="remove everything")
@click.pass_obj
def prune(store: Store, max_size: int | None, older_than: float | None, everything: bool) -> None:
    """Remove damaged and abandoned entries, and those that the options name."""
    removed, freed = store.remove_abandoned(), 0
    for entry in list(_unwanted(store, max_size, older_than, everything)):
        freed += entry.size
        removed += 1
        shutil.rmtree(entry.folder, ignore_errors=True)
    click.echo(f"removed {removed} entries, {freed:,} bytes")


def _unwanted(
    store: Store, max_size: int | None, older_than: float | None, everything: bool
) -> Iterator[Entry]:
    whole: list[Entry] = []
    for entry in store.entries():
        if everything or not is_whole(entry.folder):
            yield entry
        else:
            whole.append(entry)
    whole.sort(key=lambda entry: (-entry.last_used, entry.key))
    kept, now = 0, time.time()
    for entry in whole:
        old = older_than is not None and now - entry.last_used > older_than * _DAY
        if old or (max_size is not None and kept + entry.size > max_size):
            yield entry
        else:
            kept += entry.size
