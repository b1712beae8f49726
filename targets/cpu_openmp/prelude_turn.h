// Rectangles that are copied so that rows become columns, in registers: whole lines are read and written.
#pragma once

#include "prelude.h"

namespace tw {

template <int BYTES> struct word_of;
template <> struct word_of<1> { typedef u8 type; };
template <> struct word_of<2> { typedef u16 type; };
template <> struct word_of<4> { typedef u32 type; };
template <> struct word_of<8> { typedef u64 type; };

template <int... L> struct Lanes {};
template <int N, int... L> struct lanes_below : lanes_below<N - 1, N - 1, L...> {};
template <int... L> struct lanes_below<0, L...> { typedef Lanes<L...> type; };

// Lanes `FROM, FROM + 1, ...` of `a` and of `b` in turns.
template <int FROM, class V, int... L> TW_INLINE V interleaved(V a, V b, Lanes<L...>) {
  constexpr int N = lanes<V>;
#if defined(__clang__) || __GNUC__ >= 12
  return __builtin_shufflevector(a, b, (FROM + L / 2 + L % 2 * N)...);
#else
  return __builtin_shuffle(a, b, V{(element<V>)(FROM + L / 2 + L % 2 * N)...});
#endif
}

// Rows that are `1 << k` of N apart meet in round k; after all rounds, rows are columns.
template <int N, class V> TW_INLINE void turn_rows(V (&rows)[N]) {
  const typename lanes_below<N>::type all{};
#pragma GCC unroll 4
  for (int round = 1; round < N; round *= 2) {
    V next[N];
#pragma GCC unroll 8
    for (int i = 0; i < N / 2; ++i) {
      next[2 * i] = interleaved<0>(rows[i], rows[i + N / 2], all);
      next[2 * i + 1] = interleaved<N / 2>(rows[i], rows[i + N / 2], all);
    }
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) rows[i] = next[i];
  }
}

// `to[c * apart + r] = from[r * stride + c]` for `columns` of c and `rows` of r.
template <class U>
__attribute__((noinline)) static void turn_words(const U* from, i64 stride, U* to, i64 apart, i64 columns, i64 rows) {
  constexpr int N = REGISTER_BYTES / sizeof(U) < 16 ? REGISTER_BYTES / sizeof(U) : 16;
  typedef vec<U, N> V;
  for (i64 r = 0; r < rows; r += N)
    for (i64 c = 0; c < columns; c += N) {
      V block[N];
      const i64 height = rows - r, width = columns - c;
      const U* const source = from + r * stride + c;
      U* const target = to + c * apart + r;
      if (height >= N && width >= N) {
#pragma GCC unroll 16
        for (int i = 0; i < N; ++i) block[i] = raw_load<V>(source + i * stride);
        turn_rows<N>(block);
#pragma GCC unroll 16
        for (int i = 0; i < N; ++i) raw_store(target + i * apart, block[i]);
        continue;
      }
#pragma GCC unroll 16
      for (int i = 0; i < N; ++i) block[i] = i < height ? raw_load_first<V>(source + i * stride, width < N ? width : N) : V{};
      turn_rows<N>(block);
#pragma GCC unroll 16
      for (int i = 0; i < N; ++i)
        if (i < width) raw_store_first(target + i * apart, block[i], height < N ? height : N);
    }
}

template <class T> TW_INLINE void turn(const T* from, i64 stride, T* to, i64 apart, i64 columns, i64 rows) {
  typedef typename word_of<sizeof(T)>::type U;
  turn_words<U>((const U*)from, stride, (U*)to, apart, columns, rows);
}

}  // namespace tw
