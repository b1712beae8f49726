"""Text of other dialects -> a module of `tw`: upstream reads it, xDSL takes the generic form over."""

from __future__ import annotations

import re
from collections.abc import Mapping
from struct import pack

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func

from tilewright.dialects.parser import ModuleParser
from tilewright.dialects.registry import new_context
from tilewright.dialects.upstream import generic_upstream
from tilewright.passes.manager import parse_pipeline, run_pipeline, verify_module

from .function import read_module

_PREPARE: Mapping[str, tuple[str, ...]] = {
    "linalg": ("func.func(linalg-generalize-named-ops)",),
    "stablehlo": (),
}


_DENSE = re.compile(r"dense<([^<>\"]*0x[^<>\"]*)>( : tensor<[^<>]*?(f64|f32|f16|bf16)>)")
_NUMBER = re.compile(r"[^\[\], ]+")
_WIDTH = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2}


def _spelled_bits(match: re.Match[str]) -> str:
    """Infinities and NaN are hexadecimal in `dense`, which xDSL takes for large numbers: all as bytes."""
    numbers, kind = _NUMBER.findall(match[1]), match[3]
    return f'dense<"0x{"".join(_bytes(n, kind) for n in numbers).upper()}">{match[2]}'


def _bytes(number: str, kind: str) -> str:
    """The memory of one element, in hexadecimal digits."""
    if number.startswith("0x"):
        return int(number, 16).to_bytes(_WIDTH[kind], "little").hex()
    if kind == "bf16":  # upstream prints what bf16 holds exactly: the low half of the f32 is zero
        return pack("<f", float(number))[2:].hex()
    return pack({"f64": "<d", "f32": "<f", "f16": "<e"}[kind], float(number)).hex()


def import_text(text: str, source: str, file: str) -> ModuleOp:
    """Read `text`, of dialect `source`; raises UnreadableInput, CannotImport, NoUpstreamBindings."""
    generic = _DENSE.sub(_spelled_bits, generic_upstream(text, file, _PREPARE[source]))
    generic = generic.replace('loc("-":', f'loc("{file}":')  # upstream's name of text that is no file
    ctx = Context(allow_unregistered=True)
    ctx.load_dialect(Builtin)
    ctx.load_dialect(Func)
    module = read_module(ModuleParser(ctx, generic, file).parse_module())
    verify_module(module)
    run_pipeline(new_context(), module, parse_pipeline("dce"))  # what was read for its size only
    return module
