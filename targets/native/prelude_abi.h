// CPython and libtorch as C functions, declared by hand.
//
// Python.h and PyTorch's headers are not included (parsing them takes seconds). CPython's functions
// are resolved by the loader, libtorch's through `dlsym` once, when a graph is loaded.
#pragma once
#include "prelude.h"

typedef __SIZE_TYPE__ usize;
typedef __PTRDIFF_TYPE__ isize;
struct PyObject;
struct PyThread;
struct AtenTensor;
typedef AtenTensor* Handle;  // AtenTensorHandle: an at::Tensor* that we own

extern "C" {
PyObject* PyList_GetItem(PyObject*, isize);  // borrowed
isize PyList_Size(PyObject*);
int PyList_SetSlice(PyObject*, isize, isize, PyObject*);
PyObject* PyTuple_New(isize);
PyObject* PyTuple_GetItem(PyObject*, isize);  // borrowed
isize PyTuple_Size(PyObject*);
int PyTuple_SetItem(PyObject*, isize, PyObject*);  // steals
PyObject* PyLong_FromLongLong(long long);
long long PyLong_AsLongLong(PyObject*);
PyObject* PyObject_CallObject(PyObject*, PyObject*);
PyObject* PyObject_Type(PyObject*);
int PyObject_IsInstance(PyObject*, PyObject*);
PyObject* PyCapsule_New(void*, const char*, void (*)(PyObject*));
void* PyCapsule_GetPointer(PyObject*, const char*);
PyObject* PyCMethod_New(void*, PyObject*, PyObject*, PyObject*);
PyObject* PyUnicode_DecodeUTF8(const char*, isize, const char*);
PyObject* PyErr_Occurred();
void PyErr_Clear();
void PyErr_SetString(PyObject*, const char*);
PyThread* PyEval_SaveThread();
void PyEval_RestoreThread(PyThread*);
void Py_IncRef(PyObject*);
void Py_DecRef(PyObject*);
extern PyObject* PyExc_ImportError;
void* dlsym(void*, const char*);
int posix_memalign(void**, usize, usize);
void free(void*);
int madvise(void*, usize, int);
int snprintf(char*, usize, const char*, ...);
}

namespace tw {

// ---- libtorch -----------------------------------------------------------------------------

typedef i32 Error;  // AOTITorchError: 0 is success

// Shims that every graph may need: name and parameters.
#define TW_TORCH_FUNCTIONS(X)                                                                    \
  X(aoti_torch_empty_strided, i64, const i64*, const i64*, i32, i32, i32, Handle*)               \
  X(aoti_torch_create_tensor_from_blob, void*, i64, const i64*, const i64*, i64, i32, i32, i32, Handle*) \
  X(aoti_torch__reinterpret_tensor, Handle, i64, const i64*, const i64*, i64, Handle*)           \
  X(aoti_torch_delete_tensor_object, Handle)                                                     \
  X(aoti_torch_get_data_ptr, Handle, void**)                                                     \
  X(aoti_torch_get_dim, Handle, i64*)                                                            \
  X(aoti_torch_get_sizes, Handle, i64**)                                                         \
  X(aoti_torch_get_strides, Handle, i64**)                                                       \
  X(aoti_torch_get_storage_offset, Handle, i64*)                                                 \
  X(aoti_torch_get_dtype, Handle, i32*)                                                          \
  X(aoti_torch_copy_, Handle, Handle, i32)

#define TW_DECLARE(name, ...) static Error (*name)(__VA_ARGS__);
TW_TORCH_FUNCTIONS(TW_DECLARE)
// Newer than the others, so perhaps missing: a tensor on memory of ours, with a deleter.
static Error (*from_blob)(void*, i64, const i64*, const i64*, i64, i32, i32, i32, Handle*, i32, const u8*, i64,
                          void (*)(void*, void*), void*);
static const char* (*last_message)();             // of the failure in this thread, may be null
static void* (*tensor_data)(PyObject*);           // Tensor.data_ptr()
static PyObject* (*wrap_tensor)(const void*);     // THPVariable_Wrap(at::TensorBase const&)

}  // namespace tw
