// Reads at one position per lane. Elements that lie close together are one or two whole loads and a
// permutation; others are the machine's gather instruction where it has one, or one load per lane.
#pragma once

#include "prelude.h"
#include "prelude_turn.h"

namespace tw {

// How many neighbours `near` picks from, 0 where it does not exist.
template <int BYTES, int W> constexpr int window() {
#if defined(__AVX512VL__) && defined(__AVX512BW__) && !defined(__clang__)
  if (W == 16 && (BYTES == 4 || BYTES == 2)) return 32;
#endif
#if defined(__AVX2__) && !defined(__clang__)
  if (W == 8 && BYTES == 4) return 8;
#endif
  return 0;
}

// Lane `l` is element `at[l]` of the `count` elements from `p` on, which are at most a window; no other is read.
template <class R, class I> TW_INLINE R near(const void* p, I at, i32 count) {
  constexpr int W = lanes<R>, BYTES = sizeof(element<R>);
  static_assert(window<BYTES, W>() > 0);
#if defined(__AVX512VL__) && defined(__AVX512BW__) && !defined(__clang__)
  const u32 m = ~0u >> (32 - count);
  if constexpr (W == 16 && BYTES == 4) {
    const auto low = __builtin_ia32_loadups512_mask((const f32*)p, vec<f32, 16>{}, (u16)m);
    const auto high = __builtin_ia32_loadups512_mask((const f32*)p + 16, vec<f32, 16>{}, (u16)(m >> 16));
    return bits<R>(__builtin_ia32_vpermt2varps512_mask(at, low, high, (u16)-1));
  } else if constexpr (W == 16) {
    const auto low = __builtin_ia32_loaddquhi256_mask((const i16*)p, vec<i16, 16>{}, (u16)m);
    const auto high = __builtin_ia32_loaddquhi256_mask((const i16*)p + 16, vec<i16, 16>{}, (u16)(m >> 16));
    const auto words = bits<vec<i16, 16>>(half_words_of(bits<vec<u32, 16>>(at)));
    return bits<R>(__builtin_ia32_vpermt2varhi256_mask(words, low, high, (u16)-1));
  } else
#endif
  {
#if defined(__AVX2__) && !defined(__clang__)
    const auto all = __builtin_ia32_maskloadps256((const vec<f32, 8>*)p, first_lanes<vec<i32, 8>>(count));
    return bits<R>(__builtin_ia32_permvarsf256(all, at));
#endif
  }
}

// Words at `p[at[l]]` in active lanes, zero in others.
template <int BYTES, class I, class M> TW_INLINE auto gather_words(const void* p, I at, M active) {
  constexpr int W = lanes<I>;
  constexpr bool near_positions = sizeof(element<I>) == 4;
  typedef typename word_of<BYTES>::type U;
  typedef vec<U, W> R;
#if defined(__AVX512VL__) && !defined(__clang__)
  if constexpr (W == 16 && BYTES == 4 && near_positions)
    return bits<R>(__builtin_ia32_gathersiv16si(vec<i32, 16>{}, p, at, __builtin_ia32_ptestmd512(active, active, -1), 4));
  else if constexpr (W == 8 && (BYTES == 8 || (BYTES == 4 && !near_positions))) {
    const u8 m = __builtin_ia32_ptestmd256(active, active, -1);
    if constexpr (BYTES == 4) return bits<R>(__builtin_ia32_gatherdiv16si(vec<i32, 8>{}, p, bits<vec<long long, 8>>(at), m, 4));
    else if constexpr (near_positions) return bits<R>(__builtin_ia32_gathersiv8di(vec<long long, 8>{}, p, at, m, 8));
    else return bits<R>(__builtin_ia32_gatherdiv8di(vec<long long, 8>{}, p, bits<vec<long long, 8>>(at), m, 8));
  } else
#endif
#if defined(__AVX2__) && !defined(__clang__)
  if constexpr (W == 8 && BYTES == 4 && near_positions)
    return bits<R>(__builtin_ia32_gathersiv8si(vec<i32, 8>{}, (const i32*)p, at, active, 4));
  else if constexpr (W == 4 && BYTES == 8) {
    typedef vec<long long, 4> L;
    const L m = __builtin_convertvector(active, L);
    if constexpr (near_positions) return bits<R>(__builtin_ia32_gathersiv4di(L{}, (const long long*)p, at, m, 8));
    else return bits<R>(__builtin_ia32_gatherdiv4di(L{}, (const long long*)p, bits<L>(at), m, 8));
  } else if constexpr (W == 4 && BYTES == 4 && !near_positions)
    return bits<R>(__builtin_ia32_gatherdiv4si256(vec<i32, 4>{}, (const i32*)p, bits<vec<long long, 4>>(at), active, 4));
  else if constexpr (W >= 8 && BYTES >= 4)
    return joined(gather_words<BYTES>(p, halves(at).low, halves(active).low),
                  gather_words<BYTES>(p, halves(at).high, halves(active).high));
  else
#endif
  {
    R r{};
    for (int l = 0; l < W; ++l)
      if (active[l]) r[l] = *((const U __attribute__((may_alias))*)p + at[l]);
    return r;
  }
}

// Lane `l` at `p[base + at[l]]`, for the lanes below `n` that `active` has; zero elsewhere. Positions of 32
// bits are exact modulo 2^32: `p` then has less than 2^31 elements.
template <int W, class T, class I, class Active> TW_INLINE auto gather_at(const T* p, i64 base, I at, i64 n, Active active) {
  typedef vec<stored<T>, W> R;
  typedef like<I, i32> M;
  constexpr int BYTES = sizeof(T), NEIGHBOURS = window<BYTES, W>();
  constexpr bool whole = same<Active, every_lane>, small = sizeof(element<I>) == 4;
  const M below = __builtin_constant_p(n) && n >= W ? ~M{} : first_lanes<M>(n);
  if constexpr (NEIGHBOURS > 0 && whole) {
    const auto from_first = as_unsigned(at - splat<I>(at[0]));
    const auto last = from_first[n - 1];
    const auto beyond = compared(from_first, splat<decltype(from_first)>(last), [](auto a, auto b) { return a > b; });
    if (last < NEIGHBOURS && !any_lane(beyond & below)) {
      const T* const first = small ? p + (u32)((u32)base + (u32)at[0]) : p + (base + at[0]);
      const R r = near<R>(first, bits<M>(convert<like<I, u32>>(from_first)), (i32)last + 1);
      return to_value<T>(select(below, r, R{}));
    }
  }
  M taken = below;
  if constexpr (!whole) taken &= active;
  if constexpr (small) return to_value<T>(bits<R>(gather_words<BYTES>(p, at + (i32)base, taken)));
  else return to_value<T>(bits<R>(gather_words<BYTES>(p + base, at, taken)));
}

// Lane `l` at `p[l * STRIDE]` for the lanes below `n`, zero in the others.
template <int W, int STRIDE, class T> TW_INLINE auto load_strided(const T* p, i64 n) {
  typedef vec<stored<T>, W> R;
  constexpr int APART = STRIDE < 0 ? -STRIDE : STRIDE;
  if constexpr (APART * (W - 1) < window<sizeof(T), W>()) {
    typedef vec<i32, W> M;
    const i32 last = (i32)n - 1;
    const T* const lowest = STRIDE < 0 ? p + STRIDE * last : p;
    const R r = near<R>(lowest, iota<M>(STRIDE < 0 ? last * APART : 0, STRIDE), last * APART + 1);
    if (__builtin_constant_p(n) && n >= W) return to_value<T>(r);
    return to_value<T>(select(first_lanes<M>(n), r, R{}));
  } else
    return gather<W>(p, n, [](int l) { return (i64)l * STRIDE; }, every_lane{});
}

}  // namespace tw
