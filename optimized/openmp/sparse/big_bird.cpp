// SPDX-License-Identifier: MIT
#include "attest/spec/sparse/big_bird.hpp"

#include <cstdlib>
#include <stdexcept>

#include "attest/openmp/sparse.hpp"

namespace attest::openmp::sparse::big_bird {

using attest::spec::sparse::big_bird::In;
using attest::spec::sparse::big_bird::Out;

/// The blocks that block a sees.
template <class T>
Keys blocks_of(const In<T>& in, Index a) {
  const Index n = in.q.extent(0), count = (n + in.block - 1) / in.block;
  const auto is_global = [&](Index b) { return b < in.first_global || b >= count - in.last_global; };
  Keys seen = keys_of(0, count, [&](Index e) { return std::abs(a - e) <= in.radius || is_global(a) || is_global(e); });
  for (Index t = 0; t < in.random.extent(1); ++t) {
    const Index token = in.random(a * in.block, t);
    if (token < 0 || token >= n) throw std::invalid_argument("C4: a list names no token");
    seen.push_back(token / in.block);
  }
  return distinct(std::move(seen));
}

/// The keys that each block sees, in ascending order; checked before threads share them.
template <class T>
std::vector<Keys> keys_of_blocks(const In<T>& in) {
  const Index n = in.q.extent(0);
  std::vector<Keys> all;
  for (Index a = 0; a * in.block < n; ++a) {
    Keys keys;
    for (const Index e : blocks_of(in, a))
      for (Index j = e * in.block; j < std::min(n, (e + 1) * in.block); ++j) keys.push_back(j);
    all.push_back(std::move(keys));
  }
  return all;
}

template <class T>
void mask(const In<T>& in, const Out<T>& out) {
  const auto keys = keys_of_blocks(in);
  over_marks<T>(in, out, engine::Schedule::whole_row, [&](Index i, bool* row) {
    for (const Index j : keys[static_cast<std::size_t>(i / in.block)]) row[j] = true;
  });
}
template <class T>
void blocks(const In<T>& in, const Out<T>& out) {
  const auto keys = keys_of_blocks(in);
  const Index n = in.q.extent(0);
  each_task(static_cast<Index>(keys.size()), n >= kEnoughRows, [&](Index a) {
    const Index first = a * in.block;
    over_keys<T>(in, out, consecutive(first, std::min(in.block, n - first)), keys[static_cast<std::size_t>(a)],
                 [](Index, Index) { return true; });
  });
}
template <class T>
void edge_list(const In<T>& in, const Out<T>& out) {
  const auto keys = keys_of_blocks(in);
  over_sets<T>(in, out, engine::Schedule::whole_row,
               [&](Index i) { return keys[static_cast<std::size_t>(i / in.block)]; });
}

template void mask(const In<float>&, const Out<float>&);
template void mask(const In<double>&, const Out<double>&);
template void blocks(const In<float>&, const Out<float>&);
template void blocks(const In<double>&, const Out<double>&);
template void edge_list(const In<float>&, const Out<float>&);
template void edge_list(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::sparse::big_bird
