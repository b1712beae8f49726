"""Operators on dtypes that the IR lacks, as operators on their carriers.

`aten::mul.Tensor` on complex64 becomes `tilewright::mul_Tensor_1f0c...`, registered with
torch.library: it decodes its operands, calls the original and encodes the results. So a
`tw.aten` always means what its operands' types say, and targets need no special case.
"""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256
from typing import Any

import torch

from ..torch_internals import Operator, schema_of
from .dtypes import CARRIERS, decode, dtype_of_name, encode

_ALIAS = re.compile(r"\([a-z]\d?!?(?: -> \*)?\)")
_LIBRARY: list[Any] = []

Pattern = tuple[Any, ...] | str
"""Like the arguments: the dtype's name where a carrier stands for it, `number` for a number."""
NUMBER = "number"


@cache
def carried_operator(op: Operator, pattern: Pattern) -> Operator:
    """`op` for arguments of which those that `pattern` names are carried."""
    schema = schema_of(op)
    digest = sha256(f"{schema} {pattern}".encode()).hexdigest()[:12]
    base = schema.name.partition("::")[2]
    name = f"{base}_{schema.overload_name or 'default'}_{digest}"
    text = str(schema)
    signature = _ALIAS.sub("", text[text.index("(") :]).replace("ScalarType", "str")
    for argument, given in zip(schema.arguments, pattern, strict=False):
        if given == NUMBER:  # ATen takes a Python number where the schema wants a tensor
            signature = signature.replace(f"Tensor {argument.name}", f"Scalar {argument.name}")
    if not _LIBRARY:
        _LIBRARY.append(torch.library.Library("tilewright", "FRAGMENT"))
    _LIBRARY[0].define(name + signature)
    _LIBRARY[0].impl(name, _implementation(op, pattern), "CompositeExplicitAutograd")
    return getattr(torch.ops.tilewright, name).default


def _implementation(op: Operator, pattern: Pattern) -> Any:
    arguments = schema_of(op).arguments
    dtypes = {a.name for a in arguments if "ScalarType" in str(a.type) or "dtype" in a.name}

    def call(*args: Any, **kwargs: Any) -> Any:
        named = {a.name: value for a, value in zip(arguments, args, strict=False)} | kwargs
        given = dict(zip((a.name for a in arguments), pattern, strict=False))
        ready = {name: _decoded(value, given.get(name, "")) for name, value in named.items()}
        for name in dtypes & ready.keys():
            if isinstance(ready[name], str):
                ready[name] = dtype_of_name(ready[name])
        positional = [ready[a.name] for a in arguments if a.name in ready and not a.kwarg_only]
        keyword = {a.name: ready[a.name] for a in arguments if a.name in ready and a.kwarg_only}
        return _encoded(op(*positional, **keyword))

    return call


def _decoded(value: Any, pattern: Pattern) -> Any:
    if isinstance(value, list | tuple):
        return [_decoded(v, p) for v, p in zip(value, pattern or [""] * len(value), strict=True)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, torch.Tensor) and isinstance(pattern, str) and pattern not in ("", NUMBER):
        return decode(value, dtype_of_name(pattern))
    return value


def _encoded(value: Any) -> Any:
    if isinstance(value, list | tuple):
        made = [_encoded(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        return tuple(made) if isinstance(value, tuple) else made
    if isinstance(value, torch.Tensor) and value.dtype in CARRIERS:
        return encode(value).contiguous()
    return value
