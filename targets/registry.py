"""Target name -> what compiles for it. The only place that lists targets.

A target is a row here, a `register_target(Target(...))`, or an installed package's entry point:

    [project.entry-points."tilewright.targets"]
    numpy = "my_package.target:TARGET"

Everything else reads this table: `options={"target": ...}`, the choice by device,
`tilewright-opt --pipeline=...` and `tilewright-translate --to=...`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tilewright.dialects.diagnostics import RegistrationClash
from tilewright.dialects.plugins import Table, load, unknown_name
from tilewright.passes.pipeline import PIPELINES

Code = str | Callable[..., Any]
"""A function, or `module:function`, which is imported when it is first called for."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """One way from an imported graph to something that runs."""

    name: str
    """What `options={"target": ...}` says."""
    build: Code
    """`(graph, request) -> run`, typed in frontend/runtime/request.py; `run` takes and returns a list.

    Where compilers take long, a `Building` of frontend/runtime/compiling.py lets the next one be lowered.
    Most begin with `lower(graph, request)` of frontend/runtime/lower.py, which runs the pipeline."""
    pipeline: tuple[str, ...] = ()
    """Passes in order, with options as `-p` takes them; also `tilewright-opt --pipeline=<name>`."""
    emitters: Mapping[str, Code] = field(default_factory=dict[str, Code])
    """Output language -> `(module) -> text`, for `tilewright-translate --to=<language>`."""
    facts: Code | None = None
    """`(environment variables) -> {pass option: value}`: what passes are told about this machine."""
    devices: tuple[str, ...] = ()
    """torch device types for which `target="auto"` means this one."""
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    """Options of its own and their defaults: `options={"target_options": {...}}`."""


OWN: Mapping[str, Target] = {
    target.name: target
    for target in (
        Target(
            name="cpu_openmp",
            build="tilewright.frontend.runtime.native_runtime:build_cpu",
            pipeline=PIPELINES["cpu"],
            emitters={"cpp": "tilewright.targets.cpu_openmp.emit:emit_cpp"},
            facts="tilewright.targets.cpu_openmp.isa:machine_facts",
            devices=("cpu",),
        ),
        Target(
            name="gpu_triton",
            build="tilewright.frontend.runtime.gpu_runtime:build_gpu",
            pipeline=PIPELINES["gpu"],
            emitters={"triton": "tilewright.targets.gpu_triton.emit:emit_triton"},
            facts="tilewright.frontend.runtime.gpu_runtime:machine_facts",
            options={"wait_for_checks": False, "compile_workers": -1},
            devices=("cuda",),
        ),
        Target(
            name="gpu_emulated",
            build="tilewright.frontend.runtime.emulated_runtime:build",
            pipeline=PIPELINES["gpu"],
            facts="tilewright.frontend.runtime.gpu_runtime:torch_modes",
        ),
        Target(
            name="reference",
            build="tilewright.frontend.runtime.reference_runtime:build",
        ),
    )
}

EXPORTS: Mapping[str, Code] = {
    "linalg": "tilewright.targets.linalg.emit:emit_linalg",
    "upstream": "tilewright.dialects.upstream:upstream_text",
}
"""Output languages that belong to no target: other compilers go on from there."""


def _accept(name: str, item: object) -> Target:
    if not isinstance(item, Target):
        raise TypeError(f"it is a {type(item).__name__}, not a tilewright.targets.registry.Target")
    if item.name != name:
        raise TypeError(f"the entry point is named `{name}`, the target `{item.name}`")
    return item


_TABLE: Table[Target] = Table("target", "tilewright.targets", OWN, _accept)


def register_target(target: Target) -> Target:
    """Make a target known in this process.

    >>> register_target(Target(name="numpy", build=build, pipeline=(*TENSOR, *KERNELS)))
    """
    _TABLE.add(target.name, target)
    return target


def target_names() -> list[str]:
    """Every target that `options={"target": ...}` may name, sorted."""
    return _TABLE.names()


def target(name: str) -> Target:
    """The target of that name; raises UnknownName."""
    return _TABLE.get(name)


def code(where: Code) -> Callable[..., Any]:
    """The function that a `Code` stands for."""
    return load(where) if isinstance(where, str) else where


def target_for(device: str) -> str | None:
    """The target that compiles for a torch device type; those of this project come first."""
    return _claimant("target for device", device, lambda target: target.devices)


def known_devices() -> list[str]:
    """Every device type that some target compiles for."""
    return sorted({device for name in target_names() for device in target(name).devices})


def emitter(language: str) -> Callable[..., str]:
    """The function that writes a module in that language; raises UnknownName."""
    if language in EXPORTS:
        return code(EXPORTS[language])
    owner = _claimant("output language", language, lambda target: tuple(target.emitters))
    if owner is None:
        raise unknown_name("output language", language, known_languages())
    return code(target(owner).emitters[language])


def known_languages() -> list[str]:
    """Every language that some target writes, and those of the exports."""
    emitted = {language for name in target_names() for language in target(name).emitters}
    return sorted(emitted | set(EXPORTS))


def _claimant(kind: str, thing: str, offers: Callable[[Target], tuple[str, ...]]) -> str | None:
    """The target that offers `thing`. Packages are not imported for what this project offers itself."""
    for names in (list(OWN), [name for name in target_names() if name not in OWN]):
        found = [name for name in names if thing in offers(target(name))]
        if len(found) > 1:
            raise RegistrationClash(kind=kind, name=thing, owner=f"of `{found[0]}`, and of `{found[1]}`")
        if found:
            return found[0]
    return None


def pipeline(name: str) -> tuple[str, ...]:
    """The passes of a pipeline, or of a target; raises UnknownName."""
    if name in PIPELINES:
        return PIPELINES[name]
    if name not in target_names():
        raise unknown_name("pipeline", name, pipeline_names())
    return target(name).pipeline


def pipeline_names() -> list[str]:
    """What `pipeline` knows."""
    return sorted({*PIPELINES, *target_names()})
