// SPDX-License-Identifier: MIT
#include "attest/judge/probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attest/golden/agreement.hpp"
#include "attest/judge/contract.hpp"
#include "attest/judge/regimes.hpp"
#include "attest/judge/true_values.hpp"
#include "attest/judge/work.hpp"

namespace attest::judge {
namespace {

constexpr Index kMostCalls = 40;                  // of one case
constexpr Index kMostWeights = 256 * 256;         // of one map
constexpr Index kFewWeights = 48;                 // a smaller map shows a pattern by chance
constexpr std::size_t kMostCases = 4;             // that are tried
constexpr double kSeconds = 2, kForOthers = 1.5;  // of the processor, in all, and until mix-ups are no longer tried
constexpr std::size_t kMostOthers = 8;            // problems of a batch that a kernel may have mixed up
constexpr double kFirstFactor = 37;               // of the values of other problems: no factor that mistakes have
constexpr std::size_t kMostFactors = 100;         // odd numbers from there on, exact in every format

/// An input whose rows are summed, and the output with a row of sums for each row of weights.
struct Path {
  std::string input, output;
};

std::vector<Path> paths(const Spec& spec) {
  std::vector<Path> found;
  for (const auto& input : probed_inputs(spec))
    for (const auto& output : spec.outputs)
      if (output.shape.size() == 2 && output.shape[1] == spec.input(input)->shape[1] &&
          spec.size(output.shape[0])->tokens)
        found.push_back({input, output.name});
  return found;
}

/// Words for the rows and the columns of a map.
MapNouns nouns_of(const Spec& spec, const Path& path) {
  const std::string& rows = spec.output(path.output)->shape[0];
  const bool queries = std::any_of(spec.inputs.begin(), spec.inputs.end(), [&](const TensorDeclaration& input) {
    return input.name.back() == 'q' && !input.shape.empty() && input.shape[0] == rows;
  });
  MapNouns nouns;
  if (!queries) nouns.row = "row of " + path.output, nouns.rows = "rows of " + path.output;
  if (spec.input(path.input)->shape[0] != "s") {
    nouns.column = queries ? "token" : "row of " + path.input;
    nouns.columns = queries ? "tokens" : "rows of " + path.input;
  }
  return nouns;
}

/// Which of the tensors of that sharing a problem of the batch has.
std::size_t owner_of(std::size_t p, Sharing sharing, const Batch& batch) {
  const auto heads = static_cast<std::size_t>(batch.heads), groups = static_cast<std::size_t>(batch.groups);
  switch (sharing) {
    case Sharing::head: return p;
    case Sharing::group: return p / heads * groups + p % heads / (heads / groups);
    case Sharing::batch: return p / heads;
  }
  return p;
}

/// "head 3", "entry 1", "group 0 of entry 1".
std::string name_of_owner(std::size_t p, Sharing sharing, const Batch& batch) {
  const auto heads = static_cast<std::size_t>(batch.heads), groups = static_cast<std::size_t>(batch.groups);
  const std::string entry = batch.batch == 1 ? "" : fmt::format(" of entry {}", p / heads);
  if (sharing == Sharing::batch || heads == 1) return batch.batch == 1 ? "" : fmt::format("entry {}", p / heads);
  if (sharing == Sharing::group && groups < heads)
    return fmt::format("group {}{}", owner_of(p, sharing, batch) % groups, entry);
  return fmt::format("head {}{}", p % heads, entry);
}

/// How much a map tells, the least first.
enum class Tells { all_right, nothing, a_place, a_pattern_of_one_row, a_pattern };

struct Reading {
  WeightMap map;
  Tells tells = Tells::nothing;
};

class Prober {
public:
  Prober(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile, Known& known,
         const CheckOptions& options)
      : kernel_(kernel),
        profile_(profile),
        known_(known),
        source_(single_calls_of(candidate, kernel, profile, options)),
        begin_(std::clock()) {}

  bool has_time(double seconds = kSeconds) const {
    return static_cast<double>(std::clock() - begin_) < seconds * CLOCKS_PER_SEC;
  }

  /// The weights of a problem that fails in this case; nothing where there is none, or where it would take too long.
  std::optional<Reading> reading_of(const golden::Case& c, const Path& path) {
    path_ = path;
    name_ = c;
    const auto p = draw_failing(c);
    if (!p) return std::nullopt;
    problem_ = &batch_.problems[*p];
    rows_ = problem_->sizes.at(spec().output(path.output)->shape[0]);
    columns_ = problem_->sizes.at(input().shape[0]);
    width_ = problem_->sizes.at(input().shape[1]);
    if (columns_ < 2 || rows_ < 1 || width_ < 1 || !is_sum()) return std::nullopt;
    WeightMap map;
    map.input = path.input, map.output = path.output;
    map.query = golden::query(c, profile_.name);
    if (batch_.problems.size() > 1) map.head = name_of_owner(*p, Sharing::head, batch_);
    map.rows = rows_, map.columns = columns_;
    if (!read(*p, map)) return std::nullopt;
    const auto state = compared(map);
    const bool right =
        std::all_of(state.begin(), state.end(), [](Weight one) { return one == Weight::right || one == Weight::zero; });
    if (right) {
      map.sentences = {
          fmt::format("with ones in {} all weights in {} are right in this case", path.input, path.output)};
      return Reading{std::move(map), Tells::all_right};
    }
    MapContext context{nouns_of(spec(), path), problem_->sizes, others(*p), true};
    map.sentences = sentences_of(map, context);
    if (!map.sentences.empty()) {
      Index wrong_rows = 0;
      for (Index i = 0; i < rows_; ++i)
        wrong_rows += std::any_of(state.begin() + i * columns_, state.begin() + (i + 1) * columns_,
                                  [](Weight one) { return one != Weight::right && one != Weight::zero; });
      return Reading{std::move(map), wrong_rows > 1 ? Tells::a_pattern : Tells::a_pattern_of_one_row};
    }
    context.patterns_alone = false;
    map.sentences = sentences_of(map, context);
    const auto tells = map.sentences.empty() ? Tells::nothing : Tells::a_place;
    return Reading{std::move(map), tells};
  }

private:
  const Spec& spec() const { return *kernel_.spec; }
  const TensorDeclaration& input() const { return *spec().input(path_.input); }

  /// Draws the batch of a case; returns the first problem that fails.
  std::optional<std::size_t> draw_failing(const golden::Case& c) {
    if (!c.grid) {
      batch_ = {{golden::draw(c)}, {Arrays{}}, 1, 1, 1};
      return 0;
    }
    const auto truth = known_.values.of(c, kernel_, profile_);
    if (!truth) return std::nullopt;
    batch_ = truth->drawn;
    const Answers answers = source_.answers(batch_, {c, batch_.problems[0], {}, {}});
    if (answers.status != Status::pass) return std::nullopt;
    for (const TrueProblem& one : truth->judged) {
      const Problem& problem = batch_.problems[one.at];
      if (compare(problem, one.certified, one.judged(problem, answers.answers[0].outputs[one.at]), profile_).failed > 0)
        return one.at;
    }
    return std::nullopt;
  }

  /// The problem with that many times a one in row `first + c` of each column c of the input; first < 0: with zeros.
  Problem with_ones(const Problem& problem, Index first, double factor = 1) const {
    Problem probed = problem;
    Array& array = probed.inputs.at(path_.input);
    std::fill(array.values.begin(), array.values.end(), 0.0);
    if (first >= 0)
      for (Index c = 0; c < width_ && first + c < array.shape[0]; ++c)
        array.values[static_cast<std::size_t>((first + c) * width_ + c)] = factor;
    return probed;
  }

  /// visit(first) for the first row of each block of ones.
  template <class Visit>
  bool each_block(Visit&& visit) const {
    for (Index first = 0; first < columns_; first += width_)
      if (!visit(first)) return false;
    return true;
  }

  /// visit(place in the map, place in the output) for the weights that a block of ones shows.
  template <class Visit>
  void each_weight(Index first, Visit&& visit) const {
    for (Index i = 0; i < rows_; ++i)
      for (Index c = 0; c < width_ && first + c < columns_; ++c)
        visit(static_cast<std::size_t>(i * columns_ + first + c), static_cast<std::size_t>(i * width_ + c));
  }

  std::vector<double> in_double(const Problem& problem) const {
    return golden::evaluate_in_double(problem, golden::first_modelled_form(problem).name, {}).at(path_.output).values;
  }

  /// Weights by the reference in binary64.
  std::vector<double> weights_in_double(const Problem& problem) const {
    std::vector<double> weights(static_cast<std::size_t>(rows_ * columns_));
    const std::vector<double> zero = in_double(with_ones(problem, -1));
    each_block([&](Index first) {
      const auto values = in_double(with_ones(problem, first));
      each_weight(first, [&](std::size_t at, std::size_t from) { weights[at] = values[from] - zero[from]; });
      return true;
    });
    return weights;
  }

  /// Whether the output is what the input is not needed for, and a sum of the input's rows times weights.
  bool is_sum() {
    due_ = weights_in_double(*problem_);
    zero_ = in_double(with_ones(*problem_, -1));
    Problem whole = *problem_;
    auto& values = whole.inputs.at(path_.input).values;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>((7 * i + 3) % 17) / 8 - 1;
    const auto got = in_double(whole);
    for (Index i = 0; i < rows_; ++i)
      for (Index c = 0; c < width_; ++c) {
        const auto at = static_cast<std::size_t>(i * width_ + c);
        double sum = zero_[at], size = std::abs(sum);
        for (Index j = 0; j < columns_; ++j) {
          const double term =
              due_[static_cast<std::size_t>(i * columns_ + j)] * values[static_cast<std::size_t>(j * width_ + c)];
          sum += term, size += std::abs(term);
        }
        if (std::isfinite(sum) && !(std::abs(got[at] - sum) <= 0x1p-30 * size)) return false;
      }
    return true;
  }

  double factor_of(std::size_t q, std::size_t p) const {
    const std::size_t owner = owner_of(q, input().sharing, batch_), own = owner_of(p, input().sharing, batch_);
    return owner == own ? 1 : kFirstFactor + 2 * static_cast<double>(owner % kMostFactors);
  }

  /// What the kernel gives for problem p where the input is ones from row `first` on, or zeros.
  std::optional<std::vector<double>> answer(std::size_t p, Index first) {
    Batch probed = batch_;
    for (std::size_t q = 0; q < probed.problems.size(); ++q)
      probed.problems[q] = with_ones(batch_.problems[q], first, factor_of(q, p));
    const Answers answers = source_.answers(probed, {name_, probed.problems[0], {}, {}});
    if (answers.status != Status::pass) return std::nullopt;
    const auto& outputs = answers.answers[0].outputs[p];
    const auto output = outputs.find(path_.output);
    if (output == outputs.end()) return std::nullopt;  // an optional one that the kernel does not give
    return output->second.values;
  }

  /// Values of the output and their bounds.
  struct Truth {
    std::vector<double> values, bounds;
  };
  std::optional<Truth> truth_of(const Problem& problem, std::size_t p) const {
    const auto one = true_rows(problem, p, {}, kernel_, profile_);
    if (!one) return std::nullopt;
    const auto& tensor = one->certified.outputs.at(path_.output);
    const auto units = profile_.units_of(golden::declaration_of(spec(), path_.output));
    Truth truth{tensor.hi, {}};
    for (std::size_t i = 0; i < tensor.hi.size(); ++i) truth.bounds.push_back(golden::bound_of(tensor, i, units));
    return truth;
  }

  bool read(std::size_t p, WeightMap& map) {
    const auto size = static_cast<std::size_t>(rows_ * columns_);
    map.got.resize(size), map.expected.resize(size), map.bound.resize(size);
    Truth zero;
    std::vector<double> got_zero;
    const bool affine = std::any_of(zero_.begin(), zero_.end(), [](double x) { return std::isfinite(x) && x != 0; });
    if (affine) {
      const auto truth = truth_of(with_ones(*problem_, -1), p);
      const auto got = answer(p, -1);
      if (!truth || !got) return false;
      zero = *truth, got_zero = *got;
    }
    return each_block([&](Index first) {
      if (!has_time()) return false;
      const auto truth = truth_of(with_ones(*problem_, first), p);
      const auto got = truth ? answer(p, first) : std::nullopt;
      if (!got) return false;
      each_weight(first, [&](std::size_t at, std::size_t from) {
        map.got[at] = (*got)[from] - (affine ? got_zero[from] : 0);
        map.expected[at] = truth->values[from] - (affine ? zero.values[from] : 0);
        map.bound[at] = truth->bounds[from] + (affine ? zero.bounds[from] : 0);
      });
      return true;
    });
  }

  /// What mixing up problem p with others of the batch would give.
  std::vector<OtherWeights> others(std::size_t p) const {
    std::vector<OtherWeights> all;
    for (std::size_t q = 0; q < batch_.problems.size() && q < kMostOthers; ++q) {
      const Problem& other = batch_.problems[q];
      if (q == p || other.sizes != problem_->sizes || !has_time(kForOthers)) continue;
      const double factor = factor_of(q, p);
      const auto add = [&](const std::string& text, std::vector<double> weights, double times) {
        for (double& weight : weights) weight *= times;
        all.push_back({text, std::move(weights)});
      };
      add("answers as " + name_of_owner(q, Sharing::head, batch_), weights_in_double(other), factor);
      const std::string owner = name_of_owner(q, input().sharing, batch_);
      if (factor != 1) add(fmt::format("has {} of {}", path_.input, owner), due_, factor);
      std::set<Sharing> tried;
      for (const auto& one : spec().inputs) {
        if (one.name == path_.input || !problem_->inputs.count(one.name) || !other.inputs.count(one.name) ||
            owner_of(q, one.sharing, batch_) == owner_of(p, one.sharing, batch_))
          continue;
        Problem mixed = *problem_;
        mixed.inputs[one.name] = other.inputs.at(one.name);
        const auto weights = weights_in_double(mixed);
        const std::string its_owner = name_of_owner(q, one.sharing, batch_);
        add(fmt::format("has {} of {}", one.name, its_owner), weights, 1);
        if (factor != 1 && one.sharing == input().sharing)
          add(fmt::format("has {} and {} of {}", one.name, path_.input, owner), weights, factor);
      }
    }
    return all;
  }

  const Kernel& kernel_;
  const golden::Profile& profile_;
  Known& known_;
  const Source source_;
  const std::clock_t begin_;
  Path path_;
  golden::Case name_;
  Batch batch_;
  const Problem* problem_ = nullptr;  // of the batch, that fails
  Index rows_ = 0, columns_ = 0, width_ = 0;
  std::vector<double> due_, zero_;  // weights and what is added to them, in binary64
};

/// A case that failed, and what it costs to probe it.
struct Tried {
  golden::Case name;
  bool few;  // weights
  double cost;
};

/// Cases that failed, of those that are small enough the cheapest and some others.
std::vector<golden::Case> cases_to_try(const Row& row, const Spec& spec, const Path& path) {
  std::vector<Tried> all;
  std::set<std::string> seen;
  for (const Finding& failure : row.failures) {
    if ((failure.tier != "T1" && failure.tier != "T2") || failure.query.empty() || !seen.insert(failure.query).second)
      continue;
    const golden::Case c = golden::parse_query(failure.query).first;
    const auto& shape = spec.input(path.input)->shape;
    const Index rows = c.sizes.at(spec.output(path.output)->shape[0]), columns = c.sizes.at(shape[0]),
                width = c.sizes.at(shape[1]);
    if (width < 1 || columns < 2 || rows * columns > kMostWeights || (columns + width - 1) / width > kMostCalls)
      continue;
    const double calls = static_cast<double>((columns + width - 1) / width);
    all.push_back({c, rows < 2 || rows * columns < kFewWeights, calls * work_of(spec, c.sizes, c.parameters)});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Tried& a, const Tried& b) { return a.few != b.few ? b.few : a.cost < b.cost; });
  std::vector<golden::Case> some;
  const std::size_t number = std::min(all.size(), kMostCases);
  for (std::size_t i = 0; i < number; ++i) some.push_back(all[i * all.size() / number].name);
  return some;
}

}  // namespace

void probe(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile, Known& known,
           const CheckOptions& options, Row& row) {
  if (!options.probes || kernel.is_gradient() || row.status != Status::fail || !row.early_end.by.empty()) return;
  Prober prober(candidate, kernel, profile, known, options);
  std::optional<Tells> tells;  // of the map that the row has
  for (const Path& path : paths(*kernel.spec))
    for (const auto& c : cases_to_try(row, *kernel.spec, path)) {
      if (!prober.has_time()) return;
      auto reading = prober.reading_of(c, path);
      if (!reading || (tells && reading->tells <= *tells)) continue;
      tells = reading->tells;
      row.map = std::move(reading->map);
      if (tells == Tells::a_pattern) return;
    }
}

}  // namespace attest::judge
