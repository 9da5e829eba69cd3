// SPDX-License-Identifier: MIT
#include "attest/spec/objective/perplexity.hpp"

#include <cmath>

#include "attest/openmp/objective.hpp"

namespace attest::openmp::objective::perplexity {

using attest::spec::objective::perplexity::In;
using attest::spec::objective::perplexity::Out;

template <class T>
void write(const Out<T>& out, T nll) {
  out.nll() = nll;
  out.ppl() = std::exp(nll);
}

/// Rows are shared among the threads, each with an exponential per class.
template <class T>
void logits(const In<T>& in, const Out<T>& out) {
  write(out, mean<T>(in.mask, in.logits.extent(0),
                     [&](Index t) { return cross_entropy(vector(in.logits[t]), in.targets(t)); }));
}

/// Two numbers per token while its logits arrive, and one sum for all tokens.
template <class T>
void streaming(const In<T>& in, const Out<T>& out) {
  T total = 0;
  Index counted = 0;
  for (Index t = 0; t < in.logits.extent(0); ++t) {
    if (in.mask && !in.mask(t)) continue;
    T m = in.logits(t, 0), l = 1;
    for (Index c = 1; c < in.logits.extent(1); ++c) {
      const T x = in.logits(t, c);
      if (x > m) l *= std::exp(m - x), m = x;
      l += std::exp(x - m);
    }
    total += m - in.logits(t, in.targets(t)) + std::log(l);  // C2
    ++counted;
  }
  write(out, total / static_cast<T>(counted));  // C1
}

template void logits(const In<float>&, const Out<float>&);
template void logits(const In<double>&, const Out<double>&);
template void streaming(const In<float>&, const Out<float>&);
template void streaming(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::objective::perplexity
