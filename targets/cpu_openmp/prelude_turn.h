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

// The lanes numbered `I`, of which those of `b` follow those of `a`.
template <int... I, class V> TW_INLINE V lanes_of(V a, V b) {
#if defined(__clang__) || __GNUC__ >= 12
  return __builtin_shufflevector(a, b, I...);
#else
  return __builtin_shuffle(a, b, V{(element<V>)I...});
#endif
}

// Lanes `FROM, FROM + 1, ...` of `a` and of `b` in turns.
template <int FROM, class V, int... L> TW_INLINE V interleaved(V a, V b, Lanes<L...>) {
  return lanes_of<(FROM + L / 2 + L % 2 * lanes<V>)...>(a, b);
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

// Of K vectors, number `J * N + l` of their elements taken in turns, one of each vector at a time.
struct Woven {
  template <int K, int J, int N> static constexpr int row(int l) { return (J * N + l) % K; }
  template <int K, int J, int N> static constexpr int lane(int l) { return (J * N + l) / K; }
};
// Of K vectors that follow each other, every K-th element from number `J` on.
struct Unwoven {
  template <int K, int J, int N> static constexpr int row(int l) { return (l * K + J) / N; }
  template <int K, int J, int N> static constexpr int lane(int l) { return (l * K + J) % N; }
};

// Vector `J` of such an order: the lanes that stand in the first `R` vectors are in `sofar` already.
template <class Order, int K, int J, int R, class V, int... L>
TW_INLINE V picked(const V (&from)[K], V sofar, Lanes<L...> all) {
  if constexpr (R == K)
    return sofar;
  else {
    constexpr int N = lanes<V>;
    const V next = lanes_of<(Order::template row<K, J, N>(L) == R ? N + Order::template lane<K, J, N>(L)
                             : R == 1                             ? Order::template lane<K, J, N>(L)
                                                                  : L)...>(sofar, from[R]);
    return picked<Order, K, J, R + 1>(from, next, all);
  }
}
template <class Order, int K, class V, int... J> TW_INLINE void reorder(V (&rows)[K], Lanes<J...>) {
  const typename lanes_below<lanes<V>>::type all{};
  const V next[K] = {picked<Order, K, J, 1>(rows, rows[0], all)...};
#pragma GCC unroll 4
  for (int i = 0; i < K; ++i) rows[i] = next[i];
}

// K rows of words, `stride` apart, become `columns` groups of K words next to each other.
template <int K, class U> TW_INLINE void weave(const U* from, i64 stride, U* to, i64 columns) {
  constexpr int N = REGISTER_BYTES / sizeof(U) < 16 ? REGISTER_BYTES / sizeof(U) : 16;
  typedef vec<U, N> V;
  const auto whole = [&](i64 c) {
    V block[K];
#pragma GCC unroll 4
    for (int i = 0; i < K; ++i) block[i] = raw_load<V>(from + i * stride + c);
    reorder<Woven, K>(block, typename lanes_below<K>::type{});
#pragma GCC unroll 4
    for (int i = 0; i < K; ++i) raw_store(to + c * K + i * N, block[i]);
  };
  i64 c = 0;
  for (; c + N <= columns; c += N) whole(c);
  if (c == columns) return;
  if (columns >= N) return whole(columns - N);  // some of them again
  for (; c < columns; ++c)
    for (int i = 0; i < K; ++i) to[c * K + i] = from[i * stride + c];
}

// The reverse: `rows` groups of K words become K rows that are `apart`.
template <int K, class U> TW_INLINE void unweave(const U* from, U* to, i64 apart, i64 rows) {
  constexpr int N = REGISTER_BYTES / sizeof(U) < 16 ? REGISTER_BYTES / sizeof(U) : 16;
  typedef vec<U, N> V;
  const auto whole = [&](i64 r) {
    V block[K];
#pragma GCC unroll 4
    for (int i = 0; i < K; ++i) block[i] = raw_load<V>(from + r * K + i * N);
    reorder<Unwoven, K>(block, typename lanes_below<K>::type{});
#pragma GCC unroll 4
    for (int i = 0; i < K; ++i) raw_store(to + i * apart + r, block[i]);
  };
  i64 r = 0;
  for (; r + N <= rows; r += N) whole(r);
  if (r == rows) return;
  if (rows >= N) return whole(rows - N);
  for (; r < rows; ++r)
    for (int i = 0; i < K; ++i) to[i * apart + r] = from[r * K + i];
}

template <class T> TW_INLINE void turn(const T* from, i64 stride, T* to, i64 apart, i64 columns, i64 rows) {
  typedef typename word_of<sizeof(T)>::type U;
  const U* const source = (const U*)from;
  U* const target = (U*)to;
  if (rows == 2 && apart == 2) return weave<2>(source, stride, target, columns);
  if (rows == 3 && apart == 3) return weave<3>(source, stride, target, columns);
  if (rows == 4 && apart == 4) return weave<4>(source, stride, target, columns);
  if (columns == 2 && stride == 2) return unweave<2>(source, target, apart, rows);
  if (columns == 3 && stride == 3) return unweave<3>(source, target, apart, rows);
  if (columns == 4 && stride == 4) return unweave<4>(source, target, apart, rows);
  turn_words<U>(source, stride, target, apart, columns, rows);
}

}  // namespace tw
