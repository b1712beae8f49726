"""The one module that touches upstream MLIR: conformance checks and upstream's own passes.

Upstream is an optional extra. Its handles never leave this module, and text crosses the
border only here: xDSL's IR stays the one mutable IR.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from io import StringIO
from types import ModuleType
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import ParseError
from xdsl.utils.str_enum import StrEnum

from .diagnostics import NoUpstreamBindings, RejectedUpstream, UnreadableInput, UnreadableUpstream
from .irdl_export import UpstreamTrait, export_irdl, upstream_traits
from .irdl_segments import narrow, widen, widest_group
from .registry import OWN_DIALECTS, SHARED_DIALECTS, dialect
from .upstream_return import refuse_idle, take_back

_MIN_ARITY = 16
_END = "tilewright.end"


@dataclass(frozen=True)
class _Upstream:
    """The bindings' package and a context that knows our dialects."""

    root: str
    ir: ModuleType
    context: Any
    arity: int
    """How many values a group of values of different types may have."""

    def module(self, name: str) -> ModuleType:
        return importlib.import_module(f"{self.root}.{name}")


def available() -> bool:
    """True where upstream's bindings are installed."""
    return _bindings() is not None


@cache
def _bindings() -> tuple[str, ModuleType] | None:
    """`mlir` if it is the real one (its namesake on PyPI is empty), else torch-mlir's copy."""
    for root in ("mlir", "torch_mlir"):
        try:
            return root, importlib.import_module(f"{root}.ir")
        except ImportError:
            continue
    return None


@cache
def _upstream(arity: int) -> _Upstream:
    found = _bindings()
    if found is None:
        raise NoUpstreamBindings()
    root, ir = found
    upstream = _Upstream(root, ir, ir.Context(), arity)
    upstream.context.allow_unregistered_dialects = True  # test.op, and whatever users add
    dialects = [dialect(where) for where in OWN_DIALECTS.values()]
    with upstream.context, ir.Location.unknown():
        upstream.module("dialects.irdl").load_dialects(ir.Module.parse(export_irdl(dialects, arity=arity)))
        attach = {
            UpstreamTrait.PURE: upstream.module("dialects.ext").Pure.attach,
            UpstreamTrait.TERMINATOR: ir.IsTerminatorTrait.attach,
            UpstreamTrait.ISOLATED: ir.IsIsolatedFromAboveTrait.attach,
            UpstreamTrait.NO_TERMINATOR: ir.NoTerminatorTrait.attach,
        }
        for name, trait in upstream_traits(dialects):
            attach[trait](name)
    return upstream


class _UpstreamPrinter(Printer):
    """Writes our enum attributes as IRDL declares them: `#tw.combine<"add">`."""

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, EnumAttribute) and attribute.name.partition(".")[0] in OWN_DIALECTS:
            case = cast("EnumAttribute[StrEnum]", attribute).data
            self.print_string(f'#{attribute.name}<"{case.value}">')
            return
        super().print_attribute(cast(Attribute, attribute))


_ENUM = re.compile(rf"#({'|'.join(OWN_DIALECTS)})\.(\w+)<\"(\w+)\">")


def _from_upstream(text: str) -> str:
    """Undo what _UpstreamPrinter did to enum attributes."""
    enums = {
        attr.name
        for where in OWN_DIALECTS.values()
        for attr in dialect(where).attributes
        if issubclass(attr, EnumAttribute)
    }

    def spaced(match: re.Match[str]) -> str:
        if f"{match[1]}.{match[2]}" not in enums:
            return match[0]
        return f"#{match[1]}<{match[2]} {match[3]}>"

    return _ENUM.sub(spaced, text)


def _upstream_for(module: ModuleOp) -> _Upstream:
    """Upstream with a context whose dialects fit the widest op of `module`."""
    return _upstream(_arity(module))


def _arity(module: ModuleOp) -> int:
    widest = max(widest_group(op) for op in module.walk())
    return max(_MIN_ARITY, 1 << (widest - 1).bit_length())


def _generic_text(module: ModuleOp, arity: int) -> str:
    module = module.clone()
    for op in module.walk():
        widen(op, arity)
    stream = StringIO()
    _UpstreamPrinter(
        stream, print_generic_format=True, print_properties_as_attributes=True, print_debuginfo=True
    ).print_op(module)
    return stream.getvalue()


def upstream_text(module: ModuleOp) -> str:
    """The generic form that `mlir-opt --irdl-file=... --allow-unregistered-dialect` reads.

    IRDL cannot say that a region needs no terminator, or that an op is one: each block of ours ends
    in an op that nobody registered, which may be one. `tilewright irdl` of the same arity goes with it.
    """
    arity, module = _arity(module), module.clone()
    end = UnregisteredOp.with_name(_END)
    for op in list(module.walk()):
        if op.name.partition(".")[0] not in (*SHARED_DIALECTS, "builtin"):
            for block in [block for region in op.regions for block in region.blocks]:
                block.add_op(end.create())
    return f"// tilewright irdl --arity {arity}\n{_generic_text(module, arity)}\n"


def verify_upstream(module: ModuleOp) -> None:
    """Raise RejectedUpstream where upstream cannot parse or verify the module's generic form."""
    upstream = _upstream_for(module)
    with upstream.context, upstream.ir.Location.unknown():
        _parse(upstream, module)


def _parse(upstream: _Upstream, module: ModuleOp) -> Any:
    try:
        return upstream.ir.Module.parse(_generic_text(module, upstream.arity))  # verifies
    except upstream.ir.MLIRError as error:
        raise RejectedUpstream(stage="parse and verify", reason=error) from error


Invoke = Callable[[str, Sequence[Any]], None]
"""`(function name, pointers)`: calls compiled code by upstream's C interface."""


def _after(upstream: _Upstream, text: str, passes: Sequence[str]) -> Any:
    """The module that `text` is, after upstream's `passes`."""
    module = upstream.ir.Module.parse(text)
    manager = upstream.module("passmanager").PassManager.parse(f"builtin.module({','.join(passes)})")
    manager.run(module.operation)
    return module


def compile_upstream(text: str, passes: Sequence[str], symbols: Mapping[str, Any]) -> Invoke:
    """Compile a module of upstream's own dialects by its `passes` and its JIT (at its level 2).

    `symbols` are C functions (of ctypes) that the code may call.
    """
    upstream = _plain_upstream()
    with upstream.context, upstream.ir.Location.unknown():
        try:
            module = _after(upstream, text, passes)
            engine = upstream.module("execution_engine").ExecutionEngine(module, opt_level=2)
        except (upstream.ir.MLIRError, ValueError, RuntimeError) as error:
            raise RejectedUpstream(stage="compile", reason=error) from error
    for name, function in symbols.items():
        engine.raw_register_runtime(name, ctypes.cast(function, ctypes.c_void_p))

    def invoke(name: str, pointers: Sequence[Any]) -> None:
        engine.invoke(name, *pointers)

    return invoke


def generic_upstream(text: str, file: str, passes: Sequence[str] = ()) -> str:
    """Text of upstream's dialects and StableHLO, after `passes`, in the generic form that xDSL reads.

    Raises UnreadableInput, which names `file`.
    """
    upstream = _plain_upstream()
    with upstream.context, upstream.ir.Location.unknown():
        try:
            module = _after(upstream, text, passes)
        except upstream.ir.MLIRError as error:
            raise UnreadableInput(
                file=file,
                reason=str(error).replace('"-":', f"{file}:"),  # upstream's name of text that is no file
                advice="upstream MLIR reads this text: `mlir-opt` says the same of it",
            ) from error
        return module.operation.get_asm(
            enable_debug_info=True, use_local_scope=True, print_generic_op_form=True
        )


def evaluate_stablehlo(text: str, args: Sequence[Any]) -> list[Any]:
    """The results of @main on NumPy arrays, by the reference interpreter of StableHLO: a judge for tests."""
    import numpy as np

    upstream = _plain_upstream()
    with upstream.context, upstream.ir.Location.unknown():
        module = upstream.ir.Module.parse(text)
        (function,) = module.body.operations
        types = upstream.ir.FunctionType(function.attributes["function_type"].value).inputs
        dense = upstream.ir.DenseElementsAttr
        given = [dense.get(np.array(a), type=t) for a, t in zip(args, types, strict=True)]
        found = upstream.module("_mlir_libs._stablehlo").eval_module(module, given)
        return [np.array(v) for v in found]


@cache
def _plain_upstream() -> _Upstream:
    """A context that knows upstream's dialects and StableHLO, and none of ours."""
    found = _bindings()
    if found is None:
        raise NoUpstreamBindings()
    root, ir = found
    upstream = _Upstream(root, ir, ir.Context(), 0)
    if importlib.util.find_spec(f"{root}._mlir_libs._stablehlo") is not None:
        upstream.module("_mlir_libs._stablehlo").register_dialect(upstream.context, True)
    return upstream


def run_upstream(ctx: Context, module: ModuleOp, pipeline: str) -> None:
    """Replace the body of `module` by what upstream's `pipeline` (of the builtin.module) makes of it."""
    refuse_idle(pipeline)
    upstream = _upstream_for(module)
    with upstream.context, upstream.ir.Location.unknown():
        parsed = _parse(upstream, module)
        try:
            manager = upstream.module("passmanager").PassManager.parse(f"builtin.module({pipeline})")
            manager.run(parsed.operation)
        except (upstream.ir.MLIRError, ValueError, RuntimeError) as error:
            raise RejectedUpstream(stage=f"pipeline {pipeline}", reason=error) from error
        text: str = parsed.operation.get_asm(
            assume_verified=True, enable_debug_info=True, use_local_scope=True, print_generic_op_form=True
        )
    try:
        result = Parser(ctx, _from_upstream(text), "<upstream>").parse_module()
    except ParseError as error:
        raise UnreadableUpstream(pipeline=pipeline, reason=error) from error
    for op in result.walk():
        narrow(op, upstream.arity)
    take_back(result, pipeline)
    module.detach_region(module.body)
    module.add_region(Rewriter.move_region_contents_to_new_regions(result.body))
