// SPDX-License-Identifier: MIT
#include "attest/judge/waivers.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <stdexcept>
#include <utility>

#include "attest/expression.hpp"
#include "attest/golden/files.hpp"
#include "attest/golden/profile.hpp"
#include "attest/judge/capabilities.hpp"
#include "attest/judge/glob.hpp"
#include "attest/judge/situation.hpp"

namespace attest::judge {
namespace {

const std::vector<std::string> kKeys{"kernel", "equation", "profile", "condition", "reason", "expires"};

std::string place_of(const Waiver& waiver) { return fmt::format("{}:{}", waiver.file, waiver.line); }

[[noreturn]] void fail(const std::string& file, const toml::source_region& where, const std::string& message) {
  throw SpecError(fmt::format("{}:{}: {}", file, where.begin.line, message));
}

/// Throws where the table has a key that is not allowed.
void only(const toml::table& table, const std::vector<std::string>& allowed, const std::string& file) {
  for (const auto& [key, _] : table)
    if (const std::string name(key.str()); std::find(allowed.begin(), allowed.end(), name) == allowed.end())
      fail(file, key.source(),
           fmt::format("unknown key '{}'{}; allowed: {}", name, near_names(name, allowed), fmt::join(allowed, ", ")));
}

Waiver parsed(const toml::table& table, const std::string& file) {
  only(table, kKeys, file);
  Waiver waiver;
  waiver.file = file;
  waiver.line = static_cast<int>(table.source().begin.line);
  const auto take = [&](const char* key, std::string& into) {
    const toml::node* node = table.get(key);
    if (!node) return;
    const auto* text = node->as_string();
    if (!text || (*text)->find_first_not_of(" \t\n") == std::string::npos)
      fail(file, node->source(), fmt::format("'{}' must be a string that is not empty", key));
    into = **text;
  };
  if (!table.contains("kernel") && !table.contains("equation"))
    fail(file, table.source(), "'kernel' or 'equation' is missing: a glob over the names that the report prints");
  take("kernel", waiver.kernel);
  take("equation", waiver.equation);
  take("profile", waiver.profile);
  take("condition", waiver.condition);
  if (!table.contains("reason")) fail(file, table.source(), "'reason' is missing: why this failure is accepted");
  take("reason", waiver.reason);
  const toml::node* expires = table.get("expires");
  if (!expires || !expires->is_date())
    fail(file, expires ? expires->source() : table.source(),
         fmt::format("'expires' {}: the last day of the waiver, a date without quotes and without a time, as in "
                     "2027-03-31",
                     expires ? "is no date" : "is missing"));
  const toml::date day = **expires->as_date();
  waiver.expires = fmt::format("{:04}-{:02}-{:02}", day.year, day.month, day.day);
  return waiver;
}

bool matches_name(const Waiver& waiver, const KernelId& kernel) {
  // The report prints the layout as well where there is the same kernel in another.
  return matches(waiver.equation, kernel.equation) &&
         (matches(waiver.kernel, kernel.title()) || matches(waiver.kernel, kernel.title() + " " + kernel.layout));
}

/// Whether a kernel can be judged by a profile that the waiver is about.
bool can_match(const Waiver& waiver, const Kernel& kernel) {
  const auto& all = golden::profiles();
  return matches_name(waiver,
                      {kernel.info.equation, kernel.info.form, kernel.info.reading, "", "", kernel.info.layout, ""}) &&
         std::any_of(all.begin(), all.end(), [&](const golden::Profile& profile) {
           return profile.storage == kernel.info.dtype && matches(waiver.profile, profile.name);
         });
}

/// Throws SpecError where the condition has no meaning for the equation.
void check_condition(const Waiver& waiver, const Spec& spec) {
  try {
    const Expression condition = Expression::parse(waiver.condition);
    for (const auto& name : condition.variables()) {
      const auto* input = spec.input(name);
      if (!spec.size(name) && !spec.parameter(name) && !(input && input->optional) && name != kContiguous &&
          std::find(kGridNames.begin(), kGridNames.end(), name) == kGridNames.end())
        throw SpecError(
            fmt::format("{} has no '{}'; a condition is about sizes, parameters, optional inputs, {} and "
                        "{}",
                        spec.id, name, fmt::join(kGridNames, ", "), kContiguous));
    }
    const Capabilities understood(spec, waiver.condition);  // throws where a property has no meaning
  } catch (const std::invalid_argument& error) {
    throw SpecError(fmt::format("{}: condition: {}", place_of(waiver), error.what()));
  } catch (const SpecError& error) {
    throw SpecError(fmt::format("{}: condition: {}", place_of(waiver), error.what()));
  }
}

/// Whether the waiver's condition holds for the case of a finding; one without a case meets no condition.
bool meets_condition(const Waiver& waiver, const Finding& finding) {
  if (waiver.condition.empty()) return true;
  try {
    const golden::Case c = golden::parse_query(finding.query).first;
    return holds_in(Expression::parse(waiver.condition), *c.spec, situation_of(c));
  } catch (const SpecError&) {  // a finding about the run as a whole
    return false;
  }
}

}  // namespace

std::vector<Waiver> parse_waivers(std::string_view text, const std::string& file) {
  try {
    const toml::table root = toml::parse(text, file);
    only(root, {"waiver"}, file);
    std::vector<Waiver> waivers;
    const toml::node* entries = root.get("waiver");
    if (!entries) return waivers;
    if (!entries->is_array_of_tables()) fail(file, entries->source(), "each waiver is written as [[waiver]]");
    for (const auto& entry : *entries->as_array()) waivers.push_back(parsed(*entry.as_table(), file));
    return waivers;
  } catch (const toml::parse_error& error) {
    fail(file, error.source(), std::string(error.description()));
  }
}

std::vector<Waiver> read_waivers(const std::filesystem::path& path) {
  std::string text;
  try {
    text = golden::read_file(path);
  } catch (const std::runtime_error& error) {
    throw SpecError(error.what());
  }
  return parse_waivers(text, path.string());
}

void check_waivers(const std::vector<Waiver>& waivers, const std::vector<Kernel>& kernels) {
  for (const auto& waiver : waivers) {
    bool any = false;
    for (const auto& kernel : kernels) {
      if (!can_match(waiver, kernel)) continue;
      any = true;
      if (!waiver.condition.empty()) check_condition(waiver, *kernel.spec);
    }
    if (any) continue;
    std::vector<std::string> names;
    for (const auto& kernel : kernels)
      names.push_back(KernelId{kernel.info.equation, kernel.info.form, kernel.info.reading, "", "", "", ""}.title());
    throw SpecError(fmt::format("{}: no kernel is called '{}', of equation '{}' and profile '{}'{}", place_of(waiver),
                                waiver.kernel, waiver.equation, waiver.profile, near_names(waiver.kernel, names)));
  }
}

bool does_less(const CheckOptions& options) {
  const CheckOptions usual;
  return options.flags != usual.flags || options.most_cases || options.law_draws < usual.law_draws ||
         options.strength < usual.strength || options.single_calls;
}

std::string today() { return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))); }

void apply_waivers(std::vector<Waiver> waivers, const std::string& day, bool less, Report& report) {
  for (std::size_t w = 0; w < waivers.size(); ++w) {
    Waiver& waiver = waivers[w];
    const bool expired = waiver.expires < day;
    if (expired)
      waiver.problems.push_back(fmt::format("{}: the waiver of '{}' expired on {} ({}); renew it or mend the kernel",
                                            place_of(waiver), waiver.kernel == "*" ? waiver.equation : waiver.kernel,
                                            waiver.expires, waiver.reason));
    for (auto& row : report.rows) {
      if (expired || !matches_name(waiver, row.kernel) || !matches(waiver.profile, row.kernel.profile)) continue;
      const int before = waiver.failures;
      for (auto& finding : row.failures)
        if ((finding.status == Status::fail || finding.status == Status::crashed) && meets_condition(waiver, finding)) {
          ++waiver.failures;
          if (!finding.waiver) finding.waiver = w;
        }
      const bool passes = row.failures.empty();
      if (waiver.failures > before || row.status == Status::invalid || less || !row.is_whole()) continue;
      waiver.problems.push_back(
          fmt::format("{}: {} ({}) {}; remove the waiver or make it narrower", place_of(waiver), row.kernel.title(),
                      row.kernel.profile,
                      passes ? "passes" : fmt::format("has no failure under the condition '{}'", waiver.condition)));
    }
  }
  for (auto& row : report.rows) {
    row.status = Status::pass;
    row.conclude();
  }
  report.waivers = std::move(waivers);
}

}  // namespace attest::judge
