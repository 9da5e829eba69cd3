// SPDX-License-Identifier: MIT
// The ranks of a plugin, from the parent's side. Private to the judge.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "endpoint.hpp"
#include "job.hpp"

namespace attest::judge {

/// Calls kernels on all ranks of a job, each with its part of the tokens. A job of which one rank dies or hangs is
/// ended; the next call starts another.
class Team {
public:
  /// `path` of the library.
  Team(std::string path, Index ranks) : library_(std::move(path)), ranks_(ranks) {}

  Index ranks() const { return ranks_; }
  Response call(std::size_t kernel, const Request& request, const CallOptions& options);
  void report_deaths(Response& response, const char* when);

private:
  void start();
  void end();
  std::vector<Response> call_each(std::size_t kernel, const std::vector<Request>& parts, const CallOptions& options,
                                  std::vector<std::size_t>& ended);

  std::string library_;
  Index ranks_;
  std::optional<Job> job_;
  std::vector<std::unique_ptr<Endpoint>> members_;  // from the first call on
};

}  // namespace attest::judge
