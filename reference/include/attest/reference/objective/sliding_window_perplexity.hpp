// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/scaled_dot_product.hpp"
#include "attest/reference/objective/perplexity.hpp"
#include "attest/spec/objective/sliding_window_perplexity.hpp"

namespace attest::reference::objective::sliding_window_perplexity {

using In = attest::spec::objective::sliding_window_perplexity::In<Number>;
using Out = attest::spec::objective::sliding_window_perplexity::Out<Number>;

/// Tokens `first` .. `end` - 1, of which those from `scored` on are scored.
struct Window {
  Index first, scored, end;
};

/// [max(0, e_b - w), e_b), which scores from e_(b-1) on;  e_0 = min(w, T),  e_(b+1) = min(e_b + s, T)
inline std::vector<Window> windows_of(Index tokens, Index width, Index stride) {
  std::vector<Window> windows;
  for (Index scored = 0, end = std::min(width, tokens); scored < tokens;) {
    windows.push_back({std::max<Index>(0, end - width), scored, end});
    scored = end;
    end = std::min(end + stride, tokens);
  }
  return windows;
}

/// Logits of tokens first + 1 .. end - 1 from the tokens of the window before them.
inline Matrix forward(const In& in, const Window& window) {
  const Index n = window.end - window.first - 1;
  Matrix logits(n, in.values.extent(1));
  attention::scaled_dot_product::max_shift({.q = in.q.rows(window.first, n),
                                            .k = in.k.rows(window.first, n),
                                            .v = in.values.rows(window.first, n),
                                            .mask = {},
                                            .bias = {},
                                            .sink = {},
                                            .scale = {},
                                            .causal = true},
                                           {.o = logits.view()});
  return stage("token logits", std::move(logits));
}

/// The losses L(j | window) of the tokens that a window scores.
inline std::vector<Number> losses_of(const In& in, const Window& window) {
  const Matrix logits = forward(in, window);
  std::vector<Number> losses;
  for (Index j = window.scored; j < window.end; ++j) {
    const Row x = j == window.first ? in.start : logits[j - window.first - 1];
    losses.push_back(stage("token losses", perplexity::surprisal(x, perplexity::checked(in.tokens(j), x.extent(0)))));
  }
  return losses;
}

/// The mean of all losses, and e to it.
inline void write(const Out& out, const std::vector<Number>& losses) {
  Sum total;
  for (const Number& loss : losses) total.add(loss);
  out.nll() = total.result() / Number(static_cast<Index>(losses.size()));
  out.ppl() = exp(out.nll());
}

/// All losses of those windows.
inline void over(const In& in, const Out& out, const std::vector<Window>& windows) {
  std::vector<Number> losses;
  for (const Window& window : windows)
    for (Number& loss : losses_of(in, window)) losses.push_back(std::move(loss));
  write(out, losses);
}

/// nll = (1/T) sum_b sum_{e_(b-1) <= j < e_b} L(j | window b)
inline void windows(const In& in, const Out& out) {
  over(in, out, windows_of(in.tokens.extent(0), in.window, in.stride));  // C1
}

/// L(j | tokens j - w + 1 .. j) for every token
inline void stride_one(const In& in, const Out& out) {
  std::vector<Window> each;
  for (Index j = 0; j < in.tokens.extent(0); ++j) each.push_back({std::max<Index>(0, j + 1 - in.window), j, j + 1});
  over(in, out, each);
}

}  // namespace attest::reference::objective::sliding_window_perplexity
