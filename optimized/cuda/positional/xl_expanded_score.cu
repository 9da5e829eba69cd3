// SPDX-License-Identifier: MIT
#include "attest/cuda/scores.hpp"

namespace attest::cuda::positional::xl_expanded_score {
namespace {

/// The inputs of a call.
struct Given {
  Sequences queries, keys;
  Rows x_q, p_q, x_k, p_k, w_q, w_k;

  explicit Given(const Call& call)
      : queries(call.sequences("n", "x_q", kTile)),
        keys(call.sequences("s", "x_k", kTile)),
        x_q(call.rows("x_q")),
        p_q(call.rows("p_q")),
        x_k(call.rows("x_k")),
        p_k(call.rows("p_k")),
        w_q(call.rows_of_sequence("w_q")),
        w_k(call.rows_of_sequence("w_k")) {}
};

/// Tokens and positions projected alone; each product is added to those before it.
struct FourTerms {
  template <class T, class Factor>
  static void run(Call& call) {
    const Given in(call);
    const Rows content_q = project<T, Factor>(call, in.queries, in.x_q, in.w_q),
               position_q = project<T, Factor>(call, in.queries, in.p_q, in.w_q);
    const Rows content_k = project<T, Factor>(call, in.keys, in.x_k, in.w_k),
               position_k = project<T, Factor>(call, in.keys, in.p_k, in.w_k);
    const OutputRows sum = call.workspace_rows(in.queries, static_cast<int>(in.keys.length));
    multiply_rows<T, Factor>(call, {.a = content_q, .b = content_k, .rows = in.queries, .output = sum});
    multiply_rows<T, Factor>(
        call, {.a = content_q, .b = position_k, .rows = in.queries, .addend = read_back(sum), .output = sum});
    multiply_rows<T, Factor>(
        call, {.a = position_q, .b = content_k, .rows = in.queries, .addend = read_back(sum), .output = sum});
    multiply_rows<T, Factor>(call, {.a = position_q,
                                    .b = position_k,
                                    .rows = in.queries,
                                    .addend = read_back(sum),
                                    .output = call.output_rows("a")});
  }
};

/// ((x_i + p_i) w_q) . ((x_j + p_j) w_k)
struct Factored {
  template <class T, class Factor>
  static void run(Call& call) {
    const Given in(call);
    const Rows q = project<T, Factor>(call, in.queries, add_rows<T>(call, in.queries, in.x_q, in.p_q), in.w_q);
    const Rows k = project<T, Factor>(call, in.keys, add_rows<T>(call, in.keys, in.x_k, in.p_k), in.w_k);
    multiply_rows<T, Factor>(call, {.a = q, .b = k, .rows = in.queries, .output = call.output_rows("a")});
  }
};

/// (x_i + p_i) G (x_j + p_j)^T
struct Metric {
  template <class T, class Factor>
  static void run(Call& call) {
    const Given in(call);
    const int f = in.x_q.stored;
    const Sequences features{.length = f, .count = in.queries.count, .chunk = kTile};
    const OutputRows G = call.workspace_rows(features, f);
    multiply_rows<T, Factor>(call, {.a = in.w_q, .b = in.w_k, .rows = features, .output = G});
    const Rows q = project<T, Factor>(call, in.queries, add_rows<T>(call, in.queries, in.x_q, in.p_q), read_back(G));
    multiply_rows<T, Factor>(
        call,
        {.a = q, .b = add_rows<T>(call, in.keys, in.x_k, in.p_k), .rows = in.queries, .output = call.output_rows("a")});
  }
};

/// grad_q = grad_a k, grad_k = grad_a^T q; tokens and their positions have the same gradient, by the projection they
/// share.
struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    const Given in(call);
    const Rows grad_a = call.rows("cotangent.a");
    const Rows rows_q = add_rows<T>(call, in.queries, in.x_q, in.p_q),
               rows_k = add_rows<T>(call, in.keys, in.x_k, in.p_k);
    const Rows q = project<T, Factor>(call, in.queries, rows_q, in.w_q),
               k = project<T, Factor>(call, in.keys, rows_k, in.w_k);
    const Rows grad_q = project<T, Factor>(call, in.queries, grad_a, k);
    const OutputRows grad_k = call.workspace_rows(in.keys, k.stored);
    multiply_columns<T, Factor>(call, in.queries, grad_a, q, grad_k);
    for (const char* name : {"gradient.x_q", "gradient.p_q"})
      multiply_rows<T, Factor>(call, {.a = grad_q, .b = in.w_q, .rows = in.queries, .output = call.output_rows(name)});
    for (const char* name : {"gradient.x_k", "gradient.p_k"})
      multiply_rows<T, Factor>(
          call, {.a = read_back(grad_k), .b = in.w_k, .rows = in.keys, .output = call.output_rows(name)});
    multiply_columns<T, Factor>(call, in.queries, rows_q, grad_q, call.output_rows_of_sequence("gradient.w_q"));
    multiply_columns<T, Factor>(call, in.keys, rows_k, read_back(grad_k), call.output_rows_of_sequence("gradient.w_k"));
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("positional.xl_expanded_score")
      .value<FourTerms>("four_terms", {})
      .value<Factored>("factored", {})
      .value<Metric>("metric", {})
      .gradient<Gradient>("factored", {})
      .rows();
}

}  // namespace attest::cuda::positional::xl_expanded_score
