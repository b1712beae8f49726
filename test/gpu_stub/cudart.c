// Stands for the CUDA runtime, cuBLAS and libcuda below torch's CUDA build, on a machine without a GPU.
//
// Preloaded. Memory of a device is memory of the host, streams do their work at once, a graph is the list
// of what its stream was given. Kernels of torch's own do nothing: `cudart_kernels` counts their launches.
// What is not here is left to the real runtime, which refuses: it finds no driver that it knows.
#include <cuda_runtime_api.h>
#define TORCH_IS_REAL
#include "libcuda.c"

#undef cudaGetDeviceProperties
#define OK(name, ...) API(cudaError_t, name, __VA_ARGS__) { return cudaSuccess; }

static int torch_kernels, replays;
API(int, cudart_kernels, void) { return torch_kernels; }
API(int, cudart_replays, void) { return replays; }

// What a function of the runtime does to a thread without a context.
static void need_context(void) {
  if (!context) context = current + 1;
}

// ---- work: done at once, or put down -------------------------------------------------------

typedef struct Work {
  struct Work* next;
  enum { COPY, SET, LAUNCH, GEMM } kind;
  void* to;
  const void* from;
  size_t bytes;
  int value;
  unsigned grid[6], shared;
  uint64_t values[ARGUMENTS];
  int count;
  void* stream;
  void (*gemm)(struct Work*);
  long gemm_sizes[16];
  double scale[2];
} Work;
typedef struct { Work *first, *last; size_t count; } Graph;

static Graph* recording;
static cudaStream_t recorded_stream;
static enum cudaStreamCaptureStatus status_of(cudaStream_t stream) {
  return recording && stream == recorded_stream ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
}

static int perform(Work* w) {
  switch (w->kind) {
    case COPY: memmove(w->to, w->from, w->bytes); return 0;
    case SET: memset(w->to, w->value, w->bytes); return 0;
    case GEMM: w->gemm(w); return 0;
    case LAUNCH: break;
  }
  void* parameters[ARGUMENTS];
  for (int i = 0; i < w->count; ++i) parameters[i] = &w->values[i];
  const unsigned* g = w->grid;
  return stub_run(w->to, g[0], g[1], g[2], g[3], g[4], g[5], w->shared, w->stream, parameters);
}
static int submit(Work work, void* stream) {
  need_context();
  if (status_of(stream) == cudaStreamCaptureStatusNone) return perform(&work);
  Work* kept = malloc(sizeof *kept);
  *kept = work;
  kept->next = 0;
  if (recording->last) recording->last->next = kept; else recording->first = kept;
  recording->last = kept;
  ++recording->count;
  return 0;
}
API(int, cuLaunchKernel, void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
    unsigned bz, unsigned shared, void* stream, void** parameters, void** extra) {
  (void)extra;
  if (!context) return NO_CONTEXT;
  Work w = {.kind = LAUNCH, .to = function, .grid = {gx, gy, gz, bx, by, bz}, .shared = shared, .stream = stream};
  w.count = ((Function*)function)->arguments;
  for (int i = 0; i < w.count; ++i) memcpy(&w.values[i], parameters[i], sizeof w.values[i]);
  return submit(w, stream);
}
static cudaError_t copy(void* to, const void* from, size_t bytes, void* stream) {
  return submit((Work){.kind = COPY, .to = to, .from = from, .bytes = bytes}, stream);
}
static cudaError_t set(void* to, int value, size_t bytes, void* stream) {
  return submit((Work){.kind = SET, .to = to, .value = value, .bytes = bytes}, stream);
}

// ---- memory --------------------------------------------------------------------------------

typedef struct { char *first, *end; int device; } Block;
static Block blocks[MOST];
static Block* block_of(const void* p) {
  for (int i = 0; i < MOST; ++i)
    if ((const char*)p >= blocks[i].first && (const char*)p < blocks[i].end) return &blocks[i];
  return 0;
}
API(cudaError_t, cudaMalloc, void** memory, size_t bytes) {
  MAY_FAIL("cudaMalloc");
  need_context();
  bytes = (bytes + 511) / 512 * 512;
  for (int i = 0; i < MOST; ++i)
    if (!blocks[i].first && (*memory = aligned_alloc(512, bytes))) {
      blocks[i] = (Block){*memory, (char*)*memory + bytes, current};
      return cudaSuccess;
    }
  return cudaErrorMemoryAllocation;
}
API(cudaError_t, cudaFree, void* memory) {
  need_context();
  Block* found = block_of(memory);
  if (found) *found = (Block){0, 0, 0};
  free(memory);
  return cudaSuccess;
}
API(cudaError_t, cudaHostAlloc, void** memory, size_t bytes, unsigned flags) { (void)flags; *memory = malloc(bytes); return cudaSuccess; }
API(cudaError_t, cudaFreeHost, void* memory) { free(memory); return cudaSuccess; }
API(cudaError_t, cudaMemGetInfo, size_t* left, size_t* all) { *left = *all = (size_t)8 << 30; return cudaSuccess; }
API(cudaError_t, cudaMemcpy, void* to, const void* from, size_t n, enum cudaMemcpyKind k) { (void)k; return copy(to, from, n, 0); }
API(cudaError_t, cudaMemcpyAsync, void* to, const void* from, size_t n, enum cudaMemcpyKind k, cudaStream_t s) { (void)k; return copy(to, from, n, s); }
API(cudaError_t, cudaMemcpyPeerAsync, void* to, int a, const void* from, int b, size_t n, cudaStream_t s) { (void)a, (void)b; return copy(to, from, n, s); }
API(cudaError_t, cudaMemcpy2DAsync, void* to, size_t tp, const void* from, size_t fp, size_t width, size_t rows, enum cudaMemcpyKind k, cudaStream_t s) {
  (void)k;
  for (size_t i = 0; i < rows; ++i) copy((char*)to + i * tp, (const char*)from + i * fp, width, s);
  return cudaSuccess;
}
API(cudaError_t, cudaMemset, void* to, int value, size_t n) { return set(to, value, n, 0); }
API(cudaError_t, cudaMemsetAsync, void* to, int value, size_t n, cudaStream_t s) { return set(to, value, n, s); }
API(cudaError_t, cudaPointerGetAttributes, struct cudaPointerAttributes* a, const void* p) {
  memset(a, 0, sizeof *a);
  const Block* found = block_of(p);
  a->type = found ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  a->device = found ? found->device : 0;
  return cudaSuccess;
}

// ---- devices -------------------------------------------------------------------------------

API(cudaError_t, cudaGetDeviceCount, int* count) { *count = DEVICES; return cudaSuccess; }
API(cudaError_t, cudaGetDevice, int* device) { *device = current; return cudaSuccess; }
API(cudaError_t, cudaSetDevice, int device) {
  if (device < 0 || device >= DEVICES) return cudaErrorInvalidDevice;
  current = device, context = device + 1;
  return cudaSuccess;
}
API(cudaError_t, cudaGetDeviceProperties, struct cudaDeviceProp* p, int device) {
  memset(p, 0, sizeof *p);
  strcpy(p->name, "stand-in for an H200");
  p->uuid.bytes[0] = (char)device;
  p->totalGlobalMem = (size_t)8 << 30, p->sharedMemPerBlock = 48 << 10, p->sharedMemPerBlockOptin = 232448;
  p->sharedMemPerMultiprocessor = 233472, p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->warpSize = 32, p->maxThreadsPerBlock = 1024, p->maxThreadsPerMultiProcessor = 2048;
  p->maxGridSize[0] = 0x7fffffff, p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024, p->maxThreadsDim[2] = 64;
  p->major = 9, p->multiProcessorCount = 132, p->l2CacheSize = 60 << 20;
  p->unifiedAddressing = p->concurrentKernels = 1;
  return cudaSuccess;
}
API(cudaError_t, cudaDeviceGetAttribute, int* value, enum cudaDeviceAttr attribute, int device) { return cuDeviceGetAttribute(value, attribute, device); }
API(cudaError_t, cudaDeviceCanAccessPeer, int* can, int a, int b) { (void)a, (void)b; *can = 0; return cudaSuccess; }
API(cudaError_t, cudaDeviceGetStreamPriorityRange, int* least, int* most) { *least = 0, *most = -5; return cudaSuccess; }
API(cudaError_t, cudaDeviceSynchronize, void) { need_context(); return cudaSuccess; }
API(cudaError_t, cudaDriverGetVersion, int* v) { *v = CUDART_VERSION; return cudaSuccess; }
API(cudaError_t, cudaRuntimeGetVersion, int* v) { *v = CUDART_VERSION; return cudaSuccess; }
API(cudaError_t, cudaGetLastError, void) { return cudaSuccess; }
API(cudaError_t, cudaPeekAtLastError, void) { return cudaSuccess; }
API(const char*, cudaGetErrorName, cudaError_t e) { (void)e; return "an error of the stand-in"; }
API(const char*, cudaGetErrorString, cudaError_t e) { (void)e; return "said the stand-in"; }
API(cudaError_t, cudaGetDriverEntryPointByVersion, const char* name, void** function, unsigned version, unsigned long long flags, enum cudaDriverEntryPointQueryResult* found) {
  (void)version, (void)flags;
  static const struct { const char* name; void* function; } known[] = {
    {"cuCtxGetCurrent", cuCtxGetCurrent}, {"cuCtxSetCurrent", cuCtxSetCurrent},
    {"cuDeviceGet", cuDeviceGet}, {"cuDeviceGetAttribute", cuDeviceGetAttribute},
    {"cuGetErrorString", cuGetErrorString},
  };
  *function = 0;
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
    if (!strcmp(known[i].name, name)) *function = known[i].function;
  if (found) *found = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return *function ? cudaSuccess : cudaErrorNotSupported;
}
API(int, cuDevicePrimaryCtxGetState, int device, unsigned* flags, int* active) {
  (void)device;
  *flags = 0, *active = 1;
  return 0;
}

// ---- streams and events --------------------------------------------------------------------

static cudaError_t new_stream(cudaStream_t* stream) { need_context(); *stream = malloc(16); return cudaSuccess; }
API(cudaError_t, cudaStreamCreate, cudaStream_t* s) { return new_stream(s); }
API(cudaError_t, cudaStreamCreateWithPriority, cudaStream_t* s, unsigned f, int p) { (void)f, (void)p; return new_stream(s); }
API(cudaError_t, cudaStreamGetPriority, cudaStream_t s, int* p) { (void)s; *p = 0; return cudaSuccess; }
OK(cudaStreamDestroy, cudaStream_t s)
OK(cudaStreamQuery, cudaStream_t s)
OK(cudaStreamSynchronize, cudaStream_t s)
OK(cudaStreamWaitEvent, cudaStream_t s, cudaEvent_t e, unsigned f)
API(cudaError_t, cudaEventCreate, cudaEvent_t* e) { *e = malloc(16); return cudaSuccess; }
API(cudaError_t, cudaEventCreateWithFlags, cudaEvent_t* e, unsigned f) { (void)f; return cudaEventCreate(e); }
API(cudaError_t, cudaEventElapsedTime, float* ms, cudaEvent_t a, cudaEvent_t b) { (void)a, (void)b; *ms = 1; return cudaSuccess; }
OK(cudaEventDestroy, cudaEvent_t e)
OK(cudaEventQuery, cudaEvent_t e)
OK(cudaEventRecord, cudaEvent_t e, cudaStream_t s)
OK(cudaEventRecordWithFlags, cudaEvent_t e, cudaStream_t s, unsigned f)
OK(cudaEventSynchronize, cudaEvent_t e)

// ---- graphs --------------------------------------------------------------------------------

API(cudaError_t, cudaStreamIsCapturing, cudaStream_t s, enum cudaStreamCaptureStatus* status) { *status = status_of(s); return cudaSuccess; }
API(int, cuStreamIsCapturing, void* s, int* status) { *status = capturing ? capturing : (int)status_of(s); return 0; }
API(cudaError_t, cudaStreamBeginCapture, cudaStream_t s, enum cudaStreamCaptureMode mode) {
  (void)mode;
  if (recording) return cudaErrorIllegalState;
  recording = calloc(1, sizeof *recording), recorded_stream = s;
  return cudaSuccess;
}
API(cudaError_t, cudaStreamEndCapture, cudaStream_t s, cudaGraph_t* graph) {
  if (status_of(s) == cudaStreamCaptureStatusNone) return cudaErrorIllegalState;
  *graph = (cudaGraph_t)recording, recording = 0;
  return cudaSuccess;
}
API(cudaError_t, cudaStreamGetCaptureInfo, cudaStream_t s, enum cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph, const cudaGraphNode_t** d, const cudaGraphEdgeData** e, size_t* n) {
  *status = status_of(s);
  if (id) *id = (unsigned long long)(uintptr_t)recording;
  if (graph) *graph = (cudaGraph_t)recording;
  if (d) *d = 0;
  if (e) *e = 0;
  if (n) *n = 0;
  return cudaSuccess;
}
API(cudaError_t, cudaThreadExchangeStreamCaptureMode, enum cudaStreamCaptureMode* mode) {
  static _Thread_local enum cudaStreamCaptureMode now;
  const enum cudaStreamCaptureMode before = now;
  now = *mode, *mode = before;
  return cudaSuccess;
}
API(cudaError_t, cudaGraphInstantiateWithFlags, cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long f) { (void)f; *exec = (cudaGraphExec_t)graph; return cudaSuccess; }
API(cudaError_t, cudaGraphGetNodes, cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* n) { (void)nodes; *n = ((Graph*)graph)->count; return cudaSuccess; }
API(cudaError_t, cudaGraphLaunch, cudaGraphExec_t exec, cudaStream_t stream) {
  (void)stream;
  ++replays;
  for (Work* w = ((Graph*)exec)->first; w; w = w->next) {
    const int status = perform(w);
    if (status) return status;
  }
  return cudaSuccess;
}
OK(cudaGraphDestroy, cudaGraph_t g)
OK(cudaGraphExecDestroy, cudaGraphExec_t e)

// ---- torch's own kernels -------------------------------------------------------------------

// Which they were is found by the address of the function on the host.
typedef struct { const void* entry; const char* name; } Known;
static Known* known;
static size_t known_count;
static const char* last_kernel = "";
static cudaError_t torch_kernel(const void* entry) {
  need_context();
  const char* name = "a kernel without a name";
  for (size_t i = 0; i < known_count; ++i)
    if (known[i].entry == entry) name = known[i].name;
  if (strstr(name, "FillFunctorIl")) return cudaSuccess;  // torch's CUDAGraph writes down its seeds
  last_kernel = name, ++torch_kernels;
  return cudaSuccess;
}
API(const char*, cudart_last_kernel, void) { return last_kernel; }
API(void**, __cudaRegisterFatBinary, void* binary) { static void* handle; (void)binary; return &handle; }
API(void, __cudaRegisterFatBinaryEnd, void** h) { (void)h; }
API(void, __cudaUnregisterFatBinary, void** h) { (void)h; }
API(char, __cudaInitModule, void** h) { (void)h; return 1; }
API(void, __cudaRegisterVar, void) {}
API(void, __cudaRegisterFunction, void** handle, const char* entry, char* device, const char* name) {
  (void)handle, (void)device;
  if (known_count % 4096 == 0) known = realloc(known, (known_count + 4096) * sizeof *known);
  known[known_count++] = (Known){entry, name};
}
API(cudaError_t, __cudaGetKernel, void** kernel, const void* entry) { *kernel = (void*)entry; return cudaSuccess; }
API(cudaError_t, __cudaLaunchKernel, const void* kernel) { return torch_kernel(kernel); }
API(cudaError_t, cudaLaunchKernelExC, const cudaLaunchConfig_t* c, const void* f, void** a) { (void)c, (void)a; return torch_kernel(f); }
API(unsigned, __cudaPushCallConfiguration, void) { return 0; }
API(cudaError_t, __cudaPopCallConfiguration, dim3* grid, dim3* block, size_t* shared, void* stream) {
  grid->x = grid->y = grid->z = block->x = block->y = block->z = 1;
  *shared = 0, *(void**)stream = 0;
  return cudaSuccess;
}
API(cudaError_t, cudaFuncGetAttributes, struct cudaFuncAttributes* a, const void* f) { (void)f; memset(a, 0, sizeof *a); a->maxThreadsPerBlock = 1024; return cudaSuccess; }
OK(cudaFuncSetAttribute, const void* f, enum cudaFuncAttribute a, int v)
API(cudaError_t, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int* n, const void* f, int b, size_t s, unsigned flags) { (void)f, (void)b, (void)s, (void)flags; *n = 4; return cudaSuccess; }

// ---- cuBLAS: products of f32, f16 and bf16, column by column -------------------------------

enum { F32 = 0, F16 = 2, BF16 = 14 };
static float load(const void* p, long i, int type) {
  if (type == F32) return ((const float*)p)[i];
  if (type == F16) return ((const _Float16*)p)[i];
  const uint32_t bits = (uint32_t)((const uint16_t*)p)[i] << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static void store(void* p, long i, int type, float value) {
  if (type == F32) { ((float*)p)[i] = value; return; }
  if (type == F16) { ((_Float16*)p)[i] = (_Float16)value; return; }
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  ((uint16_t*)p)[i] = (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
static void multiply(Work* w) {
  const long *z = w->gemm_sizes, m = z[0], n = z[1], k = z[2];
  const void *a = w->from, *b = (const void*)(uintptr_t)w->values[0];
  for (long batch = 0; batch < z[9]; ++batch)
    for (long j = 0; j < n; ++j)
      for (long i = 0; i < m; ++i) {
        double sum = 0;
        for (long l = 0; l < k; ++l) {
          const long at = batch * z[10] + (z[3] ? l + i * z[5] : i + l * z[5]);
          const long bt = batch * z[11] + (z[4] ? j + l * z[6] : l + j * z[6]);
          sum += (double)load(a, at, (int)z[13]) * load(b, bt, (int)z[14]);
        }
        const long to = batch * z[12] + i + j * z[7];
        const double old = w->scale[1] ? w->scale[1] * load(w->to, to, (int)z[15]) : 0;
        store(w->to, to, (int)z[15], (float)(w->scale[0] * sum + old));
      }
}
typedef struct { void* stream; int math, pointers; } Blas;
static int gemm(Blas* h, int ta, int tb, int m, int n, int k, const float* alpha, const void* A, int at, int lda, long sa,
                const void* B, int bt, int ldb, long sb, const float* beta, void* C, int ct, int ldc, long sc, int batches) {
  Work w = {.kind = GEMM, .gemm = multiply, .to = C, .from = A, .values = {(uintptr_t)B}, .scale = {*alpha, *beta}};
  const long sizes[16] = {m, n, k, ta, tb, lda, ldb, ldc, 0, batches, sa, sb, sc, at, bt, ct};
  memcpy(w.gemm_sizes, sizes, sizeof sizes);
  return submit(w, h->stream);
}
API(int, cublasCreate_v2, Blas** h) { need_context(); *h = calloc(1, sizeof **h); return 0; }
API(int, cublasDestroy_v2, Blas* h) { free(h); return 0; }
API(int, cublasSetStream_v2, Blas* h, void* s) { h->stream = s; return 0; }
API(int, cublasSetWorkspace_v2, Blas* h, void* p, size_t n) { (void)h, (void)p, (void)n; return 0; }
API(int, cublasSetMathMode, Blas* h, int m) { h->math = m; return 0; }
API(int, cublasGetMathMode, Blas* h, int* m) { *m = h->math; return 0; }
API(int, cublasSetPointerMode_v2, Blas* h, int m) { h->pointers = m; return 0; }
API(int, cublasGetPointerMode_v2, Blas* h, int* m) { *m = h->pointers; return 0; }
API(int, cublasSgemm_v2, Blas* h, int ta, int tb, int m, int n, int k, const float* alpha, const void* A, int lda, const void* B, int ldb, const float* beta, void* C, int ldc) {
  return gemm(h, ta, tb, m, n, k, alpha, A, F32, lda, 0, B, F32, ldb, 0, beta, C, F32, ldc, 0, 1);
}
API(int, cublasSgemmStridedBatched, Blas* h, int ta, int tb, int m, int n, int k, const float* alpha, const void* A, int lda, long long sa, const void* B, int ldb, long long sb, const float* beta, void* C, int ldc, long long sc, int batches) {
  return gemm(h, ta, tb, m, n, k, alpha, A, F32, lda, sa, B, F32, ldb, sb, beta, C, F32, ldc, sc, batches);
}
API(int, cublasGemmEx, Blas* h, int ta, int tb, int m, int n, int k, const void* alpha, const void* A, int at, int lda, const void* B, int bt, int ldb, const void* beta, void* C, int ct, int ldc, int compute, int how) {
  (void)compute, (void)how;
  return gemm(h, ta, tb, m, n, k, alpha, A, at, lda, 0, B, bt, ldb, 0, beta, C, ct, ldc, 0, 1);
}
API(int, cublasGemmStridedBatchedEx, Blas* h, int ta, int tb, int m, int n, int k, const void* alpha, const void* A, int at, int lda, long long sa, const void* B, int bt, int ldb, long long sb, const void* beta, void* C, int ct, int ldc, long long sc, int batches, int compute, int how) {
  (void)compute, (void)how;
  return gemm(h, ta, tb, m, n, k, alpha, A, at, lda, sa, B, bt, ldb, sb, beta, C, ct, ldc, sc, batches);
}
