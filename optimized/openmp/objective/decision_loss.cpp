// SPDX-License-Identifier: MIT
#include "attest/spec/objective/decision_loss.hpp"

#include <cmath>

#include "attest/openmp/objective.hpp"

namespace attest::openmp::objective::decision_loss {

using attest::spec::objective::decision_loss::In;
using attest::spec::objective::decision_loss::Kind;
using attest::spec::objective::decision_loss::Out;

/// The mean of loss(t) over the counted steps.
template <class T, class F>
void averaged(const In<T>& in, const Out<T>& out, F&& loss) {
  out.loss() = mean<T>(in.mask, in.predictions.extent(0), loss);  // C1
}

template <class T>
void direct(const In<T>& in, const Out<T>& out) {
  if (in.kind == Kind::mse)
    averaged(in, out, [&](Index t) {
      return (vector(in.predictions[t]) - vector(in.actions[t])).squaredNorm() /
             static_cast<T>(in.predictions.extent(1));
    });
  else
    averaged(in, out, [&](Index t) { return cross_entropy(vector(in.predictions[t]), in.chosen(t)); });  // C2
}

/// From a log-sum-exp, as a kernel gives it that has the logits elsewhere.
template <class T>
void logits(const In<T>& in, const Out<T>& out) {
  averaged(in, out, [&](Index t) {
    const auto x = vector(in.predictions[t]);
    const T m = x.maxCoeff(), lse = m + std::log((x.array() - m).exp().sum());
    return lse - x(in.chosen(t));
  });
}

template void direct(const In<float>&, const Out<float>&);
template void direct(const In<double>&, const Out<double>&);
template void logits(const In<float>&, const Out<float>&);
template void logits(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::objective::decision_loss
