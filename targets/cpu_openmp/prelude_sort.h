// Rows in order, with the positions that their elements had.
#pragma once

#include "prelude.h"

namespace tw {

// What is sorted: a key as an unsigned number, and behind it the position and one bit, the sign of a zero.
template <int BYTES> struct sort_word;
template <> struct sort_word<4> {
  typedef u32 Key;
  u64 all;
  static TW_INLINE sort_word of(Key key, u32 low) { return {(u64)key << 32 | low}; }
  TW_INLINE Key key() const { return (Key)(all >> 32); }
  TW_INLINE u32 low() const { return (u32)all; }
  TW_INLINE bool before(sort_word other) const { return all < other.all; }
};
template <> struct sort_word<8> {
  typedef u64 Key;
  u64 high;
  u32 rest;
  static TW_INLINE sort_word of(Key key, u32 low) { return {key, low}; }
  TW_INLINE Key key() const { return high; }
  TW_INLINE u32 low() const { return rest; }
  TW_INLINE bool before(sort_word other) const { return high < other.high || (high == other.high && rest < other.rest); }
};

// Bits of floats are ordered as integers are, those of negative ones the other way round; the zeros are equal,
// and what is no number is above all.
template <class T> struct sort_order {
  typedef sort_word<sizeof(T)> Word;
  typedef typename Word::Key Key;
  static constexpr Key top = Key(1) << (8 * sizeof(T) - 1);
  static constexpr bool integer = T(1) / 2 == 0;
  static TW_INLINE Word word(T x, i64 position, Key flip) {
    const Key raw = bits<Key>(x);
    Key key = raw ^ top;
    u32 minus = 0;
    if constexpr (!integer) {
      key = raw & top ? ~raw : key;
      key = x == 0 ? top : x != x ? ~Key(0) : key;
      minus = raw == top;
    }
    return Word::of(key ^ flip, (u32)position * 2 + minus);
  }
  static TW_INLINE T value(Word word, Key flip) {
    const Key key = word.key() ^ flip;
    Key raw = key ^ top;
    if constexpr (!integer) {
      raw = key & top ? raw : ~key;
      raw = word.low() & 1 ? top : raw;
    }
    return bits<T>(raw);
  }
};

// Puts a word where it belongs among `count` sorted ones, of which the last one may drop out.
template <class W> TW_INLINE void insert(W word, W* sorted, i64 count) {
  i64 at = count;
  for (; at > 0 && word.before(sorted[at - 1]); --at) sorted[at] = sorted[at - 1];
  sorted[at] = word;
}

// The first few in order: most values of a row are behind those that were found before.
template <class T> TW_INLINE void pick(
    const T* values, i64 count, i64 first, bool descending, typename sort_order<T>::Word* sorted) {
  typedef sort_order<T> Order;
  constexpr i64 N = 64 / sizeof(T);
  const typename Order::Key flip = descending ? ~typename Order::Key(0) : 0;
  for (i64 i = 0; i < first; ++i) insert(Order::word(values[i], i, flip), sorted, i);
  T last = Order::value(sorted[first - 1], flip);
  const auto meet = [&](i64 i) {
    const auto word = Order::word(values[i], i, flip);
    if (!word.before(sorted[first - 1])) return;
    insert(word, sorted, first - 1);
    last = Order::value(sorted[first - 1], flip);
  };
  i64 i = first;
  for (; i + N <= count; i += N) {
    const auto some = load<N>(values + i);
    const auto behind = descending ? some <= last : some >= last;  // false of what is no number
    if (any_lane(mask(~behind)))
      for (i64 l = 0; l < N; ++l) meet(i + l);
  }
  for (; i < count; ++i) meet(i);
}

// Each word goes to the place that is the number of those before it, of which lanes count.
template <i64 MOST, class W> TW_INLINE void sort_by_ranks(const W* words, i64 count, W* sorted) {
  typedef typename W::Key Key;
  constexpr i64 N = 64 / sizeof(Key);
  typedef vec<Key, N> V;
  V keys[MOST / N], ranks[MOST / N], places[MOST / N];
  const i64 parts = (count + N - 1) / N;
  for (i64 at = 0; at < parts; ++at) {
    V key{}, place{};
#pragma GCC unroll 16
    for (i64 l = 0; l < N; ++l) place[l] = (Key)(at * N + l);
    for (i64 l = 0; l < N && at * N + l < count; ++l) key[l] = words[at * N + l].key();
    keys[at] = key, places[at] = place, ranks[at] = V{};
  }
  for (i64 j = 0; j < count; ++j) {
    const V key = V{} + words[j].key(), place = V{} + (Key)j;
    for (i64 at = 0; at < parts; ++at)
      ranks[at] -= (V)((key < keys[at]) | ((key == keys[at]) & (place < places[at])));
  }
  for (i64 i = 0; i < count; ++i) sorted[ranks[i / N][i % N]] = words[i];
}

// By the bytes of the key, the last one first: positions rise already. Gives where the sorted words lie.
template <class W> TW_INLINE W* sort_by_bytes(W* words, W* others, i64 count) {
  constexpr int BYTES = sizeof(typename W::Key);
  u32 starts[BYTES][256] = {};
  for (i64 i = 0; i < count; ++i)
#pragma GCC unroll 8
    for (int b = 0; b < BYTES; ++b) ++starts[b][words[i].key() >> 8 * b & 255];
  for (int b = 0; b < BYTES; ++b) {
    if (starts[b][words[0].key() >> 8 * b & 255] == count) continue;  // all alike
    u32 sum = 0;
    for (u32& start : starts[b]) {
      const u32 size = start;
      start = sum;
      sum += size;
    }
    for (i64 i = 0; i < count; ++i) others[starts[b][words[i].key() >> 8 * b & 255]++] = words[i];
    W* const sorted = others;
    others = words;
    words = sorted;
  }
  return words;
}

// Puts the first `first` of `count` values in order, and writes the positions that they had.
template <class T>
__attribute__((noinline)) static void sort_in(
    T* values, i32* positions, i64 count, i64 first, bool descending, typename sort_order<T>::Word* words) {
  typedef sort_order<T> Order;
  typedef typename Order::Word Word;
  constexpr i64 LEAST = 6, FEW = 16, SHORT = 64;
  const typename Order::Key flip = descending ? ~typename Order::Key(0) : 0;
  Word* sorted = words + count;
  if (count <= LEAST || (first <= FEW && FEW * first <= count))
    pick(values, count, first, descending, sorted);
  else {
    for (i64 i = 0; i < count; ++i) words[i] = Order::word(values[i], i, flip);
    if (count <= SHORT)
      sort_by_ranks<SHORT>(words, count, sorted);
    else
      sorted = sort_by_bytes(words, sorted, count);
  }
  for (i64 i = 0; i < first; ++i) values[i] = Order::value(sorted[i], flip);
  for (i64 i = 0; i < first; ++i) positions[i] = (i32)(sorted[i].low() >> 1);
}

template <class T> TW_INLINE void sort(T* values, i32* positions, i64 count, i64 first, bool descending) {
  typedef typename sort_order<T>::Word Word;
  constexpr i64 NEAR = 512;
  first = first < count ? first : count;
  if (count <= NEAR) {
    Word words[2 * NEAR];
    sort_in(values, positions, count, first, descending, words);
  } else {
    Scratch<Word> words(2 * count);
    sort_in(values, positions, count, first, descending, (Word*)words.memory);
  }
}

}  // namespace tw
