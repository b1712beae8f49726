"""The driver: Dynamo's graph through AOTAutograd, import, passes and a target, to a function."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.fx import GraphModule, Node

from tilewright.dialects.diagnostics import CannotCompile
from tilewright.targets.registry import known_devices, target, target_for

from .cache.graph_details import our_entries
from .cache.kept_graph import keeping, key_of
from .collector import collector_paused
from .decompositions.dense_attention import dense_attention
from .decompositions.table import decompositions
from .decompositions.upsampling import resized_images
from .environment import Environment
from .errors import NoTargetForDevice
from .fx.aliases import made_anew
from .fx.devices import placement
from .fx.embedding_bags import sum_bags
from .fx.fx_import import import_fx
from .fx.graph import Graph
from .fx.kept_results import (
    Order,
    chosen_orders,
    in_orders,
    report_strides,
    seen_by_caller,
    traced_orders,
    traced_strides,
)
from .fx.locations import argument_name
from .fx.parts import Part, parts_of, run_parts
from .fx.strides import Strides, lying_as
from .fx.true_types import correct_types
from .options import Options
from .runtime.aten_runtime import run_by_aten, warn_once
from .runtime.call import Boxed, Run, make_call, no_work
from .runtime.compiling import Building, Compiled, Compiling, call_of
from .runtime.fallback import report
from .runtime.request import Request, build
from .torch_internals import tokens_inside, traced_as, tracing_context
from .trace import Record, Trace

LOGGER = logging.getLogger("tilewright.compile")


def compile_captured(
    gm: GraphModule,
    example_inputs: Sequence[Any],
    options: Options,
    environment: Environment,
    record: Record | None = None,
) -> Callable[..., Any]:
    """Compile one Dynamo graph; the backward graph is compiled with it or on its first use."""
    from torch._dynamo.backends.common import AotAutograd

    from .joint.partition import partition

    if any(isinstance(p, torch.nn.Parameter) and p.is_inference() for p in example_inputs):
        options = replace(options, freeze=False)  # they change without a trace
    names = dynamo_names(gm)
    key = None if record is not None else key_of(gm, names, options, environment)
    begun: list[Compiling] = []
    sum_bags(gm)

    def compiler(kind: str) -> Callable[[GraphModule, Sequence[Any]], Any]:
        request = Request(options, environment, kind)
        if record is not None:
            return lambda graph, inputs: compile_aten(graph, inputs, request, names, record)

        def imported(graph: GraphModule, inputs: Sequence[Any]) -> Compiling:
            return import_aten(graph, inputs, request, names)

        if key is not None:
            return keeping(imported, request, key, begun)
        return lambda graph, inputs: call_of(imported(graph, inputs), kind, begun)

    driver = AotAutograd(
        fw_compiler=compiler("forward"),
        bw_compiler=compiler("backward"),
        inference_compiler=compiler("inference"),
        partition_fn=partial(partition, again=lambda joint: _computes_again(joint, options)),
        decompositions=decompositions(),
        keep_inference_input_mutations=True,
    )
    ours = traced_as({**resized_images(), **dense_attention()})
    with collector_paused(), tokens_inside(), ours, nullcontext() if key is None else our_entries():
        made = driver(gm, list(example_inputs))
    for compiling in begun:
        compiling.finish()
    return made


def compile_aten(
    gm: GraphModule,
    example_inputs: Sequence[Any],
    request: Request,
    names: Sequence[str] = (),
    record: Record | None = None,
) -> Boxed:
    """Compile one ATen graph to a boxed function; ATen runs what cannot be compiled here."""
    if record is None:
        return import_aten(gm, example_inputs, request, names).finish().call
    return record.compiling(lambda: import_aten(gm, example_inputs, request, names, record).finish().call)


@collector_paused()
def import_aten(
    gm: GraphModule,
    example_inputs: Sequence[Any],
    request: Request,
    names: Sequence[str] = (),
    record: Record | None = None,
) -> Compiling:
    """Import one ATen graph; what is returned runs the passes and the target's compiler, now or later."""
    parts = parts_of(gm)
    if len(parts) > 1:
        return Compiling(_InParts(gm, example_inputs, request, names, parts, record))
    return Compiling(_AtenGraph(gm, example_inputs, _begun(request, gm, record), names))


def _begun(request: Request, gm: GraphModule, record: Record | None) -> Request:
    trace = Trace(request.kind)
    if record is not None:
        record.begin(trace, gm)
    return replace(request, trace=trace)


class _AtenGraph:
    """Implements `Steps`. `part` of a graph has results that only other parts see, and reports no strides."""

    def __init__(
        self,
        gm: GraphModule,
        example_inputs: Sequence[Any],
        request: Request,
        names: Sequence[str],
        part: Part | None = None,
    ) -> None:
        self._gm, self._request, self._part = gm, request, part
        self._import: Callable[[Request], tuple[Graph, str]] = lambda request: _imported(
            gm, example_inputs, request, names, part
        )
        self._lowered = False
        self._why: CannotCompile | None = None
        self._orders: Mapping[int, Order] = {}
        try:
            self._graph, self._target = self._import(request)
        except CannotCompile as error:
            self._why = error

    def lower(self) -> Run | Building:
        if self._why is not None:
            raise self._why
        if self._lowered:  # passes, which an interrupt ended, have changed the module
            self._graph, self._target = self._import(self._request)
        self._lowered = True
        has_work = self._graph.boundary.has_work
        built = build(self._target, self._graph, self._request) if has_work else no_work
        if self._part is None:
            self._orders = chosen_orders(self._graph)
            report_strides(self._graph.output_strides, self._gm, self._orders)
        return built

    @property
    def output_strides(self) -> Sequence[Strides | None]:
        """Of the results; none where ATen runs the graph, whose results are as traced."""
        return self._graph.output_strides if self._why is None else ()

    def compiled(self, run: Run) -> Compiled:
        boundary, code, reason = self._graph.boundary, self._request.trace.code, ""
        if boundary.has_work and code is None:
            reason = f"target `{self._target}` compiles anew in every process"
        if self._graph.in_python:
            reason = f"`{self._graph.in_python}` is bound to Python functions of this process"
        return Compiled(make_call(boundary, run), boundary, code, reason)

    def rescue(self, error: Exception) -> Compiled:
        if isinstance(error, CannotCompile):
            if not self._request.options.fallback:
                raise error
            self._request.trace.by_aten = error
            warn_once(error)
            call = in_orders(run_by_aten(self._gm), self._orders)
            return Compiled(call, None, None, "ATen runs the graph")
        from .repro import with_repro

        aside = replace(self._request, trace=Trace(self._request.kind))
        with_repro(error, lambda: self._import(aside)[0].module, self._target, self._request)
        raise error


class _InParts:
    """Implements `Steps` for a graph of which torch runs something, in the middle or at the end."""

    def __init__(
        self,
        gm: GraphModule,
        example_inputs: Sequence[Any],
        request: Request,
        names: Sequence[str],
        parts: Sequence[Part],
        record: Record | None,
    ) -> None:
        self._gm, self._parts = gm, parts
        self._made: list[Compiling | Boxed] = []
        self._strides = traced_strides(gm)
        strides: dict[Node, Strides | None] = {}
        for part in parts:
            if not part.compiled:
                self._made.append(in_orders(run_by_aten(part.module), traced_orders(part.module)))
                continue
            given = [lying_as(node.meta["val"], strides.get(node)) for node in part.given]
            request_of_part = _begun(request, part.module, record)
            one = _AtenGraph(part.module, [*example_inputs, *given], request_of_part, names, part)
            self._made.append(Compiling(one))
            if one.output_strides:
                self._strides.update((i, one.output_strides[i]) for i in part.results)
                made = one.output_strides[len(self._strides) :]
                strides.update(zip(part.makes, made, strict=True))

    def lower(self) -> Run:
        for made in self._made:
            if isinstance(made, Compiling):
                made.begin()
        report_strides(list(self._strides.values()), self._gm, {})
        return no_work

    def compiled(self, run: Run) -> Compiled:
        calls = [made.finish().call if isinstance(made, Compiling) else made for made in self._made]
        whole = run_parts(self._parts, calls, len(self._strides))
        return Compiled(whole, None, None, "torch runs something between its parts")

    def rescue(self, error: Exception) -> Compiled:
        raise error


def _imported(
    gm: GraphModule,
    example_inputs: Sequence[Any],
    request: Request,
    names: Sequence[str],
    part: Part | None,
) -> tuple[Graph, str]:
    """The graph, or a part of one, in our IR, and the name of its target."""
    options, trace = request.options, request.trace
    correct_types(gm)
    place = placement(gm)
    name = options.target if options.target != "auto" else _target_of(place.device)
    frozen = request.kind == "inference" and options.freeze
    with trace.stage("import"):
        seen = seen_by_caller() if request.kind == "forward" else None
        graph = import_fx(
            gm,
            example_inputs,
            names=names,
            static=_static_inputs() if frozen else (),
            frozen=frozen,
            fallback=options.fallback,
            views={} if request.kind == "backward" else made_anew(),
            device=place.device,
            seen=seen if part is None else None,
            visible=0 if request.kind == "backward" else seen,
        )
    if part is not None:
        graph = replace(graph, fallbacks=(*graph.fallbacks, *part.refused_unless(options.fallback)))
    trace.graph = graph
    report(graph.fallbacks)
    return replace(graph, inputs=place.bring(graph.inputs), device=place.device), name


def _computes_again(joint: GraphModule, options: Options) -> bool:
    """Whether kernels of the target of a joint graph compute products again."""
    try:
        name = options.target if options.target != "auto" else _target_of(placement(joint).device)
    except CannotCompile:  # as the import of either part will say
        return False
    return "recompute-products" in target(name).pipeline


def _target_of(device: torch.device) -> str:
    """The target for the device of the graph."""
    found = target_for(device.type)
    if found is None:
        raise NoTargetForDevice(device=device.type, known=", ".join(known_devices()))
    return found


def _static_inputs() -> Sequence[int]:
    """Placeholders that are parameters or buffers, as AOTAutograd knows them."""
    context = tracing_context()
    if context is None or context.fw_metadata is None:
        return ()
    return tuple(context.fw_metadata.static_input_indices or ())


def dynamo_names(gm: GraphModule) -> list[str]:
    """The user's names of a Dynamo graph's inputs: `encoder.norm.weight`, `x`."""
    names: list[str] = []
    for node in gm.graph.nodes:
        if node.op == "placeholder":
            source = getattr(node, "_dynamo_source", None)
            name = getattr(source, "name", node.name)
            names.append(argument_name(name() if callable(name) else name))
    return names
