"""Kernels are called by the tensor ops fused into them, in order, without what says nothing."""

from __future__ import annotations

import pytest
from tk_harness import parse
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Operation

from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.kernels import naming

MODULE = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tw.exp %x : tensor<4xf32>
  %p = tk.kernel [4] ins(%x : tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>, %o: tensor<4xf32>):
    %0 = tk.load %a[d0] : tensor<4xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<4xf32>
  }
  %r = tk.kernel [4] ins(%p : tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>, %o: tensor<4xf32>):
    %0 = tk.load %a[d0] : tensor<4xf32> -> f32
    tk.store %0, %o[d0] : f32, tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}"""


def parsed() -> tuple[Operation, KernelOp, KernelOp]:
    """A tensor op, and two kernels without names."""
    ops = list(parse(MODULE).walk())
    producer, consumer = (op for op in ops if isinstance(op, KernelOp))
    return next(op for op in ops if op.name == "tw.exp"), producer, consumer


NAMES: dict[str, tuple[str, str]] = {
    "nothing": ("", "copy"),
    "silent": ("full constant cast iota select compare etc", "copy"),
    "order": ("sub exp sum", "sub-exp-sum"),
    "repeated": ("add add mul add", "add-mul-add"),
    "repeated around a silent one": ("add cast add", "add"),
    "silent only as a whole": ("broadcast constant_pad", "broadcast-constant_pad"),
    "longest": ("a b c d e", "a-b-c-d-e"),
    "too long": ("a b c d e f g", "a-b-c-d-e-etc"),
    "counted without silent and repeated ones": ("a a b cast c d full e e", "a-b-c-d-e"),
    "cut again": ("a b c d e etc f", "a-b-c-d-e-etc"),
}


@pytest.mark.parametrize(("words", "name"), NAMES.values(), ids=NAMES)
def test_names_are_made_of_words(words: str, name: str) -> None:
    assert naming.name_of(iter(words.split())) == StringAttr(name)


def test_kernels_are_named_after_tensor_ops() -> None:
    op, kernel, other = parsed()
    naming.name_after(kernel, op)
    assert kernel.attributes[naming.NAME] == StringAttr("exp")
    assert naming.words_of(kernel) == ["exp"]
    assert naming.NAME not in other.attributes


def test_kernels_without_a_name_have_no_words() -> None:
    _, kernel, other = parsed()
    other.attributes[naming.NAME] = IntegerAttr(3, i64)
    assert naming.words_of(kernel) == naming.words_of(other) == []
    assert naming.fused_name(kernel, other) == StringAttr("copy")


FUSED = [("sub-exp", "sum", "sub-exp-sum"), ("cast", "full-exp", "exp"), ("exp", "exp-sum", "exp-sum"),
         ("a-b-c", "d-e-f", "a-b-c-d-e-etc")]  # fmt: skip


@pytest.mark.parametrize(("first", "second", "name"), FUSED)
def test_what_is_fused_has_the_words_of_both(first: str, second: str, name: str) -> None:
    _, producer, consumer = parsed()
    for kernel, words in ((producer, first), (consumer, second)):
        kernel.attributes[naming.NAME] = StringAttr(words)
    assert naming.fused_name(producer, consumer) == StringAttr(name)
    assert (naming.words_of(producer), naming.words_of(consumer)) == (first.split("-"), second.split("-"))
