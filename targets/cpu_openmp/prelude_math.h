// Elementary functions over scalars and vectors of any width.
//
// f32 functions are polynomials and rationals of our own, derived by fit_polynomials.py and
// tested against float64 in test/unit/test_cpu_math.py; a scalar runs the same code in four
// lanes, so that it rounds as a lane does. f64 and the rare functions go lane by lane through libm.
#pragma once
#include "prelude.h"
#include "prelude_dot.h"
#include "prelude_gather.h"
#include "prelude_random.h"
#include "prelude_sort.h"
#include "prelude_turn.h"

namespace tw {

constexpr f32 INF32 = __builtin_inff();
constexpr f32 NAN32 = __builtin_nanf("");

// `fn` in one lane after the other.
template <class V, class Fn> TW_INLINE V by_lane(V x, Fn fn) {
  if constexpr (!is_vector<V>) return fn(x);
  else {
    V r{};
    for (int l = 0; l < lanes<V>; ++l) r[l] = fn((element<V>)x[l]);
    return r;
  }
}
template <class V, class Fn> TW_INLINE V by_lane(V x, V y, Fn fn) {
  if constexpr (!is_vector<V>) return fn(x, y);
  else {
    V r{};
    for (int l = 0; l < lanes<V>; ++l) r[l] = fn((element<V>)x[l], (element<V>)y[l]);
    return r;
  }
}

// A function with a vector form for f32 (`name##_f32`) and libm for f64.
#define TW_FUNCTION(name, libm)                                                           \
  template <class V> TW_INLINE V name(V x) {                                              \
    if constexpr (same<V, f32>) return name##_f32(splat<vec<f32, 4>>(x))[0];              \
    else if constexpr (same<element<V>, f32>) return name##_f32(x);                       \
    else return by_lane(x, [](f64 a) { return __builtin_##libm(a); });                    \
  }
#define TW_LIBM(name, libm)                                                               \
  template <class V> TW_INLINE V name(V x) {                                              \
    if constexpr (same<element<V>, f32>) return by_lane(x, [](f32 a) { return __builtin_##libm##f(a); }); \
    else return by_lane(x, [](f64 a) { return __builtin_##libm(a); });                    \
  }
#define TW_LIBM2(name, libm)                                                              \
  template <class V> TW_INLINE V name(V x, V y) {                                         \
    if constexpr (same<element<V>, f32>) return by_lane(x, y, [](f32 a, f32 b) { return __builtin_##libm##f(a, b); }); \
    else return by_lane(x, y, [](f64 a, f64 b) { return __builtin_##libm(a, b); });       \
  }

// Evaluate a polynomial, lowest power first.
template <class V> TW_INLINE V poly(V, element<V> c) { return splat<V>(c); }
template <class V, class... C> TW_INLINE V poly(V x, element<V> c, C... rest) { return poly(x, rest...) * x + c; }

// ---- bits and rounding --------------------------------------------------------------------

template <class V> TW_INLINE V abs(V x) {
  if constexpr (same<element<V>, f32>) return bits<V>(bits<like<V, u32>>(x) & 0x7fffffffu);
  else if constexpr (same<element<V>, f64>) return bits<V>(bits<like<V, u64>>(x) & 0x7fffffffffffffffull);
  else {
    // GCC 12 makes one instruction on bytes of widening, absolute value and narrowing, of signed bytes.
    if constexpr (is_vector<V>) x = opaque(x);
    return x < 0 ? -x : x;
  }
}
template <class V> TW_INLINE V copysign(V x, V sign) {
  if constexpr (same<element<V>, f32>) {
    typedef like<V, u32> U;
    return bits<V>((bits<U>(x) & 0x7fffffffu) | (bits<U>(sign) & 0x80000000u));
  } else {
    typedef like<V, u64> U;
    return bits<V>((bits<U>(x) & 0x7fffffffffffffffull) | (bits<U>(sign) & 0x8000000000000000ull));
  }
}

// `a > b ? a : b` and `a < b ? a : b`: `b` where either is NaN, one instruction of x86 that GCC 12 does not find.
#if defined(__AVX512F__) && !defined(__clang__)
#define TW_EXTREME512(name)                                                                    \
  if constexpr (same<V, vec<f32, 16>>) return __builtin_ia32_##name##ps512_mask(a, b, a, (u16)-1, 4); \
  else if constexpr (same<V, vec<f64, 8>>) return __builtin_ia32_##name##pd512_mask(a, b, a, (u8)-1, 4); else
#else
#define TW_EXTREME512(name)
#endif
#if defined(__AVX__) && !defined(__clang__)
#define TW_EXTREME256(name)                                                                    \
  if constexpr (same<V, vec<f32, 8>>) return __builtin_ia32_##name##ps256(a, b);               \
  else if constexpr (same<V, vec<f64, 4>>) return __builtin_ia32_##name##pd256(a, b); else
#else
#define TW_EXTREME256(name)
#endif
template <class V> TW_INLINE V larger(V a, V b) {
  if constexpr (is_wide<V>) return in_parts([](auto x, auto y) { return larger(x, y); }, a, b);
  else TW_EXTREME512(max) TW_EXTREME256(max) return a > b ? a : b;
}
template <class V> TW_INLINE V smaller(V a, V b) {
  if constexpr (is_wide<V>) return in_parts([](auto x, auto y) { return smaller(x, y); }, a, b);
  else TW_EXTREME512(min) TW_EXTREME256(min) return a < b ? a : b;
}

// Largest and smallest; a NaN on either side wins (as ATen's maximum does).
template <class V> TW_INLINE V maximum(V a, V b) {
  return in_parts([](auto x, auto y) { return x != x ? x : larger(x, y); }, a, b);
}
template <class V> TW_INLINE V minimum(V a, V b) {
  return in_parts([](auto x, auto y) { return x != x ? x : smaller(x, y); }, a, b);
}
// The number wins over NaN (fmax, fmin); of two zeros the first.
template <class V> TW_INLINE V max_number(V a, V b) { const V m = b > a ? b : a; return a != a ? b : m; }
template <class V> TW_INLINE V min_number(V a, V b) { const V m = b < a ? b : a; return a != a ? b : m; }

#if defined(__AVX512F__) && !defined(__clang__)
template <int MODE, class V> TW_INLINE V round_mode(V x) {
  if constexpr (same<V, vec<f32, 16>>) return __builtin_ia32_rndscaleps_mask(x, MODE, x, (u16)-1, 4);
  else return __builtin_ia32_rndscalepd_mask(x, MODE, x, (u8)-1, 4);
}
#define TW_ROUND512(mode) if constexpr (same<V, vec<f32, 16>> || same<V, vec<f64, 8>>) return round_mode<mode>(x); else
#define TW_SQRT512                                                                        \
  if constexpr (same<V, vec<f32, 16>>) return __builtin_ia32_sqrtps512_mask(x, x, (u16)-1, 4); \
  else if constexpr (same<V, vec<f64, 8>>) return __builtin_ia32_sqrtpd512_mask(x, x, (u8)-1, 4); else
#else
#define TW_ROUND512(mode)
#define TW_SQRT512
#endif
#if defined(__AVX__) && !defined(__clang__)
#define TW_ROUND256(mode)                                                                 \
  if constexpr (same<V, vec<f32, 8>>) return __builtin_ia32_roundps256(x, mode);          \
  else if constexpr (same<V, vec<f64, 4>>) return __builtin_ia32_roundpd256(x, mode); else
#define TW_SQRT256                                                                        \
  if constexpr (same<V, vec<f32, 8>>) return __builtin_ia32_sqrtps256(x);                 \
  else if constexpr (same<V, vec<f64, 4>>) return __builtin_ia32_sqrtpd256(x); else
#else
#define TW_ROUND256(mode)
#define TW_SQRT256
#endif
template <class V> TW_INLINE V floor(V x) {
  TW_ROUND512(9) TW_ROUND256(9) return by_lane(x, [](auto a) { return __builtin_floor(a); });
}
template <class V> TW_INLINE V ceil(V x) {
  TW_ROUND512(10) TW_ROUND256(10) return by_lane(x, [](auto a) { return __builtin_ceil(a); });
}
template <class V> TW_INLINE V trunc(V x) {
  TW_ROUND512(11) TW_ROUND256(11) return by_lane(x, [](auto a) { return __builtin_trunc(a); });
}
// To nearest, ties to even, as torch.round.
template <class V> TW_INLINE V round_even(V x) {
  TW_ROUND512(8) TW_ROUND256(8) return by_lane(x, [](auto a) { return __builtin_nearbyint(a); });
}
template <class V> TW_INLINE V sqrt(V x) {
  TW_SQRT512 TW_SQRT256
  if constexpr (same<element<V>, f32>) return by_lane(x, [](f32 a) { return __builtin_sqrtf(a); });
  else return by_lane(x, [](f64 a) { return __builtin_sqrt(a); });
}
template <class V> TW_INLINE V rsqrt(V x) { return 1 / sqrt(x); }
// Rounded once. In these headers, and in sums over products, the compiler contracts `a * b + c` or not as it likes.
template <class V> TW_INLINE V fma(V a, V b, V c) {
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (same<V, vec<f32, 16>>) return __builtin_ia32_vfmaddps512_mask(a, b, c, (u16)-1, 4);
  else if constexpr (same<V, vec<f64, 8>>) return __builtin_ia32_vfmaddpd512_mask(a, b, c, (u8)-1, 4);
  else
#endif
#if defined(__FMA__) && !defined(__clang__)
  if constexpr (same<V, vec<f32, 8>>) return __builtin_ia32_vfmaddps256(a, b, c);
  else if constexpr (same<V, vec<f32, 4>>) return __builtin_ia32_vfmaddps(a, b, c);
  else if constexpr (same<V, vec<f64, 4>>) return __builtin_ia32_vfmaddpd256(a, b, c);
  else if constexpr (same<V, vec<f64, 2>>) return __builtin_ia32_vfmaddpd(a, b, c);
  else
#endif
  if constexpr (same<V, f32>) return __builtin_fmaf(a, b, c);
  else if constexpr (same<V, f64>) return __builtin_fma(a, b, c);
  else {
    V r{};
    for (int l = 0; l < lanes<V>; ++l) r[l] = fma<element<V>>(a[l], b[l], c[l]);
    return r;
  }
}

template <class V> TW_INLINE element<V> across_maximum(V v) { return across(v, [](auto a, auto b) { return maximum(a, b); }); }
template <class V> TW_INLINE element<V> across_minimum(V v) { return across(v, [](auto a, auto b) { return minimum(a, b); }); }
template <class V> TW_INLINE element<V> across_max(V v) { return across(v, [](auto a, auto b) { return max_of(a, b); }); }
template <class V> TW_INLINE element<V> across_min(V v) { return across(v, [](auto a, auto b) { return min_of(a, b); }); }

// ---- exponentials -------------------------------------------------------------------------

constexpr f32 ROUND_MAGIC = 0x1.8p23f;  // adding it rounds to an integer in the low mantissa bits

// y * 2^n for n in [-252, 254], in two exact steps so that denormals and near-overflow come out right.
template <class V> TW_INLINE V scale_by_power(V y, like<V, i32> n) {
  typedef like<V, i32> I;
  const I half = n >> 1;
  return y * bits<V>((half + 127) << 23) * bits<V>((n - half + 127) << 23);
}

// exp(x) = 2^n * exp(r), r = x - n*ln2 in two parts; p(r) = (exp(r) - 1 - r) / r^2 on +-0.3466.
template <class V> TW_INLINE V exp_f32(V x) {
  typedef like<V, i32> I;
  const V low = splat<V>(-104.0f), high = splat<V>(89.0f);
  x = larger(low, x);  // NaN passes
  x = smaller(high, x);
  const V shifted = x * 0x1.715476p+0f + ROUND_MAGIC;
  const V n = shifted - ROUND_MAGIC;
  V r = x - n * 0x1.62e400p-1f;
  r = r - n * 0x1.7f7d1cp-20f;
  const V p = poly(r, 0.499999934f, 0.166665206f, 0.0416683881f, 0.00836871709f, 0.00138145964f);
  const V y = (p * (r * r) + r) + 1.0f;
  return scale_by_power(y, bits<I>(shifted) - bits<i32>(ROUND_MAGIC));
}
template <class V> TW_INLINE V exp2_f32(V x) {
  typedef like<V, i32> I;
  const V low = splat<V>(-151.0f), high = splat<V>(129.0f);
  x = larger(low, x);
  x = smaller(high, x);
  const V shifted = x + ROUND_MAGIC;
  const V r = x - (shifted - ROUND_MAGIC);
  const V y = poly(r, 1.0f, 0.693147206f, 0.240226469f, 0.0555032874f, 0.00961848912f, 0.00133999444f,
                   0.000153457958f);
  return scale_by_power(y, bits<I>(shifted) - bits<i32>(ROUND_MAGIC));
}
// exp(x) - 1 = (2^(n-1) * (exp(r) - 1) + (2^(n-1) - 1/2)) * 2; n = 0 needs no scaling.
template <class V> TW_INLINE V expm1_f32(V x) {
  typedef like<V, i32> I;
  const V low = splat<V>(-18.0f), high = splat<V>(89.0f);
  V c = larger(low, x);
  c = smaller(high, c);
  const V shifted = c * 0x1.715476p+0f + ROUND_MAGIC;
  const V n = shifted - ROUND_MAGIC;
  V r = c - n * 0x1.62e400p-1f;
  r = r - n * 0x1.7f7d1cp-20f;
  const V p = poly(r, 0.499999934f, 0.166665206f, 0.0416683881f, 0.00836871709f, 0.00138145964f) * (r * r) + r;
  const V s = bits<V>((bits<I>(shifted) - bits<i32>(ROUND_MAGIC) + 126) << 23);
  const V y = (p * s + (s - 0.5f)) * 2.0f;
  const V kept = n == 0.0f ? p : y;
  return x == 0.0f ? x : kept;  // the sign of zero
}
TW_FUNCTION(exp, exp)
TW_FUNCTION(exp2, exp2)
TW_FUNCTION(expm1, expm1)

// ---- logarithms ---------------------------------------------------------------------------

// x = 2^e * (1 + f) with f in [sqrt(1/2) - 1, sqrt(2) - 1]; gives log(1 + f) as f + tail, and e.
template <class V> struct log_parts { V f, tail, e; };
template <class V> TW_INLINE log_parts<V> log_reduce(V x) {
  typedef like<V, i32> I;
  const V tiny = splat<V>(0x1p-126f);
  const V scaled = x < tiny ? x * 0x1p25f : x;
  const I b = bits<I>(scaled);
  const I e = (b - 0x3f3504f3) >> 23;
  const V f = bits<V>(b - (e << 23)) - 1.0f;
  const V p = poly(f, 0.333333317f, -0.250008214f, 0.200012246f, -0.166233428f, 0.142018002f, -0.131603806f,
                   0.127613569f, -0.0763365212f);
  const V ff = f * f;
  const V exponent = convert<V>(e);
  return {f, p * (ff * f) - ff * 0.5f, x < tiny ? exponent - 25.0f : exponent};
}
// log of 0, of negative numbers, of infinity and NaN; `y` for the others.
template <class V> TW_INLINE V log_special(V x, V y) {
  y = x == INF32 ? x : y;
  y = x == 0.0f ? splat<V>(-INF32) : y;
  y = x < 0.0f ? splat<V>(NAN32) : y;
  return x != x ? x : y;
}
template <class V> TW_INLINE V log_f32(V x) {
  const auto q = log_reduce(x);
  return log_special(x, q.e * 0x1.62e400p-1f + (q.f + (q.e * 0x1.7f7d1cp-20f + q.tail)));
}
// y + lost = log(1 + f) to more than f32; multiplied by log2(e) - 1 and by 1.
template <class V> TW_INLINE V log2_f32(V x) {
  const auto q = log_reduce(x);
  const V y = q.f + q.tail, lost = (q.f - y) + q.tail;
  return log_special(x, q.e + (y + (y * 0x1.c551dap-2f + lost * 0x1.715476p+0f)));
}
template <class V> TW_INLINE V log10_f32(V x) {
  const auto q = log_reduce(x);
  const V y = q.f + q.tail, lost = (q.f - y) + q.tail;
  const V small = y * -0x1.5b235ep-27f + lost * 0x1.bcb7b2p-2f;
  return log_special(x, q.e * 0x1.344000p-2f + (y * 0x1.bcb7b2p-2f + (q.e * 0x1.3509f8p-18f + small)));
}
// log(u), u = 1 + x rounded, plus what the rounding lost, divided by u.
template <class V> TW_INLINE V log1p_f32(V x) {
  const V u = x + 1.0f;
  const auto q = log_reduce(u);
  const V lost = (x < 1.0f ? x - (u - 1.0f) : 1.0f - (u - x)) / u;
  const V y = q.e * 0x1.62e400p-1f + (q.f + (q.e * 0x1.7f7d1cp-20f + (q.tail + lost)));
  const V special = log_special(u, y);
  return abs(x) < 0x1p-24f ? x : special;  // also -0.0
}
TW_FUNCTION(log, log)
TW_FUNCTION(log2, log2)
TW_FUNCTION(log10, log10)
TW_FUNCTION(log1p, log1p)

// ---- hyperbolic tangent, error function ---------------------------------------------------

// x * P(x^2) / Q(x^2) up to where the result rounds to +-1; from there exactly +-1, so that 1 + tanh(x)
// is 0 for large negative x. (Beyond, P / Q may be inf / inf.)
template <class V> TW_INLINE V one_beyond(V x, V y, f32 limit) {
  const V one = splat<V>(1.0f);
  y = abs(y) > one ? one : y;  // the sign is put back below
  return copysign(abs(x) >= limit ? one : y, x);
}
template <class V> TW_INLINE V tanh_f32(V x) {
  const V s = x * x;
  const V p = poly(s, 0.999999999f, 0.136795579f, 0.00386787974f, 2.79983966e-05f, 3.05631459e-08f,
                   -1.21871713e-11f);
  const V q = poly(s, 1.0f, 0.470128899f, 0.0272442002f, 0.000393784041f, 1.28673228e-06f);
  return one_beyond(x, x * p / q, 9.02f);
}
template <class V> TW_INLINE V erf_f32(V x) {
  const V s = x * x;
  const V p = poly(s, 1.12837914f, 0.191537064f, 0.0528738179f, 0.00380761808f, 0.000284680221f,
                   2.02607917e-06f);
  const V q = poly(s, 1.0f, 0.503077981f, 0.114554258f, 0.0150540095f, 0.00117060197f, 3.78331635e-05f);
  return one_beyond(x, x * p / q, 3.93f);
}
TW_FUNCTION(tanh, tanh)
TW_FUNCTION(erf, erf)

// ---- sine and cosine ----------------------------------------------------------------------

#if defined(__FMA__) || defined(__aarch64__)
constexpr f32 FAR = 20000.0f;
#else
constexpr f32 FAR = -1.0f;  // without FMA the reduction is not exact enough
#endif

// libm where |x| is large; the other lanes keep their value, a result must not depend on its neighbours.
template <bool COSINE, class V> __attribute__((noinline, cold)) static V far_sin_or_cos(V x, V near) {
  V exact = near;
  for (int l = 0; l < lanes<V>; ++l)
    if (!(__builtin_fabsf(x[l]) <= FAR)) exact[l] = COSINE ? __builtin_cosf(x[l]) : __builtin_sinf(x[l]);
  return exact;
}

// x - n * pi/2 with pi/2 in three parts, exact enough with FMA up to |x| = 20000; then libm.
template <bool COSINE, class V> TW_INLINE V sin_or_cos(V x) {
  typedef like<V, i32> I;
  const V shifted = x * 0x1.45f306p-1f + ROUND_MAGIC;
  const V n = shifted - ROUND_MAGIC;
  const I quadrant = bits<I>(shifted) + (COSINE ? 1 : 0);
  V r = x - n * 0x1.921fb6p+0f;
  r = r + n * 0x1.777a5cp-25f;
  r = r + n * 0x1.ee59dap-50f;
  const V s = r * r;
  const V p = poly(s, -0.166666666f, 0.00833332938f, -0.000198393341f, 2.71830414e-06f);
  const V q = poly(s, 0.0416666666f, -0.00138888838f, 2.47995192e-05f, -2.72101677e-07f);
  const V sine = fma(p, s * r, r), cosine = fma(q, s * s, 1.0f - 0.5f * s);
  const V y = (quadrant & 1) != 0 ? cosine : sine;
  const V signed_y = bits<V>(bits<I>(y) ^ ((quadrant & 2) << 30));
  const V near = !COSINE ? (x == 0.0f ? x : signed_y) : signed_y;
  if (__builtin_expect(!any_lane(mask(abs(x) > FAR)), true)) return near;
  return far_sin_or_cos<COSINE>(x, near);
}
template <class V> TW_INLINE V sin_f32(V x) { return sin_or_cos<false>(x); }
template <class V> TW_INLINE V cos_f32(V x) { return sin_or_cos<true>(x); }
TW_FUNCTION(sin, sin)
TW_FUNCTION(cos, cos)

// ---- by libm ------------------------------------------------------------------------------

TW_LIBM(tan, tan) TW_LIBM(asin, asin) TW_LIBM(acos, acos) TW_LIBM(atan, atan)
TW_LIBM(sinh, sinh) TW_LIBM(cosh, cosh) TW_LIBM(asinh, asinh) TW_LIBM(acosh, acosh)
TW_LIBM(atanh, atanh) TW_LIBM(cbrt, cbrt) TW_LIBM(erfc, erfc) TW_LIBM(lgamma, lgamma)
TW_LIBM(round_away, round)
TW_LIBM2(hypot, hypot) TW_LIBM2(atan2, atan2) TW_LIBM2(nextafter, nextafter)

// Integer powers by squaring; a negative exponent gives 0 except for +-1, as ATen.
template <class V> TW_INLINE V int_pow(V base, V exponent) {
  return by_lane(base, exponent, [](auto b, auto e) {
    if (e < 0) return b == 1 ? b : b == -1 ? (decltype(b))(e % 2 ? -1 : 1) : (decltype(b))0;
    decltype(b) r = 1;
    for (; e; e >>= 1, b = (decltype(b))((u64)b * (u64)b))
      if (e & 1) r = (decltype(b))((u64)r * (u64)b);
    return r;
  });
}

}  // namespace tw

#include "prelude_division.h"
#include "prelude_power.h"
