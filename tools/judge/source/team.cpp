// SPDX-License-Identifier: MIT
#include "team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "attest/judge/parts.hpp"

namespace attest::judge {
namespace {

using End = Response::End;

/// How much longer the first call of a job may take, in which its ranks begin MPI: that waits for the slowest of them.
constexpr std::chrono::seconds begin_limit{20};

std::string on_rank(std::size_t rank, const std::string& what) { return fmt::format("rank {}: {}", rank, what); }

}  // namespace

void Team::start() {
  end();
  for (auto rank = members_.size(); rank < static_cast<std::size_t>(ranks_); ++rank)
    members_.push_back(
        std::make_unique<Endpoint>(library_, [this, rank](int memory) { return job_->take(rank, memory); }, false));
  job_.emplace(library_, members_.size());
  for (const auto& member : members_) member->start();
}

void Team::end() {
  for (const auto& member : members_) member->end();
  job_.reset();
}

void Team::report_deaths(Response& response, const char* when) {
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    Response one;
    members_[rank]->report_death_between_calls(one, when);
    for (const auto& violation : one.violations) response.violations.push_back(on_rank(rank, violation));
  }
}

/// Calls all ranks at once. `ended` gets those whose worker has ended, in that order: the first may be the reason of
/// the others, which die with the job.
std::vector<Response> Team::call_each(std::size_t kernel, const std::vector<Request>& parts, const CallOptions& options,
                                      std::vector<std::size_t>& ended) {
  std::vector<Response> responses(members_.size());
  std::exception_ptr failure;
  std::mutex one_at_a_time;
  const auto call = [&](std::size_t rank) {
    try {
      responses[rank] = members_[rank]->call(kernel, parts[rank], options);
    } catch (...) {
      const std::lock_guard lock(one_at_a_time);
      failure = std::current_exception();
    }
    if (members_[rank]->is_running()) return;
    const std::lock_guard lock(one_at_a_time);
    ended.push_back(rank);
    job_->end();
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 1; rank < members_.size(); ++rank) threads.emplace_back(call, rank);
    call(0);
  }
  if (failure) std::rethrow_exception(failure);
  return responses;
}

Response Team::call(std::size_t kernel, const Request& request, const CallOptions& options) {
  Response response;
  CallOptions allowed = options;
  if (job_) report_deaths(response, "between this call and the one before: ");
  try {
    if (!job_ || !std::all_of(members_.begin(), members_.end(), [](const auto& one) { return one->is_running(); })) {
      start();
      allowed.time_limit += begin_limit;
    }
  } catch (const InvalidCandidate& problem) {
    end();
    response.end = End::crashed;
    response.message = std::string("a fresh process could not load the library: ") + problem.what();
    return response;
  }
  std::vector<std::size_t> ended;
  std::vector<Response> of_ranks = call_each(kernel, divided(request, ranks(), options), allowed, ended);
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank)
    for (const auto& violation : of_ranks[rank].violations) response.violations.push_back(on_rank(rank, violation));
  const auto blame = [&](std::size_t rank) {
    response.end = of_ranks[rank].end;
    response.message = on_rank(rank, of_ranks[rank].message);
  };
  if (!ended.empty()) {
    // One that recorded its death did not die with the job.
    const auto recorded =
        std::find_if(ended.begin(), ended.end(), [&](std::size_t rank) { return members_[rank]->recorded_death(); });
    blame(recorded == ended.end() ? ended.front() : *recorded);
    end();
    return response;
  }
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank)
    if (of_ranks[rank].end != End::finished) {
      blame(rank);
      return response;
    }
  Response whole = gathered(request, std::move(of_ranks), options);
  whole.violations.insert(whole.violations.begin(), response.violations.begin(), response.violations.end());
  return whole;
}

}  // namespace attest::judge
