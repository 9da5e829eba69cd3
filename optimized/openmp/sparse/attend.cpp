// SPDX-License-Identifier: MIT
#include "attest/spec/sparse/attend.hpp"

#include <stdexcept>

#include "attest/openmp/sparse.hpp"

namespace attest::openmp::sparse::attend {

using attest::spec::sparse::attend::In;
using attest::spec::sparse::attend::Out;

/// S_i, each key once.
template <class T>
Keys set_of(const In<T>& in, Index i) {
  const Index places = in.sets.extent(1), count = in.counts ? in.counts(i) : places;
  if (count < 0 || count > places) throw std::invalid_argument("C2: a count beyond the places of its list");
  Keys keys;
  for (Index t = 0; t < count; ++t) {
    keys.push_back(in.sets(i, t));
    if (keys.back() < 0 || keys.back() >= in.k.extent(0)) throw std::invalid_argument("C1: an index of no key");
  }
  return distinct(std::move(keys));
}

template <class T>
void masked(const In<T>& in, const Out<T>& out, engine::Schedule schedule) {
  over_marks<T>(in, out, schedule, [&](Index i, bool* row) {
    for (const Index j : set_of(in, i)) row[j] = true;
  });
}

template <class T>
void mask(const In<T>& in, const Out<T>& out) {
  masked(in, out, engine::Schedule::whole_row);
}
template <class T>
void blocks(const In<T>& in, const Out<T>& out) {
  masked(in, out, engine::Schedule::online);
}

/// The lists are checked before threads share them.
template <class T>
std::vector<Keys> sets_of(const In<T>& in) {
  std::vector<Keys> sets;
  for (Index i = 0; i < in.q.extent(0); ++i) sets.push_back(set_of(in, i));
  return sets;
}

template <class T>
void gather(const In<T>& in, const Out<T>& out) {
  const auto sets = sets_of(in);
  over_sets<T>(in, out, engine::Schedule::whole_row, [&](Index i) { return sets[static_cast<std::size_t>(i)]; });
}

/// All sets in one row of indices; those of S_i begin at pointers[i].
template <class T>
void csr(const In<T>& in, const Out<T>& out) {
  Keys indices, pointers{0};
  for (const Keys& keys : sets_of(in)) {
    indices.insert(indices.end(), keys.begin(), keys.end());
    pointers.push_back(static_cast<Index>(indices.size()));
  }
  over_sets<T>(in, out, engine::Schedule::log_sum_exp, [&](Index i) {
    const auto at = static_cast<std::size_t>(i);
    return Keys(indices.begin() + pointers[at], indices.begin() + pointers[at + 1]);
  });
}

template void mask(const In<float>&, const Out<float>&);
template void mask(const In<double>&, const Out<double>&);
template void blocks(const In<float>&, const Out<float>&);
template void blocks(const In<double>&, const Out<double>&);
template void gather(const In<float>&, const Out<float>&);
template void gather(const In<double>&, const Out<double>&);
template void csr(const In<float>&, const Out<float>&);
template void csr(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::sparse::attend
