"""What determines compiled code beside Dynamo's graph and torch's settings, which torch's own key holds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from torch.fx import GraphModule, Node

from tilewright.targets.gpu_triton.compiler import triton_version
from tilewright.targets.registry import code, target

from ..environment import Environment
from ..fx.triton_kernels import kernels_in
from ..options import Options
from ..torch_internals import real_tensors
from .operator_sources import NoSource, operators_in

ATTRIBUTE = "_tilewright_key"
"""torch's key covers the attributes of Dynamo's graph module: this one brings ours in."""
LARGEST_CONSTANT = 1 << 24
"""Bytes of tensors that hang on a graph and are hashed; more than this is not worth a cache."""


class Unkept(Exception):
    """Why a graph is compiled anew in every process."""


def graph_key(gm: GraphModule, names: Sequence[str], options: Options, environment: Environment) -> str:
    """The digest that joins torch's key; raises Unkept."""
    if options.dump or environment.dump is not None:
        raise Unkept("the passes are dumped")
    if options.verify or environment.verify_each:
        raise Unkept("the passes are verified")
    if options.check:
        raise Unkept("the meaning is checked")
    parts = [package_digest(), repr(options), _machine(options, environment), *_plug_ins(), *_modes()]
    parts += [",".join(names), *places(gm), *_constants(gm), *kernels_in(gm)]
    try:
        parts += operators_in(gm)
    except NoSource as reason:
        raise Unkept(str(reason)) from reason
    return digest_of(parts)


def digest_of(parts: Sequence[str]) -> str:
    """One hash of many strings."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@cache
def package_digest() -> str:
    """Of every source file of this package, and the versions of what it is made with."""
    digest = hashlib.sha256()
    for name in ("xdsl", "tilewright"):
        digest.update(metadata.version(name).encode())
    digest.update(triton_version().encode())
    for name, file in source_files():
        digest.update(name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def source_files() -> Iterator[tuple[str, Path]]:
    """Every source file of this package, by the name that it has in a checkout."""
    root = Path(__file__).resolve().parents[2]
    for layer in ("dialects", "passes", "targets", "frontend"):
        for file in sorted((root / layer).rglob("*")):
            if file.suffix in (".py", ".h"):
                yield str(file.relative_to(root)), file


def _machine(options: Options, environment: Environment) -> str:
    """What the passes are told about this machine."""
    names = ["cpu_openmp", "gpu_triton"] if options.target == "auto" else [options.target]
    facts = [target(name).facts for name in names]
    return repr([None if f is None else code(f)(environment.variables) for f in facts])


def _plug_ins() -> Iterator[str]:
    """Passes, ops and targets of other packages; what this process added may hold any state: not kept."""
    from tilewright.dialects.plugins import TABLES, fingerprint

    for table in TABLES:
        if table.added:
            raise Unkept(f"this process has a {table.kind} of its own: {', '.join(table.added)}")
    yield fingerprint()


def _modes() -> Iterator[str]:
    """Settings of torch that change what is traced and that its own key leaves out."""
    yield str(torch.is_inference_mode_enabled())
    yield f"{torch.get_default_dtype()} {torch.get_default_device()}"
    cuda = torch.backends.cuda
    yield f"{cuda.flash_sdp_enabled()} {cuda.mem_efficient_sdp_enabled()} {cuda.math_sdp_enabled()}"
    yield str(torch.backends.mkldnn.enabled)


def places(gm: GraphModule) -> list[str]:
    """The user's lines: errors at run time name them, so that they are part of the code."""
    from ..fx.locations import location_of

    return [str(location_of(node)) for node in gm.graph.nodes]


def _constants(gm: GraphModule) -> list[str]:
    """The tensors that hang on the graph and are no inputs of it: AOTAutograd may fold them."""
    inputs = {id(t) for t in (*gm.parameters(), *gm.buffers())}
    tensors = [v for v in _attributes(gm) if isinstance(v, torch.Tensor) and id(v) not in inputs]
    return [tensor_digest(tensor) for tensor in tensors]


def _attributes(gm: GraphModule) -> Iterator[Any]:
    """What hangs on a graph, and on the graphs that hang on it (`flex_attention` takes some)."""
    for node in gm.graph.nodes:
        if node.op == "get_attr":
            value = _attribute(gm, node)
            yield value
            if isinstance(value, GraphModule):
                yield from _attributes(value)


def _attribute(gm: GraphModule, node: Node) -> Any:
    value: Any = gm
    for part in str(node.target).split("."):
        value = getattr(value, part)
    return value


def tensor_digest(tensor: torch.Tensor) -> str:
    """Of the values, and of how they lie; raises Unkept where there are too many."""
    if tensor.numel() * tensor.element_size() > LARGEST_CONSTANT:
        raise Unkept("a large tensor is a constant of the graph")
    if tensor.device.type == "meta" or tensor.layout is not torch.strided:
        raise Unkept(f"a constant of the graph is a {tensor.layout} tensor on {tensor.device}")
    with real_tensors():  # a backward graph is compiled while AOTAutograd traces
        plain = tensor.detach().to("cpu").clone(memory_format=torch.contiguous_format)
        data = bytes(plain.untyped_storage())
    return f"{tensor.dtype} {tuple(tensor.shape)} {tensor.stride()} {hashlib.sha256(data).hexdigest()}"


def backward_token(gm: GraphModule, inputs: Sequence[Any], key: str) -> str:
    """The name of a backward graph's code in our store; raises Unkept."""
    parts = [key, gm.code, *(_description(value) for value in inputs), *places(gm), *kernels_in(gm)]
    for value in _attributes(gm):
        if isinstance(value, torch.Tensor):
            parts.append(tensor_digest(value))
        elif isinstance(value, GraphModule):
            parts.append(value.code)
    return digest_of(parts)[:40]


def _description(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {tuple(value.shape)} {value.stride()} {value.device}"
    return str(value)
