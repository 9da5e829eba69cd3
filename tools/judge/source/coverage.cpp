// SPDX-License-Identifier: MIT
#include "attest/judge/coverage.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <set>

#include "attest/golden/files.hpp"
#include "attest/golden/store.hpp"
#include "attest/judge/evaluate.hpp"
#include "attest/judge/glob.hpp"
#include "attest/judge/mutants.hpp"
#include "attest/judge/run_law.hpp"
#include "in_parallel.hpp"
#include "items.hpp"
#include "steps.hpp"

namespace attest::judge {
namespace {

/// One operation of specs/catalogue.toml: what is known of it, by name.
struct Entry {
  std::string id, title;
  std::vector<std::string> forms, invariants, faults, errata, claims;
  bool gradient = true;
};

std::vector<Entry> read_catalogue(const std::filesystem::path& path) {
  std::vector<Entry> entries;
  try {
    const auto root = toml::parse(golden::read_file(path), path.string());
    for (const auto& [family, operations] : root) {
      if (!operations.is_table())
        throw SpecError(fmt::format("{}: '{}' must be a table of operations", path.string(), family.str()));
      for (const auto& [stem, node] : *operations.as_table()) {
        Entry entry;
        entry.id = fmt::format("{}.{}", family.str(), stem.str());
        if (!node.is_table()) throw SpecError(fmt::format("{}: '{}' must be a table", path.string(), entry.id));
        for (const auto& [key, value] : *node.as_table()) {
          std::vector<std::string>* names = nullptr;
          if (key.str() == "title" && value.is_string())
            entry.title = **value.as_string();
          else if (key.str() == "gradient" && value.is_boolean())
            entry.gradient = **value.as_boolean();
          else if (key.str() == "forms")
            names = &entry.forms;
          else if (key.str() == "invariants")
            names = &entry.invariants;
          else if (key.str() == "faults")
            names = &entry.faults;
          else if (key.str() == "errata")
            names = &entry.errata;
          else if (key.str() == "claims")
            names = &entry.claims;
          else
            throw SpecError(
                fmt::format("{}: {}: key '{}' is none of title, forms, invariants, faults, gradient, errata, claims, "
                            "or of a wrong type",
                            path.string(), entry.id, key.str()));
          if (!names) continue;
          if (!value.is_array())
            throw SpecError(fmt::format("{}: {}: '{}' must be an array of names", path.string(), entry.id, key.str()));
          for (const auto& item : *value.as_array()) {
            if (!item.is_string())
              throw SpecError(
                  fmt::format("{}: {}: '{}' must be an array of names", path.string(), entry.id, key.str()));
            names->push_back(**item.as_string());
          }
        }
        entries.push_back(std::move(entry));
      }
    }
  } catch (const toml::parse_error& error) {
    throw SpecError(fmt::format("{}:{}: {}", path.string(), error.source().begin.line, error.description()));
  }
  return entries;
}

const Statement* find(const std::vector<Statement>& statements, const std::string& name) {
  const auto at =
      std::find_if(statements.begin(), statements.end(), [&](const Statement& one) { return one.name == name; });
  return at == statements.end() ? nullptr : &*at;
}

/// An evidence "kind name"; a property of another equation is "property id:name".
struct Evidence {
  std::string kind, id, name;

  Evidence(const Spec& spec, const std::string& text) : id(spec.id) {
    const auto space = text.find(' ');
    kind = text.substr(0, space);
    if (space != std::string::npos) name = text.substr(space + 1);
    if (const auto colon = name.find(':'); kind == "property" && colon != std::string::npos) {
      id = name.substr(0, colon);
      name = name.substr(colon + 1);
    }
  }
};

const laws::Property* property_of(const Evidence& evidence) {
  const auto of = laws::all_properties().find(evidence.id);
  if (of == laws::all_properties().end()) return nullptr;
  const auto at = std::find_if(of->second.begin(), of->second.end(),
                               [&](const laws::Property& property) { return property.name == evidence.name; });
  return at == of->second.end() ? nullptr : &*at;
}

/// The plugins of the backends, each loaded when it is needed first.
class Plugins {
public:
  Candidate& of(const std::string& backend) {
    auto& plugin = plugins_[backend];
    if (plugin) return *plugin;
    const auto known =
        std::find_if(kBackends.begin(), kBackends.end(), [&](const Backend& one) { return backend == one.name; });
    if (known == kBackends.end()) throw SpecError(fmt::format("[backends] names '{}', which is none", backend));
    plugin = std::make_unique<Candidate>(known->candidate);
    return *plugin;
  }

private:
  std::map<std::string, std::unique_ptr<Candidate>> plugins_;
};

/// The dtypes of the kernels that an equation is to have, by backend. Each has those of OpenMP.
std::map<std::string, std::vector<std::string>> due_kernels(const Spec& spec) {
  auto due = spec.backends;
  due.try_emplace("openmp", std::vector<std::string>{"f32", "f64"});
  return due;
}

/// Everything that coverage runs for one equation, each thing once.
class Runs {
public:
  Runs(const Spec& spec, const CoverageOptions& options, Plugins& plugins, const UnitTests& tests)
      : spec_(spec), options_(options), tests_(tests) {
    try_forms();
    try {
      cases_ = golden::load_golden(spec, options.project / "golden");
      golden = static_cast<int>(cases_.size());
      try_kernels(plugins);
      try_faults();
    } catch (const std::exception& error) {  // a golden file that cannot be read
      open.push_back(error.what());
    }
  }

  bool killed(const std::string& fault) const {
    return spec_.fault(fault) && spec_.fault(fault)->equivalent.empty() && !alive_.count(fault);
  }

  /// Whether every evidence of a statement holds. What fails is open; where nothing fails, what could not be run is
  /// declared.
  Trial::Result shown(const Statement& statement) {
    std::vector<std::string> failing, untried;
    for (const auto& text : statement.shown) {
      const Trial& trial = tried(text);
      if (trial.result == Trial::Result::holds) continue;
      auto& list = trial.result == Trial::Result::fails ? failing : untried;
      list.push_back(fmt::format("{}: {}: {}", statement.name, text, trial.why));
    }
    open.insert(open.end(), failing.begin(), failing.end());
    if (!failing.empty() || statement.shown.empty()) return Trial::Result::fails;
    declared.insert(declared.end(), untried.begin(), untried.end());
    return untried.empty() ? Trial::Result::holds : Trial::Result::declared;
  }

  /// One piece of evidence, run when it is asked for first.
  const Trial& tried(const std::string& text) {
    const auto [at, fresh] = trials_.try_emplace(text);
    if (fresh) at->second = run(Evidence(spec_, text));
    return at->second;
  }

  int golden = 0;
  std::map<std::string, std::vector<std::string>> kernels;  // by backend: dtypes that pass
  std::vector<std::string> open, declared;

private:
  void try_forms() {
    for (const auto& c : golden::stored_cases(spec_)) {
      try {
        golden::certify_case(c, {.check_witnesses = true, .gradients = false});
      } catch (const std::exception& error) {
        open.push_back(fmt::format("forms: {}", error.what()));
        return;
      }
    }
  }

  void try_kernels(Plugins& plugins) {
    CheckOptions check_options;
    check_options.strength = 0;
    check_options.golden = options_.project / "golden";
    check_options.only = spec_.id;
    check_options.law_draws = check_options.property_draws = 0;
    for (const auto& [backend, due] : due_kernels(spec_)) {
      std::map<std::string, bool> passes;
      const auto note = [&](const std::string& dtype, bool passed) {
        const auto at = passes.emplace(dtype, true).first;
        at->second = at->second && passed;
      };
      if (const auto report = options_.reports.find(backend); report != options_.reports.end()) {
        for (const auto& row : report->second.at("rows"))
          if (row.at("equation") == spec_.id) note(row.at("dtype"), row.at("status") == name(Status::pass));
      } else {
        for (const Row& row : check(plugins.of(backend), check_options).rows)
          note(row.kernel.dtype, row.status == Status::pass);
      }
      for (const auto& dtype : due)
        if (passes[dtype]) kernels[backend].push_back(dtype);
    }
  }

  void try_faults() {
    const MutantsOptions options{
        .only = spec_.id, .golden = options_.project / "golden", .profiles = {"f32", "f64"}, .seeds = 0, .strength = 0};
    for (const Mutant& mutant : mutants(options).mutants)
      if (mutant.hidden.empty() && !mutant.killed) alive_.insert(mutant.fault);
  }

  Trial run(const Evidence& evidence) {
    const auto fails_unless = [](bool holds, const char* why) {
      return holds ? Trial{} : Trial{Trial::Result::fails, why};
    };
    if (evidence.kind == "cost") return try_costs(spec_);
    if (evidence.kind == "gradient") return try_gradients(cases_);
    if (evidence.kind == "constraint") return try_constraint(spec_, evidence.name);
    if (evidence.kind == "test") return try_test(tests_, evidence.name, options_.programs);
    if (evidence.kind == "fault") return fails_unless(killed(evidence.name), "it survives");
    if (evidence.kind == "law") return try_law(evidence.name);
    if (evidence.kind == "property") return try_property(evidence);
    if (evidence.kind == "form")  // try_forms() has compared it with the others
      return fails_unless(std::any_of(cases_.begin(), cases_.end(),
                                      [&](const golden::GoldenCase& c) {
                                        return golden::applies(*spec_.form(evidence.name), c.problem);
                                      }),
                          "it applies to no golden case");
    return fails_unless(std::any_of(cases_.begin(), cases_.end(),
                                    [&](const golden::GoldenCase& c) { return c.name.flag == evidence.name; }),
                        "the golden file has no such case");
  }

  /// A law may be claimed more than once, of other inputs or along other axes: none may be broken, one must apply.
  Trial try_law(const std::string& law) {
    Trial trial{Trial::Result::fails, "it applies to nothing that was drawn"};
    for (const LawClaim& claim : spec_.laws) {
      if (claim.law != law) continue;
      const LawRun result = over_enclosures_of(spec_, laws::all_laws().at(law), claim);
      if (result.broken) return {Trial::Result::fails, fmt::format("{} ({})", *result.broken, result.query)};
      if (result.draws > 0) trial = {};
    }
    return trial;
  }

  Trial try_property(const Evidence& evidence) {
    const auto* property = property_of(evidence);
    if (!property) return {Trial::Result::fails, "there is no such property"};
    const LawRun result = over_enclosures_of(find_spec(evidence.id), property->check, {});
    if (result.broken) return {Trial::Result::fails, fmt::format("{} ({})", *result.broken, result.query)};
    if (result.draws == 0) return {Trial::Result::fails, "it applies to nothing that was drawn"};
    return {};
  }

  /// A law on the definition, over certified intervals.
  static LawRun over_enclosures_of(const Spec& spec, laws::Law law, const LawClaim& claim) {
    const auto& form =
        *std::find_if(spec.forms.begin(), spec.forms.end(), [](const FormDeclaration& one) { return !one.numeric; });
    return run_law(law, claim, spec, form.name, {}, golden::profile("f64"), over_enclosures(form.name), false, 4, 1);
  }

  const Spec& spec_;
  const CoverageOptions& options_;
  const UnitTests& tests_;
  std::vector<golden::GoldenCase> cases_;
  std::set<std::string> alive_;
  std::map<std::string, Trial> trials_;
};

/// Counts the statements of one kind: those listed that are shown. A name that one list has and the other lacks is
/// open.
Share account(const std::vector<std::string>& listed, const std::vector<Statement>& statements, std::string_view what,
              Runs& runs, Coverage& row) {
  Share share{0, static_cast<int>(listed.size())};
  for (const auto& name : listed) {
    const Statement* statement = find(statements, name);
    if (!statement)
      row.open.push_back(fmt::format("{} {} is not accounted for", what, name));
    else if (!statement->reason.empty())
      row.left_out.push_back(fmt::format("{} {}: {}", what, name, statement->reason));
    else
      switch (runs.shown(*statement)) {
        case Trial::Result::holds: ++share.stand; break;
        case Trial::Result::declared: ++share.declared; break;
        case Trial::Result::fails: break;
      }
  }
  for (const auto& statement : statements)
    if (std::find(listed.begin(), listed.end(), statement.name) == listed.end())
      row.open.push_back(fmt::format("{} {} is not in specs/catalogue.toml", what, statement.name));
  return share;
}

Coverage cover(const Entry& entry, const Spec& spec, Runs& runs) {
  Coverage row;
  row.forms.listed = static_cast<int>(entry.forms.size());
  for (const auto& form : entry.forms) {
    const auto left_out = std::find_if(spec.not_taken.begin(), spec.not_taken.end(),
                                       [&](const NotTaken& one) { return one.name == form; });
    if (spec.form(form))
      ++row.forms.stand;
    else if (left_out != spec.not_taken.end())
      row.left_out.push_back(fmt::format("form {}: {}", form, left_out->reason));
    else
      row.open.push_back(fmt::format("form {} is not accounted for", form));
  }
  row.faults.listed = static_cast<int>(entry.faults.size());
  for (const auto& fault_name : entry.faults) {
    const auto no_fault = std::find_if(spec.not_faults.begin(), spec.not_faults.end(),
                                       [&](const NotAFault& one) { return one.what == fault_name; });
    if (const Fault* fault = spec.fault(fault_name); fault && !fault->equivalent.empty())
      row.left_out.push_back(fmt::format("fault {}: {}", fault_name, fault->equivalent));
    else if (fault && runs.killed(fault_name))
      ++row.faults.stand;
    else if (fault)
      row.open.push_back(fmt::format("fault {} survives", fault_name));
    else if (no_fault != spec.not_faults.end())
      row.left_out.push_back(fmt::format("fault {}: {}", fault_name, no_fault->reason));
    else
      row.open.push_back(fmt::format("fault {} is not accounted for", fault_name));
  }
  row.laws = account(entry.invariants, spec.invariants, "invariant", runs, row);
  row.errata = account(entry.errata, spec.errata, "erratum", runs, row);
  row.claims = account(entry.claims, spec.claims, "claim", runs, row);
  row.golden = runs.golden;
  row.gradient = !entry.gradient;
  if (entry.gradient && spec.gradient.empty())
    row.open.push_back("no gradient is certified");
  else if (entry.gradient) {
    const Trial& trial = runs.tried("gradient");
    row.gradient = trial.result == Trial::Result::holds;
    if (!row.gradient) row.open.push_back(fmt::format("gradient: {}", trial.why));
  }
  row.kernels = runs.kernels;
  for (const auto& [backend, due] : due_kernels(spec))
    for (const auto& dtype : due)
      if (const auto& passed = row.kernels[backend]; std::find(passed.begin(), passed.end(), dtype) == passed.end())
        row.open.push_back(fmt::format("no {} kernel in {} that passes", backend, dtype));
  row.open.insert(row.open.end(), runs.open.begin(), runs.open.end());
  row.declared = runs.declared;
  row.status = row.open.empty() ? Coverage::Status::complete : Coverage::Status::partial;
  return row;
}

Coverage coverage_of(const Entry& entry, const CoverageOptions& options, Plugins& plugins, const UnitTests& tests) {
  Coverage row;
  if (const auto spec = specs().find(entry.id); spec != specs().end()) {
    Runs runs(spec->second, options, plugins, tests);
    row = cover(entry, spec->second, runs);
  } else {
    const auto none_of = [](const std::vector<std::string>& names) { return Share{0, static_cast<int>(names.size())}; };
    row.forms = none_of(entry.forms);
    row.laws = none_of(entry.invariants);
    row.faults = none_of(entry.faults);
    row.errata = none_of(entry.errata);
    row.claims = none_of(entry.claims);
  }
  row.id = entry.id;
  row.title = entry.title;
  return row;
}

}  // namespace

std::string_view name(Coverage::Status status) {
  return status == Coverage::Status::planned ? "planned" : status == Coverage::Status::partial ? "partial" : "complete";
}

std::filesystem::path test_programs() { return ATTEST_TEST_PROGRAMS; }

std::vector<Coverage> coverage(const CoverageOptions& options, const Progress& progress) {
  const auto catalogue = read_catalogue(options.project / "specs/catalogue.toml");
  for (const auto& spec : specs())
    if (std::none_of(catalogue.begin(), catalogue.end(), [&](const Entry& entry) { return entry.id == spec.first; }))
      throw SpecError(fmt::format("specs/catalogue.toml: there is a spec of {} but no entry", spec.first));
  const auto tests = unit_tests(options.project / "tests/self/unit");
  std::vector<const Entry*> chosen;
  for (const Entry& entry : catalogue)
    if (matches(options.only, entry.id)) chosen.push_back(&entry);
  const auto items = [&] {
    std::vector<jobs::Item> all;
    for (const Entry* entry : chosen) {
      const auto spec = specs().find(entry->id);
      all.push_back({entry->id, spec == specs().end() ? 0 : work_of_cases(spec->second)});
    }
    return all;
  };
  Steps steps(progress, chosen.size(), options.job);
  // Side by side, each thread with plugins of its own.
  Own<Plugins> plugins;
  const auto run = [&](std::size_t e) {
    steps.next(chosen[e]->id);
    return coverage_of(*chosen[e], options, plugins.here([] { return std::make_unique<Plugins>(); }), tests);
  };
  auto rows = results_of<Coverage>(chosen.size(), options.job, items, progress, run, unpacked_coverage);
  steps.finish();
  return rows;
}

nlohmann::json to_json(const std::vector<Coverage>& rows) {
  const auto share = [](const Share& of) { return nlohmann::json::array({of.stand, of.listed}); };
  auto operations = nlohmann::json::object();
  for (const Coverage& row : rows) {
    auto& one = operations[row.id];
    one = {{"status", name(row.status)},  {"forms", share(row.forms)},   {"golden", row.golden},
           {"gradient", row.gradient},    {"laws", share(row.laws)},     {"faults", share(row.faults)},
           {"errata", share(row.errata)}, {"claims", share(row.claims)}, {"open", row.open},
           {"declared", row.declared},    {"left_out", row.left_out}};
    for (const Backend& backend : kBackends) {
      const auto at = row.kernels.find(backend.name);
      one[backend.name] = at == row.kernels.end() ? std::vector<std::string>{} : at->second;
    }
  }
  return {{"operations", operations}};
}

}  // namespace attest::judge
