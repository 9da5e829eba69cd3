// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "attest/judge/options.hpp"

namespace attest::judge {

/// Shows how many of all are begun; called from many threads. A job tells of its items itself: then nothing is shown.
class Steps {
public:
  Steps(const Progress& progress, std::size_t total, const jobs::Job* job = nullptr)
      : progress_(job ? Progress() : progress), total_(total) {}

  void next(const std::string& current) { show(1, current); }
  /// Says more of one that was begun.
  void more(const std::string& current) { show(0, current); }
  void finish() {
    if (progress_) progress_(total_, total_, "");
  }

private:
  void show(std::size_t begun, const std::string& current) {
    const std::lock_guard lock(mutex_);
    const std::size_t done = std::exchange(done_, done_ + begun);
    if (progress_) progress_(done, total_, current);
  }

  const Progress progress_;
  const std::size_t total_;
  std::size_t done_ = 0;
  std::mutex mutex_;
};

}  // namespace attest::judge
