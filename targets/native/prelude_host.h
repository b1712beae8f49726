// What the emitted host function stands on: calls, frames, tensors, errors.
#pragma once
#include "prelude_pool.h"
#include "prelude_watch.h"

namespace tw {

constexpr i32 DEVICE_CPU = 0, ANY_INDEX = -1;  // of the pool and of the arena of `Call`
constexpr int MAX_RANK = 32;

// What `load` hands over, field by field as launch.py's `_Setup`.
struct Setup {
  void* libtorch;             // dlopen handle
  void* (*tensor_data)(PyObject*);
  PyObject* (*wrap_tensor)(const void*);
  const void* const* constants;
  PyObject* fallbacks;        // a tuple of callables
  PyObject* restride;         // (tensor, offset, sizes..., strides...) -> alias of the tensor
  PyObject* failed;           // (code, what, where, why) raises
  PyObject *tensor_type, *parameter_type;
  i64 pooled;                 // large results come from the pool
  i64 device_type, device_index;  // as libtorch numbers them; index -1 is the current one
  void* device;               // what the calls of this target need besides, null for CPUs
  PyObject* keep;             // lives as long as the graph: what the pointers above point to
};

struct Place { const char *what, *where; };  // for messages

// A cached tensor handle on memory that somebody else owns.
struct Slot {
  void* data;
  Handle handle;
  i64 layout[2 * MAX_RANK];
};

// Everything that one call at a time may use; two threads that call at once have one each.
struct Frame {
  Frame* next;
  char* arena;
  usize arena_bytes;
  Slot* slots;
};

struct Graph {
  const void* const* constants;
  PyObject *fallbacks, *restride, *failed, *tensor_type, *parameter_type, *keep;
  bool pooled;
  i32 device_type, device_index;
  void* device;
  u64* clock;  // see Watch
  int slots;
  volatile char lock;
  Frame* idle;
};

TW_INLINE void lock(Graph* g) { while (__atomic_test_and_set(&g->lock, __ATOMIC_ACQUIRE)) {} }
TW_INLINE void unlock(Graph* g) { __atomic_clear(&g->lock, __ATOMIC_RELEASE); }

static Frame* take_frame(Graph* g) {
  lock(g);
  Frame* f = g->idle;
  if (f) g->idle = f->next;
  unlock(g);
  if (f) return f;
  const usize bytes = sizeof(Frame) + g->slots * sizeof(Slot);
  void* memory = nullptr;
  if (posix_memalign(&memory, 64, bytes)) return nullptr;
  __builtin_memset(memory, 0, bytes);
  f = (Frame*)memory;
  f->slots = (Slot*)(f + 1);
  return f;
}
static void give_frame(Graph* g, Frame* f) {
  lock(g);
  f->next = g->idle;
  g->idle = f;
  unlock(g);
}

// Frees the arenas and handles of idle frames; returns the bytes.
static i64 trim_graph(Graph* g) {
  lock(g);
  Frame* f = g->idle;
  g->idle = nullptr;
  unlock(g);
  i64 bytes = 0;
  while (f) {
    for (int i = 0; i < g->slots; ++i)
      if (f->slots[i].handle) aoti_torch_delete_tensor_object(f->slots[i].handle);
    bytes += f->arena_bytes;
    free(f->arena);
    Frame* next = f->next;
    free(f);
    f = next;
  }
  return bytes;
}

// A number that changes with these buffers: all of a small one, 16 words across a large one.
static u64 probe(const void* const* data, const i64* bytes, i64 n) {
  u64 hash = 0x9E3779B97F4A7C15u;
  for (i64 i = 0; i < n; ++i) {
    const char* at = (const char*)data[i];
    const i64 words = bytes[i] / 8, samples = words < 16 ? words : 16;
    for (i64 k = 0; k <= samples; ++k) {
      u64 word = 0;
      if (k == samples) __builtin_memcpy(&word, at + 8 * words, bytes[i] % 8);
      else __builtin_memcpy(&word, at + 8 * (samples < 16 ? k : (words - 1) * k / 15), 8);
      hash = (hash ^ word) * 0xD1342543DE82EF95u;
      hash ^= hash >> 32;
    }
  }
  return hash;
}

constexpr const char* GRAPH = "tilewright.graph";

static void delete_graph(PyObject* capsule) {
  Graph* g = (Graph*)PyCapsule_GetPointer(capsule, GRAPH);
  trim_graph(g);
  Py_DecRef(g->keep);
  free(g);
}

static PyObject* lacks(const char* name) {
  PyErr_SetString(PyExc_ImportError, name);
  return nullptr;
}

// CPython's PyMethodDef.
struct Method {
  const char* name;
  PyObject* (*function)(PyObject*, PyObject*);
  int flags;
  const char* doc;
};
constexpr int METH_O = 8;

// A Python function that calls `method` with this graph; raises ImportError where libtorch lacks a function.
static PyObject* new_graph(const Setup* s, Method* method, int slots) {
#define TW_RESOLVE(name, ...) \
  if (!(name = (decltype(name))dlsym(s->libtorch, #name))) return lacks(#name);
  TW_TORCH_FUNCTIONS(TW_RESOLVE)
  last_message = (decltype(last_message))dlsym(s->libtorch, "torch_exception_get_what_without_backtrace");
  from_blob = (decltype(from_blob))dlsym(s->libtorch, "torch_from_blob");
  watch_by(s->libtorch);
  tensor_data = s->tensor_data;
  wrap_tensor = s->wrap_tensor;
  void* memory = nullptr;
  if (posix_memalign(&memory, 64, sizeof(Graph))) return lacks("memory");
  *(Graph*)memory = Graph{s->constants, s->fallbacks, s->restride, s->failed, s->tensor_type,
                          s->parameter_type, s->keep, s->pooled && from_blob, (i32)s->device_type,
                          (i32)s->device_index, s->device, nullptr, slots, 0, nullptr};
  Py_IncRef(s->keep);
  PyObject* capsule = PyCapsule_New(memory, GRAPH, delete_graph);
  if (!capsule) return nullptr;
  PyObject* function = PyCMethod_New(method, capsule, nullptr, nullptr);
  Py_DecRef(capsule);  // the function holds it
  return function;
}

// ---- one call -----------------------------------------------------------------------------

// A tensor that this call owns: what a shim returned, or what a Python fallback returned.
struct Owned {
  Handle handle = nullptr;
  PyObject* object = nullptr;
  void* data = nullptr;
};

template <int OWNED> struct Call {
  Graph* graph;
  PyObject* inputs;
  const Place* places;
  Frame* frame;
  PyThread* released = nullptr;
  bool bad_input = false;
  Owned owned[OWNED + 1];
  KernelError error;
  usize alignment = 1;  // bytes, of whatever kernels are handed
  const Watch watch;

  Call(PyObject* self, PyObject* list, const Place* p)
      : graph((Graph*)PyCapsule_GetPointer(self, GRAPH)), inputs(list), places(p),
        frame(take_frame(graph)), watch(graph->clock) {}
  ~Call() {
    hold_gil();
    for (int i = 0; i < OWNED; ++i) drop(i);
    if (frame) give_frame(graph, frame);
  }

  void release_gil() { if (!released) released = PyEval_SaveThread(); }
  void hold_gil() { if (released) PyEval_RestoreThread(released), released = nullptr; }

  // Inputs
  bool has_inputs(isize n) {
    if (frame && PyList_Size(inputs) == n) return true;
    PyErr_Clear();
    char text[128];
    snprintf(text, sizeof text, "this graph takes a list of %ld inputs", (long)n);
    fail(2110, Place{text, ""}, "it was called with something else");
    return false;
  }
  void* data(isize i) {
    PyObject* item = PyList_GetItem(inputs, i);
    PyObject* type = PyObject_Type(item);
    Py_DecRef(type);
    if (type == graph->tensor_type || type == graph->parameter_type ||
        PyObject_IsInstance(item, graph->tensor_type) == 1)
      return tensor_data(item);
    char text[96];
    snprintf(text, sizeof text, "input %ld of this graph must be a tensor", (long)i);
    fail(2110, Place{text, ""}, "it is an object of another type");
    bad_input = true;
    return nullptr;
  }
  i64 integer(isize i) { return PyLong_AsLongLong(PyList_GetItem(inputs, i)); }

  // Memory
  char* arena(i64 bytes) {
    if (frame->arena && (usize)bytes <= frame->arena_bytes) return frame->arena;
    if (bytes < 64) bytes = 64;  // empty tensors have a place, too
    free(frame->arena);
    frame->arena = nullptr, frame->arena_bytes = 0;
    const usize size = bytes >= HUGE_PAGE ? (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE : bytes;
    void* memory = fresh_memory(size);
    if (!memory) return nullptr;
    frame->arena = (char*)memory, frame->arena_bytes = size;
    return frame->arena;
  }
  bool empty(int slot, i64 rank, const i64* sizes, const i64* strides, i32 dtype, i64 bytes) {
    Owned& o = owned[slot];
    if (bytes >= POOL_SMALLEST && graph->pooled) {
      if (!(o.data = take_block(bytes))) return false;
      if (!from_blob(o.data, rank, sizes, strides, 0, dtype, DEVICE_CPU, ANY_INDEX, &o.handle, 0, nullptr, 0, give_block, nullptr))
        return true;
      give_block(o.data, nullptr);
      return false;
    }
    return make(o, rank, sizes, strides, dtype);
  }
  // A new tensor of libtorch's allocator.
  bool make(Owned& o, i64 rank, const i64* sizes, const i64* strides, i32 dtype) {
    return !aoti_torch_empty_strided(rank, sizes, strides, dtype, graph->device_type, graph->device_index,
                                     &o.handle) &&
           !aoti_torch_get_data_ptr(o.handle, &o.data);
  }

  // Tensor handles on memory
  Handle view(int slot, void* data, i64 rank, const i64* sizes, const i64* strides, i32 dtype, bool fixed) {
    Slot& s = frame->slots[slot];
    if (s.handle && s.data == data && (fixed || same_layout(s, rank, sizes, strides))) return s.handle;
    if (s.handle) aoti_torch_delete_tensor_object(s.handle);
    s.handle = nullptr;
    if (aoti_torch_create_tensor_from_blob(data, rank, sizes, strides, 0, dtype, graph->device_type,
                                           graph->device_index, &s.handle))
      return nullptr;
    s.data = data;
    if (!fixed)
      for (i64 i = 0; i < rank; ++i) s.layout[i] = sizes[i], s.layout[MAX_RANK + i] = strides[i];
    return s.handle;
  }
  static bool same_layout(const Slot& s, i64 rank, const i64* sizes, const i64* strides) {
    for (i64 i = 0; i < rank; ++i)
      if (s.layout[i] != sizes[i] || s.layout[MAX_RANK + i] != strides[i]) return false;
    return true;
  }

  // A result of ATen: it must have the planned dtype and sizes, and is copied where strides differ.
  bool adopt(int slot, Handle h, i64 rank, const i64* sizes, const i64* strides, i32 dtype) {
    owned[slot].handle = h;
    i64 dim = -1, *have_sizes = nullptr, *have_strides = nullptr;
    i32 have_dtype = -1;
    if (aoti_torch_get_dim(h, &dim) || aoti_torch_get_sizes(h, &have_sizes) ||
        aoti_torch_get_strides(h, &have_strides) || aoti_torch_get_dtype(h, &have_dtype))
      return false;
    if (dim != rank || have_dtype != dtype) return false;
    bool same = true, empty = false;
    for (i64 i = 0; i < rank; ++i) {
      if (have_sizes[i] != sizes[i]) return false;
      empty |= sizes[i] == 0;
      same &= sizes[i] == 1 || have_strides[i] == strides[i];
    }
    if (empty) return !aoti_torch_get_data_ptr(h, &owned[slot].data);
    if (same) {
      if (aoti_torch_get_data_ptr(h, &owned[slot].data)) return false;
      if ((usize)owned[slot].data % alignment == 0) return true;
    }
    Owned copy;
    if (!make(copy, rank, sizes, strides, dtype)) return false;
    owned[slot] = copy;
    const bool done = !aoti_torch_copy_(copy.handle, h, 0);
    aoti_torch_delete_tensor_object(h);
    return done;
  }
  void drop(int slot) {
    Owned& o = owned[slot];
    if (o.handle) aoti_torch_delete_tensor_object(o.handle);
    if (o.object) {
      const bool had = !released;
      hold_gil();
      Py_DecRef(o.object);
      if (!had) release_gil();
    }
    o = Owned{};
  }

  // Python
  // fallbacks[which](tensors..., integers...) -> tuple of `results` tensors, kept in owned[first...].
  bool fallback(int which, const Handle* tensors, int n_tensors, const i64* integers, int n_integers,
                int first, int results) {
    const bool had = !released;
    hold_gil();
    PyObject* args = PyTuple_New(n_tensors + n_integers);
    for (int i = 0; i < n_tensors; ++i) PyTuple_SetItem(args, i, wrap_tensor(tensors[i]));
    for (int i = 0; i < n_integers; ++i) PyTuple_SetItem(args, n_tensors + i, PyLong_FromLongLong(integers[i]));
    PyObject* got = PyObject_CallObject(PyTuple_GetItem(graph->fallbacks, which), args);
    Py_DecRef(args);
    if (!got) return false;  // the exception is set
    for (int i = 0; i < results; ++i) {
      PyObject* item = PyTuple_GetItem(got, i);
      Py_IncRef(item);
      owned[first + i].object = item;
      owned[first + i].data = tensor_data(item);
    }
    Py_DecRef(got);
    if (!had) release_gil();
    return true;
  }

  // Results: each returns a new reference.
  PyObject* result(int slot) {
    if (owned[slot].object) {
      Py_IncRef(owned[slot].object);
      return owned[slot].object;
    }
    return wrap_tensor(owned[slot].handle);
  }
  PyObject* input(isize i) {
    PyObject* item = PyList_GetItem(inputs, i);
    Py_IncRef(item);
    return item;
  }
  // A strided alias, from element `offset` of `base` on.
  PyObject* alias(PyObject* base, i64 offset, i64 rank, const i64* sizes, const i64* strides) {
    PyObject* args = PyTuple_New(2 + 2 * rank);
    PyTuple_SetItem(args, 0, base);
    PyTuple_SetItem(args, 1, PyLong_FromLongLong(offset));
    for (i64 i = 0; i < rank; ++i) {
      PyTuple_SetItem(args, 2 + i, PyLong_FromLongLong(sizes[i]));
      PyTuple_SetItem(args, 2 + rank + i, PyLong_FromLongLong(strides[i]));
    }
    PyObject* made = PyObject_CallObject(graph->restride, args);
    Py_DecRef(args);
    return made;
  }
  template <int N> PyObject* results(PyObject* (&items)[N], int n) {
    PyObject* tuple = PyTuple_New(n);
    bool whole = tuple != nullptr;
    for (int i = 0; i < n; ++i) whole &= items[i] != nullptr;
    for (int i = 0; i < n; ++i) {
      if (whole) PyTuple_SetItem(tuple, i, items[i]);
      else if (items[i]) Py_DecRef(items[i]);
    }
    if (!whole) {
      if (tuple) Py_DecRef(tuple);
      return nullptr;
    }
    PyList_SetSlice(inputs, 0, PyList_Size(inputs), nullptr);  // boxed: the caller's references go
    return tuple;
  }

  // Failures
  static PyObject* text(const char* s) { return PyUnicode_DecodeUTF8(s, (isize)__builtin_strlen(s), "replace"); }
  // launch.py makes the exception of this code.
  PyObject* fail(int code, const Place& at, const char* why) {
    hold_gil();
    if (PyErr_Occurred()) return nullptr;
    PyObject* args = PyTuple_New(4);
    PyTuple_SetItem(args, 0, PyLong_FromLongLong(code));
    PyTuple_SetItem(args, 1, text(at.what));
    PyTuple_SetItem(args, 2, text(at.where));
    PyTuple_SetItem(args, 3, text(why));
    PyObject* nothing = PyObject_CallObject(graph->failed, args);
    Py_DecRef(args);
    if (nothing) Py_DecRef(nothing);
    return nullptr;
  }
  PyObject* aten_failed(int place) {
    const char* why = last_message ? last_message() : nullptr;
    return fail(2111, places[place], why && *why ? why : "ATen raised an error (its text is on stderr)");
  }
  PyObject* unexpected(int place) {
    return fail(2112, places[place], "the result has another dtype or other sizes than the graph was compiled for");
  }
  PyObject* out_of_memory(int place) { return fail(2113, places[place], "not enough memory"); }
  PyObject* kernel_failed() { return fail(2114, places[error.place], ""); }
};

}  // namespace tw
