// SPDX-License-Identifier: MIT
#include "ctrl_c.hpp"

#include <unistd.h>

#include <string_view>

namespace attest::cli {
namespace {

volatile std::sig_atomic_t pressed = 0;

void press(int) {
  pressed = 1;
  constexpr std::string_view text =
      "\nattest: interrupted; the report so far follows, a second Ctrl-C ends without it\n";
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) {
  }
}

}  // namespace

CtrlC::CtrlC(judge::CheckOptions& options) : caught_(options.job == nullptr) {
  if (!caught_) return;
  options.stop = [stop = options.stop] {
    if (pressed) return judge::Stop::interrupt;
    return stop ? stop() : judge::Stop::no;
  };
  struct sigaction action{};
  action.sa_handler = press;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  ::sigaction(SIGINT, &action, &before_);
}

CtrlC::~CtrlC() {
  if (caught_) ::sigaction(SIGINT, &before_, nullptr);
}

int CtrlC::status(int of_report) const { return caught_ && pressed ? 128 + SIGINT : of_report; }

}  // namespace attest::cli
