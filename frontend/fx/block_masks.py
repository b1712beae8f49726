"""What the lists of a flex attention's block mask say, as tensors: what is in no listed block is hidden.

A `BlockMask` lists, for each block of rows, the blocks of keys that a kernel has to visit, and the reverse.
torch's definition of flex attention looks at the mask's function alone. Both agree where the lists were made
of the function (`create_block_mask`). Where they list less (`BlockMask.from_kv_blocks`), TorchInductor hides
what they leave out, and so does this: an element is visible if its block is listed and the function says so.

The table of listed blocks is written as a search, which `walk-lists` turns into a walk:

    table[b, h, r, c] = any(columns[b, h, r, n] == c and n < counts[b, h, r] for n in ...)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..torch_internals import mapped_along

_FIRST_LIST, _LISTS = 2, 4
"""Where the lists of a block mask begin, behind its lengths, and how many tensors each direction has."""
_UNLIMITED = 1 << 30
"""The size of the one block of a mask that nobody gave."""


def with_lists(mask: Sequence[Any], shape: Sequence[Any], *, backward: bool = False) -> tuple[Any, ...]:
    """`mask`, whose function also asks whether the block of an element is listed.

    Gradients ask both lists: a kernel that goes along rows has use for those of rows alone.
    """
    *first, rows, keys, function = mask
    if isinstance(rows, int) and rows >= _UNLIMITED:
        return tuple(mask)
    *_, length, width = shape
    visible = [_spread(_table(mask[_FIRST_LIST:], width, keys), (rows, keys), shape)]
    if backward:
        table = _table(mask[_FIRST_LIST + _LISTS :], length, rows)
        visible.append(_spread(table.transpose(-2, -1), (rows, keys), shape))
    return *first, rows, keys, _asking(function, visible)


def _table(lists: Sequence[Any], size: Any, block: int) -> Tensor:
    """Whether a block of columns is listed for one of rows: to be looked into, or as a whole."""
    counts, columns, more, others = lists[:_LISTS]
    column = torch.arange((size + block - 1) // block, device=columns.device)
    found = _listed(counts, columns, column)
    return found if more is None else found | _listed(more, others, column)


def _listed(counts: Tensor, columns: Tensor, column: Tensor) -> Tensor:
    number = torch.arange(columns.shape[-1], device=columns.device)
    found = columns.unsqueeze(-2) == column.unsqueeze(-1)
    return (found & (number < counts[..., None, None])).any(-1)


def _spread(table: Tensor, blocks: tuple[int, int], shape: Sequence[Any]) -> Tensor:
    """Each entry of the table at all elements of its block."""
    *batch, rows, columns = table.shape
    wide = table[..., :, None, :, None].expand(*batch, rows, blocks[0], columns, blocks[1])
    wide = wide.reshape(*batch, rows * blocks[0], columns * blocks[1])
    return wide[..., : shape[-2], : shape[-1]].expand(*shape)


def _asking(function: Callable[..., Tensor], visible: Sequence[Tensor]) -> Callable[..., Tensor]:
    def ask(*args: Any) -> Tensor:
        found = function(*args)
        for tensor in visible:
            found = found & mapped_along(tensor)
        return found

    return ask
