// Memory of large results: blocks that come back when the caller drops the tensor.
//
// Fresh memory costs a page fault per 4 KiB, which for a cheap kernel is most of its time. A
// block is a header and the data behind it; the tensor's deleter gives it back to the pool of the
// library that made it (libraries stay loaded, so this works after the graph is gone).
#pragma once
#include "prelude_abi.h"

namespace tw {

constexpr i64 POOL_SMALLEST = 1 << 19;  // bytes; malloc reuses smaller ones without faults
constexpr i64 POOL_CAP = 1ll << 30;     // idle bytes that are kept
constexpr i64 HUGE_PAGE = 2 << 20;

struct alignas(64) Block {
  Block* next;
  i64 bytes;  // of the data
};
static_assert(sizeof(Block) == 64, "the data behind a block is aligned");

struct Pool {
  volatile char lock;
  Block* idle;
  i64 idle_bytes, reused, made;
};
static Pool POOL;

struct PoolLock {
  PoolLock() { while (__atomic_test_and_set(&POOL.lock, __ATOMIC_ACQUIRE)) {} }
  ~PoolLock() { __atomic_clear(&POOL.lock, __ATOMIC_RELEASE); }
};

// Memory in huge pages where that pays.
static void* fresh_memory(i64 bytes) {
  void* memory = nullptr;
  const bool huge = bytes >= HUGE_PAGE;
  if (posix_memalign(&memory, huge ? HUGE_PAGE : 64, bytes)) return nullptr;
  if (huge) madvise(memory, bytes / HUGE_PAGE * HUGE_PAGE, 14);  // MADV_HUGEPAGE
  return memory;
}

// At least `bytes`, at most an eighth wasted; null where there is no memory.
static void* take_block(i64 bytes) {
  {
    const PoolLock guard;
    for (Block** at = &POOL.idle; *at; at = &(*at)->next) {
      Block* b = *at;
      if (b->bytes < bytes || b->bytes - bytes > bytes / 8) continue;
      *at = b->next;
      POOL.idle_bytes -= b->bytes;
      ++POOL.reused;
      return b + 1;
    }
    ++POOL.made;
  }
  Block* b = (Block*)fresh_memory(bytes + (i64)sizeof(Block));
  if (!b) return nullptr;
  b->bytes = bytes;
  return b + 1;
}

// The tensor's deleter; runs in any thread, with or without the GIL.
static void give_block(void* data, void*) {
  if (!data) return;
  Block* b = (Block*)data - 1;
  {
    const PoolLock guard;
    if (POOL.idle_bytes + b->bytes <= POOL_CAP) {
      b->next = POOL.idle;
      POOL.idle = b;
      POOL.idle_bytes += b->bytes;
      return;
    }
  }
  free(b);
}

// Frees what is idle; returns the bytes.
static i64 trim_pool() {
  Block* b;
  i64 bytes;
  {
    const PoolLock guard;
    b = POOL.idle, bytes = POOL.idle_bytes;
    POOL.idle = nullptr, POOL.idle_bytes = 0;
  }
  while (b) {
    Block* next = b->next;
    free(b);
    b = next;
  }
  return bytes;
}

}  // namespace tw
