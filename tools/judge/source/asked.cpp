// SPDX-License-Identifier: MIT
#include "attest/judge/asked.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include "attest/judge/memory.hpp"
#include "attest/judge/refusals.hpp"
#include "attest/judge/work.hpp"

namespace attest::judge {
namespace {

constexpr std::size_t kEnoughValues = 2;  // a second one shows that something varies
constexpr auto kRanksOfCall = "ranks", kGiven = "given", kNeverGiven = "never given", kDefault = "default",
               kMagnitude = "magnitude of inputs";

/// The same for the same numbers only, but for one in 2^64; NaN is one number.
std::uint64_t bits_of(const std::vector<Arrays>& outputs) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a, by words
  const auto add = [&](std::uint64_t word) {
    hash = (hash ^ word) * 1099511628211U;
    hash ^= hash >> 32;
  };
  for (const Arrays& problem : outputs)
    for (const auto& [_, array] : problem)
      for (const double x : array.values)
        add(std::bit_cast<std::uint64_t>(std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x));
  return hash;
}

std::string text_of(const std::optional<ParameterSetting>& setting) {
  if (!setting) return kDefault;
  return std::visit([](const auto& value) { return fmt::format("{}", value); }, *setting);
}

/// Whether the equation's own cases give that parameter several values.
bool varies(const Spec& spec, const ParameterDeclaration& parameter) {
  std::set<std::string> values;
  for (const auto& group : spec.vectors)
    for (const auto& entry : group.entries) {
      const auto at = entry.parameters.find(parameter.name);
      values.insert(text_of(at == entry.parameters.end() ? parameter.fallback : at->second));
    }
  return values.size() > 1;
}

/// Whether a kernel that has one value of the parameter leaves a part of the equation out. A convention is chosen once,
/// and kernels choose how long their blocks are.
bool restricts(const Spec& spec, const ParameterDeclaration& parameter) {
  return parameter.type != ParameterDeclaration::Type::choice && parameter.role != Role::block_length &&
         varies(spec, parameter);
}

}  // namespace

Asked::Asked(const Kernel& kernel, const golden::Profile& profile, const Candidate* candidate)
    : kernel_(kernel),
      profile_(profile),
      candidate_(candidate),
      at_begin_(candidate ? candidate->calls() : CallCounts{}) {}

std::size_t Asked::calls() const {
  return candidate_ ? candidate_->calls().all - at_begin_.all : static_cast<std::size_t>(counts_.calls);
}

void Asked::count(std::size_t calls_before, std::size_t second_thread_before) {
  counts_.calls += candidate_ ? static_cast<int>(calls() - calls_before) : 1;
  if (candidate_) counts_.second_thread += static_cast<int>(candidate_->calls().second_thread - second_thread_before);
}

Source Asked::first(Source source) {
  return {[this, source = std::move(source)](const Batch& batch, const golden::GoldenCase& first) {
    const auto before = calls(), second_thread = candidate_ ? candidate_->calls().second_thread : 0;
    Answers answers = source.answers(batch, first);
    count(before, second_thread);
    note(batch, first.name);
    note_situation(batch, first.name, answers);
    if (candidate_ && !answers.answers.empty()) {
      answers_[golden::query(first.name, profile_.name)] = {bits_of(answers.answers[0].outputs), before + 1};
      if (const golden::Case& c = first.name; c.grid && !is_large(*c.spec, c.sizes, c.parameters)) grids_.push_back(c);
    }
    return answers;
  }};
}

Source Asked::again(Source source) {
  return {[this, source = std::move(source)](const Batch& batch, const golden::GoldenCase& first) {
    const auto before = calls(), second_thread = candidate_ ? candidate_->calls().second_thread : 0;
    Answers answers = source.answers(batch, first);
    count(before, second_thread);
    ++counts_.replayed;
    compare(golden::query(first.name, profile_.name), before, answers);
    return answers;
  }};
}

void Asked::compare(const std::string& query, std::size_t calls_before, Answers& answers) {
  const auto known = answers_.find(query);
  if (known == answers_.end()) return;
  const std::size_t was = known->second.call, is = calls_before + 1;
  if (answers.status != Status::pass) {
    if (!answers.message.starts_with(kFromSecondThread))
      answers.message =
          fmt::format("right in call {} of the kernel; in call {} of the same case: {}", was, is, answers.message);
    return;
  }
  for (auto& answer : answers.answers)
    if (answer.call != kFromSecondThread)
      answer.call =
          fmt::format("right in call {} of the kernel, wrong in call {} of the same case: {}", was, is, answer.call);
  if (kernel_.capabilities.deterministic() && bits_of(answers.answers[0].outputs) != known->second.bits)
    changed_.push_back(
        {Status::fail, query,
         fmt::format("the same call gave two different answers: call {} and call {} of the kernel", was, is), "T0",
         "contract"});
}

void Asked::note(const Batch& batch, const golden::Case& name) {
  const auto add = [&](const char* what, const auto& value) {
    auto& values = values_[what];
    if (values.size() < kEnoughValues) values.insert(value());
  };
  const Spec& spec = *kernel_.spec;
  for (const Problem* problem :
       {&batch.problems.front(), &batch.problems.back()}) {  // between them nothing else varies
    for (const auto& size : spec.sizes)
      add(size.name.c_str(), [&] { return fmt::format("{}", problem->sizes.at(size.name)); });
    for (const auto& parameter : spec.parameters)
      add(parameter.name.c_str(), [&] { return text_of(setting(*problem, parameter.name)); });
    for (const auto& input : spec.inputs)
      if (input.optional)
        add(input.name.c_str(), [&] { return problem->inputs.count(input.name) ? kGiven : kNeverGiven; });
  }
  add(kMagnitude, [&] {
    std::string magnitudes;
    for (const auto& [input, factor] : name.magnitudes) magnitudes += fmt::format("{} {};", input, factor);
    return magnitudes;
  });
  add("memory", [&] { return name.memory.empty() ? "dense" : name.memory; });
  if (kernel_.capabilities.collective())
    add(kRanksOfCall, [&] { return fmt::format("{}", candidate_ ? candidate_->host().ranks() : 1); });
  if (!kernel_.batched()) return;
  add("entries of a batch", [&] { return fmt::format("{}", batch.batch); });
  add("heads of a batch", [&] { return fmt::format("{}", batch.heads); });
  if (std::any_of(spec.inputs.begin(), spec.inputs.end(),
                  [](const TensorDeclaration& input) { return input.sharing == Sharing::group; }))
    add("heads per group", [&] { return fmt::format("{}", batch.heads / batch.groups); });
}

void Asked::note_situation(const Batch& batch, const golden::Case& name, const Answers& answers) {
  if (!answers.refused && answers.answers.empty()) return;  // it broke the contract
  const Problem& problem = batch.problems.front();
  (answers.refused ? refused_ : answered_)
      .push_back({problem.sizes,
                  problem.parameters,
                  name.with,
                  {batch.batch, batch.heads, batch.groups},
                  is_contiguous(name.memory),
                  properties_of(*kernel_.spec, batch.problems)});
  if (!answers.refused) return;
  ++(name.grid ? refusals_.regimes : refusals_.cases);
  if (refusals_.message.empty()) {
    refusals_.message = answers.message;
    refusals_.query = golden::query(name, profile_.name);
  }
}

Refusals Asked::refusals() const {
  Refusals refusals = refusals_;
  refusals.answered = static_cast<int>(answered_.size());
  propose(refused_, answered_, *kernel_.spec, refusals);
  return refusals;
}

Reach Asked::reach() const {
  Reach reach = counts_;
  if (candidate_) reach.law_calls = static_cast<int>(calls()) - counts_.calls;
  const Spec& spec = *kernel_.spec;
  for (const auto& [what, values] : values_) {
    if (values.size() != 1) continue;
    const std::string& value = *values.begin();
    const auto* input = spec.input(what);
    const auto* parameter = spec.parameter(what);
    const std::string text = input                ? fmt::format("{} {}", what, value)
                             : what == kMagnitude ? what
                                                  : fmt::format("{} = {}", what, value);
    reach.never_varied.push_back(text);
    const bool alone = what == kRanksOfCall && value == "1";
    if (alone || (input && value == kNeverGiven) || (parameter && restricts(spec, *parameter)))
      reach.restricted.push_back(text);
  }
  return reach;
}

}  // namespace attest::judge
