"""The kernel dialect: fused kernels over an iteration space, before and after scheduling."""

from .dialect import TK

__all__ = ["TK"]
