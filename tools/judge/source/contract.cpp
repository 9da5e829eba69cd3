// SPDX-License-Identifier: MIT
#include "attest/judge/contract.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>

#include "attest/judge/memory.hpp"
#include "attest/judge/work.hpp"

namespace attest::judge {
namespace {

/// The first element that still holds the poison, as "o[3]"; empty when all were written.
std::string unwritten(const Request& request, const std::vector<std::vector<std::byte>>& outputs,
                      unsigned char poison) {
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const std::size_t width = size_of(request.outputs[o].dtype);
    const std::byte* begin = outputs[o].data();
    for (std::size_t at = 0; at < outputs[o].size();) {
      const void* found = std::memchr(begin + at, poison, outputs[o].size() - at);
      if (!found) break;
      const std::size_t element = static_cast<std::size_t>(static_cast<const std::byte*>(found) - begin) / width;
      const std::byte* first = begin + element * width;
      if (std::all_of(first, first + width, [poison](std::byte byte) { return byte == std::byte{poison}; }))
        return fmt::format("{}[{}]", request.outputs[o].name, element);
      at = (element + 1) * width;
    }
  }
  return "";
}

/// Compares many bytes at a time, as == of vectors of std::byte does not.
bool are_the_same(const std::vector<std::vector<std::byte>>& a, const std::vector<std::vector<std::byte>>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& one, const auto& other) {
    return one.size() == other.size() && (one.empty() || std::memcmp(one.data(), other.data(), one.size()) == 0);
  });
}

Status status_of(Response::End end) {
  switch (end) {
    case Response::End::unavailable: return Status::invalid;
    case Response::End::refused:
    case Response::End::kernel_error: return Status::fail;
    default: return Status::crashed;
  }
}

struct Call {
  const char* differs;  // from the first
  Placement placement;
  unsigned char poison;
  bool second_thread = false;
};
constexpr Call kCalls[] = {{"", Placement::end_at_guard, kPoison[0]},
                           {"repeated: ", Placement::end_at_guard, kPoison[1]},
                           {"at addresses that earlier calls had: ", Placement::start_at_guard, kPoison[0]}};

/// Of a regime: the first, and one of the two others, with other bytes in the outputs.
constexpr Call kRegimeCalls[][2] = {{kCalls[0], kCalls[1]},
                                    {kCalls[0], {kCalls[2].differs, kCalls[2].placement, kPoison[1]}}};

constexpr Call kLastCalls[] = {{"", Placement::end_at_guard, kPoison[0]},
                               {kFromSecondThread, Placement::end_at_guard, kPoison[1], true}};

Answers call_each(std::span<const Call> calls, Candidate& candidate, const Kernel& kernel, const Batch& batch,
                  const golden::Profile& profile, const CheckOptions& options, const golden::Case& name) {
  Request request = assemble(batch, kernel, profile);
  CallOptions how = call_options(batch, kernel, options, Placement::end_at_guard, kPoison[0]);
  how.memory = name.memory;
  how.parts = name.seed;
  how.all_tokens_on = options.all_tokens_on;
  if (!request.collective) lay_out(request, how);  // ranks have parts of their own
  const bool placed = candidate.host().places_outputs();
  Answers answers;
  std::vector<std::vector<std::byte>> before;
  for (const Call& call : calls) {
    if (!placed && call.placement == Placement::start_at_guard) break;
    if (call.second_thread && !kernel.capabilities.any_thread()) break;
    how.placement = call.placement;
    how.poison = call.poison;
    how.second_thread = call.second_thread;
    Response response = candidate.call(kernel.index, request, how);
    const auto wrong = [&](Status status, const std::string& what) {
      return Answers{status, (call.second_thread ? call.differs : "") + what, {}};
    };
    if (response.end == Response::End::refused && before.empty())
      return {Status::fail, response.message, {}, !call.second_thread};
    if (response.end != Response::End::finished) return wrong(status_of(response.end), response.message);
    if (!response.violations.empty()) return wrong(Status::fail, response.violations[0]);
    if (const auto place = placed ? unwritten(request, response.outputs, call.poison) : ""; !place.empty())
      return wrong(Status::fail, fmt::format("{} was not written", place));
    if (!before.empty() && call.placement == Placement::end_at_guard && !call.second_thread &&
        kernel.capabilities.deterministic() && !are_the_same(before, response.outputs))
      return {Status::fail, "the same call gave two different answers", {}};
    if (!are_the_same(before, response.outputs))
      answers.answers.push_back({call.differs, disassemble(batch, kernel, request, response.outputs)});
    before = std::move(response.outputs);
  }
  return answers;
}

Source each_of(std::span<const Call> calls, Candidate& candidate, const Kernel& kernel, const golden::Profile& profile,
               const CheckOptions& options) {
  return {[calls, &candidate, &kernel, &profile, options](const Batch& batch, const golden::GoldenCase& first) {
    return call_each(calls, candidate, kernel, batch, profile, options, first.name);
  }};
}

}  // namespace

CallOptions call_options(const Batch& batch, const Kernel& kernel, const CheckOptions& options, Placement placement,
                         unsigned char poison) {
  constexpr double kSlowest = 1.0e5;  // operations in a millisecond
  double work = 0;
  const Problem* before = nullptr;  // most problems of a batch have the same sizes
  double of_one = 0;
  for (const auto& problem : batch.problems) {
    if (!before || problem.sizes != before->sizes || problem.parameters != before->parameters)
      of_one = work_of(*problem.spec, problem.sizes, problem.parameters);
    work += of_one, before = &problem;
  }
  const std::chrono::milliseconds more{static_cast<std::int64_t>(work / kSlowest)};
  return {placement, kernel.capabilities.alignment(), poison, options.time_limit + more};
}

Source calls_of(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile,
                const CheckOptions& options) {
  return each_of(kCalls, candidate, kernel, profile, options);
}

Source regime_calls_of(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile,
                       const CheckOptions& options) {
  return {[&candidate, &kernel, &profile, options](const Batch& batch, const golden::GoldenCase& first) {
    // Every other seed has inputs of another format.
    const std::size_t turn = candidate.host().places_outputs() ? first.name.seed / 2 : 0;
    Call one = kCalls[turn % std::size(kCalls)];
    one.differs = "";
    const auto calls = options.single_calls ? std::span<const Call>(&one, 1)
                                            : std::span<const Call>(kRegimeCalls[turn % std::size(kRegimeCalls)]);
    return call_each(calls, candidate, kernel, batch, profile, options, first.name);
  }};
}

Source last_calls_of(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile,
                     const CheckOptions& options) {
  return each_of(kLastCalls, candidate, kernel, profile, options);
}

Source single_calls_of(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile,
                       const CheckOptions& options) {
  return each_of(std::span(kCalls).first(1), candidate, kernel, profile, options);
}

}  // namespace attest::judge
