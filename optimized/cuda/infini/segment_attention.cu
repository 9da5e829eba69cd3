// SPDX-License-Identifier: MIT
#include <algorithm>

#include "attest/cuda/gate.hpp"
#include "attest/cuda/linear.hpp"
#include "attest/cuda/positions.hpp"
#include "attest/cuda/softmax_attention.hpp"

namespace attest::cuda::infini::segment_attention {
namespace {

/// What both branches read. A segment is a chunk, of any length: its own tokens meet in the local branch alone.
struct Head {
  Rows q, k, v, phi_q, phi_k, beta;
  Sequences tokens, segments;
  State initial;
  Division division;

  explicit Head(const Call& call)
      : q(call.rows("q")),
        k(call.rows("k")),
        v(call.rows("v")),
        phi_q(call.rows("q", call.map("feature_map"))),
        phi_k(call.rows("k", call.map("feature_map"))),
        beta(call.rows_of_sequence("beta")),
        tokens(call.sequences("n", "q", kTile)),
        segments(tokens),
        initial(call.initial("memory", "z", q.stored, v.stored)),
        division{true, 0, call.choice("zero_denominator") == "nan"} {
    const Index longest = std::max<Index>(tokens.length, 1);
    segments.chunk = static_cast<int>(std::min(call.integer("segment", longest), longest));
  }

  Rows values_and_ones() const {
    Rows rows = v;
    rows.ones = true;
    return rows;
  }
  /// What queries read in the memory from before their segment.
  Product read(const Answers& answers) const { return {.a = phi_q, .order = Order::outside, .tokens = segments, .answers = answers}; }
  Product retrieve(const Answers& answers) const {
    Product p = read(answers);
    p.division = division;
    return p;
  }
};

/// The local branch: queries and keys as they are, or turned by their positions in the workspace, and softmax attention, causal inside
/// each segment.
template <class T>
struct Local {
  Sequences tokens;  // of blocks that turn
  Rows turns{};
  Logits logits;

  Local(Call& call, const Head& head)
      : tokens(call.sequences("n", "q", kPositionRows)),
        logits{.q = head.q,
               .k = head.k,
               .queries = head.tokens,
               .keys = head.tokens,
               .scale = static_cast<float>(call.real("scale", 1 / std::sqrt(static_cast<double>(head.q.stored)))),
               .causal = true,
               .segment = head.segments.chunk} {
    if (call.choice("position") == "none") return;
    turns = Turns{.frequencies = {std::log2(10000.0), head.q.stored / 2.0}, .start = call.integer("offset")}.table(call, tokens, head.q.stored);
    for (Rows* x : {&logits.q, &logits.k}) {
      const Answers turned = call.workspace_rows(tokens, x->stored);
      call.launch(rotate<T>, of_chunks(call, tokens), kThreads, 0, tokens, false, 1.0f, turns, *x, turned);
      *x = read_back(turned);
    }
  }
  /// The gradient by what was turned becomes that by what was there before.
  void turn_back(Call& call, const Answers& x) const {
    if (turns.data) call.launch(rotate<T>, of_chunks(call, tokens), kThreads, 0, tokens, false, -1.0f, turns, read_back(x), x);
  }
};

/// o = sigma(beta) a_mem + (1 - sigma(beta)) a_dot
template <class T, class Factor>
void mix_with_local(Call& call, const Head& head, const Answers& a_mem) {
  const Answers a_dot = call.workspace_rows(head.tokens, head.v.stored);
  attend_online<T, Factor>(call, Local<T>(call, head).logits, head.v, a_dot);
  gate<T>(call, call.sequences("n", "q", kGateRows), head.beta, read_back(a_mem), read_back(a_dot), call.answers("o"));
}

/// Segment after segment with the memory in shared memory: answers first, then the update.
struct Loop {
  template <class T, class Factor>
  static void run(Call& call) {
    const Head head(call);
    const Answers a_mem = call.workspace_rows(head.tokens, head.v.stored);
    Product p = head.retrieve(a_mem);
    p.b = head.phi_k;
    p.c = head.v;
    p.initial = head.initial;
    p.final = call.final("memory", "z", head.q.stored, head.v.stored);
    if (call.choice("update") == "delta") {
      p.targets = head.v;
      p.news = call.workspace_rows(head.tokens, head.v.stored);
      p.c = read_back(p.news);
    }
    answer_by_chunks<T, Factor>(call, p);
    mix_with_local<T, Factor>(call, head, a_mem);
  }
};

/// Linear updates add up: totals of the segments, their prefix sums, then all segments at once.
struct ParallelLinear {
  template <class T, class Factor>
  static void run(Call& call) {
    const Head head(call);
    const Answers a_mem = call.workspace_rows(head.tokens, head.v.stored);
    const State before = states_of<T, Factor>(call, head.phi_k, head.values_and_ones(), Order::past, head.segments, head.initial,
                                              call.final("memory", "z", head.q.stored, head.v.stored));
    answer_from<T, Factor>(call, head.retrieve(a_mem), before);
    mix_with_local<T, Factor>(call, head, a_mem);
  }
};

/// The gate shares grad_o between the branches. The division makes [G | e] of the memory's share. With the memory [M | z] before a segment and
/// the gradient [M' | z'] by that behind it, which is what later segments read in it, sum phi(q_t) [G | e]_t^T, and what is given by the last:
/// grad_q_t = phi'(q_t) ([M | z] [G | e]_t), grad_k_t = phi'(k_t) ([M' | z'] [v_t | 1]) and grad_v_t = M'^T phi(k_t), each beside the local one.
struct GradientOfLinear {
  template <class T, class Factor>
  static void run(Call& call) {
    const Head head(call);
    const Local<T> local(call, head);
    const int d = head.q.stored, m = head.v.stored;
    const auto room = [&](int width) { return call.workspace_rows(head.tokens, width); };

    const State before = states_of<T, Factor>(call, head.phi_k, head.values_and_ones(), Order::past, head.segments, head.initial, {});
    const Answers a_mem = room(m), sums = room(m + 1), a_dot = room(m), grad_mem = room(m), grad_dot = room(m);
    answer_from<T, Factor>(call, head.retrieve(a_mem), before);
    answer_from<T, Factor>(call, head.read(sums), before);
    attend_online<T, Factor>(call, local.logits, head.v, a_dot);
    gate_backward<T>(call, call.sequences("n", "q", kGateRows), head.beta, read_back(a_mem), read_back(a_dot), call.rows("cotangent.o"), grad_mem,
                     grad_dot, call.answers_of_sequence("gradient.beta"));

    const AttentionBackward nearby{.v = head.v, .grad_o = read_back(grad_dot), .grad_q = room(d), .grad_k = room(d), .grad_v = room(m)};
    attend_backward<T, Factor>(call, local.logits, nearby);
    local.turn_back(call, nearby.grad_q);
    local.turn_back(call, nearby.grad_k);

    const Rows G = cotangents<T>(call, head.tokens, sums, read_back(grad_mem), 0);
    const State behind = states_of<T, Factor>(call, head.phi_q, G, Order::future, head.segments, call.initial("cotangent.memory", "cotangent.z", d, m),
                                              call.final("gradient.memory", "gradient.z", d, m));
    Product p{.a = G, .order = Order::outside, .tokens = head.segments, .answers = call.answers("gradient.q"), .sloped = head.phi_q,
              .addend = read_back(nearby.grad_q)};
    answer_from<T, Factor>(call, p, before.transposed());
    p.a = head.values_and_ones();
    p.answers = call.answers("gradient.k");
    p.sloped = head.phi_k;
    p.addend = read_back(nearby.grad_k);
    answer_from<T, Factor>(call, p, behind.transposed());
    answer_from<T, Factor>(call, {.a = head.phi_k, .order = Order::outside, .tokens = head.segments, .answers = call.answers("gradient.v"),
                                  .addend = read_back(nearby.grad_v)}, behind);
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  constexpr const char* widths = "d <= 256; m <= 256";
  return Kernels("infini.segment_attention")
      .value<Loop>("loop", {.can = widths})
      .value<Loop>("loop", {.can = widths, .layout = "thd"})
      .value<ParallelLinear>("parallel_linear", {.can = widths})
      .value<ParallelLinear>("parallel_linear", {.can = widths, .layout = "thd"})
      .gradient<GradientOfLinear>("parallel_linear", {.can = widths})
      .gradient<GradientOfLinear>("parallel_linear", {.can = widths, .layout = "thd"})
      .rows();
}

}  // namespace attest::cuda::infini::segment_attention
