// Calls on a CUDA device: what the emitted host function stands on besides prelude_host.h.
//
// The driver is opened by launch.py, never linked. Kernels are launched on torch's current stream of
// the graph's device; memory comes from torch's caching allocator, which reuses it in the order of the
// stream, so that temporaries can go back to it while kernels that use them still wait.
#pragma once
#include "prelude_host.h"

namespace tw {

constexpr i32 UI8 = 0;          // c10::ScalarType
constexpr usize ALIGNMENT = 16;  // bytes: kernels load 128 bits at once

// A kernel; launch.py fills it in when it loads the code.
struct Kernel {
  void* function;
  u32 threads, shared;  // of a program: threads, bytes of shared memory
  i64 scratch;          // bytes of global memory that each program needs
};

// Field by field as launch.py's `_Device`.
struct CudaDevice {
  void *driver, *torch;       // dlopen handles
  Kernel* kernels;
  PyObject* load;             // () -> None: loads all kernels into the current context
  volatile i32* failure;      // written by kernels; pinned memory of the host
  u64 failure_address;        // the same for the device
  i64 index;                  // of the device
  i64 loaded;
  i64 wait;                   // for checks, at the end of each call
};

#define TW_DRIVER_FUNCTIONS(X)                                                                 \
  X(cuDeviceGet, i32*, i32)                                                                    \
  X(cuCtxGetDevice, i32*)                                                                      \
  X(cuDevicePrimaryCtxRetain, void**, i32)                                                     \
  X(cuCtxSetCurrent, void*)                                                                    \
  X(cuLaunchKernel, void*, u32, u32, u32, u32, u32, u32, u32, void*, void**, void**)           \
  X(cuStreamSynchronize, void*)                                                                \
  X(cuStreamIsCapturing, void*, i32*)                                                          \
  X(cuGetErrorName, i32, const char**)                                                         \
  X(cuGetErrorString, i32, const char**)
#define TW_CUDA_TORCH_FUNCTIONS(X)                                                             \
  X(aoti_torch_create_cuda_guard, i32, void**)                                                 \
  X(aoti_torch_delete_cuda_guard, void*)                                                       \
  X(aoti_torch_get_current_cuda_stream, i32, void**)

TW_DRIVER_FUNCTIONS(TW_DECLARE)
TW_CUDA_TORCH_FUNCTIONS(TW_DECLARE)

// Null, or the name of a function that is missing.
static const char* open_device(const Setup* s) {
  const CudaDevice* d = (const CudaDevice*)s->device;
#define TW_RESOLVE_IN(library, name) \
  if (!(name = (decltype(name))dlsym(library, #name))) return #name;
#define TW_FROM_DRIVER(name, ...) TW_RESOLVE_IN(d->driver, name)
#define TW_FROM_TORCH(name, ...) TW_RESOLVE_IN(d->torch, name)
  TW_DRIVER_FUNCTIONS(TW_FROM_DRIVER)
  TW_CUDA_TORCH_FUNCTIONS(TW_FROM_TORCH)
  return nullptr;
}

template <int OWNED> struct CudaCall : Call<OWNED> {
  using Base = Call<OWNED>;
  using Base::graph, Base::places, Base::owned;
  CudaDevice* device;
  const int* checks;  // place of each check, in the order of their numbers
  void *guard = nullptr, *stream = nullptr;
  Owned memory, scratch;

  CudaCall(PyObject* self, PyObject* inputs, const Place* p, const int* c)
      : Base(self, inputs, p), device((CudaDevice*)Base::graph->device), checks(c) {
    Base::alignment = ALIGNMENT;
  }
  ~CudaCall() {
    Base::hold_gil();
    for (int i = 0; i < OWNED; ++i) Base::drop(i);
    forget(memory), forget(scratch);
    if (guard) aoti_torch_delete_cuda_guard(guard);
  }
  static void forget(Owned& o) {
    if (o.handle) aoti_torch_delete_tensor_object(o.handle);
    o = Owned{};
  }

  // The device is current from here on, kernels are loaded, and checks of earlier calls have passed.
  bool begin() {
    static const Place opening = {"the CUDA device of this graph", ""};
    if (aoti_torch_create_cuda_guard((i32)device->index, &guard) ||
        aoti_torch_get_current_cuda_stream((i32)device->index, &stream)) {
      const char* why = last_message ? last_message() : nullptr;
      Base::fail(2061, opening, why && *why ? why : "libtorch refused it");
      return false;
    }
    if (const i32 status = enter()) return driver_failed(status, opening, 2061);
    if (!device->loaded) {
      PyObject* nothing = PyObject_CallObject(device->load, nullptr);
      if (!nothing) return false;
      Py_DecRef(nothing);
    }
    return passed("a kernel of an earlier call found it; what that call returned is not valid");
  }
  // Make the context that torch uses current. A thread that called nothing of CUDA's runtime has none
  // (autograd's begin so), and torch's guard calls nothing where it takes the device for current.
  i32 enter() {
    i32 wanted = 0, now = 0;
    void* context = nullptr;
    if (const i32 status = cuDeviceGet(&wanted, (i32)device->index)) return status;
    if (!cuCtxGetDevice(&now) && now == wanted) return 0;
    const i32 status = cuDevicePrimaryCtxRetain(&context, wanted);
    return status ? status : cuCtxSetCurrent(context);
  }
  // False, with an exception, where a check failed in a kernel that has run by now.
  bool passed(const char* late) {
    const i32 number = device->failure ? *device->failure : 0;
    if (!number) return true;
    *device->failure = 0;
    Base::fail(2114, places[checks[number - 1]], late);
    return false;
  }
  // The last thing before results are made.
  bool finish() {
    if (!device->failure) return true;
    i32 capturing = 0;
    if (device->wait && !cuStreamIsCapturing(stream, &capturing) && !capturing) {
      static const Place waiting = {"a kernel of this call", ""};
      if (const i32 status = cuStreamSynchronize(stream)) return driver_failed(status, waiting);
    }
    return passed("");
  }
  void* failure() const { return (void*)device->failure_address; }

  // Memory
  bool take(Owned& o, i64 bytes) {
    const i64 one = 1;
    if (bytes < 64) bytes = 64;  // empty tensors have a place, too
    return Base::make(o, 1, &bytes, &one, UI8);
  }
  char* arena(i64 bytes) { return take(memory, bytes) ? (char*)memory.data : nullptr; }
  bool empty(int slot, i64 rank, const i64* sizes, const i64* strides, i32 dtype, i64) {
    return Base::make(owned[slot], rank, sizes, strides, dtype);
  }
  // An argument as kernels take it: itself, or where its address is odd a copy in `slot`.
  bool align(void*& data, int slot, int view, i64 rank, const i64* sizes, const i64* strides, i32 dtype, bool fixed) {
    if ((usize)data % ALIGNMENT == 0) return true;
    Handle given = Base::view(view, data, rank, sizes, strides, dtype, fixed);
    Owned& o = owned[slot];
    if (!given || !Base::make(o, rank, sizes, strides, dtype) || aoti_torch_copy_(o.handle, given, 0)) return false;
    data = o.data;
    return true;
  }
  // What was written to such a copy goes back.
  bool write_back(int slot, int view) {
    Owned& o = owned[slot];
    return !o.handle || !aoti_torch_copy_(Base::frame->slots[view].handle, o.handle, 0);
  }

  bool launch(int which, i64 x, i64 y, i64 z, void** args, int pointers, int place) {
    if (x <= 0 || y <= 0 || z <= 0) return true;
    if (x > 0x7fffffff || y > 65535 || z > 65535) {
      char text[128];
      snprintf(text, sizeof text, "its grid would be %ld x %ld x %ld programs", (long)x, (long)y, (long)z);
      Base::fail(2063, places[place], text);
      return false;
    }
    const Kernel& k = device->kernels[which];
    void* nothing = nullptr;
    args[pointers] = args[pointers + 1] = &nothing;  // scratch memory: global, and of profilers
    if (k.scratch) {
      forget(scratch);
      if (!take(scratch, k.scratch * x * y * z)) return out_of_memory(place), false;
      args[pointers] = &scratch.data;
    }
    const i32 status = cuLaunchKernel(k.function, (u32)x, (u32)y, (u32)z, k.threads, 1, 1, k.shared, stream, args, nullptr);
    return !status || driver_failed(status, places[place]);
  }

  // Failures
  PyObject* out_of_memory(int place) {
    const char* why = last_message ? last_message() : nullptr;
    return Base::fail(2062, places[place], why && *why ? why : "the device has not enough memory");
  }
  PyObject* too_large(int place) {
    return Base::fail(2063, places[place], "a size does not fit into 32 bits, with which its kernel counts");
  }
  bool driver_failed(i32 status, const Place& place, int code = 2064) {
    const char *name = "an unknown error", *why = "the driver says no more";
    cuGetErrorName(status, &name);
    cuGetErrorString(status, &why);
    char text[512];
    snprintf(text, sizeof text, "%s (%d): %s", name ? name : "?", status, why ? why : "");
    Base::fail(status == 2 ? 2062 : code, place, text);
    return false;
  }
};

}  // namespace tw
