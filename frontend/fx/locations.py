"""Where an op comes from: the user's file and line, and the path of the nn.Module.

An op made for `self.norm(x)` on line 12 of model.py carries
`loc("encoder.norm"("model.py":12:0))`: the user's line, never one inside torch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from torch.fx import Node
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, NameLoc, StringAttr, UnknownLoc

UNKNOWN: LocationAttr = UnknownLoc()

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_LIBRARY = re.compile(r"[/\\](?:torch|xdsl|tilewright)[/\\]|^<")
_ATTRIBUTE = re.compile(r"_modules\['(\w+)'\]|\['?(\w+)'?\]|\.(\w+)")
_SKIPPED = ("_modules", "_parameters", "_buffers")
_PLACE = re.compile(r'loc\((?:"([^"]*)"\()?"([^"]+)":(\d+):\d+\)*')
_OWNERS = ("self", "fn", "mod", "model")


@lru_cache(maxsize=4096)
def _file_line(stack: str) -> tuple[str, int] | None:
    """The innermost frame that is not inside torch, else the innermost frame."""
    frames = _FRAME.findall(stack)
    if not frames:
        return None
    own = [frame for frame in frames if not _LIBRARY.search(frame[0])]
    file, line = (own or frames)[-1]
    return file, int(line)


@lru_cache(maxsize=4096)
def argument_name(source: str) -> str:
    """`L['self']._modules['fc']._parameters['weight']` as `fc.weight`, `L['args'][0]` as `args.0`."""
    parts = [next(p for p in match if p) for match in _ATTRIBUTE.findall(source)]
    parts = [part for part in parts if part not in _SKIPPED]
    if len(parts) > 1 and parts[0] in _OWNERS:
        parts = parts[1:]
    return ".".join(parts) or source


@lru_cache(maxsize=4096)
def module_path(source: str) -> str:
    """The path of a module; empty for the outermost one."""
    name = argument_name(source)
    return "" if name in _OWNERS else name


@lru_cache(maxsize=8192)
def _location(path: str, place: tuple[str, int] | None) -> LocationAttr:
    file = None if place is None else FileLineColLoc(StringAttr(place[0]), IntAttr(place[1]), IntAttr(0))
    if not path:
        return file or UNKNOWN
    return NameLoc(StringAttr(path), file or UNKNOWN)


def place_metadata(node: Node) -> dict[str, Any]:
    """The metadata that `location_of` reads: for nodes that stand for `node`."""
    keys = ("stack_trace", "fwd_stack_trace", "nn_module_stack", "fwd_nn_module_stack")
    return {key: node.meta[key] for key in keys if key in node.meta}


def location_of(node: Node) -> LocationAttr:
    """The location of what `node` computes; a backward node has its forward line."""
    meta: Mapping[str, Any] = node.meta
    stack = meta.get("stack_trace") or meta.get("fwd_stack_trace") or ""
    modules = meta.get("nn_module_stack") or meta.get("fwd_nn_module_stack")
    path = ""
    if modules:
        source, kind = next(reversed(modules.values()))
        path = module_path(source)
        if not path and not stack:  # torch.compile(nn.Linear(2, 3)): no frame is the user's
            path = getattr(kind, "__name__", str(kind))
    return _location(path, _file_line(stack) if stack else None)


def place_of(location: LocationAttr) -> str:
    """A location as people write it: `model.py:12 (encoder.norm)`."""
    match location:
        case NameLoc(desc=desc, location=inner):
            where = place_of(inner) if isinstance(inner, FileLineColLoc) else ""
            return f"{where} ({desc.data})" if where else desc.data
        case FileLineColLoc(filename=name, line=line):
            return f"{name.data}:{line.data}"
        case _:
            return "unknown"


def readable_places(text: str) -> str:
    """`text`, in which locations are written `model.py:12 (encoder.norm)`."""

    def readable(found: re.Match[str]) -> str:
        path, file, line = found.groups()
        short = f"{file.rpartition('/')[2]}:{line}"
        return f"{short} ({path})" if path else short

    return _PLACE.sub(readable, text)
