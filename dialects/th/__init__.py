"""th: the host plan, a straight line of allocations, launches and library calls."""

from .dialect import TH as TH
