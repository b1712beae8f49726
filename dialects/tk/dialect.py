"""The list of everything `tk` defines."""

from xdsl.ir import Dialect

from .access import IndexOp, LoadOp, LocalOp, StoreOp
from .attributes import MapAttr
from .calls import AssertOp, CallOp
from .compute import ActiveOp, ArgReduceOp, RandomOp, ReduceOp, ScanOp
from .dot import DotOp
from .group import GroupOp, PartOp
from .halve import HalveOp
from .interleave import DeinterleaveOp, InterleaveOp
from .kernels import FuncOp, KernelOp
from .loops import ForOp, TailOp, YieldOp
from .moments import MomentsOp
from .share import ShareOp
from .sort import ArrangeOp, OrderOp, SortOp
from .sumexp import SumExpOp
from .tiles import CollapseOp, CumulateOp, MmaOp
from .transpose import TransposeOp
from .turn import TurnOp

TK = Dialect(
    "tk",
    [
        KernelOp, FuncOp, LoadOp, StoreOp, IndexOp, LocalOp, ReduceOp, ArgReduceOp, ScanOp, RandomOp,
        ActiveOp, DotOp, AssertOp, CallOp, ForOp, TailOp, YieldOp, CollapseOp, CumulateOp, MmaOp, MomentsOp,
        ShareOp, HalveOp, TransposeOp, TurnOp, SortOp, ArrangeOp, OrderOp, GroupOp, PartOp, SumExpOp,
        InterleaveOp, DeinterleaveOp,
    ],
    [MapAttr],
)  # fmt: skip
