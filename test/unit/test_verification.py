"""What a verifier found right once is not judged again, and what changed since always is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, TensorType, f32, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException, VerifyException

from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.attributes import map_attr
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.base import int_array
from tilewright.dialects.tw.elementwise import ExpOp
from tilewright.dialects.tw.reduction import SumOp
from tilewright.dialects.verification import Verifier
from tilewright.frontend.tools.tool_io import parse_module
from tilewright.passes.manager import verify_module

OpT = TypeVar("OpT", bound=Operation)

TEXT = """
func.func @main(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4x8xf32>) {
  %e = tw.exp %x : tensor<4x8xf32>
  %s = tw.sum %e over [1] : tensor<4x8xf32> -> tensor<4xf32>
  %k = tk.kernel [4, 8] ins(%e : tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  ^bb0(%a: tensor<4x8xf32>, %o: tensor<4x8xf32>):
    %0 = tk.load %a[d0, d1] : tensor<4x8xf32> -> f32
    tk.store %0, %o[d0, d1] : f32, tensor<4x8xf32>
  }
  %l = tk.kernel [4, 8] ins(%k : tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  ^bb0(%a: tensor<4x8xf32>, %o: tensor<4x8xf32>):
    %0 = tk.load %a[d0, d1] : tensor<4x8xf32> -> f32
    tk.store %0, %o[d0, d1] : f32, tensor<4x8xf32>
  }
  func.return %s, %l : tensor<4xf32>, tensor<4x8xf32>
}
"""


def known() -> tuple[ModuleOp, Verifier]:
    module, verifier = parse_module(new_context(), TEXT, "test"), Verifier()
    verifier.verify(module)
    return module, verifier


def first(module: ModuleOp, kind: type[OpT]) -> OpT:
    return next(op for op in module.walk() if isinstance(op, kind))


def retype(value: SSAValue, type_: Attribute) -> None:
    value._type = type_  # pyright: ignore[reportPrivateUsage]


def _other_axes(module: ModuleOp) -> None:
    first(module, SumOp).properties["axes"] = int_array([5])


def _undefined_attribute(module: ModuleOp) -> None:
    first(module, ExpOp).properties["other"] = StringAttr("x")


def _result_type(module: ModuleOp) -> None:
    retype(first(module, SumOp).results[0], TensorType(f32, [5]))


def _operand_type(module: ModuleOp) -> None:
    retype(first(module, ExpOp).results[0], TensorType(f64, [4, 8]))


def _operand(module: ModuleOp) -> None:
    first(module, ExpOp).operands[0] = first(module, SumOp).results[0]


def _store(module: ModuleOp) -> None:
    store = first(module, StoreOp)
    store.detach()
    store.erase()


def _block_argument(module: ModuleOp) -> None:
    retype(first(module, KernelOp).body.block.args[1], TensorType(f32, [8, 4]))


def _subscripts(module: ModuleOp) -> None:
    first(module, LoadOp).properties["map"] = map_attr([0])


def _space(module: ModuleOp) -> None:
    first(module, KernelOp).properties["sizes"] = map_attr([4])


def _order_inside(module: ModuleOp) -> None:
    load, store = first(module, LoadOp), first(module, StoreOp)
    load.detach()
    first(module, KernelOp).body.block.insert_op_after(load, store)


def _value_of_another_kernel(module: ModuleOp) -> None:
    loads = [op for op in module.walk() if isinstance(op, LoadOp)]
    first(module, StoreOp).operands[0] = loads[1].result


def _destination(module: ModuleOp) -> None:
    first(module, StoreOp).operands[1] = first(module, KernelOp).body.block.args[0]


def _parent(module: ModuleOp) -> None:
    first(module, ExpOp).parent = None


def _parent_inside(module: ModuleOp) -> None:
    first(module, LoadOp).parent = None


def _terminator(module: ModuleOp) -> None:
    function = next(op for op in module.walk() if op.name == "func.func")
    last = function.regions[0].block.last_op
    assert last is not None
    exp = first(module, ExpOp)
    exp.detach()
    function.regions[0].block.insert_op_after(exp, last)


def _value_from_inside(module: ModuleOp) -> None:
    first(module, ExpOp).operands[0] = first(module, KernelOp).body.block.args[0]


def _function_type(module: ModuleOp) -> None:
    inputs = [TensorType(f64, [4, 8])]
    function = first(module, FuncOp)
    function.properties["function_type"] = FunctionType.from_lists(
        inputs, function.function_type.outputs.data
    )


def _function_argument(module: ModuleOp) -> None:
    first(module, FuncOp).body.block.insert_arg(f32, 1)


BREAKS: list[Callable[[ModuleOp], None]] = [
    _other_axes,
    _undefined_attribute,
    _result_type,
    _operand_type,
    _operand,
    _store,
    _block_argument,
    _subscripts,
    _space,
    _order_inside,
    _value_of_another_kernel,
    _destination,
    _parent,
    _parent_inside,
    _terminator,
    _value_from_inside,
    _function_type,
    _function_argument,
]


@pytest.mark.parametrize("spoil", BREAKS)
def test_what_breaks_a_known_module_is_noticed(spoil: Callable[[ModuleOp], None]) -> None:
    module, verifier = known()
    spoil(module)
    with pytest.raises((VerifyException, DiagnosticException, ValueError)):
        verifier.verify(module)
    with pytest.raises((VerifyException, DiagnosticException, ValueError)):
        verifier.verify(module)  # a second look does not take it for right
    with pytest.raises((VerifyException, DiagnosticException, ValueError)):
        verify_module(module)


def test_values_from_outside_are_noticed_where_order_is_no_dominance() -> None:
    module, verifier = known()
    type_ = TensorType(f32, [4, 8])
    user = ExpOp.create(operands=[first(module, ExpOp).results[0]], result_types=[type_])
    end = ReturnOp(first(module, SumOp).results[0], user.results[0])
    first(module, FuncOp).body.add_block(Block([user, end]))
    verifier.verify(module)
    outside = Block(arg_types=[type_])
    user.operands[0] = outside.args[0]
    with pytest.raises(DiagnosticException, match="defined out of"):
        verifier.verify(module)


def test_nothing_is_judged_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[str] = []
    kinds: tuple[type[Any], ...] = (ExpOp, SumOp, KernelOp, FuncOp)
    for kind in kinds:
        ours = kind.verify_

        def verify_(self: Operation, ours: Callable[[Operation], None] = ours) -> None:
            judged.append(self.name)
            ours(self)

        monkeypatch.setattr(kind, "verify_", verify_)
    module, verifier = known()
    once = ["tw.exp", "tw.sum", "tk.kernel", "func.func"]
    assert judged == once  # the second kernel is the first one again
    verifier.verify(module)
    assert judged == once
    first(module, SumOp).attributes["note"] = StringAttr("x")
    verifier.verify(module)
    assert judged == [*once, "tw.sum"]
    first(module, FuncOp).attributes["note"] = StringAttr("x")
    verifier.verify(module)
    assert judged == [*once, "tw.sum", "func.func"]


def test_an_op_in_a_kernel_is_judged_once_per_text_and_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[int] = []
    ours = LoadOp.verify_

    def verify_(self: LoadOp) -> None:
        judged.append(len(self.subscripts))
        ours(self)

    monkeypatch.setattr(LoadOp, "verify_", verify_)
    module, verifier = known()
    assert len(judged) == 1
    kernels = [op for op in module.walk() if isinstance(op, KernelOp)]
    kernels[1].attributes["note"] = StringAttr("x")
    verifier.verify(module)
    assert len(judged) == 2
    first(module, StoreOp).attributes["note"] = StringAttr("x")
    verifier.verify(module)
    assert len(judged) == 2


def test_a_name_does_not_make_another_kernel_but_an_empty_one_is_refused() -> None:
    def function(name: str) -> str:
        return f'tk.func @"{name}" [4] (%a: memref<4xf32>) {{ }}\n'

    module = parse_module(new_context(), function("a") + function("b"), "test")
    verifier = Verifier()
    verifier.verify(module)
    list(module.ops)[1].properties["sym_name"] = StringAttr("a")
    with pytest.raises((VerifyException, DiagnosticException), match="a"):
        verifier.verify(module)
