// SPDX-License-Identifier: MIT
#include "attest/judge/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "attest/golden/agreement.hpp"
#include "attest/golden/files.hpp"

namespace attest::judge {
namespace {

constexpr std::chrono::milliseconds kPatience{100};  // with threads that go on after the last call
constexpr unsigned char kPoison[] = {0xff, 0xfe};    // both are NaN in every floating-point format; they differ

/// The dtypes of a candidate that a profile can be claimed with.
bool can_claim(const KernelInfo& info, const golden::Profile& profile) { return info.dtype == profile.storage; }

CallOptions options_for(const Kernel& kernel, const CheckOptions& options, Placement placement, unsigned char poison) {
  return {placement, kernel.capabilities.alignment(), poison, options.time_limit};
}

/// The first element that still holds the poison, as "o[3]"; empty when all were written.
std::string unwritten(const Request& request, const std::vector<std::vector<std::byte>>& outputs,
                      unsigned char poison) {
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const std::size_t width = size_of(request.outputs[o].dtype);
    for (std::size_t i = 0; i + width <= outputs[o].size(); i += width) {
      bool untouched = true;
      for (std::size_t b = 0; b < width; ++b) untouched = untouched && outputs[o][i + b] == std::byte{poison};
      if (untouched) return fmt::format("{}[{}]", request.outputs[o].name, i / width);
    }
  }
  return "";
}

struct Answer {
  Placement placement;
  std::vector<Arrays> outputs;  // per problem
};

struct Judged {
  Status status = Status::pass;
  std::string message;
  std::vector<Answer> answers;  // those that differ, in the order of the runs
};

Status status_of(Response::End end) {
  return end == Response::End::unavailable    ? Status::invalid
         : end == Response::End::kernel_error ? Status::fail
                                              : Status::crashed;
}

/// Tier T0: runs the batch three times (against the trailing guard, again with another poison, against the leading
/// guard where earlier calls had their tensors) and checks that nothing outside was written, everything inside was, and
/// the answer repeats.
Judged contract(Candidate& candidate, const Kernel& kernel, const Batch& batch, const golden::Profile& profile,
                const CheckOptions& options) {
  const Request request = assemble(batch, kernel, profile);
  Judged judged;
  struct Run {
    Placement placement;
    unsigned char poison;
  };
  std::vector<std::vector<std::byte>> before;
  const bool placed = candidate.host().places_outputs();
  for (const Run run : {Run{Placement::end_at_guard, kPoison[0]}, Run{Placement::end_at_guard, kPoison[1]},
                        Run{Placement::start_at_guard, kPoison[0]}}) {
    if (!placed && run.placement == Placement::start_at_guard) break;
    const Response response =
        candidate.host().call(kernel.index, request, options_for(kernel, options, run.placement, run.poison));
    if (response.end != Response::End::finished) return {status_of(response.end), response.message, {}};
    if (!response.violations.empty()) return {Status::fail, response.violations[0], {}};
    if (const auto place = placed ? unwritten(request, response.outputs, run.poison) : ""; !place.empty())
      return {Status::fail, fmt::format("{} was not written", place), {}};
    if (!before.empty() && run.placement == Placement::end_at_guard && kernel.capabilities.deterministic() &&
        before != response.outputs)
      return {Status::fail, "the same call gave two different answers", {}};
    if (before != response.outputs)
      judged.answers.push_back({run.placement, disassemble(batch, kernel, request, response.outputs)});
    before = response.outputs;
  }
  return judged;
}

void note_worst(Row& row, const Comparison& comparison, const std::string& query) {
  row.elements += comparison.compared;
  if (comparison.compared > 0 && (row.worst_query.empty() || comparison.worst.ratio() > row.worst.ratio())) {
    row.worst = comparison.worst;
    row.worst_query = query;
  }
}

/// Whether the first wrong element belongs to an exact family.
bool is_exact(const golden::GoldenCase& c, const Comparison& comparison) {
  const auto exact = exact_outputs(c.name);
  return comparison.first && std::count(exact.begin(), exact.end(), comparison.first->output) > 0;
}

/// Which problem of a batch it is, in words.
std::string place_of(std::size_t p, const Kernel& kernel, const Batch& batch) {
  if (!kernel.packed())
    return fmt::format("head {} of a batch of {} x {} ({} groups): ", p, batch.batch, batch.heads, batch.groups);
  const auto heads = static_cast<std::size_t>(batch.heads);
  std::string lengths;
  for (const auto& size : kernel.token_sizes()) {
    std::vector<Index> each;
    for (std::size_t first = 0; first < batch.problems.size(); first += heads)
      each.push_back(batch.problems[first].sizes.at(size));
    lengths += fmt::format("{}{} = {}", lengths.empty() ? "" : "; ", size, fmt::join(each, ", "));
  }
  return fmt::format("head {} of sequence {} among {} that are packed ({}), {} heads in {} groups: ", p % heads,
                     p / heads, batch.batch, lengths, heads, batch.groups);
}

/// Judges a batch against the certified values of its heads.
Finding judge_batch(Candidate& candidate, const Kernel& kernel, const Batch& batch,
                    const std::vector<const golden::GoldenCase*>& cases, const golden::Profile& profile,
                    const CheckOptions& options, Row* row, std::vector<Sample>* samples) {
  Finding finding;
  finding.tier = "T0";
  finding.query = golden::query(cases[0]->name, profile.name);
  const Judged judged = contract(candidate, kernel, batch, profile, options);
  finding.status = judged.status;
  finding.message = judged.message;
  if (finding.status != Status::pass) return finding;
  for (std::size_t p = 0; p < cases.size(); ++p) {
    if (samples && !judged.answers.empty()) samples->push_back({cases[p], judged.answers[0].outputs[p]});
    for (std::size_t a = 0; a < judged.answers.size(); ++a) {
      const Comparison comparison =
          compare(cases[p]->problem, cases[p]->certified, judged.answers[a].outputs[p], profile);
      const std::string query = golden::query(cases[p]->name, profile.name);
      if (row) note_worst(*row, comparison, query);
      if (p + a == 0) finding.comparison = comparison;
      if (comparison.passed()) continue;
      finding.comparison = comparison;
      finding.query = query;
      if (count(shape_of(kernel.spec->outputs[0], cases[p]->problem.sizes)) == 0 && comparison.compared == 0)
        continue;  // an empty output
      finding.status = comparison.compared == 0 ? Status::invalid : Status::fail;
      finding.tier = comparison.compared == 0 ? "vacuity" : is_exact(*cases[p], comparison) ? "T1" : "T2";
      finding.message = comparison.first ? comparison.first->text() : "nothing was compared";
      if (a > 0)
        finding.message =
            (judged.answers[a].placement == Placement::start_at_guard ? "at addresses that earlier calls had: "
                                                                      : "repeated: ") +
            finding.message;
      if (cases.size() > 1) finding.message = place_of(p, kernel, batch) + finding.message;
      return finding;
    }
  }
  return finding;
}

Batch single(const golden::GoldenCase& c) { return {{c.problem}, {c.cotangents}, 1, 1, 1}; }

/// The shape of a case at other lengths; nothing where the kernel cannot do them.
std::optional<golden::Case> at_lengths(golden::Case c, const Kernel& kernel, const Sizes& lengths) {
  const golden::Case before = c;
  for (const auto& [name, length] : lengths) c.sizes[name] = length;
  const auto adapted = kernel.capabilities.adapted(*c.spec, c.sizes, c.parameters);
  if (!adapted || adapted->second != before.parameters) return std::nullopt;
  c.sizes = adapted->first;
  for (const auto& [name, size] : before.sizes)
    if (!c.spec->size(name)->tokens && c.sizes.at(name) != size) return std::nullopt;
  const auto* form = c.spec->form(kernel.info.form);
  if (form && !holds(form->when, *c.spec, c.sizes, c.parameters)) return std::nullopt;
  return c;
}

/// Sequences to pack: that of the case, lengths that are multiples of nothing, no token where the equation has that,
/// one token.
std::vector<golden::Case> sequences(const golden::Case& shape, const Kernel& kernel, std::vector<Index> primes) {
  Sizes one, none, odd;
  for (const auto& name : kernel.token_sizes()) {
    const auto& size = *shape.spec->size(name);
    one[name] = std::clamp<Index>(1, size.smallest, size.largest);
    none[name] = std::clamp<Index>(0, size.smallest, size.largest);
    odd[name] = std::clamp(primes[0], size.smallest, size.largest);
    if (primes.size() > 1) primes.erase(primes.begin());  // queries and keys differ in number
  }
  std::vector<golden::Case> all{shape};
  std::vector<Sizes> lengths{odd, none, one};
  if (none == one) lengths.pop_back();
  for (const auto& other : lengths)
    if (auto c = at_lengths(shape, kernel, other)) all.push_back(std::move(*c));
  return all;
}

struct Grid {
  std::size_t entries;  // of a batch that is not packed
  Index heads, groups;
};

/// Several heads, and groups of them where they share keys. What heads share has a gradient that is summed over them,
/// which no certified value is of: a gradient kernel has as many groups as heads, and one head where heads share a
/// tensor anyway.
Grid grid_of(const Kernel& kernel, bool first) {
  const Spec& spec = *kernel.spec;
  if (kernel.info.reading == "value") return first ? Grid{2, 4, 2} : Grid{1, 3, 1};
  const auto is_shared = [&](const std::string& name) { return spec.input(name)->sharing == Sharing::batch; };
  const bool shared = std::any_of(spec.gradient.begin(), spec.gradient.end(), is_shared);
  return shared ? Grid{first ? 2u : 3u, 1, 1} : first ? Grid{2, 4, 4} : Grid{1, 3, 3};
}

/// Several heads per entry, keys shared in groups, so that head and batch mistakes show; nothing where an entry cannot
/// be drawn.
std::vector<golden::GoldenCase> batch_cases(const std::vector<golden::Case>& entries, const Grid& grid,
                                            const golden::Profile& profile, bool gradients) {
  std::vector<golden::GoldenCase> cases;
  for (std::size_t b = 0; b < entries.size(); ++b)
    for (Index h = 0; h < grid.heads; ++h) {
      golden::Case c = entries[b];
      const auto entry = static_cast<Index>(b);
      c.seed = static_cast<std::uint64_t>(100 + entry * grid.heads + h);
      for (const auto& input : c.spec->inputs) {
        const Index group = entry * grid.groups + h / (grid.heads / grid.groups);
        if (input.sharing == Sharing::group) c.seeds[input.name] = static_cast<std::uint64_t>(200 + group);
        if (input.sharing == Sharing::batch) c.seeds[input.name] = static_cast<std::uint64_t>(300 + entry);
      }
      auto certified = certified_now(c, profile, gradients);
      if (!certified) return {};
      cases.push_back(judged_by(std::move(*certified), profile));
    }
  return cases;
}

/// Whether some head's answer would be wrong for the head before it.
bool tells_heads_apart(const std::vector<golden::GoldenCase>& cases, const golden::Profile& profile, bool gradients) {
  return std::adjacent_find(cases.begin(), cases.end(),
                            [&](const golden::GoldenCase& one, const golden::GoldenCase& other) {
                              if (other.problem.sizes != one.problem.sizes) return false;
                              Arrays answer;
                              for (const auto& [name, tensor] : other.certified.outputs)
                                if (golden::is_gradient(name) == gradients) answer[name] = {tensor.shape, tensor.hi};
                              return compare(one.problem, one.certified, answer, profile).failed > 0;
                            }) != cases.end();
}

/// True when the run is to end; the row says so then.
bool ended(const CheckOptions& options, Row& row) {
  if (row.ended_by.empty() && options.stop)
    if (const Stop stop = options.stop(); stop != Stop::no)
      row.ended_by = stop == Stop::budget ? "budget" : "interrupt";
  return !row.ended_by.empty();
}

void run_laws(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile, const CheckOptions& options,
              LawBounds& bounds, Row& row) {
  const auto evaluate = evaluate_with(candidate, kernel, profile, options, bounds);
  const auto run_one = [&](laws::Law law, const LawClaim& claim, const std::string& name, int draws) {
    if (draws == 0) return;
    if (ended(options, row)) {
      ++row.not_run;
      return;
    }
    const LawRun run = run_law(law, claim, *kernel.spec, kernel.info.form, kernel.capabilities, profile, evaluate,
                               kernel.capabilities.deterministic(), draws, options.seed);
    if (run.draws == 0 && !run.broken) {
      ++row.laws_vacuous;
      return;
    }
    if (run.note && !run.broken && std::count(row.notes.begin(), row.notes.end(), *run.note) == 0)
      row.notes.push_back(*run.note);
    ++row.laws;
    ++row.groups["laws"].judged;
    if (!run.broken) {
      ++row.laws_held;
      ++row.groups["laws"].passed;
      return;
    }
    row.failures.push_back({Status::fail, run.query, fmt::format("law {}: {}", name, *run.broken), "law", "laws", {}});
  };
  for (const auto& claim : kernel.spec->laws) {
    const auto law = laws::all_laws().find(claim.law);
    if (law == laws::all_laws().end())
      throw SpecError(fmt::format("{}: no law is called '{}'", kernel.spec->id, claim.law));
    run_one(law->second, claim, claim.law + (claim.along.empty() ? "" : " along " + claim.along), options.law_draws);
  }
  if (const auto properties = laws::all_properties().find(kernel.spec->id); properties != laws::all_properties().end())
    for (const auto& property : properties->second)
      run_one(property.check, LawClaim{}, property.name, options.property_draws);
}

Row begin_row(const Kernel& kernel, const golden::Profile& profile) {
  Row row;
  row.equation = kernel.info.equation;
  row.form = kernel.info.form;
  row.reading = kernel.info.reading;
  row.dtype = name(kernel.info.dtype);
  row.profile = profile.name;
  row.layout = kernel.info.layout;
  row.capabilities = kernel.capabilities.text();
  return row;
}

void finish(Row& row) {
  for (const auto& failure : row.failures) {
    if (failure.status == Status::crashed || row.status == Status::crashed)
      row.status = Status::crashed;
    else if (failure.status == Status::fail || row.status == Status::fail)
      row.status = Status::fail;
    else
      row.status = Status::invalid;
  }
}

/// What comes to light after the last call is the last kernel's.
void settle(Candidate& candidate, Report& report) {
  if (report.rows.empty()) return;
  Row& row = report.rows.back();
  for (const auto& violation : candidate.host().settle(kPatience))
    row.failures.push_back({Status::fail, "", violation, "T0", "contract", {}});
  finish(row);
}

/// False when it gave up: a kernel that dies or hangs does so again, and one without a device has none in the next
/// case.
bool judge_cases(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile, const Selection& selection,
                 const CheckOptions& options, Row& row, std::vector<Sample>& samples) {
  const auto record = [&](Finding finding, const std::string& group) {
    ++row.cases;
    ++row.groups[group].judged;
    finding.group = group;
    if (finding.status == Status::pass)
      ++row.cases_passed, ++row.groups[group].passed;
    else
      row.failures.push_back(std::move(finding));
  };
  for (const auto& [flag, cases] : selection.skipped) row.groups[flag].skipped = cases;
  for (const auto& c : selection.cases) {
    if (ended(options, row)) {
      ++row.not_run;
      ++row.groups[c.name.flag].skipped;
      continue;
    }
    record(judge_batch(candidate, kernel, single(c), {&c}, profile, options, &row, &samples), c.name.flag);
    const auto failed = [&](Status status) {
      return std::count_if(row.failures.begin(), row.failures.end(),
                           [&](const Finding& f) { return f.status == status && f.tier == "T0"; });
    };
    if (failed(Status::crashed) >= 2 || failed(Status::invalid) >= 1)
      return false;  // each crash may have cost the whole time limit
  }
  if (kernel.info.layout == "nd" || selection.cases.empty()) return true;
  const bool gradients = kernel.info.reading == "gradient";
  // A case in the middle, random where there is such a one; the next where its heads cannot be drawn or do not differ.
  std::vector<golden::Case> shapes;
  for (const auto& c : selection.cases) shapes.push_back(c.name);
  const auto others =
      std::stable_partition(shapes.begin(), shapes.end(), [](const golden::Case& c) { return c.flag == "random"; });
  std::rotate(shapes.begin(), shapes.begin() + (others - shapes.begin()) / 2, others);
  std::rotate(others, others + (shapes.end() - others) / 2, shapes.end());
  for (const bool first : {true, false}) {
    const Grid grid = grid_of(kernel, first);
    if (ended(options, row)) {
      ++row.not_run;
      continue;
    }
    std::vector<golden::GoldenCase> cases;
    for (std::size_t i = 0; i < shapes.size() && cases.empty(); ++i) {
      const golden::Case& shape = shapes[i];
      std::vector<golden::Case> entries(grid.entries, shape);
      if (kernel.packed())
        entries = sequences(shape, kernel, first ? std::vector<Index>{61, 67} : std::vector<Index>{7, 11});
      if (!first) std::reverse(entries.begin(), entries.end());
      cases = batch_cases(entries, grid, profile, gradients);
      if (!cases.empty() && !tells_heads_apart(cases, profile, gradients)) cases.clear();
    }
    if (cases.empty()) {
      ++row.groups["batch"].skipped;
      continue;
    }
    Batch batch{{}, {}, static_cast<Index>(cases.size()) / grid.heads, grid.heads, grid.groups};
    std::vector<const golden::GoldenCase*> pointers;
    for (const auto& c : cases) {
      batch.problems.push_back(c.problem);
      batch.cotangents.push_back(c.cotangents);
      pointers.push_back(&c);
    }
    record(judge_batch(candidate, kernel, batch, pointers, profile, options, &row, nullptr), "batch");
    ++row.drawn;
  }
  return true;
}

/// Leaves so many cases, the first of every flag before the second of any.
void limit(Selection& selection, int most) {
  std::map<std::string, int> of_flag;
  std::vector<std::pair<int, std::size_t>> order;
  for (std::size_t i = 0; i < selection.cases.size(); ++i)
    order.emplace_back(of_flag[selection.cases[i].name.flag]++, i);
  std::sort(order.begin(), order.end());
  std::set<const golden::GoldenCase*> kept;
  for (std::size_t i = 0; i < order.size() && kept.size() < static_cast<std::size_t>(most); ++i)
    kept.insert(&selection.cases[order[i].second]);
  selection.keep_if([&](const golden::GoldenCase& c) { return kept.count(&c) > 0; });
}

const golden::Profile& profile_for(const Kernel& kernel, const CheckOptions& options) {
  return options.profile ? golden::profile(*options.profile) : kernel.profile();
}

}  // namespace

std::string_view name(Status status) {
  switch (status) {
    case Status::pass: return "PASS";
    case Status::fail: return "FAIL";
    case Status::crashed: return "CRASH";
    case Status::invalid: return "INVALID";
  }
  return "?";
}

int exit_code(Status status) { return status == Status::pass ? 0 : status == Status::fail ? 1 : 3; }

Status Report::status() const {
  if (rows.empty()) return Status::invalid;
  Status worst = Status::pass;
  for (const auto& row : rows) {
    if (row.status == Status::crashed) return Status::crashed;
    if (row.status == Status::fail) worst = Status::fail;
    if (row.status == Status::invalid && worst == Status::pass) worst = Status::invalid;
  }
  return worst;
}

bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') return matches(pattern.substr(1), text) || (!text.empty() && matches(pattern, text.substr(1)));
  return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) && matches(pattern.substr(1), text.substr(1));
}

namespace {

std::string fingerprint(const Problem& problem, const golden::Profile& profile) {
  std::string content = profile.name;
  for (const auto& [name, size] : problem.sizes) content += fmt::format(";{}={}", name, size);
  for (const auto& [name, setting] : problem.parameters)
    std::visit([&](const auto& value) { content += fmt::format(";{}={}", name, value); }, setting);
  for (const auto& [name, array] : problem.inputs) {
    content += fmt::format(";{} {}:", name, fmt::join(array.shape, " "));
    content.append(reinterpret_cast<const char*>(array.values.data()), array.values.size() * sizeof(double));
  }
  return golden::sha256(content);
}

}  // namespace

const Arrays& LawBounds::of(const Problem& problem, const golden::Profile& profile) {
  if (std::exchange(spec_, problem.spec) != problem.spec) known_.clear();
  const std::string key = fingerprint(problem, profile);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  Arrays bounds;
  for (const auto& [name, tensor] : golden::error_model(problem, {}, profile.units))
    bounds[name] = golden::bounds_of(tensor, profile.units_of(golden::declaration_of(*problem.spec, name)));
  return known_.emplace(key, std::move(bounds)).first->second;
}

laws::Evaluate evaluate_with(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile,
                             const CheckOptions& options, LawBounds& bounds) {
  return [&candidate, &kernel, &profile, options, &bounds](const Problem& problem) {
    const Batch batch{{problem}, {{}}, 1, 1, 1};
    const Request request = assemble(batch, kernel, profile);
    const Response response =
        candidate.host().call(kernel.index, request, options_for(kernel, options, Placement::end_at_guard, kPoison[0]));
    if (response.end == Response::End::kernel_error) throw laws::Refused(response.message);
    if (response.end != Response::End::finished) throw std::runtime_error(response.message);
    if (!response.violations.empty()) throw std::runtime_error(response.violations[0]);
    laws::Outcome outcome;
    outcome.values = disassemble(batch, kernel, request, response.outputs)[0];
    outcome.bounds = [&bounds, &profile, owned = std::make_shared<Problem>(problem)]() -> const Arrays& {
      return bounds.of(*owned, profile);
    };
    return outcome;
  };
}

Bank& Banks::of(const Spec& spec, const golden::Profile& profile) {
  auto& bank = banks_[{spec.id, profile.name}];
  if (!bank) bank = std::make_unique<Bank>(spec, profile);
  return *bank;
}

void judge_statistics(Bank& bank, const std::vector<Sample>& samples, double tests, Row& row) {
  if (samples.empty()) return;
  std::vector<const golden::GoldenCase*> cases;
  for (const Sample& sample : samples) {
    cases.push_back(sample.c);
    if (bank.says_nothing(*sample.c))
      row.failures.push_back({Status::invalid,
                              golden::query(sample.c->name, bank.profile().name),
                              "neither zeros nor any known fault would be beyond a bound in this case",
                              "vacuity",
                              sample.c->name.flag,
                              {}});
  }
  row.vacuity = bank.vacuity(cases);
  if (!row.vacuity.too_little.empty())
    row.failures.push_back(
        {Status::invalid, "", "these cases prove too little: " + row.vacuity.too_little, "vacuity", "contract", {}});
  row.statistics = bank.statistics(samples, tests);
  if (row.failures.empty())
    for (const Fit& fit : row.statistics.rejected)
      row.failures.push_back({Status::fail,
                              "",
                              fmt::format("every element is within its bound, but all together show {} ({}): {}",
                                          fit.fault, bank.spec().fault(fit.fault)->change, fit.text()),
                              "T3",
                              "statistics",
                              {}});
  row.groups["statistics"].judged = 1;
  row.groups["statistics"].passed = row.statistics.rejected.empty();
  if (!row.failures.empty()) row.diagnosis = diagnose(bank, samples, row.statistics);
}

/// A stored case that proves nothing is a mistake of ours and makes the run invalid; one that was moved to a kernel's
/// sizes is left out.
Selection telling(Selection selection, Bank& bank) {
  const auto* drawn = selection.cases.data() + selection.stored;
  selection.keep_if([&](const golden::GoldenCase& c) { return &c < drawn || !bank.says_nothing(c); });
  return selection;
}

Row judge_kernel(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile, Selection selection,
                 Bank& bank, LawBounds& bounds, const CheckOptions& options, double tests) {
  Row row = begin_row(kernel, profile);
  if (kernel.info.reading == "value") selection = telling(std::move(selection), bank);
  row.stored = selection.stored;
  row.drawn = selection.drawn;
  row.skipped = selection.skipped_cases();
  std::vector<Sample> samples;
  const bool all = judge_cases(candidate, kernel, profile, selection, options, row, samples);
  if (all && row.cases < kFewestCases)
    row.failures.push_back(
        {Status::invalid,
         "",
         row.ended_by.empty()
             ? fmt::format(
                   "only {} case(s) fit what the kernel says it can do ('{}') in profile {}; at least {} are needed",
                   row.cases, kernel.capabilities.text(), profile.name, kFewestCases)
             : fmt::format("only {} case(s) were judged before the {} ended the run; at least {} are needed", row.cases,
                           row.ended_by, kFewestCases),
         "vacuity",
         "contract",
         {}});
  if (kernel.info.reading == "value" && row.cases >= kFewestCases) judge_statistics(bank, samples, tests, row);
  if (kernel.info.reading == "value" && row.failures.empty())
    run_laws(candidate, kernel, profile, options, bounds, row);
  if (row.ended_by == "interrupt")
    row.failures.push_back({Status::invalid,
                            "",
                            fmt::format("interrupted; {} cases and laws were not run", row.not_run),
                            "T0",
                            "contract",
                            {}});
  finish(row);
  return row;
}

Report check(Candidate& candidate, const CheckOptions& options, const Progress& progress) {
  std::vector<const Kernel*> kernels;
  double tests = 0;
  for (const auto& kernel : candidate.kernels()) {
    if (!matches(options.only, kernel.info.equation) &&
        !matches(options.only, kernel.info.equation + "." + kernel.info.form))
      continue;
    if (!can_claim(kernel.info, profile_for(kernel, options))) continue;
    kernels.push_back(&kernel);
    tests += static_cast<double>(kernel.spec->faults.size());
  }
  Report report{candidate.host().name(), candidate.host().version(), {}};
  std::map<std::string, std::vector<golden::GoldenCase>> golden_cases;
  Banks banks;
  LawBounds bounds;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const Kernel& kernel = *kernels[k];
    if (progress) progress(k, kernels.size(), kernel.name());
    const golden::Profile& profile = profile_for(kernel, options);
    auto [stored, fresh] = golden_cases.try_emplace(kernel.info.equation);
    if (fresh) {
      stored->second = golden::load_golden(*kernel.spec, options.golden);
      std::erase_if(stored->second, [&](const golden::GoldenCase& c) { return !matches(options.flags, c.name.flag); });
    }
    Selection selection = select(*kernel.spec, kernel.info.form, kernel.capabilities, profile, stored->second,
                                 options.seed, kernel.info.reading == "gradient");
    if (options.most_cases) limit(selection, *options.most_cases);
    report.rows.push_back(
        judge_kernel(candidate, kernel, profile, selection, banks.of(*kernel.spec, profile), bounds, options, tests));
  }
  settle(candidate, report);
  if (progress) progress(kernels.size(), kernels.size(), "");
  return report;
}

Report reproduce(Candidate& candidate, const std::string& query, const CheckOptions& options) {
  const auto [c, profile_name] = golden::parse_query(query);
  const golden::Profile& profile = golden::profile(profile_name);
  const golden::GoldenCase certified = judged_by(golden::certify_case(c), profile);
  Report report{candidate.host().name(), candidate.host().version(), {}};
  const auto of_equation = [&](const Kernel& kernel) {
    return kernel.info.equation == c.spec->id && can_claim(kernel.info, profile);
  };
  const auto its_own = [&](const Kernel& kernel) {
    return of_equation(kernel) && kernel.profile().name == profile.name;
  };
  const bool some = std::any_of(candidate.kernels().begin(), candidate.kernels().end(), its_own);
  for (const auto& kernel : candidate.kernels()) {
    if (some ? !its_own(kernel) : !of_equation(kernel)) continue;
    if (!kernel.capabilities.allow(*c.spec, c.sizes, c.parameters) || !kernel.capabilities.takes(c.with)) continue;
    if (const auto* form = c.spec->form(kernel.info.form); form && !golden::applies(*form, certified.problem)) continue;
    Row row = begin_row(kernel, profile);
    row.drawn = 1;
    std::vector<Sample> samples;
    judge_cases(candidate, kernel, profile, {{certified}, 0, 1, {}}, options, row, samples);
    finish(row);
    report.rows.push_back(std::move(row));
  }
  settle(candidate, report);
  return report;
}

namespace {

nlohmann::json number(double x) { return std::isfinite(x) ? nlohmann::json(x) : nlohmann::json(fmt::format("{}", x)); }

nlohmann::json to_json(const Fit& fit) {
  return {{"fault", fit.fault}, {"c", number(fit.c)}, {"error", number(fit.error)},
          {"z", number(fit.z)}, {"p", fit.p},         {"explained", number(fit.explained)}};
}

nlohmann::json to_json(const std::vector<Fit>& fits, std::size_t most) {
  auto all = nlohmann::json::array();
  for (std::size_t i = 0; i < fits.size() && i < most; ++i) all.push_back(to_json(fits[i]));
  return all;
}

nlohmann::json to_json(const Diagnosis& diagnosis) {
  auto names = nlohmann::json::array();
  for (const Name& name : diagnosis.names) {
    auto one = to_json(name.fit);
    one["whole"] = name.whole;
    one["failing"] = name.failing;
    names.push_back(std::move(one));
  }
  return {{"names", names},
          {"first", diagnosis.first ? diagnosis.first->text() : ""},
          {"where", diagnosis.where},
          {"query", diagnosis.query}};
}

}  // namespace

nlohmann::json to_json(const Report& report) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& row : report.rows) {
    nlohmann::json groups = nlohmann::json::object();
    for (const auto& [group, count] : row.groups)
      groups[group] = {{"judged", count.judged}, {"passed", count.passed}, {"skipped", count.skipped}};
    nlohmann::json failures = nlohmann::json::array();
    for (const auto& failure : row.failures)
      failures.push_back({{"status", name(failure.status)},
                          {"tier", failure.tier},
                          {"group", failure.group},
                          {"query", failure.query},
                          {"message", failure.message}});
    rows.push_back({{"equation", row.equation},
                    {"form", row.form},
                    {"reading", row.reading},
                    {"dtype", row.dtype},
                    {"profile", row.profile},
                    {"layout", row.layout},
                    {"capabilities", row.capabilities},
                    {"status", name(row.status)},
                    {"cases",
                     {{"judged", row.cases},
                      {"passed", row.cases_passed},
                      {"stored", row.stored},
                      {"drawn", row.drawn},
                      {"skipped", row.skipped}}},
                    {"not_run", row.not_run},
                    {"ended_by", row.ended_by},
                    {"groups", groups},
                    {"laws", {{"judged", row.laws}, {"held", row.laws_held}, {"vacuous", row.laws_vacuous}}},
                    {"elements", row.elements},
                    {"worst",
                     {{"ratio", number(row.worst_query.empty() ? 0 : row.worst.ratio())},
                      {"query", row.worst_query},
                      {"text", row.worst_query.empty() ? "" : row.worst.text()}}},
                    {"statistics",
                     {{"elements", row.statistics.elements},
                      {"rms", row.statistics.rms},
                      {"bits", row.statistics.bits},
                      {"claimed_bits", row.statistics.claimed_bits},
                      {"behaves_like", row.statistics.behaves_like},
                      {"bias", row.statistics.bias},
                      {"bias_z", row.statistics.bias_z},
                      {"scores", to_json(row.statistics.fits, 5)},
                      {"joint", to_json(row.statistics.joint, 5)}}},
                    {"vacuity",
                     {{"elements", row.vacuity.elements},
                      {"distinct", row.vacuity.distinct},
                      {"nan_share", row.vacuity.nan_share},
                      {"zeros_differ", row.vacuity.zeros_differ},
                      {"mean_differs", row.vacuity.mean_differs},
                      {"faults_shown", row.vacuity.faults_shown},
                      {"faults", row.vacuity.faults}}},
                    {"diagnosis", to_json(row.diagnosis)},
                    {"notes", row.notes},
                    {"failures", failures}});
  }
  return {
      {"candidate", report.candidate}, {"version", report.version}, {"status", name(report.status())}, {"rows", rows}};
}

}  // namespace attest::judge
