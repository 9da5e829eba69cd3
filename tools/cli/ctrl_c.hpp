// SPDX-License-Identifier: MIT
#pragma once

#include <csignal>

#include "attest/judge/options.hpp"

namespace attest::cli {

/// While it lives, the first Ctrl-C (SIGINT) asks the judge to end, and the report says what was found until then; the
/// second one ends the process. Where the options have a job, the first one does: its journal has what is finished.
class CtrlC {
public:
  /// Makes `options.stop` ask for it as well.
  explicit CtrlC(judge::CheckOptions& options);
  ~CtrlC();
  CtrlC(const CtrlC&) = delete;
  CtrlC& operator=(const CtrlC&) = delete;

  /// The exit status: that of the report, or 130, as a shell says it, after Ctrl-C.
  int status(int of_report) const;

private:
  struct sigaction before_{};
  bool caught_;
};

}  // namespace attest::cli
