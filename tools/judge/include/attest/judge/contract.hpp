// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attest/judge/candidate.hpp"
#include "attest/judge/layout.hpp"
#include "attest/judge/options.hpp"
#include "attest/judge/report.hpp"

namespace attest::judge {

/// Outputs of a kernel for one batch, or why there are none.
struct Answers {
  struct Answer {
    std::string call;             // how the call differed from the first: "repeated: "; empty for the first
    std::vector<Arrays> outputs;  // per problem
  };
  Status status = Status::pass;
  std::string message;          // why the status is not pass
  std::vector<Answer> answers;  // those that differ, in the order of the calls
  bool refused = false;         // the kernel returned an error in the first call
};

/// Where outputs come from: calls of a kernel, or files.
struct Source {
  std::function<Answers(const Batch& batch, const golden::GoldenCase& first)> answers;  // `first` case of the batch
};

/// Calls of a candidate's kernel. Keeps references to what it is given, options excepted.
///
/// Tier T0: a batch is called three times: against the guard behind each tensor, again with other bytes in the outputs,
/// against the guard in front where earlier calls had their tensors (a host that does not place outputs is called
/// twice). It fails where the kernel returned an error, wrote outside of its outputs, left one of their elements
/// unwritten, or answered the same call differently and did not say "deterministic == false"; a kernel that dies or
/// hangs has crashed; without its device the verdict is invalid.
Source calls_of(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile,
                const CheckOptions& options);

/// The calls of a regime: the first and one of the two others, which the case's seed says; with `options.single_calls`
/// one of the three.
Source regime_calls_of(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile,
                       const CheckOptions& options);

/// Two calls: from the thread of all other calls, and from a second one unless the kernel says "any_thread == false".
/// Bits may differ between the two: libraries keep settings and pools per thread.
Source last_calls_of(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile,
                     const CheckOptions& options);

/// One call, where the contract has been judged.
Source single_calls_of(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile,
                       const CheckOptions& options);

/// In front of messages about the second of the last calls.
inline constexpr const char* kFromSecondThread = "called from a second thread: ";

/// Options of one call with that batch: tensors placed against a guard, outputs filled with `poison` before it. The
/// time limit grows with the work.
CallOptions call_options(const Batch& batch, const Kernel& kernel, const CheckOptions& options, Placement placement,
                         unsigned char poison);

/// Bytes that outputs are filled with before a call. A tensor filled with either holds NaN in every floating-point
/// format, and the two differ, so that what a kernel reads from its own output changes its answer.
inline constexpr unsigned char kPoison[] = {0xff, 0xfe};

}  // namespace attest::judge
