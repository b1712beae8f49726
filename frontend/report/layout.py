"""Places a graph of steps on a page: layers from top to bottom, few crossings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

WIDTH, HEIGHT, GAP, LAYER = 168, 36, 20, 78
_SWEEPS = 4
_LONGEST = 12
"""Layers that an edge may pass and still push nodes aside; longer ones run beneath."""


@dataclass(frozen=True)
class Layout:
    """Positions of the nodes (upper left corner), the path of each edge, and the size of the whole."""

    nodes: tuple[tuple[float, float], ...]
    edges: tuple[tuple[int, int, str], ...]
    """(from, to, the `d` of an SVG path)."""
    width: float
    height: float


@dataclass
class _Layers:
    """Nodes and, for edges that pass a layer, places kept free: numbers from `real` on."""

    real: int
    rows: list[list[int]] = field(default_factory=list[list[int]])
    above: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    below: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    count: int = 0

    def link(self, start: int, end: int) -> None:
        self.below.setdefault(start, []).append(end)
        self.above.setdefault(end, []).append(start)

    def width(self, node: int) -> int:
        return WIDTH if node < self.real else GAP


def place(after: Sequence[Sequence[int]]) -> Layout:
    """`after[i]` are the nodes before node i, all with smaller numbers."""
    depth: list[int] = []
    for before in after:
        depth.append(1 + max((depth[i] for i in before), default=-1))
    layers = _Layers(len(after), [[] for _ in range(max(depth, default=-1) + 1)], count=len(after))
    for node, level in enumerate(depth):
        layers.rows[level].append(node)
    chains = {(b, n): _chain(layers, b, n, depth) for n, before in enumerate(after) for b in before}
    for sweep in range(_SWEEPS):
        _order(layers, downwards=sweep % 2 == 0)
    x, width = _columns(layers)
    y = {node: level * LAYER for level, row in enumerate(layers.rows) for node in row}
    edges = tuple((b, n, _path(chain, x, y)) for (b, n), chain in chains.items())
    spots = tuple((x[n], float(y[n])) for n in range(len(after)))
    return Layout(spots, edges, width, max(len(layers.rows) * LAYER - (LAYER - HEIGHT), 0))


def _chain(layers: _Layers, start: int, end: int, depth: Sequence[int]) -> list[int]:
    """The nodes from start to end, with a kept place in each layer between."""
    chain = [start]
    if depth[end] - depth[start] <= _LONGEST:
        for level in range(depth[start] + 1, depth[end]):
            chain.append(layers.count)
            layers.rows[level].append(layers.count)
            layers.count += 1
    chain.append(end)
    for a, b in pairwise(chain):
        layers.link(a, b)
    return chain


def _order(layers: _Layers, downwards: bool) -> None:
    """Sort each layer by the middle of the neighbours on one side."""
    rows = layers.rows if downwards else layers.rows[::-1]
    neighbours = layers.above if downwards else layers.below
    rank = {node: i / max(len(row) - 1, 1) for row in rows for i, node in enumerate(row)}
    for row in rows:
        middle = {n: _middle([rank[m] for m in neighbours.get(n, [])], rank[n]) for n in row}
        row.sort(key=lambda n: middle[n])
        rank.update((node, i / max(len(row) - 1, 1)) for i, node in enumerate(row))


def _middle(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def _columns(layers: _Layers) -> tuple[dict[int, float], float]:
    """Left edges: each layer is centred, then nodes move towards those above them where there is room."""
    widths = [sum(layers.width(n) + GAP for n in row) for row in layers.rows]
    whole = max(widths, default=0)
    x: dict[int, float] = {}
    for row, width in zip(layers.rows, widths, strict=True):
        left, end = 0.0, whole - width
        for node in row:
            own = layers.width(node)
            centres = [x[m] + layers.width(m) / 2 for m in layers.above.get(node, []) if m in x]
            wanted = _middle(centres, whole / 2) - own / 2
            x[node] = min(max(left, wanted), left + max(end, 0.0)) if centres else left + max(end, 0.0) / 2
            end -= x[node] - left
            left = x[node] + own + GAP
    return x, whole


def _path(chain: Sequence[int], x: dict[int, float], y: dict[int, int]) -> str:
    """A smooth curve through the middle of every place of the chain."""
    last = len(chain) - 1
    points: list[tuple[float, float]] = []
    for i, node in enumerate(chain):
        middle = x[node] + (WIDTH if i in (0, last) else GAP) / 2
        points.append((middle, y[node] + (HEIGHT if i == 0 else 0 if i == last else HEIGHT / 2)))
    text = f"M{points[0][0]:.0f} {points[0][1]:.0f}"
    for (ax, ay), (bx, by) in pairwise(points):
        half = (ay + by) / 2
        text += f"C{ax:.0f} {half:.0f} {bx:.0f} {half:.0f} {bx:.0f} {by:.0f}"
    return text
