"""The list of everything `th` defines."""

from xdsl.ir import Dialect

from .calls import CallOp, ExternOp, LaunchOp, TritonLaunchOp
from .control_flow import ControlOp
from .memory import AllocOp, ArenaOp, BufferOp, ConstantOp, DataOp, EmptyOp, FreeOp, ViewOp
from .types import TensorType

TH = Dialect(
    "th",
    [
        AllocOp,
        ArenaOp,
        BufferOp,
        CallOp,
        ConstantOp,
        ControlOp,
        DataOp,
        EmptyOp,
        ExternOp,
        FreeOp,
        LaunchOp,
        TritonLaunchOp,
        ViewOp,
    ],
    [TensorType],
)
