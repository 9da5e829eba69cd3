// SPDX-License-Identifier: MIT
#include "attest/cuda/scores.hpp"
#include "attest/cuda/softmax_attention.hpp"

namespace attest::cuda::positional::shaw_relative {
namespace {

/// A call's tables, and its logits q_i . k_j + (q p_k^T)_{i, r_ij}.
struct Tables {
  Rows p_k{}, p_v{};
  Sequences rows{};  // of both
  Logits logits{};

  template <class T, class Factor>
  static Tables of(Call& call) {
    Tables tables{
        .p_k = call.rows_of_sequence("p_k"), .p_v = call.rows_of_sequence("p_v"), .logits = scaled_products_of(call)};
    Logits& logits = tables.logits;
    tables.rows = {.length = call.input("p_k")->shape[2], .count = logits.queries.count};
    Relative& relative = logits.relative;
    relative.c = (tables.width() - 1) / 2;
    relative.offset = static_cast<int>(call.integer("offset", logits.keys.length - logits.queries.length));
    relative.scores = tables.against<T, Factor>(call, logits.q, tables.p_k);
    return tables;
  }

  int width() const { return static_cast<int>(rows.length); }
  /// x table^T for every query, in the workspace.
  template <class T, class Factor>
  Rows against(Call& call, const Rows& x, const Rows& table) const {
    const OutputRows products = by_row(call);
    multiply_rows<T, Factor>(call, {.a = x, .b = table, .rows = logits.queries, .output = products});
    return read_back(products);
  }
  /// Workspace [queries, rows of a table].
  OutputRows by_row(Call& call) const { return call.workspace_rows(logits.queries, width()); }
};

/// The weights of each row of the table summed, then times p_v.
struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    const Tables tables = Tables::of<T, Factor>(call);
    const Logits& logits = tables.logits;
    const Rows v = call.rows("v");
    const OutputRows weights = tables.by_row(call), of_values = call.workspace_rows(logits.queries, v.stored);
    attend_from_statistics<T, Factor>(call, logits, v, of_values, weights);
    dense<T, Factor>(call, {.tokens = logits.queries,
                            .x = read_back(weights),
                            .w = {tables.p_v, tables.width()},
                            .addend = read_back(of_values),
                            .y = call.output_rows("o")});
  }
};

/// With w_ir and g_ir the weights and the gradients of the logits summed over the keys of row r: grad_p_v = w^T grad_o,
/// grad_p_k = scale g^T q, and grad_q is the gradient of attention plus scale g p_k.
struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    Tables tables = Tables::of<T, Factor>(call);
    Logits& logits = tables.logits;
    const Rows grad_o = call.rows("cotangent.o");
    logits.relative.gradients = tables.against<T, Factor>(call, grad_o, tables.p_v);
    const OutputRows weights = tables.by_row(call), gradients = tables.by_row(call),
                     by_keys = call.workspace_rows(logits.queries, logits.q.stored);
    attend_backward<T, Factor>(call, logits,
                               {.v = call.rows("v"),
                                .grad_o = grad_o,
                                .grad_q = by_keys,
                                .grad_k = call.output_rows("gradient.k"),
                                .grad_v = call.output_rows("gradient.v"),
                                .grad_logits_by_row = gradients,
                                .weights_by_row = weights});
    dense<T, Factor>(call, {.tokens = logits.queries,
                            .x = read_back(gradients),
                            .w = {tables.p_k, tables.width()},
                            .factor = logits.scale,
                            .addend = read_back(by_keys),
                            .y = call.output_rows("gradient.q")});
    multiply_columns<T, Factor>(call, logits.queries, read_back(gradients), logits.q,
                                call.output_rows_of_sequence("gradient.p_k"), logits.scale);
    multiply_columns<T, Factor>(call, logits.queries, read_back(weights), grad_o,
                                call.output_rows_of_sequence("gradient.p_v"));
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  constexpr const char* can = "d <= 256; m <= 256; hidden_nan == true";
  constexpr const char* gradient = "d <= 256; m <= 256; hidden_nan == true; groups == heads";
  return Kernels("positional.shaw_relative")
      .value<Value>("bucketed_values", {.can = can})
      .gradient<Gradient>("bucketed_values", {.can = gradient})
      .rows();
}

}  // namespace attest::cuda::positional::shaw_relative
