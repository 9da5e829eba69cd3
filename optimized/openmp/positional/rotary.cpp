// SPDX-License-Identifier: MIT
#include "attest/spec/positional/rotary.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "attest/openmp/waves.hpp"

namespace attest::openmp::positional::rotary {

using attest::spec::positional::rotary::In;
using attest::spec::positional::rotary::Out;
using attest::spec::positional::rotary::Pairing;
using attest::spec::positional::rotary::Scaling;

/// Coordinates that are turned.
template <class T>
Index width(const In<T>& in) {
  return in.rotary_width == 0 ? in.x.extent(1) : in.rotary_width;
}

template <class T>
std::pair<Index, Index> pair_of(const In<T>& in, Index m) {
  return in.pairing == Pairing::half ? std::pair(m, m + width(in) / 2) : std::pair(2 * m, 2 * m + 1);
}

/// The frequencies of all pairs, scaled.
template <class T>
Column<Wide<T>> scaled_frequencies(const In<T>& in) {
  using Real = Wide<T>;
  const Index w = width(in), count = w / 2;
  const Real turn = 2 * std::numbers::pi_v<Real>, factor = in.factor, length = static_cast<Real>(in.original_length);
  const Real base = in.base, steps = static_cast<Real>(w) / 2;
  Column<Real> theta = frequencies<T>(in.base, count, steps);
  if (in.scaling == Scaling::linear) {
    theta /= factor;
  } else if (in.scaling == Scaling::ntk) {
    for (Index m = 1; m < count; ++m) theta(m) *= std::pow(factor, -static_cast<Real>(m) / (steps - 1));
  } else if (in.scaling == Scaling::yarn) {
    const auto pair_of_turns = [&](Real turns) { return steps * std::log(length / (turn * turns)) / std::log(base); };
    const Real first = std::max(std::floor(pair_of_turns(in.beta_fast)), Real(0)),
               last = std::min(std::ceil(pair_of_turns(in.beta_slow)), static_cast<Real>(w - 1));
    for (Index m = 0; m < count; ++m) {
      const Real scaled = std::clamp((static_cast<Real>(m) - first) / (last - first), Real(0), Real(1));
      theta(m) *= 1 - scaled + scaled / factor;
    }
  } else if (in.scaling == Scaling::llama3) {
    const Real low = in.low_frequency_factor, high = in.high_frequency_factor;
    for (Real& one : theta) {
      const Real own = std::clamp((length * one / turn - low) / (high - low), Real(0), Real(1));
      one *= (1 - own) / factor + own;
    }
  }
  return theta;
}

/// What YaRN multiplies cosines and sines by.
template <class T>
Wide<T> length_of_turns(const In<T>& in) {
  if (in.scaling != Scaling::yarn) return 1;
  return in.attention_factor ? static_cast<Wide<T>>(*in.attention_factor)
                             : std::log(static_cast<Wide<T>>(in.factor)) / 10 + 1;
}

/// Calls rotate(i, m, cos, sin) for every token and pair, tokens in parallel.
template <class T, class F>
void each_pair(const In<T>& in, F&& rotate) {
  const Index n = in.x.extent(0);
  const Column<Wide<T>> theta = scaled_frequencies(in);
  const Wide<T> length = length_of_turns(in);
#pragma omp parallel for schedule(static) if (n > 64)
  for (Index i = 0; i < n; ++i)
    for (Index m = 0; m < theta.size(); ++m) {
      const auto turn = engine::sine_cosine(static_cast<Wide<T>>(in.positions(i)) * theta(m));
      rotate(i, m, static_cast<T>(length * turn.cosine), static_cast<T>(length * turn.sine));
    }
}

/// The coordinates behind those that are turned.
template <class T>
void pass(const In<T>& in, const Out<T>& out) {
  const Index rest = in.x.extent(1) - width(in);
  openmp::matrix(out.y).rightCols(rest) = openmp::matrix(in.x).rightCols(rest);
}

template <class T>
void rotate(const In<T>& in, const Out<T>& out) {
  const Column<Wide<T>> theta = scaled_frequencies(in);
  engine::rotate(engine::Rotation<T>{.x = in.x,
                                     .positions = in.positions,
                                     .theta = {theta.data(), {theta.size()}},
                                     .length = length_of_turns(in),
                                     .half = in.pairing == Pairing::half,
                                     .y = out.y});
}

/// Two products per coordinate.
template <class T>
void pairs(const In<T>& in, const Out<T>& out) {
  rotate(in, out);
}
/// A pair as a complex number times another: the same four products.
template <class T>
void complex(const In<T>& in, const Out<T>& out) {
  rotate(in, out);
}
/// x cos + rot(x) sin over whole rows.
template <class T>
void rotate_half(const In<T>& in, const Out<T>& out) {
  rotate(in, out);
}

/// The matrix R_p itself: slow; the other forms are shortcuts for it.
template <class T>
void matrix(const In<T>& in, const Out<T>& out) {
  const Index n = in.x.extent(0), w = width(in);
  std::vector<RowMajor<T>> R(static_cast<std::size_t>(n), RowMajor<T>::Zero(w, w));
  each_pair(in, [&](Index i, Index m, T cosine, T sine) {
    const auto [a, b] = pair_of(in, m);
    auto& mine = R[static_cast<std::size_t>(i)];
    mine(a, a) = mine(b, b) = cosine;
    mine(a, b) = -sine;
    mine(b, a) = sine;
  });
  for (Index i = 0; i < n; ++i) vector(out.y[i]).head(w) = R[static_cast<std::size_t>(i)] * vector(in.x[i]).head(w);
  pass(in, out);
}

template void pairs(const In<float>&, const Out<float>&);
template void pairs(const In<double>&, const Out<double>&);
template void matrix(const In<float>&, const Out<float>&);
template void matrix(const In<double>&, const Out<double>&);
template void complex(const In<float>&, const Out<float>&);
template void complex(const In<double>&, const Out<double>&);
template void rotate_half(const In<float>&, const Out<float>&);
template void rotate_half(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::positional::rotary
