// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/choice/none_or_rotary.hpp"
#include "attest/cuda/gate.hpp"
#include "attest/cuda/linear.hpp"
#include "attest/cuda/positions.hpp"
#include "attest/cuda/softmax_attention.hpp"

/// Infini-attention: a memory of earlier segments beside softmax attention inside the own one.

namespace attest::cuda {

/// The operands of both branches. A segment is a chunk, of any length: its own tokens meet in the local branch alone.
struct Segments {
  Rows q{}, k{}, v{}, beta{};
  Map map = Map::elu_plus_one;
  Sequences tokens{}, segments{};
  State initial{};
  Division division{true};
  float scale = 1;
  bool rotated = false;  // queries and keys of the local branch are rotated
  Index offset = 0;      // of the first token

  /// Sets what does not depend on the source of queries, keys and values; the input named `input` has the tokens.
  Segments(const Call& call, const char* input)
      : tokens(call.sequences("n", input, kTile)),
        segments(tokens),
        rotated(call.choice<choice::none_or_rotary>("position") == choice::none_or_rotary::rotary) {
    const Index longest = std::max<Index>(tokens.length, 1);
    segments.chunk = static_cast<int>(std::min(call.integer("segment", longest), longest));
  }
  float default_scale() const { return static_cast<float>(1 / std::sqrt(static_cast<double>(q.stored))); }

  Rows phi(Rows x) const {
    x.map = map;
    return x;
  }
  Rows values_and_ones() const {
    Rows rows = v;
    rows.ones = true;
    return rows;
  }
  /// The product of queries with the memory from before their segment.
  Product read(const OutputRows& output) const {
    return {.a = phi(q), .order = Order::outside, .tokens = segments, .output = output};
  }
  Product retrieve(const OutputRows& output) const {
    Product p = read(output);
    p.division = division;
    return p;
  }
};

/// The local branch: queries and keys as they are, or rotated by their positions into the workspace, and softmax
/// attention, causal inside each segment.
template <class T>
struct Local {
  Sequences tokens;  // of blocks that turn
  Rows rotations{};
  Logits logits;

  Local(Call& call, const Segments& x)
      : tokens(x.tokens),
        logits{.q = x.q,
               .k = x.k,
               .queries = x.tokens,
               .keys = x.tokens,
               .scale = x.scale,
               .causal = true,
               .segment = x.segments.chunk} {
    if (!x.rotated) return;
    tokens.chunk = kPositionRows;
    rotations = Rotations{.frequencies = {std::log2(10000.0), x.q.stored / 2.0}, .start = x.offset}.table(call, tokens,
                                                                                                          x.q.stored);
    for (Rows* rows : {&logits.q, &logits.k}) {
      const OutputRows rotated = call.workspace_rows(tokens, rows->stored);
      launch_by_chunks(call, rotate<T>, tokens, false, 1.0f, rotations, *rows, rotated);
      *rows = read_back(rotated);
    }
  }
  /// The gradient with respect to rotated rows becomes that with respect to the rows before rotation.
  void rotate_back(Call& call, const OutputRows& x) const {
    if (rotations.data) launch_by_chunks(call, rotate<T>, tokens, false, -1.0f, rotations, read_back(x), x);
  }
};

/// o = sigma(beta) a_mem + (1 - sigma(beta)) a_dot
template <class T, class Factor>
void mix_with_local(Call& call, const Segments& x, const OutputRows& a_mem, const OutputRows& o) {
  const OutputRows a_dot = call.workspace_rows(x.tokens, x.v.stored);
  attend_online<T, Factor>(call, Local<T>(call, x).logits, x.v, a_dot);
  Sequences rows = x.tokens;
  rows.chunk = kGateRows;
  gate<T>(call, rows, x.beta, read_back(a_mem), read_back(a_dot), o);
}

/// Segment after segment with the memory in shared memory: first the outputs, then the update, by the delta rule or
/// not.
template <class T, class Factor>
void attend_by_segments(Call& call, const Segments& x, bool delta, const State& final, const OutputRows& o) {
  const OutputRows a_mem = call.workspace_rows(x.tokens, x.v.stored);
  Product p = x.retrieve(a_mem);
  p.b = x.phi(x.k);
  p.c = x.v;
  p.initial = x.initial;
  p.final = final;
  if (delta) {
    p.targets = x.v;
    p.residuals = call.workspace_rows(x.tokens, x.v.stored);
    p.c = read_back(p.residuals);
  }
  outputs_by_chunks<T, Factor>(call, p);
  mix_with_local<T, Factor>(call, x, a_mem, o);
}

}  // namespace attest::cuda
