// SPDX-License-Identifier: MIT
#include "attest/spec/adaptive/act_halting.hpp"

#include <vector>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::adaptive::act_halting {

using attest::spec::adaptive::act_halting::In;
using attest::spec::adaptive::act_halting::Out;
using attest::spec::adaptive::act_halting::Output;

/// A token on its way: what it has used up of 1, and whether it still runs.
template <class T>
struct Token {
  T used = 0;
  bool running = true;
};

/// The step t of token i: its state is added with p, or with the remainder when it halts.
template <class T>
void step(const In<T>& in, const Out<T>& out, Token<T>& token, Index i, Index t) {
  const T p = in.p(i, t), total = token.used + p;
  const bool halts = t + 1 == in.p.extent(1) || total >= 1 - static_cast<T>(in.eps);
  const T w = halts ? 1 - token.used : p;
  auto y = vector(out.y[i]);
  const auto s = vector(in.s[i][t]);
  if (in.output == Output::weighted)
    y += w * s;
  else if (in.output == Output::interpolated)
    y = w * s + (1 - w) * y;
  else if (halts)
    y = s;
  if (out.weights) out.weights(i, t) = w;
  token.used = total;
  token.running = !halts;
  if (!halts) return;
  if (out.steps) out.steps(i) = static_cast<T>(t + 1);
  if (out.remainders) out.remainders(i) = w;
}

/// Results before the first step.
template <class T>
void clear(const Out<T>& out, Index first, Index count) {
  matrix(out.y.rows(first, count)).setZero();
  if (out.weights) matrix(out.weights.rows(first, count)).setZero();
}

/// Token after token: the sums first, which say where each ends, and then its states.
template <class T>
void closed(const In<T>& in, const Out<T>& out) {
  const Index steps = in.p.extent(1);
  each_tile(in.p.extent(0), [&](Index first, Index count) {
    clear(out, first, count);
    for (Index i = first; i < first + count; ++i) {
      T used = 0, left = 1;
      Index last = 0;
      for (; last + 1 < steps; ++last) {
        left = 1 - used;
        used += in.p(i, last);
        if (used >= 1 - static_cast<T>(in.eps)) break;
        left = 1 - used;
      }
      Column<T> w = vector(in.p[i]).head(last + 1);
      w(last) = left;
      if (out.weights) vector(out.weights[i]).head(last + 1) = w;
      if (out.steps) out.steps(i) = static_cast<T>(last + 1);
      if (out.remainders) out.remainders(i) = left;
      auto y = vector(out.y[i]);
      if (in.output == Output::weighted)
        y = matrix(in.s[i]).topRows(last + 1).transpose() * w;
      else if (in.output == Output::last)
        y = vector(in.s[i][last]);
      else
        for (Index t = 0; t <= last; ++t) y = w(t) * vector(in.s[i][t]) + (1 - w(t)) * y;
    }
  });
}

/// All steps of a token in turn, those after its last one without effect.
template <class T>
void masks(const In<T>& in, const Out<T>& out) {
  each_tile(in.p.extent(0), [&](Index first, Index count) {
    clear(out, first, count);
    for (Index i = first; i < first + count; ++i) {
      Token<T> token;
      for (Index t = 0; t < in.p.extent(1); ++t)
        if (token.running) step(in, out, token, i, t);
    }
  });
}

/// A step of all tokens that are still running, and then the next, until there are none.
template <class T>
void early_stop(const In<T>& in, const Out<T>& out) {
  const Index tokens = in.p.extent(0);
  clear(out, 0, tokens);
  std::vector<Token<T>> state(static_cast<std::size_t>(tokens));
  std::vector<Index> running;
  for (Index i = 0; i < tokens; ++i) running.push_back(i);
  for (Index t = 0; !running.empty(); ++t)
    std::erase_if(running, [&](Index i) {
      auto& token = state[static_cast<std::size_t>(i)];
      step(in, out, token, i, t);
      return !token.running;
    });
}

template void closed(const In<float>&, const Out<float>&);
template void closed(const In<double>&, const Out<double>&);
template void masks(const In<float>&, const Out<float>&);
template void masks(const In<double>&, const Out<double>&);
template void early_stop(const In<float>&, const Out<float>&);
template void early_stop(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::adaptive::act_halting
