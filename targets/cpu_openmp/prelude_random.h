// Random bits from a counter: Philox4x32-10.
#pragma once

#include "prelude.h"

namespace tw {

// Output word `counter` mod 4 of block `counter` div 4 under key `seed`.
template <class U64> TW_INLINE like<U64, u32> philox(U64 seed, U64 counter) {
  typedef like<U64, u32> U;
  const U word = convert<U>(counter);
  U c0 = convert<U>(counter >> 2), c1 = convert<U>(counter >> 34), c2 = c0 - c0, c3 = c2;
  U k0 = convert<U>(seed), k1 = convert<U>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const U64 p0 = convert<U64>(c0) * 0xD2511F53ull, p1 = convert<U64>(c2) * 0xCD9E8D57ull;
    c0 = convert<U>(p1 >> 32) ^ c1 ^ k0, c2 = convert<U>(p0 >> 32) ^ c3 ^ k1;
    c1 = convert<U>(p1), c3 = convert<U>(p0);
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  const U low = (word & 1u) != 0u ? c1 : c0, high = (word & 1u) != 0u ? c3 : c2;
  return (word & 2u) != 0u ? high : low;
}

// Uniform in [0, 1): the top 24 bits.
template <class S, class I64> TW_INLINE like<I64, f32> uniform(S seed, I64 counter) {
  typedef like<I64, u64> U;
  const auto word = philox(bits<U>(seed - I64{}), bits<U>(counter));
  return convert<like<I64, f32>>(bits<like<I64, i32>>(word >> 8)) * 0x1p-24f;
}

}  // namespace tw
