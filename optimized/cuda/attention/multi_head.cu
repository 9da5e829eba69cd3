// SPDX-License-Identifier: MIT
#include "attest/cuda/multi_head.hpp"
#include "attest/cuda/tiles.hpp"

namespace attest::cuda::attention::multi_head {
namespace {

MultiHead operands(Call& call) {
  const Weights w_q = weights_of_own_heads(call, "w_q");
  MultiHead a{.x_q = call.rows("x_q"),
              .x_k = call.rows("x_k"),
              .x_v = call.rows("x_v"),
              .queries = call.sequences("n", "x_q", kTile),
              .keys = call.sequences("s", "x_k", kTile),
              .w_q = w_q,
              .w_k = weights_of_own_heads(call, "w_k"),
              .w_v = weights_of_own_heads(call, "w_v"),
              .w_o = weights_of_own_heads(call, "w_o"),
              .scale = static_cast<float>(call.real("scale", 1 / std::sqrt(static_cast<double>(w_q.width())))),
              .causal = call.integer("causal") != 0};
  const OwnHeads own(call, a.heads());
  a.seen = seen_by_mask(call, a.queries, a.keys, a.shared(call.rows("mask")));
  return a;
}

/// Head by head, then the concatenation times W_O.
struct Loop {
  template <class T, class Factor>
  static void run(Call& call) {
    const MultiHead a = operands(call);
    a.project_output<T, Factor>(call, a.attend<T, Factor>(call, a.project<T, Factor>(call)), {}, call.output_rows("o"));
  }
};

/// Each head through its block of W_O, then the sum over the heads.
struct SumOfHeads {
  template <class T, class Factor>
  static void run(Call& call) {
    const MultiHead a = operands(call);
    a.project_output<T, Factor>(call, a.attend<T, Factor>(call, a.project<T, Factor>(call)), {}, call.output_rows("o"),
                                true);
  }
};

/// to = [w[0] | w[1] | ..]
template <class T>
__global__ __launch_bounds__(kThreads) void concatenate_columns(Weights w, Rows to, T* data) {
  const int sequence = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.z), heads = w.rows.place.own,
            width = w.rows.stored;
  for (int i = static_cast<int>(threadIdx.x); i < w.height * to.stored; i += kThreads) {
    const int row = i / to.stored, column = i % to.stored;
    data[to.place.at(sequence, head, row, column)] = static_cast<const T*>(
        w.rows.data)[w.rows.place.at(sequence, head * heads + column / width, row, column % width)];
  }
}

/// One projection for all heads, split by columns.
struct Packed {
  template <class T, class Factor>
  static Rows projected(Call& call, const Sequences& tokens, const Rows& x, const Weights& w) {
    const int heads = w.rows.place.own, columns = heads * w.width();
    const Index size = static_cast<Index>(w.height) * columns;
    T* data = call.workspace<T>(tokens.count * call.heads() * size);
    const Rows packed{.data = data,
                      .place = {.sequence = call.heads() * size, .head = size, .row = columns, .column = 1},
                      .stored = columns};
    call.launch(concatenate_columns<T>, {tokens.count, 1, call.heads()}, kThreads, 0, w, packed, data);
    const OutputRows y = call.workspace_rows(tokens, columns);
    dense<T, Factor>(call, {.tokens = tokens, .x = x, .w = {packed, w.height}, .y = y});
    Rows rows = read_back(y);
    rows.stored = w.width();
    rows.place.own = heads;
    rows.place.own_head = w.width();
    return rows;
  }
  template <class T, class Factor>
  static void run(Call& call) {
    const MultiHead a = operands(call);
    const Projections p{projected<T, Factor>(call, a.queries, a.x_q, a.w_q),
                        projected<T, Factor>(call, a.keys, a.x_k, a.w_k),
                        projected<T, Factor>(call, a.keys, a.x_v, a.w_v)};
    a.project_output<T, Factor>(call, a.attend<T, Factor>(call, p), {}, call.output_rows("o"));
  }
};

/// Back through W_O into the attention of every head, and from there through the projections to tokens and weights.
struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    const MultiHead a = operands(call);
    const Rows grad_o = call.rows("cotangent.o");
    const Projections p = a.project<T, Factor>(call);
    const Rows head_outputs = a.attend<T, Factor>(call, p);
    const Projections grad = a.backward<T, Factor>(call, p, grad_o);
    a.token_gradient<T, Factor>(call, a.queries, grad.q, a.w_q, {}, call.output_rows("gradient.x_q"));
    a.token_gradient<T, Factor>(call, a.keys, grad.k, a.w_k, {}, call.output_rows("gradient.x_k"));
    a.token_gradient<T, Factor>(call, a.keys, grad.v, a.w_v, {}, call.output_rows("gradient.x_v"));
    a.weight_gradient<T, Factor>(call, a.queries, a.shared(a.x_q), grad.q, "gradient.w_q");
    a.weight_gradient<T, Factor>(call, a.keys, a.shared(a.x_k), grad.k, "gradient.w_k");
    a.weight_gradient<T, Factor>(call, a.keys, a.shared(a.x_v), grad.v, "gradient.w_v");
    a.weight_gradient<T, Factor>(call, a.queries, head_outputs, a.shared(grad_o), "gradient.w_o");
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  constexpr const char *can = "d <= 256; m <= 256; hidden_nan == true", *gradient = "d <= 256; m <= 256",
                       *packed = "d <= 256; m <= 256; mask == false";
  return Kernels("attention.multi_head")
      .value<Loop>("loop", {.can = can})
      .value<Loop>("loop", {.can = packed, .layouts = Layouts::thd})
      .value<Packed>("packed", {.can = can})
      .value<SumOfHeads>("sum_of_heads", {.can = can})
      .gradient<Gradient>("loop", {.can = gradient})
      .gradient<Gradient>("loop", {.can = packed, .layouts = Layouts::thd})
      .rows();
}

}  // namespace attest::cuda::attention::multi_head
