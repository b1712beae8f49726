"""Every deliberate bug, in the order of the compiler."""

from __future__ import annotations

from collections.abc import Sequence

import dialect_faults
import frontend_faults
import host_faults
import import_faults
import in_place_faults
import layout_faults
import lowering_faults
import product_faults
import schedule_faults
import target_faults
import tensor_faults
from fault import Fault

FAULTS: Sequence[Fault] = (
    *frontend_faults.FAULTS,
    *import_faults.FAULTS,
    *tensor_faults.FAULTS,
    *lowering_faults.FAULTS,
    *layout_faults.FAULTS,
    *host_faults.FAULTS,
    *in_place_faults.FAULTS,
    *dialect_faults.FAULTS,
    *schedule_faults.FAULTS,
    *product_faults.FAULTS,
    *target_faults.FAULTS,
)
