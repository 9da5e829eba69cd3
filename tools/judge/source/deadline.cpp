// SPDX-License-Identifier: MIT
#include "deadline.hpp"

#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>

namespace attest::judge::protocol {
namespace {

/// As poll() takes them; 0 where it has passed.
int until(Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  constexpr int most = std::numeric_limits<int>::max();
  return left <= 0 ? 0 : left < most ? static_cast<int>(left) : most;
}

/// Processor time that all threads of a process have used; nothing where it has ended.
std::optional<Clock::duration> processor_time(pid_t process) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return std::nullopt;
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

/// Whether some thread of a process runs, would run if it had a processor, or waits for a disk.
bool wants_to_run(pid_t process) {
  std::error_code ended;
  const auto threads = std::filesystem::path("/proc") / std::to_string(process) / "task";
  for (std::filesystem::directory_iterator at(threads, ended), end; at != end; at.increment(ended)) {
    std::ifstream file(at->path() / "stat");
    std::string stat;
    std::getline(file, stat);  // its number, its name in parentheses, its state
    const auto name_end = stat.rfind(')');
    if (name_end == std::string::npos || name_end + 2 >= stat.size()) continue;
    if (const char state = stat[name_end + 2]; state == 'R' || state == 'D') return true;
  }
  return false;
}

}  // namespace

Deadline::Deadline(pid_t process, Clock::duration limit)
    : end_(Clock::now() + limit), process_(process), limit_(limit), used_before_(processor_time(process)) {}

int Deadline::left() const {
  if (!end_) return -1;
  if (const int milliseconds = until(*end_); milliseconds > 0) return milliseconds;
  if (!used_before_ || until(*end_ + (kMostLimits - 1) * limit_) == 0) return 0;
  const auto used = processor_time(process_);
  if (!used || *used - *used_before_ >= limit_ || !wants_to_run(process_)) return 0;
  constexpr int again = 50;  // milliseconds
  return again;
}

}  // namespace attest::judge::protocol
