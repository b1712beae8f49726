"""Functions that run as often as data says: `cond`, `while` and `scan` call functions of the module."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import ClassVar

from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import EffectInstance, MemoryEffect

from ..control_flow import COND, SCAN, WHILE
from ..index_expr import Expr, Var, parse_exprs
from ..op_definition import op_definition
from ..types import element_type, sizes_of, sizes_of_type, tensor_type
from .base import (
    READ_WRITE,
    TENSOR,
    check_sizes_known,
    checked_exprs,
    expect_element,
    expect_rank,
    expect_sizes,
    exprs_attr,
    fail,
    int_attr,
)


class ControlEffect(MemoryEffect):
    """Of functions that draw random numbers, say, the call stays where it is."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        assert isinstance(op, ControlOp)
        return READ_WRITE if op.impure is not None else frozenset()


class ControlOp(IRDLOperation, ABC):
    """Base of the ops that call functions of the module, which their verifier looks at.

    A function takes tensors, then one `index` per expression of `symbols`, which are its symbols' values;
    it returns tensors. It sees its operands row-major, and writes to none. `impure` says that one of the
    functions does something besides (draws random numbers): the op is never merged, moved or removed.
    """

    KIND: ClassVar[str]
    CALLEES: ClassVar[tuple[str, ...]]
    """The properties that name what it calls, in the order of `run_control`."""

    inputs = var_operand_def(TENSOR)
    symbols = opt_prop_def(StringAttr)
    impure = opt_prop_def(UnitAttr)
    outputs = var_result_def(TENSOR)

    traits = traits_def(ControlEffect())

    def __init__(
        self,
        functions: Sequence[str],
        inputs: Sequence[SSAValue],
        results: Sequence[Attribute],
        symbols: Sequence[Expr] = (),
        *,
        impure: bool = False,
        counts: Mapping[str, int] | None = None,
    ) -> None:
        """`counts` are the properties of a kind of its own."""
        callees = zip(self.CALLEES, functions, strict=True)
        properties: dict[str, Attribute] = {callee: SymbolRefAttr(name) for callee, name in callees}
        properties |= {name: int_attr(count) for name, count in (counts or {}).items()}
        if symbols:
            properties["symbols"] = exprs_attr(symbols)
        if impure:
            properties["impure"] = UnitAttr()
        super().__init__(operands=[inputs], result_types=[results], properties=properties)

    @property
    def functions(self) -> tuple[SymbolRefAttr, ...]:
        """What it calls, in the order of `run_control`."""
        found = [self.properties[callee] for callee in self.CALLEES]
        return tuple(name for name in found if isinstance(name, SymbolRefAttr))

    @property
    @abstractmethod
    def carried(self) -> int:
        """So many operands are state, which the next call takes from the results of the last."""

    @property
    def scanned(self) -> int:
        """So many operands after the state are taken row by row."""
        return 0

    @property
    def symbol_values(self) -> tuple[Expr, ...]:
        return () if self.symbols is None else parse_exprs(self.symbols.data)

    @abstractmethod
    def calls(self) -> Iterator[tuple[Sequence[Attribute], Sequence[Attribute]]]:
        """The types of the tensors that each function takes, and of what it returns."""

    def verify_(self) -> None:
        check_sizes_known(self)
        if self.symbols is not None:
            checked_exprs(self, "symbols", self.symbols, len(self.symbols.data.split(", ")))
        self.check()
        module = self
        while module is not None and not isinstance(module, ModuleOp):
            module = module.parent_op()
        if module is None:  # it stands nowhere yet
            return
        functions = {f.sym_name.data: f for f in module.ops if isinstance(f, FuncOp)}
        for name, (takes, returns) in zip(self.functions, self.calls(), strict=True):
            self._check_function(name.string_value(), functions, takes, returns)

    @abstractmethod
    def check(self) -> None:
        """What can be said without a look at the functions."""

    def _check_function(
        self,
        name: str,
        functions: Mapping[str, FuncOp],
        takes: Sequence[Attribute],
        returns: Sequence[Attribute],
    ) -> None:
        function, values = functions.get(name), self.symbol_values
        if function is None:
            raise fail(self, f"the module has no function @{name}")
        symbols = {var: value for var, value in zip(_symbols(function), values, strict=False) if var}
        for what, given, wanted in (
            ("takes", (*takes, *(IndexType() for _ in values)), function.function_type.inputs.data),
            ("returns", returns, function.function_type.outputs.data),
        ):
            found = [_with(type_, symbols) for type_ in wanted]
            if list(given) != found:
                raise fail(self, f"@{name} {what} {_list(found)}, expected {_list(given)}")

    def _check_state(self) -> None:
        """The state keeps its types from call to call."""
        carried = self.carried
        if len(self.inputs) < carried:
            raise fail(self, f"{len(self.inputs)} operands, expected at least the {carried} of the state")
        for i in range(carried):
            if self.inputs[i].type != self.outputs[i].type:
                types = f"{self.inputs[i].type} and {self.outputs[i].type}"
                raise fail(self, f"operand {i} and result {i} are the same state, but of types {types}")


def _symbols(function: FuncOp) -> list[Var | None]:
    """The symbols that the last parameters of a function give values to."""
    names = [attrs.data.get("tw.symbol") for attrs in function.arg_attrs or ()]
    pairs = zip(function.function_type.inputs.data, names, strict=False)
    return [_variable(name) for type_, name in pairs if isinstance(type_, IndexType)]


def _variable(name: Attribute | None) -> Var | None:
    return Var("s", int(name.data[1:])) if isinstance(name, StringAttr) else None


def _with(type_: Attribute, symbols: Mapping[Var, Expr]) -> Attribute:
    """A type of the function as its caller sees it."""
    if isinstance(type_, IndexType):
        return type_
    return tensor_type(element_type(type_), [n.substitute(symbols) for n in sizes_of_type(type_)])


def row_type(type_: Attribute) -> Attribute:
    """Of one element along the first dimension, without that dimension."""
    return tensor_type(element_type(type_), sizes_of_type(type_)[1:])


def _list(types: Sequence[Attribute]) -> str:
    return f"({', '.join(map(str, types))})"


@op_definition
class CondOp(ControlOp):
    """Call one of two functions: `then` where the first operand holds, else the other, with the rest.

    ```mlir
    %r = tw.cond @then else @otherwise (%p, %x) symbols "s0"
       : (tensor<i1>, tensor<?xf32, #tw.shape<"s0">>) -> tensor<?xf32, #tw.shape<"s0">>
    ```
    """

    name = "tw.cond"
    KIND: ClassVar[str] = COND
    CALLEES: ClassVar[tuple[str, ...]] = ("then", "otherwise")

    then = prop_def(SymbolRefAttr)
    otherwise = prop_def(SymbolRefAttr)

    assembly_format = (
        "$then `else` $otherwise `(` $inputs `)` (`symbols` $symbols^)? (`impure` $impure^)? attr-dict"
        " `:` functional-type($inputs, $outputs)"
    )

    def calls(self) -> Iterator[tuple[Sequence[Attribute], Sequence[Attribute]]]:
        for _ in self.functions:
            yield [v.type for v in self.inputs[1:]], [v.type for v in self.outputs]

    @property
    def carried(self) -> int:
        return 0

    def check(self) -> None:
        if not self.inputs:
            raise fail(self, "no operands, expected a condition first")
        expect_element(self, "condition", self.inputs[0], i1)
        expect_rank(self, "condition", self.inputs[0], 0)


@op_definition
class WhileOp(ControlOp):
    """Call `body` with the operands while `more` says so of them; each call replaces the first operands.

    The results are what these are in the end; `more` returns a `tensor<i1>`. Operands beyond the state are
    the same in each call.

    ```mlir
    %n, %y = tw.while @more do @body (%i, %x, %w)
       : (tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>)
    ```
    """

    name = "tw.while"
    KIND: ClassVar[str] = WHILE
    CALLEES: ClassVar[tuple[str, ...]] = ("more", "body")

    more = prop_def(SymbolRefAttr)
    body = prop_def(SymbolRefAttr)

    assembly_format = (
        "$more `do` $body `(` $inputs `)` (`symbols` $symbols^)? (`impure` $impure^)? attr-dict"
        " `:` functional-type($inputs, $outputs)"
    )

    def calls(self) -> Iterator[tuple[Sequence[Attribute], Sequence[Attribute]]]:
        given = [v.type for v in self.inputs]
        yield given, [tensor_type(i1, ())]
        yield given, [v.type for v in self.outputs]

    @property
    def carried(self) -> int:
        return len(self.outputs)

    def check(self) -> None:
        self._check_state()


@op_definition
class ScanOp(ControlOp):
    """Call `body` once per row of the scanned operands, in order; results are the last state, then all rows.

    Operands are the state, what is scanned along dimension 0, and what is the same in each call; `body`
    takes one row each, and returns the new state and one row per other result.

    ```mlir
    %last, %all = tw.scan @body (%init, %xs, %w) carrying 1 over 1
       : (tensor<4xf32>, tensor<8x4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<8x4xf32>)
    ```
    """

    name = "tw.scan"
    KIND: ClassVar[str] = SCAN
    CALLEES: ClassVar[tuple[str, ...]] = ("body",)

    body = prop_def(SymbolRefAttr)
    state = prop_def(IntegerAttr.constr(i64))
    rows = prop_def(IntegerAttr.constr(i64))

    assembly_format = (
        "$body `(` $inputs `)` `carrying` $state `over` $rows (`symbols` $symbols^)? (`impure` $impure^)?"
        " attr-dict `:` functional-type($inputs, $outputs)"
    )

    def __init__(
        self,
        functions: Sequence[str],
        inputs: Sequence[SSAValue],
        results: Sequence[Attribute],
        symbols: Sequence[Expr] = (),
        *,
        carried: int,
        scanned: int,
        impure: bool = False,
    ) -> None:
        counts = {"state": carried, "rows": scanned}
        super().__init__(functions, inputs, results, symbols, impure=impure, counts=counts)

    def calls(self) -> Iterator[tuple[Sequence[Attribute], Sequence[Attribute]]]:
        given, made = [v.type for v in self.inputs], [v.type for v in self.outputs]
        first = self.carried + self.scanned
        rows = map(row_type, given[self.carried : first])
        yield (
            [*given[: self.carried], *rows, *given[first:]],
            [
                *made[: self.carried],
                *map(row_type, made[self.carried :]),
            ],
        )

    @property
    def carried(self) -> int:
        return self.state.value.data

    @property
    def scanned(self) -> int:
        return self.rows.value.data

    def check(self) -> None:
        carried, scanned = self.carried, self.scanned
        if not 0 <= carried <= len(self.outputs):
            raise fail(self, f"carries {carried}, expected 0 to {len(self.outputs)}: the state is returned")
        self._check_state()
        if not 1 <= scanned <= len(self.inputs) - carried:
            raise fail(self, f"scans {scanned} operands, expected 1 to {len(self.inputs) - carried}")
        rows = (*self.inputs[carried : carried + scanned], *self.outputs[carried:])
        if any(not sizes_of(value) for value in rows):
            raise fail(self, "what is scanned has no dimensions, expected rows along the first one")
        first = sizes_of(rows[0])[:1]
        for value in rows[1:]:
            expect_sizes(self, "number of rows", sizes_of(value)[:1], first)


CONTROL_OPS = (CondOp, WhileOp, ScanOp)
