"""The estimate by which tiles of products are chosen, at sizes that an H100 has timed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tilewright.passes.schedule.tiles.product_time import MOST_STAGES, Work

TIMED = {
    "residual": ((1024, 768, 768), 0, (64, 128), 6),
    "long sum": ((1024, 768, 3072), 0, (64, 128), 6),
    "gelu": ((1024, 3072, 768), 1, (64, 128), 3),
    "three heads": ((1024, 2304, 768), 0, (64, 128), 3),
    "odd rows": ((1576, 768, 3072), 0, (128, 128), 6),
    "large": ((4096, 4096, 4096), 1, (128, 256), 4),
    "gradient": ((3072, 768, 1024), 0, (64, 128), 3),
}
"""Rows, columns and sum; costly functions; the tile and the stages that took least, or 3% more."""


def work(rows: int, columns: int, depth: int, *, costly: int = 0, sums: int = 1, shared: int = 227) -> Work:
    return Work(
        rows=rows, columns=columns, depth=depth, batches=1, width=2, brought=(2, 2), deep=64, costly=costly,
        sums=sums, cores=132, shared=shared * 1024,
    )  # fmt: skip


def chosen(product: Work) -> tuple[int, int]:
    tiles = [(rows, columns) for rows in (64, 128) for columns in (32, 64, 128, 256)]
    return min(tiles, key=lambda t: (product.microseconds(*t, 8 if t[0] * t[1] >= 128 * 128 else 4), t))


@pytest.mark.parametrize("name", TIMED)
def test_what_was_fastest_is_chosen(name: str) -> None:
    sizes, costly, tile, stages = TIMED[name]
    product = work(*sizes, costly=costly)
    assert chosen(product) == tile
    assert product.stages(*tile) == stages


def test_stages_leave_room_for_the_programs_beside() -> None:
    """384 programs are three per multiprocessor: with a fourth stage there would be room for two."""
    product = work(1024, 3072, 768)
    assert product.programs(64, 128) == 384
    assert product.stages(64, 128) * product.step(64, 128) * 3 <= 227 * 1024
    assert work(1024, 768, 768).stages(64, 128) == MOST_STAGES
    assert work(1024, 768, 768, sums=2).stages(64, 128) == 3
    assert work(1024, 3072, 768, shared=64).stages(128, 128) == 2
    assert work(1024, 3072, 64).stages(64, 128) == 3


def test_what_is_computed_of_several_loads_has_fewer_stages() -> None:
    """Three of f32 for each element of the left factor: a step brings 12 bytes of it, not 2."""
    product = replace(work(1024, 768, 768), brought=(12, 2))
    assert product.step(64, 128) == (64 * 12 + 128 * 2) * 64
    assert product.stages(64, 128) * product.step(64, 128) <= 227 * 1024
    assert product.stages(64, 128) == 3


def test_more_work_takes_longer() -> None:
    times = [work(1024, 3072, depth).microseconds(64, 128, 4) for depth in (768, 1536, 3072)]
    assert times == sorted(times)
    assert work(1024, 3072, 768, costly=2).microseconds(64, 128, 4) > times[0]
