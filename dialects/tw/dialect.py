"""The list of everything `tw` defines."""

from xdsl.ir import Dialect

from ..types import ShapeAttr
from .aten import ATEN_OPS, ArgAttr, SizeAttr
from .attention import ATTENTION_OPS
from .bits import BITS_OPS
from .control_flow import CONTROL_OPS
from .creation import CREATION_OPS
from .elementwise import UNARY_OPS
from .elementwise_binary import ELEMENTWISE_OPS, PredicateAttr
from .float8 import FLOAT8_OPS
from .indexing import INDEXING_OPS, CombineAttr
from .linalg import LINALG_OPS
from .packed_convolution import PACKED_CONVOLUTION_OPS
from .packing import PACKING_OPS
from .reduction import REDUCTION_OPS
from .triton import TRITON_OPS, ConfigAttr, JitAttr
from .updating import UPDATE_OPS, PartAttr
from .view import VIEW_OPS
from .window import WINDOW_OPS

TW = Dialect(
    "tw",
    [
        *UNARY_OPS,
        *ELEMENTWISE_OPS,
        *BITS_OPS,
        *FLOAT8_OPS,
        *CREATION_OPS,
        *VIEW_OPS,
        *WINDOW_OPS,
        *REDUCTION_OPS,
        *INDEXING_OPS,
        *LINALG_OPS,
        *ATTENTION_OPS,
        *PACKING_OPS,
        *PACKED_CONVOLUTION_OPS,
        *ATEN_OPS,
        *CONTROL_OPS,
        *TRITON_OPS,
        *UPDATE_OPS,
    ],
    [ShapeAttr, PredicateAttr, CombineAttr, ArgAttr, SizeAttr, JitAttr, ConfigAttr, PartAttr],
)
