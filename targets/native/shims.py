"""Which ATen functions libtorch exports as C functions, and how their arguments are passed.

A row gives the C name and the parameters in schema order, without the `out` tensors
(which come first in C and last in the schema) and the results (pointers, last in C):
T tensor, T? optional tensor, I int, I? optional int, F float or scalar, F? optional
float, B bool, L list of ints, L? optional list, M list of bools, D? optional dtype,
A list of tensors, S string. `=` gives the schema's default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Parameter:
    """One parameter of a C function."""

    kind: str
    default: str | None


@dataclass(frozen=True)
class Shim:
    """A C function of libtorch."""

    symbol: str
    text: str
    outs: int = 0
    results: int = 0

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters in schema order."""
        split = (word.partition("=") for word in self.text.split())
        return tuple(Parameter(kind, default if eq else None) for kind, eq, default in split)

    @cached_property
    def declaration(self) -> str:
        """The C parameter types."""
        types = ["Handle"] * self.outs
        types += [C_TYPES[p.kind] for p in self.parameters]
        types += ["Handle*"] * self.results
        return ", ".join(types)


C_TYPES: Mapping[str, str] = {
    "T": "Handle",
    "T?": "Handle*",
    "I": "i64",
    "I?": "const i64*",
    "F": "f64",
    "F?": "const f64*",
    "B": "i32",
    "L": "const i64*, i64",
    "L?": "const i64* const*, i64",
    "M": "const i32*, i64",
    "D?": "const i32*",
    "A": "const Handle*, i64",
    "S": "const char*",
}

_CPU = "aoti_torch_cpu_"


def _out(name: str, text: str) -> Shim:
    return Shim(f"{_CPU}{name}_out", text, outs=1)


def _new(name: str, text: str, results: int = 1) -> Shim:
    return Shim(_CPU + name, text, results=results)


_POOL = "L L= L=0 L=1 B=0"
_AVG = "L L= L=0 B=0 B=1 I?=None"
_CONV = "L L L B L I"

SHIMS: Mapping[str, Shim] = {
    "aten::mm.out": _out("mm", "T T"),
    "aten::addmm.out": _out("addmm", "T T T F=1 F=1"),
    "aten::bmm.out": _out("bmm", "T T"),
    "aten::baddbmm.out": _out("baddbmm", "T T T F=1 F=1"),
    "aten::_int_mm.out": _out("_int_mm", "T T"),
    "aten::scatter.src_out": Shim(_CPU + "scatter_src_out", "T I T T", outs=1),
    "aten::convolution": _new("convolution", f"T T T? {_CONV}"),
    "aten::convolution_backward": _new("convolution_backward", f"T T T L? {_CONV} M", 3),
    "aten::_scaled_dot_product_flash_attention_for_cpu": _new(
        "_scaled_dot_product_flash_attention_for_cpu", "T T T F=0 B=0 T?=None F?=None", 2
    ),
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": _new(
        "_scaled_dot_product_flash_attention_for_cpu_backward", "T T T T T T F B T?=None F?=None", 3
    ),
    "aten::max_pool2d_with_indices": _new("max_pool2d_with_indices", f"T {_POOL}", 2),
    "aten::max_pool2d_with_indices_backward": _new("max_pool2d_with_indices_backward", "T T L L L L B T"),
    "aten::max_pool3d_with_indices": _new("max_pool3d_with_indices", f"T {_POOL}", 2),
    "aten::avg_pool2d": _new("avg_pool2d", f"T {_AVG}"),
    "aten::avg_pool2d_backward": _new("avg_pool2d_backward", "T T L L L B B I?"),
    "aten::avg_pool3d": _new("avg_pool3d", f"T {_AVG}"),
    "aten::_adaptive_avg_pool2d": _new("_adaptive_avg_pool2d", "T L"),
    "aten::_adaptive_avg_pool2d_backward": _new("_adaptive_avg_pool2d_backward", "T T"),
    "aten::adaptive_max_pool2d": _new("adaptive_max_pool2d", "T L", 2),
    "aten::adaptive_max_pool2d_backward": _new("adaptive_max_pool2d_backward", "T T T"),
    "aten::addmv": _new("addmv", "T T T F=1 F=1"),
    "aten::addbmm": _new("addbmm", "T T T F=1 F=1"),
    "aten::_addmm_activation": _new("_addmm_activation", "T T T F=1 F=1 B=0"),
    "aten::_cdist_forward": _new("_cdist_forward", "T T F I?"),
    "aten::cat": _new("cat", "A I=0"),
    "aten::cummax": _new("cummax", "T I", 2),
    "aten::cummin": _new("cummin", "T I", 2),
    "aten::cumprod": _new("cumprod", "T I D?=None"),
    "aten::cumsum": _new("cumsum", "T I D?=None"),
    "aten::logcumsumexp": _new("logcumsumexp", "T I"),
    "aten::sort": _new("sort", "T I=-1 B=0", 2),
    "aten::topk": _new("topk", "T I I=-1 B=1 B=1", 2),
    "aten::kthvalue": _new("kthvalue", "T I I=-1 B=0", 2),
    "aten::mode": _new("mode", "T I=-1 B=0", 2),
    "aten::_embedding_bag": _new("_embedding_bag", "T T T B=0 I=0 B=0 T?=None B=0 I=-1", 4),
    "aten::upsample_bicubic2d_backward": _new("upsample_bicubic2d_backward", "T L L B F?=None F?=None"),
    "aten::cholesky_solve": _new("cholesky_solve", "T T B=0"),
    "aten::triangular_solve": _new("triangular_solve", "T T B=1 B=0 B=0", 2),
}
"""ATen overload -> C function. Others go through Python."""
