// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attest/golden/case.hpp"
#include "attest/golden/certify.hpp"

namespace attest::laws {

/// Result of an evaluation: values, and how far each may be from the truth (computed when asked for).
struct Outcome {
  Arrays values;
  std::function<const Arrays&()> bounds;
};

/// The kernel returned an error instead of a result.
class Refused : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Evaluates a problem: a candidate's kernel, or a form of the reference over enclosures.
using Evaluate = std::function<Outcome(const Problem&)>;

/// Arguments of a law: the claim, a drawn problem, something that evaluates, and a seed for what it draws itself.
struct Context {
  const LawClaim& claim;
  const Problem& problem;
  const Evaluate& evaluate;
  std::uint64_t seed;
  DType exact;   // what new inputs must be representable in
  bool bitwise;  // whether "unchanged" means the same bits (floating point) or overlapping enclosures
  std::optional<bool> hidden_nan =
      std::nullopt;  // whether what a mask hides may hold NaN and infinities; nothing: the kernel does not say
};

/// A law holds, is broken (with what was seen), or does not apply to this problem. Noted: it holds on what
/// the equation is about, but not beyond, where a kernel may promise more.
struct Finding {
  enum class Kind { holds, broken, not_applicable, noted } kind = Kind::holds;
  std::string text;

  static Finding broken(std::string text) { return {Kind::broken, std::move(text)}; }
  static Finding not_applicable() { return {Kind::not_applicable, {}}; }
};

using Law = Finding (*)(const Context&);

/// Every law by name: the files of tests/laws.
const std::map<std::string, Law, std::less<>>& all_laws();

/// Identities of one equation beyond the claimed laws, by "id: name": the files of tests/properties.
struct Property {
  std::string name;
  Law check;
};
const std::map<std::string, std::vector<Property>, std::less<>>& all_properties();

// Functions that laws are written with.

/// The same problem with rows `order` of every tensor's axes of that size (a permutation, a subset, repeats).
Problem take_rows(const Problem& problem, const std::string& along, const std::vector<Index>& order);

/// Rows `order` along the axis named `along` of one array of that declaration.
Array take(const Array& array, const TensorDeclaration& declared, const std::string& along,
           const std::vector<Index>& order);

/// Fresh normal numbers of an input's shape.
Array redrawn(const Context& context, const std::string& input, std::uint64_t salt);

/// The problem with some inputs drawn by another recipe: by small integers, say, so that what is done to them is exact.
/// Each number is multiplied by `unit`, a power of two.
Problem with_drawn(const Context& context, std::initializer_list<const char*> inputs, const std::string& recipe,
                   double unit = 1);

/// with_drawn() by small integers, before and after each row of those inputs is turned by one angle in the plane of its
/// first two columns, of `width`. Neither is rounded.
std::pair<Problem, Problem> turned(const Context& context, std::initializer_list<const char*> inputs, Index width,
                                   double unit = 1);

/// An output is the same of both problems.
Finding agree(const Context& context, const std::string& output, const Problem& a, const Problem& b,
              const std::string& what);

/// An output's columns along a size are those of the input's: other numbers in all columns but one leave that one.
Finding columns_apart(const Context& context, const std::string& input, const std::string& output,
                      const std::string& along);

/// Whether mask, bias and causal order leave some query nothing to see and the convention empty_row gives it the mean
/// of all values, of those too that are hidden from everybody.
bool averages_hidden_values(const Problem& problem);

/// A pseudo-random number below n from the context's seed.
Index choose(const Context& context, std::uint64_t salt, Index n);

/// Whether an output is what an input of the same name was before: the state of a stream, its cache. A state may grow,
/// so that its shapes differ; another tensor of another shape is another tensor.
bool is_carried(const Spec& spec, const TensorDeclaration& output);

/// What memory that nobody has cleared holds where an equation reads nothing: finite numbers, NaN or infinities. NaN
/// and infinities are no inputs of an equation: a kernel may promise that they stay hidden too (hidden_nan == true), or
/// that it is never given them (false). Of one that says neither it is noted, and one may refuse them.
class Stale {
public:
  explicit Stale(const Context& context);
  double operator()(double finite) const;
  /// What the kernel gives for a problem that holds such memory; nothing where it refuses NaN or an infinity.
  std::optional<Outcome> evaluated(const Context& context, const Problem& problem) const;
  /// The finding about outputs that ought not to have changed.
  Finding judged(Finding finding) const;

private:
  Index filling_;
  bool promised_;
};

/// The errors that carrying a state from call to call in binary64 may add to the outputs: four times the error model's
/// bounds there.
Arrays carrying_allowances(const Context& context);

/// Compares outputs of one name element by element: the same bits, or within the sum of both bounds. `transform`
/// maps an element of `b` (value, bound) before it is compared.
Finding same(const Context& context, const std::string& output, const Array& a, const Array& a_bound, const Array& b,
             const Array& b_bound, const std::string& what);
/// Bitwise when the context is, overlapping otherwise.
Finding identical(const Context& context, const std::string& output, const Outcome& a, const Outcome& b,
                  const std::string& what);

}  // namespace attest::laws
