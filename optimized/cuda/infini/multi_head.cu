// SPDX-License-Identifier: MIT
#include "attest/cuda/segments.hpp"

namespace attest::cuda::infini::multi_head {
namespace {

/// What a dense layer multiplies by, as a state that tokens read: x w is w^T x_i for every token i. A state is float, whatever is stored.
template <class T>
__global__ __launch_bounds__(kThreads) void widen(Rows w, State state) {
  const int sequence = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.z);
  for (int i = static_cast<int>(threadIdx.x); i < state.rows * state.columns; i += kThreads) {
    const int row = i / state.columns, column = i % state.columns;
    *state.at(sequence, head, row, column) = to_float(static_cast<const T*>(w.data)[w.place.at(sequence, head, row, column)]);
  }
}

/// The weights [own heads, rows, columns] of the input `name`.
template <class T>
State weights(Call& call, const char* name, int sequences, int rows) {
  const Rows w = call.rows_of_own_heads(name);
  const Index size = static_cast<Index>(rows) * w.stored;
  State state{.rows = rows, .columns = w.stored};
  state.place = {.sequence = call.heads() * size, .head = size, .row = w.stored, .column = 1};
  state.matrix = call.workspace<float>(sequences * call.heads() * size);
  call.launch(widen<T>, {sequences, 1, call.heads()}, kThreads, 0, w, state);
  return state;
}

/// Projections of every head, infini.segment_attention of every head, and one product with w_o: the heads' outputs lie side by side.
struct Loop {
  template <class T, class Factor>
  static void run(Call& call) {
    const int heads = static_cast<int>(call.input("beta")->shape[2]);
    call.split_heads(heads);
    Segments x(call, "x");
    const Rows tokens = call.rows("x");
    const int sequences = x.tokens.count;
    const auto projected = [&](const char* name) {
      const State w = weights<T>(call, name, sequences, tokens.stored);
      const Answers y = call.workspace_rows(x.tokens, w.columns);
      read_state<T, Factor>(call, {.a = tokens, .tokens = x.tokens, .answers = y}, w);
      return read_back(y);
    };
    x.q = projected("w_q");
    x.k = projected("w_k");
    x.v = projected("w_v");
    x.beta = call.rows_of_own_heads("beta");
    x.scale = x.default_scale();
    const int d = x.q.stored, m = x.v.stored;
    x.initial = call.initial_of_own_heads("memory", "z", d, m);
    const Answers a = call.workspace_rows(x.tokens, m);
    attend_by_segments<T, Factor>(call, x, call.choice("update") == "delta", call.final_of_own_heads("memory", "z", d, m), a);

    State w_o = weights<T>(call, "w_o", sequences, m);
    call.split_heads(1);
    Rows together = read_back(a);
    together.stored = w_o.rows = heads * m;
    together.place.head = heads * m;
    w_o.place.head *= heads;
    read_state<T, Factor>(call, {.a = together, .tokens = x.tokens, .answers = call.answers("o")}, w_o);
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("infini.multi_head").value<Loop>("loop", {.can = "d <= 256; m <= 256"}).rows();
}

}  // namespace attest::cuda::infini::multi_head
