// SPDX-License-Identifier: MIT
// A part of a long sweep.
#include "part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

#include "commands.hpp"

namespace attest::cli {
namespace {

/// Shows some kernels of a candidate and passes everything else on.
class PartOfHost : public judge::Host {
public:
  PartOfHost(std::unique_ptr<judge::Candidate> whole, std::vector<std::size_t> indices)
      : whole_(std::move(whole)), indices_(std::move(indices)) {
    for (const auto index : indices_) kernels_.push_back(whole_->host().kernels()[index]);
  }

  const std::string& name() const override { return whole_->host().name(); }
  const std::string& version() const override { return whole_->host().version(); }
  const std::vector<judge::KernelInfo>& kernels() const override { return kernels_; }
  judge::Response call(std::size_t kernel, const judge::Request& request, const judge::CallOptions& options) override {
    return whole_->host().call(indices_[kernel], request, options);
  }
  std::vector<std::string> settle(std::chrono::milliseconds patience) override {
    return whole_->host().settle(patience);
  }
  Index ranks() const override { return whole_->host().ranks(); }
  bool places_outputs() const override { return whole_->host().places_outputs(); }

private:
  std::unique_ptr<judge::Candidate> whole_;
  std::vector<std::size_t> indices_;
  std::vector<judge::KernelInfo> kernels_;
};

}  // namespace

Part Part::parse(const std::string& text) {
  Part part;
  const auto slash = text.find('/');
  const auto number = [&](std::size_t from, std::size_t to, std::size_t& into) {
    const auto [end, error] = std::from_chars(text.data() + from, text.data() + to, into);
    return error == std::errc() && end == text.data() + to;
  };
  if (slash == std::string::npos || !number(0, slash, part.number) || !number(slash + 1, text.size(), part.of) ||
      part.number < 1 || part.number > part.of)
    throw UsageError(fmt::format("--part '{}' must be K/N with 1 <= K <= N, as in 2/3", text));
  return part;
}

std::optional<Part> Part::parse_option(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(parse(text));
}

bool Part::has(std::size_t i, std::size_t count) const {
  const std::size_t parts = std::min(of, count);
  return i % parts == (number - 1) % parts;
}

void print_left_out(const Part& part, std::size_t taken, std::size_t all, const std::string& things) {
  fmt::print("Part {} of {}: {} of {} {}; {} are left out\n\n", part.number, part.of, taken, all, things, all - taken);
}

void print_left_out(const Part& part, const std::string& candidate, const judge::Candidate& some) {
  print_left_out(part, some.kernels().size(), judge::Candidate(candidate, some.host().ranks()).kernels().size(),
                 "kernels, some of each equation, reading and dtype");
}

std::unique_ptr<judge::Candidate> part_of(const std::string& candidate, const Part& part, Index ranks) {
  auto whole = std::make_unique<judge::Candidate>(candidate, ranks);
  std::map<std::tuple<std::string, std::string, DType>, std::vector<std::size_t>> alike;
  for (const auto& kernel : whole->kernels())
    alike[{kernel.info.equation, kernel.info.reading, kernel.info.dtype}].push_back(kernel.index);
  std::vector<std::size_t> taken;
  for (const auto& [_, indices] : alike)
    for (std::size_t i = 0; i < indices.size(); ++i)
      if (part.has(i, indices.size())) taken.push_back(indices[i]);
  std::sort(taken.begin(), taken.end());
  return std::make_unique<judge::Candidate>(candidate,
                                            std::make_unique<PartOfHost>(std::move(whole), std::move(taken)));
}

}  // namespace attest::cli
