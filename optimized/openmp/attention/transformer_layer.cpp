// SPDX-License-Identifier: MIT
#include "attest/spec/attention/transformer_layer.hpp"

#include <cmath>
#include <vector>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/engine/attend.hpp"
#include "attest/openmp/feed_forward.hpp"
#include "attest/openmp/tasks.hpp"

namespace attest::openmp::attention::transformer_layer {

using attest::spec::attention::transformer_layer::Attention;
using attest::spec::attention::transformer_layer::In;
using attest::spec::attention::transformer_layer::Kind;
using attest::spec::attention::transformer_layer::Out;

template <class T>
struct Weights {
  View<const T, 3> q, k, v, o;
};
template <class T>
Weights<T> of_tokens(const In<T>& in) {
  return {in.w_q, in.w_k, in.w_v, in.w_o};
}
template <class T>
Weights<T> of_memory(const In<T>& in) {
  return {in.c_q, in.c_k, in.c_v, in.c_o};
}

/// elu(x) + 1
template <class T, class M>
RowMajor<T> features(const M& x) {
  return x.unaryExpr([](T t) { return t > 0 ? t + 1 : std::exp(t); });
}

/// One head by its weights: of softmax, or products of features.
template <class T, class Q, class K>
RowMajor<T> weighted(const In<T>& in, const Q& q, const K& k, const K& v, bool causal) {
  const bool softmax = in.attention == Attention::softmax;
  const RowMajor<T> phi_q = softmax ? RowMajor<T>() : features<T>(q), phi_k = softmax ? RowMajor<T>() : features<T>(k);
  engine::Problem<T> problem{.q = softmax ? view(q) : view(phi_q), .k = softmax ? view(k) : view(phi_k), .v = view(v)};
  problem.exponential = softmax;
  if (softmax) problem.scale = T(1) / std::sqrt(static_cast<T>(q.cols()));
  if (causal) problem.right = 0;
  RowMajor<T> o(q.rows(), v.cols());
  engine::attend(problem, {.o = view(o)});
  return o;
}

/// The same head of linear attention through running sums of phi(k) v^T and phi(k): as many keys are added before row i
/// is read as it sees.
template <class T>
RowMajor<T> summed(const RowMajor<T>& q, const RowMajor<T>& k, const RowMajor<T>& v, bool causal) {
  const RowMajor<T> phi_q = features<T>(q), phi_k = features<T>(k);
  RowMajor<T> sums = RowMajor<T>::Zero(k.cols(), v.cols()), o(q.rows(), v.cols());
  Column<T> z = Column<T>::Zero(k.cols());
  Index added = 0;
  for (Index i = 0; i < q.rows(); ++i) {
    for (; added < (causal ? i + 1 : k.rows()); ++added) {
      sums += phi_k.row(added).transpose() * v.row(added);
      z += phi_k.row(added).transpose();
    }
    o.row(i) = phi_q.row(i) * sums / phi_q.row(i).dot(z);
  }
  return o;
}

/// All heads of an attention, each a task, and what the output projection makes of them.
template <class T, class H>
RowMajor<T> attend(const RowMajor<T>& x, const RowMajor<T>& from, const Weights<T>& w, H&& head) {
  const Index heads = w.q.extent(0), m = w.v.extent(2);
  RowMajor<T> all(x.rows(), heads * m), w_o(heads * m, w.o.extent(2));
  each_task(heads, x.rows() * from.rows() > 256, [&](Index h) {
    const RowMajor<T> q = x * matrix(w.q[h]), k = from * matrix(w.k[h]), v = from * matrix(w.v[h]);
    all.middleCols(h * m, m) = head(h, q, k, v);
    w_o.middleRows(h * m, m) = matrix(w.o[h]);
  });
  return all * w_o;
}

template <class T>
RowMajor<T> normalise(const In<T>& in, RowMajor<T> x, View<const T, 1> gamma, View<const T, 1> beta) {
  for (Index i = 0; i < x.rows(); ++i) {
    x.row(i).array() -= x.row(i).mean();
    x.row(i) /= std::sqrt(x.row(i).squaredNorm() / static_cast<T>(x.cols()) + static_cast<T>(in.eps));
    if (gamma) x.row(i).array() *= vector(gamma).transpose().array();
    if (beta) x.row(i) += vector(beta).transpose();
  }
  return x;
}

/// The rest of the layer after the attention on the tokens `x`, which gave `attended`. Only a decoder calls
/// `on_memory(y)`.
template <class T, class F>
RowMajor<T> finish(const In<T>& in, const RowMajor<T>& x, const RowMajor<T>& attended, F&& on_memory) {
  RowMajor<T> y = x + attended;
  if (in.kind == Kind::additive) return feed_forward<T>(in, y);
  y = normalise<T>(in, y, in.gamma_1, in.beta_1);
  if (in.kind == Kind::decoder_post_norm) {
    const RowMajor<T> u = y + on_memory(y);
    y = normalise<T>(in, u, in.gamma_2, in.beta_2);
  }
  const RowMajor<T> z = y + feed_forward<T>(in, y);
  return normalise<T>(in, z, in.gamma_3, in.beta_3);
}

/// The layer for all tokens at once, `one_head(q, k, v, causal)` being its attention.
template <class T, class H>
void whole(const In<T>& in, const Out<T>& out, H&& one_head) {
  const RowMajor<T> x = matrix(in.x);
  const bool causal = in.kind == Kind::decoder_post_norm;
  const auto all = [&](Index, const RowMajor<T>& q, const RowMajor<T>& k, const RowMajor<T>& v) {
    return one_head(q, k, v, false);
  };
  const auto earlier = [&](Index, const RowMajor<T>& q, const RowMajor<T>& k, const RowMajor<T>& v) {
    return one_head(q, k, v, causal);
  };
  matrix(out.z) = finish<T>(in, x, attend<T>(x, x, of_tokens(in), earlier), [&](const RowMajor<T>& y) -> RowMajor<T> {
    return attend<T>(y, matrix(in.memory), of_memory(in), all);
  });
}

template <class T>
void dense(const In<T>& in, const Out<T>& out) {
  whole(in, out, [&](const RowMajor<T>& q, const RowMajor<T>& k, const RowMajor<T>& v, bool causal) {
    return weighted<T>(in, q, k, v, causal);
  });
}

template <class T>
void linear_attention(const In<T>& in, const Out<T>& out) {
  whole(in, out, [&](const RowMajor<T>& q, const RowMajor<T>& k, const RowMajor<T>& v, bool causal) {
    return summed<T>(q, k, v, causal);
  });
}

/// One token per step. Keys and values of earlier tokens stay in a cache; those of the memory are made once.
template <class T>
void incremental(const In<T>& in, const Out<T>& out) {
  const Index n = in.x.extent(0);
  const auto heads = static_cast<std::size_t>(in.w_q.extent(0));
  std::vector<RowMajor<T>> keys(heads, RowMajor<T>(n, in.w_k.extent(2))),
      values(heads, RowMajor<T>(n, in.w_v.extent(2)));
  std::vector<RowMajor<T>> memory_keys, memory_values;
  for (Index h = 0; h < in.c_k.extent(0); ++h) {
    memory_keys.push_back(matrix(in.memory) * matrix(in.c_k[h]));
    memory_values.push_back(matrix(in.memory) * matrix(in.c_v[h]));
  }
  const RowMajor<T> nothing(0, in.x.extent(1));
  for (Index i = 0; i < n; ++i) {
    const RowMajor<T> x = matrix(in.x.rows(i, 1));
    const RowMajor<T> own =
        attend<T>(x, x, of_tokens(in), [&](Index h, const RowMajor<T>& q, const RowMajor<T>& k, const RowMajor<T>& v) {
          auto &cached_k = keys[static_cast<std::size_t>(h)], &cached_v = values[static_cast<std::size_t>(h)];
          cached_k.row(i) = k.row(0);
          cached_v.row(i) = v.row(0);
          return weighted<T>(in, q, cached_k.topRows(i + 1), cached_v.topRows(i + 1), false);
        });
    matrix(out.z.rows(i, 1)) = finish<T>(in, x, own, [&](const RowMajor<T>& y) {
      return attend<T>(y, nothing, of_memory(in),
                       [&](Index h, const RowMajor<T>& q, const RowMajor<T>&, const RowMajor<T>&) {
                         const RowMajor<T>& k = memory_keys[static_cast<std::size_t>(h)];
                         return weighted<T>(in, q, k, memory_values[static_cast<std::size_t>(h)], false);
                       });
    });
  }
}

template void dense(const In<float>&, const Out<float>&);
template void dense(const In<double>&, const Out<double>&);
template void incremental(const In<float>&, const Out<float>&);
template void incremental(const In<double>&, const Out<double>&);
template void linear_attention(const In<float>&, const Out<float>&);
template void linear_attention(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::attention::transformer_layer
