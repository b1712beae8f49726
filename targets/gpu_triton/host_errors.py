"""What can go wrong between a compiled graph and the GPU that runs it."""

from __future__ import annotations

from tilewright.dialects.diagnostics import CannotCompile, TilewrightError


class NoDriver(CannotCompile):
    """The CUDA driver's library cannot be opened, or has no device."""

    code = "TW2060"
    what = "no CUDA driver can be used"
    why = "{reason}"
    fix = "install the NVIDIA driver (`nvidia-smi` must work), or run the model on the CPU"


class DeviceUnavailable(TilewrightError, RuntimeError):
    """The device of a graph cannot be made current."""

    code = "TW2061"
    what = "cannot use {what}"
    why = "{why}"
    fix = "check that the device still exists (`nvidia-smi`) and that CUDA_VISIBLE_DEVICES did not change"


class LaunchRefused(TilewrightError, RuntimeError):
    """Sizes for which a kernel cannot be launched."""

    code = "TW2063"
    what = "{what} is impossible with these sizes"
    why = "{why}"
    fix = "split the batch; if the sizes are moderate, report this with TILEWRIGHT_DUMP=dir"


class LaunchFailed(TilewrightError, RuntimeError):
    """The driver refused a launch, or reports the failure of an earlier one."""

    code = "TW2064"
    what = "{what} failed"
    why = "{why}"
    fix = (
        "the failure may be that of an earlier kernel: run with CUDA_LAUNCH_BLOCKING=1;"
        " after an illegal access the process must be restarted"
    )


class KernelUnloadable(TilewrightError, RuntimeError):
    """The driver does not take a kernel's machine code."""

    code = "TW2065"
    what = "the driver cannot load kernel {name}, which was compiled for {architecture}"
    why = "{why}"
    fix = "{advice}"


class TooMuchSharedMemory(TilewrightError, RuntimeError):
    """A kernel needs more shared memory than a program can have on this device."""

    code = "TW2066"
    what = "kernel {name} needs {needed} bytes of shared memory"
    why = "this device gives a program at most {limit}"
    fix = "report this with TILEWRIGHT_DUMP=dir: the schedule was made for another device"


class MixedDevices(CannotCompile):
    """A graph whose tensors live on several devices."""

    code = "TW2067"
    what = "the graph has tensors on {devices}"
    why = "a compiled graph runs on one device; {reason}"
    fix = "move these tensors to one device before they meet, inside of the function or before it"


class NoDeviceTensor(CannotCompile):
    """The GPU target was asked for a graph of another device."""

    code = "TW2068"
    what = "gpu_triton cannot run a graph whose tensors are on `{device}`"
    why = "its kernels read the memory of a CUDA device"
    fix = 'move model and inputs to "cuda", or leave out options={{"target": ...}}'
