"""The parts of torch that have no public name or no types, in one place."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from inspect import unwrap
from typing import Any, TypeAlias, TypeGuard, cast

import torch
from torch._functorch import compile_utils
from torch._guards import TracingContext
from torch._ops import HigherOrderOperator, OpOverload, OpOverloadPacket
from torch._prims_common import (
    ELEMENTWISE_TYPE_PROMOTION_KIND,
    elementwise_dtypes,  # pyright: ignore[reportUnknownVariableType]
    is_contiguous_or_false,
    is_non_overlapping_and_dense_or_false,
)
from torch._prims_common import (
    compute_elementwise_output_logical_to_physical_perm as dimensions_in_memory,  # pyright: ignore
)
from torch.fx import GraphModule, Node
from torch.utils import _python_dispatch as dispatch
from torch.utils._pytree import tree_leaves

Operator: TypeAlias = "OpOverload[..., Any]"
NONDETERMINISTIC = torch.Tag.nondeterministic_seeded
COPY: Any = torch.ops.aten.copy_.default
"""How AOTAutograd has a graph write to an argument, at its end."""
WITH_EFFECTS: Any = torch.ops.higher_order.with_effects


def is_operator(target: object) -> TypeGuard[Operator]:
    """True for one overload of an operator, `aten.add.Tensor`."""
    return isinstance(target, OpOverload)


def is_of_torch(op: Operator) -> bool:
    """Whether torch itself defines an operator, in C++."""
    return op.namespace in ("aten", "prim", "prims")


def schema_of(op: Operator) -> Any:
    """The FunctionSchema of an operator."""
    return op._schema  # pyright: ignore[reportPrivateUsage]


def by_its_parts(op: Operator, *args: Any, **named: Any) -> Any:
    """Call the function that an operator in Python is made of: tracing sees what that calls."""
    return op._op_dk(torch._C.DispatchKey.CompositeExplicitAutograd, *args, **named)  # pyright: ignore


def must_run(op: Operator) -> bool:
    """Whether each call has to run on the host: it has an effect there, or forbids CUDA graphs."""
    from torch._higher_order_ops.effects import _get_effect  # pyright: ignore

    return torch.Tag.cudagraph_unsafe in op.tags or _get_effect(op) is not None


def is_view_operator(op: Operator) -> bool:
    """Whether what it returns shares memory with an operand, which it does not write."""
    return any(r.alias_info is not None and not r.alias_info.is_write for r in schema_of(op).returns)


def find_operator(callee: str) -> Operator | None:
    """The operator that `aten::name.overload` names."""
    namespace, _, rest = callee.partition("::")
    name, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, namespace), name, None)
    return getattr(packet, overload or "default", None)


def overloads_of(target: object) -> list[Operator]:
    """The overloads that a node may call; none where it calls no operator."""
    if isinstance(target, OpOverloadPacket):
        return [getattr(target, name) for name in target.overloads()]  # pyright: ignore
    return [target] if is_operator(target) else []


def python_files_of(op: Operator) -> list[str]:
    """Where the Python stands that says what an operator is: its kernels, its fake, its gradient."""
    from torch._library.custom_ops import OPDEFS  # pyright: ignore
    from torch._library.simple_registry import singleton

    name: str = schema_of(op).name
    definition: Any = OPDEFS.get(name)  # pyright: ignore
    files = [kernel.source.rpartition(":")[0] for kernel in singleton.find(name).fake_impl.kernels]
    for part in ("_init_fn", "_abstract_fn", "_backward_fn", "_setup_context_fn", "_vmap_fn"):
        function: Any = getattr(definition, part, None)  # pyright: ignore
        if function is not None:
            code: Any = getattr(unwrap(function), "__code__", None)
            files.append(getattr(code, "co_filename", str(function)))
    return list(dict.fromkeys(files))


def size_expression(value: torch.SymInt | torch.SymBool) -> Any:
    """The sympy expression of a symbolic size, or of a comparison of such."""
    return value.node.expr  # pyright: ignore


def is_negative(value: torch.SymInt) -> bool | None:
    """Whether an integer is below zero in this compile: guarded where it can be; None where data decide."""
    if is_ragged(value) or shape_environment(value).bound_sympy(size_expression(value)).lower >= 0:
        return False
    return guarded_truth(cast("torch.SymBool", value < 0))


def traced_size(value: torch.SymInt) -> int | None:
    """What a symbolic size was when the graph was traced; None for what depends on data, or is ragged."""
    node: Any = value.node
    return int(node.hint) if node.has_hint() and not is_ragged(value) else None


def memory_order(x: torch.Tensor) -> tuple[int, ...]:
    """The dimensions of `x`, outermost in memory first: what is computed element by element lies so, too."""
    if is_contiguous_or_false(x):
        return tuple(range(x.dim()))
    order, _ = dimensions_in_memory(x)
    return tuple(order)


def is_dense(x: torch.Tensor) -> bool:
    """Whether the elements of `x` fill its memory, in some order; False where that is unknown."""
    return is_non_overlapping_and_dense_or_false(x)


def promoted_dtype(tensors: Sequence[torch.Tensor]) -> torch.dtype:
    """What kernels that join tensors promote all of them to: one without dimensions counts for less."""
    how = ELEMENTWISE_TYPE_PROMOTION_KIND.NO_OPMATH
    return elementwise_dtypes(*tensors, type_promotion_kind=how)[1]


def shape_environment(value: torch.SymInt | torch.SymBool) -> Any:
    """Where the guards of a symbolic size are kept."""
    return value.node.shape_env  # pyright: ignore


def share_equal_nodes(module: GraphModule) -> None:
    """Let equal calls of a graph be one node, as AOTAutograd's partitioner does before it decides."""
    module.graph = compile_utils.fx_graph_cse(module.graph)  # pyright: ignore


def is_ragged(value: torch.SymInt) -> bool:
    """Whether it is the length of a ragged dimension (a "nested int"): equal to itself, but no number."""
    return value.node.is_nested_int()  # pyright: ignore


def guarded_truth(value: torch.SymBool) -> bool | None:
    """What a comparison of sizes is in this compile, which is guarded; None where data decide."""
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

    try:
        return bool(value)
    except GuardOnDataDependentSymNode:
        return None


def known_to_differ(some: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether two lists of sizes are different whatever their symbols stand for; nothing is guarded."""
    from torch.fx.experimental.symbolic_shapes import statically_known_true

    pairs = zip(some, others, strict=False)
    return len(some) != len(others) or any(statically_known_true(a != b) for a, b in pairs)


def real_tensors() -> Any:
    """A context in which tensors are real although a compile is going on."""
    return dispatch._disable_current_modes()  # pyright: ignore


def usual_dispatch() -> Any:
    """A context in which operators are dispatched as in a fresh thread.

    The host functions of graphs leave out all keys above the backends; `vmap`, say, is one of them.
    """
    c: Any = torch._C  # pyright: ignore[reportPrivateUsage]
    keys: Mapping[str, Any] = c.DispatchKey.__members__
    autocast = [key for name, key in keys.items() if name.startswith("Autocast")]
    return c._ForceDispatchKeyGuard(
        _key_set([keys["BackendSelect"], keys["ADInplaceOrView"]]), _key_set(autocast)
    )


def _key_set(keys: Sequence[Any]) -> Any:
    found: Any = None
    for key in keys:
        one = torch._C.DispatchKeySet(key)  # pyright: ignore
        found = one if found is None else found | one
    return found


def higher_order_name(target: object) -> str:
    """The name of a higher-order operator, empty for anything else."""
    return target.name() if isinstance(target, HigherOrderOperator) else ""


def composite_kernel(target: Any) -> Callable[..., Any]:
    """What a higher-order operator does on any device, in ordinary operators."""
    return target.py_kernels[torch._C.DispatchKey.CompositeExplicitAutograd]  # pyright: ignore


def mapped_along(tensor: torch.Tensor) -> torch.Tensor:
    """One element of `tensor` in each call of a function in nested `vmap`s, one per dimension."""
    functorch = cast("Any", torch._C)._functorch  # pyright: ignore[reportPrivateUsage]
    level = cast("int", functorch.maybe_current_level())
    for outer in range(level - tensor.dim() + 1, level + 1):
        tensor = cast("torch.Tensor", functorch._add_batch_dim(tensor, 0, outer))
    return tensor


def fake_mode_of(leaves: Sequence[Any]) -> Any:
    """The mode of the traced tensors among `leaves`."""
    from torch._guards import detect_fake_mode

    return detect_fake_mode(list(leaves))


def trace_fake(
    function: Callable[..., Any], inputs: Sequence[Any], mode: Any, table: Mapping[Any, Callable[..., Any]]
) -> GraphModule:
    """The graph of `function`, without mutations, on traced tensors and sizes of that mode."""
    from torch._dispatch.python import enable_python_dispatcher
    from torch._subclasses.functional_tensor import FunctionalTensorMode, dispatch_functionalize
    from torch.fx.experimental.proxy_tensor import make_fx

    given = [mode.from_tensor(t, static_shapes=True) if type(t) is torch.Tensor else t for t in inputs]
    pure = dispatch_functionalize(function, FunctionalTensorMode())
    with mode, enable_python_dispatcher(), torch.no_grad(), _no_loops_of_vmap():  # pyright: ignore
        return make_fx(pure, decomposition_table=dict(table))(*given)  # pyright: ignore


@contextmanager
def _no_loops_of_vmap() -> Generator[None]:
    """An operator that `vmap` would call once per element is an error: the graph would have as many nodes."""
    c: Any = cast("Any", torch._C)._functorch  # pyright: ignore[reportPrivateUsage]
    before = c._is_vmap_fallback_enabled()
    c._set_vmap_fallback_enabled(False)
    try:
        yield
    finally:
        c._set_vmap_fallback_enabled(before)


@contextmanager
def traced_as(rows: Mapping[Operator, Callable[[Callable[..., Any]], Callable[..., Any]]]) -> Generator[None]:
    """Trace these operators as a row makes of what torch itself writes for them, gradients included.

    Inside of transforms (`vmap`, `jvp`) they stay as they are.
    """
    c: Any = cast("Any", torch._C)  # pyright: ignore[reportPrivateUsage]
    composite = c.DispatchKey.CompositeImplicitAutograd
    kept: list[tuple[Any, dict[Any, Any]]] = []
    for op, row in rows.items():
        kernels: Any = op.py_kernels  # pyright: ignore[reportUnknownMemberType]
        own = {key: kernels[key] for key in (c.DispatchKey.Autograd, composite) if key in kernels}
        kept.append((op, own))
        written = own or {composite: partial(cast("Any", op)._op_dk, composite)}  # in C++
        kernels.update({key: _outside_of_transforms(row(kernel), kernel) for key, kernel in written.items()})
        op._dispatch_cache.clear()  # pyright: ignore
    try:
        yield
    finally:
        for op, own in kept:
            if not own:
                del op.py_kernels[composite]
            op.py_kernels.update(own)
            op._dispatch_cache.clear()


def _outside_of_transforms(ours: Callable[..., Any], own: Callable[..., Any]) -> Callable[..., Any]:
    def kernel(*args: Any, **named: Any) -> Any:
        inside = cast("Any", torch._C)._functorch.maybe_current_level() is not None  # pyright: ignore
        return (own if inside else ours)(*args, **named)

    return kernel


def copy_each(targets: Sequence[torch.Tensor], sources: Sequence[torch.Tensor]) -> None:
    """Copy tensors to others; on a GPU by one launch for those that are alike."""
    torch._foreach_copy_(list(targets), list(sources))  # pyright: ignore


def raw_stream(device: int) -> int:
    """The current stream of a CUDA device as the driver names it (`torch.cuda.current_stream` is slow)."""
    return torch._C._cuda_getCurrentRawStream(device)  # pyright: ignore


def tracing_context() -> Any:
    """What AOTAutograd knows about the graph it is compiling, None outside of a compile."""
    return TracingContext.try_get()


def guards_of_floats() -> int:
    """How many guards of the compile that is going on are about Python's floats."""
    from torch.utils._sympy.symbol import SymT, symbol_is_type

    context = tracing_context()
    mode = None if context is None else context.fake_mode
    guards = () if mode is None or mode.shape_env is None else mode.shape_env.guards
    return sum(any(symbol_is_type(s, SymT.FLOAT) for s in guard.expr.free_symbols) for guard in guards)


def tokens_inside() -> Any:
    """A context in which AOTAutograd makes the tokens of effects inside of graphs, not arguments of them."""
    from torch._functorch import config

    return config.patch(unlift_effect_tokens=True)  # pyright: ignore


def keep_saved_tensors() -> None:
    """Say that the backward being compiled reuses no saved tensor's memory ("donated buffers").

    Otherwise AOTAutograd refuses a second backward (`retain_graph=True`) of a graph compiled ahead.
    """
    context = tracing_context()
    if context is not None and context.fw_metadata is not None:
        context.fw_metadata.bw_donated_idxs = []


def is_opaque(value: Any) -> bool:
    """Whether a traced value stands for an object that only certain operators know: a device mesh."""
    from torch._library.fake_class_registry import FakeScriptObject

    return isinstance(value, FakeScriptObject | torch.ScriptObject)


def binds_integers(node: Node) -> bool:
    """Whether tracing made a symbol of an integer that `node` gives, or of a size that data decide."""
    from torch.utils._sympy.symbol import SymT, symbol_is_type

    symbols: Mapping[Any, Any] = node.meta.get("unbacked_bindings") or {}
    return any(symbol_is_type(symbol, SymT.UNBACKED_INT) for symbol in symbols)


def decided_by_data(value: Any) -> list[Any]:
    """The symbols of integers, in order, that `value` depends on and that data decide."""
    from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
    from torch.utils._sympy.symbol import SymT, symbol_is_type

    symbols = free_unbacked_symbols([v for v in tree_leaves(value) if isinstance(v, _SIZED)])
    return sorted((s for s in symbols if symbol_is_type(s, SymT.UNBACKED_INT)), key=str)


_SIZED = (torch.Tensor, torch.SymInt, torch.SymBool)


def sizes_in(values: Any) -> set[Any]:
    """The expressions of symbolic integers, and of sizes of tensors, among `values`."""
    leaves = tree_leaves(values)
    sizes = [n for value in leaves if isinstance(value, torch.Tensor) for n in value.shape]
    return {size_expression(n) for n in (*leaves, *sizes) if isinstance(n, torch.SymInt)}


def fresh_symbols_ignored(size: torch.SymInt) -> Any:
    """A context in which the symbols that tracing an operator makes are for nobody."""
    return shape_environment(size).ignore_fresh_unbacked_symbols()
