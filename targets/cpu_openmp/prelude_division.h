// Quotients and remainders of whole vectors: integers by way of f64 where that is exact, fmod by one division.
#pragma once

#include "prelude_math.h"

namespace tw {

// Integers below 2^51 in size as f64 and back, without the instructions that only AVX-512 has.
constexpr f64 WHOLE_MAGIC = 0x1.8p52;
template <class V> TW_INLINE like<V, f64> whole_to_f64(V x) {
  return bits<like<V, f64>>(x + bits<i64>(WHOLE_MAGIC)) - WHOLE_MAGIC;
}
template <class V> TW_INLINE like<V, i64> f64_to_whole(V x) {
  return bits<like<V, i64>>(x + WHOLE_MAGIC) - bits<i64>(WHOLE_MAGIC);
}

// Vectors small enough that their lanes as f64 are one register.
template <class V> constexpr bool fits_f64 = lanes<V> * 8 <= REGISTER_BYTES;

// a / b towards zero. |a|, |b| < 2^53: the quotient of f64 rounds to an integer k only where a / b is k, because
// a / b < k means a / b <= k - 1 / b, and 1 / b is more than half of the distance of f64 below k.
template <class V> TW_INLINE V quotient_i64(V a, V b) {
  const V q = f64_to_whole(trunc(whole_to_f64(a) / whole_to_f64(b)));
  const auto beyond = as_unsigned((a + (1ll << 51)) | (b + (1ll << 51))) >> 52;
  if (__builtin_expect(!any_lane(mask(beyond != 0)), true)) return q;
  return a / b;
}
template <class V> TW_INLINE V quotient(V a, V b) {
  if constexpr (!is_vector<V>) return a / b;
  else if constexpr (lanes<V> > 2 && !fits_f64<V>)
    return joined(quotient(halves(a).low, halves(b).low), quotient(halves(a).high, halves(b).high));
  else if constexpr (same<element<V>, i64>) return quotient_i64(a, b);
  else {
    typedef like<V, f64> D;
    return __builtin_convertvector(__builtin_convertvector(a, D) / __builtin_convertvector(b, D), V);
  }
}
template <class V> TW_INLINE V rest(V a, V b) {
  if constexpr (!is_vector<V>) return a % b;
  else return a - quotient(a, b) * b;
}

// fmod: towards zero, with the sign of x. Multiples of y below 2^22 are subtracted exactly (the difference has no
// bits that x and y do not have); a quotient that was rounded up to an integer is one too large.
template <class V> __attribute__((noinline, cold)) static V far_fmod(V x, V y, V near, like<V, i32> far) {
  V exact = near;
  for (int l = 0; l < lanes<V>; ++l)
    if (far[l]) exact[l] = __builtin_fmodf(x[l], y[l]);
  return exact;
}
template <class V> TW_INLINE V fmod_f32(V x, V y) {
#if defined(__FMA__) || defined(__aarch64__)
  const V a = abs(x), b = abs(y), q = trunc(a / b);
  const V r = fma(-q, b, a);
  const V near = copysign(r < 0.0f ? r + b : r, x);
  const auto far = ~mask((q < 0x1p22f) & (b < INF32));  // also infinities, NaN, division by zero
  if (__builtin_expect(!any_lane(far), true)) return near;
  return far_fmod(x, y, near, far);
#else
  return by_lane(x, y, [](f32 a, f32 b) { return __builtin_fmodf(a, b); });
#endif
}
template <class V> TW_INLINE V fmod(V x, V y) {
  if constexpr (same<V, f32>) return __builtin_fmodf(x, y);
  else if constexpr (same<element<V>, f32>) return fmod_f32(x, y);
  else return by_lane(x, y, [](f64 a, f64 b) { return __builtin_fmod(a, b); });
}

}  // namespace tw
