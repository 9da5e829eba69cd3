// SPDX-License-Identifier: MIT
#include "attest/cuda/segments.hpp"
#include "attest/spec/infini/segment_attention.hpp"

namespace attest::cuda::infini::segment_attention {
namespace {

using spec::infini::segment_attention::Update;

Segments segments_of(const Call& call) {
  Segments x(call, "q");
  x.q = call.rows("q");
  x.k = call.rows("k");
  x.v = call.rows("v");
  x.beta = call.rows_of_sequence("beta");
  x.map = call.map("feature_map");
  x.initial = call.initial("memory", "z", x.q.stored, x.v.stored);
  x.division.nan_of_zero = call.choice<choice::zero_or_nan>("zero_denominator") == choice::zero_or_nan::nan;
  x.scale = static_cast<float>(call.real("scale", x.default_scale()));
  x.offset = call.integer("offset");
  return x;
}

/// The memory and z after the last token.
State final(const Call& call, const Segments& x) { return call.final("memory", "z", x.q.stored, x.v.stored); }

struct Loop {
  template <class T, class Factor>
  static void run(Call& call) {
    const Segments x = segments_of(call);
    attend_by_segments<T, Factor>(call, x, call.choice<Update>("update") == Update::delta, final(call, x),
                                  call.output_rows("o"));
  }
};

/// Linear updates add up: totals of the segments, their prefix sums, then all segments at once.
struct ParallelLinear {
  template <class T, class Factor>
  static void run(Call& call) {
    const Segments x = segments_of(call);
    const OutputRows a_mem = call.workspace_rows(x.tokens, x.v.stored);
    const State before =
        states_of<T, Factor>(call, x.phi(x.k), x.values_and_ones(), Order::past, x.segments, x.initial, final(call, x));
    outputs_from_states<T, Factor>(call, x.retrieve(a_mem), before);
    mix_with_local<T, Factor>(call, x, a_mem, call.output_rows("o"));
  }
};

/// The gate splits grad_o between the branches. [G | e] is the gradient of the memory's part through the division. [M |
/// z] is the memory before a segment; [M' | z'], the gradient of the memory after it, is the given one plus the sum of
/// phi(q_t) [G | e]_t^T over later segments. Then grad_q_t = phi'(q_t) ([M | z] [G | e]_t), grad_k_t = phi'(k_t)
/// ([M' | z'] [v_t | 1]) and grad_v_t = M'^T phi(k_t), each plus the gradient of the local branch.
struct GradientOfLinear {
  template <class T, class Factor>
  static void run(Call& call) {
    const Segments x = segments_of(call);
    const Local<T> local(call, x);
    const int d = x.q.stored, m = x.v.stored;
    const auto scratch_rows = [&](int width) { return call.workspace_rows(x.tokens, width); };

    const State before =
        states_of<T, Factor>(call, x.phi(x.k), x.values_and_ones(), Order::past, x.segments, x.initial, {});
    const OutputRows a_mem = scratch_rows(m), sums = scratch_rows(m + 1), a_dot = scratch_rows(m),
                     grad_mem = scratch_rows(m), grad_dot = scratch_rows(m);
    outputs_from_states<T, Factor>(call, x.retrieve(a_mem), before);
    outputs_from_states<T, Factor>(call, x.read(sums), before);
    attend_online<T, Factor>(call, local.logits, x.v, a_dot);
    gate_backward<T>(call, call.sequences("n", "q", kGateRows), x.beta, read_back(a_mem), read_back(a_dot),
                     call.rows("cotangent.o"), grad_mem, grad_dot, call.output_rows_of_sequence("gradient.beta"));

    const AttentionBackward local_gradients{.v = x.v,
                                            .grad_o = read_back(grad_dot),
                                            .grad_q = scratch_rows(d),
                                            .grad_k = scratch_rows(d),
                                            .grad_v = scratch_rows(m)};
    attend_backward<T, Factor>(call, local.logits, local_gradients);
    local.rotate_back(call, local_gradients.grad_q);
    local.rotate_back(call, local_gradients.grad_k);

    const Rows G = division_gradients<T>(call, x.tokens, sums, read_back(grad_mem), 0);
    const State after = states_of<T, Factor>(call, x.phi(x.q), G, Order::future, x.segments,
                                             call.initial("cotangent.memory", "cotangent.z", d, m),
                                             call.final("gradient.memory", "gradient.z", d, m));
    Product p{.a = G,
              .order = Order::outside,
              .tokens = x.segments,
              .output = call.output_rows("gradient.q"),
              .sloped = x.phi(x.q),
              .addend = read_back(local_gradients.grad_q)};
    outputs_from_states<T, Factor>(call, p, before.transposed());
    p.a = x.values_and_ones();
    p.output = call.output_rows("gradient.k");
    p.sloped = x.phi(x.k);
    p.addend = read_back(local_gradients.grad_k);
    outputs_from_states<T, Factor>(call, p, after.transposed());
    outputs_from_states<T, Factor>(call,
                                   {.a = x.phi(x.k),
                                    .order = Order::outside,
                                    .tokens = x.segments,
                                    .output = call.output_rows("gradient.v"),
                                    .addend = read_back(local_gradients.grad_v)},
                                   after);
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  constexpr const char* widths = "d <= 256; m <= 256";
  return Kernels("infini.segment_attention")
      .value<Loop>("loop", {.can = widths, .layouts = Layouts::both})
      .value<ParallelLinear>("parallel_linear", {.can = widths, .layouts = Layouts::both})
      .gradient<GradientOfLinear>("parallel_linear", {.can = widths, .layouts = Layouts::both})
      .rows();
}

}  // namespace attest::cuda::infini::segment_attention
