// SPDX-License-Identifier: MIT
// list and show: equations, precisions, errata and claims.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <toml++/toml.h>
#include <CLI/CLI.hpp>
#include <cmath>
#include <map>
#include <memory>

#include "attest/golden/case.hpp"
#include "attest/golden/files.hpp"
#include "attest/golden/rows.hpp"
#include "attest/judge/coverage.hpp"
#include "commands.hpp"

namespace attest::cli {
namespace {

std::vector<std::string> keys_of(const std::map<std::string, std::string>& map) {
  std::vector<std::string> keys;
  for (const auto& [key, _] : map) keys.push_back(key);
  return keys;
}

void section(const std::string& title) { fmt::print("\n{}\n", title); }

/// Each flag's explanation, from golden/flags.toml.
std::map<std::string, std::string> flag_explanations() {
  const auto path = project_folder() / "golden/flags.toml";
  std::map<std::string, std::string> flags;
  const auto root = toml::parse(golden::read_file(path), path.string());
  for (const auto& [flag, node] : root)
    if (node.is_string()) flags[std::string(flag.str())] = **node.as_string();
  return flags;
}

int list() {
  const auto kernels_of = [](const Spec& spec, const char* backend) {
    const auto at = spec.backends.find(backend);
    return at == spec.backends.end() ? std::string() : fmt::format("{}", fmt::join(at->second, " "));
  };
  std::string columns;
  for (const judge::Backend& backend : judge::kBackends) columns += fmt::format(" {:<12}", backend.name);
  fmt::print("{:<42} {:>5} {:>6}{} {}\n", "equation", "forms", "cases", columns, "title");
  for (const auto& [id, spec] : specs()) {
    columns.clear();
    for (const judge::Backend& backend : judge::kBackends)
      columns += fmt::format(" {:<12}", kernels_of(spec, backend.name));
    fmt::print("{:<42} {:>5} {:>6}{} {}\n", id, spec.forms.size(), golden::stored_cases(spec).size(), columns,
               spec.title);
  }
  return 0;
}

void show_interface(const Spec& spec) {
  fmt::print("{}: {}\n\n    {}\n", spec.id, spec.title, spec.formula);
  if (!spec.about.empty()) fmt::print("\n{}\n", spec.about.substr(spec.about.find_first_not_of('\n')));
  section("Source");
  for (const auto& source : spec.source) fmt::print("  {}\n", source);
  section("Inputs");
  for (const auto& input : spec.inputs)
    fmt::print("  {:<14} [{}] {}{}  {}\n", input.name, fmt::join(input.shape, ", "), name(input.element),
               input.optional ? ", optional" : "", input.meaning);
  section("Outputs");
  for (const auto& output : spec.outputs)
    fmt::print("  {:<14} [{}]{}{}  {}\n", output.name, fmt::join(output.shape, ", "),
               output.optional ? " optional" : "", output.state ? " state" : "", output.meaning);
  section("Sizes");
  for (const auto& size : spec.sizes) fmt::print("  {:<14} {}\n", size.name, size.meaning);
  if (!spec.parameters.empty()) section("Parameters");
  for (const auto& parameter : spec.parameters)
    fmt::print("  {:<14} default {}{}  {}\n", parameter.name,
               parameter.fallback ? golden::text_of(*parameter.fallback) : parameter.fallback_text,
               parameter.choices.empty() ? "" : fmt::format(" (one of {})", fmt::join(parameter.choices, ", ")),
               parameter.meaning);
}

void show_forms(const Spec& spec) {
  section("Forms");
  for (const auto& form : spec.forms)
    fmt::print("  {:<18} {}{}{}\n", form.name, form.meaning, form.numeric ? " [over the reals only]" : "",
               form.when.empty() ? "" : " [when " + form.when + "]");
  section("Stages: what each form computes on the way and names");
  for (const auto& form : spec.forms)
    if (const auto stages = golden::stages_of(spec, form); !stages.empty())
      fmt::print("  {:<18} {}\n", form.name, fmt::join(stages, ", "));
  if (!spec.backends.empty()) section("Kernels of this project");
  for (const auto& [backend, dtypes] : spec.backends) fmt::print("  {:<18} {}\n", backend, fmt::join(dtypes, " "));
  if (!spec.constraints.empty()) section("Constraints");
  for (const auto& constraint : spec.constraints) fmt::print("  {}  {}\n", constraint.label, constraint.text);
  if (!spec.laws.empty()) section("Laws");
  for (const auto& law : spec.laws)
    fmt::print("  {}{}{}{}{}\n", law.law, law.of.empty() ? "" : fmt::format(" of {}", fmt::join(law.of, ", ")),
               law.along.empty() ? "" : " along " + law.along, law.when.empty() ? "" : " when " + law.when,
               law.note.empty() ? "" : ": " + law.note);
}

void show_faults(const Spec& spec) {
  const auto seen = [](const std::vector<std::string>& threads) {
    return threads.empty() ? std::string() : fmt::format(" [seen: {}]", fmt::join(threads, ", "));
  };
  section("Faults that are planted, killed and named");
  for (const auto& fault : spec.faults)
    if (fault.equivalent.empty())
      fmt::print("  {:<28} {}{}; shown by {}{}\n", fault.name, fault.change, seen(fault.seen), fault.flag,
                 fault.hidden.empty() ? "" : fmt::format("; not in {}", fmt::join(keys_of(fault.hidden), ", ")));
  for (const auto& fault : spec.faults)
    if (!fault.equivalent.empty())
      fmt::print("  {:<28} is no fault: {}{}; {}\n", fault.name, fault.change, seen(fault.seen), fault.equivalent);
  std::map<std::string, std::vector<std::string>> hidden, no_faults;  // by their reasons
  for (const auto& fault : spec.faults)
    for (const auto& [profile, reason] : fault.hidden)
      hidden[fmt::format("{} cannot show: {}", profile, reason)].push_back(fault.name);
  for (const auto& row : spec.not_faults) no_faults[row.reason].push_back(row.what + seen(row.seen));
  for (const auto& [reason, faults] : hidden) fmt::print("  {}\n    {}\n", reason, fmt::join(faults, ", "));
  for (const auto& [reason, mistakes] : no_faults)
    fmt::print("  no fault here: {}\n    {}\n", reason, fmt::join(mistakes, "\n    "));
}

void show_cases(const Spec& spec) {
  if (!spec.no_exact_family.empty())
    fmt::print("\nNo inputs give every correct kernel the same bits: {}\n", spec.no_exact_family);
  if (!spec.gradient.empty()) fmt::print("\nGradient with respect to {}\n", fmt::join(spec.gradient, ", "));
  section("Golden cases");
  const auto explanations = flag_explanations();
  for (const auto& group : spec.vectors) {
    const auto at = explanations.find(group.flag);
    int cases = 0;
    for (const auto& entry : group.entries) cases += entry.seeds;
    fmt::print("  {:>3} {:<24} {}{}\n", cases, group.flag, at == explanations.end() ? "" : at->second,
               group.same_bits.empty() ? "" : fmt::format(" [same bits: {}]", fmt::join(group.same_bits, ", ")));
  }
}

void show_evidence(const Spec& spec) {
  if (!spec.costs.empty()) section("Costs");
  for (const auto& cost : spec.costs)
    fmt::print("  {}: {} {}{}\n", cost.form, cost.count.text(), cost.operation,
               cost.when.empty() ? "" : " when " + cost.when);
  const auto evidence = [](const Statement& one) {
    return one.reason.empty() ? fmt::format("shown by {}", fmt::join(one.shown, ", ")) : "not shown: " + one.reason;
  };
  if (!spec.invariants.empty()) section("Invariants");
  for (const auto& invariant : spec.invariants)
    fmt::print("  {:<24} {}; {}\n", invariant.name, invariant.meaning, evidence(invariant));
  for (const auto& form : spec.not_taken) fmt::print("  form {} is left out: {}\n", form.name, form.reason);
  if (!spec.errata.empty()) section("Errata of the printed sources");
  for (const auto& erratum : spec.errata)
    fmt::print("  {}  printed: {}; right: {}; {}\n", erratum.name, erratum.meaning, erratum.right, evidence(erratum));
  if (!spec.claims.empty()) section("Claims of the sources");
  for (const auto& claim : spec.claims) fmt::print("  {}  {}; {}\n", claim.name, claim.meaning, evidence(claim));
  if (!spec.notes.empty()) section("Notes");
  for (const auto& note : spec.notes) fmt::print("  {}\n", note);
}

int show(const std::string& id) {
  const Spec& spec = find_spec(id);
  show_interface(spec);
  show_forms(spec);
  show_faults(spec);
  show_cases(spec);
  show_evidence(spec);
  return 0;
}

/// Shows a precision that can be claimed, or "all" of them.
int show_profiles(const std::string& name) {
  if (name != "all") golden::profile(name);
  fmt::print("{:<10}", "profile");
  for (const auto& channel : golden::kChannelNames) fmt::print(" {:>10}", channel);
  fmt::print("\n");
  for (const auto& profile : golden::profiles()) {
    if (name != "all" && name != profile.name) continue;
    fmt::print("{:<10}", profile.name);
    for (const double unit : profile.units) fmt::print(" {:>10}", fmt::format("2^{}", std::ilogb(unit)));
    fmt::print("  {}\n", profile.meaning);
  }
  return 0;
}

/// Lists every erratum, or every claim, with its evidence.
int show_statements(bool errata) {
  int shown = 0, listed = 0;
  for (const auto& [id, spec] : specs())
    for (const auto& one : errata ? spec.errata : spec.claims) {
      fmt::print("{}  {}\n", one.name, id);
      if (errata)
        fmt::print("  printed   {}\n  right     {}\n", one.meaning, one.right);
      else
        fmt::print("  claim     {}\n", one.meaning);
      if (one.reason.empty())
        fmt::print("  evidence  {}\n", fmt::join(one.shown, ", "));
      else
        fmt::print("  no test   {}\n", one.reason);
      ++listed;
      shown += one.reason.empty();
    }
  fmt::print("\n{} listed, {} shown by a test; the others say why not\n", listed, shown);
  return 0;
}

struct ShowOptions {
  std::string id, profile;
  bool errata = false, claims = false;
};

int show(const ShowOptions& options) {
  if (!options.profile.empty()) return show_profiles(options.profile);
  if (options.errata || options.claims) return show_statements(options.errata);
  if (options.id.empty()) throw UsageError("show needs the ID of an equation, --errata, --claims or --profile");
  return show(options.id);
}

}  // namespace

void add_list(CLI::App& app, int& status) {
  app.add_subcommand("list", "Equations, with their forms and golden cases")->callback([&status] { status = list(); });
}

void add_show(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("show", "The page of one equation, or the errata and claims of the literature");
  const auto options = std::make_shared<ShowOptions>();
  auto* id = command->add_option("ID", options->id, "as in linear.causal");
  auto* errata =
      command->add_flag("--errata", options->errata, "every erratum: what is printed, what is right, and the evidence")
          ->excludes(id);
  command->add_option("--profile", options->profile, "the units of one precision, or of \"all\"")
      ->excludes(id)
      ->excludes(errata);
  command->add_flag("--claims", options->claims, "every claim, and the evidence")->excludes(id)->excludes(errata);
  command->callback([&status, options] { status = show(*options); });
}

}  // namespace attest::cli
