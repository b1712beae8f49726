// Ranges around what a call runs, for torch.profiler and for the clock of a report. Asked for once
// per call; otherwise each range costs one branch that is never taken.
#pragma once
#include "prelude_abi.h"

extern "C" int clock_gettime(int, void*);

namespace tw {

// From libtorch; null where it lacks them, and then there are no ranges in profiles.
static bool (*has_callbacks)();  // at::hasCallbacks(): some profiler listens
static Error (*record_start)(const char*, void*, const void*, u64, void**);
static Error (*record_end)(void*);

static void watch_by(void* libtorch) {
  has_callbacks = (decltype(has_callbacks))dlsym(libtorch, "_ZN2at12hasCallbacksEv");
  record_end = (decltype(record_end))dlsym(libtorch, "aoti_record_function_end");
  record_start = record_end ? (decltype(record_start))dlsym(libtorch, "aoti_record_function_start") : nullptr;
}

TW_INLINE u64 nanoseconds() {
  struct { i64 seconds, nanoseconds; } now;
  clock_gettime(1, &now);  // CLOCK_MONOTONIC
  return (u64)now.seconds * 1000000000u + (u64)now.nanoseconds;
}

// Who watches one call.
struct Watch {
  u64* clock;  // nanoseconds of each range are added here; null for nobody
  bool profiled;
  bool any;
  explicit Watch(u64* c) : clock(c), profiled(has_callbacks && record_start && has_callbacks()), any(c || profiled) {}
};

struct Range {
  const Watch& watch;
  const int number;
  void* record = nullptr;
  u64 start = 0;

  Range(const Watch& w, int n, const char* const* names) : watch(w), number(n) {
    if (__builtin_expect(w.any, false)) begin(names[n]);
  }
  ~Range() {
    if (__builtin_expect(watch.any, false)) end();
  }
  __attribute__((noinline, cold)) void begin(const char* name) {
    if (watch.profiled && record_start(name, nullptr, nullptr, 0, &record)) record = nullptr;
    if (watch.clock) start = nanoseconds();
  }
  __attribute__((noinline, cold)) void end() {
    if (watch.clock) watch.clock[number] += nanoseconds() - start;
    if (record) record_end(record);
  }
};

// TW_RANGE(3) statement;
#define TW_RANGE(number) if (const tw::Range range{call.watch, number, RANGES}; true)

}  // namespace tw
