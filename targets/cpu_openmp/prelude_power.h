// pow of f32 vectors, in f64: 2^(y * log2(x)) needs 8 bits more than f32 has, for the exponent.
#pragma once

#include "prelude_math.h"

namespace tw {

// log2 of x >= 0 that is neither 0 nor infinite: x = 2^e * m with m in [sqrt(1/2), sqrt(2)), s = (m - 1) / (m + 1).
template <class D> TW_INLINE D log2_of_f32(D x) {
  typedef like<D, u64> U;
  constexpr u64 HALF = 0x3fe6a09e00000000ull, ONE = 0x3ff0000000000000ull;
  const U b = bits<U>(x), biased = (b + (ONE - HALF)) >> 52;
  const D e = bits<D>(biased | bits<u64>(0x1p52)) - (0x1p52 + 1023);
  const D m = bits<D>(b - ((biased - 1023) << 52));
  const D s = (m - 1.0) / (m + 1.0);
  const D p = poly(s * s, 2.8853900817900917, 0.96179667333352503, 0.57708358666171578, 0.4116726112917789,
                   0.34073219915014924);
  return s * p + e;
}
// 2^z; far outside of what f32 holds, z only has to stay there.
template <class D> TW_INLINE D exp2_for_f32(D z) {
  typedef like<D, i64> I;
  z = larger(splat<D>(-200.0), z);
  z = smaller(splat<D>(200.0), z);
  const D shifted = z + 0x1.8p52;
  const D r = z - (shifted - 0x1.8p52);
  const D p = poly(r, 0.9999999999616519, 0.69314718072859205, 0.24022651198454689, 0.05550410353106687,
                   0.0096180272133507896, 0.0013333922736859241, 0.00015469304189468143, 1.520190499204534e-05);
  return bits<D>(bits<I>(p) + (bits<I>(shifted) << 52));
}
// |x|^y where y is a number.
template <class V> TW_INLINE V power_of_size(V x, V y) {
  if constexpr (lanes<V> * 8 > REGISTER_BYTES && lanes<V> > 2)
    return joined(power_of_size(halves(x).low, halves(y).low), power_of_size(halves(x).high, halves(y).high));
  else {
    typedef like<V, f64> D;
    const D a = __builtin_convertvector(x, D), infinite = splat<D>(__builtin_inf());
    D l = log2_of_f32(a);
    l = a == 0.0 ? -infinite : l;
    l = a == infinite ? infinite : l;
    return __builtin_convertvector(exp2_for_f32(__builtin_convertvector(y, D) * l), V);
  }
}
template <class V> TW_INLINE V pow_f32(V x, V y) {
  typedef like<V, i32> I;
  const V a = abs(x), one = splat<V>(1.0f);
  const auto odd = (trunc(y) == y) & (abs(y) < 0x1p24f) & ((convert<I>(y) & 1) != 0);
  V r = power_of_size(a, y);
  r = bits<V>(bits<I>(r) ^ (odd & bits<I>(x) & (i32)(1u << 31)));
  r = (x < 0.0f) & (a < INF32) & (trunc(y) != y) ? splat<V>(NAN32) : r;
  r = (x != x) | (y != y) ? x + y : r;
  return (y == 0.0f) | (x == one) | ((a == one) & (abs(y) == INF32)) ? one : r;
}
template <class V> TW_INLINE V pow(V x, V y) {
  if constexpr (same<V, f32>) return pow_f32(splat<vec<f32, 4>>(x), splat<vec<f32, 4>>(y))[0];
  else if constexpr (same<element<V>, f32>) return pow_f32(x, y);
  else return by_lane(x, y, [](f64 a, f64 b) { return __builtin_pow(a, b); });
}

}  // namespace tw
