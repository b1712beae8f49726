// Stands for libcuda, and for what libtorch_cuda exports about devices and streams (unless it is
// compiled into cudart.c, which stands below a libtorch_cuda that is real).
//
// Tests load it instead of both. It records every launch, runs a callback that does the work of
// the kernel on the raw pointers (tensors of the CPU are the device's memory), and fails on demand.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define API(type, name, ...) __attribute__((visibility("default"))) type name(__VA_ARGS__)
enum { MOST = 4096, DEVICES = 2, NAME = 128, ARGUMENTS = 32, NO_CONTEXT = 201 };

typedef struct {
  char name[NAME];
  unsigned grid[3], block[3], shared;
  void* stream;
  int device;
  int arguments;
  uint64_t values[ARGUMENTS];  // 8 bytes from each argument's address
} Launch;

typedef struct {
  char name[NAME];
  int device;
  int shared_limit, prefers_shared;
  int arguments;  // of the kernel, scratch included
} Function;

typedef struct {
  const char* name;  // of an API function
  int status;        // what it returns
  int after;         // so many calls that still succeed
} Failure;

typedef void (*Callback)(const char*, const unsigned*, void**);
typedef double (*Clock)(const char*, const unsigned*, unsigned);

static Launch launches[MOST];
static Function functions[MOST];
static int launched, loaded, modules, guards, synchronized_, capturing, capability = 90;
// Of each thread, as in CUDA: the runtime's device, and 1 + the device of the driver's context. A thread
// begins without a context; torch's guard gives it one only where it changes the device.
static _Thread_local int current, context;
static void* streams[DEVICES];
static Callback callback;
static Clock clock_;
static double now;  // milliseconds that launches took
static int held;    // memory, streams, events and contexts that were asked for and not given back
static Failure failure;

static int failing(const char* name) {
  if (!failure.name || strcmp(failure.name, name)) return 0;
  if (failure.after-- > 0) return 0;
  failure.after = 0;
  return failure.status;
}
#define MAY_FAIL(name) do { const int status = failing(name); if (status) return status; } while (0)

// ---- for tests ----------------------------------------------------------------------------

API(void, stub_reset, void) {
  launched = modules = guards = synchronized_ = capturing = current = context = 0;
  capability = 90;
  memset(streams, 0, sizeof streams);
  callback = 0, clock_ = 0, held = 0, now = 0;
  failure = (Failure){0, 0, 0};
}
API(void, stub_callback, Callback f) { callback = f; }
API(void, stub_clock, Clock f) { clock_ = f; }
API(int, stub_held, void) { return held; }
API(void, stub_fail, const char* name, int status, int after) {
  static char kept[NAME];
  strncpy(kept, name, NAME - 1);
  failure = (Failure){kept, status, after};
}
API(void, stub_stream, int device, void* stream) { streams[device] = stream; }
API(void, stub_capturing, int value) { capturing = value; }
API(void, stub_capability, int value) { capability = value; }
API(int, stub_launches, void) { return launched; }
API(int, stub_modules, void) { return modules; }
API(int, stub_guards, void) { return guards; }
API(int, stub_synchronized, void) { return synchronized_; }
API(const Launch*, stub_launch, int i) { return &launches[i]; }

// ---- libtorch_cuda ------------------------------------------------------------------------

#ifndef TORCH_IS_REAL
static void set_device(int device) {
  if (device != current) context = device + 1;
  current = device;
}
API(int, aoti_torch_create_cuda_guard, int device, void** guard) {
  MAY_FAIL("aoti_torch_create_cuda_guard");
  if (device < 0 || device >= DEVICES) return 1;
  int* before = malloc(sizeof *before);
  *before = current;
  set_device(device);
  ++guards;
  *guard = before;
  return 0;
}
API(int, aoti_torch_delete_cuda_guard, void* guard) {
  set_device(*(int*)guard);
  --guards;
  free(guard);
  return 0;
}
API(int, aoti_torch_get_current_cuda_stream, int device, void** stream) {
  MAY_FAIL("aoti_torch_get_current_cuda_stream");
  *stream = streams[device];
  return 0;
}
#endif

// ---- libcuda ------------------------------------------------------------------------------

API(int, cuInit, unsigned flags) { (void)flags; MAY_FAIL("cuInit"); return 0; }
API(int, cuDeviceGet, int* device, int index) {
  if (index < 0 || index >= DEVICES) return 101;
  *device = index;
  return 0;
}
API(int, cuDeviceGetAttribute, int* value, int attribute, int device) {
  (void)device;
  MAY_FAIL("cuDeviceGetAttribute");
  *value = attribute == 75 ? capability / 10 : attribute == 76 ? capability % 10 : attribute == 97 ? 232448
         : attribute == 16 ? 132 : attribute == 38 ? 4096 : 0;
  return 0;
}
API(int, cuCtxGetCurrent, void** now) { *now = (void*)(intptr_t)context; return 0; }
API(int, cuCtxGetDevice, int* device) {
  if (!context) return NO_CONTEXT;
  *device = context - 1;
  return 0;
}
API(int, cuDevicePrimaryCtxRetain, void** primary, int device) {
  MAY_FAIL("cuDevicePrimaryCtxRetain");
  *primary = (void*)(intptr_t)(device + 1);
  return 0;
}
API(int, cuCtxSetCurrent, void* now) {
  context = (int)(intptr_t)now;
  if (context) current = context - 1;
  return 0;
}
static _Thread_local int pushed[8], depth;
API(int, cuCtxPushCurrent_v2, void* now) {
  if (depth == 8) return 1;
  pushed[depth++] = context;
  return cuCtxSetCurrent(now);
}
API(int, cuCtxPopCurrent_v2, void** now) {
  if (!depth) return NO_CONTEXT;
  *now = (void*)(intptr_t)context;
  return cuCtxSetCurrent((void*)(intptr_t)pushed[--depth]);
}
API(int, cuDevicePrimaryCtxRelease_v2, int device) { (void)device; return 0; }
API(int, cuDeviceGetName, char* name, int size, int device) {
  (void)device;
  strncpy(name, "Stand-in", size);
  return 0;
}
// Events tell what launches took in between, as the test's clock says.
API(int, cuEventCreate, void** event, unsigned flags) {
  (void)flags;
  MAY_FAIL("cuEventCreate");
  if (!context) return NO_CONTEXT;
  ++held;
  *event = calloc(1, sizeof(double));
  return 0;
}
API(int, cuEventRecord, void* event, void* stream) { (void)stream; *(double*)event = now; return 0; }
API(int, cuEventElapsedTime, float* milliseconds, void* first, void* last) {
  *milliseconds = (float)(*(double*)last - *(double*)first);
  return 0;
}
API(int, cuEventDestroy_v2, void* event) { --held; free(event); return 0; }
API(int, cuStreamCreate, void** stream, unsigned flags) {
  (void)flags;
  if (!context) return NO_CONTEXT;
  ++held;
  *stream = malloc(1);
  return 0;
}
API(int, cuStreamDestroy_v2, void* stream) { --held; free(stream); return 0; }
API(int, cuMemAlloc_v2, uint64_t* memory, size_t bytes) {
  MAY_FAIL("cuMemAlloc_v2");
  if (!context) return NO_CONTEXT;
  ++held;
  *memory = (uint64_t)(uintptr_t)aligned_alloc(256, (bytes + 255) / 256 * 256);
  return 0;
}
API(int, cuMemFree_v2, uint64_t memory) { --held; free((void*)(uintptr_t)memory); return 0; }
API(int, cuMemsetD8Async, uint64_t memory, unsigned char byte, size_t count, void* stream) {
  (void)stream;
  memset((void*)(uintptr_t)memory, byte, count);
  return 0;
}
// An image is text here: `<name> <arguments>`.
API(int, cuModuleLoadData, void** module, const void* image) {
  MAY_FAIL("cuModuleLoadData");
  if (!context) return NO_CONTEXT;
  ++modules;
  *module = (void*)image;
  return 0;
}
API(int, cuModuleGetFunction, void** function, void* module, const char* name) {
  const char* count = strchr(module, ' ');
  MAY_FAIL("cuModuleGetFunction");
  if (loaded == MOST) return 2;
  Function* f = &functions[loaded++];
  memset(f, 0, sizeof *f);
  strncpy(f->name, name, NAME - 1);
  f->device = context - 1;
  f->shared_limit = 48 << 10;
  f->arguments = count ? atoi(count + 1) : 0;
  *function = f;
  return 0;
}
API(int, cuFuncSetAttribute, void* function, int attribute, int value) {
  if (attribute == 8) ((Function*)function)->shared_limit = value;
  return 0;
}
API(int, cuFuncSetCacheConfig, void* function, int config) {
  ((Function*)function)->prefers_shared = config == 1;
  return 0;
}
API(int, cuMemHostAlloc, void** memory, size_t bytes, unsigned flags) {
  (void)flags;
  MAY_FAIL("cuMemHostAlloc");
  if (!context) return NO_CONTEXT;
  *memory = malloc(bytes);
  return *memory ? 0 : 2;
}
API(int, cuMemHostGetDevicePointer_v2, uint64_t* there, void* memory, unsigned flags) {
  (void)flags;
  *there = (uint64_t)(uintptr_t)memory;
  return 0;
}
API(int, cuStreamSynchronize, void* stream) {
  (void)stream;
  MAY_FAIL("cuStreamSynchronize");
  ++synchronized_;
  return 0;
}
#ifndef TORCH_IS_REAL
API(int, cuStreamIsCapturing, void* stream, int* status) { (void)stream; *status = capturing; return 0; }
#endif
API(int, cuGetErrorName, int status, const char** text) {
  *text = status == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : status == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
        : status == 200 ? "CUDA_ERROR_INVALID_IMAGE" : status == 222 ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION" : status == 100 ? "CUDA_ERROR_NO_DEVICE"
        : status == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_UNKNOWN";
  return 0;
}
API(int, cuGetErrorString, int status, const char** text) { (void)status; *text = "said the stub"; return 0; }
static int stub_run(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                    unsigned shared, void* stream, void** parameters) {
  MAY_FAIL("cuLaunchKernel");
  const Function* f = function;
  if (!context) return NO_CONTEXT;
  if (f->device != context - 1) return 400;  // CUDA_ERROR_INVALID_HANDLE: of another context
  if ((int)shared > f->shared_limit) return 1;
  if (shared > 48 << 10 && !f->prefers_shared) return 1;  // which is our rule, not the driver's
  if (launched < MOST) {
    Launch* l = &launches[launched];
    memset(l, 0, sizeof *l);
    strncpy(l->name, f->name, NAME - 1);
    l->grid[0] = gx, l->grid[1] = gy, l->grid[2] = gz;
    l->block[0] = bx, l->block[1] = by, l->block[2] = bz;
    l->shared = shared, l->stream = stream, l->device = context - 1;
  }
  ++launched;
  const unsigned grid[3] = {gx, gy, gz};
  now += clock_ ? clock_(f->name, grid, bx) : 1;
  if (callback) {
    callback(f->name, grid, parameters);
  }
  return 0;
}
#ifndef TORCH_IS_REAL
API(int, cuLaunchKernel, void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
    unsigned bz, unsigned shared, void* stream, void** parameters, void** extra) {
  (void)extra;
  return stub_run(function, gx, gy, gz, bx, by, bz, shared, stream, parameters);
}
#endif
