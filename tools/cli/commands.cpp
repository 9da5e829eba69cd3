// SPDX-License-Identifier: MIT
#include "commands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <toml++/toml.h>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "attest/golden/files.hpp"
#include "attest/golden/rows.hpp"
#include "attest/judge/coverage.hpp"
#include "attest/judge/glob.hpp"
#include "attest/judge/json.hpp"
#include "attest/judge/reproduce.hpp"

namespace attest::cli {
namespace {

void write_json(const judge::Report& report, const std::optional<std::filesystem::path>& json) {
  if (json) golden::write_file_atomically(*json, judge::to_json(report).dump(2) + "\n");
}

std::string text_of(const ParameterSetting& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<Index>(&value)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  return std::get<std::string>(value);
}

std::vector<std::string> keys_of(const std::map<std::string, std::string>& map) {
  std::vector<std::string> keys;
  for (const auto& [key, _] : map) keys.push_back(key);
  return keys;
}

void section(const std::string& title) { fmt::print("\n{}\n", title); }

}  // namespace

std::filesystem::path project_folder() {
  const char* folder = std::getenv("ATTEST_PROJECT_DIR");
  return folder ? folder : ATTEST_PROJECT_DIR;
}

judge::Progress progress_bar(const std::string& verb) {
  if (!isatty(STDERR_FILENO)) return {};
  return [verb](std::size_t done, std::size_t total, const std::string& current) {
    constexpr std::size_t width = 30;
    const std::size_t filled = total ? done * width / total : width;
    fmt::print(stderr, "\r\x1b[K{} [{}{}] {}/{} {}", verb, std::string(filled, '#'), std::string(width - filled, '.'),
               done, total, current.substr(0, 44));
    if (done == total) fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
  };
}

void print(const judge::Report& report) { fmt::print("{}", report::table(report, isatty(STDOUT_FILENO))); }

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

int show(const std::string& id) {
  const Spec& spec = find_spec(id);
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
               parameter.fallback ? text_of(*parameter.fallback) : parameter.fallback_text,
               parameter.choices.empty() ? "" : fmt::format(" (one of {})", fmt::join(parameter.choices, ", ")),
               parameter.meaning);
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
  for (const auto& row : spec.not_planted)
    fmt::print("  not planted: {}{}; {}\n", row.what, seen(row.seen), row.reason);
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
  return 0;
}

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

int check(const std::string& name, const std::optional<Part>& part, const judge::CheckOptions& options,
          const std::optional<std::filesystem::path>& json) {
  judge::Candidate candidate = part ? part_of(name, *part) : judge::Candidate(name);
  const auto report = judge::check(candidate, options, progress_bar("checking"));
  if (report.rows.empty()) {
    std::string has;
    for (const auto& kernel : candidate.kernels()) has += fmt::format("\n  {}", kernel.name());
    fmt::print(stderr, "attest: INVALID: no kernel of {} matches --only '{}'{}; it has:{}\n", name, options.only,
               options.profile ? " and profile " + *options.profile : "", has);
    return 3;
  }
  print(report);
  write_json(report, json);
  return judge::exit_code(report.status());
}

int reproduce(const std::string& query, const std::string& name, const judge::CheckOptions& options) {
  golden::parse_query(query);  // a wrong query is a usage error before anything is loaded
  judge::Candidate candidate(name);
  const auto report = judge::reproduce(candidate, query, options);
  if (report.rows.empty()) {
    fmt::print(stderr, "attest: INVALID: no kernel of {} can do this case\n", name);
    return 3;
  }
  print(report);
  return judge::exit_code(report.status());
}

int golden_regenerate(const std::optional<std::filesystem::path>& into, const std::string& only) {
  std::vector<const Spec*> chosen;
  for (const auto& [id, spec] : specs())
    if (judge::matches(only, id)) chosen.push_back(&spec);
  if (chosen.empty()) throw UsageError(fmt::format("--only '{}' matches no equation", only));
  const auto folder = into.value_or(project_folder() / "golden");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw std::runtime_error(fmt::format("{}: {}", folder.string(), error.message()));
  golden::regenerate(chosen, project_folder(), folder, progress_bar("certifying"));
  fmt::print("{} equations certified into {}\n", chosen.size(), folder.string());
  return 0;
}

int golden_verify() {
  const auto faults = golden::verify(project_folder(), project_folder() / "golden");
  for (const auto& fault : faults) fmt::print("{}\n", fault);
  if (faults.empty())
    fmt::print("{} golden files match their manifest, their specs and their sources\n", specs().size());
  return faults.empty() ? 0 : 1;
}

}  // namespace attest::cli
