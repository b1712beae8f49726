// `tk.dot`: every lane adds the dot product of its group of 16-bit floats with one group for all.
#pragma once

#include "prelude.h"

namespace tw {

// Element `g` of every group, widened. bf16 is the upper half of an f32.
template <class A, class B> TW_INLINE A group_part(B b, int g) {
  constexpr int W = lanes<A>, G = lanes<B> / W;
  if constexpr (same<element<B>, u16> && G == 2) {
    const auto pairs = bits<vec<u32, W>>(b);
    return bits<A>(g == 0 ? pairs << 16 : pairs & 0xffff0000u);
  } else {
    vec<element<B>, W> part{};
    for (int l = 0; l < W; ++l) part[l] = b[l * G + g];
    if constexpr (same<element<B>, u16>) return from_bf16(part);
#if defined(__FLT16_MANT_DIG__)
    else return from_f16(part);
#endif
  }
}

template <class A, class B, class C> TW_INLINE A dot(A acc, B b, C common) {
  constexpr int G = lanes<C>;
#if defined(__AVX512BF16__) && defined(__AVX512VL__)
  if constexpr (same<element<B>, u16> && G == 2 && (sizeof(A) == 64 || sizeof(A) == 32 || sizeof(A) == 16)) {
    // Spelled out, because the types that compilers give the intrinsic change between their versions.
    const auto pair = splat<vec<i32, lanes<A>>>(bits<i32>(common));
    asm("vdpbf16ps %2, %1, %0" : "+v"(acc) : "v"(pair), "v"(b));
    return acc;
  } else
#endif
  {
    B all{};
    for (int l = 0; l < lanes<B>; ++l) all[l] = common[l % G];
    for (int g = 0; g < G; ++g) acc = acc + group_part<A>(b, g) * group_part<A>(all, g);
    return acc;
  }
}

}  // namespace tw
