// SPDX-License-Identifier: MIT
// How long the judge waits for another process. Private to the judge.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>

namespace attest::judge::protocol {

using Clock = std::chrono::steady_clock;

/// When waiting ends; without arguments never.
class Deadline {
public:
  Deadline() = default;
  Deadline(Clock::time_point end) : end_(end) {}
  /// For what a process is to do within `limit` from now. It gets longer where the machine has too much else to do: as
  /// long as some thread of it wants a processor or waits for a disk, and all together they have used less than `limit`
  /// of processor time, up to `kMostLimits` times the limit. So a kernel that waits for ever ends after `limit`, and
  /// one that loops for ever when it has run for `limit`.
  Deadline(pid_t process, Clock::duration limit);

  /// Milliseconds until this is to be asked again, as poll() takes them: 0 where the time is over, -1 where it never
  /// is.
  int left() const;

  static constexpr int kMostLimits = 10;

private:
  std::optional<Clock::time_point> end_{};
  pid_t process_ = -1;
  Clock::duration limit_{};
  std::optional<Clock::duration> used_before_{};  // of processors, by that process
};

}  // namespace attest::judge::protocol
