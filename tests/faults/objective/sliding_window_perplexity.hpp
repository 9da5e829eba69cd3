// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/objective/sliding_window_perplexity.hpp"
#include "faults/fault.hpp"

namespace attest::faults::objective::sliding_window_perplexity {

namespace right = attest::reference::objective::sliding_window_perplexity;
namespace shared = attest::reference::objective::perplexity;
using right::In;
using right::Out;
using right::Window;

inline Index tokens_of(const In& in) { return in.tokens.extent(0); }

inline std::vector<Window> windows_of(const In& in) { return right::windows_of(tokens_of(in), in.window, in.stride); }

/// The equation over other windows. Tokens that none of them holds are not scored.
inline void through(const In& in, const Out& out, std::vector<Window> windows) {
  for (Window& window : windows) window.scored = std::max(window.scored, window.first);
  right::over(in, out, windows);
}

/// The equation with each window changed: `change(window)`.
template <class F>
void with_windows(const In& in, const Out& out, F&& change) {
  auto windows = windows_of(in);
  for (Window& window : windows) change(window);
  through(in, out, windows);
}

inline void double_count(const In& in, const Out& out) {
  with_windows(in, out, [](Window& window) {
    if (window.scored > 0) window.scored = std::max(window.first, window.scored - 1);
  });
}

inline void context_scored(const In& in, const Out& out) {
  with_windows(in, out, [](Window& window) { window.scored = window.first; });
}

inline void boundary_token_dropped(const In& in, const Out& out) {
  with_windows(in, out, [](Window& window) { window.scored += window.scored > 0; });
}

inline void start_once(const In& in, const Out& out) {
  with_windows(in, out, [](Window& window) { window.scored += window.scored > 0 && window.scored == window.first; });
}

inline void whole_context(const In& in, const Out& out) {
  with_windows(in, out, [](Window& window) { window.first = 0; });
}

inline void skips_tail(const In& in, const Out& out) {
  auto windows = windows_of(in);
  if (const Window& last = windows.back(); last.scored > 0 && last.end - last.scored < in.stride) windows.pop_back();
  through(in, out, windows);
}

/// e_0 = min(s, T)
inline void first_window_short(const In& in, const Out& out) {
  std::vector<Window> windows;
  for (Index scored = 0; scored < tokens_of(in);) {
    const Index end = std::min(scored + in.stride, tokens_of(in));
    windows.push_back({std::max<Index>(0, end - in.window), scored, end});
    scored = end;
  }
  through(in, out, windows);
}

inline void stride_off_by_one(const In& in, const Out& out) {
  through(in, out, right::windows_of(tokens_of(in), in.window, in.stride + 1));
}

inline void stride_ignored(const In& in, const Out& out) {
  through(in, out, right::windows_of(tokens_of(in), in.window, in.window));
}

inline void window_off_by_one(const In& in, const Out& out) {
  through(in, out, right::windows_of(tokens_of(in), std::max<Index>(1, in.window - 1), in.stride));
}

inline Number mean(const std::vector<Number>& losses) {
  return sum(static_cast<Index>(losses.size()), [&](Index i) { return losses[static_cast<std::size_t>(i)]; }) /
         Number(static_cast<Index>(losses.size()));
}

inline void window_mean(const In& in, const Out& out) {
  right::windows(in, out);
  std::vector<Number> of_windows;
  for (const Window& window : windows_of(in)) of_windows.push_back(exp(mean(right::losses_of(in, window))));
  out.ppl() = mean(of_windows);
}

inline void window_nll_mean(const In& in, const Out& out) {
  std::vector<Number> of_windows;
  for (const Window& window : windows_of(in)) of_windows.push_back(mean(right::losses_of(in, window)));
  right::write(out, of_windows);
}

inline void sum_not_mean(const In& in, const Out& out) {
  right::windows(in, out);
  out.nll() = out.nll() * Number(tokens_of(in));
  out.ppl() = exp(out.nll());
}

inline void targets_not_shifted(const In& in, const Out& out) {
  std::vector<Number> losses;
  for (const Window& window : windows_of(in)) {
    const Matrix logits = right::forward(in, window);
    for (Index j = window.scored; j < window.end; ++j) {
      const Row x = j == window.first ? in.start : logits[j - window.first - 1];
      losses.push_back(shared::surprisal(x, in.tokens(std::max<Index>(0, j - 1))));
    }
  }
  right::write(out, losses);
}

inline void values_drift(const In& in, const Out& out, const Number& c) {
  In other = in;
  const auto values = matrix_of(in.values.extent(0), in.values.extent(1),
                                [&](Index j, Index a) { return in.values(j, a) * (Number(1) + c); });
  other.values = values.view();
  right::windows(other, out);
}

}  // namespace attest::faults::objective::sliding_window_perplexity
