// SPDX-License-Identifier: MIT
// attest_bench_passing CANDIDATE [--golden DIR] [--only GLOB] [--strength N] [--rounds N]: what it costs a check of
// kernels that pass to find the precision of their stages: seconds of the check with and without it, both in each
// round, the order changing from round to round, after one check that is not counted. Kernels that fail are counted,
// since what they cost is something else.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attest/judge/check.hpp"
#include "attest/judge/process.hpp"

namespace {

using namespace attest;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double seconds_of(const std::string& name, const judge::CheckOptions& options, std::size_t& failed) {
  judge::Candidate candidate(name);
  const auto begun = std::chrono::steady_clock::now();
  const auto report = judge::check(candidate, options, {}, [&] { return std::make_unique<judge::Candidate>(name); });
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
  failed = static_cast<std::size_t>(std::count_if(report.rows.begin(), report.rows.end(),
                                                  [](const auto& row) { return row.status != judge::Status::pass; }));
  return taken.count();
}

}  // namespace

int main(int argc, char** argv) {
  judge::serve_if_worker(argc, argv);
  judge::CheckOptions options;
  options.golden = "golden";
  std::string candidate;
  int rounds = 3;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (!option.starts_with("--") && candidate.empty()) {
      candidate = option;
      continue;
    }
    const std::string value = i + 1 < argc ? argv[++i] : "";
    if (option == "--golden" && !value.empty())
      options.golden = value;
    else if (option == "--only" && !value.empty())
      options.only = value;
    else if (option == "--strength" && !value.empty())
      options.strength = std::clamp(std::atoi(value.c_str()), 0, judge::kMostStrength);
    else if (option == "--rounds" && std::atoi(value.c_str()) > 0)
      rounds = std::atoi(value.c_str());
    else
      candidate.clear(), i = argc;
  }
  if (candidate.empty()) {
    fmt::print(stderr, "usage: {} CANDIDATE [--golden DIR] [--only GLOB] [--strength N] [--rounds N]\n", argv[0]);
    return 2;
  }
  try {
    std::vector<double> with, without, ratios;
    std::size_t failed = 0;
    seconds_of(candidate, options, failed);
    for (int round = 0; round < rounds; ++round) {
      for (const bool probes : {round % 2 == 0, round % 2 != 0}) {
        options.probes = probes;
        (probes ? with : without).push_back(seconds_of(candidate, options, failed));
      }
      ratios.push_back(with.back() / without.back());
      fmt::print("round {}: {:.2f} s with, {:.2f} s without, ratio {:.3f}\n", round + 1, with.back(), without.back(),
                 ratios.back());
    }
    fmt::print("medians: {:.2f} s with, {:.2f} s without, ratio {:.3f}; {} kernels did not pass\n", median(with),
               median(without), median(ratios), failed);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
