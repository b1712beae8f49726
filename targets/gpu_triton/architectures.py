"""What is known of each GPU: one row per architecture, nothing of it anywhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .compile_errors import UnknownArchitecture

if TYPE_CHECKING:
    from tilewright.passes.manager import Fact
    from tilewright.passes.schedule.tiles.limits import Units

_K = 1024
_FIRST_TO_ADD_BF16 = 90
"""PTX has `red.add.bf16` from sm_90 on; before, Triton loops until nobody else wrote in between."""
_FIRST_WITH_DESCRIPTORS = 90
"""PTX has `cp.async.bulk.tensor` from sm_90 on."""


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """The facts that compiling, checking and choosing among kernels need."""

    name: str
    backend: Literal["cuda", "hip"]
    arch: int | str
    """What Triton's GPUTarget calls it."""
    warp: int
    shared_per_block: int
    """Most bytes of shared memory of one program."""
    shared_per_core: int
    registers_per_thread: int
    registers_per_core: int
    """Registers of one multiprocessor, counted in threads times registers of each."""
    register_grain: int
    """A warp takes its registers in multiples of this."""
    threads_per_core: int
    blocks_per_core: int
    cores: int
    """Multiprocessors of the largest device, for those that are not there to be asked."""
    tensor_core: str
    """Regular expression of the instructions that multiply blocks."""
    units: Units
    """Whose the matrix units are, which says where factors and sums lie."""
    float8: tuple[str, ...]
    """The 8-bit floats that they take; those of i8 all do."""
    halves: tuple[str, ...]
    """The 16-bit floats that they add in memory."""
    wide_load: str
    """Regular expression of the instructions that read at least 128 bits of global memory per lane."""
    wide_store: str
    descriptors: bool = False
    """Whether a copy engine brings blocks of memory by tensor descriptor (TMA)."""
    buffer_loads: bool = False
    """Whether memory is accessed at a scalar address plus 32 bits of each lane where a buffer is known to be
    small: half the registers of addresses, and no branch around lanes that a mask leaves out."""
    channels_last: bool = False
    """Whether convolutions of ATen's library take images with their channels last as they are: cuDNN's do."""

    @property
    def triton_target(self) -> tuple[str, int | str, int]:
        """The arguments of GPUTarget."""
        return self.backend, self.arch, self.warp

    @property
    def facts(self) -> Mapping[str, Fact]:
        """What passes are told: lanes, KiB of shared memory, cores, what matrix units and memory take."""
        return {
            "lanes": self.warp,
            "shared": self.shared_per_block // _K,
            "cores": self.cores,
            "descriptors": self.descriptors,
            "channels_last": self.channels_last,
            "units": self.units,
            "float8": self.float8,
            "halves": self.halves,
        }

    def programs(self, registers: int, shared: int, warps: int) -> int:
        """How many can be resident on a multiprocessor at once."""
        threads = warps * self.warp
        per_warp = -(-registers * self.warp // self.register_grain) * self.register_grain
        limits = [
            self.blocks_per_core,
            self.threads_per_core // threads,
            self.registers_per_core // max(1, per_warp * warps),
        ]
        if shared:
            limits.append(self.shared_per_core // (shared + (_K if self.backend == "cuda" else 0)))
        return min(limits)

    def occupancy(self, registers: int, shared: int, warps: int) -> float:
        """The fraction of a multiprocessor's threads that can be resident at once."""
        return self.programs(registers, shared, warps) * warps * self.warp / self.threads_per_core


_PRODUCTS: Mapping[Units, tuple[str, ...]] = {
    "warp": (),
    "group": (r"wgmma\.mma_async",),
    "core": (r"tcgen05\.mma",),
}
"""Instructions that CUDA's matrix units of each kind have besides those of a warp."""
_CUDA_LOAD = (
    r"ld\.global[\w.:]*\.(?:v4\.[bfus]32|v2\.[bfus]64|v8\.[bfus]32|v4\.[bfus]64)"
    r"|cp\.async\.c[ag]\.shared\.global[\w.:]*\s*\[[^\]]*\],\s*\[[^\]]*\],\s*0x10|cp\.async\.bulk"
)
_CUDA_STORE = (
    r"st\.global[\w.:]*\.(?:v4\.[bfus]32|v2\.[bfus]64|v8\.[bfus]32|v4\.[bfus]64)"
    r"|cp\.async\.bulk\.tensor[\w.:]*\.global\.shared"
)


def _cuda(
    arch: int, *, block: int, core: int, threads: int, blocks: int, cores: int, units: Units = "warp"
) -> Architecture:
    """`block` and `core` are KiB of shared memory, `threads` and `blocks` what is resident on a core."""
    return Architecture(
        name=f"sm_{arch}",
        backend="cuda",
        arch=arch,
        warp=32,
        shared_per_block=block * _K,
        shared_per_core=core * _K,
        registers_per_thread=255,
        registers_per_core=65536,
        register_grain=256,
        threads_per_core=threads,
        blocks_per_core=blocks,
        cores=cores,
        tensor_core="|".join((*_PRODUCTS[units], r"\bmma\.sync")),
        units=units,
        float8=("e4m3fn", "e5m2") if arch >= 89 else (),
        halves=("f16", "bf16") if arch >= _FIRST_TO_ADD_BF16 else ("f16",),
        wide_load=_CUDA_LOAD,
        wide_store=_CUDA_STORE,
        descriptors=arch >= _FIRST_WITH_DESCRIPTORS,
        channels_last=True,
    )


ARCHITECTURES: Mapping[str, Architecture] = {
    row.name: row
    for row in (
        _cuda(80, block=163, core=164, threads=2048, blocks=32, cores=108),
        _cuda(86, block=99, core=100, threads=1536, blocks=16, cores=84),
        _cuda(87, block=163, core=164, threads=1536, blocks=16, cores=16),
        _cuda(89, block=99, core=100, threads=1536, blocks=24, cores=142),
        _cuda(90, block=227, core=228, threads=2048, blocks=32, cores=132, units="group"),
        _cuda(100, block=227, core=228, threads=2048, blocks=32, cores=148, units="core"),
        _cuda(103, block=227, core=228, threads=2048, blocks=32, cores=148, units="core"),
        _cuda(110, block=227, core=228, threads=1536, blocks=24, cores=20, units="core"),
        _cuda(120, block=99, core=100, threads=1536, blocks=24, cores=188),
        _cuda(121, block=99, core=100, threads=1536, blocks=24, cores=48),
        Architecture(
            name="gfx942",
            backend="hip",
            arch="gfx942",
            warp=64,
            shared_per_block=64 * _K,
            shared_per_core=64 * _K,
            registers_per_thread=512,
            registers_per_core=4 * 512 * 64,
            register_grain=8 * 64,
            threads_per_core=2048,
            blocks_per_core=32,
            cores=304,
            tensor_core=r"\bv_mfma",
            units="warp",
            float8=("e4m3fnuz", "e5m2fnuz"),
            halves=("f16", "bf16"),
            wide_load=r"(?:global|buffer|flat)_load_dwordx4|(?:global|buffer)_load_lds_dwordx4",
            wide_store=r"(?:global|buffer|flat)_store_dwordx4",
            buffer_loads=True,
        ),
    )
}
"""By the name that the driver gives: `sm_<capability>` or the LLVM processor."""


def architecture(name: str) -> Architecture:
    """The row of that name; raises UnknownArchitecture."""
    if name not in ARCHITECTURES:
        raise UnknownArchitecture(name=name, known=", ".join(ARCHITECTURES))
    return ARCHITECTURES[name]
