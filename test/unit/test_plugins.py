"""Passes, dialects, rows and targets of others: added in this process, or installed with entry points."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch
from click.testing import CliRunner
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.passes import ModulePass

from tilewright.dialects import plugins
from tilewright.dialects.diagnostics import BadPassFunction, RegistrationClash, UnknownName, UnknownPlace
from tilewright.dialects.registry import new_context, register_dialect, registered_dialect
from tilewright.dialects.tw.elementwise import NegOp
from tilewright.frontend.aten import register_row
from tilewright.frontend.aten.builder import Builder
from tilewright.frontend.cli.irdl import command as irdl_command
from tilewright.frontend.errors import BadOptionValue, UnknownOption
from tilewright.frontend.options import make_options, options_of_target
from tilewright.frontend.tools.tool_io import parse_module
from tilewright.passes.driver import Rewrite
from tilewright.passes.insertions import insert_passes
from tilewright.passes.manager import module_text, parse_pipeline, run_pipeline, with_facts
from tilewright.passes.registry import register_pass
from tilewright.targets.registry import Target, emitter, pipeline, register_target, target, target_for

THREE_NEGS = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tw.neg %x : tensor<4xf32> loc("m.py":1:0)
  %1 = tw.neg %0 : tensor<4xf32> loc("m.py":2:0)
  %2 = tw.neg %1 : tensor<4xf32> loc("m.py":3:0)
  func.return %2 : tensor<4xf32>
}
"""


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    """What a test adds is taken away again."""
    before = [(table, dict(table.added)) for table in plugins.TABLES]
    yield
    for table, added in before:
        table.added.clear()
        table.added.update(added)


def run(text: str, pipeline: str) -> str:
    ctx = new_context()
    module = parse_module(ctx, text, "test")
    run_pipeline(ctx, module, parse_pipeline(pipeline))
    return module_text(module, locations=False)


# Passes


def test_a_function_of_the_module_is_a_pass_with_options() -> None:
    seen: list[tuple[str, int]] = []

    @register_pass("look")
    def look(ctx: Context, module: ModuleOp, *, label: str = "none", most: int = 3) -> None:
        """Look."""
        seen.append((label, most))

    run(THREE_NEGS, 'look,look{label=a most=7},look{label="b c"}')
    assert seen == [("none", 3), ("a", 7), ("b c", 3)]
    assert str(parse_pipeline("look{most=7}")[0]) == "look{most=7}"
    look(Context(), ModuleOp([]))
    assert seen[-1] == ("none", 3)


def test_a_function_of_an_op_is_a_pass() -> None:
    @register_pass("fold-negs", on=NegOp)
    def fold_negs(op: NegOp, rewrite: Rewrite, *, enabled: bool = True) -> SSAValue | None:
        inner = op.operand.owner
        return inner.operand if enabled and isinstance(inner, NegOp) else None

    assert run(THREE_NEGS, "fold-negs").count("tw.neg") == 1
    assert run(THREE_NEGS, "fold-negs{enabled=false}").count("tw.neg") == 3


def test_a_function_of_several_ops_keeps_locations() -> None:
    @register_pass("again", on=(NegOp,))
    def again(op: NegOp, rewrite: Rewrite) -> SSAValue | None:
        if "done" in op.attributes:
            return None
        new = NegOp(op.operand)
        new.attributes["done"] = UnitAttr()
        return rewrite.value(new)

    ctx = new_context()
    module = parse_module(ctx, THREE_NEGS, "test")
    run_pipeline(ctx, module, parse_pipeline("again"))
    text = module_text(module)
    assert [f'"m.py":{i}:0' in text for i in (1, 2, 3)] == [True] * 3


def _nothing(ctx: Context, module: ModuleOp) -> None: ...
def _one(module: ModuleOp) -> None: ...
def _no_type(ctx: Context, module: ModuleOp, *, n=3) -> None: ...  # pyright: ignore
def _no_default(ctx: Context, module: ModuleOp, *, n: int) -> None: ...
def _star(ctx: Context, module: ModuleOp, *rest: int) -> None: ...


@pytest.mark.parametrize("function", [_one, _no_type, _no_default, _star])
def test_other_signatures_are_refused(function: object) -> None:
    with pytest.raises(BadPassFunction, match=r"TW3913(.|\n)*cannot be the pass `bad`"):
        register_pass("bad")(function)  # pyright: ignore


def test_a_taken_name_is_refused_and_a_reloaded_definition_is_not() -> None:
    def define() -> None:
        @register_pass("mine")
        def mine(ctx: Context, module: ModuleOp) -> None: ...

    define()
    define()  # as a notebook cell that runs twice
    with pytest.raises(RegistrationClash, match="TW3907: a pass named `mine` exists already"):

        @register_pass("mine")
        def other(ctx: Context, module: ModuleOp) -> None: ...

    with pytest.raises(RegistrationClash, match=r"a pass named `cse`(.|\n)*passes\.tensor\.cse"):
        register_pass("cse")(_nothing)


# Places in a pipeline


def inserted(pipeline: str, insertions: dict[str, list[str]]) -> str:
    return ",".join(str(p) for p in insert_passes(parse_pipeline(pipeline), insertions))


def test_passes_are_inserted_at_named_places() -> None:
    assert inserted("cse,dce", {"before:cse": ["fuse"]}) == "fuse,cse,dce"
    assert (
        inserted("cse,dce", {"after:dce": ["fuse"], "after:cse": ["decompose"]}) == "cse,decompose,dce,fuse"
    )
    assert inserted("cse,dce", {"after:cse": ["fuse,dce", "cse"]}) == "cse,fuse,dce,cse,dce"


def test_the_first_of_several_is_meant_unless_numbered() -> None:
    assert inserted("dce,cse,dce", {"after:dce": ["fuse"]}) == "dce,fuse,cse,dce"
    assert inserted("dce,cse,dce", {"after:dce#2": ["fuse"]}) == "dce,cse,dce,fuse"
    # What is inserted does not shift what numbers mean.
    assert inserted("cse,dce", {"before:cse": ["dce"], "after:dce": ["fuse"]}) == "dce,cse,dce,fuse"


@pytest.mark.parametrize(
    "place", ["after:fuse", "after:dce#3", "after:dce#0", "after:dce#x", "dce", "at:dce", ""]
)
def test_unknown_places_are_refused(place: str) -> None:
    with pytest.raises(UnknownPlace, match="TW3912"):
        inserted("dce,cse,dce", {place: ["cse"]})


def test_options_insert_and_replace_passes() -> None:
    seen: list[bool] = []

    @register_pass("see-kernels")
    def see(ctx: Context, module: ModuleOp) -> None:
        seen.append(any(op.name == "tk.kernel" for op in module.walk()))

    def f(x: torch.Tensor) -> torch.Tensor:
        return (x.sin() + 1).sum(1)

    x = torch.randn(3, 5)
    options = {"insert": {"before:cse": ["see-kernels"], "after:fuse": ["see-kernels"]}}
    torch.testing.assert_close(torch.compile(f, backend="mlir", options=options)(x), f(x))
    assert seen == [False, True]
    names = [p for p in pipeline("cpu_openmp") if p not in ("fuse", "fuse-siblings")]
    options = {"pipeline": ",".join([*names, "see-kernels"])}
    torch.testing.assert_close(torch.compile(f, backend="mlir", options=options)(x), f(x))
    assert seen == [False, True, False]


@pytest.mark.parametrize("value", [{"after:fuse": "dce"}, {"after:fuse": [1]}, {1: ["dce"]}, ["dce"]])
def test_ill_formed_insertions_are_refused(value: object) -> None:
    with pytest.raises(BadOptionValue, match="TW1002"):
        make_options({"insert": value})


def test_what_a_pipeline_says_is_stronger_than_facts() -> None:
    passes = with_facts(parse_pipeline("schedule-cpu,schedule-cpu{vector-bits=128}"), {"vector_bits": 256})
    assert [str(p) for p in passes] == ["schedule-cpu{vector_bits=256}", "schedule-cpu{vector_bits=128}"]


# Dialects, rows, targets


def test_a_dialect_is_known_to_new_contexts() -> None:
    register_dialect(Dialect("mine", [], []))
    assert new_context().get_optional_dialect("mine") is not None
    with pytest.raises(RegistrationClash, match="a dialect named `tw`"):
        register_dialect(Dialect("tw", [], []))


def test_every_dialect_is_written_as_irdl() -> None:
    register_dialect(Dialect("mine", [], []))
    text = CliRunner().invoke(irdl_command, []).output
    for name in ("tw", "tk", "th", "mine"):
        assert f"irdl.dialect @{name} {{" in text


def test_two_definitions_of_one_op_clash() -> None:
    def pokes() -> type[Operation]:
        @irdl_op_definition
        class PokeOp(IRDLOperation):
            name = "mine.poke"

        return PokeOp

    first, again, other = pokes(), pokes(), pokes()
    other.__qualname__ = "other"
    register_dialect(Dialect("mine", [first], []))
    register_dialect(Dialect("mine", [again], []))
    assert list(registered_dialect("mine").operations) == [again]
    with pytest.raises(RegistrationClash, match="a definition named `mine"):
        register_dialect(Dialect("mine", [other], []))


def test_a_row_for_a_decomposed_operator_keeps_it_whole() -> None:
    calls: list[str] = []

    @register_row("aten.hardtanh.default")
    def hardtanh(b: Builder, x: SSAValue, low: float = -1.0, high: float = 1.0) -> SSAValue:
        calls.append("hardtanh")
        return b.full(0.5, b.element, b.sizes)  # wrong on purpose: seen in the result

    x = torch.randn(7)
    got = torch.compile(lambda x: torch.nn.functional.hardtanh(x), backend="mlir")(x)
    assert calls == ["hardtanh"]
    torch.testing.assert_close(got, torch.full((7,), 0.5))
    with pytest.raises(RegistrationClash, match=r"a row named `aten\.exp\.default`"):
        register_row("aten.exp.default")(hardtanh)


def test_a_target_is_built_with_its_options() -> None:
    got: list[object] = []

    def build(graph: object, request: object) -> object:
        got.append(request.target_options)  # pyright: ignore
        return lambda args: [args[0] * 2]

    register_target(
        Target(name="doubling", build=build, options={"depth": 1}, emitters={"none": lambda m: "-"})
    )
    options = {"target": "doubling", "target_options": {"depth": 3}}
    x = torch.randn(3)
    torch.testing.assert_close(torch.compile(lambda x: x + 1, backend="mlir", options=options)(x), x * 2)
    assert got == [{"depth": 3}]
    assert emitter("none")(ModuleOp([])) == "-"
    with pytest.raises(UnknownOption, match=r"TW1001(.|\n)*did you mean `depth`"):
        options_of_target(target("doubling"), {"dept": 3})
    with pytest.raises(BadOptionValue, match=r"TW1002(.|\n)*a int"):
        options_of_target(target("doubling"), {"depth": "3"})


def test_targets_are_found_by_device_language_and_name() -> None:
    assert (target_for("cpu"), target_for("cuda"), target_for("tpu")) == ("cpu_openmp", "gpu_triton", None)
    register_target(Target(name="second", build="x:y", devices=("cpu", "tpu")))
    assert (target_for("cpu"), target_for("tpu")) == ("cpu_openmp", "second")
    register_target(Target(name="third", build="x:y", devices=("tpu",), emitters={"cpp": "x:y"}))
    with pytest.raises(RegistrationClash, match="target for device named `tpu`"):
        target_for("tpu")
    with pytest.raises(UnknownName, match=r"TW3901: no output language is named `cp`(.|\n)*`cpp`"):
        emitter("cp")
    with pytest.raises(UnknownName, match=r"TW3901: no pipeline is named `cpuu`(.|\n)*`cpu`"):
        pipeline("cpuu")


# The fingerprint, which is part of cache keys


def test_the_fingerprint_changes_with_what_is_added() -> None:
    @dataclass(frozen=True)
    class MarkPass(ModulePass):
        name = "mark"

        def apply(self, ctx: Context, op: ModuleOp) -> None: ...

    none = plugins.fingerprint()
    register_pass(MarkPass)
    one = plugins.fingerprint()
    register_dialect(Dialect("mine", [], []))
    assert len({none, one, plugins.fingerprint()}) == 3


def test_definitions_without_a_file_are_told_apart_by_their_code() -> None:
    def made(body: str) -> str:
        scope: dict[str, object] = {"__name__": "__no_such_file__"}
        exec(f"def f(ctx, module):\n    return {body}", scope)
        return plugins.source_digest(scope["f"])

    assert made("1") == made("1")
    assert made("1") != made("2")
    assert made("ctx") != made("module")


def test_graphs_are_not_kept_while_a_process_has_plug_ins_of_its_own() -> None:
    from torch.fx import symbolic_trace

    from tilewright.frontend.cache.cache_key import Unkept, graph_key
    from tilewright.frontend.environment import read_environment

    def key() -> str:
        return graph_key(symbolic_trace(lambda x: x + 1), (), make_options(), read_environment({}))

    assert key() == key()
    register_pass("mine")(_nothing)
    with pytest.raises(Unkept, match="this process has a pass of its own: mine"):
        key()
