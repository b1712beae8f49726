// What every emitted kernel stands on: vector types, loads, stores, masks, conversions.
//
// No header is included, ours or the system's: parsing them costs more than compiling a kernel.
// Vectors are those of GCC and Clang, so one source serves AVX-512, AVX2, NEON and plain C.
// A vector of i1 is a vector of i32 lanes that are 0 or -1; bf16 is carried as its 16 bits.
#pragma once

typedef __INT8_TYPE__ i8;
typedef __INT16_TYPE__ i16;
typedef __INT32_TYPE__ i32;
typedef __INT64_TYPE__ i64;
typedef __UINT8_TYPE__ u8;
typedef __UINT16_TYPE__ u16;
typedef __UINT32_TYPE__ u32;
typedef __UINT64_TYPE__ u64;
typedef float f32;
typedef double f64;
#if defined(__aarch64__) && !defined(__clang__) && __GNUC__ < 13
typedef __fp16 f16;  // the only name of halves in that compiler's C++
#elif defined(__FLT16_MANT_DIG__)
typedef _Float16 f16;
#endif
struct bf16 { u16 bits; };  // in memory and as a scalar value

#define TW_EXPORT extern "C" __attribute__((visibility("default")))
#define TW_INLINE inline __attribute__((always_inline))

// Result types of vector functions cross no object boundary: everything is inlined.
#pragma GCC diagnostic ignored "-Wpsabi"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wignored-attributes"
#endif

namespace tw {

template <class T, int W> struct vec_of { typedef T type __attribute__((vector_size(W * sizeof(T)))); };
template <class T, int W> using vec = typename vec_of<T, W>::type;

template <class A, class B> struct same_type { static constexpr bool value = false; };
template <class A> struct same_type<A, A> { static constexpr bool value = true; };
template <class A, class B> constexpr bool same = same_type<A, B>::value;

template <class T> struct plain_type { typedef T type; };
template <class T> struct plain_type<T&> { typedef T type; };
template <class T> struct plain_type<T&&> { typedef T type; };  // a lane of a value, as clang has it

// Element type and number of lanes; a scalar has one lane.
template <class V> struct shape {
  typedef typename plain_type<decltype(V{}[0])>::type element;
  static constexpr int lanes = sizeof(V) / sizeof(element);
  static constexpr bool vector = true;
};
#define TW_SCALAR(T) \
  template <> struct shape<T> { typedef T element; static constexpr int lanes = 1; static constexpr bool vector = false; };
TW_SCALAR(i8) TW_SCALAR(i16) TW_SCALAR(i32) TW_SCALAR(i64) TW_SCALAR(u8) TW_SCALAR(u16) TW_SCALAR(u32)
TW_SCALAR(u64) TW_SCALAR(f32) TW_SCALAR(f64) TW_SCALAR(bool) TW_SCALAR(bf16)
#if defined(__FLT16_MANT_DIG__)
TW_SCALAR(f16)
#endif
#undef TW_SCALAR

template <class V> using element = typename shape<V>::element;
template <class V> constexpr int lanes = shape<V>::lanes;
template <class V> constexpr bool is_vector = shape<V>::vector;

// The same number of lanes with another element type.
template <class V, class T, bool = is_vector<V>> struct with_element { typedef vec<T, lanes<V>> type; };
template <class V, class T> struct with_element<V, T, false> { typedef T type; };
template <class V, class T> using like = typename with_element<V, T>::type;

template <class To, class From> TW_INLINE To bits(From x) { return __builtin_bit_cast(To, x); }

template <class V> TW_INLINE V splat(element<V> x) {
  if constexpr (is_vector<V>) return x - V{};
  else return x;
}
// `x - V{}` keeps NaN, infinities and -0.0 (x - 0 == x), and is a plain broadcast on every compiler.

// Vectors wider than a register: GCC 12 compares and selects in them lane by lane, so they go in parts.
#if defined(__AVX512F__)
constexpr int REGISTER_BYTES = 64;
#elif defined(__AVX__)
constexpr int REGISTER_BYTES = 32;
#else
constexpr int REGISTER_BYTES = 16;
#endif
template <class V> constexpr bool is_wide = is_vector<V> && sizeof(V) > REGISTER_BYTES;
template <class V> struct Halves { vec<element<V>, lanes<V> / 2> low, high; };
template <class V> TW_INLINE Halves<V> halves(V v) { return __builtin_bit_cast(Halves<V>, v); }
template <class H> TW_INLINE auto joined(H low, H high) {
#if defined(__clang__) || __GNUC__ >= 12  // by way of memory, half as wide stores would stall the load
  if constexpr (2 * sizeof(H) <= REGISTER_BYTES && lanes<H> == 8)
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  else if constexpr (2 * sizeof(H) <= REGISTER_BYTES && lanes<H> == 4)
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
  else
#endif
  return __builtin_bit_cast(vec<element<H>, lanes<H> * 2>, (Halves<vec<element<H>, lanes<H> * 2>>{low, high}));
}
// `f` of the operands, where these are wide of each half; all have the same number of lanes.
template <class F, class V, class... Vs> TW_INLINE auto in_parts(F f, V first, Vs... others) {
  if constexpr (!is_wide<V>) return f(first, others...);
  else
    return joined(
        in_parts(f, halves(first).low, halves(others).low...), in_parts(f, halves(first).high, halves(others).high...));
}

// `x`, which the compiler does not know to be a product, and so does not contract with what is added to it.
template <class V> TW_INLINE V opaque(V x) {
  if constexpr (is_wide<V>) return in_parts([](auto part) { return opaque(part); }, x);
#if defined(__AVX512F__)
  else { asm("" : "+v"(x)); return x; }
#elif defined(__x86_64__)
  else { asm("" : "+x"(x)); return x; }
#elif defined(__aarch64__)
  else { asm("" : "+w"(x)); return x; }
#else
  else { asm("" : "+m"(x)); return x; }
#endif
}

// Bytes to words and back, for the widths that x86 converts in one instruction; GCC 12 goes by way of others.
template <class To, class From> TW_INLINE To words_of_bytes(From x) {
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (lanes<From> == 16) {
    const auto b = bits<vec<i8, 16>>(x);
    typedef vec<char, 16> C;
    if constexpr (same<element<From>, u8>) return bits<To>(__builtin_ia32_pmovzxbd512_mask(bits<C>(b), vec<i32, 16>{}, -1));
    else return bits<To>(__builtin_ia32_pmovsxbd512_mask(bits<C>(b), vec<i32, 16>{}, -1));
  } else
#endif
#if defined(__AVX2__) && !defined(__clang__)
  if constexpr (lanes<From> == 8) {
    typedef vec<char, 16> C;
    const C b = bits<C>(vec<i64, 2>{bits<i64>(x), 0});
    if constexpr (same<element<From>, u8>) return bits<To>(__builtin_ia32_pmovzxbd256(b));
    else return bits<To>(__builtin_ia32_pmovsxbd256(b));
  } else
#endif
  return __builtin_convertvector(x, To);
}
template <class To, class From> TW_INLINE To bytes_of_words(From x) {
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (lanes<From> == 16)
    return bits<To>(__builtin_ia32_pmovdb512_mask(bits<vec<i32, 16>>(x), vec<char, 16>{}, -1));
  else
#endif
  return __builtin_convertvector(x, To);
}

// Value conversion, lane by lane: integers wrap, floats round to nearest.
template <class T> constexpr bool is_float = same<T, f32> || same<T, f64>;
template <class To, class From> TW_INLINE To convert(From x) {
  if constexpr (same<To, From>) return x;
  else if constexpr (!is_vector<From>) return (To)x;
  else {
    typedef element<To> T;
    typedef element<From> E;
    if constexpr (sizeof(E) == 1 && sizeof(T) == 1) return bits<To>(x);
    else if constexpr (sizeof(E) == 1 && sizeof(T) == 4 && !is_float<T>) return words_of_bytes<To>(x);
    else if constexpr (sizeof(E) == 1 && sizeof(T) >= 4) return convert<To>(words_of_bytes<like<From, i32>>(x));
    else if constexpr (sizeof(E) == 4 && sizeof(T) == 1 && !is_float<E>) return bytes_of_words<To>(x);
    else if constexpr (sizeof(E) == 8 && sizeof(T) == 1 && !is_float<E>)
      return bytes_of_words<To>(__builtin_convertvector(x, like<From, i32>));
    else return __builtin_convertvector(x, To);
  }
}

// ---- masks --------------------------------------------------------------------------------

// The i1 form of a comparison of any width.
template <class M> TW_INLINE like<M, i32> mask(M m) {
  if constexpr (same<element<M>, i32>) return m;
  else return __builtin_convertvector(m, like<M, i32>);
}
TW_INLINE bool mask(bool m) { return m; }

// The mask of a comparison `f`, also of vectors of more than a register.
template <class V, class F> TW_INLINE like<V, i32> compared(V a, V b, F f) {
  return in_parts([&](auto x, auto y) { return mask(f(x, y)); }, a, b);
}

template <class M, class V> TW_INLINE V select(M m, V a, V b) {
  if constexpr (!is_vector<V>) return m ? a : b;
  else if constexpr (!is_vector<M>) return m ? a : b;
  else if constexpr (is_wide<V>)
    return in_parts([](auto x, auto y, auto where) { return select(where, x, y); }, a, b, m);
  else if constexpr (sizeof(element<V>) == 4) return m ? a : b;
  else if constexpr (sizeof(element<V>) == 8) return __builtin_convertvector(m, like<V, i64>) ? a : b;
  else if constexpr (sizeof(element<V>) == 2) return __builtin_convertvector(m, like<V, i16>) ? a : b;
  else return convert<like<V, i8>>(m) ? a : b;
}

// The first `count` lanes.
template <class M> TW_INLINE M first_lanes(i64 count) {
  M iota{};
  for (int l = 0; l < lanes<M>; ++l) iota[l] = l;
  return iota < splat<M>((i32)count);
}

template <class M> TW_INLINE bool any_lane(M m) {
  if constexpr (!is_vector<M>) return m;
#if defined(__AVX512F__) && !defined(__clang__)
  else if constexpr (lanes<M> == 16) return __builtin_ia32_ptestmd512(m, m, (u16)-1) != 0;
#endif
  else {
    i32 seen = 0;
    for (int l = 0; l < lanes<M>; ++l) seen |= m[l];
    return seen != 0;
  }
}

// ---- 16-bit floats ------------------------------------------------------------------------

// Half-words to words and back, in one instruction where there is one; GCC 12 takes four.
template <class V> TW_INLINE like<V, u32> words_of(V x) {
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (lanes<V> == 16)
    return bits<like<V, u32>>(__builtin_ia32_pmovzxwd512_mask(bits<vec<i16, 16>>(x), vec<i32, 16>{}, -1));
  else
#endif
#if defined(__AVX2__) && !defined(__clang__)
  if constexpr (lanes<V> == 8) return bits<like<V, u32>>(__builtin_ia32_pmovzxwd256(bits<vec<i16, 8>>(x)));
  else
#endif
  return __builtin_convertvector(x, like<V, u32>);
}
template <class U> TW_INLINE like<U, u16> half_words_of(U x) {
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (lanes<U> == 16)
    return bits<like<U, u16>>(__builtin_ia32_pmovdw512_mask(bits<vec<i32, 16>>(x), vec<i16, 16>{}, -1));
  else
#endif
  return __builtin_convertvector(x, like<U, u16>);
}

template <class V> TW_INLINE like<V, f32> from_bf16(V x) {
  if constexpr (is_vector<V>) return bits<like<V, f32>>(words_of(x) << 16);
  else return bits<f32>((u32)x.bits << 16);
}

// Round to nearest even; NaN stays NaN (quiet, its sign kept).
template <class V> TW_INLINE like<V, u32> bf16_bits(V x) {
  typedef like<V, u32> U;
  const U u = bits<U>(x), high = u >> 16;
  const U rounded = (u + 0x7fffu + (high & 1u)) >> 16;
  return x != x ? high | 0x40u : rounded;
}
template <class V> TW_INLINE auto to_bf16(V x) {
#if defined(__AVX512BF16__) && defined(__AVX512DQ__) && !defined(__clang__)
  if constexpr (same<V, vec<f32, 16>>) {
    vec<u16, 16> r;  // spelled out: the type of the intrinsic changes between versions of GCC
    asm("vcvtneps2bf16 %1, %0" : "=v"(r) : "v"(x));
    // The instruction takes subnormal numbers for zero.
    if (__builtin_expect(__builtin_ia32_fpclassps512_mask(x, 0x20, -1) != 0, 0)) r = half_words_of(bf16_bits(x));
    return r;
  } else
#endif
  if constexpr (is_vector<V>) return half_words_of(bf16_bits(x));
  else return bf16{(u16)bf16_bits(x)};
}
TW_INLINE bf16 to_bf16(f64 x) { return to_bf16((f32)x); }

#if defined(__FLT16_MANT_DIG__)
// Spelled for the widths that x86 converts in one instruction; GCC 12 goes lane by lane otherwise.
template <class V> TW_INLINE like<V, f32> from_f16(V x) {
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (is_vector<V> && lanes<V> == 16)
    return bits<vec<f32, 16>>(__builtin_ia32_vcvtph2ps512_mask(bits<vec<i16, 16>>(x), vec<f32, 16>{}, -1, 4));
  else
#endif
#if defined(__F16C__) && !defined(__clang__)
  if constexpr (is_vector<V> && lanes<V> == 8)
    return bits<vec<f32, 8>>(__builtin_ia32_vcvtph2ps256(bits<vec<i16, 8>>(x)));
  else
#endif
  return convert<like<V, f32>>(x);
}
template <class V> TW_INLINE like<V, f16> to_f16(V x) {
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (same<V, vec<f32, 16>>)
    return bits<vec<f16, 16>>(__builtin_ia32_vcvtps2ph512_mask(x, 0, vec<i16, 16>{}, -1));
  else
#endif
#if defined(__F16C__) && !defined(__clang__)
  if constexpr (same<V, vec<f32, 8>>) return bits<vec<f16, 8>>(__builtin_ia32_vcvtps2ph256(x, 0));
  else
#endif
  return convert<like<V, f16>>(x);
}
#endif

// ---- memory -------------------------------------------------------------------------------

// The vector of a memory type: bf16 as u16, bool as u8, others as themselves.
template <class T> struct stored_as { typedef T type; };
template <> struct stored_as<bf16> { typedef u16 type; };
template <> struct stored_as<bool> { typedef u8 type; };
template <class T> using stored = typename stored_as<T>::type;

template <class V> struct unaligned { typedef V type __attribute__((aligned(1), may_alias)); };

template <class R> TW_INLINE R raw_load(const void* p) { return *(const typename unaligned<R>::type*)p; }
template <class R> TW_INLINE void raw_store(void* p, R v) { *(typename unaligned<R>::type*)p = v; }

// The first `n` lanes from memory, zero in the others; nothing beyond them is touched.
template <class R> TW_INLINE R raw_load_first(const void* p, i64 n) {
  typedef element<R> E;
#if defined(__AVX512VL__) && defined(__AVX512BW__) && !defined(__clang__)
  const u64 m = n >= 64 ? ~0ull : (1ull << n) - 1;
  if constexpr (sizeof(E) == 4 && lanes<R> == 16)
    return bits<R>(__builtin_ia32_loadups512_mask((const f32*)p, vec<f32, 16>{}, (u16)m));
  else if constexpr (sizeof(E) == 4 && lanes<R> == 8)
    return bits<R>(__builtin_ia32_loadups256_mask((const f32*)p, vec<f32, 8>{}, (u8)m));
  else if constexpr (sizeof(E) == 8 && lanes<R> == 8)
    return bits<R>(__builtin_ia32_loadupd512_mask((const f64*)p, vec<f64, 8>{}, (u8)m));
  else if constexpr (sizeof(E) == 2 && lanes<R> == 16)
    return bits<R>(__builtin_ia32_loaddquhi256_mask((const i16*)p, vec<i16, 16>{}, (u16)m));
  else if constexpr (sizeof(E) == 1 && lanes<R> == 16)
    return bits<R>(__builtin_ia32_loaddquqi128_mask((const char*)p, vec<char, 16>{}, (u16)m));
  else
#elif defined(__AVX2__) && !defined(__clang__)
  if constexpr (sizeof(E) == 4 && lanes<R> == 8)
    return bits<R>(__builtin_ia32_maskloadps256((const vec<f32, 8>*)p, first_lanes<vec<i32, 8>>(n)));
  else if constexpr (sizeof(E) == 8 && lanes<R> == 4)
    return bits<R>(__builtin_ia32_maskloadpd256((const vec<f64, 4>*)p, first_lanes<vec<long long, 4>>(n)));
  else
#endif
  {
    R v{};
    __builtin_memcpy(&v, p, n * sizeof(E));
    return v;
  }
}
template <class R> TW_INLINE void raw_store_first(void* p, R v, i64 n) {
  typedef element<R> E;
#if defined(__AVX512VL__) && defined(__AVX512BW__) && !defined(__clang__)
  const u64 m = n >= 64 ? ~0ull : (1ull << n) - 1;
  if constexpr (sizeof(E) == 4 && lanes<R> == 16)
    __builtin_ia32_storeups512_mask((f32*)p, bits<vec<f32, 16>>(v), (u16)m);
  else if constexpr (sizeof(E) == 4 && lanes<R> == 8)
    __builtin_ia32_storeups256_mask((f32*)p, bits<vec<f32, 8>>(v), (u8)m);
  else if constexpr (sizeof(E) == 8 && lanes<R> == 8)
    __builtin_ia32_storeupd512_mask((f64*)p, bits<vec<f64, 8>>(v), (u8)m);
  else if constexpr (sizeof(E) == 2 && lanes<R> == 16)
    __builtin_ia32_storedquhi256_mask((i16*)p, bits<vec<i16, 16>>(v), (u16)m);
  else if constexpr (sizeof(E) == 1 && lanes<R> == 16)
    __builtin_ia32_storedquqi128_mask((char*)p, bits<vec<char, 16>>(v), (u16)m);
  else
#elif defined(__AVX2__) && !defined(__clang__)
  if constexpr (sizeof(E) == 4 && lanes<R> == 8)
    __builtin_ia32_maskstoreps256((vec<f32, 8>*)p, first_lanes<vec<i32, 8>>(n), bits<vec<f32, 8>>(v));
  else if constexpr (sizeof(E) == 8 && lanes<R> == 4)
    __builtin_ia32_maskstorepd256((vec<f64, 4>*)p, first_lanes<vec<long long, 4>>(n), bits<vec<f64, 4>>(v));
  else
#endif
    __builtin_memcpy(p, &v, n * sizeof(E));
}

// Memory form <-> value form: only bool differs (bytes against lane masks).
template <class T, class R> TW_INLINE auto to_value(R raw) {
  if constexpr (same<T, bool>) return -__builtin_convertvector(raw != 0 ? splat<R>(1) : R{}, like<R, i32>);
  else return raw;
}
template <class T, class V> TW_INLINE auto to_memory(V v) {
  if constexpr (same<T, bool>) return __builtin_convertvector(v & 1, like<V, u8>);
  else return v;
}

template <int W, class T> TW_INLINE auto load(const T* p) { return to_value<T>(raw_load<vec<stored<T>, W>>(p)); }
template <int W, class T> TW_INLINE auto load_first(const T* p, i64 n) {
  return to_value<T>(raw_load_first<vec<stored<T>, W>>(p, n));
}
template <class T, class V> TW_INLINE void store(T* p, V v) { raw_store(p, to_memory<T>(v)); }
template <class T, class V> TW_INLINE void store_first(T* p, V v, i64 n) {
  raw_store_first(p, to_memory<T>(v), n);
}

// Lane `l` at `p[at(l)]`, for the lanes below `n` that `active(l)` lets through; zero elsewhere.
template <int W, class T, class At, class Active>
TW_INLINE auto gather(const T* p, i64 n, At at, Active active) {
  vec<stored<T>, W> raw{};
  for (int l = 0; l < W; ++l)
    if (l < n && active(l)) raw[l] = *(const stored<T> __attribute__((may_alias))*)(p + at(l));
  return to_value<T>(raw);
}
template <int W, class T, class V, class At, class Active>
TW_INLINE void scatter(T* p, V v, i64 n, At at, Active active) {
  const auto raw = to_memory<T>(v);
  for (int l = 0; l < W; ++l)
    if (l < n && active(l)) *(stored<T> __attribute__((may_alias))*)(p + at(l)) = raw[l];
}
template <int W, class T, class M> TW_INLINE auto load_masked(const T* p, M mask, i64 n) {
#if defined(__AVX512VL__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && !defined(__clang__)
  typedef vec<stored<T>, W> R;
  if constexpr (W == 16 && (sizeof(T) == 4 || sizeof(T) == 2)) {
    const u16 k = __builtin_ia32_cvtd2mask512(mask) & (u16)(n >= 16 ? 0xffff : (1u << n) - 1);
    if constexpr (sizeof(T) == 4) return bits<R>(__builtin_ia32_loadups512_mask((const f32*)p, vec<f32, 16>{}, k));
    else return bits<R>(__builtin_ia32_loaddquhi256_mask((const i16*)p, vec<i16, 16>{}, k));
  } else if constexpr (W == 8 && sizeof(T) == 8) {
    const M below = mask & first_lanes<M>(n);
    return bits<R>(__builtin_ia32_loadupd512_mask((const f64*)p, vec<f64, 8>{}, __builtin_ia32_ptestmd256(below, below, -1)));
  } else
#endif
#if defined(__AVX2__) && !defined(__clang__)
  if constexpr (W == 8 && sizeof(T) == 4)
    return bits<vec<stored<T>, W>>(__builtin_ia32_maskloadps256((const vec<f32, 8>*)p, mask & first_lanes<M>(n)));
  else if constexpr (W == 4 && sizeof(T) == 8) {
    const auto wide = __builtin_convertvector(mask & first_lanes<M>(n), vec<long long, 4>);
    return bits<vec<stored<T>, W>>(__builtin_ia32_maskloadpd256((const vec<f64, 4>*)p, wide));
  } else
#endif
    return gather<W>(p, n, [](int l) { return l; }, [&](int l) { return mask[l] != 0; });
}
// One element of memory in every lane.
template <int W, class T> TW_INLINE auto splat_memory(T x) {
  return to_value<T>(splat<vec<stored<T>, W>>(__builtin_bit_cast(stored<T>, x)));
}
template <class V, class At> TW_INLINE V by_index(At at) {
  V v{};
  for (int l = 0; l < lanes<V>; ++l) v[l] = at(l);
  return v;
}
struct every_lane { TW_INLINE bool operator()(int) const { return true; } };

// What a store does with the element that stands there. Extremes are NaN where one of the two is.
struct Add { template <class V> static TW_INLINE V of(V a, V b) { return a + b; } };
struct Mul { template <class V> static TW_INLINE V of(V a, V b) { return a * b; } };
struct Max { template <class V> static TW_INLINE V of(V a, V b) { return (a > b) | (a != a) ? a : b; } };
struct Min { template <class V> static TW_INLINE V of(V a, V b) { return (a < b) | (a != a) ? a : b; } };

// `*p` and `v` in `*p`, in memory types too; atomic where other threads may store to the same element.
template <class C, class T> TW_INLINE T combined(T a, T b) {
  if constexpr (same<T, bf16>) return to_bf16(C::of(from_bf16(a), from_bf16(b)));
  else return (T)C::of(a, b);
}
template <class C, bool ATOMIC, class T> TW_INLINE void combine_to(T* p, T v) {
  if constexpr (!ATOMIC) *p = combined<C>(*p, v);
  else {
    T old, next;
    __atomic_load(p, &old, __ATOMIC_RELAXED);
    do next = combined<C>(old, v);
    while (!__atomic_compare_exchange(p, &old, &next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  }
}
// The same for neighbours, which no other thread stores to.
template <class C, class T, class V> TW_INLINE V all_combined(V a, V b) {
  if constexpr (same<T, bf16>) return to_bf16(C::of(from_bf16(a), from_bf16(b)));
#if defined(__FLT16_MANT_DIG__)
  else if constexpr (same<T, f16>) return to_f16(C::of(from_f16(a), from_f16(b)));
#endif
  else return C::of(a, b);
}
template <class C, class T, class V> TW_INLINE void combine_whole(T* p, V v) {
  store(p, all_combined<C, T>(load<lanes<V>>(p), v));
}
template <class C, class T, class V> TW_INLINE void combine_first(T* p, V v, i64 n) {
  store_first(p, all_combined<C, T>(load_first<lanes<V>>(p, n), v), n);
}
template <class C, bool ATOMIC, int W, class T, class V, class At, class Active>
TW_INLINE void scatter_combine(T* p, V v, i64 n, At at, Active active) {
  const auto raw = to_memory<T>(v);
  for (int l = 0; l < W; ++l) {
    const stored<T> lane = raw[l];  // clang takes the bits of lane 0 where a cast is given `raw[l]`
    if (l < n && active(l)) combine_to<C, ATOMIC>(p + at(l), __builtin_bit_cast(T, lane));
  }
}

// Scratch of one thread; small fixed sizes are arrays on the stack instead.
extern "C" int posix_memalign(void**, __SIZE_TYPE__, __SIZE_TYPE__);
extern "C" void free(void*);
template <class T> struct Scratch {
  void* memory = nullptr;
  explicit Scratch(i64 count) {
    if (posix_memalign(&memory, 64, (count > 0 ? count : 1) * sizeof(T))) __builtin_trap();
  }
  ~Scratch() { free(memory); }
  Scratch(const Scratch&) = delete;
};

// ---- across lanes -------------------------------------------------------------------------

// Halves are combined until one lane is left, so the order does not depend on the compiler.
template <class V, class F> TW_INLINE element<V> across(V v, F f) {
  if constexpr (lanes<V> == 1) return v[0];
  else {
    typedef vec<element<V>, lanes<V> / 2> H;
    struct Halves { H low, high; };
    const Halves h = __builtin_bit_cast(Halves, v);
    return across(f(h.low, h.high), f);
  }
}
template <class V> TW_INLINE element<V> across_add(V v) { return across(v, [](auto a, auto b) { return a + b; }); }
template <class V> TW_INLINE element<V> across_mul(V v) { return across(v, [](auto a, auto b) { return a * b; }); }
template <class V> TW_INLINE element<V> across_and(V v) { return across(v, [](auto a, auto b) { return a & b; }); }
template <class V> TW_INLINE element<V> across_or(V v) { return across(v, [](auto a, auto b) { return a | b; }); }
template <class V> TW_INLINE element<V> across_xor(V v) { return across(v, [](auto a, auto b) { return a ^ b; }); }

// ---- errors -------------------------------------------------------------------------------

// The place of a failed `tk.assert`; the host raises when the kernel is done.
struct KernelError {
  int place = -1;
  __attribute__((noinline, cold)) void raise(int number) { __atomic_store_n(&place, number, __ATOMIC_RELAXED); }
};

// ---- integers -----------------------------------------------------------------------------

// Division that rounds down, and its remainder (sign of the divisor).
template <class V> TW_INLINE V floor_div(V a, V b) {
  V q = a / b, r = a % b;
  if constexpr (is_vector<V>)
    return in_parts([](auto whole, auto rest, auto by) { return whole + ((rest != 0) & ((rest ^ by) < 0)); }, q, r, b);
  else return q - ((r != 0) & ((r < 0) != (b < 0)));
}
template <class V> TW_INLINE V floor_mod(V a, V b) { return a - floor_div(a, b) * b; }
template <class V> TW_INLINE V max_of(V a, V b) { return a > b ? a : b; }
template <class V> TW_INLINE V min_of(V a, V b) { return a < b ? a : b; }
template <class V> TW_INLINE auto as_unsigned(V v) {
  typedef element<V> E;
  if constexpr (same<E, bool>) return (u8)v;
  else if constexpr (sizeof(E) == 1) return bits<like<V, u8>>(v);
  else if constexpr (sizeof(E) == 2) return bits<like<V, u16>>(v);
  else if constexpr (sizeof(E) == 4) return bits<like<V, u32>>(v);
  else return bits<like<V, u64>>(v);
}

// `base, base + 1, ...`
template <class V> TW_INLINE V iota(element<V> base, element<V> step) {
  V v{};
  for (int l = 0; l < lanes<V>; ++l) v[l] = base + (element<V>)l * step;
  return v;
}

}  // namespace tw
