// SPDX-License-Identifier: MIT
#include "attest/cuda/segments.hpp"
#include "attest/spec/infini/multi_head.hpp"

namespace attest::cuda::infini::multi_head {
namespace {

using spec::infini::multi_head::Update;

/// Converts the weights of a dense layer to a state: x w is w^T x_i for every token i, and a state is float, whatever
/// the tensors store.
template <class T>
__global__ __launch_bounds__(kThreads) void widen(Rows w, State state) {
  const int sequence = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.z);
  const StatePanel to(state, sequence, head);
  for (int i = static_cast<int>(threadIdx.x); i < state.rows * state.columns; i += kThreads) {
    const int row = i / state.columns, column = i % state.columns;
    *to.at(row, column) = to_float(static_cast<const T*>(w.data)[w.place.at(sequence, head, row, column)]);
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

/// infini.segment_attention of every head's projections. `a` and `w_o` hold the equation's own heads one after the
/// other; their strides count the heads of the call alone, and address the first own head.
struct Heads {
  int count, width;  // of the outputs
  Sequences tokens;
  Rows a;
  State w_o;

  template <class T, class Factor>
  static Heads of(Call& call) {
    const int count = static_cast<int>(call.input("beta")->shape[2]);
    call.split_heads(count);
    Segments x(call, "x");
    const Rows tokens = call.rows("x");
    const auto projected = [&](const char* name) {
      const State w = weights<T>(call, name, x.tokens.count, tokens.stored);
      const OutputRows y = call.workspace_rows(x.tokens, w.columns);
      read_state<T, Factor>(call, {.a = tokens, .tokens = x.tokens, .output = y}, w);
      return read_back(y);
    };
    x.q = projected("w_q");
    x.k = projected("w_k");
    x.v = projected("w_v");
    x.beta = call.rows_of_own_heads("beta");
    x.scale = x.default_scale();
    const int d = x.q.stored, m = x.v.stored;
    x.initial = call.initial_of_own_heads("memory", "z", d, m);
    const OutputRows a = call.workspace_rows(x.tokens, m);
    attend_by_segments<T, Factor>(call, x, call.choice<Update>("update") == Update::delta,
                                  call.final_of_own_heads("memory", "z", d, m), a);

    Heads heads{count, m, x.tokens, read_back(a), weights<T>(call, "w_o", x.tokens.count, m)};
    heads.a.place.head *= count;
    heads.w_o.place.head *= count;
    call.split_heads(1);
    return heads;
  }
};

/// One product: the heads' outputs side by side, times w_o as one matrix.
struct Loop {
  template <class T, class Factor>
  static void run(Call& call) {
    Heads heads = Heads::of<T, Factor>(call);
    heads.a.stored = heads.w_o.rows = heads.count * heads.width;
    read_state<T, Factor>(call, {.a = heads.a, .tokens = heads.tokens, .output = call.output_rows("o")}, heads.w_o);
  }
};

/// A product for every head, added to those of the heads before it.
struct SumOfHeads {
  template <class T, class Factor>
  static void run(Call& call) {
    const Heads heads = Heads::of<T, Factor>(call);
    Rows a = heads.a, before{};
    State w = heads.w_o;
    for (int g = 0; g < heads.count; ++g) {
      const OutputRows sum = g + 1 < heads.count ? call.workspace_rows(heads.tokens, w.columns) : call.output_rows("o");
      read_state<T, Factor>(call, {.a = a, .tokens = heads.tokens, .output = sum, .addend = before}, w);
      before = read_back(sum);
      if (!a.data) continue;  // a call that measures
      a.data = static_cast<const float*>(a.data) + heads.width;
      w.matrix += static_cast<Index>(w.rows) * w.columns;
    }
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  constexpr const char* widths = "d <= 256; m <= 256";
  return Kernels("infini.multi_head")
      .value<Loop>("loop", {.can = widths})
      .value<SumOfHeads>("sum_of_heads", {.can = widths})
      .rows();
}

}  // namespace attest::cuda::infini::multi_head
