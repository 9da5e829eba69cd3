// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <rapidcheck.h>
#include <rapidcheck/detail/TestListenerAdapter.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "attest/judge/check.hpp"

namespace attest::judge {
namespace {

/// Quiet: what is to be said is said by the report.
class NoListener : public rc::detail::TestListenerAdapter {};

/// An element that is NaN although the equation gives a number there, and a kernel's errors cannot have taken it away.
std::optional<std::string> lost_number(const Problem& problem, const laws::Outcome& outcome) {
  const auto has_nan = [](const auto& named) {
    return std::any_of(named.second.values.begin(), named.second.values.end(), [](double x) { return std::isnan(x); });
  };
  if (std::none_of(outcome.values.begin(), outcome.values.end(), has_nan)) return std::nullopt;
  try {
    attest::check(problem);
  } catch (const SpecError&) {  // a law may fill with NaN what a mask hides: the equation says nothing of that
    return std::nullopt;
  }
  const Arrays expected = golden::evaluate_in_double(problem, golden::first_modelled_form(problem).name, {});
  for (const auto& [name, got] : outcome.values)
    for (std::size_t i = 0; i < got.values.size(); ++i)
      if (std::isnan(got.values[i]) && !std::isnan(expected.at(name).values[i]) &&
          std::isfinite(outcome.bounds().at(name).values[i]))
        return fmt::format("{}[{}] is NaN where the equation gives {:.9g}", name, i, expected.at(name).values[i]);
  return std::nullopt;
}

}  // namespace

LawRun run_law(laws::Law law, const LawClaim& claim, const Spec& spec, const std::string& form,
               const Capabilities& capabilities, const golden::Profile& profile, const laws::Evaluate& evaluate,
               bool bitwise, int draws, std::uint64_t seed) {
  // Parameters and recipes come from the spec's own cases; sizes and seeds are free.
  struct Origin {
    const VectorGroup* group;
    const VectorGroup::Entry* entry;
  };
  std::vector<Origin> origins;
  for (const auto& group : spec.vectors)
    for (const auto& entry : group.entries)
      if (capabilities.takes(group.with)) origins.push_back({&group, &entry});

  // What the law and the form ask for joins what the kernel can do: sizes are moved there instead of drawn again.
  std::string conditions = capabilities.text();
  if (!claim.when.empty()) conditions += ";" + claim.when;
  const auto* declared_form = spec.form(form);
  if (declared_form && !declared_form->when.empty()) conditions += ";" + declared_form->when;
  const Capabilities wanted(spec, conditions);

  LawRun run;
  bool died = false;
  if (origins.empty()) return run;
  const auto property = [&] {
    if (died) return;  // dying is not shrunk: it may take a process or a time limit each time, and may depend on chance
    const Origin origin = origins[static_cast<std::size_t>(
        *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<int>(0, static_cast<int>(origins.size()))))];
    golden::Case c{&spec, {}, origin.entry->parameters, origin.group->flag, origin.group->exact, origin.group->with,
                   1,     {}};
    for (const auto& size : spec.sizes)
      c.sizes[size.name] = *rc::gen::inRange<Index>(size.smallest, std::min<Index>(size.largest, 40) + 1);
    c.seed = static_cast<std::uint64_t>(*rc::gen::resize(rc::kNominalSize, rc::gen::inRange<int>(1, 1 << 20)));
    const auto adapted = wanted.adapted(spec, c.sizes, c.parameters);
    RC_PRE(adapted.has_value());
    std::tie(c.sizes, c.parameters) = *adapted;
    Problem problem;
    try {
      problem = golden::draw(c);
    } catch (const SpecError&) {
      RC_DISCARD("the drawn sizes break a constraint on data");
    }
    RC_PRE(golden::exact_in(problem, profile.storage) && within_range(problem, profile));
    // A law that makes the problem longer may leave what the kernel can do.
    struct Outside {};
    struct Lost {
      std::string text;
    };
    const laws::Evaluate inside = [&](const Problem& derived) {
      for (const auto& [name, _] : derived.inputs)
        if (!capabilities.gives(name)) throw Outside{};
      if (!capabilities.allow(spec, derived.sizes, derived.parameters) || !within_range(derived, profile))
        throw Outside{};
      laws::Outcome outcome = evaluate(derived);
      if (auto lost = lost_number(derived, outcome)) throw Lost{std::move(*lost)};
      return outcome;
    };
    laws::Finding finding;
    try {
      finding = law({claim, problem, inside, c.seed, dtype_from(c.exact), bitwise, capabilities.hidden_nan()});
    } catch (const Outside&) {
      finding = laws::Finding::vacuous();
    } catch (const Lost& lost) {
      finding = laws::Finding::broken(lost.text);
    } catch (const SpecError&) {  // a derived problem that the equation refuses
      finding = laws::Finding::vacuous();
    } catch (const std::exception& error) {  // the kernel died or refused
      died = true;
      finding = laws::Finding::broken(error.what());
    }
    if (finding.kind == laws::Finding::Kind::vacuous) {
      ++run.vacuous;
      RC_DISCARD("the law has nothing to say here");
    }
    ++run.draws;
    if (finding.kind == laws::Finding::Kind::noted) run.note = finding.text;
    if (finding.kind == laws::Finding::Kind::broken) {
      run.broken = finding.text;
      run.query = golden::query(c, profile.name);  // the last failure that shrinking visits is the smallest
      RC_FAIL(finding.text);
    }
  };
  rc::detail::TestMetadata metadata;
  metadata.id = metadata.description = spec.id + " " + claim.law;
  rc::detail::TestParams parameters;
  parameters.seed = seed;
  parameters.maxSuccess = draws;
  parameters.maxSize = 100;
  parameters.maxDiscardRatio = 50;
  NoListener listener;
  static std::mutex one_at_a_time;  // RapidCheck keeps what generators depend on in variables of the process
  const std::lock_guard lock(one_at_a_time);
  // The outcome is what the property noted; giving up means that the law could not be made to speak often enough.
  rc::detail::checkTestable(property, metadata, parameters, listener,
                            std::unordered_map<std::string, rc::detail::Reproduce>{});
  return run;
}

laws::Evaluate over_enclosures(const std::string& form, long precision_bits) {
  return [form, precision_bits](const Problem& problem) {
    auto enclosure = std::make_shared<golden::Enclosure>(golden::enclose(problem, form, precision_bits));
    laws::Outcome outcome;
    outcome.values = enclosure->middle;
    outcome.bounds = [enclosure]() -> const Arrays& { return enclosure->radius; };
    return outcome;
  };
}

}  // namespace attest::judge
