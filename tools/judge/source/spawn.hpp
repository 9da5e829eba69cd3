// SPDX-License-Identifier: MIT
// Starts this program once more. Private to the judge.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace attest::judge {

/// Environment of a worker: variables that a library needs to run, and nothing that could tell it what it is run for.
std::vector<std::string> worker_environment();

/// Descriptors that a process gets, and the numbers that they have there.
using Handed = std::vector<std::pair<int, int>>;

/// Starts this program once more; returns the process id. Throws std::system_error.
pid_t spawn(std::vector<std::string> arguments, std::vector<std::string> environment, const Handed& handed);

}  // namespace attest::judge
