// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace attest::judge {

/// What a run could have seen of a kernel. Nothing of it is a verdict: it says what a PASS is worth.
struct Reach {
  int calls = 0;          // whose answers were compared with true values
  int second_thread = 0;  // of these: from another thread than the rest
  int replayed = 0;       // cases that were asked again later: at the end of the run, or by `repeat`
  int law_calls = 0;      // calls that laws and properties compared with each other

  std::vector<std::string> never_varied;  // "d = 64", "causal = false": what had one value in every call
  std::vector<std::string> restricted;    // of these, what leaves a part of the equation unseen: "mask never given"

  /// A failure in so small a share of calls may have stayed unseen: with n calls and no failure, larger shares than
  /// 3 / n are excluded with 95 % confidence (Hanley and Lippman-Hand, If nothing goes wrong, is everything all right?,
  /// JAMA 249 (1983), 1743-1745). 1 where nothing was called.
  double unseen_rate() const { return calls > 3 ? 3.0 / calls : 1; }
};

}  // namespace attest::judge
