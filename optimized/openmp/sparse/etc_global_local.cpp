// SPDX-License-Identifier: MIT
#include "attest/spec/sparse/etc_global_local.hpp"

#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "attest/openmp/sparse.hpp"

namespace attest::openmp::sparse::etc_global_local {

using attest::spec::sparse::etc_global_local::In;
using attest::spec::sparse::etc_global_local::Out;
using attest::spec::sparse::etc_global_local::Softmax;

/// q_i . P_r of all labels; nothing where there are none.
template <class T>
RowMajor<T> products_with_labels(const In<T>& in) {
  if (!in.labels) return {};
  for (Index i = 0; i < in.labels.extent(0); ++i)
    for (Index j = 0; j < in.labels.extent(1); ++j)
      if (in.labels(i, j) < 0 || in.labels(i, j) >= in.table.extent(0))
        throw std::invalid_argument("C3: a label beyond the table");
  return matrix(in.q) * matrix(in.table).transpose();
}

/// Queries first .. first + count - 1 to those of the keys that the pattern and M show.
template <class T>
void to_keys(const In<T>& in, View<T, 2> o, View<T, 1> lse, Index first, Index count, const Keys& keys,
             const RowMajor<T>& with_labels, engine::Schedule schedule) {
  const auto s = static_cast<Index>(keys.size());
  const RowMajor<T> k = gathered<T>(in.k, keys), v = gathered<T>(in.v, keys);
  const auto visible = std::make_unique<bool[]>(static_cast<std::size_t>(count * s));
  for (Index t = 0; t < count; ++t)
    for (Index u = 0; u < s; ++u) {
      const Index i = first + t, j = keys[static_cast<std::size_t>(u)];
      visible[static_cast<std::size_t>(t * s + u)] =
          (std::min(i, j) < in.globals || std::abs(i - j) <= in.radius) && (!in.mask || in.mask(i, j));
    }
  engine::Problem<T> problem{.q = in.q.rows(first, count),
                             .k = view(k),
                             .v = view(v),
                             .scale = attention::scale_of<T>(in),
                             .mask = View<const bool, 2>{visible.get(), {count, s}}};
  if (with_labels.size() > 0)
    problem.edit = [&, scale = problem.scale](const engine::Tile<T>& tile) {
      tile.each([&](T& logit, Index t, Index u) {
        const Index i = first + t, j = keys[static_cast<std::size_t>(u)];
        logit += scale * with_labels(i, in.labels(i, j));
      });
    };
  engine::attend(problem, {.schedule = schedule, .o = o, .lse = lse});
}

/// Global keys and long keys on their own.
template <class T>
void in_pieces(const In<T>& in, const Out<T>& out) {
  const Index n = in.q.extent(0);
  const RowMajor<T> with_labels = products_with_labels(in);
  RowMajor<T> far(n, in.v.extent(1));
  Column<T> lse(n), far_lse(n);
  to_keys<T>(in, out.o, {lse.data(), {n}}, 0, n, consecutive(in.globals, n - in.globals), with_labels,
             engine::Schedule::online);
  to_keys<T>(in, view(far), {far_lse.data(), {n}}, 0, n, consecutive(0, in.globals), with_labels,
             engine::Schedule::online);
  if (in.softmax == Softmax::per_piece) {
    matrix(out.o) += far;
    return;
  }
  for (Index i = 0; i < n; ++i)
    if (std::isinf(lse(i))) vector(out.o[i]) = far.row(i).transpose(), lse(i) = far_lse(i), far_lse(i) = -INFINITY;
  for (Index i = 0; i < n; ++i)
    if (!std::isinf(lse(i)) && !std::isinf(far_lse(i)))
      attention::merge<T>(out.o.rows(i, 1), {lse.data() + i, {1}}, view(std::as_const(far)).rows(i, 1),
                          {far_lse.data() + i, {1}});
}

template <class T>
void dense(const In<T>& in, const Out<T>& out) {
  if (in.softmax == Softmax::per_piece) return in_pieces(in, out);
  const Index n = in.q.extent(0);
  to_keys<T>(in, out.o, {}, 0, n, consecutive(0, n), products_with_labels(in), engine::Schedule::whole_row);
}
template <class T>
void banded(const In<T>& in, const Out<T>& out) {
  if (in.softmax == Softmax::per_piece) return in_pieces(in, out);
  const Index n = in.q.extent(0), g = in.globals, rows = std::max<Index>(16, std::min(in.radius, n));
  const RowMajor<T> with_labels = products_with_labels(in);
  if (g > 0) to_keys<T>(in, out.o.rows(0, g), {}, 0, g, consecutive(0, n), with_labels, engine::Schedule::online);
  each_task((n - g + rows - 1) / rows, n >= kEnoughRows, [&](Index b) {
    const Index first = g + b * rows, count = std::min(rows, n - first);
    const Keys keys =
        keys_of(0, n, [&](Index j) { return j < g || (j >= first - in.radius && j < first + count + in.radius); });
    to_keys<T>(in, out.o.rows(first, count), {}, first, count, keys, with_labels, engine::Schedule::online);
  });
}
template <class T>
void split(const In<T>& in, const Out<T>& out) {
  in_pieces(in, out);
}

template void dense(const In<float>&, const Out<float>&);
template void dense(const In<double>&, const Out<double>&);
template void banded(const In<float>&, const Out<float>&);
template void banded(const In<double>&, const Out<double>&);
template void split(const In<float>&, const Out<float>&);
template void split(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::sparse::etc_global_local
