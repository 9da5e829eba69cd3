// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "attest/judge/candidate.hpp"
#include "attest/judge/diagnosis.hpp"
#include "attest/judge/laws.hpp"
#include "attest/judge/verdict.hpp"

namespace attest::judge {

enum class Status { pass, fail, crashed, invalid };

/// "PASS", "FAIL", "CRASH", "INVALID".
std::string_view name(Status status);

/// Exit status of a command that ends with this verdict: 0 pass, 1 fail, 3 crashed, hung or invalid.
int exit_code(Status status);

/// The verdict on one case (or one batch of cases) or one law.
struct Finding {
  Status status = Status::pass;
  std::string query;    // reproduces it
  std::string message;  // what was wrong; empty when it passed
  std::string tier;     // that found it: "T0" contract, "T1" exact, "T2" bound, "T3" statistics, "law", "vacuity"
  std::string group;    // where it belongs in Row::groups
  Comparison comparison;
};

/// Judgements of one kind: the cases of one flag, "batch", "laws", "statistics", "contract".
struct Group {
  int judged = 0, passed = 0, skipped = 0;
};

/// The verdict on one kernel.
struct Row {
  std::string equation, form, reading, dtype, profile, layout, capabilities;
  int cases = 0, cases_passed = 0;
  int stored = 0, drawn = 0;  // of the cases: from the golden file, or certified on the fly
  int skipped = 0;            // golden cases outside of the kernel's precision or capabilities, or of the options
  int not_run = 0;            // cases and laws that the run was ended before
  std::string ended_by;       // "budget", "interrupt"; empty when everything was run
  std::map<std::string, Group> groups;
  int laws = 0, laws_held = 0, laws_vacuous = 0;
  Index elements = 0;  // compared
  Element worst;       // error / bound, also when everything passes
  std::string worst_query;
  std::vector<Finding> failures;
  std::vector<std::string> notes;  // what a reader should know of a kernel although it is no fault
  Statistics statistics;           // of values, not of gradients
  Vacuity vacuity;
  Diagnosis diagnosis;  // of what failed
  Status status = Status::pass;
};

struct Report {
  std::string candidate, version;
  std::vector<Row> rows;
  Status status() const;
};

/// Whether a run goes on.
enum class Stop { no, budget, interrupt };

struct CheckOptions {
  std::string only = "*";              // glob over "equation" or "equation.form"
  std::string flags = "*";             // glob over the flags of cases
  std::optional<int> most_cases;       // of one kernel, every flag before a second case of any
  std::function<Stop()> stop;          // asked before every case and law
  std::optional<std::string> profile;  // default: the kernel's dtype
  std::filesystem::path golden;        // folder of the golden files
  int law_draws = 6;                   // per law
  int property_draws = 6;
  std::uint64_t seed = 1;
  std::chrono::milliseconds time_limit{20000};
};

/// The banks of a run, by equation and profile: what is computed once serves every kernel.
class Banks {
public:
  Bank& of(const Spec& spec, const golden::Profile& profile);

private:
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Bank>> banks_;
};

using Progress = std::function<void(std::size_t done, std::size_t total, const std::string& current)>;

/// Judges every kernel of a candidate: contract (T0), hard bounds (T2), laws and properties.
Report check(Candidate& candidate, const CheckOptions& options, const Progress& progress = {});

struct Selection;

/// Error bounds of the problems that laws draw. Kernels of one equation are tried on the same ones: what was computed
/// is kept until the equation changes.
class LawBounds {
public:
  /// By output, in its shape.
  const Arrays& of(const Problem& problem, const golden::Profile& profile);

private:
  const Spec* spec_ = nullptr;
  std::map<std::string, Arrays> known_;  // by the profile and what the problem holds
};

/// Judges one kernel by those cases; `tests` is the number of score tests in the whole run.
Row judge_kernel(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile, Selection selection,
                 Bank& bank, LawBounds& bounds, const CheckOptions& options, double tests);

/// Tier T3 and the guard against cases that prove nothing, over all that a kernel gave; adds to the row.
void judge_statistics(Bank& bank, const std::vector<Sample>& samples, double tests, Row& row);

/// Judges one case by its query; the row of each kernel that does it.
Report reproduce(Candidate& candidate, const std::string& query, const CheckOptions& options);

/// True where a pattern with * and ? matches the whole text.
bool matches(std::string_view pattern, std::string_view text);

/// The cases that a kernel is judged by: those of `golden` that it can do, then drawn ones where too few fit, then a
/// few fresh ones, whose inputs come from `seed` and are in no file. Their bounds hold for the profile.
struct Selection {
  std::vector<golden::GoldenCase> cases;  // those stored, then those drawn
  int stored = 0, drawn = 0;
  std::map<std::string, int> skipped;  // by flag

  int skipped_cases() const;
  /// Leaves the cases for which `keep` is true; the others are skipped.
  void keep_if(const std::function<bool(const golden::GoldenCase&)>& keep);
};
Selection select(const Spec& spec, const std::string& form, const Capabilities& capabilities,
                 const golden::Profile& profile, const std::vector<golden::GoldenCase>& stored, std::uint64_t seed = 1,
                 bool gradients = false);

/// The case certified without witnesses; nothing where its inputs break a condition on data, are not of the profile, or
/// give a value that lies midway between two numbers, so that no precision decides how it is stored.
std::optional<golden::GoldenCase> certified_now(const golden::Case& c, const golden::Profile& profile, bool gradients);

/// Fewer cases than this prove nothing: the verdict is INVALID.
inline constexpr int kFewestCases = 3;

nlohmann::json to_json(const Report& report);

/// One law (or property) on something that evaluates problems, over drawn cases; shrunk when it breaks.
struct LawRun {
  int draws = 0, vacuous = 0;         // that the law judged, and that it had nothing to say about
  std::optional<std::string> broken;  // what was seen
  std::string query;                  // of the smallest case that breaks it
  std::optional<std::string> note;    // what was seen beyond what the equation is about
};
LawRun run_law(laws::Law law, const LawClaim& claim, const Spec& spec, const std::string& form,
               const Capabilities& capabilities, const golden::Profile& profile, const laws::Evaluate& evaluate,
               bool bitwise, int draws, std::uint64_t seed);

/// Evaluates problems with a kernel, for laws on it. Keeps references to what it is given.
laws::Evaluate evaluate_with(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile,
                             const CheckOptions& options, LawBounds& bounds);

/// Evaluates a form of the reference over enclosures, for laws on the reference itself.
laws::Evaluate over_enclosures(const std::string& form, long precision_bits = 192);

}  // namespace attest::judge
