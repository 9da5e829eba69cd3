// SPDX-License-Identifier: MIT
#include "attest/spec/memory/compressive_update.hpp"

#include <algorithm>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::memory::compressive_update {

using attest::spec::memory::compressive_update::In;
using attest::spec::memory::compressive_update::Kind;
using attest::spec::memory::compressive_update::Out;
using attest::spec::memory::compressive_update::Remainder;

/// The rows of two tensors, one after the other.
template <class T>
struct Sequence {
  View<const T, 2> first, second;

  Index size() const { return first.extent(0) + second.extent(0); }
  View<const T, 1> operator[](Index t) const { return t < first.extent(0) ? first[t] : second[t - first.extent(0)]; }
};

template <class T>
void copy(View<T, 2> to, const Sequence<T>& from, Index first) {
  for (Index t = 0; t < to.extent(0); ++t) vector(to[t]) = vector(from[first + t]);
}

/// Row r of f(old): mean, maximum or convolution of a block of old rows, of which the first may be zeros before them.
template <class T>
Column<T> compressed(const In<T>& in, const Sequence<T>& old, Index e, Index r) {
  const Index padding = in.remainder == Remainder::pad_oldest_zero ? (in.rate - e % in.rate) % in.rate : 0;  // C5
  Column<T> y = Column<T>::Zero(in.h.extent(1));
  if (in.kind == Kind::conv) y = vector(in.bias);
  for (Index t = 0; t < in.rate; ++t) {
    const Index row = r * in.rate + t - padding;
    if (row < 0) continue;
    if (in.kind == Kind::conv)
      y.noalias() += matrix(in.w[t]).transpose() * vector(old[row]);
    else if (in.kind == Kind::mean)
      y += vector(old[row]);
    else
      y = t == 0 ? Column<T>(vector(old[row])) : Column<T>(y.cwiseMax(vector(old[row])));
  }
  if (in.kind == Kind::mean) y /= static_cast<T>(in.rate);
  return y;
}

/// Every row of the results from where it stands in [memory; h] and [compressed; f(old)].
template <class T>
void whole_sequence(const In<T>& in, const Out<T>& out) {
  const Sequence<T> states{in.memory, in.h};
  const Index e = states.size() - out.memory.extent(0), b = in.compressed.extent(0);  // C2
  copy(out.old, states, 0);
  copy(out.memory, states, e);
  const Index added = (e + (in.remainder == Remainder::pad_oldest_zero ? in.rate - 1 : 0)) / in.rate;  // C4
  const Index lost = b + added - out.compressed.extent(0);
  each_tile(out.compressed.extent(0), [&](Index first, Index count) {
    for (Index t = first; t < first + count; ++t) {
      if (lost + t < b)
        vector(out.compressed[t]) = vector(in.compressed[lost + t]);
      else
        vector(out.compressed[t]) = compressed(in, states, e, lost + t - b);
    }
  });
}

template void whole_sequence(const In<float>&, const Out<float>&);
template void whole_sequence(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::memory::compressive_update
